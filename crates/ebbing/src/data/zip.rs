//! Zip archives, such as `.npz` files and EMNIST's: members stored or deflated, zip64 included.

use super::file::MAX_DECODED;
use crate::error::{Error, Result};
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// An open archive.
pub(super) struct Zip<R> {
    archive: ZipArchive<R>,
    path: PathBuf,
    length: u64,
    /// The names of the members, in the order of the directory.
    pub names: Vec<String>,
}

impl<R: Read + Seek> Zip<R> {
    /// Reads the central directory and checks every size in it against the archive's length.
    pub fn open(mut stream: R, path: &Path) -> Result<Self> {
        let length = stream.seek(SeekFrom::End(0)).map_err(|e| Error::io(path, e))?;
        let archive = ZipArchive::new(stream).map_err(|e| match e {
            ZipError::Io(e) if e.kind() != ErrorKind::UnexpectedEof => Error::io(path, e),
            e => {
                let expected = "expected a whole zip archive, such as .npz";
                Error::file(path, "the end of the file", format!("no zip directory ({e})"), expected)
            }
        })?;
        let mut zip = Zip { archive, path: path.to_path_buf(), length, names: vec![] };
        zip.check()?;
        Ok(zip)
    }

    /// Refuses what cannot be read, and sizes that the archive cannot hold.
    fn check(&mut self) -> Result<()> {
        let bad = |field: String, value: String, expected: String| Err(Error::file(&self.path, field, value, expected));
        if self.archive.has_duplicate_names() {
            return bad("a zip member's name".into(), "there for a second time".into(), "names must differ".into());
        }
        let (mut total, mut inflated) = (0_u64, 0_u64);
        for index in 0..self.archive.len() {
            let member = self.archive.by_index_data(index).map_err(|e| damaged(&self.path, &index.to_string(), e))?;
            let name = String::from_utf8_lossy(member.name_raw()).into_owned();
            let (packed, size, method) = (member.compressed_size(), member.size(), member.compression());
            if member.encrypted() {
                return bad(format!("zip member {name}"), "encrypted".into(), "only plain members are read".into());
            }
            // Deflate shrinks at most about 1032-fold.
            let most = match method {
                CompressionMethod::Stored => packed,
                CompressionMethod::Deflated => packed.saturating_add(1).saturating_mul(1040),
                other => {
                    let expected = "only stored and deflated members are read".into();
                    return bad(format!("the compression method of {name}"), format!("{other:?}"), expected);
                }
            };
            if size > most || (method == CompressionMethod::Stored && size != packed) {
                let expected = format!("its {packed} packed bytes cannot hold that");
                return bad(format!("the size of {name}"), format!("{size} bytes"), expected);
            }
            total = total.saturating_add(packed);
            inflated = inflated.saturating_add(if method == CompressionMethod::Deflated { size } else { 0 });
            self.names.push(name);
        }
        if total > self.length {
            let expected = format!("the archive has only {}: its directory is damaged", self.length);
            return bad("the total size of the members".into(), format!("{total} bytes"), expected);
        }
        if inflated > MAX_DECODED && self.names.iter().all(|name| name.ends_with(".npy")) {
            let expected = format!("at most {MAX_DECODED} bytes are accepted from compressed data");
            return bad("the decoded size of the members".into(), format!("{inflated} bytes"), expected);
        }
        Ok(())
    }

    /// The decoded bytes of a member, checked against its size and CRC-32.
    pub fn read(&mut self, index: usize) -> Result<Vec<u8>> {
        let (path, name, length) = (&self.path, &self.names[index], self.length);
        let member = self.archive.by_index(index).map_err(|e| damaged(path, name, e))?;
        let size = member.size();
        if member.compression() == CompressionMethod::Deflated && size > MAX_DECODED {
            let expected = format!("at most {MAX_DECODED} bytes are accepted from compressed data");
            return Err(Error::file(path, format!("the size of {name}"), format!("{size} bytes"), expected));
        }
        // Reserved is what the archive itself takes; beyond that, memory grows with what was decoded.
        let mut bytes = Vec::with_capacity(size.min(length) as usize);
        member.take(size + 1).read_to_end(&mut bytes).map_err(|e| damaged(path, name, e.into()))?;
        if bytes.len() as u64 != size {
            let expected = format!("the directory says {size}: fetch the file again");
            return Err(Error::file(path, format!("zip member {name}"), format!("{} bytes", bytes.len()), expected));
        }
        Ok(bytes)
    }
}

fn damaged(path: &Path, name: &str, error: ZipError) -> Error {
    Error::file(path, format!("zip member {name}"), format!("damaged ({error})"), "fetch the file again")
}

/// An archive of stored members, in memory; the same bytes at any time.
///
/// # Errors
/// [`Error::Io`] for a name that the format cannot hold.
pub(super) fn store(members: &[(String, Vec<u8>)], path: &Path) -> Result<Vec<u8>> {
    let write = || {
        let mut archive = ZipWriter::new(Cursor::new(vec![]));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default());
        for (name, bytes) in members {
            archive.start_file(name, options.large_file(bytes.len() as u64 >= u64::from(u32::MAX)))?;
            archive.write_all(bytes)?;
        }
        Ok(archive.finish()?.into_inner())
    };
    write().map_err(|e: ZipError| Error::io(path, e.into()))
}
