//! The messages of ONNX that a network needs, with the field numbers of `onnx.proto` (ONNX 1.12, IR version 8).
//!
//! Protocol Buffers ignore fields that a message does not list, so what is left out here is simply never written.

use prost::{Message, Oneof};

/// The IR version of ONNX 1.12, which belongs to opset 17.
pub(crate) const IR_VERSION: i64 = 8;

/// `TensorProto.DataType.FLOAT`.
pub(crate) const FLOAT: i32 = 1;
/// `TensorProto.DataType.INT64`.
pub(crate) const INT64: i32 = 7;

/// A model with everything known about it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModelProto {
    #[prost(int64, tag = "1")]
    pub(crate) ir_version: i64,
    #[prost(message, repeated, tag = "8")]
    pub(crate) opset_import: Vec<OperatorSetId>,
    #[prost(string, tag = "2")]
    pub(crate) producer_name: String,
    #[prost(string, tag = "3")]
    pub(crate) producer_version: String,
    #[prost(string, tag = "6")]
    pub(crate) doc_string: String,
    #[prost(message, optional, tag = "7")]
    pub(crate) graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "14")]
    pub(crate) metadata_props: Vec<StringEntry>,
}

/// A set of operators; the empty domain is that of ONNX itself.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OperatorSetId {
    #[prost(string, tag = "1")]
    pub(crate) domain: String,
    #[prost(int64, tag = "2")]
    pub(crate) version: i64,
}

/// A key and its value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StringEntry {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// Operations in the order in which they are computed.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub(crate) node: Vec<NodeProto>,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) output: Vec<ValueInfo>,
}

/// One operation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub(crate) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, tag = "4")]
    pub(crate) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) attribute: Vec<AttributeProto>,
}

/// A constant of an operation: here always whole numbers.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttributeProto {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, optional, tag = "3")]
    pub(crate) i: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub(crate) ints: Vec<i64>,
    #[prost(int32, tag = "20")]
    pub(crate) kind: i32,
}

/// `AttributeProto.AttributeType.INT`.
pub(crate) const ATTRIBUTE_INT: i32 = 2;
/// `AttributeProto.AttributeType.INTS`.
pub(crate) const ATTRIBUTE_INTS: i32 = 7;

/// A constant tensor; `raw_data` is little-endian and row-major.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(crate) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(crate) data_type: i32,
    #[prost(string, tag = "8")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(crate) raw_data: Vec<u8>,
}

/// The name, the type, and the meaning of an input or output.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) kind: Option<TypeProto>,
    #[prost(string, tag = "3")]
    pub(crate) doc_string: String,
}

/// A type: here always a tensor.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub(crate) tensor_type: Option<TensorType>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(crate) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) shape: Option<TensorShape>,
}

/// The lengths of a tensor's dimensions.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorShape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) dim: Vec<Dimension>,
}

/// The length of one dimension.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Dimension {
    #[prost(oneof = "Length", tags = "1, 2")]
    pub(crate) length: Option<Length>,
}

/// A fixed length, or the name of one that a caller chooses.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Length {
    #[prost(int64, tag = "1")]
    Fixed(i64),
    #[prost(string, tag = "2")]
    Named(String),
}
