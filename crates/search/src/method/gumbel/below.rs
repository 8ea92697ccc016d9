//! Move selection below the root by the improved policy, and the formulas that the root shares with it.

use crate::numeric;
use crate::tree::{NodeId, Tree};

/// The constants of sigma(q) = (c_visit + most visits) × c_scale × q.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sigma {
    pub(super) c_visit: f32,
    pub(super) c_scale: f32,
}

impl Sigma {
    /// The factor of a utility from −1 to 1 if the most visited move has this many visits. It is half the factor of q,
    /// which ranges from 0 to 1; the constant offset cancels in every softmax and comparison.
    pub(super) fn factor(&self, most_visits: u32) -> f32 {
        0.5 * (self.c_visit + most_visits as f32) * self.c_scale
    }
}

/// The buffers of [`Selector::select`], reused between calls.
#[derive(Debug, Default)]
pub(super) struct Selector {
    utilities: Vec<f32>,
    weights: Vec<f32>,
}

impl Selector {
    /// The edge to follow from `node`: argmax of pi'(a) − N(a) / (1 + sum of N), where pi' is the improved policy
    /// softmax(logits + sigma(completed q)) (Danihelka et al., 2022, section 5).
    ///
    /// All unvisited edges share one completed value, so only the one with the highest prior can be selected, and the
    /// cost is proportional to the number of visited edges.
    pub(super) fn select(&mut self, tree: &mut Tree, node: NodeId, sigma: Sigma) -> usize {
        let next = tree.prepare_next(node);
        let opened = tree.opened(node);
        if opened == 0 {
            return next.expect("a node where the game is not over has the pass as an edge");
        }
        let first = tree.edges(node).start;
        let parts = self.gather(tree, first, opened);
        let visits = tree.visits(node) as f32 - 1.0;
        let mixed = parts.mixed_value(tree.network_utility(node), visits);
        let factor = sigma.factor(parts.most_visits);
        let best_utility = numeric::maximum(&self.utilities).max(mixed);
        for (weight, &utility) in self.weights.iter_mut().zip(&self.utilities) {
            *weight *= numeric::exp(factor * (utility - best_utility));
        }
        let unopened = numeric::exp(factor * (mixed - best_utility));
        let total = self.weights.iter().sum::<f32>() + (1.0 - parts.prior_sum).max(0.0) * unopened;
        let (scale, share) = (1.0 / total.max(f32::MIN_POSITIVE), 1.0 / (1.0 + visits));
        let mut best = match next {
            Some(edge) => (edge, tree.prior(edge) * unopened * scale),
            None => (first, f32::NEG_INFINITY),
        };
        for (offset, &weight) in self.weights.iter().enumerate() {
            let score = weight * scale - tree.edge_visits(first + offset) as f32 * share;
            if score > best.1 {
                best = (first + offset, score);
            }
        }
        best.0
    }

    /// Fills `utilities` and `weights` (at this point the priors) of the visited edges and computes their sums.
    fn gather(&mut self, tree: &Tree, first: usize, opened: usize) -> Parts {
        self.utilities.clear();
        self.weights.clear();
        let mut parts = Parts::default();
        for edge in first..first + opened {
            let child = tree.child(edge);
            let (utility, prior) = (-tree.utility(child), tree.prior(edge));
            parts.add(prior, utility, tree.visits(child));
            self.utilities.push(utility);
            self.weights.push(prior);
        }
        parts
    }
}

/// Sums over the visited moves of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    /// The sum of the priors of the visited moves.
    pub(super) prior_sum: f32,
    /// The sum of priors times utilities.
    pub(super) weighted: f32,
    /// The visits of the most visited move.
    pub(super) most_visits: u32,
}

impl Parts {
    /// Adds a visited move; the utility is from the viewpoint of the side that makes it.
    pub(super) fn add(&mut self, prior: f32, utility: f32, visits: u32) {
        self.prior_sum += prior;
        self.weighted += prior * utility;
        self.most_visits = self.most_visits.max(visits);
    }

    /// The value v_mix assumed for unvisited moves: the network's value mixed with the results of the visits (Danihelka
    /// et al., 2022, appendix D).
    pub(super) fn mixed_value(&self, network_utility: f32, visits: f32) -> f32 {
        if self.prior_sum <= 0.0 {
            return network_utility;
        }
        (network_utility + visits * self.weighted / self.prior_sum) / (1.0 + visits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Utility, Values};
    use tengen_rules::Size;

    const SIGMA: Sigma = Sigma {
        c_visit: 50.0,
        c_scale: 0.5,
    };

    /// A literal implementation of the formula over all edges.
    fn reference(tree: &Tree, node: NodeId) -> Vec<f64> {
        let edges = tree.edges(node);
        let visited: Vec<usize> = edges.clone().filter(|&e| tree.edge_visits(e) > 0).collect();
        let q = |e: usize| -f64::from(tree.utility(tree.child(e)));
        let n: f64 = visited.iter().map(|&e| f64::from(tree.edge_visits(e))).sum();
        let most = visited.iter().map(|&e| tree.edge_visits(e)).max().unwrap_or(0);
        let prior_sum: f64 = visited.iter().map(|&e| f64::from(tree.prior(e))).sum();
        let weighted: f64 = visited.iter().map(|&e| f64::from(tree.prior(e)) * q(e)).sum();
        let own = f64::from(tree.network_utility(node));
        let mixed = if visited.is_empty() {
            own
        } else {
            (own + n * weighted / prior_sum) / (1.0 + n)
        };
        let weight = |e: usize| {
            let completed = if tree.edge_visits(e) > 0 { q(e) } else { mixed };
            let scaled = (completed + 1.0) / 2.0;
            f64::from(tree.prior(e)) * ((50.0 + f64::from(most)) * 0.5 * scaled).exp()
        };
        let total: f64 = edges.clone().map(weight).sum();
        edges
            .map(|e| weight(e) / total - f64::from(tree.edge_visits(e)) / (1.0 + n))
            .collect()
    }

    #[test]
    fn selection_equals_the_formula_over_all_edges() {
        let utility = Utility::new(Size::square(5).unwrap(), 0.0);
        let mut tree = Tree::default();
        let priors: Vec<f32> = (0..20).map(|i| (1 + i * 7 % 20) as f32 / 210.0).collect();
        let moves: Vec<u16> = (0..20).collect();
        let node = tree.add_node(&moves, &priors, 0.1);
        tree.count_visit(
            node,
            Values {
                value: 0.1,
                margin: 0.0,
            },
            utility,
        );
        let mut selector = Selector::default();
        for visit in 0..400u32 {
            let edge = selector.select(&mut tree, node, SIGMA);
            let scores = reference(&tree, node);
            let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let chosen = scores[edge - tree.edges(node).start];
            assert!(best - chosen < 1e-5, "visit {visit}: {chosen} is below {best}");
            let mut child = tree.child(edge);
            if child == crate::tree::NO_NODE {
                child = tree.add_node(&[], &[], 0.0);
                tree.connect(node, edge, child);
            }
            let value = (f32::from(tree.move_index(edge)) * 0.7 + visit as f32 * 0.01).sin() * 0.3;
            tree.count_visit(child, Values { value, margin: 0.0 }, utility);
            tree.count_visit(
                node,
                Values {
                    value: -value,
                    margin: 0.0,
                },
                utility,
            );
        }
        assert!(tree.opened(node) > 5);
    }
}
