//! A tree of first moves over many games, with mirror images combined and bounded memory.

use std::collections::{BTreeMap, BinaryHeap};

use serde::Serialize;

use tengen_rules::{Move, Outcome, Setup, Size, Symmetry};

use crate::record::GameRecord;

/// Maximum number of opening plies that are kept.
pub(crate) const MAX_DEPTH: usize = 12;

/// Maximum number of games whose openings are kept. Beyond it, the games whose ids have the smallest hashes are kept: a
/// fair sample that does not depend on the order of the games.
const MAX_LINES: usize = 1 << 20;

/// Placeholder for plies after the end of a game.
const NO_MOVE: u16 = u16::MAX;

/// How much of the opening tree is reported.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Number of plies, 1 to 12.
    pub depth: usize,
    /// Maximum number of branches per node; the most frequent ones are kept.
    pub branches: usize,
}

impl Default for TreeShape {
    fn default() -> TreeShape {
        TreeShape { depth: 3, branches: 4 }
    }
}

/// A move in the opening tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpeningNode {
    /// The move, such as `C3` or `pass`.
    pub mv: String,
    /// Number of games that reached this node.
    pub games: u64,
    /// Share of the parent node's games that reached this node, 0 to 1.
    pub share: f64,
    /// Number of these games that Black won.
    pub black_wins: u64,
    /// Number of these games that White won.
    pub white_wins: u64,
    /// Number of these games that were tied.
    pub ties: u64,
    /// The most frequent next moves.
    pub next: Vec<OpeningNode>,
    /// The remaining next moves.
    pub others: Others,
}

/// Moves that are not listed individually.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Others {
    /// Number of different moves.
    pub moves: u64,
    /// Number of games that played one of them.
    pub games: u64,
}

/// The openings of all games on one board size that started on the empty board with Black to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpeningTree {
    /// Number of games in the tree.
    pub games: u64,
    /// Entropy of the first 1, 2, … plies over the games, in bits: 0 if all games open identically, and 1 more for each
    /// doubling of equally frequent openings.
    pub entropy_bits: Vec<f64>,
    /// The most frequent first moves.
    pub first: Vec<OpeningNode>,
    /// The remaining first moves.
    pub others: Others,
}

/// The opening of one game; lines sort by the hash of the game id first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    hash: u64,
    size: Size,
    moves: [u16; MAX_DEPTH],
    /// 1 if Black won, -1 if White won, 0 for a tie.
    outcome: Option<i8>,
}

/// Openings of a bounded number of games.
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

    /// Adds a game if it started on the empty board with Black to move.
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

    /// Builds the tree for every board size.
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

/// FNV-1a with final mixing, so that ids that end in numbers spread well. Identical on every machine.
fn hash(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

/// The first moves, in the mirror image that sorts first.
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

/// The moves at `depth` of sorted lines with a common prefix, the most frequent ones as nodes.
fn branches(size: Size, lines: &[Line], depth: usize, shape: TreeShape) -> (Vec<OpeningNode>, Others) {
    if depth == shape.depth {
        return (Vec::new(), Others::default());
    }
    let played: Vec<&[Line]> = lines
        .chunk_by(|a, b| a.moves[depth] == b.moves[depth])
        .filter(|lines| lines[0].moves[depth] != NO_MOVE)
        .collect();
    let mut by_games = played;
    // A stable sort: equally frequent moves keep their order.
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
    // A sum of -0 terms becomes 0.
    terms.sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::end_reason::EndReason;
    use crate::record::{GameKind, PlyRecord};
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
    fn combines_mirror_images() {
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
        assert_eq!(tree.first[1].next.len(), 1, "a finished game has no next move");
        let first = -(0.6f64 * 0.6f64.log2() + 0.4 * 0.4f64.log2());
        assert!((tree.entropy_bits[0] - first).abs() < 1e-12);
    }

    #[test]
    fn counts_omitted_moves() {
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
    fn keeps_the_same_sample_in_any_order() {
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
