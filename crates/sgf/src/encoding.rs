//! Detects the encoding of a file and decodes it before anything is parsed.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS, UTF_8};

use crate::parse::begins_root_bytes;

/// The decoded text of a file and how it was decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SgfText<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// Name of the encoding of the first part, such as `UTF-8` or `gb18030`.
    pub encoding: &'static str,
    /// Whether bytes had to be replaced by U+FFFD because no encoding fits all of them.
    pub is_damaged: bool,
}

impl<'a> SgfText<'a> {
    /// Decodes a file:
    ///
    /// 2. Bytes that are valid UTF-8 are UTF-8, even if `CA` says Latin-1 or another single-byte encoding.
    /// 3. The encoding stated by `CA`, if all bytes are valid in it.
    /// 3. What `CA` states, if all bytes fit it.
    /// 4. Else a guess from the bytes' statistics among GBK (GB18030), Big5, Shift_JIS, EUC-JP, EUC-KR, Latin-1 and
    ///    other single-byte encodings.
    ///
    /// A file whose games state different encodings, or do not fit the stated one, is decoded game by game.
    pub fn decode(bytes: &'a [u8]) -> SgfText<'a> {
        if let Some((encoding, _)) = Encoding::for_bom(bytes) {
            let (text, _, is_damaged) = encoding.decode(bytes);
            return SgfText::new(text, encoding, is_damaged);
        }
        if bytes.is_ascii() {
            return SgfText::new(String::from_utf8_lossy(bytes), UTF_8, false);
        }
        let stated = stated_encodings(bytes);
        if stated.len() <= 1 {
            let whole = decode_as_stated(bytes, stated.first().copied());
            if !whole.is_damaged {
                return whole;
            }
        }
        decode_parts(bytes)
    }

    fn new(text: Cow<'a, str>, encoding: &'static Encoding, is_damaged: bool) -> SgfText<'a> {
        SgfText {
            text,
            encoding: encoding.name(),
            is_damaged,
        }
    }
}

/// Decodes every game on its own.
fn decode_parts(bytes: &[u8]) -> SgfText<'static> {
    let mut starts: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at] == b'(' && begins_root_bytes(&bytes[at..]))
        .collect();
    starts.retain(|&at| at > 0);
    starts.push(bytes.len());
    let mut text = String::with_capacity(bytes.len());
    let mut encoding = None;
    let mut is_damaged = false;
    let mut from = 0;
    for to in starts {
        let part = &bytes[from..to];
        let decoded = decode_as_stated(part, stated_encodings(part).first().copied());
        text.push_str(&decoded.text);
        if !part.is_ascii() {
            encoding.get_or_insert(decoded.encoding);
        }
        is_damaged |= decoded.is_damaged;
        from = to;
    }
    SgfText {
        text: Cow::Owned(text),
        encoding: encoding.unwrap_or(UTF_8.name()),
        is_damaged,
    }
}

/// Decodes bytes without a byte order mark that state at most one encoding.
fn decode_as_stated<'a>(bytes: &'a [u8], stated: Option<&'static Encoding>) -> SgfText<'a> {
    let double = stated.filter(|encoding| !encoding.is_single_byte() && *encoding != UTF_8);
    if let Ok(text) = std::str::from_utf8(bytes)
        && (double.is_none() || text.chars().any(|character| character >= '\u{800}'))
    {
        return SgfText::new(Cow::Borrowed(text), UTF_8, false);
    }
    if let Some(encoding) = stated
        && let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes)
    {
        return SgfText::new(text, encoding, false);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Allow);
    let (text, is_damaged) = guess.decode_without_bom_handling(bytes);
    SgfText::new(text, guess, is_damaged)
}

/// The distinct encodings named by `CA` properties, in order.
fn stated_encodings(bytes: &[u8]) -> Vec<&'static Encoding> {
    let mut found = Vec::new();
    for at in memchr::memmem::find_iter(bytes, b"CA") {
        let is_inside_name = at > 0 && bytes[at - 1].is_ascii_uppercase();
        let rest = bytes[at + 2..].trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b"[").filter(|_| !is_inside_name) else {
            continue;
        };
        let label = rest
            .iter()
            .take(40)
            .position(|&byte| byte == b']')
            .map(|end| &rest[..end]);
        if let Some(encoding) = label.and_then(encoding_of_label)
            && !found.contains(&encoding)
        {
            found.push(encoding);
        }
    }
    found
}

/// Looks up an encoding by the name used on the web and in Windows; encodings that are not ASCII-compatible are
/// excluded.
fn encoding_of_label(label: &[u8]) -> Option<&'static Encoding> {
    let windows = [("cp936", GBK), ("cp950", BIG5), ("cp932", SHIFT_JIS), ("cp949", EUC_KR)];
    let label = label.trim_ascii();
    let named = windows
        .iter()
        .find(|(name, _)| label.eq_ignore_ascii_case(name.as_bytes()));
    let encoding = named
        .map(|&(_, encoding)| encoding)
        .or_else(|| Encoding::for_label(label));
    encoding.filter(|encoding| encoding.is_ascii_compatible())
}
