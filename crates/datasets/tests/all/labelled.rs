//! Labelled positions are read back as they were written, and wrong labels are refused in words.

use std::fs;

use tengen_datasets::{
    FileFormat, SolveOptions, SolveSample, SplitShares, What, read_labelled, read_results, solve_dataset,
};
use tengen_records::LabelledPosition;
use tengen_rules::{Color, Komi, Move, Position, Rules, Size, solve_margin};
use tengen_testing::random_games;

use crate::datasets::store;
use crate::exports::{export, options};

fn read_sgf(text: &str) -> Result<Vec<LabelledPosition>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("labels.sgf");
    fs::write(&file, text).unwrap();
    let read = read_labelled(&file);
    read.map(|read| read.positions).map_err(|error| error.to_string())
}

fn right_moves(label: &LabelledPosition) -> Vec<String> {
    let size = label.position.size();
    let policy = label.policy.as_ref().expect("a policy");
    assert!((policy.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    let moves = policy.iter().enumerate().filter(|(_, share)| **share > 0.0);
    moves
        .map(|(index, _)| Move::from_index(size, index).unwrap().format(size))
        .collect()
}

#[test]
fn sgf_labels_count_for_the_side_to_move() {
    let text = "(;FF[4]GM[1]SZ[3]KM[2.5]AB[ba][bb][bc]PL[W]V[6.5](;W[ab]TE[1])(;W[]TE[2])(;W[cb]BM[1]))
        (;SZ[4:2]KM[0.5];B[aa]GB[1];W[ba]DM[1];B[ab]C[no label])";
    let labels = read_sgf(text).unwrap();
    assert_eq!(labels.len(), 3);
    let problem = &labels[0];
    assert_eq!(problem.position.to_move(), Color::White);
    assert_eq!(problem.position.stones(Color::Black).len(), 3);
    assert_eq!(problem.komi, Komi::from_half_points(5));
    assert_eq!((problem.margin, problem.result), (Some(-6.5), Some(0.0)));
    assert_eq!(right_moves(problem), ["A2", "pass"]);
    let [won, tied] = [&labels[1], &labels[2]];
    assert_eq!(
        (won.position.ply(), won.result),
        (1, Some(0.0)),
        "White is to move, and Black wins"
    );
    assert_eq!((tied.position.ply(), tied.result, tied.margin), (2, Some(0.5), None));
    assert!(tied.policy.is_none());
}

#[test]
fn results_are_what_games_count_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.sgf");
    // Black's stone takes the whole board. The second game stops without two passes, and the players of the third saw
    // the board in another way than the rules do.
    let text = "(;SZ[3]KM[2]RE[B+7];B[bb];W[];B[])(;SZ[3]KM[2]RE[B+5];B[bb];W[aa])
        (;SZ[3]KM[2]RE[W+5];B[bb];W[];B[])";
    fs::write(&file, text).unwrap();
    let read = read_results(&file, &(0..10)).unwrap();
    assert_eq!((read.positions.len(), read.without_result), (3, 2));
    let margins: Vec<_> = read.positions.iter().map(|label| label.margin).collect();
    assert_eq!(margins, [Some(7.0), Some(-7.0), Some(7.0)]);
    assert_eq!(read.positions[1].result, Some(0.0), "White is to move and loses");

    let read = read_results(&file, &(1..2)).unwrap();
    assert_eq!(read.positions.len(), 1);
    assert_eq!(read.positions[0].position.ply(), 1);
    let refused = |path: &std::path::Path, plies| read_results(path, &plies).unwrap_err().to_string();
    let error = refused(&file, 10..20);
    assert!(
        error.contains("no position in games that were played out; 2"),
        "{error}"
    );
    for (stated, margin) in [
        ("RE[B+3]", None),
        ("RE[B+R]", None),
        ("RE[?]", Some(9.0)),
        ("", Some(9.0)),
    ] {
        fs::write(&file, format!("(;SZ[3]{stated};B[bb];W[];B[])")).unwrap();
        let first = &read_results(&file, &(0..1)).unwrap().positions[0];
        assert_eq!((first.result, first.margin), (Some(1.0), margin), "{stated}");
    }
    // A stated winner of a tie.
    fs::write(&file, "(;SZ[3]RE[B+1];B[];W[])").unwrap();
    assert!(refused(&file, 0..1).contains("1 were not"));
    fs::write(&file, "(;SZ[3];B[bb];W[];B[])").unwrap();
    let error = refused(&file, 10..20);
    assert!(error.contains("no game has a position after 10 to 19 turns"), "{error}");
    fs::write(&file, "(;SZ[3];B[bb];W[bb])").unwrap();
    assert!(refused(&file, 0..9).contains("game 1: "));
    let error = refused(&folder.path().join("games.parquet"), 0..9);
    assert!(error.contains("results are read from SGF files"), "{error}");
}

#[test]
fn sgf_labels_that_cannot_be_right_are_refused() {
    for (text, reason) in [
        ("(;SZ[3];B[aa])", "no labelled position"),
        ("(;SZ[3]V[much])", "V is \"much\", expected a score such as 7.5"),
        ("(;SZ[3](;B[aa]TE[1])(;W[bb]TE[1]))", "the right move is W, but"),
        ("(;SZ[3]AB[aa](;B[aa]TE[1]))", "not legal"),
        ("(;SZ[3](;B[dd]TE[1]))", "dd"),
        ("(;SZ[3](;C[x]TE[1]))", "TE stands in a node without a turn"),
    ] {
        let found = read_sgf(text).unwrap_err();
        assert!(found.contains(reason), "{text}: {found}");
    }
    let error = read_labelled("labels.txt".as_ref()).unwrap_err().to_string();
    assert!(error.contains("expected a Parquet or SGF file"), "{error}");
}

#[test]
fn solved_states_are_asked_at_both_sides_of_their_margin() {
    let folder = tempfile::tempdir().unwrap();
    let size = Size::new(3, 2).unwrap();
    let options = SolveOptions {
        sizes: vec![size],
        rules: Rules::tromp_taylor(),
        plies: 4,
        sample: Some(SolveSample {
            count: 20,
            seed: 7,
            most_right: None,
        }),
        most_nodes: 1_000_000,
        format: FileFormat::Parquet,
    };
    let dataset = solve_dataset(folder.path(), &options, &mut |_| true).unwrap();
    assert_eq!(dataset.manifest.rows, 20);
    let labels = read_labelled(folder.path()).unwrap().positions;
    assert_eq!(labels.len(), 40);
    for pair in labels.chunks(2) {
        let position = &pair[0].position;
        let margin = solve_margin(position, 1_000_000).unwrap();
        let seen = |color, margin: i32| if color == Color::Black { margin } else { -margin };
        for (label, result) in pair.iter().zip([1.0, 0.0]) {
            assert_eq!(label.result, Some(result));
            let after = 2 * margin - i32::from(label.komi.half_points());
            assert_eq!(label.margin, Some(seen(position.to_move(), after) as f32 / 2.0));
        }
        let best = |mv: &Move| {
            let mut after = position.clone();
            after.play(*mv);
            let found = match after.is_over() {
                true => after.board_margin(),
                false => solve_margin(&after, 1_000_000).unwrap(),
            };
            found == margin
        };
        let moves = position.legal_points().iter().map(Move::Play).chain([Move::Pass]);
        let expected: Vec<String> = moves.filter(best).map(|mv| mv.format(size)).collect();
        assert_eq!(right_moves(&pair[0]), expected);
        assert!(pair[1].policy.is_none(), "every move loses");
    }
}

#[test]
fn exported_positions_keep_policy_result_and_margin() {
    let folder = tempfile::tempdir().unwrap();
    let games = random_games(4, 6);
    let store = store(folder.path(), &games);
    let out = folder.path().join("out");
    export(&store, &out, &options(What::Positions, FileFormat::Parquet)).unwrap();
    let read = read_labelled(&out).unwrap();
    let all: usize = games.iter().map(|game| game.plies.len()).sum();
    assert_eq!(read.positions.len() + read.without_history, all);
    let mut labels = read.positions.iter();
    for game in &games {
        let mut position = Position::new(game.size);
        for ply in &game.plies {
            let banned = !position.superko_banned().is_empty();
            if !banned {
                let label = labels.next().unwrap();
                assert_eq!(label.position.to_move(), position.to_move());
                for color in [Color::Black, Color::White] {
                    assert_eq!(label.position.stones(color), position.stones(color));
                }
                assert_eq!(label.position.consecutive_passes(), position.consecutive_passes());
                assert_eq!(label.position.legal_points(), position.legal_points());
                assert_eq!(label.komi, game.komi);
                assert_eq!(label.policy.is_some(), !ply.policy.is_empty());
                assert_eq!(label.margin.is_some(), game.score_half_points.is_some());
            }
            position.play(ply.mv);
        }
    }
    assert!(labels.next().is_none());
    // A dataset that is split has the same positions, in the folders of its parts.
    let split = folder.path().join("split");
    let mut options = options(What::Positions, FileFormat::Parquet);
    options.split = Some(SplitShares {
        train: 0.5,
        validation: 0.0,
        test: 0.5,
    });
    export(&store, &split, &options).unwrap();
    assert_eq!(read_labelled(&split).unwrap().positions.len(), read.positions.len());
}

/// The positions that the repository ships still have the answers that the solver finds.
#[test]
fn the_shipped_positions_are_right() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/positions");
    let labels: Vec<_> = ["3x3", "3x4", "4x4", "3x3-hard", "3x4-hard"]
        .into_iter()
        .flat_map(|name| {
            read_labelled(format!("{folder}/{name}.parquet").as_ref())
                .unwrap()
                .positions
        })
        .collect();
    assert_eq!(labels.len(), 2 * (1500 + 382 + 200));
    for pair in labels.chunks(2).step_by(50) {
        let size = pair[0].position.size();
        let margin = solve_margin(&pair[0].position, 1_000_000).unwrap();
        let between = [&pair[0], &pair[1]].map(|label| i32::from(label.komi.half_points()));
        assert_eq!(
            between.iter().sum::<i32>(),
            4 * margin,
            "{size}: the komi values lie around the margin"
        );
        assert!(!right_moves(&pair[0]).is_empty());
    }
    for hard in ["3x3-hard", "3x4-hard"] {
        let labels = read_labelled(format!("{folder}/{hard}.parquet").as_ref())
            .unwrap()
            .positions;
        assert!(
            labels.iter().step_by(2).all(|label| right_moves(label).len() == 1),
            "{hard}"
        );
    }
}

/// Every problem that the repository ships has its right moves; where the winner of the game is stated, the position
/// after the first right move is lost for the other side.
#[test]
fn the_shipped_problems_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/positions");
    for (name, problems) in [("life", 120), ("races", 120), ("ladders", 100)] {
        let read = read_labelled(format!("{folder}/{name}.sgf").as_ref()).unwrap();
        let (asked, after): (Vec<_>, Vec<_>) = read.positions.iter().partition(|label| label.policy.is_some());
        assert_eq!((asked.len(), read.without_history), (problems, 0), "{name}");
        assert!(asked.iter().all(|label| label.result != Some(0.0)), "{name}");
        let won = asked.iter().filter(|label| label.result == Some(1.0));
        assert_eq!(won.count(), after.len(), "{name}");
        assert!(after.iter().all(|label| label.result == Some(0.0)), "{name}");
    }
}
