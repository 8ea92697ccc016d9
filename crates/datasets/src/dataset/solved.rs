//! How do tiny boards become a dataset of exact values? Every state within some plies, its frontier solved, the rest
//! backed up.
//!
//! Under positional superko what may follow depends on every earlier grid. A state is therefore the grid, the side to
//! move, the consecutive passes and the set of all grids that have stood on the board; states that are mirror images of
//! each other are one.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};
use tengen_rules::{Color, ImageTable, Komi, Move, PointSet, Position, Rules, Size, SolveError, image, solve_margin};

use super::error::DatasetError;
use super::export::Dataset;
use super::manifest::{About, complete};
use super::readme::Section;
use super::solved_rows::{Solved, push_state, solved_fields};
use super::table::Table;
use super::writer::{DatasetWriter, FileFormat, PartKey};

/// States of one ply that are kept in memory at most.
const MOST_STATES: usize = 2_000_000;
/// States that are solved between two reports of progress.
const SOLVED_AT_ONCE: usize = 8;

/// Which boards to solve and how.
#[derive(Clone, Debug)]
pub struct SolveOptions {
    /// The boards.
    pub sizes: Vec<Size>,
    /// The rules: positional superko, the end at two passes.
    pub rules: Rules,
    /// States after at most so many turns become rows.
    pub plies: usize,
    /// Positions the search of one state may look at.
    pub most_nodes: u64,
    /// The format of the files.
    pub format: FileFormat,
}

/// What is being done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SolveProgress {
    /// The board.
    pub size: Size,
    /// States of the frontier that are solved.
    pub solved: u64,
    /// States of the frontier.
    pub all: u64,
}

/// Writes a frozen dataset of solved positions to `folder`/v1: complete or not at all. `watch` is told the progress and
/// says whether to go on.
///
/// # Errors
/// [`DatasetError::Unsolved`] when a state is not decided within the limit, the boards have too many states or the rules are
/// not those the solver knows; the errors of writing. Then nothing is left in the folder.
pub fn solve_dataset(
    folder: &Path,
    options: &SolveOptions,
    watch: &mut dyn FnMut(SolveProgress) -> bool,
) -> Result<Dataset, DatasetError> {
    let columns = solved_fields();
    let mut writer = DatasetWriter::begin(folder, options.format, "solved_positions", columns.clone(), None)?;
    let cleaned = writer.cleaned();
    let mut rows = 0;
    let mut counts = Vec::new();
    for &size in &options.sizes {
        let levels = solve_levels(size, options, watch)?;
        let per_ply: Vec<usize> = levels.iter().map(Vec::len).collect();
        counts.push(json!({ "size": size.to_string(), "rows_by_ply": per_ply, "margin": levels[0][0].margin }));
        for level in &levels {
            let mut table = Table::new(&columns);
            level.iter().for_each(|state| push_state(&mut table, state));
            rows += table.rows as u64;
            writer.append(PartKey { split: None, size }, &table, |_| true)?;
        }
    }
    let about = About {
        fields: columns,
        games: 0,
        rows,
        selection: json!({
            "sizes": options.sizes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "rules": options.rules.to_string(),
            "plies": options.plies,
        }),
        counts: json!({ "boards": counts }),
        shards: Vec::new(),
        sections: sections(options),
    };
    let (folder, manifest) = complete(writer, about)?;
    Ok(Dataset {
        folder,
        manifest,
        cleaned,
        damaged: Vec::new(),
        key_bytes: 0,
    })
}

/// A state, by one way that leads to it.
struct State {
    position: Position,
    /// Move sequences that lead to it or to a mirror image.
    sequences: u64,
    children: Vec<(Move, Child)>,
    /// Black's area minus White's with best play of both sides.
    margin: i32,
}

/// What a move leads to.
enum Child {
    /// The end of the game with this margin.
    Over(i32),
    /// A state of the next ply.
    State(usize),
}

impl State {
    fn new(position: Position) -> State {
        State {
            position,
            sequences: 0,
            children: Vec::new(),
            margin: 0,
        }
    }

    /// Margins after each move, given the states of the next ply.
    fn move_margins<'a>(&'a self, next: &'a [State]) -> impl Iterator<Item = (Move, i32)> + 'a {
        self.children.iter().map(|(mv, child)| match *child {
            Child::Over(margin) => (*mv, margin),
            Child::State(number) => (*mv, next[number].margin),
        })
    }
}

/// All states by ply, solved.
fn solve_levels(
    size: Size,
    options: &SolveOptions,
    watch: &mut dyn FnMut(SolveProgress) -> bool,
) -> Result<Vec<Vec<Solved>>, DatasetError> {
    let mut start = State::new(Position::with_rules(size, options.rules));
    start.sequences = 1;
    let mut levels = vec![vec![start]];
    for ply in 0..=options.plies {
        let next = expand(&mut levels[ply], size)?;
        levels.push(next);
    }
    let mut next = levels.pop().unwrap_or_default();
    solve_frontier(&mut next, size, options, watch)?;
    let mut solved = Vec::new();
    while let Some(mut level) = levels.pop() {
        let mut rows = Vec::with_capacity(level.len());
        for state in &mut level {
            let moves: Vec<(Move, i32)> = state.move_margins(&next).collect();
            let margins = moves.iter().map(|entry| entry.1);
            let best = match state.position.to_move() {
                Color::Black => margins.max(),
                Color::White => margins.min(),
            };
            state.margin = best.expect("a pass is always legal before the end");
            rows.push(Solved {
                position: state.position.clone(),
                sequences: state.sequences,
                margin: state.margin,
                moves,
            });
        }
        solved.push(rows);
        next = level;
    }
    solved.reverse();
    Ok(solved)
}

/// Finds what every move leads to; returns the states of the next ply.
fn expand(level: &mut [State], size: Size) -> Result<Vec<State>, DatasetError> {
    let mut next: Vec<State> = Vec::new();
    let mut numbers: HashMap<[u8; 32], usize> = HashMap::new();
    for state in level {
        let plays = state.position.legal_points().iter().map(Move::Play);
        for mv in plays.chain([Move::Pass]) {
            let mut position = state.position.clone();
            position.play(mv);
            if position.is_over() {
                state.children.push((mv, Child::Over(position.board_margin())));
                continue;
            }
            let number = *numbers.entry(state_key(&position)).or_insert(next.len());
            if number == next.len() {
                next.push(State::new(position));
            }
            next[number].sequences += state.sequences;
            state.children.push((mv, Child::State(number)));
        }
        if next.len() > MOST_STATES {
            return Err(DatasetError::Unsolved(format!(
                "{size} has more than {MOST_STATES} states after {} turns: take fewer plies",
                next[0].position.ply()
            )));
        }
    }
    Ok(next)
}

/// Solves every state of the last ply.
fn solve_frontier(
    states: &mut [State],
    size: Size,
    options: &SolveOptions,
    watch: &mut dyn FnMut(SolveProgress) -> bool,
) -> Result<(), DatasetError> {
    let all = states.len() as u64;
    let mut solved = 0;
    for chunk in states.chunks_mut(SOLVED_AT_ONCE) {
        if !watch(SolveProgress { size, solved, all }) {
            return Err(DatasetError::Stopped);
        }
        chunk.par_iter_mut().try_for_each(|state| {
            state.margin = solve_margin(&state.position, options.most_nodes)
                .map_err(|error| unsolved(&state.position, error, options))?;
            Ok::<(), DatasetError>(())
        })?;
        solved += chunk.len() as u64;
    }
    Ok(())
}

fn unsolved(position: &Position, error: SolveError, options: &SolveOptions) -> DatasetError {
    let moves: Vec<String> = position.moves().iter().map(|mv| mv.format(position.size())).collect();
    DatasetError::Unsolved(match error {
        SolveError::NotDecided { least, most } => format!(
            "{} after {} is not decided within {} positions: best play leads to a margin from {least} to {most}; take another \
             board, more plies (the states to solve are then nearer to their end) or a larger limit",
            position.size(),
            moves.join(" "),
            options.most_nodes
        ),
        other => other.to_string(),
    })
}

/// A hash of the state up to mirror images: whose turn it is, consecutive passes, the grid, the set of all grids so far.
fn state_key(position: &Position) -> [u8; 32] {
    let size = position.size();
    let grids = grids(position);
    let table = ImageTable::of(size);
    let image_of = |number: usize| {
        let map = table.map(number);
        let mut images: Vec<[u64; 2]> = grids
            .iter()
            .map(|sets| sets.map(|set| image(map, &set).words()[0]))
            .collect();
        let now = images[images.len() - 1];
        images.sort_unstable();
        images.dedup();
        (now, images)
    };
    let smallest = (0..table.symmetries().len()).map(image_of).min();
    let (now, images) = smallest.expect("every board has the symmetry that changes nothing");
    let mut hash = Sha256::new();
    hash.update([position.to_move().index() as u8, position.consecutive_passes() as u8]);
    for word in now.iter().chain(images.iter().flatten()) {
        hash.update(word.to_le_bytes());
    }
    hash.finalize().into()
}

/// The stones of both colors at the start and after every turn.
fn grids(position: &Position) -> Vec<[PointSet; 2]> {
    let sets = |position: &Position| [position.stones(Color::Black), position.stones(Color::White)];
    let mut replayed = Position::with_rules(position.size(), position.rules());
    let mut grids = vec![sets(&replayed)];
    for &mv in position.moves() {
        replayed.play_unchecked(mv);
        grids.push(sets(&replayed));
    }
    grids
}

fn sections(options: &SolveOptions) -> Vec<Section> {
    vec![
        ("What a row is", STATES.to_owned()),
        (
            "How the values were made",
            format!(
                "All states after at most {} turns were listed. Those after {} turns were each solved by an exhaustive proof-number \
                 search with their whole history, which gives the margin of best play for both sides; the margins of all \
                 earlier states follow from them by minimax. Nothing is estimated. A margin tells the result under any komi: \
                 Black wins with a komi below it, loses with one above it, ties with one equal to it (komi {} here).",
                options.plies,
                options.plies + 1,
                Komi::ZERO
            ),
        ),
    ]
}

const STATES: &str = "Under positional superko what may follow depends on every grid that has stood on the board, so a row is not a
bare board. It is a state: the grid, the side to move, the number of consecutive passes, and the set of all earlier grids. Two
move sequences of one length that agree in these, up to one of the board's symmetries, are one row; `moves` is one of them and
`sequences` counts them. The same board can therefore stand in several rows with different histories, bans and even values.
Every state that can be reached from the empty board in at most that many turns is here; finished games are not.
";

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rules::perft;

    fn levels(size: Size, plies: usize) -> Vec<Vec<Solved>> {
        let options = SolveOptions {
            sizes: vec![size],
            rules: Rules::tromp_taylor(),
            plies,
            most_nodes: 1_000_000,
            format: FileFormat::Parquet,
        };
        solve_levels(size, &options, &mut |_| true).unwrap()
    }

    #[test]
    fn sequences_add_up_to_perft_and_values_to_known_ones() {
        for (width, height, plies, margin) in [(2, 2, 4, 1), (1, 3, 4, 3), (1, 4, 3, 4), (1, 2, 5, 0)] {
            let size = Size::new(width, height).unwrap();
            let levels = levels(size, plies);
            assert_eq!(levels[0][0].margin, margin, "{size}");
            for (ply, level) in levels.iter().enumerate() {
                let running: u64 = level.iter().map(|state| state.sequences).sum();
                // perft counts the sequences that end with this turn too.
                let over = if ply < 2 { 0 } else { passed(&levels[ply - 1]) };
                assert_eq!(running + over, perft(&mut Position::new(size), ply), "{size} ply {ply}");
            }
        }
    }

    /// Sequences whose last turn was a pass, so that one more pass ends the game.
    fn passed(level: &[Solved]) -> u64 {
        let passed = level.iter().filter(|state| state.position.consecutive_passes() == 1);
        passed.map(|state| state.sequences).sum()
    }

    #[test]
    fn backed_up_values_are_those_of_the_solver() {
        let size = Size::new(2, 2).unwrap();
        for state in levels(size, 3).iter().flatten() {
            assert_eq!(solve_margin(&state.position, 1_000_000), Ok(state.margin));
            for &(mv, margin) in &state.moves {
                let mut after = state.position.clone();
                after.play(mv);
                assert_eq!(solve_margin(&after, 1_000_000), Ok(margin), "{mv:?}");
            }
        }
    }
}
