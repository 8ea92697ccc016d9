//! Why a model cannot be exported.

/// A model that cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// A kind of block that the format's exporter does not describe.
    #[error(
        "the network {0} has attention blocks, which cannot be exported: their biases depend on the offsets between \
         the points of one board; export a network without network.attention_every"
    )]
    Attention(String),
    /// Input planes that the format's program does not compute.
    #[error(
        "the network {0} has network.{1}, whose planes the exported program does not compute: export it with --format \
         onnx, which takes the planes as inputs"
    )]
    Inputs(String, &'static str),
}
