//! The self-play side of the loop: the network to play with, and unfinished games that survive a clean stop.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use tengen_evaluator::Book;
use tengen_model::Weights;
use tengen_records::now_ms;
use tengen_report::counted;
use tengen_rules::{Move, Rules, Size};
use tengen_selfplay::{
    Clock, FairKomi, Generator, GeneratorError, GeneratorSetup, ModelUpdate, RunIdentity, SelfPlayConfig, Snapshot,
};
use tengen_store::{seal, unseal};

use crate::fair_komi::stated;
use crate::opened::Opened;
use tengen_config::Progress;

/// File of the games in progress at the last clean stop.
const IN_FLIGHT: &str = "in_flight.json";

/// Maximum number of finished games waiting for the publisher.
const CHANNEL: usize = 4096;

/// Describes the model that self-play should use next, at this point of the run and with this fair komi. On GPUs, its
/// weights are loaded when this returns.
///
/// # Errors
/// If the network cannot be used on a GPU.
pub fn update(
    run: &Opened,
    weights: &Weights,
    generation: u32,
    model_id: String,
    progress: Progress,
    fair_komi: FairKomi,
) -> anyhow::Result<ModelUpdate> {
    let predictor = tengen_predictors::on_devices(&model_id, weights, run.options, &run.selfplay_devices)?;
    Ok(ModelUpdate {
        generation,
        model_id,
        visits: run.config.visits_at(progress),
        positions: progress.positions,
        spent: progress.spent,
        fair_komi,
        predictor: Arc::new(predictor),
    })
}

/// The same model, at this point of the run and with this fair komi.
pub fn kept(run: &Opened, model: &ModelUpdate, progress: Progress, fair_komi: FairKomi) -> ModelUpdate {
    ModelUpdate {
        visits: run.config.visits_at(progress),
        positions: progress.positions,
        spent: progress.spent,
        fair_komi,
        ..model.clone()
    }
}

/// Describes the champion as the model that self-play should use next, as [`update`] does.
///
/// # Errors
/// If the store has no champion or cannot be read, or as [`update`].
pub fn champion_update(run: &Opened, progress: Progress) -> anyhow::Result<ModelUpdate> {
    let id = run.champion()?;
    let komi = stated(&run.store.models().info(&id)?, &run.config.sizes()?);
    update(run, &run.weights(&id)?, id.generation(), id.to_string(), progress, komi)
}

/// Checks that this many threads are enough to give every device of self-play at least one.
///
/// # Errors
/// If there are fewer threads than devices.
pub fn check_threads(run: &Opened, threads: usize) -> anyhow::Result<()> {
    let devices = run.selfplay_devices.len();
    anyhow::ensure!(
        threads >= devices,
        "self-play has {}, so that some of the {devices} devices would have nothing to do: name fewer devices, or set \
         loop.workers (--threads of tengen selfplay) to {devices} or more",
        counted(threads as u64, "thread")
    );
    Ok(())
}

/// Starts the workers, with the games in progress at the last clean stop if there are any.
pub fn start(run: &Opened, model: ModelUpdate, first_limit: u64) -> anyhow::Result<Generator> {
    check_threads(run, threads(run))?;
    let setup = GeneratorSetup {
        run: identity(run),
        // Later than every earlier start, because one process at a time holds the store's lock and starting takes
        // longer than a millisecond.
        session: now_ms(),
        threads: threads(run),
        groups_per_thread: groups(run),
        channel_capacity: CHANNEL,
        first_limit,
    };
    let keep = |games: &Snapshot| keep_in_progress(run, games);
    start_with(run, setup, model, || take_in_progress(run), keep)
}

/// Starts the workers with the games in progress that `take` returns. Games that do not fit the run are discarded; if
/// the workers cannot start for another reason, `keep` is called with the games.
///
/// # Errors
/// If the opening books cannot be read, the workers cannot start, or `take` or `keep` fails.
pub fn start_with(
    run: &Opened,
    setup: GeneratorSetup,
    model: ModelUpdate,
    take: impl FnOnce() -> anyhow::Result<Option<Snapshot>>,
    keep: impl FnOnce(&Snapshot) -> anyhow::Result<()>,
) -> anyhow::Result<Generator> {
    let config = with_books(run)?;
    let in_progress = take()?;
    match Generator::start(&config, setup.clone(), model.clone(), in_progress.as_ref()) {
        Err(GeneratorError::Snapshot(error)) => {
            warn_discarded(&error.into());
            Ok(Generator::start(&config, setup, model, None)?)
        }
        Err(error) => {
            in_progress.as_ref().map_or(Ok(()), keep)?;
            Err(error.into())
        }
        started => Ok(started?),
    }
}

/// The settings of self-play, with the lines of its opening books. Text files are for the run's first board, SGF files
/// for the boards that they name.
///
/// # Errors
/// If a book cannot be read, has no line for any board of the run, or has an illegal move.
pub fn with_books(run: &Opened) -> anyhow::Result<SelfPlayConfig> {
    let mut config = run.config.selfplay.clone();
    let sizes = run.config.sizes()?;
    for book in &mut config.opening.books {
        // On another board, the lines of a text file would mean something else.
        let boards = if tengen_matches::names_boards(Path::new(&book.book)) {
            sizes.len()
        } else {
            1
        };
        for &size in sizes.iter().take(boards) {
            let lines = lines_for(&book.book, size, run.config.rules)?;
            book.lines.extend(lines.into_iter().map(|line| (size, line)));
        }
        anyhow::ensure!(
            !book.lines.is_empty(),
            "the opening book {} has no opening for the boards of the run, which starts with Black on the empty board",
            book.book
        );
    }
    Ok(config)
}

/// The distinct lines of a book for boards of this size, all of them legal; empty if the book has none.
fn lines_for(path: &str, size: Size, rules: Rules) -> anyhow::Result<Vec<Vec<Move>>> {
    let lines = tengen_matches::lines_of_book(Path::new(path), size)
        .with_context(|| format!("cannot read the opening book {path}"))?;
    let book = Book::read(path, lines, None);
    if !book.lines().is_empty() {
        book.validate(size, rules).map_err(anyhow::Error::msg)?;
    }
    Ok(book.lines().to_vec())
}

/// The identity shared by all games of the run.
pub fn identity(run: &Opened) -> RunIdentity {
    RunIdentity {
        seed: run.config.seed,
        config_id: run.config_id.clone(),
        rules: run.config.rules,
        clock: Clock::System,
    }
}

/// Number of self-play threads: as configured, otherwise one per core.
pub fn threads(run: &Opened) -> usize {
    match run.config.loop_config.workers.unwrap_or(0) {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    }
}

/// Number of groups per thread.
pub fn groups(run: &Opened) -> usize {
    run.config.loop_config.groups_per_worker.unwrap_or(1)
}

/// Saves the games in progress for the next start.
pub fn keep_in_progress(run: &Opened, snapshot: &Snapshot) -> anyhow::Result<()> {
    if snapshot.games() > 0 {
        run.store.files().delete(IN_FLIGHT)?;
        let json = serde_json::to_string(snapshot)?;
        run.store.files().put_new(IN_FLIGHT, seal(&json))?;
    }
    Ok(())
}

/// The games in progress at the last clean stop. They are removed from the store first, so that no game is continued
/// and published twice.
fn take_in_progress(run: &Opened) -> anyhow::Result<Option<Snapshot>> {
    let Some(bytes) = run.store.files().get(IN_FLIGHT)? else {
        return Ok(None);
    };
    run.store.files().delete(IN_FLIGHT)?;
    let snapshot = unseal(IN_FLIGHT, &bytes).map_err(anyhow::Error::from);
    match snapshot.and_then(|json| Ok(Snapshot::from_bytes(&json)?)) {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(error) => {
            warn_discarded(&error);
            Ok(None)
        }
    }
}

fn warn_discarded(error: &anyhow::Error) {
    tracing::warn!("discarding the games in progress of an earlier process: {error}");
}
