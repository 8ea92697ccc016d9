//! Runs `tengen tournament`.

use crate::common::{Answer, tengen};

const QUICK: [&str; 13] = [
    "tournament",
    "random",
    "uniform,visits=2,name=two",
    "uniform,visits=24,name=more",
    "--size",
    "3",
    "--komi",
    "3",
    "--games",
    "10",
    "--openings",
    "random:2",
    "--concurrency=8",
];

fn quick(more: &[&str]) -> Answer {
    tengen(&[&QUICK[..], more].concat())
}

#[test]
fn all_players_are_rated_on_one_scale() {
    let result = quick(&["--json"]).json();
    let players = result["players"].as_array().unwrap();
    let names: Vec<&str> = players.iter().map(|player| player["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["random", "two", "more"]);
    let number = |player: usize, key: &str| players[player][key].as_f64().unwrap();
    assert_eq!(number(0, "elo"), 0.0);
    assert!(number(2, "elo_low") < number(2, "elo") && number(2, "elo") < number(2, "elo_high"));
    assert_eq!((&result["games"], number(1, "games")), (&30.into(), 20.0));
    assert_eq!((0..3).map(|player| number(player, "points")).sum::<f64>(), 30.0);
    let pairings = result["pairings"].as_array().unwrap();
    assert_eq!(pairings.len(), 3);
    for row in pairings {
        assert_eq!(
            row["a_points"].as_f64().unwrap() + row["b_points"].as_f64().unwrap(),
            10.0
        );
    }
}

#[test]
fn prints_ratings_and_a_cross_table() {
    let text = quick(&[]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    for part in ["3 players on 3x3, komi 3", "95% interval", "against 1", "×"] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    let markdown = quick(&["--markdown"]).stdout;
    assert!(markdown.contains("|---") && markdown.contains("| random"), "{markdown}");
}

#[test]
fn a_later_call_only_plays_what_new_players_add() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("t");
    let out = out.to_str().unwrap();
    let first = quick(&["--json", "--out", out]).json();
    let shards = || {
        let store = tengen_store::Store::open(out, tengen_store::Create::Never).unwrap();
        let shards = store.games().list_shards(&tengen_store::GamesOf::All).unwrap();
        shards.into_iter().map(|shard| shard.path).collect::<Vec<_>>()
    };
    let before = shards();
    assert_eq!(before.len(), 3);
    assert_eq!(quick(&["--json", "--out", out]).json(), first);
    assert_eq!(shards(), before, "nothing was played again");
    // The report is in the folder, which stays one of a tournament.
    assert_eq!(tengen(&["report", "--store", out]).code, 0);
    let html = std::fs::read_to_string(std::path::Path::new(out).join("report.html")).unwrap();
    let points = |player: usize| first["players"][player]["points"].as_f64().unwrap();
    let cells = format!("<td class=\"left\">more</td><td>{}</td>", points(2));
    assert!(
        html.contains("<h1>3 players against each other</h1>") && html.contains(&cells),
        "{html}"
    );
    let more = quick(&["random,name=other", "--json", "--out", out]).json();
    assert_eq!(
        more["pairings"].as_array().unwrap()[..3],
        first["pairings"].as_array().unwrap()[..]
    );
    assert_eq!((shards().len(), &more["games"]), (6, &60.into()));
    quick(&["--out", folder.path().to_str().unwrap()]).refuses(2, "is not a tournament");
}

#[test]
fn usage_errors_are_one_sentence() {
    tengen(&["tournament", "random"]).refuses(2, "at least two players");
    tengen(&["tournament", "random", "random"]).refuses(2, "is listed twice");
    tengen(&["tournament", "random", "unifrom"]).refuses(2, "did you mean 'uniform'?");
    tengen(&["tournament", "random", "gtp:no-such-engine", "--size", "3"]).refuses(1, "no such program");
}
