//! Runs `tengen tournament`.

#[cfg(feature = "torch")]
use tengen_store::{Create, Store};

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
    tengen(&["tournament", "random", "uniform", "--every", "2"]).refuses(2, "--store");
    tengen(&["tournament", "--store", "/no/such/store"]).refuses(1, "/no/such/store");
    tengen(&["tournament", "random", "gtp:no-such-engine", "--size", "3"]).refuses(1, "no such program");
}

#[cfg(feature = "torch")]
#[test]
fn new_models_of_a_store_are_added_to_the_ratings() {
    use tengen_model::{Model, NetworkConfig, Weights};
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let run = tengen_store::RunInfo::new("r", 0, "tromp_taylor", vec!["3x3".to_owned()], serde_json::Value::Null);
    store.put_run_info(&run).unwrap();
    let publish = |generation: u32| {
        let mut model = Model::new(Weights::random(&NetworkConfig::new(1, 8), u64::from(generation)).unwrap());
        model.info.cost.evaluations = u64::from(generation) * 1000;
        store.models().publish(generation, &model).unwrap().to_string()
    };
    let rate = |komi: &[&str]| {
        let args = [
            "tournament",
            "--store",
            &location,
            "random",
            "--games",
            "4",
            "--visits",
            "4",
            "--json",
        ];
        tengen(&[&args[..], komi].concat())
    };
    let ids = [publish(0), publish(1)];
    rate(&[]).refuses(2, "use --komi");
    let first = rate(&["--komi", "2.5"]).json();
    assert_eq!(
        first["pairings"].as_array().unwrap().len(),
        3,
        "two models and the random player"
    );
    assert_eq!(first["players"][1]["evaluations"], 1000);
    assert_eq!(first["players"][0]["name"], ids[0].as_str());
    let third = publish(2);
    let matches = store.matches().list().unwrap();
    // The komi of the last tournament is kept, so that its games count.
    let second = rate(&[]).json();
    assert_eq!((&second["komi"], &second["size"]), (&"2.5".into(), &"3x3".into()));
    assert_eq!(second["players"].as_array().unwrap().len(), 4);
    assert_eq!(store.matches().list().unwrap().len(), matches.len() + 3);
    // The report finds the ratings.
    let report = tengen(&["report", "--store", &location]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    let metrics = std::fs::read_dir(format!("{location}/metrics")).unwrap();
    let lines: String = metrics
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(
        lines.matches("\"rating\"").count(),
        5,
        "two ratings, then three: {lines}"
    );
    assert!(lines.contains(&third));
}
