//! A network as an ONNX file.

use prost::Message;
use serde_json::json;

use tengen_model::{FEATURE_SET, Model};

use crate::error::ExportError;
use crate::network::describe;
use crate::proto::{IR_VERSION, ModelProto, OperatorSetId, StringEntry};

/// The version of ONNX's operators that exported files use.
pub const OPSET: i64 = 17;

/// What the bit planes of the input mean, without the last one, the points on the board.
const PLANES: [&str; 8] = [
    "stones of the side to move",
    "stones of the opponent",
    "chains with 1 liberty",
    "chains with 2 liberties",
    "chains with 3 liberties",
    "empty points that the ko rule bans for the side to move",
    "area of the side to move: its stones and the empty points that reach only them",
    "area of the opponent",
];

/// The optional planes of networks with `pass_alive_inputs`.
const PASS_ALIVE: [&str; 2] = ["pass-alive area of the side to move", "pass-alive area of the opponent"];

/// The optional planes of networks with `ladder_inputs`.
const LADDERS: [&str; 2] = [
    "stones that can be captured in a ladder",
    "plays of the side to move that begin a ladder",
];

/// What the global inputs mean.
const GLOBALS: [&str; 3] = [
    "komi for the side to move / points of the board",
    "1 if the opponent just passed, else 0",
    "tanh((area of the side to move - area of the opponent + komi for the side to move) / 5)",
];

/// The network as an ONNX file of [`OPSET`] with the inputs `planes`, `globals`, and `komi` for any batch and any board
/// up to 19x19, also smaller boards on a larger canvas. The outputs are `policy`, `ownership`, `margin_logits`, `win`,
/// `loss`, and `margin`, and those heads that only training needs, if the network has them. The metadata say what the
/// inputs mean and where the model comes from. The same model always gives the same bytes.
///
/// # Errors
/// [`ExportError`] for a network with blocks that cannot be exported.
pub fn onnx(name: &str, model: &Model) -> Result<Vec<u8>, ExportError> {
    let graph = describe(&model.weights)?.finish(name);
    let entry = |(key, value): (&str, String)| StringEntry {
        key: format!("tengen.{key}"),
        value,
    };
    let model = ModelProto {
        ir_version: IR_VERSION,
        opset_import: vec![OperatorSetId {
            domain: String::new(),
            version: OPSET,
        }],
        producer_name: "tengen".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        doc_string: format!(
            "A Go network of Tengen, {}, for boards up to 19x19.",
            model.weights.config()
        ),
        graph: Some(graph),
        metadata_props: metadata(name, model).into_iter().map(entry).collect(),
    };
    Ok(model.encode_to_vec())
}

/// What the inputs mean and where the model comes from, by key. Values that are not plain text are JSON.
pub fn metadata(name: &str, model: &Model) -> Vec<(&'static str, String)> {
    let info = &model.info;
    let config = model.weights.config();
    let mut planes = PLANES.to_vec();
    planes.extend(PASS_ALIVE.into_iter().filter(|_| config.pass_alive_inputs));
    planes.extend(LADDERS.into_iter().filter(|_| config.ladder_inputs));
    planes.push("points on the board");
    vec![
        ("name", name.to_owned()),
        ("weights_sha256", info.weights_sha256.clone()),
        ("architecture", json!(info.architecture).to_string()),
        ("feature_set", FEATURE_SET.to_string()),
        ("planes", json!(planes).to_string()),
        ("globals", json!(GLOBALS).to_string()),
        ("rules", info.rules.clone().unwrap_or_default()),
        ("fair_komi_half_points", json!(info.fair_komi_half_points).to_string()),
        ("provenance", json!(info.provenance).to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tengen_model::{NetworkConfig, Provenance, Weights};

    use super::*;

    fn model(config: &NetworkConfig) -> Model {
        let weights = Weights::random(config, 1).unwrap();
        let mut info = tengen_model::ModelInfo::new(&weights);
        info.provenance = Provenance::default();
        Model { info, weights }
    }

    /// Every value is computed before it is used, and nothing is computed twice under one name.
    fn check_order(proto: &ModelProto) {
        let graph = proto.graph.as_ref().unwrap();
        let inputs = graph.input.iter().map(|input| input.name.clone());
        let constants = graph.initializer.iter().map(|constant| constant.name.clone());
        let mut known: BTreeSet<String> = inputs.chain(constants).collect();
        for node in &graph.node {
            for input in &node.input {
                assert!(known.contains(input), "{} uses {input} before it is known", node.name);
            }
            for output in &node.output {
                assert!(known.insert(output.clone()), "{output} is computed twice");
            }
        }
        for output in &graph.output {
            assert!(known.contains(&output.name));
        }
        for constant in &graph.initializer {
            let values: i64 = constant.dims.iter().product();
            let bytes = if constant.data_type == crate::proto::FLOAT {
                4
            } else {
                8
            };
            assert_eq!(constant.raw_data.len() as i64, values * bytes, "{}", constant.name);
        }
    }

    #[test]
    fn graphs_are_complete() {
        let plain = NetworkConfig::new(3, 8);
        let every_head = NetworkConfig {
            reply_head: true,
            soft_policy_head: true,
            short_term_head: true,
            pass_alive_inputs: true,
            ladder_inputs: true,
            nested_blocks: true,
            ..plain.clone()
        };
        for (config, planes, outputs) in [(plain, 9, 6), (every_head, 13, 9)] {
            let model = model(&config);
            let bytes = onnx("net", &model).unwrap();
            assert_eq!(bytes, onnx("net", &model).unwrap(), "the same bytes every time");
            let proto = ModelProto::decode(bytes.as_slice()).unwrap();
            check_order(&proto);
            let graph = proto.graph.unwrap();
            assert_eq!((graph.input.len(), graph.output.len()), (3, outputs));
            let meanings = proto.metadata_props.iter().find(|entry| entry.key == "tengen.planes");
            let meanings: Vec<String> = serde_json::from_str(&meanings.unwrap().value).unwrap();
            assert_eq!(meanings.len(), planes);
        }
    }

    #[test]
    fn attention_is_refused_with_a_reason() {
        let config = NetworkConfig {
            attention_every: 2,
            ..NetworkConfig::new(2, 16)
        };
        let error = onnx("net", &model(&config)).unwrap_err().to_string();
        assert!(error.contains("b2c16a2") && error.contains("attention"), "{error}");
    }
}
