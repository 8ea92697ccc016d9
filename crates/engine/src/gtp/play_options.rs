//! How the engine plays (limits, randomness, resigning), and how a session changes that with `kata-set-param`.

use tengen_rng::{self as rng, Rng};
use tengen_rules::{Move, Size};
use tengen_search::SearchResult;

/// Default number of turns with randomly chosen moves.
pub const DEFAULT_TEMPERATURE_PLIES: usize = 8;

/// How the engine plays; a session can change all of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayOptions {
    /// Maximum visits per move.
    pub visits: Option<u32>,
    /// Maximum seconds per move.
    pub seconds: Option<f64>,
    /// Whether the engine captures all dead stones before it passes.
    pub finish: bool,
    /// When to resign; never set together with `finish`.
    pub resign: Option<Resign>,
    /// Whether the engine keeps searching during the opponent's turn.
    pub ponder: bool,
    /// How much randomness to use at the beginning of a game.
    pub temperature: Temperature,
}

/// When to resign: after this many own turns in a row with so low a win probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resign {
    /// The win probability, 0 to 1, below which a turn is hopeless.
    pub below: f32,
    /// Hopeless turns in a row, at least 1.
    pub turns: u32,
}

impl std::str::FromStr for Resign {
    type Err = String;

    /// Parses text such as `0.05:3`.
    fn from_str(text: &str) -> Result<Resign, String> {
        let read = |text: &str| {
            let (below, turns) = text.split_once(':')?;
            let below = below.trim().parse().ok().filter(|below| *below > 0.0 && *below < 0.5)?;
            let turns = turns.trim().parse().ok().filter(|turns| *turns > 0)?;
            Some(Resign { below, turns })
        };
        read(text).ok_or_else(|| {
            "expected PROBABILITY:TURNS such as 0.05:3, the probability above 0 and below 0.5, the turns from 1"
                .to_owned()
        })
    }
}

impl std::fmt::Display for Resign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.below, self.turns)
    }
}

/// How to choose moves at random by their visits at the beginning of a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// A move's odds are its visits to the power of 1 over this, 0 to 10; 0 always plays the best move.
    pub value: f64,
    /// Number of plies of the game for which the temperature applies.
    pub plies: usize,
}

impl Temperature {
    /// The move to play at this ply.
    pub fn draw(&self, result: &SearchResult, size: Size, ply: usize, rng: &mut Rng) -> Move {
        if self.value <= 0.0 || ply >= self.plies {
            return result.best;
        }
        let power = 1.0 / self.value;
        let most = result.policy.iter().map(|&(_, share)| share).fold(0.0, f32::max);
        // Shares relative to the largest, so that a low temperature does not make all odds underflow.
        let odds = |share: f32| f64::from(share / most).powf(power);
        let mut left = rng::unit_f64(rng) * result.policy.iter().map(|&(_, share)| odds(share)).sum::<f64>();
        for &(index, share) in &result.policy {
            left -= odds(share);
            if left < 0.0 {
                return Move::from_index(size, usize::from(index)).unwrap_or(result.best);
            }
        }
        result.best
    }
}

/// Parses a temperature from the command line or a session.
pub fn temperature(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=10.0).contains(value));
    value.ok_or_else(|| "expected a temperature from 0 to 10, such as 0.5".to_owned())
}

impl PlayOptions {
    /// The session's parameters and their current values. Parameters that KataGo also has use KataGo's names.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        fn text<T: ToString>(value: &Option<T>) -> String {
            value.as_ref().map_or("none".to_owned(), T::to_string)
        }
        vec![
            ("maxVisits", text(&self.visits)),
            ("maxTime", text(&self.seconds)),
            ("finish", self.finish.to_string()),
            ("resign", text(&self.resign)),
            ("ponderingEnabled", self.ponder.to_string()),
            ("chosenMoveTemperature", self.temperature.value.to_string()),
            ("temperaturePlies", self.temperature.plies.to_string()),
        ]
    }

    /// Changes a parameter listed by [`parameters`](PlayOptions::parameters). An error changes nothing.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |expected: &str| format!("{name} takes {expected}, not {value}");
        match name {
            "maxVisits" => self.visits = or_none(value).ok_or_else(|| wrong("a whole number or none"))?,
            "maxTime" => {
                let seconds = or_none(value).filter(|seconds| seconds.is_none_or(|s| (0.0..=1e7).contains(&s)));
                self.seconds = seconds.ok_or_else(|| wrong("seconds or none"))?;
            }
            "resign" => {
                let resign: Option<Resign> =
                    or_none(value).ok_or_else(|| wrong("PROBABILITY:TURNS such as 0.05:3 or none"))?;
                if resign.is_some() && self.finish {
                    return Err("finish is true and excludes resign; set finish to false first".to_owned());
                }
                self.resign = resign;
            }
            "finish" => {
                let finish = value.parse().map_err(|_| wrong("true or false"))?;
                if finish && self.resign.is_some() {
                    return Err("resign is set and excludes finish; set resign to none first".to_owned());
                }
                self.finish = finish;
            }
            "ponderingEnabled" => self.ponder = value.parse().map_err(|_| wrong("true or false"))?,
            "chosenMoveTemperature" => {
                self.temperature.value = temperature(value).map_err(|_| wrong("a number from 0 to 10"))?;
            }
            _ => self.temperature.plies = value.parse().map_err(|_| wrong("a whole number"))?,
        }
        Ok(())
    }
}

/// Parses a value or `none`; `None` if it is neither.
fn or_none<T: std::str::FromStr>(text: &str) -> Option<Option<T>> {
    match text {
        "none" => Some(None),
        _ => text.parse().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rules::{Komi, Position};
    use tengen_search::{EvaluationCache, Lockstep, Search, SearchConfig, SearchMethod, UniformPredictor};

    fn options() -> PlayOptions {
        PlayOptions {
            visits: None,
            seconds: None,
            finish: false,
            resign: None,
            ponder: false,
            temperature: Temperature { value: 0.0, plies: 2 },
        }
    }

    #[test]
    fn every_parameter_accepts_the_value_it_reports() {
        let mut all = options();
        for (name, value) in [
            ("maxVisits", "7"),
            ("maxTime", "2.5"),
            ("resign", "0.05:3"),
            ("ponderingEnabled", "true"),
            ("chosenMoveTemperature", "0.5"),
            ("temperaturePlies", "30"),
        ] {
            all.set(name, value).unwrap();
            assert!(all.parameters().contains(&(name, value.to_owned())), "{name}");
        }
        let mut again = options();
        for (name, value) in all.parameters() {
            again.set(name, &value).unwrap();
        }
        assert_eq!(again, all);
        for (name, value) in [
            ("maxVisits", "-1"),
            ("maxTime", "nan"),
            ("finish", "yes"),
            ("resign", "0.5:3"),
            ("resign", "0.05:0"),
            ("resign", "0.05"),
            ("ponderingEnabled", "1"),
            ("chosenMoveTemperature", "11"),
            ("temperaturePlies", "x"),
        ] {
            assert!(
                all.set(name, value).unwrap_err().contains(&format!("{name} takes ")),
                "{name}"
            );
            assert_eq!(again, all);
        }
    }

    #[test]
    fn finish_and_resign_exclude_each_other() {
        let mut options = options();
        options.set("finish", "true").unwrap();
        assert!(options.set("resign", "0.1:2").unwrap_err().contains("finish"));
        options.set("finish", "false").unwrap();
        options.set("resign", "0.1:2").unwrap();
        assert!(options.set("finish", "true").unwrap_err().contains("resign"));
    }

    #[test]
    fn a_higher_temperature_plays_fewer_best_moves() {
        // The middle of three points is the best move.
        let size = Size::new(1, 3).unwrap();
        let config = SearchConfig {
            method: SearchMethod::Puct,
            ..SearchConfig::for_play(200)
        };
        let mut search = Search::new(
            config,
            &Position::new(size),
            Komi::from_half_points(0),
            rng::stream(0, &[]),
        );
        let mut cache = EvaluationCache::new(1 << 20);
        Lockstep::new()
            .run(&mut [&mut search], &mut UniformPredictor, &mut cache)
            .unwrap();
        let result = search.result();
        let mut rng = rng::stream(5, &[]);
        let share = |mv: Move| {
            let index = mv.index(size) as u16;
            let known = result.policy.iter().find(|&&(other, _)| other == index);
            known.map_or(0.0, |&(_, share)| share)
        };
        let mut others = |value: f64, ply: usize| {
            let temperature = Temperature { value, plies: 2 };
            let drawn = (0..200).map(|_| temperature.draw(&result, size, ply, &mut rng));
            drawn.filter(|&mv| share(mv) < share(result.best)).count()
        };
        assert_eq!([others(0.0, 0), others(10.0, 2), others(0.01, 0)], [0, 0, 0]);
        let (cool, hot) = (others(1.0, 1), others(10.0, 1));
        assert!(0 < cool && cool < hot, "{cool} {hot}");
    }
}
