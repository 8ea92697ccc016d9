//! `tengen gtp`: a Go Text Protocol engine on standard input and output, for any GUI or referee.

use std::io::Write;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};

use tengen_engine::{
    DEFAULT_TEMPERATURE_PLIES, EngineSetup, MoveSource, PlayOptions, Quit, Resign, Temperature, TengenEngine,
    read_lines, temperature,
};
use tengen_evaluator::{PlayerKind, PlayerSpec};
use tengen_gtp::{Next, Pondered, Request, Session};
use tengen_rules::{Komi, Rules, Size};

use crate::arguments;
use crate::device::DeviceArgs;
use crate::output::{say, usage};
use crate::players::Loader;
use tengen_matches::{Asked, Conditions, TrainedOn};

/// Play as a GTP engine, for any Go GUI or referee
///
/// Speaks GTP 2 over standard input and output until `quit` or the end of input: any board from 1x1 to 19x19
/// (boardsize, rectangular_boardsize), komi in half points, undo, handicap, files (loadsgf), clocks (time_settings,
/// time_left, kgs-time_settings), and live analysis (lz-analyze, kata-analyze, ...-genmove_analyze) that improves until
/// the next line arrives. The search tree is kept from move to move, and its visits count. `quit` ends a search in
/// progress, which answers with the best move so far.
///
/// Plays strict rules (--rules, kata-set-rules): final_score counts the board as it stands.
/// loadsgf adopts the file's komi and rules; if the file names unsupported rules, the session keeps its rules and says
/// so on stderr. With --finish, the engine captures dead stones and fills neutral points before it passes, so that the
/// final board needs no judgment (kgs-genmove_cleanup asks for this once).
///
/// A move takes 100 visits, or as many as the clock allows if the controller sets one, or what --visits and --seconds
/// say; the smallest limit applies. `kata-set-param` changes these settings during a session (kata-list-params lists
/// them).
///
/// If the model was not trained for the board, rules or komi, warnings appear on stderr when they are set, under the
/// board of showboard, and in the answer to tengen-warnings.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen gtp --model store:data/runs/demo --visits 64
  tengen gtp --model data/runs/demo/models/g000012-0123456789ab --seconds 2 \\
      --finish
  tengen gtp --model store:data/runs/demo --name 'KataGo (Tengen)'
  printf 'boardsize 5\\ngenmove b\\nshowboard\\nquit\\n' |
      tengen gtp --model uniform --visits 256

The third one is for Lizzie, which asks only engines named KataGo for scores
and ownership.

MODEL is one of
  store:DIR          the champion of a run store (or just its folder)
  store:DIR@g000012  the model of that generation
  model:PATH         a model folder, a .safetensors file, or a network of KataGo (.bin.gz); or just its path
  mcts               tree search over random games; ,playouts=1000 per move
  random             random plays that never fill the player's own eyes
  uniform            the search of networks without one: all moves look alike,
                     all positions even; weaker than random on small boards")]
pub(crate) struct Args {
    /// The player; see below
    #[arg(long, value_parser = arguments::player)]
    model: Box<PlayerSpec>,
    /// Maximum visits per move; 0 plays the network's first choice [default: 100 without a clock]
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    visits: Option<u32>,
    /// Maximum seconds per move
    #[arg(long, allow_negative_numbers = true, value_name = "S", value_parser = arguments::seconds_or_none)]
    seconds: Option<f64>,
    /// Leaves of the tree that the network evaluates in one call; 1 is the strongest for its visits, 8 is faster
    #[arg(long, value_name = "N", default_value_t = arguments::USUAL_LEAVES, value_parser = arguments::leaves)]
    leaves: usize,
    /// Capture dead stones and fill neutral points before passing
    #[arg(long)]
    finish: bool,
    /// Resign after TURNS of its own turns in a row with a win probability below PROBABILITY, such as 0.05:3 [default:
    /// never]
    #[arg(long, value_name = "PROBABILITY:TURNS", conflicts_with = "finish")]
    resign: Option<Resign>,
    /// Keep searching during the opponent's turn until the controller's next line; these visits count
    #[arg(long)]
    ponder: bool,
    /// Choose moves at random, weighted by visits to the power of 1/T, for variety; 0 plays the best move
    #[arg(long, allow_negative_numbers = true, value_name = "T", default_value = "0", value_parser = temperature)]
    temperature: f64,
    /// Number of turns, counting those of both players, to which --temperature applies
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = DEFAULT_TEMPERATURE_PLIES)]
    temperature_plies: usize,
    /// The name reported to the controller
    #[arg(long, default_value = "Tengen")]
    name: String,
    /// The board size until the first boardsize command [default: the model's own, otherwise 9]
    #[arg(long, value_parser = arguments::size)]
    size: Option<Size>,
    /// Komi until the first komi command, in whole or half points [default: the model's fair komi, otherwise 7]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    /// The rules until the first kata-set-rules command, such as tromp_taylor, aga or japanese2008 [default: the
    /// model's own, otherwise tromp_taylor]
    #[arg(long, value_name = "NAME", value_parser = arguments::rules)]
    rules: Option<Rules>,
    /// Random seed for players without a network, --temperature and the random games behind --finish; also
    /// set_random_seed
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let asked = Asked {
        size: args.size,
        komi: args.komi,
        rules: args.rules,
    };
    let loader = Loader::new(&args.device, args.rules.unwrap_or_default())?;
    let options = PlayOptions {
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
    let (source, training) = match args.model.kind {
        PlayerKind::Random | PlayerKind::Mcts => {
            if args.visits.is_some() || args.seconds.is_some() {
                return Err(usage(format!(
                    "--visits and --seconds limit searches with a predictor, which {} does not run; see ,playouts= of \
                     mcts in --help",
                    args.model
                )));
            }
            (MoveSource::Player(loader.player(&args.model)?), TrainedOn::default())
        }
        _ => {
            let (predictor, training) = loader.predictor_and_training(&args.model)?;
            (MoveSource::Network(predictor), training)
        }
    };
    let Conditions { size, komi, rules } = training.conditions(asked);
    let quit = Quit::default();
    let engine = TengenEngine::new(EngineSetup {
        source,
        leaves: args.leaves,
        training,
        name: args.name,
        options,
        seed: args.seed,
        quit: quit.clone(),
        say: |line| say(line),
    });
    let mut session = Session::new(engine, size, komi).under(rules);
    session.tell_conditions();
    let note = move |line: Option<&[u8]>| {
        let request = line.and_then(|line| Request::parse(&String::from_utf8_lossy(line)));
        if line.is_none() || request.is_some_and(|request| request.name == "quit") {
            quit.arrives();
        }
    };
    converse(session, &read_lines(note)?)
}

/// Answers every line until the controller sends quit, disconnects, or its input ends.
fn converse(mut session: Session<TengenEngine>, lines: &Receiver<Vec<u8>>) -> anyhow::Result<()> {
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

/// Searches during the opponent's turn until the next line arrives; `None` at the end of input.
fn think_ahead(session: &mut Session<TengenEngine>, lines: &Receiver<Vec<u8>>) -> Option<Vec<u8>> {
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
    /// The next line arrived.
    Line(Vec<u8>),
    /// The controller disconnected or its input ended.
    InputEnded,
    /// The engine failed; nothing more is reported until the next line.
    Failed,
}

/// Searches and reports until the next line arrives.
fn analyze(session: &mut Session<TengenEngine>, lines: &Receiver<Vec<u8>>, interval: Duration) -> Analyzed {
    let mut due = Instant::now() + interval;
    loop {
        // An engine that has reached its limits only waits for the next report or line.
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

/// Writes an answer at once; false if the controller has disconnected.
fn write(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
