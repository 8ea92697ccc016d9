//! How a game between machines ends and how it is scored.
//!
//! Machines never agree to remove stones. Under every set of rules, two consecutive passes end their game: if people
//! could then agree on dead stones, the machines agree that nothing is dead; if people could resume, the machines do
//! not. All of the rules permit a game to end this way, and it requires no judgment.
//!
//! - Area and half counting score the final grid as it is.
//! - Territory is counted from the independently alive chains. If [`Judge`] cannot decide whether a chain is alive, the
//!   game has no score.
//! - A long cycle that ties the game under the rules also ties it here, regardless of komi.

use std::collections::HashMap;
use std::fmt;

use crate::area::Area;
use crate::color::Color;
use crate::komi::{Komi, Margin};
use crate::point_set::PointSet;
use crate::position::Position;
use crate::rules::{Rules, Scoring};
use crate::size::Size;

/// The most positions searched to decide whether one chain is alive at the end of a game between machines.
pub const LIFE_NODES: u64 = 1_000;

/// The most grids whose alive chains a [`Judge`] remembers.
const MAX_REMEMBERED: usize = 1 << 14;

/// How a game between machines ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Two passes ended the game, and it has been counted.
    Counted(Count),
    /// A long cycle tied the game; there is no score.
    TiedByCycle,
    /// Two passes ended the game, but it is unknown whether some chain is independently alive; there is no score.
    UndecidedLife,
}

/// The count of a finished game.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Black minus White after komi under the scoring of the rules, including prisoners, handicap bonus and button if
    /// the rules have them.
    pub margin: Margin,
    /// The points each color owns: its area, or its alive chains and territory. All others are neutral.
    pub owners: Area,
}

/// Counts finished games between machines and remembers which chains were alive on which grid.
///
/// Its results depend on the position alone, never on what it remembers.
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
    /// Alive stones by size and hash of the grid; `None` if some chain could not be decided.
    alive: HashMap<(Size, u128), Option<PointSet>>,
}

impl Judge {
    /// How a game ended; `None` while it is still in progress.
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

    /// The count of the current grid, as if two passes had just ended the game; `None` if it depends on a chain whose
    /// life is undecided.
    pub fn count(&mut self, position: &Position, komi: Komi) -> Option<Count> {
        Some(match position.rules().scoring {
            Scoring::Area | Scoring::Half => Count {
                margin: position.margin(komi),
                owners: position.area(),
            },
            Scoring::Territory => territory_count(position, &self.alive(position)?, komi),
        })
    }

    /// The stones of the independently alive chains; `None` if some chain is undecided.
    fn alive(&mut self, position: &Position) -> Option<PointSet> {
        let key = (position.size(), position.hash());
        if let Some(alive) = self.alive.get(&key) {
            return *alive;
        }
        let alive = position.all_independently_alive(LIFE_NODES);
        if self.alive.len() >= MAX_REMEMBERED {
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

/// The reason why machines do not play under a set of rules.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MachineRulesError {
    /// The rules have a button, whose half point networks cannot predict.
    Button,
}

impl fmt::Display for MachineRulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineRulesError::Button => f.write_str(
                "games between machines do not support the button: it is worth half a point, but networks predict \
                 the margin on the board in whole points; use the same rules with button=no",
            ),
        }
    }
}

impl std::error::Error for MachineRulesError {}

impl Rules {
    /// Checks that networks can train and play under these rules.
    ///
    /// # Errors
    /// [`MachineRulesError`] gives the reason if they cannot.
    pub fn check_for_machines(&self) -> Result<(), MachineRulesError> {
        if self.button {
            Err(MachineRulesError::Button)
        } else {
            Ok(())
        }
    }
}

impl Position {
    /// The same position in a game between machines: from now on, two consecutive passes end it under any rules,
    /// without an agreement.
    pub fn between_machines(mut self) -> Position {
        self.machines_from = self.machines_from.min(self.ply());
        self
    }
}
