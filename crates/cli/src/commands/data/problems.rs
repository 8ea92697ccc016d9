//! `tengen data problems`: writes Go problems with proved answers.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;

use tengen_tactics::{Kind, Problems, problem_sgf};

use crate::arguments;
use crate::interrupt::Interrupt;
use crate::output;

/// Write Go problems with proved answers: life and death, capturing races, or ladders
///
/// Draws random positions on 5x5, 7x7, and 9x9 and keeps those in which every legal move was proved to work or not,
/// under Tromp-Taylor rules with the whole history, and only one to three work. The right moves are marked as
/// `tengen verify --positions` reads them. The same kind, count, and seed always give the same file. Expect seconds
/// per problem. The repository ships 340 of them in data/positions.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data problems life --count 50 --seed 2 --out life.sgf
  tengen verify --model data/runs/9x9 --positions life.sgf")]
pub(crate) struct Args {
    /// What the problems are about: life, races, or ladders
    #[arg(value_parser = kind)]
    kind: Kind,
    /// Number of problems
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = arguments::count)]
    count: u32,
    /// Seed of the random positions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The SGF file, a new one; it appears when all problems are proved
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::parse(name).ok_or_else(|| "expected life, races, or ladders".to_owned())
}

/// Proves problems and writes them.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if args.out.exists() {
        return Err(output::usage(format!(
            "{} exists already; choose a new file",
            args.out.display()
        )));
    }
    let interrupt = Interrupt::listen("Stopping after the problem in progress, without a file…")?;
    let bar = output::bar(
        args.count.into(),
        "[{bar:16}] {human_pos}/{human_len} problems, {eta} left",
    );
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    let mut problems = Problems::new(args.kind, args.seed);
    let mut text = String::new();
    for problem in problems.by_ref().take(args.count as usize) {
        if interrupt.requested() {
            bar.finish_and_clear();
            return interrupt.outcome();
        }
        text += &problem_sgf(&problem);
        bar.inc(1);
    }
    bar.finish_and_clear();
    write_new(&args.out, &text).with_context(|| format!("cannot write {}", args.out.display()))?;
    if args.json {
        return output::json(&json!({
            "kind": args.kind.name(),
            "problems": args.count,
            "candidates": problems.tried,
            "searched": problems.searched,
            "file": args.out,
        }));
    }
    let count = output::counted(args.count.into(), "problem");
    output::result(format!(
        "{}: {count}, of {} searched",
        args.out.display(),
        problems.searched
    ));
    Ok(())
}

/// Writes a new file, complete or not at all.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let written = std::fs::File::create_new(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    // A link, unlike a rename, does not replace a file that somebody else has made meanwhile.
    let done = written.and_then(|()| std::fs::hard_link(&part, path));
    let _ = std::fs::remove_file(&part);
    done
}
