//! Reads games, has their positions labelled, and publishes them shard by shard, in order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde::Serialize;
use serde_json::{Value, json};

use tengen_store::{Admission, Collection, Store};

use crate::chunk::{Chunk, Task, labelled_id, teacher_text};
use crate::error::LabelError;
use crate::sources::SourceGames;
use crate::teacher::{Counts, Desk, Report, Teacher};

/// Maximum number of games in a shard.
const SHARD_GAMES: usize = 2048;

/// Maximum number of reasons for leaving games out that a report lists.
const REASONS: usize = 10;

/// Number of refused games after which the work ends if no position has been labelled.
const HOPELESS: u64 = 100;

/// The collection of labelled games in a store.
const COLLECTION: &str = "labels";

/// How long to wait for labels before showing progress.
const LOOK: Duration = Duration::from_millis(100);

/// How far labelling has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelProgress {
    /// Positions of the games read so far, including those that are not labelled.
    pub positions_read: u64,
    /// Positions of all games.
    pub all_positions: u64,
    /// Positions labelled so far.
    pub labelled: u64,
    /// Evaluations of the network so far, or visits of another engine.
    pub evaluations: u64,
    /// Seconds since the start.
    pub seconds: f64,
}

impl fmt::Display for LabelProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.evaluations as f64 / self.seconds.max(1e-3);
        write!(f, "{} labelled, {rate:.0} evaluations/s", self.labelled)
    }
}

/// What has been labelled.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LabelReport {
    /// What is recorded about the teacher with every game.
    pub teacher: Value,
    /// Games read from the sources.
    pub games_read: u64,
    /// Games labelled and published.
    pub games: u64,
    /// Positions labelled in them.
    pub positions: u64,
    /// Games that were labelled by this teacher before.
    pub already_labelled: u64,
    /// Games of SGF files that are illegal or cannot be read.
    pub rejected: u64,
    /// Games left out because an engine refused a position of them or answered wrongly.
    pub refused: u64,
    /// Why the first of them were left out.
    pub refusals: Vec<String>,
    /// Shards that could not be read, with the reasons.
    pub damaged: Vec<String>,
    /// Evaluations of the network, or visits of another engine.
    pub evaluations: u64,
    /// Evaluations that were found in the cache.
    pub cache_hits: u64,
    /// Positions per call of the network.
    pub mean_batch: f64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Whether all positions are labelled; false if the work was stopped.
    pub complete: bool,
    /// Paths of the new shards.
    pub shards: Vec<String>,
}

impl fmt::Display for LabelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "labelled {} positions of {} games with {} evaluations in {:.1} s",
            self.positions, self.games, self.evaluations, self.seconds
        )?;
        write!(
            f,
            "read {} games, {} labelled before",
            self.games_read, self.already_labelled
        )?;
        if self.rejected > 0 {
            write!(f, ", {} left out as illegal or unreadable", self.rejected)?;
        }
        if self.refused > 0 {
            write!(f, "\n{} left out because of the engine, such as:", self.refused)?;
            self.refusals.iter().try_for_each(|reason| write!(f, "\n  {reason}"))?;
        }
        self.damaged.iter().try_for_each(|shard| write!(f, "\nskipped {shard}"))
    }
}

/// Labels the games that are not labelled yet and publishes them in `into`. A shard is full once it has
/// `shard_positions` positions to label; a killed process repeats the shards in progress. `watch` is called about ten
/// times a second and returns whether to continue; finished shards are kept either way.
///
/// # Errors
/// [`LabelError`]. What was published before stays.
pub fn label(
    sources: SourceGames,
    into: &Store,
    shard_positions: u32,
    teacher: &Teacher,
    watch: &mut dyn FnMut(LabelProgress) -> bool,
) -> Result<LabelReport, LabelError> {
    if sources.contains_store(into.location()) {
        return Err(LabelError::IntoItself(into.location().to_owned()));
    }
    let (began, counts, stop) = (Instant::now(), Counts::default(), AtomicBool::new(false));
    let mut admission = Admission::new(into)?;
    admission.resolve_strays()?;
    let (tasks, reports) = (unbounded(), unbounded());
    let desk = Desk {
        tasks: tasks.1,
        reports: reports.0,
        counts: &counts,
        stop: &stop,
        seed: sources.positions().seed,
    };
    let lead = Lead {
        teacher: teacher_text(&teacher.identity(), &json!(sources.positions())),
        sources,
        admission,
        shard_positions: shard_positions as usize,
        counts: &counts,
        began,
        tasks: tasks.0,
        chunks: BTreeMap::new(),
        next_chunk: 0,
        exhausted: false,
        capacity: 0,
        outstanding: 0,
        progress: LabelProgress::default(),
        report: LabelReport::default(),
    };
    let mut report = std::thread::scope(|scope| {
        for thread in 0..teacher.threads() {
            let desk = desk.clone();
            scope.spawn(move || run_thread(teacher, thread, desk));
        }
        drop(desk);
        let done = lead.run(&reports.1, watch);
        stop.store(true, Ordering::Relaxed);
        done
    })?;
    report.seconds = began.elapsed().as_secs_f64();
    report.evaluations = counts.evaluations.load(Ordering::Relaxed);
    report.cache_hits = counts.cache_hits.load(Ordering::Relaxed);
    report.mean_batch = report.evaluations as f64 / counts.batches.load(Ordering::Relaxed).max(1) as f64;
    Ok(report)
}

/// Runs one thread of the teacher, and reports an error if it fails.
pub(crate) fn run_thread(teacher: &Teacher, thread: usize, desk: Desk<'_>) {
    let end = EndNotice(&desk);
    if let Err(error) = teacher.work(thread, &desk) {
        let _ = desk.reports.send(Report::Failed(error));
    }
    drop(end);
}

/// Reports to the lead when a thread panics.
struct EndNotice<'a>(&'a Desk<'a>);

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.reports.send(Report::Failed(LabelError::ThreadEnded));
        }
    }
}

/// Gives out positions, collects labels, and publishes shards.
struct Lead<'a> {
    teacher: String,
    sources: SourceGames,
    admission: Admission,
    shard_positions: usize,
    counts: &'a Counts,
    began: Instant,
    tasks: Sender<Task>,
    /// Chunks in progress by number; they are published in this order.
    chunks: BTreeMap<u64, Chunk>,
    next_chunk: u64,
    exhausted: bool,
    /// Positions that all threads together can work on at a time.
    capacity: usize,
    /// Positions given out whose labels have not arrived.
    outstanding: usize,
    progress: LabelProgress,
    report: LabelReport,
}

impl Lead<'_> {
    fn run(
        mut self,
        reports: &Receiver<Report>,
        watch: &mut dyn FnMut(LabelProgress) -> bool,
    ) -> Result<LabelReport, LabelError> {
        let mut shown = Instant::now();
        loop {
            self.give_out()?;
            if self.chunks.is_empty() && self.exhausted {
                return self.finish(true);
            }
            match reports.recv_timeout(LOOK) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(LabelError::ThreadEnded),
            }
            self.publish()?;
            if shown.elapsed() >= LOOK {
                shown = Instant::now();
                if !watch(self.progress()) {
                    return self.finish(false);
                }
            }
        }
    }

    /// Reads games until the threads have enough to do.
    fn give_out(&mut self) -> Result<(), LabelError> {
        while !self.exhausted && self.outstanding <= 2 * self.capacity {
            let (number, chunk) = (self.next_chunk, self.read_chunk()?);
            self.next_chunk += 1;
            if chunk.is_empty() {
                continue;
            }
            let tasks = chunk.tasks(number)?;
            self.outstanding += tasks.len();
            for task in tasks {
                // The receivers are gone only if every thread has failed and reported it.
                let _ = self.tasks.send(task);
            }
            self.chunks.insert(number, chunk);
        }
        Ok(())
    }

    /// The next games for a shard, without those that are already labelled. Which games belong together depends only on
    /// the sources, so that a shard holds the same games however often the work is interrupted.
    fn read_chunk(&mut self) -> Result<Chunk, LabelError> {
        let mut chunk = Chunk::default();
        let (mut positions, mut games) = (0, 0);
        while positions < self.shard_positions && games < SHARD_GAMES {
            let Some(game) = self.sources.next()? else {
                self.exhausted = true;
                break;
            };
            positions += game.plies.len();
            games += 1;
            self.progress.positions_read += game.record.plies.len() as u64;
            let id = labelled_id(&game.record.game_id, &self.teacher);
            match self.admission.knows(&id) {
                true => self.report.already_labelled += 1,
                false => chunk.push(id, game.record, game.plies),
            }
        }
        Ok(chunk)
    }

    fn take(&mut self, report: Report) -> Result<(), LabelError> {
        match report {
            Report::Capacity(positions) => self.capacity += positions,
            Report::Failed(error) => return Err(error),
            Report::Refused { chunk, game, reason } => {
                self.outstanding -= 1;
                if self.chunks.get_mut(&chunk).is_some_and(|chunk| chunk.refuse(game)) {
                    self.refuse(&reason)?;
                }
            }
            Report::Label {
                chunk,
                game,
                ply,
                label,
            } => {
                self.outstanding -= 1;
                self.progress.labelled += 1;
                if let Some(chunk) = self.chunks.get_mut(&chunk) {
                    chunk.set(game, ply, label);
                }
            }
        }
        Ok(())
    }

    /// Counts a game that is left out. Gives up on an engine that refuses everything.
    fn refuse(&mut self, reason: &LabelError) -> Result<(), LabelError> {
        self.report.refused += 1;
        if self.report.refusals.len() < REASONS {
            self.report.refusals.push(reason.to_string());
        }
        match self.progress.labelled == 0 && self.report.refused >= HOPELESS {
            true => Err(self.nothing_answered()),
            false => Ok(()),
        }
    }

    fn nothing_answered(&self) -> LabelError {
        LabelError::NothingAnswered {
            games: self.report.refused,
            first: self.report.refusals.first().cloned().unwrap_or_default(),
        }
    }

    /// Publishes the chunks that are complete, up to the first that is not.
    fn publish(&mut self) -> Result<(), LabelError> {
        while let Some(first) = self.chunks.first_entry()
            && first.get().missing() == 0
        {
            let (number, chunk) = first.remove_entry();
            let mut games = chunk.records(&self.teacher)?;
            if games.is_empty() {
                continue;
            }
            let collection = Collection::Import {
                name: COLLECTION.to_owned(),
            };
            let shard = self.admission.admit(&collection, number, &mut games)?;
            self.report.games += games.len() as u64;
            let labelled = games.iter().flat_map(|game| &game.plies).filter(|ply| ply.weight > 0.0);
            self.report.positions += labelled.count() as u64;
            self.report.shards.extend(shard.map(|shard| shard.path));
        }
        Ok(())
    }

    fn progress(&self) -> LabelProgress {
        LabelProgress {
            all_positions: self.sources.all_positions,
            evaluations: self.counts.evaluations.load(Ordering::Relaxed),
            seconds: self.began.elapsed().as_secs_f64(),
            ..self.progress
        }
    }

    fn finish(mut self, complete: bool) -> Result<LabelReport, LabelError> {
        let none = self.report.games + self.report.already_labelled == 0;
        if complete && none && self.report.refused > 0 {
            return Err(self.nothing_answered());
        }
        if complete && none {
            return Err(LabelError::NothingToLabel {
                games: self.sources.games_read,
                sources: self.sources.in_words(),
            });
        }
        let teacher = serde_json::from_str(&self.teacher).unwrap_or(Value::Null);
        self.report.teacher = teacher;
        self.report.games_read = self.sources.games_read;
        self.report.rejected = self.sources.rejected;
        self.report.damaged = std::mem::take(&mut self.sources.damaged);
        self.report.complete = complete;
        Ok(self.report)
    }
}
