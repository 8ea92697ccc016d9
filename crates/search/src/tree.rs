//! The nodes and edges of one search, stored in an arena.

use tengen_rules::{Move, Size};

use crate::numeric;

/// The ID of a node; the root is 0.
pub(crate) type NodeId = u32;

/// The child of an unvisited edge.
pub(crate) const NO_NODE: NodeId = u32::MAX;

/// The ID of the root.
pub(crate) const ROOT: NodeId = 0;

/// Nodes and edges as a structure of arrays with 32-bit IDs; cleared but not freed between searches.
///
/// The edges of a node are contiguous: its legal moves in the order of their canonical image, the pass last. In nodes
/// below the root, the visited edges come first, in the order of their first visits; see
/// [`prepare_next`](Self::prepare_next). A node's values are from the viewpoint of its side to move.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    // Per node.
    first_edge: Vec<u32>,
    edge_count: Vec<u16>,
    opened: Vec<u16>,
    prepared: Vec<u16>,
    visits: Vec<u32>,
    value_sum: Vec<f64>,
    square_sum: Vec<f64>,
    margin_sum: Vec<f64>,
    utility: Vec<f32>,
    network_utility: Vec<f32>,
    // Per edge.
    prior: Vec<f32>,
    mv: Vec<u16>,
    child: Vec<NodeId>,
}

/// The value and margin found by a visit, from the viewpoint of the side to move at the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values {
    /// P(win) − P(loss), −1 to 1.
    pub(crate) value: f32,
    /// Expected margin after komi, in points.
    pub(crate) margin: f32,
}

impl Values {
    /// The same from the viewpoint of the other side.
    pub(crate) fn for_opponent(self) -> Values {
        Values {
            value: -self.value,
            margin: -self.margin,
        }
    }
}

/// The weights of value and margin in the utility that the search maximizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Utility {
    value_weight: f32,
    margin_weight: f32,
}

impl Utility {
    /// The utility on a board of this size, where the margin has this share.
    pub(crate) fn new(size: Size, margin_share: f32) -> Self {
        Self {
            value_weight: 1.0 - margin_share,
            margin_weight: margin_share / size.area() as f32,
        }
    }

    /// (1 − share) × value + share × margin / area; −1 to 1 unless the komi makes larger margins possible.
    pub(crate) fn of(&self, value: f32, margin: f32) -> f32 {
        self.value_weight * value + self.margin_weight * margin
    }
}

impl Tree {
    /// Removes all nodes but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.first_edge.clear();
        self.edge_count.clear();
        self.opened.clear();
        self.prepared.clear();
        self.visits.clear();
        self.value_sum.clear();
        self.square_sum.clear();
        self.margin_sum.clear();
        self.utility.clear();
        self.network_utility.clear();
        self.prior.clear();
        self.mv.clear();
        self.child.clear();
    }

    /// Reserves memory for this many nodes with this many moves each.
    pub(crate) fn reserve(&mut self, nodes: usize, moves: usize) {
        self.first_edge.reserve(nodes);
        self.edge_count.reserve(nodes);
        self.opened.reserve(nodes);
        self.prepared.reserve(nodes);
        self.visits.reserve(nodes);
        self.value_sum.reserve(nodes);
        self.square_sum.reserve(nodes);
        self.margin_sum.reserve(nodes);
        self.utility.reserve(nodes);
        self.network_utility.reserve(nodes);
        self.prior.reserve(nodes * moves);
        self.mv.reserve(nodes * moves);
        self.child.reserve(nodes * moves);
    }

    /// Adds an unvisited node; `moves` and `priors` are empty if the game is over.
    ///
    /// # Panics
    /// If there are more than 2^32 nodes or edges.
    pub(crate) fn add_node(&mut self, moves: &[u16], priors: &[f32], network_utility: f32) -> NodeId {
        let id = u32::try_from(self.visits.len()).expect("a search has fewer than 2^32 nodes");
        self.first_edge
            .push(u32::try_from(self.mv.len()).expect("a search has fewer than 2^32 edges"));
        self.edge_count.push(moves.len() as u16);
        self.opened.push(0);
        self.prepared.push(0);
        self.visits.push(0);
        self.value_sum.push(0.0);
        self.square_sum.push(0.0);
        self.margin_sum.push(0.0);
        self.utility.push(network_utility);
        self.network_utility.push(network_utility);
        self.mv.extend_from_slice(moves);
        self.prior.extend_from_slice(priors);
        self.child.resize(self.mv.len(), NO_NODE);
        id
    }

    /// Adds a node with these moves whose prediction is still unknown; see [`evaluate`](Self::evaluate).
    pub(crate) fn add_unknown(&mut self, moves: &[u16]) -> NodeId {
        let node = self.add_node(moves, &[], 0.0);
        self.prior.resize(self.mv.len(), 0.0);
        node
    }

    /// Sets the prediction of a node that was added without one.
    pub(crate) fn evaluate(&mut self, node: NodeId, priors: &[f32], network_utility: f32) {
        let edges = self.edges(node);
        self.prior[edges].copy_from_slice(priors);
        self.network_utility[node as usize] = network_utility;
    }

    /// Replaces the priors of the root, whose edges may have been reordered since it was evaluated as a leaf.
    pub(crate) fn evaluate_root(&mut self, moves: &[u16], priors: &[f32], network_utility: f32) {
        for edge in self.edges(ROOT) {
            let place = moves.iter().position(|&mv| mv == self.mv[edge]);
            self.prior[edge] = priors[place.expect("a position has the moves that it had as a leaf")];
        }
        self.network_utility[ROOT as usize] = network_utility;
    }

    /// The number of nodes in the tree; 0 before the root is evaluated.
    pub(crate) fn node_count(&self) -> usize {
        self.visits.len()
    }

    /// Counts a visit of a node with its values, from the viewpoint of the side to move at the node.
    pub(crate) fn count_visit(&mut self, node: NodeId, values: Values, utility: Utility) {
        let i = node as usize;
        self.visits[i] += 1;
        self.value_sum[i] += f64::from(values.value);
        self.square_sum[i] += f64::from(values.value) * f64::from(values.value);
        self.margin_sum[i] += f64::from(values.margin);
        self.utility[i] = utility.of(self.value(node), self.margin(node));
    }

    /// Removes a visit that [`count_visit`](Self::count_visit) counted with these values.
    pub(crate) fn discount_visit(&mut self, node: NodeId, values: Values, utility: Utility) {
        let i = node as usize;
        self.visits[i] -= 1;
        self.value_sum[i] -= f64::from(values.value);
        self.square_sum[i] -= f64::from(values.value) * f64::from(values.value);
        self.margin_sum[i] -= f64::from(values.margin);
        self.utility[i] = utility.of(self.value(node), self.margin(node));
    }

    /// Connects a new node to the edge that leads to it.
    pub(crate) fn connect(&mut self, parent: NodeId, edge: usize, child: NodeId) {
        self.child[edge] = child;
        self.opened[parent as usize] += 1;
    }

    /// Makes `top` the root and removes every node not reachable from it; IDs and edge indices change.
    ///
    /// Children have higher IDs than their parents, so one pass in ID order finds the nodes to keep and another moves
    /// them to the front of the same arrays.
    pub(crate) fn keep_below(&mut self, top: NodeId) {
        let mut new_ids = vec![NO_NODE; self.node_count()];
        new_ids[top as usize] = ROOT;
        let mut stays = vec![false; self.node_count()];
        stays[top as usize] = true;
        let mut count = 0;
        for old in top..self.node_count() as NodeId {
            if stays[old as usize] {
                new_ids[old as usize] = count;
                count += 1;
                let children = self.edges(old).map(|edge| self.child[edge]);
                children
                    .filter(|&child| child != NO_NODE)
                    .for_each(|child| stays[child as usize] = true);
            }
        }
        let mut next_edge = 0;
        for old in (top as usize..new_ids.len()).filter(|&old| stays[old]) {
            let new = new_ids[old] as usize;
            let edges = self.edges(old as NodeId);
            self.first_edge[new] = next_edge as u32;
            self.move_node(old, new);
            for edge in edges {
                self.prior[next_edge] = self.prior[edge];
                self.mv[next_edge] = self.mv[edge];
                self.child[next_edge] = match self.child[edge] {
                    NO_NODE => NO_NODE,
                    child => new_ids[child as usize],
                };
                next_edge += 1;
            }
        }
        self.truncate(count as usize, next_edge);
    }

    /// Moves all data of a node except its edges; `new` is at most `old`.
    fn move_node(&mut self, old: usize, new: usize) {
        self.edge_count[new] = self.edge_count[old];
        self.opened[new] = self.opened[old];
        self.prepared[new] = self.prepared[old];
        self.visits[new] = self.visits[old];
        self.value_sum[new] = self.value_sum[old];
        self.square_sum[new] = self.square_sum[old];
        self.margin_sum[new] = self.margin_sum[old];
        self.utility[new] = self.utility[old];
        self.network_utility[new] = self.network_utility[old];
    }

    fn truncate(&mut self, nodes: usize, edges: usize) {
        self.first_edge.truncate(nodes);
        self.edge_count.truncate(nodes);
        self.opened.truncate(nodes);
        self.prepared.truncate(nodes);
        self.visits.truncate(nodes);
        self.value_sum.truncate(nodes);
        self.square_sum.truncate(nodes);
        self.margin_sum.truncate(nodes);
        self.utility.truncate(nodes);
        self.network_utility.truncate(nodes);
        self.prior.truncate(edges);
        self.mv.truncate(edges);
        self.child.truncate(edges);
    }

    /// The memory of the nodes and edges in bytes.
    pub(crate) fn bytes(&self) -> usize {
        const NODE: usize = 4 + 3 * 2 + 4 + 3 * 8 + 2 * 4;
        const EDGE: usize = 4 + 2 + 4;
        self.node_count() * NODE + self.mv.len() * EDGE
    }

    /// Mixes noise into the prior of an edge: `share` of the new prior is `noise`.
    pub(crate) fn mix_prior(&mut self, edge: usize, share: f32, noise: f32) {
        self.prior[edge] = (1.0 - share) * self.prior[edge] + share * noise;
    }

    /// Whether the game is over at the node.
    pub(crate) fn is_end(&self, node: NodeId) -> bool {
        self.edge_count[node as usize] == 0
    }

    /// The range of edges of a node.
    pub(crate) fn edges(&self, node: NodeId) -> std::ops::Range<usize> {
        let start = self.first_edge[node as usize] as usize;
        start..start + usize::from(self.edge_count[node as usize])
    }

    /// The index of the pass among the edges of a node where the game is not over: the edge with the highest move.
    pub(crate) fn pass_edge(&self, node: NodeId) -> usize {
        let edges = self.edges(node);
        let moves = &self.mv[edges];
        (0..moves.len()).rev().max_by_key(|&place| moves[place]).unwrap_or(0)
    }

    /// The number of visited edges of a node.
    pub(crate) fn opened(&self, node: NodeId) -> usize {
        usize::from(self.opened[node as usize])
    }

    /// Moves the unvisited edge with the highest prior (the first one in case of a tie) to the place after the visited
    /// edges and returns it; `None` if all are visited. Only for nodes below the root.
    pub(crate) fn prepare_next(&mut self, node: NodeId) -> Option<usize> {
        let edges = self.edges(node);
        let opened = self.opened[node as usize];
        let next = edges.start + usize::from(opened);
        if next == edges.end {
            return None;
        }
        if self.prepared[node as usize] == opened {
            let best = next + numeric::index_of_maximum(&self.prior[next..edges.end]);
            self.prior.swap(next, best);
            self.mv.swap(next, best);
            self.prepared[node as usize] = opened + 1;
        }
        Some(next)
    }

    /// The network's probability for the move of an edge.
    pub(crate) fn prior(&self, edge: usize) -> f32 {
        self.prior[edge]
    }

    /// The move of an edge as a board index.
    pub(crate) fn move_index(&self, edge: usize) -> u16 {
        self.mv[edge]
    }

    /// The move of an edge on a board of this size.
    pub(crate) fn move_on(&self, edge: usize, size: Size) -> Move {
        Move::from_index(size, usize::from(self.mv[edge])).expect("edges hold moves of their board")
    }

    /// The node an edge leads to, or [`NO_NODE`].
    pub(crate) fn child(&self, edge: usize) -> NodeId {
        self.child[edge]
    }

    /// The visits of a node, including its own evaluation.
    pub(crate) fn visits(&self, node: NodeId) -> u32 {
        self.visits[node as usize]
    }

    /// The visits of the node an edge leads to; 0 if there is none.
    pub(crate) fn edge_visits(&self, edge: usize) -> u32 {
        match self.child[edge] {
            NO_NODE => 0,
            child => self.visits[child as usize],
        }
    }

    /// The mean P(win) − P(loss) over the visits of a node.
    pub(crate) fn value(&self, node: NodeId) -> f32 {
        (self.value_sum[node as usize] / f64::from(self.visits[node as usize].max(1))) as f32
    }

    /// The standard error of [`value`](Self::value), computed as if there were one more visit with a deviation of 1, so
    /// that it is large for few visits.
    pub(crate) fn value_error(&self, node: NodeId) -> f32 {
        let visits = f64::from(self.visits[node as usize].max(1));
        let mean = self.value_sum[node as usize] / visits;
        let spread = (self.square_sum[node as usize] - visits * mean * mean).max(0.0) + 1.0;
        (spread / (visits + 1.0) / visits).sqrt() as f32
    }

    /// The mean margin over the visits of a node, in points.
    pub(crate) fn margin(&self, node: NodeId) -> f32 {
        (self.margin_sum[node as usize] / f64::from(self.visits[node as usize].max(1))) as f32
    }

    /// The mean value and margin over the visits of a node.
    pub(crate) fn mean(&self, node: NodeId) -> Values {
        Values {
            value: self.value(node),
            margin: self.margin(node),
        }
    }

    /// The mean utility over the visits of a node.
    pub(crate) fn utility(&self, node: NodeId) -> f32 {
        self.utility[node as usize]
    }

    /// The utility of a node from the network alone.
    pub(crate) fn network_utility(&self, node: NodeId) -> f32 {
        self.network_utility[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unvisited_edges_come_in_order_of_prior() {
        let mut tree = Tree::default();
        let node = tree.add_node(&[0, 1, 2, 3], &[0.1, 0.4, 0.1, 0.4], 0.0);
        let mut order = Vec::new();
        while let Some(edge) = tree.prepare_next(node) {
            assert_eq!(tree.prepare_next(node), Some(edge), "a second call changes nothing");
            order.push(tree.move_index(edge));
            let child = tree.add_node(&[], &[], 0.0);
            tree.connect(node, edge, child);
        }
        assert_eq!(order, [1, 3, 2, 0]);
        assert_eq!(tree.opened(node), 4);
    }

    #[test]
    fn a_kept_subtree_is_unchanged() {
        // Root -> 0, 1; 1 -> 2, 3; 2 -> 4. CachedPrediction below node 1: nodes 1, 2, 3, 4 in this order.
        let utility = Utility::new(Size::square(5).unwrap(), 0.0);
        let mut tree = Tree::default();
        let grow = |tree: &mut Tree, parent: Option<(NodeId, u16)>, moves: &[u16], value: f32| {
            let node = tree.add_node(moves, &vec![0.5; moves.len()], value);
            if let Some((parent, mv)) = parent {
                let edge = tree.edges(parent).find(|&edge| tree.move_index(edge) == mv).unwrap();
                tree.connect(parent, edge, node);
            }
            tree.count_visit(node, Values { value, margin: 2.0 }, utility);
            node
        };
        let root = grow(&mut tree, None, &[7, 8], 0.0);
        let dropped = grow(&mut tree, Some((root, 7)), &[1, 2, 3], 0.1);
        let kept = grow(&mut tree, Some((root, 8)), &[4, 5, 6], 0.2);
        grow(&mut tree, Some((dropped, 2)), &[9], 0.3);
        let child = grow(&mut tree, Some((kept, 5)), &[1, 2], 0.4);
        grow(&mut tree, Some((kept, 6)), &[], 0.5);
        grow(&mut tree, Some((child, 2)), &[3], 0.6);
        tree.keep_below(kept);
        assert_eq!(tree.node_count(), 4);
        let values: Vec<f32> = (0..4).map(|node| tree.value(node)).collect();
        assert_eq!(values, [0.2, 0.4, 0.5, 0.6]);
        let shape: Vec<Vec<(u16, NodeId)>> = (0..4)
            .map(|node| {
                tree.edges(node)
                    .map(|edge| (tree.move_index(edge), tree.child(edge)))
                    .collect()
            })
            .collect();
        assert_eq!(shape[0], [(4, NO_NODE), (5, 1), (6, 2)]);
        assert_eq!(shape[1], [(1, NO_NODE), (2, 3)]);
        assert!(shape[2].is_empty() && tree.is_end(2));
        assert_eq!(shape[3], [(3, NO_NODE)]);
        assert_eq!(tree.opened(0), 2);
        let before = (tree.bytes(), tree.node_count());
        tree.keep_below(ROOT);
        assert_eq!((tree.bytes(), tree.node_count()), before, "the root keeps everything");
    }

    #[test]
    fn visits_average_values_and_margins() {
        let utility = Utility::new(Size::square(5).unwrap(), 0.5);
        let mut tree = Tree::default();
        let node = tree.add_node(&[], &[], 0.25);
        assert_eq!(tree.utility(node), 0.25);
        tree.count_visit(
            node,
            Values {
                value: 1.0,
                margin: 25.0,
            },
            utility,
        );
        tree.count_visit(
            node,
            Values {
                value: 0.0,
                margin: 0.0,
            },
            utility,
        );
        assert_eq!(
            (tree.value(node), tree.margin(node), tree.utility(node)),
            (0.5, 12.5, 0.5)
        );
        assert!(tree.is_end(node));
    }
}
