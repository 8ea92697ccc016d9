//! The cost of a run that a trainer and its workers share.

use tengen_run::{Clock, Ledger, Opened};

use crate::herald::Herald;

/// The cost of the run: this trainer's and the workers'.
pub(super) struct Costs {
    clock: Clock,
    before: Ledger,
}

impl Costs {
    pub(super) fn start(run: &Opened, before: Ledger) -> anyhow::Result<Costs> {
        Ok(Costs {
            clock: Clock::start(before, run.options.device.resolve()?.is_cuda()),
            before,
        })
    }

    pub(super) fn read(&self, herald: Option<&Herald>) -> Ledger {
        let own = self.clock.read(0);
        herald.map_or(own, |herald| {
            let work = herald.effort().work;
            own.with_workers(self.before, work.evaluations, work.cpu_seconds)
        })
    }
}
