//! Zip archives, as far as `.npz` files and EMNIST's archive use them: members stored or deflated, below 4 GiB.

use super::file::MAX_DECODED;
use crate::error::{Error, Result};
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// The fixed part of each record, in bytes.
const END_SIZE: usize = 22;
const CENTRAL_SIZE: usize = 46;
const LOCAL_SIZE: usize = 30;

/// One file of an archive, as its central directory describes it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub name: String,
    deflated: bool,
    packed: u64,
    size: u64,
    crc: u32,
    offset: u64,
}

/// An open archive.
pub(super) struct Zip<R> {
    stream: R,
    path: PathBuf,
    length: u64,
    pub members: Vec<Member>,
}

impl<R: Read + Seek> Zip<R> {
    /// Reads the central directory and checks every size in it against the archive's length.
    pub fn open(mut stream: R, path: &Path) -> Result<Self> {
        let length = stream.seek(SeekFrom::End(0)).map_err(|e| Error::io(path, e))?;
        let mut zip = Zip { stream, path: path.to_path_buf(), length, members: vec![] };
        let (end_at, end) = zip.end_record()?;
        let (count, size, offset) = (u16_at(&end, 10), u64::from(u32_at(&end, 12)), u64::from(u32_at(&end, 16)));
        if count == u16::MAX || offset == u64::from(u32::MAX) {
            return Err(zip.bad("the zip directory", "in zip64 form", "archives of 4 GiB or more are not read"));
        }
        if offset + size > end_at {
            let value = format!("{size} bytes at offset {offset}");
            return Err(zip.bad("the zip directory", &value, &format!("it must end before byte {end_at}")));
        }
        let directory = zip.bytes(offset, size as usize)?;
        zip.members = zip.parse_directory(&directory, usize::from(count))?;
        let packed: u64 = zip.members.iter().map(|m| m.packed).sum();
        if packed > length {
            let expected = format!("the archive has only {length}: its directory is damaged");
            return Err(zip.bad("the total size of the members", &format!("{packed} bytes"), &expected));
        }
        let decoded: u64 = zip.members.iter().filter(|m| m.deflated).map(|m| m.size).sum();
        if decoded > MAX_DECODED && zip.members.iter().all(|m| m.name.ends_with(".npy")) {
            let expected = format!("at most {MAX_DECODED} bytes are accepted from compressed data");
            return Err(zip.bad("the decoded size of the members", &format!("{decoded} bytes"), &expected));
        }
        Ok(zip)
    }

    /// The end record and where it starts: it closes the file, but for a comment of at most 65535 bytes.
    fn end_record(&mut self) -> Result<(u64, Vec<u8>)> {
        let tail = self.length.min((END_SIZE + usize::from(u16::MAX)) as u64);
        let start = self.length - tail;
        let bytes = self.bytes(start, tail as usize)?;
        let last = bytes.len().checked_sub(END_SIZE);
        let fits = |&at: &usize| {
            bytes[at..].starts_with(END) && at + END_SIZE + usize::from(u16_at(&bytes, at + 20)) == bytes.len()
        };
        match last.and_then(|last| (0..=last).rev().find(fits)) {
            Some(at) => Ok((start + at as u64, bytes[at..at + END_SIZE].to_vec())),
            None => {
                Err(self.bad("the end of the file", "no zip directory", "expected a whole zip archive, such as .npz"))
            }
        }
    }

    fn parse_directory(&self, directory: &[u8], count: usize) -> Result<Vec<Member>> {
        let mut members = vec![];
        let mut rest = directory;
        while members.len() < count {
            let entry = members.len();
            if rest.len() < CENTRAL_SIZE || !rest.starts_with(CENTRAL) {
                let expected = format!("the directory must hold {count} entries");
                return Err(self.bad(&format!("zip entry {entry}"), "missing or damaged", &expected));
            }
            let name_length = usize::from(u16_at(rest, 28));
            let whole = CENTRAL_SIZE + name_length + usize::from(u16_at(rest, 30)) + usize::from(u16_at(rest, 32));
            if rest.len() < whole {
                let value = format!("{whole} bytes long");
                let expected = format!("the directory has only {} left", rest.len());
                return Err(self.bad(&format!("zip entry {entry}"), &value, &expected));
            }
            let name = String::from_utf8_lossy(&rest[CENTRAL_SIZE..CENTRAL_SIZE + name_length]).into_owned();
            members.push(self.member(name, rest)?);
            rest = &rest[whole..];
        }
        Ok(members)
    }

    fn member(&self, name: String, entry: &[u8]) -> Result<Member> {
        let (flags, method) = (u16_at(entry, 8), u16_at(entry, 10));
        let (packed, size, offset) = (u32_at(entry, 20), u32_at(entry, 24), u32_at(entry, 42));
        let field = format!("zip member {name}");
        if flags & 1 != 0 {
            return Err(self.bad(&field, "encrypted", "only plain members are read"));
        }
        if !matches!(method, 0 | 8) {
            let expected = "only stored (0) and deflated (8) members are read";
            return Err(self.bad(&format!("the compression method of {name}"), &method.to_string(), expected));
        }
        if [packed, size, offset].contains(&u32::MAX) {
            return Err(self.bad(&field, "in zip64 form", "members of 4 GiB or more are not read"));
        }
        // Deflate shrinks at most about 1032-fold.
        let most = if method == 0 { u64::from(packed) } else { 1040 * (u64::from(packed) + 1) };
        if u64::from(size) > most || (method == 0 && size != packed) {
            let expected = format!("its {packed} packed bytes cannot hold that");
            return Err(self.bad(&format!("the size of {name}"), &format!("{size} bytes"), &expected));
        }
        let (packed, size, offset) = (packed.into(), size.into(), offset.into());
        Ok(Member { name, deflated: method == 8, packed, size, crc: u32_at(entry, 16), offset })
    }

    /// The decoded bytes of a member, checked against its size and CRC-32.
    pub fn read(&mut self, member: &Member) -> Result<Vec<u8>> {
        if member.deflated && member.size > MAX_DECODED {
            let expected = format!("at most {MAX_DECODED} bytes are accepted from compressed data");
            return Err(self.bad(
                &format!("the size of {}", member.name),
                &format!("{} bytes", member.size),
                &expected,
            ));
        }
        let local = self.bytes(member.offset, LOCAL_SIZE)?;
        if !local.starts_with(LOCAL) {
            let expected = "the directory does not point to a member there";
            return Err(self.bad(&format!("the offset of {}", member.name), &member.offset.to_string(), expected));
        }
        let start =
            member.offset + (LOCAL_SIZE + usize::from(u16_at(&local, 26)) + usize::from(u16_at(&local, 28))) as u64;
        let bytes =
            if member.deflated { self.inflate(member, start)? } else { self.bytes(start, member.size as usize)? };
        let mut crc = Crc::new();
        crc.update(&bytes);
        if bytes.len() as u64 != member.size || crc.sum() != member.crc {
            let value = format!("{} bytes with CRC-32 {:08x}", bytes.len(), crc.sum());
            let expected =
                format!("the directory says {} bytes with {:08x}: fetch the file again", member.size, member.crc);
            return Err(self.bad(&format!("zip member {}", member.name), &value, &expected));
        }
        Ok(bytes)
    }

    fn inflate(&mut self, member: &Member, start: u64) -> Result<Vec<u8>> {
        self.stream.seek(SeekFrom::Start(start)).map_err(|e| Error::io(&self.path, e))?;
        let packed = BufReader::new((&mut self.stream).take(member.packed));
        let mut bytes = vec![];
        match DeflateDecoder::new(packed).take(member.size + 1).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(e) => {
                Err(self.bad(&format!("zip member {}", member.name), &format!("damaged ({e})"), "fetch the file again"))
            }
        }
    }

    /// `size` bytes from `offset`, which must lie within the archive.
    fn bytes(&mut self, offset: u64, size: usize) -> Result<Vec<u8>> {
        if offset.checked_add(size as u64).is_none_or(|end| end > self.length) {
            let expected = format!("the archive ends at {}: it is truncated", self.length);
            return Err(self.bad("a zip record", &format!("{size} bytes at offset {offset}"), &expected));
        }
        let mut bytes = vec![0; size];
        self.stream.seek(SeekFrom::Start(offset)).map_err(|e| Error::io(&self.path, e))?;
        self.stream.read_exact(&mut bytes).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => self.bad("the archive", "shorter than when it was opened", "do not change it"),
            _ => Error::io(&self.path, e),
        })?;
        Ok(bytes)
    }

    fn bad(&self, field: &str, value: &str, expected: &str) -> Error {
        Error::file(&self.path, field, value, expected)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// An archive of stored members, in memory.
///
/// # Errors
/// [`Error::File`] where it would not fit the format's 4 GiB.
pub(super) fn store(members: &[(String, Vec<u8>)], path: &Path) -> Result<Vec<u8>> {
    let too_large = || Error::file(path, "the archive", "4 GiB or more", "split the data into several files");
    let (mut archive, mut directory) = (vec![], vec![]);
    for (name, bytes) in members {
        let offset = u32::try_from(archive.len()).map_err(|_| too_large())?;
        let size = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        let mut crc = Crc::new();
        crc.update(bytes);
        // Version 2.0, no flags, stored, 1980-01-01 00:00, CRC, sizes, name length, no extra field.
        let mut shared = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        [crc.sum(), size, size].iter().for_each(|n| shared.extend(n.to_le_bytes()));
        shared.extend((name.len() as u16).to_le_bytes());
        shared.extend([0, 0]);
        archive.extend(LOCAL.iter().chain(&shared).chain(name.as_bytes()).chain(bytes));
        directory.extend(CENTRAL.iter().chain(&[20, 0]).chain(&shared));
        // No comment, disk 0, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes().iter().chain(name.as_bytes()));
    }
    let offset = u32::try_from(archive.len()).map_err(|_| too_large())?;
    let (count, size) = ((members.len() as u16).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    archive.extend(directory);
    archive.extend(END.iter().chain(&[0; 4]).chain(&count).chain(&count).chain(&size).chain(&offset.to_le_bytes()));
    archive.extend([0, 0]);
    Ok(archive)
}
