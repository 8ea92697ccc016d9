//! The inputs of networks equal those that KataGo itself makes of the same games.

mod common;

use common::{facts, features, points};
use tengen_katago::{InputStyle, Inputs, PLANES};

#[test]
fn inputs_are_those_of_katago() {
    let facts = facts("inputs.jsonl.gz");
    assert!(facts.len() >= 200);
    let mut used = [0; PLANES];
    let mut wrong = Vec::new();
    for (number, fact) in facts.iter().enumerate() {
        let features = features(fact);
        let found = Inputs::of(features.trail.as_deref().unwrap(), InputStyle::default());
        for plane in 0..PLANES {
            let expected = points(features.size, &fact["planes"][plane]);
            used[plane] += usize::from(!expected.is_empty());
            if found.planes[plane] != expected {
                wrong.push(format!("position {number}, plane {plane}"));
            }
        }
        for (index, &value) in found.numbers.iter().enumerate() {
            let expected = fact["globals"][index].as_f64().unwrap() as f32;
            if (value - expected).abs() > 1e-6 {
                wrong.push(format!("position {number}, number {index}: {value}, not {expected}"));
            }
        }
    }
    let some = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{} differences: {some:#?}", wrong.len());
    for plane in [6, 9, 13, 14, 15, 16, 17, 18] {
        let count = used[plane];
        assert!(count >= 20, "plane {plane} is tested in {count} positions only");
    }
}
