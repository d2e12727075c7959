//! MATLAB's `.mat` files of level 5 (`save -v6` and `-v7`): a header of 128 bytes, then elements of a type, a length and data,
//! those of `-v7` packed by zlib. Real numeric arrays are read; what MATLAB 7.3 writes is HDF5 and is not.

use super::array::{Array, Element, Values};
use super::file::MAX_DECODED;
use super::npy::placed;
use crate::error::{Error, Result};
use flate2::bufread::ZlibDecoder;
use std::io::Read;
use std::path::Path;

/// The length of the header.
const HEADER: usize = 128;
/// The type of an array.
const ARRAY: u32 = 14;
/// The type of an element that is packed.
const PACKED: u32 = 15;
/// The bit of an array's flags that says it is complex.
const COMPLEX: u32 = 0x800;
/// More axes than anybody means.
const MOST_AXES: usize = 32;

/// All arrays in the bytes of a `.mat` file, in the order in which they are stored; `path` names them in errors.
///
/// # Errors
/// [`Error::File`] for a file of another level, a damaged one, an array that is not of real numbers, or a value that is not
/// finite.
pub fn parse_mat(bytes: &[u8], path: &Path) -> Result<Vec<(String, Array)>> {
    let refuse = |value: &str| {
        let expected = "only those that save -v7 or -v6 writes are read: save it so, or as .npz or .csv";
        Error::file(path, "the format", value, expected)
    };
    if bytes.starts_with(b"MATLAB 7.3") || bytes.get(512..516) == Some(b"\x89HDF") || bytes.starts_with(b"\x89HDF") {
        return Err(refuse("that of MATLAB 7.3 (HDF5)"));
    }
    let big_endian = match bytes.get(124..HEADER) {
        Some([0, 1, b'I', b'M']) => false,
        Some([1, 0, b'M', b'I']) => true,
        _ => return Err(refuse("not that of MATLAB 5")),
    };
    let mut all = Reader { bytes: &bytes[HEADER..], big_endian, path };
    let mut arrays = vec![];
    while !all.bytes.is_empty() {
        let (kind, data) = all.element()?;
        let unpacked = if kind == PACKED { Some(all.unpacked(data)?) } else { None };
        let (kind, data) = match &unpacked {
            Some(bytes) => Reader { bytes, ..all }.element()?,
            None => (kind, data),
        };
        if kind != ARRAY {
            return Err(all.damaged(&format!("an element of type {kind} where an array should stand")));
        }
        arrays.extend(Reader { bytes: data, ..all }.array()?);
    }
    match arrays.is_empty() {
        true => Err(Error::file(path, "the number of arrays", 0, "expected at least one")),
        false => Ok(arrays),
    }
}

/// What has not been read of a sequence of elements.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    path: &'a Path,
}

impl<'a> Reader<'a> {
    fn damaged(&self, problem: &str) -> Error {
        Error::file(self.path, "the file", format!("damaged: {problem}"), "save it again")
    }

    /// The first so many bytes.
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (first, rest) = self.bytes.split_at_checked(length).ok_or_else(|| self.damaged("it is cut off"))?;
        self.bytes = rest;
        Ok(first)
    }

    fn word(&self, bytes: &[u8]) -> u32 {
        let mut four = [0; 4];
        four.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        if self.big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    }

    /// The type and the data of the next element; all but packed ones are filled up to a multiple of 8 bytes.
    fn element(&mut self) -> Result<(u32, &'a [u8])> {
        let tag = self.take(8)?;
        let kind = self.word(&tag[..4]);
        if kind >> 16 != 0 {
            // Up to four bytes stand in the tag itself, their number above the type.
            let length = (kind >> 16) as usize;
            let data = tag[4..].get(..length).ok_or_else(|| self.damaged("a tag with more than four bytes"))?;
            return Ok((kind & 0xffff, data));
        }
        let length = self.word(&tag[4..]) as usize;
        let data = self.take(length)?;
        if kind != PACKED {
            let gap = length.next_multiple_of(8) - length;
            // At the end of the file it may be missing.
            self.take(gap.min(self.bytes.len()))?;
        }
        Ok((kind, data))
    }

    fn unpacked(&self, data: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = vec![];
        let read = ZlibDecoder::new(data).take(MAX_DECODED + 1).read_to_end(&mut bytes);
        read.map_err(|e| self.damaged(&e.to_string()))?;
        if bytes.len() as u64 > MAX_DECODED {
            let expected = format!("at most {MAX_DECODED} bytes are accepted from a compressed file");
            return Err(Error::file(self.path, "the decoded size", format!("more than {MAX_DECODED} bytes"), expected));
        }
        Ok(bytes)
    }

    /// The name and values of an array; none for what MATLAB itself keeps without a name.
    fn array(mut self) -> Result<Option<(String, Array)>> {
        let flags = self.element()?.1;
        let flags = self.word(flags);
        let lengths = self.element()?.1;
        let shape: Vec<usize> = lengths.chunks_exact(4).map(|length| self.word(length) as usize).collect();
        let name = String::from_utf8_lossy(self.element()?.1).into_owned();
        if name.is_empty() {
            return Ok(None);
        }
        let place = format!("array {name}");
        let refuse =
            |what: &str, expected: &str| Err(Error::file(self.path, format!("the type of {place}"), what, expected));
        let class = flags & 0xff;
        match class {
            6..=15 if flags & COMPLEX != 0 => {
                return refuse("complex", "real numbers are needed: save real and imaginary parts apart");
            }
            6..=15 => {}
            5 => return refuse("sparse", "save it with full()"),
            4 => return refuse("text", "real numbers are needed: leave it out, or number the classes"),
            _ => return refuse("no numeric array", "real numbers are needed: leave it out"),
        }
        let (kind, data) = self.element()?;
        let Some(element) = stored_as(kind) else { return Err(self.damaged(&format!("numbers of type {kind}"))) };
        if shape.len() > MOST_AXES || shape.contains(&0) || element.bytes(&shape) != Some(data.len()) {
            return Err(self.damaged(&format!("{place} has {} bytes for a shape of {shape:?}", data.len())));
        }
        let values = placed((element, data.to_vec(), 0, self.big_endian), (&shape, true), self.path, &place)?;
        Ok(Some((name, Array { shape, values: of_class(values, class) })))
    }
}

/// The number type of an element. Numbers are stored as small as they fit, whatever they are.
fn stored_as(kind: u32) -> Option<Element> {
    Some(match kind {
        1 => Element::I8,
        2 => Element::U8,
        3 => Element::I16,
        4 => Element::U16,
        5 => Element::I32,
        6 => Element::U32,
        7 => Element::F32,
        9 => Element::F64,
        12 => Element::I64,
        13 => Element::U64,
        _ => return None,
    })
}

/// Values as what they are: double and single (6, 7) are real numbers, uint8 and logical (9) bytes, all others integers.
fn of_class(values: Values, class: u32) -> Values {
    match (values, class) {
        (Values::Bytes(v), 6 | 7) => Values::Real(v.into_iter().map(f64::from).collect()),
        (Values::Integers(v), 6 | 7) => Values::Real(v.into_iter().map(|n| n as f64).collect()),
        (Values::Bytes(v), 8 | 10..) => Values::Integers(v.into_iter().map(i64::from).collect()),
        (values, _) => values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    /// An element, filled up to 8 bytes.
    fn element(kind: u32, data: &[u8]) -> Vec<u8> {
        let mut all = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        all.extend(data);
        all.resize(all.len().next_multiple_of(8), 0);
        all
    }

    fn array(name: &str, flags: u32, shape: &[u32], numbers: Vec<u8>) -> Vec<u8> {
        let words = |all: &[u32]| all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let parts = [element(6, &words(&[flags, 0])), element(5, &words(shape)), element(1, name.as_bytes()), numbers];
        element(ARRAY, &parts.concat())
    }

    fn mat(elements: &[Vec<u8>]) -> Vec<u8> {
        let mut all = b"MATLAB 5.0 MAT-file".to_vec();
        all.resize(124, b' ');
        all.extend([0, 1, b'I', b'M']);
        all.extend(elements.concat());
        all
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(vec![], Compression::best());
        encoder.write_all(bytes).unwrap();
        let data = encoder.finish().unwrap();
        [&PACKED.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), &data].concat()
    }

    fn read(elements: &[Vec<u8>]) -> Result<Vec<(String, Array)>> {
        parse_mat(&mat(elements), Path::new("f.mat"))
    }

    #[test]
    fn arrays_plain_and_packed_are_read() {
        let reals: Vec<u8> = [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let x = array("x_1", 6, &[2, 3], element(9, &reals));
        // Doubles that fit a byte are stored as bytes; up to four stand in the tag itself.
        let small = [2_u32 | 2 << 16, u32::from_le_bytes([1, 7, 0, 0])].iter().flat_map(|n| n.to_le_bytes()).collect();
        let y = array("y_1", 6, &[2, 1], small);
        let labels = array("n", 12, &[1, 3], element(1, &[3, 0xff, 5]));
        let found = read(&[packed(&x), y, packed(&labels)]).unwrap();
        // Columns first in the file, rows first here.
        let expected = Values::Real(vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        assert_eq!(found[0], ("x_1".into(), Array { shape: vec![2, 3], values: expected }));
        assert_eq!(found[1].1.values, Values::Real(vec![1.0, 7.0]));
        assert_eq!(found[2].1.values, Values::Integers(vec![3, -1, 5]));
    }

    #[test]
    fn what_is_no_array_of_real_numbers_is_refused() {
        let message = |elements: &[Vec<u8>]| read(elements).unwrap_err().to_string();
        let with = |flags: u32| message(&[array("z", flags, &[1, 1], element(9, &1_f64.to_le_bytes()))]);
        assert!(with(6 | COMPLEX).contains("the type of array z is complex"));
        assert!(with(5).contains("is sparse; save it with full()") && with(4).contains("is text"));
        assert!(with(1).contains("no numeric array"));
        let nan = [1_f64, f64::NAN].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        assert!(message(&[array("z", 6, &[2, 1], element(9, &nan))]).contains("row 2, column 1 of array z is NaN"));
        assert!(message(&[array("z", 6, &[3, 1], element(9, &nan))]).contains("16 bytes for a shape of [3, 1]"));
        assert!(message(&[]).contains("the number of arrays is 0"));
        let refused = |bytes: &[u8]| parse_mat(bytes, Path::new("f.mat")).unwrap_err().to_string();
        assert!(
            refused(b"MATLAB 7.3 MAT-file")
                .contains("the format is that of MATLAB 7.3 (HDF5); only those that save -v7")
        );
        assert!(refused(&[0; 200]).contains("not that of MATLAB 5"));
    }

    #[test]
    fn cut_or_changed_files_end_in_a_sentence() {
        let reals: Vec<u8> = (0..6).flat_map(|v| f64::from(v).to_le_bytes()).collect();
        let whole =
            mat(&[packed(&array("x", 6, &[2, 3], element(9, &reals))), array("y", 6, &[2, 3], element(9, &reals))]);
        for length in 0..whole.len() {
            let _ = parse_mat(&whole[..length], Path::new("f.mat"));
            let mut changed = whole.clone();
            changed[length] ^= 0xff;
            let _ = parse_mat(&changed, Path::new("f.mat"));
        }
        assert!(parse_mat(&whole[..whole.len() - 20], Path::new("f.mat")).unwrap_err().to_string().contains("cut off"));
    }
}
