//! The result of a tournament: ratings of all players and a row for every pairing.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Serialize;

use tengen_evaluator::{MatchConfig, MatchResult, PoolConfig, PoolError, PoolGames, WinTieLoss, rate_pool};

use crate::tournament::Entrant;

/// The match between two players of a tournament.
pub struct Pairing {
    /// Indexes of A and B among the players.
    pub players: [usize; 2],
    /// The match's name in the store.
    pub match_id: Option<String>,
    /// The games and the statistics derived from them.
    pub result: MatchResult,
}

/// All results of a tournament.
#[derive(Debug, Serialize)]
pub struct Standing {
    /// The board.
    pub size: String,
    /// Points for White.
    pub komi: String,
    /// Settings of every match.
    pub config: MatchConfig,
    /// The players in the order they were given, models oldest first.
    pub players: Vec<Row>,
    /// Davidson's tie parameter: players of equal strength tie a share ν / (2 + ν) of their games.
    pub tie_parameter: f64,
    /// Games with a result.
    pub games: u64,
    /// Games lost because of a fault.
    pub faults: usize,
    /// Whether the tournament was stopped early.
    pub stopped: bool,
    /// All matches played.
    pub pairings: Vec<PairingRow>,
}

/// A player's rating and its basis.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The player's name in its games.
    pub name: String,
    /// The player as given on the command line.
    pub player: String,
    /// Elo on the scale of the players with a given rating, or relative to the first player if no rating is given;
    /// `None` if no chain of games links this player to those.
    pub elo: Option<f64>,
    /// Lower end of the 95% interval of the difference to those players; `None` if the games do not bound it.
    pub elo_low: Option<f64>,
    /// Upper end of the 95% interval; `None` if the games do not bound it.
    pub elo_high: Option<f64>,
    /// Games with a result.
    pub games: u64,
    /// Wins plus half the ties.
    pub points: f64,
    /// For models of a run: network evaluations of self-play since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluations: Option<u64>,
    /// Self-play games since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selfplay_games: Option<u64>,
    /// CPU seconds since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Seconds of GPU use since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_seconds: Option<f64>,
    /// Whether the rating was given, instead of measured.
    pub pinned: bool,
    /// The run's model behind the player, if it is one.
    #[serde(skip)]
    pub model_id: Option<String>,
}

/// The result of one match.
#[derive(Debug, Serialize)]
pub struct PairingRow {
    /// Name of player A.
    pub a: String,
    /// Name of player B.
    pub b: String,
    /// Indexes of A and B among the players.
    pub players: [usize; 2],
    /// The match's name in the store.
    pub match_id: Option<String>,
    /// Games with a result.
    pub games: usize,
    /// Games that A won.
    pub wins: u64,
    /// Tied games.
    pub ties: u64,
    /// Games that A lost.
    pub losses: u64,
    /// A's wins plus half the ties.
    pub a_points: f64,
    /// B's wins plus half the ties.
    pub b_points: f64,
    /// Elo of A relative to B from this match alone.
    pub elo: f64,
    /// Lower end of its 95% interval; `None` if A lost every game, which does not bound it.
    pub elo_low: Option<f64>,
    /// Upper end of its 95% interval; `None` if A won every game.
    pub elo_high: Option<f64>,
    /// Games lost because of a fault.
    pub faults: usize,
}

impl Standing {
    /// Rates the players from all matches together.
    pub fn of(
        config: &MatchConfig,
        entrants: &[Entrant],
        pairings: Vec<Pairing>,
        stopped: bool,
    ) -> anyhow::Result<Standing> {
        let names = names(entrants, &pairings);
        let pool: Vec<PoolGames> = pairings.iter().map(pool_games).collect();
        let rows: Vec<PairingRow> = pairings
            .into_iter()
            .map(|pairing| pairing_row(pairing, &names))
            .collect();
        let rated = match rate_pool(entrants.len(), &pool, &scale(entrants)) {
            Ok(rated) => Some(rated),
            Err(PoolError::Unlinked(_)) if stopped => None,
            Err(error) => return Err(error).context("cannot rate the players"),
        };
        let mut players: Vec<Row> = entrants
            .iter()
            .zip(names)
            .map(|(entrant, name)| row(entrant, name))
            .collect();
        for (place, player) in players.iter_mut().enumerate() {
            for row in &rows {
                let points = match row.players {
                    [a, _] if a == place => row.a_points,
                    [_, b] if b == place => row.b_points,
                    _ => continue,
                };
                player.games += row.games as u64;
                player.points += points;
            }
            if let Some(rating) = rated.as_ref().map(|rated| rated.players[place]) {
                player.elo = Some(rating.rating);
                player.elo_low = rating.low;
                player.elo_high = rating.high;
            }
        }
        Ok(Standing {
            size: config.size.to_string(),
            komi: config.komi.to_string(),
            config: config.clone(),
            players,
            tie_parameter: rated.map_or(0.0, |rated| rated.tie_parameter),
            games: rows.iter().map(|row| row.games as u64).sum(),
            faults: rows.iter().map(|row| row.faults).sum(),
            stopped,
            pairings: rows,
        })
    }
}

/// The given ratings, or 0 for the first player if none is given.
fn scale(entrants: &[Entrant]) -> PoolConfig {
    let given = |(place, entrant): (usize, &Entrant)| Some((place, entrant.pinned?));
    let mut pinned: BTreeMap<usize, f64> = entrants.iter().enumerate().filter_map(given).collect();
    if pinned.is_empty() {
        pinned.insert(0, 0.0);
    }
    PoolConfig {
        pinned,
        ..PoolConfig::default()
    }
}

/// The players' own names, or their command-line names where two would coincide.
fn names(entrants: &[Entrant], pairings: &[Pairing]) -> Vec<String> {
    let own = |place: usize| {
        let mut found = None;
        for pairing in pairings {
            let [a, b] = pairing.players;
            found = match place {
                _ if place == a => Some(&pairing.result.a),
                _ if place == b => Some(&pairing.result.b),
                _ => found,
            };
        }
        found.cloned()
    };
    let names: Vec<Option<String>> = (0..entrants.len()).map(own).collect();
    let name = |(place, entrant): (usize, &Entrant)| {
        let name = names[place].clone();
        let shared = names.iter().filter(|other| **other == name).count() > 1;
        name.filter(|_| !shared).unwrap_or_else(|| entrant.label.clone())
    };
    entrants.iter().enumerate().map(name).collect()
}

fn row(entrant: &Entrant, name: String) -> Row {
    let cost = entrant.model.as_ref().map(|model| model.cost);
    Row {
        name,
        player: entrant.label.clone(),
        elo: None,
        elo_low: None,
        elo_high: None,
        games: 0,
        points: 0.0,
        evaluations: cost.map(|cost| cost.evaluations),
        selfplay_games: cost.map(|cost| cost.games),
        cpu_seconds: cost.map(|cost| cost.cpu_seconds),
        gpu_seconds: cost.map(|cost| cost.gpu_seconds),
        pinned: entrant.pinned.is_some(),
        model_id: entrant.model.as_ref().map(|model| model.id.clone()),
    }
}

fn pairing_row(pairing: Pairing, names: &[String]) -> PairingRow {
    let Pairing {
        players,
        match_id,
        result,
    } = pairing;
    let [a, b] = players.map(|player| names[player].clone());
    PairingRow {
        a,
        b,
        players,
        match_id,
        games: result.games,
        wins: result.a_total.wins,
        ties: result.a_total.ties,
        losses: result.a_total.losses,
        a_points: result.a_points,
        b_points: result.b_points,
        elo: result.estimate.elo,
        elo_low: result.estimate.elo_low,
        elo_high: result.estimate.elo_high,
        faults: result.faults,
    }
}

/// What a match says about the ratings of its players.
fn pool_games(pairing: &Pairing) -> PoolGames {
    let WinTieLoss { wins, ties, losses } = pairing.result.evidence();
    PoolGames {
        first: pairing.players[0],
        second: pairing.players[1],
        wins,
        ties,
        losses,
    }
}
