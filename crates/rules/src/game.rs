//! A game whose players may agree on its end: removal of dead stones, resumption and result.

use std::fmt;

use crate::color::Color;
use crate::illegal_move::IllegalMove;
use crate::komi::{Komi, Margin};
use crate::moves::Move;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::rules::{GameEnd, Scoring};

/// A position with its komi and the players' agreement about dead or alive stones.
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

/// The agreement that ended a game: the dead stones or the alive stones.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Agreed {
    Dead(PointSet),
    Alive(PointSet),
}

impl Game {
    /// A game that continues from a position.
    pub fn new(position: Position, komi: Komi) -> Game {
        Game {
            position,
            komi,
            agreed: None,
        }
    }

    /// The current position, from which agreed removals are not taken off.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The points added to White's score.
    pub fn komi(&self) -> Komi {
        self.komi
    }

    /// Takes a turn. After two passes that could have ended the game, this resumes play; the ko history is kept.
    ///
    /// # Errors
    /// [`IllegalMove`] as for [`Position::try_play`]; [`IllegalMove::GameOver`] after an agreement.
    pub fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if self.agreed.is_some() {
            return Err(IllegalMove::GameOver);
        }
        self.position.try_play(mv)
    }

    /// Ends the game after two passes by removing the stones agreed to be dead, normally whole chains. The removal
    /// captures nothing else and is not subject to the ko rule. The result then follows by area or half counting.
    ///
    /// # Errors
    /// [`AgreementError`] if the rules do not allow it, or not at this time, or a point has no stone.
    pub fn agree_on_dead(&mut self, dead: &PointSet) -> Result<(), AgreementError> {
        self.check_moment()?;
        if self.position.rules().scoring == Scoring::Territory {
            return Err(AgreementError::TerritoryNeedsAlive);
        }
        self.agree(dead, Agreed::Dead(*dead))
    }

    /// Ends a game under the Simplified Japanese Rules by naming the independently alive chains, each by at least one
    /// of its points; territory, removals and score follow.
    ///
    /// # Errors
    /// [`AgreementError`] if the rules do not allow it, or not at this time, or a point has no stone.
    pub fn agree_on_alive(&mut self, alive: &PointSet) -> Result<(), AgreementError> {
        self.check_moment()?;
        if self.position.rules().scoring != Scoring::Territory {
            return Err(AgreementError::AreaNeedsDead);
        }
        self.agree(alive, Agreed::Alive(*alive))
    }

    /// Like [`Game::agree_on_alive`] with all chains except those agreed to be dead or in seki, each given by at least
    /// one of its points.
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

    /// Resumes the game although both players have passed.
    ///
    /// Under the Simplified Japanese Rules this takes back the last two passes and any agreement. Under other rules it
    /// is possible only before an agreement; the turns continue with the player who passed first.
    ///
    /// # Errors
    /// [`AgreementError::NotNow`] if the players could not have agreed on the end at this time.
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

    /// The result, Black minus White after komi, once an agreement, the final passes or a long cycle (a tie) has ended
    /// the game. `None` during the game, and under territory scoring until the players agree on the alive chains.
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

/// The reason why an agreement is rejected.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum AgreementError {
    /// These rules score the grid without an agreement.
    NoAgreement,
    /// An agreement must come right after exactly two passes, and only once.
    NotNow,
    /// One of the given points has no stone.
    NoStone,
    /// Territory scoring needs the alive chains, not the dead ones.
    TerritoryNeedsAlive,
    /// Area scoring needs the dead chains, not the alive ones.
    AreaNeedsDead,
}

impl fmt::Display for AgreementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgreementError::NoAgreement => "these rules score the grid as it is, without an agreement on dead stones",
            AgreementError::NotNow => "the players can agree only right after two passes, and only once",
            AgreementError::NoStone => "one of the given points has no stone",
            AgreementError::TerritoryNeedsAlive => "territory scoring needs the alive chains, not the dead ones",
            AgreementError::AreaNeedsDead => "area scoring needs the dead chains, not the alive ones",
        })
    }
}

impl std::error::Error for AgreementError {}
