//! The same random games played by the crate `board-game`, in the way that is fastest for it: light games let `play`
//! check legality, and the set that holds the history is reused.

use board_game::board::{Board, BoardMoves, Player};
use board_game::games::go::{FlatTile, GoBoard, Komi, Move, Rules, Tile};
use internal_iterator::InternalIterator;

use crate::{Side, Workload};
use tengen_rng::SplitMix64;

/// One board that is reused for all games.
pub struct Theirs {
    start: GoBoard,
    board: GoBoard,
    points: Vec<Point>,
    listed: Vec<Move>,
}

/// A point and its neighbors.
struct Point {
    tile: Tile,
    adjacent: Vec<FlatTile>,
    diagonal: Vec<FlatTile>,
}

impl Theirs {
    /// An empty square board.
    pub fn new(side: u8) -> Theirs {
        let start = empty(side);
        Theirs {
            board: start.clone(),
            start,
            points: Tile::all(side).map(|tile| point(tile, side)).collect(),
            listed: Vec::new(),
        }
    }

    fn light(&mut self, random: &mut SplitMix64) -> Move {
        let area = self.points.len();
        let start = random.below(area as u64) as usize;
        let mover = self.board.next_player();
        for index in (start..area).chain(0..start) {
            let point = &self.points[index];
            let free = self.board.chains().stone_at(FlatTile::new(index as u16)).is_none();
            let mv = Move::Place(point.tile);
            if free && !is_eye(&self.board, point, mover) && self.board.play(mv).is_ok() {
                return mv;
            }
        }
        self.board.play(Move::Pass).expect("a pass is legal");
        Move::Pass
    }

    fn scan(&mut self, random: &mut SplitMix64) -> Move {
        self.listed.clear();
        let listed = &mut self.listed;
        let moves = self.board.available_moves().expect("the game is not over");
        moves.for_each(|mv| listed.push(mv));
        let mv = self.listed[random.below(self.listed.len() as u64) as usize];
        self.board.play(mv).expect("a listed move is legal");
        mv
    }
}

/// The empty board under Tromp-Taylor rules.
pub fn empty(side: u8) -> GoBoard {
    GoBoard::new(side, Komi::zero(), Rules::tromp_taylor())
}

/// Black's area minus White's.
pub fn margin(board: &GoBoard) -> i32 {
    let score = board.current_score();
    score.a as i32 - score.b as i32
}

impl Side for Theirs {
    fn game(&mut self, workload: Workload, random: &mut SplitMix64) -> (usize, i32) {
        let mut history = self.board.replace_history(Default::default());
        history.clear();
        self.board = self.start.clone();
        self.board.replace_history(history);
        let limit = 3 * self.points.len();
        let mut turns = 0;
        while turns < limit && !self.board.is_done() {
            match workload {
                Workload::Light => self.light(random),
                Workload::Scan => self.scan(random),
            };
            turns += 1;
        }
        (turns, margin(&self.board))
    }
}

fn point(tile: Tile, side: u8) -> Point {
    let at = |(dx, dy): (i32, i32)| {
        let (x, y) = (i32::from(tile.x()) + dx, i32::from(tile.y()) + dy);
        let inside = |c: i32| (0..i32::from(side)).contains(&c);
        (inside(x) && inside(y)).then(|| Tile::new(x as u8, y as u8).to_flat(side))
    };
    Point {
        tile,
        adjacent: [(1, 0), (-1, 0), (0, 1), (0, -1)].into_iter().filter_map(at).collect(),
        diagonal: [(1, 1), (-1, 1), (1, -1), (-1, -1)]
            .into_iter()
            .filter_map(at)
            .collect(),
    }
}

/// Whether all neighbors belong to the player and at most one diagonal neighbor is an enemy stone, or none at the edge.
#[inline]
fn is_eye(board: &GoBoard, point: &Point, mover: Player) -> bool {
    let chains = board.chains();
    if !point.adjacent.iter().all(|&tile| chains.stone_at(tile) == Some(mover)) {
        return false;
    }
    let enemy = Some(mover.other());
    let enemies = point
        .diagonal
        .iter()
        .filter(|&&tile| chains.stone_at(tile) == enemy)
        .count();
    enemies <= usize::from(point.diagonal.len() == 4)
}
