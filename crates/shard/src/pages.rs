//! Bounds the memory that reading a shard needs. The footer and the page headers state it, and both are checked before
//! a page is decompressed: a few bytes can expand to gigabytes, by compression or by repetition.

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::thrift::{Page, read_page_header};

/// Rows allowed in a file of any size.
const BASE_ROWS: u64 = 1 << 14;
/// Minimum bytes per game: its id differs from all others.
const BYTES_PER_ROW: u64 = 4;
/// Values of one column, over all row groups, allowed in a file of any size.
const BASE_VALUES: u64 = 1 << 22;
/// Allowed values of one column per byte of the file. A move that repeats another game's needs fewer than 8.
const VALUES_PER_BYTE: u64 = 8;
/// The same for policy targets, which have many entries per ply.
const POLICY_VALUES_PER_BYTE: u64 = 32;
/// The same for maps of expected owners, which have 361 values for a position on 19x19, often equal to those before.
const MAP_VALUES_PER_BYTE: u64 = 128;
/// Decompressed bytes allowed in a file of any size.
const BASE_UNPACKED: u64 = 64 << 20;
/// Allowed decompressed bytes per byte of the file. Imported games, whose search columns are all 0, reach 40.
const UNPACKED_PER_BYTE: u64 = 128;

/// Checks that the columns to be read decompress to a size in proportion to that of the file.
///
/// # Errors
/// What was expected and found: too many rows, values or bytes, or a page that is not where the footer says.
pub(crate) fn check_pages(
    bytes: &[u8],
    metadata: &ParquetMetaData,
    is_read: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let size = bytes.len() as u64;
    let rows = metadata
        .row_groups()
        .iter()
        .map(|group| u64::try_from(group.num_rows()));
    let rows = sum(rows).ok_or("a row group has a negative number of rows")?;
    within("games", rows, BASE_ROWS + size / BYTES_PER_ROW, size)?;
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let mut unpacked = 0u64;
    for column in 0..columns {
        let path = metadata.file_metadata().schema_descr().column(column).path().clone();
        let name = path.parts().first().map_or("", String::as_str);
        if !is_read(name) {
            continue;
        }
        let mut values = 0u64;
        for group in metadata.row_groups() {
            let chunk = group.columns().get(column).ok_or("a row group lacks a column")?;
            let declared = check_chunk(bytes, chunk).map_err(|problem| format!("column {name}: {problem}"))?;
            values = declared.values.saturating_add(values);
            unpacked = declared.unpacked.saturating_add(unpacked);
        }
        let each = match name {
            "policy_moves" | "policy_probabilities" => POLICY_VALUES_PER_BYTE,
            "expected_ownership" => MAP_VALUES_PER_BYTE,
            _ => VALUES_PER_BYTE,
        };
        within(
            &format!("values in column {name}"),
            values,
            BASE_VALUES + each * size,
            size,
        )?;
    }
    within(
        "decompressed bytes",
        unpacked,
        BASE_UNPACKED + UNPACKED_PER_BYTE * size,
        size,
    )
}

fn sum<E>(numbers: impl Iterator<Item = Result<u64, E>>) -> Option<u64> {
    numbers
        .map(Result::ok)
        .try_fold(0u64, |sum, number| sum.checked_add(number?))
}

fn within(what: &str, found: u64, most: u64, size: u64) -> Result<(), String> {
    if found <= most {
        return Ok(());
    }
    Err(format!(
        "expected at most {most} {what} in a file of {size} bytes, found {found}"
    ))
}

/// What the pages of a column chunk declare.
#[derive(Default)]
struct Declared {
    values: u64,
    unpacked: u64,
}

fn check_chunk(bytes: &[u8], chunk: &ColumnChunkMetaData) -> Result<Declared, String> {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let range = || {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(chunk.compressed_size()).ok()?)?;
        bytes.get(start..end)
    };
    let mut rest = range().ok_or_else(|| {
        let length = chunk.compressed_size();
        format!("expected its pages inside the file, found them at byte {start} with {length} bytes")
    })?;
    let mut declared = Declared::default();
    while !rest.is_empty() {
        let (page, header) = read_page_header(rest).ok_or("a page has no readable header")?;
        let Page {
            values,
            compressed,
            unpacked,
        } = page;
        rest = rest[header..]
            .get(compressed..)
            .ok_or("a page extends past the end of its column")?;
        declared.values = declared.values.saturating_add(values);
        declared.unpacked = declared.unpacked.saturating_add(unpacked);
    }
    Ok(declared)
}
