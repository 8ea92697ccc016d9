//! The gate: a candidate plays the champion, the verdict and its games go into the store, and a stronger candidate
//! becomes champion.
//!
//! A match is named after its two models. Its `result.json` is written after its games and before the promotion, so
//! after a crash either the match is played again or the recorded verdict takes effect.

use crate::opened::Opened;
use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tengen_evaluator::{
    GateVerdict, MatchConfig, MatchContext, MatchEvent, PoolConfig, PoolGames, SearchPlayer, rate_pool, run_gate,
    run_match,
};
use tengen_model::{ModelId, Weights};
use tengen_network::TorchPredictor;
use tengen_records::{GameRecord, now_ms};
use tengen_report::metrics::{Gate, Rating};
use tengen_rng as rng;
use tengen_rules::{Komi, Size};
use tengen_search::SearchConfig;
use tengen_store::{Collection, GamesOf, MatchFile, Promotion, Put};

/// A model that may become champion.
pub struct Candidate {
    /// The model's name in the store.
    pub id: ModelId,
    /// The model's weights, if they are in memory.
    pub weights: Option<Weights>,
}

/// The fields of a verdict that are read back.
#[derive(Clone, Debug, Deserialize)]
pub struct Settled {
    /// Whether the candidate became champion.
    #[serde(default)]
    pub promoted: bool,
    /// The candidate's name.
    pub candidate: String,
    /// The champion's name.
    pub champion: String,
    decision: String,
    reason: String,
    result: Option<Score>,
    #[serde(default)]
    older: Vec<Older>,
}

/// The fields of a match against an older champion that are read back.
#[derive(Clone, Debug, Deserialize)]
struct Older {
    champion: String,
    weaker: bool,
    result: Score,
}

/// The fields of a match result that are read back.
#[derive(Clone, Debug, Deserialize)]
struct Score {
    games: u64,
    a_points: f64,
    a_total: Points,
    elo: f64,
    elo_low: f64,
    elo_high: f64,
    sprt: Option<Llr>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Points {
    wins: u64,
    ties: u64,
    losses: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Llr {
    llr: f64,
}

impl Settled {
    /// The verdict on one line.
    pub fn in_words(&self) -> String {
        let verdict = if self.promoted { "promoted" } else { "rejected" };
        let forgot = self
            .older
            .iter()
            .find(|older| older.weaker)
            .map_or(String::new(), |older| {
                let Score { a_points, games, .. } = older.result;
                format!(
                    ", but scored only {a_points} of {games} against the older champion {}",
                    older.champion
                )
            });
        match &self.result {
            Some(score) => format!(
                "{} {verdict}: {} of {} points against {}, Elo {:+.0} ({:+.0} to {:+.0}){forgot}",
                self.candidate, score.a_points, score.games, self.champion, score.elo, score.elo_low, score.elo_high
            ),
            None => format!("{} {verdict} without a match", self.candidate),
        }
    }

    /// The verdict as a metrics event.
    pub fn event(&self) -> Gate {
        let mut event = Gate {
            candidate: self.candidate.clone(),
            champion: self.champion.clone(),
            promoted: self.promoted,
            reason: self.reason.clone(),
            ..Gate::default()
        };
        if let Some(score) = &self.result {
            event.games = score.games;
            event.points_share = score.a_points / score.games.max(1) as f64;
            (event.elo, event.elo_low, event.elo_high) = (score.elo, score.elo_low, score.elo_high);
            event.llr = score.sprt.map_or(f64::NAN, |sprt| sprt.llr);
        }
        event
    }
}

/// The newest model that may still become champion: it is newer than the champion and has no verdict yet, or one that
/// has not taken effect.
pub fn left_over(run: &Opened) -> anyhow::Result<Option<Candidate>> {
    let (_, champion) = run.store.models().champion()?.context("the store has no champion")?;
    let Some(newest) = run.store.models().list()?.pop() else {
        return Ok(None);
    };
    let match_id = match_id(&newest, &champion.model_id);
    let open = match run.store.matches().get(&match_id, MatchFile::Result)? {
        Some(bytes) => parse(&match_id, &bytes)?.decision == "promote",
        None => true,
    };
    let newer = newest != champion.model_id && newest.generation() > champion.generation;
    Ok((newer && open).then_some(Candidate {
        id: newest,
        weights: None,
    }))
}

fn match_id(candidate: &ModelId, champion: &ModelId) -> String {
    format!("gate-{candidate}-vs-{champion}")
}

fn parse(match_id: &str, bytes: &[u8]) -> anyhow::Result<Settled> {
    serde_json::from_slice(bytes).with_context(|| format!("matches/{match_id}/result.json is not a gate verdict"))
}

/// Plays gate matches, one after the other.
pub struct Gating<'a> {
    run: &'a Opened,
    /// The champion's name and weights, read once.
    champion: Option<(ModelId, Weights)>,
}

impl<'a> Gating<'a> {
    /// The gate of a run.
    pub fn new(run: &'a Opened) -> Gating<'a> {
        Gating { run, champion: None }
    }

    /// Settles a candidate, by a recorded verdict or by a match, and reports progress through `tell`. `None` if `stop`
    /// ended the match before a decision.
    pub fn settle(
        &mut self,
        candidate: &Candidate,
        tell: &dyn Fn(String),
        stop: &dyn Fn() -> bool,
    ) -> anyhow::Result<Option<Settled>> {
        let store = &self.run.store;
        let (number, champion) = store.models().champion()?.context("the store has no champion")?;
        let id = match_id(&candidate.id, &champion.model_id);
        let stands = match store.matches().get(&id, MatchFile::Result)? {
            Some(bytes) => bytes.to_vec(),
            None => {
                tracing::info!("gate begins: {} against {}", candidate.id, champion.model_id);
                let Some(verdict) = self.play(&id, candidate, &champion.model_id, tell, stop)? else {
                    return Ok(None);
                };
                self.publish(&id, &verdict)?
            }
        };
        let mut settled = parse(&id, &stands)?;
        if settled.decision == "promote" {
            let verdict = without_lists(serde_json::from_slice(&stands)?);
            let promotion = Promotion::now(&candidate.id, Some(id), verdict);
            settled.promoted = store.models().promote(number + 1, &promotion)? == Put::Created;
        }
        tracing::info!("gate ended: {}", settled.in_words());
        Ok(Some(settled))
    }

    fn play(
        &mut self,
        id: &str,
        candidate: &Candidate,
        champion: &ModelId,
        tell: &dyn Fn(String),
        stop: &dyn Fn() -> bool,
    ) -> anyhow::Result<Option<GateVerdict>> {
        let gate = &self.run.config.gate;
        let match_config = self.match_config(&candidate.id)?;
        let spec = serde_json::json!({
            "kind": "gate", "candidate": candidate.id, "champion": champion, "gate": gate, "match": match_config,
        });
        self.run
            .store
            .matches()
            .put(id, MatchFile::Spec, serde_json::to_vec_pretty(&spec)?)?;
        let candidate_weights = match &candidate.weights {
            Some(weights) => weights.clone(),
            None => self.run.weights(&candidate.id)?,
        };
        let mut a = self.player(&candidate.id, &candidate_weights)?;
        let champion_weights = self.champion_weights(champion)?;
        let mut b = self.player(champion, &champion_weights)?;
        let context = MatchContext {
            match_id: id.to_owned(),
            config_id: self.run.config_id.clone(),
            start_time_ms: now_ms() as i64,
        };
        let (mut points, mut games) = (0.0, 0u64);
        let mut observe = |event: &MatchEvent<'_>| {
            if let MatchEvent::GameFinished { game } = event {
                games += 1;
                points += game.a_points().unwrap_or(0.0);
                tell(format!(
                    "{} against {champion}: {points} of {games} points",
                    candidate.id
                ));
            }
            if stop() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut verdict = run_gate(gate, &match_config, &mut a, &mut b, &context, &mut observe)?;
        if verdict.promotes() && !gate.always_promote {
            self.meet_older(&mut verdict, &match_config, &mut a, &context, tell, stop)?;
        }
        Ok((verdict.decision != tengen_evaluator::Decision::Undecided).then_some(verdict))
    }

    /// Lets a candidate that has passed play older champions until one of them shows that it has become weaker.
    fn meet_older(
        &self,
        verdict: &mut GateVerdict,
        first: &MatchConfig,
        candidate: &mut SearchPlayer,
        context: &MatchContext,
        tell: &dyn Fn(String),
        stop: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let gate = &self.run.config.gate;
        let champions = self.run.store.models().promotions()?;
        for (number, place) in gate.older_places(champions.len()).into_iter().enumerate() {
            let older = &champions[place].1.model_id;
            let mut player = self.player(older, &self.run.weights(older)?)?;
            let context = MatchContext {
                match_id: format!("{}-older-{older}", context.match_id),
                ..context.clone()
            };
            tell(format!("{} against the older champion {older}", verdict.candidate));
            let mut observe = |_: &MatchEvent<'_>| match stop() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let config = gate.older_config(first, number);
            let result = run_match(&config, candidate, &mut player, &context, &mut observe)?;
            verdict.add_older(older.to_string(), result);
            if !verdict.promotes() {
                break;
            }
        }
        Ok(())
    }

    /// The match settings: the run's first board, at the komi that the candidate considers fair there.
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

    fn champion_weights(&mut self, id: &ModelId) -> anyhow::Result<Weights> {
        if self.champion.as_ref().is_none_or(|(known, _)| known != id) {
            self.champion = Some((id.clone(), self.run.weights(id)?));
        }
        Ok(self.champion.as_ref().expect("just set").1.clone())
    }

    fn player(&self, id: &ModelId, weights: &Weights) -> anyhow::Result<SearchPlayer> {
        let predictor = TorchPredictor::new(weights, self.run.options)?.with_name(id.to_string());
        let search = SearchConfig {
            visits: self.run.config.gate.visits,
            noise: false,
            ..self.run.config.selfplay.search.clone()
        };
        Ok(SearchPlayer::new(id.to_string(), Box::new(predictor), search))
    }

    /// Puts the games and then the verdict into the store; returns the verdict's file.
    fn publish(&self, id: &str, verdict: &GateVerdict) -> anyhow::Result<Vec<u8>> {
        let store = &self.run.store;
        if let Some(result) = &verdict.result {
            let older = verdict.older.iter().flat_map(|older| &older.result.records);
            let records: Vec<GameRecord> = result.records.iter().chain(older).cloned().collect();
            let sgf = tengen_sgf::write_sgf_collection(&records);
            store.matches().put(id, MatchFile::Games, sgf)?;
            let collection = Collection::Match { id: id.to_owned() };
            // Left from a gate that was killed before its verdict; the same games are played again.
            let before = store.games().list_all(&GamesOf::Match(id.to_owned()))?;
            if before.is_empty() && !records.is_empty() {
                store.games().publish_games(&collection, "gate", 0, &records)?;
            }
        }
        let bytes = serde_json::to_vec_pretty(verdict)?;
        store.matches().put(id, MatchFile::Result, bytes)?;
        // If another process was first, its verdict in the store counts.
        let stands = store.matches().get(id, MatchFile::Result)?;
        Ok(stands.context("the verdict that was just written is missing")?.to_vec())
    }

    /// The ratings of all models that have played gate matches, oldest first; the first one's rating is 0.
    pub fn ratings(&self) -> anyhow::Result<Vec<Rating>> {
        ratings(self.run)
    }
}

/// The ratings of all models that have played gate matches, oldest first; the first one's rating is 0.
pub(crate) fn ratings(run: &Opened) -> anyhow::Result<Vec<Rating>> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut results = Vec::new();
    for id in run
        .store
        .matches()
        .list()?
        .into_iter()
        .filter(|id| id.starts_with("gate-"))
    {
        let Some(bytes) = run.store.matches().get(&id, MatchFile::Result)? else {
            continue;
        };
        let settled = parse(&id, &bytes)?;
        for older in settled.older {
            results.push((settled.candidate.clone(), older.champion, older.result.a_total));
        }
        if let Some(score) = settled.result {
            results.push((settled.candidate, settled.champion, score.a_total));
        }
    }
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
        .map(|(a, b, Points { wins, ties, losses })| PoolGames {
            first: numbers[a],
            second: numbers[b],
            wins: *wins,
            ties: *ties,
            losses: *losses,
        })
        .collect();
    let rated = rate_pool(numbers.len(), &games, PoolConfig::default())?;
    numbers
        .into_iter()
        .zip(rated.players)
        .map(|((model_id, _), rating)| {
            let info = run.store.models().info(&model_id.parse()?)?;
            Ok(Rating {
                model_id,
                elo: rating.rating,
                low: rating.low,
                high: rating.high,
                evaluations: info.cost.evaluations,
                cpu_seconds: info.cost.cpu_seconds,
            })
        })
        .collect()
}

/// A verdict without its lists of games, which are in the match's own files.
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
