//! Trains 5x5 Go from zero and lets the champion play a match, without the command line:
//!
//! ```sh
//! cargo run --release -p tengen-run --example train_and_play -- STORE [MINUTES]
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use tengen_evaluator::{MatchConfig, MatchContext, MatchEvent, RandomPlayer, SearchPlayer, run_match};
use tengen_network::{PredictorOptions, TorchPredictor};
use tengen_run::{RunConfig, Setup};
use tengen_search::SearchConfig;
use tengen_store::{Create, Store};

fn main() -> anyhow::Result<()> {
    let location = std::env::args().nth(1).context("name a folder for the store")?;
    let minutes = std::env::args().nth(2).unwrap_or("1".to_owned());
    let config = RunConfig::load(Path::new("configs/5x5.toml"), &[format!("budget.minutes={minutes}")])?;
    let setup = Setup::default();
    let summary = tengen_run::run(&config, &location, &setup)?.context("nothing stops this run")?;
    println!("{}", summary.in_words(&location));

    let store = Store::open(&location, Create::Never)?;
    let (_, champion) = store.models().champion()?.context("a finished run has a champion")?;
    let weights = store.models().load(&champion.model_id)?.weights;
    let predictor = Box::new(TorchPredictor::new(&weights, PredictorOptions::default())?);
    let mut champion = SearchPlayer::new("champion", predictor, SearchConfig::for_play(64));
    let games = MatchConfig {
        size: "5x5".parse()?,
        komi: "24.5".parse()?,
        games: 20,
        ..MatchConfig::default()
    };
    let (mut random, context) = (RandomPlayer::new(None), MatchContext::default());
    let keep_going = &mut |_: &MatchEvent<'_>| ControlFlow::Continue(());
    let result = run_match(&games, &mut champion, &mut random, &context, keep_going)?;
    println!("Won {} of {} games against random.", result.a_points, result.games);
    Ok(())
}
