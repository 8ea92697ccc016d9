//! `tengen match`: plays a match and estimates which player is stronger.

mod progress;
mod table;

use tengen_evaluator::{AColor, GameScore, MatchConfig, PlayerError, PlayerSpec, SprtConfig};
use tengen_matches::{Folder, Job, Spec};
use tengen_model::PrecisionChoice;
use tengen_rules::{Komi, Size};
use tengen_store::{Create, Store};

use crate::arguments;
use crate::commands::tournament::TableArgs;
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::match_args::GameArgs;
use crate::output::{self, usage};
use crate::players::{Loader, training_of};
use progress::Progress;
use tengen_matches::Asked;

/// Play a match between two players and estimate which one is stronger, with error bounds
///
/// Games come in pairs: both players get the same opening, once as Black and once as White. Every move is checked
/// against the exact rules; an engine that crashes, hangs or plays an illegal move loses the game, and the reason is
/// recorded. Prints points, wins by color, the Elo difference with its 95% interval, and bounds that stay valid however
/// often you look; the score so far appears on stderr during the match. The same seed and players give the same games.
///
/// With --out, games are published as they finish. If the match is interrupted, run the same command again to play the
/// missing games; the result is that of an uninterrupted match.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen match store:data/runs/demo random --games 20
  tengen match --a store:data/runs/demo,visits=64 --b random --size 5 \\
      --komi 24.5 --a-color black
  tengen match --a store:data/runs/big --b store:data/runs/big@g000012 \\
      --sprt 0,50 --out data/matches/big-12
  tengen match --a mcts --size 9 --games 20 --json \\
      --b gtp:\"gnugo --mode gtp --chinese-rules\"

PLAYER is one of
  model:PATH         a model folder, a .safetensors file, or a network of KataGo (.bin.gz); or just its path
  store:DIR          the champion of a run store (or just its folder)
  store:DIR@g000012  the model of that generation
  gtp:COMMAND        any engine that speaks GTP; with options, quote it
  mcts               tree search over random games; ,playouts=1000 per move
  random             random plays that never fill the player's own eyes
  uniform            the search of networks without one: all moves look alike,
                     all positions even; weaker than random on small boards
with options such as ,visits=64 ,time=2s ,resign=0.95 ,noise=on ,temperature=0.5
,name=X; for engines also ,move_s=10 ,engines=2")]
pub(crate) struct Args {
    /// The two players, in place of --a and --b
    #[arg(value_name = "PLAYER", num_args = 2)]
    #[arg(conflicts_with_all = ["a", "b"], required_unless_present_all = ["a", "b"])]
    players: Vec<PlayerSpec>,
    /// The first player; Elo and margins are from its viewpoint
    #[arg(long, value_name = "PLAYER", value_parser = arguments::player, requires = "b")]
    a: Option<Box<PlayerSpec>>,
    /// The second player
    #[arg(long, value_name = "PLAYER", value_parser = arguments::player, requires = "a")]
    b: Option<Box<PlayerSpec>>,
    /// Games to play; the maximum if --sprt or --until-clear may end the match early [default: 100, or 2000 with one of
    /// these]
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::count, value_name = "N")]
    games: Option<u32>,
    /// Stop as soon as it is clear (5% error rates) whether A is stronger by ELO0 or by ELO1
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true, value_parser = sprt)]
    sprt: Option<SprtConfig>,
    /// Stop as soon as the always-valid bounds leave no doubt which player is stronger
    #[arg(long, conflicts_with = "sprt")]
    until_clear: bool,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high [default: that of the first network, otherwise 9]
    #[arg(long, value_parser = arguments::size)]
    size: Option<Size>,
    /// Points for White, in steps of one half; whole numbers allow ties [default: fair komi according to the first
    /// network, otherwise 7]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    /// A's color: alternating (in pairs of games), or always the same
    #[arg(long, value_enum, default_value_t = Color::Alternate)]
    a_color: Color,
    #[command(flatten)]
    play: GameArgs,
    /// Folder for the games (as shards while they are played), result.json and games.sgf
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    /// Run store to put the match into, under matches/ and games/, instead of a separate folder
    #[arg(long, value_name = "STORE", conflicts_with = "out")]
    store: Option<String>,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// The color of player A.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Color {
    /// Black first, then White with the same opening
    Alternate,
    /// Black in every game
    Black,
    /// White in every game
    White,
}

/// Parses the two hypotheses of a sequential test.
fn sprt(text: &str) -> Result<SprtConfig, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let Some([elo0, elo1]) = numbers.as_deref() else {
        return Err("expected two numbers such as 0,50".to_owned());
    };
    let config = SprtConfig {
        elo0: *elo0,
        elo1: *elo1,
        ..SprtConfig::default()
    };
    config.validate().map(|()| config).map_err(|error| error.to_string())
}

impl Args {
    /// The two players, named by position or by `--a` and `--b`.
    fn players(&self) -> anyhow::Result<[&PlayerSpec; 2]> {
        let named = self.players.iter().chain(self.a.as_deref()).chain(self.b.as_deref());
        let both: Vec<&PlayerSpec> = named.collect();
        both.try_into()
            .map_err(|_| usage("expected two players, such as `tengen match model:PATH random`"))
    }

    /// The settings of the match.
    fn config(&self) -> anyhow::Result<MatchConfig> {
        let asked = Asked {
            size: self.size,
            komi: self.komi,
            rules: self.play.rules,
        };
        let training = training_of(self.players()?)?;
        training.chosen(asked).into_iter().for_each(output::say);
        let may_end = self.sprt.is_some() || self.until_clear;
        let usual_games = if may_end { 2000 } else { 100 };
        let games = self.games.map_or(usual_games, |games| games as usize);
        let config = MatchConfig {
            a_color: match self.a_color {
                Color::Alternate => AColor::Alternate,
                Color::Black => AColor::Black,
                Color::White => AColor::White,
            },
            sprt: self.sprt,
            until_clear: self.until_clear,
            ..self.play.config(training.conditions(asked), games)?
        };
        config.validate().map_err(usage)?;
        Ok(config)
    }

    /// The device. An automatic number format is that of the match that goes on: the fastest one is measured, and may
    /// be another one on a busy machine.
    fn device(&self) -> DeviceArgs {
        let automatic = self.device.dtype.unwrap_or_default() == PrecisionChoice::Auto;
        let begun = self.out.as_deref().filter(|_| automatic).and_then(Folder::dtype_at);
        DeviceArgs {
            dtype: begun.and_then(|dtype| dtype.parse().ok()).or(self.device.dtype),
            ..self.device
        }
    }

    /// The folder to publish the match in, if any.
    fn folder(&self, id: &str) -> anyhow::Result<Option<Folder>> {
        match (&self.out, &self.store) {
            (Some(location), _) => Folder::alone(location, id).map(Some),
            (None, Some(location)) => Ok(Some(Folder::inside(&Store::open(location, Create::Never)?, id))),
            (None, None) => Ok(None),
        }
    }
}

/// Plays a match.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let config = args.config()?;
    let [a, b] = args.players()?;
    let device = args.device();
    let spec = Spec::new(
        [&a.to_string(), &b.to_string()],
        &config,
        &device.devices().to_string(),
        &device.dtype_name()?,
    );
    let folder = args.folder(&spec.id("match"))?;
    let loader = Loader::new(&device, config.rules)?;
    let interrupt = Interrupt::listen("Stopping the match after the games finished so far…")?;
    let stop = interrupt.flag();
    let mut progress = Progress::new(&config);
    let job = Job {
        config: &config,
        spec: &spec,
        folder: folder.as_ref(),
        players: &|| Ok([loader.player_until(a, &stop)?, loader.player_until(b, &stop)?]),
        stop: &|| interrupt.requested(),
        say: &|line| output::say(line),
    };
    let result = tengen_matches::play(&job, &mut |score: &GameScore| progress.show(score));
    progress.finish();
    if let (Err(_), Some(folder)) = (&result, folder) {
        folder.forget()?;
    }
    let result = match result {
        // The signal came before the first game began.
        Err(error) if matches!(error.downcast_ref(), Some(PlayerError::Stopped)) => return interrupt.outcome(),
        result => result?,
    };
    if let (true, Some(out)) = (result.stopped, args.out.as_ref().or(args.store.as_ref())) {
        output::say(format!(
            "stopped; run the same command again to continue after the {} in {out}",
            output::counted(result.games as u64, "game")
        ));
    }
    for (player, engine) in [(&result.a, &result.a_engine), (&result.b, &result.b_engine)] {
        if let Some(rules) = engine.as_ref().and_then(|engine| engine.rules_not_told.as_ref()) {
            output::say(format!(
                "{player} does not support setting the rules {rules} and may play by others"
            ));
        }
    }
    match args.table.json {
        true => output::json(&result)?,
        false => table::print(&result, args.table.markdown),
    }
    interrupt.outcome_if(result.stopped)
}
