//! One group: valid games, and correct behavior when stopped, resumed or given a new model.

mod common;

use std::sync::Arc;

use tengen_records::{EndReason, FULL_SEARCH, OPENING};
use tengen_rules::{Move, Size};
use tengen_search::{PredictError, Predictions, Predictor, ScriptedPredictor};
use tengen_selfplay::{BookShare, Counters, FinishedGame, Group, GroupSetup, ModelUpdate, SelfPlayConfig, Snapshot};

use common::{config, run, scripted, uniform};

fn group(config: &SelfPlayConfig, quota: Option<u64>, model: ModelUpdate) -> (Group, Arc<Counters>) {
    let counters = Arc::new(Counters::new());
    let setup = GroupSetup {
        run: run(7),
        session: 0,
        number: 3,
        quota,
    };
    (Group::new(config, setup, model, counters.clone()).unwrap(), counters)
}

fn play_out(group: &mut Group, predictor: &mut dyn Predictor) -> Vec<FinishedGame> {
    let mut games = Vec::new();
    while !group.is_done() {
        games.extend(group.step(predictor).unwrap());
    }
    games.sort_by_key(|game| game.address);
    games
}

#[test]
fn every_finished_game_is_a_complete_and_valid_record() {
    let config = config(&["3x3", "5x4"]);
    let (mut group, counters) = group(&config, Some(30), scripted(1));
    let games = play_out(&mut group, &mut ScriptedPredictor::new(1));
    assert_eq!(games.len(), 30);
    let mut positions = 0;
    for (index, game) in games.iter().enumerate() {
        let record = &game.record;
        assert_eq!((game.address.index, game.address.group), (index as u64, 3));
        record.validate().unwrap();
        assert_eq!(
            (record.black_model.as_str(), record.config_id.as_str()),
            ("scripted-1", "test")
        );
        assert_eq!(record.start_time_ms, 1_700_000_000_000);
        let opening = usize::from(record.opening_plies);
        for (ply, turn) in record.plies.iter().enumerate() {
            assert_eq!(turn.has(OPENING), ply < opening);
            assert_eq!(turn.policy.is_empty(), ply < opening);
            assert_eq!(turn.weight > 0.0, ply >= opening);
            assert_eq!(turn.root_visits > 0, ply >= opening);
            assert!(turn.root_visits == 8 || !turn.has(FULL_SEARCH));
        }
        positions += record.plies.len() - opening;
    }
    let values = counters.values();
    assert_eq!(values.games + values.unfinished, 30);
    assert_eq!(values.plies, positions as u64);
    assert!(values.evaluations > 0 && values.mean_batch() > 2.0 && values.visits >= values.plies);
    assert!(games.iter().any(|game| game.record.opening_plies > 0));
    assert!(games.iter().any(|game| game.record.size == Size::square(3).unwrap()));
    assert!(games.iter().any(|game| game.record.size.area() == 20));
}

#[test]
fn a_game_at_the_ply_limit_has_no_result() {
    let config = SelfPlayConfig {
        ply_limit_areas: 1,
        ..config(&["3x3"])
    };
    let (mut group, counters) = group(&config, Some(40), scripted(2));
    let games = play_out(&mut group, &mut ScriptedPredictor::new(2));
    let (cut, ended): (Vec<_>, Vec<_>) = games.iter().partition(|g| g.record.end_reason == EndReason::PlyLimit);
    assert!(
        !cut.is_empty() && !ended.is_empty(),
        "{} abandoned, {} ended",
        cut.len(),
        ended.len()
    );
    for game in &cut {
        assert_eq!((game.record.score_half_points, game.record.outcome()), (None, None));
        assert!(game.record.ownership.is_empty());
        assert_eq!(game.record.plies.len(), 9);
    }
    for game in &ended {
        assert_eq!(game.record.end_reason, EndReason::TwoPasses);
        assert!(game.record.plies.len() <= 9 && game.record.score_half_points.is_some());
    }
    assert_eq!(counters.values().unfinished, cut.len() as u64);
    let positions: usize = ended
        .iter()
        .map(|g| g.record.plies.len() - usize::from(g.record.opening_plies))
        .sum();
    assert_eq!(counters.values().positions, positions as u64);
}

#[test]
fn a_share_of_the_searches_is_full_and_only_those_are_trained_on() {
    let mut config = config(&["3x3"]);
    config.decided_value = 1.0;
    config.full_share = 0.3;
    config.cheap_visits = 3;
    let play = |config: &SelfPlayConfig| {
        let (mut group, _) = group(config, Some(60), scripted(3));
        play_out(&mut group, &mut ScriptedPredictor::new(3))
    };
    let games = play(&config);
    let (mut full, mut cheap) = (0u32, 0u32);
    for ply in games
        .iter()
        .flat_map(|game| &game.record.plies)
        .filter(|ply| !ply.has(OPENING))
    {
        match ply.root_visits {
            8 => full += 1,
            visits => {
                assert_eq!(visits, 3);
                cheap += 1;
            }
        }
        assert_eq!(ply.has(FULL_SEARCH), ply.root_visits == 8);
        assert_eq!(ply.weight, if ply.root_visits == 8 { 1.0 } else { 0.0 });
    }
    let share = f64::from(full) / f64::from(full + cheap);
    assert!((share - 0.3).abs() < 0.1, "{full} full searches, {cheap} cheap ones");

    // Searches with no more visits than the cheap ones are all full.
    config.cheap_visits = 8;
    let games = play(&config);
    let mut plies = games
        .iter()
        .flat_map(|game| &game.record.plies)
        .filter(|ply| !ply.has(OPENING));
    assert!(plies.all(|ply| ply.weight == 1.0 && ply.root_visits == 8));
}

#[test]
fn cheap_searches_without_noise_play_the_same_moves() {
    let distinct_games = |cheap_noise: f32| {
        let mut config = config(&["3x3"]);
        config.decided_value = 1.0;
        config.full_share = 1e-6;
        config.cheap_visits = 3;
        config.cheap_noise = cheap_noise;
        config.opening.random_share = 0.0;
        config.komi.uniform_share = 0.0;
        config.komi.spread = 0.0;
        config.komi.fixed_fair = Some(0.0);
        let (mut group, _) = group(&config, Some(20), scripted(3));
        let games = play_out(&mut group, &mut ScriptedPredictor::new(3));
        let moves = games
            .iter()
            .map(|game| game.record.plies.iter().map(|ply| ply.mv).collect());
        moves.collect::<std::collections::HashSet<Vec<Move>>>().len()
    };
    assert_eq!(distinct_games(0.0), 1);
    assert!(distinct_games(1.0) > 10);
}

#[test]
fn a_decided_game_is_searched_with_fewer_visits() {
    let mut config = config(&["3x3"]);
    config.decided_value = 0.3;
    config.decided_visits = 2;
    config.decided_weight = 0.5;
    let (mut group, _) = group(&config, Some(20), scripted(3));
    let games = play_out(&mut group, &mut ScriptedPredictor::new(3));
    let mut few = 0;
    for record in games.iter().map(|game| &game.record) {
        for pair in record.plies.windows(2).filter(|pair| !pair[0].has(OPENING)) {
            let decided = pair[0].root_value.abs() > 0.3;
            assert_eq!(pair[1].root_visits, if decided { 2 } else { 8 });
            assert_eq!(pair[1].has(FULL_SEARCH), !decided);
            assert_eq!(pair[1].weight, if decided { 0.5 } else { 1.0 });
            few += u32::from(decided);
        }
    }
    assert!(few > 0);
}

#[test]
fn stopping_and_resuming_does_not_change_games() {
    let mut config = config(&["4x4"]);
    // Searches begin again after a stop, so games may end in another order. With other shares than these, some forks
    // then begin from other games.
    config.opening.fork_share = 0.3;
    games_survive_a_stop(&config);
    config.komi.least_chance = Some(0.2);
    games_survive_a_stop(&config);
    config.opening.fork_share = 0.0;
    config.opening.earlier_plies = 3;
    games_survive_a_stop(&config);
}

fn games_survive_a_stop(config: &SelfPlayConfig) {
    let mut predictor = ScriptedPredictor::new(4);
    let (mut straight, _) = group(config, Some(20), scripted(4));
    let expected = play_out(&mut straight, &mut predictor);
    for steps in [0, 1, 5, 60, 301] {
        let (mut first, _) = group(config, Some(20), scripted(4));
        let mut games = Vec::new();
        for _ in 0..steps {
            games.extend(first.step(&mut predictor).unwrap());
        }
        let bytes = Snapshot::new(vec![first.snapshot()]).to_bytes();
        let snapshot = Snapshot::from_bytes(&bytes).unwrap();
        assert_eq!(snapshot.groups, [first.snapshot()]);
        assert_eq!(snapshot.games(), first.games_in_flight());
        let (mut second, _) = group(config, Some(20), scripted(4));
        second.restore(&snapshot.groups[0]).unwrap();
        games.extend(play_out(&mut second, &mut predictor));
        games.sort_by_key(|game| game.address);
        assert_eq!(games, expected, "after {steps} steps");
    }
}

#[test]
fn random_plies_may_follow_those_of_an_earlier_game() {
    let mut config = config(&["4x4"]);
    config.opening.random_share = 1.0;
    config.opening.max_random_plies = 1;
    config.opening.earlier_plies = 3;
    let (mut group, _) = group(&config, Some(200), scripted(4));
    let mut predictor = ScriptedPredictor::new(4);
    let mut finished: Vec<Vec<Move>> = Vec::new();
    let mut lengths = [0; 5];
    while !group.is_done() {
        for game in group.step(&mut predictor).unwrap() {
            let moves: Vec<Move> = game.record.plies.iter().map(|ply| ply.mv).collect();
            let plies = usize::from(game.record.opening_plies);
            lengths[plies] += 1;
            let repeated = &moves[..plies - 1];
            assert!(repeated.is_empty() || finished.iter().any(|earlier| earlier.starts_with(repeated)));
            game.record.validate().unwrap();
            finished.push(moves);
        }
    }
    assert_eq!(lengths[0], 0, "{lengths:?}");
    assert!(lengths[1..].iter().all(|&games| games > 20), "{lengths:?}");
}

#[test]
fn a_snapshot_keeps_where_searches_were_surprised() {
    let mut config = config(&["4x4"]);
    config.opening.fork_share = 0.5;
    config.opening.surprise_share = 1.0;
    let (mut group, _) = group(&config, Some(20), scripted(4));
    play_out(&mut group, &mut ScriptedPredictor::new(4));
    let snapshot = Snapshot::new(vec![group.snapshot()]);
    let bytes = snapshot.to_bytes();
    assert!(String::from_utf8_lossy(&bytes).contains("surprises"));
    assert_eq!(Snapshot::from_bytes(&bytes).unwrap(), snapshot);
}

#[test]
fn forks_begin_with_the_moves_of_an_earlier_game() {
    let mut config = config(&["4x4"]);
    config.opening.fork_share = 0.5;
    config.opening.random_share = 0.0;
    let anywhere = forks(&config);
    config.opening.surprise_share = 1.0;
    assert_ne!(forks(&config), anywhere);
}

/// Plays 60 games and returns the openings of those that begin like an earlier one.
fn forks(config: &SelfPlayConfig) -> Vec<Vec<Move>> {
    let (mut group, _) = group(config, Some(60), scripted(4));
    let mut predictor = ScriptedPredictor::new(4);
    let mut finished: Vec<Vec<Move>> = Vec::new();
    let mut forks = Vec::new();
    while !group.is_done() {
        for game in group.step(&mut predictor).unwrap() {
            let moves: Vec<Move> = game.record.plies.iter().map(|ply| ply.mv).collect();
            let opening = &moves[..usize::from(game.record.opening_plies)];
            if !opening.is_empty() {
                forks.push(opening.to_vec());
                assert!(
                    finished.iter().any(|earlier| earlier.starts_with(opening)),
                    "{opening:?} begins no earlier game"
                );
            }
            game.record.validate().unwrap();
            finished.push(moves);
        }
    }
    assert!((10..50).contains(&forks.len()), "{} of 60 games", forks.len());
    forks
}

#[test]
fn damaged_snapshots_are_rejected() {
    let config = config(&["4x4"]);
    let (mut first, _) = group(&config, None, scripted(4));
    for _ in 0..100 {
        first.step(&mut ScriptedPredictor::new(4)).unwrap();
    }
    let text = String::from_utf8(Snapshot::new(vec![first.snapshot()]).to_bytes()).unwrap();
    assert!(Snapshot::from_bytes(&text.as_bytes()[1..]).is_err());
    let newer = text.replace("\"format\":1", "\"format\":9");
    assert!(
        Snapshot::from_bytes(newer.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("format 9")
    );
    let smaller = Snapshot::from_bytes(text.replace("\"4x4\"", "\"1x1\"").as_bytes()).unwrap();
    let (mut second, _) = group(&config, None, scripted(4));
    assert!(second.restore(&smaller.groups[0]).is_err());
    assert_eq!(second.games_in_flight(), 0);
}

#[test]
fn a_new_model_takes_over_games_in_flight() {
    let config = config(&["4x4"]);
    let (mut group, _) = group(&config, Some(8), scripted(5));
    for _ in 0..20 {
        assert!(group.step(&mut ScriptedPredictor::new(5)).unwrap().is_empty());
    }
    let before = group.snapshot();
    group.set_model(ModelUpdate {
        visits: 12,
        ..uniform()
    });
    let games = play_out(&mut group, &mut tengen_search::UniformPredictor);
    assert_eq!((before.games.len(), games.len()), (8, 8));
    for game in &games {
        assert_eq!(game.record.black_model, "scripted-5", "the model a game began with");
        let visits: Vec<u16> = game
            .record
            .plies
            .iter()
            .map(|ply| ply.root_visits)
            .filter(|&n| n > 0)
            .collect();
        assert_eq!(visits[0], 8);
        assert!(visits.contains(&12), "the new number of visits is used: {visits:?}");
        game.record.validate().unwrap();
    }
}

#[test]
fn later_boards_replace_earlier_ones_while_games_go_on() {
    let mut config = config(&["4x4", "3x3"]);
    config.boards[0].from = 500;
    config.boards[1].until = Some(500);
    let at = |positions| ModelUpdate {
        positions,
        ..scripted(5)
    };
    let (mut group, _) = group(&config, Some(60), at(499));
    let mut predictor = ScriptedPredictor::new(5);
    let mut games = Vec::new();
    while games.len() < 30 {
        games.extend(group.step(&mut predictor).unwrap());
    }
    let in_flight = group.games_in_flight();
    group.set_model(at(500));
    games.extend(play_out(&mut group, &mut predictor));
    games.sort_by_key(|game| game.address);
    let small = games.iter().take_while(|game| game.record.size.area() == 9).count();
    assert_eq!(small, 30 + in_flight, "every game that had begun goes on on its board");
    assert!(games[small..].iter().all(|game| game.record.size.area() == 16));
    for game in &games {
        game.record.validate().unwrap();
    }
}

#[test]
fn later_noise_replaces_the_first() {
    let moves = |full_noise, later_noise: &[(u64, f32)], positions| -> Vec<Vec<Move>> {
        let mut config = config(&["4x4"]);
        config.full_noise = full_noise;
        config.later_noise = later_noise.to_vec();
        let model = ModelUpdate {
            positions,
            ..scripted(5)
        };
        let (mut group, _) = group(&config, Some(8), model);
        let games = play_out(&mut group, &mut ScriptedPredictor::new(5));
        let moves = |game: &FinishedGame| game.record.plies.iter().map(|ply| ply.mv).collect();
        games.iter().map(moves).collect()
    };
    let later = [(500, 0.25), (900, 0.0)];
    let [noisy, less, none] = [1.0, 0.25, 0.0].map(|noise| moves(noise, &[], 0));
    assert!(noisy != less && less != none);
    for (positions, expected) in [(499, &noisy), (500, &less), (899, &less), (900, &none)] {
        assert_eq!(&moves(1.0, &later, positions), expected, "{positions} positions");
    }
}

#[test]
fn noise_falls_with_the_rest_of_the_budget() {
    let moves = |quiet_from, spent| -> Vec<Vec<Move>> {
        let mut config = config(&["4x4"]);
        config.quiet_from = quiet_from;
        config.later_noise = vec![(500, 0.25)];
        let model = ModelUpdate {
            positions: 1000,
            spent,
            ..scripted(5)
        };
        let (mut group, _) = group(&config, Some(8), model);
        let games = play_out(&mut group, &mut ScriptedPredictor::new(5));
        let moves = |game: &FinishedGame| game.record.plies.iter().map(|ply| ply.mv).collect();
        games.iter().map(moves).collect()
    };
    let (noisy, less, quiet) = (moves(1.0, 0.9), moves(0.6, 0.9), moves(0.0, 1.0));
    assert!(noisy != less && less != quiet);
    assert_eq!(moves(0.6, 0.6), noisy);
    assert_eq!(moves(0.2, 0.8), less, "a quarter is left of both");
    assert_eq!(moves(0.6, 1.0), quiet);
    assert_eq!(moves(1.0, 1.0), noisy, "1 means never");
}

#[test]
fn games_begin_with_lines_of_a_book() {
    let size = Size::square(3).unwrap();
    let line = |text: &str| -> Vec<Move> {
        let moves = text.split(' ').map(|mv| Move::parse(size, mv));
        moves.collect::<Result<_, _>>().unwrap()
    };
    let lines = [line("B2 A1"), line("A1 B2 C3")];
    let mut config = config(&["3x3", "4x4"]);
    config.opening.random_share = 0.0;
    config.opening.books = vec![BookShare::new("b.sgf", 0.5)];
    config.opening.books[0].lines = lines.iter().map(|line| (size, line.clone())).collect();
    let (mut group, _) = group(&config, Some(200), scripted(3));
    let games = play_out(&mut group, &mut ScriptedPredictor::new(3));
    let mut counts = [0, 0, 0];
    for game in &games {
        let record = &game.record;
        record.validate().unwrap();
        let opening = &record.plies[..usize::from(record.opening_plies)];
        assert!(opening.iter().all(|ply| ply.has(OPENING)));
        let moves: Vec<Move> = opening.iter().map(|ply| ply.mv).collect();
        match lines.iter().position(|line| *line == moves) {
            Some(number) => {
                assert_eq!(record.size, size, "the book has no line for the other board");
                counts[number] += 1;
            }
            None => {
                assert!(moves.is_empty(), "{moves:?}");
                counts[2] += 1;
            }
        }
    }
    assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
    assert!((120..180).contains(&counts[2]), "{counts:?}");
}

#[test]
fn a_reused_tree_needs_fewer_evaluations_for_the_same_visits() {
    let play = |tree_reuse: bool| {
        let mut config = config(&["4x4"]);
        config.decided_value = 1.0;
        config.cache_mib = 0;
        config.tree_reuse = tree_reuse;
        let (mut group, counters) = group(&config, Some(20), scripted(3));
        let games = play_out(&mut group, &mut ScriptedPredictor::new(3));
        let plies: Vec<_> = games.iter().flat_map(|game| &game.record.plies).collect();
        let searched = plies.iter().filter(|ply| !ply.has(OPENING)).count();
        assert!(
            plies.iter().all(|ply| ply.has(OPENING) || ply.root_visits >= 8),
            "kept visits count"
        );
        for game in &games {
            game.record.validate().unwrap();
        }
        counters.values().evaluations as f64 / searched as f64
    };
    let (without, with) = (play(false), play(true));
    assert!(
        with < 0.95 * without,
        "{with} instead of {without} evaluations per move"
    );
}

/// A predictor that fails on its third call.
struct Failing(u32);

impl Predictor for Failing {
    fn predict(&mut self, inputs: &tengen_encoding::InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        self.0 += 1;
        if self.0 == 3 {
            return Err(PredictError::Failed("out of memory".to_owned()));
        }
        ScriptedPredictor::new(4).predict(inputs, out)
    }

    fn name(&self) -> String {
        "failing".to_owned()
    }
}

/// Gives broken logits for one row of every batch that has it.
struct BrokenRow(usize);

impl Predictor for BrokenRow {
    fn predict(&mut self, inputs: &tengen_encoding::InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        ScriptedPredictor::new(4).predict(inputs, out)?;
        let logits = inputs.canvas().area() + 1;
        out.policy_logits
            .iter_mut()
            .skip(self.0 * logits)
            .take(logits)
            .for_each(|logit| *logit = f32::NAN);
        Ok(())
    }

    fn name(&self) -> String {
        "broken".to_owned()
    }
}

#[test]
fn a_broken_evaluation_is_named_by_its_row() {
    // Without a shared opening the games ask about different positions soon: wait for a batch that has the row.
    for row in [0, 1, 5] {
        let (mut group, _) = group(&config(&["5x5"]), Some(30), scripted(4));
        let error = (0..200).find_map(|_| group.step(&mut BrokenRow(row)).err());
        let array = "policy_logits";
        assert_eq!(error, Some(PredictError::NotFinite { array, row }));
    }
}

/// The chance of a side that expects this margin, in points after komi.
fn chance_of(margin: f32) -> f32 {
    1.0 / (1.0 + (-0.3 * margin).exp())
}

/// Predicts that the side to move will own 5 points more than the opponent.
struct Optimistic;

impl Predictor for Optimistic {
    fn predict(&mut self, inputs: &tengen_encoding::InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        out.reset(inputs.len(), inputs.canvas());
        out.margin
            .iter_mut()
            .zip(inputs.komi())
            .for_each(|(margin, komi)| *margin = 5.0 + komi);
        out.win.assign(&out.margin.mapv(chance_of));
        out.loss.assign(&out.margin.mapv(|margin| chance_of(-margin)));
        Ok(())
    }

    fn name(&self) -> String {
        "optimistic".to_owned()
    }
}

#[test]
fn komi_follows_the_model_or_the_network_after_random_plies() {
    let mut config = config(&["5x5"]);
    config.komi.uniform_share = 0.0;
    config.komi.spread = 0.1;
    config.opening.random_share = 0.5;
    let mut model = uniform();
    model.fair_komi.set(Size::square(5).unwrap(), 11.0);
    let (mut group, _) = group(&config, Some(30), model);
    let games = play_out(&mut group, &mut Optimistic);
    let mut seen = [0; 3];
    for record in games.iter().map(|game| &game.record) {
        let (kind, fair) = match record.opening_plies {
            0 => (0, 11.0),
            odd if odd % 2 == 1 => (1, -5.0),
            _ => (2, 5.0),
        };
        seen[kind] += 1;
        assert!(
            (record.komi.points() - fair).abs() <= 0.5,
            "{} instead of {fair}",
            record.komi
        );
    }
    assert!(seen.iter().all(|&n| n > 0), "{seen:?}");
}

#[test]
fn komi_after_an_opening_leaves_both_sides_a_chance() {
    let mut config = config(&["5x5"]);
    config.komi.uniform_share = 1.0;
    config.komi.least_chance = Some(0.3);
    config.opening.random_share = 0.7;
    let (mut group, _) = group(&config, Some(80), uniform());
    let games = play_out(&mut group, &mut Optimistic);
    let (mut far, mut chances) = (0, Vec::new());
    for record in games.iter().map(|game| &game.record) {
        let ahead = match record.opening_plies {
            0 => {
                far += u32::from(record.komi.points().abs() > 12.0);
                continue;
            }
            odd if odd % 2 == 1 => -5.0,
            _ => 5.0,
        };
        chances.push(chance_of(ahead - record.komi.points()));
    }
    assert!(
        chances.iter().all(|chance| (0.26..0.74).contains(chance)),
        "{chances:?}"
    );
    let low = chances.iter().filter(|&&chance| chance < 0.5).count();
    assert!(low > 10 && chances.len() - low > 10, "{chances:?}");
    assert!(far > 3, "games from the empty board keep their komi");
}

#[test]
fn a_group_can_continue_after_a_failed_call() {
    let config = config(&["4x4"]);
    let (mut straight, _) = group(&config, Some(8), scripted(4));
    let expected = play_out(&mut straight, &mut ScriptedPredictor::new(4));
    let (mut group, _) = group(&config, Some(8), scripted(4));
    let mut failing = Failing(0);
    assert!(group.step(&mut failing).is_ok() && group.step(&mut failing).is_ok());
    assert!(
        group
            .step(&mut failing)
            .unwrap_err()
            .to_string()
            .contains("out of memory")
    );
    assert_eq!(play_out(&mut group, &mut failing), expected);
}

#[test]
fn a_step_ends_even_if_the_cache_has_every_position() {
    let (mut group, counters) = group(&config(&["1x1", "1x2"]), None, uniform());
    let mut games = Vec::new();
    for _ in 0..200 {
        games.extend(group.step(&mut tengen_search::UniformPredictor).unwrap());
    }
    assert!(games.len() > 200);
    assert!(
        games
            .iter()
            .all(|game| game.record.plies.iter().filter(|ply| ply.mv == Move::Pass).count() >= 2)
    );
    assert!(counters.values().cache_hits > counters.values().evaluations);
}
