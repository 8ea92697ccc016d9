//! Measures what this process adds to the cost of a run.

use std::time::Instant;

use tengen_config::Ledger;

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
}
