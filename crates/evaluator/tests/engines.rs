//! Matches against engines over GTP: fakes that fail in every way, and GNU Go where it is installed.
#![cfg(unix)]

use std::ops::ControlFlow;
use std::path::PathBuf;

use tempfile::TempDir;
use tengen_evaluator::{
    FaultKind, MatchConfig, MatchContext, MatchError, MatchResult, NoModels, Player, PlayerError, Refusal,
    build_player, run_match,
};
use tengen_records::EndReason;
use tengen_rules::{Komi, Size};

/// A fake engine that passes, except where the given shell cases say something else.
struct Fake {
    _dir: TempDir,
    path: PathBuf,
}

impl Fake {
    fn new(cases: &str) -> Fake {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("engine.sh");
        let script = format!(
            "while read id command rest; do case \"$command\" in\n{cases}\n\
             protocol_version) printf '=%s 2\\n\\n' $id;;\n\
             name) printf '=%s Fake\\n\\n' $id;;\n\
             version) printf '=%s 1.0\\n\\n' $id;;\n\
             genmove) printf '=%s pass\\n\\n' $id;;\n\
             *) printf '=%s\\n\\n' $id;;\n\
             esac; done\n"
        );
        std::fs::write(&path, script).expect("a script");
        Fake { _dir: dir, path }
    }

    fn player(&self, options: &str) -> Box<dyn Player> {
        player(&format!("gtp:\"sh {}\",engines=2{options}", self.path.display()))
    }

    /// The result of a match against the random player.
    fn result(&self, settings: &MatchConfig, options: &str) -> MatchResult {
        play(settings, &mut *self.player(options), &mut *player("random"))
    }
}

fn player(text: &str) -> Box<dyn Player> {
    build_player(&text.parse().expect("a player"), &mut NoModels).expect("a player")
}

fn config(side: usize, games: usize) -> MatchConfig {
    MatchConfig {
        size: Size::square(side).expect("a size"),
        komi: Komi::from_half_points(15),
        games,
        openings: "random:1".parse().expect("openings"),
        parallel: 8,
        ..MatchConfig::default()
    }
}

fn try_play(settings: &MatchConfig, a: &mut dyn Player, b: &mut dyn Player) -> Result<MatchResult, MatchError> {
    let context = MatchContext {
        match_id: "gtp".to_owned(),
        ..MatchContext::default()
    };
    run_match(settings, a, b, &context, &mut |_| ControlFlow::Continue(()))
}

fn play(settings: &MatchConfig, a: &mut dyn Player, b: &mut dyn Player) -> MatchResult {
    let result = try_play(settings, a, b).expect("a result");
    for record in &result.records {
        record.validate().expect("a valid record");
    }
    result
}

#[test]
fn an_engine_that_passes_finishes_its_games() {
    let result = Fake::new("").result(&config(5, 6), "");
    assert_eq!((result.a.as_str(), result.games, result.faults), ("Fake 1.0", 6, 0));
    assert!(
        result
            .records
            .iter()
            .all(|record| record.end_reason == EndReason::TwoPasses)
    );
}

#[test]
fn every_failure_is_a_loss_with_its_reason() {
    for (cases, kind, word) in [
        ("genmove) echo 'no luck' >&2; exit 7;;", FaultKind::Exit, "exit code 7"),
        ("genmove) kill -KILL $$;;", FaultKind::Exit, "signal 9"),
        ("genmove) sleep 600;;", FaultKind::Timeout, "0.4 s"),
        ("genmove) printf 'ready?\\n\\n';;", FaultKind::Nonsense, "ready?"),
        ("genmove) printf '=%s Q99\\n\\n' $id;;", FaultKind::Nonsense, "Q99"),
        (
            "genmove) printf '?%s no idea\\n\\n' $id;;",
            FaultKind::RefusedToMove,
            "no idea",
        ),
        (
            "play) printf '?%s illegal move\\n\\n' $id;;",
            FaultKind::RefusedMove,
            "illegal move",
        ),
    ] {
        let limit = if kind == FaultKind::Timeout { ",move_s=0.4" } else { "" };
        let result = Fake::new(cases).result(&config(5, 4), limit);
        assert_eq!((result.a_points, result.games, result.a_faults), (0.0, 4, 4), "{cases}");
        for report in &result.fault_reports {
            assert_eq!(report.fault.kind, kind, "{cases}");
            assert!(report.fault.reason.contains(word), "{cases}: {}", report.fault.reason);
        }
        assert!(
            result
                .records
                .iter()
                .all(|record| record.end_reason == EndReason::Forfeit)
        );
    }
}

#[test]
fn standard_error_is_kept_with_the_fault() {
    let result = Fake::new("genmove) echo 'out of luck' >&2; exit 1;;").result(&config(5, 2), "");
    assert!(result.fault_reports[0].fault.stderr.contains("out of luck"));
}

#[test]
fn illegal_moves_are_found_by_our_referee() {
    let settings = MatchConfig {
        openings: "none".parse().expect("openings"),
        ..config(5, 2)
    };
    let result = Fake::new("genmove) printf '=%s A1\\n\\n' $id;;").result(&settings, "");
    assert_eq!(result.a_faults, 2);
    assert!(
        result
            .fault_reports
            .iter()
            .all(|report| report.fault.kind == FaultKind::IllegalMove)
    );
}

#[test]
fn a_refused_move_may_void_the_game() {
    let settings = MatchConfig {
        refused_moves: Refusal::Void,
        ..config(5, 4)
    };
    let result = Fake::new("play) printf '?%s illegal move\\n\\n' $id;;").result(&settings, "");
    assert_eq!((result.void, result.games, result.faults), (4, 0, 0));
    assert!(
        result
            .game_list
            .iter()
            .all(|game| game.result == "Void" && game.a_points.is_none())
    );
}

#[test]
fn an_engine_that_dies_between_games_is_started_again() {
    let fake = Fake::new("genmove) printf '=%s resign\\n\\n' $id; exit 0;;");
    let mut engine = fake.player("");
    let result = play(&config(5, 6), &mut *engine, &mut *player("random"));
    assert_eq!((result.resigned, result.faults, result.b_points), (6, 0, 6.0));
}

#[test]
fn engines_are_told_the_seed_size_komi_and_moves() {
    let fake = Fake::new("list_commands) printf '=%s set_random_seed\\n\\n' $id;;");
    let log = fake.path.with_extension("log");
    let wrapper = fake.path.with_extension("tee");
    std::fs::write(
        &wrapper,
        format!("tee -a {} | sh {}\n", log.display(), fake.path.display()),
    )
    .expect("a script");
    let mut engine = player(&format!("gtp:\"sh {}\",engines=1", wrapper.display()));
    play(
        &MatchConfig {
            a_color: tengen_evaluator::AColor::White,
            ..config(7, 1)
        },
        &mut *engine,
        &mut *player("random"),
    );
    let text = std::fs::read_to_string(log).expect("a log");
    for word in [
        "boardsize 7",
        "clear_board",
        "komi 7.5",
        "set_random_seed ",
        "play b ",
        "genmove w",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn an_engine_that_does_not_support_the_board_ends_the_match_with_a_sentence() {
    let fake = Fake::new("boardsize) printf '?%s unacceptable size\\n\\n' $id;;");
    let mut engine = fake.player("");
    let error = try_play(&config(5, 4), &mut *engine, &mut *player("random")).expect_err("an error");
    assert!(
        matches!(error, MatchError::Player(PlayerError::Unsupported { .. })),
        "{error}"
    );
    assert!(
        error.to_string().contains("boardsize 5") && error.to_string().lines().count() == 1,
        "{error}"
    );
}

#[test]
fn an_engine_that_does_not_start_is_a_sentence() {
    let spec = "gtp:\"sh -c 'exit 4'\"".parse().expect("a player");
    let error = build_player(&spec, &mut NoModels).err().expect("an error");
    assert!(error.to_string().contains("exit code 4"), "{error}");
}

/// GNU Go with the flags that come nearest to Tromp-Taylor rules.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn gnu_go(options: &str) -> Option<Box<dyn Player>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/games")]);
    let program = folders
        .map(|folder| folder.join("gnugo"))
        .find(|program| program.exists());
    let Some(program) = program else {
        eprintln!("SKIPPED: GNU Go is not installed (Debian package gnugo), so nothing was played against it");
        return None;
    };
    let flags = "--mode gtp --chinese-rules --positional-superko --allow-suicide --never-resign --capture-all-dead \
                 --play-out-aftermath --level 1";
    Some(player(&format!("gtp:\"{} {flags}\",{options}", program.display())))
}

#[test]
fn gnu_go_plays_full_games() {
    for side in [5, 9] {
        let Some(mut engine) = gnu_go("engines=2") else { return };
        let result = play(&config(side, 2), &mut *engine, &mut *player("random"));
        assert!(result.a.starts_with("GNU Go 3"), "{}", result.a);
        assert_eq!(
            (result.games, result.a_faults, result.unfinished),
            (2, 0, 0),
            "{:?}",
            result.fault_reports
        );
        assert!(
            result
                .records
                .iter()
                .all(|record| record.end_reason == EndReason::TwoPasses)
        );
        assert!(side == 5 || result.a_points == 2.0, "{:?}", result.game_list);
    }
}

#[test]
fn gnu_go_repeats_a_match_by_its_seed() {
    let run = || -> Option<Vec<tengen_records::GameRecord>> {
        let mut engine = gnu_go("engines=2")?;
        Some(play(&config(5, 2), &mut *engine, &mut *player("random")).records)
    };
    assert_eq!(run(), run());
}
