//! Exports for tests, and their rows.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use tengen_datasets::{Dataset, DatasetError, DatasetFilter, ExportOptions, FileFormat, What};
use tengen_store::Store;

/// The simplest export options.
pub(crate) fn options(what: What, format: FileFormat) -> ExportOptions {
    ExportOptions {
        what,
        format,
        filter: DatasetFilter::default(),
        count: None,
        split: None,
        distinct: false,
        rows_per_part: None,
    }
}

/// Exports without a progress callback.
pub(crate) fn export(store: &Store, folder: &Path, options: &ExportOptions) -> Result<Dataset, DatasetError> {
    tengen_datasets::export(store, folder, options, &mut |_| true)
}

/// All rows of a Parquet dataset.
pub(crate) fn rows(dataset: &Dataset) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    for file in &dataset.manifest.files {
        let bytes = Bytes::from(fs::read(dataset.folder.join(&file.path)).unwrap());
        assert_eq!(bytes.len() as u64, file.bytes);
        assert_eq!(tengen_store::sha256_hex(&bytes), file.sha256);
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)
            .unwrap()
            .with_batch_size(1 << 20)
            .build()
            .unwrap();
        batches.extend(reader.map(Result::unwrap));
    }
    assert_eq!(
        batches.iter().map(RecordBatch::num_rows).sum::<usize>() as u64,
        dataset.manifest.rows
    );
    batches
}
