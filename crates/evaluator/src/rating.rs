//! Rates many players relative to each other.
//!
//! Bradley and Terry's model (1952) with ties after Davidson (1970): with strengths π and a tie parameter ν, the first
//! player wins with probability π₁ / D, loses with π₂ / D, and ties with ν √(π₁ π₂) / D, where D is the sum of the
//! three numerators. Newton's method on ln π finds the maximum-likelihood strengths; the intervals come from the
//! observed information.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::elo::Z95;
use crate::linear::{Cholesky, Symmetric};

/// Results of one player against another, from the first player's viewpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolGames {
    /// Index of the first player.
    pub first: usize,
    /// Index of the second player.
    pub second: usize,
    /// Games the first player won.
    pub wins: u64,
    /// Number of tied games between the two.
    pub ties: u64,
    /// Games the first player lost.
    pub losses: u64,
}

/// How a pool of players is rated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolConfig {
    /// Players whose ratings are given, by index, with their ratings in Elo; at least one. Usual: player 0 at 0.
    /// Several fix the scale, where one would fix only its zero.
    pub pinned: BTreeMap<usize, f64>,
    /// Games added to every pair of players that have met, half of them won by each. Usual: 1. This keeps the rating of
    /// a player that has won or lost every game finite; larger values pull players that have met closer together. 0
    /// gives the plain maximum-likelihood ratings.
    pub virtual_games: f64,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig {
            pinned: BTreeMap::from([(0, 0.0)]),
            virtual_games: 1.0,
        }
    }
}

/// The ratings of a pool of players.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolRatings {
    /// One rating per player, by player index.
    pub players: Vec<PoolRating>,
    /// Davidson's ν; 0 when no game was tied. Equally strong players tie a share ν / (2 + ν) of their games.
    pub tie_parameter: f64,
}

/// One player's rating with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoolRating {
    /// The rating in Elo, on the scale of the pinned players.
    pub rating: f64,
    /// Lower end of the 95% interval of the difference from the pinned players; a pinned player's own is its rating.
    /// `None` if the results do not bound the rating from below: no chain of players leads from this player to a pinned
    /// one in which each has taken half a point or more from the next.
    pub low: Option<f64>,
    /// Upper end of the 95% interval of the difference from the pinned players. `None` if the results do not bound the
    /// rating from above: no such chain leads from a pinned player to this one.
    pub high: Option<f64>,
    /// Number of games with a result that the player took part in.
    pub games: u64,
    /// Wins plus half the ties.
    pub points: f64,
}

/// Why a pool cannot be rated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// An index is not below the number of players, or a player meets itself.
    #[error("the results contain the invalid player index {0}")]
    BadIndex(usize),
    /// No player's rating is pinned.
    #[error("no player has a given rating")]
    NothingPinned,
    /// No chain of games links this player to a pinned one.
    #[error("no chain of games links player {0} to one with a given rating")]
    Unlinked(usize),
    /// Without virtual games, some player has no finite rating because it has won or lost every game.
    #[error("the results have no finite ratings; allow virtual games")]
    NotFinite,
}

/// Rates `players` players from their results.
///
/// # Errors
/// See [`PoolError`].
pub fn rate_pool(players: usize, games: &[PoolGames], config: &PoolConfig) -> Result<PoolRatings, PoolError> {
    check(players, games, config)?;
    let mut model = Model::new(players, games, config);
    let information = model.fit().ok_or(PoolError::NotFinite)?;
    let taken_from = reach(players, games, config, |taker, giver| (taker, giver));
    let takes_from = reach(players, games, config, |taker, giver| (giver, taker));
    let rating = |player: usize| {
        let rating = ELO * model.strength(player);
        let spread = match model.places[player] {
            Place::Free(place) => ELO * Z95 * information.inverse_diagonal(place).sqrt(),
            Place::Pinned(_) => 0.0,
        };
        let (games, points) = played(games, player);
        PoolRating {
            rating,
            low: takes_from[player].then_some(rating - spread),
            high: taken_from[player].then_some(rating + spread),
            games,
            points,
        }
    };
    Ok(PoolRatings {
        players: (0..players).map(rating).collect(),
        tie_parameter: model.tie_parameter(),
    })
}

/// Elo per unit of ln π.
const ELO: f64 = 400.0 / std::f64::consts::LN_10;

fn check(players: usize, games: &[PoolGames], config: &PoolConfig) -> Result<(), PoolError> {
    for game in games {
        if game.first == game.second {
            return Err(PoolError::BadIndex(game.first));
        }
        if let Some(&bad) = [game.first, game.second].iter().find(|&&player| player >= players) {
            return Err(PoolError::BadIndex(bad));
        }
    }
    let mut linked = vec![false; players];
    for &pinned in config.pinned.keys() {
        *linked.get_mut(pinned).ok_or(PoolError::BadIndex(pinned))? = true;
    }
    if config.pinned.is_empty() {
        return Err(PoolError::NothingPinned);
    }
    for _ in 0..players {
        for game in games.iter().filter(|game| game.wins + game.ties + game.losses > 0) {
            let either = linked[game.first] || linked[game.second];
            (linked[game.first], linked[game.second]) = (either, either);
        }
    }
    linked
        .iter()
        .position(|&linked| !linked)
        .map_or(Ok(()), |player| Err(PoolError::Unlinked(player)))
}

/// The players at the end of some chain of steps from a pinned player. `step` turns a player that has taken points and
/// the one it took them from into the start and the end of a step.
///
/// If a set of players won all their games against everyone else, the likelihood of the results does not fall when
/// their ratings rise together. A rating therefore needs such a chain to be bounded.
fn reach(
    players: usize,
    games: &[PoolGames],
    config: &PoolConfig,
    step: fn(usize, usize) -> (usize, usize),
) -> Vec<bool> {
    let steps = games.iter().flat_map(|game| {
        let firsts = (game.wins + game.ties > 0).then(|| step(game.first, game.second));
        let seconds = (game.losses + game.ties > 0).then(|| step(game.second, game.first));
        [firsts, seconds].into_iter().flatten()
    });
    let steps: Vec<(usize, usize)> = steps.collect();
    let mut reached: Vec<bool> = (0..players).map(|player| config.pinned.contains_key(&player)).collect();
    for _ in 0..players {
        for &(from, to) in &steps {
            reached[to] |= reached[from];
        }
    }
    reached
}

fn played(games: &[PoolGames], player: usize) -> (u64, f64) {
    let mut sum = (0, 0.0);
    for game in games
        .iter()
        .filter(|game| game.first == player || game.second == player)
    {
        let wins = if game.first == player { game.wins } else { game.losses };
        sum.0 += game.wins + game.ties + game.losses;
        sum.1 += wins as f64 + game.ties as f64 / 2.0;
    }
    sum
}

/// The source of a player's ln π.
enum Place {
    /// Given, relative to the player rated 0.
    Pinned(f64),
    /// The parameter at this index.
    Free(usize),
}

/// The parameters are ln π of every player that is not pinned, followed by ln ν if there are ties.
struct Model<'a> {
    games: &'a [PoolGames],
    virtual_games: f64,
    places: Vec<Place>,
    parameters: Vec<f64>,
    /// Number of players that are not pinned.
    strengths: usize,
}

impl Model<'_> {
    fn new<'a>(players: usize, games: &'a [PoolGames], config: &PoolConfig) -> Model<'a> {
        let mut strengths = 0;
        let place = |player: usize| match config.pinned.get(&player) {
            Some(rating) => Place::Pinned(rating / ELO),
            None => {
                strengths += 1;
                Place::Free(strengths - 1)
            }
        };
        let places = (0..players).map(place).collect();
        // The fit starts from the mean of the pinned players.
        let start = config.pinned.values().sum::<f64>() / ELO / config.pinned.len() as f64;
        let mut parameters = vec![start; strengths];
        if games.iter().any(|game| game.ties > 0) {
            parameters.push(0.0);
        }
        Model {
            games,
            virtual_games: config.virtual_games,
            places,
            parameters,
            strengths,
        }
    }

    /// The index of a player's parameter; `None` for a pinned player.
    fn place(&self, player: usize) -> Option<usize> {
        match self.places[player] {
            Place::Free(place) => Some(place),
            Place::Pinned(_) => None,
        }
    }

    fn strength(&self, player: usize) -> f64 {
        match self.places[player] {
            Place::Free(place) => self.parameters[place],
            Place::Pinned(strength) => strength,
        }
    }

    fn tie_parameter(&self) -> f64 {
        self.parameters.get(self.strengths).map_or(0.0, |log| log.exp())
    }

    /// Runs Newton's method with bounded steps and returns the information at the maximum; `None` if it does not
    /// converge.
    fn fit(&mut self) -> Option<Cholesky> {
        const LONGEST_STEP: f64 = 1.0;
        for _ in 0..200 {
            let (gradient, information) = self.derivatives();
            let information = information.cholesky()?;
            let step = information.solve(&gradient);
            let longest = step.iter().fold(0.0, |longest: f64, step| longest.max(step.abs()));
            let scale = (LONGEST_STEP / longest).min(1.0);
            self.parameters
                .iter_mut()
                .zip(&step)
                .for_each(|(parameter, step)| *parameter += scale * step);
            if longest < 1e-10 {
                return Some(information);
            }
        }
        None
    }

    /// The gradient of the log-likelihood and the negative second derivatives.
    fn derivatives(&self) -> (Vec<f64>, Symmetric) {
        let side = self.parameters.len();
        let (mut gradient, mut information) = (vec![0.0; side], Symmetric::zero(side));
        let tie_place = (side > self.strengths).then_some(self.strengths);
        for game in self.games.iter().filter(|game| game.wins + game.ties + game.losses > 0) {
            let extra = self.virtual_games / 2.0;
            let (wins, ties, losses) = (game.wins as f64 + extra, game.ties as f64, game.losses as f64 + extra);
            let total = wins + ties + losses;
            let half = (self.strength(game.first) - self.strength(game.second)) / 2.0;
            let (up, down, nu) = (half.exp(), (-half).exp(), self.tie_parameter());
            let (win, loss, tie) = (up / (up + down + nu), down / (up + down + nu), nu / (up + down + nu));
            let slope = (wins - losses - total * (win - loss)) / 2.0;
            let curve = total / 4.0 * (win + loss - (win - loss).powi(2));
            let (first, second) = (self.place(game.first), self.place(game.second));
            for (place, sign) in [(first, 1.0), (second, -1.0)] {
                let Some(place) = place else { continue };
                gradient[place] += sign * slope;
                information.add(place, place, curve);
                if let Some(tied) = tie_place {
                    information.add(tied, place, -sign * total / 2.0 * (win - loss) * tie);
                }
            }
            if let (Some(first), Some(second)) = (first, second) {
                information.add(first, second, -curve);
            }
            if let Some(tied) = tie_place {
                gradient[tied] += ties - total * tie;
                information.add(tied, tied, total * tie * (1.0 - tie));
            }
        }
        (gradient, information)
    }
}
