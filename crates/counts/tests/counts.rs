//! Exact counts of positions and games on grids that are not in `data/suites/tt-facts.json`.
#![allow(missing_docs)]

use std::ops::ControlFlow;

use tengen_counts::{count_games, count_games_by_plays, count_games_watched, count_legal_positions};
use tengen_rules::{Rules, Size};

fn check_square(side: usize, expected: &str) {
    let size = Size::square(side).unwrap();
    assert_eq!(count_legal_positions(size).as_deref(), Ok(expected), "{size}");
}

/// Tromp and Farnebäck, Combinatorics of Go, table 2 (sequence A094777 of the OEIS).
#[test]
fn legal_positions_of_square_grids() {
    check_square(5, "414295148741");
    check_square(6, "62567386502084877");
    check_square(7, "83677847847984287628595");
}

#[test]
#[ignore = "takes 15 seconds; run: cargo test --release -p tengen-counts --test counts -- --ignored"]
fn legal_positions_of_large_square_grids() {
    check_square(8, "990966953618170260281935463385");
    check_square(9, "103919148791293834318983090438798793469");
}

/// The count published by Tromp and Farnebäck in 2007.
#[test]
#[ignore = "takes 15 seconds; run: cargo test --release -p tengen-counts --test counts -- --ignored"]
fn games_of_1x4() {
    let size = Size::new(1, 4).unwrap();
    assert_eq!(count_games(size, Rules::tromp_taylor()), Ok(2_098_407_841));
}

/// Both ways of counting agree for as many plays as the slower one can handle.
#[test]
fn games_of_2x2_by_plays() {
    let size = Size::square(2).unwrap();
    let paths = count_games_by_plays(size, Rules::tromp_taylor(), 9).unwrap();
    let unusual = Rules {
        end: tengen_rules::GameEnd::Japanese2008,
        ..Rules::tromp_taylor()
    };
    assert_eq!(count_games_by_plays(size, unusual, 9).unwrap(), paths);
}

#[test]
fn a_long_count_can_be_watched_and_stopped() {
    let size = Size::new(1, 4).unwrap();
    for rules in [Rules::tromp_taylor(), Rules::new_zealand()] {
        let mut seen = Vec::new();
        let counts = count_games_watched(size, rules, usize::MAX, &mut |games| {
            seen.push(games);
            match seen.len() {
                3 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        assert_eq!(counts, Ok(None));
        assert!(
            seen[0] > 0 && seen[1] == 2 * seen[0] && seen[2] == 3 * seen[0],
            "{seen:?}"
        );
    }
}
