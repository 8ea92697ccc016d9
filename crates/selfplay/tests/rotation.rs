//! Groups in turn: a device has the batch of one while the next descends, and every game is as if played alone.

mod common;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tengen_encoding::InputBatch;
use tengen_search::{Job, PredictError, Predictions, Predictor, ScriptedPredictor};
use tengen_selfplay::{Counters, FinishedGame, Group, GroupSetup, Rotation};

use common::{config, run, scripted};

/// Keeps jobs until they are collected, the last one first, and notes how many it had at most.
struct Elsewhere {
    inner: ScriptedPredictor,
    jobs: VecDeque<Job>,
    most: usize,
    /// Collections until one fails.
    healthy: usize,
}

impl Elsewhere {
    fn new(healthy: usize) -> Elsewhere {
        Elsewhere {
            inner: ScriptedPredictor::new(1),
            jobs: VecDeque::new(),
            most: 0,
            healthy,
        }
    }
}

impl Predictor for Elsewhere {
    fn predict(&mut self, _: &InputBatch, _: &mut Predictions) -> Result<(), PredictError> {
        unreachable!("a rotation submits")
    }

    fn name(&self) -> String {
        "elsewhere".to_owned()
    }

    fn submit(&mut self, job: Job) -> Result<Option<Job>, PredictError> {
        self.jobs.push_back(job);
        self.most = self.most.max(self.jobs.len());
        Ok(None)
    }

    fn collect(&mut self) -> Result<Option<Job>, PredictError> {
        let Some(mut job) = self.jobs.pop_back() else {
            return Ok(None);
        };
        if self.healthy == 0 {
            return Err(PredictError::Failed("broken".to_owned()));
        }
        self.healthy -= 1;
        self.inner.predict(&job.inputs, &mut job.predictions)?;
        Ok(Some(job))
    }
}

fn groups(count: u64, counters: &Arc<Counters>) -> Vec<Group> {
    let group = |number| {
        let setup = GroupSetup {
            run: run(3),
            session: 0,
            number,
            quota: Some(10 + 3 * number),
        };
        Group::new(&config(&["4x4", "3x3"]), setup, scripted(1), counters.clone()).unwrap()
    };
    (0..count).map(group).collect()
}

fn by_address(games: Vec<FinishedGame>) -> BTreeMap<String, FinishedGame> {
    games
        .into_iter()
        .map(|game| (game.record.game_id.clone(), game))
        .collect()
}

fn played(rotation: &mut Rotation, predictor: &mut dyn Predictor) -> Result<Vec<FinishedGame>, PredictError> {
    let mut games = Vec::new();
    while !rotation.is_done() {
        games.extend(rotation.turn(predictor)?);
    }
    Ok(games)
}

#[test]
fn groups_play_the_same_games_in_turn_as_alone() {
    let counters = Arc::new(Counters::new());
    let mut alone = Vec::new();
    for mut group in groups(3, &counters) {
        while !group.is_done() {
            alone.extend(group.step(&mut ScriptedPredictor::new(1)).unwrap());
        }
    }
    let expected = by_address(alone);
    assert_eq!(expected.len(), 10 + 13 + 16);
    let before = counters.values();

    let turns = Arc::new(Counters::new());
    let mut elsewhere = Elsewhere::new(usize::MAX);
    let games = played(&mut Rotation::new(groups(3, &turns)), &mut elsewhere).unwrap();
    assert_eq!(by_address(games), expected);
    assert_eq!(elsewhere.most, 3, "all groups were away at once");
    let after = turns.values();
    assert_eq!(
        (after.evaluations, after.batches, after.cache_hits, after.plies),
        (before.evaluations, before.batches, before.cache_hits, before.plies)
    );
    assert!(after.descend_ns > 0 && after.predict_ns > 0 && after.absorb_ns > 0);

    let mut direct = Rotation::new(groups(3, &turns));
    assert_eq!(
        by_address(played(&mut direct, &mut ScriptedPredictor::new(1)).unwrap()),
        expected
    );
}

#[test]
fn settled_groups_continue_with_another_predictor() {
    let counters = Arc::new(Counters::new());
    let expected = by_address(
        played(
            &mut Rotation::new(groups(2, &counters)),
            &mut Elsewhere::new(usize::MAX),
        )
        .unwrap(),
    );
    let mut rotation = Rotation::new(groups(2, &counters));
    let mut elsewhere = Elsewhere::new(usize::MAX);
    let mut games = Vec::new();
    for _ in 0..25 {
        games.extend(rotation.turn(&mut elsewhere).unwrap());
    }
    assert!(!elsewhere.jobs.is_empty());
    rotation.settle(&mut elsewhere).unwrap();
    assert!(elsewhere.jobs.is_empty());
    games.extend(played(&mut rotation, &mut ScriptedPredictor::new(1)).unwrap());
    assert_eq!(by_address(games), expected);
}

#[test]
fn an_error_leaves_groups_that_can_be_resumed() {
    let counters = Arc::new(Counters::new());
    let mut rotation = Rotation::new(groups(2, &counters));
    let mut games = Vec::new();
    let mut elsewhere = Elsewhere::new(40);
    let error = loop {
        match rotation.turn(&mut elsewhere) {
            Ok(more) => games.extend(more),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("broken"), "{error}");
    let expected = by_address(
        played(
            &mut Rotation::new(groups(2, &counters)),
            &mut Elsewhere::new(usize::MAX),
        )
        .unwrap(),
    );
    for (old, mut group) in rotation.groups().iter().zip(groups(2, &counters)) {
        group.restore(&old.snapshot()).unwrap();
        while !group.is_done() {
            games.extend(group.step(&mut ScriptedPredictor::new(1)).unwrap());
        }
    }
    let ids = |games: &BTreeMap<String, FinishedGame>| games.keys().cloned().collect::<Vec<_>>();
    assert_eq!(ids(&by_address(games)), ids(&expected));
}
