//! Which settings are tried.

use tengen_config::RunConfig;
use tengen_model::PrecisionChoice;
use tengen_rules::Setting;

/// Which settings to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All that can be measured, whatever the configuration says.
    All,
    /// Those that the configuration sets to `auto`.
    Auto,
}

/// The values to try.
pub(crate) struct Plan {
    pub(crate) format: PrecisionChoice,
    /// Whether to try fp32, too.
    pub(crate) compares_formats: bool,
    pub(crate) workers: Vec<usize>,
    pub(crate) groups: Vec<usize>,
    pub(crate) games: Vec<u32>,
}

impl Plan {
    /// On a CPU, one worker per core. On GPUs, a few workers share each GPU.
    pub(crate) fn new(on_gpu: bool, cores: usize, gpus: usize) -> Plan {
        if !on_gpu {
            return Plan {
                format: PrecisionChoice::Auto,
                compares_formats: true,
                workers: vec![cores],
                groups: vec![1],
                games: vec![16, 32, 64, 128, 256],
            };
        }
        let mut workers = Vec::new();
        for each in [4, 2, 8, 16] {
            let all = (each * gpus).min(cores.max(gpus));
            if !workers.contains(&all) {
                workers.push(all);
            }
        }
        Plan {
            format: PrecisionChoice::Auto,
            compares_formats: true,
            workers,
            groups: vec![2, 1, 3],
            games: vec![64, 128, 256, 512, 1024],
        }
    }

    /// With [`Wanted::Auto`], tries only the values that the configuration states, where it states any. Number formats
    /// are not compared, because `auto` already stands for the fastest one.
    pub(crate) fn only(self, wanted: Wanted, config: &RunConfig) -> Plan {
        if wanted == Wanted::All {
            return self;
        }
        let (loop_config, games) = (&config.loop_config, config.selfplay.games_per_group);
        let workers = loop_config
            .workers
            .map(|workers| if workers == 0 { cores() } else { workers });
        Plan {
            format: config.inference.dtype,
            compares_formats: false,
            workers: stated(workers, self.workers),
            groups: stated(loop_config.groups_per_worker, self.groups),
            games: stated(games, self.games),
        }
    }

    /// An upper bound on the number of trials. The groups and workers of the first trial are not tried again.
    pub(crate) fn most_trials(&self) -> usize {
        1 + usize::from(self.compares_formats) + self.games.len() + self.groups.len() - 1 + self.workers.len() - 1
    }
}

/// The value that a configuration states, or else the values to try.
fn stated<T>(setting: Setting<T>, tried: Vec<T>) -> Vec<T> {
    match setting {
        Setting::Is(value) => vec![value],
        Setting::Auto => tried,
    }
}

/// The number of cores that the process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_has_a_worker_and_no_core_two() {
        for (cores, gpus) in [(1, 1), (2, 1), (4, 2), (16, 1), (2, 4)] {
            let plan = Plan::new(true, cores, gpus);
            assert!(
                plan.workers
                    .iter()
                    .all(|&workers| workers >= gpus && workers <= cores.max(gpus))
            );
        }
        assert_eq!(Plan::new(false, 8, 1).workers, [8]);
    }

    #[test]
    fn what_is_stated_is_not_looked_for() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let load = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
            RunConfig::load(&path, &settings).expect("a configuration")
        };
        let plan = |settings: &[&str]| {
            let plan = Plan::new(true, 16, 1).only(Wanted::Auto, &load(settings));
            (
                plan.workers.clone(),
                plan.groups.clone(),
                plan.games.clone(),
                plan.most_trials(),
            )
        };
        let stated = [
            "loop.workers=3",
            "loop.groups_per_worker=2",
            "selfplay.games_per_group=48",
        ];
        assert_eq!(plan(&stated), (vec![3], vec![2], vec![48], 2));
        let one = [
            "loop.workers=auto",
            "loop.groups_per_worker=2",
            "selfplay.games_per_group=48",
        ];
        assert_eq!(plan(&one), (vec![4, 2, 8, 16], vec![2], vec![48], 5));
        let all = [
            "loop.workers=auto",
            "loop.groups_per_worker=auto",
            "selfplay.games_per_group=auto",
        ];
        assert_eq!(plan(&all).3, 1 + 5 + 2 + 3);
        assert_eq!(plan(&["loop.workers=0"]).0, [cores()]);
    }
}
