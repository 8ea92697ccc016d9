//! Which moves are legal, and why the others are not.

use crate::color::Color;
use crate::handicap::Handicap;
use crate::illegal_move::IllegalMove;
use crate::moves::Move;
use crate::play::{INDEX, button_key, record_key, removed_color};
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::{Cell, EMPTY, Position, WALL, flag, join};
use crate::rules::{KoRule, Suicide};
use crate::zobrist;

/// What a play would do to the stones.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Effect {
    /// Hash of the coloring after the play.
    pub(crate) hash: u128,
    /// Whether the play removes its own chain.
    suicide: bool,
    /// Whether the new stone has no neighbor of its own color.
    alone: bool,
}

/// What the neighbors of an empty point reveal about a play there.
#[derive(Copy, Clone, Default)]
struct Around {
    /// The new stone certainly has a liberty.
    has_liberty: bool,
    /// The player to move has a stone next to it.
    own: bool,
    /// The opponent has a chain next to it that the play may capture.
    weak_enemy: bool,
}

impl Position {
    /// Checks whether a move is legal for the player to move.
    ///
    /// # Errors
    /// [`IllegalMove`] gives the first reason that applies of: off the board, game over, handicap, occupied, suicide,
    /// superko.
    pub fn legality(&self, mv: Move) -> Result<(), IllegalMove> {
        let Move::Play(point) = mv else {
            return if self.is_over() {
                Err(IllegalMove::GameOver)
            } else {
                self.handicap_permits(mv)
            };
        };
        if point.index() >= self.geometry.area {
            return Err(IllegalMove::OffBoard);
        }
        if self.is_over() {
            return Err(IllegalMove::GameOver);
        }
        self.handicap_permits(mv)?;
        if !self.empty.contains(point) {
            return Err(IllegalMove::Occupied);
        }
        let effect = self.effect(point.index());
        if self.suicide_forbidden(&effect) {
            return Err(IllegalMove::Suicide);
        }
        self.repeated_turn(&effect)
            .map_or(Ok(()), |repeats_ply| Err(IllegalMove::Superko { repeats_ply }))
    }

    /// Whether a move is legal for the player to move.
    #[inline]
    pub fn is_legal(&self, mv: Move) -> bool {
        match mv {
            Move::Pass => !self.is_over() && self.handicap_permits(mv).is_ok(),
            Move::Play(point) => {
                self.handicap_permits(mv).is_ok()
                    && point.index() < self.geometry.area
                    && self.empty.contains(point)
                    && !self.is_over()
                    && self.is_permitted(point.index())
            }
        }
    }

    /// All points where the player to move may play; none once the game is over.
    pub fn legal_points(&self) -> PointSet {
        if self.is_over() || self.handicap_due() == Some(IllegalMove::HandicapPassDue) {
            return PointSet::new();
        }
        // A play next to an empty point is never suicide, and at most points it then cannot repeat a grid either.
        let doubtful = self.possibly_repeating();
        let mut legal = (self.empty & self.geometry.adjacent(&self.empty)) - doubtful;
        for point in self.empty - legal {
            if self.is_permitted_given(point.index(), !doubtful.contains(point)) {
                legal.insert(point);
            }
        }
        legal
    }

    /// The only points where a play that stays on the board could repeat an earlier grid.
    ///
    /// Consider a stone of the player to move on a point from which none of their stones was ever removed: it has been
    /// there since its turn and remains. A repeated grid contains that stone, so it occurred at that turn or later. It
    /// also contains the new stone, so a stone of the same color must have been removed from the new stone's point
    /// since then.
    fn possibly_repeating(&self) -> PointSet {
        const LOOK_BACK: usize = 40;
        let own = self.to_move.index();
        let oldest = self.ply().saturating_sub(LOOK_BACK);
        for ply in (oldest..self.ply()).rev() {
            let Move::Play(point) = self.moves[ply] else { continue };
            let turn = &self.turns[ply + 1];
            if turn.mover() == self.to_move && !self.vacated[own].contains(point) {
                let later = self
                    .turns
                    .get(ply + 2)
                    .map_or(self.removed.len(), |t| t.removed_before as usize);
                let mut vacated = PointSet::new();
                let removed = self.removed[later..].iter();
                removed
                    .filter(|&&entry| removed_color(entry) == own)
                    .for_each(|&entry| vacated.set(usize::from(entry & INDEX)));
                return vacated;
            }
        }
        self.vacated[own]
    }

    /// The empty points where the ko rule forbids the player to move to play, including one-stone suicides that only
    /// the ko rule forbids. After the end of the game, the points that would be forbidden if it continued.
    pub fn superko_banned(&self) -> PointSet {
        let mut banned = PointSet::new();
        let free = self.geometry.adjacent(&self.empty) - self.vacated[self.to_move.index()];
        for point in self.empty - free {
            let effect = self.effect(point.index());
            if !self.suicide_forbidden(&effect) && self.repeated_turn(&effect).is_some() {
                banned.insert(point);
            }
        }
        banned
    }

    /// Whether a play at an empty point removes the player's own chain. The other rules are not consulted.
    ///
    /// # Panics
    /// If the point is off the board. The answer for a point with a stone means nothing.
    #[inline]
    pub fn is_suicide(&self, point: Point) -> bool {
        !self.has_empty_neighbor(point.index()) && self.effect(point.index()).suicide
    }

    /// Whether a play at an empty point is legal, is not suicide, and does not fill a one-point eye of the player to
    /// move.
    #[inline]
    pub(crate) fn is_sensible(&self, point: Point) -> bool {
        !self.is_one_point_eye(point, self.to_move) && self.is_legal(Move::Play(point)) && !self.is_suicide(point)
    }

    /// The points where the player to move may play without suicide and without filling a one-point eye of their own
    /// ([`Position::is_one_point_eye`]); none once the game is over.
    ///
    /// A game in which both players choose among these points, and pass when there are none, always ends.
    pub fn sensible_points(&self) -> PointSet {
        let mut sensible = self.legal_points();
        for point in sensible {
            if self.is_one_point_eye(point, self.to_move) || self.is_suicide(point) {
                sensible.remove(point);
            }
        }
        sensible
    }

    #[inline]
    fn handicap_permits(&self, mv: Move) -> Result<(), IllegalMove> {
        match (self.handicap_due(), mv) {
            (Some(IllegalMove::HandicapPlayDue), Move::Pass) => Err(IllegalMove::HandicapPlayDue),
            (Some(IllegalMove::HandicapPassDue), Move::Play(_)) => Err(IllegalMove::HandicapPassDue),
            _ => Ok(()),
        }
    }

    /// The handicap's requirement for the player to move, if any, as the error for violating it.
    #[inline]
    fn handicap_due(&self) -> Option<IllegalMove> {
        match self.start.handicap {
            Handicap::Even | Handicap::Fixed(_) => None,
            Handicap::Consecutive(plays) => {
                (plays >= 2 && self.ply() < plays.into()).then_some(IllegalMove::HandicapPlayDue)
            }
            Handicap::WhitePasses(stones) => {
                let due = self.to_move == Color::White && self.ply() / 2 + 1 < stones.into();
                due.then_some(IllegalMove::HandicapPassDue)
            }
        }
    }

    /// Whether the suicide and ko rules permit a play at an empty point.
    #[inline]
    pub(crate) fn is_permitted(&self, index: usize) -> bool {
        self.is_permitted_given(index, !self.vacated[self.to_move.index()].has(index))
    }

    /// Like [`Position::is_permitted`]; `fresh` promises that a stone that stays at the point cannot repeat a grid.
    ///
    /// A look at the neighboring chains decides most plays; only the rest need their full effect computed.
    #[inline]
    fn is_permitted_given(&self, index: usize, fresh: bool) -> bool {
        if fresh && self.has_empty_neighbor(index) {
            return true;
        }
        let Around {
            has_liberty,
            own,
            weak_enemy,
        } = self.around(index);
        if has_liberty && fresh {
            return true;
        }
        if has_liberty && !weak_enemy {
            return self.repeated_turn(&self.addition(index)).is_none();
        }
        if !has_liberty && !own && !weak_enemy && self.rules.ko == KoRule::PositionalSuperko {
            // The suicide of a single stone repeats the current grid.
            return false;
        }
        let effect = self.effect(index);
        !self.suicide_forbidden(&effect) && ((fresh && !effect.suicide) || self.repeated_turn(&effect).is_none())
    }

    /// What the neighbors of an empty point reveal at a glance. A chain with more than four pseudo-liberties keeps a
    /// liberty after any one play, since a point accounts for at most four of them.
    #[inline]
    fn around(&self, index: usize) -> Around {
        let mover = self.to_move as u8;
        let mut around = Around::default();
        for neighbor in self.geometry.neighbors[index] {
            let Cell { color, head, .. } = self.cells[usize::from(neighbor)];
            // For neighbors without a stone, the cell outside the board serves as their chain.
            let head = if color < EMPTY { head } else { self.geometry.area as u16 };
            let strong = self.cells[usize::from(head)].pseudo_liberties > 4;
            around.has_liberty |= (color == EMPTY) | ((color == mover) & strong);
            around.own |= color == mover;
            around.weak_enemy |= (color == mover ^ 1) & !strong;
        }
        around
    }

    /// The effect of a play that removes nothing.
    #[inline]
    fn addition(&self, index: usize) -> Effect {
        Effect {
            hash: self.hash ^ zobrist::stone(self.to_move.index(), index),
            suicide: false,
            alone: false,
        }
    }

    #[inline]
    fn has_empty_neighbor(&self, index: usize) -> bool {
        self.geometry.neighbors[index]
            .iter()
            .any(|&n| self.cells[usize::from(n)].color == EMPTY)
    }

    #[inline]
    fn suicide_forbidden(&self, effect: &Effect) -> bool {
        effect.suicide
            && match self.rules.suicide {
                Suicide::Allowed => false,
                Suicide::MultiOnly => effect.alone,
                Suicide::Forbidden => true,
            }
    }

    /// The effect of a play at an empty point by the player to move.
    ///
    /// Neighbors are unpredictable, so this uses masks instead of branches.
    #[inline]
    pub(crate) fn effect(&self, index: usize) -> Effect {
        let own = self.to_move as u8;
        // For neighbors without a stone, the cell outside serves as their chain: no pseudo-liberties and a zero hash.
        let mut heads = [self.geometry.area as u16; 4];
        let mut colors = [WALL; 4];
        for (i, neighbor) in self.geometry.neighbors[index].into_iter().enumerate() {
            let cell = &self.cells[usize::from(neighbor)];
            colors[i] = cell.color;
            heads[i] = if cell.color < EMPTY { cell.head } else { heads[i] };
        }
        let mut lives = false;
        let mut alone = true;
        let (mut captured, mut merged) = ([0; 2], [0; 2]);
        for i in 0..4 {
            let chain = &self.cells[usize::from(heads[i])];
            let touching = heads.iter().fold(0, |sum, &head| sum + u16::from(head == heads[i]));
            let first = !heads[..i].contains(&heads[i]);
            let loses_last_liberty = chain.pseudo_liberties == touching;
            let is_own = colors[i] == own;
            let is_captured = (colors[i] == own ^ 1) & loses_last_liberty;
            lives |= (colors[i] == EMPTY) | is_captured | (is_own & !loses_last_liberty);
            alone &= !is_own;
            add_if(is_captured & first, &mut captured, chain.hash);
            add_if(is_own & first, &mut merged, chain.hash);
        }
        let hash = if lives {
            self.hash ^ join(captured) ^ zobrist::stone(own.into(), index)
        } else {
            self.hash ^ join(merged)
        };
        Effect {
            hash,
            suicide: !lives,
            alone,
        }
    }

    /// The earlier turn that a play with this effect would repeat under the ko rule.
    #[inline]
    fn repeated_turn(&self, effect: &Effect) -> Option<usize> {
        let (ko, turns) = (self.rules.ko, &self.turns);
        if ko == KoRule::Basic {
            return self.grid_before_last_turn(effect);
        }
        self.table.find(self.key_of_play(effect), |i| record_key(ko, turns, i))
    }

    /// The key that the ko rule records for a play with this effect; see [`record_key`].
    #[inline]
    pub(crate) fn key_of_play(&self, effect: &Effect) -> u128 {
        button_key(self.last_turn())
            ^ match self.rules.ko {
                KoRule::PositionalSuperko | KoRule::Basic => effect.hash,
                KoRule::SituationalSuperko => effect.hash ^ zobrist::player(self.next_after_turn()),
                KoRule::Superko1996 | KoRule::NaturalSituationalSuperko => effect.hash ^ zobrist::player(self.to_move),
                KoRule::Fixed => zobrist::pair(self.hash, effect.hash),
            }
    }

    #[cold]
    fn grid_before_last_turn(&self, effect: &Effect) -> Option<usize> {
        let number = self.turns.len().checked_sub(2)?;
        let before = &self.turns[number];
        let same_button = before.is(flag::BUTTON) == self.last_turn().is(flag::BUTTON);
        (same_button && before.hash() == effect.hash).then_some(number)
    }

    /// Whether a point is a one-point eye of a color: all its neighbors on the board are stones of that color, and at
    /// most one diagonal neighbor is an enemy stone, or none at the edge.
    #[inline]
    pub fn is_one_point_eye(&self, point: Point, color: Color) -> bool {
        let own = color as u8;
        let neighbors = &self.geometry.neighbors[point.index()];
        let surrounded = neighbors.iter().all(|&n| {
            let c = self.cells[usize::from(n)].color;
            c == own || c == WALL
        });
        if !surrounded {
            return false;
        }
        let (mut enemies, mut edge) = (0, 0);
        for &diagonal in &self.geometry.diagonals[point.index()] {
            let c = self.cells[usize::from(diagonal)].color;
            enemies += u32::from(c == color.opposite() as u8);
            edge |= u32::from(c == WALL);
        }
        enemies + edge < 2
    }
}

/// Adds (exclusive or) a key to a sum if a condition holds, without a branch.
#[inline]
fn add_if(condition: bool, sum: &mut [u64; 2], key: [u64; 2]) {
    let mask = u64::from(condition).wrapping_neg();
    sum[0] ^= key[0] & mask;
    sum[1] ^= key[1] & mask;
}
