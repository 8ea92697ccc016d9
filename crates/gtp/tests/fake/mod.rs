//! A fake engine, written as a small shell script.

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use tengen_gtp::{CommandLine, Controller, ControllerError, Timeouts};
use tengen_rules::{Color, Size};

/// A fake engine that answers every command with `=`, except for the given cases.
pub(crate) struct Fake {
    dir: TempDir,
    path: PathBuf,
}

impl Fake {
    /// An engine with these cases of a shell `case` statement.
    pub(crate) fn new(cases: &str) -> Fake {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("engine.sh");
        let script = format!(
            "cd '{}'; while read id command rest; do case \"$command\" in\n{cases}\n\
             protocol_version) printf '=%s 2\\n\\n' $id;;\n\
             name) printf '=%s Fake\\n\\n' $id;;\n\
             list_commands) printf '=%s genmove\\nplay\\n\\n' $id;;\n\
             quit) printf '=%s\\n\\n' $id; exit 0;;\n\
             *) printf '=%s\\n\\n' $id;;\n\
             esac; done\n",
            dir.path().display()
        );
        std::fs::write(&path, script).expect("a script");
        Fake { dir, path }
    }

    /// The command line that starts the engine.
    pub(crate) fn command(&self) -> CommandLine {
        CommandLine {
            program: "sh".to_owned(),
            args: vec![self.path.display().to_string()],
        }
    }

    /// Starts the engine with the default limits.
    pub(crate) fn start(&self) -> Result<Controller, ControllerError> {
        Controller::start(&self.command(), limits())
    }

    /// The error when it is asked for a move with this time limit.
    pub(crate) fn genmove_error_within(&self, per_move: Duration) -> ControllerError {
        let timeouts = Timeouts { per_move, ..limits() };
        let mut controller = Controller::start(&self.command(), timeouts).expect("a running engine");
        let error = controller.genmove(size(), Color::Black).expect_err("an error");
        assert!(!controller.is_alive());
        assert!(matches!(controller.ask("name"), Err(ControllerError::Gone)));
        error
    }

    /// A file in the engine's working directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Limits that are long enough on a busy machine.
pub(crate) fn limits() -> Timeouts {
    Timeouts {
        startup: Duration::from_secs(20),
        command: Duration::from_secs(20),
        per_move: Duration::from_secs(20),
        total: None,
    }
}

/// The board size of all tests.
pub(crate) fn size() -> Size {
    Size::square(5).expect("a size")
}
