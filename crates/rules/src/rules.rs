//! What may differ between sets of rules.

/// Which plays are refused for repeating something.
///
/// The record of a game holds, for every turn i (0 = the start), the grid after it, who took it and whether it was
/// a play. A play is refused as the variants say; a pass never is.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum KoRule {
    /// Positional superko: the new grid equals any earlier one, the start included.
    PositionalSuperko,
    /// Situational superko: an earlier turn left the same grid with the same player to move, the start included.
    SituationalSuperko,
    /// The wording of 1996: the mover has left the same grid before, by a play or a pass.
    Superko1996,
    /// Natural situational superko: the mover has left the same grid before, by a play.
    NaturalSituationalSuperko,
    /// Basic ko: the new grid equals the one just before the previous turn.
    Basic,
    /// Fixed ko: an earlier play led from the same grid to the same grid.
    Fixed,
}

/// What happens, under [`KoRule::Basic`], when a play recreates the grid that an earlier play made.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum LongCycle {
    /// Nothing: the game goes on.
    GoesOn,
    /// The game ends as a tie if equally many stones of each color were removed over the turns after that earlier
    /// play up to and including this one (Simplified Japanese Rules 2008). Grids alone are compared.
    TieIfEqual,
    /// The game ends as a tie if the same player is to move as then and nobody has passed since, as in triple ko,
    /// quadruple ko and eternal life; the practice of professional Chinese games.
    PracticeTie,
}

/// Whether a play may leave its own chain without liberties and so remove it.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum Suicide {
    /// Always, where the ko rule permits the result.
    Allowed,
    /// Only for chains of two or more stones.
    MultiOnly,
    /// Never.
    Forbidden,
}

/// How a game ends.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum GameEnd {
    /// With two consecutive passes, as the grid stands.
    TwoPasses,
    /// After exactly two consecutive passes the players may agree on points to empty and so end it; else it ends with
    /// four consecutive passes, as the grid stands.
    FourPasses,
    /// Two consecutive passes say that no move is worth anything; the players agree on what is dead, or play on. If
    /// nobody moves after disagreement, which shows as two more passes, the grid counts as it stands.
    Agreement,
    /// After the first two consecutive passes the players agree on what is dead or resume; after the second two
    /// consecutive passes the grid counts as it stands.
    OneResumption,
    /// Alternation ends with two consecutive passes; removals and territory follow from the independently alive
    /// chains. A resumption goes back to before the two passes.
    Japanese2008,
}

/// What is counted.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum Scoring {
    /// Stones and the empty points that reach one color only.
    Area,
    /// The same area by counting one side against half of the grid, shared points split.
    Half,
    /// Territory and prisoners.
    Territory,
}

/// Points for White for `n` handicap stones, under area scoring.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum HandicapBonus {
    /// Nothing.
    Nothing,
    /// One point for each stone.
    Stones,
    /// One point for each stone but the first.
    StonesButOne,
}

impl HandicapBonus {
    /// Points for White for that many handicap stones; fewer than two stones are no handicap.
    pub const fn points(self, stones: u32) -> u32 {
        match self {
            _ if stones < 2 => 0,
            HandicapBonus::Nothing => 0,
            HandicapBonus::Stones => stones,
            HandicapBonus::StonesButOne => stones - 1,
        }
    }
}

/// A set of rules. Any combination can be played; the named ones are constructors here and parsed by name.
///
/// ```
/// use tengen_rules::Rules;
/// assert_eq!("tromp-taylor".parse::<Rules>(), Ok(Rules::tromp_taylor()));
/// assert_eq!(Rules::aga().to_string(), "aga");
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Rules {
    /// Which repetitions are refused.
    pub ko: KoRule,
    /// What other repetitions lead to under basic ko.
    pub long_cycle: LongCycle,
    /// Whether own stones may be removed.
    pub suicide: Suicide,
    /// How a game ends.
    pub end: GameEnd,
    /// What is counted.
    pub scoring: Scoring,
    /// What White gets for handicap stones.
    pub handicap_bonus: HandicapBonus,
    /// Whether the first pass of the game takes the button: half a point for the passer, a fresh ko record (the
    /// button being part of what is compared), and no step towards the end.
    pub button: bool,
}

impl Rules {
    /// Tromp-Taylor: positional superko, suicide allowed, the end at two passes, area score.
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

    /// Tromp-Taylor as first published in 1996: nobody may leave a grid he has left before, by a play or a pass.
    pub const fn tromp_taylor_1996() -> Rules {
        Rules {
            ko: KoRule::Superko1996,
            ..Rules::tromp_taylor()
        }
    }

    /// Tromp-Taylor between people: dead stones may be agreed on after two passes, else four passes end the game.
    pub const fn tromp_taylor_practice() -> Rules {
        Rules {
            end: GameEnd::FourPasses,
            ..Rules::tromp_taylor()
        }
    }

    /// New Zealand rules: the superko of 1996, suicide, the end by agreement.
    pub const fn new_zealand() -> Rules {
        Rules {
            ko: KoRule::Superko1996,
            end: GameEnd::Agreement,
            ..Rules::tromp_taylor()
        }
    }

    /// Simplified Ing: positional superko, suicide, one resumption.
    pub const fn simplified_ing() -> Rules {
        Rules {
            end: GameEnd::OneResumption,
            ..Rules::tromp_taylor()
        }
    }

    /// AGA rules: situational superko, no suicide, the end by agreement, one point less than the handicap for White.
    ///
    /// Pass stones and White's last pass make a count of territory equal to area; area is what is counted here.
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

    /// Chinese rules as professionals play them: basic ko, long cycles tie the game.
    pub const fn chinese_practice() -> Rules {
        Rules {
            ko: KoRule::Basic,
            long_cycle: LongCycle::PracticeTie,
            ..Rules::chinese_written()
        }
    }

    /// Simplified Japanese Rules, version 2 of 2008 (Jasiek): basic ko, ties by equal cycles, territory.
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
    /// Tromp-Taylor.
    fn default() -> Rules {
        Rules::tromp_taylor()
    }
}
