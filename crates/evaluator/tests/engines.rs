//! Matches against engines over GTP: fakes that fail in every way, and GNU Go if it is installed.
#![cfg(unix)]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use tengen_evaluator::{
    FaultKind, MatchConfig, MatchContext, MatchError, MatchResult, NoModels, Player, PlayerError, Refusal,
    build_player, run_match,
};
use tengen_gtp::{Controller, Timeouts};
use tengen_records::EndReason;
use tengen_rules::{Komi, Size};

/// A fake engine that passes unless the given shell cases say otherwise.
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
fn every_failure_is_a_loss_with_a_reason() {
    for (cases, kind, word) in [
        (
            "genmove) echo 'no luck' >&2; exit 7;;",
            FaultKind::Exit,
            "exited with code 7",
        ),
        ("genmove) kill -KILL $$;;", FaultKind::Exit, "signal 9"),
        ("genmove) sleep 600;;", FaultKind::Timeout, "0.4 s"),
        (
            "genmove) sleep 0.3; printf '=%s D4\\n\\n' $id;;",
            FaultKind::Timeout,
            "0.2 s for the game",
        ),
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
        let limit = match word {
            "0.4 s" => ",move_s=0.4",
            "0.2 s for the game" => ",game_s=0.2",
            _ => "",
        };
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
    for failure in [
        "exit 1",
        "printf 'hm\\n\\n'",
        "printf '?%s no\\n\\n' $id",
        "sleep 600",
        "printf '=%s A1\\n\\n' $id",
    ] {
        let settings = MatchConfig {
            openings: "none".parse().expect("openings"),
            komi: Komi::from_half_points(1),
            ..config(2, 2)
        };
        let fake = Fake::new(&format!("genmove) yes 'out of luck' | head -c 100000 >&2; {failure};;"));
        let result = fake.result(&settings, ",move_s=0.5");
        assert_eq!(result.a_faults, 2, "{failure}");
        for report in &result.fault_reports {
            let stderr = &report.fault.stderr;
            assert!(stderr.contains("out of luck") && stderr.len() <= 8192, "{failure}");
        }
    }
}

#[test]
fn our_referee_detects_illegal_moves() {
    let settings = MatchConfig {
        openings: "none".parse().expect("openings"),
        ..config(5, 2)
    };
    let result = Fake::new("genmove) printf '=%s A1\\n\\n' $id;;").result(&settings, "");
    assert_eq!(result.a_faults, 2);
    for report in &result.fault_reports {
        assert_eq!(report.fault.kind, FaultKind::IllegalMove);
        assert!(report.fault.reason.starts_with("A1 at ply "), "{}", report.fault.reason);
    }
}

/// On a board of two points, Black plays A1 and White captures with B1. Black's A1 would then repeat the position after
/// Black's first move.
#[test]
fn our_referee_enforces_superko() {
    let settings = MatchConfig {
        size: "2x1".parse().expect("a size"),
        komi: Komi::from_half_points(0),
        openings: "none".parse().expect("openings"),
        a_color: tengen_evaluator::AColor::Black,
        ..config(2, 1)
    };
    let black = Fake::new("genmove) printf '=%s A1\\n\\n' $id;;");
    let white = Fake::new("genmove) printf '=%s B1\\n\\n' $id;;");
    let result = try_play(&settings, &mut *black.player(""), &mut *white.player("")).expect("a result");
    let report = &result.fault_reports[0];
    assert_eq!((report.player, report.ply), (tengen_evaluator::Side::A, 2));
    let expected = "A1 at ply 2 is illegal: the ko rule forbids it: it repeats the position after ply 1";
    assert_eq!(report.fault.reason, expected);
}

#[test]
fn refused_moves_can_void_the_game() {
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
    assert_eq!(result.fault_reports.len(), 4);
    for report in &result.fault_reports {
        assert!(
            report.void && report.fault.reason.contains("illegal move"),
            "{report:?}"
        );
    }
}

#[test]
fn an_engine_that_dies_between_games_is_restarted() {
    let fake = Fake::new("genmove) printf '=%s resign\\n\\n' $id; exit 0;;");
    let mut engine = fake.player("");
    let result = play(&config(5, 6), &mut *engine, &mut *player("random"));
    assert_eq!((result.resigned, result.faults, result.b_points), (6, 0, 6.0));
}

#[test]
fn an_engine_that_cannot_be_restarted_loses_its_remaining_games() {
    let fake = Fake::new(
        "genmove) touch \"$0.broken\"; exit 0;;\nname) test -e \"$0.broken\" && exit 9; printf '=%s F\\n\\n' $id;;",
    );
    let result = play(
        &config(5, 4),
        &mut *player(&format!("gtp:\"sh {}\",engines=1", fake.path.display())),
        &mut *player("random"),
    );
    assert_eq!((result.a_points, result.a_faults), (0.0, 4));
    assert!(
        result.fault_reports[0]
            .fault
            .reason
            .contains("exited with code 0 during 'genmove")
    );
    for report in &result.fault_reports[1..] {
        assert_eq!(report.fault.kind, FaultKind::Exit);
        assert!(
            report.fault.reason.contains("exited with code 9 during 'name'"),
            "{}",
            report.fault.reason
        );
    }
}

#[test]
fn name_version_command_and_processes_are_recorded() {
    let fake = Fake::new("genmove) printf '=%s resign\\n\\n' $id; exit 0;;");
    let result = play(
        &config(5, 3),
        &mut *player(&format!("gtp:\"sh {}\",engines=1,name=X", fake.path.display())),
        &mut *player("random"),
    );
    let engine = result.a_engine.expect("an engine");
    assert_eq!((engine.name.as_str(), engine.version.as_str()), ("Fake", "1.0"));
    assert_eq!(
        (engine.command, engine.processes),
        (format!("sh {}", fake.path.display()), 3)
    );
    assert_eq!((result.a.as_str(), result.b_engine), ("X", None));
}

#[test]
fn engines_get_the_rules_or_the_result_says_that_they_did_not() {
    let katago = "list_commands) printf '=%s kata-set-rules\\n\\n' $id;;\n\
         kata-set-rules) case \"$rest\" in \
         *'\"ko\":\"SITUATIONAL\"'*N-1*|*'\"ko\":\"POSITIONAL\"'*) printf '=%s\\n\\n' $id;; \
         *) printf '?%s unknown rules\\n\\n' $id;; esac;;";
    for (cases, known) in [
        (
            katago,
            &["tromp_taylor", "tromp_taylor_practice", "simplified_ing", "aga"][..],
        ),
        ("", &["tromp_taylor", "tromp_taylor_practice", "simplified_ing"][..]),
    ] {
        let fake = Fake::new(cases);
        for name in tengen_rules::Rules::names() {
            let rules = name.parse().expect("a name");
            let result = fake.result(&MatchConfig { rules, ..config(3, 2) }, "");
            let unknown = result.a_engine.expect("an engine").rules_not_told;
            let expected = (!known.contains(&name)).then(|| name.to_owned());
            assert_eq!(unknown, expected, "{cases}");
            assert_eq!(result.faults, 0, "an engine that does not know the rules plays anyway");
        }
    }
}

#[test]
fn engines_without_a_name_are_named_after_their_program() {
    let silent = Fake::new("name|version) printf '=%s\\n\\n' $id;;");
    assert_eq!(silent.player("").name(), "sh");
    let loud = Fake::new("name) printf '=%s a\\tb\\nc %0500d\\n\\n' $id 0;;");
    let name = loud.player("").name();
    assert!(name.starts_with("a b c 000") && name.len() == 80, "{name}");
}

#[test]
fn command_lines_can_be_quoted() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = dir.path().join("an engine's, own=script.sh");
    std::fs::copy(&Fake::new("").path, &script).expect("a copy");
    for text in [
        format!("gtp:sh \"{}\"", script.display()),
        format!("gtp:\"sh \\\"{}\\\"\",engines=1", script.display()),
    ] {
        assert_eq!(player(&text).name(), "Fake 1.0", "{text}");
    }
}

#[test]
fn engines_get_the_seed_size_komi_and_moves() {
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
    let words = [
        "boardsize 7",
        "clear_board",
        "komi 7.5",
        "set_random_seed ",
        "play b ",
        "genmove w",
    ];
    // `tee` hands a line on before it writes it to the log, so the last one may come after the engine's answer.
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let text = std::fs::read_to_string(&log).expect("a log");
        let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
        if missing.is_empty() {
            break;
        }
        assert!(Instant::now() < patience, "{missing:?} not in {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_engine_that_does_not_support_the_board_ends_the_match_with_one_line() {
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
fn an_engine_that_does_not_start_is_reported() {
    let spec = "gtp:\"sh -c 'exit 4'\"".parse().expect("a player");
    let error = build_player(&spec, &mut NoModels).err().expect("an error");
    assert!(error.to_string().contains("exited with code 4"), "{error}");
}

/// The command line of GNU Go with the flags that come closest to Tromp-Taylor rules.
#[expect(clippy::print_stderr, reason = "a skipped test must be visible")]
fn gnu_go(level: u32) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/games")]);
    let program = folders
        .map(|folder| folder.join("gnugo"))
        .find(|program| program.exists());
    let Some(program) = program else {
        eprintln!("SKIPPED: GNU Go is not installed (scripts/setup-gnugo), so nothing was played against it");
        return None;
    };
    Some(format!(
        "{} --mode gtp --chinese-rules --positional-superko --allow-suicide --never-resign --capture-all-dead \
         --play-out-aftermath --level {level}",
        program.display()
    ))
}

/// Checks that GNU Go counts the final board of every game as our referee does, with no dead stones left on it.
fn gnu_go_agrees(command: &str, result: &MatchResult) {
    let command = command.parse().expect("a command line");
    let mut judge = Controller::start(&command, Timeouts::default()).expect("a running engine");
    for record in &result.records {
        judge.new_game(record.size, record.komi).expect("accepted");
        for (ply, played) in record.plies.iter().enumerate() {
            judge
                .play(record.size, record.mover(ply), played.mv)
                .expect("legal for GNU Go too");
        }
        let score = judge.ask("final_score").expect("a score");
        assert_eq!(
            score.trim().trim_end_matches(".0"),
            record.result_text(),
            "{}",
            record.game_id
        );
    }
}

#[test]
fn gnu_go_plays_full_games_as_both_colors_on_every_size() {
    let Some(command) = gnu_go(1) else { return };
    let engine = || player(&format!("gtp:\"{command}\",engines=2"));
    for side in [5, 7, 9] {
        for mut opponent in [player("uniform,visits=16"), engine()] {
            let result = play(&config(side, 2), &mut *engine(), &mut *opponent);
            assert!(result.a.starts_with("GNU Go 3"), "{}", result.a);
            let counts = (result.games, result.faults, result.unfinished);
            assert_eq!(counts, (2, 0, 0), "{:?}", result.fault_reports);
            let ends: Vec<_> = result.records.iter().map(|record| record.end_reason).collect();
            assert_eq!(ends, [EndReason::TwoPasses; 2]);
            assert!(
                side == 5 || result.b.starts_with("GNU Go") || result.a_points == 2.0,
                "{:?}",
                result.game_list
            );
            gnu_go_agrees(&command, &result);
        }
    }
}

#[test]
fn gnu_go_repeats_a_match_with_the_same_seed() {
    let Some(command) = gnu_go(1) else { return };
    let run = || {
        let mut engine = player(&format!("gtp:\"{command}\",engines=2"));
        play(&config(5, 2), &mut *engine, &mut *player("random")).records
    };
    assert_eq!(run(), run());
}

#[test]
fn a_board_gnu_go_cannot_play_is_reported_in_one_line() {
    let Some(command) = gnu_go(1) else { return };
    let mut engine = player(&format!("gtp:{command}"));
    let settings = MatchConfig {
        size: "4x3".parse().expect("a size"),
        komi: Komi::from_half_points(1),
        ..config(3, 2)
    };
    let error = try_play(&settings, &mut *engine, &mut *player("random")).expect_err("an error");
    let text = error.to_string();
    assert!(
        text.contains("rectangular_boardsize") && text.lines().count() == 1,
        "{text}"
    );
}
