//! A network, or its stand-in, behind a search.

use tengen_rules::Move;
use tengen_search::{EvaluationCache, Lockstep, Predictor, Search, SearchConfig, SearchResult, rng};

use crate::player::{Answer, Choice, Player, PlayerCost, PlayerError, Thought, Turn};

/// Memory of a player's evaluation cache.
const CACHE_BYTES: usize = 64 << 20;

/// Variety by drawing moves instead of always taking the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// A move is drawn with a chance proportional to its improved policy to the power of 1 / `value`. 0 = always the best.
    pub value: f32,
    /// Only before this ply of the game, counted from 0.
    pub plies: usize,
}

impl Temperature {
    /// Always the best move.
    pub const NONE: Temperature = Temperature { value: 0.0, plies: 0 };
}

/// Searches all its games in lockstep, so that one call of the network serves them all.
pub struct SearchPlayer {
    name: String,
    predictor: Box<dyn Predictor>,
    config: SearchConfig,
    temperature: Temperature,
    cache: EvaluationCache,
    lockstep: Lockstep,
    searches: Vec<Search>,
    cost: PlayerCost,
}

impl SearchPlayer {
    /// A player of this name that evaluates with `predictor` and searches by `config`.
    pub fn new(name: String, predictor: Box<dyn Predictor>, config: SearchConfig) -> SearchPlayer {
        SearchPlayer {
            name,
            predictor,
            config,
            temperature: Temperature::NONE,
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
            searches: Vec::new(),
            cost: PlayerCost::default(),
        }
    }

    /// The same player drawing some of its moves.
    pub fn with_temperature(mut self, temperature: Temperature) -> SearchPlayer {
        self.temperature = temperature;
        self
    }

    fn prepare(&mut self, turns: &[Turn<'_>]) {
        for (index, turn) in turns.iter().enumerate() {
            let rng = rng::stream(turn.seed, &[turn.position.ply() as u64]);
            match self.searches.get_mut(index) {
                Some(search) => search.restart(turn.position, turn.komi, self.config.visits, rng),
                None => self
                    .searches
                    .push(Search::new(self.config.clone(), turn.position, turn.komi, rng)),
            }
        }
    }

    fn choice(&self, turn: &Turn<'_>, result: &SearchResult) -> Choice {
        let ply = turn.position.ply();
        let warm = self.temperature.value > 0.0 && ply < self.temperature.plies;
        let mv = if warm { self.draw(turn, result) } else { result.best };
        let thought = Thought {
            value: result.value,
            margin: result.margin,
            visits: result.total_visits,
            network_value: result.network_value,
            best: mv == result.best,
        };
        Choice {
            mv,
            thought: Some(thought),
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
        let searches = &mut self.searches[..turns.len()];
        let stats = self
            .lockstep
            .run(searches, &mut self.predictor, &mut self.cache)
            .map_err(|reason| PlayerError::Predict {
                player: self.name.clone(),
                reason,
            })?;
        self.cost.evaluations += stats.evaluations;
        self.cost.batches += stats.batches;
        self.cost.moves += turns.len() as u64;
        let answer = |(turn, search): (&Turn<'_>, &Search)| Answer::Play(self.choice(turn, &search.result()));
        Ok(turns.iter().zip(&self.searches).map(answer).collect())
    }

    fn cost(&self) -> PlayerCost {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use tengen_rules::{Komi, Position, Size};
    use tengen_search::UniformPredictor;

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
    fn games_do_not_disturb_one_another() {
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
    fn temperature_draws_other_moves_in_the_opening_only() {
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
}
