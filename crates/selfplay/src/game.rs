//! One self-play game in progress.

use tengen_records::{EXPLORED, EndReason, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord};
use tengen_rng::{self as rng, Rng};
use tengen_rules::{Color, Komi, Position, Rules};
use tengen_search::{Search, SearchResult};

use crate::config::Settings;
use crate::forks::EarlierGames;
use crate::setup::{self, KomiPlan};

/// The place of a game in a run; together with the run's seed it determines all of the game's random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameAddress {
    /// The number of the program start in which the game began, counted by the caller; it distinguishes the games of
    /// different starts.
    pub session: u64,
    /// The group that began the game.
    pub group: u64,
    /// The index of the game among those begun by its group.
    pub index: u64,
}

/// The IDs of random streams; ply numbers are added to the last.
const STREAM_ID: u64 = 0;
const STREAM_SETUP: u64 = 1;
const STREAM_PLIES: u64 = 2;
/// The ID after the ply's in the stream that decides how many visits its search gets.
const STREAM_VISITS: u64 = 0;

impl GameAddress {
    fn stream(&self, seed: u64, purpose: u64) -> Rng {
        rng::stream(seed, &[self.session, self.group, self.index, purpose])
    }

    /// The ID of the game: 32 hexadecimal digits derived from the run seed and the address.
    pub fn game_id(&self, seed: u64) -> String {
        let mut rng = self.stream(seed, STREAM_ID);
        format!("{:016x}{:016x}", rng::bits(&mut rng), rng::bits(&mut rng))
    }

    /// The number recorded as the game's seed; never negative.
    pub fn game_seed(&self, seed: u64) -> i64 {
        let folded = rng::fold(seed, &[self.session, self.group, self.index]);
        i64::try_from(folded >> 1).expect("63 bits fit")
    }
}

/// What all games of a run have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIdentity {
    /// The run's seed, from which all random numbers are derived.
    pub seed: u64,
    /// The ID of the configuration, recorded in every game.
    pub config_id: String,
    /// The rules of all games, which are games between machines.
    pub rules: Rules,
    /// The source of the games' start times.
    pub clock: Clock,
}

/// The source of the start times of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The time of day, from the system's clock.
    System,
    /// A fixed time for all games, in milliseconds since 1970-01-01 UTC, for reproducible output.
    Fixed(i64),
}

impl Clock {
    fn now_ms(self) -> i64 {
        match self {
            Clock::System => i64::try_from(tengen_records::now_ms()).unwrap_or(i64::MAX),
            Clock::Fixed(ms) => ms,
        }
    }
}

/// What a game uses of a model update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) model_id: &'a str,
    pub(crate) visits: u32,
    pub(crate) positions: u64,
    pub(crate) spent: f64,
    pub(crate) fair_komi: &'a crate::fair_komi::FairKomi,
}

/// A game in flight without its search: everything needed to resume it.
#[derive(Clone, Debug)]
pub(crate) struct Game {
    pub(crate) address: GameAddress,
    pub(crate) position: Position,
    pub(crate) komi: KomiPlan,
    pub(crate) plies: Vec<PlyRecord>,
    pub(crate) opening_plies: u16,
    pub(crate) start_time_ms: i64,
    pub(crate) model: String,
}

/// The state of a game after a search.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The game continues with another search.
    GoesOn,
    /// The game is over or was abandoned.
    Ended(Box<GameRecord>),
}

impl Game {
    /// Begins a game: draws its board, plays its opening plies and draws its komi.
    pub(crate) fn begin(
        address: GameAddress,
        settings: &Settings,
        run: &RunIdentity,
        (terms, earlier): (Terms<'_>, &EarlierGames),
    ) -> Self {
        let mut rng = address.stream(run.seed, STREAM_SETUP);
        let size = setup::draw_size(settings, terms.positions, &mut rng);
        let mut position = Position::with_rules(size, run.rules).between_machines();
        let config = &settings.config;
        let opening_plies = setup::play_opening(&config.opening, earlier, &mut position, &mut rng);
        let komi = setup::draw_komi(&config.komi, size, opening_plies, terms.fair_komi.of(size), &mut rng);
        let random = |&mv| PlyRecord {
            flags: OPENING,
            ..PlyRecord::bare(mv)
        };
        Self {
            address,
            plies: position.moves().iter().map(random).collect(),
            position,
            komi,
            opening_plies,
            start_time_ms: run.clock.now_ms(),
            model: terms.model_id.to_owned(),
        }
    }

    /// Starts the game's next search: of its position, or, while the komi is unknown, a search without visits that only
    /// obtains the network's evaluation of the opening at some komi.
    pub(crate) fn start_search(&self, search: &mut Search, settings: &Settings, run: &RunIdentity, terms: Terms<'_>) {
        let rng = self.address.stream(run.seed, STREAM_PLIES + self.position.ply() as u64);
        match self.komi {
            KomiPlan::Known(komi) => {
                let cheap = self.is_cheap(settings, run, terms.visits);
                let config = &settings.config;
                search.set_noise(match cheap {
                    true => config.cheap_noise,
                    false => config.noise_at(terms.positions, terms.spent),
                });
                let visits = self.visits(settings, run, terms.visits);
                // The tree of a search for the komi has no visits to keep, and its noise must not be added twice.
                let has_searched = self.plies.len() > usize::from(self.opening_plies);
                match config.tree_reuse && has_searched {
                    true => drop(search.follow(&self.position, komi, visits, rng)),
                    false => search.restart(&self.position, komi, visits, rng),
                }
            }
            KomiPlan::AroundNetwork { .. } => {
                let size = self.position.size();
                search.restart(&self.position, setup::rounded(size, terms.fair_komi.of(size)), 0, rng);
            }
            KomiPlan::ByChance(komi) => search.restart(&self.position, komi.next(), 0, rng),
        }
    }

    /// The visits of the next search: fewer if it is a cheap one, or if the last search found the game decided.
    fn visits(&self, settings: &Settings, run: &RunIdentity, full: u32) -> u32 {
        if self.is_cheap(settings, run, full) {
            return settings.config.cheap_visits;
        }
        let decided = self
            .plies
            .last()
            .is_some_and(|last| last.flags & OPENING == 0 && last.root_value.abs() > settings.config.decided_value);
        if decided {
            full.min(settings.config.decided_visits)
        } else {
            full
        }
    }

    /// Whether the next search only finds a move to play, with fewer visits than one to train on. This depends only on
    /// the game and the ply, not on how often it is called.
    fn is_cheap(&self, settings: &Settings, run: &RunIdentity, full: u32) -> bool {
        let config = &settings.config;
        if config.full_share >= 1.0 || config.cheap_visits >= full {
            return false;
        }
        let GameAddress { session, group, index } = self.address;
        let ply = STREAM_PLIES + self.position.ply() as u64;
        let mut rng = rng::stream(run.seed, &[session, group, index, ply, STREAM_VISITS]);
        rng::unit_f64(&mut rng) >= config.full_share
    }

    /// Uses a finished search to determine the komi or to play the chosen move.
    pub(crate) fn advance(&mut self, search: &Search, settings: &Settings, run: &RunIdentity, full: u32) -> Progress {
        let result = search.result();
        let KomiPlan::Known(komi) = self.komi else {
            self.determine_komi(search.komi(), &result);
            return Progress::GoesOn;
        };
        let cheap = self.is_cheap(settings, run, full);
        self.record_ply(result, settings, full, cheap);
        match self.stopped(settings) {
            Some(reason) => Progress::Ended(Box::new(self.finish(komi, run, reason))),
            None => Progress::GoesOn,
        }
    }

    /// Why the game stops now, if it does; if the game is over, the rules determine the recorded reason.
    fn stopped(&self, settings: &Settings) -> Option<EndReason> {
        let limit = settings.config.ply_limit_areas as usize * self.position.size().area();
        if settings.config.end_when_settled && self.position.is_settled() {
            Some(EndReason::Settled)
        } else if self.position.is_over() || self.position.ply() >= limit {
            Some(EndReason::PlyLimit)
        } else {
            None
        }
    }

    /// Uses the network's evaluation at komi `searched` to draw the komi or to get closer to it.
    fn determine_komi(&mut self, searched: Komi, result: &SearchResult) {
        let for_black = match self.position.to_move() {
            Color::Black => 1.0,
            Color::White => -1.0,
        };
        self.komi = match self.komi {
            KomiPlan::AroundNetwork { offset } => {
                let fair = f64::from(for_black * result.network_margin + searched.points());
                KomiPlan::Known(setup::rounded(self.position.size(), fair + offset))
            }
            KomiPlan::ByChance(search) => {
                search.after(searched, f64::from(0.5 + 0.5 * for_black * result.network_value))
            }
            known @ KomiPlan::Known(_) => known,
        };
    }

    fn record_ply(&mut self, result: SearchResult, settings: &Settings, full: u32, cheap: bool) {
        let config = &settings.config;
        let full_search = result.total_visits >= full;
        let chosen = result.best.index(self.position.size());
        let likeliest = result
            .policy
            .iter()
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let explored = likeliest.is_some_and(|&(mv, _)| usize::from(mv) != chosen);
        self.position.play_unchecked(result.best);
        self.plies.push(PlyRecord {
            mv: result.best,
            flags: if full_search { FULL_SEARCH } else { 0 } | if explored { EXPLORED } else { 0 },
            root_value: result.value.clamp(-1.0, 1.0),
            root_margin: result.margin,
            root_visits: u16::try_from(result.total_visits).unwrap_or(u16::MAX),
            network_value: result.network_value.clamp(-1.0, 1.0),
            weight: match (cheap, full_search) {
                (true, _) => 0.0,
                (false, true) => 1.0,
                (false, false) => config.decided_weight,
            },
            policy: cut(result.policy, config.policy_cut),
            expected_ownership: Vec::new(),
        });
    }

    /// The record of the game, which has ended or stopped for this reason.
    fn finish(&mut self, komi: Komi, run: &RunIdentity, stopped: EndReason) -> GameRecord {
        let mut record = GameRecord {
            game_id: self.address.game_id(run.seed),
            size: self.position.size(),
            rules: self.position.rules().to_string(),
            komi,
            score_half_points: None,
            seed: self.address.game_seed(run.seed),
            black_model: self.model.clone(),
            white_model: std::mem::take(&mut self.model),
            config_id: run.config_id.clone(),
            start_time_ms: self.start_time_ms,
            end_reason: stopped,
            kind: GameKind::SelfPlay,
            opening_plies: self.opening_plies,
            setup: self.position.start(),
            plies: std::mem::take(&mut self.plies),
            ownership: Vec::new(),
            origin: None,
        };
        record.set_end(&self.position, stopped);
        record
    }
}

/// Drops the least likely moves, with a total probability of at most `cut`, from a policy and scales the rest to sum 1.
fn cut(mut policy: Vec<(u16, f32)>, cut: f32) -> Vec<(u16, f32)> {
    policy.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let mut gone = 0.0;
    let first_kept = policy.iter().position(|&(_, probability)| {
        gone += probability;
        gone > cut
    });
    policy.drain(..first_kept.unwrap_or(policy.len().saturating_sub(1)));
    let sum: f32 = policy.iter().map(|&(_, probability)| probability).sum();
    for (_, probability) in &mut policy {
        *probability /= sum;
    }
    policy.sort_unstable_by_key(|&(mv, _)| mv);
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_a_policy_keeps_order_and_sum() {
        let policy = vec![(0, 0.5), (1, 0.004), (2, 0.3), (3, 0.0), (4, 0.002), (5, 0.194)];
        let short = cut(policy.clone(), 0.005);
        assert_eq!(short.iter().map(|&(mv, _)| mv).collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert!((short.iter().map(|&(_, p)| p).sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(cut(vec![(7, 1.0)], 0.5), [(7, 1.0)]);
        assert_eq!(cut(policy, 0.0).len(), 5, "only moves with probability 0 are dropped");
    }

    #[test]
    fn addresses_give_different_ids_and_seeds() {
        let a = GameAddress {
            session: 0,
            group: 1,
            index: 2,
        };
        let b = GameAddress {
            session: 1,
            group: 1,
            index: 2,
        };
        assert_eq!(a.game_id(5).len(), 32);
        assert_ne!(a.game_id(5), b.game_id(5));
        assert_ne!(a.game_seed(5), b.game_seed(5));
        assert!(a.game_seed(u64::MAX) >= 0);
    }
}
