//! Labels in Parquet: rows of our own datasets of positions and of solved boards.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int8Type, Int16Type};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use tengen_records::LabelledPosition;
use tengen_rules::{Color, Komi, Move, PointSet, Position, Rules, Scoring, Size};

use super::{LabelledPositions, shared_among};

/// Reads every row of a file.
pub(super) fn read(file: &Path, found: &mut LabelledPositions) -> Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("cannot be read as Parquet: {error}");
    let opened = File::open(file).map_err(|error| format!("cannot be read: {error}"))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| unreadable(&error))?;
    let is_solved = builder.schema().field_with_name("best_moves").is_ok();
    for batch in builder.build().map_err(|error| unreadable(&error))? {
        let batch = batch.map_err(|error| unreadable(&error))?;
        let rows = Rows(&batch);
        for row in 0..batch.num_rows() {
            let read = match is_solved {
                true => solved(&rows, row, found),
                false => searched(&rows, row, found),
            };
            read.map_err(|reason| format!("row {}: {reason}", found.positions.len() + found.without_history))?;
        }
    }
    Ok(())
}

/// A solved state, at the komi at which the side to move just wins and at the one at which it just loses.
fn solved(rows: &Rows<'_>, row: usize, found: &mut LabelledPositions) -> Result<(), String> {
    let size = rows.size(row)?;
    let mut position = Position::with_rules(size, Rules::tromp_taylor());
    for index in rows.list::<Int16Type>("moves", row)?.ok_or("moves are missing")? {
        let mv = usize::try_from(index)
            .ok()
            .and_then(|index| Move::from_index(size, index));
        let mv = mv.ok_or_else(|| format!("{index} is not a move on {size}"))?;
        position.try_play(mv).map_err(|error| error.to_string())?;
    }
    let margin = rows.one::<Int16Type>("margin", row)?.ok_or("margin is missing")?;
    let best = rows
        .list::<Int8Type>("best_moves", row)?
        .ok_or("best_moves are missing")?;
    check_length("best_moves", best.len(), size.area() + 1)?;
    let best: Vec<usize> = (0..best.len()).filter(|&index| best[index] == 1).collect();
    let half_point = match position.to_move() {
        Color::Black => -1,
        Color::White => 1,
    };
    for (toward, wins) in [(half_point, true), (-half_point, false)] {
        let komi = Komi::from_half_points(2 * margin + toward);
        let labelled = LabelledPosition {
            position: position.clone(),
            komi,
            policy: shared_among(&best, size.area() + 1).filter(|_| wins),
            result: None,
            margin: None,
        };
        let score = f32::from(margin) - komi.points();
        found.positions.push(labelled.with_score(score));
    }
    Ok(())
}

/// A position of a game: the policy of its search, and how the game ended.
fn searched(rows: &Rows<'_>, row: usize, found: &mut LabelledPositions) -> Result<(), String> {
    let banned = rows.list::<Int8Type>("superko_banned", row)?;
    if banned.ok_or("superko_banned is missing")?.contains(&1) {
        found.without_history += 1;
        return Ok(());
    }
    let position = rows.position(row)?;
    let policy = rows.list::<Float32Type>("policy", row)?;
    if let Some(policy) = &policy {
        check_length("policy", policy.len(), position.size().area() + 1)?;
    }
    let komi = rows.one::<Float32Type>("komi", row)?.ok_or("komi is missing")?;
    let mut labelled = LabelledPosition {
        komi: Komi::from_half_points((2.0 * komi).round() as i16),
        policy,
        result: None,
        margin: None,
        position,
    };
    if let Some(score) = rows.one::<Float32Type>("score", row)? {
        labelled = labelled.with_score(score);
    }
    found.positions.push(labelled);
    Ok(())
}

/// Columns by name.
struct Rows<'a>(&'a RecordBatch);

impl Rows<'_> {
    fn column(&self, name: &str) -> Result<&dyn Array, String> {
        let column = self.0.column_by_name(name);
        Ok(column
            .ok_or_else(|| format!("there is no column {name}: expected a dataset of positions or of solved boards"))?
            .as_ref())
    }

    /// A number; `None` if the cell is empty.
    fn one<T: ArrowPrimitiveType>(&self, name: &str, row: usize) -> Result<Option<T::Native>, String> {
        let column = numbers::<T>(self.column(name)?, name)?;
        Ok((!column.is_null(row)).then(|| column.value(row)))
    }

    /// A list of numbers; `None` if the cell is empty.
    fn list<T: ArrowPrimitiveType>(&self, name: &str, row: usize) -> Result<Option<Vec<T::Native>>, String> {
        let column = self.column(name)?;
        let column = column
            .as_list_opt::<i32>()
            .ok_or_else(|| format!("{name} is {}, expected a list", column.data_type()))?;
        if column.is_null(row) {
            return Ok(None);
        }
        let items = column.value(row);
        Ok(Some(numbers::<T>(items.as_ref(), name)?.values().to_vec()))
    }

    fn size(&self, row: usize) -> Result<Size, String> {
        let side = |name| -> Result<usize, String> {
            let side = self.one::<Int8Type>(name, row)?.unwrap_or(0);
            usize::try_from(side).map_err(|_| format!("{name} is {side}"))
        };
        Size::new(side("width")?, side("height")?).map_err(|error| error.to_string())
    }

    /// The stones, the side to move, and whether the other side has just passed.
    fn position(&self, row: usize) -> Result<Position, String> {
        let size = self.size(row)?;
        let rules = self.column("rules")?;
        let rules = rules
            .as_string_opt::<i32>()
            .map(|column| column.value(row).to_owned())
            .or_else(|| rules.as_string_view_opt().map(|column| column.value(row).to_owned()))
            .ok_or_else(|| format!("rules are {}, expected text", rules.data_type()))?;
        let rules: Rules = rules.parse().map_err(|error| format!("rules: {error}"))?;
        if rules.scoring == Scoring::Territory {
            return Err(format!(
                "its rules {rules} count prisoners, which positions lack: ask about games under area scoring"
            ));
        }
        let board = self.list::<Int8Type>("board", row)?.ok_or("board is missing")?;
        check_length("board", board.len(), size.area())?;
        let mut stones = [PointSet::new(); 2];
        for (index, &stone) in board.iter().enumerate() {
            if let (Some(Move::Play(point)), 1 | -1) = (Move::from_index(size, index), stone) {
                stones[usize::from(stone == -1)].insert(point);
            }
        }
        let to_move = match self.one::<Int8Type>("to_move", row)? {
            Some(1) => Color::Black,
            Some(-1) => Color::White,
            other => return Err(format!("to_move is {other:?}, expected 1 or -1")),
        };
        let passed = self.one::<Int8Type>("consecutive_passes", row)? == Some(1);
        let first = if passed { to_move.opposite() } else { to_move };
        let start = Position::from_setup(size, rules, &stones[0], &stones[1], first);
        let mut position = start.map_err(|error| error.to_string())?;
        if passed {
            position.try_play(Move::Pass).map_err(|error| error.to_string())?;
        }
        Ok(position)
    }
}

fn check_length(name: &str, found: usize, expected: usize) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{name} has {found} items, expected {expected}")),
    }
}

fn numbers<'a, T: ArrowPrimitiveType>(array: &'a dyn Array, name: &str) -> Result<&'a PrimitiveArray<T>, String> {
    array.as_primitive_opt::<T>().ok_or_else(|| {
        let (found, expected) = (array.data_type(), T::DATA_TYPE);
        format!("{name} is of type {found}, expected {expected}")
    })
}
