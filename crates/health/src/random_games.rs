//! Tests whether the network can still judge positions that it would never reach itself. Networks of other programs
//! went blind outside their own lines. The ends of random games are a simple test: little is left to play for, but no
//! trained player would get there.

use tengen_encoding::Sample;
use tengen_evaluator::{Answer, Player, RandomPlayer, Turn};
use tengen_records::{EndReason, GameKind, GameRecord, PlyRecord};
use tengen_rng as rng;
use tengen_rules::{Komi, Position, Rules, Setup, Size};
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};

use crate::predictions::Alarm;

/// Games per board size.
const GAMES: usize = 32;

/// Positions per game: the last ones.
const POSITIONS: usize = 8;

/// Maximum number of plies per point of the board; random games end long before.
const MAX_AREAS: usize = 8;

/// Training steps before the first warning: every network is blind at first.
const MIN_STEP: u64 = 1000;

/// The mean Brier score from which the network counts as blind: that of a coin toss.
const WARN_FROM: f64 = 0.25;

/// The last positions of random games on each board.
pub struct RandomGames(Vec<(Size, SampleSource)>);

impl RandomGames {
    /// Random games on these boards; the same for the same seed.
    ///
    /// # Errors
    /// If a record cannot become samples, which would be a bug.
    pub fn new(sizes: &[Size], rules: Rules, seed: u64) -> anyhow::Result<RandomGames> {
        let of_board = |&size: &Size| {
            let games: Vec<GameRecord> = (0..GAMES as u64)
                .map(|number| random_game(size, rules, rng::fold(seed, &[size.area() as u64, number])))
                .collect::<Result<_, _>>()?;
            let scored: Vec<GameRecord> = games
                .into_iter()
                .filter(|game| game.score_half_points.is_some())
                .collect();
            let mut source = SampleSource::new(SampleConfig::default());
            source.add_games(&size.to_string(), &scored)?;
            Ok((size, source))
        };
        Ok(RandomGames(sizes.iter().map(of_board).collect::<anyhow::Result<_>>()?))
    }

    /// About `count` positions, equally many from each of these boards.
    pub fn draw(&self, boards: &[Size], count: usize, seed: u64, symmetry: SymmetryMode) -> Vec<Sample> {
        let asked = self.0.iter().filter(|(size, _)| boards.contains(size));
        asked
            .filter_map(|(_, source)| source.draw_samples(count.div_ceil(boards.len()), seed, symmetry))
            .flatten()
            .collect()
    }
}

fn random_game(size: Size, rules: Rules, seed: u64) -> anyhow::Result<GameRecord> {
    let mut position = Position::with_rules(size, rules);
    let komi = Komi::from_half_points(1);
    let mut player = RandomPlayer::new(None);
    let mut moves = Vec::new();
    while !position.is_over() && moves.len() < MAX_AREAS * size.area() {
        let turn = Turn {
            slot: 0,
            game: 0,
            seed,
            position: &position,
            komi,
        };
        let Some(Answer::Play(choice)) = player.choose(&[turn])?.pop() else {
            break;
        };
        position.try_play(choice.mv)?;
        moves.push(choice.mv);
    }
    let asked_from = moves.len().saturating_sub(POSITIONS);
    let ply = |(number, &mv): (usize, _)| PlyRecord {
        weight: if number >= asked_from { 1.0 } else { 0.0 },
        ..PlyRecord::bare(mv)
    };
    let mut game = GameRecord {
        game_id: format!("random-{seed:016x}"),
        size,
        rules: rules.to_string(),
        komi,
        score_half_points: None,
        seed: seed.cast_signed(),
        black_model: "random".to_owned(),
        white_model: "random".to_owned(),
        config_id: String::new(),
        start_time_ms: 0,
        end_reason: EndReason::PlyLimit,
        kind: GameKind::Match,
        opening_plies: 0,
        setup: Setup::EVEN,
        plies: moves.iter().enumerate().map(ply).collect(),
        ownership: Vec::new(),
        origin: None,
    };
    game.set_end(&position, EndReason::PlyLimit);
    Ok(game)
}

/// Watches the Brier score on random games, and warns once if it stays as bad as that of a coin toss.
#[derive(Debug, Default)]
pub(crate) struct Blindness {
    brier: Alarm,
}

impl Blindness {
    /// Records the Brier score at a training step. Returns a warning the first time that the mean is too high.
    pub(crate) fn look(&mut self, step: u64, brier: f64) -> Option<String> {
        if !brier.is_finite() || !self.brier.rings(brier, step < MIN_STEP, WARN_FROM) {
            return None;
        }
        Some(format!(
            "warning: at the end of random games the network is no better at telling who wins than a coin (Brier score \
             {:.2}): it may have gone blind outside its own lines; raise selfplay.opening.random_share or \
             max_random_plies",
            self.brier.mean
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn random_games_end_and_only_their_ends_are_asked() {
        let sizes = [Size::square(5).expect("a board"), Size::square(7).expect("a board")];
        let games = RandomGames::new(&sizes, Rules::tromp_taylor(), 1).expect("games");
        let scored: Vec<usize> = games.0.iter().map(|(_, source)| source.games()).collect();
        assert_eq!(scored, [GAMES, GAMES], "every game ended and was scored");
        let samples = games.draw(&sizes, 8192, 5, SymmetryMode::Canonical);
        assert_eq!(samples.len(), 8192);
        let distinct: BTreeSet<String> = samples.iter().map(|sample| format!("{sample:?}")).collect();
        let asked = 2 * GAMES * POSITIONS;
        assert!(
            (asked / 2..=asked).contains(&distinct.len()),
            "{} of {asked}",
            distinct.len()
        );
        let draw = |games: &RandomGames, boards| games.draw(boards, 64, 5, SymmetryMode::Canonical);
        let again = RandomGames::new(&sizes, Rules::tromp_taylor(), 1).expect("games");
        assert_eq!(
            draw(&games, &sizes),
            draw(&again, &sizes),
            "the same seed gives the same games"
        );
        let small = RandomGames::new(&sizes[..1], Rules::tromp_taylor(), 1).expect("games");
        assert_eq!(
            draw(&games, &sizes[..1]),
            draw(&small, &sizes[..1]),
            "only on the boards asked for"
        );
    }

    #[test]
    fn a_network_that_stays_blind_is_told_once() {
        let warnings = |scores: &[f64]| {
            let mut blindness = Blindness::default();
            let mut steps = (0..).step_by(400);
            let mut look = |score| blindness.look(steps.next().expect("steps"), score);
            scores.iter().filter(|&&score| look(score).is_some()).count()
        };
        assert_eq!(warnings(&[0.4; 40]), 1);
        assert_eq!(warnings(&[0.4; 3]), 0, "a young network may be blind");
        assert_eq!(warnings(&[0.4; 4]), 1);
        assert_eq!(warnings(&[0.05; 40]), 0);
        assert_eq!(warnings(&[f64::NAN; 40]), 0);
        let mut one_bad = [0.05; 40];
        one_bad[20] = 0.9;
        assert_eq!(warnings(&one_bad), 0, "one look proves nothing");
    }
}
