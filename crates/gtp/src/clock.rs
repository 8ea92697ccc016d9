//! How long may the next move take? (GTP 2, section 4.2, and `kgs-time_settings`)

use tengen_rules::Color;

/// A way to limit thinking time; all times in seconds, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum TimeSettings {
    /// No limit.
    #[default]
    Unlimited,
    /// Main time, then periods in each of which a number of stones has to be played. No stones: the main time is all.
    Canadian {
        /// Main time.
        main: f64,
        /// Length of one period.
        overtime: f64,
        /// Stones to be played in each.
        stones: u32,
    },
    /// Main time, then periods; a period is lost when a move takes longer.
    ByoYomi {
        /// Main time.
        main: f64,
        /// Length of one period.
        period: f64,
        /// Periods that may be lost, less one.
        periods: u32,
    },
    /// Main time, to which every move adds.
    Fischer {
        /// Main time.
        main: f64,
        /// What a move adds.
        increment: f64,
    },
}

/// What one player has left, as told by `time_left`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// Seconds left in main time or in the present overtime period. Never negative.
    pub seconds: f64,
    /// Stones still to be played in the present Canadian period, or byo-yomi periods left; 0 while main time is being
    /// counted.
    pub stones: u32,
}

/// Everything known about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Clock {
    settings: TimeSettings,
    players: [Player; 2],
}

/// One player's use of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Player {
    left: Option<TimeLeft>,
    /// Seconds and moves since the controller last told what is left, or since the game began.
    spent: f64,
    moves: u32,
}

impl Clock {
    /// The time settings.
    pub fn settings(&self) -> TimeSettings {
        self.settings
    }

    /// What `color` has left, as the controller told last.
    pub fn left(&self, color: Color) -> Option<TimeLeft> {
        self.players[color.index()].left
    }

    /// Notes what `color` has left.
    pub fn set_left(&mut self, color: Color, left: TimeLeft) {
        self.players[color.index()] = Player {
            left: Some(left),
            ..Player::default()
        };
    }

    /// Notes that `color` has thought this long about a move, for controllers that tell no time.
    pub fn spend(&mut self, color: Color, seconds: f64) {
        let player = &mut self.players[color.index()];
        player.spent += seconds.max(0.0);
        player.moves += 1;
    }

    /// Sets new time settings and forgets what was left under the old ones.
    pub fn set(&mut self, settings: TimeSettings) {
        *self = Clock {
            settings,
            players: [Player::default(); 2],
        };
    }

    /// Forgets what was left, as for a new game under the same settings.
    pub fn restart(&mut self) {
        self.set(self.settings);
    }

    /// Seconds that the next move of `color` should take at most, less a margin for the way to the controller; `None` without
    /// a limit. `moves_to_come` is how many moves of its own the player still expects, at least 1.
    ///
    /// Main time is shared out evenly; where an overtime follows, a move never gets less than its share of that. A time told
    /// by `time_left` under no settings is taken as all there is.
    pub fn budget(&self, color: Color, moves_to_come: usize) -> Option<f64> {
        let player = &self.players[color.index()];
        if self.settings == TimeSettings::Unlimited && player.left.is_none() {
            return None;
        }
        let share = self.share(player, moves_to_come.max(1) as f64);
        Some((share * 0.9 - 0.05).max(0.01))
    }

    fn share(&self, player: &Player, moves_to_come: f64) -> f64 {
        let told = player
            .left
            .map(|left| ((left.seconds - player.spent).max(0.0), left.stones));
        let main_left = |main: f64| told.map_or((main - player.spent).max(0.0), |(seconds, _)| seconds);
        match (self.settings, told) {
            (TimeSettings::Canadian { .. }, Some((seconds, stones))) if stones > 0 => {
                seconds / f64::from(stones.saturating_sub(player.moves).max(1))
            }
            (TimeSettings::ByoYomi { period, .. }, Some((seconds, stones))) if stones > 0 => {
                if player.moves == 0 {
                    seconds
                } else {
                    period
                }
            }
            (TimeSettings::Canadian { main, overtime, stones }, _) => {
                let overtime = if stones == 0 { 0.0 } else { overtime / f64::from(stones) };
                (main_left(main) / moves_to_come).max(overtime)
            }
            (TimeSettings::ByoYomi { main, period, periods }, _) => {
                let period = if periods == 0 { 0.0 } else { period };
                (main_left(main) / moves_to_come).max(period)
            }
            (TimeSettings::Fischer { main, increment }, told) => {
                let added = f64::from(player.moves) * increment;
                let all = told
                    .map_or(main + added - player.spent, |(seconds, _)| seconds)
                    .max(0.0);
                (all / moves_to_come + 0.9 * increment).min(all)
            }
            (TimeSettings::Unlimited, told) => {
                let (seconds, stones) = told.unwrap_or_default();
                let moves = if stones > 0 { f64::from(stones) } else { moves_to_come };
                seconds / moves
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVES: usize = 40;

    fn clock(settings: TimeSettings) -> Clock {
        let mut clock = Clock::default();
        clock.set(settings);
        clock
    }

    fn told(settings: TimeSettings, seconds: f64, stones: u32) -> Clock {
        let mut clock = clock(settings);
        clock.set_left(Color::Black, TimeLeft { seconds, stones });
        clock
    }

    fn check(clock: &Clock, share: f64) {
        let budget = clock.budget(Color::Black, MOVES).expect("a limit");
        let expected = (share * 0.9 - 0.05).max(0.01);
        assert!((budget - expected).abs() < 1e-9, "{budget} instead of {expected}");
    }

    #[test]
    fn without_settings_there_is_no_limit() {
        assert_eq!(Clock::default().budget(Color::Black, MOVES), None);
        check(&told(TimeSettings::Unlimited, 80.0, 0), 2.0);
        check(&told(TimeSettings::Unlimited, 80.0, 10), 8.0);
    }

    #[test]
    fn canadian_time_is_shared_out() {
        let absolute = TimeSettings::Canadian {
            main: 400.0,
            overtime: 0.0,
            stones: 0,
        };
        check(&clock(absolute), 10.0);
        check(&told(absolute, 40.0, 0), 1.0);
        check(&told(absolute, 0.0, 0), 0.0);
        let overtime = TimeSettings::Canadian {
            main: 40.0,
            overtime: 100.0,
            stones: 20,
        };
        check(&clock(overtime), 5.0);
        check(&told(overtime, 0.0, 0), 5.0);
        check(&told(overtime, 30.0, 10), 3.0);
    }

    #[test]
    fn byo_yomi_uses_one_period_a_move() {
        let settings = TimeSettings::ByoYomi {
            main: 40.0,
            period: 10.0,
            periods: 3,
        };
        check(&clock(settings), 10.0);
        check(&told(settings, 800.0, 0), 20.0);
        check(&told(settings, 6.0, 2), 6.0);
    }

    #[test]
    fn fischer_time_adds_its_increment() {
        let settings = TimeSettings::Fischer {
            main: 40.0,
            increment: 10.0,
        };
        check(&clock(settings), 10.0);
        check(&told(settings, 2.0, 0), 2.0);
    }

    #[test]
    fn own_thinking_counts_until_the_controller_tells() {
        let absolute = TimeSettings::Canadian {
            main: 400.0,
            overtime: 0.0,
            stones: 0,
        };
        let mut clock = clock(absolute);
        clock.spend(Color::Black, 200.0);
        check(&clock, 5.0);
        clock.spend(Color::Black, 300.0);
        check(&clock, 0.0);
        clock.set_left(
            Color::Black,
            TimeLeft {
                seconds: 80.0,
                stones: 0,
            },
        );
        check(&clock, 2.0);
        clock.restart();
        check(&clock, 10.0);
    }

    /// Plays a whole game by the budgets alone: the flag never falls.
    #[test]
    fn a_whole_game_stays_within_its_time() {
        let absolute = TimeSettings::Canadian {
            main: 60.0,
            overtime: 0.0,
            stones: 0,
        };
        let mut clock = clock(absolute);
        let mut used = 0.0;
        for own_move in 0..150 {
            let budget = clock
                .budget(Color::White, (42 - own_move.min(32)) as usize)
                .expect("a limit");
            used += budget;
            clock.spend(Color::White, budget);
        }
        assert!(used < 60.0, "{used}");
    }
}
