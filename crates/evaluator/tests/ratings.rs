//! The ratings of a pool of players.

use std::collections::BTreeMap;

use tengen_evaluator::{PoolConfig, PoolError, PoolGames, PoolRating, rate_pool, score_of_elo};

fn games(first: usize, second: usize, wins: u64, ties: u64, losses: u64) -> PoolGames {
    PoolGames {
        first,
        second,
        wins,
        ties,
        losses,
    }
}

fn plain() -> PoolConfig {
    PoolConfig {
        virtual_games: 0.0,
        ..PoolConfig::default()
    }
}

#[test]
fn two_players_have_the_logistic_difference() {
    // 75 of 100: 400 log₁₀ 3 = 190.85. The information is n p q = 18.75, so the interval is 1.96 × 173.72 / √18.75
    // = 78.63.
    let ratings = rate_pool(2, &[games(1, 0, 75, 0, 25)], &plain()).expect("ratings");
    let player = ratings.players[1];
    assert!((player.rating - 190.848_5).abs() < 1e-3, "{player:?}");
    let high = player.high.expect("a bound");
    assert!((high - player.rating - 78.631).abs() < 0.01, "{player:?}");
    assert_eq!((player.games, player.points, ratings.tie_parameter), (100, 75.0, 0.0));
    assert_eq!(
        (
            ratings.players[0].rating,
            ratings.players[0].low,
            ratings.players[0].high
        ),
        (0.0, Some(0.0), Some(0.0))
    );
}

#[test]
fn ratings_are_bounded_only_by_points_that_were_taken() {
    let bounds = |table: &[PoolGames], players| {
        let ratings = rate_pool(players, table, &PoolConfig::default()).expect("ratings");
        let bounded = |rating: &PoolRating| (rating.low.is_some(), rating.high.is_some());
        ratings.players.iter().map(bounded).collect::<Vec<_>>()
    };
    assert_eq!(bounds(&[games(0, 1, 0, 0, 20)], 2), [(true, true), (true, false)]);
    assert_eq!(bounds(&[games(0, 1, 20, 0, 0)], 2), [(true, true), (false, true)]);
    assert_eq!(bounds(&[games(0, 1, 19, 1, 0)], 2), [(true, true), (true, true)]);
    // 1 lost every game against 0, and 2 is even with 1: neither is bounded from below.
    let table = [games(0, 1, 9, 0, 0), games(1, 2, 5, 0, 5)];
    assert_eq!(bounds(&table, 3), [(true, true), (false, true), (false, true)]);
    // A point that 2 takes from 0 bounds both.
    let table = [games(0, 1, 9, 0, 0), games(1, 2, 5, 0, 5), games(2, 0, 1, 0, 3)];
    assert_eq!(bounds(&table, 3), [(true, true); 3]);
}

#[test]
fn ties_follow_davidson() {
    // 40 : 20 with 40 ties. For two players the model fits exactly: π₁ / π₂ = 2, ν = 40 / √(40 · 20) = √2.
    let ratings = rate_pool(2, &[games(0, 1, 40, 40, 20)], &plain()).expect("ratings");
    assert!((ratings.tie_parameter - 2f64.sqrt()).abs() < 1e-6);
    assert!((ratings.players[1].rating + 400.0 * 2f64.log10()).abs() < 1e-4);
}

#[test]
fn a_chain_of_players_adds_up() {
    let table = [games(0, 1, 10, 0, 30), games(2, 1, 30, 0, 10), games(3, 2, 20, 0, 20)];
    let config = PoolConfig {
        pinned: BTreeMap::from([(1, 1000.0)]),
        ..plain()
    };
    let ratings = rate_pool(4, &table, &config).expect("ratings");
    let expected = [1000.0 - 190.8485, 1000.0, 1190.8485, 1190.8485];
    for (player, expected) in ratings.players.iter().zip(expected) {
        assert!((player.rating - expected).abs() < 1e-3, "{ratings:?}");
    }
    let width = |player: usize| {
        let PoolRating { low, high, .. } = ratings.players[player];
        high.expect("a bound") - low.expect("a bound")
    };
    assert!(width(3) > width(2), "the far end of a chain is less certain");
}

#[test]
fn two_pinned_players_fix_the_scale() {
    // Player 1 scores half against both, so it lies in the middle; which games link 0 and 2 does not matter.
    let table = [games(1, 0, 50, 0, 50), games(1, 2, 50, 0, 50), games(0, 2, 0, 0, 9)];
    let config = |pinned: &[(usize, f64)]| PoolConfig {
        pinned: pinned.iter().copied().collect(),
        ..plain()
    };
    let ratings = rate_pool(3, &table, &config(&[(0, 1000.0), (2, 1300.0)])).expect("ratings");
    let [low, middle, high] = [0, 1, 2].map(|player| ratings.players[player]);
    assert!((middle.rating - 1150.0).abs() < 1e-6, "{middle:?}");
    assert_eq!(
        (low.low, low.high, high.high),
        (Some(1000.0), Some(1000.0), Some(1300.0))
    );
    assert!(middle.low.is_some_and(|low| low < 1150.0), "{middle:?}");
    assert_eq!(rate_pool(3, &table, &config(&[])), Err(PoolError::NothingPinned));
    assert_eq!(rate_pool(3, &table, &config(&[(3, 0.0)])), Err(PoolError::BadIndex(3)));
}

/// At the maximum-likelihood ratings of a round robin of three, each player's expected points equal the points
/// scored.
#[test]
fn expected_points_equal_points_scored() {
    let table = [games(0, 1, 7, 0, 3), games(0, 2, 8, 0, 2), games(1, 2, 7, 0, 3)];
    let ratings = rate_pool(3, &table, &plain()).expect("ratings");
    let expect = |i: usize, j: usize| score_of_elo(ratings.players[i].rating - ratings.players[j].rating);
    for i in 0..3 {
        let expected: f64 = (0..3).filter(|&j| j != i).map(|j| 10.0 * expect(i, j)).sum();
        assert!((expected - ratings.players[i].points).abs() < 1e-6);
    }
}

#[test]
fn perfect_scores_are_finite_only_with_virtual_games() {
    let table = [games(0, 1, 0, 0, 20)];
    assert_eq!(rate_pool(2, &table, &plain()), Err(PoolError::NotFinite));
    let ratings = rate_pool(2, &table, &PoolConfig::default()).expect("ratings");
    // 20.5 of 21: 400 log₁₀ 41.
    assert!((ratings.players[1].rating - 400.0 * 41f64.log10()).abs() < 1e-3);
    let tied = rate_pool(2, &[games(0, 1, 0, 5, 0)], &PoolConfig::default()).expect("ratings");
    assert!(tied.players[1].rating.abs() < 1e-9);
}

#[test]
fn invalid_tables_are_rejected() {
    assert_eq!(
        rate_pool(2, &[games(0, 2, 1, 0, 1)], &plain()),
        Err(PoolError::BadIndex(2))
    );
    assert_eq!(
        rate_pool(2, &[games(1, 1, 1, 0, 1)], &plain()),
        Err(PoolError::BadIndex(1))
    );
    assert_eq!(
        rate_pool(3, &[games(0, 1, 1, 0, 1)], &plain()),
        Err(PoolError::Unlinked(2))
    );
    assert_eq!(rate_pool(0, &[], &plain()), Err(PoolError::BadIndex(0)));
}
