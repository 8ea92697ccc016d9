//! The binary `tengen`: arguments, configuration, progress and wiring; rules, search and file formats live in the
//! library crates.

// Without libtorch, some of these arguments belong to no command.
#![cfg_attr(not(feature = "torch"), allow(dead_code))]

mod arguments;
mod commands;
mod device;
mod match_args;
mod output;
mod players;
#[cfg(feature = "torch")]
mod screen;
mod teachers;

use clap::Parser;

use tengen_terminal::{interrupt, progress};

/// Also serves libtorch's C++ allocations: inference is up to 1.9 times as fast as with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Train Go networks from zero by self-play under strict Tromp-Taylor rules.
#[derive(Parser)]
#[command(name = "tengen", version = env!("TENGEN_VERSION"), max_term_width = 110)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage; stopped by a signal before it was done: 130 after \
Ctrl-C, 143 after SIGTERM, 129 after SIGHUP. The first signal ends a command cleanly, a second one at once."
)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
    /// Print more on stderr; twice prints everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Print nothing on stderr but errors: no progress, messages, or warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

fn main() {
    let cli = Cli::try_parse_from(commands::with_two_hyphens(std::env::args_os()));
    let refused = |error: clap::Error| error.print().map_or(1, |()| error.exit_code());
    let code = cli.map_or_else(refused, Cli::run);
    // Skips exit handlers, because libtorch's free each of its operators, which takes a third of a short command's
    // time. Nothing is left in stdout's buffer: clap prints whole lines, and commands flush what they print.
    signal_hook::low_level::exit(code)
}

impl Cli {
    /// Runs the command and returns the exit code.
    fn run(self) -> i32 {
        output::start_logging(self.verbose, self.quiet);
        let outcome = self.command.run().and_then(|()| output::delivered());
        #[cfg(feature = "torch")]
        tengen_predictors::end_gpu_servers();
        output::restore_terminal();
        let Err(error) = outcome else { return 0 };
        if let Some(interrupt::Interrupted(code)) = error.downcast_ref() {
            return i32::from(*code);
        }
        output::print_error(&error);
        if error.is::<output::UsageError>() { 2 } else { 1 }
    }
}
