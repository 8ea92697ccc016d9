//! What stays of a search when the game goes on?

use tengen_rules::{Color, Komi, Position};

use super::{Search, Waiting};
use crate::tree::{NO_NODE, NodeId, ROOT};
use tengen_rng::Rng;

impl Search {
    /// Goes on to another position with what is known of it, and returns the visits that are kept: those of the subtree
    /// that the moves played since lead to. They count towards `visits`. Everything is kept when the position is the same
    /// as before, nothing when it is no continuation of it or its komi, rules or board differ; the search then starts over.
    ///
    /// Under [`SearchMethod::Gumbel`](crate::SearchMethod::Gumbel) the candidates are chosen anew from priors and noise; the values of a kept tree take
    /// part in the halving, which shares out only the visits still to be made.
    ///
    /// # Panics
    /// When the game is over in `position`.
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
        self.waiting = Waiting::KeptRoot;
        self.view.replace(&self.position, self.komi, self.config.canonical);
        self.done
    }

    /// Whether this is the position searched, with this komi: [`follow`](Self::follow) would keep everything.
    pub fn is_at(&self, position: &Position, komi: Komi) -> bool {
        self.node_of(position, komi) == Some(ROOT)
    }

    /// The node of a position that continues the one searched.
    fn node_of(&self, position: &Position, komi: Komi) -> Option<NodeId> {
        let known = self.position.moves();
        let same = self.waiting == Waiting::Nothing
            && !self.tree_is_empty()
            && komi == self.komi
            && position.size() == self.position.size()
            && position.rules() == self.position.rules()
            && position.start_to_move() == self.position.start_to_move()
            && [Color::Black, Color::White].map(|color| position.start_stones(color))
                == [Color::Black, Color::White].map(|color| self.position.start_stones(color));
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
