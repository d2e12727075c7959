//! SHA-256 and MD5 of a file, in one pass.

use ebbing::{Error, Result};
use md5::Md5;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Both digests of a file, in hexadecimal, and its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// SHA-256.
    pub sha256: String,
    /// MD5: some sources publish nothing else. It guards against accidents, not against malice.
    pub md5: String,
    /// Length in bytes.
    pub bytes: u64,
}

impl Digests {
    /// Reads a file to its end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(path: &Path) -> Result<Digests> {
        let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
        let (mut sha256, mut md5, mut bytes) = (Sha256::new(), Md5::new(), 0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let n = file.read(&mut buffer).map_err(|e| Error::io(path, e))?;
            if n == 0 {
                return Ok(Digests { sha256: hex(&sha256.finalize()), md5: hex(&md5.finalize()), bytes });
            }
            sha256.update(&buffer[..n]);
            md5.update(&buffer[..n]);
            bytes += n as u64;
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests of "abc" are test vectors of FIPS 180-4 and RFC 1321.
    #[test]
    fn published_test_vectors() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let digests = Digests::of(file.path()).unwrap();
        assert_eq!(digests.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digests.md5, "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(digests.bytes, 3);
    }
}
