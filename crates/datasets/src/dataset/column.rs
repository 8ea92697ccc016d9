//! The columns of a dataset and their meaning. One description drives files, README and manifest.

use serde::Serialize;

/// Type of a column's items.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    /// UTF-8 string.
    Text,
    /// Milliseconds since 1970-01-01 UTC.
    Time,
}

/// Number of items per row.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// Exactly one item.
    One,
    /// One item per point, `[height * width]` in row-major order.
    Points,
    /// One item per move, `[height * width + 1]`: the points in row-major order, then the pass.
    Moves,
    /// Any number of items.
    Many,
}

/// Description of one column.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    /// When the column is null; `None` if it never is.
    #[serde(rename = "null_when")]
    pub(crate) absent: Option<&'static str>,
    /// Unit, range and viewpoint of the items.
    pub(crate) unit: &'static str,
    /// What the column contains and how it was computed.
    pub(crate) meaning: &'static str,
}

impl Field {
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        shape: Shape,
        unit: &'static str,
        meaning: &'static str,
    ) -> Field {
        Field {
            name,
            kind,
            shape,
            absent: None,
            unit,
            meaning,
        }
    }

    /// A column with one text per row.
    pub(crate) const fn text(name: &'static str, unit: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Text, Shape::One, unit, meaning)
    }

    /// A column with one item per row.
    pub(crate) const fn one(name: &'static str, kind: Kind, unit: &'static str, meaning: &'static str) -> Field {
        Field::new(name, kind, Shape::One, unit, meaning)
    }

    /// The same column, but nullable.
    pub(crate) const fn null(self, when: &'static str) -> Field {
        Field {
            absent: Some(when),
            ..self
        }
    }

    /// The type as shown by Parquet readers.
    pub(crate) fn type_text(&self) -> String {
        let item = match self.kind {
            Kind::Bool => "bool",
            Kind::Int8 => "int8",
            Kind::Int16 => "int16",
            Kind::Int32 => "int32",
            Kind::Int64 => "int64",
            Kind::Float32 => "float32",
            Kind::Text => "string",
            Kind::Time => "timestamp (ms, UTC)",
        };
        match self.shape {
            Shape::One => item.to_owned(),
            _ => format!("list of {item}"),
        }
    }

    /// The shape of one row.
    pub(crate) fn shape_text(&self) -> &'static str {
        match self.shape {
            Shape::One => "one",
            Shape::Points => "[height * width]",
            Shape::Moves => "[height * width + 1]",
            Shape::Many => "any",
        }
    }
}

/// A column with the function that fills it from a row; `P` is a function pointer.
pub(crate) struct Column<P> {
    pub(crate) field: Field,
    pub(crate) put: P,
}

impl<P> Column<P> {
    pub(crate) const fn new(field: Field, put: P) -> Column<P> {
        Column { field, put }
    }
}

pub(crate) fn fields<P>(columns: &[Column<P>]) -> Vec<Field> {
    columns.iter().map(|column| column.field).collect()
}
