//! Games for benchmarks: self-play by a search without a network.

use std::sync::Arc;

use anyhow::Context;

use tengen_records::GameRecord;
use tengen_rules::{Rules, Size};
use tengen_search::{SearchConfig, UniformPredictor};
use tengen_selfplay::{
    BoardShare, Clock, Counters, FairKomi, Group, GroupSetup, ModelUpdate, PredictorFactory, RunIdentity,
    SelfPlayConfig,
};

/// Visits per move of these games, enough for realistic policy targets.
const VISITS: u32 = 8;

/// Plays `count` games and returns those with a result.
pub(super) fn play(size: Size, count: u32, seed: u64) -> anyhow::Result<Vec<GameRecord>> {
    let config = config(size, count.min(256), SearchConfig::default());
    let setup = GroupSetup {
        run: identity(seed),
        session: 0,
        number: 0,
        quota: Some(u64::from(count)),
    };
    let factory: PredictorFactory = Arc::new(|_| Ok(Box::new(UniformPredictor)));
    let mut group = Group::new(
        &config,
        setup,
        model("uniform", VISITS, factory),
        Arc::new(Counters::new()),
    )?;
    let mut games = Vec::new();
    while !group.is_done() {
        let finished = group
            .step(&mut UniformPredictor)
            .context("self-play without a network failed")?;
        games.extend(finished.into_iter().map(|game| game.record));
    }
    games.retain(GameRecord::is_finished);
    anyhow::ensure!(
        !games.is_empty(),
        "none of {count} games on {size} ended before the ply limit"
    );
    Ok(games)
}

/// Self-play settings for one board, otherwise defaults.
pub(super) fn config(size: Size, games_per_group: u32, search: SearchConfig) -> SelfPlayConfig {
    SelfPlayConfig {
        boards: vec![BoardShare::always(size.to_string(), 1.0)],
        games_per_group,
        search,
        ..SelfPlayConfig::default()
    }
}

/// The identity shared by all games of a benchmark.
pub(super) fn identity(seed: u64) -> RunIdentity {
    RunIdentity {
        seed,
        config_id: "bench".to_owned(),
        rules: Rules::tromp_taylor(),
        clock: Clock::Fixed(0),
    }
}

/// A model update that lasts for the whole benchmark.
pub(super) fn model(id: &str, visits: u32, predictor: PredictorFactory) -> ModelUpdate {
    ModelUpdate {
        generation: 0,
        model_id: id.to_owned(),
        visits,
        positions: 0,
        fair_komi: FairKomi::new(),
        predictor,
    }
}
