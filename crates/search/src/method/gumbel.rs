//! Gumbel top-k sampling and sequential halving at the root, improved policies below it.
//!
//! Danihelka et al., "Policy improvement by planning with Gumbel" (2022).

mod below;

use tengen_rng::{self as rng, Rng};

use crate::config::SearchConfig;
use crate::method::{Method, OpenMoves};
use crate::numeric;
use crate::tree::{NO_NODE, NodeId, ROOT, Tree};
use below::{Parts, Selector, Sigma};

/// With at least this many candidates, the pass is always one of them.
const ENOUGH_FOR_PASS: usize = 4;

/// The state of Gumbel search at the root; its vectors are reused between searches.
#[derive(Debug)]
pub(super) struct Gumbel {
    /// The maximum number of candidates.
    most: u32,
    /// The scale of the noise.
    noise_scale: f32,
    with_noise: bool,
    sigma: Sigma,
    selector: Selector,
    /// The log-prior of every root edge.
    logits: Vec<f32>,
    /// The Gumbel noise of every root edge; 0 without noise.
    noise: Vec<f32>,
    /// The remaining candidates among the root edges, best first.
    considered: Vec<u16>,
    /// The visits each root edge had at the start of the search, from a kept tree. They count toward values but not
    /// toward the halving, which distributes only new visits.
    before: Vec<u32>,
    cursor: usize,
    rounds_left: u32,
    phases: u32,
    budget: u32,
    /// Number of candidates at the start of the search.
    first_round: u32,
}

impl Method for Gumbel {
    /// Where visits do not decide, moves are drawn from the policy to the power of 1 / `scale`.
    fn set_noise(&mut self, scale: f32) {
        self.noise_scale = scale;
    }

    /// Draws the noise and chooses the candidates.
    ///
    /// The pass is always included among [`ENOUGH_FOR_PASS`] or more candidates, or among two or more after a pass,
    /// when it ends the game: an untrained network would rarely propose it. Otherwise, a search of two or three visits
    /// cannot spare one for it.
    fn begin(&mut self, tree: &mut Tree, visits: u32, after_pass: bool, rng: &mut Rng) {
        let edges = tree.edges(ROOT);
        let count = edges.len();
        self.logits.clear();
        self.logits
            .extend(edges.map(|edge| tree.prior(edge).max(f32::MIN_POSITIVE).ln()));
        self.before.clear();
        self.before.extend(tree.edges(ROOT).map(|edge| tree.edge_visits(edge)));
        self.noise.clear();
        let (scale, noisy) = (self.noise_scale, self.with_noise && self.noise_scale > 0.0);
        self.noise
            .extend((0..count).map(|_| if noisy { scale * rng::gumbel(rng) as f32 } else { 0.0 }));
        let kept: u32 = self.before.iter().sum();
        let candidates = (self.most.min(visits.saturating_add(kept)).max(1) as usize).min(count);
        self.considered.clear();
        self.considered.extend(0..count as u16);
        let (logits, noise) = (&self.logits, &self.noise);
        let score = |edge: u16| logits[usize::from(edge)] + noise[usize::from(edge)];
        self.considered
            .sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        // The pass is the last edge of a new root, but visits may have moved it in a root kept from an earlier search.
        let pass = tree.pass_edge(ROOT) as u16;
        let pass_place = self
            .considered
            .iter()
            .position(|&edge| edge == pass)
            .expect("the pass is an edge");
        self.considered.truncate(candidates);
        let enough = if after_pass { 2 } else { ENOUGH_FOR_PASS };
        if candidates >= enough && pass_place >= candidates {
            self.considered[candidates - 1] = pass;
        }
        self.budget = visits;
        self.first_round = candidates as u32;
        self.phases = candidates.next_power_of_two().trailing_zeros().max(1);
        self.cursor = 0;
        self.rounds_left = self.rounds_of_phase();
    }

    /// The next candidate in turn.
    fn root_edge(&mut self, tree: &Tree, _open: OpenMoves<'_>) -> usize {
        if self.cursor == self.considered.len() {
            self.cursor = 0;
            self.rounds_left -= 1;
            if self.rounds_left == 0 {
                self.halve(tree);
            }
        }
        let edge = self.considered[self.cursor];
        self.cursor += 1;
        tree.edges(ROOT).start + usize::from(edge)
    }

    /// The halving compares the values of all candidates.
    fn must_know(&self) -> bool {
        self.cursor == self.considered.len() && self.rounds_left == 1
    }

    /// Gives the next turn to the same candidate.
    fn take_back(&mut self) {
        self.cursor -= 1;
    }

    /// The edge that brings the visits closest to the improved policy.
    fn edge(&mut self, tree: &mut Tree, node: NodeId) -> usize {
        self.selector.select(tree, node, self.sigma)
    }

    /// Of the candidates with the most new visits, the one with the highest g + logit + sigma(q). If a kept tree leaves
    /// fewer new visits than candidates, they compare nothing, and all candidates count.
    fn chosen(&self, tree: &Tree, _open: OpenMoves<'_>) -> usize {
        let factor = self.sigma.factor(self.most_visits(tree));
        let start = tree.edges(ROOT).start;
        let new_visits = |edge: usize| match self.budget < self.first_round {
            true => 0,
            false => tree.edge_visits(start + edge) - self.before[edge],
        };
        let rank = |edge: u16| (new_visits(usize::from(edge)), self.score(tree, edge, factor));
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

    /// The improved policy softmax(logits + sigma(completed q)).
    fn policy(&self, tree: &Tree, out: &mut Vec<f32>) {
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
        let factor = self.sigma.factor(parts.most_visits);
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

impl Gumbel {
    pub(super) fn new(config: &SearchConfig) -> Gumbel {
        Gumbel {
            most: config.candidates,
            noise_scale: 1.0,
            with_noise: config.noise,
            sigma: Sigma {
                c_visit: config.c_visit,
                c_scale: config.c_scale,
            },
            selector: Selector::default(),
            logits: Vec::new(),
            noise: Vec::new(),
            considered: Vec::new(),
            before: Vec::new(),
            cursor: 0,
            rounds_left: 0,
            phases: 0,
            budget: 0,
            first_round: 0,
        }
    }

    /// The visits each candidate gets in the next phase.
    fn rounds_of_phase(&self) -> u32 {
        (self.budget / (self.phases * self.considered.len() as u32)).max(1)
    }

    /// Drops the worse half of the candidates but keeps at least two.
    fn halve(&mut self, tree: &Tree) {
        let factor = self.sigma.factor(self.most_visits(tree));
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

    /// g + logit + sigma(q) of a candidate; an unvisited candidate has the network's value of the root.
    fn score(&self, tree: &Tree, edge: u16, factor: f32) -> f32 {
        let place = usize::from(edge);
        let utility = match tree.child(tree.edges(ROOT).start + place) {
            NO_NODE => tree.network_utility(ROOT),
            child => -tree.utility(child),
        };
        self.noise[place] + self.logits[place] + factor * utility
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Utility, Values};
    use tengen_rules::Size;

    /// Runs a root with `moves` edges where move i has the value i / moves; returns the visits per move and the best.
    fn run(moves: u16, config: &SearchConfig, budget: u32) -> (Vec<u32>, u16) {
        run_from(moves, config, budget, false)
    }

    fn run_from(moves: u16, config: &SearchConfig, budget: u32, after_pass: bool) -> (Vec<u32>, u16) {
        let utility = Utility::new(Size::square(5).unwrap(), 0.0);
        let mut tree = Tree::default();
        let priors = vec![1.0 / f32::from(moves); usize::from(moves)];
        tree.add_node(&(0..moves).collect::<Vec<_>>(), &priors, 0.0);
        let mut root = Gumbel::new(config);
        let open = OpenMoves::new(Size::square(19).unwrap(), None);
        root.begin(&mut tree, budget, after_pass, &mut rng::stream(1, &[]));
        for _ in 0..budget {
            let edge = root.root_edge(&tree, open);
            let mut child = tree.child(edge);
            if child == NO_NODE {
                child = tree.add_node(&[], &[], 0.0);
                tree.connect(ROOT, edge, child);
            }
            let value = -f32::from(tree.move_index(edge)) / f32::from(moves);
            tree.count_visit(child, Values { value, margin: 0.0 }, utility);
        }
        let visits = tree.edges(ROOT).map(|edge| tree.edge_visits(edge)).collect();
        (visits, tree.move_index(root.chosen(&tree, open)))
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
            "all priors are equal, so the candidates are the first seven moves and the pass"
        );
        assert_eq!((visits[19], best), (4, 19));
        assert_eq!(visits.iter().sum::<u32>(), 16);
    }

    #[test]
    fn a_kept_tree_with_few_visits_missing_still_decides() {
        let utility = Utility::new(Size::square(5).unwrap(), 0.0);
        let open = OpenMoves::new(Size::square(19).unwrap(), None);
        let config = SearchConfig {
            noise: false,
            ..SearchConfig::default()
        };
        for missing in [0, 1, 2] {
            // The first move has the highest prior but loses; the second one wins.
            let mut tree = Tree::default();
            tree.add_node(&[0, 1, 2, 3], &[0.6, 0.2, 0.1, 0.1], 0.0);
            for (edge, value, visits) in [(0, 1.0, 9), (1, -1.0, 6)] {
                let child = tree.add_node(&[], &[], 0.0);
                tree.connect(ROOT, edge, child);
                (0..visits).for_each(|_| tree.count_visit(child, Values { value, margin: 0.0 }, utility));
            }
            let mut root = Gumbel::new(&config);
            root.begin(&mut tree, missing, false, &mut rng::stream(1, &[]));
            for _ in 0..missing {
                let edge = root.root_edge(&tree, open);
                let value = [1.0, -1.0, 0.0, 0.0][usize::from(tree.move_index(edge))];
                tree.count_visit(tree.child(edge), Values { value, margin: 0.0 }, utility);
            }
            assert_eq!(tree.move_index(root.chosen(&tree, open)), 1, "{missing} missing");
        }
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
                    for after_pass in [false, true] {
                        let (visits, _) = run_from(moves, &config, budget, after_pass);
                        assert_eq!(visits.iter().sum::<u32>(), budget);
                        let pass_visited = visits[usize::from(moves) - 1] > 0;
                        let least = if after_pass { 2 } else { 4 };
                        assert!(
                            pass_visited || budget < least,
                            "the pass is visited if {least} moves are"
                        );
                    }
                }
            }
        }
        let config = SearchConfig {
            noise: false,
            ..SearchConfig::default()
        };
        assert_eq!(run_from(9, &config, 3, false).0, [1, 1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(run_from(9, &config, 3, true).0, [1, 1, 0, 0, 0, 0, 0, 0, 1]);
    }
}
