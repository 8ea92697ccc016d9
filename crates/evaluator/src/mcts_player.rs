//! Monte Carlo tree search with random games instead of a network: the baseline that knows the rules and nothing else.

use std::ops::Range;

use tengen_rng::{self as rng, Rng};
use tengen_rules::{Color, Ending, Judge, Komi, Margin, Move, Outcome, Position, Scoring, playout};

use crate::player::{Answer, Choice, Player, PlayerCost, PlayerError, SearchSummary, Turn};

/// Random games per move when the description does not set them.
pub(crate) const USUAL_PLAYOUTS: u32 = 1000;
/// The most random games per move, which bounds the memory of the tree: a few hundred MiB on 19x19.
pub(crate) const MOST_PLAYOUTS: u32 = 100_000;

/// How strongly rarely visited moves are preferred, the constant of UCB1.
const EXPLORATION: f64 = 0.4;
/// The weight of the margin, relative to winning, in the quantity that the search maximizes. It decides between moves
/// with equal chances of winning.
const MARGIN_SHARE: f64 = 0.1;

/// Searches each turn with UCT (Kocsis and Szepesvári, "Bandit based Monte-Carlo Planning", 2006) over random games.
///
/// - Every playout descends the tree by UCB1, adds the children of a leaf on its second visit, and finishes the game
///   with a [`playout::rollout`], whose moves never fill the player's own eyes.
/// - The moves in the tree are the pass and the legal plays that are not suicide and do not fill one of the player's
///   own one-point eyes. Legality is exact under the rules of the game, including superko.
/// - A game that ends inside the tree is counted exactly, as the referee counts it. Random games are counted by area;
///   for territory rules, the area is corrected by the stones that each player has spent.
/// - The move with the most visits is played.
///
/// The same seed, position, and komi give the same move.
pub struct MctsPlayer {
    name: String,
    playouts: u32,
    tree: Tree,
    moves: u64,
}

impl MctsPlayer {
    /// A player that plays this many random games for each move, called `mcts` unless a name is given.
    pub fn new(name: Option<String>, playouts: u32) -> MctsPlayer {
        MctsPlayer {
            name: name.unwrap_or_else(|| "mcts".to_owned()),
            playouts,
            tree: Tree::default(),
            moves: 0,
        }
    }
}

impl Player for MctsPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
        self.moves += turns.len() as u64;
        let choose = |turn: &Turn<'_>| Answer::Play(self.tree.choose(turn, self.playouts));
        Ok(turns.iter().map(choose).collect())
    }

    fn cost(&self) -> PlayerCost {
        PlayerCost {
            moves: self.moves,
            ..PlayerCost::default()
        }
    }
}

/// A move that leads to a position of the tree, and what the playouts through it found.
#[derive(Clone, Copy, Debug)]
struct Node {
    mv: Move,
    /// The player who makes the move.
    mover: Color,
    visits: u32,
    /// The sum of the playouts' values from Black's viewpoint.
    value: f64,
    /// The sum of the playouts' margins in half points, Black minus White.
    half_points: f64,
    /// Where the children begin and end in [`Tree::nodes`]; equal before the expansion.
    children: [usize; 2],
}

impl Node {
    fn new(mv: Move, mover: Color) -> Node {
        Node {
            mv,
            mover,
            visits: 0,
            value: 0.0,
            half_points: 0.0,
            children: [0, 0],
        }
    }

    /// The mean value from the mover's viewpoint, 0 to 1. The node has been visited.
    fn mean(&self) -> f64 {
        let black = self.value / f64::from(self.visits);
        match self.mover {
            Color::Black => black,
            Color::White => 1.0 - black,
        }
    }

    fn add(&mut self, found: Found) {
        self.visits += 1;
        self.value += found.value;
        self.half_points += found.half_points;
    }
}

/// The result of one playout, from Black's viewpoint.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// What the search maximizes, 0 to 1.
    value: f64,
    /// The margin after komi in half points.
    half_points: f64,
}

impl Found {
    fn counted(margin: Margin, area: usize) -> Found {
        let half_points = f64::from(margin.half_points());
        let won = match margin.outcome() {
            Outcome::BlackWins => 1.0,
            Outcome::Tie => 0.5,
            Outcome::WhiteWins => 0.0,
        };
        let share = (0.5 + half_points / (4.0 * area as f64)).clamp(0.0, 1.0);
        Found {
            value: (1.0 - MARGIN_SHARE) * won + MARGIN_SHARE * share,
            half_points,
        }
    }

    const TIE: Found = Found {
        value: 0.5,
        half_points: 0.0,
    };
}

/// The tree of one search, with buffers that later searches reuse.
#[derive(Default)]
struct Tree {
    /// The root comes first; the children of a node follow each other.
    nodes: Vec<Node>,
    /// The nodes from the root to the leaf of the current playout.
    path: Vec<usize>,
    /// The position to search, and the scratch board of the playouts.
    boards: Option<[Position; 2]>,
    judge: Judge,
}

impl Tree {
    fn choose(&mut self, turn: &Turn<'_>, playouts: u32) -> Choice {
        let mut rng = rng::stream(turn.seed, &[turn.position.ply() as u64]);
        let boards = self.boards.take();
        let [mut root, mut scratch] = boards.unwrap_or_else(|| [turn.position.clone(), turn.position.clone()]);
        root.copy_from(turn.position);
        root = root.between_machines();
        self.nodes.clear();
        self.nodes.push(Node::new(Move::Pass, root.to_move().opposite()));
        self.expand(0, &root, &mut rng);
        for _ in 0..playouts {
            scratch.copy_from(&root);
            self.playout(&mut scratch, turn.komi, &mut rng);
        }
        self.boards = Some([root, scratch]);
        self.best(playouts)
    }

    /// The move with the most visits; among equals, the one with the highest value.
    fn best(&self, playouts: u32) -> Choice {
        let order = |a: &&Node, b: &&Node| a.visits.cmp(&b.visits).then(a.mean().total_cmp(&b.mean()));
        let children = self.nodes[self.children(0)].iter();
        let best = children.filter(|node| node.visits > 0).max_by(order);
        let best = best.expect("a game that is not over has a move, and the first playout visits one");
        let black_points = best.half_points / f64::from(best.visits) / 2.0;
        let summary = SearchSummary {
            value: (2.0 * best.mean() - 1.0) as f32,
            margin: match best.mover {
                Color::Black => black_points as f32,
                Color::White => -black_points as f32,
            },
            visits: playouts,
            network_value: 0.0,
            best: true,
        };
        Choice {
            mv: best.mv,
            search: Some(summary),
        }
    }

    fn children(&self, node: usize) -> Range<usize> {
        let [first, end] = self.nodes[node].children;
        first..end
    }

    /// Adds the children of a node at `position` in random order, since unvisited children are tried in order.
    fn expand(&mut self, node: usize, position: &Position, rng: &mut Rng) {
        let mover = position.to_move();
        let first = self.nodes.len();
        let plays = position.sensible_points().iter().map(Move::Play);
        let moves = plays.chain([Move::Pass]).filter(|&mv| position.is_legal(mv));
        self.nodes.extend(moves.map(|mv| Node::new(mv, mover)));
        if self.nodes.len() == first {
            // A handicap play is due, and every play would fill an eye or be suicide.
            let plays = position.legal_points().iter().map(Move::Play);
            self.nodes.extend(plays.map(|mv| Node::new(mv, mover)));
        }
        for last in (first + 1..self.nodes.len()).rev() {
            self.nodes.swap(last, first + rng::below(rng, last - first + 1));
        }
        self.nodes[node].children = [first, self.nodes.len()];
    }

    /// The child to descend to, by UCB1; `None` if the node has no children yet.
    fn select(&self, node: usize) -> Option<usize> {
        let log = f64::from(self.nodes[node].visits.max(1)).ln();
        let mut best = None;
        let mut best_bound = f64::NEG_INFINITY;
        for index in self.children(node) {
            let child = &self.nodes[index];
            if child.visits == 0 {
                return Some(index);
            }
            let bound = child.mean() + EXPLORATION * (log / f64::from(child.visits)).sqrt();
            if bound > best_bound {
                (best, best_bound) = (Some(index), bound);
            }
        }
        best
    }

    /// Plays from the root, where `position` is, to the end of a game, and adds its result to the nodes on the way.
    fn playout(&mut self, position: &mut Position, komi: Komi, rng: &mut Rng) {
        self.path.clear();
        let mut node = 0;
        self.path.push(node);
        while let Some(child) = self.select(node) {
            node = child;
            self.path.push(node);
            position.play_unchecked(self.nodes[node].mv);
            if position.is_over() {
                break;
            }
            if self.nodes[node].visits == 1 {
                self.expand(node, position, rng);
            }
        }
        let found = match position.is_over() {
            true => self.exact(position, komi),
            false => random_result(position, komi, rng),
        };
        for &node in &self.path {
            self.nodes[node].add(found);
        }
    }

    /// The result of a game that is over, as the referee counts it. A game without a score counts like a tie.
    fn exact(&mut self, position: &Position, komi: Komi) -> Found {
        match self.judge.ending(position, komi) {
            Some(Ending::Counted(count)) => Found::counted(count.margin, position.size().area()),
            Some(Ending::TiedByCycle | Ending::UndecidedLife) | None => Found::TIE,
        }
    }
}

/// Finishes the game at random and counts it by area.
///
/// Under territory scoring, area minus the stones spent so far is territory plus prisoners, provided that both players
/// spend equally many stones on the rest of the game.
fn random_result(position: &mut Position, komi: Komi, rng: &mut Rng) -> Found {
    let spent = match position.rules().scoring {
        Scoring::Area | Scoring::Half => 0,
        Scoring::Territory => stones_spent(position, Color::Black) - stones_spent(position, Color::White),
    };
    playout::rollout(position, || rng::bits(rng));
    if position.is_tied_by_cycle() {
        return Found::TIE;
    }
    let by_area = position.margin(komi).half_points();
    Found::counted(Margin::from_half_points(by_area - 2 * spent), position.size().area())
}

/// The stones of a color on the board and those it has lost.
fn stones_spent(position: &Position, color: Color) -> i32 {
    position.stones(color).len() as i32 + position.prisoners(color) as i32
}

#[cfg(test)]
mod tests {
    use tengen_rules::{Rules, Size};

    use super::*;

    fn after(size: Size, rules: Rules, moves: &str) -> Position {
        let mut position = Position::with_rules(size, rules).between_machines();
        for mv in moves.split_whitespace() {
            position.play(Move::parse(size, mv).expect("a move"));
        }
        position
    }

    fn choice(player: &mut MctsPlayer, position: &Position, half_points: i16, seed: u64) -> Choice {
        let turn = Turn {
            slot: 0,
            game: 0,
            seed,
            position,
            komi: Komi::from_half_points(half_points),
        };
        match player.choose(&[turn]).expect("an answer").remove(0) {
            Answer::Play(choice) => choice,
            other => panic!("{other:?}"),
        }
    }

    fn best(position: &Position, half_points: i16) -> String {
        let choice = choice(&mut MctsPlayer::new(None, 2000), position, half_points, 1);
        choice.mv.format(position.size())
    }

    #[test]
    fn the_same_seed_gives_the_same_move_whatever_was_searched_before() {
        let [small, large] = [3, 7].map(|side| Position::new(Size::square(side).expect("a size")));
        let mut used = MctsPlayer::new(None, 200);
        choice(&mut used, &large, 0, 5);
        for seed in 0..5 {
            let fresh = choice(&mut MctsPlayer::new(None, 200), &small, 0, seed);
            assert_eq!(choice(&mut used, &small, 0, seed), fresh);
        }
    }

    #[test]
    fn captures_and_ends_a_won_game() {
        let size = Size::square(5).expect("a size");
        let atari = after(size, Rules::tromp_taylor(), "C4 C3 B3 A5 D3 E5");
        assert_eq!(best(&atari, 0), "C2");
        let won = after(size, Rules::tromp_taylor(), "C3 pass B3 pass D3 pass A3 pass E3 pass");
        let found = choice(&mut MctsPlayer::new(None, 2000), &won, 0, 1)
            .search
            .expect("a search");
        assert!(found.value > 0.9 && found.margin > 15.0, "{found:?}");
    }

    #[test]
    fn superko_is_exact_in_the_tree() {
        // White has just taken the ko at B1, so Black may not take it back at once.
        let size = Size::new(4, 2).expect("a size");
        let ko = after(size, Rules::tromp_taylor(), "A1 C1 B2 D2 pass B1");
        let legal = ko.sensible_points();
        for seed in 0..50 {
            match choice(&mut MctsPlayer::new(None, 50), &ko, 0, seed).mv {
                Move::Play(point) => assert!(legal.contains(point)),
                Move::Pass => {}
            }
        }
    }

    #[test]
    fn territory_is_worth_more_than_filling_it() {
        // Everything is settled: under territory rules, a play in one's own or the opponent's area costs a point.
        let size = Size::new(6, 3).expect("a size");
        let walls = "C1 D1 C2 D2 C3 D3";
        let settled = after(size, Rules::japanese2008(), &format!("{walls} A2 F2 B1 E1 B3 E3 pass"));
        let found = choice(&mut MctsPlayer::new(None, 500), &settled, 0, 1);
        assert_eq!(found.mv, Move::Pass, "{found:?}");
    }

    #[test]
    fn every_rule_set_is_played_to_its_end() {
        let size = Size::square(4).expect("a size");
        for rules in [
            Rules::tromp_taylor(),
            Rules::aga(),
            Rules::chinese_practice(),
            Rules::japanese2008(),
        ] {
            let mut position = Position::with_rules(size, rules).between_machines();
            let mut player = MctsPlayer::new(None, 60);
            while !position.is_over() {
                let mv = choice(&mut player, &position, 1, 3).mv;
                position.try_play(mv).expect("a legal move");
                assert!(position.ply() < 12 * size.area(), "{rules}");
            }
        }
    }
}
