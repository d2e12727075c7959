//! Data files, good and bad: what the readers accept, what they refuse and how, and how much memory they take.

mod bad_input;
mod formats;
mod memory;
mod places;

use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// An IDX file of bytes.
pub fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    shape.iter().for_each(|n| bytes.extend(n.to_be_bytes()));
    bytes.extend(values);
    bytes
}

/// `count` images of 2 × 3 pixels, none of them blank.
pub fn images(count: usize) -> Vec<u8> {
    idx(&[count as u32, 2, 3], &(0..6 * count).map(|i| (i % 250 + 1) as u8).collect::<Vec<_>>())
}

/// Labels 0, 1, 2, 0, …
pub fn labels(count: usize) -> Vec<u8> {
    idx(&[count as u32], &(0..count).map(|i| (i % 3) as u8).collect::<Vec<_>>())
}

/// A gzip'ed copy.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The bytes of an npy file with this header text.
pub fn npy(header: &str, values: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes().iter().chain(values));
    bytes
}

/// CIFAR records: label bytes and 3072 pixels each.
pub fn cifar(labels: &[&[u8]]) -> Vec<u8> {
    labels.iter().flat_map(|label| label.iter().copied().chain((0..3072).map(|i| (i / 1024 * 100 + 7) as u8))).collect()
}
