//! What of an engine has left its process group, and how is that got rid of?
//!
//! A process that an engine starts may leave the engine's group (`setsid`, a shell with job control, a daemon). Every engine is
//! therefore marked in its environment, which all that it starts inherit, and `/proc` is searched for the mark (Linux). Where there
//! is no `/proc` strays are out of reach.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the environment variable that marks an engine and all that it starts.
pub(crate) const MARK: &str = "TENGEN_ENGINE";

/// A value of [`MARK`] that no other engine on this machine has, not even one of an earlier program with the same process number.
pub(crate) fn new_mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", std::process::id(), since_1970.as_nanos())
}

/// The mark as it stands in the environment of a process.
pub(crate) fn entry(mark: &str) -> String {
    format!("{MARK}={mark}")
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end(_mark: &str) {}

#[cfg(target_os = "linux")]
pub(crate) use linux::end;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;
    use std::num::NonZeroI32;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

    /// How long processes that start others faster than they are found are hunted.
    const HUNT_FOR: Duration = Duration::from_secs(2);

    /// Kills every process with this mark and collects those that have become children of this program. Collects, besides, dead
    /// children of this program that come from another session: only strays of engines do.
    pub(crate) fn end(mark: &str) {
        let entry = super::entry(mark);
        let deadline = Instant::now() + HUNT_FOR;
        let mut killed = BTreeSet::new();
        let mut quiet = 0;
        // One that starts another, or another program, may be missed once.
        while quiet < 2 && Instant::now() < deadline {
            // The dead lose their environment and are not found again.
            let marked: Vec<Pid> = processes().filter(|&pid| is_marked(pid, &entry)).collect();
            for &pid in &marked {
                let _ = kill_process(pid, Signal::KILL);
            }
            killed.extend(marked.iter().map(|pid| pid.as_raw_nonzero()));
            quiet = if marked.is_empty() { quiet + 1 } else { 0 };
        }
        let dead = processes().filter(|&pid| is_dead_stray(pid));
        killed.extend(dead.map(|pid| pid.as_raw_nonzero()));
        collect(killed, deadline);
    }

    /// Waits until all are gone: collected here, or by whoever else is their parent.
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

    fn is_dead_stray(pid: Pid) -> bool {
        let own = Kinship::of("self");
        let found = Kinship::of(&pid.as_raw_nonzero().to_string());
        own.zip(found).is_some_and(|(own, found)| {
            found.is_dead && found.parent == getpid().as_raw_nonzero().get() && found.session != own.session
        })
    }

    /// What `/proc` says of where a process belongs.
    struct Kinship {
        is_dead: bool,
        parent: i32,
        /// 0 where the leader is outside this PID namespace, as in a container that starts its command in the session of the host;
        /// `getsid` of a library whose process numbers are never 0 cannot say that.
        session: i32,
    }

    impl Kinship {
        /// Of the process with this name in `/proc`: a number or `self`.
        fn of(process: &str) -> Option<Self> {
            Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
        }

        fn parse(stat: &str) -> Option<Self> {
            // "pid (name) state parent group session …"; the name may hold anything.
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
