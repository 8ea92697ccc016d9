//! Move selection by PUCT.
//!
//! Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play"
//! (2018), with an exploration constant that grows slowly with the visits and a reduced value for unvisited moves.

mod forced;

use tengen_rng::{self as rng, Rng};

use crate::config::SearchConfig;
use crate::method::{Method, OpenMoves};
use crate::tree::{NO_NODE, NodeId, ROOT, Tree};

/// The share of noise in the root's priors if noise is enabled (Silver et al., 2018).
const NOISE_SHARE: f32 = 0.25;

/// The total concentration of the Dirichlet noise: 0.03 for each point of 19x19, as in AlphaGo Zero.
const NOISE_WEIGHT: f64 = 10.83;

/// The share of the highest visit count that a move needs to be chosen by its lower confidence bound, as in KataGo.
const LEAST_SHARE_FOR_LCB: f32 = 0.15;

/// PUCT, whose state is the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Puct {
    c_puct: f32,
    fpu_reduction: f32,
    /// The share of noise in the root's priors.
    noise: f32,
    with_noise: bool,
    /// The factor k of forced playouts; 0 forces none.
    forced: f32,
    /// Standard errors between a move's value and the lower bound it is chosen by; 0 chooses by visits.
    lcb: f32,
}

impl Puct {
    pub(super) fn new(config: &SearchConfig) -> Puct {
        Puct {
            c_puct: config.c_puct,
            fpu_reduction: config.fpu_reduction,
            noise: NOISE_SHARE,
            with_noise: config.noise,
            forced: config.forced_playouts,
            lcb: config.lcb,
        }
    }

    /// Whether there is noise at the root.
    fn explores(self) -> bool {
        self.with_noise && self.noise > 0.0
    }

    /// The factor of prior / (1 + visits) in the bonus of a node's edges. It grows as in KataGo: by 0.45 for every
    /// factor of e beyond 500 visits.
    fn constant(self, tree: &Tree, node: NodeId) -> f32 {
        let visits = tree.visits(node) as f32;
        self.c_puct * (1.0 + 0.45 * (1.0 + visits / 500.0).ln()) * visits.sqrt()
    }

    /// The edge with the highest sum of utility and bonus; the first one in case of a tie.
    fn best(self, tree: &Tree, node: NodeId, edges: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let visited = edges.clone().filter(|&edge| tree.child(edge) != NO_NODE);
        let explored: f32 = visited.map(|edge| tree.prior(edge)).sum();
        let constant = self.constant(tree, node);
        let unknown = tree.utility(node) - self.fpu_reduction * explored.max(0.0).sqrt();
        let score = |edge: usize| {
            let utility = match tree.child(edge) {
                NO_NODE => unknown,
                child => -tree.utility(child),
            };
            utility + constant * tree.prior(edge) / (1.0 + tree.edge_visits(edge) as f32)
        };
        let scored = edges.map(|edge| (edge, score(edge)));
        scored
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .map(|(edge, _)| edge)
    }
}

impl Method for Puct {
    fn set_noise(&mut self, scale: f32) {
        self.noise = NOISE_SHARE * scale;
    }

    fn begin(&mut self, tree: &mut Tree, _visits: u32, _after_pass: bool, rng: &mut Rng) {
        if self.explores() {
            add_noise(tree, self.noise, rng);
        }
    }

    /// The best of the allowed edges. The pass gets one early visit because it may end the game with an exact score
    /// that a network would not predict.
    fn root_edge(&mut self, tree: &Tree, open: OpenMoves<'_>) -> usize {
        let pass = tree.edges(ROOT).start + tree.pass_edge(ROOT);
        let is_open = |edge: usize| open.contains(tree.move_index(edge));
        if tree.visits(ROOT) > 1 && tree.child(pass) == NO_NODE && is_open(pass) {
            return pass;
        }
        let edges = tree.edges(ROOT).filter(|&edge| is_open(edge));
        if self.forces()
            && let Some(edge) = self.forced_edge(tree, edges.clone())
        {
            return edge;
        }
        self.best(tree, ROOT, edges).unwrap_or(pass)
    }

    /// The best edge. Of the unvisited edges, only the one with the highest prior can be selected, so the cost is
    /// proportional to the number of visited edges.
    fn edge(&mut self, tree: &mut Tree, node: NodeId) -> usize {
        let next = tree.prepare_next(node);
        let first = tree.edges(node).start;
        let opened = first..first + tree.opened(node);
        self.best(tree, node, opened.chain(next))
            .expect("a node where the game is not over has the pass as an edge")
    }

    /// The most visited of the allowed edges, with ties broken by utility and then by prior; or, if the settings ask
    /// for it, the one with the highest lower confidence bound among those with enough visits.
    fn chosen(&self, tree: &Tree, open: OpenMoves<'_>) -> usize {
        let rank = |edge: usize| {
            let utility = match tree.child(edge) {
                NO_NODE => f32::NEG_INFINITY,
                child => -tree.utility(child),
            };
            (tree.edge_visits(edge), utility, tree.prior(edge))
        };
        let better = |best: usize, edge: usize| if rank(edge) > rank(best) { edge } else { best };
        let is_open = |&edge: &usize| open.contains(tree.move_index(edge));
        let Some(most_visited) = tree.edges(ROOT).filter(is_open).reduce(better) else {
            return tree.edges(ROOT).start + tree.pass_edge(ROOT);
        };
        if self.lcb == 0.0 || tree.child(most_visited) == NO_NODE {
            return most_visited;
        }
        let least = LEAST_SHARE_FOR_LCB * tree.edge_visits(most_visited) as f32;
        let eligible = |&edge: &usize| tree.child(edge) != NO_NODE && tree.edge_visits(edge) as f32 >= least;
        let bound = |edge: usize| {
            let child = tree.child(edge);
            -tree.utility(child) - self.lcb * tree.value_error(child)
        };
        let higher = |best: usize, edge: usize| if bound(edge) > bound(best) { edge } else { best };
        let bounded = tree.edges(ROOT).filter(is_open).filter(eligible);
        bounded.fold(most_visited, higher)
    }

    /// The share of visits of each root edge, excluding forced playouts; the priors if there are no visits.
    fn policy(&self, tree: &Tree, out: &mut Vec<f32>) {
        match self.forces() {
            true => self.pruned_visits(tree, out),
            false => {
                out.clear();
                out.extend(tree.edges(ROOT).map(|edge| tree.edge_visits(edge) as f32));
            }
        }
        let total: f32 = out.iter().sum();
        match total > 0.0 {
            true => out.iter_mut().for_each(|visits| *visits /= total),
            false => {
                out.clear();
                out.extend(tree.edges(ROOT).map(|edge| tree.prior(edge)));
            }
        }
    }
}

/// Mixes a share of Dirichlet noise into the priors of the root.
fn add_noise(tree: &mut Tree, share: f32, rng: &mut Rng) {
    let edges = tree.edges(ROOT);
    let shape = NOISE_WEIGHT / edges.len() as f64;
    let draws: Vec<f64> = edges.clone().map(|_| rng::gamma(rng, shape)).collect();
    let sum: f64 = draws.iter().sum();
    for (edge, draw) in edges.zip(draws) {
        tree.mix_prior(edge, share, (draw / sum) as f32);
    }
}

#[cfg(test)]
mod tests {
    use tengen_rules::Size;

    use super::*;
    use crate::tree::{Utility, Values};

    /// A root with these priors, whose moves have these values for the side to move, after `visits` visits.
    fn searched(puct: &mut Puct, moves: &[(f32, f32)], visits: u32) -> Tree {
        let utility = Utility::new(Size::square(5).unwrap(), 0.0);
        let mut tree = Tree::default();
        let priors: Vec<f32> = moves.iter().map(|&(prior, _)| prior).collect();
        tree.add_node(&(0..moves.len() as u16).collect::<Vec<_>>(), &priors, 0.0);
        let open = OpenMoves::new(Size::square(19).unwrap(), None);
        let count = |tree: &mut Tree, node, value| {
            tree.count_visit(node, Values { value, margin: 0.0 }, utility);
        };
        count(&mut tree, ROOT, 0.0);
        for _ in 0..visits {
            let edge = puct.root_edge(&tree, open);
            let mut child = tree.child(edge);
            if child == NO_NODE {
                child = tree.add_node(&[], &[], 0.0);
                tree.connect(ROOT, edge, child);
            }
            let value = moves[usize::from(tree.move_index(edge))].1;
            count(&mut tree, child, -value);
            count(&mut tree, ROOT, value);
        }
        tree
    }

    fn puct(config: SearchConfig) -> Puct {
        Puct::new(&SearchConfig {
            fpu_reduction: 0.0,
            ..config
        })
    }

    fn visits(tree: &Tree) -> Vec<u32> {
        tree.edges(ROOT).map(|edge| tree.edge_visits(edge)).collect()
    }

    /// A good move, a bad one and the pass.
    const MOVES: [(f32, f32); 3] = [(0.7, 0.5), (0.25, -0.5), (0.05, -0.9)];

    #[test]
    fn forced_playouts_try_a_move_longer_but_leave_no_trace_in_the_target() {
        let with = |forced_playouts| SearchConfig {
            forced_playouts,
            ..SearchConfig::default()
        };
        let (mut plain, mut forced) = (puct(with(0.0)), puct(with(2.0)));
        let (before, after) = (searched(&mut plain, &MOVES, 400), searched(&mut forced, &MOVES, 400));
        let (few, more) = (visits(&before)[1], visits(&after)[1]);
        let least = (2.0f32 * 0.25 * 401.0).sqrt();
        assert!((few as f32) < least - 1.0, "PUCT alone gives the bad move {few} visits");
        assert!(
            (more as f32) >= least - 1.0,
            "{more} visits, at least {least} are forced"
        );
        let mut policy = Vec::new();
        forced.policy(&after, &mut policy);
        let share = more as f32 / 400.0;
        assert!(policy[1] < share / 2.0, "{policy:?}, of {share} visits");
        assert!((policy.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{policy:?}");
        assert_eq!(
            forced.chosen(&after, OpenMoves::new(Size::square(19).unwrap(), None)),
            after.edges(ROOT).start
        );
        forced.set_noise(0.0);
        assert!(!forced.forces(), "a search without noise forces nothing");
        forced.policy(&after, &mut policy);
        assert!((policy[1] - share).abs() < 1e-6, "{policy:?}");
    }

    #[test]
    fn a_good_move_keeps_the_visits_that_it_earned() {
        let moves = [(0.85, 0.0), (0.1, 0.6), (0.05, -0.9)];
        let mut forced = puct(SearchConfig {
            forced_playouts: 2.0,
            ..SearchConfig::default()
        });
        let tree = searched(&mut forced, &moves, 400);
        let mut policy = Vec::new();
        forced.policy(&tree, &mut policy);
        let found = visits(&tree)[1];
        assert!(found > 200, "the better move is found: {found} visits");
        assert!(policy[1] >= found as f32 / 400.0, "{policy:?}");
    }

    #[test]
    fn the_lower_bound_prefers_a_value_that_many_visits_support() {
        let choose = |lcb, values: [(f32, u32); 3]| {
            let utility = Utility::new(Size::square(5).unwrap(), 0.0);
            let mut tree = Tree::default();
            tree.add_node(&[0, 1, 2], &[0.4, 0.3, 0.3], 0.0);
            for (place, (value, count)) in values.into_iter().enumerate() {
                let child = tree.add_node(&[], &[], 0.0);
                tree.connect(ROOT, tree.edges(ROOT).start + place, child);
                for _ in 0..count {
                    tree.count_visit(
                        child,
                        Values {
                            value: -value,
                            margin: 0.0,
                        },
                        utility,
                    );
                }
            }
            let config = SearchConfig {
                lcb,
                ..SearchConfig::default()
            };
            puct(config).chosen(&tree, OpenMoves::new(Size::square(19).unwrap(), None)) - tree.edges(ROOT).start
        };
        let better_with_fewer_visits = [(0.1, 100), (0.6, 60), (0.0, 5)];
        assert_eq!(choose(0.0, better_with_fewer_visits), 0, "by visits");
        assert_eq!(choose(2.0, better_with_fewer_visits), 1, "by the bound");
        let too_few = [(0.1, 100), (0.9, 14), (0.0, 5)];
        assert_eq!(
            choose(0.5, too_few),
            0,
            "fewer than 15% of the most visits do not count"
        );
        let uncertain = [(0.1, 100), (0.2, 16), (0.0, 5)];
        assert_eq!(choose(2.0, uncertain), 0, "the bound of few visits is low");
    }
}
