//! The curves of a run, made from its metrics events.

mod games;
mod ratings;
mod training;

pub(super) use ratings::{gate_matches, intervals, newest_ratings};

use ratings::newest_anchors;
use tengen_metrics::{Anchor, Event, Measured, Rating, Selfplay, Train, Validation};

/// The events of a run, grouped by kind.
#[derive(Default)]
pub(super) struct Curves<'a> {
    train: Vec<(f64, &'a Train)>,
    validation: Vec<&'a Validation>,
    selfplay: Vec<(f64, &'a Selfplay)>,
    /// The newest rating of each model, ordered by the model's evaluations.
    ratings: Vec<Rating>,
    /// The interval that the curves show of each rating.
    intervals: Vec<(f64, f64)>,
    /// The anchors of the newest rating, weakest first.
    anchors: Vec<Anchor>,
    /// Seconds of the run so far.
    seconds: f64,
}

impl<'a> Curves<'a> {
    /// Groups events that are in chronological order. A run that resumes from an older checkpoint repeats steps; the
    /// training and validation events of their first time are dropped.
    pub(super) fn of(events: &'a [Event]) -> Curves<'a> {
        let mut curves = Curves::default();
        for event in events {
            let at = event.elapsed_seconds;
            curves.seconds = curves.seconds.max(at);
            match &event.measured {
                Measured::Train(train) => {
                    while curves.train.pop_if(|last| last.1.step >= train.step).is_some() {}
                    curves.train.push((at, train));
                }
                Measured::Validation(validation) => {
                    while curves.validation.pop_if(|last| last.step >= validation.step).is_some() {}
                    curves.validation.push(validation);
                }
                Measured::Selfplay(selfplay) => {
                    curves.selfplay.push((at, selfplay));
                }
                Measured::Start(_)
                | Measured::Gate(_)
                | Measured::Model(_)
                | Measured::Rating(_)
                | Measured::Anchor(_)
                | Measured::Warning(_) => {}
            }
        }
        curves.selfplay.sort_by(|a, b| a.0.total_cmp(&b.0));
        curves.ratings = newest_ratings(events);
        curves.intervals = intervals(&curves.ratings, events);
        curves.anchors = newest_anchors(events);
        curves
    }

    /// The newest training event.
    pub(super) fn last_train(&self) -> Option<&Train> {
        self.train.last().map(|last| last.1)
    }

    /// The newest self-play event.
    pub(super) fn last_selfplay(&self) -> Option<&Selfplay> {
        self.selfplay.last().map(|last| last.1)
    }

    /// The newest rating of each model, cheapest model first.
    pub(super) fn ratings(&self) -> &[Rating] {
        &self.ratings
    }

    /// Run time so far, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn events(measured: Vec<Measured>) -> Vec<Event> {
        let at = |(i, measured)| Event {
            time_ms: i as i64,
            elapsed_seconds: i as f64,
            measured,
        };
        measured.into_iter().enumerate().map(at).collect()
    }

    #[test]
    fn steps_repeated_after_a_crash_count_once() {
        let steps = [10, 20, 30, 20, 30, 40].map(|step| {
            Measured::Train(Train {
                step,
                ..Train::default()
            })
        });
        let events = events(steps.into());
        let curves = Curves::of(&events);
        let steps: Vec<_> = curves
            .train
            .iter()
            .map(|(at, train)| (*at as u64, train.step))
            .collect();
        assert_eq!(steps, [(0, 10), (3, 20), (4, 30), (5, 40)]);
    }

    #[test]
    fn a_run_without_events_has_empty_plots() {
        let curves = Curves::of(&[]);
        for plot in [
            curves.strength(),
            curves.training(),
            curves.validation(),
            curves.games(),
            curves.throughput(),
        ]
        .iter()
        .flatten()
        {
            let figure = plot.figure().into_string();
            assert!(figure.contains("No data yet"), "{figure}");
        }
    }
}
