//! The result of a tournament: ratings of all players and a row for every pairing.

use anyhow::Context;
use serde::Serialize;

use tengen_evaluator::{MatchConfig, MatchResult, PoolConfig, PoolError, PoolGames, rate_pool};
use tengen_report::metrics::{self, Event, Measured, Metrics, Rating};
use tengen_store::Store;

use super::entrants::Entrant;
use crate::output;

/// The match of two players of a tournament.
pub(super) struct Pairing {
    /// Indexes of A and B among the players.
    pub(super) players: [usize; 2],
    /// The match's name in the store.
    pub(super) match_id: Option<String>,
    pub(super) result: MatchResult,
}

impl Pairing {
    /// The match on one line.
    pub(super) fn in_words(&self, entrants: &[Entrant]) -> String {
        let [a, b] = self.players.map(|player| &entrants[player].label);
        let result = &self.result;
        let estimate = &result.estimate;
        format!(
            "{a} against {b} {} : {}, Elo {}",
            result.a_points,
            result.b_points,
            output::elo_estimate(estimate.elo, estimate.elo_low, estimate.elo_high)
        )
    }
}

/// All results of a tournament.
#[derive(Serialize)]
pub(super) struct Standing {
    pub(super) size: String,
    /// Points for White.
    pub(super) komi: String,
    /// Settings of every match.
    pub(super) config: MatchConfig,
    /// The players in the order they were given, models oldest first.
    pub(super) players: Vec<Row>,
    /// Davidson's tie parameter: players of equal strength tie a share ν / (2 + ν) of their games.
    pub(super) tie_parameter: f64,
    /// Games with a result.
    pub(super) games: u64,
    /// Games lost because of a fault.
    pub(super) faults: usize,
    /// Whether the tournament was stopped early.
    pub(super) stopped: bool,
    /// All matches played.
    pub(super) pairings: Vec<PairingRow>,
}

#[derive(Serialize)]
pub(super) struct Row {
    /// The player's name in its games.
    pub(super) name: String,
    /// The player as given on the command line.
    pub(super) player: String,
    /// Elo above the first player; `None` if no chain of games links the two.
    pub(super) elo: Option<f64>,
    /// Lower end of the 95% interval of that difference; `None` if the games do not bound it.
    pub(super) elo_low: Option<f64>,
    /// Upper end of the 95% interval; `None` if the games do not bound it.
    pub(super) elo_high: Option<f64>,
    /// Games with a result.
    pub(super) games: u64,
    /// Wins plus half the ties.
    pub(super) points: f64,
    /// For models of a run: network evaluations of self-play since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evaluations: Option<u64>,
    /// Self-play games since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) selfplay_games: Option<u64>,
    /// CPU seconds since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_seconds: Option<f64>,
    /// Seconds of GPU use since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpu_seconds: Option<f64>,
    #[serde(skip)]
    model_id: Option<String>,
}

/// The result of one match.
#[derive(Serialize)]
pub(super) struct PairingRow {
    pub(super) a: String,
    pub(super) b: String,
    /// Indexes of A and B among the players.
    pub(super) players: [usize; 2],
    /// The match's name in the store.
    pub(super) match_id: Option<String>,
    /// Games with a result.
    pub(super) games: usize,
    pub(super) wins: u64,
    pub(super) ties: u64,
    pub(super) losses: u64,
    /// A's wins plus half the ties.
    pub(super) a_points: f64,
    /// B's wins plus half the ties.
    pub(super) b_points: f64,
    /// Elo of A relative to B from this match alone.
    pub(super) elo: f64,
    /// Lower end of its 95% interval; `None` if A lost every game, which does not bound it.
    pub(super) elo_low: Option<f64>,
    /// Upper end of its 95% interval; `None` if A won every game.
    pub(super) elo_high: Option<f64>,
    /// Games lost because of a fault.
    pub(super) faults: usize,
}

impl Standing {
    /// Rates the players from all matches together.
    pub(super) fn of(
        config: &MatchConfig,
        entrants: &[Entrant],
        pairings: Vec<Pairing>,
        stopped: bool,
    ) -> anyhow::Result<Standing> {
        let names = names(entrants, &pairings);
        let rows: Vec<PairingRow> = pairings
            .into_iter()
            .map(|pairing| pairing_row(pairing, &names))
            .collect();
        let pool: Vec<PoolGames> = rows.iter().map(pool_games).collect();
        let rated = match rate_pool(entrants.len(), &pool, PoolConfig::default()) {
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
            for game in &pool {
                let (for_it, against) = match (game.first == place, game.second == place) {
                    (true, _) => (game.wins, game.losses),
                    (_, true) => (game.losses, game.wins),
                    _ => continue,
                };
                player.games += for_it + game.ties + against;
                player.points += for_it as f64 + game.ties as f64 / 2.0;
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

    /// Records the models' ratings in the run's metrics, where the report finds its Elo curve.
    pub(super) fn record(&self, store: &Store) -> anyhow::Result<()> {
        let Some(folder) = store.local_path() else {
            return Ok(());
        };
        let elapsed = metrics::read_all(folder)?
            .last()
            .map_or(0.0, |event| event.elapsed_seconds);
        let metrics = Metrics::open(folder)?;
        for row in &self.players {
            let (Some(model_id), Some(elo)) = (&row.model_id, row.elo) else {
                continue;
            };
            let rating = Rating {
                model_id: model_id.clone(),
                elo,
                low: row.elo_low.unwrap_or(f64::NEG_INFINITY),
                high: row.elo_high.unwrap_or(f64::INFINITY),
                evaluations: row.evaluations.unwrap_or(0),
                cpu_seconds: row.cpu_seconds.unwrap_or(0.0),
            };
            metrics.record(&Event::now(elapsed, Measured::Rating(rating)))?;
        }
        Ok(())
    }
}

/// The players' own names, or their command-line names where two would be the same.
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

fn pool_games(row: &PairingRow) -> PoolGames {
    PoolGames {
        first: row.players[0],
        second: row.players[1],
        wins: row.wins,
        ties: row.ties,
        losses: row.losses,
    }
}
