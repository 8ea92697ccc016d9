//! `tengen tournament`: rates many players on one scale.

mod matches;
pub(crate) mod table;

pub(crate) use matches::Matches;
pub(crate) use table::TableArgs;

use tengen_evaluator::PlayerSpec;
use tengen_matches::{Asked, Entrant, Standing, everyone, reject_twins};
use tengen_rules::{Komi, Size};
use tengen_store::{Create, Store};

use crate::arguments;
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::match_args::GameArgs;
use crate::output::{say, usage};
use crate::players::training_of;

/// Rate many players on one scale by playing matches between them
///
/// Every player meets every other in a match of paired games, and all results together give the ratings (Bradley-Terry
/// with ties), each with its 95% interval. The first player's rating is 0.
///
/// With --out, all games stay in a folder, so a later call plays only what additional players add. If the tournament is
/// interrupted, run the same command again to play the missing games. To rate the models of a run, use `tengen rate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen tournament random mcts,playouts=100 mcts,playouts=1000 --size 5 \\
      --komi 24.5 --games 40 --out data/matches/small
  tengen tournament data/runs/first data/runs/second gtp:\"gnugo --mode gtp\"

PLAYER takes the forms listed in `tengen match --help`.")]
pub(crate) struct Args {
    /// The players
    #[arg(value_name = "PLAYER")]
    players: Vec<PlayerSpec>,
    /// Games for each pair of players
    #[arg(long, allow_negative_numbers = true, default_value_t = 40, value_parser = arguments::count, value_name = "N")]
    games: u32,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high [default: that of the first network, otherwise 9]
    #[arg(long, value_parser = arguments::size)]
    size: Option<Size>,
    /// Points for White [default: fair komi according to the first network, otherwise 7]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    #[command(flatten)]
    play: GameArgs,
    /// Folder that keeps the games, so that the tournament can be resumed and extended with more players
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// Plays a tournament.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let store = args.open()?;
    let asked = Asked {
        size: args.size,
        komi: args.komi,
        rules: args.play.rules,
    };
    let conditions = training_of(&args.players)?.conditions(asked);
    let config = args.play.config(conditions, args.games as usize)?;
    config.validate().map_err(usage)?;
    let entrants: Vec<Entrant> = args.players.iter().map(Entrant::named).collect();
    reject_twins(&entrants)?;
    let interrupt = Interrupt::listen("Stopping the tournament after the games finished so far…")?;
    let matches = Matches {
        config: &config,
        entrants: &entrants,
        store: store.as_ref(),
        device: args.device,
        interrupt: &interrupt,
    };
    let schedule = everyone(entrants.len());
    let pairings = matches.with_progress(schedule.len(), |meet| {
        let played = schedule.iter().map_while(|&players| meet(players).transpose());
        played.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let standing = Standing::of(&config, &entrants, pairings, interrupt.requested())?;
    table::show(&standing, &args.table)?;
    if interrupt.requested() && store.is_some() {
        say("stopped; run the same command again to play the missing games");
    }
    interrupt.outcome_if(standing.stopped)
}

impl Args {
    /// The store for the games, if any.
    fn open(&self) -> anyhow::Result<Option<Store>> {
        if self.players.len() < 2 {
            return Err(usage(format!(
                "a tournament needs at least two players, not {}; to rate the models of a run, use tengen rate",
                self.players.len()
            )));
        }
        match &self.out {
            Some(location) if location.trim().is_empty() => {
                Err(usage("--out needs a folder, such as data/matches/first"))
            }
            Some(location) => {
                let store = Store::open(location, Create::Always)?;
                let others = store.local_path().is_some_and(|folder| {
                    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                    let mut names = entries.map(|entry| entry.file_name());
                    names.any(|name| {
                        !["matches", "games", "quarantine", "report.html"].contains(&&*name.to_string_lossy())
                    })
                });
                if others {
                    return Err(usage(format!(
                        "{location} already exists and is not a tournament; choose a new folder"
                    )));
                }
                Ok(Some(store))
            }
            None => Ok(None),
        }
    }
}
