//! Networks and positions for the tests in this folder.

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_model::{NetworkConfig, Role, Weights};
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};

/// A board from text such as `5x5`.
pub(crate) fn size(text: &str) -> Size {
    text.parse().expect("a board size")
}

/// Weights in which nothing is zero and every normalization has an effect, as after long training.
pub(crate) fn lively_weights(config: &NetworkConfig, seed: u64) -> Weights {
    let start = Weights::random(config, seed).expect("a good config");
    let mut rng = rng::stream(seed, &[1_000_000]);
    let lively = start
        .parameters()
        .iter()
        .zip(start.values())
        .map(|(parameter, values)| {
            let mut noise = || rng::normal(&mut rng) as f32;
            let inputs: usize = parameter.shape[1..].iter().product();
            let change = |value: &f32| match parameter.role {
                Role::Weight => value + 0.3 * noise() / (inputs as f32).sqrt(),
                Role::Bias => value + 0.1 * noise(),
                Role::Statistic if parameter.name.ends_with("variance") => 1.0 + 0.3 * noise().abs(),
                Role::Statistic => 0.1 * noise(),
            };
            values.iter().map(change).collect()
        });
    Weights::from_values(config, lively.collect()).expect("the same shapes")
}

/// The features of a position after some random plays.
pub(crate) fn random_features(size: Size, seed: u64, komi_half_points: i16) -> Features {
    let mut rng = rng::stream(seed, &[size.area() as u64]);
    let mut position = Position::new(size);
    for _ in 0..rng::below(&mut rng, size.area()) {
        let legal: Vec<_> = position.legal_points().iter().collect();
        if !legal.is_empty() {
            position.play(Move::Play(legal[rng::below(&mut rng, legal.len())]));
        }
    }
    Features::of(&position, Komi::from_half_points(komi_half_points))
}

/// Random positions of the given sizes on one canvas.
pub(crate) fn batch(canvas: Size, sizes: &[Size]) -> InputBatch {
    batch_of(PlaneSet::default(), canvas, sizes)
}

/// Random positions of the given sizes on one canvas, with these input planes.
pub(crate) fn batch_of(plane_set: PlaneSet, canvas: Size, sizes: &[Size]) -> InputBatch {
    let mut batch = InputBatch::with_planes(canvas, plane_set);
    for (number, &size) in sizes.iter().enumerate() {
        batch.push(&random_features(size, number as u64, number as i16 * 3 - 4));
    }
    batch
}

/// Asserts that two lists of numbers agree within `tolerance`.
pub(crate) fn assert_close<'a>(
    a: impl IntoIterator<Item = &'a f32>,
    b: impl IntoIterator<Item = &'a f32>,
    tolerance: f32,
    what: &str,
) {
    let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().collect(), b.into_iter().collect());
    assert_eq!(a.len(), b.len(), "{what}");
    for (index, (a, b)) in a.into_iter().zip(b).enumerate() {
        assert!(a == b || (a - b).abs() <= tolerance, "{what} {index}: {a} and {b}");
    }
}
