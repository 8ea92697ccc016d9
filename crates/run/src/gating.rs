//! The gate's side of the loop: a candidate plays the champion and may replace it.
//!
//! The store keeps the gate ([`tengen_matches::settle`]): the verdict is written after the games and before the
//! promotion. After a crash, the gate therefore resumes where it left off, or the recorded verdict takes effect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context;
use serde_json::Value;

use tengen_evaluator::{
    Decision, GameScore, GateVerdict, MatchConfig, Player, PoolConfig, PoolGames, SearchPlayer, WinTieLoss, rate_pool,
};
use tengen_matches::{GateJob, GateSettings, Verdicts, gate_id, settle, verdict_on, verdicts};
use tengen_metrics::{Gate, Rating};
use tengen_model::{ModelId, ModelInfo, Weights};
use tengen_network::PredictorOptions;
use tengen_predictors::SharedNetwork;
use tengen_report::{counted, elo_estimate, short_model};
use tengen_rng as rng;
use tengen_rules::{Komi, Size};
use tengen_search::SearchConfig;
use tengen_store::{Promotion, Put, StoreError};

use crate::opened::Opened;

/// A model that may become champion.
pub struct Candidate {
    /// Identifies the model in the store.
    pub id: ModelId,
    /// The model's weights, if they are already in memory.
    pub weights: Option<Weights>,
}

/// A verdict that has taken effect.
pub struct Settled {
    verdict: GateVerdict,
    /// Whether the candidate became champion.
    pub promoted: bool,
}

impl Settled {
    /// The verdict in one line that fits a terminal, with models named by their generations.
    pub fn in_words(&self) -> String {
        let decided = if self.promoted { "promoted" } else { "rejected" };
        let verdict = &self.verdict;
        let (candidate, champion) = (short_model(&verdict.candidate), short_model(&verdict.champion));
        let Some(result) = &verdict.result else {
            return format!("{candidate} {decided} without a match");
        };
        let forgot = verdict.older.iter().find(|older| older.weaker).map(|older| {
            let (points, games) = (older.result.a_points, counted_points(older.result.games as u64));
            format!(
                "; but only {points} of {games} against the older champion {}",
                short_model(&older.champion)
            )
        });
        let estimate = &result.estimate;
        format!(
            "{candidate} {decided}: {} : {} against {champion}, Elo {}{}",
            result.a_points,
            result.b_points,
            elo_estimate(estimate.elo, estimate.elo_low, estimate.elo_high),
            forgot.unwrap_or_default()
        )
    }

    /// The verdict as an event for the run's metrics.
    pub fn event(&self) -> Gate {
        let mut event = Gate {
            candidate: self.verdict.candidate.clone(),
            champion: self.verdict.champion.clone(),
            promoted: self.promoted,
            reason: self.verdict.reason.name().to_owned(),
            ..Gate::default()
        };
        if let Some(result) = &self.verdict.result {
            let estimate = &result.estimate;
            event.games = result.games as u64;
            event.points_share = result.a_points / result.games.max(1) as f64;
            event.elo = estimate.elo;
            event.elo_low = estimate.elo_low.unwrap_or(f64::NEG_INFINITY);
            event.elo_high = estimate.elo_high.unwrap_or(f64::INFINITY);
            event.llr = result.sprt.map_or(f64::NAN, |sprt| sprt.llr);
        }
        event
    }
}

/// The newest model, if it may still become champion: it is newer than the champion, and there is no verdict on it, or
/// one that has not taken effect. A damaged model is skipped.
pub fn left_over(run: &Opened) -> anyhow::Result<Option<Candidate>> {
    let champion = run.champion()?;
    let Some(newest) = run.store.models().list()?.pop() else {
        return Ok(None);
    };
    let verdict = verdict_on(&run.store, &newest.to_string(), &champion.to_string())?;
    let open = verdict.is_none_or(|verdict| verdict.decision == Decision::Promote);
    let newer = newest != champion && newest.generation() > champion.generation();
    if !(newer && open) {
        return Ok(None);
    }
    let skipped = || format!("the candidate {newest} is skipped");
    let model = run.unless_damaged(skipped, run.store.models().load(&newest))?;
    Ok(model.map(|model| Candidate {
        id: newest,
        weights: Some(model.weights),
    }))
}

/// The verdicts of the run's gates; warns about those that cannot be read.
fn readable(run: &Opened) -> anyhow::Result<Vec<GateVerdict>> {
    let Verdicts { verdicts, left_out } = verdicts(&run.store)?;
    left_out.into_iter().for_each(|sentence| run.warn_once(sentence));
    Ok(verdicts)
}

/// Number of candidates that the gate has rejected so far; 0 if no setting depends on it.
///
/// # Errors
/// If the store cannot be read.
pub fn rejected(run: &Opened) -> anyhow::Result<u32> {
    if run.config.loop_config.stalled_visits == 0 {
        return Ok(0);
    }
    let verdicts = readable(run)?;
    let rejected = verdicts.iter().filter(|verdict| verdict.decision == Decision::Reject);
    Ok(u32::try_from(rejected.count()).unwrap_or(u32::MAX))
}

/// Plays gate matches, one candidate after the other.
pub struct Gating<'a> {
    run: &'a Opened,
    /// The champion's weights, read once.
    champion: Option<(String, Weights)>,
    /// Elo, low, and high of every model as [`Gating::moved`] last returned them.
    told: BTreeMap<String, [f64; 3]>,
}

impl<'a> Gating<'a> {
    /// A gate for the candidates of `run`.
    pub fn new(run: &'a Opened) -> Gating<'a> {
        Gating {
            run,
            champion: None,
            told: BTreeMap::new(),
        }
    }

    /// Settles a candidate: by its recorded verdict, otherwise by playing the missing games. Reports progress through
    /// `progress`. `None` if `stop` ended the gate before it could decide.
    pub fn settle(
        &mut self,
        candidate: &Candidate,
        progress: &dyn Fn(String),
        stop: &dyn Fn() -> bool,
    ) -> anyhow::Result<Option<Settled>> {
        let store = &self.run.store;
        let promotions = store.models().promotions()?;
        let (number, _) = promotions.last().context("the store has no champion")?;
        let number = *number;
        let champions: Vec<String> = promotions
            .into_iter()
            .map(|(_, promotion)| promotion.model_id.to_string())
            .collect();
        let champion = champions.last().context("the store has no champion")?;
        let settings = self.settings(&candidate.id)?;
        let name = candidate.id.to_string();
        let job = GateJob {
            store,
            candidate: &name,
            champions: &champions,
            settings: &settings,
            stop,
            say: &|line| tracing::info!("{line}"),
        };
        let mut score = RunningScore::default();
        let mut show = |opponent: &str, game: &GameScore| progress(score.after(&name, opponent, game));
        let mut players = |id: &str, settings: &GateSettings| self.player(id, candidate, champion, settings);
        let Some(verdict) = settle(&job, &mut players, &mut show)? else {
            return Ok(None);
        };
        let mut promoted = false;
        if verdict.promotes() {
            let match_id = Some(gate_id(&name, champion));
            let promotion = Promotion::now(&candidate.id, match_id, without_lists(serde_json::to_value(&verdict)?));
            promoted = store.models().promote(number + 1, &promotion)? == Put::Created;
        }
        let decided = if promoted { "promoted" } else { "not promoted" };
        tracing::info!("gate ended: {name} is {decided}");
        Ok(Some(Settled { verdict, promoted }))
    }

    /// The champion after a verdict on a candidate.
    pub fn champion(&self, candidate: Candidate, settled: &Settled) -> anyhow::Result<Candidate> {
        if settled.promoted {
            return Ok(candidate);
        }
        Ok(Candidate {
            id: self.run.champion()?,
            weights: None,
        })
    }

    /// The settings of this candidate's gate.
    fn settings(&self, candidate: &ModelId) -> anyhow::Result<GateSettings> {
        let config = &self.run.config;
        Ok(GateSettings {
            gate: config.gate.clone(),
            match_config: self.match_config(candidate)?,
            search: SearchConfig {
                visits: config.gate.visits,
                noise: false,
                ..config.selfplay.search.clone()
            },
            device: self.run.options.device.to_string(),
            dtype: self.run.options.precision.to_string(),
            config_id: self.run.config_id.clone(),
        })
    }

    /// The gate's match: on the run's first board, at the komi that the candidate considers fair.
    fn match_config(&self, candidate: &ModelId) -> anyhow::Result<MatchConfig> {
        let sizes = self.run.config.sizes()?;
        let size: Size = *sizes.first().context("the configuration has no board")?;
        let info = self.run.store.models().info(candidate)?;
        let komi = info.fair_komi(size).unwrap_or(Komi::from_half_points(0));
        let bound = 2 * size.area() as i16;
        let komi = Komi::from_half_points(komi.half_points().clamp(-bound, bound));
        let seed = rng::fold(self.run.config.seed, &[u64::from(candidate.generation())]);
        Ok(self
            .run
            .config
            .gate
            .match_config(size, self.run.config.rules, komi, seed))
    }

    /// The player of a model: the candidate, the champion, or an older champion.
    fn player(
        &mut self,
        id: &str,
        candidate: &Candidate,
        champion: &str,
        settings: &GateSettings,
    ) -> anyhow::Result<Box<dyn Player>> {
        let weights = match &candidate.weights {
            Some(weights) if id == candidate.id.to_string() => weights.clone(),
            _ if id == champion => self.champion_weights(id)?,
            _ => self.run.weights(&id.parse()?)?,
        };
        let predictor = SharedNetwork::new(id, &weights, self.options(settings))?.predictor()?;
        let player =
            SearchPlayer::new(id.to_owned(), predictor, settings.search.clone()).with_stop(Arc::clone(&self.run.stop));
        Ok(Box::new(player))
    }

    /// How the gate runs networks: on the device and in the number format that it started with, if that device is still
    /// available.
    fn options(&self, settings: &GateSettings) -> PredictorOptions {
        let own = self.run.options;
        match (settings.device.parse(), settings.dtype.parse()) {
            (Ok(device), Ok(precision)) => {
                let original = PredictorOptions {
                    device,
                    precision,
                    ..own
                };
                if device == own.device || device.resolve().is_ok() {
                    return original;
                }
                tracing::info!("the gate continues on {}: {device} is not available here", own.device);
            }
            _ => tracing::info!(
                "the gate continues on {}: unknown device {} or precision {}",
                own.device,
                settings.device,
                settings.dtype
            ),
        }
        own
    }

    fn champion_weights(&mut self, id: &str) -> anyhow::Result<Weights> {
        if self.champion.as_ref().is_none_or(|(known, _)| known != id) {
            self.champion = Some((id.to_owned(), self.run.weights(&id.parse()?)?));
        }
        Ok(self.champion.as_ref().expect("just set").1.clone())
    }

    /// The ratings of all models that gate matches link to the oldest one, oldest first; the first model's Elo is 0.
    pub fn ratings(&self) -> anyhow::Result<Vec<Rating>> {
        ratings(self.run, readable(self.run)?)
    }

    /// Those of the ratings that have moved since this last returned them, by half a point or more. Every gate moves
    /// all ratings a little, and writing all of them down each time would fill the metrics of a run with many gates.
    pub fn moved(&mut self, ratings: Vec<Rating>) -> Vec<Rating> {
        let is_near = |(told, now): (&f64, &f64)| told == now || (told - now).abs() < 0.5;
        let has_moved = |rating: &Rating| {
            let now = [rating.elo, rating.low, rating.high];
            let told = self.told.get(&rating.model_id);
            let is_known = told.is_some_and(|told| told.iter().zip(&now).all(is_near));
            if !is_known {
                self.told.insert(rating.model_id.clone(), now);
            }
            !is_known
        };
        ratings.into_iter().filter(has_moved).collect()
    }

    /// The ratings, and the champion with what is known about it, from one read of the verdicts.
    pub(crate) fn standing(&self) -> anyhow::Result<Standing> {
        let verdicts = readable(self.run)?;
        let passed = verdicts.iter().filter(|verdict| verdict.promotes()).count();
        let candidates = verdicts.len();
        let ratings = ratings(self.run, verdicts)?;
        let champion = champion_in_words(self.run, &ratings, passed, candidates)?;
        Ok(Standing { ratings, champion })
    }
}

/// Where the models of a run stand after its gates.
pub(crate) struct Standing {
    /// As [`Gating::ratings`] returns them.
    pub(crate) ratings: Vec<Rating>,
    /// The champion, its rating, and how many candidates have passed, in one line that fits a terminal:
    /// `g000007, Elo +812 (+640 to +990) over g000000, 5 of 7 promoted`.
    pub(crate) champion: String,
}

/// See [`Standing::champion`].
fn champion_in_words(run: &Opened, ratings: &[Rating], passed: usize, candidates: usize) -> anyhow::Result<String> {
    let Some((_, champion)) = run.store.models().champion()? else {
        return Ok(String::new());
    };
    let champion = champion.model_id.to_string();
    let mut words = short_model(&champion).to_owned();
    let oldest = ratings.first().filter(|oldest| oldest.model_id != champion);
    if let (Some(oldest), Some(rating)) = (oldest, ratings.iter().find(|rating| rating.model_id == champion)) {
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        let elo = elo_estimate(rating.elo, end(rating.low), end(rating.high));
        words += &format!(", Elo {elo} over {}", short_model(&oldest.model_id));
    }
    if candidates > 0 {
        words += &format!(", {passed} of {candidates} promoted");
    }
    Ok(words)
}

/// The score so far against one opponent.
#[derive(Default)]
struct RunningScore {
    opponent: String,
    points: f64,
    games: u64,
}

impl RunningScore {
    /// The score as text after one more game.
    fn after(&mut self, candidate: &str, opponent: &str, game: &GameScore) -> String {
        if self.opponent != opponent {
            *self = RunningScore {
                opponent: opponent.to_owned(),
                ..RunningScore::default()
            };
        }
        self.games += 1;
        self.points += game.summary.a_points.unwrap_or(0.0);
        format!(
            "{} against {}: {} of {}",
            short_model(candidate),
            short_model(opponent),
            self.points,
            counted_points(self.games)
        )
    }
}

/// The points at stake in a number of games.
fn counted_points(games: u64) -> String {
    counted(games, "point")
}

/// Games of a model against another, from the first one's viewpoint.
type Games = (String, String, WinTieLoss);

/// The games of models that a chain of games with a result links to the oldest model. Others have no place on its
/// scale: for example, those after a model that was promoted without a match.
fn linked(mut results: Vec<Games>) -> Vec<Games> {
    results.retain(|(_, _, games)| games.games() > 0);
    let oldest = results.iter().flat_map(|(a, b, _)| [a, b]).min().cloned();
    let mut known: BTreeSet<String> = oldest.into_iter().collect();
    loop {
        let before = known.len();
        for (a, b, _) in &results {
            if known.contains(a) || known.contains(b) {
                known.extend([a.clone(), b.clone()]);
            }
        }
        if known.len() == before {
            break;
        }
    }
    results.retain(|(a, _, _)| known.contains(a));
    results
}

/// The ratings of all models that gate matches link to the oldest one, oldest first; the first model's Elo is 0.
fn ratings(run: &Opened, verdicts: Vec<GateVerdict>) -> anyhow::Result<Vec<Rating>> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut results = Vec::new();
    for verdict in verdicts {
        for older in verdict.older {
            results.push((verdict.candidate.clone(), older.champion, older.result.evidence()));
        }
        if let Some(result) = verdict.result {
            results.push((verdict.candidate, verdict.champion, result.evidence()));
        }
    }
    let results = linked(results);
    for (a, b, _) in &results {
        for id in [a, b] {
            numbers.entry(id.clone()).or_default();
        }
    }
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    numbers
        .values_mut()
        .enumerate()
        .for_each(|(number, slot)| *slot = number);
    let games: Vec<PoolGames> = results
        .iter()
        .map(|(a, b, WinTieLoss { wins, ties, losses })| PoolGames {
            first: numbers[a],
            second: numbers[b],
            wins: *wins,
            ties: *ties,
            losses: *losses,
        })
        .collect();
    let rated = rate_pool(numbers.len(), &games, &PoolConfig::default())?;
    numbers
        .into_iter()
        .zip(rated.players)
        .filter_map(|((model_id, _), rating)| {
            let info = match known(run, &model_id) {
                Ok(info) => info?,
                Err(error) => return Some(Err(error)),
            };
            Some(Ok(Rating {
                model_id,
                elo: rating.rating,
                low: rating.low.unwrap_or(f64::NEG_INFINITY),
                high: rating.high.unwrap_or(f64::INFINITY),
                evaluations: info.cost.evaluations,
                cpu_seconds: info.cost.cpu_seconds,
                anchored: false,
            }))
        })
        .collect()
}

/// The description of a model; `None` if it has been pruned or cannot be read.
fn known(run: &Opened, model_id: &str) -> anyhow::Result<Option<ModelInfo>> {
    match run.store.models().info(&model_id.parse()?) {
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error @ (StoreError::Damaged { .. } | StoreError::Model { .. })) => {
            run.warn_once(format!("the model {model_id} is not rated: {error}"));
            Ok(None)
        }
        found => Ok(Some(found?)),
    }
}

/// A verdict without its lists of games, which are already in the gate's own files.
fn without_lists(mut verdict: Value) -> Value {
    let remove = |result: Option<&mut Value>| {
        if let Some(result) = result.and_then(Value::as_object_mut) {
            result.remove("game_list");
        }
    };
    remove(verdict.get_mut("result"));
    for older in verdict
        .get_mut("older")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        remove(older.get_mut("result"));
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_without_a_link_to_the_oldest_are_not_rated() {
        let counted = |a: &str, b: &str, ties| {
            let games = WinTieLoss {
                ties,
                ..WinTieLoss::default()
            };
            (a.to_owned(), b.to_owned(), games)
        };
        let games = |a, b| counted(a, b, 2);
        // The match of d was against c, which was promoted without a match, and no game of g's match has a result.
        let unfinished = counted("g", "b", 0);
        let results = [
            games("d", "c"),
            games("e", "b"),
            games("b", "a"),
            games("f", "d"),
            unfinished,
        ];
        assert_eq!(linked(results.to_vec()), [games("e", "b"), games("b", "a")]);
        assert_eq!(linked(Vec::new()), []);
    }
}
