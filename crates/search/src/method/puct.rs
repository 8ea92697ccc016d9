//! Move selection by PUCT.
//!
//! Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play"
//! (2018), with an exploration constant that grows slowly with the visits and a reduced value for unvisited moves.

use tengen_rng::{self as rng, Rng};

use crate::config::SearchConfig;
use crate::method::{Method, OpenMoves};
use crate::tree::{NO_NODE, NodeId, ROOT, Tree};

/// The share of noise in the root's priors if noise is enabled (Silver et al., 2018).
const NOISE_SHARE: f32 = 0.25;

/// The total concentration of the Dirichlet noise: 0.03 for each point of 19x19, as in AlphaGo Zero.
const NOISE_WEIGHT: f64 = 10.83;

/// PUCT, whose state is the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Puct {
    c_puct: f32,
    fpu_reduction: f32,
    /// The share of noise in the root's priors.
    noise: f32,
    with_noise: bool,
}

impl Puct {
    pub(super) fn new(config: &SearchConfig) -> Puct {
        Puct {
            c_puct: config.c_puct,
            fpu_reduction: config.fpu_reduction,
            noise: NOISE_SHARE,
            with_noise: config.noise,
        }
    }

    /// The edge with the highest sum of utility and bonus; the first one in case of a tie.
    fn best(self, tree: &Tree, node: NodeId, edges: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let visited = edges.clone().filter(|&edge| tree.child(edge) != NO_NODE);
        let explored: f32 = visited.map(|edge| tree.prior(edge)).sum();
        let visits = tree.visits(node) as f32;
        // The constant grows as in KataGo: by 0.45 for every factor of e beyond 500 visits.
        let constant = self.c_puct * (1.0 + 0.45 * (1.0 + visits / 500.0).ln()) * visits.sqrt();
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

    fn begin(&mut self, tree: &mut Tree, _visits: u32, rng: &mut Rng) {
        if self.with_noise && self.noise > 0.0 {
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

    /// The most visited of the allowed edges, with ties broken by utility and then by prior.
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
        let chosen = tree.edges(ROOT).filter(is_open).reduce(better);
        chosen.unwrap_or_else(|| tree.edges(ROOT).start + tree.pass_edge(ROOT))
    }

    /// The share of visits of each root edge; the priors if there are no visits.
    fn policy(&self, tree: &Tree, out: &mut Vec<f32>) {
        let total: u32 = tree.edges(ROOT).map(|edge| tree.edge_visits(edge)).sum();
        let share = |edge: usize| match total {
            0 => tree.prior(edge),
            total => tree.edge_visits(edge) as f32 / total as f32,
        };
        out.clear();
        out.extend(tree.edges(ROOT).map(share));
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
