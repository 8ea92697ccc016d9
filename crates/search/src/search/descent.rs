//! One path from the root to a position that needs a prediction.

use tengen_rules::{Komi, Position};

use super::Request;
use crate::cache::Evaluation;
use crate::frame::{Shown, View};
use crate::tree::NodeId;

/// A descent from the root, which may be waiting for a prediction.
#[derive(Debug)]
pub(super) struct Descent {
    /// The nodes from the root to the parent of the leaf.
    pub(super) path: Vec<NodeId>,
    /// The move at the root, as a board index.
    pub(super) root_move: u16,
    /// The position, as the network sees it.
    pub(super) view: View,
    /// What waits for a prediction.
    pub(super) waiting: Waiting,
    /// The priors of a leaf that is [known](Waiting::Known).
    pub(super) priors: Vec<f32>,
    /// The ownership of a known leaf, if the settings request it and the network predicts it.
    pub(super) ownership: Vec<f32>,
}

/// The position whose prediction a search is waiting for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Waiting {
    /// None.
    Nothing,
    /// The root.
    Root,
    /// The root of a kept tree, which lacks only the parts of the prediction that the tree does not store.
    KeptRoot,
    /// A leaf that is not in the tree yet.
    Leaf {
        /// The edge that will lead to it.
        edge: usize,
    },
    /// A leaf already added to the tree without priors, so that other descents avoid it.
    Placed {
        /// Its node.
        node: NodeId,
    },
    /// A placed leaf whose prediction is known but does not count yet, because others are still pending.
    Known {
        /// Its node.
        node: NodeId,
        /// Its prediction.
        evaluation: Evaluation,
    },
}

impl Descent {
    /// A descent that waits for nothing.
    pub(super) fn at(position: &Position, komi: Komi, shown: Shown) -> Descent {
        Descent {
            path: Vec::new(),
            root_move: 0,
            view: View::of(position, komi, shown),
            waiting: Waiting::Nothing,
            priors: Vec::new(),
            ownership: Vec::new(),
        }
    }

    /// Clears the descent but keeps its memory.
    pub(super) fn clear(&mut self) {
        self.path.clear();
        self.waiting = Waiting::Nothing;
    }

    /// The request for the prediction, if only one descent waits.
    pub(super) fn request(&self) -> Request {
        Request {
            key: self.view.key,
            place: None,
        }
    }
}
