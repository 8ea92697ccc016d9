//! The result of a search.

use tengen_rules::Move;

use crate::search::Search;
use crate::tree::{NO_NODE, NodeId, ROOT};

/// The result of a search. All values are from the viewpoint of the side to move at the root.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The move that the search chooses to play.
    pub best: Move,
    /// P(win) − P(loss) after the chosen move, −1 to 1, as the mean over the visits below it.
    pub value: f32,
    /// Expected margin after komi in points after the chosen move, as the mean over the visits below it.
    pub margin: f32,
    /// Mean of P(win) − P(loss) over all visits of the root, −1 to 1; lower than `value` if some candidates were bad.
    pub mean_value: f32,
    /// The improved policy, used as the training target: (move index, probability) of every legal move in ascending
    /// order, summing to 1. Under PUCT, the share of visits.
    pub policy: Vec<(u16, f32)>,
    /// The visited moves with their visits, most visited first.
    pub visits: Vec<(Move, u32)>,
    /// P(win) − P(loss) of the root from the network alone, −1 to 1.
    pub network_value: f32,
    /// Expected margin of the root after komi in points from the network alone.
    pub network_margin: f32,
    /// The principal variation, starting with the chosen move.
    pub pv: Vec<Move>,
    /// Visits below the root, including those of a kept tree.
    pub total_visits: u32,
    /// The mean ownership over the root and the positions evaluated below it, per point in reading order, −1 (opponent)
    /// to 1 (side to move); `None` unless the settings request it and the network predicts it.
    pub ownership: Option<Vec<f32>>,
}

/// The result of a search for one move. All values are from the viewpoint of the side that makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The move that leads from the root to this child.
    pub mv: Move,
    /// Visits below the move. An unvisited move has the values of the root.
    pub visits: u32,
    /// P(win) − P(loss), −1 to 1, as the mean over the visits.
    pub value: f32,
    /// The lower bound of a 95% confidence interval of `value`, assuming independent visits; at least −1.
    pub value_lcb: f32,
    /// Expected margin after komi in points.
    pub margin: f32,
    /// The quantity that the search maximizes: the mean over the visits of
    /// (1 − share) × (P(win) − P(loss)) + share × margin / area.
    pub utility: f32,
    /// The network's probability for the move, 0 to 1.
    pub prior: f32,
    /// The principal variation, starting with the move itself.
    pub pv: Vec<Move>,
    /// The visits of each move of `pv`.
    pub pv_visits: Vec<u32>,
}

impl Search {
    /// All legal moves: first the one to play, then the others by visits, value and prior.
    ///
    /// # Panics
    /// If the root has not been evaluated yet.
    pub fn candidates(&self) -> Vec<Candidate> {
        assert!(self.has_result(), "a search has candidates once its root is evaluated");
        let chosen = self.chosen_edge();
        let mut edges: Vec<usize> = self.tree.edges(ROOT).collect();
        let value = |edge: usize| match self.tree.child(edge) {
            NO_NODE => f32::NEG_INFINITY,
            child => -self.tree.utility(child),
        };
        edges.sort_by(|&a, &b| {
            let visits = self.tree.edge_visits(b).cmp(&self.tree.edge_visits(a));
            (b == chosen)
                .cmp(&(a == chosen))
                .then(visits)
                .then(value(b).total_cmp(&value(a)))
                .then(self.tree.prior(b).total_cmp(&self.tree.prior(a)))
        });
        edges.into_iter().map(|edge| self.candidate(edge)).collect()
    }

    /// The quantity that the search maximizes, as the mean over all visits, from the viewpoint of the side to move.
    pub fn utility(&self) -> f32 {
        self.tree.utility(ROOT)
    }

    /// The mean ownership over the positions evaluated below a move, in the same form as [`SearchResult::ownership`];
    /// `None` if no such position was evaluated since the search was last restarted or followed a move.
    pub fn ownership_after(&self, mv: Move) -> Option<Vec<f32>> {
        self.ownership.mean_below(mv.index(self.position.size()) as u16)
    }

    fn candidate(&self, edge: usize) -> Candidate {
        let (sign, node, error) = match self.tree.child(edge) {
            NO_NODE => (1.0, ROOT, f32::INFINITY),
            child => (-1.0, child, self.tree.value_error(child)),
        };
        let value = sign * self.tree.value(node);
        let (pv, pv_visits) = self.principal_variation(edge);
        Candidate {
            mv: self.tree.move_on(edge, self.position.size()),
            visits: self.tree.edge_visits(edge),
            value,
            value_lcb: (value - 1.96 * error).max(-1.0),
            margin: sign * self.tree.margin(node),
            utility: sign * self.tree.utility(node),
            prior: self.tree.prior(edge),
            pv,
            pv_visits,
        }
    }

    fn chosen_edge(&self) -> usize {
        self.method.chosen(&self.tree, self.open_moves())
    }

    /// The result of the visits made so far.
    ///
    /// # Panics
    /// If the root has not been evaluated yet.
    pub fn result(&self) -> SearchResult {
        assert!(self.has_result(), "a search has a result once its root is evaluated");
        let size = self.position.size();
        let chosen = self.chosen_edge();
        let child = self.tree.child(chosen);
        let (value, margin) = match child {
            NO_NODE => (self.root_values.value, self.root_values.margin),
            child => (-self.tree.value(child), -self.tree.margin(child)),
        };
        let mut visits: Vec<(Move, u32)> = self
            .tree
            .edges(ROOT)
            .filter(|&edge| self.tree.child(edge) != NO_NODE)
            .map(|edge| (self.tree.move_on(edge, size), self.tree.edge_visits(edge)))
            .collect();
        visits.sort_by_key(|&(mv, count)| (std::cmp::Reverse(count), mv.index(size)));
        SearchResult {
            best: self.tree.move_on(chosen, size),
            value,
            margin,
            mean_value: self.tree.value(ROOT),
            policy: self.policy(),
            visits,
            network_value: self.root_values.value,
            network_margin: self.root_values.margin,
            pv: self.principal_variation(chosen).0,
            total_visits: self.visits_done(),
            ownership: self.ownership.mean(),
        }
    }

    /// The method's policy target, in ascending order of move indices.
    fn policy(&self) -> Vec<(u16, f32)> {
        let mut probabilities = Vec::new();
        self.method.policy(&self.tree, &mut probabilities);
        let edges = self.tree.edges(ROOT);
        let mut policy: Vec<(u16, f32)> = edges
            .map(|edge| self.tree.move_index(edge))
            .zip(probabilities)
            .collect();
        policy.sort_unstable_by_key(|&(mv, _)| mv);
        policy
    }

    /// A root move followed by the most visited replies, with the visits of each.
    fn principal_variation(&self, chosen: usize) -> (Vec<Move>, Vec<u32>) {
        let size = self.position.size();
        let mut line = vec![self.tree.move_on(chosen, size)];
        let mut visits = vec![self.tree.edge_visits(chosen)];
        let mut node = self.tree.child(chosen);
        while node != NO_NODE {
            let Some(edge) = self.most_visited_edge(node) else {
                break;
            };
            line.push(self.tree.move_on(edge, size));
            visits.push(self.tree.edge_visits(edge));
            node = self.tree.child(edge);
        }
        (line, visits)
    }

    fn most_visited_edge(&self, node: NodeId) -> Option<usize> {
        let opened = self.tree.opened(node);
        self.tree
            .edges(node)
            .take(opened)
            .max_by_key(|&edge| (self.tree.edge_visits(edge), std::cmp::Reverse(edge)))
    }
}
