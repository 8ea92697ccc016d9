//! Self-play under every named set of rules: valid records, independent of the number of threads and of stops.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tengen_records::{EndReason, GameRecord};
use tengen_rules::{LongCycle, Outcome, Rules, Scoring, Suicide};
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};
use tengen_search::ScriptedPredictor;
use tengen_selfplay::{Counters, GenerateSetup, Group, GroupSetup, RunIdentity, SelfPlayConfig, Snapshot, generate};
use tengen_store::{decode, encode};

use common::{config, run, scripted};

fn identity(rules: Rules) -> RunIdentity {
    RunIdentity { rules, ..run(21) }
}

fn boards() -> SelfPlayConfig {
    SelfPlayConfig {
        ply_limit_areas: 6,
        ..config(&["3x3", "4x3"])
    }
}

fn generated(rules: Rules, threads: usize) -> Vec<GameRecord> {
    let setup = GenerateSetup {
        run: identity(rules),
        session: 0,
        games: 24,
        threads,
        known: BTreeSet::new(),
    };
    let mut records = Vec::new();
    let (counters, stop) = (Arc::new(Counters::new()), AtomicBool::new(false));
    let sink = |games: Vec<GameRecord>| records.extend(games);
    generate(&boards(), &setup, &scripted(4), &counters, &stop, sink).unwrap();
    let finished = records.iter().filter(|game| game.is_finished()).count() as u64;
    assert_eq!(counters.values().games, finished);
    records
}

fn all_rules() -> impl Iterator<Item = Rules> {
    Rules::names().map(|name| name.parse().unwrap())
}

#[test]
fn every_rule_set_gives_valid_records_for_any_number_of_threads() {
    for rules in all_rules() {
        let games = generated(rules, 1);
        assert_eq!(encode(&games), encode(&generated(rules, 2)), "{rules}");
        assert_eq!(decode(&encode(&games)).unwrap(), games);
        let mut ends = BTreeMap::new();
        for game in &games {
            let last = game.validate().unwrap_or_else(|error| panic!("{rules}: {error}"));
            assert_eq!((game.rules.as_str(), last.rules()), (rules.name(), rules));
            *ends.entry(game.end_reason).or_insert(0) += 1;
            match game.end_reason {
                EndReason::TwoPasses => assert_eq!(last.consecutive_passes(), 2),
                EndReason::LongCycle => {
                    assert_ne!(rules.long_cycle, LongCycle::GoesOn);
                    assert_eq!((game.score_half_points, game.outcome()), (None, Some(Outcome::Tie)));
                }
                EndReason::UndecidedLife => {
                    assert_eq!(rules.scoring, Scoring::Territory);
                    assert_eq!((game.score_half_points, game.outcome()), (None, None));
                }
                _ => assert_eq!(game.outcome(), None),
            }
        }
        assert!(ends[&EndReason::TwoPasses] > 8, "{rules}: {ends:?}");
    }
}

#[test]
fn suicide_occurs_only_if_allowed() {
    for rules in all_rules() {
        let suicides: usize = generated(rules, 2).iter().map(suicides).sum();
        assert_eq!(suicides > 0, rules.suicide == Suicide::Allowed, "{rules}: {suicides}");
    }
}

fn suicides(game: &GameRecord) -> usize {
    let mut before = None;
    let mut count = 0;
    let mut look = |position: &tengen_rules::Position, played: bool| {
        let own = position.stones(position.to_move().opposite()).len();
        count += usize::from(before.is_some_and(|stones| own <= stones));
        before = played.then(|| position.stones(position.to_move()).len());
    };
    let last = game
        .replay_with(|position, _, ply| look(position, ply.mv != tengen_rules::Move::Pass))
        .unwrap();
    look(&last, false);
    count
}

/// A group that is stopped and resumed plays the same games.
#[test]
fn stopping_does_not_change_games() {
    for rules in [Rules::japanese2008(), Rules::chinese_practice(), Rules::aga()] {
        let group = || {
            let setup = GroupSetup {
                run: identity(rules),
                session: 0,
                number: 1,
                quota: Some(16),
            };
            Group::new(&boards(), setup, scripted(4), Arc::new(Counters::new())).unwrap()
        };
        let mut predictor = ScriptedPredictor::new(4);
        let mut play = |group: &mut Group, steps: usize| {
            let mut games = Vec::new();
            for _ in 0..steps {
                if group.is_done() {
                    break;
                }
                games.extend(group.step(&mut predictor).unwrap());
            }
            games
        };
        let whole = play(&mut group(), usize::MAX);
        let mut first = group();
        let mut games = play(&mut first, 60);
        let bytes = Snapshot::new(vec![first.snapshot()]).to_bytes();
        let mut second = group();
        second
            .restore(&Snapshot::from_bytes(&bytes).unwrap().groups[0])
            .unwrap();
        games.extend(play(&mut second, usize::MAX));
        assert_eq!(games.len(), whole.len());
        for game in &whole {
            assert!(games.contains(game), "{rules}: {:?}", game.address);
        }
    }
}

/// The training samples of a game: prisoners count as komi, and a game tied by a cycle has only policy targets.
#[test]
fn samples_match_the_scores() {
    for rules in [Rules::japanese2008(), Rules::chinese_practice(), Rules::new_zealand()] {
        for game in generated(rules, 2).into_iter().filter(GameRecord::is_finished) {
            for cache_bytes in [0, 1 << 20] {
                let mut source = SampleSource::new(SampleConfig {
                    cache_bytes,
                    result_share: 1.0,
                    ..SampleConfig::default()
                });
                source.add_games("one", std::slice::from_ref(&game)).unwrap();
                for sample in source.draw_samples(60, 5, SymmetryMode::Random).unwrap_or_default() {
                    let Some(score) = game.score_half_points else {
                        assert_eq!((sample.result_weight, sample.policy_weight), (0.0, 1.0));
                        continue;
                    };
                    // The board margin and the komi add up to the mover's score, up to the largest margin.
                    let seen = 2.0 * (sample.board_margin as f32 + sample.features.komi);
                    let is_cut = sample.board_margin.unsigned_abs() as usize == game.size.area();
                    assert!(is_cut || seen.abs() == score.abs() as f32, "{rules}: {seen} {score}");
                    let expected = [seen > 0.0, seen == 0.0, seen < 0.0].map(|is| if is { 1.0 } else { 0.0 });
                    assert!(is_cut || sample.value_target == expected, "{rules}: {seen}");
                    assert_eq!(sample.value_target[1] == 1.0, score == 0);
                }
            }
        }
    }
}
