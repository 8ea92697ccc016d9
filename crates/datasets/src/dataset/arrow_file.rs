//! Writes tables as an Arrow IPC file, record batch by record batch, without compression, so that readers can map it
//! into memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use rayon::prelude::*;

use super::arrow_rows::{array, schema};
use super::column::Field;
use super::error::{DatasetError, cannot_write};
use super::table::Table;

/// An Arrow file that is being written.
pub(crate) struct ArrowFile {
    path: PathBuf,
    schema: SchemaRef,
    writer: FileWriter<BufWriter<File>>,
}

impl ArrowFile {
    /// Creates a file for rows with these columns; `content` goes into the metadata of its schema.
    pub(crate) fn create(path: &Path, fields: &[Field], content: &str) -> Result<ArrowFile, DatasetError> {
        let file = File::create(path).map_err(|error| cannot_write(path, error))?;
        let about = HashMap::from([("tengen.content".to_owned(), content.to_owned())]);
        let schema = Arc::new(schema(fields).as_ref().clone().with_metadata(about));
        let writer = FileWriter::try_new(BufWriter::new(file), &schema);
        Ok(ArrowFile {
            path: path.to_owned(),
            writer: writer.map_err(|error| cannot_write(path, error))?,
            schema,
        })
    }

    /// Writes the rows of a table as one record batch.
    pub(crate) fn write(&mut self, table: &Table) -> Result<(), DatasetError> {
        let columns = table.columns.par_iter().map(array).collect();
        let written = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let written = written.and_then(|batch| self.writer.write(&batch));
        written.map_err(|error| cannot_write(&self.path, error))
    }

    /// Writes the footer and makes the file durable.
    pub(crate) fn close(self) -> Result<(), DatasetError> {
        let finish = || -> Result<(), ArrowError> {
            let file = self.writer.into_inner()?.into_inner();
            Ok(file.map_err(std::io::Error::from)?.sync_all()?)
        };
        finish().map_err(|error| cannot_write(&self.path, error))
    }
}
