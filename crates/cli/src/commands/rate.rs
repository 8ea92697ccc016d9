//! `tengen rate`: rates the models of a run on an absolute scale.

mod conditions;

use std::path::Path;

use anyhow::Context;

use tengen_evaluator::PlayerSpec;
use tengen_matches::{
    Anchor, Asked, Entrant, Pairing, Row, Standing, gnu_go, meet_models, reject_twins, run_models, successive,
    usual_anchors,
};
use tengen_metrics::{Event, Measured, Metrics};
use tengen_rules::{Komi, Size};
use tengen_store::{Create, Store};

use crate::arguments;
use crate::commands::tournament::{Matches, TableArgs, table};
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::match_args::GameArgs;
use crate::output::{say, usage};

/// Rate the models of a run on an absolute scale
///
/// Each model meets the models 1, 2, 4, 8, … before it, and each anchor meets the models from the newest back to where
/// two in a row take no point from it. Anchors are players whose strength stays the same; the ratings given for them
/// fix the scale, so that the ratings of different runs can be compared. All results together give the ratings
/// (Bradley-Terry with ties), each with its 95% interval.
///
/// Without --anchor, the anchors are random and, if GNU Go 3.8 is installed, its levels 1 and 10. On 9x9, level 10 has
/// its rating on CGOS, 1946, and komi is 7 as on CGOS. On other boards and without GNU Go, random has the rating 0.
///
/// All games stay in the store: a later call plays only what new models add, and after an interruption, the same
/// command plays the missing games. The report draws the ratings over CPU time and evaluations, with the anchors as
/// lines.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rate --store data/runs/9x9
  tengen rate --store data/runs/9x9 --every 5 --games 20
  tengen rate --store data/runs/9x9 --anchor 2300=\"gtp:pachi -t =400\"
  tengen rate --store data/runs/demo mcts,playouts=1000 --visits 16 --komi 24.5

PLAYER takes the forms listed in `tengen match --help`.")]
pub(crate) struct Args {
    /// The run's store
    #[arg(long, value_name = "STORE")]
    store: String,
    /// More players to rate, which meet the models as anchors do
    #[arg(value_name = "PLAYER")]
    players: Vec<PlayerSpec>,
    /// A player with a given rating in Elo; replaces the default anchors, and can be repeated
    #[arg(long = "anchor", value_name = "RATING=PLAYER", allow_hyphen_values = true)]
    anchors: Vec<Anchor>,
    /// Use only every N-th model, and always the first and the newest
    #[arg(long, default_value_t = 1, value_parser = arguments::count, value_name = "N")]
    every: u32,
    /// Visits per move of the models
    #[arg(long, default_value_t = 100, value_parser = arguments::count, value_name = "N")]
    visits: u32,
    /// Games for each pair of players
    #[arg(long, default_value_t = 40, value_parser = arguments::count, value_name = "N")]
    games: u32,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high [default: the run's first]
    #[arg(long, value_parser = arguments::size)]
    size: Option<Size>,
    /// Points for White [default: that of the store's last ratings, otherwise 7 on 9x9, otherwise fair komi according
    /// to the champion]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    #[command(flatten)]
    play: GameArgs,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// Plays the missing games and prints the ratings.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let asked = Asked {
        size: args.size,
        komi: args.komi,
        rules: args.play.rules,
    };
    let conditions = conditions::conditions(&store, asked)?;
    let config = args.play.config(conditions, args.games as usize)?;
    config.validate().map_err(usage)?;
    let mut entrants = run_models(&store, args.every as usize, args.visits)?;
    let models = entrants.len();
    entrants.extend(args.others(conditions.size)?);
    reject_twins(&entrants)?;
    let interrupt = Interrupt::listen("Stopping after the games finished so far…")?;
    let matches = Matches {
        config: &config,
        entrants: &entrants,
        store: Some(&store),
        device: args.device,
        interrupt: &interrupt,
    };
    let pairings = play(&matches, models)?;
    let standing = Standing::of(&config, &entrants, pairings, interrupt.requested())?;
    if !standing.stopped {
        record(&standing, &store)?;
    }
    table::show(&standing, &args.table)?;
    match standing.stopped {
        true => {
            say("stopped; run the same command again to play the missing games");
            interrupt.outcome()
        }
        false => Ok(()),
    }
}

impl Args {
    /// The anchors and the players named on the command line.
    fn others(&self, size: Size) -> anyhow::Result<Vec<Entrant>> {
        let mut others = match self.anchors.as_slice() {
            [] => {
                let gnu_go = gnu_go();
                if gnu_go.is_none() {
                    say("GNU Go is not installed, so the only anchor is random; install gnugo or use --anchor");
                }
                usual_anchors(size, gnu_go.as_deref())?
            }
            anchors => anchors.iter().map(Anchor::entrant).collect(),
        };
        others.extend(self.players.iter().map(Entrant::named));
        Ok(others)
    }
}

/// Plays the matches among the models, which come first among the players, and between them and the others.
fn play(matches: &Matches<'_>, models: usize) -> anyhow::Result<Vec<Pairing>> {
    let schedule = successive(models);
    let others = models..matches.entrants.len();
    matches.with_progress(schedule.len() + others.len() * models, |meet| {
        let played = schedule.iter().map_while(|&players| meet(players).transpose());
        let mut played = played.collect::<anyhow::Result<Vec<_>>>()?;
        for other in others {
            played.extend(meet_models(models, other, meet)?);
        }
        Ok(played)
    })
}

/// Records the ratings in the run's metrics, where the report finds them.
fn record(standing: &Standing, store: &Store) -> anyhow::Result<()> {
    let elapsed = tengen_metrics::elapsed_seconds(store)?;
    let scratch = || tengen_store::scratch_folder(store.location());
    let folder = store.local_path().map_or_else(scratch, Path::to_owned);
    let metrics = Metrics::of(store, &folder).context("cannot record the ratings")?;
    // All have the same time, so that readers know which ratings belong together.
    let time_ms = tengen_records::now_ms() as i64;
    for row in &standing.players {
        if let Some(elo) = row.elo {
            metrics.record(&Event {
                time_ms,
                ..Event::now(elapsed, rating_of(row, elo))
            })?;
        }
    }
    Ok(())
}

fn rating_of(row: &Row, elo: f64) -> Measured {
    let (low, high) = (
        row.elo_low.unwrap_or(f64::NEG_INFINITY),
        row.elo_high.unwrap_or(f64::INFINITY),
    );
    match &row.model_id {
        Some(model_id) => Measured::Rating(tengen_metrics::Rating {
            model_id: model_id.clone(),
            elo,
            low,
            high,
            evaluations: row.evaluations.unwrap_or(0),
            cpu_seconds: row.cpu_seconds.unwrap_or(0.0),
            anchored: true,
        }),
        None => Measured::Anchor(tengen_metrics::Anchor {
            name: row.name.clone(),
            elo,
            low,
            high,
            pinned: row.pinned,
        }),
    }
}
