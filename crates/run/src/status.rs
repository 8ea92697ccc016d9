//! The state of a run for the screen and the metrics.

use std::time::Instant;

use tengen_health::{Comparison, Health};
use tengen_metrics::{Measured, Selfplay, Train};
use tengen_predictors::gpu_servers;
use tengen_records::GameRecord;
use tengen_report::{counted, thousands};
use tengen_rules::Outcome;
use tengen_search::ServerStats;
use tengen_selfplay::{CounterValues, FairKomi, WorkerTimes};
use tengen_store::Operations;
use tengen_trainer::Losses;

use crate::busy::Busy;
use crate::opened::Opened;
use crate::selfplay;
use crate::training::Training;
use crate::used::Used;
use crate::watch::View;
use tengen_config::Ledger;
use tengen_config::Progress;

/// The figures of a run at one moment, updated by all its threads.
pub(crate) struct Status {
    /// Games in the store.
    pub games: u64,
    /// Positions in the store.
    pub positions: u64,
    /// Candidates that the gate has rejected.
    pub rejected: u32,
    /// The share of the budget that is spent, 0 to 1.
    pub spent: f64,
    /// Training steps since the run began.
    pub steps: u64,
    /// The komi at which games are even.
    pub fair_komi: FairKomi,
    /// The current or last gate match, as text.
    pub gate: String,
    /// The champion and its rating, as text.
    pub champion: String,
    /// What keeps games from reaching the store, as text.
    pub trouble: Option<String>,
    /// Whether self-play has reached its allowed lead over the trainer.
    pub selfplay_waits: bool,
    /// Whether the trainer lacks games for one more step.
    pub trainer_waits: bool,
    /// What has to be played before the trainer's next step, if the games so far are not enough.
    awaits: Option<String>,
    samples: u64,
    window_positions: u64,
    reanalyzed: u64,
    counters: CounterValues,
    ledger: Ledger,
    /// Sums over the steps since the last event.
    losses: LossSums,
    last_losses: Option<Losses>,
    /// The latest validation on held-out games.
    pub validation: Option<Comparison>,
    /// Games since the last event.
    recent: GameSums,
    /// Whether self-play still looks like Go.
    health: Health,
    /// Rates over the last few seconds.
    speed: Speed,
    /// How each self-play worker has spent its time.
    workers: Vec<WorkerTimes>,
    /// The time that the trainer spends on steps.
    pub training: Busy,
    /// The time that the gate spends playing.
    pub gating: Busy,
    since: Mark,
}

/// Counters at the last event.
struct Mark {
    at: Instant,
    counters: CounterValues,
    gpus: ServerStats,
    used: Used,
    operations: Operations,
    samples: u64,
    /// Seconds that the trainer and the gate had worked.
    worked: [f64; 2],
}

#[derive(Default)]
struct LossSums {
    steps: u64,
    /// In the order of [`Losses::terms`].
    sums: [f64; 7],
}

#[derive(Default)]
struct GameSums {
    games: u64,
    unfinished: u64,
    plies: u64,
    black_points: f64,
    margin: f64,
}

/// Rates over the last few seconds.
struct Speed {
    at: Instant,
    counters: CounterValues,
    games_per_second: f64,
    evaluations_per_second: f64,
    /// How GPUs and workers spend their time, as text.
    gpu: Option<String>,
    used: Used,
}

impl Status {
    /// How far the run has come.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            positions: self.positions,
            rejected: self.rejected,
            spent: self.spent,
        }
    }

    /// The status of a run with this progress and with models up to `generation`, which is about to start or resume.
    pub(crate) fn resumed(training: &Training, generation: u32, progress: Progress) -> Status {
        let now = Instant::now();
        let mut status = Status {
            games: 0,
            positions: 0,
            rejected: progress.rejected,
            spent: progress.spent,
            steps: 0,
            fair_komi: FairKomi::new(),
            gate: match generation {
                0 => "waiting for the first candidate".to_owned(),
                _ => format!("waiting for the next candidate, generation {}", generation + 1),
            },
            champion: String::new(),
            trouble: None,
            selfplay_waits: false,
            trainer_waits: false,
            awaits: None,
            samples: training.trained(),
            window_positions: 0,
            reanalyzed: 0,
            counters: CounterValues::default(),
            ledger: Ledger::default(),
            losses: LossSums::default(),
            last_losses: None,
            validation: None,
            recent: GameSums::default(),
            health: Health::default(),
            speed: Speed {
                at: now,
                counters: CounterValues::default(),
                games_per_second: 0.0,
                evaluations_per_second: 0.0,
                gpu: None,
                used: Used::now(&[]),
            },
            workers: Vec::new(),
            training: Busy::default(),
            gating: Busy::default(),
            since: Mark {
                at: now,
                counters: CounterValues::default(),
                gpus: gpus(),
                used: Used::now(&[]),
                operations: Operations::default(),
                samples: training.trained(),
                worked: [0.0; 2],
            },
        };
        status.note(training);
        status
    }

    /// Updates the trainer's figures.
    pub(crate) fn note(&mut self, training: &Training) {
        self.games = training.games();
        self.positions = training.positions();
        self.steps = training.steps();
        self.samples = training.trained();
        self.window_positions = training.window_positions();
        self.reanalyzed = training.reanalyzed_positions();
        self.awaits = training.awaits();
        self.fair_komi.clone_from(training.fair_komi());
    }

    /// Adds the losses of a step.
    pub(crate) fn add_step(&mut self, losses: &Losses) {
        self.losses.steps += 1;
        let sums = self.losses.sums.iter_mut();
        sums.zip(losses.terms()).for_each(|(sum, term)| *sum += term);
        self.last_losses = Some(*losses);
    }

    /// Adds a game that has just ended. Returns warnings if recent games do not look healthy.
    pub(crate) fn add_game(&mut self, game: &GameRecord) -> Vec<String> {
        let sums = &mut self.recent;
        sums.games += 1;
        sums.plies += game.plies.len() as u64;
        match (game.outcome(), game.score_half_points) {
            (Some(outcome), Some(score)) => {
                sums.black_points += match outcome {
                    Outcome::BlackWins => 1.0,
                    Outcome::WhiteWins => 0.0,
                    Outcome::Tie => 0.5,
                };
                sums.margin += f64::from(score) / 2.0;
            }
            _ => sums.unfinished += 1,
        }
        self.health.take(game)
    }

    /// Updates self-play's counters, the time of its workers, and the cost so far.
    pub(crate) fn measure(&mut self, counters: &CounterValues, workers: Vec<WorkerTimes>, ledger: Ledger) {
        self.workers = workers;
        self.counters = *counters;
        self.ledger = ledger;
        let seconds = self.speed.at.elapsed().as_secs_f64();
        if seconds >= 2.0 {
            let before = self.speed.counters;
            let games = counters.games + counters.unfinished - before.games - before.unfinished;
            self.speed.games_per_second = games as f64 / seconds;
            self.speed.evaluations_per_second = (counters.evaluations - before.evaluations) as f64 / seconds;
            let used = Used::now(&self.workers);
            self.speed.gpu = used.since(&self.speed.used).in_words(seconds);
            self.speed.used = used;
            self.speed.counters = *counters;
            self.speed.at = Instant::now();
        }
    }

    /// What the run is waiting for while the store is unreachable.
    fn waiting(&self, run: &Opened) -> Option<String> {
        let stuck = run.store.waited_for();
        let away = match (&self.trouble, stuck) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(time)) => format!("store unreachable for {} s", time.as_secs()),
            (None, None) => return None,
        };
        // Self-play is briefly at its limit whenever games are about to be published; it only waits if it evaluates
        // nothing.
        let selfplay = match self.selfplay_waits && self.speed.evaluations_per_second == 0.0 {
            true => "self-play waits at its maximum lead over the trainer",
            false => "self-play continues",
        };
        let training = match (stuck, self.trainer_waits) {
            (Some(_), false) => "training or the gate waits for the store",
            (_, true) => "training waits for games",
            (None, false) => "training continues",
        };
        Some(format!("{away}; {selfplay}, {training}"))
    }

    /// The contents of the screen.
    pub(crate) fn view(&self, run: &Opened) -> View {
        let sums = &self.recent;
        let length = match sums.games {
            0 => String::new(),
            games => format!(", {:.0} plies", sums.plies as f64 / games as f64),
        };
        let unfinished = match sums.unfinished {
            0 => String::new(),
            unfinished => format!(", {:.1}% unfinished", 100.0 * unfinished as f64 / sums.games as f64),
        };
        let loss = match (&self.awaits, &self.last_losses) {
            (Some(games), _) => format!("waiting for {games}"),
            (None, Some(losses)) => format!("loss {:.3}", losses.total),
            (None, None) => "no step since this start".to_owned(),
        };
        let losses = self.last_losses.as_ref().map(|losses| {
            format!(
                "policy {:.2}, value {:.2}, margin {:.2}, ownership {:.2}",
                losses.policy, losses.value, losses.margin, losses.ownership
            )
        });
        let old = match self.reanalyzed {
            0 => String::new(),
            positions => format!(", {} of reanalyzed games", thousands(positions)),
        };
        let (limited, spent) = (run.config.budget.is_limited(), self.spent);
        let left = self.ledger.elapsed_seconds * (1.0 / spent.max(1e-9) - 1.0);
        View {
            selfplay: format!(
                "{}, {:.0}/s, {} evaluations/s{length}{unfinished}",
                counted(self.games, "game"),
                self.speed.games_per_second,
                thousands(self.speed.evaluations_per_second as u64),
            ),
            training: format!(
                "step {}, {loss}, window {} of {}{old}",
                thousands(self.steps),
                thousands(self.window_positions),
                counted(self.positions, "position")
            ),
            losses: losses.unwrap_or_default(),
            held_out: self.validation.as_ref().map(Comparison::in_words).unwrap_or_default(),
            gpu: self.speed.gpu.clone(),
            gate: self.gate.clone(),
            champion: self.champion.clone(),
            waiting: self.waiting(run),
            spent: limited.then_some(spent.min(1.0)),
            seconds: self.ledger.elapsed_seconds,
            seconds_left: (limited && spent > 0.005).then_some(left.max(0.0)),
        }
    }

    /// The events for the time since the last call.
    pub(crate) fn take_events(&mut self, run: &Opened) -> Vec<Measured> {
        let mark = Mark {
            at: Instant::now(),
            counters: self.counters,
            gpus: gpus(),
            used: Used::now(&self.workers),
            operations: run.store.operations(),
            samples: self.samples,
            worked: self.worked(),
        };
        let (gpus_now, operations_now) = (mark.gpus, mark.operations);
        let used_now = mark.used.clone();
        let before = std::mem::replace(&mut self.since, mark);
        let asked = operations_now.since(before.operations);
        let seconds = before.at.elapsed().as_secs_f64().max(1e-9);
        let mut events = vec![Measured::Selfplay(
            used_now.since(&before.used).over(
                self.selfplay_event(run, &before, gpus_now, seconds)
                    .with_store(asked, self.recent.games, seconds),
                seconds,
            ),
        )];
        self.recent = GameSums::default();
        let losses = std::mem::take(&mut self.losses);
        if let (Some(last), 1..) = (self.last_losses, losses.steps) {
            let mean = Losses::new(losses.sums.map(|sum| sum / losses.steps as f64), last.learning_rate);
            events.push(Measured::Train(Train {
                step: self.steps,
                samples: self.samples,
                learning_rate: mean.learning_rate,
                total_loss: mean.total,
                policy_loss: mean.policy,
                value_loss: mean.value,
                margin_loss: mean.margin,
                ownership_loss: mean.ownership,
                policy_entropy: mean.policy_entropy,
                grad_norm: mean.gradient_norm,
                positions_per_second: (self.samples - before.samples) as f64 / seconds,
            }));
        }
        events
    }

    /// Seconds that the trainer and the gate have worked.
    fn worked(&self) -> [f64; 2] {
        [self.training, self.gating].map(|busy| busy.seconds())
    }

    fn selfplay_event(&self, run: &Opened, before: &Mark, gpus_now: ServerStats, seconds: f64) -> Selfplay {
        let (now, then) = (&self.counters, &before.counters);
        let sums = &self.recent;
        let games = sums.games.max(1) as f64;
        let finished = (sums.games - sums.unfinished).max(1) as f64;
        let asked = (now.evaluations - then.evaluations) + (now.cache_hits - then.cache_hits);
        let signs = self.health.signs();
        let board = run.config.sizes().ok().and_then(|sizes| sizes.first().copied());
        let [descend_share, predict_share, absorb_share] = shares_of_time(run, &now.since(*then), seconds);
        let worked = |part: usize| (self.worked()[part] - before.worked[part]) / seconds;
        let [training_share, gate_share] = [worked(0), worked(1)];
        Selfplay {
            mean_batch: now.since(*then).mean_batch(),
            mean_gpu_batch: gpus_now.mean_batch_since(before.gpus),
            descend_share,
            predict_share,
            absorb_share,
            training_share,
            gate_share,
            games: self.games,
            positions: self.positions,
            evaluations: self.ledger.evaluations,
            games_per_second: sums.games as f64 / seconds,
            evaluations_per_second: (now.evaluations - then.evaluations) as f64 / seconds,
            positions_per_second: (now.plies - then.plies) as f64 / seconds,
            mean_plies: sums.plies as f64 / games,
            unfinished_share: sums.unfinished as f64 / games,
            black_win_share: sums.black_points / finished,
            mean_margin: sums.margin / finished,
            fair_komi: board.map_or(0.0, |board| self.fair_komi.of(board)),
            cache_hit_share: (now.cache_hits - then.cache_hits) as f64 / asked.max(1) as f64,
            visits: u64::from(run.config.visits_at(self.progress())),
            window_positions: self.window_positions,
            pass_share: signs.passes,
            early_end_share: signs.early_ends,
            distinct_opening_share: signs.openings,
            ..Selfplay::default()
        }
    }
}

/// The statistics of all GPU servers together.
fn gpus() -> ServerStats {
    let servers = gpu_servers().into_iter().map(|(_, stats)| stats);
    servers.fold(ServerStats::default(), ServerStats::and)
}

/// Shares of the workers' total time spent descending, predicting, and absorbing.
fn shares_of_time(run: &Opened, counts: &CounterValues, seconds: f64) -> [f64; 3] {
    let all = selfplay::threads(run) as f64 * seconds * 1e9;
    [counts.descend_ns, counts.predict_ns, counts.absorb_ns].map(|ns| ns as f64 / all)
}
