//! The players of a tournament, its board, and who plays whom.

use std::collections::BTreeSet;

use anyhow::bail;
use serde_json::Value;

use tengen_evaluator::{PlayerKind, PlayerOptions, PlayerSpec};
use tengen_model::CostLedger;
use tengen_rules::{Komi, Rules, Size};
use tengen_store::{MatchFile, Store};

use crate::arguments;
use crate::output::usage;
use crate::players::training_of;
use tengen_matches::{Asked, Conditions};

/// A player of a tournament.
pub(super) struct Entrant {
    pub(super) spec: PlayerSpec,
    /// The player's identifier in the tournament and in stored matches.
    pub(super) label: String,
    /// The run's model behind the player, if it is one.
    pub(super) model: Option<Model>,
}

/// A model of a run and its total cost.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) id: String,
    pub(super) cost: CostLedger,
}

/// The models of the run, oldest first, then the players named on the command line.
pub(super) fn all(
    players: &[PlayerSpec],
    store: Option<&Store>,
    every: usize,
    visits: u32,
) -> anyhow::Result<Vec<Entrant>> {
    let mut entrants = match store {
        Some(store) => models(store, every, visits)?,
        None => Vec::new(),
    };
    entrants.extend(players.iter().map(|spec| Entrant {
        spec: spec.clone(),
        label: spec.options.name.clone().unwrap_or_else(|| spec.to_string()),
        model: None,
    }));
    let mut labels = BTreeSet::new();
    match entrants.iter().find(|entrant| !labels.insert(&entrant.label)) {
        Some(twice) => Err(usage(format!(
            "the player {} is listed twice; give one of them a different ,name=",
            twice.label
        ))),
        None => Ok(entrants),
    }
}

fn models(store: &Store, every: usize, visits: u32) -> anyhow::Result<Vec<Entrant>> {
    let models = store.models().list()?;
    let last = models.len().saturating_sub(1);
    let mut entrants = Vec::new();
    for (number, model) in models.into_iter().enumerate() {
        if number % every != 0 && number != last {
            continue;
        }
        let cost = store.models().info(&model)?.cost;
        let kind = PlayerKind::Store {
            location: store.location().to_owned(),
            generation: Some(model.generation()),
        };
        let options = PlayerOptions {
            visits: Some(visits),
            ..PlayerOptions::default()
        };
        entrants.push(Entrant {
            spec: PlayerSpec { kind, options },
            label: format!("{model},visits={visits}"),
            model: Some(Model {
                id: model.to_string(),
                cost,
            }),
        });
    }
    if entrants.is_empty() {
        bail!("the store at {} has no models yet", store.location());
    }
    Ok(entrants)
}

/// Pairs of players by index: a model meets the models 1, 2, 4, 8, … before it; other players meet everyone.
///
/// New models only add pairs, and any two models are linked by few matches.
pub(super) fn pairings(entrants: &[Entrant]) -> Vec<[usize; 2]> {
    let models = entrants.iter().take_while(|entrant| entrant.model.is_some()).count();
    let mut pairs = Vec::new();
    for later in 1..entrants.len() {
        for earlier in (0..later).rev() {
            if later >= models || (later - earlier).is_power_of_two() {
                pairs.push([later, earlier]);
            }
        }
    }
    pairs
}

/// The board, komi, and rules: as asked, otherwise those of the run, otherwise those of the first player with a
/// network.
pub(super) fn conditions(store: Option<&Store>, players: &[PlayerSpec], asked: Asked) -> anyhow::Result<Conditions> {
    let Some(store) = store else {
        return Ok(training_of(players)?.conditions(asked));
    };
    let run = store.run_info()?;
    let size = match (asked.size, run.as_ref().and_then(|run| run.sizes.first())) {
        (Some(size), _) => size,
        (None, Some(size)) => size.parse()?,
        (None, None) => return Err(usage("the store does not name a board; use --size")),
    };
    let rules = match (asked.rules, &run) {
        (Some(rules), _) => rules,
        (None, Some(run)) => arguments::rules(&run.rules).map_err(usage)?,
        (None, None) => Rules::tromp_taylor(),
    };
    let komi = match asked.komi {
        Some(komi) => Some(komi),
        None => match last_komi(store, size)? {
            Some(komi) => Some(komi),
            None => fair_komi(store, size)?,
        },
    };
    let komi = komi.ok_or_else(|| usage(format!("no model in the store has a fair komi for {size}; use --komi")))?;
    Ok(Conditions { size, komi, rules })
}

/// The komi of the newest rating match on this board.
fn last_komi(store: &Store, size: Size) -> anyhow::Result<Option<Komi>> {
    let mut newest: Option<(i64, Komi)> = None;
    for id in store
        .matches()
        .list()?
        .into_iter()
        .filter(|id| id.starts_with("rating-"))
    {
        let Some(bytes) = store.matches().get(&id, MatchFile::Spec)? else {
            continue;
        };
        let spec: Value = serde_json::from_slice(&bytes)?;
        let time = spec["start_time_ms"].as_i64().unwrap_or(0);
        let komi = spec["match"]["komi"].as_str().and_then(|komi| komi.parse().ok());
        if let (true, Some(komi)) = (spec["match"]["size"] == size.to_string(), komi)
            && newest.is_none_or(|(before, _)| before < time)
        {
            newest = Some((time, komi));
        }
    }
    Ok(newest.map(|(_, komi)| komi))
}

/// The komi that the champion considers fair.
fn fair_komi(store: &Store, size: Size) -> anyhow::Result<Option<Komi>> {
    let Some((_, champion)) = store.models().champion()? else {
        return Ok(None);
    };
    let info = store.models().info(&champion.model_id)?;
    let bound = 2 * size.area() as i16;
    let bounded = |komi: Komi| Komi::from_half_points(komi.half_points().clamp(-bound, bound));
    Ok(info.fair_komi(size).map(bounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(number: usize, model: bool) -> Entrant {
        Entrant {
            spec: "random".parse().unwrap(),
            label: number.to_string(),
            model: model.then(|| Model {
                id: number.to_string(),
                cost: CostLedger::default(),
            }),
        }
    }

    #[test]
    fn players_meet_everyone_and_models_meet_selected_models() {
        let players: Vec<_> = (0..4).map(|number| entrant(number, false)).collect();
        assert_eq!(pairings(&players), [[1, 0], [2, 1], [2, 0], [3, 2], [3, 1], [3, 0]]);
        let models = |count: usize| (0..count).map(|number| entrant(number, true)).collect::<Vec<_>>();
        assert_eq!(
            pairings(&models(5)),
            [[1, 0], [2, 1], [2, 0], [3, 2], [3, 1], [4, 3], [4, 2], [4, 0]]
        );
        let (some, more) = (pairings(&models(40)), pairings(&models(41)));
        assert_eq!(some, more[..some.len()], "a new model only adds pairs");
        let mut both = models(3);
        both.push(entrant(3, false));
        assert_eq!(pairings(&both)[3..], [[3, 2], [3, 1], [3, 0]]);
    }
}
