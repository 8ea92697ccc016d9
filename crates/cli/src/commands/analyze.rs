//! `tengen analyze`: KataGo's JSON analysis protocol over standard input and output, for KaTrain and other programs.

mod katago;

pub(crate) use katago::with_two_hyphens;

use std::io::Write;
use std::path::PathBuf;

use tengen_engine::{Analyzer, read_lines};
use tengen_evaluator::PlayerSpec;
use tengen_gtp::json::{Defaults, Identity, QueryQueue, Viewpoint};
use tengen_rules::{Komi, Rules};

use crate::device::DeviceArgs;
use crate::players::Loader;
use crate::{arguments, output};
use katago::Config;

/// Positions searched in parallel by default.
const USUAL_PARALLEL: u16 = 8;

/// Analyze positions for programs that speak KataGo's JSON protocol, such as KaTrain
///
/// Reads one JSON query per line from standard input and writes one JSON answer per line to standard output, in the
/// format of `katago analysis` (KataGo's docs/Analysis_Engine.md). Many queries can be open at once, each for one or
/// more turns of a game; queries with higher priority go first. Several positions are searched in parallel and share
/// every call of the network. Ends when its input has ended and every query is answered.
///
/// Query fields: id, moves, rules, komi, whiteHandicapBonus, boardXSize, boardYSize, initialStones, initialPlayer,
/// analyzeTurns, maxVisits, includeOwnership, includeMovesOwnership, includePolicy, includePVVisits, avoidMoves and
/// allowMoves (for the first move), analysisPVLen, reportDuringSearchEvery, priority, priorities, and overrideSettings
/// with maxVisits, maxTime, reportAnalysisWinratesAs, analysisPVLen, cpuctExploration, fpuReductionMax. Any other field
/// is answered with a warning that names it. Actions: query_version, query_models, clear_cache, terminate,
/// terminate_all.
///
/// As in KataGo, the visit of the position itself counts. scoreLead, scoreMean and scoreSelfplay are the same number
/// here: the margin expected at the end of the game. Rules with a different meaning here are rejected with the reason,
/// unless --rules says which rules to analyze under instead. The same query gets the same answer regardless of other
/// queries, except for rounding in networks on batches of different sizes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen analyze --model store:data/runs/demo --visits 200
  printf '%s%s\\n' '{\"id\":\"1\",\"moves\":[[\"B\",\"C3\"]],\"rules\":\"tromp-taylor\",' \\
      '\"komi\":7,\"boardXSize\":5,\"boardYSize\":5}' |
      tengen analyze --model uniform

KaTrain: in its settings (F8), choose the engine 'custom' and enter this whole
command line (with exec, because KaTrain only ends the shell that it starts):
  exec /path/to/tengen analyze --model store:/path/to/run --rules tromp_taylor
It is engine.altcommand in ~/.katrain/config.json. KaTrain's new games use
Japanese rules; --rules analyzes them under Tengen's rules instead. Without it,
choose tromp-taylor in KaTrain. One network serves all boards, but plays well
only on sizes like those it was trained on.

Programs that can only start KataGo can start Tengen instead, which accepts
  tengen analysis -model MODEL -config FILE -override-config NAME=VALUE,...
      -quit-without-waiting

MODEL is one of
  uniform            search without a network
  store:DIR          the champion of a run store (or just its folder)
  store:DIR@g000012  the model of that generation
  model:PATH         a model folder, a .safetensors file, or a network of KataGo (.bin.gz); or just its path")]
pub(crate) struct Args {
    /// The model that judges the positions; see below
    #[arg(long, value_parser = arguments::player)]
    model: Box<PlayerSpec>,
    /// Visit limit for queries without maxVisits [default: 100]
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    visits: Option<u32>,
    /// Time limit in seconds for queries without maxTime
    #[arg(long, value_name = "S", value_parser = arguments::seconds_or_none)]
    seconds: Option<f64>,
    /// Viewpoint of winrates, scores and ownership for queries without reportAnalysisWinratesAs [default: black]
    #[arg(long, value_enum)]
    viewpoint: Option<ViewpointName>,
    /// Analyze under these rules regardless of what queries say; a warning tells the client
    #[arg(long, value_name = "NAME", value_parser = arguments::rules)]
    rules: Option<Rules>,
    /// Komi for queries without one, in whole or half points
    #[arg(long, default_value = "7", allow_hyphen_values = true)]
    komi: Komi,
    /// Number of positions searched in parallel; more give the network larger batches but each position less of the
    /// machine [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    parallel: Option<u16>,
    /// Leaves of each position's tree that the network evaluates in one call; 1 is the strongest for its visits, 8 is
    /// faster [default: 8]
    #[arg(long, value_name = "N", value_parser = arguments::leaves)]
    leaves: Option<usize>,
    /// A KataGo configuration file; settings without a meaning here are listed on stderr
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Settings that override the file's, such as maxVisits=50,reportAnalysisWinratesAs=WHITE
    #[arg(long, value_name = "NAME=VALUE,...")]
    override_config: Vec<String>,
    /// Exit when the input ends, without finishing open queries
    #[arg(long)]
    quit_without_waiting: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

/// A viewpoint, by its command-line name.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ViewpointName {
    /// Black's chances, as in KataGo's example configuration
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
    /// The settings of the files and options; command-line options take precedence.
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
        config.leaves = self.leaves.or(config.leaves);
        Ok(config)
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let config = args.config()?;
    if !config.unknown.is_empty() {
        let names = config.unknown.join(", ");
        output::say(format!("settings without a meaning here are ignored: {names}"));
    }
    let loader = Loader::new(&args.device, args.rules.unwrap_or(Rules::tromp_taylor()))?;
    let predictor = loader.predictor(&args.model)?;
    let parallel = usize::from(config.parallel.unwrap_or(USUAL_PARALLEL));
    let leaves = config.leaves.unwrap_or(arguments::USUAL_LEAVES);
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
    // Programs that start KataGo wait for the beginning of this line.
    output::say(format!(
        "Started, ready to begin handling requests (tengen {} with {}, {parallel} positions at once)",
        identity.version, identity.model
    ));
    let queue = QueryQueue::new(identity, defaults);
    let mut analyzer = Analyzer::new(queue, predictor, (parallel, leaves), write);
    analyzer.work(&read_lines(|_| {})?, args.quit_without_waiting);
    Ok(())
}

/// Writes lines at once; false if the reader has disconnected.
fn write(lines: &[String]) -> bool {
    if lines.is_empty() {
        return true;
    }
    let mut stdout = std::io::stdout().lock();
    let text = lines.join("\n") + "\n";
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
