//! A network for PyTorch: the weights, their description, and a short program that reads both.

use tengen_model::{Block, INFO_FILE, Model, WEIGHTS_FILE};

use crate::error::ExportError;

/// The program, which needs torch, numpy, and safetensors.
const PROGRAM: &str = include_str!("../python/tengen.py");

/// The files of a folder for PyTorch by name: `weights.safetensors`, `model.json`, and `tengen.py`, which loads them
/// and encodes the rows of `tengen data export --what positions`.
///
/// # Errors
/// [`ExportError`] for a network with blocks or input planes that the program does not know.
pub fn pytorch_files(model: &Model) -> Result<Vec<(&'static str, Vec<u8>)>, ExportError> {
    let blocks = &model.weights.layout().layers().blocks;
    if blocks.iter().any(|block| matches!(block, Block::Attention(_))) {
        return Err(ExportError::Attention(model.weights.config().name()));
    }
    let config = model.weights.config();
    for (has, key) in [
        (config.pass_alive_inputs, "pass_alive_inputs"),
        (config.ladder_inputs, "ladder_inputs"),
    ] {
        if has {
            return Err(ExportError::Inputs(config.name(), key));
        }
    }
    let encoded = model.encode();
    Ok(vec![
        (WEIGHTS_FILE, encoded.weights),
        (INFO_FILE, encoded.info.to_json().into_bytes()),
        ("tengen.py", PROGRAM.as_bytes().to_vec()),
    ])
}
