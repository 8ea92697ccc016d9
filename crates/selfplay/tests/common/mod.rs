//! Helpers for the self-play tests.

use std::sync::Arc;

use tengen_rules::Rules;
use tengen_search::{PredictError, PredictionServer, Predictor, ScriptedPredictor, UniformPredictor};
use tengen_selfplay::{BoardShare, Clock, FairKomi, ModelUpdate, RunIdentity, SelfPlayConfig};

/// A model whose predictions are a function of the seed.
pub(crate) fn scripted(seed: u64) -> ModelUpdate {
    ModelUpdate {
        generation: seed as u32,
        model_id: format!("scripted-{seed}"),
        visits: 8,
        positions: 0,
        spent: 0.0,
        fair_komi: FairKomi::new(),
        predictor: Arc::new(move |_| Ok(Box::new(ScriptedPredictor::new(seed)) as Box<dyn Predictor>)),
    }
}

/// The same model on a server.
#[allow(dead_code, reason = "every test file uses its own part")]
pub(crate) fn served(server: &PredictionServer, seed: u64) -> ModelUpdate {
    let predictor = |_| Ok::<_, PredictError>(Box::new(ScriptedPredictor::new(seed)) as Box<dyn Predictor + Send>);
    let network = server.add(predictor).expect("a stand-in");
    ModelUpdate {
        predictor: Arc::new(move |_| Ok(Box::new(network.client()) as Box<dyn Predictor>)),
        ..scripted(seed)
    }
}

/// A model with uniform predictions.
#[allow(dead_code, reason = "every test file uses its own part")]
pub(crate) fn uniform() -> ModelUpdate {
    ModelUpdate {
        model_id: "uniform".to_owned(),
        predictor: Arc::new(|_| Ok(Box::new(UniformPredictor) as Box<dyn Predictor>)),
        ..scripted(0)
    }
}

/// Small boards, small groups, many openings.
pub(crate) fn config(boards: &[&str]) -> SelfPlayConfig {
    let board = |size: &&str| BoardShare::always(*size, 1.0);
    SelfPlayConfig {
        boards: boards.iter().map(board).collect(),
        games_per_group: 8.into(),
        cache_mib: 1,
        ..SelfPlayConfig::default()
    }
}

/// A run with reproducible output.
pub(crate) fn run(seed: u64) -> RunIdentity {
    RunIdentity {
        seed,
        config_id: "test".to_owned(),
        rules: Rules::tromp_taylor(),
        clock: Clock::Fixed(1_700_000_000_000),
    }
}
