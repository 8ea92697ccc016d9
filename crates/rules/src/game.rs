//! A game between players who may agree on its end: removal of dead stones, resumption, result.

use std::fmt;

use crate::color::Color;
use crate::komi::{Komi, Margin};
use crate::legality::IllegalMove;
use crate::moves::Move;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::rules::{GameEnd, Scoring};

/// A position with its komi and what the players have agreed on.
///
/// ```
/// use tengen_rules::{Game, Komi, Move, PointSet, Position, Rules, Size, parse_point};
/// let size = Size::square(5).unwrap();
/// let mut game = Game::new(Position::with_rules(size, Rules::tromp_taylor_practice()), Komi::ZERO);
/// for mv in ["C3", "A1", "pass", "pass"] {
///     game.play(Move::parse(size, mv).unwrap()).unwrap();
/// }
/// assert_eq!(game.result(), None);
/// let dead: PointSet = [parse_point(size, "A1").unwrap()].into_iter().collect();
/// game.agree_on_dead(&dead).unwrap();
/// assert_eq!(game.result().unwrap().to_string(), "B+25");
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    position: Position,
    komi: Komi,
    agreed: Option<Agreed>,
}

/// What ended a game by agreement.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Agreed {
    Dead(PointSet),
    Alive(PointSet),
}

impl Game {
    /// A game that goes on from a position.
    pub fn new(position: Position, komi: Komi) -> Game {
        Game {
            position,
            komi,
            agreed: None,
        }
    }

    /// The position; agreed removals do not change it.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The komi.
    pub fn komi(&self) -> Komi {
        self.komi
    }

    /// Takes a turn. After two passes that could have ended the game this plays on, the record of the ko rule kept.
    ///
    /// # Errors
    /// [`IllegalMove`] as for [`Position::try_play`]; [`IllegalMove::GameOver`] after an agreement.
    pub fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if self.agreed.is_some() {
            return Err(IllegalMove::GameOver);
        }
        self.position.try_play(mv)
    }

    /// Ends the game after two passes with points agreed to be emptied, normally dead chains; without clearing and
    /// without a ko test. Counts by area or half counting follow.
    ///
    /// # Errors
    /// [`AgreementError`] if the rules or the moment do not allow it, or a point has no stone.
    pub fn agree_on_dead(&mut self, dead: &PointSet) -> Result<(), AgreementError> {
        self.check_moment()?;
        if self.position.rules().scoring == Scoring::Territory {
            return Err(AgreementError::TerritoryNeedsAlive);
        }
        self.agree(dead, Agreed::Dead(*dead))
    }

    /// Ends alternation under the Simplified Japanese Rules with the chains that are independently alive, given by one
    /// point or more of each; territory, removals and score follow.
    ///
    /// # Errors
    /// [`AgreementError`] if the rules or the moment do not allow it, or a point has no stone.
    pub fn agree_on_alive(&mut self, alive: &PointSet) -> Result<(), AgreementError> {
        self.check_moment()?;
        if self.position.rules().scoring != Scoring::Territory {
            return Err(AgreementError::AreaNeedsDead);
        }
        self.agree(alive, Agreed::Alive(*alive))
    }

    /// As [`Game::agree_on_alive`] with all chains but those agreed to be dead and those agreed to stand in seki, given
    /// by one point or more of each.
    ///
    /// # Errors
    /// As for [`Game::agree_on_alive`].
    pub fn agree_on_dead_and_seki(&mut self, dead: &PointSet, seki: &PointSet) -> Result<(), AgreementError> {
        let stones = self.position.stones(Color::Black) | self.position.stones(Color::White);
        let named = *dead | *seki;
        if !named.is_subset(&stones) {
            return Err(AgreementError::NoStone);
        }
        let others = named.iter().fold(stones, |left, p| left - self.position.chain(p));
        self.agree_on_alive(&others)
    }

    /// Goes on with the game although both have passed.
    ///
    /// Under the Simplified Japanese Rules it is as if the last two passes had not happened, until the players are
    /// content with the result; otherwise turns simply go on, the first passer moving, before any agreement.
    ///
    /// # Errors
    /// [`AgreementError::NotNow`] if the last two turns were not such passes.
    pub fn resume(&mut self) -> Result<(), AgreementError> {
        let japanese = self.position.rules().end == GameEnd::Japanese2008;
        if !self.position.may_agree() || (self.agreed.is_some() && !japanese) {
            return Err(AgreementError::NotNow);
        }
        if japanese {
            self.agreed = None;
            self.position.undo();
            self.position.undo();
        }
        Ok(())
    }

    /// Black minus White after komi once the game is settled: by agreement, by the passes that end it as it stands, or
    /// as a tie by a long cycle. `None` while it goes on, and under territory scoring until alive chains are agreed on.
    pub fn result(&self) -> Option<Margin> {
        if self.position.is_tied_by_cycle() {
            return Some(Margin::default());
        }
        match &self.agreed {
            Some(Agreed::Dead(dead)) => Some(self.position.margin_without(dead, self.komi)),
            Some(Agreed::Alive(alive)) => Some(self.position.territory(alive).margin(self.komi)),
            None if !self.position.is_over() => None,
            None if self.position.rules().scoring == Scoring::Territory => None,
            None => Some(self.position.margin(self.komi)),
        }
    }

    fn check_moment(&self) -> Result<(), AgreementError> {
        if self.position.rules().end == GameEnd::TwoPasses {
            Err(AgreementError::NoAgreement)
        } else if self.agreed.is_some() || !self.position.may_agree() {
            Err(AgreementError::NotNow)
        } else {
            Ok(())
        }
    }

    fn agree(&mut self, named: &PointSet, agreed: Agreed) -> Result<(), AgreementError> {
        let stones = self.position.stones(Color::Black) | self.position.stones(Color::White);
        if !named.is_subset(&stones) {
            return Err(AgreementError::NoStone);
        }
        self.agreed = Some(agreed);
        Ok(())
    }
}

/// Why the players cannot agree on this.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum AgreementError {
    /// Under these rules the grid counts as it stands.
    NoAgreement,
    /// It takes exactly two passes just before, and no agreement yet.
    NotNow,
    /// An agreed point has no stone.
    NoStone,
    /// Territory follows from the chains agreed to be alive.
    TerritoryNeedsAlive,
    /// Area is counted after chains agreed to be dead have been removed.
    AreaNeedsDead,
}

impl fmt::Display for AgreementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgreementError::NoAgreement => "under these rules nothing is agreed on: the grid counts as it stands",
            AgreementError::NotNow => "the players can agree only right after two passes, and once",
            AgreementError::NoStone => "an agreed point has no stone",
            AgreementError::TerritoryNeedsAlive => "territory is counted from the chains agreed to be alive",
            AgreementError::AreaNeedsDead => "area is counted after the chains agreed to be dead have been removed",
        })
    }
}

impl std::error::Error for AgreementError {}
