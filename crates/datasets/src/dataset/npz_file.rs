//! Writes a table as a NumPy archive with one array per column; array headers are written by hand.
//!
//! A column of points becomes `[N, height, width]`, and a column of moves `[N, height * width + 1]`. A column of
//! variable length becomes all its items in sequence plus `<name>_offsets` `[N + 1]`. A nullable column holds 0 for
//! null, and `<name>_known` `[N]` says which rows have a value.

use std::fs::File;
use std::io::{self, Cursor, Write};
use std::path::Path;

use tengen_rules::Size;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::column::{Kind, Shape};
use super::error::{DatasetError, cannot_write};
use super::table::{Cells, Table, Values};

/// Archives of at least this size need the wider zip fields.
const LARGE: usize = 1 << 30;

/// Number of bytes compressed at a time.
const CHUNK_BYTES: usize = 1 << 16;

type Archive = ZipWriter<Cursor<Vec<u8>>>;

/// Writes rows of one board size as a compressed `.npz` and makes it durable. The archive is built in memory, like the
/// table: a zip writer that hits a full disk would still try to finish the archive when it is dropped.
pub(crate) fn write_npz(path: &Path, table: &Table, size: Size) -> Result<(), DatasetError> {
    let write = || -> io::Result<()> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for cells in &table.columns {
            write_column(&mut archive, cells, table.rows, size)?;
        }
        let bytes = archive.finish()?.into_inner();
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().map_err(|error| cannot_write(path, error))
}

fn write_column(archive: &mut Archive, cells: &Cells, rows: usize, size: Size) -> io::Result<()> {
    let name = cells.field.name;
    let (height, width) = (size.height(), size.width());
    let (shape, row_items) = match cells.field.shape {
        Shape::One => (vec![rows], 1),
        Shape::Points => (vec![rows, height, width], height * width),
        Shape::Moves => (vec![rows, height * width + 1], height * width + 1),
        Shape::Many => (vec![cells.len()], 0),
    };
    begin(archive, name, &type_code(cells), &shape, cells.len())?;
    let item_bytes = item_bytes(cells);
    let mut bytes = Vec::with_capacity(2 * CHUNK_BYTES);
    for row in 0..rows {
        let range = cells.range(row);
        let missing = row_items - range.len().min(row_items);
        push_items(&mut bytes, cells, range, item_bytes);
        bytes.resize(bytes.len() + missing * item_bytes, 0);
        if bytes.len() >= CHUNK_BYTES {
            archive.write_all(&bytes)?;
            bytes.clear();
        }
    }
    archive.write_all(&bytes)?;
    if cells.field.absent.is_some() {
        begin(archive, &format!("{name}_known"), "|b1", &[rows], rows)?;
        let known: Vec<u8> = (0..rows).map(|row| cells.is_valid(row).into()).collect();
        archive.write_all(&known)?;
    }
    if cells.field.shape == Shape::Many {
        begin(archive, &format!("{name}_offsets"), "<i8", &[rows + 1], rows)?;
        for end in std::iter::once(0).chain(cells.ends.iter().copied()) {
            archive.write_all(&(end as i64).to_le_bytes())?;
        }
    }
    Ok(())
}

/// Starts an array: the zip entry, then NumPy's header of format version 1.0 (its total length a multiple of 64).
fn begin(archive: &mut Archive, name: &str, code: &str, shape: &[usize], items: usize) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(items >= LARGE / 8);
    archive.start_file(format!("{name}.npy"), options)?;
    archive.write_all(&npy_header(code, shape))
}

fn npy_header(code: &str, shape: &[usize]) -> Vec<u8> {
    let sides: String = shape.iter().map(|side| format!("{side}, ")).collect();
    let shape = match shape.len() {
        1 => sides.trim_end_matches(' '),
        _ => sides.trim_end_matches(", "),
    };
    let text = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({shape}), }}");
    let mut header = Vec::from(b"\x93NUMPY\x01\x00");
    let length = (header.len() + 2 + text.len() + 1).next_multiple_of(64) - header.len() - 2;
    header.extend_from_slice(&(length as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header.resize(8 + 2 + length - 1, b' ');
    header.push(b'\n');
    header
}

/// The type in NumPy notation: little-endian, texts as UTF-32 of fixed length, times as `datetime64[ms]`.
fn type_code(cells: &Cells) -> String {
    match cells.field.kind {
        Kind::Bool => "|b1".to_owned(),
        Kind::Int8 => "|i1".to_owned(),
        Kind::Int16 => "<i2".to_owned(),
        Kind::Int32 => "<i4".to_owned(),
        Kind::Int64 => "<i8".to_owned(),
        Kind::Float32 => "<f4".to_owned(),
        Kind::Time => "<M8[ms]".to_owned(),
        Kind::Text => format!("<U{}", text_length(cells)),
    }
}

/// Length of the longest text in characters, at least 1 because NumPy has no texts of length 0.
fn text_length(cells: &Cells) -> usize {
    let Values::Text(items) = &cells.values else { return 0 };
    items.iter().map(|item| item.chars().count()).max().unwrap_or(0).max(1)
}

fn item_bytes(cells: &Cells) -> usize {
    match &cells.values {
        Values::Bool(_) | Values::Int8(_) => 1,
        Values::Int16(_) => 2,
        Values::Int32(_) | Values::Float32(_) => 4,
        Values::Int64(_) => 8,
        Values::Text(_) => 4 * text_length(cells),
    }
}

/// Appends the bytes of a range of items, each `item_bytes` long.
fn push_items(bytes: &mut Vec<u8>, cells: &Cells, range: std::ops::Range<usize>, item_bytes: usize) {
    match &cells.values {
        Values::Bool(items) => bytes.extend(items[range].iter().map(|&item| u8::from(item))),
        Values::Int8(items) => bytes.extend(items[range].iter().map(|&item| item as u8)),
        Values::Int16(items) => bytes.extend(items[range].iter().flat_map(|item| item.to_le_bytes())),
        Values::Int32(items) => bytes.extend(items[range].iter().flat_map(|item| item.to_le_bytes())),
        Values::Int64(items) => bytes.extend(items[range].iter().flat_map(|item| item.to_le_bytes())),
        Values::Float32(items) => bytes.extend(items[range].iter().flat_map(|item| item.to_le_bytes())),
        Values::Text(items) => {
            for item in &items[range] {
                let end = bytes.len() + item_bytes;
                bytes.extend(item.chars().flat_map(|character| u32::from(character).to_le_bytes()));
                bytes.resize(end, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::npy_header;

    #[test]
    fn headers_are_padded_and_contain_the_shape() {
        let header = npy_header("<f4", &[12, 9, 9]);
        assert_eq!(header.len() % 64, 0);
        let text = String::from_utf8_lossy(&header[10..]);
        assert!(text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (12, 9, 9), }"));
        assert!(text.ends_with('\n'));
        let one = npy_header("|b1", &[3]);
        assert!(String::from_utf8_lossy(&one).contains("'shape': (3,), }"));
    }
}
