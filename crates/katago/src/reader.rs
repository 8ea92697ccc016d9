//! The words and numbers of a file, one after the other.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::error::FileError;

/// The most bytes that a file may have when it is unpacked. The largest networks have less than 1 GB.
const MOST_BYTES: u64 = 4 << 30;

/// The mark before numbers in binary form.
const BINARY: &[u8] = b"@BIN@";

/// The longest word of a file; longer ones are cut off in messages.
const LONGEST_SHOWN: usize = 40;

/// The first bytes of files that people take for networks.
const OTHER_KINDS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a zip archive, such as a checkpoint of PyTorch"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
    (b"BZh", "a file compressed with bzip2"),
    (b"version https://git-lfs", "a pointer of Git LFS"),
    (b"<", "a web page"),
    (b"\x08", "an ONNX file"),
];

/// Reads a file from its start.
pub(crate) struct Reader {
    bytes: Vec<u8>,
    at: usize,
    /// The layer that is being read, for messages.
    pub(crate) place: String,
}

impl Reader {
    /// Unpacks a file.
    pub(crate) fn new(file: &[u8]) -> Result<Reader, FileError> {
        let bytes = match file {
            [0x1f, 0x8b, ..] => unpacked(file)?,
            [] => return Err(FileError::OtherKind("an empty file")),
            _ => plain(file)?,
        };
        let place = "the header".to_owned();
        Ok(Reader { bytes, at: 0, place })
    }

    /// An error about the place that is being read.
    pub(crate) fn invalid(&self, expected: impl Into<String>, found: impl Into<String>) -> FileError {
        FileError::Invalid {
            place: self.place.clone(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    fn truncated(&self) -> FileError {
        let within = self.place.clone();
        FileError::Truncated { within }
    }

    fn skip_space(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    /// The next word.
    pub(crate) fn word(&mut self) -> Result<String, FileError> {
        self.skip_space();
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let shown = &rest[..length.min(LONGEST_SHOWN)];
        if length == 0 {
            return Err(self.truncated());
        }
        if length > LONGEST_SHOWN * 10 || !shown.is_ascii() {
            return Err(self.invalid("a word", format!("{:?}", String::from_utf8_lossy(shown))));
        }
        let word = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length;
        Ok(word)
    }

    /// The next number, which is called `what` in messages.
    pub(crate) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, FileError> {
        let word = self.word()?;
        word.parse()
            .map_err(|_| self.invalid(what, format!("{:?}", &word[..word.len().min(LONGEST_SHOWN)])))
    }

    /// The next number, between 1 and `most`.
    pub(crate) fn count(&mut self, what: &str, most: usize) -> Result<usize, FileError> {
        let found: i64 = self.number(what)?;
        match usize::try_from(found) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(self.invalid(format!("{what} from 1 to {most}"), found.to_string())),
        }
    }

    /// The next numbers, which are weights: in binary form or as words.
    pub(crate) fn floats(&mut self, count: usize) -> Result<Vec<f32>, FileError> {
        self.skip_space();
        let rest = &self.bytes[self.at..];
        let values = if rest.starts_with(BINARY) {
            let data = rest[BINARY.len()..].get(..4 * count).ok_or_else(|| self.truncated())?;
            let (quads, _) = data.as_chunks::<4>();
            self.at += BINARY.len() + data.len();
            quads.iter().map(|&quad| f32::from_le_bytes(quad)).collect()
        } else {
            self.text_floats(count)?
        };
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(self.invalid("weights that are finite", value.to_string())),
            None => Ok(values),
        }
    }

    fn text_floats(&mut self, count: usize) -> Result<Vec<f32>, FileError> {
        // Every number takes a character and a space, so a wrong count cannot ask for memory without end.
        if self.bytes.len() - self.at < 2 * count - 1 {
            return Err(self.truncated());
        }
        (0..count).map(|_| self.number("a weight")).collect()
    }
}

fn unpacked(file: &[u8]) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(file).take(MOST_BYTES).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 == MOST_BYTES => Err(FileError::Damaged("more than 4 GB of data".to_owned())),
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(FileError::Truncated {
            within: format!("the compressed data, after {} bytes of the network", bytes.len()),
        }),
        Err(error) => Err(FileError::Damaged(error.to_string())),
    }
}

/// A file that is not compressed.
fn plain(file: &[u8]) -> Result<Vec<u8>, FileError> {
    if let Some((_, kind)) = OTHER_KINDS.iter().find(|(start, _)| file.starts_with(start)) {
        return Err(FileError::OtherKind(kind));
    }
    if file.get(8) == Some(&b'{') {
        return Err(FileError::OtherKind("a safetensors file"));
    }
    let head = &file[..file.len().min(LONGEST_SHOWN)];
    if !head
        .iter()
        .all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    {
        return Err(FileError::OtherKind("a file of unknown kind, without gzip compression"));
    }
    Ok(file.to_vec())
}
