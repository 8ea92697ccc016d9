//! How do games begin? A tree of first moves, mirror images taken together, out of bounded memory.

use std::collections::{BTreeMap, BinaryHeap};

use serde::Serialize;
use tengen_rules::{Move, Outcome, Setup, Size, Symmetry};

use crate::record::GameRecord;

/// Most plies of an opening that are kept.
pub(crate) const MAX_DEPTH: usize = 12;

/// Games whose openings are kept. Of more games those whose names have the smallest hashes are kept: a fair sample, the
/// same in whatever order the games come.
const MAX_LINES: usize = 1 << 20;

/// Stands where a game was over already.
const NO_MOVE: u16 = u16::MAX;

/// How much of the tree of openings is told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Plies, 1 to 12.
    pub depth: usize,
    /// Most branches of a node, the most frequent ones.
    pub branches: usize,
}

impl Default for TreeShape {
    fn default() -> TreeShape {
        TreeShape { depth: 3, branches: 4 }
    }
}

/// A move of the tree of openings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpeningNode {
    /// The move, such as `C3` or `pass`.
    pub mv: String,
    /// Games that came here.
    pub games: u64,
    /// Share of the games that came to the node above, 0 to 1.
    pub share: f64,
    /// Games among them that Black won.
    pub black_wins: u64,
    /// Games among them that White won.
    pub white_wins: u64,
    /// Games among them that were tied.
    pub ties: u64,
    /// The most frequent next moves.
    pub next: Vec<OpeningNode>,
    /// Next moves that are left out, and how many games took them.
    pub others: Others,
}

/// Moves that are not told one by one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Others {
    /// How many moves.
    pub moves: u64,
    /// How many games took one of them.
    pub games: u64,
}

/// The openings of all games on boards of one size that began with the empty board and Black to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpeningTree {
    /// Games in the tree.
    pub games: u64,
    /// Entropy of the first 1, 2, … plies over the games, in bits: 0 when all games begin alike, more with every
    /// doubling of equally frequent openings.
    pub entropy_bits: Vec<f64>,
    /// The most frequent first moves.
    pub first: Vec<OpeningNode>,
    /// First moves that are left out.
    pub others: Others,
}

/// The opening of one game; ordered by the hash of the game's name first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    hash: u64,
    size: Size,
    moves: [u16; MAX_DEPTH],
    /// 1 Black won, -1 White won, 0 tie.
    outcome: Option<i8>,
}

/// Openings of games, at most so many.
#[derive(Debug)]
pub(crate) struct Openings {
    lines: BinaryHeap<Line>,
    most: usize,
}

impl Default for Openings {
    fn default() -> Openings {
        Openings::with_room_for(MAX_LINES)
    }
}

impl Openings {
    fn with_room_for(most: usize) -> Openings {
        Openings {
            lines: BinaryHeap::new(),
            most,
        }
    }

    /// Adds a game, if it began with the empty board and Black to move.
    pub(crate) fn add(&mut self, game: &GameRecord) {
        if game.setup != Setup::EVEN || game.plies.is_empty() {
            return;
        }
        self.push(Line {
            hash: hash(&game.game_id),
            size: game.size,
            moves: canonical(game),
            outcome: game.outcome().map(|outcome| match outcome {
                Outcome::BlackWins => 1,
                Outcome::WhiteWins => -1,
                Outcome::Tie => 0,
            }),
        });
    }

    fn push(&mut self, line: Line) {
        if self.lines.len() < self.most {
            self.lines.push(line);
        } else if self.lines.peek().is_some_and(|largest| line < *largest) {
            self.lines.pop();
            self.lines.push(line);
        }
    }

    /// Adds the openings of other games.
    pub(crate) fn merge(&mut self, other: Openings) {
        other.lines.into_iter().for_each(|line| self.push(line));
    }

    /// The tree for every board size.
    pub(crate) fn trees(self, shape: TreeShape) -> BTreeMap<String, OpeningTree> {
        let mut by_size: BTreeMap<Size, Vec<Line>> = BTreeMap::new();
        for line in self.lines {
            by_size.entry(line.size).or_default().push(line);
        }
        let tree = |(size, mut lines): (Size, Vec<Line>)| {
            lines.sort_unstable_by_key(|line| line.moves);
            let depth = shape.depth.clamp(1, MAX_DEPTH);
            let (first, others) = branches(size, &lines, 0, TreeShape { depth, ..shape });
            let tree = OpeningTree {
                games: lines.len() as u64,
                entropy_bits: (1..=depth).map(|plies| entropy_bits(&lines, plies)).collect(),
                first,
                others,
            };
            (size.to_string(), tree)
        };
        by_size.into_iter().map(tree).collect()
    }
}

/// FNV-1a with a last mixing, so that names that end in numbers are spread well. The same on every machine.
fn hash(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

/// The first moves in the mirror image that comes first in order.
fn canonical(game: &GameRecord) -> [u16; MAX_DEPTH] {
    let moves: Vec<Move> = game.plies.iter().take(MAX_DEPTH).map(|ply| ply.mv).collect();
    let image = |symmetry: &Symmetry| {
        let mut line = [NO_MOVE; MAX_DEPTH];
        for (place, &mv) in line.iter_mut().zip(&moves) {
            *place = symmetry.apply_move(game.size, mv).index(game.size) as u16;
        }
        line
    };
    let images = Symmetry::all(game.size).iter().map(image);
    images.min().expect("every board has a symmetry")
}

/// The moves at `depth` of lines that are sorted and alike before it, the most frequent ones as nodes.
fn branches(size: Size, lines: &[Line], depth: usize, shape: TreeShape) -> (Vec<OpeningNode>, Others) {
    if depth == shape.depth {
        return (Vec::new(), Others::default());
    }
    let played: Vec<&[Line]> = lines
        .chunk_by(|a, b| a.moves[depth] == b.moves[depth])
        .filter(|lines| lines[0].moves[depth] != NO_MOVE)
        .collect();
    let mut by_games = played;
    // Stable: moves that are equally frequent keep their order.
    by_games.sort_by_key(|lines| std::cmp::Reverse(lines.len()));
    let rest = by_games.split_off(by_games.len().min(shape.branches));
    let node = |branch: &&[Line]| {
        let mv = Move::from_index(size, usize::from(branch[0].moves[depth])).expect("the index came from a move");
        let (next, others) = branches(size, branch, depth + 1, shape);
        let ended = |outcome| branch.iter().filter(|line| line.outcome == Some(outcome)).count() as u64;
        OpeningNode {
            mv: mv.format(size),
            games: branch.len() as u64,
            share: branch.len() as f64 / lines.len() as f64,
            black_wins: ended(1),
            white_wins: ended(-1),
            ties: ended(0),
            next,
            others,
        }
    };
    let others = Others {
        moves: rest.len() as u64,
        games: rest.iter().map(|lines| lines.len() as u64).sum(),
    };
    (by_games.iter().map(node).collect(), others)
}

/// Entropy of the first plies of sorted lines, in bits.
fn entropy_bits(lines: &[Line], plies: usize) -> f64 {
    let alike = lines.chunk_by(|a, b| a.moves[..plies] == b.moves[..plies]);
    let all = lines.len() as f64;
    let terms = alike.map(|lines| {
        let share = lines.len() as f64 / all;
        -share * share.log2()
    });
    // A sum without terms other than -0 is 0.
    terms.sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EndReason, GameKind, PlyRecord};
    use tengen_rules::Komi;

    fn game(number: usize, moves: &str) -> GameRecord {
        let size = Size::square(5).unwrap();
        let ply = |text| PlyRecord::bare(Move::parse(size, text).unwrap());
        GameRecord {
            game_id: format!("game-{number}"),
            size,
            rules: "tromp_taylor".to_owned(),
            setup: Setup::EVEN,
            origin: None,
            komi: Komi::ZERO,
            score_half_points: None,
            seed: 0,
            black_model: String::new(),
            white_model: String::new(),
            config_id: String::new(),
            start_time_ms: 0,
            end_reason: EndReason::Resign,
            kind: GameKind::SelfPlay,
            opening_plies: 0,
            plies: moves.split_whitespace().map(ply).collect(),
            ownership: Vec::new(),
        }
    }

    #[test]
    fn mirror_images_are_one_branch() {
        let mut openings = Openings::default();
        for (number, moves) in ["A1 C3", "E5 C3", "A5 B2", "C3", "C3 pass"].into_iter().enumerate() {
            openings.add(&game(number, moves));
        }
        let tree = openings
            .trees(TreeShape { depth: 2, branches: 9 })
            .remove("5x5")
            .unwrap();
        assert_eq!(tree.games, 5);
        let names: Vec<_> = tree.first.iter().map(|node| (node.mv.as_str(), node.games)).collect();
        assert_eq!(names, [("A5", 3), ("C3", 2)]);
        let corner = &tree.first[0];
        assert_eq!((corner.share, corner.next.len()), (0.6, 2));
        assert_eq!((corner.next[0].mv.as_str(), corner.next[0].games), ("C3", 2));
        // The side to move after the last ply resigned: White in games of even length, Black in those of odd length.
        assert_eq!((tree.first[1].white_wins, tree.first[1].black_wins), (1, 1));
        assert_eq!(tree.first[1].next.len(), 1, "a game that was over has no next move");
        let first = -(0.6f64 * 0.6f64.log2() + 0.4 * 0.4f64.log2());
        assert!((tree.entropy_bits[0] - first).abs() < 1e-12);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut openings = Openings::default();
        for (number, moves) in ["C3", "C3", "A1", "B2", "B1"].into_iter().enumerate() {
            openings.add(&game(number, moves));
        }
        let tree = openings
            .trees(TreeShape { depth: 1, branches: 2 })
            .remove("5x5")
            .unwrap();
        assert_eq!((tree.first.len(), tree.others), (2, Others { moves: 2, games: 2 }));
    }

    #[test]
    fn of_many_games_the_same_sample_is_kept_in_any_order() {
        let games: Vec<_> = (0..200)
            .map(|n| game(n, ["A1 C3", "C3", "B2 pass C3"][n % 3]))
            .collect();
        let some = |order: &mut dyn Iterator<Item = &GameRecord>| {
            let mut openings = Openings::with_room_for(50);
            order.for_each(|game| openings.add(game));
            openings
        };
        let forwards = some(&mut games.iter()).trees(TreeShape::default());
        assert_eq!(forwards, some(&mut games.iter().rev()).trees(TreeShape::default()));
        let mut halves = some(&mut games[100..].iter());
        halves.merge(some(&mut games[..100].iter()));
        assert_eq!(forwards, halves.trees(TreeShape::default()));
        assert_eq!(forwards["5x5"].games, 50);
    }
}
