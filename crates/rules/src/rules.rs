//! The settings in which sets of rules differ, and the named sets.

/// Which plays are illegal because they repeat something.
///
/// The record of a game holds, for every turn i (0 = the start), the grid after it, the player who took it and whether
/// it was a play. Each variant says when a play is illegal; a pass is always legal.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum KoRule {
    /// Positional superko: the new grid equals any earlier one, including the start.
    PositionalSuperko,
    /// Situational superko: an earlier turn, or the start, left the same grid with the same player to move.
    SituationalSuperko,
    /// The 1996 wording: the same player left the same grid before, by a play or a pass.
    Superko1996,
    /// Natural situational superko: the same player left the same grid before, by a play.
    NaturalSituationalSuperko,
    /// Basic ko: the new grid equals the one just before the previous turn.
    Basic,
    /// Fixed ko: an earlier play led from the same grid to the same grid.
    Fixed,
}

/// What happens under [`KoRule::Basic`] when a play recreates the grid that an earlier play created.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum LongCycle {
    /// The game continues as after any other play.
    GoesOn,
    /// The game is a tie if the turns after that earlier play, up to and including this one, removed equally many
    /// stones of each color (Simplified Japanese Rules 2008). Only the grids are compared.
    TieIfEqual,
    /// The game is a tie if the same player is to move and neither player has passed since, as in triple ko, quadruple
    /// ko and eternal life. This is the practice in professional Chinese games.
    PracticeTie,
}

/// Whether a play may leave its own chain without liberties and thus remove it.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum Suicide {
    /// Suicide is legal if the ko rule permits the resulting grid.
    Allowed,
    /// Only the suicide of two or more stones is legal.
    MultiOnly,
    /// Suicide is always illegal.
    Forbidden,
}

/// How a game ends.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum GameEnd {
    /// The game ends after two consecutive passes, and the grid is scored as it is.
    TwoPasses,
    /// After exactly two consecutive passes the players may end the game by agreeing on stones to remove. Otherwise it
    /// ends after four consecutive passes, and the grid is scored as it is.
    FourPasses,
    /// After two consecutive passes the players agree on dead stones, or play on. If they disagree but neither player
    /// moves (two more passes), the grid is scored as it is.
    Agreement,
    /// After the first two consecutive passes the players agree on dead stones, or resume. After the second two
    /// consecutive passes the grid is scored as it is.
    OneResumption,
    /// Play ends after two consecutive passes; removals and territory follow from the independently alive chains. A
    /// resumption takes back the two passes.
    Japanese2008,
}

/// How the score is counted.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum Scoring {
    /// Each player's stones and the empty points that reach only that color.
    Area,
    /// The same area, counted for one side and compared with half of the grid; neutral points are split.
    Half,
    /// Surrounded points and prisoners.
    Territory,
}

/// White's bonus points for handicap stones under area scoring.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum HandicapBonus {
    /// White gets no bonus.
    Nothing,
    /// White gets one point for each stone.
    Stones,
    /// White gets one point for each stone except the first.
    StonesButOne,
}

impl HandicapBonus {
    /// White's bonus points for this many handicap stones; fewer than two stones are not a handicap.
    pub const fn points(self, stones: u32) -> u32 {
        match self {
            _ if stones < 2 => 0,
            HandicapBonus::Nothing => 0,
            HandicapBonus::Stones => stones,
            HandicapBonus::StonesButOne => stones - 1,
        }
    }
}

/// A set of rules. Any combination can be played; named sets have a constructor here and can be parsed by name.
///
/// ```
/// use tengen_rules::Rules;
/// assert_eq!("tromp-taylor".parse::<Rules>(), Ok(Rules::tromp_taylor()));
/// assert_eq!(Rules::aga().to_string(), "aga");
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Rules {
    /// Which repetitions are illegal.
    pub ko: KoRule,
    /// What happens in a longer cycle under basic ko.
    pub long_cycle: LongCycle,
    /// Whether a play may remove its own chain.
    pub suicide: Suicide,
    /// When a game ends by passes.
    pub end: GameEnd,
    /// How the score is counted.
    pub scoring: Scoring,
    /// White's bonus points for handicap stones.
    pub handicap_bonus: HandicapBonus,
    /// Whether the first pass of the game takes the button. It gives the passing player half a point, does not count
    /// as one of the passes that end the game, and lifts earlier ko bans, since the ko rule also compares the button.
    pub button: bool,
}

impl Rules {
    /// Tromp-Taylor: positional superko, suicide allowed, two passes end the game, area scoring.
    pub const fn tromp_taylor() -> Rules {
        Rules {
            ko: KoRule::PositionalSuperko,
            long_cycle: LongCycle::GoesOn,
            suicide: Suicide::Allowed,
            end: GameEnd::TwoPasses,
            scoring: Scoring::Area,
            handicap_bonus: HandicapBonus::Nothing,
            button: false,
        }
    }

    /// Tromp-Taylor as first published in 1996: players may not recreate a grid that they themselves left before, by a
    /// play or a pass.
    pub const fn tromp_taylor_1996() -> Rules {
        Rules {
            ko: KoRule::Superko1996,
            ..Rules::tromp_taylor()
        }
    }

    /// Tromp-Taylor between people: players may agree on dead stones after two passes; otherwise four passes end the
    /// game.
    pub const fn tromp_taylor_practice() -> Rules {
        Rules {
            end: GameEnd::FourPasses,
            ..Rules::tromp_taylor()
        }
    }

    /// New Zealand rules: 1996 superko, suicide allowed, end by agreement.
    pub const fn new_zealand() -> Rules {
        Rules {
            ko: KoRule::Superko1996,
            end: GameEnd::Agreement,
            ..Rules::tromp_taylor()
        }
    }

    /// Simplified Ing: positional superko, suicide allowed, one resumption.
    pub const fn simplified_ing() -> Rules {
        Rules {
            end: GameEnd::OneResumption,
            ..Rules::tromp_taylor()
        }
    }

    /// AGA rules: situational superko, no suicide, end by agreement, a bonus of one point per handicap stone except the
    /// first for White.
    ///
    /// With pass stones, and White passing last, territory counting gives the same result as area counting, which is
    /// used here.
    pub const fn aga() -> Rules {
        Rules {
            ko: KoRule::SituationalSuperko,
            suicide: Suicide::Forbidden,
            end: GameEnd::Agreement,
            handicap_bonus: HandicapBonus::StonesButOne,
            ..Rules::tromp_taylor()
        }
    }

    /// Chinese rules of 2002 as written: positional superko, no suicide, half counting.
    pub const fn chinese_written() -> Rules {
        Rules {
            suicide: Suicide::Forbidden,
            end: GameEnd::Agreement,
            scoring: Scoring::Half,
            ..Rules::tromp_taylor()
        }
    }

    /// Chinese rules as professionals play them: basic ko, and long cycles tie the game.
    pub const fn chinese_practice() -> Rules {
        Rules {
            ko: KoRule::Basic,
            long_cycle: LongCycle::PracticeTie,
            ..Rules::chinese_written()
        }
    }

    /// Simplified Japanese Rules 2008, version 2 (Jasiek): basic ko, balanced cycles tie the game, territory scoring.
    pub const fn japanese2008() -> Rules {
        Rules {
            ko: KoRule::Basic,
            long_cycle: LongCycle::TieIfEqual,
            suicide: Suicide::Forbidden,
            end: GameEnd::Japanese2008,
            scoring: Scoring::Territory,
            ..Rules::tromp_taylor()
        }
    }
}

impl Default for Rules {
    /// Strict Tromp-Taylor rules.
    fn default() -> Rules {
        Rules::tromp_taylor()
    }
}
