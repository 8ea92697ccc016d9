//! Forced playouts and their removal from the policy target.
//!
//! Wu, "Accelerating Self-Play Learning in Go" (2019), section 3.2. Noise makes PUCT try moves with small priors, but a
//! single bad visit ends the trial. Forced playouts give every tried move enough visits to reveal whether it is good.
//! The policy target excludes visits that only noise and forcing explain, so exploration does not become a habit.

use crate::tree::{NO_NODE, ROOT, Tree};

use super::Puct;

/// The number of visits that a root move must have once it has one: √(k × prior × visits of the root).
fn forced_visits(k: f32, prior: f32, root_visits: u32) -> f32 {
    (k * prior * root_visits as f32).sqrt()
}

impl Puct {
    /// Whether searches force playouts: only those that explore.
    pub(super) fn forces(self) -> bool {
        self.forced > 0.0 && self.explores()
    }

    /// The first of these root edges that has too few visits.
    pub(super) fn forced_edge(self, tree: &Tree, mut edges: impl Iterator<Item = usize>) -> Option<usize> {
        let visits = tree.visits(ROOT);
        edges.find(|&edge| {
            let own = tree.edge_visits(edge);
            own > 0 && (own as f32) < forced_visits(self.forced, tree.prior(edge), visits)
        })
    }

    /// The visits of each root edge without those that were only forced, in edge order.
    ///
    /// The most visited move keeps its visits. Every other move loses at most the forced number, as long as PUCT would
    /// still prefer the most visited move; if that leaves a single visit, it is dropped as well.
    pub(super) fn pruned_visits(self, tree: &Tree, out: &mut Vec<f32>) {
        let edges = tree.edges(ROOT);
        let visits = |edge| tree.edge_visits(edge);
        let Some(most) = edges.clone().reduce(|a, b| if visits(b) > visits(a) { b } else { a }) else {
            return;
        };
        let constant = self.constant(tree, ROOT);
        let score = |edge: usize, visits: u32| match tree.child(edge) {
            NO_NODE => f32::NEG_INFINITY,
            child => -tree.utility(child) + constant * tree.prior(edge) / (1.0 + visits as f32),
        };
        let bar = score(most, visits(most));
        out.clear();
        out.extend(edges.map(|edge| {
            let own = visits(edge);
            if edge == most || own == 0 {
                return own as f32;
            }
            let forced = forced_visits(self.forced, tree.prior(edge), tree.visits(ROOT)) as u32;
            let mut left = own;
            while left > own.saturating_sub(forced) && score(edge, left - 1) < bar {
                left -= 1;
            }
            if left <= 1 { 0.0 } else { left as f32 }
        }));
    }
}
