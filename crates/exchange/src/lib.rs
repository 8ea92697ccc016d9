//! Networks for other programs: ONNX files, folders for PyTorch, and lists of operators; and what two models have in
//! common.
//!
//! [`onnx`] writes the forward pass of a network down as a graph of standard operators, [`pytorch_files`] adds a short
//! Python program to the weights and their description. [`ModelDiff`] compares two models.
//!
//! Deliberately absent: any network library, stores, printing. Nothing here computes a prediction.

mod diff;
mod error;
mod graph;
mod network;
mod onnx;
mod operators;
mod proto;
mod pytorch;
mod shelf;
mod summary;

pub use diff::{ModelDiff, TensorDiff};
pub use error::ExportError;
pub use onnx::{OPSET, metadata, onnx};
pub use operators::{Constant, Operators, Step, Values, operators};
pub use pytorch::pytorch_files;
pub use shelf::shelf;
pub use summary::ModelSummary;
