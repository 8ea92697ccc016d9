//! A page that compares learning curves.

use std::path::Path;

use anyhow::Context;
use maud::{DOCTYPE, PreEscaped, html};

use super::plot::{Axis, Plot, Series, Tone};
use super::{Table, replace};

/// One learning curve.
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// CPU seconds, network evaluations, Elo, and the ends of the interval of the Elo, in ascending order; an end that
    /// is not known is not finite.
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
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Tengen: " (self.title) }
                    style { (PreEscaped(include_str!("style.css"))) }
                }
                body { main {
                    h1 { (self.title) }
                    p.soft { (self.about) }
                    div.plots { @for plot in &plots { (plot.figure()) } }
                    @for (title, table) in &self.tables {
                        h2 { (title) }
                        (table.html())
                    }
                } }
            }
        };
        page.into_string()
    }

    /// Elo over a cost; `cost` is its index in a point.
    fn plot(&self, title: &'static str, label: &'static str, cost: usize) -> Plot {
        let tones = [Tone::Blue, Tone::Orange, Tone::Teal, Tone::Purple, Tone::Gray];
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
            series: self.curves.iter().zip(tones.into_iter().cycle()).map(series).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Align;

    #[test]
    fn the_page_holds_curves_and_tables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.html");
        let mut table = Table::new("arm", Align::Left).column("Elo", Align::Right);
        table.row(vec!["<b>".to_owned(), "+5".to_owned()]);
        let curve = |name: &str, low, high| Curve {
            name: name.to_owned(),
            points: vec![[10.0, 1e5, 100.0, low, high], [20.0, 2e5, 200.0, low, high]],
        };
        let page = Comparison {
            title: "visits".to_owned(),
            about: "two arms".to_owned(),
            curves: vec![curve("eight", 50.0, 250.0), curve("four", f64::NAN, f64::NAN)],
            tables: vec![("Arms".to_owned(), table)],
        };
        page.write(&path).unwrap();
        let html = std::fs::read_to_string(&path).unwrap();
        for part in [
            "<svg",
            "eight",
            "four",
            "&lt;b&gt;",
            "two arms",
            "eight: 200 at 200k network evaluations",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
