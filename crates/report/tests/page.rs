//! The whole page, made from a small real store with random games under the rules and made-up metrics.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use tengen_metrics::{Event, Gate, Measured, Metrics, Model, Rating, Selfplay, Start, Train, Warning};
use tengen_records::{EndReason, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord};
use tengen_report::notices::{self, Author, Notice, TrainerSays, WorkerSays};
use tengen_report::{Refresh, write_report};
use tengen_rng::SplitMix64;
use tengen_rules::{Komi, Move, Outcome, Setup, Size};
use tengen_store::{Collection, Create, GamesOf, Promotion, RunInfo, Store};
use tengen_testing::random_model;

/// Random numbers, good enough for games that only need to look like games.
struct Dice(SplitMix64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.bits() % n as u64) as usize
    }

    /// A value from −1 to 1.
    fn noise(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
}

/// A random game that fills no own eyes; it ends with two passes or after `limit` plies.
fn random_game(size: Size, seed: u64, kind: GameKind, limit: usize, skill: usize) -> GameRecord {
    let mut dice = Dice(SplitMix64::new(seed));
    let mut game = GameRecord {
        game_id: format!("{}-{seed}", kind.name()),
        size,
        rules: "tromp-taylor".into(),
        komi: Komi::from_half_points(15),
        score_half_points: None,
        seed: seed as i64,
        black_model: "g000001-000000000000".into(),
        white_model: "g000002-</script>".into(),
        config_id: "test".into(),
        start_time_ms: 1_700_000_000_000 + seed as i64,
        end_reason: EndReason::PlyLimit,
        kind,
        opening_plies: 0,
        setup: Setup::EVEN,
        plies: Vec::new(),
        ownership: Vec::new(),
        origin: None,
    };
    let mut position = game.start().unwrap();
    let random_opening = dice.below(4) == 0;
    while !position.is_over() && game.plies.len() < limit {
        let free: Vec<_> = position
            .legal_points()
            .iter()
            .filter(|&point| !position.is_one_point_eye(point, position.to_move()))
            .collect();
        let center = size
            .point(size.width() / 2, size.height() / 2)
            .filter(|_| dice.below(10) < skill);
        let mv = match (free.is_empty(), center.filter(|_| game.plies.is_empty())) {
            (true, _) => Move::Pass,
            (false, Some(center)) => Move::Play(center),
            (false, None) => Move::Play(free[dice.below(free.len())]),
        };
        let mut ply = PlyRecord {
            flags: FULL_SEARCH,
            root_visits: 32,
            weight: 1.0,
            ..PlyRecord::bare(mv)
        };
        if random_opening && game.plies.is_empty() {
            ply = PlyRecord {
                flags: OPENING,
                ..PlyRecord::bare(mv)
            };
        } else if free.len() > 1 && mv != Move::Pass {
            let other = free[dice.below(free.len())];
            let other = if Move::Play(other) == mv {
                size.area()
            } else {
                other.index()
            };
            ply.policy = vec![(mv.index(size) as u16, 0.75), (other as u16, 0.25)];
        }
        game.plies.push(ply);
        position.play(mv);
    }
    game.opening_plies = u16::from(random_opening);
    let reason = if position.is_over() {
        EndReason::TwoPasses
    } else {
        EndReason::PlyLimit
    };
    game.set_end(&position, reason);
    invent_values(&mut game, &mut dice);
    game
}

/// Values that approach the result as the game progresses.
fn invent_values(game: &mut GameRecord, dice: &mut Dice) {
    let black = match game.outcome() {
        Some(Outcome::BlackWins) => 1.0,
        Some(Outcome::WhiteWins) => -1.0,
        Some(Outcome::Tie) | None => 0.0,
    };
    let (count, margin) = (game.plies.len() as f64, f64::from(game.margin_points().unwrap_or(0.0)));
    for (i, ply) in game.plies.iter_mut().enumerate().filter(|(_, ply)| ply.root_visits > 0) {
        let side = if i % 2 == 0 { 1.0 } else { -1.0 };
        let known = i as f64 / count;
        ply.root_value = (side * black * known * 0.9 + dice.noise() * (1.0 - known) * 0.5).clamp(-1.0, 1.0) as f32;
        ply.network_value = (f64::from(ply.root_value) * 0.8 + dice.noise() * 0.2).clamp(-1.0, 1.0) as f32;
        ply.root_margin = (side * margin * known + dice.noise()) as f32;
    }
}

/// A store as a short run would leave it.
fn sample_store(folder: &Path, generations: u32) -> Store {
    let store = Store::open(folder.to_str().unwrap(), Create::Always).unwrap();
    let size = Size::square(7).unwrap();
    store
        .put_run_info(&RunInfo::new(
            "sample",
            0,
            "tromp-taylor",
            vec!["7x7".into()],
            json!({}),
        ))
        .unwrap();
    for generation in 1..=generations {
        let game = |i: u64| {
            let seed = u64::from(generation) * 1000 + i;
            random_game(
                size,
                seed,
                GameKind::SelfPlay,
                if i == 11 { 20 } else { 150 },
                generation as usize,
            )
        };
        let games: Vec<_> = (0..12).map(game).collect();
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "w", generation.into(), &games)
            .unwrap();
        let mut published = random_model(generation.into());
        published.info.provenance.step = u64::from(generation) * 50;
        published.info.cost.games = u64::from(generation) * 12;
        let model = store.models().publish(generation, &published).unwrap();
        if generation % 3 == 1 {
            let promotion = Promotion::now(&model, None, Value::Null);
            store.models().promote(generation / 3 + 1, &promotion).unwrap();
        }
    }
    for m in 0..3 {
        let games: Vec<_> = (0..6)
            .map(|i| random_game(size, 50_000 + m * 100 + i, GameKind::Match, 150, 5))
            .collect();
        let id = format!("gate-{m}");
        store
            .games()
            .publish_games(&Collection::Match { id }, "gate", m, &games)
            .unwrap();
    }
    invent_metrics(&store, folder, generations);
    store
}

fn invent_metrics(store: &Store, folder: &Path, generations: u32) {
    let metrics = Metrics::of(store, folder).unwrap();
    let mut dice = Dice(SplitMix64::new(7));
    let models = store.models().list().unwrap();
    for minute in 0..u64::from(generations) * 10 {
        let (t, n) = (minute as f64, minute as f64 * 30.0);
        let fading = |from: f64, to: f64| to + (from - to) * (-t / 40.0).exp();
        let at = |measured| Event {
            time_ms: minute as i64 * 6000,
            elapsed_seconds: t * 6.0,
            measured,
        };
        let train = Train {
            step: minute * 5 + 1,
            samples: minute * 640,
            learning_rate: 0.002 * (t / 10.0).min(1.0),
            total_loss: fading(9.0, 5.0) + dice.noise() * 0.1,
            policy_loss: fading(3.9, 2.1) + dice.noise() * 0.05,
            value_loss: fading(0.7, 0.45) + dice.noise() * 0.03,
            margin_loss: fading(4.2, 2.3) + dice.noise() * 0.1,
            ownership_loss: fading(0.69, 0.4),
            policy_entropy: fading(3.9, 1.9),
            grad_norm: if minute == 40 {
                f64::NAN
            } else {
                fading(2.0, 0.7) + dice.noise() * 0.2
            },
            positions_per_second: 1800.0 + dice.noise() * 90.0,
        };
        metrics.record(&at(Measured::Train(train))).unwrap();
        let selfplay = Selfplay {
            games: minute * 40,
            positions: minute * 40 * 55,
            evaluations: minute * 9000,
            games_per_second: 7.0,
            evaluations_per_second: 2900.0 + dice.noise() * 120.0,
            positions_per_second: 350.0,
            mean_plies: fading(110.0, 48.0) + dice.noise() * 3.0,
            unfinished_share: fading(0.35, 0.0),
            black_win_share: 0.5 + dice.noise() * 0.08,
            mean_margin: dice.noise() * 2.0,
            fair_komi: fading(0.5, 9.0),
            cache_hit_share: fading(0.1, 0.55),
            mean_batch: fading(64.0, 60.0),
            mean_gpu_batch: f64::NAN,
            descend_share: 0.2,
            predict_share: fading(0.7, 0.6),
            absorb_share: 0.05,
            training_share: 0.8,
            gate_share: fading(0.0, 0.3),
            gpu_busy_share: f64::NAN,
            gpu_prediction_share: f64::NAN,
            gpu_training_share: f64::NAN,
            gpu_padding_share: f64::NAN,
            gpu_buckets: Vec::new(),
            workers: Vec::new(),
            visits: 32,
            window_positions: 3000 + (n * 9.0) as u64,
            pass_share: 0.02,
            early_end_share: 0.01,
            distinct_opening_share: 0.9,
            store_requests_per_minute: 90.0,
            store_requests_per_game: 0.2,
            store_latency_ms: 4.0,
        };
        metrics.record(&at(Measured::Selfplay(selfplay))).unwrap();
        let Some(model) = models.get((minute / 10) as usize).filter(|_| minute % 10 == 9) else {
            continue;
        };
        let (evaluations, cpu_seconds) = (minute * 9000, t * 11.0);
        metrics
            .record(&at(Measured::Model(Model {
                model_id: model.to_string(),
                step: minute * 5,
                games: minute * 40,
                positions: minute * 2200,
                evaluations,
                cpu_seconds,
                elo: None,
            })))
            .unwrap();
        let elo = 900.0 * (1.0 - (-t / 50.0).exp()) + dice.noise() * 25.0;
        let rating = Rating {
            model_id: model.to_string(),
            elo,
            low: elo - 60.0,
            high: elo + 60.0,
            evaluations,
            cpu_seconds,
            anchored: false,
        };
        metrics.record(&at(Measured::Rating(rating))).unwrap();
        metrics
            .record(&at(Measured::Gate(Gate {
                candidate: model.to_string(),
                champion: if minute == 9 {
                    String::new()
                } else {
                    models[(minute / 10) as usize - 1].to_string()
                },
                promoted: model.generation() % 3 == 1,
                games: if minute == 9 { 0 } else { 80 },
                points_share: 0.61,
                elo: 78.0,
                elo_low: 5.0,
                elo_high: 151.0,
                llr: 2.97,
                reason: if minute == 9 {
                    "the first model".into()
                } else {
                    "the sequential test accepted".into()
                },
            })))
            .unwrap();
    }
}

#[test]
fn the_setup_and_the_verdict_are_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let store = sample_store(&folder.path().join("store"), 3);
    let without = page(&store, Refresh::Never);
    assert!(!without.contains("differs from") && !without.contains("id=\"verdict\""));
    let metrics = Metrics::of(&store, &folder.path().join("store")).unwrap();
    for command in ["tengen run a.toml", "tengen run a.toml --set 'budget.minutes=2'"] {
        let start = Start {
            version: "0.1.0 (commit 0123456789)".into(),
            command: command.into(),
            network: "b4c32".into(),
            cores: 2,
            compared_with: "configs/5x5.toml".into(),
            differences: vec!["budget.minutes = 2.0 (2.5)".into()],
            ..Start::default()
        };
        metrics.record(&Event::now(0.0, Measured::Start(start))).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let summary = |steps: u64, mv: &str| {
        json!({
            "name": "5x5", "champion": "g000014-47a3b49461cd", "size": "5x5", "games": 9, "positions": 90,
            "steps": steps, "cost": {}, "elo": [],
            "first_move": {"komi": "24.5", "visits": 64, "move": mv, "value": 0.98, "board_margin": 24.9},
            "results": [{
                "opponent": "random", "color": "black", "komi": "24.5", "games": 100, "wins": 97, "ties": 1,
                "losses": 2, "full_board_wins": 90
            }]
        })
    };
    for (steps, mv) in [(900, "E1"), (1_200, "C3")] {
        let bytes = tengen_store::sealed_json(&summary(steps, mv));
        store
            .files()
            .put_new(&format!("summaries/{steps:09}-g000014.json"), bytes)
            .unwrap();
    }
    let page = page(&store, Refresh::Never);
    for part in [
        "0.1.0 (commit 0123456789)",
        "<th class=\"left\">last command</th><td class=\"words\">tengen run a.toml --set 'budget.minutes=2'</td>",
        "differs from configs/5x5.toml",
        "<code>budget.minutes = 2.0 (2.5)</code>",
        "<th class=\"left\">starts</th><td class=\"words\">2</td>",
        "After 1,200 training steps, the champion is <b>g000014</b>",
        "it plays <b>C3</b> (64 visits): Black's value is <b>+0.98</b>",
        "<td>97</td><td>1</td><td>2</td><td>100</td><td>90</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("E1</b>"));
}

/// Writes the page and returns it.
fn page(store: &Store, refresh: Refresh) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("page.html");
    let summary = write_report(store, &out, refresh).unwrap();
    let page = std::fs::read_to_string(&out).unwrap();
    assert_eq!(summary.bytes, page.len() as u64);
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing else is left behind"
    );
    page
}

/// The JSON block of games in a page.
fn games_of(page: &str) -> Value {
    let (_, block) = page
        .split_once(r#"<script id="games" type="application/json">"#)
        .unwrap();
    serde_json::from_str(block.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn an_empty_store_gives_a_page_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store").to_str().unwrap(), Create::Always).unwrap();
    let page = page(&store, Refresh::Never);
    for part in [
        "This store is still empty",
        "No models yet",
        "No games yet",
        "No gate matches yet",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(games_of(&page), json!([]));
    assert!(!page.contains("http-equiv"));
}

#[test]
fn a_run_gives_a_self_contained_page() {
    let folder = tempfile::tempdir().unwrap();
    let store = sample_store(folder.path(), 6);
    let page = page(&store, Refresh::Every(60));
    for part in [
        "sample",
        "7x7",
        "champion",
        "Elo",
        "the sequential test accepted",
        "generation 6",
        "g000004-",
        "mean result",
        "<td>+78 (+5 to +151) over g000001</td>",
        "svg.plot",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains(r#"http-equiv="refresh" content="60""#));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    for outside in ["src=\"http", "href=\"http", "url(", "@import", "NaN"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(
        !page.contains(&folder.path().display().to_string()),
        "stores are copied"
    );
    let games = games_of(&page);
    assert_eq!(games.as_array().unwrap().len(), 20 + 3 * 4);
    let titles: std::collections::BTreeSet<_> = games
        .as_array()
        .unwrap()
        .iter()
        .map(|game| game["title"].to_string())
        .collect();
    assert_eq!(titles.len(), 20 + 3 * 4, "every game has a name of its own");
    assert_eq!(games[0]["white"], "g000002-</script>");
    let sgf = games[0]["sgf"].as_str().unwrap();
    assert!(sgf.starts_with("(;") && sgf.contains("SZ[7]"), "{sgf}");
}

#[test]
fn a_damaged_shard_is_reported_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let store = sample_store(folder.path(), 2);
    let shard = store.games().list_shards(&GamesOf::SelfPlay).unwrap().pop().unwrap();
    std::fs::write(folder.path().join(&shard.path), "damaged").unwrap();
    let out = folder.path().join("report.html");
    let summary = write_report(&store, &out, Refresh::Never).unwrap();
    assert!(
        summary
            .problems
            .iter()
            .any(|problem| problem.contains(&shard.name.to_string())),
        "{summary:?}"
    );
    assert!(std::fs::read_to_string(&out).unwrap().contains(&shard.name.to_string()));
}

#[test]
fn an_error_names_the_page_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let out = folder.path().join("missing").join("page.html");
    let error = write_report(&store, &out, Refresh::Never).unwrap_err();
    assert!(error.to_string().contains("page.html"), "{error}");
}

/// The name of an installed Chromium, if there is one.
fn chromium() -> Option<&'static str> {
    let answers = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome", "chrome"]
        .into_iter()
        .find(answers)
}

/// A headless Chromium that touches nothing but `profile`.
fn browser(name: &str, profile: &Path) -> Command {
    let mut command = Command::new(name);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
    ]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// Stones of a position as the page's script writes them.
fn stones(game: &GameRecord, plies: usize) -> String {
    let mut position = game.start().unwrap();
    game.plies[..plies].iter().for_each(|ply| position.play(ply.mv));
    let stone = |point| match position.at(point) {
        None => '.',
        Some(tengen_rules::Color::Black) => 'B',
        Some(tengen_rules::Color::White) => 'W',
    };
    game.size.points().map(stone).collect()
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn games_can_be_replayed_in_a_browser() {
    let Some(name) = chromium() else {
        eprintln!("SKIPPED: no chromium is installed, so no game was replayed on the report page");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let store = sample_store(&folder.path().join("store"), 3);
    let out = folder.path().join("page.html");
    write_report(&store, &out, Refresh::Never).unwrap();
    let address = format!("file://{}#selftest", out.display());
    let output = browser(name, &folder.path().join("profile"))
        .args(["--dump-dom", &address])
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, found) = dom
        .split_once(r#"<pre id="selftest">"#)
        .expect("the page ran its self-test");
    let found: Value = serde_json::from_str(found.split_once("</pre>").unwrap().0).unwrap();

    let newest = |games: GamesOf| {
        store
            .games()
            .read(store.games().list_shards(&games).unwrap().last().unwrap())
            .unwrap()
            .pop()
            .unwrap()
    };
    let game = newest(GamesOf::SelfPlay);
    let count = game.plies.len();
    let boards: Vec<_> = (0..=count).map(|plies| stones(&game, plies)).collect();
    assert_eq!(found["boards"], json!(boards));
    assert_eq!(
        found["at"],
        json!([count, count - 1, 0, 1, 1, count, count - 1, 0, count])
    );
    assert_eq!(found["back"], json!(true));
    let shards = store.games().list_shards(&GamesOf::Match("gate-0".into())).unwrap();
    let games = store.games().read(&shards[0]).unwrap();
    assert_eq!(found["second"], json!(stones(&games[2], games[2].plies.len())));
    let last = &games[2];
    // At the end, points whose owner is not the stone on them are marked; on the empty board, all that have one.
    let owned = |other: &dyn Fn(usize) -> bool| {
        let has = |&(point, owner): &(usize, &i8)| *owner != 0 && other(point);
        last.ownership.iter().enumerate().filter(has).count()
    };
    let end = stones(last, last.plies.len()).into_bytes();
    let at_end = owned(&|point| end[point] != if last.ownership[point] > 0 { b'B' } else { b'W' });
    assert_eq!(found["owned"], json!([[0, owned(&|_| true)], [at_end, at_end]]));
    assert!(
        found["words"]
            .as_str()
            .unwrap()
            .starts_with(&format!("Turn {}", games[2].plies.len()))
    );
    assert!(found["figures"].as_str().unwrap().starts_with("For Black: value"));
}

#[test]
#[ignore = "writes a page to look at: cargo test -p tengen-report sample_page -- --ignored"]
fn sample_page() {
    let folder = tempfile::tempdir().unwrap();
    let store = sample_store(folder.path(), 12);
    write_report(
        &store,
        &std::env::temp_dir().join("tengen-sample-report.html"),
        Refresh::Never,
    )
    .unwrap();
}

/// Writes a notice and sets its age in the store.
fn notice<T: serde::Serialize + serde::de::DeserializeOwned>(
    store: &Store,
    path: &str,
    host: &str,
    (ended, age): (bool, u64),
    says: T,
) {
    let author = Author {
        name: format!("{host}-1"),
        host: host.to_owned(),
        pid: 1,
        version: "0.1.0".to_owned(),
    };
    Notice::new(&author, 1, ended, says).write(store, path).unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(store.local_path().unwrap().join(path))
        .unwrap();
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
    file.set_modified(time).unwrap();
}

#[test]
fn a_worker_that_stopped_without_a_word_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().display().to_string(), Create::Always).unwrap();
    let worker = |host: &str| notices::worker_path(&format!("{host}-1"));
    let playing = WorkerSays {
        device: "cuda:0 NVIDIA H100".to_owned(),
        games_per_second: 12.25,
        evaluations_per_second: 4321.0,
        idle: 0.5,
        gpu_busy: Some(0.87),
        model: "g000003-step1200".to_owned(),
        ..WorkerSays::default()
    };
    let trainer = TrainerSays {
        step: 1234,
        ..TrainerSays::default()
    };
    notice(&store, notices::TRAINER, "boss", (false, 1), trainer);
    notice(&store, &worker("alive"), "alive", (false, 8), playing.clone());
    notice(&store, &worker("lost"), "lost", (false, 200), playing.clone());
    notice(&store, &worker("done"), "done", (true, 900), playing);
    let page = page(&store, Refresh::Never);
    assert!(page.contains("step 1,234, 0 positions taken in"));
    assert!(page.contains("plays with g000003-step1200"));
    let gone = page.matches("has stopped without saying so").count();
    assert_eq!(gone, 1, "one of three workers has");
    assert!(page.contains("The worker lost-1 on lost has stopped without saying so"));
    assert_eq!(
        (page.matches("12.2</td>").count(), page.matches("4,321</td>").count()),
        (1, 1),
        "only the living play"
    );
    assert!(page.contains("GPU busy"));
    assert_eq!(page.matches("87%</td>").count(), 1, "only the living use their GPU");
}

#[test]
fn warnings_of_the_run_stay_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let metrics = Metrics::of(&store, folder.path()).unwrap();
    for (at, text) in [
        (754.0, "warning: the network <remembers> 25% of the games"),
        (800.0, "warning: games are short"),
        (3661.0, "warning: the network <remembers> 31% of the games"),
    ] {
        let text = text.to_owned();
        metrics.note(at, Measured::Warning(Warning { text }));
    }
    let page = page(&store, Refresh::Never);
    for shown in [
        "After 13 min 20 s: games are short</p>",
        "After 1 h 01 min: the network &lt;remembers&gt; 31% of the games (2 times so far)</p>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("25% of the games"), "an older one of its kind");
}

#[test]
fn the_newest_event_says_the_time_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    assert_eq!(tengen_metrics::elapsed_seconds(&store).unwrap(), 0.0);
    let metrics = Metrics::of(&store, folder.path()).unwrap();
    for (time_ms, elapsed_seconds) in [(10, 5.0), (30, 7.5), (20, 6.0)] {
        let measured = Measured::Train(Train::default());
        let event = Event {
            time_ms,
            elapsed_seconds,
            measured,
        };
        metrics.record(&event).unwrap();
    }
    assert_eq!(tengen_metrics::elapsed_seconds(&store).unwrap(), 7.5);
}
