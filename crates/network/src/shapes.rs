//! Decides which batches are captured as CUDA graphs on a GPU: those whose shape has occurred a few times.

use std::collections::BTreeMap;
use std::sync::Once;

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use crate::catching::LibtorchError;
use crate::graph::Graph;

/// Batches of a shape that run uncaptured first, so that libtorch has chosen its kernels.
const WARM_UP: u32 = 2;

/// The captured graphs, by the number of positions, the canvas, and whether all boards fill it.
///
/// They refer to the weights of a network and must not outlive it. They may share memory, so only one may run at a
/// time.
#[derive(Debug)]
pub struct Shapes<T>(BTreeMap<(usize, Size, bool), Shape<T>>);

/// The state of a shape.
#[derive(Debug)]
enum Shape<T> {
    /// This many batches have run uncaptured.
    Seen(u32),
    Recorded(T),
    /// It cannot be captured.
    Failed,
}

impl<T> Default for Shapes<T> {
    fn default() -> Shapes<T> {
        Shapes(BTreeMap::new())
    }
}

impl<T: AsRef<Graph>> Shapes<T> {
    /// The captured graph for the shape of a batch on a GPU. When one is due, `record` makes it, given a graph whose
    /// memory it can share. `None` means to run the batch uncaptured.
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
            // A GPU with too little memory for a graph may still have enough to run without.
            let recorded = record(self.any()).inspect_err(warn);
            self.0.insert(key, recorded.map_or(Shape::Failed, Shape::Recorded));
        }
        match self.0.get_mut(&key) {
            Some(Shape::Recorded(recorded)) => Some(recorded),
            _ => None,
        }
    }

    /// Whether there is a graph for any shape.
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

/// Logs once why work is launched kernel by kernel, which is slow.
fn warn(error: &LibtorchError) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::warn!("a batch could not be recorded for the GPU, so that it is slower: {error}"));
}
