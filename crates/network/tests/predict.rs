//! Compares fast prediction with plain prediction, and small boards on large canvases with exact canvases.

mod common;

use tch::{Device, Tensor};

use tengen_encoding::{InputBatch, PlaneSet};
use tengen_model::{NetworkConfig, Weights};
use tengen_network::{
    DeviceChoice, Engine, Mode, Network, NetworkInputs, Precision, PredictorError, PredictorOptions, TorchPredictor,
    Value, limit_threads,
};
use tengen_rules::Size;
use tengen_search::{PredictionServer, Predictions, Predictor, ServerSetup};

use common::{assert_close, batch, batch_of, lively_weights, random_features, size};

/// A network of each kind of block.
const NETWORKS: [&str; 3] = ["b4c32", "b4c32nbt", "b4c32a2"];

/// The formats that this CPU can play in.
fn formats() -> impl Iterator<Item = Precision> {
    let can = |format: &Precision| Precision::for_prediction((*format).into(), DeviceChoice::Cpu).is_ok();
    [Precision::Fp32, Precision::Bf16].into_iter().filter(can)
}

fn predict(weights: &Weights, inputs: &InputBatch, precision: Precision, engine: Engine) -> Predictions {
    let options = PredictorOptions {
        precision,
        engine,
        ..PredictorOptions::default()
    };
    let mut predictor = TorchPredictor::new(weights, options).expect("the CPU");
    let mut out = Predictions::default();
    predictor.predict(inputs, &mut out).expect("a good batch");
    out.check(inputs.len(), inputs.canvas()).expect("finite values");
    out
}

fn assert_same(a: &Predictions, b: &Predictions, tolerance: f32) {
    assert_close(&a.policy_logits, &b.policy_logits, tolerance, "policy");
    assert_close(&a.ownership, &b.ownership, tolerance, "ownership");
    assert_close(&a.win, &b.win, tolerance, "win");
    assert_close(&a.loss, &b.loss, tolerance, "loss");
    assert_close(&a.margin, &b.margin, 50.0 * tolerance, "margin");
}

fn values(tensor: &Tensor) -> Vec<f32> {
    let mut values = vec![0.0; tensor.numel()];
    let length = values.len();
    tensor.copy_data(&mut values, length);
    values
}

#[test]
fn an_empty_batch_gives_empty_predictions() {
    let weights = Weights::random(&NetworkConfig::new(1, 8), 1).expect("a good config");
    let mut predictor = TorchPredictor::new(&weights, PredictorOptions::default()).expect("the CPU");
    let batch = InputBatch::new(size("5x5"));
    let mut out = Predictions::default();
    predictor.predict(&batch, &mut out).expect("nothing to do");
    assert!(out.win.is_empty());
    assert_eq!(predictor.with_name("g000001").name(), "g000001");
}

#[test]
fn a_new_network_predicts_uniformly() {
    limit_threads();
    let weights = Weights::random(&NetworkConfig::new(2, 16), 5).expect("a good config");
    let inputs = batch(size("5x5"), &[size("5x5"); 3]);
    let out = predict(&weights, &inputs, Precision::Fp32, Engine::Auto);
    assert!(out.policy_logits.iter().all(|&logit| logit == 0.0));
    assert!(out.ownership.iter().all(|&owner| owner == 0.0));
    let komi = inputs.komi();
    for (sample, margin) in out.margin.iter().enumerate() {
        assert!((margin - komi[sample]).abs() < 1e-3, "all margins are equally likely");
    }
}

/// Both engines also agree on ten planes, and the last two planes affect the result.
#[test]
fn pass_alive_planes_reach_the_network_with_every_engine() {
    limit_threads();
    let config = NetworkConfig {
        pass_alive_inputs: true,
        ..NetworkConfig::new(2, 16)
    };
    let weights = lively_weights(&config, 3);
    for sizes in [vec![size("3x3"); 20], vec![size("4x4"), size("3x2"), size("2x4")]] {
        let inputs = batch_of(config.plane_set(), sizes[0], &sizes);
        let plain = predict(&weights, &inputs, Precision::Fp32, Engine::Plain);
        let fused = predict(&weights, &inputs, Precision::Fp32, Engine::Fused);
        assert_same(&plain, &fused, 1e-3);
    }
    // X X X X      Black's wall is alive with two corner eyes, so the network sees its area.
    // . X X .
    let board = size("4x2");
    let mut position = tengen_rules::Position::new(board);
    for index in [0, 8, 1, 8, 2, 8, 3, 8, 5, 8, 6, 8] {
        position.play(tengen_rules::Move::from_index(board, index).expect("on the board"));
    }
    let features = tengen_encoding::Features::of(&position, tengen_rules::Komi::ZERO);
    assert_eq!(features.pass_alive().map(|area| area.len()), [8, 0]);
    let predictor = TorchPredictor::new(&weights, PredictorOptions::default()).expect("the CPU");
    let predictor: Box<dyn Predictor> = Box::new(predictor);
    let mut inputs = predictor.new_batch(board);
    assert_eq!(inputs.plane_set(), config.plane_set());
    inputs.push(&features);
    let seen = predict(&weights, &inputs, Precision::Fp32, Engine::Auto);
    let blind = predict(&without_last_planes(&weights), &inputs, Precision::Fp32, Engine::Auto);
    assert!(
        (seen.margin[0] - blind.margin[0]).abs() > 1e-3,
        "{} {}",
        seen.margin[0],
        blind.margin[0]
    );
}

/// Heads that only training uses change no prediction, with any engine.
#[test]
fn heads_for_training_are_not_part_of_play() {
    limit_threads();
    let without = NetworkConfig::new(2, 16);
    let with = NetworkConfig {
        reply_head: true,
        soft_policy_head: true,
        short_term_head: true,
        ..without.clone()
    };
    let [without, with] = [without, with].map(|config| lively_weights(&config, 3));
    let shared = without.values().len();
    assert_eq!(
        (&with.values()[..shared], with.values().len()),
        (without.values(), shared + 10)
    );
    let inputs = batch(size("5x5"), &[size("5x5"), size("3x4")]);
    for engine in [Engine::Plain, Engine::Fused] {
        let [without, with] = [&without, &with].map(|weights| predict(weights, &inputs, Precision::Fp32, engine));
        assert_same(&without, &with, 0.0);
    }
}

/// The same weights, with zeros for the two pass-alive planes.
fn without_last_planes(weights: &Weights) -> Weights {
    let values = weights
        .parameters()
        .iter()
        .zip(weights.values())
        .map(|(parameter, values)| {
            let plane = |number: usize| number / 9 % 11;
            let is_input = parameter.name == "input.conv.weight";
            let blinded = |(number, &value): (usize, &f32)| match is_input && matches!(plane(number), 8 | 9) {
                true => 0.0,
                false => value,
            };
            values.iter().enumerate().map(blinded).collect()
        });
    Weights::from_values(weights.config(), values.collect()).expect("the same shapes")
}

#[test]
fn a_batch_with_other_planes_is_rejected() {
    let weights = Weights::random(&NetworkConfig::new(1, 8), 1).expect("a good config");
    let mut predictor = TorchPredictor::new(&weights, PredictorOptions::default()).expect("the CPU");
    let inputs = batch_of(PlaneSet::ALL, size("3x3"), &[size("3x3")]);
    let error = predictor
        .predict(&inputs, &mut Predictions::default())
        .expect_err("two planes too many");
    assert!(error.to_string().contains("pass_alive: true"), "{error}");
}

#[test]
fn folded_equals_evaluation_mode_and_fused_equals_plain() {
    for network in NETWORKS {
        folded_equals_evaluation_mode(network);
    }
}

fn folded_equals_evaluation_mode(network: &str) {
    limit_threads();
    let weights = lively_weights(&network.parse().expect("a network"), 3);
    for sizes in [
        vec![size("5x5"); 7],
        vec![size("7x5"); 3],
        vec![size("9x9"), size("5x5"), size("7x9")],
    ] {
        let canvas = sizes[0];
        let inputs = batch(canvas, &sizes);
        let plain = predict(&weights, &inputs, Precision::Fp32, Engine::Plain);
        let fused = predict(&weights, &inputs, Precision::Fp32, Engine::Fused);
        assert_same(&plain, &fused, 1e-3);

        let _no_grad = tch::no_grad_guard();
        let network = Network::new(&weights, Device::Cpu, Precision::Fp32);
        let tensors = NetworkInputs::new(&inputs, Device::Cpu, Precision::Fp32);
        let outputs = network.forward(&tensors, Mode::Evaluation);
        assert_close(&values(&outputs.ownership), &plain.ownership, 1e-3, "ownership");
        let logits = values(&outputs.policy);
        for (a, b) in logits.iter().zip(&plain.policy_logits) {
            assert!((a - b).abs() < 1e-3 || *b == f32::NEG_INFINITY && *a < -1e20, "{a} {b}");
        }
        let value = Value::of(&outputs.margins, tensors.komi());
        assert_close(&values(&value.win), &plain.win, 1e-3, "win");
    }
}

/// The heads' widths are not multiples of what the processor computes at once, and the board uses every margin.
#[test]
fn fused_heads_equal_plain_ones_for_any_width_on_the_smallest_and_the_largest_board() {
    limit_threads();
    for (head_channels, score_hidden) in [(1, 1), (11, 70), (24, 64)] {
        let config = NetworkConfig {
            head_channels,
            score_hidden,
            ..NetworkConfig::new(2, 16)
        };
        let weights = lively_weights(&config, 4);
        for board in ["1x1", "19x19"] {
            let inputs = batch(size(board), &[size(board); 3]);
            let plain = predict(&weights, &inputs, Precision::Fp32, Engine::Plain);
            let fused = predict(&weights, &inputs, Precision::Fp32, Engine::Fused);
            assert_same(&plain, &fused, 1e-4);
        }
    }
}

#[test]
fn weights_that_are_not_finite_show_in_the_value() {
    limit_threads();
    let config = NetworkConfig::new(2, 16);
    for tensor in ["heads.points.weight", "score.hidden.weight", "score.margin.bias"] {
        let weights = lively_weights(&config, 4);
        let values = weights.parameters().iter().zip(weights.values());
        let broken = values.map(|(parameter, values)| {
            let mut values = values.to_vec();
            if parameter.name == tensor {
                let middle = values.len() / 2;
                values[middle] = f32::NAN;
            }
            values
        });
        let broken = Weights::from_values(&config, broken.collect()).expect("the same shapes");
        let mut predictor = TorchPredictor::new(&broken, PredictorOptions::default()).expect("the CPU");
        let inputs = batch(size("5x5"), &[size("5x5"); 2]);
        let mut out = Predictions::default();
        let done = predictor.predict(&inputs, &mut out);
        done.expect("the shapes fit");
        assert!(out.check(2, size("5x5")).is_err(), "{tensor}: {out:?}");
    }
}

#[test]
fn a_grown_network_predicts_what_the_smaller_one_did() {
    limit_threads();
    let small = lively_weights(&NetworkConfig::new(2, 16), 5);
    for larger in [
        NetworkConfig::new(5, 16),
        NetworkConfig::new(2, 24),
        NetworkConfig::new(4, 40),
    ] {
        for ladder_inputs in [false, true] {
            let larger = NetworkConfig {
                ladder_inputs,
                ..larger.clone()
            };
            grows_without_change(&small, &larger);
        }
    }
    let other_kinds = [
        ("b2c16nbt", "b3c24nbt"),
        ("b2c16a2", "b5c16a2"),
        ("b2c16nbta2", "b4c16nbta2"),
    ];
    for (small, larger) in other_kinds.map(|(small, larger)| (small.parse(), larger.parse())) {
        let small = lively_weights(&small.expect("a network"), 5);
        grows_without_change(&small, &larger.expect("a network"));
    }
}

fn grows_without_change(small: &Weights, larger: &NetworkConfig) {
    {
        let grown = small.grown(larger, 6).expect("a larger network");
        assert_eq!(grown.config(), larger);
        for sizes in [vec![size("5x5"); 6], vec![size("7x7"), size("4x6")]] {
            let [seen_before, seen] =
                [small.config(), larger].map(|config| batch_of(config.plane_set(), sizes[0], &sizes));
            for engine in [Engine::Plain, Engine::Fused] {
                let before = predict(small, &seen_before, Precision::Fp32, engine);
                let after = predict(&grown, &seen, Precision::Fp32, engine);
                assert_same(&before, &after, 1e-3);
            }
        }
        // It can use what it gained: new channels and blocks are alive, and a changed one changes the outputs.
        let [seen_before, seen] =
            [small.config(), larger].map(|config| batch_of(config.plane_set(), size("5x5"), &[size("5x5"); 3]));
        let moved = Weights::from_values(
            larger,
            grown
                .values()
                .iter()
                .map(|values| values.iter().map(|value| value + 0.01).collect())
                .collect(),
        );
        let moved = predict(&moved.expect("the same shapes"), &seen, Precision::Fp32, Engine::Auto);
        let before = predict(small, &seen_before, Precision::Fp32, Engine::Auto);
        assert!(
            moved
                .margin
                .iter()
                .zip(&before.margin)
                .any(|(a, b)| (a - b).abs() > 1e-3)
        );
    }
}

#[test]
fn short_formats_stay_near_fp32() {
    for network in NETWORKS {
        short_formats_stay_near_fp32_with(network);
    }
}

fn short_formats_stay_near_fp32_with(network: &str) {
    limit_threads();
    let weights = lively_weights(&network.parse().expect("a network"), 3);
    let inputs = batch(size("5x5"), &[size("5x5"); 8]);
    let exact = predict(&weights, &inputs, Precision::Fp32, Engine::Plain);
    let scale = exact
        .policy_logits
        .iter()
        .fold(0.0f32, |largest, logit| largest.max(logit.abs()));
    // GPUs compute fp16 with the plain engine, too.
    for (precision, engine, bound) in [
        (Precision::Bf16, Engine::Plain, 0.05),
        (Precision::Bf16, Engine::Fused, 0.05),
        (Precision::Fp16, Engine::Plain, 0.01),
    ] {
        if engine == Engine::Fused && !formats().any(|format| format == precision) {
            continue;
        }
        let rough = predict(&weights, &inputs, precision, engine);
        assert_close(&rough.policy_logits, &exact.policy_logits, bound * scale, "policy");
        assert_close(&rough.win, &exact.win, bound, "win");
    }
}

#[test]
fn formats_that_a_cpu_cannot_play_in_are_refused() {
    let weights = lively_weights(&NetworkConfig::new(2, 16), 3);
    for precision in Precision::ALL {
        let can = formats().any(|format| format == precision);
        for engine in [Engine::Auto, Engine::Fused] {
            let options = PredictorOptions {
                precision,
                engine,
                ..PredictorOptions::default()
            };
            assert_eq!(
                TorchPredictor::new(&weights, options).is_ok(),
                can,
                "{precision} {engine:?}"
            );
        }
    }
}

/// Cuts the rows of a small board out of an array laid out on a canvas.
fn cut(values: &[f32], canvas: Size, board: Size) -> Vec<f32> {
    let rows = values.chunks_exact(canvas.width()).take(board.height());
    rows.flat_map(|row| &row[..board.width()]).copied().collect()
}

#[test]
fn a_padded_board_is_predicted_like_an_exact_one() {
    for network in NETWORKS {
        padded_boards_are_predicted_like_exact_ones(network);
    }
}

fn padded_boards_are_predicted_like_exact_ones(network: &str) {
    limit_threads();
    let weights = lively_weights(&network.parse().expect("a network"), 9);
    // The fused engine predicts the boards of each size by themselves.
    for (engine, tolerance) in [(Engine::Plain, 1e-4), (Engine::Fused, 0.0)] {
        for (canvas, boards) in [("9x9", ["5x5", "9x9", "7x3"]), ("19x19", ["13x13", "5x5", "1x1"])] {
            let (canvas, boards) = (size(canvas), boards.map(size));
            let padded = predict(&weights, &batch(canvas, &boards), Precision::Fp32, engine);
            for (number, &board) in boards.iter().enumerate() {
                let mut alone = InputBatch::new(board);
                alone.push(&random_features(board, number as u64, number as i16 * 3 - 4));
                let exact = predict(&weights, &alone, Precision::Fp32, engine);
                let row = padded.row(number, canvas);
                let (points, pass) = row.policy_logits.split_at(canvas.area());
                let on_board = points.iter().filter(|logit| logit.is_finite()).count();
                assert_eq!(on_board, board.area());
                let mut policy = cut(points, canvas, board);
                policy.extend(pass);
                assert_close(&policy, &exact.policy_logits, tolerance, "policy");
                assert_close(
                    &cut(row.ownership, canvas, board),
                    &exact.ownership,
                    tolerance,
                    "ownership",
                );
                assert_close(
                    &[row.win, row.loss],
                    &[exact.win[0], exact.loss[0]],
                    tolerance,
                    "win and loss",
                );
                assert_close(&[row.margin], &exact.margin, 10.0 * tolerance, "margin");
            }
        }
    }
}

#[test]
fn weights_are_replaced_in_place() {
    limit_threads();
    let config = NetworkConfig::new(2, 16);
    let (first, second) = (lively_weights(&config, 1), lively_weights(&config, 2));
    let inputs = batch(size("5x5"), &[size("5x5"); 4]);
    let mut predictor = TorchPredictor::new(&first, PredictorOptions::default()).expect("the CPU");
    let mut out = Predictions::default();
    for weights in [&first, &second, &first] {
        predictor.set_weights(weights).expect("good weights");
        predictor.predict(&inputs, &mut out).expect("a good batch");
        assert_eq!(out, predict(weights, &inputs, Precision::Fp32, Engine::Auto));
    }
}

#[test]
fn predictions_are_reproducible_and_independent_of_the_thread() {
    limit_threads();
    let weights = lively_weights(&NetworkConfig::new(2, 16), 4);
    let inputs = batch(size("7x7"), &[size("7x7"); 5]);
    let here = predict(&weights, &inputs, Precision::Fp32, Engine::Auto);
    let there = std::thread::scope(|scope| {
        let predict = || predict(&weights, &inputs, Precision::Fp32, Engine::Auto);
        scope.spawn(predict).join().expect("no panic")
    });
    assert_eq!(here, there);
}

#[test]
fn half_a_point_of_komi_makes_a_difference() {
    limit_threads();
    let config = NetworkConfig::new(1, 8);
    let start = Weights::random(&config, 1).expect("a good config");
    let mut values = start.values().to_vec();
    let bias = start
        .parameters()
        .iter()
        .position(|parameter| parameter.name == "score.margin.bias")
        .expect("listed");
    values[bias][361 + 25] = 30.0;
    let weights = Weights::from_values(&config, values).expect("the same shapes");
    let board = size("5x5");
    let mut inputs = InputBatch::new(board);
    for komi in [49, 50, 51] {
        inputs.push(&tengen_encoding::Features::of(
            &tengen_rules::Position::new(board),
            tengen_rules::Komi::from_half_points(komi),
        ));
    }
    for precision in formats() {
        let out = predict(&weights, &inputs, precision, Engine::Auto);
        assert_close(&out.win, &[1.0, 0.0, 0.0], 1e-4, "win");
        assert_close(&out.loss, &[0.0, 0.0, 1.0], 1e-4, "loss");
        assert_close(&out.margin, &[0.5, 0.0, -0.5], 1e-3, "margin");
    }
}

/// A server with this network plays as the network itself does, whatever is joined: a position's prediction on a CPU
/// does not depend on its batch.
#[test]
fn predictions_through_a_server_are_those_of_the_network() {
    limit_threads();
    let weights = lively_weights(&NetworkConfig::new(4, 32), 8);
    for precision in formats() {
        let options = PredictorOptions {
            precision,
            ..PredictorOptions::default()
        };
        let server = PredictionServer::start(ServerSetup::GPU).expect("threads");
        let lane = |_| Ok::<_, PredictorError>(Box::new(TorchPredictor::new(&weights, options)?) as Box<_>);
        let network = server.add(lane).expect("the CPU");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (network, weights) = (network.clone(), &weights);
                scope.spawn(move || {
                    let mut client = network.client();
                    for round in 0..12 {
                        let inputs = batch(size("7x7"), &vec![size("7x7"); 4 + (5 * round + 3 * thread) % 17]);
                        let mut found = Predictions::default();
                        client.predict(&inputs, &mut found).expect("a good batch");
                        assert_eq!(found, predict(weights, &inputs, precision, Engine::Auto));
                    }
                });
            }
        });
        let stats = server.stats();
        assert!(stats.jobs == 48 && stats.batches <= 48, "{stats:?}");
    }
}

/// On the CPU, a position's prediction does not depend on how many others are in its batch, to the last bit, so that
/// neither batching nor the number of threads changes games.
#[test]
fn a_position_is_predicted_alike_in_any_batch() {
    limit_threads();
    for network in ["b4c32", "b2c64", "b2c96", "b2c64a2"] {
        let weights = lively_weights(&network.parse().expect("a network"), 8);
        for (boards, precision) in [
            (["7x7", "7x7"], Precision::Fp32),
            (["7x7", "7x7"], Precision::Bf16),
            (["7x7", "5x6"], Precision::Fp32),
        ] {
            if !formats().any(|format| format == precision) {
                continue;
            }
            let rows = |count: usize| {
                let boards: Vec<Size> = (0..count).map(|row| size(boards[row % 2])).collect();
                let out = predict(&weights, &batch(size("7x7"), &boards), precision, Engine::Auto);
                (out.policy_logits.row(0).to_vec(), out.win[0], out.margin[0])
            };
            let expected = rows(2);
            for count in [1, 3, 4, 5, 8, 9, 12, 13, 16, 33, 64, 80] {
                assert_eq!(
                    rows(count),
                    expected,
                    "{network} {boards:?} {precision} in a batch of {count}"
                );
            }
        }
    }
}

/// The plain engine, which GPUs use, with a batch padded as for a GPU, against the engine for CPUs.
#[test]
fn padding_a_batch_changes_none_of_its_predictions() {
    limit_threads();
    for network in NETWORKS {
        let weights = lively_weights(&network.parse().expect("a network"), 5);
        for boards in [["7x7", "7x7"], ["7x7", "4x6"]] {
            let boards: Vec<Size> = (0..11).map(|row| size(boards[row % 2])).collect();
            let inputs = batch(size("7x7"), &boards);
            let mut padded = InputBatch::new(inputs.canvas());
            padded.pad(&inputs, 16);
            assert_eq!(padded.len(), 16);
            let exact = predict(&weights, &inputs, Precision::Fp32, Engine::Auto);
            let found = predict(&weights, &padded, Precision::Fp32, Engine::Plain);
            for row in 0..inputs.len() {
                let (found, exact) = (found.row(row, inputs.canvas()), exact.row(row, inputs.canvas()));
                assert_close(&[found.win, found.loss], &[exact.win, exact.loss], 1e-5, "value");
                assert_close(found.policy_logits, exact.policy_logits, 1e-4, "policy");
            }
        }
    }
}
