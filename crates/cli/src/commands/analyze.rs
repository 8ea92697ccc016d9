//! `tengen analyze`: KataGo's JSON analysis protocol on standard input and output, for KaTrain and other programs.

mod katago;
mod worker;

pub(crate) use katago::with_two_hyphens;

use crate::lines::read_lines;
use crate::players::{DeviceArgs, Loader};
use crate::{arguments, output};
use katago::Config;
use std::path::PathBuf;
use tengen_evaluator::PlayerSpec;
use tengen_gtp::json::{Defaults, Identity, QueryQueue, Viewpoint};
use tengen_rules::{Komi, Rules};
use worker::Worker;

/// Positions searched side by side where nothing else is said.
const USUAL_PARALLEL: u16 = 8;

/// Analyze positions for programs that speak KataGo's JSON protocol, such as KaTrain
///
/// Reads one JSON query a line from standard input and writes one JSON answer a line to standard output, in the form of
/// `katago analysis` (KataGo's docs/Analysis_Engine.md): many queries at once, each for one or more turns of a game, those
/// of higher priority first. Several positions are searched side by side and share every call of the network. Ends when its
/// input ends and every query is answered.
///
/// Queries: id, moves, rules, komi, whiteHandicapBonus, boardXSize, boardYSize, initialStones, initialPlayer, analyzeTurns,
/// maxVisits, includeOwnership, includeMovesOwnership, includePolicy, includePVVisits, avoidMoves and allowMoves (for the
/// first move), analysisPVLen, reportDuringSearchEvery, priority, priorities, and overrideSettings with maxVisits, maxTime,
/// reportAnalysisWinratesAs, analysisPVLen, cpuctExploration, fpuReductionMax. Whatever else is asked for is answered with a
/// warning that names it. Actions: query_version, query_models, clear_cache, terminate, terminate_all.
///
/// A visit of the position itself counts as one, as with KataGo. scoreLead, scoreMean and scoreSelfplay are one number here:
/// the margin expected at the end of the game. Rules that mean something else here are refused with the reason unless --rules
/// says under which to analyze instead. The same query is answered alike, whatever is asked beside it, but for rounding in
/// networks on batches of different sizes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen analyze --model store:data/runs/demo --visits 200
  echo '{\"id\":\"1\",\"moves\":[[\"B\",\"C3\"]],\"rules\":\"tromp-taylor\",\"komi\":7,\"boardXSize\":5,\"boardYSize\":5}' |
    tengen analyze --model uniform

KaTrain: choose in its settings (F8) the engine 'custom' and give it, as the whole command line,
  exec /path/to/tengen analyze --model store:/path/to/run --rules tromp_taylor
(exec, for KaTrain ends only the shell it starts; the same line is engine.altcommand in ~/.katrain/config.json). New games
of KaTrain have Japanese rules: --rules has them analyzed under ours; without it choose tromp-taylor in KaTrain. One
network serves all boards, but plays well only on sizes like those it was trained on.

Programs that start nothing but KataGo can start this program in its place: it takes the command line
  tengen analysis -model MODEL -config FILE -override-config NAME=VALUE,... -quit-without-waiting

MODEL is one of
  uniform            search without a network
  store:DIR          the champion of a run store (a store's folder alone works too)
  store:DIR@g000012  the model of that generation
  model:PATH         a model folder or a .safetensors file (the path alone works too)")]
pub(crate) struct Args {
    /// Who judges the positions; see below
    #[arg(long, value_parser = arguments::player)]
    model: Box<PlayerSpec>,
    /// Most visits where a query says nothing (maxVisits) [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    visits: Option<u32>,
    /// Most seconds for a position where a query says nothing (maxTime)
    #[arg(long, value_name = "S", value_parser = arguments::seconds_or_none)]
    seconds: Option<f64>,
    /// Whose winrates, scores and ownership are told where a query says nothing (reportAnalysisWinratesAs) [default: black]
    #[arg(long, value_enum)]
    viewpoint: Option<ViewpointName>,
    /// Analyze under these rules whatever queries say; a warning tells the client so
    #[arg(long, value_name = "NAME", value_parser = arguments::rules)]
    rules: Option<Rules>,
    /// Komi where a query says nothing, in whole or half points
    #[arg(long, default_value = "7", allow_hyphen_values = true)]
    komi: Komi,
    /// Most positions searched side by side; more give the network larger batches and each position less of the machine
    /// [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    parallel: Option<u16>,
    /// A configuration file of KataGo's: what means something here is taken, what does not is named on stderr
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Settings that come before those of the file, such as maxVisits=50,reportAnalysisWinratesAs=WHITE
    #[arg(long, value_name = "NAME=VALUE,...")]
    override_config: Vec<String>,
    /// End with the input, without finishing what was asked for
    #[arg(long)]
    quit_without_waiting: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

/// A viewpoint, by its name on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ViewpointName {
    /// Black's chances, as KataGo's example configuration has it
    Black,
    /// White's chances
    White,
    /// The chances of the side to move
    SideToMove,
}

impl From<ViewpointName> for Viewpoint {
    fn from(name: ViewpointName) -> Viewpoint {
        match name {
            ViewpointName::Black => Viewpoint::Black,
            ViewpointName::White => Viewpoint::White,
            ViewpointName::SideToMove => Viewpoint::SideToMove,
        }
    }
}

impl Args {
    /// The settings of the files and options; options of the command line come before all others.
    fn config(&self) -> anyhow::Result<Config> {
        let mut config = Config::default();
        self.config.iter().try_for_each(|path| config.take_file(path))?;
        self.override_config
            .iter()
            .try_for_each(|text| config.take_overrides(text))?;
        let settings = &mut config.settings;
        settings.visits = self.visits.unwrap_or(settings.visits);
        settings.seconds = self.seconds.or(settings.seconds);
        settings.viewpoint = self.viewpoint.map_or(settings.viewpoint, Viewpoint::from);
        config.parallel = self.parallel.or(config.parallel);
        Ok(config)
    }
}

/// Answers queries.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let config = args.config()?;
    if !config.unknown.is_empty() {
        let names = config.unknown.join(", ");
        output::say(format!("settings that mean nothing here and change nothing: {names}"));
    }
    let loader = Loader::new(&args.device, args.rules.unwrap_or(Rules::tromp_taylor()))?;
    let Some(predictor) = loader.predictor(&args.model)? else {
        return Err(output::usage(
            "the random player has nothing to say about a position: --model names a network or uniform",
        ));
    };
    let parallel = usize::from(config.parallel.unwrap_or(USUAL_PARALLEL));
    let identity = Identity {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: predictor.name(),
        batch: parallel,
    };
    let defaults = Defaults {
        settings: config.settings,
        komi: args.komi,
        rules: args.rules,
    };
    // Programs that start KataGo wait for these words.
    output::say(format!(
        "Started, ready to begin handling requests (tengen {} with {}, {parallel} positions at once)",
        identity.version, identity.model
    ));
    let mut worker = Worker::new(QueryQueue::new(identity, defaults), predictor, parallel);
    worker.work(&read_lines()?, args.quit_without_waiting);
    Ok(())
}
