//! `tengen tournament`: rates many players on one scale.

mod entrants;
mod rating;
mod table;

use anyhow::{Context, bail};

use tengen_evaluator::{GameScore, MatchConfig, PlayerError, PlayerSpec};
use tengen_matches::{Folder, Job, Spec};
use tengen_rules::{Komi, Size};
use tengen_store::{Create, Store};

use crate::arguments;
use crate::interrupt::Interrupt;
use crate::match_args::GameArgs;
use crate::output::{self, say, usage};
use crate::players::{DeviceArgs, Loader};
use entrants::{Entrant, pairings};
use rating::{Pairing, Standing};
use tengen_matches::Asked;

/// Rate many players on one scale by playing matches between them
///
/// Every player meets every other in a match of paired games, and all results together give the ratings (Bradley-Terry
/// with ties), each with its 95% interval. The first player's rating is 0.
///
/// With --store, the players are the models of a run: each meets the models 1, 2, 4, 8, … before it. All games stay in
/// the store, so a later call plays only what new models add; the report then shows these ratings as its Elo curve.
/// Additional players named on the command line meet every model.
///
/// If the tournament is interrupted, run the same command again to play the missing games.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen tournament random mcts,playouts=100 mcts,playouts=1000 --size 5 \\
      --komi 24.5 --games 40 --out data/matches/small
  tengen tournament --store data/runs/demo --komi 24.5
  tengen tournament --store data/runs/nine gtp:\"gnugo --mode gtp --level 10\" \\
      --every 5 --visits 64 --json

PLAYER takes the forms listed in `tengen match --help`.")]
pub(crate) struct Args {
    /// The players
    #[arg(value_name = "PLAYER")]
    players: Vec<PlayerSpec>,
    /// Rate the models of this run store, and keep the games in it
    #[arg(long, value_name = "STORE", conflicts_with = "out")]
    store: Option<String>,
    /// With --store: use only every N-th model, and always the first and the newest
    #[arg(
        long,
        allow_negative_numbers = true,
        default_value_t = 1,
        value_parser = arguments::count,
        value_name = "N",
        requires = "store"
    )]
    every: u32,
    /// With --store: visits per move of the models
    #[arg(
        long,
        allow_negative_numbers = true,
        default_value_t = 32,
        value_parser = arguments::count,
        value_name = "N",
        requires = "store"
    )]
    visits: u32,
    /// Games for each pair of players
    #[arg(long, allow_negative_numbers = true, default_value_t = 40, value_parser = arguments::count, value_name = "N")]
    games: u32,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high [default: with --store the run's first, otherwise that of the
    /// first network, otherwise 9]
    #[arg(long, value_parser = arguments::size)]
    size: Option<Size>,
    /// Points for White [default: with --store that of its last tournament, otherwise fair komi according to the
    /// champion or the first network, otherwise 7]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    #[command(flatten)]
    play: GameArgs,
    /// Folder that keeps the games, so that the tournament can be resumed and extended with more players
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print tables as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Plays a tournament.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let store = args.open()?;
    let run_store = store.as_ref().filter(|_| args.store.is_some());
    let asked = Asked {
        size: args.size,
        komi: args.komi,
        rules: args.play.rules,
    };
    let conditions = entrants::conditions(run_store, &args.players, asked)?;
    let config = args.play.config(conditions, args.games as usize)?;
    config.validate().map_err(usage)?;
    let entrants = entrants::all(&args.players, run_store, args.every as usize, args.visits)?;
    let schedule = pairings(&entrants);
    let interrupt = Interrupt::listen("Stopping the tournament after the games finished so far…")?;
    let runner = PairingRunner {
        config: &config,
        entrants: &entrants,
        store: store.as_ref(),
        loader: Loader::new(&args.device, config.rules)?,
        device: args.device,
        interrupt: &interrupt,
    };
    let pairings = runner.play(&schedule)?;
    let standing = Standing::of(&config, &entrants, pairings, interrupt.requested())?;
    if let Some(store) = run_store {
        standing.record(store)?;
    }
    match (args.json, args.markdown) {
        (true, _) => output::json(&standing)?,
        (_, markdown) => table::print(&standing, markdown),
    }
    if interrupt.requested() && store.is_some() {
        say("stopped; run the same command again to play the missing games");
    }
    match standing.stopped {
        true => interrupt.outcome(),
        false => Ok(()),
    }
}

impl Args {
    /// The store for the games, if any.
    fn open(&self) -> anyhow::Result<Option<Store>> {
        let least = if self.store.is_some() { 0 } else { 2 };
        if self.players.len() < least {
            return Err(usage(format!(
                "a tournament needs at least two players, not {}; or use --store STORE to rate the models of a run",
                self.players.len()
            )));
        }
        match (&self.store, &self.out) {
            (Some(location), _) => Ok(Some(Store::open(location, Create::Never)?)),
            (None, Some(location)) if location.trim().is_empty() => {
                Err(usage("--out needs a folder, such as data/matches/first"))
            }
            (None, Some(location)) => {
                let store = Store::open(location, Create::Always)?;
                let others = store.local_path().is_some_and(|folder| {
                    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                    let mut names = entries.map(|entry| entry.file_name());
                    names.any(|name| !["matches", "games", "quarantine"].contains(&name.to_string_lossy().as_ref()))
                });
                if others {
                    return Err(usage(format!(
                        "{location} already exists and is not a tournament; choose a new folder"
                    )));
                }
                Ok(Some(store))
            }
            (None, None) => Ok(None),
        }
    }
}

/// Everything that all pairings share.
struct PairingRunner<'a> {
    config: &'a MatchConfig,
    entrants: &'a [Entrant],
    store: Option<&'a Store>,
    loader: Loader,
    device: DeviceArgs,
    interrupt: &'a Interrupt,
}

impl PairingRunner<'_> {
    /// Plays all pairings one after the other, or reads those already played.
    fn play(&self, schedule: &[[usize; 2]]) -> anyhow::Result<Vec<Pairing>> {
        let games = (schedule.len() * self.config.games) as u64;
        let bar = output::bar(
            games,
            "[{bar:16}] {human_pos}/{human_len} games, {eta} left, {wide_msg}",
        );
        let mut played = Vec::new();
        for (number, &players) in schedule.iter().enumerate() {
            if self.interrupt.requested() {
                break;
            }
            let [a, b] = players.map(|player| &self.entrants[player].label);
            bar.set_message(format!("{a} against {b}"));
            bar.set_position((number * self.config.games) as u64);
            let mut shown = 0;
            let mut count = || {
                shown += 1;
                bar.inc(1);
            };
            let pairing = match self.meet(players, &mut count) {
                Err(error) if matches!(error.downcast_ref(), Some(PlayerError::Stopped)) => break,
                met => met.with_context(|| format!("{a} against {b}"))?,
            };
            if !output::interactive() && shown > 0 {
                say(format!(
                    "{} of {}: {}",
                    number + 1,
                    schedule.len(),
                    pairing.in_words(self.entrants)
                ));
            }
            played.push(pairing);
        }
        bar.finish_and_clear();
        Ok(played)
    }

    fn meet(&self, players: [usize; 2], count: &mut dyn FnMut()) -> anyhow::Result<Pairing> {
        let [a, b] = players.map(|player| &self.entrants[player]);
        let spec = Spec::new(
            [&a.label, &b.label],
            self.config,
            self.device.device.name(),
            &self.device.dtype_name(),
        );
        let id = spec.id("rating");
        let folder = self.store.map(|store| Folder::inside(store, &id));
        let stop = self.interrupt.flag();
        let job = Job {
            config: self.config,
            spec: &spec,
            folder: folder.as_ref(),
            players: &|| {
                Ok([
                    self.loader.player_until(&a.spec, &stop)?,
                    self.loader.player_until(&b.spec, &stop)?,
                ])
            },
            stop: &|| self.interrupt.requested(),
            say: &|line| output::say(line),
        };
        let result = tengen_matches::play(&job, &mut |_: &GameScore| count())?;
        if result.games == 0 && !result.stopped {
            bail!("none of the {} games has a result", result.game_list.len());
        }
        Ok(Pairing {
            players,
            match_id: folder.is_some().then_some(id),
            result,
        })
    }
}
