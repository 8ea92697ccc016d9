//! Networks of KataGo predict what KataGo itself computes with them.

#[path = "../../katago/tests/common/mod.rs"]
mod common;

use std::sync::Arc;

use common::{facts, features, folder, position};
use serde_json::Value;
use tengen_katago::Network;
use tengen_network::PredictorOptions;
use tengen_predictors::KatagoPredictor;
use tengen_rules::{Position, Size};
use tengen_search::{Prediction, Predictions, Predictor};

const NETWORKS: [&str; 6] = [
    "v10-plain",
    "v12-plain",
    "v13-plain",
    "v14-nested",
    "v15-nested",
    "v16-nested",
];

/// The largest difference from what KataGo says that is due to another order of additions.
const CLOSE: f64 = 1e-3;

fn network(name: &str) -> Arc<Network> {
    Arc::new(Network::load(&folder().join(format!("{name}.bin.gz"))).unwrap())
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Largest differences in policy, results, lead, and ownership.
type Differences = [f64; 4];

fn differences(found: &Prediction<'_>, position: &Position, expected: &Value) -> Differences {
    let (size, canvas) = (position.size(), found.canvas);
    let place = |index: usize| tengen_encoding::canvas_index(size, canvas, index);
    let legal = position.legal_points();
    let weight = |logit: f32| f64::from(logit).exp();
    let weights: Vec<f64> = size
        .points()
        .map(|point| match legal.contains(point) {
            true => weight(found.policy_logits[place(point.index())]),
            false => 0.0,
        })
        .chain([weight(found.policy_logits[canvas.area()])])
        .collect();
    let sum: f64 = weights.iter().sum();
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0_f64, |a, b| a.max(b.abs()));
    let policy = expected["policy"].as_array().unwrap();
    for (index, known) in policy.iter().take(size.area()).enumerate() {
        assert_eq!(known.is_null(), weights[index] == 0.0, "legality of point {index}");
    }
    let owners = expected["ownership"].as_array().unwrap();
    [
        largest(
            &mut weights
                .iter()
                .zip(policy)
                .map(|(w, p)| w / sum - p.as_f64().unwrap_or(0.0)),
        ),
        largest(
            &mut [(found.win, "win"), (found.loss, "loss")]
                .into_iter()
                .map(|(v, k)| f64::from(v) - float(&expected[k])),
        ),
        f64::from(found.margin) - float(&expected["lead"]),
        largest(
            &mut owners
                .iter()
                .enumerate()
                .map(|(i, o)| f64::from(found.ownership[place(i)]) - float(o)),
        ),
    ]
}

#[test]
fn predictions_are_those_of_katago() {
    let positions = facts("positions.jsonl.gz");
    let largest_canvas = Size::square(19).unwrap();
    for name in NETWORKS {
        let mut predictor = KatagoPredictor::new(&network(name), PredictorOptions::default()).unwrap();
        let outputs = facts(&format!("{name}.outputs.jsonl.gz"));
        assert_eq!(outputs.len(), positions.len());
        let mut all = predictor.new_batch(largest_canvas);
        let mut mixed = Predictions::default();
        positions.iter().for_each(|fact| all.push(&features(fact)));
        predictor.predict(&all, &mut mixed).unwrap();
        mixed.check(positions.len(), largest_canvas).unwrap();
        for (row, (fact, expected)) in positions.iter().zip(&outputs).enumerate() {
            let (position, _) = position(fact);
            let mut one = predictor.new_batch(position.size());
            one.push(&features(fact));
            let mut alone = Predictions::default();
            predictor.predict(&one, &mut alone).unwrap();
            for found in [mixed.row(row, largest_canvas), alone.row(0, position.size())] {
                let differences = differences(&found, &position, expected);
                assert!(
                    differences.iter().all(|d| d.abs() < CLOSE),
                    "{name}, position {row}: {differences:?}"
                );
            }
        }
    }
}

#[test]
fn batches_without_trails_are_refused() {
    let mut predictor = KatagoPredictor::new(&network("v15-nested"), PredictorOptions::default()).unwrap();
    let size = Size::square(5).unwrap();
    let mut batch = predictor.new_batch(size);
    batch.push(&tengen_encoding::Features::of(
        &Position::new(size),
        tengen_rules::Komi::ZERO,
    ));
    let error = predictor.predict(&batch, &mut Predictions::default()).unwrap_err();
    assert!(error.to_string().contains("need the last turns"), "{error}");
}
