//! Rows as Arrow arrays, from which Parquet and Arrow files are written.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMillisecondType,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};

use tengen_store::item_field;

use super::column::{Field, Kind, Shape};
use super::table::{Cells, Values};

/// The schema of rows with these columns.
pub(crate) fn schema(fields: &[Field]) -> SchemaRef {
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

fn field(field: &Field) -> ArrowField {
    let item = match field.kind {
        Kind::Bool => DataType::Boolean,
        Kind::Int8 => DataType::Int8,
        Kind::Int16 => DataType::Int16,
        Kind::Int32 => DataType::Int32,
        Kind::Int64 => DataType::Int64,
        Kind::Float32 => DataType::Float32,
        Kind::Text => DataType::Utf8,
        Kind::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
    };
    let data_type = match field.shape {
        Shape::One => item,
        _ => DataType::List(item_field(item)),
    };
    ArrowField::new(field.name, data_type, field.absent.is_some())
}

/// The rows of a column.
pub(crate) fn array(cells: &Cells) -> ArrayRef {
    if cells.field.shape != Shape::One {
        return match &cells.values {
            Values::Int8(items) => lists::<Int8Type>(cells, items),
            Values::Int16(items) => lists::<Int16Type>(cells, items),
            Values::Int32(items) => lists::<Int32Type>(cells, items),
            Values::Int64(items) => lists::<Int64Type>(cells, items),
            Values::Float32(items) => lists::<Float32Type>(cells, items),
            Values::Bool(_) | Values::Text(_) => unreachable!("no column has lists of booleans or texts"),
        };
    }
    match &cells.values {
        Values::Bool(items) => Arc::new(BooleanArray::from(items.clone())),
        Values::Int8(items) => numbers::<Int8Type>(cells, items),
        Values::Int16(items) => numbers::<Int16Type>(cells, items),
        Values::Int32(items) => numbers::<Int32Type>(cells, items),
        Values::Int64(items) if cells.field.kind == Kind::Time => {
            let times = items.iter().copied();
            Arc::new(PrimitiveArray::<TimestampMillisecondType>::from_iter_values(times).with_timezone("UTC"))
        }
        Values::Int64(items) => numbers::<Int64Type>(cells, items),
        Values::Float32(items) => numbers::<Float32Type>(cells, items),
        Values::Text(items) => {
            let texts = items.iter().enumerate();
            let texts = texts.map(|(row, text)| cells.is_valid(row).then_some(text));
            Arc::new(StringArray::from_iter(texts))
        }
    }
}

fn numbers<T: ArrowPrimitiveType>(cells: &Cells, items: &[T::Native]) -> ArrayRef {
    let rows = items.iter().enumerate();
    let mut builder = PrimitiveBuilder::<T>::with_capacity(items.len());
    rows.for_each(|(row, &item)| builder.append_option(cells.is_valid(row).then_some(item)));
    Arc::new(builder.finish())
}

fn lists<T: ArrowPrimitiveType>(cells: &Cells, items: &[T::Native]) -> ArrayRef {
    let values = PrimitiveBuilder::<T>::with_capacity(items.len());
    let mut builder = ListBuilder::with_capacity(values, cells.ends.len()).with_field(item_field(T::DATA_TYPE));
    for row in 0..cells.ends.len() {
        builder.values().append_slice(&items[cells.range(row)]);
        builder.append(cells.is_valid(row));
    }
    Arc::new(builder.finish())
}
