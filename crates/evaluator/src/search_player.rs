//! A player that searches with a network, or with a stand-in for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tengen_rng as rng;
use tengen_rules::Move;
use tengen_search::{
    EvaluationCache, Lockstep, LockstepStats, PredictError, Predictor, Search, SearchConfig, SearchResult,
};

use crate::player::{Answer, Choice, Player, PlayerCost, PlayerError, SearchSummary, Turn};

/// Memory of a player's evaluation cache, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Adds variety by sampling moves instead of always playing the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// A move's probability is proportional to its improved policy to the power of 1 / `value`. 0 always plays the best
    /// move.
    pub value: f32,
    /// Applies only before this ply of the game, counted from 0.
    pub plies: usize,
}

impl Temperature {
    /// No sampling: always the best move.
    pub const NONE: Temperature = Temperature { value: 0.0, plies: 0 };
}

/// Searches all its games in lockstep, so that one network call serves all of them.
pub struct SearchPlayer {
    name: String,
    predictor: Box<dyn Predictor>,
    config: SearchConfig,
    temperature: Temperature,
    cache: EvaluationCache,
    lockstep: Lockstep,
    searches: Vec<Search>,
    cost: PlayerCost,
    leaves: usize,
    time: Option<Duration>,
    resign: Option<f32>,
    stop: Arc<AtomicBool>,
    /// For each slot, its game and the number of consecutive lost-looking turns.
    lost_turns: Vec<(u64, u32)>,
}

/// Number of consecutive lost-looking turns before a player resigns.
const TURNS_BEFORE_RESIGNING: u32 = 3;
/// Visits between two clock checks.
const VISITS_PER_LOOK: u32 = 16;
/// Maximum visits of a timed search, which bounds its memory.
pub(crate) const MOST_VISITS: u32 = 200_000;

impl SearchPlayer {
    /// A player with this name that evaluates positions with `predictor` and searches as `config` says.
    pub fn new(name: impl Into<String>, predictor: Box<dyn Predictor>, config: SearchConfig) -> SearchPlayer {
        SearchPlayer {
            name: name.into(),
            predictor,
            config,
            temperature: Temperature::NONE,
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
            searches: Vec::new(),
            cost: PlayerCost::default(),
            leaves: 1,
            time: None,
            resign: None,
            stop: Arc::default(),
            lost_turns: Vec::new(),
        }
    }

    /// Limits searches by time instead of visits: every move gets this much computing time, and games in parallel share
    /// the sum of their times. The configured visits remain the maximum. Such games are not reproducible.
    ///
    /// # Panics
    /// If the search method [is not anytime](tengen_search::SearchMethod::is_anytime) and so cannot stop early.
    pub fn with_time(mut self, time: Duration) -> SearchPlayer {
        assert!(self.config.method.is_anytime(), "the method cannot be limited by time");
        self.time = Some(time);
        self
    }

    /// Sets how many leaves each search evaluates in one network call; see [`Search::set_leaves`].
    ///
    /// # Panics
    /// If `leaves` is 0.
    pub fn with_leaves(mut self, leaves: usize) -> SearchPlayer {
        assert!(leaves > 0, "a search evaluates at least one leaf at a time");
        self.leaves = leaves;
        self
    }

    /// Makes the player resign when the value is at most −`value` for three turns in a row; −1 is a certain loss.
    pub fn with_resignation(mut self, value: f32) -> SearchPlayer {
        self.resign = Some(value);
        self
    }

    /// Makes the player sample some of its moves.
    pub fn with_temperature(mut self, temperature: Temperature) -> SearchPlayer {
        self.temperature = temperature;
        self
    }

    /// Makes the player give up its turns with [`PlayerError::Stopped`] once `stop` is set, however long its searches
    /// would take.
    pub fn with_stop(mut self, stop: Arc<AtomicBool>) -> SearchPlayer {
        self.stop = stop;
        self
    }

    fn prepare(&mut self, turns: &[Turn<'_>]) {
        for (index, turn) in turns.iter().enumerate() {
            let rng = rng::stream(turn.seed, &[turn.position.ply() as u64]);
            match self.searches.get_mut(index) {
                Some(search) => search.restart(turn.position, turn.komi, self.config.visits, rng),
                None => {
                    let mut search = Search::new(self.config.clone(), turn.position, turn.komi, rng);
                    search.set_leaves(self.leaves);
                    self.searches.push(search);
                }
            }
        }
    }

    /// Runs the first `count` searches until their visits or their time are used up, or until the player is stopped.
    fn search(&mut self, count: usize) -> Result<LockstepStats, PredictError> {
        let searches = &mut self.searches[..count];
        let goes_on = || !self.stop.load(Ordering::SeqCst);
        let Some(time) = self.time else {
            return self
                .lockstep
                .run_while(goes_on, searches, &mut self.predictor, &mut self.cache);
        };
        let end = Instant::now() + time * count as u32;
        let mut sum = LockstepStats::default();
        let mut visits = 0;
        while visits < self.config.visits && (visits == 0 || Instant::now() < end) && goes_on() {
            let until_look = VISITS_PER_LOOK.max(self.leaves as u32);
            visits = (visits + until_look).min(self.config.visits);
            searches.iter_mut().for_each(|search| search.set_visits(visits));
            let stats = self
                .lockstep
                .run_while(goes_on, searches, &mut self.predictor, &mut self.cache)?;
            sum.evaluations += stats.evaluations;
            sum.batches += stats.batches;
            sum.cache_hits += stats.cache_hits;
        }
        Ok(sum)
    }

    /// The answer to a turn after its search: a move, or resignation if the game has looked lost for long enough.
    fn answer(&mut self, turn: &Turn<'_>, result: &SearchResult) -> Answer {
        let choice = self.choice(turn, result);
        let Some(limit) = self.resign else {
            return Answer::Play(choice);
        };
        if self.lost_turns.len() <= turn.slot {
            self.lost_turns.resize(turn.slot + 1, (u64::MAX, 0));
        }
        let (game, turns) = &mut self.lost_turns[turn.slot];
        let before = if *game == turn.game { *turns } else { 0 };
        (*game, *turns) = (turn.game, if result.value <= -limit { before + 1 } else { 0 });
        match *turns >= TURNS_BEFORE_RESIGNING {
            true => Answer::Resign,
            false => Answer::Play(choice),
        }
    }

    fn choice(&self, turn: &Turn<'_>, result: &SearchResult) -> Choice {
        let ply = turn.position.ply();
        let warm = self.temperature.value > 0.0 && ply < self.temperature.plies;
        let mv = if warm { self.draw(turn, result) } else { result.best };
        let search = SearchSummary {
            value: result.value,
            margin: result.margin,
            visits: result.total_visits,
            network_value: result.network_value,
            best: mv == result.best,
        };
        Choice {
            mv,
            search: Some(search),
        }
    }

    fn draw(&self, turn: &Turn<'_>, result: &SearchResult) -> Move {
        let power = 1.0 / f64::from(self.temperature.value);
        let weights: Vec<f64> = result.policy.iter().map(|&(_, p)| f64::from(p).powf(power)).collect();
        let mut rng = rng::stream(turn.seed, &[turn.position.ply() as u64, 1]);
        let mut left = rng::unit_f64(&mut rng) * weights.iter().sum::<f64>();
        for (&(index, _), weight) in result.policy.iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return Move::from_index(turn.position.size(), usize::from(index)).unwrap_or(result.best);
            }
        }
        result.best
    }
}

impl Player for SearchPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
        self.prepare(turns);
        let stats = self.search(turns.len()).map_err(|reason| PlayerError::Predict {
            player: self.name.clone(),
            reason,
        })?;
        self.cost.evaluations += stats.evaluations;
        self.cost.batches += stats.batches;
        if self.stop.load(Ordering::SeqCst) {
            return Err(PlayerError::Stopped);
        }
        self.cost.moves += turns.len() as u64;
        let results: Vec<SearchResult> = self.searches[..turns.len()].iter().map(Search::result).collect();
        Ok(turns
            .iter()
            .zip(&results)
            .map(|(turn, result)| self.answer(turn, result))
            .collect())
    }

    fn cost(&self) -> PlayerCost {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use tengen_rules::{Komi, Position, Size};
    use tengen_search::{SearchMethod, UniformPredictor};

    use super::*;

    fn choices(player: &mut SearchPlayer, positions: &[Position]) -> Vec<Answer> {
        let turn = |(slot, position)| Turn {
            slot,
            game: slot as u64,
            seed: slot as u64,
            position,
            komi: Komi::from_half_points(0),
        };
        player
            .choose(&positions.iter().enumerate().map(turn).collect::<Vec<_>>())
            .expect("answers")
    }

    fn uniform(config: SearchConfig) -> SearchPlayer {
        SearchPlayer::new("uniform".to_owned(), Box::new(UniformPredictor), config)
    }

    #[test]
    fn games_do_not_affect_each_other() {
        let size = Size::square(4).expect("a size");
        let mut positions = vec![Position::new(size); 3];
        positions[1].play(Move::parse(size, "B2").expect("a move"));
        let config = SearchConfig {
            visits: 30,
            ..SearchConfig::default()
        };
        let together = choices(&mut uniform(config.clone()), &positions);
        let alone = choices(&mut uniform(config), &positions[..2]);
        assert_eq!(together[..2], alone);
    }

    #[test]
    fn temperature_samples_moves_only_in_the_opening() {
        let size = Size::square(3).expect("a size");
        let config = SearchConfig {
            visits: 8,
            noise: false,
            ..SearchConfig::default()
        };
        let warm = Temperature { value: 5.0, plies: 1 };
        let mut player = uniform(config).with_temperature(warm);
        let moves = |answers: Vec<Answer>| {
            let mut moves: Vec<_> = answers
                .into_iter()
                .map(|answer| match answer {
                    Answer::Play(choice) => choice.mv,
                    other => panic!("{other:?}"),
                })
                .collect();
            moves.sort();
            moves.dedup();
            moves.len()
        };
        assert!(moves(choices(&mut player, &vec![Position::new(size); 40])) > 3);
        let mut later = Position::new(size);
        later.play(Move::parse(size, "B2").expect("a move"));
        assert_eq!(moves(choices(&mut player, &vec![later; 40])), 1);
        assert!(player.cost().moves == 80 && player.cost().evaluations > 0);
    }

    #[test]
    fn lost_games_are_resigned_after_three_turns_in_a_row() {
        // White owns nothing and cannot gain anything, so every turn looks lost to a search that reaches the end.
        let size = Size::square(3).expect("a size");
        let lost: Vec<Position> = ["B2 pass", "B2 pass A2 pass", "B2 pass A2 pass C2 pass"]
            .map(|moves| {
                let mut position = Position::new(size);
                moves
                    .split(' ')
                    .for_each(|mv| position.play(Move::parse(size, mv).expect("a move")));
                position.play(Move::parse(size, "A1").expect("a move"));
                position
            })
            .into();
        let config = SearchConfig {
            visits: 60,
            margin_share: 0.0,
            ..SearchConfig::default()
        };
        let ask = |player: &mut SearchPlayer, position: &Position, game| {
            let turn = Turn {
                slot: 0,
                game,
                seed: 1,
                position,
                komi: Komi::from_half_points(0),
            };
            player.choose(&[turn]).expect("an answer").remove(0)
        };
        let resigned = |player: &mut SearchPlayer, game| -> Vec<bool> {
            lost.iter()
                .map(|position| ask(player, position, game) == Answer::Resign)
                .collect()
        };
        // The uniform predictor predicts ties, so at this limit the player resigns at a value of 0 or less.
        let mut player = uniform(config.clone()).with_resignation(0.0);
        assert_eq!(resigned(&mut player, 0), [false, false, true]);
        assert_eq!(
            resigned(&mut player, 1),
            [false, false, true],
            "another game starts counting from zero"
        );
        assert_eq!(
            resigned(&mut uniform(config), 0),
            [false; 3],
            "players do not resign by default"
        );
    }

    #[test]
    fn a_timed_search_stops_at_its_time_or_at_its_visits() {
        let position = Position::new(Size::square(5).expect("a size"));
        let visits = |time_ms, most| {
            let config = SearchConfig {
                method: SearchMethod::Puct,
                ..SearchConfig::for_play(most)
            };
            let mut player = uniform(config).with_time(Duration::from_millis(time_ms));
            match choices(&mut player, std::slice::from_ref(&position)).remove(0) {
                Answer::Play(choice) => choice.search.expect("a search").visits,
                other => panic!("{other:?}"),
            }
        };
        assert!(
            visits(0, 1000) <= VISITS_PER_LOOK + 1,
            "without time, there is one look"
        );
        assert!(visits(60_000, 100) <= 101, "the visits end the search");
        assert!(visits(300, MOST_VISITS) > 4 * VISITS_PER_LOOK, "the time is used");
    }
}
