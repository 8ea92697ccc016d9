//! Shows where games start: the frequency of first moves, by generation.

use maud::{Markup, html};

use tengen_records::{GameRecord, OPENING};
use tengen_rules::{Move, Size, Symmetry};

/// The first moves of some generations' games on one board size.
pub(super) struct FirstMoves {
    /// The generations, such as `12` or `10–19`.
    pub(super) label: String,
    size: Size,
    /// Games whose first move a search chose.
    games: usize,
    /// The share of games that start at each point, in reading order, then with a pass, 0 to 1. Symmetric points have
    /// equal shares.
    shares: Vec<f64>,
}

impl FirstMoves {
    /// Counts the first moves of the games on boards of this size. Leaves out games whose first move was part of the
    /// opening, so that no search chose it.
    pub(super) fn count(label: String, size: Size, games: &[GameRecord]) -> FirstMoves {
        let mut shares = vec![0.0; size.area() + 1];
        let mut counted = 0;
        for game in games.iter().filter(|game| game.size == size) {
            let Some(first) = game.plies.first().filter(|first| !first.has(OPENING)) else {
                continue;
            };
            counted += 1;
            let images = Symmetry::all(size);
            for image in images {
                let index = match first.mv {
                    Move::Play(point) => image.apply(size, point).index(),
                    Move::Pass => size.area(),
                };
                shares[index] += 1.0 / images.len() as f64;
            }
        }
        shares.iter_mut().for_each(|share| *share /= f64::from(counted.max(1)));
        FirstMoves {
            label,
            size,
            games: counted as usize,
            shares,
        }
    }

    /// A small board; the darker a point, the more games started there.
    pub(super) fn board(&self) -> Markup {
        let (width, height) = (self.size.width(), self.size.height());
        let most = self.shares[..self.size.area()]
            .iter()
            .copied()
            .fold(0.0, f64::max)
            .max(1e-9);
        let pass = self.shares[self.size.area()];
        html! {
            figure.heat {
                svg viewBox=(format!("0 0 {} {}", width * 10, height * 10)) role="img" aria-label="first moves" {
                    @for point in self.size.points() {
                        @let share = self.shares[point.index()];
                        rect x=(point.column(self.size) * 10) y=(point.row(self.size) * 10) width="10" height="10"
                            fill-opacity=(format!("{:.3}", share / most)) {
                            title { (tengen_rules::format_point(self.size, point)) ": " (percent(share)) }
                        }
                    }
                }
                figcaption {
                    b { "model " (self.label) } br;
                    @if self.games == 0 {
                        "no games with a free first move"
                    } @else {
                        (self.favorite()) br;
                        @if pass >= 0.005 { "pass " (percent(pass)) br; }
                        (self.games) @if self.games == 1 { " game" } @else { " games" }
                    }
                }
            }
        }
    }

    /// The most frequent first move and its share, with symmetric moves counted together.
    fn favorite(&self) -> String {
        let points = self.size.points().map(|point| (self.shares[point.index()], point));
        // Of about equal points, take the first, so that the name does not depend on rounding.
        let best = points.reduce(|best, next| if next.0 > best.0 + 1e-9 { next } else { best });
        let Some((share, point)) = best else {
            return String::new();
        };
        let images = Symmetry::all(self.size);
        let mut orbit: Vec<_> = images
            .iter()
            .map(|image| image.apply(self.size, point).index())
            .collect();
        orbit.sort_unstable();
        orbit.dedup();
        let name = tengen_rules::format_point(self.size, point);
        format!("{name} {}", percent(share * orbit.len() as f64))
    }
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent.is_finite() && percent < 10.0 && percent > 0.0 => format!("{percent:.1}%"),
        percent if percent.is_finite() => format!("{percent:.0}%"),
        _ => "–".into(),
    }
}
