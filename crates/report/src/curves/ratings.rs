//! Curves of strength, from the newest ratings of models and anchors.

use std::collections::BTreeMap;

use tengen_metrics::{Anchor, Event, Gate, Measured, Rating};

use super::Curves;
use crate::plot::{Axis, Plot, Series, Shape, Tone};

impl Curves<'_> {
    /// Elo over evaluations and over CPU time.
    pub(crate) fn strength(&self) -> Vec<Plot> {
        let over = |title, caption, label, cost: fn(&Rating) -> f64| {
            let point = |(rating, &(low, high)): (&Rating, &(f64, f64))| (cost(rating), rating.elo, low, high);
            let points: Vec<_> = self.ratings.iter().zip(&self.intervals).map(point).collect();
            let mut series = vec![Series::barred("Elo with 95% interval", Tone::BLUE, &points)];
            let last = points.last().map_or(0.0, |point| point.0);
            series.extend(self.anchors.iter().zip(Tone::all().skip(1)).map(|(anchor, tone)| {
                let name = format!("{} ({})", anchor.name, known(anchor));
                Series::new(
                    name,
                    tone,
                    Shape::Reference,
                    vec![(0.0, anchor.elo), (last, anchor.elo)],
                )
            }));
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
                 their strength, against other players. Without such players, its bar is the interval of its match in \
                 the gate, counted from the dot of its opponent: a bar above that dot is a step forward. A bar that \
                 reaches the edge of the plot is unbounded on that side: no game was lost, or none won.",
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
}

/// The gate match that each model played as a candidate; if there are several, the newest.
pub(crate) fn gate_matches(events: &[Event]) -> BTreeMap<&str, &Gate> {
    let played = events.iter().filter_map(|event| match &event.measured {
        Measured::Gate(gate) if gate.games > 0 && !gate.champion.is_empty() => Some(gate),
        _ => None,
    });
    played.map(|gate| (gate.candidate.as_str(), gate)).collect()
}

/// The interval to show for each rating. An unbounded end is infinite; if neither end is bounded, both are the rating
/// itself.
///
/// If players outside the run fix the scale, this is the rating's own interval. Otherwise, that interval would measure
/// the distance from the run's first model, which is far weaker than all others. It would be nearly the same for all
/// models and could not tell a model from the one before. The interval of its gate match can.
pub(crate) fn intervals(ratings: &[Rating], events: &[Event]) -> Vec<(f64, f64)> {
    let elo: BTreeMap<&str, f64> = ratings
        .iter()
        .map(|rating| (rating.model_id.as_str(), rating.elo))
        .collect();
    let gates = gate_matches(events);
    let of_gate = |rating: &Rating| {
        let gate = gates.get(rating.model_id.as_str())?;
        let opponent = elo.get(gate.champion.as_str())?;
        Some((opponent + gate.elo_low, opponent + gate.elo_high))
    };
    let interval = |rating: &Rating| {
        let own = (rating.low, rating.high);
        let (low, high) = if rating.anchored {
            own
        } else {
            of_gate(rating).unwrap_or(own)
        };
        match (low.is_finite(), high.is_finite()) {
            (true, true) => (low, high),
            (true, false) => (low, f64::INFINITY),
            (false, true) => (f64::NEG_INFINITY, high),
            (false, false) => (rating.elo, rating.elo),
        }
    };
    ratings.iter().map(interval).collect()
}

/// An anchor's Elo, or the bound on it that its games give.
fn known(anchor: &Anchor) -> String {
    match (anchor.low.is_finite(), anchor.high.is_finite()) {
        _ if anchor.pinned => format!("{:.0}", anchor.elo),
        (true, true) => format!("{:.0}", anchor.elo),
        (true, false) => format!("{:.0} or more", anchor.low),
        (false, true) => format!("{:.0} or less", anchor.high),
        (false, false) => "unknown".to_owned(),
    }
}

/// The milliseconds within which one rating writes all of its events: early versions gave each its own time.
const ONE_RATING_MS: i64 = 5_000;

/// The anchors of the newest rating, weakest first.
pub(super) fn newest_anchors(events: &[Event]) -> Vec<Anchor> {
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

/// The newest rating of each model, ordered by the model's cost. If models were rated on a scale fixed by players
/// outside the run, only the ratings of the last time count, because another time may have had other players or
/// conditions. Otherwise, a model without a rating counts with the strength it was published with.
pub(crate) fn newest_ratings(events: &[Event]) -> Vec<Rating> {
    let is_anchored = |event: &&Event| matches!(&event.measured, Measured::Rating(rating) if rating.anchored);
    let last = events.iter().filter(is_anchored).map(|event| event.time_ms).max();
    let counts = |event: &&Event| match last {
        Some(last) => is_anchored(event) && last - event.time_ms < ONE_RATING_MS,
        None => true,
    };
    let mut newest: BTreeMap<&str, Rating> = BTreeMap::new();
    for event in events.iter().filter(counts) {
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
    use super::super::tests::events;
    use super::*;
    use tengen_metrics::Model;

    fn rating(model_id: &str, elo: f64) -> Rating {
        Rating {
            model_id: model_id.into(),
            elo,
            ..Rating::default()
        }
    }

    #[test]
    fn the_newest_rating_of_each_model_counts() {
        let rating = |model_id: &str, elo, evaluations| {
            Measured::Rating(Rating {
                evaluations,
                ..rating(model_id, elo)
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
    fn a_step_has_the_interval_of_its_gate_match() {
        let bounded_below = |model_id: &str, elo, low| {
            Measured::Rating(Rating {
                low,
                ..rating(model_id, elo)
            })
        };
        let gate = |candidate: &str, champion: &str, elo_low, elo_high| {
            Measured::Gate(Gate {
                candidate: candidate.into(),
                champion: champion.into(),
                games: 100,
                elo_low,
                elo_high,
                ..Gate::default()
            })
        };
        let mut measured = vec![
            // Won every game. In a file, an unbounded end is null, which is read as NaN.
            gate("b", "a", 318.0, f64::NAN),
            gate("c", "b", -37.0, 82.0),
            // Its opponent is not rated, so its own interval is all there is.
            gate("d", "z", 5.0, 9.0),
            bounded_below("a", 0.0, 0.0),
            bounded_below("b", 1420.0, 1100.0),
            bounded_below("c", 1440.0, 1110.0),
            bounded_below("d", 1450.0, 1120.0),
        ];
        let shown = |measured: &[Measured]| {
            let events = events(measured.to_vec());
            intervals(&newest_ratings(&events), &events)
        };
        let (known, unbounded) = ((1383.0, 1502.0), f64::INFINITY);
        let expected = [(0.0, unbounded), (318.0, unbounded), known, (1120.0, unbounded)];
        assert_eq!(shown(&measured), expected);
        // With players outside the run, the distance from them is what counts.
        measured.push(Measured::Rating(Rating {
            low: 1850.0,
            high: 1950.0,
            anchored: true,
            ..rating("c", 1900.0)
        }));
        assert_eq!(shown(&measured), [(1850.0, 1950.0)]);
    }

    #[test]
    fn ratings_of_different_scales_are_not_mixed() {
        let rating = |model_id: &str, elo, anchored| {
            Measured::Rating(Rating {
                anchored,
                ..rating(model_id, elo)
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

        // A later rating of other models counts alone.
        let mut again = events.clone();
        let time_ms = again.last().unwrap().time_ms + ONE_RATING_MS;
        again.push(Event {
            time_ms,
            ..Event::now(10.0, rating("b", 700.0, true))
        });
        let found = newest_ratings(&again);
        assert_eq!((found.len(), found[0].elo), (1, 700.0));

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
}
