//! The search of one position.

mod descent;
mod follow;
mod intake;
mod leaves;

use tengen_encoding::{Features, PlaneSet};
use tengen_rng::Rng;
use tengen_rules::{Color, Ending, Judge, Komi, Margin, Outcome, Position};

use crate::cache::{Evaluation, EvaluationCache};
use crate::config::SearchConfig;
use crate::frame::{Shown, View};
use crate::method::{Method, OpenMoves, RootMoves};
use crate::ownership::RootOwnership;
use crate::predictor::{PredictError, Prediction, Predictor};
use crate::tree::{NO_NODE, NodeId, ROOT, Tree, Utility, Values};
use descent::{Descent, Waiting};
use leaves::Leaves;

/// The search of one position, driven from outside so that many searches can share each network call.
///
/// [`step`](Self::step) runs visits until a position needs a prediction or the budget is spent;
/// [`respond`](Self::respond) takes the prediction. [`Lockstep`](crate::Lockstep) drives many searches at once.
///
/// [`restart`](Self::restart) reuses a search for the next position and keeps the memory of its tree, scratch position,
/// and buffers.
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
    /// The root position, except during a descent, when it is deeper.
    pub(crate) position: Position,
    komi: Komi,
    budget: u32,
    done: u32,
    rng: Rng,
    utility: Utility,
    pub(crate) tree: Tree,
    pub(crate) method: Box<dyn Method>,
    /// The moves allowed at the root; `None` = all.
    allowed: Option<RootMoves>,
    /// How the network sees positions.
    shown: Shown,
    /// The descent in progress, or the one waiting for a prediction.
    now: Descent,
    /// Descents pending alongside it, if the search evaluates several leaves at once.
    leaves: Leaves,
    priors: Vec<f32>,
    /// The priors from an additional image.
    image_priors: Vec<f32>,
    /// The predicted ownership of the pending position, if the settings request it and the network predicts it.
    predicted_ownership: Vec<f32>,
    pub(crate) root_values: Values,
    pub(crate) ownership: RootOwnership,
}

/// What a search needs next.
#[derive(Debug)]
#[must_use]
pub enum Step {
    /// The network's prediction of one position; see [`Search::each_image`] and [`Search::respond`].
    Evaluate(Request),
    /// Nothing: all visits are done and [`Search::result`] is final.
    Finished,
}

/// How a descent ended.
enum Visit {
    /// At a cached evaluation or the end of a game; the visit counts.
    Done,
    /// At a position that needs a prediction.
    Asks(Request),
    /// At a cached prediction that does not count until those of the other pending leaves arrive.
    Waits,
    /// At a leaf that is already pending: a collision.
    Meets,
}

/// A token that ties a prediction to the search that requested it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Request {
    key: u128,
    /// The index of the descent among the pending ones; `None` if there is only one.
    place: Option<usize>,
}

impl Request {
    /// The position's key in the evaluation cache; requests with equal keys need only one prediction.
    pub fn key(&self) -> u128 {
        self.key
    }
}

impl Search {
    /// A search of `position` with the visits of `config`; `rng` is the random stream for noise.
    ///
    /// # Panics
    /// If the game is over in `position`.
    pub fn new(config: SearchConfig, position: &Position, komi: Komi, rng: Rng) -> Self {
        let visits = config.visits;
        let shown = Shown {
            plane_set: PlaneSet::default(),
            canonical: config.canonical,
            images: config.images,
        };
        let mut search = Self {
            utility: Utility::new(position.size(), config.margin_share),
            method: config.method.state(&config),
            allowed: None,
            shown,
            now: Descent::at(position, komi, shown),
            leaves: Leaves::default(),
            config,
            position: position.clone(),
            komi,
            budget: visits,
            done: 0,
            rng: rng.clone(),
            tree: Tree::default(),
            priors: Vec::new(),
            image_priors: Vec::new(),
            predicted_ownership: Vec::new(),
            root_values: Values {
                value: 0.0,
                margin: 0.0,
            },
            ownership: RootOwnership::default(),
        };
        search.restart(position, komi, visits, rng);
        search
    }

    /// Starts over with another position, budget and random stream; settings and memory are kept.
    ///
    /// # Panics
    /// If the game is over in `position`.
    pub fn restart(&mut self, position: &Position, komi: Komi, visits: u32, rng: Rng) {
        self.begin(position, komi, visits, rng);
        self.tree.clear();
        self.tree
            .reserve((visits as usize + 1).min(1 << 12), position.size().area() + 1);
    }

    /// From now on, encodes positions the way this predictor sees them. If only one of this predictor and the last one
    /// sees the move history, the search starts over. [`Lockstep`](crate::Lockstep) calls this.
    pub fn show_to<P: Predictor + ?Sized>(&mut self, predictor: &P) {
        let plane_set = predictor.new_batch(self.position.size()).plane_set();
        let same_view = plane_set.trail == self.shown.plane_set.trail;
        self.shown.plane_set = plane_set;
        if same_view {
            return;
        }
        self.tree.clear();
        self.done = 0;
        self.now.clear();
        self.leaves.clear();
        self.ownership.clear();
    }

    /// Scales the noise of the following searches: 0 is none, 1 (initially) is all that the settings ask for. With
    /// [`SearchMethod::Gumbel`](crate::SearchMethod::Gumbel), it is a temperature.
    pub fn set_noise(&mut self, scale: f32) {
        self.method.set_noise(scale);
    }

    /// Sets everything except the tree for a new position.
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
        self.now.clear();
        self.leaves.clear();
        self.ownership.clear();
    }

    /// Sets the visit budget of a search whose method [is anytime](crate::SearchMethod::is_anytime). The search is
    /// finished if it already has that many.
    ///
    /// # Panics
    /// If the method needs to know its budget at the start.
    pub fn set_visits(&mut self, visits: u32) {
        let method = self.config.method;
        assert!(method.is_anytime(), "the budget of a {} search is fixed", method.name());
        self.budget = visits;
    }

    /// Restricts the root of a search whose method [is anytime](crate::SearchMethod::is_anytime) to these moves until
    /// it is restarted or follows a move; `None` allows all moves again. Existing results for other moves are kept.
    ///
    /// # Panics
    /// If the method chooses its root moves at the start.
    pub fn set_root_moves(&mut self, allowed: Option<RootMoves>) {
        let method = self.config.method;
        assert!(
            method.is_anytime(),
            "the root moves of a {} search are fixed",
            method.name()
        );
        self.allowed = allowed;
    }

    /// The root moves that the method may choose from.
    pub(crate) fn open_moves(&self) -> OpenMoves<'_> {
        OpenMoves::new(self.position.size(), self.allowed.as_ref())
    }

    /// The size of the tree in bytes.
    pub fn bytes(&self) -> usize {
        self.tree.bytes()
    }

    /// Whether there is a [`result`](Self::result), which requires that the root has been evaluated.
    pub fn has_result(&self) -> bool {
        !self.tree_is_empty() && !matches!(self.now.waiting, Waiting::Root | Waiting::KeptRoot)
    }

    /// The settings of the search.
    pub fn config(&self) -> &SearchConfig {
        &self.config
    }

    /// The root position of the search.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The komi used for scoring.
    pub fn komi(&self) -> Komi {
        self.komi
    }

    /// The number of visits made so far, including those of a kept tree.
    pub fn visits_done(&self) -> u32 {
        self.done
    }

    /// Makes visits until one needs a prediction that is not cached, or the budget is spent. Repeats a request that was
    /// not answered.
    pub fn step(&mut self, cache: &mut EvaluationCache) -> Step {
        if let Some(request) = self.leaves.ask_again() {
            return Step::Evaluate(request);
        }
        if self.now.waiting == Waiting::KeptRoot {
            if let Some(request) = self.look_up(cache) {
                return Step::Evaluate(request);
            }
        } else if self.now.waiting != Waiting::Nothing {
            return Step::Evaluate(self.now.request());
        }
        if self.tree_is_empty()
            && let Some(request) = self.open_root(cache)
        {
            return Step::Evaluate(request);
        }
        if self.leaves.most() > 1 {
            return self.gather(cache).map_or(Step::Finished, Step::Evaluate);
        }
        while !self.method.is_done(self.done, self.budget) {
            if let Visit::Asks(request) = self.visit(cache) {
                return Step::Evaluate(request);
            }
        }
        Step::Finished
    }

    fn tree_is_empty(&self) -> bool {
        self.tree.node_count() == 0
    }

    /// Calls `add` with the features of every image of the requested position that the network should see, usually one,
    /// and with a key that only equal features share.
    pub fn each_image(&self, request: &Request, mut add: impl FnMut(u128, &Features)) {
        let descent = match request.place {
            None => &self.now,
            Some(place) => self.leaves.at(place),
        };
        let View {
            features, images, key, ..
        } = &descent.view;
        debug_assert_eq!(request.key, *key, "the request belongs to this search");
        add(*key, features);
        for (number, &symmetry) in images.iter().enumerate().skip(1) {
            add(*key ^ number as u128, &features.transformed(symmetry));
        }
    }

    /// Accepts the requested predictions, one for each image in the order of [`each_image`](Self::each_image), caches
    /// their average, and completes the visit.
    ///
    /// # Panics
    /// If there are fewer predictions than images.
    ///
    /// # Errors
    /// [`PredictError::NotFinite`] with the number of the image if the logits of the legal moves have no finite sum;
    /// the search can then only be restarted.
    pub fn respond<'a>(
        &mut self,
        request: Request,
        predictions: impl IntoIterator<Item = Prediction<'a>>,
        cache: &mut EvaluationCache,
    ) -> Result<(), PredictError> {
        if let Some(place) = request.place {
            return self.respond_at(place, predictions, cache);
        }
        debug_assert_eq!(request.key, self.now.view.key, "the request belongs to this search");
        let evaluation = self.read(predictions, cache)?;
        self.finish_evaluation(evaluation);
        Ok(())
    }

    /// Evaluates the root from the cache or requests its prediction.
    fn open_root(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        let Descent { view, waiting, .. } = &mut self.now;
        view.replace(&self.position, self.komi, self.shown.at_root(self.config.root_images));
        *waiting = Waiting::Root;
        self.look_up(cache)
    }

    /// Descends from the root once.
    fn visit(&mut self, cache: &mut EvaluationCache) -> Visit {
        self.now.path.clear();
        self.now.path.push(ROOT);
        let open = OpenMoves::new(self.position.size(), self.allowed.as_ref());
        let mut edge = self.method.root_edge(&self.tree, open);
        self.now.root_move = self.tree.move_index(edge);
        loop {
            self.position
                .play_unchecked(self.tree.move_on(edge, self.position.size()));
            let child = self.tree.child(edge);
            if child == NO_NODE {
                break;
            }
            self.now.path.push(child);
            if self.leaves.awaits(child) {
                self.undo_descent();
                return Visit::Meets;
            }
            if self.tree.is_end(child) {
                self.undo_descent();
                self.backup_end(child);
                return Visit::Done;
            }
            edge = self.method.edge(&mut self.tree, child);
        }
        self.now.waiting = Waiting::Leaf { edge };
        if self.position.is_over() {
            let values = self.exact_values(cache.judge());
            self.undo_descent_from_leaf();
            self.add_end(edge, values);
            return Visit::Done;
        }
        self.now.view.replace(&self.position, self.komi, self.shown);
        self.undo_descent_from_leaf();
        if self.leaves.most() > 1 {
            return self.park(edge, cache);
        }
        self.look_up(cache).map_or(Visit::Done, Visit::Asks)
    }

    /// Resets the scratch position to the root after a descent that ended at the last node of the path.
    fn undo_descent(&mut self) {
        for _ in 1..self.now.path.len() {
            self.position.undo();
        }
    }

    /// Resets the scratch position to the root after a descent that ended one move below the path.
    fn undo_descent_from_leaf(&mut self) {
        self.position.undo();
        self.undo_descent();
    }

    /// The exact result of a finished game, from the viewpoint of the side to move. An end without a score, because
    /// some chain's life is undecided, counts as a tie: the side that is ahead has to play on until its lead counts.
    fn exact_values(&self, judge: &mut Judge) -> Values {
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
            Color::Black => Values {
                value: for_black,
                margin: points,
            },
            Color::White => Values {
                value: -for_black,
                margin: -points,
            },
        }
    }

    /// Adds the node of a finished game and counts the visit.
    fn add_end(&mut self, edge: usize, values: Values) {
        self.now.waiting = Waiting::Nothing;
        let node = self
            .tree
            .add_node(&[], &[], self.utility.of(values.value, values.margin));
        self.connect(edge, node);
        self.backup(node, values);
    }

    /// Counts another visit of a node where the game is over.
    fn backup_end(&mut self, node: NodeId) {
        self.now.path.pop();
        self.backup(node, self.tree.mean(node));
    }

    /// Adds the pending node with the priors already read, and counts the visit.
    fn finish_evaluation(&mut self, evaluation: Evaluation) {
        let values = Values {
            value: evaluation.value,
            margin: evaluation.margin,
        };
        self.add_ownership();
        let utility = self.utility.of(values.value, values.margin);
        let Descent { view, waiting, .. } = &mut self.now;
        match std::mem::replace(waiting, Waiting::Nothing) {
            Waiting::Leaf { edge } => {
                let node = self.tree.add_node(&view.moves, &self.priors, utility);
                self.connect(edge, node);
                self.backup(node, values);
            }
            Waiting::Known { node, .. } => {
                self.tree.evaluate(node, &self.priors, utility);
                self.backup(node, values);
            }
            Waiting::Root => {
                self.tree.add_node(&view.moves, &self.priors, utility);
                self.tree.count_visit(ROOT, values, self.utility);
                self.open_for_visits(values);
            }
            Waiting::KeptRoot => {
                // As a leaf, it had the priors of fewer images.
                if view.images.len() > 1 {
                    self.tree.evaluate_root(&view.moves, &self.priors, utility);
                }
                self.open_for_visits(values);
            }
            Waiting::Nothing | Waiting::Placed { .. } => unreachable!("only a waiting search is answered"),
        }
    }

    /// Prepares an evaluated root for visits.
    fn open_for_visits(&mut self, values: Values) {
        self.root_values = values;
        let visits = self.budget.saturating_sub(self.done);
        let after_pass = self.position.consecutive_passes() > 0;
        self.method.begin(&mut self.tree, visits, after_pass, &mut self.rng);
    }

    fn connect(&mut self, edge: usize, node: NodeId) {
        let parent = *self.now.path.last().expect("a descent starts at the root");
        self.tree.connect(parent, edge, node);
    }

    /// Counts a visit at the leaf and at every node of the path.
    fn backup(&mut self, leaf: NodeId, values: Values) {
        self.done += 1;
        let mut seen = values;
        self.tree.count_visit(leaf, seen, self.utility);
        for &node in self.now.path.iter().rev() {
            seen = seen.for_opponent();
            self.tree.count_visit(node, seen, self.utility);
        }
    }
}

impl AsMut<Search> for Search {
    fn as_mut(&mut self) -> &mut Search {
        self
    }
}
