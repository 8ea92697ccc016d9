//! How a run shows what it does: through a [`Watch`], because this crate prints nothing.

/// The contents of the screen at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Number of games, speed and game length.
    pub selfplay: String,
    /// Step, loss and window.
    pub training: String,
    /// The parts of the loss; empty before the first step of this process.
    pub losses: String,
    /// Predictions on held-out games, which are never trained on; empty before the first validation of this process.
    pub held_out: String,
    /// How GPUs and workers spend their time; `None` on the CPU.
    pub gpu: Option<String>,
    /// The running or most recent gate match.
    pub gate: String,
    /// The champion, its rating, and how many candidates have passed the gate.
    pub champion: String,
    /// What the run is waiting for while the store is unreachable.
    pub waiting: Option<String>,
    /// The share of the budget that is spent, 0 to 1; `None` if the run has no end.
    pub spent: Option<f64>,
    /// Seconds that the run has taken so far, over all its starts.
    pub seconds: f64,
    /// Estimated seconds until the budget is spent.
    pub seconds_left: Option<f64>,
}

impl View {
    /// The lines that a run always has: self-play, training, losses, held-out games, the gate, and the champion.
    pub fn lines(&self) -> [&str; 6] {
        [
            &self.selfplay,
            &self.training,
            &self.losses,
            &self.held_out,
            &self.gate,
            &self.champion,
        ]
    }
}

/// Receives what a run has to show. Methods do nothing unless overridden. Calls come from several threads.
pub trait Watch: Send + Sync {
    /// The threads of a run start; `title` names the run.
    fn begin(&self, _title: &str) {}

    /// The run's current figures; called about ten times a second between [`Watch::begin`] and [`Watch::end`].
    fn show(&self, _view: &View) {}

    /// The threads of the run have ended.
    fn end(&self) {}

    /// What should stay in sight at the end of a run, whose threads have ended: the champion with its rating, and the
    /// seconds that the run took until its budget was spent. Called again when the champion changes.
    fn standing(&self, _champion: &str, _seconds: f64) {}

    /// A message for the user, one sentence long.
    fn say(&self, _sentence: &str) {}

    /// A step before or at the end of a run that may take long; the text replaces that of the previous step. `None`
    /// once no such step is in progress.
    fn closing_step(&self, _text: Option<&str>) {}

    /// Progress of the matches after a run, in games; called with 0 first and until `done` reaches `all`, unless the
    /// user stops them.
    fn closing_games(&self, _done: u64, _all: u64) {}

    /// Progress of reading a large training window, in positions; called until `done` reaches `all`.
    fn reading(&self, _done: u64, _all: u64) {}
}

/// A [`Watch`] that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {}
