//! An array as files store it: a shape and values of one kind, and its way into features and targets.

use super::{Features, Targets};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use std::path::Path;

/// The values of an [`Array`], in C order (last index fastest).
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Unsigned bytes and booleans.
    Bytes(Vec<u8>),
    /// Any other integers.
    Integers(Vec<i64>),
    /// Floating-point numbers.
    Real(Vec<f64>),
    /// Strings.
    Texts(Vec<String>),
}

impl Values {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Bytes(v) => v.len(),
            Values::Integers(v) => v.len(),
            Values::Real(v) => v.len(),
            Values::Texts(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i` as a real number; a string is none.
    fn real(&self, i: usize) -> f64 {
        match self {
            Values::Bytes(v) => f64::from(v[i]),
            Values::Integers(v) => v[i] as f64,
            Values::Real(v) => v[i],
            Values::Texts(_) => f64::NAN,
        }
    }
}

/// An array read from a file; floating-point values are finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The length along each axis.
    pub shape: Vec<usize>,
    /// The values.
    pub values: Values,
}

impl Array {
    /// The number of examples: the length of the first axis (1 for a scalar).
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Values per example: the product of the other axes.
    pub fn columns(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// The rows of a matrix.
    pub fn from_mat(m: MatRef<'_, f64>) -> Array {
        let values = (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)])).collect();
        Array { shape: vec![m.nrows(), m.ncols()], values: Values::Real(values) }
    }

    /// One row per example, the other axes flattened.
    pub fn to_mat(&self) -> Mat<f64> {
        let columns = self.columns();
        Mat::from_fn(self.rows(), columns, |i, j| self.values.real(i * columns + j))
    }

    /// Refuses strings where numbers are needed.
    ///
    /// # Errors
    /// [`Error::File`] for an array of strings.
    pub(crate) fn require_numbers(&self, path: &Path, name: &str) -> Result<()> {
        match &self.values {
            Values::Texts(_) => Err(Error::file(path, format!("the type of {name}"), "text", "numbers are needed")),
            _ => Ok(()),
        }
    }

    /// Features: bytes stay bytes.
    pub(super) fn into_features(self, path: &Path, name: &str) -> Result<Features> {
        self.require_numbers(path, name)?;
        let (rows, dim) = (self.rows(), self.columns());
        if self.shape.len() < 2 || rows == 0 || dim == 0 {
            let expected =
                "expected examples along the first axis and features along at least one more, none of length 0";
            return Err(Error::file(path, format!("the shape of {name}"), shape_text(&self.shape), expected));
        }
        Ok(match self.values {
            Values::Bytes(pixels) => Features::Bytes { pixels, dim },
            _ => Features::Real(self.to_mat()),
        })
    }

    /// Targets: a single column of integers are class labels; anything else is real.
    pub(super) fn into_targets(self, path: &Path, name: &str) -> Result<Targets> {
        let columns = self.columns();
        if self.shape.is_empty() || self.rows() == 0 || columns == 0 {
            let expected = "expected one label or one row of targets per example, no axis of length 0";
            return Err(Error::file(path, format!("the shape of {name}"), shape_text(&self.shape), expected));
        }
        self.require_numbers(path, name)?;
        Ok(match self.values {
            Values::Bytes(v) if columns == 1 => Targets::Classes(v.into_iter().map(i64::from).collect()),
            Values::Integers(v) if columns == 1 => Targets::Classes(v),
            _ => Targets::Real(self.to_mat()),
        })
    }
}

/// A shape as people write it: `60000 x 28 x 28`.
pub(super) fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "that of a single number".into();
    }
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

/// The types of number that IDX and npy files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    /// The upper half of single precision.
    BF16,
    F32,
    F64,
    /// Strings of at most so many UCS-4 characters.
    Text(usize),
    /// Strings of at most so many bytes.
    ByteText(usize),
}

impl Element {
    /// Bytes per number.
    pub fn size(self) -> usize {
        match self {
            Element::Bool | Element::U8 | Element::I8 => 1,
            Element::U16 | Element::I16 | Element::F16 | Element::BF16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
            Element::Text(length) => 4 * length,
            Element::ByteText(length) => length,
        }
    }

    /// The bytes that an array of this type and shape takes, unless that overflows.
    pub fn bytes(self, shape: &[usize]) -> Option<usize> {
        shape.iter().try_fold(self.size(), |n, &length| n.checked_mul(length))
    }

    /// Decodes numbers; `Err` carries the index and text of one that is not finite or does not fit 64 signed bits.
    pub fn decode(
        self,
        mut bytes: Vec<u8>,
        skip: usize,
        big_endian: bool,
    ) -> std::result::Result<Values, (usize, String)> {
        // Bytes are moved, not copied: image files are large.
        if matches!(self, Element::U8 | Element::Bool) {
            bytes.drain(..skip);
            if let Some(i) = bytes.iter().position(|&b| self == Element::Bool && b > 1) {
                return Err((i, format!("{} where a boolean is 0 or 1", bytes[i])));
            }
            return Ok(Values::Bytes(bytes));
        }
        let numbers = bytes[skip..].chunks_exact(self.size());
        if let Element::Text(_) | Element::ByteText(_) = self {
            let texts = numbers.enumerate().map(|(i, b)| self.text(b, big_endian).map_err(|text| (i, text)));
            return texts.collect::<std::result::Result<_, _>>().map(Values::Texts);
        }
        if self.is_real() {
            let mut values = Vec::with_capacity(numbers.len());
            values.extend(numbers.map(|b| self.real(b, big_endian)));
            return match values.iter().position(|value: &f64| !value.is_finite()) {
                Some(i) => Err((i, values[i].to_string())),
                None => Ok(Values::Real(values)),
            };
        }
        let mut values = Vec::with_capacity(numbers.len());
        for (i, b) in numbers.enumerate() {
            values.push(self.integer(b, big_endian).map_err(|text| (i, text))?);
        }
        Ok(Values::Integers(values))
    }

    fn is_real(self) -> bool {
        matches!(self, Element::F16 | Element::BF16 | Element::F32 | Element::F64)
    }

    /// Decodes as many numbers as `values` takes; what is not finite stays so, and strings are none.
    pub fn decode_into(self, bytes: &[u8], big_endian: bool, values: &mut [f64]) {
        let size = self.size();
        let numbers = values.iter_mut().zip(bytes.chunks_exact(size));
        match (self, big_endian) {
            // Those that features come in have loops of their own, which the compiler makes wide.
            (Element::F16, false) => numbers.for_each(|(v, b)| *v = quick_half(u16::from_le_bytes([b[0], b[1]]))),
            (Element::BF16, false) => {
                numbers.for_each(|(v, b)| *v = f64::from(f32::from_bits(u32::from_le_bytes([0, 0, b[0], b[1]]))))
            }
            (Element::F32, false) => {
                numbers.for_each(|(v, b)| *v = f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
            }
            (Element::U8 | Element::Bool, _) => numbers.for_each(|(v, b)| *v = f64::from(b[0])),
            _ if self.is_real() => numbers.for_each(|(v, b)| *v = self.real(b, big_endian)),
            _ => numbers.for_each(|(v, b)| *v = self.integer(b, big_endian).map_or(f64::NAN, |n| n as f64)),
        }
    }

    fn real(self, b: &[u8], big_endian: bool) -> f64 {
        let bits = word(b, big_endian);
        match self {
            Element::F16 => half(bits as u16),
            Element::BF16 => f64::from(f32::from_bits((bits as u32) << 16)),
            Element::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    /// A string without the zeros behind it.
    fn text(self, b: &[u8], big_endian: bool) -> std::result::Result<String, String> {
        let broken = || "no text".to_string();
        let text = match self {
            Element::ByteText(_) => String::from_utf8(b.to_vec()).map_err(|_| broken())?,
            _ => {
                let char = |b: &[u8]| char::from_u32(word(b, big_endian) as u32);
                b.chunks_exact(4).map(char).collect::<Option<String>>().ok_or_else(broken)?
            }
        };
        Ok(text.trim_end_matches('\0').to_string())
    }

    fn integer(self, b: &[u8], big_endian: bool) -> std::result::Result<i64, String> {
        let word = word(b, big_endian);
        Ok(match self {
            Element::I8 => i64::from(word as i8),
            Element::I16 => i64::from(word as i16),
            Element::I32 => i64::from(word as i32),
            Element::I64 => word as i64,
            _ => i64::try_from(word).map_err(|_| format!("{word}, above 2^63 - 1"))?,
        })
    }
}

/// A number of half precision: `(−1)^s 2^{e−15} (1 + m/1024)`, with e = 0 for `2^{−14} m/1024` and e = 31 for ∞ and NaN.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    let size = match exponent {
        0 => mantissa * 2f64.powi(-14),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// The same by shifting its bits into single precision, whose exponents are larger by 112.
fn quick_half(bits: u16) -> f64 {
    let (sign, rest) = (u32::from(bits >> 15) << 31, u32::from(bits & 0x7fff));
    let size = f32::from_bits(rest << 13) * f32::from_bits((127 + 112) << 23);
    let size = if rest >= 0x7c00 { f32::from_bits(0x7f80_0000 | rest << 13) } else { size };
    f64::from(f32::from_bits(sign | size.to_bits()))
}

/// Up to eight bytes as an unsigned number.
fn word(b: &[u8], big_endian: bool) -> u64 {
    let join = |n: u64, &byte: &u8| n << 8 | u64::from(byte);
    if big_endian { b.iter().fold(0, join) } else { b.iter().rev().fold(0, join) }
}
