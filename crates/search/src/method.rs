//! Search methods, which distribute visits among moves.
//!
//! Each method is a type in its own file that implements [`Method`]; [`SearchMethod`] lists them.

mod gumbel;
mod puct;
mod root_moves;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use tengen_rng::Rng;

use crate::config::SearchConfig;
use crate::tree::{NodeId, Tree};
use gumbel::Gumbel;
use puct::Puct;

pub(crate) use root_moves::OpenMoves;
pub use root_moves::RootMoves;

/// The rule that distributes visits among moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMethod {
    /// Gumbel top-k and sequential halving at the root, improved policies below (Danihelka et al., 2022). The budget
    /// must be known at the start of the search. Strong with few visits.
    #[default]
    Gumbel,
    /// PUCT everywhere (Silver et al., 2018), with a reduced value for unvisited moves. Visits can be added at any time
    /// and go to the best moves. Suited to live analysis, play under time control, and many visits.
    Puct,
}

impl SearchMethod {
    /// All methods.
    pub const ALL: [SearchMethod; 2] = [SearchMethod::Gumbel, SearchMethod::Puct];

    /// The names of all methods, for messages.
    pub const NAMES: &str = "gumbel or puct";

    /// The method's name in configurations and options.
    pub const fn name(self) -> &'static str {
        match self {
            SearchMethod::Gumbel => "gumbel",
            SearchMethod::Puct => "puct",
        }
    }

    /// The method with this name.
    pub fn named(name: &str) -> Option<SearchMethod> {
        SearchMethod::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether visits can be added and root moves restricted at any time, as live analysis and play under time control
    /// require. Other methods must know the number of visits at the start.
    pub const fn is_anytime(self) -> bool {
        match self {
            SearchMethod::Gumbel => false,
            SearchMethod::Puct => true,
        }
    }

    /// The state of a search by this method.
    pub(crate) fn state(self, config: &SearchConfig) -> Box<dyn Method> {
        match self {
            SearchMethod::Gumbel => Box::new(Gumbel::new(config)),
            SearchMethod::Puct => Box::new(Puct::new(config)),
        }
    }
}

/// A rule that distributes visits, with its state in one search. It keeps its buffers from one search to the next.
///
/// Edges are indices into the arrays of the tree, as in [`Tree::edges`].
pub(crate) trait Method: Debug + Send + Sync {
    /// Sets the scale of the noise in the following searches, 0 to 1, if the settings ask for noise.
    fn set_noise(&mut self, scale: f32);

    /// Prepares for `visits` new visits of a root that has just been evaluated, and adds noise if the settings ask for
    /// it. The root may already have visits, from a kept tree. `after_pass` is whether the opponent has just passed.
    fn begin(&mut self, tree: &mut Tree, visits: u32, after_pass: bool, rng: &mut Rng);

    /// Whether the search is finished after `done` visits; `budget` is the most it may make.
    fn is_done(&self, done: u32, budget: u32) -> bool {
        done >= budget
    }

    /// The root edge of the next visit. Only a method that [is anytime](SearchMethod::is_anytime) can get fewer than
    /// all moves in `open`.
    fn root_edge(&mut self, tree: &Tree, open: OpenMoves<'_>) -> usize;

    /// Whether all visits so far must be counted before the next one, when several leaves are pending.
    fn must_know(&self) -> bool {
        false
    }

    /// Undoes the last [`root_edge`](Self::root_edge), whose visit was not made.
    fn take_back(&mut self) {}

    /// The edge that a visit follows from a node below the root at which the game is not over.
    fn edge(&mut self, tree: &mut Tree, node: NodeId) -> usize;

    /// The root edge of the move to play.
    fn chosen(&self, tree: &Tree, open: OpenMoves<'_>) -> usize;

    /// Writes the policy target to `out`: the probability of each root edge, in the order of the edges.
    fn policy(&self, tree: &Tree, out: &mut Vec<f32>);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    #[test]
    fn every_method_has_one_name_everywhere() {
        for method in SearchMethod::ALL {
            assert_eq!(SearchMethod::named(method.name()), Some(method));
            let written: StrDeserializer<'_, Error> = method.name().into_deserializer();
            assert_eq!(SearchMethod::deserialize(written), Ok(method));
        }
        assert_eq!(SearchMethod::named("Puct"), None);
        assert_eq!(
            SearchMethod::NAMES,
            SearchMethod::ALL.map(SearchMethod::name).join(" or ")
        );
    }
}
