//! Batches of predictions: their checks, memory, and rows.

use ndarray::{Array1, Array2, Array3, array};

use tengen_rules::Size;
use tengen_search::{PredictError, Predictions};

#[test]
fn check_finds_wrong_lengths_and_invalid_values() {
    let canvas = Size::square(3).unwrap();
    let mut out = Predictions::default();
    out.reset(2, canvas);
    assert_eq!(out.check(2, canvas), Ok(()));
    assert!(matches!(
        out.check(3, canvas),
        Err(PredictError::WrongShape {
            array: "policy_logits",
            ..
        })
    ));
    out.margin[1] = f32::NAN;
    assert_eq!(
        out.check(2, canvas),
        Err(PredictError::NotFinite {
            array: "margin",
            row: 1
        })
    );
    out.margin[1] = 0.0;
    out.ownership = Array3::zeros((1, 3, 3));
    assert_eq!(
        out.check(2, canvas),
        Err(PredictError::WrongShape {
            array: "ownership",
            found: vec![1, 3, 3],
            expected: vec![2, 3, 3]
        })
    );
    out.reset_ownership(canvas);
    assert_eq!(out.check(2, canvas), Ok(()));
    out.policy_logits = Array2::zeros((10, 2)).reversed_axes();
    assert!(out.check(2, canvas).is_err(), "not in C order");
}

#[test]
fn memory_is_kept_from_batch_to_batch() {
    let (small, large) = (Size::square(3).unwrap(), Size::square(5).unwrap());
    let mut out = Predictions::default();
    let reset = |out: &mut Predictions, batch, canvas| {
        out.reset(batch, canvas);
        out.reset_ownership(canvas);
        (out.policy_logits.as_ptr(), out.win.as_ptr(), out.ownership.as_ptr())
    };
    let first = reset(&mut out, 8, large);
    out.policy_logits.fill(1.0);
    assert_eq!(reset(&mut out, 2, small), first);
    assert_eq!(reset(&mut out, 8, large), first);
    assert!(out.policy_logits.iter().all(|&logit| logit == 0.0));
}

#[test]
fn copied_rows_are_those_of_the_other_batch() {
    let canvas = Size::new(3, 2).unwrap();
    let (mut all, mut part) = (Predictions::default(), Predictions::default());
    all.reset(5, canvas);
    all.policy_logits = Array2::from_shape_fn((5, 7), |(row, mv)| (10 * row + mv) as f32);
    all.win = Array1::from_iter([0.1, 0.2, 0.3, 0.4, 0.5]);
    all.loss = Array1::from_iter([0.5, 0.4, 0.3, 0.2, 0.1]);
    all.margin = Array1::from_iter([1.0, 2.0, 3.0, 4.0, 5.0]);
    for with_ownership in [true, false, true] {
        all.ownership = match with_ownership {
            true => Array3::from_shape_fn((5, 2, 3), |(row, y, x)| (10 * row + 3 * y + x) as f32),
            false => Array3::zeros((0, 0, 0)),
        };
        for rows in [1..4, 0..5, 4..5] {
            part.copy_rows(&all, rows.clone());
            part.check(rows.len(), canvas).unwrap();
            for (own, row) in rows.enumerate() {
                let (copied, original) = (part.row(own, canvas), all.row(row, canvas));
                assert_eq!(format!("{copied:?}"), format!("{original:?}"));
            }
        }
    }
}

#[test]
fn rows_have_the_length_of_the_canvas() {
    let canvas = Size::new(2, 1).unwrap();
    let mut out = Predictions::default();
    out.reset(2, canvas);
    out.policy_logits = array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]];
    out.win[1] = 0.75;
    let row = out.row(1, canvas);
    assert_eq!(row.policy_logits, [3.0, 4.0, 5.0]);
    assert_eq!(row.win, 0.75);
    assert!(row.ownership.is_empty());
}

#[test]
fn written_rows_are_those_of_the_parts() {
    let canvas = Size::new(3, 2).unwrap();
    let mut whole = Predictions::default();
    whole.reset(5, canvas);
    whole.policy_logits = Array2::from_shape_fn((5, 7), |(row, mv)| (10 * row + mv) as f32);
    whole.win = Array1::from_iter([0.1, 0.2, 0.3, 0.4, 0.5]);
    whole.loss = Array1::from_iter([0.5, 0.4, 0.3, 0.2, 0.1]);
    whole.margin = Array1::from_iter([1.0, 2.0, 3.0, 4.0, 5.0]);
    for with_ownership in [true, false] {
        whole.ownership = match with_ownership {
            true => Array3::from_shape_fn((5, 2, 3), |(row, y, x)| (10 * row + 3 * y + x) as f32),
            false => Array3::zeros((0, 0, 0)),
        };
        let (mut written, mut part) = (Predictions::default(), Predictions::default());
        written.reset(5, canvas);
        if with_ownership {
            written.reset_ownership(canvas);
        }
        for rows in [3..5, 0..2, 2..3] {
            part.copy_rows(&whole, rows.clone());
            written.write_rows(rows.start, &part);
        }
        assert_eq!(written, whole);
    }
}

#[test]
fn small_boards_are_written_into_the_corner_of_their_rows() {
    let (canvas, size) = (Size::new(3, 2).unwrap(), Size::new(2, 1).unwrap());
    let mut boards = Predictions::default();
    boards.reset(2, size);
    boards.reset_ownership(size);
    boards.policy_logits = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    boards.win = array![0.5, 0.25];
    boards.loss = array![0.125, 0.5];
    boards.margin = array![-1.0, 2.0];
    boards.ownership = array![[[0.5, -0.5]], [[1.0, -1.0]]];
    let mut out = Predictions::default();
    out.reset(3, canvas);
    out.reset_ownership(canvas);
    out.win[1] = 0.75;
    out.write_boards(([0, 2].into_iter(), canvas), (&boards, size));
    let no = f32::NEG_INFINITY;
    let logits = array![
        [1.0, 2.0, no, no, no, no, 3.0],
        [0.0; 7],
        [4.0, 5.0, no, no, no, no, 6.0]
    ];
    assert_eq!(out.policy_logits, logits);
    assert_eq!((out.win, out.loss), (array![0.5, 0.75, 0.25], array![0.125, 0.0, 0.5]));
    assert_eq!(out.margin, array![-1.0, 0.0, 2.0]);
    let ownership = array![
        [[0.5, -0.5, 0.0], [0.0, 0.0, 0.0]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[1.0, -1.0, 0.0], [0.0, 0.0, 0.0]]
    ];
    assert_eq!(out.ownership, ownership);
}
