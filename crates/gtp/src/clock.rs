//! Time control: how long the next move may take (GTP 2, section 4.2, and `kgs-time_settings`).

use tengen_rules::Color;

/// A time control; all times are in seconds and never negative.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum TimeSettings {
    /// Games without time limits.
    #[default]
    Unlimited,
    /// Main time, then overtime periods, each for a given number of stones. With 0 stones there is no overtime.
    Canadian {
        /// Main time per player, in seconds.
        main: f64,
        /// Length of one overtime period, in seconds.
        overtime: f64,
        /// Number of stones to play in each period.
        stones: u32,
    },
    /// Main time, then periods; a move that takes longer than a period uses it up.
    ByoYomi {
        /// Main time per player, in seconds.
        main: f64,
        /// Length of one byo-yomi period, in seconds.
        period: f64,
        /// Number of byo-yomi periods per player.
        periods: u32,
    },
    /// Main time plus an increment for each move.
    Fischer {
        /// Main time per player, in seconds.
        main: f64,
        /// Seconds added per move.
        increment: f64,
    },
}

/// The time one player has left, as reported by `time_left`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// Seconds left in main time or in the current overtime period; never negative.
    pub seconds: f64,
    /// Stones left to play in the current Canadian period, or byo-yomi periods left; 0 during main time.
    pub stones: u32,
}

/// The time control of a game and each player's remaining time.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Clock {
    settings: TimeSettings,
    players: [Player; 2],
}

/// One player's clock.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Player {
    left: Option<TimeLeft>,
    /// Seconds and moves since the controller last reported the time left, or since the start of the game.
    spent: f64,
    moves: u32,
}

impl Clock {
    /// The time control in use.
    pub fn settings(&self) -> TimeSettings {
        self.settings
    }

    /// The time `color` has left, as last reported by the controller.
    pub fn left(&self, color: Color) -> Option<TimeLeft> {
        self.players[color.index()].left
    }

    /// Records the time `color` has left.
    pub fn set_left(&mut self, color: Color, left: TimeLeft) {
        self.players[color.index()] = Player {
            left: Some(left),
            ..Player::default()
        };
    }

    /// Records how long `color` took for a move, for controllers that do not report the time left.
    pub fn spend(&mut self, color: Color, seconds: f64) {
        let player = &mut self.players[color.index()];
        player.spent += seconds.max(0.0);
        player.moves += 1;
    }

    /// Sets a new time control and forgets the time left under the old one.
    pub fn set(&mut self, settings: TimeSettings) {
        *self = Clock {
            settings,
            players: [Player::default(); 2],
        };
    }

    /// Resets the time left, for a new game with the same time control.
    pub fn restart(&mut self) {
        self.set(self.settings);
    }

    /// The most seconds the next move of `color` should take, minus a safety margin for communication; `None` without a
    /// limit. `moves_to_come` is the number of moves the player still expects to make, at least 1.
    ///
    /// Main time is divided evenly; if overtime follows, a move always gets at least its share of the overtime. If
    /// `time_left` is reported without a time control, that time is assumed to be all there is.
    pub fn budget(&self, color: Color, moves_to_come: usize) -> Option<f64> {
        let player = &self.players[color.index()];
        if self.settings == TimeSettings::Unlimited && player.left.is_none() {
            return None;
        }
        let share = self.share(player, moves_to_come.max(1) as f64);
        Some((share * 0.9 - 0.05).max(0.01))
    }

    fn share(&self, player: &Player, moves_to_come: f64) -> f64 {
        let reported = player
            .left
            .map(|left| ((left.seconds - player.spent).max(0.0), left.stones));
        let main_left = |main: f64| reported.map_or((main - player.spent).max(0.0), |(seconds, _)| seconds);
        match (self.settings, reported) {
            (TimeSettings::Canadian { .. }, Some((seconds, stones))) if stones > player.moves => {
                seconds / f64::from(stones - player.moves)
            }
            // Its stones are played, so another period has begun.
            (TimeSettings::Canadian { overtime, stones, .. }, Some((_, reported))) if reported > 0 => {
                overtime / f64::from(stones.max(1))
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
            (TimeSettings::Fischer { main, increment }, _) => {
                let added = f64::from(player.moves) * increment;
                let before = player.left.map_or(main, |left| left.seconds);
                let all = (before + added - player.spent).max(0.0);
                (all / moves_to_come + 0.9 * increment).min(all)
            }
            (TimeSettings::Unlimited, reported) => {
                let (seconds, stones) = reported.unwrap_or_default();
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

    fn reported(settings: TimeSettings, seconds: f64, stones: u32) -> Clock {
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
        check(&reported(TimeSettings::Unlimited, 80.0, 0), 2.0);
        check(&reported(TimeSettings::Unlimited, 80.0, 10), 8.0);
    }

    #[test]
    fn canadian_time_is_divided_among_moves() {
        let absolute = TimeSettings::Canadian {
            main: 400.0,
            overtime: 0.0,
            stones: 0,
        };
        check(&clock(absolute), 10.0);
        check(&reported(absolute, 40.0, 0), 1.0);
        check(&reported(absolute, 0.0, 0), 0.0);
        let overtime = TimeSettings::Canadian {
            main: 40.0,
            overtime: 100.0,
            stones: 20,
        };
        check(&clock(overtime), 5.0);
        check(&reported(overtime, 0.0, 0), 5.0);
        let mut clock = reported(overtime, 30.0, 10);
        check(&clock, 3.0);
        (0..4).for_each(|_| clock.spend(Color::Black, 1.5));
        check(&clock, 4.0);
        (0..6).for_each(|_| clock.spend(Color::Black, 4.0));
        check(&clock, 5.0);
    }

    #[test]
    fn byo_yomi_uses_one_period_per_move() {
        let settings = TimeSettings::ByoYomi {
            main: 40.0,
            period: 10.0,
            periods: 3,
        };
        check(&clock(settings), 10.0);
        check(&reported(settings, 800.0, 0), 20.0);
        check(&reported(settings, 6.0, 2), 6.0);
    }

    #[test]
    fn fischer_time_adds_its_increment() {
        let settings = TimeSettings::Fischer {
            main: 40.0,
            increment: 10.0,
        };
        check(&clock(settings), 10.0);
        let mut clock = reported(settings, 2.0, 0);
        check(&clock, 2.0);
        clock.spend(Color::Black, 1.0);
        check(&clock, 11.0 / 40.0 + 9.0);
    }

    #[test]
    fn own_time_counts_until_the_controller_reports() {
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

    /// A whole game played by the budgets alone never runs out of time.
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
