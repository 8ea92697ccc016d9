//! Reads ladders by following ataris only, to tell what a candidate is about; it proves nothing.

use tengen_rules::{Color, Move, Point, PointSet, Position};

/// How a chase goes in which the attacker only gives atari.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Chase {
    /// Whether it ends with the capture of the chain.
    pub(crate) works: bool,
    /// The number of ataris until it ends.
    pub(crate) ataris: usize,
}

/// The most ataris that are read; a broken ladder may go on in circles.
const MOST_ATARIS: usize = 20;

/// Reads the chase of the chain at a point; the attacker is to move, unless the chain is in atari and its owner is.
pub(crate) fn chase(position: &Position, attacker: Color, target: Point) -> Chase {
    let mut position = position.clone();
    match position.to_move() == attacker {
        true => attack(&mut position, target, MOST_ATARIS),
        false if position.liberties(target) == 1 => answer(&mut position, target, MOST_ATARIS),
        false => {
            position.play(Move::Pass);
            attack(&mut position, target, MOST_ATARIS)
        }
    }
}

/// The best atari: one that works, otherwise the one that chases the chain the longest.
fn attack(position: &mut Position, target: Point, most: usize) -> Chase {
    let mut best = Chase {
        works: false,
        ataris: 0,
    };
    let liberties = liberties_of(position, target);
    if liberties.len() != 2 || most == 0 {
        return Chase {
            works: liberties.len() < 2,
            ataris: 0,
        };
    }
    for point in liberties {
        if position.try_play(Move::Play(point)).is_err() {
            continue;
        }
        if position.liberties(target) == 1 {
            let rest = answer(position, target, most - 1);
            let found = Chase {
                ataris: rest.ataris + 1,
                ..rest
            };
            if (found.works, found.ataris) > (best.works, best.ataris) {
                best = found;
            }
        }
        position.undo();
    }
    best
}

/// The best answer to an atari: one that breaks the ladder, otherwise the one that makes it the longest.
fn answer(position: &mut Position, target: Point, most: usize) -> Chase {
    let attackers: PointSet = around(position, target).collect();
    let in_atari = attackers.iter().filter(|&stone| position.liberties(stone) == 1);
    let captures = in_atari.flat_map(|stone| liberties_of(position, stone));
    let answers: PointSet = liberties_of(position, target).iter().chain(captures).collect();
    let mut worst = Chase { works: true, ataris: 0 };
    for point in answers {
        if position.try_play(Move::Play(point)).is_err() {
            continue;
        }
        if position.at(target).is_some() {
            let found = attack(position, target, most);
            if !found.works || worst.works && found.ataris > worst.ataris {
                worst = found;
            }
        }
        position.undo();
        if !worst.works {
            break;
        }
    }
    worst
}

fn liberties_of(position: &Position, stone: Point) -> PointSet {
    let empty = position.empty_points();
    let next = position
        .chain(stone)
        .iter()
        .flat_map(|point| point.neighbors(position.size()));
    next.filter(|&point| empty.contains(point)).collect()
}

/// The stones of the other color next to a chain.
fn around(position: &Position, stone: Point) -> impl Iterator<Item = Point> {
    let other = position.at(stone).map(Color::opposite);
    let stones = other.map_or(PointSet::new(), |other| position.stones(other));
    let size = position.size();
    let next = position
        .chain(stone)
        .into_iter()
        .flat_map(move |point| point.neighbors(size));
    next.filter(move |&point| stones.contains(point))
}
