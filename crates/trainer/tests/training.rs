//! Does the trainer learn, and does it resume exactly?

use std::collections::BTreeMap;

use ndarray::{Array1, Array2, Array3, Axis};
use tch::{Device, Kind, Tensor};

use tengen_encoding::{Features, HORIZONS, InputBatch, PlaneSet, Sample, TrainingBatch, canvas_index};
use tengen_model::{NetworkConfig, PrecisionChoice};
use tengen_network::{DeviceChoice, Mode, Network, NetworkInputs, Precision};
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};
use tengen_trainer::{CheckpointError, METADATA_FILE, OPTIMIZER_FILE, Optimizer, Trainer, TrainerConfig, TrainerError};

/// The files of a checkpoint by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Random positions of the given sizes on one canvas, each with its own random targets.
fn batch(canvas: &str, sizes: &[&str], seed: u64) -> TrainingBatch {
    batch_of(PlaneSet::default(), canvas, sizes, seed)
}

/// The same with these input planes.
fn batch_of(plane_set: PlaneSet, canvas: &str, sizes: &[&str], seed: u64) -> TrainingBatch {
    let canvas: Size = canvas.parse().expect("a board size");
    let count = sizes.len();
    let mut batch = TrainingBatch {
        inputs: InputBatch::with_planes(canvas, plane_set),
        policy: Array2::zeros((count, canvas.area() + 1)),
        reply: Array2::zeros((count, canvas.area() + 1)),
        policy_weight: Array1::ones(count),
        board_margin: Array1::zeros(count),
        ownership_weight: Array1::ones(count),
        result_weight: Array1::ones(count),
        value_weight: Array1::ones(count),
        value: Array2::zeros((count, 3)),
        short_term: Array2::zeros((count, HORIZONS)),
        ownership: Array3::zeros((count, canvas.height(), canvas.width())),
        weight: Array1::ones(count),
    };
    for (sample, size) in sizes.iter().enumerate() {
        push_sample(
            &mut batch,
            canvas,
            size.parse().expect("a board size"),
            &mut rng::stream(seed, &[sample as u64]),
        );
    }
    batch
}

fn push_sample(batch: &mut TrainingBatch, canvas: Size, size: Size, rng: &mut rng::Rng) {
    let mut position = Position::new(size);
    for _ in 0..rng::below(rng, size.area()) {
        let legal: Vec<_> = position.legal_points().iter().collect();
        if !legal.is_empty() {
            position.play(Move::Play(legal[rng::below(rng, legal.len())]));
        }
    }
    let komi = Komi::from_half_points(15);
    let features = Features::of(&position, komi);
    let margin = rng::below(rng, 2 * size.area() + 1) as i32 - size.area() as i32;
    let result = if margin as f32 + features.komi > 0.0 { 0 } else { 2 };
    let sample = batch.inputs.len();
    batch.inputs.push(&features);
    batch.board_margin[sample] = margin;
    batch.value[[sample, result]] = 1.0;
    let target = rng::below(rng, size.area());
    batch.policy[[sample, canvas_index(size, canvas, target)]] = 1.0;
    for point in size.points() {
        let (row, column) = (point.index() / size.width(), point.index() % size.width());
        batch.ownership[[sample, row, column]] = rng::below(rng, 3) as f32 - 1.0;
    }
}

fn trainer(config: TrainerConfig) -> Trainer {
    Trainer::new(&NetworkConfig::new(2, 16), config, DeviceChoice::Cpu, 11).expect("good settings")
}

fn quick() -> TrainerConfig {
    TrainerConfig {
        warmup_steps: 5,
        learning_rate: 1e-2,
        average: 0.9,
        ..TrainerConfig::default()
    }
}

#[test]
fn the_first_losses_are_those_of_uniform_predictions() {
    let batch = batch("5x5", &["5x5"; 16], 1);
    let losses = trainer(quick()).step(&batch).expect("a good batch");
    assert!((losses.policy - 26f64.ln()).abs() < 1e-4, "{losses:?}");
    assert!((losses.policy_entropy - 26f64.ln()).abs() < 1e-4, "{losses:?}");
    assert!((losses.margin - 51f64.ln()).abs() < 1e-4, "{losses:?}");
    let owned = batch
        .ownership
        .iter()
        .map(|owner| f64::from(owner * owner))
        .sum::<f64>()
        / (16.0 * 25.0);
    assert!((losses.ownership - owned).abs() < 1e-5, "{losses:?}");
    let total = losses.policy + losses.value + 0.25 * losses.margin + 0.5 * losses.ownership;
    assert!((losses.total - total).abs() < 1e-4, "{losses:?}");
}

/// A grown trainer knows as much as before, remembers its optimizer across a checkpoint, and goes on learning.
#[test]
fn a_trainer_that_grows_goes_on_where_it_was() {
    let batch = batch("5x5", &["5x5"; 32], 1);
    let mut small = trainer(quick());
    let new = small.validate(&batch).expect("a good batch");
    for _ in 0..40 {
        small.step(&batch).expect("a good batch");
    }
    let before = small.validate(&batch).expect("a good batch");
    let larger = NetworkConfig::new(3, 24);
    let mut grown = small.grown(&larger, DeviceChoice::Cpu, 4).expect("a larger network");
    assert_eq!((grown.steps(), grown.network()), (40, &larger));
    let after = grown.validate(&batch).expect("a good batch");
    assert!(
        (after.losses.total - before.losses.total).abs() < 1e-3,
        "{before:?} {after:?}"
    );
    let (same, small_state) = (grown.checkpoint(), small.checkpoint());
    let length = |files: &std::collections::BTreeMap<String, Vec<u8>>| files["optimizer.safetensors"].len();
    assert!(length(&same) > length(&small_state));
    let mut resumed = Trainer::restore(&same, None, DeviceChoice::Cpu).expect("a good checkpoint");
    for _ in 0..40 {
        let losses = grown.step(&batch).expect("a good batch");
        assert_eq!(losses, resumed.step(&batch).expect("a good batch"));
        let forgot = losses.total > 0.3 * new.losses.total;
        assert!(
            !forgot,
            "growing must not disturb what was learned: {losses:?}, {new:?}"
        );
    }
    let later = grown.validate(&batch).expect("a good batch");
    assert!(later.losses.total < after.losses.total, "{after:?} {later:?}");
    let error = grown.grown(&NetworkConfig::new(3, 16), DeviceChoice::Cpu, 4).err();
    assert!(error.is_some_and(|error| error.to_string().contains("b3c24 cannot grow into b3c16")));
}

/// The reply counts only in the total.
#[test]
fn replies_are_learned_by_networks_that_predict_them() {
    let mut batch = batch("5x5", &["5x5"; 8], 4);
    for (sample, mut reply) in batch.reply.outer_iter_mut().enumerate() {
        reply[[3, 25][sample % 2]] = 1.0;
    }
    let mut without = trainer(quick());
    assert!(of_other_heads(without.step(&batch).expect("a good batch")).abs() < 1e-5);
    let config = NetworkConfig {
        reply_head: true,
        ..NetworkConfig::new(2, 16)
    };
    let mut trainer = Trainer::new(&config, quick(), DeviceChoice::Cpu, 11).expect("good settings");
    let first = of_other_heads(trainer.step(&batch).expect("a good batch"));
    assert!((first - 0.15 * 26f64.ln()).abs() < 1e-4, "{first}");
    for _ in 0..200 {
        trainer.step(&batch).expect("a good batch");
    }
    let last = of_other_heads(trainer.step(&batch).expect("a good batch"));
    assert!(last < 0.01, "{last}");
}

/// The part of the total that the four losses do not explain.
fn of_other_heads(losses: tengen_trainer::Losses) -> f64 {
    losses.total - losses.policy - losses.value - 0.25 * losses.margin - 0.5 * losses.ownership
}

/// The softened policy of a target of 3/4 and 1/4 has the odds of their fourth roots.
#[test]
fn softened_policies_are_learned_by_networks_that_predict_them() {
    let mut batch = batch("5x5", &["5x5"; 8], 4);
    batch.policy.fill(0.0);
    for mut policy in batch.policy.outer_iter_mut() {
        (policy[3], policy[25]) = (0.75, 0.25);
    }
    let config = NetworkConfig {
        soft_policy_head: true,
        ..NetworkConfig::new(2, 16)
    };
    let mut trainer = Trainer::new(&config, quick(), DeviceChoice::Cpu, 11).expect("good settings");
    let first = of_other_heads(trainer.step(&batch).expect("a good batch"));
    assert!((first - 8.0 * 26f64.ln()).abs() < 1e-3, "{first}");
    for _ in 0..300 {
        trainer.step(&batch).expect("a good batch");
    }
    let last = of_other_heads(trainer.step(&batch).expect("a good batch"));
    let [a, b] = [0.75f64, 0.25].map(|p| p.powf(0.25));
    let [a, b] = [a / (a + b), b / (a + b)];
    let entropy = -8.0 * (a * a.ln() + b * b.ln());
    assert!(
        last > entropy - 1e-3 && last < entropy + 0.05,
        "{last}, at least {entropy}"
    );
}

/// Short-term values are probabilities of winning, so their loss ends at their entropy.
#[test]
fn short_term_values_are_learned_by_networks_that_predict_them() {
    let mut batch = batch("5x5", &["5x5"; 8], 4);
    for (sample, mut values) in batch.short_term.outer_iter_mut().enumerate() {
        let sign = [1.0, -1.0][sample % 2];
        values.assign(&ndarray::arr1(&[1.0, 0.5, 0.0].map(|value| sign * value)));
    }
    let config = NetworkConfig {
        short_term_head: true,
        ..NetworkConfig::new(2, 16)
    };
    let mut trainer = Trainer::new(&config, quick(), DeviceChoice::Cpu, 11).expect("good settings");
    let first = of_other_heads(trainer.step(&batch).expect("a good batch"));
    assert!((first - 0.5 * 2f64.ln()).abs() < 1e-4, "{first}");
    for _ in 0..300 {
        trainer.step(&batch).expect("a good batch");
    }
    let last = of_other_heads(trainer.step(&batch).expect("a good batch"));
    let entropy = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    let least = 0.5 * (entropy(0.75) + 2f64.ln()) / 3.0;
    assert!(last > least - 1e-3 && last < least + 0.02, "{last}, at least {least}");
}

/// With cross-entropy, being sure of the wrong owner costs much more; the reported loss stays the squared error.
#[test]
fn ownership_by_cross_entropy_learns_the_same_owners() {
    let batch = batch("5x5", &["5x5"; 8], 4);
    let config = TrainerConfig {
        loss: tengen_trainer::LossWeights {
            ownership_kind: tengen_trainer::OwnershipLoss::CrossEntropy,
            ..tengen_trainer::LossWeights::default()
        },
        ..quick()
    };
    let mut squared = trainer(quick());
    let mut entropy = trainer(config);
    let first = [&mut squared, &mut entropy].map(|trainer| trainer.step(&batch).expect("a good batch"));
    assert_eq!(first[0].ownership, first[1].ownership);
    // The network begins undecided: a squared error of 1 and an entropy of ln 2 at every owned point.
    let difference = first[1].total - first[0].total;
    let expected = 0.5 * (2f64.ln() - 1.0) * first[0].ownership;
    assert!(
        (difference - expected).abs() < 1e-4,
        "{difference}, expected {expected}"
    );
    for _ in 0..200 {
        entropy.step(&batch).expect("a good batch");
    }
    let last = entropy.step(&batch).expect("a good batch");
    assert!(last.ownership < 0.1 * first[1].ownership, "{last:?}");
}

/// Owners that a teacher expects lie between -1 and 1. The undecided network begins with their square as the error, and
/// with their distance in nats from a coin; both losses come near them, and samples without owners do not count.
#[test]
fn expected_owners_are_learned_by_both_losses() {
    let mut batch = batch("5x5", &["5x5"; 8], 4);
    batch.ownership.mapv_inplace(|owner| 0.5 * owner);
    batch.result_weight.fill(0.0);
    for sample in 4..8 {
        batch.ownership_weight[sample] = 0.0;
        batch.ownership.index_axis_mut(ndarray::Axis(0), sample).fill(1.0);
    }
    let known = batch.ownership.slice(ndarray::s![..4, .., ..]);
    let squares = known.iter().map(|owner| f64::from(owner * owner)).sum::<f64>() / (8.0 * 25.0);
    let owned = known.iter().filter(|owner| **owner != 0.0).count() as f64 / (8.0 * 25.0);
    let coin = |p: f64| 2f64.ln() + p * p.ln() + (1.0 - p) * (1.0 - p).ln();
    for (kind, expected) in [
        (tengen_trainer::OwnershipLoss::Squared, squares),
        (tengen_trainer::OwnershipLoss::CrossEntropy, coin(0.75) * owned),
    ] {
        let mut trainer = trainer(TrainerConfig {
            loss: tengen_trainer::LossWeights {
                ownership_kind: kind,
                ..tengen_trainer::LossWeights::default()
            },
            ..quick()
        });
        let first = trainer.step(&batch).expect("a good batch");
        assert!((first.ownership - squares).abs() < 1e-5, "{first:?}");
        assert_eq!(first.margin, 0.0, "no margin is known");
        let term = 2.0 * (first.total - first.policy - first.value);
        assert!((term - expected).abs() < 1e-4, "{kind:?}: {term}, expected {expected}");
        for _ in 0..200 {
            trainer.step(&batch).expect("a good batch");
        }
        let last = trainer.step(&batch).expect("a good batch");
        assert!(last.ownership < 0.1 * first.ownership, "{kind:?}: {last:?}");
    }
}

#[test]
fn pass_alive_planes_are_learned_from_and_others_rejected() {
    let config = NetworkConfig {
        pass_alive_inputs: true,
        ..NetworkConfig::new(1, 8)
    };
    let mut trainer = Trainer::new(&config, quick(), DeviceChoice::Cpu, 11).expect("good settings");
    let sizes = ["3x3", "2x3", "3x2", "3x3"];
    let batch = batch_of(config.plane_set(), "3x3", &sizes, 1);
    let first = trainer.step(&batch).expect("a good batch");
    for _ in 0..30 {
        trainer.step(&batch).expect("a good batch");
    }
    let last = trainer.step(&batch).expect("a good batch");
    assert!(last.total < 0.8 * first.total, "{first:?} {last:?}");
    let other = self::batch("3x3", &sizes, 1);
    assert!(matches!(trainer.step(&other), Err(TrainerError::Batch(_))));
    assert!(matches!(trainer.validate(&other), Err(TrainerError::Batch(_))));
    let sample = Sample {
        features: Features::of(&Position::new("3x2".parse().expect("a board size")), Komi::ZERO),
        policy: vec![(6, 1.0)],
        reply: Vec::new(),
        policy_weight: 1.0,
        board_margin: 0,
        value_target: [0.0, 1.0, 0.0],
        short_term: [0.0; HORIZONS],
        ownership: Array2::zeros((2, 3)),
        ownership_weight: 1.0,
        result_weight: 1.0,
        value_weight: 1.0,
        weight: 1.0,
    };
    trainer
        .step(&trainer.batch(&[sample]))
        .expect("the trainer makes batches with the planes it needs");
}

#[test]
fn a_tiny_batch_is_overfitted() {
    for (config, sizes) in [
        (quick(), ["5x5"; 8]),
        (
            TrainerConfig {
                optimizer: Optimizer::Sgd,
                learning_rate: 0.05,
                ..quick()
            },
            ["5x5"; 8],
        ),
        (
            TrainerConfig {
                optimizer: Optimizer::Muon,
                ..quick()
            },
            ["5x5"; 8],
        ),
        (
            TrainerConfig {
                precision: PrecisionChoice::Bf16,
                ..quick()
            },
            ["5x5"; 8],
        ),
        (quick(), ["5x5", "3x3", "5x4", "4x5", "5x5", "3x5", "2x2", "4x4"]),
    ] {
        let batch = batch("5x5", &sizes, 2);
        let mut trainer = trainer(config.clone());
        let first = trainer.step(&batch).expect("a good batch");
        let mut last = first;
        for _ in 0..200 {
            last = trainer.step(&batch).expect("a good batch");
        }
        assert!(
            last.policy < 0.05 && last.value < 0.05 && last.margin < 0.3,
            "{config:?} {first:?} {last:?}"
        );
        assert!(last.ownership < 0.1 * first.ownership, "{first:?} {last:?}");
    }
}

#[test]
fn nested_and_attention_blocks_learn_all_their_weights() {
    for (name, sizes) in [
        ("b2c16nbt", ["5x5"; 8]),
        ("b2c16a2", ["5x5"; 8]),
        ("b2c16a2", ["5x5", "3x3", "5x4", "4x5", "5x5", "3x5", "2x2", "4x4"]),
    ] {
        let network: NetworkConfig = name.parse().expect("a network");
        let batch = batch("5x5", &sizes, 2);
        let mut trainer = Trainer::new(&network, quick(), DeviceChoice::Cpu, 11).expect("good settings");
        let before = trainer.raw_weights();
        let first = trainer.step(&batch).expect("a good batch");
        let mut last = first;
        for _ in 0..200 {
            last = trainer.step(&batch).expect("a good batch");
        }
        assert!(
            last.policy < 0.05 && last.value < 0.05 && last.margin < 0.3,
            "{name} {first:?} {last:?}"
        );
        let after = trainer.raw_weights();
        for (parameter, (before, after)) in before
            .parameters()
            .iter()
            .zip(before.values().iter().zip(after.values()))
        {
            assert_ne!(before, after, "{name} {}", parameter.name);
        }
    }
}

#[test]
fn averaged_weights_predict_what_was_learned() {
    let batch = batch("5x5", &["5x5"; 8], 3);
    let mut trainer = trainer(quick());
    let before = trainer.ema_weights();
    for _ in 0..200 {
        trainer.step(&batch).expect("a good batch");
    }
    assert_ne!(trainer.ema_weights(), before);
    assert!(trainer.ema_weights().all_finite());
    let learned = trainer.validate(&batch).expect("a good batch");
    assert!(learned.losses.policy < 0.5, "{learned:?}");
    assert!(learned.policy_top1 > 0.9 && learned.brier < 0.1, "{learned:?}");
    assert!(
        learned.calibration_error < 0.2 && learned.margin_error < 5.0,
        "{learned:?}"
    );
    let fresh = self::trainer(quick()).validate(&batch).expect("a good batch");
    assert!(
        fresh.brier > learned.brier && fresh.margin_error > learned.margin_error,
        "{fresh:?}"
    );
}

#[test]
fn a_restored_trainer_continues_bit_for_bit() {
    for optimizer in [Optimizer::AdamW, Optimizer::Sgd, Optimizer::Muon] {
        let batches: Vec<_> = (0..6).map(|seed| batch("5x5", &["5x5"; 8], seed)).collect();
        let mut straight = trainer(TrainerConfig { optimizer, ..quick() });
        for batch in &batches[..3] {
            straight.step(batch).expect("a good batch");
        }
        let files = straight.checkpoint();
        let mut resumed = Trainer::restore(&files, None, DeviceChoice::Cpu).expect("our own files");
        assert_eq!(resumed.steps(), 3);
        assert_eq!(resumed.checkpoint(), files);
        for batch in &batches[3..] {
            assert_eq!(
                straight.step(batch).expect("a good batch"),
                resumed.step(batch).expect("a good batch")
            );
        }
        assert_eq!(straight.checkpoint(), resumed.checkpoint());
    }
}

/// Samples are counted as they are, whatever the settings say later; early checkpoints have only their steps.
#[test]
fn samples_are_counted_across_changes_of_the_batch() {
    let settings = |batch| TrainerConfig { batch, ..quick() };
    let mut trainer = trainer(settings(8));
    for seed in 0..3 {
        trainer.step(&batch("5x5", &["5x5"; 8], seed)).expect("a good batch");
    }
    let mut files = trainer.checkpoint();
    let restore = |files: &Files| Trainer::restore(files, Some(settings(2)), DeviceChoice::Cpu).expect("our own files");
    let mut resumed = restore(&files);
    resumed.step(&batch("5x5", &["5x5"; 2], 3)).expect("a good batch");
    assert_eq!((resumed.steps(), resumed.samples()), (4, 26));
    let mut metadata: serde_json::Value = serde_json::from_slice(&files[METADATA_FILE]).expect("JSON");
    metadata
        .as_object_mut()
        .expect("an object")
        .remove("samples")
        .expect("counted");
    files.insert(METADATA_FILE.to_owned(), metadata.to_string().into_bytes());
    assert_eq!(restore(&files).samples(), 24, "the batch of that time");
}

#[test]
fn damaged_checkpoints_are_rejected() {
    let files = trainer(quick()).checkpoint();
    let restore = |change: &dyn Fn(&mut Files)| {
        let mut changed = files.clone();
        change(&mut changed);
        Trainer::restore(&changed, None, DeviceChoice::Cpu)
            .map(|_| ())
            .expect_err("changed")
    };
    let missing = restore(&|files| drop(files.remove(OPTIMIZER_FILE)));
    assert!(matches!(missing, CheckpointError::Missing(OPTIMIZER_FILE)), "{missing}");
    let other = restore(&|files| {
        let text = String::from_utf8(files[METADATA_FILE].clone()).expect("JSON is text");
        files.insert(
            METADATA_FILE.to_owned(),
            text.replace("\"format\": 1", "\"format\": 7").into_bytes(),
        );
    });
    assert!(matches!(other, CheckpointError::Format { found: 7 }), "{other}");
    let cut = restore(&|files| files.get_mut(OPTIMIZER_FILE).expect("there").truncate(100));
    assert!(matches!(cut, CheckpointError::Weights(_)), "{cut}");
}

#[test]
fn impossible_batches_are_rejected() {
    let good = batch("5x5", &["5x5"; 2], 1);
    let mut trainer = trainer(quick());
    let mut refused = |change: &dyn Fn(&mut TrainingBatch)| {
        let mut batch = good.clone();
        change(&mut batch);
        match trainer.step(&batch) {
            Err(TrainerError::Batch(reason)) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&|batch| batch.board_margin[1] = 26).contains("26 points"));
    assert!(refused(&|batch| batch.policy.remove_index(Axis(1), 0)).contains("`policy` has the shape [2, 25]"));
    assert!(refused(&|batch| batch.ownership.swap_axes(0, 1)).contains("`ownership` has the shape [5, 2, 5]"));
    assert!(refused(&|batch| batch.inputs.clear()).contains("no samples"));
}

/// Boards on a padded canvas give the same statistics of batch normalization and the same gradient as on the exact one.
#[test]
fn training_on_a_padded_canvas_equals_training_on_the_exact_one() {
    for network in ["b2c16", "b2c16nbt", "b2c16a2"] {
        a_padded_canvas_changes_nothing(&network.parse().expect("a network"));
    }
}

fn a_padded_canvas_changes_nothing(network: &NetworkConfig) {
    tengen_network::limit_threads();
    let trainer = Trainer::new(network, quick(), DeviceChoice::Cpu, 11).expect("good settings");
    let weights = trainer.raw_weights();
    let run = |canvas: &str| {
        let network = Network::new(&weights, Device::Cpu, Precision::Fp32);
        let batch = batch(canvas, &["5x5"; 6], 4);
        let inputs = NetworkInputs::new(&batch.inputs, Device::Cpu, Precision::Fp32);
        let outputs = network.forward(&inputs, Mode::Training);
        // Sums that do not depend on how many points, with a share or an owner of 0, are off the board.
        let squares = |numbers: &Tensor| numbers.square().sum(Kind::Float);
        let shares = outputs.margins.softmax(-1, Kind::Float);
        let area = shares.size()[1] / 2;
        let slope = (Tensor::arange_start(-area, area + 1, (Kind::Float, Device::Cpu)) * 0.37).cos();
        let loss = shares.matmul(&slope).sum(Kind::Float)
            + squares(&outputs.policy.softmax(-1, Kind::Float))
            + squares(&outputs.ownership);
        let gradient = network.gradient(&loss);
        (network.weights(), gradient)
    };
    let ((exact, gradient), (padded, padded_gradient)) = (run("5x5"), run("7x6"));
    for (parameter, (a, b)) in exact
        .parameters()
        .iter()
        .zip(exact.values().iter().zip(padded.values()))
    {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-4, "{}: {a} {b}", parameter.name);
        }
    }
    let largest = gradient.abs().max().double_value(&[]);
    let difference = (gradient - padded_gradient).abs().max().double_value(&[]);
    assert!(
        largest > 0.0 && difference < 1e-4 * largest,
        "{}: {difference} of {largest}",
        network.name()
    );
}
