//! Checks one line of a file of random games.

use serde_json::Value;

use tengen_rules::{Color, GameEnd, KoRule, MAX_SIDE, Move, Outcome, Position, Rules, Size, Suicide};

use super::OracleReport;
use super::keys::{board_text, half_points, is_too_large, komi_of, moves_of};

pub(super) fn check(game: &Value, place: &str, report: &mut OracleReport) {
    if is_too_large(&[&game["size"][0], &game["size"][1]]) {
        report.skip(&format!("games on boards with a side longer than {MAX_SIDE}"));
    } else if check_game(game, place, report).is_none() {
        report.unreadable(place, "the game cannot be parsed");
    }
}

fn rules_of(game: &Value) -> Option<Rules> {
    let rules = &game["rules"];
    let multi_stone = rules["multi_stone_suicide"].as_bool()?;
    let ko = match rules["ko"].as_str()? {
        "POSITIONAL" => KoRule::PositionalSuperko,
        "SITUATIONAL" => KoRule::SituationalSuperko,
        "SIMPLE" => KoRule::Basic,
        _ => return None,
    };
    let suicide = match (multi_stone, game["rules_id"].as_str()?) {
        (false, _) => Suicide::Forbidden,
        (true, "tromp-taylor") => Suicide::Allowed,
        (true, _) => Suicide::MultiOnly,
    };
    Some(Rules {
        ko,
        suicide,
        end: GameEnd::TwoPasses,
        ..Rules::tromp_taylor()
    })
}

fn check_game(game: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let side = |number: usize| {
        game["size"][number]
            .as_u64()
            .and_then(|side| usize::try_from(side).ok())
    };
    let size = Size::new(side(0)?, side(1)?).ok()?;
    let mut position = Position::with_rules(size, rules_of(game)?);
    let mut legal_hash = Fnv::new();
    let mut boards_hash = Fnv::new();
    let counts = game["legal_counts"].as_array()?;
    let moves = moves_of(size, &game["moves"])?;
    let mut tally = Tally::default();
    report.check("length of legal_counts", place, moves.len(), counts.len());
    for (ply, (color, mv)) in moves.into_iter().enumerate() {
        let place = format!("{place} ply {ply}");
        let legal = position.legal_points();
        report.check("side to move", &place, color, position.to_move());
        report.check("legal points", &place, counts.get(ply)?.as_u64()?, legal.len() as u64);
        size.points()
            .for_each(|point| legal_hash.add(b'0' + u8::from(legal.contains(point))));
        report.check("legal move", &place, true, position.is_legal(mv));
        if !position.is_legal(mv) {
            return Some(());
        }
        tally.add(&position, mv);
        position.play(mv);
        board_text(&position)
            .bytes()
            .filter(|&byte| byte != b'/')
            .for_each(|byte| boards_hash.add(byte));
    }
    check_end(game, &position, place, report)?;
    tally.check(&game["stats"], place, report)?;
    report.check(
        "hash of all legal points",
        place,
        game["legal_fnv"].as_str()?.to_owned(),
        legal_hash.text(),
    );
    report.check(
        "hash of all boards",
        place,
        game["boards_fnv"].as_str()?.to_owned(),
        boards_hash.text(),
    );
    Some(())
}

/// Checks the final board, the end by two passes, and the strict area score, which are valid under every rule set.
fn check_end(game: &Value, last: &Position, place: &str, report: &mut OracleReport) -> Option<()> {
    report.check(
        "final board",
        place,
        game["final_board"].as_str()?.to_owned(),
        board_text(last),
    );
    // Endings specific to KataGo under simple ko: a pass in a position that was passed in before, or a third
    // repetition.
    let end = match (last.is_over(), last.last_move()) {
        (true, _) => "two_passes",
        (false, Some(Move::Pass)) => "spightlike_pass",
        (false, _) => "no_result",
    };
    report.check("end", place, game["end"].as_str()?, end);
    let area = last.area();
    let score = |color: Color| area.of(color).len() as u64;
    report.check(
        "black area",
        place,
        game["score_black_area"].as_u64()?,
        score(Color::Black),
    );
    report.check(
        "white area",
        place,
        game["score_white_area"].as_u64()?,
        score(Color::White),
    );
    let margin = last.margin(komi_of(&game["komi"])?);
    let expected = half_points(&game["tt_black_minus_white"])?;
    report.check("margin after komi", place, expected, margin.half_points().into());
    let winner = match margin.outcome() {
        Outcome::BlackWins => "B",
        Outcome::WhiteWins => "W",
        Outcome::Tie => "draw",
    };
    report.check("winner", place, game["winner"].as_str()?, winner);
    Some(())
}

/// What happened in a game and what its ko rules forbade.
#[derive(Default)]
struct Tally {
    captures: u64,
    suicides: u64,
    simple_ko_bans: u64,
    superko_bans: u64,
}

impl Tally {
    /// Records a position and the legal move about to be played in it.
    fn add(&mut self, position: &Position, mv: Move) {
        let mut after = position.clone();
        for point in position.superko_banned().iter() {
            after.play_unchecked(Move::Play(point));
            // A single-stone suicide leaves the board unchanged.
            if after.hash() != position.hash() {
                match retakes_ko(position, &after) {
                    true => self.simple_ko_bans += 1,
                    false => self.superko_bans += 1,
                }
            }
            after.undo();
        }
        let Move::Play(point) = mv else { return };
        let enemy = position.to_move().opposite();
        after.play_unchecked(mv);
        self.captures += u64::from(after.stones(enemy).len() < position.stones(enemy).len());
        self.suicides += u64::from(after.at(point).is_none());
    }

    fn check(&self, stats: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
        for (key, found) in [
            ("capture_moves", self.captures),
            ("suicide_moves", self.suicides),
            ("simple_ko_bans", self.simple_ko_bans),
            ("superko_bans", self.superko_bans),
        ] {
            report.check(key, place, stats[key].as_u64()?, found);
        }
        Some(())
    }
}

/// Whether the play that led from `position` to `after` restores the board before the opponent's last turn.
fn retakes_ko(position: &Position, after: &Position) -> bool {
    let mut before = position.clone();
    before.undo().is_some_and(|last| last != Move::Pass) && before.hash() == after.hash()
}

/// The 64-bit FNV-1a hash, updated byte by byte.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
