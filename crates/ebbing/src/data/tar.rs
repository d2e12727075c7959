//! Tar archives, such as CIFAR's.

use crate::error::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// Names of the regular files in an archive and where their bytes lie in it.
///
/// # Errors
/// [`Error::File`] where a header is damaged or claims more bytes than the archive has.
pub(super) fn files(archive: &[u8], path: &Path) -> Result<Vec<(String, Range<usize>)>> {
    let mut files = vec![];
    let mut at = 0;
    let damaged = |at: usize, e: std::io::Error| {
        Error::file(path, format!("the tar header at byte {at}"), format!("damaged ({e})"), "fetch the file again")
    };
    for entry in tar::Archive::new(archive).entries().map_err(|e| damaged(at, e))? {
        let entry = entry.map_err(|e| damaged(at, e))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let start = entry.raw_file_position() as usize;
        let left = archive.len() - start;
        let Some(size) = usize::try_from(entry.size()).ok().filter(|&size| size <= left) else {
            let expected = format!("{left} bytes follow: the archive is truncated or damaged");
            return Err(Error::file(path, format!("the size of {name}"), format!("{} bytes", entry.size()), expected));
        };
        if entry.header().entry_type().is_file() {
            files.push((name, start..start + size));
        }
        at = (start + size).next_multiple_of(512);
    }
    Ok(files)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An archive of the given files.
    pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(vec![]);
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, name, *content).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn files_are_found_and_damage_is_named() {
        let path = Path::new("x.tar");
        let good = archive(&[("a/b.bin", b"hello"), ("c", &[7; 1000])]);
        let found = files(&good, path).unwrap();
        assert_eq!(found[0], ("a/b.bin".into(), 512..517));
        assert_eq!(&good[found[1].1.clone()], &[7; 1000]);
        let refuse = |bytes: &[u8]| files(bytes, path).unwrap_err().to_string();
        let mut bad = good.clone();
        bad[1030] ^= 1;
        assert!(refuse(&bad).contains("x.tar: the tar header at byte 1024 is damaged (archive header checksum"));
        assert!(refuse(&good[..1200]).contains("the tar header at byte 1024 is damaged"));
        assert!(refuse(&good[..1700]).contains("the size of c is 1000 bytes; 164 bytes follow"));
    }
}
