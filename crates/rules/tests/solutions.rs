//! Optimal play on the largest grids of `data/suites/tt-facts.json`; `tengen-facts` checks the smaller ones.
#![allow(missing_docs)]

use tengen_rules::{Position, Size, solve};

#[test]
#[ignore = "slow on 4x2 and 3x3; run: cargo test --release -p tengen-rules --test solutions -- --ignored"]
fn optimal_play_on_large_grids() {
    for (width, height, margin) in [(4, 2, 8), (3, 3, 9)] {
        let mut position = Position::new(Size::new(width, height).unwrap());
        let solution = solve(&position, 20_000_000).unwrap();
        assert_eq!(solution.margin, margin, "{width}x{height}");
        solution.line.iter().for_each(|&mv| position.play(mv));
        assert!(position.is_over());
        assert_eq!(position.board_margin(), margin, "{width}x{height}");
    }
}
