//! Models and promotions: what counts as published, and who the champion is.

use std::fs;

use serde_json::json;

use tengen_model::ModelId;
use tengen_store::{Promotion, Put, StoreError, sha256_hex};
use tengen_testing::random_model;

use crate::store::{file_of, new_store};

#[test]
fn models_exist_only_with_their_commit_mark() {
    let (_folder, store) = new_store();
    let model = random_model(7);
    let id = store.models().publish(3, &model).unwrap();
    assert_eq!(id, ModelId::new(3, &sha256_hex(&model.weights.to_safetensors())));
    assert_eq!(store.models().publish(3, &model).unwrap(), id);
    store
        .files()
        .put_new("models/g000004-0123456789ab/weights.safetensors", "half")
        .unwrap();
    assert_eq!(store.models().list().unwrap(), std::slice::from_ref(&id));
    assert!(matches!(
        store.models().load(&"g000004-0123456789ab".parse().unwrap()),
        Err(StoreError::NotFound { .. })
    ));

    let loaded = store.models().load(&id).unwrap();
    assert_eq!(loaded.weights, model.weights);
    assert_eq!(loaded.info, model.encode().info);

    let mut damaged = model.weights.to_safetensors();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(file_of(&store, &format!("models/{id}/weights.safetensors")), damaged).unwrap();
    let error = store.models().load(&id).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let report = store.verify(|_, _| {}).unwrap();
    assert!(!report.is_sound());
    assert_eq!(report.strangers, ["models/g000004-0123456789ab"]);
}

#[test]
fn the_champion_is_the_highest_promotion() {
    let (_folder, store) = new_store();
    let promotion = |id: &ModelId| Promotion {
        promoted_ms: 5,
        ..Promotion::now(id, None, json!({"elo": 12.5}))
    };
    assert!(store.models().champion().unwrap().is_none());
    let models: Vec<_> = (1..3)
        .map(|n| store.models().publish(n, &random_model(n.into())).unwrap())
        .collect();
    assert_eq!(store.models().promote(1, &promotion(&models[0])).unwrap(), Put::Created);
    assert_eq!(store.models().promote(1, &promotion(&models[1])).unwrap(), Put::Exists);
    assert_eq!(store.models().champion().unwrap().unwrap(), (1, promotion(&models[0])));
    assert_eq!(store.models().promote(2, &promotion(&models[1])).unwrap(), Put::Created);
    assert_eq!(store.models().champion().unwrap().unwrap(), (2, promotion(&models[1])));
    assert_eq!(store.models().promotions().unwrap().len(), 2);
    let unknown = Promotion {
        model_id: "g000009-0123456789ab".parse().unwrap(),
        ..promotion(&models[0])
    };
    assert!(matches!(
        store.models().promote(3, &unknown),
        Err(StoreError::NotFound { .. })
    ));
}
