//! Planes, globals, mirror images, keys and batches.

use ndarray::{Array2, Array4, aview1, s};
use proptest::prelude::*;

use tengen_encoding::{
    Features, GLOBALS, InputBatch, PLANE_BANNED, PLANE_LIBERTIES, PLANE_OPPONENT, PLANE_OPPONENT_AREA, PLANE_OWN,
    PLANE_OWN_AREA, PlaneSet, canvas_index,
};
use tengen_rules::{Color, Komi, Move, Position, Size, Symmetry, format_point, parse_point};
use tengen_testing::{Random, position_after, random_move};

fn komi(text: &str) -> Komi {
    text.parse().unwrap()
}

fn points(features: &Features, plane: usize) -> String {
    let names: Vec<_> = features.planes[plane]
        .iter()
        .map(|point| format_point(features.size, point))
        .collect();
    names.join(" ")
}

#[test]
fn planes_match_the_table() {
    let size = Size::square(3).unwrap();
    // . X .      The black chain has four liberties, the white stone two.
    // . X O
    // . . .
    let position = position_after(size, "B3 C2 B2");
    let features = Features::of(&position, komi("1.5"));
    assert_eq!(points(&features, PLANE_OWN), "C2");
    assert_eq!(points(&features, PLANE_OPPONENT), "B3 B2");
    assert_eq!(points(&features, PLANE_LIBERTIES), "");
    assert_eq!(points(&features, PLANE_LIBERTIES + 1), "C2");
    assert_eq!(points(&features, PLANE_LIBERTIES + 2), "");
    assert_eq!(points(&features, PLANE_OWN_AREA), "C2");
    assert_eq!(points(&features, PLANE_OPPONENT_AREA), "B3 B2");
    assert_eq!(features.komi, 1.5);
    let margin: f32 = 1.0 - 2.0 + 1.5;
    assert_eq!(features.globals, [1.5 / 9.0, 0.0, (margin / 5.0).tanh()]);
}

#[test]
fn globals_encode_a_pass_and_the_sign_of_komi() {
    let size = Size::square(5).unwrap();
    let after_pass = Features::of(&position_after(size, "C3 pass"), komi("24.5"));
    assert_eq!(after_pass.globals[1], 1.0);
    assert_eq!(after_pass.komi, -24.5);
    let whites_turn = Features::of(&position_after(size, "C3"), komi("24.5"));
    assert_eq!(whites_turn.globals[1], 0.0);
    assert_eq!(whites_turn.komi, 24.5);
}

#[test]
fn only_the_banned_side_sees_the_ko_ban() {
    let size = Size::square(4).unwrap();
    // White has just captured the ko at C3; Black may not recapture at B3.
    let position = position_after(size, "B4 C4 A3 D3 B2 C2 C3 B3");
    let features = Features::of(&position, Komi::ZERO);
    assert_eq!(position.to_move(), Color::Black);
    assert!(
        points(&features, PLANE_BANNED).contains("C3"),
        "{}",
        points(&features, PLANE_BANNED)
    );
}

fn random_position(size: Size, seed: u64, plies: usize) -> Position {
    let mut random = Random::new(seed);
    let mut position = Position::new(size);
    while position.ply() < plies && !position.is_over() {
        position.play(random_move(&position, &mut random, 20));
    }
    position
}

fn mirrored(position: &Position, symmetry: Symmetry) -> Position {
    let size = position.size();
    let mut image = Position::new(size);
    for &mv in position.moves() {
        image.play(symmetry.apply_move(size, mv));
    }
    image
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// All images of a position have the same canonical image and key, and the symmetry maps the points to that image.
    #[test]
    fn every_image_has_the_same_canonical_image(
        width in 1usize..=9,
        height in 1usize..=9,
        seed in any::<u64>(),
        plies in 0usize..60,
        half_komi in -20i16..20,
    ) {
        let size = Size::new(width, height).unwrap();
        let position = random_position(size, seed, plies);
        let komi = Komi::from_half_points(half_komi);
        let original = Features::of(&position, komi);
        let (symmetry, canonical) = original.canonical();
        prop_assert_eq!(&original.transformed(symmetry), &canonical);
        for &image in Symmetry::all(size) {
            let features = Features::of(&mirrored(&position, image), komi);
            prop_assert_eq!(&features, &original.transformed(image));
            let [mirrored_ladders, ladders] = [&features, &original].map(Features::ladders);
            prop_assert_eq!(mirrored_ladders.stones, image.apply_set(size, &ladders.stones));
            prop_assert_eq!(mirrored_ladders.plays, image.apply_set(size, &ladders.plays));
            let alive = mirrored(&position, image).pass_alive();
            let mover = position.to_move();
            prop_assert_eq!(features.pass_alive(), [*alive.of(mover), *alive.of(mover.opposite())]);
            let (_, other) = features.canonical();
            prop_assert_eq!(&other, &canonical);
            prop_assert_eq!(other.key(), canonical.key());
        }
    }

    /// Liberty planes and areas agree with the position at every point.
    #[test]
    fn planes_agree_with_the_position(side in 2usize..=19, seed in any::<u64>(), plies in 0usize..200) {
        let size = Size::square(side).unwrap();
        let position = random_position(size, seed, plies);
        let features = Features::of(&position, Komi::ZERO);
        let mover = position.to_move();
        let area = position.area();
        for point in size.points() {
            let has = |plane: usize| features.planes[plane].contains(point);
            let liberties = position.liberties(point);
            prop_assert_eq!(has(PLANE_OWN), position.at(point) == Some(mover));
            prop_assert_eq!(has(PLANE_OPPONENT), position.at(point) == Some(mover.opposite()));
            for count in 1..=3 {
                let stone = position.at(point).is_some();
                prop_assert_eq!(has(PLANE_LIBERTIES + count - 1), stone && liberties == count);
            }
            prop_assert_eq!(has(PLANE_OWN_AREA), area.of(mover).contains(point));
            prop_assert_eq!(has(PLANE_OPPONENT_AREA), area.of(mover.opposite()).contains(point));
        }
    }
}

#[test]
fn keys_distinguish_positions_komi_and_sizes() {
    let mut keys = std::collections::BTreeSet::new();
    let mut count = 0;
    for (width, height) in [(3, 3), (3, 4), (4, 3), (9, 9), (19, 19)] {
        let size = Size::new(width, height).unwrap();
        for half_komi in [-1, 0, 1, 2] {
            for point in size.points() {
                let mut position = Position::new(size);
                position.play(Move::Play(point));
                keys.insert(Features::of(&position, Komi::from_half_points(half_komi)).key());
                count += 1;
            }
            let mut position = Position::new(size);
            keys.insert(Features::of(&position, Komi::from_half_points(half_komi)).key());
            position.play(Move::Pass);
            keys.insert(Features::of(&position, Komi::from_half_points(half_komi)).key());
            count += 2;
        }
    }
    assert_eq!(keys.len(), count);
}

#[test]
fn a_key_is_stable_across_versions() {
    let position = position_after(Size::square(5).unwrap(), "C3 B2");
    assert_eq!(Features::of(&position, komi("24.5")).key(), KEY_C3_B2);
}

const KEY_C3_B2: u128 = 78_697_243_211_934_363_573_228_553_900_304_273_379;

/// Black's wall in column B has the eyes A1-A2 and A4-A5; White has no eyes.
#[test]
fn pass_alive_areas_add_two_planes() {
    let size = Size::square(5).unwrap();
    let position = position_after(size, "B1 D1 B2 D2 B3 D3 B4 D4 B5 E1 A3");
    let plane_set = PlaneSet {
        pass_alive: true,
        ..PlaneSet::default()
    };
    let mut batch = InputBatch::with_planes(Size::new(7, 5).unwrap(), plane_set);
    batch.push(&Features::of(&position, Komi::ZERO));
    let left_columns = (0..5).map(|row| 0b11 << (row * 7)).sum::<u64>();
    assert_eq!(batch.planes().dim(), (1, 10, 1));
    let pass_alive = batch.planes().slice_move(s![0, 8.., 0]);
    assert_eq!(pass_alive, aview1(&[0, left_columns]), "White moves, Black lives");

    let mut base = InputBatch::new(batch.canvas());
    base.push(&Features::of(&position, Komi::ZERO));
    assert_eq!(base.planes(), batch.planes().slice(s![.., ..8, ..]));
}

/// White's stone runs toward the lower right edge, unless a white stone is in its way.
#[test]
fn ladders_add_two_planes() {
    let size = Size::square(7).unwrap();
    let plane_set = PlaneSet {
        ladders: true,
        ..PlaneSet::default()
    };
    let seen = |moves: &str| {
        let position = position_after(size, moves);
        let mut batch = InputBatch::with_planes(size, plane_set);
        batch.push(&Features::of(&position, Komi::ZERO));
        assert_eq!(batch.planes().dim(), (1, 10, 1));
        [8, 9].map(|plane| batch.planes()[[0, plane, 0]])
    };
    let bits = |points: &str| -> u64 {
        let of = |name| parse_point(size, name).unwrap();
        points.split_whitespace().map(|name| 1 << of(name).index()).sum()
    };
    // . . . . . . .
    // . . X . . . .      After Black D5, White runs along C4, D4, D3, E3 and so on.
    // . X O . . . .
    // . X . . . . .
    let works = "B5 C5 C6 F6 B4 pass";
    assert_eq!(seen(works), [bits("C5"), bits("D5")], "Black to move");
    assert_eq!(
        seen("B5 C5 C6 F6 B4"),
        [bits("C5"), 0],
        "White, to move, has stones that can be captured"
    );
    assert_eq!(
        seen("B5 C5 C6 E3 B4 pass"),
        [0, 0],
        "a stone in the way breaks the ladder"
    );
}

/// On the canvas of 13x9, the planes take two words, and rows of 5 and of 13 points cross from one into the other.
#[test]
fn boards_of_one_size_are_cut_out_of_a_batch() {
    let canvas = Size::new(13, 9).unwrap();
    let sizes = ["5x9", "13x9", "2x2", "5x9", "13x7"].map(|size| size.parse::<Size>().unwrap());
    for plane_set in [PlaneSet::default(), PlaneSet::ALL] {
        let mut whole = InputBatch::with_planes(canvas, plane_set);
        let mut alone: Vec<_> = sizes
            .iter()
            .map(|&size| InputBatch::with_planes(size, plane_set))
            .collect();
        let mut random = Random::new(7);
        for &size in &sizes {
            let mut position = Position::new(size);
            while position.ply() < size.area() && !position.is_over() {
                position.play(random_move(&position, &mut random, 100));
            }
            let features = Features::of(&position, komi("0.5"));
            whole.push(&features);
            let same_size = alone.iter_mut().filter(|batch| batch.canvas() == size);
            same_size.for_each(|batch| batch.push(&features));
        }
        let mut cut = InputBatch::new(canvas);
        for (&size, expected) in sizes.iter().zip(&alone) {
            cut.copy_boards(&whole, size);
            assert_eq!(&cut, expected, "{size}");
        }
        assert_eq!(whole.rows_of(sizes[0]).collect::<Vec<_>>(), [0, 3]);
        cut.copy_boards(&whole, Size::square(3).unwrap());
        assert!(cut.is_empty());
    }
}

#[test]
fn batches_place_small_boards_in_the_corner() {
    for plane_set in [PlaneSet::default(), PlaneSet::ALL] {
        check_batch_of_small_boards(plane_set);
    }
}

fn check_batch_of_small_boards(plane_set: PlaneSet) {
    let canvas = Size::new(5, 4).unwrap();
    let sizes = [
        Size::new(5, 4).unwrap(),
        Size::new(3, 2).unwrap(),
        Size::new(1, 4).unwrap(),
    ];
    let mut batch = InputBatch::with_planes(canvas, plane_set);
    let features: Vec<_> = sizes
        .iter()
        .enumerate()
        .map(|(seed, &size)| Features::of(&random_position(size, seed as u64, 9), Komi::from_half_points(3)))
        .collect();
    features.iter().for_each(|sample| batch.push(sample));
    let bit_planes = plane_set.bit_planes();
    assert_eq!(batch.len(), 3);
    assert!(!batch.uniform());
    assert_eq!(batch.sizes(), sizes);
    assert_eq!(batch.planes().dim(), (3, bit_planes, 1));
    assert_eq!(batch.globals().dim(), (3, GLOBALS));
    assert_eq!(batch.komi().len(), 3);

    let (nchw, nhwc) = (batch.planes_f32(), batch.planes_f32_nhwc());
    let channels = bit_planes + 1;
    assert_eq!(nchw.dim(), (3, channels, 4, 5));
    assert_eq!(nhwc.dim(), (3, 4, 5, channels));
    for (number, sample) in features.iter().enumerate() {
        let ladders = sample.ladders();
        let planes: Vec<_> = sample
            .planes
            .into_iter()
            .chain(sample.pass_alive())
            .chain([ladders.stones, ladders.plays])
            .take(bit_planes)
            .collect();
        for channel in 0..channels {
            let mut expected = Array2::zeros((4, 5));
            for point in sample.size.points() {
                let on = planes.get(channel).is_none_or(|plane| plane.contains(point));
                let index = canvas_index(sample.size, canvas, point.index());
                expected[[index / 5, index % 5]] = f32::from(u8::from(on));
            }
            assert_eq!(nchw.slice(s![number, channel, .., ..]), expected);
            assert_eq!(nhwc.slice(s![number, .., .., channel]), expected);
        }
    }
    check_buffers_are_overwritten(&batch, &nchw, &nhwc);
    batch.clear();
    assert!(batch.is_empty() && batch.uniform());
}

fn check_buffers_are_overwritten(batch: &InputBatch, nchw: &Array4<f32>, nhwc: &Array4<f32>) {
    let (mut first, mut last) = (nchw.mapv(|_| 7.0), nhwc.mapv(|_| 7.0));
    batch.planes_f32_into(first.view_mut());
    batch.planes_f32_nhwc_into(last.view_mut());
    assert_eq!((&first, &last), (nchw, nhwc));
}

#[test]
#[should_panic(expected = "has the shape")]
fn planes_go_only_into_an_array_of_their_shape() {
    let mut batch = InputBatch::new(Size::square(5).unwrap());
    batch.push(&Features::of(&Position::new(Size::square(5).unwrap()), Komi::ZERO));
    batch.planes_f32_into(batch.planes_f32_nhwc().view_mut());
}

#[test]
#[should_panic(expected = "does not fit")]
fn a_board_larger_than_the_canvas_is_rejected() {
    let mut batch = InputBatch::new(Size::square(5).unwrap());
    batch.push(&Features::of(&Position::new(Size::square(6).unwrap()), Komi::ZERO));
}
