//! The part of a run's events that a page keeps. A run of weeks records a million events, so they are read one by one,
//! and of those that come every few seconds, only evenly spaced ones are kept. Sums still cover all events.

use std::collections::BTreeMap;

use tengen_metrics::{Event, Measured, Selfplay};
use tengen_store::Store;

use super::usage::Usage;

/// The most events to keep of a kind that comes every few seconds. At one every 5 seconds, they cover eleven hours; of
/// longer runs, at least half as many are kept. A curve has far fewer points.
const MOST_KEPT: usize = 8192;

/// What a page needs of a run's events.
#[derive(Default)]
pub(super) struct History {
    /// The kept events, in chronological order. The newest of each kind is among them.
    pub(super) events: Vec<Event>,
    /// The number of all events.
    pub(super) all: u64,
    /// Training events whose total loss is not a number.
    pub(super) broken_losses: usize,
    /// Means over all self-play games that have figures; `None` without such games.
    pub(super) selfplay: Option<WholeSelfplay>,
    /// How workers and GPUs spent their time.
    pub(super) usage: Usage,
}

/// Means over all self-play games of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WholeSelfplay {
    /// The share won by Black, 0 to 1; a tie counts half.
    pub(super) black_win_share: f64,
    /// The share that reached the ply limit, 0 to 1.
    pub(super) unfinished_share: f64,
}

impl History {
    /// Reads the events of a store. Adds a sentence to `problems` for every damaged part.
    ///
    /// # Errors
    /// If the store or a file in it exists but cannot be read.
    pub(super) fn read(store: &Store, problems: &mut Vec<String>) -> anyhow::Result<History> {
        let mut reading = Reading::default();
        tengen_metrics::read_each(store, problems, &mut |event| reading.take(event))?;
        Ok(reading.finish())
    }
}

/// A history that is being read.
#[derive(Default)]
struct Reading {
    all: u64,
    train: Spaced,
    validation: Spaced,
    selfplay: Spaced,
    /// The newest rating of each model on each kind of scale. Every gate match records the ratings of all models again.
    ratings: BTreeMap<(String, bool), Event>,
    others: Vec<Event>,
    /// The steps of training events whose total loss is not a number.
    broken_steps: Vec<u64>,
    games: Games,
    usage: Usage,
}

impl Reading {
    fn take(&mut self, mut event: Event) {
        self.all += 1;
        match &mut event.measured {
            Measured::Train(train) => {
                // A run that was resumed from an older checkpoint repeats its steps.
                while self.broken_steps.pop_if(|step| *step >= train.step).is_some() {}
                if !train.total_loss.is_finite() {
                    self.broken_steps.push(train.step);
                }
                self.train.take(event);
            }
            Measured::Validation(_) => self.validation.take(event),
            Measured::Selfplay(selfplay) => {
                self.games.add(selfplay);
                self.usage.add(selfplay);
                selfplay.gpu_buckets = Vec::new();
                selfplay.workers = Vec::new();
                self.selfplay.take(event);
            }
            Measured::Rating(rating) => {
                let key = (rating.model_id.clone(), rating.anchored);
                let newest = self.ratings.entry(key).or_insert_with(|| event.clone());
                if newest.time_ms <= event.time_ms {
                    *newest = event;
                }
            }
            Measured::Start(_)
            | Measured::Gate(_)
            | Measured::Model(_)
            | Measured::Anchor(_)
            | Measured::Warning(_) => {
                self.others.push(event);
            }
        }
    }

    fn finish(self) -> History {
        let mut events = self.others;
        events.extend(self.ratings.into_values());
        for spaced in [self.train, self.validation, self.selfplay] {
            events.extend(spaced.kept.into_iter().chain(spaced.newest));
        }
        events.sort_by_key(|event| event.time_ms);
        History {
            events,
            all: self.all,
            broken_losses: self.broken_steps.len(),
            selfplay: self.games.means(),
            usage: self.usage,
        }
    }
}

/// Evenly spaced events of one kind, and the newest one.
#[derive(Default)]
struct Spaced {
    kept: Vec<Event>,
    /// The first of every 2^`doublings` events is kept.
    doublings: u32,
    /// The number of events before the newest.
    before: u64,
    newest: Option<Event>,
}

impl Spaced {
    fn take(&mut self, event: Event) {
        let Some(older) = self.newest.replace(event) else {
            return;
        };
        if self.before.is_multiple_of(1 << self.doublings) {
            self.kept.push(older);
        }
        self.before += 1;
        if self.kept.len() >= MOST_KEPT {
            let mut is_kept = false;
            self.kept.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.doublings += 1;
        }
    }
}

/// Sums over self-play games.
#[derive(Default)]
struct Games {
    /// Games so far, with or without figures.
    before: u64,
    /// Games with figures.
    counted: f64,
    /// The sums of the shares over the games with figures.
    sums: WholeSelfplay,
}

impl Games {
    fn add(&mut self, event: &Selfplay) {
        let played = event.games.saturating_sub(self.before) as f64;
        self.before = self.before.max(event.games);
        let figures = [event.black_win_share, event.unfinished_share];
        if played > 0.0 && figures.iter().all(|figure| figure.is_finite()) {
            self.counted += played;
            self.sums.black_win_share += played * event.black_win_share;
            self.sums.unfinished_share += played * event.unfinished_share;
        }
    }

    fn means(&self) -> Option<WholeSelfplay> {
        (self.counted > 0.0).then(|| WholeSelfplay {
            black_win_share: self.sums.black_win_share / self.counted,
            unfinished_share: self.sums.unfinished_share / self.counted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_metrics::{GpuBucket, Rating, Train};

    fn history(measured: impl IntoIterator<Item = Measured>) -> History {
        let mut reading = Reading::default();
        for (at, measured) in measured.into_iter().enumerate() {
            reading.take(Event {
                time_ms: at as i64,
                elapsed_seconds: at as f64,
                measured,
            });
        }
        reading.finish()
    }

    fn train(step: u64) -> Measured {
        Measured::Train(Train {
            step,
            ..Train::default()
        })
    }

    #[test]
    fn long_runs_keep_evenly_spaced_events_and_the_newest() {
        let most = MOST_KEPT as u64;
        for (all, apart) in [(most, 1), (most + 1, 2), (50_000, 8), (123_457, 16)] {
            let kept = history((0..all).map(train));
            let steps: Vec<_> = kept.events.iter().map(Event::axis).collect();
            let spaced = (0..all - 1).step_by(apart);
            assert!(steps.iter().copied().eq(spaced.chain([all - 1])), "{all}: {steps:?}");
            assert_eq!(kept.all, all);
        }
    }

    #[test]
    fn what_is_summed_up_covers_all_events() {
        let bucket = GpuBucket {
            rows: 64,
            batches: 1,
            asked: 60,
        };
        let sample = |games: u64| {
            Measured::Selfplay(Selfplay {
                games,
                black_win_share: if games.is_multiple_of(10) { 1.0 } else { 0.5 },
                unfinished_share: 0.0,
                gpu_buckets: vec![bucket],
                ..Selfplay::default()
            })
        };
        let kept = history((1..=30_000).map(sample));
        assert!(kept.events.len() <= MOST_KEPT);
        let shares = kept.selfplay.unwrap();
        assert!((shares.black_win_share - 0.55).abs() < 1e-9, "{shares:?}");
        assert!(kept.usage.tables().into_string().contains("<td>30,000</td>"));
    }

    #[test]
    fn shares_are_means_over_games() {
        let sample = |games, black_win_share| {
            Measured::Selfplay(Selfplay {
                games,
                black_win_share,
                unfinished_share: 0.0,
                ..Selfplay::default()
            })
        };
        let whole = history([sample(300, 1.0), sample(300, f64::NAN), sample(400, 0.2)]).selfplay;
        assert!((whole.unwrap().black_win_share - 0.8).abs() < 1e-9, "{whole:?}");
    }

    #[test]
    fn broken_losses_of_repeated_steps_count_once() {
        assert_eq!(history([10, 20, 30, 20, 30, 40].map(train)).broken_losses, 4);
    }

    #[test]
    fn only_the_newest_rating_of_a_model_is_kept() {
        let rating = |elo, anchored| {
            Measured::Rating(Rating {
                model_id: "a".into(),
                elo,
                anchored,
                ..Rating::default()
            })
        };
        let kept = history([rating(1.0, false), rating(2.0, true), rating(3.0, false)]);
        let elo = |event: &Event| event.scalars().into_iter().find(|(name, _)| *name == "elo");
        let elo: Vec<_> = kept.events.iter().filter_map(elo).map(|(_, elo)| elo).collect();
        assert_eq!(elo, [2.0, 3.0]);
    }
}
