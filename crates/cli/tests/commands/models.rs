//! Networks from folders, files and stores, in every command that takes a player.

use crate::common::{Answer, tengen};
use tengen_network::{Model, NetworkConfig, Weights};
use tengen_records::{Create, Promotion, Store};

/// A network that has learned nothing.
fn model() -> Model {
    Model::new(Weights::random(&NetworkConfig::new(1, 8), 1).unwrap())
}

/// One short match of a player against the random one.
fn play(player: &str) -> Answer {
    let a = format!("{player},visits=4");
    tengen(&[
        "match", "--a", &a, "--b", "random", "--size", "3", "--games", "2", "--json",
    ])
}

#[test]
fn folders_and_files_are_models() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    model().save(&path).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(play(&format!("model:{path}")).json()["a"], "small");
    assert_eq!(play(path).json()["a"], "small");
    assert_eq!(
        play(&format!("model:{path}/weights.safetensors")).json()["a"],
        "weights"
    );
    let verified = tengen(&[
        "verify",
        "--model",
        &format!("{path},visits=2"),
        "--games",
        "1",
        "--json",
    ]);
    assert_eq!(verified.code, 1, "{}", verified.stderr);
    assert!(verified.object()["value"].is_number());
    std::fs::write(format!("{path}/weights.safetensors"), b"nonsense").unwrap();
    play(&format!("model:{path}")).refuses(1, "SHA-256");
}

#[test]
fn stores_have_champions_and_generations() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let (weights, info) = model().to_files();
    let info = serde_json::from_slice(&info).unwrap();
    let entry = store.publish_model(3, weights, info).unwrap();
    let player = format!("store:{location}");
    play(&player).refuses(1, "no champion yet");
    play(&format!("{player}@g000004")).refuses(1, "no model of generation 4");
    assert_eq!(play(&format!("{player}@g000003")).json()["a"], entry.id);
    let promotion = Promotion {
        model_id: entry.id.clone(),
        generation: 3,
        promoted_ms: 0,
        match_id: None,
        verdict: serde_json::Value::Null,
    };
    store.promote(1, &promotion).unwrap();
    assert_eq!(play(&player).json()["a"], entry.id);
    // The model's own folder in the store works too.
    assert_eq!(
        play(&format!("model:{location}/models/{}", entry.id)).json()["a"],
        entry.id
    );
}
