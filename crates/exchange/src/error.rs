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
}
