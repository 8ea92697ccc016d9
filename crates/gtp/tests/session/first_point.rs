//! The test engine of the sessions, and scripted sessions.

use tengen_gtp::{
    AnalyzeRequest, AnalyzedMove, Engine, EngineError, Game, Genmove, LoadedGame, Pondered, PositionAnalysis,
    RawNetwork, Session, Turn, Watcher,
};
use tengen_rules::{Color, Komi, Move, Rules, Setup, Size};

/// Plays the first legal point in reading order, passes after a pass except for cleanup, and never resigns.
#[derive(Default)]
pub(crate) struct FirstPoint {
    /// The time budgets of the moves requested so far.
    pub(crate) budgets: Vec<Option<f64>>,
    strength: u32,
    seed: u64,
    /// Whether it fails at every move.
    pub(crate) fails: bool,
    /// Whether it resigns at every move.
    pub(crate) resigns: bool,
    /// Whether it searches during the opponent's turn.
    pub(crate) ponders: bool,
    /// The board sizes, rules and komi received.
    pub(crate) setups: Vec<(Size, Rules, Komi)>,
    /// The positions it was asked to ponder.
    pub(crate) pondered: Vec<Vec<Move>>,
    /// The arguments of `printsgf`: turns, result and path.
    pub(crate) saved: Vec<(usize, String, Option<String>)>,
}

impl Engine for FirstPoint {
    fn name(&self) -> String {
        "First".to_owned()
    }

    fn version(&self) -> String {
        "1\n\n2".to_owned()
    }

    fn supports(&self, size: Size) -> bool {
        size.area() > 1
    }

    fn genmove(&mut self, turn: &Turn<'_>, watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError> {
        if self.fails {
            return Err(EngineError::Failed("no network".to_owned()));
        }
        if self.resigns {
            return Ok(Genmove::resign());
        }
        self.budgets.push(turn.clock.budget(turn.color(), 10));
        if let Some(watcher) = watcher {
            (watcher.report)(&analysis(turn));
        }
        let point = turn.position.legal_points().iter().next();
        let pass = turn.position.last_move() == Some(Move::Pass);
        let mv = point.filter(|_| !pass || turn.cleanup).map_or(Move::Pass, Move::Play);
        Ok(Genmove {
            mv: Some(mv),
            analysis: Some(analysis(turn)),
            seconds: 20.0,
        })
    }

    fn can_analyze(&self) -> bool {
        true
    }

    fn ponder(&mut self, turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<Pondered, EngineError> {
        self.pondered.push(turn.position.moves().to_vec());
        Ok(Pondered::More)
    }

    fn analysis(&mut self, turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        Ok(analysis(turn))
    }

    /// Expects Black to own everything.
    fn ownership(&mut self, turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(Some(vec![0.9; turn.position.size().area()]))
    }

    fn set_conditions(&mut self, size: Size, rules: Rules, komi: Komi) {
        self.setups.push((size, rules, komi));
    }

    /// Warns about boards larger than 9x9.
    fn warnings(&self) -> Vec<String> {
        let large = self.setups.last().is_some_and(|(size, ..)| size.area() > 81);
        if large {
            vec!["a large board".to_owned()]
        } else {
            Vec::new()
        }
    }

    fn ponders(&self) -> bool {
        self.ponders
    }

    fn random_seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn set_random_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn raw_network(&mut self, turn: &Turn<'_>, symmetry: usize) -> Result<RawNetwork, EngineError> {
        let area = turn.position.size().area();
        match symmetry {
            0..8 => Ok(RawNetwork {
                symmetry,
                white_win: 0.5,
                white_lead: 0.0,
                policy: vec![Some(0.0); area],
                pass: 1.0,
                ownership: Vec::new(),
            }),
            _ => Err(EngineError::Unsupported(format!("the symmetry {symmetry}"))),
        }
    }

    fn save_game(&mut self, game: &Game, result: &str, path: Option<&str>) -> Result<String, EngineError> {
        self.saved
            .push((game.turns().len(), result.to_owned(), path.map(str::to_owned)));
        Ok(if path.is_some() {
            String::new()
        } else {
            "(;GM[1]\n\n;B[aa])\n".to_owned()
        })
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("strength", self.strength.to_string())]
    }

    fn set_parameter(&mut self, _name: &str, value: &str) -> Result<(), EngineError> {
        self.strength = value
            .parse()
            .map_err(|_| EngineError::Failed("strength takes a number".to_owned()))?;
        Ok(())
    }

    fn load_game(&mut self, path: &str, move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        let size = Size::square(5).expect("a size");
        let mv = |text| Move::parse(size, text).expect("a move");
        let mut start = Setup::EVEN;
        match path {
            "game.sgf" => {}
            "white.sgf" => start.to_move = Color::White,
            "stones.sgf" => {
                start.to_move = Color::White;
                start.stones[0].extend(size.point(1, 1));
            }
            _ => return Err(EngineError::Failed("no such file".to_owned())),
        }
        let mut turns = vec![(Color::Black, mv("C3")), (Color::White, mv("D3"))];
        turns.truncate(move_number.map_or(usize::MAX, |number| number.saturating_sub(1)));
        Ok(LoadedGame {
            size,
            komi: None,
            rules: None,
            start,
            turns,
        })
    }
}

fn analysis(turn: &Turn<'_>) -> PositionAnalysis {
    let mv = AnalyzedMove {
        mv: Move::Pass,
        visits: 1,
        winrate: 0.5,
        lcb: 0.25,
        score_lead: 0.0,
        utility: 0.0,
        prior: 1.0,
        pv: Vec::new(),
        pv_visits: Vec::new(),
        ownership: None,
    };
    PositionAnalysis {
        moves: vec![mv],
        visits: 1,
        winrate: 0.5,
        score_lead: 0.0,
        ownership: Some(vec![0.0; turn.position.size().area()]),
        ..PositionAnalysis::default()
    }
}

/// A session on 9x9 with komi 7.5.
pub(crate) fn session() -> Session<FirstPoint> {
    Session::new(
        FirstPoint::default(),
        Size::square(9).expect("a size"),
        Komi::from_half_points(15),
    )
}

/// Runs a session given as `> command` lines and reply lines, without the empty line that ends each reply.
pub(crate) fn check(conversation: &str) {
    let mut session = session();
    let mut lines = conversation
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .peekable();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix('>').expect("a command").trim();
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('>')) {
            expected.push(line);
        }
        let reply = session.handle(command);
        assert!(reply.text.ends_with("\n\n"), "{command}");
        let got: Vec<&str> = reply.text.trim_end().lines().map(str::trim_end).collect();
        assert_eq!(got, expected, "{command}");
    }
}
