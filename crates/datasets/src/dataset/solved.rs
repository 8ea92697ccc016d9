//! A dataset of exact values for tiny boards: all states within some plies are listed, those of the last ply are
//! solved, and the others are backed up from them.
//!
//! Under positional superko, the legal continuations depend on every earlier grid. A state is therefore the grid, the
//! side to move, the consecutive passes and the set of all earlier grids; states that are mirror images of each other
//! are one.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};

use tengen_rules::{Color, ImageTable, Komi, Move, PointSet, Position, Rules, Size, SolveError, solve_margin};

use super::complete::{About, complete};
use super::error::DatasetError;
use super::export::Dataset;
use super::readme::Section;
use super::solved_rows::{Solved, push_state, solved_fields};
use super::solved_sample::{SolveSample, solve_sample};
use super::table::Table;
use super::writer::{DatasetWriter, FileFormat, PartKey};

/// Maximum number of states of one ply kept in memory.
const MAX_STATES: usize = 2_000_000;
/// Number of states solved between two progress reports.
const SOLVED_PER_REPORT: usize = 8;

/// Which boards to solve and how.
#[derive(Clone, Debug)]
pub struct SolveOptions {
    /// The board sizes to solve.
    pub sizes: Vec<Size>,
    /// The rules, which must have positional superko and end the game after two passes.
    pub rules: Rules,
    /// States after at most this many turns become rows; in a sample, states after exactly this many plays.
    pub plies: usize,
    /// Solves a random sample of states instead of all.
    pub sample: Option<SolveSample>,
    /// Maximum number of positions that the search of one state may visit.
    pub most_nodes: u64,
    /// The file format.
    pub format: FileFormat,
}

/// Progress of solving.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SolveProgress {
    /// The board being solved.
    pub size: Size,
    /// Number of last-ply states solved so far.
    pub solved: u64,
    /// Number of last-ply states in total.
    pub all: u64,
}

/// Writes a frozen dataset of solved positions to `folder`/v1, completely or not at all. `watch` receives the progress
/// and returns whether to continue.
///
/// # Errors
/// [`DatasetError::Unsolved`] if a state is not decided within the limit, the boards have too many states, or the
/// solver does not support the rules; write errors. Nothing is then left in the folder.
pub fn solve_dataset(
    folder: &Path,
    options: &SolveOptions,
    watch: &mut dyn FnMut(SolveProgress) -> bool,
) -> Result<Dataset, DatasetError> {
    let columns = solved_fields();
    let mut writer = DatasetWriter::begin(folder, options.format, "solved_positions", columns.clone(), None, None)?;
    let cleaned = writer.cleaned();
    let mut rows = 0;
    let mut counts = Vec::new();
    for &size in &options.sizes {
        let (levels, count) = match options.sample {
            None => {
                let levels = solve_levels(size, options, watch)?;
                let per_ply: Vec<usize> = levels.iter().map(Vec::len).collect();
                let count = json!({ "size": size.to_string(), "rows_by_ply": per_ply, "margin": levels[0][0].margin });
                (levels, count)
            }
            Some(sample) => {
                let (states, undecided) = solve_sample(size, sample, options, watch)?;
                let count = json!({ "size": size.to_string(), "rows": states.len(), "undecided": undecided });
                (vec![states], count)
            }
        };
        counts.push(count);
        for level in &levels {
            let mut table = Table::new(&columns);
            level.iter().for_each(|state| push_state(&mut table, state));
            rows += table.rows as u64;
            writer.append((PartKey { split: None, size }, (0, 0)), &table, |_| true)?;
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
            "sample": options.sample.map(|sample| json!({ "count": sample.count, "seed": sample.seed })),
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
        resumed_parts: 0,
        damaged: Vec::new(),
        key_bytes: 0,
    })
}

/// A state, represented by one move sequence that leads to it.
struct State {
    position: Position,
    /// Number of move sequences that lead to it or to a mirror image.
    sequences: u64,
    children: Vec<(Move, Child)>,
    /// Black's area minus White's with best play by both sides.
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

    /// The margin after each move, given the states of the next ply.
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
        if next.len() > MAX_STATES {
            return Err(DatasetError::Unsolved(format!(
                "{size} has more than {MAX_STATES} states after {} turns: use fewer plies",
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
    for chunk in states.chunks_mut(SOLVED_PER_REPORT) {
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
            "{} after {} is not decided within {} positions: best play leads to a margin from {least} to {most}; use \
             another board, more plies (so that the states to solve are closer to the end) or a larger limit",
            position.size(),
            moves.join(" "),
            options.most_nodes
        ),
        other => other.to_string(),
    })
}

/// A hash of a state up to mirror images: side to move, consecutive passes, grid, and the set of all grids so far.
pub(crate) fn state_key(position: &Position) -> [u8; 32] {
    let size = position.size();
    let grids = grids(position);
    let table = ImageTable::of(size);
    let image_of = |number: usize| {
        let map = table.map(number);
        let mut images: Vec<[u64; 2]> = grids
            .iter()
            .map(|sets| sets.map(|set| map.image(&set).words()[0]))
            .collect();
        let now = images[images.len() - 1];
        images.sort_unstable();
        images.dedup();
        (now, images)
    };
    let smallest = (0..table.symmetries().len()).map(image_of).min();
    let (now, images) = smallest.expect("every board has the identity symmetry");
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
    if let Some(sample) = options.sample {
        return vec![
            ("What a row is", SAMPLED_STATES.to_owned()),
            (
                "How the values were made",
                format!(
                    "Games of {} uniformly random legal plays from the empty board were drawn with seed {}, and every \
                     state that is reached by a move from their last positions was solved by an exhaustive \
                     proof-number search with its whole history. Nothing is estimated. Positions that were not decided \
                     within {} nodes per state were left out, so the sample favors those that are nearly settled.{}",
                    options.plies,
                    sample.seed,
                    options.most_nodes,
                    match sample.most_right {
                        Some(1) => " Only positions in which a single move keeps the margin were kept.".to_owned(),
                        Some(most) =>
                            format!(" Only positions in which at most {most} moves keep the margin were kept."),
                        None => String::new(),
                    }
                ),
            ),
        ];
    }
    vec![
        ("What a row is", STATES.to_owned()),
        (
            "How the values were made",
            format!(
                "All states after at most {} turns were listed. Those after {} turns were each solved by an \
                 exhaustive proof-number search with their whole history, which gives the margin with best play by \
                 both sides; the margins of all earlier states follow from them by minimax. Nothing is estimated. A \
                 margin determines the result for any komi: Black wins with a lower komi, loses with a higher one, \
                 and ties with an equal one (komi {} here).",
                options.plies,
                options.plies + 1,
                Komi::ZERO
            ),
        ),
    ]
}

const STATES: &str = "\
Under positional superko, the legal continuations depend on every grid that has been on the board, so a row is more
than a board. It is a state: the grid, the side to move, the number of consecutive passes, and the set of all earlier
grids. Move sequences of equal length that agree in these, up to one of the board's symmetries, share a row; `moves`
is one of them and `sequences` counts them. The same board can therefore occur in several rows with different
histories, bans and even values. Every state reachable from the empty board in at most that many turns is included;
finished games are not.
";

const SAMPLED_STATES: &str = "\
Under positional superko, the legal continuations depend on every grid that has been on the board, so a row is more
than a board: `moves` is its whole history. No two rows are mirror images of each other. `sequences` is 0, since other
sequences that lead to the same state were not counted.
";

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_counts::perft;

    fn levels(size: Size, plies: usize) -> Vec<Vec<Solved>> {
        let options = SolveOptions {
            sizes: vec![size],
            rules: Rules::tromp_taylor(),
            plies,
            sample: None,
            most_nodes: 1_000_000,
            format: FileFormat::Parquet,
        };
        solve_levels(size, &options, &mut |_| true).unwrap()
    }

    #[test]
    fn sequences_sum_to_perft_and_values_match_known_ones() {
        for (width, height, plies, margin) in [(2, 2, 4, 1), (1, 3, 4, 3), (1, 4, 3, 4), (1, 2, 5, 0)] {
            let size = Size::new(width, height).unwrap();
            let levels = levels(size, plies);
            assert_eq!(levels[0][0].margin, margin, "{size}");
            for (ply, level) in levels.iter().enumerate() {
                let running: u64 = level.iter().map(|state| state.sequences).sum();
                // perft also counts the sequences that end with this turn.
                let over = if ply < 2 { 0 } else { passed(&levels[ply - 1]) };
                assert_eq!(running + over, perft(&mut Position::new(size), ply), "{size} ply {ply}");
            }
        }
    }

    /// Number of sequences whose last turn was a pass, so that one more pass ends the game.
    fn passed(level: &[Solved]) -> u64 {
        let passed = level.iter().filter(|state| state.position.consecutive_passes() == 1);
        passed.map(|state| state.sequences).sum()
    }

    #[test]
    fn backed_up_values_match_the_solver() {
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
