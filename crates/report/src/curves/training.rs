//! Curves of training: losses, and how well the network predicts games.

use tengen_metrics::{Train, Validation};

use super::Curves;
use crate::plot::{Axis, Plot, Series, Shape, Tone};

impl Curves<'_> {
    /// Losses and optimizer statistics over steps.
    pub(crate) fn training(&self) -> Vec<Plot> {
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
                vec![curve("network policy", Tone::BLUE, |train| train.policy_entropy)],
            ),
            plot(
                "Gradient norm",
                "Before clipping.",
                Axis::showing("norm", &[0.0]),
                vec![curve("gradient", Tone::BLUE, |train| train.grad_norm)],
            ),
            plot(
                "Learning rate",
                "At the last step of each interval.",
                Axis::showing("learning rate", &[0.0]),
                vec![curve("learning rate", Tone::BLUE, |train| train.learning_rate)],
            ),
        ]
    }

    /// How well the network predicts held-out games and the training window, over steps.
    pub(crate) fn validation(&self) -> Vec<Plot> {
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
                curve("window", Tone::ORANGE, window),
                curve("held out", Tone::BLUE, held_out),
            ],
        };
        vec![
            plot(
                "Total loss on held-out games",
                "Held-out games are never trained on. If their loss rises above that on the window, the network \
                 remembers games instead of learning from them.",
                Axis::new("loss"),
                |at| at.total_loss,
                |at| at.window_total_loss,
            ),
            plot(
                "Policy loss on held-out games",
                "Cross-entropy of the search's policy targets.",
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
                "Margin loss on held-out games",
                "Cross-entropy of the final margin.",
                Axis::new("loss, nats"),
                |at| at.margin_loss,
                |at| at.window_margin_loss,
            ),
            plot(
                "Ownership loss on held-out games",
                "Of the expected owner of every point at the end, as in training.",
                Axis::new("loss per point"),
                |at| at.ownership_loss,
                |at| at.window_ownership_loss,
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
                series: vec![curve("random games", Tone::BLUE, |at| at.random_brier)],
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

    /// The losses of the second half of the steps, each in percent of its mean there. They show changes of one percent,
    /// which are too small to see on the axis of the whole run.
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
}

/// The curves of all losses; `curve` makes each from its name, color, and figure.
fn loss_curves(curve: impl Fn(&'static str, Tone, fn(&Train) -> f64) -> Series) -> Vec<Series> {
    vec![
        curve("total", Tone::GRAY, |train| train.total_loss),
        curve("policy", Tone::BLUE, |train| train.policy_loss),
        curve("margin", Tone::ORANGE, |train| train.margin_loss),
        curve("value", Tone::TEAL, |train| train.value_loss),
        curve("ownership", Tone::PURPLE, |train| train.ownership_loss),
    ]
}
