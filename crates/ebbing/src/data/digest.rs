//! SHA-256 over a data set's decoded values: equal sets have equal hashes, whatever files they came from.

use super::{Features, Part, Targets};
use crate::linalg::Mat;
use sha2::{Digest, Sha256};

/// The hash, in hexadecimal, of the training and the test part: kind, shape and values (little-endian, row after row) of each.
pub(super) fn digest(train: &Part, test: Option<&Part>) -> String {
    let mut hash = Sha256::new();
    hash.update(b"ebbing data 1\0");
    add_part(&mut hash, train);
    if let Some(test) = test {
        add_part(&mut hash, test);
    }
    hex(&hash.finalize())
}

fn add_part(hash: &mut Sha256, part: &Part) {
    match &part.features {
        Features::Bytes { pixels, dim } => {
            add_shape(hash, b'b', pixels.len() / dim.max(&1), *dim);
            hash.update(pixels);
        }
        Features::Real(m) => add_real(hash, m),
    }
    match &part.targets {
        Targets::Classes(classes) => {
            add_shape(hash, b'c', classes.len(), 1);
            classes.iter().for_each(|c| hash.update(c.to_le_bytes()));
        }
        Targets::Real(m) => add_real(hash, m),
    }
}

fn add_real(hash: &mut Sha256, m: &Mat<f64>) {
    add_shape(hash, b'r', m.nrows(), m.ncols());
    for i in 0..m.nrows() {
        (0..m.ncols()).for_each(|j| hash.update(m[(i, j)].to_le_bytes()));
    }
}

fn add_shape(hash: &mut Sha256, kind: u8, rows: usize, columns: usize) {
    hash.update([kind]);
    hash.update((rows as u64).to_le_bytes());
    hash.update((columns as u64).to_le_bytes());
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
