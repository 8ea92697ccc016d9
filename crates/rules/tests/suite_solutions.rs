//! Best play on tiny grids against `data/suites/tt-facts.json`.
#![allow(missing_docs)]

mod support;

use support::{facts, number, rows, size_of};
use tengen_rules::{Position, solve};

fn check_best_play(most_area: usize) {
    for row in rows(&facts(), "optimal_scores") {
        let start = Position::new(size_of(row));
        if start.size().area() > most_area {
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
fn best_play() {
    check_best_play(6);
}

#[test]
#[ignore = "2x4 and 3x3 take seconds; run: cargo test --release -p tengen-rules --test suite_solutions -- --ignored"]
fn best_play_on_all_grids() {
    check_best_play(9);
}
