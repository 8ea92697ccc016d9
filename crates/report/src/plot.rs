//! Draws curves with labeled axes as inline SVG.
//!
//! They are drawn at twice their size and scaled down by the `viewBox`, because plotters rounds to whole pixels. The
//! colors are plain values in the SVG, which the page's style sheet replaces in dark mode.

use std::borrow::Cow;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// Size of the drawing, twice its size on the screen.
const WIDTH: u32 = 1080;
const HEIGHT: u32 = 600;
/// Longer curves are averaged down to at most this many points.
const MAX_POINTS: usize = 240;
/// Maximum number of points of a curve that show their values on hover.
const MAX_HOVERS: usize = 60;

const INK: RGBColor = RGBColor(0x5f, 0x66, 0x6d);
const GRID: RGBColor = RGBColor(0xe2, 0xe5, 0xe8);

/// The color of a curve. People who are color-blind can tell the colors apart, too. The style sheet has the same values
/// and gives curves of different colors different dashes or widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tone(u32);

impl Tone {
    pub(super) const BLUE: Tone = Tone(0x0000_60a8);
    pub(super) const ORANGE: Tone = Tone(0x00c2_4e00);
    pub(super) const TEAL: Tone = Tone(0x0000_875f);
    pub(super) const PURPLE: Tone = Tone(0x00b0_568f);
    pub(super) const GRAY: Tone = Tone(0x002b_3036);
    const LIGHTER: [u32; 5] = [0x003a_9bdc, 0x00e0_8a2b, 0x003d_be96, 0x00d9_8fc2, 0x0085_8d95];

    /// The colors of many curves: as strong as possible, then lighter ones, then the first ones again.
    pub(super) fn all() -> impl Iterator<Item = Tone> {
        let strong = [Tone::BLUE, Tone::ORANGE, Tone::TEAL, Tone::PURPLE, Tone::GRAY];
        strong.into_iter().chain(Tone::LIGHTER.map(Tone)).cycle()
    }

    fn color(self) -> RGBColor {
        let [_, red, green, blue] = self.0.to_be_bytes();
        RGBColor(red, green, blue)
    }

    /// A short piece of a curve of this shape for the legend.
    fn key(self, shape: Shape) -> Markup {
        let RGBColor(red, green, blue) = self.color();
        let stroke = format!("#{red:02X}{green:02X}{blue:02X}");
        html! {
            svg.plot viewBox="0 0 88 18" aria-hidden="true" {
                polyline points="0,9 88,9" stroke=(stroke) stroke-width=(shape.width()) {}
            }
        }
    }
}

/// An axis: its label and the values that must be visible.
pub(super) struct Axis {
    /// Quantity and unit, such as `steps` or `loss, nats`.
    pub(super) label: &'static str,
    /// Values that must be within the axis range.
    pub(super) shows: Vec<f64>,
}

impl Axis {
    /// An axis whose range is that of the data.
    pub(super) fn new(label: &'static str) -> Axis {
        Axis {
            label,
            shows: Vec::new(),
        }
    }

    /// An axis whose range also includes these values.
    pub(super) fn showing(label: &'static str, values: &[f64]) -> Axis {
        Axis {
            label,
            shows: values.to_vec(),
        }
    }
}

/// How the points of a curve are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Line,
    /// A line with a dot on every point.
    Dots,
    /// A thin line for comparison.
    Reference,
}

impl Shape {
    /// The width of the line, in pixels of the plot.
    fn width(self) -> u32 {
        match self {
            Shape::Line | Shape::Dots => 4,
            Shape::Reference => 2,
        }
    }
}

pub(super) struct Series {
    pub(super) name: Cow<'static, str>,
    pub(super) tone: Tone,
    pub(super) shape: Shape,
    /// Points (x, y) in ascending order of x.
    pub(super) points: Vec<(f64, f64)>,
    /// The interval of each point: (x, low, high); empty if the points have none. An infinite end is drawn at the edge
    /// of the plot.
    pub(super) intervals: Vec<(f64, f64, f64)>,
    /// Whether the intervals form a shaded band around the curve.
    pub(super) is_banded: bool,
}

impl Series {
    /// A curve without intervals. Drops points that are not finite and averages long curves down.
    pub(super) fn new(name: impl Into<Cow<'static, str>>, tone: Tone, shape: Shape, points: Vec<(f64, f64)>) -> Series {
        Series {
            name: name.into(),
            tone,
            shape,
            points: thinned(points),
            intervals: Vec::new(),
            is_banded: false,
        }
    }

    /// Like [`Series::barred`], for intervals of the same kind, which form a band.
    pub(super) fn banded(name: impl Into<Cow<'static, str>>, tone: Tone, points: &[(f64, f64, f64, f64)]) -> Series {
        Series {
            is_banded: true,
            ..Series::barred(name, tone, points)
        }
    }

    /// A curve whose points have intervals, from (x, y, low, high). A long curve keeps only evenly spaced points, which
    /// are not averaged.
    pub(super) fn barred(name: impl Into<Cow<'static, str>>, tone: Tone, points: &[(f64, f64, f64, f64)]) -> Series {
        let finite = |p: &&(f64, f64, f64, f64)| p.0.is_finite() && p.1.is_finite() && !p.2.is_nan() && !p.3.is_nan();
        let step = points.len().div_ceil(MAX_POINTS).max(1);
        // Counted from the end, so that the newest point is always kept.
        let mut kept: Vec<_> = points.iter().filter(finite).rev().step_by(step).collect();
        kept.reverse();
        let (points, intervals) = kept
            .into_iter()
            .map(|&(x, y, low, high)| ((x, y), (x, low, high)))
            .unzip();
        Series {
            name: name.into(),
            tone,
            shape: Shape::Dots,
            points,
            intervals,
            is_banded: false,
        }
    }
}

impl Series {
    /// The name, the value of a point, and its interval as far as that is bounded.
    fn says(&self, place: usize) -> String {
        let (_, y) = self.points[place];
        let interval = match self.intervals.get(place) {
            Some(&(_, low, high)) if low < high => match (low.is_finite(), high.is_finite()) {
                (true, true) => format!(" ({} to {})", alone(low), alone(high)),
                (true, false) => format!(" ({} or more)", alone(low)),
                (false, true) => format!(" ({} or less)", alone(high)),
                (false, false) => String::new(),
            },
            _ => String::new(),
        };
        format!("{}: {}{interval}", self.name, alone(y))
    }
}

/// Curves on one pair of axes.
pub(super) struct Plot {
    pub(super) title: &'static str,
    /// One sentence that explains the plot.
    pub(super) caption: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

impl Plot {
    /// Whether there is anything to draw.
    pub(super) fn has_data(&self) -> bool {
        let mut measured = self.series.iter().filter(|series| series.shape != Shape::Reference);
        measured.any(|series| !series.points.is_empty())
    }

    /// The plot as a figure with title, legend, and caption, or with a note if there is nothing to draw.
    pub(super) fn figure(&self) -> Markup {
        html! {
            figure {
                h3 { (self.title) }
                @if self.has_data() {
                    @if self.series.len() > 1 { div.legend {
                        @for series in self.series.iter().filter(|series| !series.points.is_empty()) {
                            span { (series.tone.key(series.shape)) (series.name) }
                        }
                    } }
                    @match self.svg() {
                        Ok(svg) => (PreEscaped(svg)),
                        Err(error) => p.none { "This plot could not be drawn: " (error) },
                    }
                } @else {
                    p.none { "No data yet." }
                }
                figcaption { (self.caption) }
            }
        }
    }

    /// The SVG of the plot.
    fn svg(&self) -> Result<String, String> {
        let mut svg = String::new();
        let hovers = {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
            let hovers = self.draw(&area).map_err(|error| error.to_string())?;
            area.present().map_err(|error| error.to_string())?;
            hovers
        };
        let body = svg.split_once('>').map(|(_, body)| body).unwrap_or_default();
        let body = body.trim_end().strip_suffix("</svg>").unwrap_or(body);
        let head = format!(
            r#"<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
            self.title
        );
        Ok(format!("{head}{body}{hovers}</svg>"))
    }

    /// Draws everything and returns the invisible marks that show values on hover.
    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
    ) -> Result<String, DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>> {
        let (x, y) = (self.x_range(), self.y_range());
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(34)
            .x_label_area_size(88)
            .y_label_area_size(132)
            .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
        let text = ("sans-serif", 30).into_font().color(&INK);
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(2))
            .axis_style(INK.stroke_width(2))
            .label_style(text.clone())
            .axis_desc_style(text)
            .x_labels(7)
            .y_labels(6)
            .x_label_formatter(&|value| tick(*value, (x.1 - x.0) / 7.0, x.1))
            .y_label_formatter(&|value| tick(*value, (y.1 - y.0) / 6.0, y.1))
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .draw()?;
        for series in &self.series {
            draw_series(&mut chart, series, y)?;
        }
        let mut hovers = String::new();
        for series in self.series.iter().filter(|series| series.shape != Shape::Reference) {
            let step = series.points.len().div_ceil(MAX_HOVERS).max(1);
            for (place, &(px, py)) in series.points.iter().enumerate().step_by(step) {
                let (left, top) = chart.backend_coord(&(px, py));
                let said = format!("{} at {} {}", series.says(place), alone(px), self.x.label);
                let mark = html! { circle.hover cx=(left) cy=(top) r="14" { title { (said) } } };
                hovers.push_str(&mark.into_string());
            }
        }
        Ok(hovers)
    }

    fn x_range(&self) -> (f64, f64) {
        let points = self
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(|point| point.0));
        let (low, high) = extent(points.chain(self.x.shows.iter().copied()));
        if low < high { (low, high) } else { padded(low, high) }
    }

    fn y_range(&self) -> (f64, f64) {
        let points = self
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(|point| point.1));
        let ends = self
            .series
            .iter()
            .flat_map(|series| series.intervals.iter().flat_map(|interval| [interval.1, interval.2]));
        let (low, high) = extent(points.chain(ends).chain(self.y.shows.iter().copied()));
        let (below, above) = padded(low, high);
        // An end that the axis must show, such as 0 or 100%, is a natural bound, which needs no padding.
        let bound = |end: f64| self.y.shows.contains(&end) && low < high;
        (
            if bound(low) { low } else { below },
            if bound(high) { high } else { above },
        )
    }
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw_series<'b>(
    chart: &mut Chart<'_, 'b>,
    series: &Series,
    (bottom, top): (f64, f64),
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>> {
    let color = series.tone.color();
    let intervals = series
        .intervals
        .iter()
        .map(|&(x, low, high)| (x, low.max(bottom), high.min(top)));
    if series.is_banded && !series.intervals.is_empty() {
        let upper = intervals.clone().map(|(x, _, high)| (x, high));
        let lower = intervals.clone().rev().map(|(x, low, _)| (x, low));
        let outline: Vec<_> = upper.chain(lower).collect();
        chart.draw_series([Polygon::new(outline, color.mix(0.16).filled())])?;
    }
    let bars = intervals.map(|(x, low, high)| PathElement::new([(x, low), (x, high)], color.mix(0.5).stroke_width(3)));
    chart.draw_series(bars)?;
    let points = series.points.iter().copied();
    let stroke = color.stroke_width(series.shape.width());
    chart.draw_series(LineSeries::new(points.clone(), stroke))?;
    // A curve with a single point would be invisible as a line.
    if series.shape == Shape::Dots || series.points.len() == 1 {
        chart.draw_series(points.map(|point| Circle::new(point, 7, color.filled())))?;
    }
    Ok(())
}

/// Smallest and largest finite value; 0 and 1 if there is none.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// Adds padding around a range, and widens a range of a single value.
fn padded(low: f64, high: f64) -> (f64, f64) {
    let room = if low < high {
        (high - low) * 0.06
    } else {
        (low.abs() * 0.1).max(0.5)
    };
    (low - room, high + room)
}

/// The finite points, with neighbors averaged so that at most [`MAX_POINTS`] are left.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let finite: Vec<_> = points
        .into_iter()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let bucket = finite.len().div_ceil(MAX_POINTS).max(1);
    let mean = |part: &[(f64, f64)]| {
        let (x, y) = part
            .iter()
            .fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (x / part.len() as f64, y / part.len() as f64)
    };
    finite.chunks(bucket).map(mean).collect()
}

/// A number that stands alone, with about three digits.
fn alone(value: f64) -> String {
    tick(value, value.abs() / 100.0, value.abs())
}

/// A number on an axis that goes up to `largest` with ticks about `step` apart: `0.25`, `40`, `15k`, `1.2M`.
fn tick(value: f64, step: f64, largest: f64) -> String {
    let (scale, unit) = match largest {
        _ if largest >= 1e9 => (1e9, "G"),
        _ if largest >= 1e6 => (1e6, "M"),
        _ if largest >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let (value, step) = (value / scale, step / scale);
    if value == 0.0 {
        return "0".into();
    }
    let decimals = if step > 0.0 {
        (-step.log10()).ceil().clamp(0.0, 6.0) as usize
    } else {
        0
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(series: Series) -> String {
        let (x, y) = (Axis::new("steps"), Axis::showing("nats", &[0.0]));
        Plot {
            title: "Loss",
            caption: "Less is better.",
            x,
            y,
            series: vec![series],
        }
        .figure()
        .into_string()
    }

    fn line(points: Vec<(f64, f64)>) -> String {
        plot(Series::new("loss", Tone::BLUE, Shape::Line, points))
    }

    #[test]
    fn formats_short_ticks() {
        let cases = [
            (0.0, 0.1, 1.0, "0"),
            (0.25, 0.05, 1.0, "0.25"),
            (-0.5, 0.25, 0.5, "-0.5"),
            (40.0, 10.0, 90.0, "40"),
            (1500.0, 500.0, 3000.0, "1500"),
            (5000.0, 5000.0, 30_000.0, "5k"),
            (200_000.0, 200_000.0, 1_100_000.0, "0.2M"),
            (1_000_000.0, 200_000.0, 1_100_000.0, "1M"),
            (-0.0001, 10.0, 20.0, "0"),
        ];
        for (value, step, largest, text) in cases {
            assert_eq!(tick(value, step, largest), text, "{value}");
        }
    }

    #[test]
    fn a_plot_names_its_axes_and_values() {
        let page = line((0..10).map(|i| (f64::from(i), f64::from(i * i))).collect());
        for part in [
            "<svg class=\"plot\"",
            "steps",
            "nats",
            "Loss",
            "<title>loss: 81 at 9 steps</title>",
            "Less is",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn names_are_escaped() {
        let page = plot(Series::new("<b>".to_owned(), Tone::BLUE, Shape::Line, vec![(1.0, 2.0)]));
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    }

    #[test]
    fn draws_unusual_data() {
        assert!(line(vec![]).contains("No data yet"));
        assert!(line(vec![(1.0, f64::NAN)]).contains("No data yet"));
        assert!(line(vec![(1.0, 5.0)]).contains("<circle"));
        assert!(line(vec![(1.0, 5.0), (1.0, 5.0)]).contains("<svg"));
        let one = Series::banded("elo", Tone::TEAL, &[(1.0, 0.0, -9.0, 9.0), (2.0, 0.0, f64::NAN, 9.0)]);
        assert_eq!((one.points.len(), one.intervals.len()), (1, 1));
        assert!(plot(one).contains("<svg"));
    }

    #[test]
    fn a_point_says_its_interval() {
        let points = [
            (1.0, 0.0, 0.0, 0.0),
            (2.0, 40.0, 10.0, f64::INFINITY),
            (3.0, 60.0, 45.0, 75.0),
        ];
        let series = Series::barred("Elo", Tone::BLUE, &points);
        let said: Vec<_> = (0..3).map(|place| series.says(place)).collect();
        assert_eq!(said, ["Elo: 0", "Elo: 40 (10 or more)", "Elo: 60 (45 to 75)"]);
        assert!(!plot(series).contains("<polygon"), "bars, but no band");
        assert!(plot(Series::banded("Elo", Tone::BLUE, &points)).contains("<polygon"));
    }

    #[test]
    fn long_curves_are_thinned() {
        let points: Vec<_> = (0..100_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        assert!(thinned(points.clone()).len() <= MAX_POINTS);
        assert!(line(points).len() < 20_000);
        let points: Vec<_> = (0..10_000).map(|i| (f64::from(i), 0.0, -1.0, 1.0)).collect();
        let series = Series::banded("elo", Tone::TEAL, &points);
        assert_eq!(series.points.last(), Some(&(9_999.0, 0.0)));
        assert!(plot(series).len() < 100_000);
    }
}
