//! Tree reuse when the game continues.

use tengen_rng::Rng;
use tengen_rules::{Komi, Position};

use super::Search;
use super::descent::Waiting;
use crate::tree::{NO_NODE, NodeId, ROOT};

impl Search {
    /// Moves the search to another position and returns the number of visits kept: those of the subtree that the moves
    /// played since then lead to. They count toward `visits`. If the position is unchanged, everything is kept; if it
    /// is not a continuation, or the komi, rules, or board differ, nothing is kept and the search starts over.
    ///
    /// With [`SearchMethod::Gumbel`](crate::SearchMethod::Gumbel), the candidates are chosen anew from priors and
    /// noise. The halving uses the values of the kept tree but distributes only the remaining visits.
    ///
    /// # Panics
    /// If the game is over in `position`.
    pub fn follow(&mut self, position: &Position, komi: Komi, visits: u32, rng: Rng) -> u32 {
        let Some(node) = self.node_of(position, komi) else {
            self.restart(position, komi, visits, rng);
            return 0;
        };
        if node != ROOT {
            self.tree.keep_below(node);
        }
        self.begin(position, komi, visits, rng);
        self.done = self.tree.visits(ROOT) - 1;
        self.now.waiting = Waiting::KeptRoot;
        let shown = self.shown.at_root(self.config.root_images);
        self.now.view.replace(&self.position, self.komi, shown);
        self.done
    }

    /// Whether this is the position and komi being searched, so that [`follow`](Self::follow) would keep everything.
    pub fn is_at(&self, position: &Position, komi: Komi) -> bool {
        self.node_of(position, komi) == Some(ROOT)
    }

    /// The node of a position that continues the one being searched.
    fn node_of(&self, position: &Position, komi: Komi) -> Option<NodeId> {
        let known = self.position.moves();
        let same = self.now.waiting == Waiting::Nothing
            && self.leaves.is_empty()
            && !self.tree_is_empty()
            && komi == self.komi
            && position.size() == self.position.size()
            && position.rules() == self.position.rules()
            && position.start() == self.position.start();
        let played = position.moves().strip_prefix(known).filter(|_| same)?;
        let mut node = ROOT;
        for mv in played {
            let index = mv.index(position.size()) as u16;
            let edge = self
                .tree
                .edges(node)
                .find(|&edge| self.tree.move_index(edge) == index)?;
            node = self.tree.child(edge);
            if node == NO_NODE {
                return None;
            }
        }
        (!self.tree.is_end(node)).then_some(node)
    }
}
