//! Puts an ONNX graph together, operation by operation.

use crate::proto::{
    ATTRIBUTE_INT, ATTRIBUTE_INTS, AttributeProto, Dimension, FLOAT, GraphProto, INT64, Length, NodeProto, TensorProto,
    TensorShape, TensorType, TypeProto, ValueInfo,
};

/// The name of a value in a graph.
pub(crate) type Name = String;

/// A graph that grows; every operation has one output.
#[derive(Default)]
pub(crate) struct Graph {
    proto: GraphProto,
}

/// A constant of an operation.
pub(crate) enum Attribute<'a> {
    Int(&'static str, i64),
    Ints(&'static str, &'a [i64]),
}

/// A length of an input or output.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Fixed(usize),
    Named(&'static str),
}

impl Graph {
    /// Adds an operation and names its output.
    pub(crate) fn op(&mut self, kind: &str, inputs: &[&str]) -> Name {
        self.op_with(kind, inputs, &[])
    }

    /// Adds an operation with constants of its own and names its output.
    pub(crate) fn op_with(&mut self, kind: &str, inputs: &[&str], attributes: &[Attribute<'_>]) -> Name {
        let name = format!("{}_{}", kind.to_ascii_lowercase(), self.proto.node.len());
        self.proto.node.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: vec![name.clone()],
            name: name.clone(),
            op_type: kind.to_owned(),
            attribute: attributes.iter().map(attribute).collect(),
        });
        name
    }

    /// A constant of floats, row by row.
    pub(crate) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Name {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, FLOAT, shape, bytes)
    }

    /// A single float.
    pub(crate) fn float(&mut self, name: &str, value: f32) -> Name {
        self.floats(name, &[], &[value])
    }

    /// A list of whole numbers.
    pub(crate) fn ints(&mut self, name: &str, values: &[i64]) -> Name {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, INT64, &[values.len()], bytes)
    }

    /// A constant; one that has been added under this name is used again.
    fn constant(&mut self, name: &str, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> Name {
        if !self.proto.initializer.iter().any(|known| known.name == name) {
            self.proto.initializer.push(TensorProto {
                dims: shape.iter().map(|&side| side as i64).collect(),
                data_type,
                name: name.to_owned(),
                raw_data,
            });
        }
        name.to_owned()
    }

    /// Declares an input.
    pub(crate) fn input(&mut self, name: &str, shape: &[Side], meaning: &str) -> Name {
        self.proto.input.push(value_info(name, shape, meaning));
        name.to_owned()
    }

    /// Makes a value an output under this name.
    pub(crate) fn output(&mut self, value: &str, name: &str, shape: &[Side], meaning: &str) {
        self.proto.node.push(NodeProto {
            input: vec![value.to_owned()],
            output: vec![name.to_owned()],
            name: name.to_owned(),
            op_type: "Identity".to_owned(),
            attribute: Vec::new(),
        });
        self.proto.output.push(value_info(name, shape, meaning));
    }

    /// The finished graph.
    pub(crate) fn finish(mut self, name: &str) -> GraphProto {
        name.clone_into(&mut self.proto.name);
        self.proto
    }
}

fn attribute(attribute: &Attribute<'_>) -> AttributeProto {
    match attribute {
        Attribute::Int(name, value) => AttributeProto {
            name: (*name).to_owned(),
            i: Some(*value),
            kind: ATTRIBUTE_INT,
            ..AttributeProto::default()
        },
        Attribute::Ints(name, values) => AttributeProto {
            name: (*name).to_owned(),
            ints: values.to_vec(),
            kind: ATTRIBUTE_INTS,
            ..AttributeProto::default()
        },
    }
}

fn value_info(name: &str, shape: &[Side], meaning: &str) -> ValueInfo {
    let dimension = |side: &Side| Dimension {
        length: Some(match side {
            Side::Fixed(length) => Length::Fixed(*length as i64),
            Side::Named(name) => Length::Named((*name).to_owned()),
        }),
    };
    ValueInfo {
        name: name.to_owned(),
        kind: Some(TypeProto {
            tensor_type: Some(TensorType {
                elem_type: FLOAT,
                shape: Some(TensorShape {
                    dim: shape.iter().map(dimension).collect(),
                }),
            }),
        }),
        doc_string: meaning.to_owned(),
    }
}
