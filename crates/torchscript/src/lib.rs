//! A network as a TorchScript file, which PyTorch and libtorch load without any code of Tengen.
//!
//! [`torchscript`] computes the network's operators on a small batch while libtorch records what is computed. No length
//! of the batch or of the board is part of the record, so that the file serves all.
//!
//! Deliberately absent: how a network is written in operators, which is known to `exchange`, stores, printing.

mod compute;
mod script;

use tch::{Device, Kind, Tensor};
use tengen_encoding::GLOBALS;
use tengen_exchange::{ExportError, metadata, operators};
use tengen_model::Model;
use tengen_network::{LibtorchError, limit_threads};

use compute::Constants;
use script::Script;

/// The batch that is computed for the record: lengths that differ from each other and from all of the network's.
const EXAMPLE: (i64, i64, i64) = (2, 5, 6);

/// The network as a TorchScript file. Its `forward` takes `planes`, `globals`, and `komi`, and returns a dictionary of
/// the outputs of [`onnx`](tengen_exchange::onnx()). The extra file `tengen.json` says what the inputs mean and where
/// the model comes from.
///
/// # Errors
/// [`TorchscriptError`] if the network has blocks that cannot be exported, or libtorch fails.
pub fn torchscript(name: &str, model: &Model) -> Result<Vec<u8>, TorchscriptError> {
    limit_threads();
    let _no_grad = tch::no_grad_guard();
    let operators = operators(model)?;
    let constants = Constants::new(&operators);
    let metadata: serde_json::Map<String, serde_json::Value> = metadata(name, model)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    let inputs = example(model);
    let script = Script {
        constants: &constants.buffers(),
        inputs: &inputs,
        outputs: &operators.outputs,
        text: &serde_json::Value::from(metadata).to_string(),
    };
    let file = tempfile::Builder::new().suffix(".pt").tempfile()?;
    let mut failure = None;
    let written = script.write(file.path(), &mut |inputs| {
        compute::outputs(&operators, &constants, inputs).unwrap_or_else(|error| {
            failure = Some(error);
            Vec::new()
        })
    });
    match (failure, written) {
        (Some(failure), _) => Err(failure),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(())) => Ok(std::fs::read(file.path())?),
    }
}

/// A batch of empty boards.
fn example(model: &Model) -> [(&'static str, Tensor); 3] {
    let (batch, height, width) = EXAMPLE;
    let (planes, globals) = (model.weights.config().input_planes() as i64, GLOBALS as i64);
    let float = (Kind::Float, Device::Cpu);
    [
        ("planes", Tensor::ones([batch, planes, height, width], float)),
        ("globals", Tensor::zeros([batch, globals], float)),
        ("komi", Tensor::zeros([batch], float)),
    ]
}

/// Why a model cannot be written as TorchScript.
#[derive(Debug, thiserror::Error)]
pub enum TorchscriptError {
    /// The network cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// libtorch cannot record the network.
    #[error("the network cannot be recorded: {0}")]
    Libtorch(#[from] LibtorchError),
    /// The description of the network has an operation that this crate does not know, or that lacks something.
    #[error("the operator {kind} cannot be recorded: {reason}")]
    Operator {
        /// The operator's name in ONNX.
        kind: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The temporary file cannot be written or read.
    #[error("cannot write a temporary file: {0}")]
    File(#[from] std::io::Error),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Cursor, Read};

    use tch::{CModule, IValue};
    use tengen_encoding::{Features, InputBatch, PlaneSet};
    use tengen_model::{ModelInfo, NetworkConfig, Weights};
    use tengen_network::{PredictorOptions, TorchPredictor};
    use tengen_rules::{Komi, Move, Position, Size};
    use tengen_search::{Predictions, Predictor};

    use super::*;

    fn model(config: &NetworkConfig) -> Model {
        let weights = Weights::perturbed(config).expect("a shape");
        Model {
            info: ModelInfo::new(&weights),
            weights,
        }
    }

    /// Positions of games on boards of these sizes, on one canvas.
    fn batch(plane_set: PlaneSet, canvas: &str, boards: &[&str]) -> InputBatch {
        let size = |text: &str| text.parse::<Size>().expect("a board size");
        let mut batch = InputBatch::with_planes(size(canvas), plane_set);
        for (number, board) in boards.iter().enumerate() {
            let mut position = Position::new(size(board));
            for ply in 0..5 * number {
                let legal = position.legal_points();
                let choice = legal.nth((ply * 7 + 3) % legal.len().max(1));
                position.play(choice.map_or(Move::Pass, Move::Play));
            }
            let komi = Komi::from_half_points(7 * number as i16 - 9);
            batch.push(&Features::seen_with(plane_set, &position, komi));
        }
        batch
    }

    fn loaded(file: &[u8]) -> CModule {
        CModule::load_data(&mut Cursor::new(file)).expect("libtorch reads its file")
    }

    /// The outputs by name.
    fn forward(module: &CModule, batch: &InputBatch) -> BTreeMap<String, Tensor> {
        let planes = Tensor::try_from(batch.planes_f32()).expect("an array");
        let globals = Tensor::try_from(batch.globals().to_owned()).expect("an array");
        let komi = Tensor::try_from(batch.komi().to_owned()).expect("an array");
        let inputs = [planes, globals, komi].map(IValue::Tensor);
        match module.forward_is(&inputs).expect("it computes") {
            IValue::GenericDict(outputs) => outputs
                .into_iter()
                .map(|output| match output {
                    (IValue::String(name), IValue::Tensor(tensor)) => (name, tensor),
                    other => panic!("expected a name and a tensor, found {other:?}"),
                })
                .collect(),
            other => panic!("expected a dictionary, found {other:?}"),
        }
    }

    fn numbers(tensor: &Tensor) -> Vec<f64> {
        Vec::try_from(tensor.to_kind(Kind::Double).reshape([-1])).expect("numbers")
    }

    #[track_caller]
    fn assert_near(found: &Tensor, expected: impl IntoIterator<Item = f32>, what: &str) {
        let (found, expected) = (numbers(found), expected.into_iter().map(f64::from).collect::<Vec<_>>());
        assert_eq!(found.len(), expected.len(), "{what}");
        for (found, expected) in found.iter().zip(expected) {
            let both_never = expected < -1e20 && *found < -1e20;
            assert!(
                both_never || (found - expected).abs() < 1e-4,
                "{what}: {found} {expected}"
            );
        }
    }

    /// One file predicts as Tengen does, whatever the number and the sizes of the boards.
    #[test]
    fn a_file_predicts_as_the_network_for_all_batches_and_boards() {
        let every_head = NetworkConfig {
            reply_head: true,
            soft_policy_head: true,
            short_term_head: true,
            pass_alive_inputs: true,
            ladder_inputs: true,
            nested_blocks: true,
            ..NetworkConfig::new(2, 8)
        };
        for (config, outputs) in [(NetworkConfig::new(3, 8), 6), (every_head, 9)] {
            let model = model(&config);
            let module = loaded(&torchscript("net", &model).expect("a file"));
            let mut predictor = TorchPredictor::new(&model.weights, PredictorOptions::default()).expect("the CPU");
            for (canvas, boards) in [
                ("9x9", &["9x9"; 7][..]),
                ("4x3", &["4x3"]),
                ("13x13", &["13x13", "5x9", "7x7"]),
            ] {
                let batch = batch(config.plane_set(), canvas, boards);
                let found = forward(&module, &batch);
                assert_eq!(found.len(), outputs, "{config:?}");
                let mut expected = Predictions::default();
                predictor.predict(&batch, &mut expected).expect("it predicts");
                assert_near(&found["policy"], expected.policy_logits.iter().copied(), "policy");
                assert_near(&found["ownership"], expected.ownership.iter().copied(), "ownership");
                assert_near(&found["win"], expected.win.iter().copied(), "win");
                assert_near(&found["margin"], expected.margin.iter().copied(), "margin");
            }
        }
    }

    #[test]
    fn the_file_says_where_it_comes_from() {
        let file = torchscript("net", &model(&NetworkConfig::new(1, 8))).expect("a file");
        let mut archive = zip::ZipArchive::new(Cursor::new(&file)).expect("an archive");
        let names: Vec<String> = archive
            .file_names()
            .map(|name| name.expect("text").into_owned())
            .collect();
        let place = names
            .iter()
            .find(|name| name.ends_with("/extra/tengen.json"))
            .expect("metadata");
        let mut text = String::new();
        archive
            .by_name(place)
            .expect("an entry")
            .read_to_string(&mut text)
            .expect("text");
        let metadata: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(metadata["name"], "net");
        let planes: Vec<String> = serde_json::from_str(metadata["planes"].as_str().expect("text")).expect("a list");
        assert_eq!(planes.len(), 9);
    }

    #[test]
    fn attention_is_refused_with_a_reason() {
        let config = NetworkConfig {
            attention_every: 2,
            ..NetworkConfig::new(2, 16)
        };
        let error = torchscript("net", &model(&config)).expect_err("no file").to_string();
        assert!(error.contains("attention"), "{error}");
    }
}
