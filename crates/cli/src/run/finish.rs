//! The end of a run: publishes the last weights as a model, lets the gate decide on it and makes the summary. Each step
//! checks the store for what is already done, so an interrupted end resumes at the next start.

use crate::interrupt::Interrupt;
use crate::output::{bars, say};
use crate::run::gating::{Gating, left_over};
use crate::run::summary::Summary;
use crate::run::training::Training;
use crate::run::{Ledger, Opened};
use indicatif::ProgressBar;
use std::time::Duration;
use tengen_report::metrics::{Event, Measured, Metrics};
use tengen_report::{Refresh, write_report};

/// Ends a run whose budget is spent; `None` if the user stopped it.
pub(crate) fn finish(run: &Opened, interrupt: &Interrupt) -> anyhow::Result<Option<Summary>> {
    let (mut training, ledger) = Training::resume(&run.store, &run.config, &run.run_id, run.options.device)?;
    last_model(run, &mut training, &ledger)?;
    let metrics = Metrics::open(&run.folder()?)?;
    let record = |measured| metrics.record(&Event::now(ledger.elapsed_seconds, measured));
    let mut gating = Gating::new(run);
    if let Some(candidate) = left_over(run)? {
        let line = waiting_line("gate match of the last model against the champion");
        let settled = gating.settle(&candidate, &|words| line.set_message(words), &|| interrupt.requested())?;
        line.finish_and_clear();
        let Some(settled) = settled else { return Ok(None) };
        say(format!("gate       {}", settled.in_words()));
        record(Measured::Gate(settled.event()))?;
    }
    let ratings = gating.ratings()?;
    ratings
        .iter()
        .cloned()
        .try_for_each(|rating| record(Measured::Rating(rating)))?;
    let line = waiting_line("measuring the champion's strength");
    let summary = Summary::of(run, &training, &ledger, ratings, interrupt);
    line.finish_and_clear();
    let Some(summary) = summary? else { return Ok(None) };
    write_report(&run.store, &run.folder()?.join("report.html"), Refresh::Never)?;
    Ok(Some(summary))
}

/// Publishes the trainer's weights unless the newest model is already from the same step.
fn last_model(run: &Opened, training: &mut Training, ledger: &Ledger) -> anyhow::Result<()> {
    let Some(newest) = run.store.models().list()?.pop() else {
        return Ok(());
    };
    let info = run.store.models().info(&newest)?;
    if info.provenance.step < training.steps() {
        training.publish(newest.generation() + 1, ledger)?;
    }
    Ok(())
}

fn waiting_line(message: &'static str) -> ProgressBar {
    let line = bars().add(ProgressBar::new_spinner());
    line.enable_steady_tick(Duration::from_millis(200));
    line.set_message(message);
    line
}
