//! Tar archives, as far as CIFAR's use them: regular files behind 512-byte headers.

use crate::error::{Error, Result};
use std::ops::Range;
use std::path::Path;

const BLOCK: usize = 512;

/// Names of the regular files in an archive and where their bytes lie in it.
///
/// # Errors
/// [`Error::File`] where a header is damaged or claims more bytes than the archive has.
pub(super) fn files(archive: &[u8], path: &Path) -> Result<Vec<(String, Range<usize>)>> {
    let mut files = vec![];
    let mut at = 0;
    while let Some(header) = archive.get(at..at + BLOCK) {
        if header.iter().all(|&b| b == 0) {
            break;
        }
        let sum = header.iter().enumerate().map(|(i, &b)| if (148..156).contains(&i) { 32 } else { u64::from(b) });
        let (sum, stated) = (sum.sum::<u64>(), octal(&header[148..156]));
        if stated != Some(sum) {
            let value = stated.map_or("no number".into(), |s| s.to_string());
            return Err(Error::file(path, format!("the tar checksum at byte {at}"), value, format!("expected {sum}")));
        }
        let end = header[..100].iter().position(|&b| b == 0).unwrap_or(100);
        let name = String::from_utf8_lossy(&header[..end]).into_owned();
        let start = at + BLOCK;
        let size = octal(&header[124..136]).and_then(|n| usize::try_from(n).ok());
        let Some(size) = size.filter(|&n| n <= archive.len() - start) else {
            let value = String::from_utf8_lossy(&header[124..136]).trim_end_matches('\0').to_string();
            let expected = format!("{} bytes follow: the archive is truncated or damaged", archive.len() - start);
            return Err(Error::file(path, format!("the size of {name}"), format!("octal {value}"), expected));
        };
        if matches!(header[156], b'0' | 0) {
            files.push((name, start..start + size));
        }
        at = start + size.next_multiple_of(BLOCK);
    }
    Ok(files)
}

/// A number in octal digits, ended by a space or NUL.
fn octal(field: &[u8]) -> Option<u64> {
    let digits: Vec<u8> =
        field.iter().copied().skip_while(|b| *b == b' ').take_while(|b| !matches!(b, b' ' | 0)).collect();
    let text = std::str::from_utf8(&digits).ok()?;
    u64::from_str_radix(text, 8).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An archive of the given files.
    pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![];
        for (name, content) in files {
            let mut header = [0u8; BLOCK];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            header[148..156].fill(b' ');
            header[156] = b'0';
            let sum: u64 = header.iter().map(|&b| u64::from(b)).sum();
            header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
            header[154] = 0;
            bytes.extend(header);
            bytes.extend(*content);
            bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        }
        bytes.resize(bytes.len() + 2 * BLOCK, 0);
        bytes
    }

    #[test]
    fn files_are_found_and_damage_is_named() {
        let path = Path::new("x.tar");
        let good = archive(&[("a/b.bin", b"hello"), ("c", &[7; 1000])]);
        let found = files(&good, path).unwrap();
        assert_eq!(found[0], ("a/b.bin".into(), 512..517));
        assert_eq!(&good[found[1].1.clone()], &[7; 1000]);
        let mut bad = good.clone();
        bad[0] ^= 1;
        assert!(files(&bad, path).unwrap_err().to_string().contains("the tar checksum at byte 0"));
        assert!(files(&good[..1200], path).unwrap()[0].0 == "a/b.bin");
        assert!(files(&good[..1700], path).unwrap_err().to_string().contains("the size of c is octal 00000001750"));
    }
}
