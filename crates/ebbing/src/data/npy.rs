//! NumPy's `.npy` and `.npz`: a Python-dict header with type, order and shape, then the values.

use super::array::{Array, Element, Values, shape_text};
use super::file::{self, OpenFile};
use super::zip::{self, Zip};
use crate::error::{Error, Result};
use std::io::{Cursor, Read, Seek};
use std::path::Path;

/// Longer strings are no labels.
const MAX_TEXT: usize = 10_000;

/// As many axes as NumPy allows.
const MAX_AXES: usize = 64;

/// Reads all arrays of an `.npz` file, stored or compressed, in the order in which they are stored.
///
/// # Errors
/// [`Error::Io`] where it cannot be read; as for [`parse_npy`], and [`Error::File`] for a damaged archive, a name that occurs twice, or compressed arrays that
/// decode to more than [`MAX_DECODED`](super::MAX_DECODED) bytes.
pub fn read_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Array)>> {
    let path = path.as_ref();
    npz_arrays(OpenFile::open(path)?.stream(), path)
}

/// The same from bytes already in memory; `path` names them in errors.
///
/// # Errors
/// As for [`read_npz`].
pub fn parse_npz(bytes: &[u8], path: &Path) -> Result<Vec<(String, Array)>> {
    npz_arrays(Cursor::new(bytes), path)
}

/// The same from a stream.
pub(crate) fn npz_arrays(stream: impl Read + Seek, path: &Path) -> Result<Vec<(String, Array)>> {
    let mut zip = Zip::open(stream, path)?;
    let mut arrays: Vec<(String, Array)> = vec![];
    for index in 0..zip.names.len() {
        let Some(name) = zip.names[index].strip_suffix(".npy").map(String::from) else {
            let expected = "every member of an .npz file is an array with a name that ends in .npy";
            return Err(Error::file(path, "a zip member", &zip.names[index], expected));
        };
        let array = parse_npy(zip.read(index)?, path, &format!("array {name}"))?;
        arrays.push((name, array));
    }
    if arrays.is_empty() {
        return Err(Error::file(path, "the number of arrays", 0, "expected at least one"));
    }
    Ok(arrays)
}

/// The array in the bytes of an `.npy` file, of floats of 2, 4 or 8 bytes, integers, booleans or strings, in C or Fortran
/// order; `name` names it in errors.
///
/// # Errors
/// [`Error::File`] where a header field does not fit the format or the bytes' length, the type is another one, or a value is
/// not finite.
pub fn parse_npy(bytes: Vec<u8>, path: &Path, name: &str) -> Result<Array> {
    let bad = |field: &str, value: String, expected: String| {
        Error::file(path, format!("the {field} of {name}"), value, expected)
    };
    if !bytes.starts_with(b"\x93NUMPY") || bytes.len() < 10 {
        let start: String = bytes.iter().take(6).map(|b| format!("{b:02x}")).collect();
        let expected = "an .npy array starts with 0x934e554d5059 and a version";
        return Err(bad("magic number", format!("0x{start}"), expected.into()));
    }
    let (start, length) = match bytes[6] {
        1 => (10, u64::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
        2 | 3 if bytes.len() >= 12 => (12, u64::from(u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]))),
        version => return Err(bad("format version", version.to_string(), "versions 1, 2 and 3 are known".into())),
    };
    if length > (bytes.len() - start) as u64 {
        return Err(bad("header length", length.to_string(), format!("only {} bytes follow", bytes.len() - start)));
    }
    let data = start + length as usize;
    let text = String::from_utf8_lossy(&bytes[start..data]);
    let header = Header::parse(&text).map_err(|problem| bad("header", problem, "expected NumPy's header".into()))?;
    let Some((element, big_endian)) = element(&header.descr) else {
        return Err(bad("type", format!("'{}'", header.descr), UNREAD.into()));
    };
    if header.shape.contains(&0) {
        return Err(bad("shape", shape_text(&header.shape), "every axis needs a length of at least 1".into()));
    }
    let have = bytes.len() - data;
    if element.bytes(&header.shape) != Some(have) {
        let need = element.bytes(&header.shape).map_or("more than 2^64".into(), |n| n.to_string());
        let expected = format!("that takes {need} bytes, but {have} follow the header");
        return Err(bad("shape", shape_text(&header.shape), expected));
    }
    let values = placed((element, bytes, data, big_endian), (&header.shape, header.fortran), path, name)?;
    Ok(Array { shape: header.shape, values })
}

/// Values of an element type from `skip` on, put with the last index fastest; one that is refused is named by its place.
///
/// # Errors
/// [`Error::File`] for a value that is not finite or does not fit.
pub(super) fn placed(
    (element, bytes, skip, big_endian): (Element, Vec<u8>, usize, bool),
    (shape, fortran): (&[usize], bool),
    path: &Path,
    name: &str,
) -> Result<Values> {
    let values = element.decode(bytes, skip, big_endian).map_err(|(i, value)| {
        let place = match (shape, fortran) {
            ([rows, _], true) => format!("row {}, column {} of {name}", i % rows + 1, i / rows + 1),
            ([_, rest @ ..], false) if !rest.is_empty() => {
                let columns: usize = rest.iter().product();
                format!("row {}, column {} of {name}", i / columns + 1, i % columns + 1)
            }
            _ => format!("value {} of {name}", i + 1),
        };
        Error::file(path, place, value, "every value must be finite and fit 64 bits (rows and columns count from 1)")
    })?;
    Ok(if fortran { to_c_order(values, shape) } else { values })
}

/// What the header of an `.npy` file says.
pub(super) struct About {
    pub element: Element,
    pub big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<usize>,
}

/// The header at the beginning of a stream, and how many bytes it took.
///
/// # Errors
/// As for [`parse_npy`], but for what follows the header.
pub(super) fn header(stream: &mut impl Read, path: &Path, name: &str) -> Result<(About, u64)> {
    let bad = |field: &str, value: String, expected: &str| {
        Error::file(path, format!("the {field} of array {name}"), value, expected)
    };
    let mut start = [0; 12];
    let mut take = |from: usize, to: usize, bytes: &mut [u8]| {
        stream.read_exact(&mut bytes[from..to]).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                bad("magic number", "cut off".into(), "an .npy array starts with 0x934e554d5059 and a version")
            }
            _ => Error::io(path, e),
        })
    };
    take(0, 10, &mut start)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(bad(
            "magic number",
            "another one".into(),
            "an .npy array starts with 0x934e554d5059 and a version",
        ));
    }
    let (begin, length) = match start[6] {
        1 => (10, usize::from(u16::from_le_bytes([start[8], start[9]]))),
        2 | 3 => {
            take(10, 12, &mut start)?;
            (12, u32::from_le_bytes([start[8], start[9], start[10], start[11]]) as usize)
        }
        version => return Err(bad("format version", version.to_string(), "versions 1, 2 and 3 are known")),
    };
    const LONGEST: usize = 1 << 20;
    if length > LONGEST {
        return Err(bad("header length", length.to_string(), "at most 2^20 bytes are accepted"));
    }
    let mut text = vec![0; length];
    take(0, length, &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let header = Header::parse(&text).map_err(|problem| bad("header", problem, "expected NumPy's header"))?;
    let Some((element, big_endian)) = element(&header.descr) else {
        return Err(bad("type", format!("'{}'", header.descr), UNREAD));
    };
    let about = About { element, big_endian, fortran: header.fortran, shape: header.shape };
    Ok((about, (begin + length) as u64))
}

/// What is said of a type that is not read.
const UNREAD: &str = "floats of 2, 4 or 8 bytes, integers, booleans and strings are read: convert it with astype('f8')";

/// The number type and byte order that a `descr` string names.
fn element(descr: &str) -> Option<(Element, bool)> {
    let order = descr.chars().next()?;
    let element = match descr.get(1..)? {
        "b1" => Element::Bool,
        "u1" => Element::U8,
        "i1" => Element::I8,
        "u2" => Element::U16,
        "i2" => Element::I16,
        "u4" => Element::U32,
        "i4" => Element::I32,
        "u8" => Element::U64,
        "i8" => Element::I64,
        "f2" => Element::F16,
        "f4" => Element::F32,
        "f8" => Element::F64,
        // NumPy has no name for bfloat16: what ml_dtypes calls so is stored as two bytes of no type.
        "V2" => Element::BF16,
        other => {
            let length = other.get(1..)?.parse().ok().filter(|length| (1..=MAX_TEXT).contains(length))?;
            match other.chars().next()? {
                'U' => Element::Text(length),
                'S' => Element::ByteText(length),
                _ => return None,
            }
        }
    };
    match order {
        '<' => Some((element, false)),
        '>' => Some((element, true)),
        '|' if element.size() == 1 || matches!(element, Element::ByteText(_) | Element::BF16) => Some((element, false)),
        _ => None,
    }
}

/// Values stored with the first index fastest, put with the last index fastest.
fn to_c_order(values: Values, shape: &[usize]) -> Values {
    match values {
        Values::Bytes(v) => Values::Bytes(reorder(&v, shape)),
        Values::Integers(v) => Values::Integers(reorder(&v, shape)),
        Values::Real(v) => Values::Real(reorder(&v, shape)),
        Values::Texts(v) => Values::Texts(reorder(&v, shape)),
    }
}

fn reorder<T: Clone>(values: &[T], shape: &[usize]) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    let next = |_| {
        let value = values[at].clone();
        // Count up, last index fastest; `at` follows in Fortran strides.
        for (axis, i) in index.iter_mut().enumerate().rev() {
            let stride: usize = shape[..axis].iter().product();
            *i += 1;
            at += stride;
            if *i < shape[axis] {
                break;
            }
            at -= stride * *i;
            *i = 0;
        }
        value
    };
    (0..values.len()).map(next).collect()
}

/// The three entries of the header.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Parses `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`; the error says what was found.
    fn parse(text: &str) -> std::result::Result<Header, String> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut rest = Scanner { rest: text };
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.quoted()?;
            rest.expect(':')?;
            match key.as_str() {
                "descr" => descr = Some(rest.quoted()?),
                "fortran_order" => fortran = Some(rest.boolean()?),
                "shape" => shape = Some(rest.tuple()?),
                other => return Err(format!("with an unknown entry '{other}'")),
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        match (descr, fortran, shape, rest.rest.trim().is_empty()) {
            (Some(descr), Some(fortran), Some(shape), true) => Ok(Header { descr, fortran, shape }),
            (_, _, _, false) => Err("followed by something else".into()),
            _ => Err("without one of 'descr', 'fortran_order', 'shape'".into()),
        }
    }
}

/// Reads the few Python literals that a header uses.
struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn take(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(c);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, c: char) -> std::result::Result<(), String> {
        if self.take(c) { Ok(()) } else { Err(self.found(&format!("'{c}'"))) }
    }

    /// What stands where something else was needed.
    fn found(&self, needed: &str) -> String {
        let next: String = self.rest.chars().take(12).collect();
        format!("\"{}\" where {needed} should stand", next.escape_default())
    }

    fn quoted(&mut self) -> std::result::Result<String, String> {
        let quote = ['\'', '"'].into_iter().find(|&q| self.take(q)).ok_or_else(|| self.found("a quoted word"))?;
        let end = self.rest.find(quote).ok_or_else(|| self.found("a closing quote"))?;
        let word = self.rest[..end].to_string();
        self.rest = &self.rest[end + 1..];
        Ok(word)
    }

    fn boolean(&mut self) -> std::result::Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.found("True or False"))
    }

    fn tuple(&mut self) -> std::result::Result<Vec<usize>, String> {
        let mut lengths = vec![];
        self.expect('(')?;
        while !self.take(')') {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            lengths.push(self.rest[..end].parse().map_err(|_| self.found("a length"))?);
            if lengths.len() > MAX_AXES {
                return Err(format!("with more than {MAX_AXES} axes"));
            }
            self.rest = &self.rest[end..];
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(lengths)
    }
}

/// Writes arrays as an uncompressed `.npz` file, completely or not at all.
///
/// # Errors
/// [`Error::Io`] where the file or its folder, which is made if need be, cannot be written.
pub fn write_npz(path: impl AsRef<Path>, arrays: &[(&str, &Array)]) -> Result<()> {
    let path = path.as_ref();
    let members: Vec<_> = arrays.iter().map(|(name, array)| (format!("{name}.npy"), to_npy(array))).collect();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    }
    file::write_atomic(path, &zip::store(&members, path)?)
}

/// The bytes of an `.npy` file, in C order.
pub fn to_npy(array: &Array) -> Vec<u8> {
    let lengths: String = array.shape.iter().map(|n| format!("{n},")).collect();
    let (descr, size) = match &array.values {
        Values::Bytes(v) => ("|u1".to_string(), v.len()),
        Values::Integers(v) => ("<i8".into(), 8 * v.len()),
        Values::Real(v) => ("<f8".into(), 8 * v.len()),
        Values::Texts(v) => (format!("<U{}", longest(v)), 4 * longest(v) * v.len()),
    };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // Magic, version and length take 10 bytes; the values start at a multiple of 64.
    header.extend(std::iter::repeat_n(' ', 63 - (10 + header.len()) % 64));
    header.push('\n');
    let mut bytes = Vec::with_capacity(10 + header.len() + size);
    bytes.extend(b"\x93NUMPY\x01\x00");
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    match &array.values {
        Values::Bytes(v) => bytes.extend(v),
        Values::Integers(v) => v.iter().for_each(|n| bytes.extend(n.to_le_bytes())),
        Values::Real(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Values::Texts(v) => {
            for text in v {
                let padded = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest(v));
                padded.for_each(|c| bytes.extend(c.to_le_bytes()));
            }
        }
    }
    bytes
}

/// The length of the longest string, at least 1.
fn longest(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1)
}
