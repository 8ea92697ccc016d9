//! Curves of self-play: its games, and its speed.

use tengen_metrics::{Selfplay, Train};

use super::Curves;
use crate::plot::{Axis, Plot, Series, Shape, Tone};

impl Curves<'_> {
    /// Figures of the self-play games over the time of the run.
    pub(crate) fn games(&self) -> Vec<Plot> {
        vec![
            self.over_time(
                "Game length",
                "Mean length of finished self-play games.",
                Axis::showing("plies", &[0.0]),
                vec![self.selfplay_curve("plies", Tone::BLUE, |games| games.mean_plies)],
            ),
            self.over_time(
                "Shares of games",
                "Unfinished games reached the ply limit and have no result. A tie counts half for Black.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![
                    self.selfplay_curve("won by Black", Tone::BLUE, |games| games.black_win_share * 100.0),
                    self.selfplay_curve("unfinished", Tone::ORANGE, |games| games.unfinished_share * 100.0),
                ],
            ),
            self.over_time(
                "Signs of collapse",
                "Of the newest games: passes before the end, as a share of all moves; games that end by two passes \
                 within a third of the board; and distinct first ten plies, as a share of all games. A network \
                 that learns to pass or sees only its own lines shows here first.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![
                    self.selfplay_curve("passes", Tone::BLUE, |games| games.pass_share * 100.0),
                    self.selfplay_curve("early ends", Tone::ORANGE, |games| games.early_end_share * 100.0),
                    self.selfplay_curve("distinct openings", Tone::TEAL, |games| {
                        games.distinct_opening_share * 100.0
                    }),
                ],
            ),
            self.over_time(
                "Komi and margin",
                "Estimated fair komi, and the mean margin (Black minus White after komi) of the games played.",
                Axis::showing("points", &[0.0]),
                vec![
                    self.selfplay_curve("fair komi", Tone::TEAL, |games| games.fair_komi),
                    self.selfplay_curve("mean margin", Tone::BLUE, |games| games.mean_margin),
                ],
            ),
        ]
    }

    /// Speeds, shares of time, and sizes over the time of the run.
    pub(crate) fn throughput(&self) -> Vec<Plot> {
        let trained = |(at, train): &(f64, &Train)| (at / self.time_unit(), train.positions_per_second);
        let trained = self.train.iter().map(trained).collect();
        let mut plots = vec![
            self.over_time(
                "Network evaluations",
                "Positions that the network evaluated for self-play.",
                Axis::showing("per second", &[0.0]),
                vec![self.selfplay_curve("evaluations", Tone::BLUE, |games| games.evaluations_per_second)],
            ),
            self.over_time(
                "Positions",
                "Plies played by self-play, and samples used in training.",
                Axis::showing("per second", &[0.0]),
                vec![
                    Series::new("trained on", Tone::ORANGE, Shape::Line, trained),
                    self.selfplay_curve("played", Tone::BLUE, |games| games.positions_per_second),
                ],
            ),
            self.over_time(
                "Training window",
                "Positions of the newest games, which training samples from.",
                Axis::showing("positions", &[0.0]),
                vec![self.selfplay_curve("window", Tone::BLUE, |games| games.window_positions as f64)],
            ),
            self.over_time(
                "Shares of time",
                "What the threads of self-play do: network (predictions, or waiting for a GPU), search, and waiting \
                 for the trainer; and how much of the time trainer and gate, which have threads of their own, work.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![
                    self.selfplay_curve("network", Tone::ORANGE, |games| games.predict_share * 100.0),
                    self.selfplay_curve("search", Tone::BLUE, |games| 100.0 * search_share(games)),
                    self.selfplay_curve("waiting", Tone::GRAY, |games| {
                        100.0 * (1.0 - games.predict_share - search_share(games)).max(0.0)
                    }),
                    self.selfplay_curve("training", Tone::TEAL, |games| games.training_share * 100.0),
                    self.selfplay_curve("gate", Tone::PURPLE, |games| games.gate_share * 100.0),
                ],
            ),
            self.over_time(
                "Requests to the store",
                "By all processes of the run; a bucket charges for each.",
                Axis::showing("per minute", &[0.0]),
                vec![self.selfplay_curve("requests", Tone::BLUE, |games| games.store_requests_per_minute)],
            ),
            self.over_time(
                "Evaluation cache",
                "Share of the requested positions that were answered from the cache.",
                Axis::showing("share, %", &[0.0, 100.0]),
                vec![self.selfplay_curve("answered by the cache", Tone::BLUE, |games| {
                    games.cache_hit_share * 100.0
                })],
            ),
        ];
        let gpu = self.over_time(
            "Time of the GPU",
            "When a GPU computed, by its own clock. Predictions of two streams count twice where they overlap.",
            Axis::showing("share, %", &[0.0, 100.0]),
            vec![
                self.selfplay_curve("busy", Tone::BLUE, |games| games.gpu_busy_share * 100.0),
                self.selfplay_curve("predictions", Tone::TEAL, |games| games.gpu_prediction_share * 100.0),
                self.selfplay_curve("training", Tone::ORANGE, |games| games.gpu_training_share * 100.0),
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

/// The share of their time that the threads of self-play spent on descending and on absorbing predictions.
fn search_share(games: &Selfplay) -> f64 {
    games.descend_share + games.absorb_share
}
