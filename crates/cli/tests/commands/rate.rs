//! Runs `tengen rate`.

use tengen_model::{Model, NetworkConfig, Weights};
use tengen_store::{Create, Store};

use crate::common::tengen;

#[test]
fn new_models_of_a_store_are_added_to_the_ratings() {
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
            "rate",
            "--store",
            &location,
            "--anchor=-300=random",
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
    assert_eq!(first["players"][2]["elo"], -300.0);
    assert_eq!(first["players"][2]["pinned"], true);
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
        lines.matches("\"event\":\"rating\"").count(),
        5,
        "two ratings, then three: {lines}"
    );
    assert_eq!(lines.matches("\"event\":\"anchor\"").count(), 2, "{lines}");
    let page = std::fs::read_to_string(format!("{location}/report.html")).unwrap();
    assert!(page.contains("random (-300)"), "the anchor is drawn");
    assert!(lines.contains(&third));
}

#[test]
fn usage_errors_are_one_sentence() {
    tengen(&["rate", "--store", "/no/such/store"]).refuses(1, "/no/such/store");
    tengen(&["rate", "--store", "s", "--anchor", "random"]).refuses(2, "RATING=PLAYER");
    tengen(&["rate", "--store", "s", "--anchor", "5=unifrom"]).refuses(2, "did you mean 'uniform'?");
    tengen(&["rate"]).refuses(2, "--store");
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().to_str().unwrap();
    let empty = Store::open(location, Create::Always).unwrap();
    let run = tengen_store::RunInfo::new("r", 0, "tromp_taylor", vec!["3x3".to_owned()], serde_json::Value::Null);
    empty.put_run_info(&run).unwrap();
    tengen(&["rate", "--store", location, "--komi", "0"]).refuses(1, "has no models yet");
}
