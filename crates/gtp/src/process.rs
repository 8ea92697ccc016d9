//! Starting an engine's process, watching it, and killing it with everything it started.
//!
//! Every engine leads its own process group and, on Linux, its own session. To clean up: stop the engine and all its
//! descendants, kill the group, wait for the engine, kill the descendants that have left the group, then reap the
//! engine's own children. They become our children when the engine dies because this process makes itself their
//! "subreaper" (Linux); in a container without an init process, nothing else would reap them.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid};

use crate::command_line::CommandLine;
use crate::escaped;
use crate::failure::Exit;
use crate::guard::{Guard, contain};

/// How much of the engine's standard error is kept: the last 64 KiB.
const STDERR_KEPT: usize = 64 * 1024;
/// How long to wait for the members of a killed group.
const REAP_FOR: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(2);

/// A running engine. Dropping it kills its process group and reaps its members.
pub(crate) struct EngineProcess {
    child: Child,
    group: Pid,
    /// Kills the group if this program cannot.
    guard: Option<Guard>,
    mark: String,
    stderr: Arc<Tail>,
    exit: Option<Exit>,
}

impl EngineProcess {
    /// Starts the engine with pipes for its three streams.
    pub(crate) fn spawn(line: &CommandLine) -> io::Result<(EngineProcess, ChildStdin, ChildStdout)> {
        let mark = escaped::new_mark();
        let mut command = Command::new(&line.program);
        command
            .args(&line.args)
            .env(escaped::MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Start the guard before the engine, since this program may be killed at any moment.
        let mut guard = Guard::over(&mark);
        contain(&mut command, guard.is_some());
        let mut child = spawn_from_lasting_thread(command)?;
        let group = Pid::from_child(&child);
        if let Some(guard) = &mut guard {
            guard.watch_group(group);
        }
        let stdin = child.stdin.take().expect("standard input is piped");
        let stdout = child.stdout.take().expect("standard output is piped");
        let stderr = Tail::collect(child.stderr.take().expect("standard error is piped"));
        Ok((
            EngineProcess {
                child,
                group,
                guard,
                mark,
                stderr,
                exit: None,
            },
            stdin,
            stdout,
        ))
    }

    /// The last 64 KiB that the engine has written to its standard error.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Whether the engine ends within the given time. It still has to be reaped by [`kill`](Self::kill).
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            if self.exit.is_some() || matches!(waitid(WaitId::Pid(self.group), options), Ok(Some(_)) | Err(_)) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Kills and reaps the whole group; further calls do nothing. Returns how the engine ended: by itself or by our
    /// signal.
    pub(crate) fn kill(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        // The engine has not been reaped yet, so its PID cannot have been reused.
        let family = escaped::stop_family(self.group);
        let _ = kill_process_group(self.group, Signal::KILL);
        self.guard = None;
        let exit = match self.child.wait() {
            Ok(status) => Exit::of(status.code(), status.signal()),
            Err(_) => Exit::Unknown,
        };
        self.exit = Some(exit);
        escaped::forget(self.group);
        escaped::kill_all(&self.mark, family);
        self.reap_group();
        self.stderr.wait_closed(Duration::from_millis(200));
        exit
    }

    /// Reaps members of the group that have become our children.
    fn reap_group(&self) {
        let deadline = Instant::now() + REAP_FOR;
        while Instant::now() < deadline {
            match waitpgid(self.group, WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => std::thread::sleep(POLL),
                Err(_) => return,
            }
        }
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the process from a thread that lives as long as this program.
///
/// The signal that kills the engine when its parent dies is sent when the *thread* that started it ends, and worker
/// threads may end long before the match.
fn spawn_from_lasting_thread(command: Command) -> io::Result<Child> {
    type Job = (Command, mpsc::SyncSender<io::Result<Child>>);
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, inbox) = mpsc::channel::<Job>();
        std::thread::spawn(move || {
            become_subreaper();
            for (mut command, reply) in inbox {
                let _ = reply.send(escaped::register(|| command.spawn()));
            }
        });
        Mutex::new(jobs)
    });
    let (reply, answer) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts engines has ended");
    let jobs = spawner.lock().unwrap_or_else(PoisonError::into_inner);
    jobs.send((command, reply)).map_err(|_| gone())?;
    drop(jobs);
    answer.recv().map_err(|_| gone())?
}

#[cfg(target_os = "linux")]
fn become_subreaper() {
    // If this fails, everything still works, but grandchildren are left to the init process.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() {}

/// The tail of a stream, collected by its own thread.
struct Tail {
    state: Mutex<(Vec<u8>, bool)>,
}

impl Tail {
    fn collect(mut stream: ChildStderr) -> Arc<Tail> {
        let tail = Arc::new(Tail {
            state: Mutex::new((Vec::new(), false)),
        });
        let writer = Arc::clone(&tail);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                writer.push(&buffer[..read]);
            }
            writer.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        });
        tail
    }

    fn push(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.extend_from_slice(bytes);
        // Cut in large steps, so that a flood takes only linear time.
        if state.0.len() > 2 * STDERR_KEPT {
            let surplus = state.0.len() - STDERR_KEPT;
            state.0.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let start = state.0.len().saturating_sub(STDERR_KEPT);
        String::from_utf8_lossy(&state.0[start..]).into_owned()
    }

    fn wait_closed(&self, time: Duration) {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline && !self.state.lock().unwrap_or_else(PoisonError::into_inner).1 {
            std::thread::sleep(POLL);
        }
    }
}
