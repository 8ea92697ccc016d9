//! The self-play side of the loop: which network it plays with, and games in flight kept over a clean stop.

use crate::run::Opened;
use std::sync::Arc;
use tengen_network::{PredictorOptions, TorchPredictor, Weights};
use tengen_records::now_ms;
use tengen_search::{PredictError, Predictor};
use tengen_selfplay::{
    Clock, FairKomi, Generator, GeneratorError, GeneratorSetup, ModelUpdate, RunIdentity, Snapshot, SnapshotError,
};

/// The games in flight of the last clean stop.
const IN_FLIGHT: &str = "in_flight.json";

/// Finished games that may wait for the publisher.
const CHANNEL: usize = 4096;

/// What self-play is told to play with.
pub(crate) fn update(
    weights: Weights,
    options: PredictorOptions,
    generation: u32,
    model_id: String,
    visits: u32,
    fair_komi: FairKomi,
) -> ModelUpdate {
    let name = model_id.clone();
    let predictor = Arc::new(move |_worker: usize| {
        let predictor =
            TorchPredictor::new(&weights, options).map_err(|error| PredictError::Failed(error.to_string()))?;
        Ok(Box::new(predictor.with_name(name.clone())) as Box<dyn Predictor>)
    });
    ModelUpdate {
        generation,
        model_id,
        visits,
        fair_komi,
        predictor,
    }
}

/// Starts the workers, with the games in flight of the last clean stop if there are any.
pub(crate) fn start(run: &Opened, model: ModelUpdate, first_limit: u64) -> anyhow::Result<Generator> {
    let setup = GeneratorSetup {
        run: identity(run),
        // Later than every earlier start: one process at a time holds the store's lock, and starting takes longer than
        // a millisecond.
        session: now_ms(),
        threads: threads(run),
        groups_per_thread: run.config.pace.groups_per_worker,
        channel_capacity: CHANNEL,
        first_limit,
    };
    let config = &run.config.selfplay;
    let Some(in_flight) = take_in_flight(run)? else {
        return Ok(Generator::start(config, setup, model, None)?);
    };
    match Generator::start(config, setup.clone(), model.clone(), Some(&in_flight)) {
        Err(GeneratorError::Snapshot(error)) => {
            give_up_in_flight(&error);
            Ok(Generator::start(config, setup, model, None)?)
        }
        Err(error) => {
            keep_in_flight(run, &in_flight)?;
            Err(error.into())
        }
        started => Ok(started?),
    }
}

/// What all games of the run have in common.
pub(crate) fn identity(run: &Opened) -> RunIdentity {
    RunIdentity {
        seed: run.config.seed,
        config_id: run.config_id.clone(),
        rules: run.config.rules,
        clock: Clock::System,
    }
}

/// Self-play threads: those asked for, else one for each core.
pub(crate) fn threads(run: &Opened) -> usize {
    match run.config.pace.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    }
}

/// Keeps the games in flight for the next start.
pub(crate) fn keep_in_flight(run: &Opened, snapshot: &Snapshot) -> anyhow::Result<()> {
    if snapshot.games() > 0 {
        run.store.delete(IN_FLIGHT)?;
        run.store.put_new(IN_FLIGHT, snapshot.to_bytes())?;
    }
    Ok(())
}

/// The games in flight of the last clean stop. They are taken out of the store first: games begun twice could be
/// published twice.
fn take_in_flight(run: &Opened) -> anyhow::Result<Option<Snapshot>> {
    let Some(bytes) = run.store.get(IN_FLIGHT)? else {
        return Ok(None);
    };
    run.store.delete(IN_FLIGHT)?;
    match Snapshot::from_bytes(&bytes) {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(error) => {
            give_up_in_flight(&error);
            Ok(None)
        }
    }
}

fn give_up_in_flight(error: &SnapshotError) {
    tracing::warn!("the games in flight of the last stop are given up: {error}");
}
