//! Optimal play on tiny grids against `data/suites/tt-facts.json`.
#![allow(missing_docs)]

mod support;

use tengen_rules::{Position, solve};

use support::{facts, number, rows, size_of};

fn check_optimal_play(max_area: usize) {
    for row in rows(&facts(), "optimal_scores") {
        let start = Position::new(size_of(row));
        if start.size().area() > max_area {
            continue;
        }
        let solution = solve(&start, 20_000_000).unwrap();
        assert_eq!(i64::from(solution.margin), number(row, "black_margin"), "{row}");
        let mut position = start;
        solution.line.iter().for_each(|&mv| position.play(mv));
        assert!(position.is_over());
        assert_eq!(position.board_margin(), solution.margin, "{row}");
    }
}

#[test]
fn optimal_play() {
    check_optimal_play(6);
}

#[test]
#[ignore = "slow on 2x4 and 3x3; run: cargo test --release -p tengen-rules --test suite_solutions -- --ignored"]
fn optimal_play_on_all_grids() {
    check_optimal_play(9);
}
