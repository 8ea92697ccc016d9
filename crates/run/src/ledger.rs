//! The total cost of a run, over all resumes.

use std::time::Instant;

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
    /// What self-play in other processes has added to `cpu_seconds`.
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
    /// Adds what self-play in other processes has spent in all, of which `before` includes a part.
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

/// Adds the time since the start of this process to a [`Ledger`].
pub struct Clock {
    before: Ledger,
    began: Instant,
    cpu_began: f64,
    on_gpu: bool,
}

impl Clock {
    /// Continues from the cost of the run's earlier processes.
    pub fn start(before: Ledger, on_gpu: bool) -> Clock {
        Clock {
            before,
            began: Instant::now(),
            cpu_began: process_cpu_seconds(),
            on_gpu,
        }
    }

    /// The ledger now, given the evaluations made since the clock started.
    pub fn read(&self, evaluations: u64) -> Ledger {
        let elapsed = self.began.elapsed().as_secs_f64();
        Ledger {
            elapsed_seconds: self.before.elapsed_seconds + elapsed,
            cpu_seconds: self.before.cpu_seconds + process_cpu_seconds() - self.cpu_began,
            gpu_seconds: self.before.gpu_seconds + if self.on_gpu { elapsed } else { 0.0 },
            evaluations: self.before.evaluations + evaluations,
            ..self.before
        }
    }
}

/// CPU time of this process so far, in seconds.
fn process_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_to_earlier_costs() {
        let before = Ledger {
            elapsed_seconds: 10.0,
            cpu_seconds: 20.0,
            gpu_seconds: 3.0,
            evaluations: 5,
            ..Ledger::default()
        };
        let now = Clock::start(before, false).read(7);
        assert_eq!((now.evaluations, now.gpu_seconds), (12, 3.0));
        assert!(now.elapsed_seconds >= 10.0 && now.cpu_seconds >= 20.0);
    }

    /// Workers count once, however often the trainer starts again.
    #[test]
    fn adds_what_workers_have_spent_since_the_checkpoint() {
        let first = Ledger::default().with_workers(Ledger::default(), 100, 7.0);
        assert_eq!((first.evaluations, first.cpu_seconds), (100, 7.0));
        let again = first.with_workers(first, 160, 9.0);
        assert_eq!((again.evaluations, again.cpu_seconds), (160, 9.0));
        // Right after a start, the workers' costs are not known yet.
        assert_eq!(first.with_workers(first, 0, 0.0), first);
    }
}
