//! Labels games in memory, without reading or publishing any.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, unbounded};
use serde_json::Value;

use tengen_records::GameRecord;

use crate::chunk::{Chunk, labelled_id, teacher_text};
use crate::error::LabelError;
use crate::labelling::run_thread;
use crate::teacher::{Counts, Desk, Report, Teacher};

/// How long to wait for labels before checking whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Games with labels.
#[derive(Clone, Debug, Default)]
pub struct LabelledGames {
    /// The games, in the order given, as imported games that name their teacher.
    pub games: Vec<GameRecord>,
    /// Positions labelled in them.
    pub positions: u64,
    /// Evaluations of the network, or visits of another engine.
    pub evaluations: u64,
}

/// Labels the positions before the given plies of each game. Plies must be in order, and games must have an
/// [origin](crate::with_origin). `choice` describes how the plies were chosen; it is recorded with the teacher, and a
/// different choice gives the labelled games different ids. `seed` seeds the searches. Returns `None` if `stop` is set
/// before the last label.
///
/// # Errors
/// [`LabelError`] if the teacher fails or refuses a position, or if a game breaks its rules.
pub fn label_games(
    games: Vec<(GameRecord, Vec<usize>)>,
    choice: &Value,
    seed: u64,
    teacher: &Teacher,
    stop: &AtomicBool,
) -> Result<Option<LabelledGames>, LabelError> {
    let text = teacher_text(&teacher.identity(), choice);
    let mut chunk = Chunk::default();
    for (record, plies) in games {
        chunk.push(labelled_id(&record.game_id, &text), record, plies);
    }
    let (tasks, reports, counts) = (unbounded(), unbounded(), Counts::default());
    let wanted = chunk.tasks(0)?;
    let positions = wanted.len() as u64;
    for task in wanted {
        // The receiver lives until the end of this function.
        let _ = tasks.0.send(task);
    }
    drop(tasks.0);
    let ended = AtomicBool::new(false);
    let desk = Desk {
        tasks: tasks.1,
        reports: reports.0,
        counts: &counts,
        stop: &ended,
        seed,
    };
    let complete = std::thread::scope(|scope| {
        for thread in 0..teacher.threads() {
            let desk = desk.clone();
            scope.spawn(move || run_thread(teacher, thread, desk));
        }
        drop(desk);
        let complete = collect(&mut chunk, &reports.1, stop);
        ended.store(true, Ordering::Relaxed);
        complete
    })?;
    if !complete {
        return Ok(None);
    }
    Ok(Some(LabelledGames {
        games: chunk.records(&text)?,
        positions,
        evaluations: counts.evaluations.load(Ordering::Relaxed),
    }))
}

/// Collects labels until none is missing (true) or `stop` is set (false).
fn collect(
    chunk: &mut Chunk,
    reports: &crossbeam_channel::Receiver<Report>,
    stop: &AtomicBool,
) -> Result<bool, LabelError> {
    while chunk.missing() > 0 {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match reports.recv_timeout(LOOK) {
            Ok(Report::Label { game, ply, label, .. }) => chunk.set(game, ply, label),
            Ok(Report::Failed(error) | Report::Refused { reason: error, .. }) => return Err(error),
            Ok(Report::Capacity(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(LabelError::ThreadEnded),
        }
    }
    Ok(true)
}
