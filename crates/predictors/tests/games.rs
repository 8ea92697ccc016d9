//! Games of self-play with a network do not depend on how its predictors share it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tengen_model::{NetworkConfig, Weights};
use tengen_network::{PredictorOptions, TorchPredictor, limit_threads};
use tengen_predictors::on_devices;
use tengen_rules::Rules;
use tengen_search::{PredictionServer, Predictor, ServerSetup};
use tengen_selfplay::{
    BoardShare, Clock, Counters, FairKomi, GenerateSetup, ModelUpdate, PredictorFactory, RunIdentity, SelfPlayConfig,
    generate,
};

const GAMES: u64 = 24;

/// The bytes of games on two boards, played by this many threads.
fn played(predictor: PredictorFactory, threads: usize) -> Vec<u8> {
    let config = SelfPlayConfig {
        boards: ["4x4", "3x3"].map(|size| BoardShare::always(size, 1.0)).to_vec(),
        games_per_group: 8.into(),
        cache_mib: 1,
        ..SelfPlayConfig::default()
    };
    let setup = GenerateSetup {
        run: RunIdentity {
            seed: 11,
            config_id: "test".to_owned(),
            rules: Rules::tromp_taylor(),
            clock: Clock::Fixed(1_700_000_000_000),
        },
        session: 0,
        games: GAMES,
        threads,
        known: BTreeSet::new(),
    };
    let model = ModelUpdate {
        generation: 1,
        model_id: "perturbed".to_owned(),
        visits: 8,
        positions: 0,
        spent: 0.0,
        fair_komi: FairKomi::new(),
        predictor,
    };
    let (counters, stop, mut records) = (Arc::new(Counters::new()), AtomicBool::new(false), Vec::new());
    let done = generate(&config, &setup, &model, &counters, &stop, |games| records.extend(games));
    assert_eq!(done.expect("self-play works"), GAMES);
    tengen_store::encode(&records)
}

#[test]
fn games_are_the_same_with_a_predictor_for_each_thread_and_with_a_server() {
    limit_threads();
    let weights = Weights::perturbed(&NetworkConfig::new(1, 8)).expect("a shape");
    let options = PredictorOptions::default();
    let own = || Arc::new(on_devices("perturbed", &weights, options, &[options.device]).expect("the CPU"));
    let expected = played(own(), 1);
    assert!(played(own(), 3) == expected, "three threads");
    for (lanes, threads) in [(1, 1), (2, 3)] {
        let most_positions = 64;
        let server = PredictionServer::start(ServerSetup { lanes, most_positions }).expect("threads");
        let predictor = |_| TorchPredictor::new(&weights, options).map(|predictor| Box::new(predictor) as _);
        let network = server.add(predictor).expect("the CPU");
        let clients = Arc::new(move |_| Ok(Box::new(network.client()) as Box<dyn Predictor>));
        assert!(played(clients, threads) == expected, "{lanes} lanes, {threads} threads");
        assert!(server.stats().batches > 0);
    }
}
