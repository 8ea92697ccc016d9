//! Runs the configurations of a sweep, each in a process of its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use tengen_matches::usage;
use tengen_run::RunConfig;
use tengen_store::{Create, Store, StoreError};

use crate::plan::{Design, Plan, PlannedRun};

/// How often to check whether a process has ended or should stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long to wait for a run that an earlier, killed call left behind. Such a run saves its state and then ends.
const LONGEST_END: Duration = Duration::from_secs(120);

/// Maximum number of bytes of a log that an error quotes.
const QUOTED: u64 = 2_000;

/// The runs of a sweep on disk: for each `runs/<name>.toml` with its whole configuration, its store `runs/<name>`, and
/// `runs/<name>.log` with what its processes printed.
pub struct Runs<'a> {
    /// The program whose command `run` does a run.
    pub program: &'a Path,
    /// The folder of the sweep.
    pub folder: &'a Path,
    /// More arguments for every run, such as the device.
    pub arguments: &'a [String],
    /// Number of runs at a time.
    pub jobs: usize,
    /// Whether to stop. Runs then end cleanly, and the next call resumes them.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called with each run that has spent its budget.
    pub finished: &'a (dyn Fn(&PlannedRun) + Sync),
    /// Called with messages for the user.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl Runs<'_> {
    /// The store of a run.
    pub fn store_of(&self, run: &PlannedRun) -> PathBuf {
        self.folder.join("runs").join(&run.name)
    }

    /// Writes every configuration, or checks that those of an earlier call are the same.
    ///
    /// # Errors
    /// A usage error that names the keys that have changed since the first call.
    pub fn prepare(&self, plan: &Plan) -> anyhow::Result<()> {
        let folder = self.folder.join("runs");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for run in &plan.runs {
            let path = folder.join(format!("{}.toml", run.name));
            if path.exists() {
                let before = RunConfig::load(&path, &[])?;
                let changes = run.config.changes_since(&before)?;
                if !changes.is_empty() {
                    return Err(usage(format!(
                        "the run {} began with other settings: {}; choose another --out{}",
                        run.name,
                        changes.join(", "),
                        match plan.design {
                            Design::Arms(_) => ", or give the arm another name",
                            Design::Factors(_) => "",
                        }
                    )));
                }
                continue;
            }
            let text = toml::to_string(&run.config)?;
            tengen_report::replace(&path, text.as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Runs everything until its budget is spent. Returns false if it was stopped first.
    ///
    /// # Errors
    /// If a run fails; the others then stop cleanly.
    pub fn run(&self, plan: &Plan) -> anyhow::Result<bool> {
        let waiting: Mutex<VecDeque<&PlannedRun>> = Mutex::new(plan.runs.iter().collect());
        let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        let has_failed = || failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, plan.runs.len().max(1)) {
                scope.spawn(|| {
                    while !(self.stop)() && !has_failed() {
                        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(run) = next else { break };
                        match self.run_one(run, &has_failed) {
                            Ok(true) => (self.finished)(run),
                            Ok(false) => {}
                            Err(error) => {
                                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                                failure.get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(!(self.stop)()),
        }
    }

    /// Waits until no process uses a store. Returns false if it was stopped first.
    fn wait_for(&self, store: &Path, limit: Duration, also_stop: &dyn Fn() -> bool) -> anyhow::Result<bool> {
        let began = Instant::now();
        let mut said = false;
        while let Some(holder) = holder_of(store) {
            let still = format!(
                "{} is still in use by process {holder} of an earlier call",
                store.display()
            );
            if (self.stop)() || also_stop() {
                return Ok(false);
            }
            if began.elapsed() >= limit {
                bail!(
                    "{still} after {} s: stop that process, then run the same command again",
                    limit.as_secs()
                );
            }
            if !said {
                said = true;
                (self.say)(&format!("{still}: waiting until it ends"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(true)
    }

    /// Runs one configuration in a process of its own. Returns false if it was stopped.
    fn run_one(&self, run: &PlannedRun, also_stop: &dyn Fn() -> bool) -> anyhow::Result<bool> {
        let store = self.store_of(run);
        if !self.wait_for(&store, LONGEST_END, also_stop)? {
            return Ok(false);
        }
        let log = store.with_file_name(format!("{}.log", run.name));
        let about = || format!("cannot start the run {}", run.name);
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(about)?;
        let mut child = Command::new(self.program)
            .arg("run")
            .arg(store.with_file_name(format!("{}.toml", run.name)))
            .arg("--store")
            .arg(&store)
            .args(["--closing-games", "0", "--ends-with"])
            .arg(std::process::id().to_string())
            .args(self.arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone().with_context(about)?)
            .stderr(output)
            // Ctrl-C in a terminal signals the whole group; the run must get one signal, not two.
            .process_group(0)
            .spawn()
            .with_context(about)?;
        let mut told = false;
        let status = loop {
            if let Some(status) = child.try_wait().context("cannot wait for a run")? {
                break status;
            }
            if !told && ((self.stop)() || also_stop()) {
                told = true;
                end(&child);
            }
            std::thread::sleep(LOOK_EVERY);
        };
        match (status.success(), told) {
            (true, _) => Ok(true),
            (false, true) => Ok(false),
            (false, false) => bail!(
                "the run {} ended with {status}; {}:\n{}",
                run.name,
                log.display(),
                tail(&log)
            ),
        }
    }
}

/// The process that uses a store. Any other problem with the store is ignored here, because the run itself reports it
/// better.
fn holder_of(store: &Path) -> Option<String> {
    let opened = Store::open(&store.to_string_lossy(), Create::Never);
    match opened.and_then(|store| store.lock_run()) {
        Err(StoreError::Locked { holder, .. }) => Some(holder),
        _ => None,
    }
}

/// Asks a process to stop cleanly.
fn end(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // The process may just have ended.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    use std::io::{Seek, SeekFrom};
    let mut text = String::new();
    let read = File::open(log).and_then(|mut file| {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(QUOTED)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(())
    });
    let lines: Vec<&str> = text.lines().collect();
    match read {
        Ok(()) => lines[lines.len().saturating_sub(5)..].join("\n"),
        Err(error) => format!("(cannot read the log: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_a_killed_sweep_is_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let said = Mutex::new(Vec::new());
        let runs = Runs {
            program: Path::new("true"),
            folder: folder.path(),
            arguments: &[],
            jobs: 1,
            stop: &|| false,
            finished: &|_| {},
            say: &|sentence| said.lock().expect("no panic").push(sentence.to_owned()),
        };
        let place = folder.path().join("runs/few-s1");
        let wait = |limit_ms, stop: bool| runs.wait_for(&place, Duration::from_millis(limit_ms), &|| stop);
        assert!(wait(0, false).expect("no store yet"));

        let store = Store::open(&place.to_string_lossy(), Create::Always).expect("a store");
        let begun = store.files().put_new("models/README", "");
        begun.expect("the store works");
        let lock = store.lock_run().expect("free");
        assert!(!wait(60_000, true).expect("stopped"));
        let refused = wait(100, false).expect_err("it stays").to_string();
        assert!(refused.contains("is still in use by process"), "{refused}");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                drop(lock);
            });
            assert!(wait(60_000, false).expect("it ends"));
        });
        let said = said.into_inner().expect("no panic");
        assert!(
            said.iter().all(|sentence| sentence.contains("waiting until it ends")),
            "{said:?}"
        );
    }
}
