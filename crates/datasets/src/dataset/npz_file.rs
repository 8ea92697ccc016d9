//! Writes a table as a NumPy archive with one array per column. `ndarray-npy` writes all arrays except those of strings
//! and times, which it does not support.
//!
//! A column of points becomes `[N, height, width]`, and a column of moves `[N, height * width + 1]`. A column of
//! variable length becomes all its items in sequence plus `<name>_offsets` `[N + 1]`. A nullable column holds 0 for
//! null, and `<name>_known` `[N]` says which rows have a value.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use ndarray::{Array1, ArrayView, ArrayView1, ArrayView2, ArrayView3, Dimension};
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use tengen_rules::Size;

use super::column::{Kind, Shape};
use super::error::{DatasetError, cannot_write};
use super::table::{Cells, Table, Values};

/// Archives of at least this size need the zip64 format.
const LARGE: usize = 1 << 30;

type Archive = ZipWriter<Cursor<Vec<u8>>>;

/// Writes rows of one board size as a compressed `.npz` and syncs it to disk. The archive is built in memory, because a
/// zip writer that hits a full disk would still try to finish the archive when it is dropped.
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
    match &cells.values {
        Values::Bool(items) => write_items(archive, cells, items, rows, size),
        Values::Int8(items) => write_items(archive, cells, items, rows, size),
        Values::Int16(items) => write_items(archive, cells, items, rows, size),
        Values::Int32(items) => write_items(archive, cells, items, rows, size),
        Values::Int64(items) if cells.field.kind == Kind::Time => write_times(archive, name, items),
        Values::Int64(items) => write_items(archive, cells, items, rows, size),
        Values::Float32(items) => write_items(archive, cells, items, rows, size),
        Values::Text(items) => write_texts(archive, name, items),
    }?;
    if cells.field.absent.is_some() {
        write_array(archive, &format!("{name}_known"), ArrayView1::from(&cells.valid))?;
    }
    if cells.field.shape == Shape::Many {
        let ends = std::iter::once(0).chain(cells.ends.iter().copied());
        let offsets: Array1<i64> = ends.map(|end| end as i64).collect();
        write_array(archive, &format!("{name}_offsets"), offsets.view())?;
    }
    Ok(())
}

/// Writes the items of a column as an array of its shape.
fn write_items<T: WritableElement + Clone + Default>(
    archive: &mut Archive,
    cells: &Cells,
    items: &[T],
    rows: usize,
    size: Size,
) -> io::Result<()> {
    let (name, height, width) = (cells.field.name, size.height(), size.width());
    let fits = "every row that is not null has an item per point or move";
    match cells.field.shape {
        Shape::One | Shape::Many => write_array(archive, name, ArrayView1::from(items)),
        Shape::Points => {
            let items = full_rows(cells, items, height * width);
            let array = ArrayView3::from_shape((rows, height, width), &items).expect(fits);
            write_array(archive, name, array)
        }
        Shape::Moves => {
            let items = full_rows(cells, items, height * width + 1);
            let array = ArrayView2::from_shape((rows, height * width + 1), &items).expect(fits);
            write_array(archive, name, array)
        }
    }
}

/// The items of a column of equally long lists, with zeros for null lists.
fn full_rows<'a, T: Clone + Default>(cells: &Cells, items: &'a [T], row_items: usize) -> Cow<'a, [T]> {
    let rows = cells.ends.len();
    if items.len() == rows * row_items {
        return Cow::Borrowed(items);
    }
    let mut full = vec![T::default(); rows * row_items];
    for (row, target) in full
        .chunks_exact_mut(row_items)
        .enumerate()
        .filter(|(row, _)| cells.is_valid(*row))
    {
        target.clone_from_slice(&items[cells.range(row)]);
    }
    Cow::Owned(full)
}

fn write_array<T: WritableElement, D: Dimension>(
    archive: &mut Archive,
    name: &str,
    array: ArrayView<'_, T, D>,
) -> io::Result<()> {
    begin(archive, name, size_of::<T>() * array.len())?;
    array.write_npy(archive).map_err(|error| match error {
        WriteNpyError::Io(error) => error,
        other => io::Error::other(other),
    })
}

/// Writes milliseconds since 1970 as `datetime64[ms]`, `[N]`.
fn write_times(archive: &mut Archive, name: &str, times: &[i64]) -> io::Result<()> {
    let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
    write_bytes(archive, name, "<M8[ms]", times.len(), &bytes)
}

/// Writes strings as UTF-32, all as long as the longest, as `[N]`. The length is at least one character, because NumPy
/// has no strings of length 0.
fn write_texts(archive: &mut Archive, name: &str, texts: &[Arc<str>]) -> io::Result<()> {
    let length = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let mut bytes = Vec::with_capacity(4 * length * texts.len());
    for (number, text) in texts.iter().enumerate() {
        bytes.extend(text.chars().flat_map(|character| u32::from(character).to_le_bytes()));
        bytes.resize(4 * length * (number + 1), 0);
    }
    write_bytes(archive, name, &format!("<U{length}"), texts.len(), &bytes)
}

/// Writes an array `[N]` of a type that `ndarray-npy` does not support, with a header of format version 1.0.
fn write_bytes(archive: &mut Archive, name: &str, code: &str, items: usize, bytes: &[u8]) -> io::Result<()> {
    begin(archive, name, bytes.len())?;
    archive.write_all(&npy_header(code, items))?;
    archive.write_all(bytes)
}

/// Starts the zip entry of an array.
fn begin(archive: &mut Archive, name: &str, bytes: usize) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(bytes >= LARGE);
    Ok(archive.start_file(format!("{name}.npy"), options)?)
}

/// NumPy's header of an array `[N]`; its length is a multiple of 64.
fn npy_header(code: &str, items: usize) -> Vec<u8> {
    let text = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({items},), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = Vec::from(b"\x93NUMPY\x01\x00");
    header.extend_from_slice(&(length as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header.resize(10 + length - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::column::Field;
    use ndarray::{Array1, Array2, Array3, array};
    use ndarray_npy::ReadNpyExt;
    use std::io::Read;

    const fn field(name: &'static str, kind: Kind, shape: Shape) -> Field {
        Field::new(name, kind, shape, "", "")
    }

    /// Two rows of a 3x2 board; the second has no policy.
    fn table() -> Table {
        let mut table = Table::new(&[
            field("margin", Kind::Int32, Shape::One),
            field("board", Kind::Int8, Shape::Points),
            field("policy", Kind::Float32, Shape::Moves).null("never searched"),
            field("moves", Kind::Int16, Shape::Many),
            field("name", Kind::Text, Shape::One),
            field("time", Kind::Time, Shape::One),
        ]);
        let [margin, board, policy, moves, name, time] = &mut table.columns[..] else {
            unreachable!("there are six columns")
        };
        margin.int(-3);
        margin.int(4);
        board.ints([1, 0, -1, 0, 0, 0i8]);
        board.ints([0, 0, 0, 0, -1, 1i8]);
        policy.floats([0.5, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25]);
        policy.missing();
        moves.ints([0, 6i16]);
        moves.ints([2i16]);
        name.text(&"Ada".into());
        name.text(&"\u{540d}".into());
        time.int(1_790_000_000_000i64);
        time.int(-1i64);
        table.rows = 2;
        table
    }

    fn archive() -> zip::ZipArchive<Cursor<Vec<u8>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.npz");
        write_npz(&path, &table(), Size::new(3, 2).unwrap()).unwrap();
        zip::ZipArchive::new(Cursor::new(std::fs::read(path).unwrap())).unwrap()
    }

    #[test]
    fn numeric_columns_become_arrays_of_their_shape() {
        fn read<A: ReadNpyExt>(name: &str) -> A {
            A::read_npy(archive().by_name(&format!("{name}.npy")).unwrap()).unwrap()
        }
        assert_eq!(read::<Array1<i32>>("margin"), array![-3, 4]);
        let boards = array![[[1, 0, -1], [0, 0, 0]], [[0, 0, 0], [0, -1, 1]]];
        assert_eq!(read::<Array3<i8>>("board"), boards);
        let policies = array![[0.5, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25], [0.0; 7]];
        assert_eq!(read::<Array2<f32>>("policy"), policies);
        assert_eq!(read::<Array1<bool>>("policy_known"), array![true, false]);
        assert_eq!(read::<Array1<i16>>("moves"), array![0, 6, 2]);
        assert_eq!(read::<Array1<i64>>("moves_offsets"), array![0, 2, 3]);
    }

    #[test]
    fn texts_and_times_have_headers_padded_to_64_bytes() {
        let read = |name: &str| {
            let mut bytes = Vec::new();
            archive().by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
            let items = bytes.split_off(bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1);
            assert_eq!((bytes.len() % 64, &bytes[..8]), (0, &b"\x93NUMPY\x01\x00"[..]));
            assert_eq!(usize::from(bytes[8]) + 256 * usize::from(bytes[9]), bytes.len() - 10);
            let header = String::from_utf8(bytes.split_off(10)).unwrap();
            (header.trim_end().to_owned(), items)
        };
        let (header, items) = read("name.npy");
        assert_eq!(header, "{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }");
        let characters = ['A', 'd', 'a', '\u{540d}', '\0', '\0'].map(|character| u32::from(character).to_le_bytes());
        assert_eq!(items, characters.concat());
        let (header, items) = read("time.npy");
        assert_eq!(header, "{'descr': '<M8[ms]', 'fortran_order': False, 'shape': (2,), }");
        assert_eq!(items, [1_790_000_000_000i64, -1].map(i64::to_le_bytes).concat());
    }
}
