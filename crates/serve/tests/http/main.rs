//! The server as a browser sees it.

mod common;

use serde_json::{Value, json};

use common::{Fixture, Running};

const PAGES: [&str; 5] = [
    "/runs/three",
    "/runs/three/sections",
    "/runs/three/games",
    "/runs/three/games?kind=selfplay&page=1",
    "/runs/three/board",
];

/// The address of the newest game.
fn newest(server: &Running) -> String {
    let list = server.get("/runs/three/games").body;
    let link = list
        .split("href=\"")
        .find(|part| part.starts_with("/runs/three/games/"))
        .unwrap();
    link.split('"').next().unwrap().to_owned()
}

#[test]
fn pages_load_and_may_load_nothing_from_elsewhere() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let home = server.get("/");
    assert!(
        home.status == 303 && home.head.contains("location: /runs/three"),
        "{home:?}"
    );
    let game = newest(&server);
    for path in PAGES.into_iter().chain([game.as_str()]) {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(
            answer.head.contains("content-security-policy: default-src 'none'"),
            "{}",
            answer.head
        );
        assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
        for part in [
            "http://",
            "https://",
            "<style",
            "style=",
            "onclick",
            "<script>",
            "onerror=alert(1)>",
        ] {
            let text = answer.body.replace("http://www.w3.org/", "");
            assert!(!text.contains(part), "{path} contains {part}");
        }
    }
    for file in [
        "report.css",
        "serve.css",
        "live.js",
        "plots.js",
        "board.js",
        "replay.js",
        "play.js",
        "analysis.js",
        "view.js",
        "icon.svg",
    ] {
        assert_eq!(server.get(&format!("/assets/{file}")).status, 200, "{file}");
    }
    assert!(server.get("/runs/three").body.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn games_have_their_records() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let game = newest(&server);
    assert!(server.get("/runs/three/games").body.contains("5 games"));
    let sgf = server.get(&format!("{game}/record.sgf"));
    assert!(sgf.status == 200 && sgf.body.starts_with("(;GM[1]"), "{sgf:?}");
    assert!(sgf.head.contains("attachment; filename=\"three-"), "{}", sgf.head);
    let record = server.get(&format!("{game}/record.json")).ok();
    assert_eq!((&record["width"], &record["kind"]), (&json!(3), &json!("selfplay")));
    assert!(
        record["turns"].as_array().is_some_and(|turns| !turns.is_empty()),
        "{record}"
    );
    // The newest game is the last one of its shard.
    assert!(game.ends_with("/5"), "{game}");
    let page = server.get(&game).body;
    assert!(page.contains("older game") && !page.contains("newer game"));
}

#[test]
fn senseless_requests_get_a_sentence() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let game = newest(&server);
    let beyond = format!("{}/6", game.trim_end_matches("/5"));
    for (path, status, sentence) in [
        ("/nothing", 404, "There is nothing at this address"),
        ("/runs/four", 404, "There is no run"),
        ("/assets/../Cargo.toml", 404, "nothing"),
        ("/assets/other.js", 404, "There is no file"),
        ("/runs/three/games?kind=odd", 400, "selfplay, match, or import"),
        ("/runs/three/games?page=0", 400, "1 or more"),
        ("/runs/three/games/no-shard/1", 404, "merged or pruned"),
        (&beyond, 404, "from 1 to 5, not 6"),
        ("/api/play/0123", 404, "there is no open game"),
        ("/api/runs/four/champion", 404, "there is no run"),
    ] {
        server.get(path).refused(status, sentence);
    }
    let start = "/api/runs/three/play";
    server
        .send("POST", start, &[("Content-Type", "application/json")], "{")
        .refused(400, "cannot be read");
    server
        .send("POST", start, &[("Content-Type", "text/plain")], "{}")
        .refused(415, "application/json");
    server
        .send("PUT", start, &[("Content-Type", "application/json")], "{}")
        .refused(405, "requests of this kind");
    server
        .post(start, &json!({ "size": "a".repeat(5000) }))
        .refused(413, "too large");
    let good = json!({ "size": "3x3", "komi": "4.5", "color": "black", "visits": 20 });
    for (key, value, status, sentence) in [
        ("size", json!("9x9"), 422, "was trained on 3x3, not on 9x9"),
        ("size", json!("99"), 400, "the board"),
        ("komi", json!("4.3"), 400, "komi"),
        ("komi", json!("10"), 422, "exceeds the 9 points"),
        ("color", json!("red"), 400, "black or white"),
        ("visits", json!(0), 400, "1 to 10000 visits"),
        ("visits", json!("many"), 400, "cannot be read"),
        ("more", json!(1), 400, "unknown field"),
    ] {
        let mut request = good.clone();
        request[key] = value;
        server.post(start, &request).refused(status, sentence);
    }
}

#[test]
fn other_names_and_other_sites_are_turned_away() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let as_host = |host| server.send("GET", "/runs/three", &[("Host", host)], "");
    as_host("evil.example").refused(421, "evil.example");
    as_host("127.0.0.1.evil.example").refused(421, "localhost");
    assert_eq!(as_host("localhost").status, 200);
    assert_eq!(as_host("[::1]:9").status, 200);
    let headers = [("Content-Type", "application/json"), ("Origin", "http://evil.example")];
    server
        .send("POST", "/api/runs/three/play", &headers, "{}")
        .refused(403, "another site");
}

/// Starts a game and returns its address and its state.
fn start(server: &Running, color: &str) -> (String, Value) {
    let request = json!({ "size": "3x3", "komi": "4.5", "color": color, "visits": 30 });
    let answer = server.post("/api/runs/three/play", &request);
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer = answer.json();
    (
        format!("/api/play/{}", answer["game"].as_str().unwrap()),
        answer["state"].clone(),
    )
}

#[test]
fn a_game_is_played_to_its_end() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let (game, mut state) = start(&server, "black");
    let act = |state: &Value, what: &str, mut body: Value| {
        body["revision"] = state["revision"].clone();
        server.post(&format!("{game}/{what}"), &body)
    };
    act(&state, "reply", json!({})).refused(409, "your turn");
    act(&state, "move", json!({ "move": "K5" })).refused(400, "expected a move on 3x3");
    act(&state, "undo", json!({})).refused(409, "not made a move");
    let before = state.clone();
    state = act(&state, "move", json!({ "move": "B2" })).ok();
    assert_eq!(
        (&state["stones"], &state["your_turn"]),
        (&json!("....B...."), &json!(false))
    );
    act(&before, "move", json!({ "move": "A1" })).refused(409, "the board has changed");
    act(&state, "move", json!({ "move": "A1" })).refused(409, "model's turn");
    state = act(&state, "reply", json!({})).ok();
    assert_eq!(state["moves"].as_array().unwrap().len(), 2);
    act(&state, "move", json!({ "move": "B2" }))
        .refused(422, "B2 is illegal under tromp_taylor: the point is occupied");
    let analysis = act(&state, "analysis", json!({})).ok();
    assert!(analysis["visits"].as_u64().unwrap() >= 30, "{analysis}");
    assert_eq!(analysis["policy"].as_array().unwrap().len(), 10);
    assert!(!analysis["moves"].as_array().unwrap().is_empty());
    state = act(&state, "undo", json!({})).ok();
    assert_eq!(state["moves"], json!([]));
    // The person passes until the model does, too.
    for _ in 0..40 {
        state = act(&state, "move", json!({ "move": "pass" })).ok();
        if state["result"].is_null() {
            state = act(&state, "reply", json!({})).ok();
        }
        if !state["result"].is_null() {
            break;
        }
    }
    let result = &state["result"];
    let (black, white) = (result["black"].as_f64().unwrap(), result["white"].as_f64().unwrap());
    let margin = black - white - 4.5;
    assert_eq!(
        result["text"],
        format!("{}+{}", if margin > 0.0 { "B" } else { "W" }, margin.abs()),
        "{state}"
    );
    act(&state, "move", json!({ "move": "A1" })).refused(422, "the game is over");
    act(&state, "analysis", json!({})).refused(409, "the game is over");
    let sgf = server.get(&format!("{game}/record.sgf")).body;
    assert!(
        sgf.contains("PB[a person]") && sgf.contains(&format!("RE[{}]", result["text"].as_str().unwrap())),
        "{sgf}"
    );
}

#[test]
fn the_champion_looks_at_stored_games() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let game = newest(&server);
    let record = server.get(&format!("{game}/record.json")).ok();
    let turns = record["turns"].as_array().unwrap();
    let address = format!("/api{game}/analysis");
    assert!(server.get(&game).body.contains(&format!("data-analysis=\"{address}\"")));
    for (count, turn) in turns.iter().enumerate().take(3) {
        let analysis = server.post(&address, &json!({ "turns": count, "visits": 12 })).ok();
        assert_eq!(
            (&analysis["revision"], &analysis["color"], &analysis["visits"]),
            (&json!(count), &turn["color"], &json!(12)),
            "{analysis}"
        );
        // Points that have a stone have no probability.
        let filled: Vec<_> = turns[..count]
            .iter()
            .map(|turn| turn["move"].as_u64().unwrap())
            .collect();
        let policy = analysis["policy"].as_array().unwrap();
        assert_eq!(policy.len(), 10);
        assert!(
            filled
                .iter()
                .filter(|&&point| point < 9)
                .all(|&point| policy[point as usize] == json!(0.0)),
            "{filled:?} {policy:?}"
        );
    }
    let end = turns.len();
    let ask = |turns: usize, visits: u32| server.post(&address, &json!({ "turns": turns, "visits": visits }));
    ask(end + 1, 10).refused(400, &format!("expected 0 to {end} turns"));
    ask(end, 10).refused(409, "the game is over");
    ask(0, 0).refused(400, "1 to 10000 visits");
    let id = fixture.promote(2, 2).to_string();
    assert!(server.get(&game).body.contains(id.split('-').next().unwrap()));
}

#[test]
fn the_next_game_uses_the_new_champion() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let (game, first) = start(&server, "white");
    assert!(first["model"].as_str().unwrap().starts_with("g000001-"), "{first}");
    let id = fixture.promote(2, 2).to_string();
    assert_eq!(server.get("/api/runs/three/champion").ok()["model"], id);
    assert_eq!(server.get(&game).ok()["model"], first["model"]);
    assert_eq!(start(&server, "white").1["model"], id);
    assert!(server.get("/runs/three/board").body.contains(&id));
}

#[test]
fn a_run_without_a_champion_offers_no_game() {
    let fixture = Fixture::without_champion();
    let server = Running::over(&[fixture.location()]);
    assert!(server.get("/runs/three/board").body.contains("no champion yet"));
    let game = newest(&server);
    assert!(!server.get(&game).body.contains("View of the champion"));
    server
        .post(&format!("/api{game}/analysis"), &json!({ "turns": 0, "visits": 30 }))
        .refused(409, "no champion yet");
    let request = json!({ "size": "3x3", "komi": "4.5", "color": "black", "visits": 30 });
    server
        .post("/api/runs/three/play", &request)
        .refused(409, "no champion yet");
}

#[test]
fn pages_hear_of_changes() {
    let fixture = Fixture::new();
    let server = Running::over(&[fixture.location()]);
    let page = server.get("/runs/three").body;
    assert!(page.contains("data-version=\"1\""), "{page}");
    let mut events = server.events("/runs/three/updates");
    assert_eq!(events.next(), Some(("update".to_owned(), "1".to_owned())));
    fixture.publish(1);
    assert_eq!(events.next(), Some(("update".to_owned(), "2".to_owned())));
    let sections = server.get("/runs/three/sections").body;
    assert!(
        sections.contains("data-version=\"2\"") && sections.contains("<b>10</b>"),
        "{sections}"
    );
    std::fs::rename(fixture.folder.path().join("three"), fixture.folder.path().join("gone")).unwrap();
    let (event, data) = events.next().unwrap();
    assert_eq!(event, "trouble", "{data}");
    std::fs::rename(fixture.folder.path().join("gone"), fixture.folder.path().join("three")).unwrap();
    assert_eq!(events.next(), Some(("update".to_owned(), "3".to_owned())));
    server.end().unwrap();
    assert_eq!(events.next(), None);
}

#[test]
fn a_folder_of_runs_is_compared() {
    let (a, b) = (Fixture::new(), Fixture::new());
    let runs = tempfile::tempdir().unwrap();
    std::fs::rename(a.folder.path().join("three"), runs.path().join("a")).unwrap();
    std::fs::rename(b.folder.path().join("three"), runs.path().join("b")).unwrap();
    let server = Running::over(&[runs.path().display().to_string()]);
    let home = server.get("/");
    for part in ["2 runs", "href=\"/runs/a\"", "href=\"/runs/b\"", "g000001-"] {
        assert!(home.body.contains(part), "{part}: {home:?}");
    }
    let page = server.get("/compare").body;
    for part in [
        "Over processor time",
        "Over evaluations",
        "do not differ",
        "data-base=\"/compare\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(server.get("/compare/sections").status, 200);
}

#[test]
fn missing_stores_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nothing").display().to_string();
    let error = tengen_serve::Runs::open(std::slice::from_ref(&missing))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains(&missing), "{error}");
    let error = tengen_serve::Runs::open(&[folder.path().display().to_string()])
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("neither run.json nor games"), "{error}");
}
