//! What a run has cost so far, over all resumes.

use serde::{Deserialize, Serialize};

/// The total cost of a run; pauses between resumes do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Seconds of self-play and training.
    pub elapsed_seconds: f64,
    /// CPU seconds of all threads together.
    pub cpu_seconds: f64,
    /// Seconds of GPU use; 0 on a CPU.
    pub gpu_seconds: f64,
    /// Network evaluations in self-play.
    pub evaluations: u64,
    /// What workers and a gate in other processes have added to `cpu_seconds`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub workers_cpu_seconds: f64,
    /// What self-play in other processes has added to `evaluations`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub workers_evaluations: u64,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Ledger {
    /// Adds what workers and a gate in other processes have spent since the start of the run, except what `before`
    /// already counts. Totals never decrease.
    #[must_use]
    pub fn with_workers(self, before: Ledger, evaluations: u64, cpu_seconds: f64) -> Ledger {
        let evaluations = evaluations.max(before.workers_evaluations);
        let cpu_seconds = cpu_seconds.max(before.workers_cpu_seconds);
        Ledger {
            evaluations: self.evaluations + evaluations - before.workers_evaluations,
            cpu_seconds: self.cpu_seconds + cpu_seconds - before.workers_cpu_seconds,
            workers_evaluations: evaluations,
            workers_cpu_seconds: cpu_seconds,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workers' costs count once, however often the trainer restarts.
    #[test]
    fn adds_what_workers_have_spent_since_the_checkpoint() {
        let first = Ledger::default().with_workers(Ledger::default(), 100, 7.0);
        assert_eq!((first.evaluations, first.cpu_seconds), (100, 7.0));
        let again = first.with_workers(first, 160, 9.0);
        assert_eq!((again.evaluations, again.cpu_seconds), (160, 9.0));
        // Right after a restart, the trainer does not know the workers' costs yet.
        assert_eq!(first.with_workers(first, 0, 0.0), first);
    }
}
