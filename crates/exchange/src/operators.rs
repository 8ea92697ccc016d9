//! A network as a list of operators, for crates that compute or write it in another way.

use std::collections::BTreeMap;

use tengen_model::Model;

use crate::error::ExportError;
use crate::network::describe;
use crate::proto::{AttributeProto, INT64, NodeProto, TensorProto};

/// The forward pass of a network in the operators of [`OPSET`](crate::OPSET).
#[derive(Clone, Debug, PartialEq)]
pub struct Operators {
    /// Names of the inputs: `planes`, `globals`, and `komi`.
    pub inputs: Vec<String>,
    /// The weights and other constants.
    pub constants: Vec<Constant>,
    /// The operations, in the order in which they are computed.
    pub steps: Vec<Step>,
    /// Names of the outputs.
    pub outputs: Vec<String>,
}

/// A constant tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The name under which steps use it.
    pub name: String,
    /// The length of each dimension.
    pub shape: Vec<i64>,
    /// The values, row by row.
    pub values: Values,
}

/// The values of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers to compute with.
    Floats(Vec<f32>),
    /// Axes and places.
    Ints(Vec<i64>),
}

/// One operation, with one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The operator's name in ONNX, such as `Conv`.
    pub kind: String,
    /// Names of inputs, constants, and outputs of earlier steps.
    pub inputs: Vec<String>,
    /// The name of its output.
    pub output: String,
    /// Its attributes by name; single numbers are lists of one.
    pub attributes: BTreeMap<String, Vec<i64>>,
}

/// The network as a list of operators.
///
/// # Errors
/// As [`onnx`](crate::onnx()).
pub fn operators(model: &Model) -> Result<Operators, ExportError> {
    let graph = describe(&model.weights)?.finish("");
    Ok(Operators {
        inputs: graph.input.into_iter().map(|input| input.name).collect(),
        constants: graph.initializer.into_iter().map(constant).collect(),
        steps: graph.node.into_iter().map(step).collect(),
        outputs: graph.output.into_iter().map(|output| output.name).collect(),
    })
}

fn constant(proto: TensorProto) -> Constant {
    let bytes = &proto.raw_data;
    let values = match proto.data_type {
        INT64 => Values::Ints(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| i64::from_le_bytes(bytes))
                .collect(),
        ),
        _ => Values::Floats(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| f32::from_le_bytes(bytes))
                .collect(),
        ),
    };
    Constant {
        name: proto.name,
        shape: proto.dims,
        values,
    }
}

fn step(proto: NodeProto) -> Step {
    let attribute = |AttributeProto { name, i, ints, .. }| (name, i.map_or(ints, |int| vec![int]));
    Step {
        kind: proto.op_type,
        inputs: proto.input,
        output: proto.output.into_iter().next().unwrap_or_default(),
        attributes: proto.attribute.into_iter().map(attribute).collect(),
    }
}
