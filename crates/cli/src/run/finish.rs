//! The end of a run: the last weights become a model, the gate settles it, and the summary is made. Each step is found
//! again from the store, so an end that was cut short goes on at the next start.

use crate::interrupt::Interrupt;
use crate::output::{bars, say};
use crate::run::gating::{Gating, left_over};
use crate::run::summary::Summary;
use crate::run::training::Training;
use crate::run::{Ledger, Opened};
use indicatif::ProgressBar;
use std::time::Duration;
use tengen_model::ModelInfo;
use tengen_report::metrics::{Event, Measured, Metrics};
use tengen_report::{Refresh, write_report};

/// Ends a run whose budget is spent; `None` when somebody stopped it before.
pub(crate) fn finish(run: &Opened, interrupt: &Interrupt) -> anyhow::Result<Option<Summary>> {
    let (mut training, ledger) = Training::resume(&run.store, &run.config, &run.run_id, run.options.device)?;
    last_model(run, &mut training, &ledger)?;
    let metrics = Metrics::open(&run.folder()?)?;
    let record = |measured| metrics.record(&Event::now(ledger.elapsed_seconds, measured));
    let mut gating = Gating::new(run);
    if let Some(candidate) = left_over(run)? {
        let line = waiting_line("the last model meets the champion");
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
    let line = waiting_line("measuring what was learned");
    let summary = Summary::of(run, &training, &ledger, ratings, interrupt);
    line.finish_and_clear();
    let Some(summary) = summary? else { return Ok(None) };
    write_report(&run.store, &run.folder()?.join("report.html"), Refresh::Never)?;
    Ok(Some(summary))
}

/// Publishes the trainer's weights unless the newest model is already of the same step.
fn last_model(run: &Opened, training: &mut Training, ledger: &Ledger) -> anyhow::Result<()> {
    let Some(newest) = run.store.list_models()?.pop() else {
        return Ok(());
    };
    let info: ModelInfo = serde_json::from_value(run.store.model_info(&newest.id)?.into())?;
    if info.provenance.step < training.steps() {
        training.publish(newest.generation + 1, ledger)?;
    }
    Ok(())
}

fn waiting_line(message: &'static str) -> ProgressBar {
    let line = bars().add(ProgressBar::new_spinner());
    line.enable_steady_tick(Duration::from_millis(200));
    line.set_message(message);
    line
}
