//! The 1,500 games of `data/suites/katago-tt-games.jsonl.gz`, replayed under their rules.
#![allow(missing_docs)]

mod support;

use std::io::{BufRead, BufReader};

use serde_json::Value;

use tengen_rules::{KoRule, Komi, Outcome, Position, Rules, Size, Suicide};

use support::{rows, rows_of, suite, text, turn_of};

/// 64-bit FNV-1a.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
}

fn rules_of_game(game: &Value) -> Rules {
    if text(game, "rules_id") == "tromp-taylor" {
        return Rules::tromp_taylor();
    }
    let ko = match text(&game["rules"], "ko") {
        "POSITIONAL" => KoRule::PositionalSuperko,
        "SITUATIONAL" => KoRule::SituationalSuperko,
        "SIMPLE" => KoRule::Basic,
        other => panic!("unknown ko rule {other}"),
    };
    let suicide = match game["rules"]["multi_stone_suicide"].as_bool() {
        Some(true) => Suicide::MultiOnly,
        _ => Suicide::Forbidden,
    };
    Rules {
        ko,
        suicide,
        ..Rules::tromp_taylor()
    }
}

fn check_game(game: &Value) -> usize {
    let side = |i: usize| game["size"][i].as_u64().unwrap() as usize;
    let size = Size::new(side(0), side(1)).unwrap();
    let mut position = Position::with_rules(size, rules_of_game(game));
    let (mut legal_hash, mut boards_hash) = (Fnv::new(), Fnv::new());
    for (turn, count) in rows(game, "moves").iter().zip(rows(game, "legal_counts")) {
        let (color, mv) = turn_of(size, turn.as_str().unwrap());
        let legal = position.legal_points();
        assert_eq!(position.to_move(), color);
        assert_eq!(
            legal.len() as u64,
            count.as_u64().unwrap(),
            "legal points at ply {}",
            position.ply()
        );
        size.points()
            .for_each(|p| legal_hash.add(b'0' + u8::from(legal.contains(p))));
        position.play(mv);
        rows_of(&position).concat().bytes().for_each(|b| boards_hash.add(b));
    }
    assert_eq!(format!("{:016x}", legal_hash.0), text(game, "legal_fnv"));
    assert_eq!(format!("{:016x}", boards_hash.0), text(game, "boards_fnv"));
    assert_eq!(rows_of(&position).join("/"), text(game, "final_board"));
    assert_eq!(position.is_over(), text(game, "end") == "two_passes");
    check_score(game, &position);
    position.ply()
}

fn check_score(game: &Value, position: &Position) {
    let area = position.area();
    assert_eq!(area.black.len() as u64, game["score_black_area"].as_u64().unwrap());
    assert_eq!(area.white.len() as u64, game["score_white_area"].as_u64().unwrap());
    let komi: Komi = game["komi"].to_string().parse().unwrap();
    let margin = position.margin(komi);
    assert_eq!(
        f64::from(margin.points()),
        game["tt_black_minus_white"].as_f64().unwrap()
    );
    let winner = match margin.outcome() {
        Outcome::BlackWins => "B",
        Outcome::WhiteWins => "W",
        Outcome::Tie => "draw",
    };
    assert_eq!(winner, text(game, "winner"));
}

#[test]
fn all_games_agree() {
    let file = std::fs::File::open(suite("katago-tt-games.jsonl.gz")).unwrap();
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    let (mut games, mut plies) = (0, 0);
    for line in lines {
        let game: Value = serde_json::from_str(&line.unwrap()).unwrap();
        plies += check_game(&game);
        games += 1;
    }
    assert_eq!((games, plies), (1500, 307_712));
}
