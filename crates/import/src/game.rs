//! Turns an external game into a record with the result under strict rules, or states why it is rejected.

use jiff::civil::Date;
use sha2::{Digest, Sha256};

use tengen_records::{Comparison, EndReason, GameKind, GameRecord, OPENING, Origin, PlyRecord, UNKNOWN_TIME};
use tengen_rules::{Color, Handicap, IllegalMove, Komi, Move, Position, Rules};
use tengen_sgf::{SgfError, SgfGame};

/// What to do about a turn missing from the file, so that one side plays twice in a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum MissingTurns {
    /// Reject the game; nothing is invented.
    #[default]
    Refuse,
    /// Insert a pass by the other side, marked as a turn that no player chose ([`OPENING`]).
    Pass,
}

/// How external games are judged.
#[derive(Clone, Debug)]
pub struct ImportRules {
    /// The rules used for the replay.
    pub rules: Rules,
    /// Komi of every game; `None` uses the komi in the file, or 0 if it has none.
    pub komi: Option<Komi>,
    /// What to do about turns missing from the file.
    pub missing_turns: MissingTurns,
}

/// Why a game is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Name of the broken rule; `broken` for a game that cannot be parsed.
    pub(super) rule: &'static str,
    /// The reason with its position and turn.
    pub(super) error: SgfError,
}

impl Refusal {
    fn new(rule: &'static str, error: SgfError) -> Refusal {
        Refusal { rule, error }
    }

    /// A game that cannot be parsed as a game of Go.
    pub(super) fn broken(error: SgfError) -> Refusal {
        Refusal::new("broken", error)
    }
}

/// An external game converted to a record.
pub(super) struct Imported {
    pub(super) record: GameRecord,
    pub(super) comparison: Comparison,
    /// Number of passes inserted for missing turns.
    pub(super) added_passes: u64,
    /// Number of passes dropped because they come after the end of the game.
    pub(super) dropped_passes: u64,
}

/// Replays a game under the rules and labels it accordingly.
pub(super) fn import_game(game: &SgfGame, origin: Origin, how: &ImportRules) -> Result<Imported, Refusal> {
    let mut record = bare_record(game, origin, how)?;
    let mut position = record
        .start()
        .map_err(|error| Refusal::new("setup", game.error_at_setup(error.to_string())))?;
    let (mut added_passes, mut dropped_passes) = (0, 0);
    for (turn, &(color, mv)) in game.moves.iter().enumerate() {
        let refuse =
            |rule, problem: String| Refusal::new(rule, SgfError::new(game.places[turn], problem).of_turn(turn + 1));
        if position.is_over() && mv == Move::Pass {
            dropped_passes += 1;
            continue;
        }
        if color != position.to_move() && !position.is_over() {
            if how.missing_turns == MissingTurns::Refuse {
                return Err(refuse("turn_order", twice_in_a_row(color)));
            }
            let due = position.to_move();
            take_turn(&mut record, &mut position, Move::Pass, OPENING).map_err(|error| {
                refuse(
                    "turn_order",
                    format!("{due:?}'s missing turn cannot be replaced by a pass: {error}"),
                )
            })?;
            added_passes += 1;
        }
        take_turn(&mut record, &mut position, mv, 0)
            .map_err(|error| refuse(rule_name(error), format!("{color:?} {}: {error}", mv.format(game.size))))?;
    }
    let claim = game.claim();
    let over = position.is_over();
    record.set_end(&position, if over { EndReason::TwoPasses } else { claim.stopped() });
    record.game_id = game_id(&record);
    Ok(Imported {
        comparison: Comparison::of(&record),
        record,
        added_passes,
        dropped_passes,
    })
}

fn take_turn(record: &mut GameRecord, position: &mut Position, mv: Move, flags: u8) -> Result<(), IllegalMove> {
    position.try_play(mv)?;
    record.plies.push(PlyRecord {
        flags,
        ..PlyRecord::bare(mv)
    });
    Ok(())
}

fn twice_in_a_row(color: Color) -> String {
    let other = color.opposite();
    format!("{color:?} plays, but it is {other:?}'s turn: a turn is missing from the file")
}

fn rule_name(reason: IllegalMove) -> &'static str {
    match reason {
        IllegalMove::OffBoard | IllegalMove::Occupied => "occupied",
        IllegalMove::Suicide => "suicide",
        IllegalMove::Superko { .. } => "ko",
        IllegalMove::GameOver => "game_over",
        IllegalMove::HandicapPlayDue | IllegalMove::HandicapPassDue => "handicap",
    }
}

/// A record of the start of the game.
fn bare_record(game: &SgfGame, origin: Origin, how: &ImportRules) -> Result<GameRecord, Refusal> {
    let name = |name: &Option<String>| first_words(name.as_deref().unwrap_or("?"));
    Ok(GameRecord {
        game_id: String::new(),
        size: game.size,
        rules: how.rules.to_string(),
        komi: komi(game, how)?,
        score_half_points: None,
        seed: 0,
        black_model: name(&game.black),
        white_model: name(&game.white),
        config_id: "import".to_owned(),
        start_time_ms: game.date.as_deref().and_then(first_day_ms).unwrap_or(UNKNOWN_TIME),
        end_reason: EndReason::Unfinished,
        kind: GameKind::Import,
        opening_plies: 0,
        setup: game.start(),
        plies: Vec::with_capacity(game.moves.len()),
        ownership: Vec::new(),
        origin: Some(Box::new(origin)),
    })
}

/// The requested komi, or else the komi in the file. A komi that is not in half points, or exceeds the size of the
/// board, is probably in an unknown unit.
fn komi(game: &SgfGame, how: &ImportRules) -> Result<Komi, Refusal> {
    if let Some(komi) = how.komi {
        return Ok(komi);
    }
    let refuse = |found: &str| {
        let problem = format!(
            "expected a komi in whole or half points within the board's {} points, found KM[{found}]: set --komi",
            game.size.area()
        );
        Err(Refusal::new("komi", SgfError::new(game.start_place, problem)))
    };
    match (game.komi, &game.komi_text) {
        (Some(komi), text) if usize::from(komi.half_points().unsigned_abs()) > 2 * game.size.area() => {
            refuse(text.as_deref().unwrap_or_default())
        }
        (Some(komi), _) => Ok(komi),
        (None, Some(text)) => refuse(text),
        (None, None) => Ok(Komi::ZERO),
    }
}

/// The first day of a date such as `1998-11-05,06`, in milliseconds since 1970-01-01 UTC.
fn first_day_ms(text: &str) -> Option<i64> {
    let day: Date = text.get(..10)?.parse().ok()?;
    Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// An id derived from the content: the same game by the same players with the same claim has the same id in any file.
fn game_id(record: &GameRecord) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    let origin = record.origin.as_deref();
    let claim = |get: fn(&Origin) -> &Option<String>| origin.and_then(|origin| get(origin).as_deref()).unwrap_or("");
    add(record.size.to_string().as_bytes());
    add(record.rules.as_bytes());
    add(&record.komi.half_points().to_le_bytes());
    add(record.black_model.as_bytes());
    add(record.white_model.as_bytes());
    add(claim(|origin| &origin.date).as_bytes());
    add(claim(|origin| &origin.result).as_bytes());
    for stones in record.setup.stones {
        let points: Vec<u8> = stones
            .iter()
            .flat_map(|point| (point.index() as u16).to_le_bytes())
            .collect();
        add(&points);
    }
    add(&[record.setup.to_move.index() as u8]);
    let (kind, stones) = match record.setup.handicap {
        Handicap::Even => (0, 0),
        Handicap::Consecutive(n) => (1, n),
        Handicap::WhitePasses(n) => (2, n),
        Handicap::Fixed(n) => (3, n),
    };
    add(&[kind]);
    add(&stones.to_le_bytes());
    let moves = record.plies.iter().map(|ply| ply.mv.index(record.size) as u16);
    add(&moves.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let digits: String = hash
        .finalize()
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sgf-{digits}")
}

/// Maximum length of a text kept from a file, in bytes. Names and events are shorter, but broken files may hold
/// megabytes.
const MAX_TEXT_BYTES: usize = 4096;

/// Collects what a file says about a game.
pub(super) fn origin_of(game: &SgfGame, file: &str, number: u32) -> Origin {
    let words = |text: &Option<String>| text.as_deref().map(first_words);
    Origin {
        file: first_words(file),
        game: number,
        result: words(&game.result),
        komi: words(&game.komi_text),
        rules: words(&game.rules),
        handicap: game.handicap,
        black_rank: words(&game.black_rank),
        white_rank: words(&game.white_rank),
        date: words(&game.date),
        event: words(&game.event),
        teacher: None,
    }
}

/// The text, truncated to the length that is kept.
fn first_words(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned()
}
