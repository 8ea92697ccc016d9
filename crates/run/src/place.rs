//! Finds this process's place among those that train together, from the environment that torchrun or srun sets up.

use std::time::Duration;

use tengen_network::Meeting;

/// How long to wait for the other processes to start.
const WAIT: Duration = Duration::from_secs(300);

/// How long a process may keep the others waiting, for example while rank 0 writes a checkpoint or reads games.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The variables with a process's rank, the number of processes, and the process's number on its machine.
type Names = [&'static str; 3];

const BY_TORCHRUN: Names = ["RANK", "WORLD_SIZE", "LOCAL_RANK"];
const BY_SRUN: Names = ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"];

/// A process's place among those that train together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where and as what it meets the others.
    pub meeting: Meeting,
    /// Its number on its machine, which is that of its GPU, if it is known.
    pub local_rank: Option<usize>,
}

impl Place {
    /// This process's place; `None` if it trains alone.
    ///
    /// # Errors
    /// If a variable is missing or wrong, or if they contradict each other.
    pub fn from_environment() -> Result<Option<Place>, PlaceError> {
        Place::of(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Place>, PlaceError> {
        let hosted = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
        let Some(names) = names(variable, hosted) else {
            return Ok(None);
        };
        let number = |name: &'static str| -> Result<Option<usize>, PlaceError> {
            let Some(text) = variable(name) else { return Ok(None) };
            text.parse().map(Some).map_err(|_| PlaceError::Number { name, text })
        };
        let [rank_name, ranks_name, local_name] = names;
        let (rank, ranks) = match (number(rank_name)?, number(ranks_name)?) {
            (Some(rank), Some(ranks)) => (rank, ranks),
            (Some(_), None) => {
                return Err(PlaceError::Half {
                    names,
                    missing: ranks_name,
                });
            }
            (None, _) => {
                return Err(PlaceError::Half {
                    names,
                    missing: rank_name,
                });
            }
        };
        if rank >= ranks {
            return Err(PlaceError::Rank { names, rank, ranks });
        }
        if ranks == 1 {
            return Ok(None);
        }
        let needed = |name, what| {
            variable(name).ok_or(PlaceError::Host {
                names,
                ranks,
                name,
                what,
            })
        };
        let host = needed("MASTER_ADDR", "the name of the host of rank 0")?;
        let port = needed("MASTER_PORT", "a free port of the host of rank 0, for example 29500")?;
        let port = port
            .parse()
            .ok()
            .filter(|&port| port > 0)
            .ok_or(PlaceError::Port(port))?;
        let restarts = variable("TORCHELASTIC_RESTART_COUNT").unwrap_or_else(|| "0".to_owned());
        let meeting = Meeting {
            host,
            port,
            hosted,
            name: format!("tengen/{restarts}"),
            rank,
            ranks,
            wait: WAIT,
            patience: PATIENCE,
        };
        Ok(Some(Place {
            meeting,
            local_rank: number(local_name)?,
        }))
    }
}

/// The variables to use; `None` if neither torchrun nor srun has started this process.
fn names(variable: &dyn Fn(&str) -> Option<String>, hosted: bool) -> Option<Names> {
    let named = |name| variable(name).is_some();
    if named("RANK") || named("WORLD_SIZE") || hosted {
        return Some(BY_TORCHRUN);
    }
    // A batch script, as opposed to what srun starts in it, belongs to a job but not to a step.
    let in_batch_script = named("SLURM_JOB_ID") && !named("SLURM_STEP_ID");
    (named("SLURM_PROCID") && named("SLURM_NTASKS") && !in_batch_script).then_some(BY_SRUN)
}

/// Why a process does not know its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// A variable is not a number.
    #[error("{name} is {text:?}: expected a whole number")]
    Number {
        /// The variable's name.
        name: &'static str,
        /// Its value.
        text: String,
    },
    /// Rank or number of processes is missing.
    #[error(
        "{} and {} must both be set, but {missing} is not: start the processes with torchrun or srun, or unset both to \
         train in one process", names[0], names[1]
    )]
    Half {
        /// The variables in use.
        names: [&'static str; 3],
        /// The one that is missing.
        missing: &'static str,
    },
    /// The rank is not below the number of processes.
    #[error(
        "{} is {rank} and {} is {ranks}: expected a rank below the number of processes; start them with torchrun or \
         srun, or correct the variables", names[0], names[1]
    )]
    Rank {
        /// The variables in use.
        names: [&'static str; 3],
        /// The process's rank.
        rank: usize,
        /// The number of processes.
        ranks: usize,
    },
    /// The address at which the processes meet is missing.
    #[error(
        "{} is {ranks}, but {name} is not set: set it to {what}, the same for all processes, or unset {} and {} to \
         train in one process", names[1], names[0], names[1]
    )]
    Host {
        /// The variables in use.
        names: [&'static str; 3],
        /// The number of processes.
        ranks: usize,
        /// The one that is missing.
        name: &'static str,
        /// What it should be.
        what: &'static str,
    },
    /// The port is not a valid number.
    #[error("MASTER_PORT is {0:?}: expected a number from 1 to 65535")]
    Port(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &[(&str, &str)] = &[
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_RANK", "0"),
        ("MASTER_ADDR", "here"),
        ("MASTER_PORT", "29500"),
    ];

    /// The place with these variables, as text.
    fn found(variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| {
            let value = variables.iter().rev().find(|(key, _)| *key == name);
            value
                .map(|(_, value)| (*value).to_owned())
                .filter(|value| !value.is_empty())
        };
        match Place::of(&variable) {
            Ok(None) => "alone".to_owned(),
            Ok(Some(Place {
                meeting: at,
                local_rank: local,
            })) => {
                let hosted = if at.hosted { ", hosted" } else { "" };
                format!(
                    "{} of {} at {}:{}, {}, {local:?}{hosted}",
                    at.rank, at.ranks, at.host, at.port, at.name
                )
            }
            Err(error) => error.to_string(),
        }
    }

    /// The same with some of [`COMPLETE`] changed.
    fn changed(variables: &[(&str, &str)]) -> String {
        found(&[COMPLETE, variables].concat())
    }

    #[test]
    fn torchrun_and_srun_name_the_place() {
        assert_eq!(found(&[]), "alone");
        assert_eq!(found(&[("RANK", "0"), ("WORLD_SIZE", "1")]), "alone");
        assert_eq!(changed(&[]), "1 of 2 at here:29500, tengen/0, Some(0)");
        assert_eq!(changed(&[("LOCAL_RANK", "")]), "1 of 2 at here:29500, tengen/0, None");
        let elastic = [
            ("TORCHELASTIC_USE_AGENT_STORE", "True"),
            ("TORCHELASTIC_RESTART_COUNT", "3"),
        ];
        assert_eq!(changed(&elastic), "1 of 2 at here:29500, tengen/3, Some(0), hosted");
        let step = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_LOCALID", "1"),
            ("MASTER_ADDR", "node1"),
            ("MASTER_PORT", "1234"),
        ];
        assert_eq!(found(&step), "2 of 4 at node1:1234, tengen/0, Some(1)");
        assert_eq!(found(&step[2..]), "2 of 4 at node1:1234, tengen/0, Some(1)");
        let batch_script: Vec<_> = step
            .iter()
            .copied()
            .filter(|(name, _)| *name != "SLURM_STEP_ID")
            .collect();
        assert_eq!(found(&batch_script), "alone");
        assert!(found(&step[..5]).starts_with("SLURM_NTASKS is 4, but MASTER_ADDR is not set: set it to the name"));
    }

    #[test]
    fn wrong_variables_are_refused_in_a_sentence() {
        let cases = [
            (
                ("RANK", "2"),
                "RANK is 2 and WORLD_SIZE is 2: expected a rank below the number of processes",
            ),
            (("RANK", "-1"), "RANK is \"-1\": expected a whole number"),
            (("WORLD_SIZE", "two"), "WORLD_SIZE is \"two\": expected a whole number"),
            (
                ("WORLD_SIZE", ""),
                "RANK and WORLD_SIZE must both be set, but WORLD_SIZE is not: start",
            ),
            (
                ("RANK", ""),
                "RANK and WORLD_SIZE must both be set, but RANK is not: start",
            ),
            (
                ("MASTER_ADDR", ""),
                "WORLD_SIZE is 2, but MASTER_ADDR is not set: set it to the name of the host",
            ),
            (
                ("MASTER_PORT", ""),
                "WORLD_SIZE is 2, but MASTER_PORT is not set: set it to a free port",
            ),
            (
                ("MASTER_PORT", "70000"),
                "MASTER_PORT is \"70000\": expected a number from 1 to 65535",
            ),
            (("LOCAL_RANK", "x"), "LOCAL_RANK is \"x\": expected a whole number"),
        ];
        for (variable, expected) in cases {
            let found = changed(&[variable]);
            assert!(found.starts_with(expected), "{variable:?}: {found}");
        }
        let lost = found(&[("TORCHELASTIC_USE_AGENT_STORE", "True")]);
        assert!(
            lost.starts_with("RANK and WORLD_SIZE must both be set, but RANK is not"),
            "{lost}"
        );
    }
}
