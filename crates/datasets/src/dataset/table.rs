//! The in-memory, column-by-column form of rows, from which every file format is written.

use std::sync::Arc;

use tengen_rules::{PointSet, Size};

use super::column::{Field, Kind, Shape};

/// The items of a column, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Bool(Vec<bool>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Text(Vec<Arc<str>>),
}

/// Evaluates an expression on whichever vector a column has.
macro_rules! each_kind {
    ($values:expr, $items:ident => $body:expr) => {
        match $values {
            Values::Bool($items) => $body,
            Values::Int8($items) => $body,
            Values::Int16($items) => $body,
            Values::Int32($items) => $body,
            Values::Int64($items) => $body,
            Values::Float32($items) => $body,
            Values::Text($items) => $body,
        }
    };
}

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cells {
    pub(crate) field: Field,
    pub(crate) values: Values,
    /// Number of items up to the end of each row; only for list columns.
    pub(crate) ends: Vec<usize>,
    /// Whether each row has a value; only for nullable columns. A null single item is stored as 0, a null list as
    /// empty.
    pub(crate) valid: Vec<bool>,
}

impl Cells {
    fn new(field: Field) -> Cells {
        let values = match field.kind {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Int8 => Values::Int8(Vec::new()),
            Kind::Int16 => Values::Int16(Vec::new()),
            Kind::Int32 => Values::Int32(Vec::new()),
            Kind::Int64 | Kind::Time => Values::Int64(Vec::new()),
            Kind::Float32 => Values::Float32(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Cells {
            field,
            values,
            ends: Vec::new(),
            valid: Vec::new(),
        }
    }

    /// Adds a row with one boolean.
    pub(crate) fn flag(&mut self, value: bool) {
        match &mut self.values {
            Values::Bool(items) => items.push(value),
            _ => unreachable!("{} does not hold booleans", self.field.name),
        }
        self.end_row(true);
    }

    /// Adds a row with one integer.
    pub(crate) fn int(&mut self, value: impl Into<i64>) {
        self.push_int(value.into());
        self.end_row(true);
    }

    /// Adds a row with one float.
    pub(crate) fn float(&mut self, value: f32) {
        self.push_float(value);
        self.end_row(true);
    }

    /// Adds a row with one text.
    pub(crate) fn text(&mut self, value: &Arc<str>) {
        match &mut self.values {
            Values::Text(items) => items.push(value.clone()),
            _ => unreachable!("{} does not hold texts", self.field.name),
        }
        self.end_row(true);
    }

    /// Adds a row of integers.
    pub(crate) fn ints<T: Into<i64>>(&mut self, values: impl IntoIterator<Item = T>) {
        values.into_iter().for_each(|value| self.push_int(value.into()));
        self.end_row(true);
    }

    /// Adds a row of floats.
    pub(crate) fn floats(&mut self, values: impl IntoIterator<Item = f32>) {
        values.into_iter().for_each(|value| self.push_float(value));
        self.end_row(true);
    }

    /// Adds a row with one number per point: 1 on the points in `ones`, -1 on those in `minus_ones`, 0 elsewhere.
    pub(crate) fn points(&mut self, size: Size, ones: &PointSet, minus_ones: &PointSet) {
        self.mark(size.area(), ones, minus_ones);
        self.end_row(true);
    }

    /// Adds a row with 1 for every move in a set, else 0; the last item is `pass`.
    pub(crate) fn moves(&mut self, size: Size, plays: &PointSet, pass: bool) {
        self.mark(size.area(), plays, &PointSet::new());
        self.push_int(pass.into());
        self.end_row(true);
    }

    /// Adds a row with the value, or a row that lacks it.
    pub(crate) fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Cells, T)) {
        match value {
            Some(value) => put(self, value),
            None => self.missing(),
        }
    }

    pub(crate) fn missing(&mut self) {
        if self.field.shape == Shape::One {
            each_kind!(&mut self.values, items => items.push(Default::default()));
        }
        self.end_row(false);
    }

    fn mark(&mut self, area: usize, ones: &PointSet, minus_ones: &PointSet) {
        let Values::Int8(items) = &mut self.values else {
            unreachable!("{} does not hold point marks", self.field.name)
        };
        let first = items.len();
        items.resize(first + area, 0);
        ones.iter().for_each(|point| items[first + point.index()] = 1);
        minus_ones.iter().for_each(|point| items[first + point.index()] = -1);
    }

    fn push_int(&mut self, value: i64) {
        let fits = "the column's type can hold every value in its range";
        match &mut self.values {
            Values::Int8(items) => items.push(value.try_into().expect(fits)),
            Values::Int16(items) => items.push(value.try_into().expect(fits)),
            Values::Int32(items) => items.push(value.try_into().expect(fits)),
            Values::Int64(items) => items.push(value),
            _ => unreachable!("{} does not hold integers", self.field.name),
        }
    }

    fn push_float(&mut self, value: f32) {
        match &mut self.values {
            Values::Float32(items) => items.push(value),
            _ => unreachable!("{} does not hold floats", self.field.name),
        }
    }

    fn end_row(&mut self, valid: bool) {
        if self.field.shape != Shape::One {
            self.ends.push(self.len());
        }
        if self.field.absent.is_some() {
            self.valid.push(valid);
        } else {
            assert!(valid, "{} is never null", self.field.name);
        }
    }

    pub(crate) fn len(&self) -> usize {
        each_kind!(&self.values, items => items.len())
    }

    /// Whether a row has a value.
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.valid.get(row).copied().unwrap_or(true)
    }

    /// The range of a row's items.
    pub(crate) fn range(&self, row: usize) -> std::ops::Range<usize> {
        match self.field.shape {
            Shape::One => row..row + 1,
            _ => {
                let start = if row == 0 { 0 } else { self.ends[row - 1] };
                start..self.ends[row]
            }
        }
    }

    fn append_row(&mut self, other: &Cells, row: usize) {
        let range = other.range(row);
        match (&mut self.values, &other.values) {
            (Values::Bool(to), Values::Bool(from)) => to.extend_from_slice(&from[range]),
            (Values::Int8(to), Values::Int8(from)) => to.extend_from_slice(&from[range]),
            (Values::Int16(to), Values::Int16(from)) => to.extend_from_slice(&from[range]),
            (Values::Int32(to), Values::Int32(from)) => to.extend_from_slice(&from[range]),
            (Values::Int64(to), Values::Int64(from)) => to.extend_from_slice(&from[range]),
            (Values::Float32(to), Values::Float32(from)) => to.extend_from_slice(&from[range]),
            (Values::Text(to), Values::Text(from)) => to.extend_from_slice(&from[range]),
            _ => unreachable!("both tables have the same columns"),
        }
        self.end_row(other.is_valid(row));
    }

    fn bytes(&self) -> usize {
        let item = match &self.values {
            Values::Bool(_) | Values::Int8(_) => 1,
            Values::Int16(_) => 2,
            Values::Int32(_) | Values::Float32(_) => 4,
            Values::Int64(_) => 8,
            Values::Text(_) => 16,
        };
        self.len() * item + self.ends.len() * 8
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Cells>,
    pub(crate) rows: usize,
}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn new(fields: &[Field]) -> Table {
        Table {
            columns: fields.iter().map(|&field| Cells::new(field)).collect(),
            rows: 0,
        }
    }

    /// Adds the rows of a table with the same columns for which `keep` returns true.
    pub(crate) fn append(&mut self, other: &Table, keep: impl Fn(usize) -> bool) {
        for row in (0..other.rows).filter(|&row| keep(row)) {
            self.append_row(other, row);
        }
    }

    /// Adds one row of a table with the same columns.
    pub(crate) fn append_row(&mut self, other: &Table, row: usize) {
        for (to, from) in self.columns.iter_mut().zip(&other.columns) {
            to.append_row(from, row);
        }
        self.rows += 1;
    }

    /// Approximate memory of the rows in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Cells::bytes).sum()
    }
}
