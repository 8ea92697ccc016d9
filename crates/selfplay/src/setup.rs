//! The start of a game: its board, random plies and komi.

use tengen_rng::{self as rng, Rng};
use tengen_rules::{Komi, Move, Position, Size};

use crate::config::{BookShare, KomiConfig, OpeningConfig, Settings};
use crate::forks::EarlierGames;
use crate::komi_search::KomiSearch;

/// The komi of a new game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KomiPlan {
    /// The komi is known.
    Known(Komi),
    /// The komi will be the network's expected margin for the opening position plus an offset.
    AroundNetwork {
        /// The offset in points.
        offset: f64,
    },
    /// The komi will give Black this chance of winning, as the network sees the opening position.
    ByChance(KomiSearch),
}

/// Draws the board size of a game from the boards in play after this many self-play positions.
pub(crate) fn draw_size(settings: &Settings, positions: u64, rng: &mut Rng) -> Size {
    let boards = settings.config.boards.iter().zip(&settings.sizes);
    let played = boards.filter(|(board, _)| board.is_played_at(positions));
    let total: f64 = played.clone().map(|(board, _)| board.share).sum();
    let mut rest = rng::unit_f64(rng);
    let mut drawn = settings.sizes[0];
    for (board, &size) in played {
        drawn = size;
        rest -= board.share / total;
        if rest < 0.0 {
            break;
        }
    }
    drawn
}

/// Plays the first plies of a game that are not searched, on an empty board; returns their number.
pub(crate) fn play_opening(
    config: &OpeningConfig,
    earlier: &EarlierGames,
    position: &mut Position,
    rng: &mut Rng,
) -> u16 {
    // Without forks, draw nothing, so that games stay the same as before forks were added.
    if config.fork_share > 0.0 && rng::unit_f64(rng) < config.fork_share {
        let plies = play_fork(config, earlier, position, rng);
        if plies > 0 {
            return plies;
        }
    }
    for book in &config.books {
        if rng::unit_f64(rng) < book.share {
            let plies = play_line(book, position, rng);
            if plies > 0 {
                return plies;
            }
        }
    }
    play_random_opening(config, earlier, position, rng)
}

/// Plays up to a position of an earlier game on an empty board; returns the number of plies, 0 if there is none.
fn play_fork(config: &OpeningConfig, earlier: &EarlierGames, position: &mut Position, rng: &mut Rng) -> u16 {
    if config.surprise_share > 0.0 && rng::unit_f64(rng) < config.surprise_share {
        let plies = earlier.play_to_surprise(position, rng);
        if plies > 0 {
            return plies;
        }
    }
    earlier.play_into(position, rng)
}

/// Plays one of the book's lines for this board on an empty board; returns its number of plies, 0 if there is none.
fn play_line(book: &BookShare, position: &mut Position, rng: &mut Rng) -> u16 {
    let fitting = book.lines.iter().filter(|(size, _)| *size == position.size());
    let lines: Vec<&Vec<Move>> = fitting.map(|(_, line)| line).collect();
    if lines.is_empty() {
        return 0;
    }
    let line = lines[rng::below(rng, lines.len())];
    play_while_possible(line.iter().copied(), position)
}

/// Plays these moves up to the first that is illegal or would end the game; returns the number of plies.
pub(crate) fn play_while_possible(moves: impl Iterator<Item = Move>, position: &mut Position) -> u16 {
    for mv in moves {
        if position.try_play(mv).is_err() {
            break;
        }
        if position.is_over() {
            position.undo();
            break;
        }
    }
    u16::try_from(position.ply()).unwrap_or(u16::MAX)
}

/// Plays the random plies of a game, if it has any, on an empty board, after those of an earlier game; returns the
/// number of all.
fn play_random_opening(config: &OpeningConfig, earlier: &EarlierGames, position: &mut Position, rng: &mut Rng) -> u16 {
    if config.max_random_plies == 0 || rng::unit_f64(rng) >= config.random_share {
        return 0;
    }
    if config.earlier_plies > 0 {
        earlier.play_at_most(config.earlier_plies, position, rng);
    }
    let count = 1 + rng::below(rng, config.max_random_plies as usize);
    let mut played = 0;
    while played < count {
        let Some(mv) = random_move(position, rng) else { break };
        position.play_unchecked(mv);
        if position.is_over() {
            // A long cycle has tied the game.
            position.undo();
            break;
        }
        played += 1;
    }
    u16::try_from(position.ply()).unwrap_or(u16::MAX)
}

/// A uniformly random legal move that does not end the game; `None` if there is no such move.
fn random_move(position: &Position, rng: &mut Rng) -> Option<Move> {
    let plays = position.legal_points();
    let pass_ends = position.consecutive_passes() > 0;
    let count = plays.len() + usize::from(!pass_ends);
    if count == 0 {
        return None;
    }
    let rank = rng::below(rng, count);
    Some(plays.nth(rank).map_or(Move::Pass, Move::Play))
}

/// Draws the komi of a game: usually near the fair value, sometimes anywhere.
///
/// `fair` is the fair komi of the empty board in points; after an opening, the network's estimate is used instead.
pub(crate) fn draw_komi(config: &KomiConfig, size: Size, opening_plies: u16, fair: f64, rng: &mut Rng) -> KomiPlan {
    if let (Some(least), None, 1..) = (config.least_chance, config.fixed_fair, opening_plies) {
        let chance = least + (1.0 - 2.0 * least) * rng::unit_f64(rng);
        return KomiPlan::ByChance(KomiSearch::new(size, chance));
    }
    if rng::unit_f64(rng) < config.uniform_share {
        let span = 2 * size.area();
        let half_points = rng::below(rng, 2 * span + 1) as i32 - span as i32;
        return KomiPlan::Known(Komi::from_half_points(half_points as i16));
    }
    let offset = config.spread * rng::normal(rng);
    match (config.fixed_fair, opening_plies) {
        (Some(fixed), _) => KomiPlan::Known(rounded(size, fixed + offset)),
        (None, 0) => KomiPlan::Known(rounded(size, fair + offset)),
        (None, _) => KomiPlan::AroundNetwork { offset },
    }
}

/// The komi closest to a number of points, at most plus or minus the number of points of the board.
pub(crate) fn rounded(size: Size, points: f64) -> Komi {
    let limit = size.area() as f64;
    Komi::from_half_points((2.0 * points.clamp(-limit, limit)).round() as i16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BoardShare, SelfPlayConfig};

    #[test]
    fn random_openings_have_the_configured_share_and_never_end_the_game() {
        let config = OpeningConfig {
            random_share: 0.3,
            ..OpeningConfig::default()
        };
        let none = EarlierGames::default();
        let mut rng = rng::stream(1, &[]);
        let mut counts = [0u32; 5];
        let mut passes = 0;
        for _ in 0..4000 {
            let mut position = Position::new(Size::square(2).unwrap());
            let plies = play_random_opening(&config, &none, &mut position, &mut rng);
            assert_eq!(position.ply(), usize::from(plies));
            assert!(!position.is_over());
            passes += position.moves().iter().filter(|&&mv| mv == Move::Pass).count();
            counts[usize::from(plies)] += 1;
        }
        assert!((2700..2900).contains(&counts[0]), "{counts:?}");
        assert!(counts[1..].iter().all(|&n| (240..360).contains(&n)), "{counts:?}");
        assert!(passes > 100, "random plies include passes");
        let mut single = Position::new(Size::square(1).unwrap());
        let config = OpeningConfig {
            random_share: 1.0,
            ..OpeningConfig::default()
        };
        assert_eq!(
            play_random_opening(&config, &none, &mut single, &mut rng),
            1,
            "a second pass would end the game"
        );
    }

    #[test]
    fn komi_is_drawn_near_the_fair_value_or_uniformly() {
        let config = KomiConfig::default();
        let size = Size::square(5).unwrap();
        let mut rng = rng::stream(2, &[]);
        let mut near = 0;
        for _ in 0..4000 {
            let KomiPlan::Known(komi) = draw_komi(&config, size, 0, 10.0, &mut rng) else {
                panic!("without random plies the komi is known");
            };
            assert!((-50..=50).contains(&komi.half_points()));
            near += u32::from((komi.points() - 10.0).abs() <= 6.0);
        }
        let expected = 4000.0 * (0.8 * 0.958 + 0.2 * 25.0 / 101.0);
        assert!(
            (f64::from(near) - expected).abs() < 120.0,
            "{near} near, {expected} expected"
        );
        assert_eq!(rounded(size, 7.26).half_points(), 15);
        assert_eq!(rounded(size, 99.0).half_points(), 50);
    }

    #[test]
    fn a_fixed_komi_without_spread_is_the_komi_of_every_game() {
        let config = KomiConfig {
            uniform_share: 0.0,
            spread: 0.0,
            fixed_fair: Some(7.5),
            least_chance: Some(0.2),
        };
        let size = Size::square(9).unwrap();
        let mut rng = rng::stream(5, &[]);
        for opening_plies in [0, 1, 8] {
            let KomiPlan::Known(komi) = draw_komi(&config, size, opening_plies, -3.0, &mut rng) else {
                panic!("a fixed komi needs no network");
            };
            assert_eq!(komi.half_points(), 15);
        }
    }

    #[test]
    fn boards_are_drawn_by_share() {
        let boards = vec![BoardShare::always("3x3", 1.0), BoardShare::always("5x4", 3.0)];
        let settings = Settings::new(&SelfPlayConfig {
            boards,
            ..SelfPlayConfig::default()
        })
        .unwrap();
        let mut rng = rng::stream(3, &[]);
        let small = (0..1000)
            .filter(|_| draw_size(&settings, 0, &mut rng).area() == 9)
            .count();
        assert!((200..300).contains(&small), "{small}");
    }

    #[test]
    fn boards_come_and_go_with_the_positions_played() {
        let board = |size: &str, share, from, until| BoardShare {
            from,
            until,
            ..BoardShare::always(size, share)
        };
        let boards = vec![
            board("9x9", 1.0, 100, None),
            board("5x5", 1.0, 0, Some(200)),
            board("7x7", 2.0, 100, Some(200)),
        ];
        let settings = Settings::new(&SelfPlayConfig {
            boards,
            ..SelfPlayConfig::default()
        })
        .unwrap();
        let mut rng = rng::stream(4, &[]);
        let mut share_of = |positions| {
            let drawn: Vec<_> = (0..1000).map(|_| draw_size(&settings, positions, &mut rng)).collect();
            [5, 7, 9].map(|side| drawn.iter().filter(|size| size.width() == side).count())
        };
        assert_eq!(share_of(99), [1000, 0, 0]);
        let [five, seven, nine] = share_of(100);
        assert!(
            (200..300).contains(&five) && (450..550).contains(&seven),
            "{five}, {seven}, {nine}"
        );
        assert_eq!(share_of(200), [0, 0, 1000]);
    }
}
