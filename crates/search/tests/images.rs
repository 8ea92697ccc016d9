//! Predictions averaged over mirror images of a position.

use std::collections::BTreeMap;

use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size, Symmetry};
use tengen_search::{EvaluationCache, Lockstep, ScriptedPredictor, Search, SearchConfig, SearchMethod};

const KOMI: Komi = Komi::from_half_points(1);

/// A search that sees positions as they are, not their canonical images, with a network for which every image is
/// something else.
fn config(images: u32, root_images: u32, visits: u32) -> SearchConfig {
    SearchConfig {
        method: SearchMethod::Puct,
        canonical: false,
        images,
        root_images,
        ownership: true,
        ..SearchConfig::for_play(visits)
    }
}

fn position(width: usize, height: usize, moves: &[&str]) -> Position {
    let size = Size::new(width, height).unwrap();
    let mut position = Position::new(size);
    for text in moves {
        position.play(Move::parse(size, text).unwrap());
    }
    position
}

/// Finishes a search; the number of evaluations.
fn finish(search: &mut Search) -> u64 {
    let mut cache = EvaluationCache::new(1 << 22);
    let mut predictor = ScriptedPredictor::new(3);
    let run = Lockstep::new().run(&mut [search], &mut predictor, &mut cache);
    run.expect("the stand-in never fails").evaluations
}

fn searched(config: SearchConfig, position: &Position) -> (Search, u64) {
    let mut search = Search::new(config, position, KOMI, rng::stream(1, &[]));
    let evaluations = finish(&mut search);
    (search, evaluations)
}

/// Prior and visits of every root move that was visited, by the move's index after undoing a symmetry.
fn root(search: &Search, symmetry: Symmetry) -> BTreeMap<usize, (f32, u32)> {
    let size = search.position().size();
    let candidates = search.candidates();
    let original = |mv| symmetry.inverse().apply_move(size, mv).index(size);
    candidates
        .iter()
        .map(|found| (original(found.mv), (found.prior, found.visits)))
        .collect()
}

fn mean_prior_difference(one: &BTreeMap<usize, (f32, u32)>, other: &BTreeMap<usize, (f32, u32)>) -> f32 {
    let differences = one.iter().map(|(mv, (prior, _))| match other.get(mv) {
        Some((found, _)) => (prior - found).abs(),
        None => 1.0,
    });
    differences.sum::<f32>() / one.len() as f32
}

#[test]
fn an_average_over_all_images_does_not_depend_on_the_orientation() {
    for (width, height, moves) in [(5, 5, ["B4", "C2", "D3"]), (4, 3, ["B1", "C2", "D3"])] {
        let original = position(width, height, &moves);
        let size = original.size();
        let (plain, _) = searched(config(8, 1, 60), &original);
        let (expected, result) = (root(&plain, Symmetry::Identity), plain.result());
        let mut differs = 0.0;
        for &symmetry in Symmetry::all(size) {
            let image = original.transformed(symmetry);
            let (search, _) = searched(config(8, 1, 60), &image);
            let (found, again) = (root(&search, symmetry), search.result());
            assert!(mean_prior_difference(&expected, &found) < 1e-5, "{size} {symmetry:?}");
            assert!((result.network_value - again.network_value).abs() < 1e-5);
            assert!((result.network_margin - again.network_margin).abs() < 1e-4);
            let visits =
                |root: &BTreeMap<usize, (f32, u32)>| root.values().map(|(_, visits)| *visits).collect::<Vec<_>>();
            assert_eq!(visits(&expected), visits(&found), "{size} {symmetry:?}");
            let owners = (result.ownership.as_ref().unwrap(), again.ownership.as_ref().unwrap());
            for point in size.points() {
                let image = symmetry.apply(size, point);
                assert!((owners.0[point.index()] - owners.1[image.index()]).abs() < 1e-4);
            }
            let (single, _) = searched(config(1, 1, 60), &image);
            differs += mean_prior_difference(&expected, &root(&single, symmetry));
        }
        assert!(differs > 0.1, "with one image, each orientation has priors of its own");
    }
}

#[test]
fn the_root_alone_can_be_averaged() {
    let start = position(5, 5, &["B4"]);
    let (all, evaluations_of_all) = searched(config(8, 1, 1), &start);
    let (single, evaluations) = searched(config(1, 1, 1), &start);
    let (alone, evaluations_alone) = searched(config(1, 8, 1), &start);
    assert_eq!((evaluations_of_all, evaluations, evaluations_alone), (16, 2, 9));
    let priors = |search: &Search| root(search, Symmetry::Identity);
    assert!(mean_prior_difference(&priors(&alone), &priors(&all)) < 1e-9);
    assert!(mean_prior_difference(&priors(&alone), &priors(&single)) > 1e-3);
    assert_eq!(alone.result().network_value, all.result().network_value);
    let (_, on_rectangle) = searched(config(1, 8, 1), &position(4, 3, &[]));
    assert_eq!(on_rectangle, 5, "a rectangle has four images");
}

/// The root of a kept tree was a leaf, which saw one image.
#[test]
fn the_root_of_a_kept_tree_is_averaged_as_well() {
    let start = position(5, 5, &["B4"]);
    let (mut search, _) = searched(config(1, 8, 80), &start);
    let mut next = start.clone();
    next.play(search.result().best);
    let kept = search.follow(&next, KOMI, 120, rng::stream(2, &[]));
    assert!(kept > 0);
    finish(&mut search);
    let (fresh, _) = searched(config(1, 8, 120), &next);
    let (kept, fresh) = (root(&search, Symmetry::Identity), root(&fresh, Symmetry::Identity));
    for (mv, (prior, _)) in &kept {
        if let Some((expected, _)) = fresh.get(mv) {
            assert!(
                (prior - expected).abs() < 1e-6,
                "move {mv}: {prior} instead of {expected}"
            );
        }
    }
    assert!(kept.keys().filter(|mv| fresh.contains_key(mv)).count() > 3);
}

/// What one search has averaged is not taken for the prediction of a single image by another.
#[test]
fn averages_have_places_of_their_own_in_the_cache() {
    let start = position(5, 5, &["B4"]);
    let mut cache = EvaluationCache::new(1 << 22);
    let mut values = Vec::new();
    for images in [1, 8, 1, 8, 4] {
        let mut search = Search::new(config(images, 1, 0), &start, KOMI, rng::stream(1, &[]));
        let run = Lockstep::new().run(&mut [&mut search], &mut ScriptedPredictor::new(3), &mut cache);
        run.expect("the stand-in never fails");
        values.push(search.result().network_value);
    }
    assert_eq!((values[0], values[1]), (values[2], values[3]));
    assert!(values[0] != values[1] && values[1] != values[4]);
}
