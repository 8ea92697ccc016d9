//! `tengen gtp`: a Go Text Protocol engine on standard input and output, for any GUI or referee.

mod engine;
mod manner;
mod raw;
mod sgf;
mod thinking;

use crate::arguments;
use crate::lines::read_lines;
use crate::players::{DeviceArgs, Loader};
use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};
use engine::{Mind, Thinker};
use manner::{Manner, Resign, Temperature, USUAL_TEMPERATURE_PLIES, temperature};
use std::io::Write;
use std::time::{Duration, Instant};
use tengen_evaluator::PlayerSpec;
use tengen_gtp::{Next, Pondered, Session};
use tengen_rules::{Komi, Rules, Size};

/// Play as a GTP engine, for any Go GUI or referee
///
/// Speaks GTP 2 over standard input and output until `quit` or the end of input: any board from 1x1 to 19x19
/// (boardsize, rectangular_boardsize), komi in half points, undo, handicap, files (loadsgf), clocks (time_settings,
/// time_left, kgs-time_settings), and live analysis (lz-analyze, kata-analyze, ...-genmove_analyze) that grows until the
/// next line comes. The search tree is kept from move to move and its visits count.
///
/// Plays strict rules, Tromp-Taylor unless told otherwise (--rules, kata-set-rules): final_score counts the board as it stands. loadsgf takes over the komi and the rules
/// that the file names, and says on stderr when it names rules that are not among ours; the session's stay then. With --finish the engine captures dead stones and takes
/// neutral points before it passes, so that the final board needs no judgement (kgs-genmove_cleanup asks for the same once).
///
/// A move takes 100 visits, or as many as the clock allows when the controller sets one, or what --visits and --seconds say;
/// the smallest limit holds. `kata-set-param` changes all of it in a session (kata-list-params names what).
///
/// A board, rules or komi that the model was not trained for are named on stderr when they are set, under the board of
/// showboard, and by tengen-warnings.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen gtp --model store:data/runs/demo --visits 64
  tengen gtp --model data/runs/demo/models/g000012-0123456789ab --seconds 2 --finish
  tengen gtp --model store:data/runs/demo --name 'KataGo (Tengen)'   for Lizzie, which asks scores and ownership of KataGo only
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
    /// Most visits per move; 0 plays the network's first choice [default: 100 without a clock]
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    visits: Option<u32>,
    /// Most seconds per move
    #[arg(long, allow_negative_numbers = true, value_name = "S", value_parser = arguments::seconds_or_none)]
    seconds: Option<f64>,
    /// Capture dead stones and take neutral points before passing
    #[arg(long)]
    finish: bool,
    /// Resign after TURNS own turns in a row with a chance to win below PROBABILITY, such as 0.05:3 [default: never]
    #[arg(long, value_name = "PROBABILITY:TURNS", conflicts_with = "finish")]
    resign: Option<Resign>,
    /// Think on in the opponent's time; the next line from the controller ends that, and its visits count
    #[arg(long)]
    ponder: bool,
    /// Draw moves by their visits to the power of 1/T, for variety; 0 plays the best
    #[arg(long, allow_negative_numbers = true, value_name = "T", default_value = "0", value_parser = temperature)]
    temperature: f64,
    /// Turns of a game, both players', in which --temperature holds
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = USUAL_TEMPERATURE_PLIES)]
    temperature_plies: usize,
    /// The name told to the controller
    #[arg(long, default_value = "Tengen")]
    name: String,
    /// The board before the first boardsize
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Komi before the first komi command, in whole or half points
    #[arg(long, default_value = "7", allow_hyphen_values = true)]
    komi: Komi,
    /// The rules before the first kata-set-rules, such as tromp_taylor, aga or japanese2008
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME", value_parser = arguments::rules)]
    rules: Rules,
    /// Seed of the random player, of --temperature and of the random games behind --finish; also set_random_seed
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Plays over GTP.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let loader = Loader::new(&args.device, args.rules)?;
    let manner = Manner {
        visits: args.visits,
        seconds: args.seconds,
        finish: args.finish,
        resign: args.resign,
        ponder: args.ponder,
        temperature: Temperature {
            value: args.temperature,
            plies: args.temperature_plies,
        },
    };
    let (predictor, training) = loader.predictor_and_training(&args.model)?;
    let mind = predictor.map_or(Mind::Random, Mind::Network);
    let thinker = Thinker::new(mind, training, args.name, manner, args.seed);
    let mut session = Session::new(thinker, args.size, args.komi).under(args.rules);
    session.tell_conditions();
    converse(session, &read_lines()?)
}

/// Answers every line until the controller says quit, goes away or its input ends.
fn converse(mut session: Session<Thinker>, lines: &Receiver<Vec<u8>>) -> anyhow::Result<()> {
    let mut next = Next::Read;
    loop {
        let line = match next {
            Next::Quit => return Ok(()),
            Next::Read => lines.recv().ok(),
            Next::Ponder => think_ahead(&mut session, lines),
            Next::Analyze { interval_cs } => {
                match analyze(&mut session, lines, Duration::from_millis(10 * u64::from(interval_cs))) {
                    Analyzed::Line(line) => Some(line),
                    Analyzed::InputEnded => None,
                    Analyzed::Failed => lines.recv().ok(),
                }
            }
        };
        let Some(line) = line else { return Ok(()) };
        let mut alive = true;
        next = session.handle_to(&String::from_utf8_lossy(&line), &mut |text| {
            alive = alive && write(text)
        });
        if !alive {
            return Ok(());
        }
    }
}

/// Thinks in the opponent's time until the next line comes; `None` at the end of input.
fn think_ahead(session: &mut Session<Thinker>, lines: &Receiver<Vec<u8>>) -> Option<Vec<u8>> {
    while session.ponder_opponents_turn() == Some(Pondered::More) {
        match lines.try_recv() {
            Ok(line) => return Some(line),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
    }
    lines.recv().ok()
}

/// How a live analysis ended.
enum Analyzed {
    /// The next line has come.
    Line(Vec<u8>),
    /// Nobody listens or speaks any more.
    InputEnded,
    /// The engine has failed: nothing more is reported before the next line.
    Failed,
}

/// Thinks and reports until the next line comes.
fn analyze(session: &mut Session<Thinker>, lines: &Receiver<Vec<u8>>, interval: Duration) -> Analyzed {
    let mut due = Instant::now() + interval;
    loop {
        // A mind that has reached its limits only waits for the next report or line.
        let patience = match session.ponder() {
            Some(Pondered::More) => Duration::ZERO,
            Some(Pondered::Enough) => due.saturating_duration_since(Instant::now()),
            None => return Analyzed::Failed,
        };
        match lines.recv_timeout(patience) {
            Ok(line) => return Analyzed::Line(line),
            Err(RecvTimeoutError::Disconnected) => return Analyzed::InputEnded,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() >= due {
            due = Instant::now() + interval;
            match session.report() {
                Some(report) if write(&report) => {}
                Some(_) => return Analyzed::InputEnded,
                None => return Analyzed::Failed,
            }
        }
    }
}

/// Writes an answer at once; false when the controller has gone.
fn write(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
