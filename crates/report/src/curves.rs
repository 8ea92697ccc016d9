//! The curves of a run, made from its metrics events.

use std::collections::BTreeMap;

use super::plot::{Axis, Plot, Series, Shape, Tone};
use crate::metrics::{Anchor, Event, Measured, Rating, Selfplay, Train, Validation};

/// Means over all self-play games of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WholeSelfplay {
    /// The games with figures.
    games: f64,
    /// The share won by Black, 0 to 1; a tie counts half.
    pub(super) black_win_share: f64,
    /// The share that reached the ply limit, 0 to 1.
    pub(super) unfinished_share: f64,
}

/// The events of a run, grouped by kind.
#[derive(Default)]
pub(super) struct Curves<'a> {
    train: Vec<(f64, &'a Train)>,
    validation: Vec<&'a Validation>,
    selfplay: Vec<(f64, &'a Selfplay)>,
    /// The newest rating of each model, ordered by the model's evaluations.
    ratings: Vec<Rating>,
    /// The newest rating of each anchor, weakest first.
    anchors: Vec<Anchor>,
    /// Seconds of the run so far.
    seconds: f64,
}

impl<'a> Curves<'a> {
    /// Groups events that are in chronological order. If a run was resumed from an older checkpoint, events after that
    /// checkpoint are dropped.
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
                | Measured::Anchor(_) => {}
            }
        }
        curves.selfplay.sort_by(|a, b| a.0.total_cmp(&b.0));
        curves.ratings = newest_ratings(events);
        curves.anchors = newest_anchors(events);
        curves
    }

    /// Means over all self-play games of the run.
    pub(super) fn whole_selfplay(&self) -> Option<WholeSelfplay> {
        let (mut sums, mut before) = (WholeSelfplay::default(), 0);
        for (_, games) in &self.selfplay {
            let played = games.games.saturating_sub(before) as f64;
            before = before.max(games.games);
            let figures = [games.black_win_share, games.unfinished_share];
            if played > 0.0 && figures.iter().all(|figure| figure.is_finite()) {
                sums.games += played;
                sums.black_win_share += played * games.black_win_share;
                sums.unfinished_share += played * games.unfinished_share;
            }
        }
        (sums.games > 0.0).then(|| WholeSelfplay {
            black_win_share: sums.black_win_share / sums.games,
            unfinished_share: sums.unfinished_share / sums.games,
            ..sums
        })
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

    /// The self-play events, in the order of time.
    pub(super) fn selfplay(&self) -> impl Iterator<Item = &Selfplay> {
        self.selfplay.iter().map(|(_, selfplay)| *selfplay)
    }

    /// Run time so far, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Number of training events whose total loss is not a number.
    pub(super) fn broken_losses(&self) -> usize {
        self.train
            .iter()
            .filter(|(_, train)| !train.total_loss.is_finite())
            .count()
    }

    /// Elo over evaluations and over CPU time.
    pub(super) fn strength(&self) -> Vec<Plot> {
        let over = |title, caption, label, cost: fn(&Rating) -> f64| {
            let point = |rating: &Rating| {
                let (low, high) = match (rating.low.is_finite(), rating.high.is_finite()) {
                    (true, true) => (rating.low, rating.high),
                    (true, false) => (rating.low, f64::INFINITY),
                    (false, true) => (f64::NEG_INFINITY, rating.high),
                    (false, false) => (rating.elo, rating.elo),
                };
                (cost(rating), rating.elo, low, high)
            };
            let points: Vec<_> = self.ratings.iter().map(point).collect();
            let mut series = vec![Series::banded("Elo with 95% interval", Tone::Blue, &points)];
            let last = points.last().map_or(0.0, |point| point.0);
            let tones = [Tone::Orange, Tone::Teal, Tone::Purple, Tone::Gray];
            series.extend(
                self.anchors
                    .iter()
                    .zip(tones.into_iter().cycle())
                    .map(|(anchor, tone)| {
                        let name = format!("{} ({})", anchor.name, known(anchor));
                        Series::new(
                            name,
                            tone,
                            Shape::Reference,
                            vec![(0.0, anchor.elo), (last, anchor.elo)],
                        )
                    }),
            );
            Plot {
                title,
                caption,
                x: Axis::showing(label, &[0.0]),
                y: Axis::new("Elo"),
                series,
            }
        };
        vec![
            over(
                "Strength over evaluations",
                "Each dot is a model, rated by matches against other models of this run and, where thin lines show \
                 their strength, against other players. A bar that reaches the edge of the plot is unbounded on that \
                 side: no game was lost, or none won, on the way to the players that fix the scale.",
                "network evaluations",
                |rating| rating.evaluations as f64,
            ),
            over(
                "Strength over CPU time",
                "The same models over their total cost: self-play, training and the gate.",
                "CPU seconds",
                |rating| rating.cpu_seconds,
            ),
        ]
    }

    /// The losses of the second half of the steps, each in percent of its mean there. A change of a hundredth can be
    /// seen, which on the axis of the whole run it cannot.
    fn late_losses(&self) -> Plot {
        let half = self.train.last().map_or(0, |last| last.1.step) / 2;
        let late: Vec<&Train> = self.train.iter().map(|at| at.1).filter(|at| at.step >= half).collect();
        let curve = |name, tone, figure: fn(&Train) -> f64| {
            let mean = late.iter().map(|train| figure(train)).sum::<f64>() / late.len() as f64;
            let point = |train: &&Train| (train.step as f64, 100.0 * figure(train) / mean);
            Series::new(name, tone, Shape::Line, late.iter().map(point).collect())
        };
        Plot {
            title: "Late losses",
            caption: "The second half of the steps: each loss in percent of its mean there, to show small changes.",
            x: Axis::new("optimizer steps"),
            y: Axis::new("% of the mean"),
            series: loss_curves(curve),
        }
    }

    /// Losses and optimizer statistics over steps.
    pub(super) fn training(&self) -> Vec<Plot> {
        let curve = |name, tone, figure: fn(&Train) -> f64| {
            let points = self
                .train
                .iter()
                .map(|(_, train)| (train.step as f64, figure(train)))
                .collect();
            Series::new(name, tone, Shape::Line, points)
        };
        let plot = |title, caption, y, series| Plot {
            title,
            caption,
            x: Axis::new("optimizer steps"),
            y,
            series,
        };
        vec![
            plot(
                "Losses",
                "Policy, final margin and value (the result) are cross-entropies in nats; ownership is a mean squared \
                 error per point. The total is the weighted sum that training minimizes.",
                Axis::showing("loss", &[0.0]),
                loss_curves(curve),
            ),
            self.late_losses(),
            plot(
                "Policy entropy",
                "Entropy of the network's policy: low if it is sure of its moves. A sudden drop to zero means that it \
                 stopped exploring.",
                Axis::showing("entropy, nats", &[0.0]),
                vec![curve("network policy", Tone::Blue, |train| train.policy_entropy)],
            ),
            plot(
                "Gradient norm",
                "Before clipping.",
                Axis::showing("norm", &[0.0]),
                vec![curve("gradient", Tone::Blue, |train| train.grad_norm)],
            ),
            plot(
                "Learning rate",
                "At the last step of each interval.",
                Axis::showing("learning rate", &[0.0]),
                vec![curve("learning rate", Tone::Blue, |train| train.learning_rate)],
            ),
        ]
    }

    /// How well the network predicts held-out games and the training window, over steps.
    pub(super) fn validation(&self) -> Vec<Plot> {
        let curve = |name, tone, figure: fn(&Validation) -> f64| {
            let points = self.validation.iter().map(|at| (at.step as f64, figure(at))).collect();
            Series::new(name, tone, Shape::Line, points)
        };
        let plot = |title, caption, y, held_out, window| Plot {
            title,
            caption,
            x: Axis::new("optimizer steps"),
            y,
            series: vec![
                curve("window", Tone::Orange, window),
                curve("held out", Tone::Blue, held_out),
            ],
        };
        vec![
            plot(
                "Policy loss on held-out games",
                "Held-out games are never trained on. If their loss rises above that on the window, the network \
                 remembers games instead of learning from them.",
                Axis::new("loss, nats"),
                |at| at.policy_loss,
                |at| at.window_policy_loss,
            ),
            plot(
                "Value loss on held-out games",
                "Cross-entropy of win, tie and loss.",
                Axis::new("loss, nats"),
                |at| at.value_loss,
                |at| at.window_value_loss,
            ),
            plot(
                "First moves that agree with the search",
                "Share of the positions in which the network's most probable move is that of the search.",
                Axis::showing("share, %", &[0.0, 100.0]),
                |at| at.policy_top1 * 100.0,
                |at| at.window_policy_top1 * 100.0,
            ),
            plot(
                "Brier score",
                "Mean squared error of the predicted score of a game (1 a win, ½ a tie). Always predicting ½ gives \
                 0.25.",
                Axis::showing("score", &[0.0]),
                |at| at.brier,
                |at| at.window_brier,
            ),
            Plot {
                title: "Brier score at the end of random games",
                caption: "The last positions of games between random players, which no trained player would reach: a \
                          network that is no better there than ½, 0.25, is blind outside its own lines.",
                x: Axis::new("optimizer steps"),
                y: Axis::showing("score", &[0.0]),
                series: vec![curve("random games", Tone::Blue, |at| at.random_brier)],
            },
            plot(
                "Calibration error",
                "How far predicted scores are from what happened, on average, in ten bins of predicted scores.",
                Axis::showing("error", &[0.0]),
                |at| at.calibration_error,
                |at| at.window_calibration_error,
            ),
            plot(
                "Error of the expected margin",
                "Mean distance from the final margin after komi.",
                Axis::showing("points", &[0.0]),
                |at| at.margin_error,
                |at| at.window_margin_error,
            ),
        ]
    }

    /// What the self-play games look like, over the time of the run.
    pub(super) fn games(&self) -> Vec<Plot> {
        vec![
            self.over_time(
                "Game length",
                "Mean length of finished self-play games.",
                Axis::showing("plies", &[0.0]),
                vec![self.selfplay_curve("plies", Tone::Blue, |games| games.mean_plies)],
            ),
            self.over_time(
                "Shares of games",
                "Unfinished games reached the ply limit and have no result. A tie counts half for Black.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![
                    self.selfplay_curve("won by Black", Tone::Blue, |games| games.black_win_share * 100.0),
                    self.selfplay_curve("unfinished", Tone::Orange, |games| games.unfinished_share * 100.0),
                ],
            ),
            self.over_time(
                "Signs of collapse",
                "Of the newest games: passes before the end, as a share of all moves; games that end by two passes \
                 within a third of the board; and distinct first ten plies, as a share of all games. A network \
                 that learns to pass or sees only its own lines shows here first.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![
                    self.selfplay_curve("passes", Tone::Blue, |games| games.pass_share * 100.0),
                    self.selfplay_curve("early ends", Tone::Orange, |games| games.early_end_share * 100.0),
                    self.selfplay_curve("distinct openings", Tone::Teal, |games| {
                        games.distinct_opening_share * 100.0
                    }),
                ],
            ),
            self.over_time(
                "Komi and margin",
                "Estimated fair komi, and the mean margin (Black minus White after komi) of the games played.",
                Axis::showing("points", &[0.0]),
                vec![
                    self.selfplay_curve("fair komi", Tone::Teal, |games| games.fair_komi),
                    self.selfplay_curve("mean margin", Tone::Blue, |games| games.mean_margin),
                ],
            ),
        ]
    }

    /// Speeds and sizes over the time of the run.
    pub(super) fn throughput(&self) -> Vec<Plot> {
        let trained = |(at, train): &(f64, &Train)| (at / self.time_unit(), train.positions_per_second);
        let trained = self.train.iter().map(trained).collect();
        let mut plots = vec![
            self.over_time(
                "Network evaluations",
                "Positions that the network evaluated for self-play.",
                Axis::showing("per second", &[0.0]),
                vec![self.selfplay_curve("evaluations", Tone::Blue, |games| games.evaluations_per_second)],
            ),
            self.over_time(
                "Positions",
                "Plies played by self-play, and samples used in training.",
                Axis::showing("per second", &[0.0]),
                vec![
                    Series::new("trained on", Tone::Orange, Shape::Line, trained),
                    self.selfplay_curve("played", Tone::Blue, |games| games.positions_per_second),
                ],
            ),
            self.over_time(
                "Training window",
                "Positions of the newest games, which training samples from.",
                Axis::showing("positions", &[0.0]),
                vec![self.selfplay_curve("window", Tone::Blue, |games| games.window_positions as f64)],
            ),
            self.over_time(
                "Shares of time",
                "What the threads of self-play do: network (predictions, or waiting for a GPU), search, and waiting \
                 for the trainer; and how much of the time trainer and gate, which have threads of their own, work.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![
                    self.selfplay_curve("network", Tone::Orange, |games| games.predict_share * 100.0),
                    self.selfplay_curve("search", Tone::Blue, |games| 100.0 * search_share(games)),
                    self.selfplay_curve("waiting", Tone::Gray, |games| {
                        100.0 * (1.0 - games.predict_share - search_share(games)).max(0.0)
                    }),
                    self.selfplay_curve("training", Tone::Teal, |games| games.training_share * 100.0),
                    self.selfplay_curve("gate", Tone::Purple, |games| games.gate_share * 100.0),
                ],
            ),
            self.over_time(
                "Requests to the store",
                "By all processes of the run; a bucket charges for each.",
                Axis::showing("per minute", &[0.0]),
                vec![self.selfplay_curve("requests", Tone::Blue, |games| games.store_requests_per_minute)],
            ),
            self.over_time(
                "Evaluation cache",
                "Share of the requested positions that were answered from the cache.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![self.selfplay_curve("answered by the cache", Tone::Blue, |games| {
                    games.cache_hit_share * 100.0
                })],
            ),
        ];
        let gpu = self.over_time(
            "Time of the GPU",
            "When a GPU computed, by its own clock. Predictions of two streams count twice where they overlap.",
            Axis::showing("share, %", &[0.0, 100.0]),
            vec![
                self.selfplay_curve("busy", Tone::Blue, |games| games.gpu_busy_share * 100.0),
                self.selfplay_curve("predictions", Tone::Teal, |games| games.gpu_prediction_share * 100.0),
                self.selfplay_curve("training", Tone::Orange, |games| games.gpu_training_share * 100.0),
            ],
        );
        // Most runs have no GPU.
        plots.extend(Some(gpu).filter(Plot::has_data));
        plots
    }

    /// A plot over the time of the run.
    fn over_time(&self, title: &'static str, caption: &'static str, y: Axis, series: Vec<Series>) -> Plot {
        Plot {
            title,
            caption,
            x: Axis::showing(self.time_label(), &[0.0]),
            y,
            series,
        }
    }

    fn selfplay_curve(&self, name: &'static str, tone: Tone, figure: fn(&Selfplay) -> f64) -> Series {
        let points = self
            .selfplay
            .iter()
            .map(|(at, games)| (at / self.time_unit(), figure(games)))
            .collect();
        Series::new(name, tone, Shape::Line, points)
    }

    /// The unit of the time axes, in seconds.
    fn time_unit(&self) -> f64 {
        match self.seconds {
            seconds if seconds < 300.0 => 1.0,
            seconds if seconds < 3.0 * 3600.0 => 60.0,
            _ => 3600.0,
        }
    }

    fn time_label(&self) -> &'static str {
        match self.time_unit() {
            unit if unit > 60.0 => "hours of the run",
            unit if unit > 1.0 => "minutes of the run",
            _ => "seconds of the run",
        }
    }
}

/// The curves of all losses, each made from its name, its color, and its figure.
fn loss_curves(curve: impl Fn(&'static str, Tone, fn(&Train) -> f64) -> Series) -> Vec<Series> {
    vec![
        curve("total", Tone::Gray, |train| train.total_loss),
        curve("policy", Tone::Blue, |train| train.policy_loss),
        curve("margin", Tone::Orange, |train| train.margin_loss),
        curve("value", Tone::Teal, |train| train.value_loss),
        curve("ownership", Tone::Purple, |train| train.ownership_loss),
    ]
}

/// The share of the time of self-play's threads in which searches descended or absorbed predictions.
fn search_share(games: &Selfplay) -> f64 {
    games.descend_share + games.absorb_share
}

/// An anchor's Elo as far as its games tell.
fn known(anchor: &Anchor) -> String {
    match (anchor.low.is_finite(), anchor.high.is_finite()) {
        _ if anchor.pinned => format!("{:.0}", anchor.elo),
        (true, true) => format!("{:.0}", anchor.elo),
        (true, false) => format!("{:.0} or more", anchor.low),
        (false, true) => format!("{:.0} or less", anchor.high),
        (false, false) => "unknown".to_owned(),
    }
}

/// Milliseconds within which one rating writes all of its events.
const ONE_RATING_MS: i64 = 60_000;

/// The anchors of the newest rating, weakest first.
fn newest_anchors(events: &[Event]) -> Vec<Anchor> {
    let all = events.iter().filter_map(|event| match &event.measured {
        Measured::Anchor(anchor) => Some((event.time_ms, anchor)),
        _ => None,
    });
    let last = all.clone().map(|(time_ms, _)| time_ms).max().unwrap_or(0);
    let newest: BTreeMap<&str, &Anchor> = all
        .filter(|(time_ms, _)| last - time_ms < ONE_RATING_MS)
        .map(|(_, anchor)| (anchor.name.as_str(), anchor))
        .collect();
    let mut anchors: Vec<_> = newest.into_values().cloned().collect();
    anchors.sort_by(|a, b| a.elo.total_cmp(&b.elo));
    anchors
}

/// The newest rating of each model, ordered by the model's cost. If some ratings are on a scale fixed by players
/// outside the run, only those count. Otherwise, a model without a rating counts with the strength it was published
/// with.
pub(super) fn newest_ratings(events: &[Event]) -> Vec<Rating> {
    let is_anchored = |event: &Event| matches!(&event.measured, Measured::Rating(rating) if rating.anchored);
    let anchored = events.iter().any(is_anchored);
    let mut newest: BTreeMap<&str, Rating> = BTreeMap::new();
    for event in events.iter().filter(|event| !anchored || is_anchored(event)) {
        match &event.measured {
            Measured::Model(model) => {
                let Some(elo) = model.elo else { continue };
                newest.entry(&model.model_id).or_insert(Rating {
                    model_id: model.model_id.clone(),
                    elo,
                    low: f64::NAN,
                    high: f64::NAN,
                    evaluations: model.evaluations,
                    cpu_seconds: model.cpu_seconds,
                    anchored: false,
                });
            }
            Measured::Rating(rating) => {
                newest.insert(&rating.model_id, rating.clone());
            }
            _ => {}
        }
    }
    let mut ratings: Vec<_> = newest.into_values().collect();
    ratings.sort_by(|a, b| {
        a.evaluations
            .cmp(&b.evaluations)
            .then_with(|| a.model_id.cmp(&b.model_id))
    });
    ratings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Model;

    fn events(measured: Vec<Measured>) -> Vec<Event> {
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
        assert_eq!(curves.broken_losses(), 4);
    }

    #[test]
    fn shares_are_means_over_all_games() {
        let sample = |games, black_win_share| {
            Measured::Selfplay(Selfplay {
                games,
                black_win_share,
                unfinished_share: 0.0,
                ..Selfplay::default()
            })
        };
        let events = events(vec![sample(300, 1.0), sample(300, f64::NAN), sample(400, 0.2)]);
        let whole = Curves::of(&events).whole_selfplay().unwrap();
        assert!((whole.black_win_share - 0.8).abs() < 1e-9, "{whole:?}");
    }

    #[test]
    fn the_newest_rating_of_each_model_counts() {
        let rating = |model_id: &str, elo, evaluations| {
            Measured::Rating(Rating {
                model_id: model_id.into(),
                elo,
                evaluations,
                ..Rating::default()
            })
        };
        let model = |model_id: &str, elo, evaluations| {
            Measured::Model(Model {
                model_id: model_id.into(),
                elo,
                evaluations,
                ..Model::default()
            })
        };
        let events = events(vec![
            model("b", Some(1.0), 20),
            rating("b", 5.0, 20),
            rating("a", 0.0, 10),
            rating("b", 7.0, 20),
            model("c", Some(9.0), 30),
            model("d", None, 40),
        ]);
        let found: Vec<_> = newest_ratings(&events)
            .into_iter()
            .map(|rating| (rating.model_id, rating.elo))
            .collect();
        assert_eq!(found, [("a".into(), 0.0), ("b".into(), 7.0), ("c".into(), 9.0)]);
    }

    #[test]
    fn ratings_of_different_scales_are_not_mixed() {
        let rating = |model_id: &str, elo, anchored| {
            Measured::Rating(Rating {
                model_id: model_id.into(),
                elo,
                anchored,
                ..Rating::default()
            })
        };
        let anchor = |name: &str, elo| {
            Measured::Anchor(Anchor {
                name: name.into(),
                elo,
                pinned: true,
                ..Anchor::default()
            })
        };
        let events = events(vec![
            rating("a", 0.0, false),
            anchor("strong", 1900.0),
            rating("a", 1500.0, true),
            anchor("strong", 1946.0),
            anchor("random", -300.0),
            rating("a", 3.0, false),
            rating("b", 900.0, false),
        ]);
        let curves = Curves::of(&events);
        let found: Vec<_> = curves
            .ratings()
            .iter()
            .map(|rating| (rating.model_id.as_str(), rating.elo))
            .collect();
        assert_eq!(found, [("a", 1500.0)]);
        let page = curves.strength()[0].figure().into_string();
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(at("random (-300)") < at("strong (1946)"), "{page}");

        // A later rating with other players; one of them has lost every game.
        let mut later = events;
        let lost = Measured::Anchor(Anchor {
            name: "weak".into(),
            elo: 800.0,
            // As read from a file.
            low: f64::NAN,
            high: 1204.6,
            pinned: false,
        });
        let time_ms = later.last().unwrap().time_ms + 2 * ONE_RATING_MS;
        later.push(Event {
            time_ms,
            ..Event::now(10.0, lost)
        });
        let page = Curves::of(&later).strength()[0].figure().into_string();
        assert!(
            page.contains("weak (1205 or less)") && !page.contains("strong"),
            "{page}"
        );
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
