//! Games that start from a given position or with a handicap.

use std::fmt;

use crate::color::Color;
use crate::geometry::Geometry;
use crate::handicap::Handicap;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::{Position, Turn};
use crate::rules::Rules;
use crate::size::Size;

/// The start of a game: stones on the board, first player and handicap.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Setup {
    /// The black and white stones on the board before the first turn.
    pub stones: [PointSet; 2],
    /// The player who takes the first turn.
    pub to_move: Color,
    /// Black's handicap. Here [`Handicap::Fixed`] says how many of the stones are handicap stones, regardless of where
    /// they are.
    pub handicap: Handicap,
}

impl Setup {
    /// The empty grid, Black to move.
    pub const EVEN: Setup = Setup {
        stones: [PointSet::new(); 2],
        to_move: Color::Black,
        handicap: Handicap::Even,
    };

    /// The player who takes turn number `ply`, counted from 0.
    pub fn mover(&self, ply: usize) -> Color {
        let turns = match self.handicap {
            Handicap::Consecutive(plays) if plays >= 2 => (ply + 1).saturating_sub(plays.into()),
            _ => ply,
        };
        if turns.is_multiple_of(2) {
            self.to_move
        } else {
            self.to_move.opposite()
        }
    }

    /// Checks that a game on a grid of this size can start this way.
    ///
    /// # Errors
    /// [`SetupError`] if the stones do not form a legal coloring of the grid or do not fit the handicap.
    pub fn check(&self, size: Size) -> Result<(), SetupError> {
        let geometry = Geometry::of(size);
        let stones = self.stones;
        if let Some(point) = ((stones[0] | stones[1]) - geometry.all).next_from(0) {
            return Err(SetupError::OffBoard(point));
        }
        if let Some(point) = (stones[0] & stones[1]).next_from(0) {
            return Err(SetupError::BothColors(point));
        }
        let empty = geometry.all - stones[0] - stones[1];
        for chain in stones.iter().flat_map(|set| geometry.components(set)) {
            if !geometry.adjacent(&chain).intersects(&empty) {
                return Err(SetupError::NoLiberty(chain.next_from(0).expect("chains have stones")));
            }
        }
        match self.handicap {
            Handicap::Fixed(stated) if stones[0].len() < usize::from(stated) => Err(SetupError::HandicapStones {
                stated,
                found: stones[0].len(),
            }),
            Handicap::Consecutive(2..) | Handicap::WhitePasses(2..) if self.to_move == Color::White => {
                Err(SetupError::HandicapTurn)
            }
            _ => Ok(()),
        }
    }
}

impl Default for Setup {
    /// The empty grid, Black to move.
    fn default() -> Setup {
        Setup::EVEN
    }
}

/// The reason why a game cannot start from a setup.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum SetupError {
    /// A stone is outside the grid.
    OffBoard(Point),
    /// A point has stones of both colors.
    BothColors(Point),
    /// The chain at this point has no liberty.
    NoLiberty(Point),
    /// The grid has no usual points for this many fixed handicap stones.
    NoFixedHandicap(u16),
    /// The start has fewer black stones than the handicap.
    HandicapStones {
        /// The number of stones of the handicap.
        stated: u16,
        /// The number of black stones at the start.
        found: usize,
    },
    /// Black is to play the handicap stones, but White takes the first turn.
    HandicapTurn,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::OffBoard(point) => write!(f, "point number {} is off the board", point.index()),
            SetupError::BothColors(point) => {
                write!(f, "point number {} has stones of both colors", point.index())
            }
            SetupError::NoLiberty(point) => {
                write!(f, "the chain at point number {} has no liberty", point.index())
            }
            SetupError::NoFixedHandicap(stones) => {
                write!(f, "this grid has no usual points for {stones} handicap stones")
            }
            SetupError::HandicapStones { stated, found } => {
                write!(
                    f,
                    "the handicap is {stated} fixed stones, but the start has only {found} black stones"
                )
            }
            SetupError::HandicapTurn => f.write_str("Black must take the first turn to play handicap stones"),
        }
    }
}

impl std::error::Error for SetupError {}

impl Position {
    /// A game from a given grid. Its record holds only the start: positional superko compares its grid, situational
    /// superko its grid and player to move, and neither player counts as having left it.
    ///
    /// # Errors
    /// [`SetupError`] if the stones do not form a legal coloring of the grid.
    pub fn from_setup(
        size: Size,
        rules: Rules,
        black: &PointSet,
        white: &PointSet,
        to_move: Color,
    ) -> Result<Position, SetupError> {
        let setup = Setup {
            stones: [*black, *white],
            to_move,
            handicap: Handicap::Even,
        };
        Position::starting(size, rules, &setup)
    }

    /// A game from any start, with the same record as for [`Position::from_setup`].
    ///
    /// # Errors
    /// [`SetupError`] if no game can start this way.
    pub fn starting(size: Size, rules: Rules, setup: &Setup) -> Result<Position, SetupError> {
        setup.check(size)?;
        Ok(Position::from_start(size, rules, *setup))
    }

    /// The start of the game.
    pub fn start(&self) -> Setup {
        self.start
    }

    /// A game from the empty grid or from fixed handicap stones, with a handicap for Black.
    ///
    /// # Errors
    /// [`SetupError::NoFixedHandicap`] if the grid has no usual points for the fixed stones.
    pub fn with_handicap(size: Size, rules: Rules, handicap: Handicap) -> Result<Position, SetupError> {
        let mut start = Setup {
            handicap,
            ..Setup::EVEN
        };
        if let Handicap::Fixed(stones) = handicap
            && stones >= 2
        {
            let points = crate::handicap::fixed_handicap(size, stones.into());
            let points = points.ok_or(SetupError::NoFixedHandicap(stones))?;
            start.stones[0] = points.into_iter().collect();
            start.to_move = Color::White;
        }
        Ok(Position::from_start(size, rules, start))
    }

    /// The handicap the game was started with.
    pub fn handicap(&self) -> Handicap {
        self.start.handicap
    }

    /// The stones of a color at the start.
    pub fn start_stones(&self, color: Color) -> PointSet {
        self.start.stones[color.index()]
    }

    /// The player who takes the first turn.
    pub fn start_to_move(&self) -> Color {
        self.start.to_move
    }

    /// The position at a start; its stones must form a legal coloring.
    pub(crate) fn from_start(size: Size, rules: Rules, start: Setup) -> Position {
        let mut position = Position::without_record(size, rules, start);
        for color in Color::ALL {
            for point in start.stones[color.index()] {
                position.set_up(point, color);
            }
        }
        let turn = Turn::new(position.hash, start.to_move.opposite(), start.to_move, 0, 0, 0);
        position.push_turn(turn, None);
        position
    }
}
