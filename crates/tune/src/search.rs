//! Searches for the best settings, one after another, with any way of measuring them.

use tengen_network::Precision;

use crate::plan::Plan;
use crate::settings::{Settings, Trial};

/// Settings with fewer games at a time win if they reach this share of the best rate: their games are fresher, and they
/// need less memory.
const AS_GOOD: f64 = 0.95;

/// The fewest games per group that are tried when more do not fit in a GPU's memory.
const FEWEST_GAMES: u32 = 4;

/// What was tried so far, and how to try more.
pub(crate) struct Search<'a> {
    pub(crate) trials: Vec<Trial>,
    /// Settings for which the GPU has too little memory.
    pub(crate) too_large: Vec<Settings>,
    measure: &'a mut dyn FnMut(Settings) -> anyhow::Result<Trial>,
}

impl<'a> Search<'a> {
    /// A search that tries settings by calling `measure`.
    pub(crate) fn new(measure: &'a mut dyn FnMut(Settings) -> anyhow::Result<Trial>) -> Search<'a> {
        Search {
            trials: Vec::new(),
            too_large: Vec::new(),
            measure,
        }
    }

    /// Tries these number formats, at least one, with this many games per group. Then tries what the plan has of games
    /// per group, then groups, then workers, each with the best settings so far.
    ///
    /// # Errors
    /// If a measurement fails, other than for lack of GPU memory, or nothing fits in that memory.
    pub(crate) fn run(&mut self, plan: &Plan, formats: &[Precision], games: u32) -> anyhow::Result<Trial> {
        let best = self.first(plan, formats, games)?;
        let usual = best.settings.games;
        let games = plan.games.iter().copied().chain([usual]);
        let best = self.best(games.map(|games| Settings { games, ..best.settings }))?;
        let groups = plan.groups.iter();
        let best = self.best(groups.map(|&groups| Settings {
            groups,
            ..best.settings
        }))?;
        let workers = plan.workers.iter();
        self.best(workers.map(|&workers| Settings {
            workers,
            ..best.settings
        }))
    }

    /// The best number format. If no format fits in the GPU's memory, tries half as many games, and so on, unless the
    /// plan has only one number of games.
    fn first(&mut self, plan: &Plan, formats: &[Precision], mut games: u32) -> anyhow::Result<Trial> {
        loop {
            let settings = formats.iter().map(|&precision| Settings {
                precision,
                workers: plan.workers[0],
                groups: plan.groups[0],
                games,
            });
            match self.best(settings) {
                Err(error) if is_out_of_memory(&error) && plan.games.len() > 1 && games >= 2 * FEWEST_GAMES => {
                    games /= 2;
                }
                found => return found,
            }
        }
    }

    /// The best of these settings. Settings that were tried before are not measured again. Those that need more memory
    /// than a GPU has go to `too_large`.
    fn best(&mut self, settings: impl Iterator<Item = Settings>) -> anyhow::Result<Trial> {
        let mut found = Vec::new();
        let mut refusal = None;
        for settings in settings {
            if self.too_large.contains(&settings) {
                continue;
            }
            match self.trials.iter().find(|trial| trial.settings == settings) {
                Some(trial) => found.push(*trial),
                None => match (self.measure)(settings) {
                    Ok(trial) => {
                        self.trials.push(trial);
                        found.push(trial);
                    }
                    Err(error) if is_out_of_memory(&error) => {
                        self.too_large.push(settings);
                        refusal = Some(error);
                    }
                    Err(error) => return Err(error),
                },
            }
        }
        match (fastest(&found), refusal) {
            (Some(trial), _) => Ok(trial),
            (None, Some(error)) => Err(error.context("no setting fits in the memory of the GPU")),
            (None, None) => Err(anyhow::anyhow!("nothing was measured")),
        }
    }
}

/// Whether an error says that a GPU has too little memory. Threads of self-play pass libtorch's errors on as text.
pub(crate) fn is_out_of_memory(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("out of GPU memory")
}

/// Of the trials that are about as fast as the fastest one, the one with the fewest games at a time.
fn fastest(trials: &[Trial]) -> Option<Trial> {
    let most = trials
        .iter()
        .map(|trial| trial.positions_per_second)
        .fold(0.0, f64::max);
    let good = trials
        .iter()
        .filter(|trial| trial.positions_per_second >= AS_GOOD * most);
    good.min_by_key(|trial| trial.settings.in_flight()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(games: u32, rate: f64) -> Trial {
        Trial {
            settings: Settings {
                precision: Precision::Bf16,
                workers: 2,
                groups: 1,
                games,
            },
            evaluations_per_second: 8.0 * rate,
            positions_per_second: rate,
        }
    }

    #[test]
    fn fewer_games_win_unless_they_are_clearly_slower() {
        let trials = [trial(16, 800.0), trial(32, 960.0), trial(64, 1000.0), trial(128, 990.0)];
        assert_eq!(fastest(&trials).map(|trial| trial.settings.games), Some(32));
        assert_eq!(
            fastest(&[trial(16, 100.0), trial(64, 1000.0)]).map(|trial| trial.settings.games),
            Some(64)
        );
        assert_eq!(fastest(&[]), None);
    }

    #[test]
    fn errors_about_memory_are_told_from_others() {
        let text = "CUDA out of memory. Tried to allocate 20.00 MiB";
        let error = tengen_network::LibtorchError::OutOfMemory(text.to_owned());
        let as_text = anyhow::anyhow!("the predictor failed: {error}");
        assert!(is_out_of_memory(&as_text.context("self-play failed")));
        assert!(!is_out_of_memory(&anyhow::anyhow!("no kernel image is available")));
    }

    /// A plan for one GPU and 16 cores, whose configuration sets everything to `auto`.
    fn plan() -> Plan {
        Plan::new(true, 16, 1)
    }

    /// Searches on a GPU where speed grows with the square root of the games at a time, bf16 is twice as fast as fp32,
    /// and this many games fit.
    fn search_with_room_for(most: u64, plan: &Plan, games: u32) -> (Vec<Settings>, anyhow::Result<Settings>) {
        let mut measure = |settings: Settings| {
            anyhow::ensure!(settings.in_flight() <= most, "out of GPU memory");
            let factor = if settings.precision == Precision::Bf16 {
                2.0
            } else {
                1.0
            };
            let rate = factor * (settings.in_flight() as f64).sqrt();
            Ok(Trial {
                settings,
                ..trial(settings.games, rate)
            })
        };
        let mut search = Search::new(&mut measure);
        let found = search.run(plan, &[Precision::Fp32, Precision::Bf16], games);
        (search.too_large.clone(), found.map(|trial| trial.settings))
    }

    #[test]
    fn each_setting_is_the_fastest_with_those_before() {
        let (too_large, found) = search_with_room_for(u64::MAX, &plan(), 64);
        let found = found.expect("all fit");
        assert!(too_large.is_empty());
        assert_eq!(
            (found.precision, found.games, found.groups, found.workers),
            (Precision::Bf16, 1024, 3, 16)
        );
    }

    #[test]
    fn settings_that_fit_are_found_below_those_that_do_not() {
        // Four workers with two groups each: not even the smallest planned number of games fits.
        let (too_large, found) = search_with_room_for(100, &plan(), 48);
        let found = found.expect("12 games per group fit");
        assert_eq!((found.games, found.in_flight() <= 100), (12, true));
        for games in [48, 24, 64, 1024] {
            assert!(
                too_large.iter().any(|settings| settings.games == games),
                "{too_large:?}"
            );
        }
        let error = search_with_room_for(1, &plan(), 48).1.expect_err("nothing fits");
        assert!(format!("{error:#}").contains("no setting fits"), "{error:#}");
    }

    #[test]
    fn a_stated_number_of_games_is_not_lowered() {
        let plan = Plan {
            games: vec![48],
            ..plan()
        };
        let (too_large, found) = search_with_room_for(100, &plan, 48);
        assert!(found.is_err() && too_large.iter().all(|settings| settings.games == 48));
    }
}
