//! The end of a run: publishes the last weights as a model, lets the gate decide on it and makes the summary. Each step
//! checks the store for what is already done, so an interrupted end resumes at the next start.

use std::sync::atomic::Ordering;

use tengen_metrics::{Measured, Metrics, Model};
use tengen_report::{Refresh, write_report};

use crate::gating::{Gating, Standing, left_over};
use crate::opened::Opened;
use crate::summary::Summary;
use crate::training::Training;
use tengen_config::Ledger;

/// Ends a run whose budget is spent; `None` if the user stopped it.
pub fn finish(run: &Opened) -> anyhow::Result<Option<Summary>> {
    let (mut training, ledger) = Training::resume_within_budget(run)?;
    let published = last_model(run, &mut training, &ledger)?;
    let metrics = Metrics::of(&run.store, &run.folder()?)?;
    let record = |measured| metrics.note(ledger.elapsed_seconds, measured);
    if let Some(model) = published {
        record(Measured::Model(model));
    }
    let mut gating = Gating::new(run);
    let mut standing = gating.standing()?;
    let show = |standing: &Standing| run.watch.standing(&standing.champion, ledger.elapsed_seconds);
    show(&standing);
    if let Some(candidate) = left_over(run)? {
        run.watch
            .closing_step(Some("gate match of the last model against the champion"));
        let settled = gating.settle(&candidate, &|words| run.watch.closing_step(Some(&words)), &|| {
            run.stop.load(Ordering::SeqCst)
        })?;
        run.watch.closing_step(None);
        let Some(settled) = settled else { return Ok(None) };
        run.watch.say(&format!("gate: {}", settled.in_words()));
        record(Measured::Gate(settled.event()));
        standing = gating.standing()?;
        show(&standing);
    }
    let ratings = standing.ratings;
    ratings
        .iter()
        .for_each(|rating| record(Measured::Rating(rating.clone())));
    let Some(summary) = Summary::of(run, &training, &ledger, ratings)? else {
        return Ok(None);
    };
    write_report(&run.store, &run.folder()?.join("report.html"), Refresh::Never)?;
    Ok(Some(summary))
}

/// Publishes the trainer's weights unless the newest model already has them; returns the event for the metrics.
fn last_model(run: &Opened, training: &mut Training, ledger: &Ledger) -> anyhow::Result<Option<Model>> {
    if training.is_published(run)? {
        return Ok(None);
    }
    let newest = run.store.models().list()?.pop();
    let generation = newest.map_or(0, |newest| newest.generation() + 1);
    let (id, _) = training.publish(generation, ledger)?;
    Ok(Some(training.model_event(&id.to_string(), ledger)))
}
