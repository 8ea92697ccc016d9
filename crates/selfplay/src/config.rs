//! The settings of self-play.

use serde::{Deserialize, Serialize};

use tengen_rules::{Move, Rules, Scoring, Setting, SettingError, Size, above, check_schedule, check_setting, value_at};
use tengen_search::SearchConfig;

/// How self-play games are set up and played.
///
/// The number of visits actually used comes with each [`ModelUpdate`](crate::ModelUpdate), because it changes during
/// training; `search.visits` is its initial value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelfPlayConfig {
    /// The boards to play on and their shares. Usual: one board. More boards train one network for all of them.
    pub boards: Vec<BoardShare>,
    /// The number of games that a group plays in lockstep, sharing each network call. Usual: 64 on a CPU, 256 or more
    /// on a GPU. Larger makes calls cheaper per position, but more games are in flight when a new model arrives. Games
    /// are played only once a measurement has replaced `auto`.
    pub games_per_group: Setting<u32>,
    /// How games begin.
    pub opening: OpeningConfig,
    /// How the komi of a game is drawn.
    pub komi: KomiConfig,
    /// The ply limit, in multiples of the number of points, at which a game is abandoned without a result. Usual: 4.
    /// Larger lets longer fights finish, but abandoned games cost more.
    pub ply_limit_areas: u32,
    /// Whether a game stops as soon as it is settled ([`tengen_rules::Position::is_settled`]) and is scored as it is.
    /// Usual: false. True saves the plies until two passes, but the network never learns to play them. Rejected under
    /// territory scoring.
    pub end_when_settled: bool,
    /// The absolute value of the last search, 0 to 1, above which a game counts as decided and is searched with
    /// `decided_visits`. Usual: 0.95; 1 means never. Larger uses full searches for longer.
    pub decided_value: f32,
    /// Visits per search in a decided game, if fewer than the model's. Usual: 6. Larger improves late moves at a higher
    /// cost.
    pub decided_visits: u32,
    /// The training weight of positions searched with `decided_visits`, 0 to 1. Usual: 1. Larger counts them more.
    pub decided_weight: f32,
    /// The share of searches, above 0 and up to 1, that use all visits and whose positions are trained on (playout cap
    /// randomization, Wu 2019). Usual: 1, or 0.25 on larger boards. Smaller plays more games for as many training
    /// positions, so a window holds more different results.
    pub full_share: f64,
    /// Visits of the other searches, if fewer than the model's; their positions are never trained on. Usual: 2 to 6 for
    /// 8 to 16 visits. Larger plays those moves better at a higher cost.
    pub cheap_visits: u32,
    /// The scale of the noise in cheap searches, 0 to 1. Usual: 0, which always plays the best move. With few visits, 1
    /// draws their moves from the network's policy. Larger makes games more varied, with more mistakes.
    pub cheap_noise: f32,
    /// The scale of the noise in the other searches, 0 to 1. Usual: 1, which draws their moves from the policy that is
    /// trained on, where values do not decide. Smaller explores less and plays better.
    pub full_noise: f32,
    /// Replaces `full_noise` during the run: pairs of (positions played, noise scale from then on) in ascending order.
    /// Usual: empty, or 0 for the last third of a run. Less noise late makes values exact, since noise no longer loses
    /// games, but nothing new is explored.
    pub later_noise: Vec<(u64, f32)>,
    /// The share of the run's budget, 0 to 1, from which the noise of full searches falls in a straight line, to none
    /// at the end of the budget. Usual: 1, which means never, or 0.4. Smaller makes values exact but explores less.
    pub quiet_from: f64,
    /// Whether a search keeps what the previous search of its game found about the position and makes only the missing
    /// visits. Usual: false. True saves evaluations, but kept visits follow the values of earlier searches.
    pub tree_reuse: bool,
    /// The total probability, 0 to 0.5, of the least likely moves that may be dropped from a policy target. Usual:
    /// 0.005. Larger makes files smaller and targets coarser.
    pub policy_cut: f32,
    /// The memory of a group's evaluation cache in MiB. Usual: 16. Larger remembers more positions for one model.
    pub cache_mib: u32,
    /// The search; its `visits` are the initial ones, before any schedule raises them.
    pub search: SearchConfig,
}

/// A board size and its share of the games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardShare {
    /// The board as `WIDTHxHEIGHT`, such as `9x9`, or one number for a square.
    pub size: String,
    /// The share of games relative to the other boards; any positive number. Larger plays more games on this board.
    #[serde(default = "one")]
    pub share: f64,
    /// The number of self-play positions after which games begin on this board. Usual: 0. Larger begins later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from: u64,
    /// The number of self-play positions after which no more games begin on this board, above `from`. Usual: none.
    /// Larger keeps the board for longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

impl BoardShare {
    /// A board for the whole run.
    pub fn always(size: impl Into<String>, share: f64) -> Self {
        Self {
            size: size.into(),
            share,
            from: 0,
            until: None,
        }
    }

    /// Whether games begin on this board after this many self-play positions.
    pub fn is_played_at(&self, positions: u64) -> bool {
        self.from <= positions && self.until.is_none_or(|until| positions < until)
    }
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(positions: &u64) -> bool {
    *positions == 0
}

/// How games begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpeningConfig {
    /// The share of the games that begin neither with a fork nor with a book's line, 0 to 1, that begin with random
    /// plies. Usual: 0.3. Larger shows the network more unusual positions and fewer of its own choosing.
    pub random_share: f64,
    /// The share of games, 0 to 1, that begin from a position of one of the group's last games, with komi drawn around
    /// the network's expected margin there. Usual: 0. Larger plays more even middlegames and endgames. The moves before
    /// that position are not used for training again.
    pub fork_share: f64,
    /// The share of these games, 0 to 1, that begin from a position where the search changed the network's value, each
    /// as likely as the change was large; the others may begin anywhere. Usual: 0. Larger plays more of what the
    /// network misjudges.
    pub surprise_share: f64,
    /// The maximum number of random plies in such a game; 1 to 1000; the number is uniform from 1 to this. Usual: 4 on
    /// 5x5, 8 on 9x9. Each is uniform over the legal moves, including the pass unless it would end the game. They are
    /// not used for training.
    pub max_random_plies: u32,
    /// The maximum number of plies of one of the group's last games before the random plies, 0 to 1000; the number is
    /// uniform from 0 to this. Usual: 0, or 3 on small boards. Larger shows the network more answers to unusual moves
    /// in its own games. These plies are not used for training either.
    pub earlier_plies: u32,
    /// Books from which games begin with a line, with komi drawn around the network's expected margin after it. Usual:
    /// none. The moves of the line are not used for training.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub books: Vec<BookShare>,
}

/// An opening book and its share of the games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BookShare {
    /// The path of the book: an SGF file, a folder of them, or a text file with one line of moves per opening, for the
    /// first board.
    pub book: String,
    /// The share, 0 to 1, of the games that begin neither with a fork nor with a book named before it, that begin with
    /// a line of this book, if it has one for their board. Usual: 0.1 to 0.3. Larger shows the network more of these
    /// positions and fewer of its own choosing.
    pub share: f64,
    /// The lines and their boards. This crate does not read files: the caller fills them in.
    #[serde(skip)]
    pub lines: Vec<(Size, Vec<Move>)>,
}

impl BookShare {
    /// A book that has not been read yet.
    pub fn new(book: impl Into<String>, share: f64) -> Self {
        Self {
            book: book.into(),
            share,
            lines: Vec::new(),
        }
    }
}

impl Default for OpeningConfig {
    fn default() -> Self {
        Self {
            random_share: 0.3,
            fork_share: 0.0,
            surprise_share: 0.0,
            max_random_plies: 4,
            earlier_plies: 0,
            books: Vec::new(),
        }
    }
}

/// How the komi of a game is drawn.
///
/// Fair komi is the komi at which the network expects an even game. For games from the empty board, it comes with the
/// model; for others, it is the margin that the network expects after the opening, at the cost of one more evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KomiConfig {
    /// The share of games, 0 to 1, whose komi is uniform from minus to plus the number of points. Usual: 0.2. Larger
    /// teaches the network about all komi values, but more games are decided from the start.
    pub uniform_share: f64,
    /// The standard deviation, in points, of the komi of the other games around the fair value. Usual: 3. Larger
    /// concentrates less on the fair komi and tolerates errors in it.
    pub spread: f64,
    /// A fixed fair komi for all games in points, instead of one that follows the network. Usual: none. Training for
    /// one komi is as fast, but teaches little about others. With `spread` and `uniform_share` 0, every game has
    /// exactly this komi.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_fair: Option<f64>,
    /// For games that begin with an opening, draws the komi by winning chances instead: each side's chance of winning
    /// after the opening, as the network sees it, is at least this, 0 to 0.5, and all such chances are equally likely.
    /// `uniform_share` and `spread` then do not apply to these games, which take about ten more evaluations. Has no
    /// effect with `fixed_fair`. Usual: none, or 0.2. Larger plays more even games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_chance: Option<f64>,
}

impl Default for KomiConfig {
    fn default() -> Self {
        Self {
            uniform_share: 0.2,
            spread: 3.0,
            fixed_fair: None,
            least_chance: None,
        }
    }
}

impl Default for SelfPlayConfig {
    fn default() -> Self {
        Self {
            boards: vec![BoardShare::always("5x5", 1.0)],
            games_per_group: Setting::Is(64),
            opening: OpeningConfig::default(),
            komi: KomiConfig::default(),
            ply_limit_areas: 4,
            end_when_settled: false,
            decided_value: 0.95,
            decided_visits: 6,
            decided_weight: 1.0,
            full_share: 1.0,
            cheap_visits: 4,
            cheap_noise: 0.0,
            full_noise: 1.0,
            later_noise: Vec::new(),
            quiet_from: 1.0,
            tree_reuse: false,
            policy_cut: 0.005,
            cache_mib: 16,
            search: SearchConfig::default(),
        }
    }
}

/// The checked settings in the form that games use.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) config: SelfPlayConfig,
    /// The sizes of the configuration's boards, in its order.
    pub(crate) sizes: Vec<Size>,
}

impl Settings {
    /// Checks a configuration for games under these rules.
    pub(crate) fn for_rules(config: &SelfPlayConfig, rules: Rules) -> Result<Self, SettingError> {
        config.check_rules(rules)?;
        if config.games_per_group.is_auto() {
            let expected = "a number, which `tengen doctor --tune CONFIG` finds, before games are played";
            return Err(SettingError::new("selfplay.games_per_group", "auto", expected));
        }
        Self::new(config)
    }

    /// The number of games that a group plays in lockstep.
    pub(crate) fn games_per_group(&self) -> u32 {
        self.config.games_per_group.unwrap_or(1)
    }

    /// Checks a configuration.
    pub(crate) fn new(config: &SelfPlayConfig) -> Result<Self, SettingError> {
        config.games_per_group.check("selfplay.games_per_group", 1..=1 << 16)?;
        check_setting("selfplay.ply_limit_areas", config.ply_limit_areas, 1..=100)?;
        check_setting("selfplay.decided_value", config.decided_value, 0.0..=1.0)?;
        check_setting("selfplay.decided_weight", config.decided_weight, 0.0..=1.0)?;
        check_setting("selfplay.full_share", config.full_share, above(0.0, 1.0))?;
        check_setting("selfplay.cheap_noise", config.cheap_noise, 0.0..=1.0)?;
        check_setting("selfplay.full_noise", config.full_noise, 0.0..=1.0)?;
        config.check_later_noise()?;
        check_setting("selfplay.quiet_from", config.quiet_from, 0.0..=1.0)?;
        check_setting("selfplay.policy_cut", config.policy_cut, 0.0..=0.5)?;
        check_setting("selfplay.cache_mib", config.cache_mib, 0..=65_535)?;
        let opening = &config.opening;
        check_setting("selfplay.opening.random_share", opening.random_share, 0.0..=1.0)?;
        check_setting("selfplay.opening.fork_share", opening.fork_share, 0.0..=1.0)?;
        check_setting("selfplay.opening.surprise_share", opening.surprise_share, 0.0..=1.0)?;
        check_setting("selfplay.opening.max_random_plies", opening.max_random_plies, 1..=1000)?;
        check_setting("selfplay.opening.earlier_plies", opening.earlier_plies, 0..=1000)?;
        for (number, book) in opening.books.iter().enumerate() {
            let key = format!("selfplay.opening.books[{number}].share");
            check_setting(&key, book.share, 0.0..=1.0)?;
        }
        let komi = &config.komi;
        check_setting("selfplay.komi.uniform_share", komi.uniform_share, 0.0..=1.0)?;
        check_setting("selfplay.komi.spread", komi.spread, 0.0..=1000.0)?;
        if let Some(least) = komi.least_chance {
            check_setting("selfplay.komi.least_chance", least, 0.0..=0.5)?;
        }
        if let Some(fair) = komi.fixed_fair {
            let key = "selfplay.komi.fixed_fair";
            check_setting(key, fair, -400.0..=400.0)?;
            // With a spread, it is only the middle of the komi that are played.
            if komi.spread == 0.0 && (2.0 * fair).fract() != 0.0 {
                let expected = "a multiple of 0.5, because with spread = 0 it is the komi of games";
                return Err(SettingError::new(key, fair, expected));
            }
        }
        let search = config.search.validate();
        search.map_err(|error| error.under("selfplay.search"))?;
        Ok(Self {
            config: config.clone(),
            sizes: sizes(&config.boards)?,
        })
    }
}

impl OpeningConfig {
    /// Whether games may begin with moves of earlier ones.
    pub(crate) fn repeats_games(&self) -> bool {
        self.fork_share > 0.0 || self.earlier_plies > 0
    }
}

impl SelfPlayConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`SettingError`] naming the first key that cannot be used.
    pub fn validate(&self) -> Result<(), SettingError> {
        Settings::new(self).map(drop)
    }

    /// The scale of the noise in full searches once the store has this many self-play positions and this share of the
    /// run's budget is spent.
    pub fn noise_at(&self, positions: u64, spent: f64) -> f32 {
        let noise = value_at(&self.later_noise, positions)
            .copied()
            .unwrap_or(self.full_noise);
        if self.quiet_from >= 1.0 || spent <= self.quiet_from {
            return noise;
        }
        noise * ((1.0 - spent) / (1.0 - self.quiet_from)).max(0.0) as f32
    }

    /// Checks that every entry has a valid noise scale and more positions than the one before it.
    fn check_later_noise(&self) -> Result<(), SettingError> {
        for (number, &(_, noise)) in self.later_noise.iter().enumerate() {
            check_setting(&format!("selfplay.later_noise[{number}][1]"), noise, 0.0..=1.0)?;
        }
        check_schedule("selfplay.later_noise", &self.later_noise)
    }

    /// Checks that the settings are compatible with these rules.
    ///
    /// # Errors
    /// [`SettingError`] naming the key that conflicts with them.
    pub fn check_rules(&self, rules: Rules) -> Result<(), SettingError> {
        if self.end_when_settled && rules.scoring == Scoring::Territory {
            let expected = format!("false under rules that count territory, such as {rules}");
            return Err(SettingError::new("selfplay.end_when_settled", true, expected));
        }
        Ok(())
    }
}

/// Checks the boards and returns their sizes. At any time, there must be one to play on.
fn sizes(boards: &[BoardShare]) -> Result<Vec<Size>, SettingError> {
    if boards.is_empty() {
        return Err(SettingError::new("selfplay.boards", "[]", "at least one board"));
    }
    let read = |(number, board): (usize, &BoardShare)| {
        let key = |field| format!("selfplay.boards[{number}].{field}");
        check_setting(&key("share"), board.share, above(0.0, 1e9))?;
        if let Some(until) = board.until {
            check_setting(&key("until"), until, board.from.saturating_add(1)..)?;
        }
        let expected = "WIDTHxHEIGHT or one number, each side from 1 to 19";
        let wrong = |_| SettingError::new(key("size"), format!("{:?}", board.size), expected);
        board.size.parse().map_err(wrong)
    };
    let sizes = boards.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let starts_and_ends = [0].into_iter().chain(boards.iter().filter_map(|board| board.until));
    for positions in starts_and_ends {
        if !boards.iter().any(|board| board.is_played_at(positions)) {
            let found = format!("without a board from {positions} positions on");
            return Err(SettingError::new(
                "selfplay.boards",
                found,
                "a board to play on at any time",
            ));
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_invalid_values_are_rejected() {
        assert!(serde_json::from_str::<SelfPlayConfig>(r#"{"games_per_grup": 3}"#).is_err());
        let config: SelfPlayConfig = serde_json::from_str(r#"{"boards": [{"size": "7"}]}"#).unwrap();
        assert_eq!(Settings::new(&config).unwrap().sizes, [Size::square(7).unwrap()]);
        let bad = SelfPlayConfig {
            policy_cut: 0.9,
            ..SelfPlayConfig::default()
        };
        assert_eq!(bad.validate().unwrap_err().key, "selfplay.policy_cut");
        let bad = SelfPlayConfig {
            boards: vec![],
            ..SelfPlayConfig::default()
        };
        assert_eq!(bad.validate().unwrap_err().key, "selfplay.boards");
        let bad = SelfPlayConfig {
            games_per_group: Setting::Is(0),
            ..SelfPlayConfig::default()
        };
        assert_eq!(bad.validate().unwrap_err().key, "selfplay.games_per_group");
        let open = SelfPlayConfig {
            games_per_group: Setting::Auto,
            ..SelfPlayConfig::default()
        };
        assert_eq!(open.validate(), Ok(()));
        let refused = Settings::for_rules(&open, Rules::tromp_taylor())
            .err()
            .map(|error| error.to_string());
        assert!(refused.is_some_and(|error| error.starts_with("selfplay.games_per_group is auto: expected a number")));
    }

    #[test]
    fn noise_falls_in_a_straight_line_to_the_end_of_the_budget() {
        let config = SelfPlayConfig {
            full_noise: 0.5,
            later_noise: vec![(500, 0.25)],
            quiet_from: 0.6,
            ..SelfPlayConfig::default()
        };
        for (positions, spent, expected) in [
            (0, 0.0, 0.5),
            (0, 0.6, 0.5),
            (0, 0.8, 0.25),
            (500, 0.8, 0.125),
            (500, 0.99, 0.00625),
            (500, 1.0, 0.0),
            (500, 1.5, 0.0),
        ] {
            let noise = config.noise_at(positions, spent);
            assert!((noise - expected).abs() < 1e-6, "{positions} {spent}: {noise}");
        }
        let never = SelfPlayConfig {
            quiet_from: 1.0,
            ..config
        };
        assert_eq!(never.noise_at(500, 1.5), 0.25);
    }

    #[test]
    fn there_is_a_board_at_any_time() {
        let refused = |boards: serde_json::Value| {
            let config: SelfPlayConfig = serde_json::from_value(serde_json::json!({ "boards": boards })).unwrap();
            config.validate().err().map(|error| error.to_string())
        };
        let small = serde_json::json!({"size": "5x5", "until": 500});
        let later = serde_json::json!({"size": "9x9", "from": 500});
        assert_eq!(refused(serde_json::json!([small, later])), None);
        let missing = [serde_json::json!([small]), serde_json::json!([later])];
        for (boards, from) in missing.into_iter().zip([500, 0]) {
            let error = refused(boards).unwrap();
            assert!(
                error.contains(&format!("without a board from {from} positions on")),
                "{error}"
            );
        }
        let gap = serde_json::json!([small, {"size": "9x9", "from": 501}]);
        assert!(refused(gap).unwrap().contains("from 500 positions on"));
        let backwards = serde_json::json!([{"size": "5x5"}, {"size": "9x9", "from": 7, "until": 7}]);
        assert!(refused(backwards).unwrap().starts_with("selfplay.boards[1].until is 7"));
    }

    #[test]
    fn only_area_scoring_allows_end_when_settled() {
        let config = SelfPlayConfig {
            end_when_settled: true,
            ..SelfPlayConfig::default()
        };
        config.validate().unwrap();
        for name in Rules::names() {
            let rules: Rules = name.parse().unwrap();
            let refused = config.check_rules(rules).map_err(|error| error.key);
            let expected = rules.scoring != Scoring::Territory;
            assert_eq!(
                refused,
                expected.then_some(()).ok_or("selfplay.end_when_settled".to_owned()),
                "{name}"
            );
            SelfPlayConfig::default().check_rules(rules).unwrap();
        }
    }
}
