//! Finding and killing an engine's processes that have left its process group.
//!
//! A process that an engine starts may leave the engine's group (`setsid`, a shell with job control, a daemon). On
//! Linux it is found through `/proc` in three ways, each of which alone has gaps:
//!
//! - It is a descendant of the engine. Every engine adopts the orphans among its descendants (it is their "subreaper"),
//!   so this finds all of them while the engine lives, whatever their session and environment.
//! - It carries the engine's mark in its environment, which all descendants inherit unless they clear it.
//! - It is a child of this program in another session that this program has not started. This program adopts the
//!   orphans of an engine that has died by itself, and engines lead sessions of their own.
//!
//! Without `/proc`, escaped processes cannot be found.

use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Pid;

/// The environment variable that marks an engine and all processes it starts.
pub(crate) const MARK: &str = "TENGEN_ENGINE";

/// A value of [`MARK`] that is unique on this machine, even among engines of an earlier program with the same PID.
pub(crate) fn new_mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", std::process::id(), since_1970.as_nanos())
}

/// The mark as an entry in the environment of a process.
pub(crate) fn entry(mark: &str) -> String {
    format!("{MARK}={mark}")
}

/// The engines that this program has started and not reaped yet. The lock is held while an engine is started and while
/// escaped processes are killed, so that no engine is taken for one of them.
static ENGINES: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Runs `start` and registers the engine it starts.
pub(crate) fn register(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    engines.push(Pid::from_child(&child));
    Ok(child)
}

/// Forgets an engine that has been reaped.
pub(crate) fn forget(engine: Pid) {
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    engines.retain(|&other| other != engine);
}

#[cfg(not(target_os = "linux"))]
mod other {
    use rustix::process::Pid;

    pub(crate) fn stop_family(_engine: Pid) -> Vec<Pid> {
        Vec::new()
    }

    pub(crate) fn kill_all(_mark: &str, _family: Vec<Pid>) {}
}

#[cfg(not(target_os = "linux"))]
pub(crate) use other::{kill_all, stop_family};

#[cfg(target_os = "linux")]
pub(crate) use linux::{kill_all, stop_family};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::fs;
    use std::path::Path;
    use std::sync::PoisonError;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

    /// The time limit for killing processes that start others faster than they are found.
    const KILL_TIMEOUT: Duration = Duration::from_secs(2);

    /// Stops an engine and all its descendants, and returns the descendants. A stopped process starts no others, so
    /// none is missed.
    pub(crate) fn stop_family(engine: Pid) -> Vec<Pid> {
        let deadline = Instant::now() + KILL_TIMEOUT;
        let _ = kill_process(engine, Signal::STOP);
        let mut family = HashSet::from([engine]);
        while Instant::now() < deadline {
            let new: Vec<Pid> = processes()
                .filter(|pid| !family.contains(pid))
                .filter(|&pid| Kinship::of_pid(pid).is_some_and(|found| found.is_child_of_any(&family)))
                .collect();
            if new.is_empty() {
                break;
            }
            for pid in new {
                let _ = kill_process(pid, Signal::STOP);
                family.insert(pid);
            }
        }
        family.remove(&engine);
        family.into_iter().collect()
    }

    /// Kills the given descendants of an engine that is dead by now, every process with its mark, and every orphan of
    /// an engine; then reaps those that have become children of this program.
    pub(crate) fn kill_all(mark: &str, family: Vec<Pid>) {
        let entry = super::entry(mark);
        let deadline = Instant::now() + KILL_TIMEOUT;
        let engines = super::ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
        // Their parent was stopped, so they have not been reaped and their numbers have not been reused.
        for &pid in &family {
            let _ = kill_process(pid, Signal::KILL);
        }
        let mut killed: HashSet<Pid> = family.into_iter().collect();
        let mut quiet = 0;
        // The search may miss a process that is just starting another process or program.
        while quiet < 2 && Instant::now() < deadline {
            // Dead processes have no environment, so they are not found again.
            let found: Vec<Pid> = processes()
                .filter(|pid| !killed.contains(pid) && !engines.contains(pid))
                .filter(|&pid| is_marked(pid, &entry) || is_orphan(pid))
                .collect();
            for &pid in &found {
                let _ = kill_process(pid, Signal::KILL);
            }
            quiet = if found.is_empty() { quiet + 1 } else { 0 };
            killed.extend(found);
        }
        collect(killed, deadline);
    }

    /// Waits until all processes are gone: reaped here or by another parent.
    fn collect(mut dead: HashSet<Pid>, deadline: Instant) {
        while !dead.is_empty() && Instant::now() < deadline {
            dead.retain(|&pid| {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
                Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists()
            });
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn processes() -> impl Iterator<Item = Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
    }

    fn is_marked(pid: Pid, entry: &str) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == entry.as_bytes())
    }

    /// Whether a process, dead or alive, is a child of this program in another session. If it is not an engine, it can
    /// only be the orphan of one.
    fn is_orphan(pid: Pid) -> bool {
        let (own, found) = (Kinship::of("self"), Kinship::of_pid(pid));
        own.zip(found)
            .is_some_and(|(own, found)| found.parent == getpid().as_raw_nonzero().get() && found.session != own.session)
    }

    /// The parent and session of a process according to `/proc`.
    struct Kinship {
        parent: i32,
        /// 0 if the session leader is outside this PID namespace, as in a container that starts its command in the
        /// host's session. A `getsid` wrapper whose PIDs are never 0 cannot return that.
        session: i32,
    }

    impl Kinship {
        fn of_pid(pid: Pid) -> Option<Self> {
            Self::of(&pid.as_raw_nonzero().to_string())
        }

        fn is_child_of_any(&self, parents: &HashSet<Pid>) -> bool {
            Pid::from_raw(self.parent).is_some_and(|parent| parents.contains(&parent))
        }

        /// Reads the entry of a process in `/proc`, given as a number or `self`.
        fn of(process: &str) -> Option<Self> {
            Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
        }

        fn parse(stat: &str) -> Option<Self> {
            // "pid (name) state parent group session …"; the name may contain anything.
            let (_, fields) = stat.rsplit_once(')')?;
            let mut numbers = fields.split_whitespace().skip(1).map_while(|field| field.parse().ok());
            let (parent, _group, session) = (numbers.next()?, numbers.next()?, numbers.next()?);
            Some(Self { parent, session })
        }
    }
}
