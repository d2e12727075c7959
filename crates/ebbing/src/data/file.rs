//! Reads whole files, plain or gzipped, with a cap on the decoded size.

use crate::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::Path;

/// Compressed data may decode to at most this many bytes (1 GiB); the largest supported set, EMNIST byclass, takes 547 MB.
pub const MAX_DECODED: u64 = 1 << 30;

/// Every byte of a file, gunzipped where it starts like a gzip stream.
///
/// # Errors
/// [`Error::Io`] where it cannot be read; [`Error::File`] where it is no regular file, is empty, or holds a broken gzip
/// stream or one that decodes to more than [`MAX_DECODED`] bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
    let length = regular_length(&file, path)?;
    let mut start = [0; 2];
    let gzipped = length >= 2 && file.read_exact(&mut start).is_ok() && is_gzip(&start);
    file.rewind().map_err(|e| Error::io(path, e))?;
    if gzipped {
        return gunzip(BufReader::new(file), path, MAX_DECODED);
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    Ok(bytes)
}

/// The length of a file that has one and is not empty.
pub(crate) fn regular_length(file: &File, path: &Path) -> Result<u64> {
    let about = file.metadata().map_err(|e| Error::io(path, e))?;
    if !about.is_file() {
        return Err(Error::file(path, "the path", "no regular file", "give the name of a data file"));
    }
    if about.len() == 0 {
        return Err(Error::file(path, "the file's length", "0", "expected a file that is not empty"));
    }
    Ok(about.len())
}

/// Whether bytes start with the magic number of gzip.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Decodes a gzip stream of at most `cap` bytes. Memory grows with what was decoded, not with what a header claims.
pub(crate) fn gunzip(stream: impl BufRead, path: &Path, cap: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match MultiGzDecoder::new(stream).take(cap + 1).read_to_end(&mut bytes) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
            let expected = "the file is cut off: fetch it again";
            Err(Error::file(path, "the gzip stream", format!("truncated after {} bytes", bytes.len()), expected))
        }
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData) => {
            Err(Error::file(path, "the gzip stream", format!("damaged ({e})"), "fetch the file again"))
        }
        Err(e) => Err(Error::io(path, e)),
        Ok(_) if bytes.len() as u64 > cap => {
            let expected = format!("at most {cap} bytes are accepted from a compressed file");
            Err(Error::file(path, "the decoded size", format!("more than {cap} bytes"), expected))
        }
        Ok(_) if bytes.is_empty() => {
            Err(Error::file(path, "the decoded size", "0", "expected a file that is not empty"))
        }
        Ok(_) => Ok(bytes),
    }
}

/// Writes a file completely or not at all: under a temporary name beside it, then renamed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|mut f| f.write_all(bytes).and_then(|()| f.sync_all()));
    written.and_then(|()| std::fs::rename(&part, path)).map_err(|e| {
        // What matters is the first error; a left-over part file is only untidy.
        let _ = std::fs::remove_file(&part);
        Error::io(path, e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_cut_at_the_cap_and_damage_is_named() {
        let path = Path::new("x.gz");
        let packed = gzip(&[0; 100_000]);
        assert_eq!(gunzip(&packed[..], path, 100_000).unwrap().len(), 100_000);
        let message = |bytes: &[u8], cap| gunzip(bytes, path, cap).unwrap_err().to_string();
        assert_eq!(
            message(&packed, 99_999),
            "x.gz: the decoded size is more than 99999 bytes; at most 99999 bytes are accepted from a compressed file"
        );
        assert!(message(&packed[..packed.len() / 2], 1 << 20).contains("x.gz: the gzip stream is truncated after"));
        let mut damaged = packed.clone();
        let crc = damaged.len() - 6;
        damaged[crc] ^= 1;
        assert!(message(&damaged, 1 << 20).contains("the gzip stream is damaged"));
        assert!(message(&gzip(&[]), 1 << 20).contains("the decoded size is 0"));
    }

    #[test]
    fn empty_files_and_folders_are_refused_and_writing_is_atomic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/a.bin");
        write(&path, b"abc").unwrap();
        assert_eq!(read(&path).unwrap(), b"abc");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        write(&path, b"").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("the file's length is 0"));
        assert!(read(folder.path()).unwrap_err().to_string().contains("no regular file"));
        assert!(matches!(read(&folder.path().join("none")), Err(Error::Io { .. })));
    }
}
