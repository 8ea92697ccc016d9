//! The events that a run measures, and their JSON form.

use serde::{Deserialize, Serialize};
use tengen_store::Operations;

/// A measurement at one moment of a run. As JSON it is one flat object whose `event` key names the kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The time in milliseconds since 1970, UTC.
    pub time_ms: i64,
    /// Working seconds of the run so far, summed over its resumes; pauses in between do not count.
    pub elapsed_seconds: f64,
    /// The measurement itself.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The kinds of events.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Measured {
    /// A process began or resumed the run.
    Start(Start),
    /// Training steps since the previous event.
    Train(Train),
    /// How well the network predicts held-out games, which it is not trained on, and the training window.
    Validation(Validation),
    /// Self-play since the previous event.
    Selfplay(Selfplay),
    /// A verdict of the gate on a candidate.
    Gate(Gate),
    /// A model that was published to the store.
    Model(Model),
    /// A model's strength, from matches between models.
    Rating(Rating),
    /// The strength of a player that is not part of the run, on the scale of the anchored ratings.
    Anchor(Anchor),
    /// A sign that training or self-play goes wrong.
    Warning(Warning),
}

/// A value that may be unknown: absent from a line of an older version, or null because JSON has no NaN.
trait Figure {
    fn unknown() -> Self;
    /// The value as a point on a curve; `None` if it is not a number or has no value.
    fn scalar(&self) -> Option<f64>;
}

impl Figure for f64 {
    fn unknown() -> f64 {
        f64::NAN
    }
    fn scalar(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Figure for u64 {
    fn unknown() -> u64 {
        0
    }
    fn scalar(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Figure for Option<f64> {
    fn unknown() -> Option<f64> {
        None
    }
    fn scalar(&self) -> Option<f64> {
        *self
    }
}

impl Figure for bool {
    fn unknown() -> bool {
        false
    }
    fn scalar(&self) -> Option<f64> {
        Some(f64::from(u8::from(*self)))
    }
}

impl<T> Figure for Vec<T> {
    fn unknown() -> Vec<T> {
        Vec::new()
    }
    fn scalar(&self) -> Option<f64> {
        None
    }
}

impl Figure for String {
    fn unknown() -> String {
        String::new()
    }
    fn scalar(&self) -> Option<f64> {
        None
    }
}

/// Defines a struct whose missing fields are unknown (NaN, zero, empty) and whose numbers are curves.
macro_rules! figures {
    ($(#[$about:meta])* struct $name:ident { $($(#[$meaning:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name { $($(#[$meaning])* pub $field: $kind,)* }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: Figure::unknown(),)* }
            }
        }

        impl $name {
            fn scalars(&self) -> Vec<(&'static str, f64)> {
                let all = [$((stringify!($field), self.$field.scalar()),)*];
                all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };
}

figures! {
    /// Training, as means over the steps since the previous event.
    struct Train {
        /// Optimizer steps since the run began.
        step: u64,
        /// Samples trained on since the run began.
        samples: u64,
        /// The learning rate of the last step.
        learning_rate: f64,
        /// The weighted sum that training minimizes.
        total_loss: f64,
        /// Cross-entropy of the policy against the search's target, in nats.
        policy_loss: f64,
        /// Cross-entropy of win, tie and loss, in nats.
        value_loss: f64,
        /// Cross-entropy of the final margin's distribution, in nats.
        margin_loss: f64,
        /// Loss of the ownership head, per point.
        ownership_loss: f64,
        /// Mean entropy of the network's policy, in nats.
        policy_entropy: f64,
        /// Norm of the gradient before clipping.
        grad_norm: f64,
        /// Samples per second.
        positions_per_second: f64,
    }
}

figures! {
    /// How well the averaged weights predict positions of held-out games, which are never trained on, and of the
    /// training window.
    struct Validation {
        /// Optimizer steps since the run began.
        step: u64,
        /// Held-out games in the window.
        held_out_games: u64,
        /// Positions of those games.
        held_out_positions: u64,
        /// The weighted sum of the losses, on held-out games.
        total_loss: f64,
        /// Cross-entropy of the policy against the search's target, in nats, on held-out games.
        policy_loss: f64,
        /// Cross-entropy of win, tie and loss, in nats, on held-out games.
        value_loss: f64,
        /// Cross-entropy of the final margin's distribution, in nats, on held-out games.
        margin_loss: f64,
        /// Loss of the ownership head, per point, on held-out games.
        ownership_loss: f64,
        /// Share of held-out positions in which the network's first move is the search's, 0 to 1.
        policy_top1: f64,
        /// Mean squared error of the predicted score of a game, 0 to 1, on held-out games.
        brier: f64,
        /// Expected calibration error of that score, 0 to 1, on held-out games.
        calibration_error: f64,
        /// Mean error of the expected margin, in points, on held-out games.
        margin_error: f64,
        /// `total_loss` on the training window.
        window_total_loss: f64,
        /// `policy_loss` on the training window.
        window_policy_loss: f64,
        /// `value_loss` on the training window.
        window_value_loss: f64,
        /// `margin_loss` on the training window.
        window_margin_loss: f64,
        /// `ownership_loss` on the training window.
        window_ownership_loss: f64,
        /// `policy_top1` on the training window.
        window_policy_top1: f64,
        /// `brier` on the training window.
        window_brier: f64,
        /// `calibration_error` on the training window.
        window_calibration_error: f64,
        /// `margin_error` on the training window.
        window_margin_error: f64,
        /// `brier` on the last positions of random games.
        random_brier: f64,
    }
}

/// GPU batches that were padded to the same number of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuBucket {
    /// Rows of each batch.
    pub rows: u64,
    /// Number of batches.
    pub batches: u64,
    /// Rows that were asked for, in all batches together.
    pub asked: u64,
}

/// What one worker did with its time, in seconds. The rest was waiting for the trainer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerSeconds {
    /// Descending to positions and encoding them.
    pub descend: f64,
    /// Predicting, or waiting for a GPU's predictions.
    pub wait: f64,
    /// Passing predictions to searches.
    pub absorb: f64,
}

figures! {
    /// Self-play: totals since the run began; rates, means and shares since the previous event.
    struct Selfplay {
        /// Games published since the run began.
        games: u64,
        /// Plies of those games.
        positions: u64,
        /// Network evaluations spent on those games.
        evaluations: u64,
        /// Games finished per second.
        games_per_second: f64,
        /// Network evaluations per second.
        evaluations_per_second: f64,
        /// Plies played per second.
        positions_per_second: f64,
        /// Mean length of the finished games, in plies.
        mean_plies: f64,
        /// Share of the games that reached the ply limit, 0 to 1.
        unfinished_share: f64,
        /// Share of the finished games that Black won, a tie counting half, 0 to 1.
        black_win_share: f64,
        /// Mean margin of the finished games in points, Black minus White after komi.
        mean_margin: f64,
        /// The komi at which self-play is believed to be even, in points.
        fair_komi: f64,
        /// Share of the evaluations answered from the caches, 0 to 1.
        cache_hit_share: f64,
        /// Mean positions of a worker's batch.
        mean_batch: f64,
        /// Mean positions of a batch on the GPUs, which join the batches of workers; NaN on the CPU.
        mean_gpu_batch: f64,
        /// Share of the workers' time in which searches descended and encoded positions, 0 to 1.
        descend_share: f64,
        /// Share of the workers' time in which they predicted or waited for a GPU's predictions, 0 to 1.
        predict_share: f64,
        /// Share of the workers' time in which searches absorbed predictions, 0 to 1.
        absorb_share: f64,
        /// Share of the time in which the trainer computed steps, 0 to 1.
        training_share: f64,
        /// Share of the time in which the gate played, 0 to 1.
        gate_share: f64,
        /// Share of the time in which a GPU computed, by its own clock, 0 to 1; the mean of several; NaN on the CPU.
        gpu_busy_share: f64,
        /// Share of the time in which a GPU had a batch of predictions; the sum of its streams, so up to 2.
        gpu_prediction_share: f64,
        /// Share of the time in which a GPU had a training step, 0 to 1; waiting for predictions counts.
        gpu_training_share: f64,
        /// Share of the rows predicted by GPUs that only pad their batches, 0 to 1.
        gpu_padding_share: f64,
        /// The batches of all GPUs by the number of rows that they were padded to, the smallest first.
        gpu_buckets: Vec<GpuBucket>,
        /// What each worker did with its time.
        workers: Vec<WorkerSeconds>,
        /// Visits per full search.
        visits: u64,
        /// Positions in the training window.
        window_positions: u64,
        /// Passes before the end of the newest games, as a share of all moves of the network, 0 to 1.
        pass_share: f64,
        /// Share of the newest games that two passes ended within a third of the board's area, 0 to 1.
        early_end_share: f64,
        /// Distinct first ten plies, as a share of the newest games, 0 to 1.
        distinct_opening_share: f64,
        /// Requests to the store per minute, by all processes of the run.
        store_requests_per_minute: f64,
        /// Requests to the store per finished game.
        store_requests_per_game: f64,
        /// Mean time of a request to the store, in milliseconds.
        store_latency_ms: f64,
    }
}

impl Selfplay {
    /// Adds the figures of the operations on the store during these seconds, in which this many games were finished.
    #[must_use]
    pub fn with_store(self, asked: Operations, games: u64, seconds: f64) -> Selfplay {
        Selfplay {
            store_requests_per_minute: asked.requests() as f64 / seconds.max(1e-9) * 60.0,
            store_requests_per_game: asked.requests() as f64 / games as f64,
            store_latency_ms: 1e3 * asked.mean_seconds(),
            ..self
        }
    }
}

figures! {
    /// The gate's verdict on one candidate.
    struct Gate {
        /// The candidate model.
        candidate: String,
        /// The model it played; empty if there was none.
        champion: String,
        /// Whether the candidate became champion.
        promoted: bool,
        /// Number of games played in the gate match.
        games: u64,
        /// Share of the points the candidate scored (wins plus half the ties), 0 to 1.
        points_share: f64,
        /// The candidate's Elo relative to the champion.
        elo: f64,
        /// Lower end of its 95% interval; not finite (null in JSON) if there is none, because the candidate lost every
        /// game.
        elo_low: f64,
        /// Upper end of its 95% interval; not finite (null in JSON) if there is none, because it won every game.
        elo_high: f64,
        /// The sequential test's log-likelihood ratio at the end.
        llr: f64,
        /// Why the match ended and how it was decided, as text.
        reason: String,
    }
}

figures! {
    /// A published model and its total cost so far.
    struct Model {
        /// Its name in the store.
        model_id: String,
        /// Optimizer steps since the run began.
        step: u64,
        /// Self-play games behind the model.
        games: u64,
        /// Plies of those games.
        positions: u64,
        /// Network evaluations in self-play until then.
        evaluations: u64,
        /// CPU seconds of all threads.
        cpu_seconds: f64,
        /// The model's strength, if already measured.
        elo: Option<f64>,
    }
}

figures! {
    /// A model's strength on the run's Elo scale, and what the model cost.
    struct Rating {
        /// The model's name in the store.
        model_id: String,
        /// The model's Elo.
        elo: f64,
        /// Lower end of its 95% interval; not finite (null in JSON) if the games do not bound it.
        low: f64,
        /// Upper end of its 95% interval; not finite (null in JSON) if the games do not bound it.
        high: f64,
        /// Network evaluations spent on making the model.
        evaluations: u64,
        /// CPU seconds spent on making the model.
        cpu_seconds: f64,
        /// Whether the scale is fixed by players outside the run, so that it can be compared with other runs. If not,
        /// the run's first model has the rating 0.
        anchored: bool,
    }
}

/// What a process began or resumed a run with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    /// The program: version, commit, libtorch, and features.
    pub version: String,
    /// The command line, quoted for a shell.
    pub command: String,
    /// The form of the network that is trained, such as `b4c32`.
    pub network: String,
    /// What networks run on, and in which number format, such as `cpu AMD EPYC · bf16`; for a process that plays no
    /// games, what the network is trained on.
    pub device: String,
    /// The number format of training.
    pub trained_in: String,
    /// The processor's cores that the process may use.
    pub cores: u64,
    /// Threads of self-play.
    pub workers: u64,
    /// Games that these threads play at once.
    pub games_at_once: u64,
    /// The configuration that this one is compared with, such as `configs/5x5.toml`.
    pub compared_with: String,
    /// The settings in which the two differ, each as `key = value (compared value)`.
    pub differences: Vec<String>,
}

/// A sign that training or self-play goes wrong, such as games that are remembered instead of learned from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The warning in one sentence, as the user saw it.
    pub text: String,
}

/// The strength of a player that is not part of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchor {
    /// Its name.
    pub name: String,
    /// Its Elo.
    pub elo: f64,
    /// Lower end of its 95% interval; not finite (null in JSON) if the games do not bound it.
    pub low: f64,
    /// Upper end of its 95% interval; not finite (null in JSON) if the games do not bound it.
    pub high: f64,
    /// Whether the rating was given, and so fixes the scale.
    pub pinned: bool,
}

impl Default for Anchor {
    fn default() -> Anchor {
        Anchor {
            name: String::new(),
            elo: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
            pinned: false,
        }
    }
}

impl Event {
    /// An event with the current time.
    pub fn now(elapsed_seconds: f64, measured: Measured) -> Event {
        Event {
            time_ms: tengen_records::now_ms() as i64,
            elapsed_seconds,
            measured,
        }
    }

    /// Parses one JSON line; `None` if it is incomplete, empty or of a kind that this version does not know.
    pub fn from_json(line: &[u8]) -> Option<Event> {
        let mut value: serde_json::Value = serde_json::from_slice(line).ok()?;
        // JSON has no NaN, so a number without a value was written as null.
        value.as_object_mut()?.retain(|_, figure| !figure.is_null());
        serde_json::from_value(value).ok()
    }

    /// The event's kind, as in the JSON line.
    pub fn kind(&self) -> &'static str {
        match &self.measured {
            Measured::Start(_) => "start",
            Measured::Train(_) => "train",
            Measured::Validation(_) => "validation",
            Measured::Selfplay(_) => "selfplay",
            Measured::Gate(_) => "gate",
            Measured::Model(_) => "model",
            Measured::Rating(_) => "rating",
            Measured::Anchor(_) => "anchor",
            Measured::Warning(_) => "warning",
        }
    }

    /// The event's position on its curves: optimizer steps for training, validation and models, games for self-play,
    /// evaluations for ratings, seconds of the run for the gate, for anchors, and for starts.
    pub fn axis(&self) -> u64 {
        match &self.measured {
            Measured::Train(train) => train.step,
            Measured::Validation(validation) => validation.step,
            Measured::Selfplay(selfplay) => selfplay.games,
            Measured::Start(_) | Measured::Gate(_) | Measured::Anchor(_) | Measured::Warning(_) => {
                self.elapsed_seconds.max(0.0) as u64
            }
            Measured::Model(model) => model.step,
            Measured::Rating(rating) => rating.evaluations,
        }
    }

    /// The event's numbers, each with its name; none for anchors and starts.
    pub fn scalars(&self) -> Vec<(&'static str, f64)> {
        match &self.measured {
            Measured::Start(_) => Vec::new(),
            Measured::Train(train) => train.scalars(),
            Measured::Validation(validation) => validation.scalars(),
            Measured::Selfplay(selfplay) => selfplay.scalars(),
            Measured::Gate(gate) => gate.scalars(),
            Measured::Model(model) => model.scalars(),
            // The kind of scale is not a curve.
            Measured::Rating(rating) => {
                let mut scalars = rating.scalars();
                scalars.retain(|(name, _)| *name != "anchored");
                scalars
            }
            // Curves have one name per figure, but there are several anchors.
            Measured::Anchor(_) | Measured::Warning(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(measured: Measured) -> (String, Event) {
        let event = Event {
            time_ms: 1_000,
            elapsed_seconds: 1.5,
            measured,
        };
        let json = serde_json::to_string(&event).unwrap();
        let read = Event::from_json(json.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        (json, read)
    }

    #[test]
    fn every_kind_survives_a_round_trip() {
        let kinds = [
            Measured::Start(Start {
                command: "tengen run a.toml".into(),
                differences: vec!["seed = 3 (1)".into()],
                ..Start::default()
            }),
            Measured::Train(Train {
                step: 7,
                ..Train::default()
            }),
            Measured::Validation(Validation {
                step: 100,
                brier: 0.2,
                ..Validation::default()
            }),
            Measured::Selfplay(Selfplay {
                games: 3,
                fair_komi: 24.5,
                ..Selfplay::default()
            }),
            Measured::Gate(Gate {
                promoted: true,
                reason: "accepted".into(),
                ..Gate::default()
            }),
            Measured::Model(Model {
                elo: Some(12.0),
                ..Model::default()
            }),
            Measured::Model(Model {
                elo: None,
                ..Model::default()
            }),
            Measured::Rating(Rating {
                low: -3.0,
                ..Rating::default()
            }),
            Measured::Anchor(Anchor {
                name: "random".into(),
                pinned: true,
                ..Anchor::default()
            }),
        ];
        for measured in kinds {
            let (json, read) = round_trip(measured);
            assert!(json.contains(&format!(r#""event":"{}""#, read.kind())), "{json}");
        }
    }

    #[test]
    fn an_infinite_loss_becomes_unknown() {
        let (json, read) = round_trip(Measured::Train(Train {
            total_loss: f64::INFINITY,
            ..Train::default()
        }));
        assert!(json.contains(r#""total_loss":null"#), "{json}");
        let total = read
            .scalars()
            .into_iter()
            .find(|(name, _)| *name == "total_loss")
            .unwrap();
        assert!(total.1.is_nan());
    }

    #[test]
    fn only_numbers_are_scalars() {
        let (_, gate) = round_trip(Measured::Gate(Gate {
            promoted: true,
            games: 12,
            ..Gate::default()
        }));
        let names: Vec<_> = gate.scalars().into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["promoted", "games", "points_share", "elo", "elo_low", "elo_high", "llr"]
        );
        let (_, model) = round_trip(Measured::Model(Model::default()));
        assert!(model.scalars().iter().all(|(name, _)| *name != "elo"));
    }
}
