//! Evaluates several leaves of one search in one network call.
//!
//! Between two calls, the search descends several times. To make the descents diverge, each pending leaf and every node
//! on its path below the root gets a virtual visit that leaves the node's mean value unchanged (Liu et al., "Watch the
//! Unobserved", 2020). All virtual visits are removed before the predictions are counted, in the order of the descents.
//! Leaves with a cached prediction wait for the others, so results do not depend on the cache.

use super::descent::{Descent, Waiting};
use super::{Request, Search, Visit};
use crate::cache::{Evaluation, EvaluationCache};
use crate::predictor::{PredictError, Prediction};
use crate::tree::{NodeId, ROOT, Tree, Utility, Values};

/// The descents of a search whose leaves are evaluated in one batch.
#[derive(Debug)]
pub(super) struct Leaves {
    /// The maximum number of leaves evaluated in one batch.
    most: usize,
    /// The pending descents of this network call, in order.
    waiting: Vec<Descent>,
    /// How many of them have been requested in this call, or needed no request.
    asked: usize,
    /// The number of collisions: descents that ended at a pending leaf.
    met: usize,
    /// The virtual visits, each with the values it added to its node.
    lent: Vec<(NodeId, Values)>,
    /// Descents kept to reuse their memory.
    spare: Vec<Descent>,
}

/// Visits that a search must have made per additional pending leaf. While visits are few, evaluating one at a time is
/// better.
const VISITS_PER_LEAF: usize = 8;

impl Default for Leaves {
    fn default() -> Leaves {
        Leaves {
            most: 1,
            waiting: Vec::new(),
            asked: 0,
            met: 0,
            lent: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl Leaves {
    /// The maximum number of leaves evaluated in one batch.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether no descent is pending.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Clears all descents but keeps their memory.
    pub(super) fn clear(&mut self) {
        self.spare.append(&mut self.waiting);
        self.lent.clear();
        (self.asked, self.met) = (0, 0);
    }

    /// The pending descent with this index.
    pub(super) fn at(&self, place: usize) -> &Descent {
        &self.waiting[place]
    }

    /// Whether a node is a pending leaf.
    pub(super) fn awaits(&self, node: NodeId) -> bool {
        self.waiting.iter().any(|descent| match descent.waiting {
            Waiting::Placed { node: leaf } | Waiting::Known { node: leaf, .. } => leaf == node,
            _ => false,
        })
    }

    /// Starts a network call with the first request that the last one left unanswered.
    pub(super) fn ask_again(&mut self) -> Option<Request> {
        self.asked = 0;
        self.next_unanswered()
    }

    /// The next request that an earlier call left unanswered.
    fn next_unanswered(&mut self) -> Option<Request> {
        let mut rest = self.waiting.iter().enumerate().skip(self.asked);
        let (place, descent) = rest.find(|(_, descent)| is_unanswered(descent))?;
        self.asked = place + 1;
        Some(Request {
            key: descent.view.key,
            place: Some(place),
        })
    }

    /// Adds a virtual visit to every node of the path below the root and to the leaf.
    fn lend(&mut self, path: &[NodeId], leaf: Option<NodeId>, tree: &mut Tree, utility: Utility) {
        let mut mean = Values {
            value: 0.0,
            margin: 0.0,
        };
        for &node in path.iter().chain(&leaf) {
            // A new leaf is expected to have its parent's mean.
            mean = match tree.visits(node) {
                0 => mean.for_opponent(),
                _ => tree.mean(node),
            };
            if node != ROOT {
                tree.count_visit(node, mean, utility);
                self.lent.push((node, mean));
            }
        }
    }

    /// Removes all virtual visits.
    fn take_back(&mut self, tree: &mut Tree, utility: Utility) {
        for (node, values) in self.lent.drain(..) {
            tree.discount_visit(node, values, utility);
        }
    }
}

fn is_unanswered(descent: &Descent) -> bool {
    matches!(descent.waiting, Waiting::Placed { .. })
}

impl Search {
    /// Sets how many leaves the search may evaluate in one network call, 1 or more (initially 1). Several make better
    /// use of a network that is faster in batches, for slightly worse choices. A search with few visits uses fewer:
    /// one, plus one for every 8 visits made. With several, ask for [`more`](Self::more) requests after each
    /// [`step`](Self::step).
    ///
    /// # Panics
    /// If `leaves` is 0.
    pub fn set_leaves(&mut self, leaves: usize) {
        assert!(leaves > 0, "a search evaluates at least one leaf at a time");
        self.leaves.most = leaves;
    }

    /// Another request to be answered together with that of the last [`step`](Self::step), up to the limit that
    /// [`set_leaves`](Self::set_leaves) sets.
    pub fn more(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        // The root is evaluated first, by itself.
        if self.leaves.most == 1 || self.now.waiting != Waiting::Nothing {
            return None;
        }
        self.gather(cache)
    }

    /// Descends until a leaf needs a prediction. `None` if the pending predictions must come first or all visits have
    /// been made.
    pub(super) fn gather(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        loop {
            if let Some(request) = self.leaves.next_unanswered() {
                return Some(request);
            }
            while self.may_descend() {
                match self.visit(cache) {
                    Visit::Done | Visit::Waits => {}
                    Visit::Asks(request) => return Some(request),
                    Visit::Meets => {
                        self.leaves.met += 1;
                        self.method.take_back();
                        self.leaves.lend(&self.now.path, None, &mut self.tree, self.utility);
                    }
                }
            }
            if self.leaves.is_empty() || self.leaves.waiting.iter().any(is_unanswered) {
                return None;
            }
            self.count_known();
        }
    }

    /// Whether another descent may start before the pending leaves are counted.
    fn may_descend(&self) -> bool {
        let Leaves { most, met, waiting, .. } = &self.leaves;
        let waiting = waiting.len();
        waiting < (*most).min(1 + self.done as usize / VISITS_PER_LEAF)
            && met < most
            && !self.method.is_done(self.done + waiting as u32, self.budget)
            && (waiting == 0 || !self.method.must_know())
    }

    /// Adds the new leaf below `edge` to the tree and makes its descent pending.
    pub(super) fn park(&mut self, edge: usize, cache: &mut EvaluationCache) -> Visit {
        let node = self.tree.add_unknown(&self.now.view.moves);
        self.connect(edge, node);
        self.leaves
            .lend(&self.now.path, Some(node), &mut self.tree, self.utility);
        self.now.waiting = match self.read_cached(cache) {
            Some(evaluation) => self.known(node, evaluation),
            None => Waiting::Placed { node },
        };
        let spare = self.leaves.spare.pop();
        let spare = spare.unwrap_or_else(|| Descent::at(&self.position, self.komi, self.shown));
        let parked = std::mem::replace(&mut self.now, spare);
        self.now.clear();
        let request = is_unanswered(&parked).then(|| Request {
            place: Some(self.leaves.waiting.len()),
            ..parked.request()
        });
        self.leaves.waiting.push(parked);
        self.leaves.asked = self.leaves.waiting.len();
        request.map_or(Visit::Waits, Visit::Asks)
    }

    /// Stores the prediction just read with the current descent until it counts.
    fn known(&mut self, node: NodeId, evaluation: Evaluation) -> Waiting {
        std::mem::swap(&mut self.now.priors, &mut self.priors);
        std::mem::swap(&mut self.now.ownership, &mut self.predicted_ownership);
        Waiting::Known { node, evaluation }
    }

    /// Accepts the predictions for a pending leaf, and counts all visits once no prediction is missing.
    pub(super) fn respond_at<'a>(
        &mut self,
        place: usize,
        predictions: impl IntoIterator<Item = Prediction<'a>>,
        cache: &mut EvaluationCache,
    ) -> Result<(), PredictError> {
        std::mem::swap(&mut self.now, &mut self.leaves.waiting[place]);
        let evaluation = self.read(predictions, cache);
        if let (Ok(evaluation), Waiting::Placed { node }) = (&evaluation, self.now.waiting) {
            self.now.waiting = self.known(node, *evaluation);
        }
        std::mem::swap(&mut self.now, &mut self.leaves.waiting[place]);
        evaluation?;
        if !self.leaves.waiting.iter().any(is_unanswered) {
            self.count_known();
        }
        Ok(())
    }

    /// Counts the visits of all pending leaves, whose predictions are known.
    fn count_known(&mut self) {
        self.leaves.take_back(&mut self.tree, self.utility);
        for place in 0..self.leaves.waiting.len() {
            std::mem::swap(&mut self.now, &mut self.leaves.waiting[place]);
            std::mem::swap(&mut self.now.priors, &mut self.priors);
            std::mem::swap(&mut self.now.ownership, &mut self.predicted_ownership);
            if let Waiting::Known { evaluation, .. } = self.now.waiting {
                self.finish_evaluation(evaluation);
            }
            std::mem::swap(&mut self.now, &mut self.leaves.waiting[place]);
        }
        self.leaves.clear();
    }
}
