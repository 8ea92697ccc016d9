//! Watches the newest games for signs that self-play no longer looks like Go. Runs of other programs have learned to
//! pass at once or gone blind off their own lines.

use std::collections::{BTreeSet, VecDeque};

use tengen_records::{EndReason, GameRecord};
use tengen_rules::Move;

/// Number of newest games from which the shares are computed.
const GAMES: usize = 256;

/// Games before the first warning: a random network passes early in a quarter of its first games.
const FIRST_GAMES: u64 = 1024;

/// Plies that make an opening.
const OPENING: usize = 10;

/// Smaller boards are too small for these signs: good games on them are short and alike.
const SMALLEST_AREA: usize = 25;

/// What the newest games look like; shares are 0 to 1, and NaN without games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signs {
    /// Passes among all plies played by the network, without the two that end a game.
    pub passes: f64,
    /// Games that two passes ended within a third of the board's area in plies.
    pub early_ends: f64,
    /// Games that reached the ply limit.
    pub unfinished: f64,
    /// Mean length in areas of the board.
    pub length: f64,
    /// Distinct first ten plies among the games that chose at least one of them themselves.
    pub openings: f64,
}

/// Whether the signs are alarming, and the warning in that case.
type Alarm = (fn(&Signs) -> bool, fn(&Signs) -> String);

/// Healthy runs of 5x5 and 9x9 had at most 9% passes, 8% early ends, 6% unfinished games, lengths of 1.3 to 2.1 areas,
/// and at least 67% distinct openings on 5x5, 99% on 9x9. Without noise but with random plies in half of the games, 5x5
/// had 45%.
const ALARMS: [Alarm; 6] = [
    (
        |signs| signs.passes > 0.25,
        |signs| {
            format!(
                "{:.0}% of the moves of self-play are passes before the end: the network may be learning to pass; \
                 raise selfplay.search.margin_share or selfplay.opening.random_share",
                100.0 * signs.passes
            )
        },
    ),
    (
        |signs| signs.early_ends > 0.3,
        |signs| {
            format!(
                "{:.0}% of the games of self-play end by two early passes: the network is learning to pass at once; \
                 widen selfplay.komi.spread or raise selfplay.opening.random_share",
                100.0 * signs.early_ends
            )
        },
    ),
    (
        |signs| signs.unfinished > 0.2,
        |signs| {
            format!(
                "{:.0}% of the games of self-play reach the ply limit without a result: raise \
                 selfplay.ply_limit_areas or selfplay.search.margin_share, or set selfplay.end_when_settled",
                100.0 * signs.unfinished
            )
        },
    ),
    (
        |signs| signs.length > 3.0,
        |signs| {
            format!(
                "games of self-play last {:.1} times the area of the board: players fill their own territory; raise \
                 selfplay.search.margin_share",
                signs.length
            )
        },
    ),
    (
        |signs| signs.length < 0.5,
        |signs| {
            format!(
                "games of self-play last only {:.1} times the area of the board: players end them before anything is \
                 decided; widen selfplay.komi.spread or raise selfplay.opening.random_share",
                signs.length
            )
        },
    ),
    (
        |signs| signs.openings < 0.35,
        |signs| {
            format!(
                "only {:.0}% of the games of self-play differ in their first {OPENING} plies: the network sees little \
                 but its own lines; raise selfplay.opening.random_share or max_random_plies",
                100.0 * signs.openings
            )
        },
    ),
];

/// The newest games, and which alarms were raised.
#[derive(Default)]
pub struct Health {
    games: VecDeque<Facts>,
    seen: u64,
    warned: [bool; ALARMS.len()],
}

/// What is kept about a game.
struct Facts {
    area: usize,
    /// Plies played by the network, without two final passes.
    plies: usize,
    passes: usize,
    /// All plies.
    length: usize,
    early_end: bool,
    unfinished: bool,
    /// The first plies; `None` if the game did not choose them itself.
    opening: Option<Vec<Move>>,
}

impl Facts {
    fn of(game: &GameRecord) -> Facts {
        let area = game.size.area();
        let own = &game.plies[usize::from(game.opening_plies).min(game.plies.len())..];
        let two_passes = game.end_reason == EndReason::TwoPasses;
        let played = &own[..own.len().saturating_sub(if two_passes { 2 } else { 0 })];
        Facts {
            area,
            plies: played.len(),
            passes: played.iter().filter(|ply| ply.mv == Move::Pass).count(),
            length: game.plies.len(),
            early_end: two_passes && 3 * game.plies.len() < area,
            unfinished: game.end_reason == EndReason::PlyLimit,
            opening: (usize::from(game.opening_plies) < OPENING)
                .then(|| game.plies.iter().take(OPENING).map(|ply| ply.mv).collect()),
        }
    }
}

impl Health {
    /// Records a game that has just ended. Returns new warnings; each is given once.
    pub fn take(&mut self, game: &GameRecord) -> Vec<String> {
        if game.size.area() < SMALLEST_AREA {
            return Vec::new();
        }
        self.seen += 1;
        self.games.push_back(Facts::of(game));
        if self.games.len() > GAMES {
            self.games.pop_front();
        }
        // The signs change slowly, so most games need no check.
        if self.seen < FIRST_GAMES || !self.seen.is_multiple_of(GAMES as u64 / 4) {
            return Vec::new();
        }
        let signs = self.signs();
        let mut warnings = Vec::new();
        for ((is_alarming, words), warned) in ALARMS.iter().zip(&mut self.warned) {
            if !*warned && is_alarming(&signs) {
                *warned = true;
                warnings.push(format!("warning: {}", words(&signs)));
            }
        }
        warnings
    }

    /// What the newest games look like.
    pub fn signs(&self) -> Signs {
        let count = self.games.len() as f64;
        let share = |is: fn(&Facts) -> bool| self.games.iter().filter(|game| is(game)).count() as f64 / count;
        let sum = |figure: fn(&Facts) -> f64| self.games.iter().map(figure).sum::<f64>();
        let openings: Vec<&Vec<Move>> = self.games.iter().filter_map(|game| game.opening.as_ref()).collect();
        let distinct: BTreeSet<&&Vec<Move>> = openings.iter().collect();
        Signs {
            passes: sum(|game| game.passes as f64) / sum(|game| game.plies as f64),
            early_ends: share(|game| game.early_end),
            unfinished: share(|game| game.unfinished),
            length: sum(|game| game.length as f64 / game.area as f64) / count,
            openings: distinct.len() as f64 / openings.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rng::fold;
    use tengen_testing::random_games;

    /// The warnings about many games like these.
    fn warnings(games: &mut dyn FnMut(u64) -> GameRecord) -> Vec<String> {
        let mut health = Health::default();
        (0..2 * FIRST_GAMES)
            .flat_map(|number| health.take(&games(number)))
            .collect()
    }

    fn pass_after(mut game: GameRecord, plies: usize) -> GameRecord {
        game.plies.truncate(plies);
        let mut pass = game.plies[0].clone();
        pass.mv = Move::Pass;
        game.plies.extend([pass.clone(), pass]);
        game.end_reason = EndReason::TwoPasses;
        game
    }

    #[test]
    fn usual_games_raise_no_alarm() {
        let games = random_games(5, 300);
        assert_eq!(
            warnings(&mut |number| games[number as usize % 300].clone()),
            Vec::<String>::new()
        );
    }

    #[test]
    fn every_sign_is_told_once() {
        let games = random_games(5, 300);
        let of = |number: u64| games[number as usize % 300].clone();
        let told = warnings(&mut |number| pass_after(of(number), 4));
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].contains("100% of the games of self-play end by two early passes"),
            "{told:?}"
        );
        assert!(told[1].contains("last only 0.2 times the area"), "{told:?}");
        let told = warnings(&mut |number| pass_after(of(number), 10));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("last only 0.5 times the area"), "{told:?}");
        let told = warnings(&mut |number| {
            let mut game = of(number);
            let plies = game.plies.clone();
            game.plies.extend(plies.iter().cloned().cycle().take(80));
            game
        });
        assert!(
            told[0].contains("times the area of the board: players fill"),
            "{told:?}"
        );
        let told = warnings(&mut |_| GameRecord {
            opening_plies: 0,
            ..of(1)
        });
        assert!(told[0].contains("0% of the games of self-play differ"), "{told:?}");
        let told = warnings(&mut |number| GameRecord {
            end_reason: EndReason::PlyLimit,
            ..of(number)
        });
        assert!(told[0].contains("reach the ply limit"), "{told:?}");
        let told = warnings(&mut |number| {
            let mut game = of(number);
            for (ply, record) in game.plies.iter_mut().enumerate() {
                if fold(number, &[ply as u64]).is_multiple_of(3) {
                    record.mv = Move::Pass;
                }
            }
            game
        });
        assert!(told[0].contains("are passes before the end"), "{told:?}");
    }

    #[test]
    fn forks_raise_no_alarm() {
        let games = random_games(5, 300);
        // Nine of ten games go on from the same position near the end of a game.
        let told = warnings(&mut |number| {
            let parent = &games[0];
            match number % 10 {
                0 => games[number as usize % 300].clone(),
                _ => GameRecord {
                    opening_plies: u16::try_from(parent.plies.len() - 4).expect("a short game"),
                    ..parent.clone()
                },
            }
        });
        assert_eq!(told, Vec::<String>::new());
    }

    #[test]
    fn tiny_boards_are_left_alone() {
        let games = random_games(3, 10);
        assert_eq!(warnings(&mut |_| games[1].clone()), Vec::<String>::new());
    }
}
