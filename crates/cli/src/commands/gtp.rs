//! `tengen gtp`: a Go Text Protocol engine on standard input and output, for any GUI or referee.

mod engine;
mod sgf;

use crate::players::{DeviceArgs, Loader};
use crate::{arguments, output};
use anyhow::Context;
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use engine::{Mind, Thinker};
use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;
use tengen_evaluator::{ModelSource, PlayerKind, PlayerOptions, PlayerSpec};
use tengen_gtp::{Next, Session};
use tengen_rules::{Komi, Size};
use tengen_search::UniformPredictor;

/// Play as a GTP engine, for any Go GUI or referee
///
/// Speaks GTP 2 over standard input and output until `quit` or the end of input: any board from 1x1 to 19x19
/// (boardsize, rectangular_boardsize), komi in half points, undo, handicap, live analysis (lz-analyze, kata-analyze).
/// Plays strict Tromp-Taylor rules: positional superko, suicide allowed, and final_score counts the board as it
/// stands, so play on until dead stones are captured.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen gtp --model store:data/runs/demo --visits 64
  tengen gtp --model data/runs/demo/models/g000012-0123456789ab
  printf 'boardsize 5\\ngenmove b\\nshowboard\\nquit\\n' | tengen gtp --model uniform --visits 256

MODEL is one of
  uniform            search without a network
  random             random plays that spare own eyes
  store:DIR          the champion of a run store (a store's folder alone works too)
  store:DIR@g000012  the model of that generation
  model:PATH         a model folder or a .safetensors file (the path alone works too)")]
pub(crate) struct Args {
    /// Who plays; see below
    #[arg(long, value_parser = arguments::player)]
    model: Box<PlayerSpec>,
    /// Visits of a search per move; 0 plays the network's first choice
    #[arg(long, default_value_t = 100, value_name = "N")]
    visits: u32,
    /// The board before the first boardsize
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Komi before the first komi command, in whole or half points
    #[arg(long, default_value = "7", allow_hyphen_values = true)]
    komi: Komi,
    /// Seed of the random player
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArgs,
}

/// The longest line that is read whole; GTP lines are short, and a runaway input must not fill the memory.
const LONGEST_LINE: u64 = 1 << 20;

/// Plays over GTP.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if args.model.options != PlayerOptions::default() {
        return Err(output::usage("--model takes no options here: give --visits instead"));
    }
    let loader = Loader::new(&args.device)?;
    let thinker = Thinker::new(mind(&args.model, &loader)?, args.visits, args.seed);
    let session = Session::new(thinker, args.size, args.komi);
    converse(session, &read_lines()?)
}

/// Who chooses the moves.
fn mind(model: &PlayerSpec, loader: &Loader) -> anyhow::Result<Mind> {
    let source = match &model.kind {
        PlayerKind::Random => return Ok(Mind::Random),
        PlayerKind::Uniform => return Ok(Mind::Network(Box::new(UniformPredictor))),
        PlayerKind::Model(path) => ModelSource::Path(path.clone()),
        PlayerKind::Store { location, generation } => ModelSource::Store {
            location: location.clone(),
            generation: *generation,
        },
        PlayerKind::Gtp(_) => {
            return Err(output::usage(
                "--model names a network, uniform or random, not another engine",
            ));
        }
    };
    Ok(Mind::Network(loader.model(&source)?.predictor))
}

/// Reads standard input on a thread of its own, so that an analysis can be interrupted by the next line.
fn read_lines() -> anyhow::Result<Receiver<Vec<u8>>> {
    let (sender, lines) = bounded(64);
    let read = move || {
        let mut input = BufReader::new(std::io::stdin());
        while let Some(line) = read_line(&mut input) {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(read)
        .context("cannot start a thread for the input")?;
    Ok(lines)
}

/// The next line, cut at [`LONGEST_LINE`]; `None` at the end of input. A read error means the same: nobody can be asked
/// again.
fn read_line(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
    if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        input.skip_until(b'\n').ok()?;
    }
    (!line.is_empty()).then_some(line)
}

/// Answers every line until the controller says quit, goes away or its input ends.
fn converse(mut session: Session<Thinker>, lines: &Receiver<Vec<u8>>) -> anyhow::Result<()> {
    let mut next = Next::Read;
    loop {
        let line = match next {
            Next::Quit => return Ok(()),
            Next::Read => lines.recv().ok(),
            Next::Analyze { .. } => match lines.recv_timeout(Duration::ZERO) {
                Ok(line) => Some(line),
                Err(RecvTimeoutError::Disconnected) => None,
                Err(RecvTimeoutError::Timeout) => {
                    match session.analyze() {
                        Some(report) if !write(&report) => return Ok(()),
                        Some(_) => {}
                        // The engine has failed: nothing more is reported before the next line.
                        None => next = Next::Read,
                    }
                    continue;
                }
            },
        };
        let Some(line) = line else { return Ok(()) };
        let reply = session.handle_bytes(&line);
        if !write(&reply.text) {
            return Ok(());
        }
        next = reply.next;
    }
}

/// Writes an answer at once; false when the controller has gone.
fn write(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
