//! Which batches are recorded for a GPU? Those of a shape that has been seen a few times.

use std::collections::BTreeMap;
use std::sync::Once;

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use crate::catching::LibtorchError;
use crate::graph::Graph;

/// Batches of a shape that are computed step by step before one is recorded, so that libtorch has chosen its kernels.
const WARM_UP: u32 = 2;

/// What has been recorded, by the number of positions, the canvas, and whether all boards fill it.
///
/// It refers to the weights of a network, with which it must be dropped. What is recorded may share memory, so that one
/// thing at a time is computed.
#[derive(Debug)]
pub struct Shapes<T>(BTreeMap<(usize, Size, bool), Shape<T>>);

/// What is known of a shape.
#[derive(Debug)]
enum Shape<T> {
    /// So many batches have been computed step by step.
    Seen(u32),
    Recorded(T),
    /// It cannot be recorded.
    Failed,
}

impl<T> Default for Shapes<T> {
    fn default() -> Shapes<T> {
        Shapes(BTreeMap::new())
    }
}

impl<T: AsRef<Graph>> Shapes<T> {
    /// What is recorded for the shape of a batch on a GPU. If it is time, `record` does that; it gets a graph whose
    /// memory it can share. `None` means that the batch is to be computed step by step.
    pub fn recorded(
        &mut self,
        batch: &InputBatch,
        record: impl FnOnce(Option<&Graph>) -> Result<T, LibtorchError>,
    ) -> Option<&mut T> {
        if Graph::available().is_err() {
            return None;
        }
        let key = (batch.len(), batch.canvas(), batch.uniform());
        let shape = self.0.entry(key).or_insert(Shape::Seen(0));
        if let Shape::Seen(count) = shape {
            *count += 1;
            if *count <= WARM_UP {
                return None;
            }
            // A GPU with too little memory for a recording may still have enough to do without.
            let recorded = record(self.any()).inspect_err(warn);
            self.0.insert(key, recorded.map_or(Shape::Failed, Shape::Recorded));
        }
        match self.0.get_mut(&key) {
            Some(Shape::Recorded(recorded)) => Some(recorded),
            _ => None,
        }
    }

    /// Whether batches of any shape are recorded.
    pub(crate) fn has_recordings(&self) -> bool {
        self.any().is_some()
    }

    fn any(&self) -> Option<&Graph> {
        self.0.values().find_map(|shape| match shape {
            Shape::Recorded(recorded) => Some(recorded.as_ref()),
            Shape::Seen(_) | Shape::Failed => None,
        })
    }
}

/// Says once why work is launched kernel by kernel, which is slow.
fn warn(error: &LibtorchError) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::warn!("a batch could not be recorded for the GPU, so that it is slower: {error}"));
}
