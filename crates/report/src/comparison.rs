//! Writes a page that compares learning curves.

use std::path::Path;

use anyhow::Context;
use maud::html;

use super::page::document;
use super::plot::{Axis, Plot, Series, Tone};
use super::{Refresh, Table, replace};

/// One learning curve.
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Points in ascending order of cost: CPU seconds, network evaluations, Elo, and the ends of Elo's interval, which
    /// are not finite if unknown.
    pub points: Vec<[f64; 5]>,
}

/// Learning curves, and tables about them.
pub struct Comparison {
    /// The title of the page.
    pub title: String,
    /// One sentence about what is compared.
    pub about: String,
    /// The curves.
    pub curves: Vec<Curve>,
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
        let plots = [
            self.plot(
                "Strength over CPU time",
                "CPU seconds of self-play, training and the gate",
                0,
            ),
            self.plot("Strength over evaluations", "network evaluations in self-play", 1),
        ];
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
}
