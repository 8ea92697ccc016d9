//! The players of a tournament, who plays whom, and the matches between them.

use std::collections::BTreeSet;

use anyhow::{Context, bail};

use tengen_evaluator::{GameScore, MatchConfig, Player, PlayerError, PlayerKind, PlayerOptions, PlayerSpec};
use tengen_model::{CostLedger, ModelId};
use tengen_store::Store;

use crate::folder::{Folder, Spec};
use crate::play::{Job, play};
use crate::standing::Pairing;
use crate::usage::usage;

/// A player of a tournament.
pub struct Entrant {
    /// How to create the player.
    pub spec: PlayerSpec,
    /// The player's identifier in the tournament and in stored matches.
    pub label: String,
    /// Its rating in Elo, if given rather than measured.
    pub pinned: Option<f64>,
    /// The run's model behind the player, if it is one.
    pub model: Option<RunModel>,
}

/// A model of a run and its total cost.
#[derive(Clone, Debug)]
pub struct RunModel {
    /// Its id in the run's store.
    pub id: String,
    /// What the run had cost when the model was published.
    pub cost: CostLedger,
}

impl Entrant {
    /// A player as named on the command line, without a given rating.
    pub fn named(spec: &PlayerSpec) -> Entrant {
        Entrant {
            spec: spec.clone(),
            label: spec.options.name.clone().unwrap_or_else(|| spec.to_string()),
            pinned: None,
            model: None,
        }
    }

    /// What distinguishes its matches from those of other players: a model's label, otherwise its full command-line
    /// description, because players with one name may be different engines.
    fn identity(&self) -> String {
        match self.model {
            Some(_) => self.label.clone(),
            None => self.spec.to_string(),
        }
    }

    /// A model of a store with this many visits per move. Its label is the model's id and the visits after `prefix`.
    ///
    /// # Errors
    /// If the store cannot be read or has no such model.
    pub fn of_model(store: &Store, model: &ModelId, visits: u32, prefix: &str) -> anyhow::Result<Entrant> {
        let kind = PlayerKind::Store {
            location: store.location().to_owned(),
            generation: Some(model.generation()),
        };
        let options = PlayerOptions {
            visits: Some(visits),
            ..PlayerOptions::default()
        };
        Ok(Entrant {
            spec: PlayerSpec { kind, options },
            label: format!("{prefix}{model},visits={visits}"),
            pinned: None,
            model: Some(RunModel {
                id: model.to_string(),
                cost: store.models().info(model)?.cost,
            }),
        })
    }
}

/// Rejects players that have the same label.
///
/// # Errors
/// [`UsageError`](crate::UsageError) with the label.
pub fn reject_twins(entrants: &[Entrant]) -> anyhow::Result<()> {
    let mut labels = BTreeSet::new();
    match entrants.iter().find(|entrant| !labels.insert(&entrant.label)) {
        Some(twice) => Err(usage(format!(
            "the player {} is listed twice; give one of them a different ,name=",
            twice.label
        ))),
        None => Ok(()),
    }
}

/// Every `every`-th model of a run and always the newest, oldest first, with this many visits per move.
///
/// # Errors
/// If the store cannot be read or has no models.
pub fn run_models(store: &Store, every: usize, visits: u32) -> anyhow::Result<Vec<Entrant>> {
    let models = store.models().list()?;
    let last = models.len().saturating_sub(1);
    let mut entrants = Vec::new();
    for (number, model) in models.into_iter().enumerate() {
        if number % every != 0 && number != last {
            continue;
        }
        entrants.push(Entrant::of_model(store, &model, visits, "")?);
    }
    if entrants.is_empty() {
        bail!("the store at {} has no models yet", store.location());
    }
    Ok(entrants)
}

/// Pairs of players by index: everyone meets everyone before them.
pub fn everyone(players: usize) -> Vec<[usize; 2]> {
    let pairs = |later: usize| (0..later).rev().map(move |earlier| [later, earlier]);
    (1..players).flat_map(pairs).collect()
}

/// Pairs of models by index: a model meets the models 1, 2, 4, 8, … before it.
///
/// New models only add pairs, and any two models are linked by few matches.
pub fn successive(models: usize) -> Vec<[usize; 2]> {
    let mut pairs = everyone(models);
    pairs.retain(|[later, earlier]| (later - earlier).is_power_of_two());
    pairs
}

/// The pairings of `player`, by index, with the models, from newest to oldest, until the player has won every game
/// against [`HOPELESS`] models in a row. Earlier models are weaker still and are rated by other games.
///
/// Calls `meet` for each pair, which returns `None` to stop.
///
/// # Errors
/// Those of `meet`.
pub fn meet_models(
    models: usize,
    player: usize,
    meet: &mut dyn FnMut([usize; 2]) -> anyhow::Result<Option<Pairing>>,
) -> anyhow::Result<Vec<Pairing>> {
    let mut played = Vec::new();
    let mut hopeless = 0;
    for model in (0..models).rev() {
        let Some(pairing) = meet([player, model])? else { break };
        let lost = pairing.result.b_points == 0.0 && !pairing.result.stopped;
        hopeless = if lost { hopeless + 1 } else { 0 };
        played.push(pairing);
        if hopeless == HOPELESS {
            break;
        }
    }
    Ok(played)
}

/// After this many models in a row without a point, a player does not meet earlier models.
pub const HOPELESS: usize = 2;

/// What all matches of a tournament share.
pub struct Tournament<'a> {
    /// The settings of every match.
    pub config: &'a MatchConfig,
    /// The players.
    pub entrants: &'a [Entrant],
    /// Where the games are kept; `None` keeps nothing.
    pub store: Option<&'a Store>,
    /// Creates a player when it is needed.
    pub player: &'a dyn Fn(&PlayerSpec) -> anyhow::Result<Box<dyn Player>>,
    /// The device that networks run on and their number format.
    pub device: [&'a str; 2],
    /// Returns whether the tournament should stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives messages for the user.
    pub say: &'a dyn Fn(&str),
}

impl Tournament<'_> {
    /// Plays the match between two players, or what is missing of it. Calls `count` for every game, loaded or played.
    /// `None` if a player gave up because the tournament is stopping.
    ///
    /// # Errors
    /// If the store cannot be used, a player cannot play at all, or no game has a result.
    pub fn meet(&self, players: [usize; 2], count: &mut dyn FnMut()) -> anyhow::Result<Option<Pairing>> {
        let [a, b] = players.map(|player| &self.entrants[player]);
        let [device, dtype] = self.device;
        let spec = Spec::new([&a.identity(), &b.identity()], self.config, device, dtype);
        let id = spec.id("rating");
        let folder = self.store.map(|store| Folder::inside(store, &id));
        let job = Job {
            config: self.config,
            spec: &spec,
            folder: folder.as_ref(),
            players: &|| Ok([(self.player)(&a.spec)?, (self.player)(&b.spec)?]),
            stop: self.stop,
            say: self.say,
        };
        let result = match play(&job, &mut |_: &GameScore| count()) {
            Err(error) if matches!(error.downcast_ref(), Some(PlayerError::Stopped)) => return Ok(None),
            played => played.with_context(|| format!("{} against {}", a.label, b.label))?,
        };
        if result.games == 0 && !result.stopped {
            bail!(
                "{} against {}: none of the {} games has a result",
                a.label,
                b.label,
                result.game_list.len()
            );
        }
        Ok(Some(Pairing {
            players,
            match_id: folder.is_some().then_some(id),
            result,
        }))
    }
}

#[cfg(test)]
mod tests {
    use tengen_evaluator::{MatchResult, known_match};

    use super::*;

    #[test]
    fn players_meet_everyone_and_models_meet_selected_models() {
        assert_eq!(everyone(4), [[1, 0], [2, 1], [2, 0], [3, 2], [3, 1], [3, 0]]);
        assert_eq!(
            successive(5),
            [[1, 0], [2, 1], [2, 0], [3, 2], [3, 1], [4, 3], [4, 2], [4, 0]]
        );
        let (some, more) = (successive(40), successive(41));
        assert_eq!(some, more[..some.len()], "a new model only adds pairs");
    }

    #[test]
    fn engines_of_one_name_have_matches_of_their_own() {
        let named = |text: &str| Entrant::named(&text.parse().unwrap());
        let [one, ten] = [1, 10].map(|level| named(&format!("gtp:\"gnugo --level {level}\",name=GNU Go")));
        assert_eq!((one.label.as_str(), ten.label.as_str()), ("GNU Go", "GNU Go"));
        let id = |entrant: &Entrant| {
            let config = MatchConfig::default();
            Spec::new([&entrant.identity(), "random"], &config, "cpu", "fp32").id("rating")
        };
        assert_ne!(id(&one), id(&ten));
        assert_eq!(id(&ten), id(&named("gtp:\"gnugo --level 10\",name=GNU Go")));
    }

    #[test]
    fn a_player_meets_models_until_they_have_no_chance() {
        // Points of the models, oldest first, against the player.
        let meet_all = |points: &[f64]| {
            let mut met = Vec::new();
            let mut meet = |[player, model]: [usize; 2]| {
                assert_eq!(player, 9);
                met.push(model);
                let none = MatchConfig {
                    games: 0,
                    ..MatchConfig::default()
                };
                let result = MatchResult {
                    b_points: points[model],
                    ..known_match(&none, Vec::new(), Default::default()).expect("no game is missing")
                };
                Ok(Some(Pairing {
                    players: [player, model],
                    match_id: None,
                    result,
                }))
            };
            meet_models(points.len(), 9, &mut meet).expect("no match fails");
            met
        };
        assert_eq!(meet_all(&[0.0, 0.0, 0.0, 1.0, 0.0, 3.0]), [5, 4, 3, 2, 1]);
        assert_eq!(meet_all(&[4.0, 4.0]), [1, 0]);
        assert_eq!(meet_all(&[1.0, 0.0, 0.0]), [2, 1]);
    }
}
