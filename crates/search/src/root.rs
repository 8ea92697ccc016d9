//! How are the visits shared out among the moves of the root, and which move is played?
//!
//! Gumbel top-k sampling and sequential halving (Danihelka et al., "Policy improvement by planning with Gumbel", 2022).

use crate::config::SearchConfig;
use crate::numeric;
use crate::select::{Parts, Sigma};
use crate::tree::{NO_NODE, ROOT, Tree};
use tengen_rng::{self as rng, Rng};

/// The root's part of a search; its vectors keep their memory between searches.
#[derive(Debug, Default)]
pub(crate) struct Root {
    /// Log-prior of every root edge.
    logits: Vec<f32>,
    /// Gumbel noise of every root edge; 0 without noise.
    noise: Vec<f32>,
    /// Root edges that still compete, best first.
    considered: Vec<u16>,
    /// Visits each root edge had when the search began: those of a kept tree. They count in the values, not in the
    /// halving, which shares out the new visits alone.
    before: Vec<u32>,
    cursor: usize,
    rounds_left: u32,
    phases: u32,
    budget: u32,
}

impl Root {
    /// Draws the noise and chooses the candidates of a root that has just got its edges.
    ///
    /// The pass is always a candidate where there are at least two: it ends the game after a pass, and
    /// an untrained network would seldom propose it.
    pub(crate) fn begin(&mut self, tree: &Tree, config: &SearchConfig, budget: u32, rng: &mut Rng) {
        let edges = tree.edges(ROOT);
        let count = edges.len();
        self.logits.clear();
        self.logits
            .extend(edges.map(|edge| tree.prior(edge).max(f32::MIN_POSITIVE).ln()));
        self.before.clear();
        self.before.extend(tree.edges(ROOT).map(|edge| tree.edge_visits(edge)));
        self.noise.clear();
        self.noise
            .extend((0..count).map(|_| if config.noise { rng::gumbel(rng) as f32 } else { 0.0 }));
        let candidates = (config.candidates.min(budget).max(1) as usize).min(count);
        self.considered.clear();
        self.considered.extend(0..count as u16);
        let (logits, noise) = (&self.logits, &self.noise);
        let score = |edge: u16| logits[usize::from(edge)] + noise[usize::from(edge)];
        self.considered
            .sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        // The last edge in a fresh root; its children may have moved it in a kept one.
        let pass = tree.pass_edge(ROOT) as u16;
        let pass_place = self
            .considered
            .iter()
            .position(|&edge| edge == pass)
            .expect("the pass is an edge");
        self.considered.truncate(candidates);
        if candidates >= 2 && pass_place >= candidates {
            self.considered[candidates - 1] = pass;
        }
        self.budget = budget;
        self.phases = candidates.next_power_of_two().trailing_zeros().max(1);
        self.cursor = 0;
        self.rounds_left = self.rounds_of_phase();
    }

    /// Visits each candidate gets in the phase that begins.
    fn rounds_of_phase(&self) -> u32 {
        (self.budget / (self.phases * self.considered.len() as u32)).max(1)
    }

    /// The root edge of the next visit.
    pub(crate) fn next_edge(&mut self, tree: &Tree, sigma: Sigma) -> usize {
        if self.cursor == self.considered.len() {
            self.cursor = 0;
            self.rounds_left -= 1;
            if self.rounds_left == 0 {
                self.halve(tree, sigma);
            }
        }
        let edge = self.considered[self.cursor];
        self.cursor += 1;
        tree.edges(ROOT).start + usize::from(edge)
    }

    /// Drops the worse half of the candidates, down to two.
    fn halve(&mut self, tree: &Tree, sigma: Sigma) {
        let factor = sigma.factor(self.most_visits(tree));
        let mut considered = std::mem::take(&mut self.considered);
        considered.sort_by(|&a, &b| {
            self.score(tree, b, factor)
                .total_cmp(&self.score(tree, a, factor))
                .then(a.cmp(&b))
        });
        considered.truncate((considered.len() / 2).max(2));
        self.considered = considered;
        self.rounds_left = self.rounds_of_phase();
    }

    fn most_visits(&self, tree: &Tree) -> u32 {
        tree.edges(ROOT).map(|edge| tree.edge_visits(edge)).max().unwrap_or(0)
    }

    /// g + logit + sigma(q) of a candidate; its value is that of the network until it is visited.
    fn score(&self, tree: &Tree, edge: u16, factor: f32) -> f32 {
        let place = usize::from(edge);
        let utility = match tree.child(tree.edges(ROOT).start + place) {
            NO_NODE => tree.network_utility(ROOT),
            child => -tree.utility(child),
        };
        self.noise[place] + self.logits[place] + factor * utility
    }

    /// The edge to play: among the candidates with the most new visits the one with the best g + logit + sigma(q).
    pub(crate) fn chosen(&self, tree: &Tree, sigma: Sigma) -> usize {
        let factor = sigma.factor(self.most_visits(tree));
        let start = tree.edges(ROOT).start;
        let rank = |edge: u16| {
            (
                tree.edge_visits(start + usize::from(edge)) - self.before[usize::from(edge)],
                self.score(tree, edge, factor),
            )
        };
        let best = self.considered.iter().copied().reduce(|best, edge| {
            let ((best_visits, best_score), (visits, score)) = (rank(best), rank(edge));
            if (visits, score) > (best_visits, best_score) {
                edge
            } else {
                best
            }
        });
        start + usize::from(best.expect("a root has at least one candidate"))
    }

    /// Writes the improved policy softmax(logits + sigma(completed q)) of the root's edges, in their order, to `out`.
    pub(crate) fn improved_policy(&self, tree: &Tree, sigma: Sigma, out: &mut Vec<f32>) {
        let mut parts = Parts::default();
        let mut visits = 0;
        for edge in tree.edges(ROOT) {
            let child = tree.child(edge);
            if child != NO_NODE {
                parts.add(tree.prior(edge), -tree.utility(child), tree.visits(child));
                visits += tree.visits(child);
            }
        }
        let mixed = parts.mixed_value(tree.network_utility(ROOT), visits as f32);
        let factor = sigma.factor(parts.most_visits);
        out.clear();
        out.extend(tree.edges(ROOT).zip(&self.logits).map(|(edge, logit)| {
            let utility = match tree.child(edge) {
                NO_NODE => mixed,
                child => -tree.utility(child),
            };
            logit + factor * utility
        }));
        let finite = numeric::softmax(out);
        debug_assert!(finite, "log-priors and utilities are finite");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Outlook, Utility};
    use tengen_rules::Size;

    const SIGMA: Sigma = Sigma {
        c_visit: 50.0,
        c_scale: 0.5,
    };

    /// Runs a root of `moves` edges whose move number i has the value i / moves; returns visits per move.
    fn run(moves: u16, config: &SearchConfig, budget: u32) -> (Vec<u32>, u16) {
        let utility = Utility::new(Size::square(5).unwrap(), 0.0);
        let mut tree = Tree::default();
        let priors = vec![1.0 / f32::from(moves); usize::from(moves)];
        tree.add_node(&(0..moves).collect::<Vec<_>>(), &priors, 0.0);
        let mut root = Root::default();
        root.begin(&tree, config, budget, &mut rng::stream(1, &[]));
        for _ in 0..budget {
            let edge = root.next_edge(&tree, SIGMA);
            let mut child = tree.child(edge);
            if child == NO_NODE {
                child = tree.add_node(&[], &[], 0.0);
                tree.connect(ROOT, edge, child);
            }
            let value = -f32::from(tree.move_index(edge)) / f32::from(moves);
            tree.count_visit(child, Outlook { value, margin: 0.0 }, utility);
        }
        let visits = tree.edges(ROOT).map(|edge| tree.edge_visits(edge)).collect();
        (visits, tree.move_index(root.chosen(&tree, SIGMA)))
    }

    #[test]
    fn sixteen_visits_halve_eight_candidates_three_times() {
        let config = SearchConfig {
            noise: false,
            ..SearchConfig::default()
        };
        let (visits, best) = run(20, &config, 16);
        assert_eq!(
            visits[..7],
            [1, 1, 1, 1, 2, 2, 4],
            "priors tie, so the first seven moves and the pass compete"
        );
        assert_eq!((visits[19], best), (4, 19));
        assert_eq!(visits.iter().sum::<u32>(), 16);
    }

    #[test]
    fn any_budget_is_spent_exactly() {
        for noise in [false, true] {
            for budget in [1, 2, 3, 6, 7, 8, 9, 100, 1001] {
                for moves in [1, 2, 3, 9, 82] {
                    let config = SearchConfig {
                        noise,
                        ..SearchConfig::default()
                    };
                    let (visits, _) = run(moves, &config, budget);
                    assert_eq!(visits.iter().sum::<u32>(), budget);
                    let pass_visited = visits[usize::from(moves) - 1] > 0;
                    assert!(pass_visited || budget == 1, "the pass is tried whenever two moves are");
                }
            }
        }
    }
}
