//! Kills engines if this program is killed and cannot clean up itself.
//!
//! A guard, a small shell process started before the engine, holds a pipe from this program. The kernel closes the pipe
//! when this program ends, however that happens, and the guard then kills the engine with all its descendants, its
//! whole process group, and all processes that carry its mark. On Linux, the kernel also stops the engine when the
//! thread that started it ends: it computes no further, and its descendants stay its descendants until the guard has
//! found them. If there is no guard, the kernel kills the engine instead.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use crate::escaped;

/// Waits for the end of its input, then kills the engine whose PID was written there, if any, with its descendants and
/// its process group, and all processes that carry the mark given as its first argument. It stops each descendant
/// before it looks for others, and searches for marks until it finds none three times in a row, since it may miss a
/// process that is just starting another process or program.
const SCRIPT: &str = r#"trap '' HUP INT TERM QUIT
read -r group && read -r rest
family= new=$group
while [ -n "$new" ]; do
  for pid in $new; do kill -s STOP "$pid"; done
  family="$family $new" new=
  for file in /proc/[0-9]*/stat; do
    read -r stat < "$file" || continue
    pid=${stat%% *}
    set -- ${stat##*) }
    case "$family " in *" $2 "*) case "$family " in *" $pid "*) ;; *) new="$new $pid";; esac;; esac
  done
done
[ -z "$group" ] || kill -s KILL -- "-$group"
for pid in $family; do kill -s KILL "$pid"; done
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

/// Makes the engine the leader of a session, makes it adopt the orphans among its descendants, and makes the kernel
/// stop it when the thread that started it ends, for the guard to kill, or kill it if there is no guard.
///
/// This is the only unsafe code: `Command::pre_exec` is unsafe because its closure runs between fork and exec, where
/// only async-signal-safe calls are allowed. The closure makes a few plain system calls and allocates nothing. There is
/// no safe way to request the signal that the engine gets when this program is killed.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn contain(command: &mut Command, guarded: bool) {
    use std::io;

    use rustix::process::{Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal, setsid};

    let parent = getpid();
    let last_signal = if guarded { Signal::STOP } else { Signal::KILL };
    // SAFETY: the closure only calls setsid, prctl, getpid and getppid, all async-signal-safe, and none allocates or
    // locks.
    unsafe {
        command.pre_exec(move || {
            setsid()?;
            // Its descendants are also found by their mark, so this may fail.
            let _ = set_child_subreaper(Some(getpid()));
            set_parent_process_death_signal(Some(last_signal))?;
            // The parent may have died before the signal was requested.
            match getppid() == Some(parent) {
                true => Ok(()),
                false => Err(io::Error::from(io::ErrorKind::NotConnected)),
            }
        });
    }
}

/// Makes the engine the leader of a process group.
#[cfg(not(target_os = "linux"))]
pub(crate) fn contain(command: &mut Command, _guarded: bool) {
    command.process_group(0);
}
