//! Do several ranks learn what one trainer learns with the whole batch? Here, the ranks are threads.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ndarray::{Array1, Array2, Array3};

use tengen_encoding::{Features, HORIZONS, InputBatch, TrainingBatch, canvas_index};
use tengen_model::{NetworkConfig, PrecisionChoice};
use tengen_network::{DeviceChoice, Group, Meeting};
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};
use tengen_trainer::{Optimizer, Trainer, TrainerConfig, TrainerError, Word};

/// Random positions with random targets, one for each board size; a sample depends only on its number, from `first` on.
fn batch(sizes: &[usize], first: usize) -> TrainingBatch {
    let boards: Vec<Size> = sizes.iter().map(|&side| Size::square(side).expect("a board")).collect();
    let canvas = *boards.iter().max_by_key(|size| size.area()).expect("a sample");
    let (count, area) = (boards.len(), canvas.area());
    let mut batch = TrainingBatch {
        inputs: InputBatch::new(canvas),
        policy: Array2::zeros((count, area + 1)),
        reply: Array2::zeros((count, area + 1)),
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
    for (sample, &size) in boards.iter().enumerate() {
        let number = first + sample;
        let mut rng = rng::stream(5, &[number as u64]);
        let mut position = Position::new(size);
        for _ in 0..rng::below(&mut rng, size.area()) {
            let legal: Vec<_> = position.legal_points().iter().collect();
            if !legal.is_empty() {
                position.play(Move::Play(legal[rng::below(&mut rng, legal.len())]));
            }
        }
        batch.inputs.push(&Features::of(&position, Komi::from_half_points(15)));
        batch.board_margin[sample] = rng::below(&mut rng, size.area()) as i32;
        batch.value[[sample, rng::below(&mut rng, 2) * 2]] = 1.0;
        batch.policy[[sample, canvas_index(size, canvas, rng::below(&mut rng, size.area()))]] = 1.0;
        batch.policy_weight[sample] = (number % 3) as f32;
        batch.weight[sample] = 1.0 + (number % 2) as f32;
        for point in size.points() {
            let (row, column) = (point.index() / size.width(), point.index() % size.width());
            batch.ownership[[sample, row, column]] = rng::below(&mut rng, 3) as f32 - 1.0;
        }
    }
    batch
}

fn config(optimizer: Optimizer) -> TrainerConfig {
    TrainerConfig {
        optimizer,
        warmup_steps: 5,
        learning_rate: 3e-3,
        average: 0.9,
        precision: PrecisionChoice::Fp32,
        ..TrainerConfig::default()
    }
}

fn trainer(config: &TrainerConfig, seed: u64) -> Trainer {
    Trainer::new(&NetworkConfig::new(2, 16), config.clone(), DeviceChoice::Cpu, seed).expect("good settings")
}

/// What each rank returns, each on a thread of its own.
fn on_ranks<T: Send>(ranks: usize, work: impl Fn(Arc<Group>) -> T + Sync) -> Vec<T> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let (work, seconds) = (&work, Duration::from_secs(30));
    let rank = move |rank| {
        let meeting = Meeting {
            host: "127.0.0.1".to_owned(),
            port,
            hosted: false,
            name: "test".to_owned(),
            rank,
            ranks,
            wait: seconds,
            patience: seconds,
        };
        work(Arc::new(Group::join(&meeting).expect("the ranks meet")))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks).map(|number| scope.spawn(move || rank(number))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    })
}

/// What a trainer has learned: the weights and their average.
fn state(trainer: &Trainer) -> Vec<f32> {
    let [weights, average] = [trainer.raw_weights(), trainer.ema_weights()].map(|weights| weights.values().concat());
    [weights, average].concat()
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The last rank's boards fill its canvas while those of the others do not, so that they normalize in different ways.
///
/// SGD shows that the gradients are equal, up to what processors without bf16 round, 2e-6. AdamW and Muon divide by the
/// size of each gradient, also where that is nothing but rounding. So all are compared with one trainer whose samples
/// all count 1.1 times as much, which changes only the rounding.
#[test]
fn ranks_learn_what_one_trainer_learns() {
    const STEPS: usize = 20;
    tengen_network::limit_threads();
    let sizes = [3, 5, 4, 5, 5, 3, 5, 5, 5, 5, 5, 5];
    for optimizer in [Optimizer::AdamW, Optimizer::Sgd, Optimizer::Muon] {
        let config = config(optimizer);
        let alone = |factor: f32| {
            let mut trainer = trainer(&config, 11);
            let mut step = |step: usize| {
                let mut batch = batch(&sizes, 12 * step);
                batch.weight *= factor;
                trainer.step(&batch).expect("a good batch")
            };
            let losses: Vec<_> = (0..STEPS).map(&mut step).collect();
            (losses, state(&trainer))
        };
        let (expected, rounded) = (alone(1.0), alone(1.1));
        let results = on_ranks(3, |group| {
            let rank = group.rank();
            // Rank 0's state counts.
            let mut trainer = trainer(&config, 11 + rank as u64);
            trainer.join(group).expect("a group");
            let part = &sizes[4 * rank..][..4];
            let step = |step: usize| trainer.step(&batch(part, 12 * step + 4 * rank)).expect("a good batch");
            let losses: Vec<_> = (0..STEPS).map(step).collect();
            (losses, state(&trainer), trainer.checkpoint(), trainer.samples())
        });
        let by_rounding = difference(&expected.1, &rounded.1);
        let most = match optimizer {
            Optimizer::Sgd => f32::max(1e-6, 10.0 * by_rounding),
            Optimizer::AdamW | Optimizer::Muon => 10.0 * by_rounding,
        };
        for (losses, found, checkpoint, samples) in &results {
            assert_eq!(*samples, 12 * STEPS as u64);
            let apart = difference(found, &expected.1);
            assert!(apart < most, "{optimizer:?}: {apart}, by rounding {by_rounding}");
            assert!(checkpoint == &results[0].2, "the ranks stay identical");
            let pairs = losses[0].terms().into_iter().zip(expected.0[0].terms());
            let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-5, "{:?} {:?}", losses[0], expected.0[0]);
        }
    }
}

#[test]
fn ranks_hear_each_other_and_grow_together() {
    tengen_network::limit_threads();
    let results = on_ranks(2, |group| {
        let rank = group.rank();
        let mut trainer = trainer(&config(Optimizer::AdamW), 1);
        trainer.join(Arc::clone(&group)).expect("a group");
        trainer.set_budget_spent(0.5 + 0.25 * rank as f64);
        trainer.step(&batch(&[5; 4], 4 * rank)).expect("a good batch");
        assert_eq!(trainer.heard(), Word::default());
        trainer.say(Word {
            stop: rank == 1,
            pause: rank == 0,
        });
        let mut grown = trainer
            .grown(&NetworkConfig::new(3, 24), DeviceChoice::Cpu, 3)
            .expect("a larger network");
        grown.step(&batch(&[5; 4], 4 * rank)).expect("a good batch");
        (grown.heard(), grown.ranks(), state(&grown))
    });
    let both = Word {
        stop: true,
        pause: true,
    };
    assert_eq!((results[0].0, results[0].1), (both, 2));
    assert!(results[0] == results[1], "the ranks stay identical");
}

#[test]
fn a_step_without_the_other_rank_changes_nothing() {
    tengen_network::limit_threads();
    let states = on_ranks(2, |group| {
        let mut trainer = trainer(&config(Optimizer::AdamW), 1);
        trainer.join(Arc::clone(&group)).expect("a group");
        trainer.step(&batch(&[5; 4], 4 * group.rank())).expect("a good batch");
        let before = state(&trainer);
        if group.rank() == 0 {
            let error = trainer.step(&batch(&[5; 4], 0)).expect_err("rank 1 has left");
            assert!(matches!(error, TrainerError::Group(_)), "{error}");
            assert_eq!(group.missing(Duration::from_secs(1)), [1]);
        }
        assert_eq!(trainer.steps(), 1);
        (before, state(&trainer))
    });
    assert!(states.iter().all(|(before, after)| before == after));
}
