//! The shipped problems: what they are, that they are proved, and that the example makes them.

use std::collections::HashSet;

use tengen_rules::{Color, Komi, Move, Point, PointSet, Position, Rules, Size, Symmetry};
use tengen_sgf::{SgfGame, SgfNode, SgfTree, parse_sgf};
use tengen_tactics::{Goal, Kind, MoveAnswer, Problems, Prover, Verdict, problem_sgf};

/// A problem as the file tells it.
struct Shipped {
    position: Position,
    goal: Goal,
    right: Vec<Move>,
    komi: Komi,
    winner: Option<Color>,
    comment: String,
}

fn text(kind: Kind) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/positions");
    std::fs::read_to_string(format!("{folder}/{}.sgf", kind.name())).unwrap()
}

fn problems(kind: Kind) -> Vec<Shipped> {
    parse_sgf(&text(kind)).unwrap().iter().map(read).collect()
}

fn read(tree: &SgfTree) -> Shipped {
    let game = SgfGame::of_tree(tree).unwrap();
    let [black, white] = game.setup_stones();
    let to_move = game.to_move.unwrap();
    let position = Position::from_setup(game.size, Rules::tromp_taylor(), &black, &white, to_move).unwrap();
    let root = tree.root();
    let comment = root.get("C").unwrap().first().unwrap().raw().to_owned();
    let attacker = if comment.contains("captures") {
        to_move
    } else {
        to_move.opposite()
    };
    let goal = Goal::Capture {
        attacker,
        stones: points(root, "TR", game.size).into_iter().collect(),
    };
    let name = if to_move == Color::Black { "B" } else { "W" };
    let right = root.children().map(|child| {
        assert!(child.get("TE").is_some());
        points(child, name, game.size).pop().map_or(Move::Pass, Move::Play)
    });
    let wins = [("GB", Color::Black), ("GW", Color::White)];
    Shipped {
        position,
        goal,
        right: right.collect(),
        komi: game.komi.unwrap(),
        winner: wins
            .into_iter()
            .find(|(name, _)| root.get(name).is_some())
            .map(|(_, color)| color),
        comment,
    }
}

fn points(node: SgfNode<'_>, name: &str, size: Size) -> Vec<Point> {
    let values = node.get(name).into_iter().flat_map(|property| property.values());
    let points = values.filter_map(|value| value.point());
    points
        .map(|point| size.point(point.column.into(), point.row.into()).unwrap())
        .collect()
}

/// All moves that work for the side to move.
fn right_moves(goal: Goal, position: &Position) -> Vec<Move> {
    let answers = Prover::new(goal, 1_000_000).answers(position).unwrap();
    let works = |answer: &MoveAnswer| (answer.works == Verdict::Proved).then_some(answer.mv);
    answers.iter().filter_map(works).collect()
}

#[test]
fn a_sample_is_proved_again() {
    for (kind, step) in [(Kind::Life, 12), (Kind::Race, 5), (Kind::Ladder, 10)] {
        for (number, problem) in problems(kind).iter().enumerate().step_by(step) {
            let Shipped {
                position, goal, right, ..
            } = problem;
            assert_eq!(right_moves(*goal, position), *right, "{kind:?} {number}");
        }
    }
}

#[test]
fn a_sample_of_the_games_is_won_by_the_same_moves() {
    for (kind, step) in [(Kind::Life, 8), (Kind::Race, 6)] {
        let problems = problems(kind);
        let with_winner = problems.iter().filter(|problem| problem.winner.is_some());
        for problem in with_winner.step_by(step) {
            assert_eq!(problem.winner, Some(problem.position.to_move()));
            let least = (problem.komi.half_points() + 1) / 2;
            let won = right_moves(Goal::Margin(least.into()), &problem.position);
            assert_eq!(won, problem.right, "{kind:?}");
        }
    }
}

#[test]
fn the_shipped_files_are_what_the_example_makes() {
    for (kind, count) in [(Kind::Life, 4), (Kind::Race, 20), (Kind::Ladder, 3)] {
        let made: String = Problems::new(kind, 1)
            .take(count)
            .map(|problem| problem_sgf(&problem))
            .collect();
        let shipped: String = text(kind).split_inclusive('\n').take(count).collect();
        assert_eq!(made, shipped, "{kind:?}");
    }
}

#[test]
fn problems_are_different_and_have_few_right_moves() {
    for (kind, count) in [(Kind::Life, 120), (Kind::Race, 120), (Kind::Ladder, 100)] {
        let problems = problems(kind);
        assert_eq!(problems.len(), count);
        let different: HashSet<_> = problems.iter().map(|problem| canonical(&problem.position)).collect();
        assert_eq!(different.len(), count, "{kind:?}");
        for problem in &problems {
            assert!((1..=3).contains(&problem.right.len()) && !problem.right.contains(&Move::Pass));
        }
        let of = |side: usize| {
            problems
                .iter()
                .filter(|problem| problem.position.size().width() == side)
                .count()
        };
        assert!(of(7) >= 20 && of(9) >= 20, "{kind:?}");
    }
    let ladders = problems(Kind::Ladder);
    let work = ladders.iter().filter(|problem| problem.comment.ends_with("works."));
    assert_eq!(work.count(), ladders.len() / 2);
}

/// The same for all mirror images and with colors exchanged.
fn canonical(position: &Position) -> [PointSet; 2] {
    let mover = position.to_move();
    let images = Symmetry::ALL.iter().map(|symmetry| {
        let image = |color| symmetry.apply_set(position.size(), &position.stones(color));
        [mover, mover.opposite()].map(image)
    });
    images.min().unwrap()
}
