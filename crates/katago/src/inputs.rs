//! What KataGo's networks of version 8 and later see of a position: 22 planes and 19 numbers ("V7" inputs).
//!
//! Everything is from the viewpoint of the side to move.
//!
//! | plane | points |
//! |---|---|
//! | 0 | on the board |
//! | 1, 2 | stones of the mover, of the opponent |
//! | 3, 4, 5 | chains with one, two, three liberties |
//! | 6 | banned by the ko rule |
//! | 7, 8, 20, 21 | only for phases of the game that do not exist here |
//! | 9 to 13 | where the last five turns were played, the latest first |
//! | 14, 15, 16 | stones caught in ladders: now, a turn ago, two turns ago |
//! | 17 | plays that catch a chain of the opponent in a ladder |
//! | 18, 19 | area of the mover, of the opponent, as the board stands; empty under territory scoring |
//!
//! | number | meaning |
//! |---|---|
//! | 0 to 4 | 1 for each of the last five turns that was a pass |
//! | 5 | komi for the mover, divided by 20 |
//! | 6, 7 | the ko rule: 0 and 0 basic, 1 and 0.5 positional, 1 and −0.5 situational superko |
//! | 8 | 1 if suicide is legal |
//! | 9, 10, 11 | 1 under territory scoring; 1 if eyes in seki do not count; 1 for a group tax |
//! | 12, 13 | phases of the game that do not exist here |
//! | 14 | 1 if a pass ends the game |
//! | 15, 16 | a handicap of one side's search, which is never asked for here |
//! | 17 | 1 if the button can be taken |
//! | 18 | how much half a point of komi is worth, by parity |

use tengen_encoding::{Board, Trail};
use tengen_ladders::{Grid, Ladders, ladders};
use tengen_rules::{Color, KoRule, Move, Point, PointSet, Scoring, Size, Suicide};

use crate::area::area;

/// Number of input planes.
pub const PLANES: usize = 22;

/// Number of input numbers.
pub const NUMBERS: usize = 19;

/// Plays after which KataGo stops reading a ladder.
const MOST_LADDER_PLAYS: usize = 25_000;

/// Komi beyond the area of the board plus this is shown as this.
const MOST_KOMI_BEYOND_AREA: f32 = 20.0;

/// What a network of KataGo sees of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The size of the board.
    pub size: Size,
    /// The planes, as the table in the module header lists them.
    pub planes: [PointSet; PLANES],
    /// The numbers, as the table in the module header lists them.
    pub numbers: [f32; NUMBERS],
}

/// What a network's file says about its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputStyle {
    /// Whether pass-alive chains are found as if suicide were legal, whatever the rules say.
    pub alive_despite_suicide: bool,
}

impl Inputs {
    /// What a network sees of the position at the end of a trail.
    pub fn of(trail: &Trail, style: InputStyle) -> Inputs {
        let mut inputs = Inputs {
            size: trail.size,
            planes: [PointSet::new(); PLANES],
            numbers: [0.0; NUMBERS],
        };
        inputs.add_stones(trail);
        let turns = inputs.add_turns(trail);
        inputs.add_ladders(trail, turns);
        if trail.rules.scoring != Scoring::Territory {
            inputs.add_area(trail, style);
        }
        inputs.add_rules(trail);
        inputs.add_komi(trail);
        inputs
    }

    fn add_stones(&mut self, trail: &Trail) {
        let board = &trail.boards[0];
        self.planes[0] = trail.size.points().collect();
        self.planes[1] = board.stones[trail.mover.index()];
        self.planes[2] = board.stones[trail.mover.opposite().index()];
        let grid = Grid::new(trail.size, &board.stones);
        for point in board.stones[0] | board.stones[1] {
            if let liberties @ 1..=3 = grid.liberties(grid.cell(trail.size, point)) {
                self.planes[2 + usize::from(liberties)].insert(point);
            }
        }
        // KataGo bans a single stone's suicide elsewhere, and only plays that repeat a position here.
        let alone = trail
            .banned
            .iter()
            .filter(|&point| is_lone_suicide(&grid, trail, point));
        let suicides: PointSet = alone.collect();
        self.planes[6] = (trail.banned - suicides) | board.ko.into_iter().collect();
    }

    /// Adds the last turns; returns how many of them are shown.
    fn add_turns(&mut self, trail: &Trail) -> usize {
        let mut expected = trail.mover;
        for (number, turn) in trail.turns.iter().take(turns_in_play(trail)).enumerate() {
            expected = expected.opposite();
            match turn {
                Some((color, mv)) if *color == expected => match mv {
                    Move::Pass => self.numbers[number] = 1.0,
                    Move::Play(point) => self.planes[9 + number].insert(*point),
                },
                _ => return number,
            }
        }
        turns_in_play(trail)
    }

    fn add_ladders(&mut self, trail: &Trail, turns: usize) {
        let [now, one_ago, two_ago] = &trail.boards;
        let opponent = trail.mover.opposite();
        let ladders_of = |board: &Board| -> Ladders {
            let banned = board.ko.into_iter().collect();
            ladders(trail.size, &board.stones, banned, opponent, MOST_LADDER_PLAYS)
        };
        let present = ladders_of(now);
        let past = |board: &Board| ladders_of(board).stones;
        self.planes[14] = present.stones;
        self.planes[17] = present.plays;
        self.planes[15] = if turns < 1 { present.stones } else { past(one_ago) };
        self.planes[16] = if turns < 2 { self.planes[15] } else { past(two_ago) };
    }

    fn add_area(&mut self, trail: &Trail, style: InputStyle) {
        let suicide = match style.alive_despite_suicide {
            true => Suicide::Allowed,
            false => trail.rules.suicide,
        };
        let owned = area(trail.size, &trail.boards[0].stones, suicide);
        self.planes[18] = owned[trail.mover.index()];
        self.planes[19] = owned[trail.mover.opposite().index()];
    }

    fn add_rules(&mut self, trail: &Trail) {
        let rules = trail.rules;
        [self.numbers[6], self.numbers[7]] = match rules.ko {
            KoRule::Basic | KoRule::Fixed => [0.0, 0.0],
            KoRule::PositionalSuperko => [1.0, 0.5],
            KoRule::SituationalSuperko | KoRule::Superko1996 | KoRule::NaturalSituationalSuperko => [1.0, -0.5],
        };
        let flag = |is: bool| f32::from(u8::from(is));
        let territory = rules.scoring == Scoring::Territory;
        self.numbers[8] = flag(rules.suicide != Suicide::Forbidden);
        self.numbers[9] = flag(territory);
        self.numbers[10] = flag(territory);
        self.numbers[14] = flag(trail.passes > 0);
    }

    fn add_komi(&mut self, trail: &Trail) {
        let area = trail.size.area() as f32;
        let most = area + MOST_KOMI_BEYOND_AREA;
        let komi = own_komi(trail).clamp(-most, most);
        self.numbers[5] = komi / 20.0;
        if trail.rules.scoring != Scoring::Territory {
            self.numbers[18] = parity(komi, trail.size);
        }
    }
}

/// Whether a play would be the suicide of a single stone.
fn is_lone_suicide(grid: &Grid, trail: &Trail, point: Point) -> bool {
    point.neighbors(trail.size).all(|near| {
        let cell = grid.cell(trail.size, near);
        grid.color(cell) == Some(trail.mover.opposite()) && grid.liberties(cell) > 1
    })
}

/// How many of the last turns belong to the present game: where two passes would have ended it and it went on, only the
/// second of them and what came after it.
fn turns_in_play(trail: &Trail) -> usize {
    let passed = |number: usize| matches!(trail.turns.get(number), Some(Some((_, Move::Pass))));
    let ended = (0..trail.turns.len()).find(|&number| passed(number) && passed(number + 1));
    let known = trail.turns.iter().take_while(|turn| turn.is_some()).count();
    ended.map_or(known, |number| known.min(number + 1))
}

/// Points for the mover besides the area of the board. Under territory scoring, KataGo counts area and takes a point
/// for each stone played or set up. These are the stones on the board and those that were taken, which are in the
/// trail's komi already.
fn own_komi(trail: &Trail) -> f32 {
    let komi = trail.komi_half_points as f32 / 2.0;
    if trail.rules.scoring != Scoring::Territory {
        return komi;
    }
    let [black, white] = trail.boards[0].stones.map(|stones| stones.len() as i32);
    let for_white = black - white;
    match trail.mover {
        Color::Black => komi - for_white as f32,
        Color::White => komi + for_white as f32,
    }
}

/// A wave of period 2 in the komi: rising through 0 where a tie is possible, falling through 0 a point further.
fn parity(komi: f32, size: Size) -> f32 {
    let tie = if size.area().is_multiple_of(2) { 0.0 } else { 1.0 };
    let beyond = (komi - tie).rem_euclid(2.0);
    match beyond {
        _ if beyond < 0.5 => beyond,
        _ if beyond < 1.5 => 1.0 - beyond,
        _ => beyond - 2.0,
    }
}
