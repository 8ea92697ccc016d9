//! Finding and killing an engine's processes that have left its process group.
//!
//! A process that an engine starts may leave the engine's group (`setsid`, a shell with job control, a daemon). Every
//! engine therefore carries a mark in its environment, which all its descendants inherit, and `/proc` is searched for
//! that mark (Linux). Without `/proc`, escaped processes cannot be found.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

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

#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_all(_mark: &str) {}

#[cfg(target_os = "linux")]
pub(crate) use linux::kill_all;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;
    use std::num::NonZeroI32;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

    /// The time limit for killing processes that start others faster than they are found.
    const KILL_TIMEOUT: Duration = Duration::from_secs(2);

    /// Kills every process with this mark and reaps those that have become children of this program. Also reaps dead
    /// children of this program that belong to another session, which can only be escaped processes of engines.
    pub(crate) fn kill_all(mark: &str) {
        let entry = super::entry(mark);
        let deadline = Instant::now() + KILL_TIMEOUT;
        let mut killed = BTreeSet::new();
        let mut quiet = 0;
        // The search may miss a process that is just starting another process or program.
        while quiet < 2 && Instant::now() < deadline {
            // Dead processes have no environment, so they are not found again.
            let marked: Vec<Pid> = processes().filter(|&pid| is_marked(pid, &entry)).collect();
            for &pid in &marked {
                let _ = kill_process(pid, Signal::KILL);
            }
            killed.extend(marked.iter().map(|pid| pid.as_raw_nonzero()));
            quiet = if marked.is_empty() { quiet + 1 } else { 0 };
        }
        let dead = processes().filter(|&pid| is_dead_escapee(pid));
        killed.extend(dead.map(|pid| pid.as_raw_nonzero()));
        collect(killed, deadline);
    }

    /// Waits until all processes are gone: reaped here or by another parent.
    fn collect(mut dead: BTreeSet<NonZeroI32>, deadline: Instant) {
        while !dead.is_empty() && Instant::now() < deadline {
            dead.retain(|&number| {
                let _ = waitpid(Pid::from_raw(number.get()), WaitOptions::NOHANG);
                Path::new(&format!("/proc/{number}")).exists()
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

    fn is_dead_escapee(pid: Pid) -> bool {
        let own = Kinship::of("self");
        let found = Kinship::of(&pid.as_raw_nonzero().to_string());
        own.zip(found).is_some_and(|(own, found)| {
            found.is_dead && found.parent == getpid().as_raw_nonzero().get() && found.session != own.session
        })
    }

    /// The state, parent and session of a process according to `/proc`.
    struct Kinship {
        is_dead: bool,
        parent: i32,
        /// 0 if the session leader is outside this PID namespace, as in a container that starts its command in the
        /// host's session. A `getsid` wrapper whose PIDs are never 0 cannot return that.
        session: i32,
    }

    impl Kinship {
        /// Reads the entry of a process in `/proc`, given as a number or `self`.
        fn of(process: &str) -> Option<Self> {
            Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
        }

        fn parse(stat: &str) -> Option<Self> {
            // "pid (name) state parent group session …"; the name may contain anything.
            let (_, fields) = stat.rsplit_once(')')?;
            let mut fields = fields.split_whitespace();
            let is_dead = fields.next()? == "Z";
            let mut numbers = fields.map_while(|field| field.parse().ok());
            let (parent, _group, session) = (numbers.next()?, numbers.next()?, numbers.next()?);
            Some(Self {
                is_dead,
                parent,
                session,
            })
        }
    }
}
