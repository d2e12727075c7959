//! The rows of an `.npy` file of any size, read block by block from its beginning to its end.

use super::array::Element;
use super::npy;
use crate::error::{Error, Result};
use crate::linalg::MatRef;
use rayon::prelude::*;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of one block in double precision.
const BLOCK: usize = 64 << 20;
/// Numbers that are decoded together.
const CHUNK: usize = 1 << 16;

/// An `.npy` file of features in row-major order, of which one block of rows is in memory at a time.
#[derive(Debug)]
pub struct RowReader {
    file: File,
    path: PathBuf,
    name: String,
    element: Element,
    big_endian: bool,
    rows: usize,
    columns: usize,
    read: usize,
    bytes: Vec<u8>,
    values: Vec<f64>,
}

impl RowReader {
    /// Opens a file; axes after the first are flattened into features.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read; [`Error::File`] for a damaged header, what is no array of numbers, and columns stored
    /// one after the other.
    pub fn open(path: &Path) -> Result<RowReader> {
        let failed = |e| Error::io(path, e);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let (header, start) = npy::header(&mut file, path, &name)?;
        let refuse = |field: &str, value: String, expected: &str| {
            Err(Error::file(path, format!("the {field} of array {name}"), value, expected))
        };
        let (element, big_endian) = (header.element, header.big_endian);
        if matches!(element, Element::Text(_) | Element::ByteText(_)) {
            return refuse("type", "text".into(), "features are numbers");
        }
        if header.fortran && header.shape.len() > 1 {
            return refuse(
                "order",
                "that of Fortran".into(),
                "save it with its rows one after the other: np.save(path, np.ascontiguousarray(x))",
            );
        }
        let shape = &header.shape;
        if shape.len() < 2 || shape.contains(&0) {
            return refuse(
                "shape",
                super::array::shape_text(shape),
                "examples along the first axis, features along at least one more",
            );
        }
        let have = length - start;
        if element.bytes(shape).is_none_or(|need| need as u64 != have) {
            return refuse(
                "shape",
                super::array::shape_text(shape),
                &format!("{have} bytes follow the header, and it needs others"),
            );
        }
        let (rows, columns) = (shape[0], shape[1..].iter().product());
        let path = path.to_path_buf();
        Ok(RowReader { file, path, name, element, big_endian, rows, columns, read: 0, bytes: vec![], values: vec![] })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of features.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of the first row of the next block, and its rows; none at the end.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read, [`Error::File`] for a value that is not finite.
    pub fn next_block(&mut self) -> Result<Option<(usize, MatRef<'_, f64>)>> {
        let most = (BLOCK / (8 * self.columns)).max(1);
        let rows = most.min(self.rows - self.read);
        if rows == 0 {
            return Ok(None);
        }
        let numbers = rows * self.columns;
        self.bytes.resize(numbers * self.element.size(), 0);
        self.file.read_exact(&mut self.bytes).map_err(|e| Error::io(&self.path, e))?;
        self.values.resize(numbers, 0.0);
        let (element, big_endian, size) = (self.element, self.big_endian, self.element.size());
        let bad =
            self.values.par_chunks_mut(CHUNK).zip(self.bytes.par_chunks(CHUNK * size)).enumerate().find_map_first(
                |(chunk, (values, bytes))| {
                    element.decode_into(bytes, big_endian, values);
                    values.iter().position(|v| !v.is_finite()).map(|i| chunk * CHUNK + i)
                },
            );
        let first = self.read;
        if let Some(i) = bad {
            let place =
                format!("row {}, column {} of array {}", first + i / self.columns + 1, i % self.columns + 1, self.name);
            let expected = "every value must be finite (rows and columns count from 1)";
            return Err(Error::file(&self.path, place, self.values[i], expected));
        }
        self.read += rows;
        Ok(Some((first, MatRef::from_row_major_slice(&self.values, rows, self.columns))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Array, Values, parse_npy, to_npy};

    fn read_all(path: &Path) -> Result<Vec<f64>> {
        let mut reader = RowReader::open(path)?;
        let mut all = vec![];
        while let Some((first, block)) = reader.next_block()? {
            assert_eq!(first * block.ncols(), all.len());
            all.extend((0..block.nrows()).flat_map(|i| (0..block.ncols()).map(move |j| block[(i, j)])));
        }
        Ok(all)
    }

    /// An `.npy` file of some type, with numbers as its bytes.
    fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
        header.extend(std::iter::repeat_n(' ', 63 - (10 + header.len()) % 64));
        header.push('\n');
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), bytes].concat()
    }

    #[test]
    fn every_half_is_read_as_by_the_whole_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        // Every number of half precision but ∞ and NaN, subnormal ones and −0 included.
        let halves: Vec<u16> = (0..=u16::MAX).filter(|bits| bits >> 10 & 0x1f != 31).collect();
        for (descr, bytes) in [
            ("<f2", halves.iter().flat_map(|h| h.to_le_bytes()).collect::<Vec<u8>>()),
            (">f2", halves.iter().flat_map(|h| h.to_be_bytes()).collect()),
        ] {
            let file = npy(descr, "31744, 2", &bytes);
            std::fs::write(&path, &file).unwrap();
            let Values::Real(known) = parse_npy(file, &path, "x").unwrap().values else { panic!("reals") };
            let found = read_all(&path).unwrap();
            assert!(found.iter().zip(&known).all(|(a, b)| a.to_bits() == b.to_bits()) && found.len() == known.len());
        }
        for (descr, bytes, known) in [
            (
                "<V2",
                [1.5f32, -0.25].iter().flat_map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()).collect::<Vec<u8>>(),
                [1.5, -0.25],
            ),
            ("<f4", [1.5f32, -0.1].iter().flat_map(|v| v.to_le_bytes()).collect(), [1.5, f64::from(-0.1f32)]),
            ("|u1", vec![7, 255], [7.0, 255.0]),
            ("<i8", [-3i64, 1 << 40].iter().flat_map(|v| v.to_le_bytes()).collect(), [-3.0, (1u64 << 40) as f64]),
        ] {
            std::fs::write(&path, npy(descr, "2, 1", &bytes)).unwrap();
            assert_eq!(read_all(&path).unwrap(), known, "{descr}");
        }
    }

    #[test]
    fn long_files_come_in_blocks_and_bad_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        // Two blocks and a bit.
        let (rows, columns) = (2 * BLOCK / (8 * 4096) + 3, 4096);
        let values: Vec<f64> = (0..rows * columns).map(|k| (k % 1009) as f64).collect();
        let array = Array { shape: vec![rows, columns], values: Values::Real(values.clone()) };
        std::fs::write(&path, to_npy(&array)).unwrap();
        assert!(read_all(&path).unwrap() == values);
        let said = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_all(&path).unwrap_err().to_string()
        };
        let nan = said(&npy("<f2", "2, 2", &[0, 0, 0, 0, 0, 0x7e, 0, 0]));
        assert!(nan.contains("row 2, column 1 of array x is NaN"), "{nan}");
        assert!(said(&npy("<f4", "2, 2", &[0; 8])).contains("8 bytes follow the header"));
        assert!(said(&npy("<f4", "2", &[0; 8])).contains("examples along the first axis"));
        assert!(said(&npy("<U1", "2, 1", &[0; 8])).contains("is text"));
        assert!(said(b"not an array").contains("magic number"));
        let fortran = String::from_utf8_lossy(&npy("<f4", "2, 1", &[0; 8])).replace("False", "True ");
        assert!(
            RowReader::open(&{
                std::fs::write(&path, fortran.as_bytes()).unwrap();
                path.clone()
            })
            .is_err()
        );
    }
}
