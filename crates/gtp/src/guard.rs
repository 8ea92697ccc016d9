//! How does an engine end when this program is killed outright and can do nothing itself?
//!
//! In two ways at once. The kernel kills the engine when the thread ends that started it (Linux only, and only the engine itself,
//! not what it has started). And a guard, a small shell process with a pipe from this program that stands before the engine starts,
//! kills all that bears the engine's mark, and its whole process group, as soon as the pipe is closed, which the kernel does for every
//! program however it ends.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use crate::strays;

/// Waits for the end of its input, kills the group named there, if one is, and all processes that bear the mark given as its first
/// argument. It looks until it finds none three times: one that starts another, or another program, may be missed once.
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

/// A process that kills an engine and all that it has started when this program ends without having done so. Dropping it lets them
/// be.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Sets a guard over all that will bear the mark. `None` where there is no shell: then only the engine itself is sure to end with
    /// this program.
    pub(crate) fn over(mark: &str) -> Option<Guard> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, &strays::entry(mark)])
            // A guard inside another engine must outlive that engine.
            .env_remove(strays::MARK)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal reaches the whole group of this program; the guard must outlive it.
            .process_group(0);
        command.spawn().ok().map(|shell| Guard { shell })
    }

    /// Names the engine's process group, which is killed even where its members have put off the mark, or nobody can see it.
    pub(crate) fn watch_group(&mut self, group: Pid) {
        if let Some(pipe) = &mut self.shell.stdin {
            // So short a line comes whole or not at all; a guard that is gone cannot be helped.
            let _ = pipe.write_all(format!("{}\n", group.as_raw_nonzero()).as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Its pipe is closed only after it is dead: it must not see the end of its input now.
        let pipe = self.shell.stdin.take();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        drop(pipe);
    }
}

/// The one place with unsafe code: `Command::pre_exec` is unsafe because its closure runs between fork and exec, where only
/// async-signal-safe calls are allowed. The closure makes two plain system calls and allocates nothing. There is no safe way to ask
/// for the signal that ends the engine when this program is killed outright.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn die_with_parent(command: &mut Command) {
    use std::io;

    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    // SAFETY: only prctl and getppid are called, both async-signal-safe; nothing is allocated or locked.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the signal was asked for.
            match getppid() == Some(parent) {
                true => Ok(()),
                false => Err(io::Error::from(io::ErrorKind::NotConnected)),
            }
        });
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn die_with_parent(_command: &mut Command) {}
