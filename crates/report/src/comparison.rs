//! Writes a page that compares learning curves.

use std::path::Path;

use anyhow::Context;
use maud::html;

use super::page::document;
use super::plot::{Axis, Plot, Series, Shape, Tone};
use super::{Refresh, Table, replace};

/// One learning curve.
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Points in ascending order of cost: CPU seconds, network evaluations, Elo, and the ends of Elo's interval, which
    /// are not finite if unknown.
    pub points: Vec<[f64; 5]>,
}

/// What a setting is worth.
pub struct Effect {
    /// Its name.
    pub name: String,
    /// The difference that it makes, in Elo.
    pub elo: f64,
    /// Lower end of its interval; infinite if unknown.
    pub low: f64,
    /// Upper end of its interval; infinite if unknown.
    pub high: f64,
}

/// Learning curves, effects of settings, and tables about them.
pub struct Comparison {
    /// The title of the page.
    pub title: String,
    /// One sentence about what is compared.
    pub about: String,
    /// The curves.
    pub curves: Vec<Curve>,
    /// What settings are worth; often empty.
    pub effects: Vec<Effect>,
    /// Tables with their titles.
    pub tables: Vec<(String, Table)>,
}

impl Comparison {
    /// Writes the page.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, out: &Path) -> anyhow::Result<()> {
        replace(out, self.html().as_bytes()).with_context(|| format!("cannot write the page {}", out.display()))
    }

    fn html(&self) -> String {
        let effects = (!self.effects.is_empty()).then(|| self.effects_plot());
        let curves = [
            self.plot(
                "Strength over CPU time",
                "CPU seconds of self-play, training and the gate",
                0,
            ),
            self.plot("Strength over evaluations", "network evaluations in self-play", 1),
        ];
        let plots: Vec<Plot> = effects.into_iter().chain(curves).collect();
        let body = html! { main {
            h1 { (self.title) }
            p.soft { (self.about) }
            div.plots { @for plot in &plots { (plot.figure()) } }
            @for (title, table) in &self.tables {
                h2 { (title) }
                (table.html())
            }
        } };
        document(&self.title, Refresh::Never, &body)
    }

    /// Elo over a cost; `cost` is its index in a point.
    fn plot(&self, title: &'static str, label: &'static str, cost: usize) -> Plot {
        let series = |(curve, tone): (&Curve, Tone)| {
            let point = |point: &[f64; 5]| {
                let [_, _, elo, low, high] = *point;
                let known = |end: f64| if end.is_finite() { end } else { elo };
                (point[cost], elo, known(low), known(high))
            };
            let points: Vec<_> = curve.points.iter().map(point).collect();
            Series::banded(curve.name.clone(), tone, &points)
        };
        Plot {
            title,
            caption: "Each dot is a mean over the seeds; the band is its 95% interval, which one seed does not have.",
            x: Axis::showing(label, &[0.0]),
            y: Axis::new("Elo"),
            series: self.curves.iter().zip(Tone::all()).map(series).collect(),
        }
    }

    /// The effects side by side, in the order of the list.
    fn effects_plot(&self) -> Plot {
        let count = self.effects.len() as f64;
        let zero = Series::new(
            "no effect",
            Tone::GRAY,
            Shape::Reference,
            vec![(0.0, 0.0), (count + 1.0, 0.0)],
        );
        let series = |((index, effect), tone): ((usize, &Effect), Tone)| {
            let place = (index + 1) as f64;
            let name = format!("{place}: {}", effect.name);
            Series::barred(name, tone, &[(place, effect.elo, effect.low, effect.high)])
        };
        let effects = self.effects.iter().enumerate().zip(Tone::all()).map(series);
        Plot {
            title: "What each factor is worth",
            caption: "Runs with a factor against runs without it; the bars are 95% intervals.",
            x: Axis::new("factor, by its place in the table"),
            y: Axis::new("Elo"),
            series: std::iter::once(zero).chain(effects).collect(),
        }
    }
}
