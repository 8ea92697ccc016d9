//! Search results in the form that the analysis protocols of Go programs use.

use tengen_gtp::{AnalyzedMove, PositionAnalysis, Restrictions};
use tengen_rules::{Color, Move, Position};
use tengen_search::{Candidate, RootMoves, Search, playout_ownership};

/// Random games played to estimate ownership when there is no network.
const GAMES: u32 = 100;

/// The moves that a search may start with; `None` means all of them.
pub(crate) fn root_moves(position: &Position, restrictions: &Restrictions) -> Option<RootMoves> {
    let color = position.to_move();
    if restrictions.allow_all(color) {
        return None;
    }
    let legal = position.legal_points();
    Some(RootMoves {
        points: legal
            .iter()
            .filter(|&point| restrictions.allow(color, Move::Play(point)))
            .collect(),
        pass: restrictions.allow(color, Move::Pass),
    })
}

/// What a search reports about its position and the given moves, without the ownership after each move.
pub(crate) fn analysis_of(search: &Search, candidates: Vec<Candidate>) -> PositionAnalysis {
    let result = search.result();
    let moves = candidates.into_iter().map(|candidate| AnalyzedMove {
        mv: candidate.mv,
        visits: candidate.visits,
        winrate: winrate(candidate.value),
        lcb: winrate(candidate.value_lcb),
        score_lead: candidate.margin,
        utility: candidate.utility,
        prior: candidate.prior,
        pv: candidate.pv,
        pv_visits: candidate.pv_visits,
        ownership: None,
    });
    PositionAnalysis {
        moves: moves.collect(),
        visits: result.total_visits,
        winrate: winrate(result.mean_value),
        score_lead: result.margin,
        utility: search.utility(),
        raw_winrate: winrate(result.network_value),
        raw_lead: result.network_margin,
        ownership: result.ownership,
        policy: None,
    }
}

/// Ownership estimated from cheap random games, from the viewpoint of `seen_by`.
pub(crate) fn random_ownership(position: &Position, seen_by: Color, seed: u64) -> Vec<f32> {
    let mut ownership = playout_ownership(position, GAMES, seed);
    if seen_by == Color::White {
        ownership.iter_mut().for_each(|value| *value = -*value);
    }
    ownership
}

/// Turns P(win) - P(loss) into a win rate from 0 to 1; a tie counts half.
fn winrate(value: f32) -> f32 {
    (1.0 + value) / 2.0
}
