//! Kills engines if this program is killed and cannot clean up itself.
//!
//! There are two mechanisms. The kernel kills the engine when the thread that started it ends (Linux only, and only the
//! engine itself, not the processes it started). And a guard, a small shell process started before the engine, holds a
//! pipe from this program. The kernel closes the pipe when this program ends, however that happens, and the guard then
//! kills the engine's whole process group and all processes that carry the engine's mark.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use crate::escaped;

/// Waits for the end of its input, then kills the process group named there, if any, and all processes that carry the
/// mark given as its first argument. It searches until it finds none three times in a row, since it may miss a process
/// that is just starting another process or program.
const SCRIPT: &str = r#"trap '' HUP INT TERM QUIT
read -r group && read -r rest
[ -z "$group" ] || kill -s KILL -- "-$group"
rounds=0 quiet=0
while [ $rounds -lt 200 ] && [ $quiet -lt 3 ]; do
  rounds=$((rounds + 1)) quiet=$((quiet + 1))
  for file in $(grep -lzxF -- "$0" /proc/[0-9]*/environ 2>/dev/null); do
    quiet=0 file=${file%/environ}
    kill -s KILL "${file#/proc/}"
  done
  [ $quiet -eq 0 ] || sleep 0.02
done"#;

/// A process that kills an engine and everything it started if this program ends without doing so. Dropping the guard
/// leaves them running.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Starts a guard for all processes that will carry the mark. `None` if there is no shell: then only the engine
    /// itself is certain to end with this program.
    pub(crate) fn over(mark: &str) -> Option<Guard> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, &escaped::entry(mark)])
            // A guard inside another engine must outlive that engine.
            .env_remove(escaped::MARK)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal reaches the whole group of this program; the guard must outlive it.
            .process_group(0);
        command.spawn().ok().map(|shell| Guard { shell })
    }

    /// Tells the guard the engine's process group, to be killed even if its members have removed or hidden the mark.
    pub(crate) fn watch_group(&mut self, group: Pid) {
        if let Some(pipe) = &mut self.shell.stdin {
            // Such a short line is written completely or not at all; nothing can be done if the guard is gone.
            let _ = pipe.write_all(format!("{}\n", group.as_raw_nonzero()).as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Close the pipe only after killing the guard: it must not see the end of its input.
        let pipe = self.shell.stdin.take();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        drop(pipe);
    }
}

/// Makes the kernel kill the engine when the thread that started it ends.
///
/// This is the only unsafe code: `Command::pre_exec` is unsafe because its closure runs between fork and exec, where
/// only async-signal-safe calls are allowed. The closure makes a few plain system calls and allocates nothing. There is
/// no safe way to request the signal that kills the engine when this program is killed.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn die_with_parent(command: &mut Command) {
    use std::io;

    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    // SAFETY: the closure only calls prctl and getppid, both async-signal-safe, and neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the signal was requested.
            match getppid() == Some(parent) {
                true => Ok(()),
                false => Err(io::Error::from(io::ErrorKind::NotConnected)),
            }
        });
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn die_with_parent(_command: &mut Command) {}
