//! The processes that share a run, which are the trainer, the gate, and the workers, and whether they are still alive.

use maud::{Markup, html};
use serde::Serialize;
use serde::de::DeserializeOwned;

use tengen_store::{Operations, Store, StoreError};

use super::openings::percent;
use crate::notices::{GATE, GateSays, Notice, TRAINER, TrainerSays, WORKERS, WorkerSays};
use crate::numbers::{duration, thousands};

/// Maximum number of rows of the table.
const MOST_ROWS: usize = 200;

/// A process has stopped without saying so if its last notice is this many seconds older than the newest file in
/// `fleet/`. Processes that seldom write notices have three times their interval.
const SILENT: f64 = 60.0;

/// One process of a run.
pub(super) struct Process {
    role: &'static str,
    name: String,
    host: String,
    device: String,
    /// Seconds between its last notice and the newest file in `fleet/`, by the store's clock.
    silent: f64,
    /// Seconds between its notices.
    every: f64,
    ended: bool,
    /// What it is doing, as text.
    doing: String,
    /// Games and network evaluations per second; `None` except for workers.
    rates: Option<(f64, f64)>,
    /// Share of its time in which it waited for the trainer.
    idle: Option<f64>,
    /// Share of its time in which its GPUs were busy.
    gpu_busy: Option<f64>,
    operations: Operations,
}

impl Process {
    fn has_stopped(&self) -> bool {
        !self.ended && self.silent > SILENT.max(3.0 * self.every)
    }

    /// A sentence for the user if the process has stopped without saying so.
    pub(super) fn problem(&self) -> Option<String> {
        self.has_stopped().then(|| {
            format!(
                "The {} {} on {} has stopped without saying so: its last news is {} older than the newest.",
                self.role,
                self.name,
                self.host,
                duration(self.silent)
            )
        })
    }

    fn state(&self) -> Markup {
        html! {
            @if self.ended { "ended" }
            @else if self.has_stopped() { span.no { "gone" } }
            @else { span.yes { "alive" } }
        }
    }
}

/// The processes that have left notices in a store, the trainer and the gate first.
pub(super) fn read(store: &Store) -> Result<Vec<Process>, StoreError> {
    let listed = store.files().modified("fleet")?;
    let newest = listed.iter().map(|(_, _, time)| *time).max().unwrap_or(0);
    let mut processes = Vec::new();
    for (path, _, time) in &listed {
        let silent = (newest - time) as f64 / 1000.0;
        let process = match path.as_str() {
            TRAINER => one(store, path, "trainer", silent, trainer)?,
            GATE => one(store, path, "gate", silent, gate)?,
            path if path.starts_with(WORKERS) => one(store, path, "worker", silent, worker)?,
            _ => None,
        };
        processes.extend(process);
    }
    let rank = |process: &Process| {
        (
            ["trainer", "gate", "worker"]
                .iter()
                .position(|role| *role == process.role),
            process.ended,
        )
    };
    processes.sort_by(|a, b| rank(a).cmp(&rank(b)).then(a.silent.total_cmp(&b.silent)));
    Ok(processes)
}

/// Reads one notice; `fill` adds what depends on the kind of process.
fn one<T: Serialize + DeserializeOwned>(
    store: &Store,
    path: &str,
    role: &'static str,
    silent: f64,
    fill: fn(&mut Process, T),
) -> Result<Option<Process>, StoreError> {
    let notice = Notice::<T>::read(store, path)?;
    Ok(notice.map(|notice| {
        let mut process = Process {
            role,
            name: notice.author.name,
            host: notice.author.host,
            device: String::new(),
            silent,
            every: 0.0,
            ended: notice.ended,
            doing: String::new(),
            rates: None,
            idle: None,
            gpu_busy: None,
            operations: Operations::default(),
        };
        fill(&mut process, notice.says);
        process
    }))
}

fn trainer(process: &mut Process, says: TrainerSays) {
    process.doing = match says.finished {
        true => format!("the run is finished after step {}", thousands(says.step)),
        false => format!(
            "step {}, {} positions taken in, room for {} more",
            thousands(says.step),
            thousands(says.positions),
            thousands(says.room)
        ),
    };
    process.device = says.device;
    process.gpu_busy = says.gpu_busy;
    process.operations = says.operations;
}

fn gate(process: &mut Process, says: GateSays) {
    process.doing = says.playing;
    process.device = says.device;
    process.gpu_busy = says.gpu_busy;
    process.operations = says.operations;
}

fn worker(process: &mut Process, says: WorkerSays) {
    process.doing = match (process.ended, says.waits.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("plays with {}", says.model),
        (false, false) => says.waits,
    };
    process.device = says.device;
    process.every = says.notice_seconds;
    process.rates = Some((says.games_per_second, says.evaluations_per_second));
    process.idle = Some(says.idle);
    process.gpu_busy = says.gpu_busy;
    process.operations = says.operations;
}

/// The processes as a table.
pub(super) fn table(processes: &[Process]) -> Markup {
    let any_gpu = processes.iter().any(|process| process.gpu_busy.is_some());
    html! {
        p.soft { "\"Last seen\" is how much older a process's last news is than the newest, by the store's clock. \
                  Waiting is for the trainer; it is normal if workers play faster than the trainer learns." }
        p.soft.table-hint { "Scroll the table sideways to see all columns." }
        div.card.table tabindex="0" { table {
            tr {
                th.left { "process" } th.left { "host" } th.left { "device" } th.left { "state" } th { "last seen" }
                th { "games/s" } th { "evaluations/s" } th { "waiting" }
                @if any_gpu { th { "GPU busy" } }
                th { "store requests" } th { "mean latency" }
                th.left { "now" }
            }
            @for process in processes.iter().take(MOST_ROWS) { (row(process, any_gpu)) }
        } }
        @if processes.len() > MOST_ROWS {
            p.soft { "and " (thousands((processes.len() - MOST_ROWS) as u64)) " more" }
        }
    }
}

/// The row of a process, with a cell for its GPU if the table has that column.
fn row(process: &Process, any_gpu: bool) -> Markup {
    let operations = &process.operations;
    // The last figures of processes that have ended say nothing about now.
    let (rates, idle, gpu_busy) = match process.ended || process.has_stopped() {
        true => (None, None, None),
        false => (process.rates, process.idle, process.gpu_busy),
    };
    let share = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    html! {
        tr {
            td.left { (process.role) " " code { (process.name) } }
            td.left { (process.host) }
            td.left { (process.device) }
            td.left { (process.state()) }
            td { (duration(process.silent)) }
            td { (rates.map_or("–".to_owned(), |(games, _)| format!("{games:.1}"))) }
            td { (rates.map_or("–".to_owned(), |(_, evaluations)| thousands(evaluations.round() as u64))) }
            td { (share(idle)) }
            @if any_gpu { td { (share(gpu_busy)) } }
            td { (thousands(operations.requests())) }
            td { (format!("{:.1} ms", 1000.0 * operations.mean_seconds())) }
            td.left { (process.doing) }
        }
    }
}
