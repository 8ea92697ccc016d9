//! Writes games as SGF.

use jiff::Timestamp;

use tengen_records::{Comparison, EndReason, GameRecord, OPENING, Origin, PlyRecord, UNKNOWN_TIME};
use tengen_rules::{Color, Komi, Move, Setup, Size};

use crate::tree::{SgfNodeId, SgfTree};
use crate::value::SgfPoint;

/// One game as SGF (FF 4, UTF-8): players, komi, rules, result and every turn. Searched turns carry the value, the
/// expected margin (both from the mover's view) and the visits as a comment.
///
/// The result of an imported game (RE) is the counted one, or the resignation or forfeit that its file states. Other
/// claims of the file are in the game comment (GC), with the file name and the outcome of the comparison. Ranks, event
/// and date are copied from the file.
///
/// For our own games, GC says why a game ended if that was not by two passes or resignation.
pub fn write_sgf(game: &GameRecord) -> String {
    write(game, None)
}

/// What a referee decided about a game beyond its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The result in SGF notation, such as `W+T` or `Void`.
    pub result: String,
    /// What happened, in one sentence.
    pub reason: String,
}

/// Like [`write_sgf`], with the referee's result (RE) and reason (GC) instead of those of the record.
pub fn write_sgf_ruled(game: &GameRecord, ruling: &Ruling) -> String {
    write(game, Some(ruling))
}

fn write(game: &GameRecord, ruling: Option<&Ruling>) -> String {
    let mut tree = SgfTree::new();
    write_header(&mut tree, game, ruling);
    let mut node = tree.root().id();
    for (ply, record) in game.plies.iter().enumerate() {
        node = tree.add_turn(node, game.size, game.mover(ply), record.mv);
        write_comment(&mut tree, game, ply, record);
    }
    tree.to_string()
}

fn write_header(tree: &mut SgfTree, game: &GameRecord, ruling: Option<&Ruling>) {
    tree.add_header(game.size, game.komi, &game.rules);
    let mut add = |name: &str, value: &str| tree.add(name, [plain(value).as_str()]);
    add("PB", &game.black_model);
    add("PW", &game.white_model);
    add(
        "RE",
        &ruling.map_or_else(|| game.result_text(), |ruling| ruling.result.clone()),
    );
    let known = Some(game.start_time_ms).filter(|&time| time != UNKNOWN_TIME);
    let origin = game.origin.as_deref();
    let comment = match (ruling, origin) {
        (Some(ruling), _) => Some(ruling.reason.clone()),
        (None, Some(origin)) => Some(claims_text(game, origin)),
        (None, None) => ending_text(game),
    };
    let word = |of: fn(&Origin) -> &Option<String>| origin.and_then(|origin| of(origin).clone());
    for (name, value) in [
        ("DT", word(|origin| &origin.date).or_else(|| known.and_then(date_text))),
        ("BR", word(|origin| &origin.black_rank)),
        ("WR", word(|origin| &origin.white_rank)),
        ("EV", word(|origin| &origin.event)),
        ("GC", comment),
    ] {
        if let Some(value) = value {
            add(name, &value);
        }
    }
    add("GN", &game.game_id);
    tree.add_start(game.size, &game.setup);
}

/// Why a game of ours ended, where the moves and the result do not say it.
fn ending_text(game: &GameRecord) -> Option<String> {
    let plies = game.plies.len();
    Some(match game.end_reason {
        EndReason::TwoPasses | EndReason::Resign => return None,
        EndReason::Settled => {
            "Stopped before two passes because no point could change hands; the board is counted as it stands."
                .to_owned()
        }
        EndReason::LongCycle => "A long cycle tied the game; the board is not counted.".to_owned(),
        EndReason::UndecidedLife => {
            "No result: the score depends on whether some chains are alive, which a search could not decide.".to_owned()
        }
        EndReason::PlyLimit => format!("No result: the game was stopped after {plies} plies, the limit."),
        EndReason::Forfeit => {
            let loser = game.mover(plies);
            format!("{loser:?} forfeited the game after {plies} plies.")
        }
        EndReason::Unfinished => format!("No result: the moves end after {plies} plies, before the game is over."),
    })
}

/// The source of an imported game, the claims of its file, and how they compare with the count.
fn claims_text(game: &GameRecord, origin: &Origin) -> String {
    let handicap = origin.handicap.map(|stones| stones.to_string());
    let claims = [
        ("result", origin.result.as_deref()),
        ("komi", origin.komi.as_deref()),
        ("rules", origin.rules.as_deref()),
        ("handicap", handicap.as_deref()),
    ];
    let claims: Vec<String> = claims
        .into_iter()
        .filter_map(|(name, claim)| Some(format!("{name} {}", claim?)))
        .collect();
    let claims = if claims.is_empty() {
        "nothing".to_owned()
    } else {
        claims.join(", ")
    };
    let check = Comparison::of(game).name();
    format!(
        "Imported from {}, game {}. Its file claims: {claims}. Claimed result against the rules: {check}.",
        origin.file, origin.game
    )
}

/// Writes many games as one file.
pub fn write_sgf_collection(games: &[GameRecord]) -> String {
    games.iter().map(write_sgf).collect()
}

fn write_comment(tree: &mut SgfTree, game: &GameRecord, ply: usize, record: &PlyRecord) {
    if record.has(OPENING) || ply < usize::from(game.opening_plies) {
        tree.add("C", ["opening"]);
    } else if record.root_visits > 0 {
        let (value, margin, visits) = (record.root_value, record.root_margin, record.root_visits);
        tree.add(
            "C",
            [format!("value {value:+.3} margin {margin:+.1} visits {visits}").as_str()],
        );
    }
}

impl SgfTree {
    /// Adds the properties of every Go game to the last node: format, program, board, komi and rules.
    pub fn add_header(&mut self, size: Size, komi: Komi, rules: &str) {
        for (name, value) in [
            ("GM", "1"),
            ("FF", "4"),
            ("CA", "UTF-8"),
            ("AP", concat!("Tengen:", env!("CARGO_PKG_VERSION"))),
            ("SZ", &size_text(size)),
            ("KM", &komi.to_string()),
            ("RU", &plain(rules)),
        ] {
            self.add(name, [value]);
        }
    }

    /// Adds the handicap, the setup stones and, if White moves first, the side to move to the last node.
    pub fn add_start(&mut self, size: Size, start: &Setup) {
        if start.handicap.stones() > 0 {
            self.add("HA", [start.handicap.stones().to_string().as_str()]);
        }
        for (name, stones) in ["AB", "AW"].into_iter().zip(start.stones) {
            if !stones.is_empty() {
                let points: Vec<_> = stones.iter().map(|point| move_text(size, Move::Play(point))).collect();
                self.add(name, points.iter().map(String::as_str));
            }
        }
        if start.to_move == Color::White {
            self.add("PL", ["W"]);
        }
    }

    /// Adds a turn below a node and returns its node.
    pub fn add_turn(&mut self, below: SgfNodeId, size: Size, color: Color, mv: Move) -> SgfNodeId {
        let node = self.add_node(below);
        let name = match color {
            Color::Black => "B",
            Color::White => "W",
        };
        self.add(name, [move_text(size, mv).as_str()]);
        node
    }
}

/// Replaces control characters by spaces.
fn plain(text: &str) -> String {
    text.replace(|character: char| character.is_control(), " ")
}

fn size_text(size: Size) -> String {
    if size.width() == size.height() {
        size.width().to_string()
    } else {
        format!("{}:{}", size.width(), size.height())
    }
}

/// Two letters, column then row from the top; empty for a pass.
fn move_text(size: Size, mv: Move) -> String {
    match mv {
        Move::Pass => String::new(),
        Move::Play(point) => SgfPoint {
            column: point.column(size) as u8,
            row: point.row(size) as u8,
        }
        .to_string(),
    }
}

/// The date of a time in milliseconds since 1970-01-01 UTC.
pub fn date_text(ms: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(ms).ok()?;
    Some(time.strftime("%Y-%m-%d").to_string())
}
