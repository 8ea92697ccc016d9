//! A game between a person and a model: whose turn it is, which moves are legal, how it ends.

use serde::Serialize;

use tengen_model::ModelId;
use tengen_records::{EndReason, GameKind, GameRecord, PlyRecord, now_ms};
use tengen_rules::{Color, Ending, Judge, Komi, Margin, Move, Outcome, Position, Rules, Scoring, Setup, Size};

use crate::analyst::Analysis;
use crate::problem::Problem;
use crate::replay::{color_name, points};

/// The most visits that a search may be asked for.
pub(crate) const MOST_VISITS: u32 = 10_000;

/// Visits of the model's searches unless the person chooses another number.
pub(crate) const USUAL_VISITS: u32 = 100;

/// Checks the visits of a request.
pub(crate) fn check_visits(visits: u32) -> Result<(), Problem> {
    match (1..=MOST_VISITS).contains(&visits) {
        true => Ok(()),
        false => Err(Problem::bad(format!(
            "expected 1 to {MOST_VISITS} visits, found {visits}"
        ))),
    }
}

/// What a game is played with.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The name of the run.
    pub(crate) run: String,
    pub(crate) model: ModelId,
    pub(crate) size: Size,
    pub(crate) komi: Komi,
    pub(crate) rules: Rules,
    /// The person's color.
    pub(crate) person: Color,
    /// Visits of the model's searches.
    pub(crate) visits: u32,
}

/// A game in progress, or one that is over.
pub(crate) struct Game {
    pub(crate) terms: Terms,
    pub(crate) position: Position,
    /// Counts changes, so that a late answer cannot change a position it is not about.
    revision: u64,
    started_ms: u64,
}

/// The state of a game, for the page. Points are numbered from 0 in reading order; a pass is the number of points.
#[derive(Serialize)]
pub(crate) struct State {
    run: String,
    model: String,
    width: usize,
    height: usize,
    komi: f32,
    rules: String,
    /// The person's color.
    color: &'static str,
    visits: u32,
    pub(crate) revision: u64,
    to_move: &'static str,
    /// Whether the person moves next.
    your_turn: bool,
    /// The board in reading order: `B`, `W`, or `.`.
    stones: String,
    /// The names of all moves so far.
    moves: Vec<String>,
    /// The point of the last move; null after a pass and at the start.
    last: Option<usize>,
    /// Empty points where a play would be illegal; empty when the game is over.
    banned: Vec<usize>,
    result: Option<GameResult>,
}

/// How a game ended.
#[derive(Serialize)]
struct GameResult {
    /// As in SGF, such as `B+3.5`.
    text: String,
    words: String,
    /// The number of points that Black owns, if the rules count area.
    black: Option<usize>,
    white: Option<usize>,
    /// Owner of every point in reading order: `B`, `W`, or `.`; empty without a count.
    owners: String,
}

impl Game {
    pub(crate) fn new(terms: Terms) -> Game {
        Game {
            position: Position::with_rules(terms.size, terms.rules).between_machines(),
            terms,
            revision: 0,
            started_ms: now_ms(),
        }
    }

    /// Checks that a request is about the position on the board.
    pub(crate) fn check(&self, revision: u64) -> Result<(), Problem> {
        match revision == self.revision {
            true => Ok(()),
            false => Err(Problem::conflict("the board has changed since; load the game again")),
        }
    }

    /// Plays the person's move, given as text.
    pub(crate) fn play(&mut self, text: &str) -> Result<(), Problem> {
        let size = self.terms.size;
        let mv = Move::parse(size, text)
            .map_err(|error| Problem::bad(format!("expected a move on {size}, such as A1 or pass: {error}")))?;
        if !self.position.is_over() && self.position.to_move() != self.terms.person {
            return Err(Problem::conflict("it is the model's turn"));
        }
        self.make(mv)
    }

    /// Plays the model's move.
    pub(crate) fn reply(&mut self, mv: Move) -> Result<(), Problem> {
        self.make(mv)
    }

    fn make(&mut self, mv: Move) -> Result<(), Problem> {
        self.position.try_play(mv).map_err(|reason| {
            let name = mv.format(self.terms.size);
            Problem::refused(format!("{name} is illegal under {}: {reason}", self.terms.rules))
        })?;
        self.revision += 1;
        Ok(())
    }

    /// Takes back turns, at least one, until the person is to move.
    pub(crate) fn undo(&mut self) -> Result<(), Problem> {
        let own = (0..self.position.ply()).any(|ply| (ply % 2 == 0) == (self.terms.person == Color::Black));
        if !own {
            return Err(Problem::conflict("you have not made a move that could be taken back"));
        }
        loop {
            self.position.undo();
            if self.position.to_move() == self.terms.person {
                break;
            }
        }
        self.revision += 1;
        Ok(())
    }

    /// Checks that the game is not over, so that a search makes sense.
    pub(crate) fn check_in_progress(&self) -> Result<(), Problem> {
        match self.position.is_over() {
            true => Err(Problem::conflict("the game is over")),
            false => Ok(()),
        }
    }

    pub(crate) fn state(&self) -> State {
        let Game { terms, position, .. } = self;
        let size = terms.size;
        let legal = position.legal_points();
        let empty = position.empty_points();
        let banned = empty.iter().filter(|&point| !legal.contains(point));
        State {
            run: terms.run.clone(),
            model: terms.model.to_string(),
            width: size.width(),
            height: size.height(),
            komi: terms.komi.points(),
            rules: terms.rules.to_string(),
            color: color_name(terms.person),
            visits: terms.visits,
            revision: self.revision,
            to_move: color_name(position.to_move()),
            your_turn: !position.is_over() && position.to_move() == terms.person,
            stones: letters(size, |point| position.at(point)),
            moves: position.moves().iter().map(|mv| mv.format(size)).collect(),
            last: position.last_move().and_then(Move::point).map(|point| point.index()),
            banned: match position.is_over() {
                true => Vec::new(),
                false => banned.map(|point| point.index()).collect(),
            },
            result: self.result(),
        }
    }

    fn result(&self) -> Option<GameResult> {
        let nothing = |text: &str, words: &str| GameResult {
            text: text.to_owned(),
            words: words.to_owned(),
            black: None,
            white: None,
            owners: String::new(),
        };
        Some(match Judge::default().ending(&self.position, self.terms.komi)? {
            Ending::TiedByCycle => nothing("0", "a tie by a long cycle"),
            Ending::UndecidedLife => nothing("Void", "no result: the life of some chains is undecided"),
            Ending::Counted(count) => {
                let area = self.terms.rules.scoring == Scoring::Area;
                GameResult {
                    text: count.margin.to_string(),
                    words: margin_in_words(count.margin),
                    black: area.then(|| count.owners.black.len()),
                    white: area.then(|| count.owners.white.len()),
                    owners: letters(self.terms.size, |point| count.owners.owner(point)),
                }
            }
        })
    }

    /// The game as a record, to be written as SGF.
    pub(crate) fn record(&self) -> GameRecord {
        let Terms {
            model,
            size,
            komi,
            rules,
            person,
            visits,
            ..
        } = &self.terms;
        let name = |color: Color| match color == *person {
            true => "a person".to_owned(),
            false => format!("{model}, visits={visits}"),
        };
        let mut record = GameRecord {
            game_id: format!("board-{}", self.started_ms),
            size: *size,
            rules: rules.to_string(),
            komi: *komi,
            score_half_points: None,
            seed: 0,
            black_model: name(Color::Black),
            white_model: name(Color::White),
            config_id: String::new(),
            start_time_ms: self.started_ms as i64,
            end_reason: EndReason::Unfinished,
            kind: GameKind::Match,
            opening_plies: 0,
            setup: Setup::EVEN,
            plies: self.position.moves().iter().map(|&mv| PlyRecord::bare(mv)).collect(),
            ownership: Vec::new(),
            origin: None,
        };
        record.set_end(&self.position, EndReason::Unfinished);
        record
    }
}

fn letters(size: Size, color: impl Fn(tengen_rules::Point) -> Option<Color>) -> String {
    let letter = |color| match color {
        Some(Color::Black) => 'B',
        Some(Color::White) => 'W',
        None => '.',
    };
    size.points().map(|point| letter(color(point))).collect()
}

fn margin_in_words(margin: Margin) -> String {
    let by = points(margin.points().abs());
    match margin.outcome() {
        Outcome::BlackWins => format!("Black wins by {by}"),
        Outcome::WhiteWins => format!("White wins by {by}"),
        Outcome::Tie => "a tie".to_owned(),
    }
}

/// An analysis, for the page. Everything is from the viewpoint of the side to move.
#[derive(Serialize)]
pub(crate) struct Shown {
    revision: u64,
    /// The side to move.
    color: &'static str,
    visits: u32,
    winrate: f32,
    score: f32,
    /// Moves that were visited or that the network finds likely, beginning with the move to play.
    moves: Vec<ShownMove>,
    /// The network's probabilities of all points and, last, of the pass.
    policy: Vec<f32>,
    ownership: Option<Vec<f32>>,
}

#[derive(Serialize)]
struct ShownMove {
    #[serde(rename = "move")]
    index: usize,
    name: String,
    visits: u32,
    winrate: f32,
    score: f32,
    prior: f32,
    pv: Vec<String>,
}

/// Moves without a visit whose probability is smaller are left out of the list of moves.
const LEAST_PRIOR: f32 = 0.01;

impl Shown {
    pub(crate) fn of(analysis: &Analysis, position: &Position, revision: u64) -> Shown {
        let size = position.size();
        let mut policy = vec![0.0; size.area() + 1];
        analysis
            .moves
            .iter()
            .for_each(|found| policy[found.mv.index(size)] = found.prior);
        let worth = analysis
            .moves
            .iter()
            .filter(|found| found.visits > 0 || found.prior >= LEAST_PRIOR);
        let moves = worth.map(|found| ShownMove {
            index: found.mv.index(size),
            name: found.mv.format(size),
            visits: found.visits,
            winrate: found.winrate,
            score: found.score,
            prior: found.prior,
            pv: found.pv.iter().map(|mv| mv.format(size)).collect(),
        });
        Shown {
            revision,
            color: color_name(position.to_move()),
            visits: analysis.visits,
            winrate: analysis.winrate,
            score: analysis.score,
            moves: moves.collect(),
            policy,
            ownership: analysis.ownership.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(size: &str, person: Color) -> Game {
        Game::new(Terms {
            run: "run".to_owned(),
            model: "g000001-0123456789ab".parse().unwrap(),
            size: size.parse().unwrap(),
            komi: Komi::ZERO,
            rules: Rules::tromp_taylor(),
            person,
            visits: 1,
        })
    }

    fn mv(game: &Game, text: &str) -> Move {
        Move::parse(game.terms.size, text).unwrap()
    }

    #[test]
    fn the_ko_rule_is_named() {
        let mut game = game("2x1", Color::Black);
        game.play("A1").unwrap();
        game.reply(mv(&game, "B1")).unwrap();
        let state = game.state();
        assert_eq!((state.stones.as_str(), state.banned), (".W", vec![0]));
        let problem = game.play("A1").unwrap_err();
        assert_eq!(problem.status.as_u16(), 422);
        let sentence = "A1 is illegal under tromp_taylor: the ko rule forbids it: it repeats the position after ply 1";
        assert_eq!(problem.sentence, sentence);
        game.play("pass").unwrap();
        game.reply(Move::Pass).unwrap();
        let state = game.state();
        let result = state.result.unwrap();
        assert_eq!(
            (result.text.as_str(), result.black, result.white),
            ("W+2", Some(0), Some(2))
        );
        assert_eq!(result.owners, "WW");
        assert!(game.check_in_progress().is_err() && !state.your_turn);
    }

    #[test]
    fn turns_are_taken_back_up_to_ones_own() {
        let mut white = game("3x3", Color::White);
        assert!(white.undo().is_err());
        white.reply(mv(&white, "B2")).unwrap();
        assert!(white.undo().is_err(), "the model's first move stays");
        white.play("A1").unwrap();
        white.undo().unwrap();
        assert_eq!((white.position.ply(), white.state().your_turn), (1, true));
        assert!(white.check(3).is_ok() && white.check(2).is_err());
    }
}
