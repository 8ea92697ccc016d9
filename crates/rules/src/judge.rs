//! How does a game between machines end, and what is it worth?
//!
//! Machines never agree to remove anything. Under every set of rules two consecutive passes end their game: where
//! people could agree on dead stones then, the machines agree that nothing is dead; where people could resume, nobody
//! does. That is one lawful course of the game under each of the rules, and it needs no judgement.
//!
//! - Area and half counting count the grid as it stands.
//! - Territory is counted from the independently alive chains. Where [`Judge`] cannot decide the life of a chain, the
//!   game has no score.
//! - A long cycle that ties the game ties it here, whatever the komi.

use std::collections::HashMap;
use std::fmt;

use crate::area::Area;
use crate::color::Color;
use crate::komi::{Komi, Margin};
use crate::point_set::PointSet;
use crate::position::Position;
use crate::rules::{Rules, Scoring};
use crate::size::Size;

/// Positions searched at most to decide the life of one chain at the end of a game between machines.
pub const LIFE_NODES: u64 = 1_000;

/// Grids whose alive chains a [`Judge`] remembers at most.
const MOST_REMEMBERED: usize = 1 << 14;

/// How a game between machines has ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Two passes ended it, and it has been counted.
    Counted(Count),
    /// A long cycle tied it; there is no score.
    TiedByCycle,
    /// Two passes ended it, but whether some chain is independently alive is not decided; there is no score.
    UndecidedLife,
}

/// The count of a finished game.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Black minus White after komi, by the rules' scoring, with prisoners, bonus and button where they have them.
    pub margin: Margin,
    /// Owned points: the areas, or alive chains and territory. Others are neutral.
    pub owners: Area,
}

/// Counts finished games between machines, and remembers which chains were alive on which grid.
///
/// What it says depends on the position alone, never on what it remembers.
///
/// ```
/// use tengen_rules::{Ending, Judge, Komi, Move, Position, Rules, Size};
/// let size = Size::new(4, 1).unwrap();
/// let mut position = Position::with_rules(size, Rules::japanese2008()).between_machines();
/// for mv in ["B1", "pass", "C1", "pass", "pass"] {
///     position.play(Move::parse(size, mv).unwrap());
/// }
/// let Some(Ending::Counted(count)) = Judge::default().ending(&position, Komi::ZERO) else { panic!() };
/// assert_eq!(count.margin.to_string(), "B+2");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// By size and hash of the grid; `None` where not every chain could be decided.
    alive: HashMap<(Size, u128), Option<PointSet>>,
}

impl Judge {
    /// How a game has ended; `None` while it goes on.
    pub fn ending(&mut self, position: &Position, komi: Komi) -> Option<Ending> {
        if !position.is_over() {
            return None;
        }
        if position.is_tied_by_cycle() {
            return Some(Ending::TiedByCycle);
        }
        Some(
            self.count(position, komi)
                .map_or(Ending::UndecidedLife, Ending::Counted),
        )
    }

    /// The count of the grid as it stands, as if two passes had just ended the game; `None` where the life of a chain
    /// would have to be known and is not decided.
    pub fn count(&mut self, position: &Position, komi: Komi) -> Option<Count> {
        Some(match position.rules().scoring {
            Scoring::Area | Scoring::Half => Count {
                margin: position.margin(komi),
                owners: position.area(),
            },
            Scoring::Territory => territory_count(position, &self.alive(position)?, komi),
        })
    }

    /// The stones of the independently alive chains; `None` where a chain is not decided.
    fn alive(&mut self, position: &Position) -> Option<PointSet> {
        let key = (position.size(), position.hash());
        if let Some(alive) = self.alive.get(&key) {
            return *alive;
        }
        let alive = position.all_independently_alive(LIFE_NODES);
        if self.alive.len() >= MOST_REMEMBERED {
            self.alive.clear();
        }
        self.alive.insert(key, alive);
        alive
    }
}

fn territory_count(position: &Position, alive: &PointSet, komi: Komi) -> Count {
    let counted = position.territory(alive);
    let owned = |color: Color| *counted.territory.of(color) | (*alive & position.stones(color));
    Count {
        margin: counted.margin(komi),
        owners: Area {
            black: owned(Color::Black),
            white: owned(Color::White),
        },
    }
}

/// Why machines do not play under a set of rules.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MachineRulesError {
    /// The button's half point.
    Button,
}

impl fmt::Display for MachineRulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineRulesError::Button => f.write_str(
                "the button is not played between machines: it is worth half a point, networks predict the margin on \
                 the board in whole points; choose the same rules with button=no",
            ),
        }
    }
}

impl std::error::Error for MachineRulesError {}

impl Rules {
    /// Checks that networks can be trained and played under these rules.
    ///
    /// # Errors
    /// [`MachineRulesError`] with the reason if they cannot.
    pub fn check_for_machines(&self) -> Result<(), MachineRulesError> {
        if self.button {
            Err(MachineRulesError::Button)
        } else {
            Ok(())
        }
    }
}

impl Position {
    /// The same position in a game between machines: from now on two consecutive passes end it under any rules, without
    /// an agreement.
    pub fn between_machines(mut self) -> Position {
        self.machines_from = self.machines_from.min(self.ply());
        self
    }
}
