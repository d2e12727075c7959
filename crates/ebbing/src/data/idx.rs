//! IDX, the format of MNIST: two zero bytes, type, rank, big-endian lengths, then the values in C order.

use super::array::{Array, Element, shape_text};
use super::file;
use crate::error::{Error, Result};
use std::path::Path;

/// Reads an IDX file, plain or gzipped, of any of the format's number types.
///
/// # Errors
/// [`Error::Io`] where it cannot be read; [`Error::File`] where a header field does not fit the format or the file's
/// length, or a value is not finite.
pub fn read_idx(path: impl AsRef<Path>) -> Result<Array> {
    let path = path.as_ref();
    parse_idx(file::read(path)?, path)
}

/// The same from bytes already in memory; `path` names them in errors.
///
/// # Errors
/// As for [`read_idx`].
pub fn parse_idx(bytes: Vec<u8>, path: &Path) -> Result<Array> {
    let bad = |field: &str, value: String, expected: &str| Err(Error::file(path, field, value, expected));
    if bytes.len() < 4 {
        return bad("the length", format!("{} bytes", bytes.len()), "an IDX file has at least 4, its magic number");
    }
    let magic = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let element = match (magic >> 16, bytes[2]) {
        (0, 0x08) => Element::U8,
        (0, 0x09) => Element::I8,
        (0, 0x0b) => Element::I16,
        (0, 0x0c) => Element::I32,
        (0, 0x0d) => Element::F32,
        (0, 0x0e) => Element::F64,
        _ => {
            let expected = "expected an IDX file: 2051 for images of bytes, 2049 for labels";
            return bad("the magic number", format!("{magic} ({magic:#010x})"), expected);
        }
    };
    let rank = usize::from(bytes[3]);
    let header = 4 + 4 * rank;
    if rank == 0 || bytes.len() < header {
        let expected =
            format!("the file's {} bytes must hold that many lengths of 4 bytes each, at least one", bytes.len());
        return bad("the number of axes", rank.to_string(), &expected);
    }
    let lengths = bytes[4..header].chunks_exact(4);
    let shape: Vec<usize> = lengths.map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize).collect();
    if shape.contains(&0) {
        return bad("the shape in the header", shape_text(&shape), "every axis needs a length of at least 1");
    }
    match element.bytes(&shape) {
        Some(need) if need == bytes.len() - header => {}
        need => {
            let need = need.map_or("more than 2^64".into(), |n| n.to_string());
            let expected = format!("that takes {need} bytes after the header, but there are {}", bytes.len() - header);
            return bad("the shape in the header", shape_text(&shape), &expected);
        }
    }
    let values = element
        .decode(bytes, header, true)
        .map_err(|(i, value)| Error::file(path, format!("value {i}"), value, "every value must be finite"))?;
    Ok(Array { shape, values })
}
