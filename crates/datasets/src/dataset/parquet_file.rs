//! Writes a table as a Parquet file, row group by row group, encoding the columns in parallel.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;

use super::arrow_rows::{array, schema};
use super::column::{Field, Kind, Shape};
use super::error::{DatasetError, cannot_write};
use super::table::Table;

const ZSTD_LEVEL: i32 = 3;

/// A Parquet file that is being written.
pub(crate) struct ParquetFile {
    path: PathBuf,
    schema: SchemaRef,
    writer: SerializedFileWriter<BufWriter<File>>,
    factory: ArrowRowGroupWriterFactory,
    row_groups: usize,
}

impl ParquetFile {
    /// Creates a file for rows with these columns; `content` goes into its footer.
    pub(crate) fn create(path: &Path, fields: &[Field], content: &str) -> Result<ParquetFile, DatasetError> {
        let failed = |error: ParquetError| cannot_write(path, error);
        let file = File::create(path).map_err(|error| cannot_write(path, error))?;
        let schema = schema(fields);
        let writer = ArrowWriter::try_new(BufWriter::new(file), schema.clone(), Some(properties(fields, content)));
        let (writer, factory) = writer.and_then(ArrowWriter::into_serialized_writer).map_err(failed)?;
        Ok(ParquetFile {
            path: path.to_owned(),
            schema,
            writer,
            factory,
            row_groups: 0,
        })
    }

    /// Writes the rows of a table as one row group.
    pub(crate) fn write(&mut self, table: &Table) -> Result<(), DatasetError> {
        self.write_group(table).map_err(|error| cannot_write(&self.path, error))
    }

    fn write_group(&mut self, table: &Table) -> Result<(), ParquetError> {
        let writers = self.factory.create_column_writers(self.row_groups)?;
        let columns = self.schema.fields().par_iter().zip(&table.columns).zip(writers);
        let chunks: Result<Vec<ArrowColumnChunk>, ParquetError> = columns
            .map(|((field, cells), mut writer)| {
                for leaf in compute_leaves(field, &array(cells))? {
                    writer.write(&leaf)?;
                }
                writer.close()
            })
            .collect();
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks? {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.row_groups += 1;
        Ok(())
    }

    /// Writes the footer and makes the file durable.
    pub(crate) fn close(self) -> Result<(), DatasetError> {
        let failed = |error: &dyn std::fmt::Display| cannot_write(&self.path, error);
        let buffer = self.writer.into_inner().map_err(|error| failed(&error))?;
        let file = buffer.into_inner().map_err(|error| failed(&error))?;
        file.sync_all().map_err(|error| failed(&error))
    }
}

fn properties(fields: &[Field], content: &str) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("3 is a valid zstd level");
    let footer = KeyValue::new("tengen.content".to_owned(), content.to_owned());
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_key_value_metadata(Some(vec![footer]));
    for field in fields.iter().filter(|field| field.kind == Kind::Float32) {
        properties = match field.shape {
            // Measured: single numbers compress best as byte streams, but policies, which are mostly zeros, as they
            // are.
            Shape::One => properties
                .set_column_dictionary_enabled(field.name.into(), false)
                .set_column_encoding(field.name.into(), Encoding::BYTE_STREAM_SPLIT),
            _ => {
                let items = ["list", "item"].map(str::to_owned);
                let path = [vec![field.name.to_owned()], items.to_vec()].concat();
                properties.set_column_dictionary_enabled(ColumnPath::new(path), false)
            }
        };
    }
    properties.build()
}
