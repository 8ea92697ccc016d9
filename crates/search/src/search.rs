//! One search of one position.

mod follow;
mod intake;

use tengen_encoding::Features;
use tengen_rules::{Color, Ending, Judge, Komi, Margin, Outcome, Position};

use crate::cache::{Evaluation, EvaluationCache, Kept};
use crate::config::{SearchConfig, SearchMethod};
use crate::frame::View;
use crate::ownership::RootOwnership;
use crate::predictor::{PredictError, Prediction};
use crate::puct::{Puct, RootMoves};
use crate::root::Root;
use crate::select::{Selector, Sigma};
use crate::tree::{NO_NODE, NodeId, Outlook, ROOT, Tree, Utility};
use tengen_rng::Rng;

/// The search of one position, driven from outside so that many can share each call of the network.
///
/// [`step`](Self::step) runs visits until a position needs a prediction or the budget is spent;
/// [`respond`](Self::respond) takes the prediction. [`Lockstep`](crate::Lockstep) drives many at once.
///
/// A search is reused for the next position with [`restart`](Self::restart): its tree, its scratch position and its
/// working memory are kept, so that a warm search does not allocate.
///
/// ```
/// use tengen_rules::{Komi, Position, Size};
/// use tengen_rng as rng;
/// use tengen_search::{EvaluationCache, Lockstep, Search, SearchConfig, UniformPredictor};
///
/// let position = Position::new(Size::new(1, 3).unwrap());
/// let komi = Komi::from_half_points(0);
/// let mut search = Search::new(SearchConfig::for_play(200), &position, komi, rng::stream(1, &[]));
/// let mut cache = EvaluationCache::new(1 << 20);
/// Lockstep::new().run(&mut [&mut search], &mut UniformPredictor, &mut cache).unwrap();
/// let result = search.result();
/// assert_eq!(result.total_visits, 200);
/// assert_eq!(result.best.format(position.size()), "A2");
/// assert!(result.margin > 2.5, "the middle of three points owns all of them");
/// ```
#[derive(Debug)]
pub struct Search {
    pub(crate) config: SearchConfig,
    /// The root position; during a descent and only then, plies deeper.
    pub(crate) position: Position,
    komi: Komi,
    budget: u32,
    done: u32,
    rng: Rng,
    pub(crate) sigma: Sigma,
    utility: Utility,
    pub(crate) tree: Tree,
    pub(crate) root: Root,
    puct: Puct,
    /// The moves the search may begin with; `None` = all.
    pub(crate) allowed: Option<RootMoves>,
    selector: Selector,
    /// Nodes from the root to the parent of the leaf.
    path: Vec<NodeId>,
    view: View,
    /// The edge whose far end waits for a prediction.
    waiting: Waiting,
    priors: Vec<f32>,
    /// The predicted ownership of the image waited for, where the settings ask for it and the network says it.
    predicted_ownership: Vec<f32>,
    pub(crate) root_outlook: Outlook,
    pub(crate) ownership: RootOwnership,
}

/// What a search waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Nothing,
    Root,
    /// The root of a kept tree: only what the tree does not hold is wanted.
    KeptRoot,
    Leaf {
        edge: usize,
    },
}

/// What a search needs next.
#[derive(Debug)]
#[must_use]
pub enum Step {
    /// The network's prediction of one position; see [`Search::features`] and [`Search::respond`].
    Evaluate(Request),
    /// Nothing: all visits are made and [`Search::result`] is final.
    Finished,
}

/// Permission to answer one prediction to the search that asked for it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Request {
    key: u128,
}

impl Request {
    /// The name of the position in the evaluation cache: requests with equal keys need one prediction only.
    pub fn key(&self) -> u128 {
        self.key
    }
}

impl Search {
    /// A search of `position` with the visits of `config`; `rng` is the stream of its noise.
    ///
    /// # Panics
    /// When the game is over in `position`.
    pub fn new(config: SearchConfig, position: &Position, komi: Komi, rng: Rng) -> Self {
        let view = View::of(position, komi, config.canonical);
        let visits = config.visits;
        let mut search = Self {
            sigma: Sigma {
                c_visit: config.c_visit,
                c_scale: config.c_scale,
            },
            utility: Utility::new(position.size(), config.margin_share),
            puct: Puct::new(&config),
            allowed: None,
            config,
            position: position.clone(),
            komi,
            budget: visits,
            done: 0,
            rng: rng.clone(),
            tree: Tree::default(),
            root: Root::default(),
            selector: Selector::default(),
            path: Vec::new(),
            view,
            waiting: Waiting::Nothing,
            priors: Vec::new(),
            predicted_ownership: Vec::new(),
            root_outlook: Outlook {
                value: 0.0,
                margin: 0.0,
            },
            ownership: RootOwnership::default(),
        };
        search.restart(position, komi, visits, rng);
        search
    }

    /// Starts over with another position, budget and stream of noise; settings and memory are kept.
    ///
    /// # Panics
    /// When the game is over in `position`.
    pub fn restart(&mut self, position: &Position, komi: Komi, visits: u32, rng: Rng) {
        self.begin(position, komi, visits, rng);
        self.tree.clear();
        self.tree
            .reserve((visits as usize + 1).min(1 << 12), position.size().area() + 1);
    }

    /// Sets everything but the tree for the search of a position.
    fn begin(&mut self, position: &Position, komi: Komi, visits: u32, rng: Rng) {
        assert!(!position.is_over(), "a finished game has no move to search for");
        if self.position.size() != position.size() {
            self.utility = Utility::new(position.size(), self.config.margin_share);
        }
        self.position.copy_from(position);
        self.komi = komi;
        self.budget = visits;
        self.done = 0;
        self.rng = rng;
        self.allowed = None;
        self.path.clear();
        self.waiting = Waiting::Nothing;
        self.ownership.clear();
    }

    /// Adds visits to the budget of a search by [`SearchMethod::Puct`], which may go on at any time: it will end with this
    /// many in all. Fewer than were made already ends it.
    ///
    /// # Panics
    /// Under [`SearchMethod::Gumbel`], whose halving needs the budget when it begins.
    pub fn set_visits(&mut self, visits: u32) {
        assert_eq!(
            self.config.method,
            SearchMethod::Puct,
            "only PUCT can change its budget"
        );
        self.budget = visits;
    }

    /// Lets a search by [`SearchMethod::Puct`] begin with these moves only, until it is restarted or follows a move; `None`
    /// allows all again. What the search knows of the others stays.
    ///
    /// # Panics
    /// Under [`SearchMethod::Gumbel`].
    pub fn set_root_moves(&mut self, allowed: Option<RootMoves>) {
        assert_eq!(self.config.method, SearchMethod::Puct, "only PUCT can leave moves out");
        self.allowed = allowed;
    }

    /// Bytes of the tree.
    pub fn bytes(&self) -> usize {
        self.tree.bytes()
    }

    /// Whether there is a [`result`](Self::result): the root was evaluated.
    pub fn has_result(&self) -> bool {
        !self.tree_is_empty() && !matches!(self.waiting, Waiting::Root | Waiting::KeptRoot)
    }

    /// The settings.
    pub fn config(&self) -> &SearchConfig {
        &self.config
    }

    /// The position searched.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The komi the search plays for.
    pub fn komi(&self) -> Komi {
        self.komi
    }

    /// Visits made so far.
    pub fn visits_done(&self) -> u32 {
        self.done
    }

    /// Makes visits until one needs a prediction that the cache does not hold, or all are made.
    pub fn step(&mut self, cache: &mut EvaluationCache) -> Step {
        if self.waiting == Waiting::KeptRoot {
            if let Some(request) = self.look_up(cache) {
                return Step::Evaluate(request);
            }
        } else if self.waiting != Waiting::Nothing {
            return Step::Evaluate(Request { key: self.view.key });
        }
        if self.tree_is_empty()
            && let Some(request) = self.open_root(cache)
        {
            return Step::Evaluate(request);
        }
        while self.done < self.budget {
            if let Some(request) = self.visit(cache) {
                return Step::Evaluate(request);
            }
        }
        Step::Finished
    }

    fn tree_is_empty(&self) -> bool {
        self.tree.node_count() == 0
    }

    /// What the network has to look at for the request.
    pub fn features(&self, request: &Request) -> &Features {
        debug_assert_eq!(request.key, self.view.key, "the request belongs to this search");
        &self.view.features
    }

    /// Takes the prediction asked for, keeps it in the cache and completes the visit.
    ///
    /// # Errors
    /// [`PredictError::NotFinite`] when no legal move has a finite logit; the search can then only be restarted.
    pub fn respond(
        &mut self,
        request: Request,
        prediction: Prediction<'_>,
        cache: &mut EvaluationCache,
    ) -> Result<(), PredictError> {
        debug_assert_eq!(request.key, self.view.key, "the request belongs to this search");
        self.read_priors(prediction)?;
        self.read_ownership(prediction);
        let kept = Kept {
            evaluation: Evaluation {
                value: prediction.win - prediction.loss,
                margin: prediction.margin,
            },
            priors: &self.priors,
            ownership: self.config.ownership.then_some(&self.predicted_ownership),
        };
        cache.insert(self.view.key, kept);
        self.settle(kept.evaluation);
        Ok(())
    }

    /// Evaluates the root from the cache, or asks for its prediction.
    fn open_root(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        self.view.replace(&self.position, self.komi, self.config.canonical);
        self.waiting = Waiting::Root;
        self.look_up(cache)
    }

    /// One descent from the root. Returns a request when it ends at a position without a known evaluation.
    fn visit(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        self.path.clear();
        self.path.push(ROOT);
        let mut edge = self.next_root_edge();
        self.ownership.go_down(self.tree.move_index(edge));
        loop {
            self.position
                .play_unchecked(self.tree.move_on(edge, self.position.size()));
            let child = self.tree.child(edge);
            if child == NO_NODE {
                break;
            }
            self.path.push(child);
            if self.tree.is_end(child) {
                self.surface();
                self.back_up_end(child);
                return None;
            }
            edge = match self.config.method {
                SearchMethod::Gumbel => self.selector.select(&mut self.tree, child, self.sigma),
                SearchMethod::Puct => self.puct.select(&mut self.tree, child),
            };
        }
        self.waiting = Waiting::Leaf { edge };
        if self.position.is_over() {
            let outlook = self.exact_outlook(cache.judge());
            self.surface_from_leaf();
            self.add_end(edge, outlook);
            return None;
        }
        self.view.replace(&self.position, self.komi, self.config.canonical);
        self.surface_from_leaf();
        self.look_up(cache)
    }

    fn next_root_edge(&mut self) -> usize {
        match self.config.method {
            SearchMethod::Gumbel => self.root.next_edge(&self.tree, self.sigma),
            SearchMethod::Puct => {
                let size = self.position.size();
                self.puct.select_root(&self.tree, size, self.allowed.as_ref())
            }
        }
    }

    /// Takes the scratch position back to the root after a descent that ended at the last node of the path.
    fn surface(&mut self) {
        for _ in 1..self.path.len() {
            self.position.undo();
        }
    }

    /// Takes the scratch position back to the root after a descent that ended one move below the path.
    fn surface_from_leaf(&mut self) {
        self.position.undo();
        self.surface();
    }

    /// The exact result of a game that is over, seen by the side to move. An end without a result, because life is not
    /// decided, is worth as much as a tie: the side that leads has to play on until its lead can be counted.
    fn exact_outlook(&self, judge: &mut Judge) -> Outlook {
        let margin = match judge.ending(&self.position, self.komi) {
            Some(Ending::Counted(count)) => count.margin,
            Some(Ending::TiedByCycle | Ending::UndecidedLife) => Margin::default(),
            None => unreachable!("the game is over"),
        };
        let (for_black, points) = match margin.outcome() {
            Outcome::BlackWins => (1.0, margin.points()),
            Outcome::WhiteWins => (-1.0, margin.points()),
            Outcome::Tie => (0.0, 0.0),
        };
        match self.position.to_move() {
            Color::Black => Outlook {
                value: for_black,
                margin: points,
            },
            Color::White => Outlook {
                value: -for_black,
                margin: -points,
            },
        }
    }

    /// Adds the node of a game that has just ended and counts the visit.
    fn add_end(&mut self, edge: usize, outlook: Outlook) {
        self.waiting = Waiting::Nothing;
        let node = self
            .tree
            .add_node(&[], &[], self.utility.of(outlook.value, outlook.margin));
        self.connect(edge, node);
        self.back_up(node, outlook);
    }

    /// Counts another visit of a game's end.
    fn back_up_end(&mut self, node: NodeId) {
        self.path.pop();
        let outlook = Outlook {
            value: self.tree.value(node),
            margin: self.tree.margin(node),
        };
        self.back_up(node, outlook);
    }

    /// Adds the node that was waited for, with the priors read, and counts the visit.
    fn settle(&mut self, evaluation: Evaluation) {
        let outlook = Outlook {
            value: evaluation.value,
            margin: evaluation.margin,
        };
        self.add_ownership();
        if self.waiting == Waiting::KeptRoot {
            self.waiting = Waiting::Nothing;
            self.open_for_visits(outlook);
            return;
        }
        let utility = self.utility.of(outlook.value, outlook.margin);
        let node = self.tree.add_node(&self.view.moves, &self.priors, utility);
        match std::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::Leaf { edge } => {
                self.connect(edge, node);
                self.back_up(node, outlook);
            }
            Waiting::Root => {
                self.tree.count_visit(ROOT, outlook, self.utility);
                self.open_for_visits(outlook);
            }
            Waiting::Nothing | Waiting::KeptRoot => unreachable!("only a waiting search is answered"),
        }
    }

    /// Makes a root whose prediction is known ready for visits.
    fn open_for_visits(&mut self, outlook: Outlook) {
        self.root_outlook = outlook;
        match self.config.method {
            SearchMethod::Gumbel => {
                let budget = self.budget.saturating_sub(self.done);
                self.root.begin(&self.tree, &self.config, budget, &mut self.rng);
            }
            SearchMethod::Puct if self.config.noise => Puct::disturb(&mut self.tree, &mut self.rng),
            SearchMethod::Puct => {}
        }
    }

    fn connect(&mut self, edge: usize, node: NodeId) {
        let parent = *self.path.last().expect("a descent starts at the root");
        self.tree.connect(parent, edge, node);
    }

    /// Counts a finished visit at the leaf and at every node of the path.
    fn back_up(&mut self, leaf: NodeId, outlook: Outlook) {
        self.done += 1;
        let mut seen = outlook;
        self.tree.count_visit(leaf, seen, self.utility);
        for &node in self.path.iter().rev() {
            seen = Outlook {
                value: -seen.value,
                margin: -seen.margin,
            };
            self.tree.count_visit(node, seen, self.utility);
        }
    }
}

impl AsMut<Search> for Search {
    fn as_mut(&mut self) -> &mut Search {
        self
    }
}
