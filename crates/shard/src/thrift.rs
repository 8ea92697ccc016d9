//! Reads the header of a Parquet page, which is written in Thrift's compact protocol. The `parquet` crate does not
//! expose what it reads there.
//!
//! Thrift compact protocol and `PageHeader` as in apache/parquet-format: `src/main/thrift/parquet.thrift`.

/// Maximum nesting of structs; a page header has three levels.
const MAX_DEPTH: usize = 8;

/// The contents of a page header.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Number of values, including nulls and empty lists.
    pub(crate) values: u64,
    /// Size of the page after the header, in bytes.
    pub(crate) compressed: usize,
    /// Size of the decompressed page, in bytes.
    pub(crate) unpacked: u64,
}

/// The page whose header is at the start of the bytes, and the length of that header; `None` if there is no valid
/// header.
pub(crate) fn read_page_header(bytes: &[u8]) -> Option<(Page, usize)> {
    let mut input = Input { bytes, at: 0 };
    let (mut unpacked, mut compressed, mut values) = (None, None, 0);
    input.fields(0, &mut |input, id, kind| {
        match (id, kind) {
            (2, I32) => unpacked = Some(u64::try_from(input.signed()?).ok()?),
            (3, I32) => compressed = Some(usize::try_from(input.signed()?).ok()?),
            (2 | 3, _) => return None,
            // The headers of dictionaries and of both versions of data pages begin with their number of values.
            (5 | 7 | 8, STRUCT) => input.fields(1, &mut |input, id, kind| match (id, kind) {
                (1, I32) => {
                    values = values.max(u64::try_from(input.signed()?).ok()?);
                    Some(())
                }
                (1, _) => None,
                _ => input.skip(kind, 2),
            })?,
            (5 | 7 | 8, _) => return None,
            _ => input.skip(kind, 1)?,
        }
        Some(())
    })?;
    let page = Page {
        values,
        compressed: compressed?,
        unpacked: unpacked?,
    };
    Some((page, input.at))
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// A byte slice and the read position.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Handles a field, given its id and kind.
type Visit<'v, 'a> = dyn FnMut(&mut Input<'a>, i64, u8) -> Option<()> + 'v;

impl<'a> Input<'a> {
    /// Reads a struct to its end.
    fn fields(&mut self, depth: usize, visit: &mut Visit<'_, 'a>) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut id = 0i64;
        loop {
            let byte = self.byte()?;
            let kind = byte & 15;
            if byte == 0 {
                return Some(());
            }
            id = match byte >> 4 {
                0 => self.signed()?,
                step => id.checked_add(step.into())?,
            };
            visit(self, id, kind)?;
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.advance(1),
            I16 | I32 | I64 => self.signed().map(|_| ()),
            DOUBLE => self.advance(8),
            BINARY => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                self.advance(length)
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.unsigned()?,
                    count => count.into(),
                };
                (0..count).try_for_each(|_| self.skip_item(head & 15, depth))
            }
            MAP => {
                let count = self.unsigned()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_item(kinds >> 4, depth)?;
                    self.skip_item(kinds & 15, depth)
                })
            }
            STRUCT => self.fields(depth, &mut |input, _, kind| input.skip(kind, depth + 1)),
            _ => None,
        }
    }

    /// An item of a list takes at least one byte, even a boolean.
    fn skip_item(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            TRUE | FALSE => self.advance(1),
            _ if depth > MAX_DEPTH => None,
            _ => self.skip(kind, depth + 1),
        }
    }

    fn advance(&mut self, bytes: usize) -> Option<()> {
        self.at = self.at.checked_add(bytes).filter(|&at| at <= self.bytes.len())?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_page_headers() {
        // type 0, 300 bytes of 40, a checksum, then a data page header: 7 values, encoding 0, …
        let header = [0x15, 0, 0x15, 0xd8, 4, 0x15, 80, 0x15, 2, 0x1c, 0x15, 14, 0x15, 0, 0, 0];
        let page = Page {
            values: 7,
            compressed: 40,
            unpacked: 300,
        };
        assert_eq!(read_page_header(&header), Some((page, 16)));
        assert_eq!(read_page_header(&header[..15]), None);
        assert_eq!(read_page_header(&[]), None);
        // A negative size, a size that is not a number, endlessly nested structs.
        assert_eq!(read_page_header(&[0x25, 1, 0x15, 80, 0]), None);
        assert_eq!(read_page_header(&[0x28, 0, 0x15, 80, 0]), None);
        assert_eq!(read_page_header(&[0xfc; 100]), None);
    }

    #[test]
    fn skips_unknown_fields() {
        // Field 9: a list of two binaries, a map, a boolean, a double; then the sizes.
        let mut bytes = vec![0x99, 0x28, 1, b'x', 0, 0x1b, 1, 0x58, 2, 1, b'y', 0x11, 0x17];
        bytes.extend([0; 8]);
        bytes.extend([0x05, 4, 2, 0x15, 6, 0]);
        let (page, length) = read_page_header(&bytes).unwrap();
        assert_eq!((page.unpacked, page.compressed, length), (1, 3, bytes.len()));
    }
}
