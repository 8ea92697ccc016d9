//! The end of a run: publishes the last weights as a model, lets the gate decide on it and makes the summary. Each step
//! checks the store for what is already done, so an interrupted end resumes at the next start.

use std::sync::atomic::Ordering;

use tengen_report::metrics::{Event, Measured, Metrics, Model};
use tengen_report::{Refresh, write_report};

use crate::gating::{Gating, left_over};
use crate::opened::Opened;
use crate::summary::Summary;
use crate::training::Training;
use tengen_config::Ledger;

/// Ends a run whose budget is spent; `None` if the user stopped it.
pub fn finish(run: &Opened) -> anyhow::Result<Option<Summary>> {
    let (mut training, ledger) = Training::resume(run)?;
    let published = last_model(run, &mut training, &ledger)?;
    let metrics = Metrics::of(&run.store, &run.folder()?)?;
    let record = |measured| metrics.record(&Event::now(ledger.elapsed_seconds, measured));
    published.map_or(Ok(()), |model| record(Measured::Model(model)))?;
    let mut gating = Gating::new(run);
    if let Some(candidate) = left_over(run)? {
        run.watch
            .closing_step(Some("gate match of the last model against the champion"));
        let settled = gating.settle(&candidate, &|words| run.watch.closing_step(Some(&words)), &|| {
            run.stop.load(Ordering::SeqCst)
        })?;
        run.watch.closing_step(None);
        let Some(settled) = settled else { return Ok(None) };
        run.watch.say(&format!("gate: {}", settled.in_words()));
        record(Measured::Gate(settled.event()))?;
    }
    let ratings = gating.ratings()?;
    ratings
        .iter()
        .cloned()
        .try_for_each(|rating| record(Measured::Rating(rating)))?;
    let Some(summary) = Summary::of(run, &training, &ledger, ratings)? else {
        return Ok(None);
    };
    write_report(&run.store, &run.folder()?.join("report.html"), Refresh::Never)?;
    Ok(Some(summary))
}

/// Publishes the trainer's weights unless the newest model is already from the same step, and says what they cost.
fn last_model(run: &Opened, training: &mut Training, ledger: &Ledger) -> anyhow::Result<Option<Model>> {
    let Some(newest) = run.store.models().list()?.pop() else {
        return Ok(None);
    };
    let step = match run.store.models().info(&newest) {
        Err(error) if error.is_damage() => {
            run.warn_once(format!("the model {newest} is skipped: {error}"));
            None
        }
        info => Some(info?.provenance.step),
    };
    if step.is_some_and(|step| step >= training.steps()) {
        return Ok(None);
    }
    let (id, _) = training.publish(newest.generation() + 1, ledger)?;
    Ok(Some(training.model_event(&id.to_string(), ledger)))
}
