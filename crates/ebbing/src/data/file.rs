//! Reads whole files, plain or gzip'ed, with a cap on the decoded size, and writes whole files or nothing.

use super::dataset::hex;
use crate::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::Path;

/// Compressed data may decode to at most this many bytes (1 GiB); the largest supported set, EMNIST byclass, takes 547 MB.
pub const MAX_DECODED: u64 = 1 << 30;

/// A file that was opened once, for its content and for its hash.
pub(crate) struct OpenFile<'a> {
    file: File,
    path: &'a Path,
    length: u64,
}

impl<'a> OpenFile<'a> {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be opened; [`Error::File`] where it is no regular file or is empty.
    pub fn open(path: &'a Path) -> Result<OpenFile<'a>> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) = opened.map_err(|e| Error::io(path, e))?;
        if !about.is_file() {
            return Err(Error::file(path, "the path", "no regular file", "give the name of a data file"));
        }
        if about.len() == 0 {
            return Err(Error::file(path, "the file's length", "0", "expected a file that is not empty"));
        }
        Ok(OpenFile { file, path, length: about.len() })
    }

    /// The file as a stream.
    pub fn stream(&mut self) -> BufReader<&mut File> {
        BufReader::new(&mut self.file)
    }

    /// Every byte of it, gunzipped where it starts like a gzip stream.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read; [`Error::File`] where it holds a broken gzip stream or one that decodes to more
    /// than [`MAX_DECODED`] bytes.
    pub fn bytes(&mut self) -> Result<Vec<u8>> {
        let mut start = [0; 2];
        let gzipped = self.length >= 2 && self.file.read_exact(&mut start).is_ok() && start == [0x1f, 0x8b];
        self.file.rewind().map_err(|e| Error::io(self.path, e))?;
        if gzipped {
            return gunzip(BufReader::new(&mut self.file), self.path, MAX_DECODED);
        }
        let mut bytes = Vec::with_capacity(self.length as usize);
        (&mut self.file).take(self.length).read_to_end(&mut bytes).map_err(|e| Error::io(self.path, e))?;
        Ok(bytes)
    }

    /// The SHA-256 of its content, in hexadecimal.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read.
    pub fn sha256(&mut self) -> Result<String> {
        let (mut hash, mut block) = (Sha256::new(), vec![0; 1 << 16]);
        self.file.rewind().map_err(|e| Error::io(self.path, e))?;
        loop {
            match self.file.read(&mut block).map_err(|e| Error::io(self.path, e))? {
                0 => return Ok(hex(&hash.finalize())),
                n => hash.update(&block[..n]),
            }
        }
    }
}

/// Every byte of a file, gunzipped where it starts like a gzip stream.
///
/// # Errors
/// As [`OpenFile::open`] and [`OpenFile::bytes`].
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    OpenFile::open(path)?.bytes()
}

/// The SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// [`Error::Io`] where it cannot be read.
pub fn file_sha256(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    OpenFile { file, path, length: 0 }.sha256()
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

/// Where files are written before they get their names, beside them; it is there only while somebody writes.
const WRITING: &str = ".ebbing-writing";

/// Writes a whole file or nothing: to a temporary file in a hidden folder beside it, flushed, then renamed. A crash or a
/// full disk leaves what was there before; when this returns, a power failure does not take the file back. What a killed
/// process of this machine left in the hidden folder goes with the next write there.
///
/// # Errors
/// [`Error::Io`] where the operating system refuses; the temporary file is then gone.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let hidden = folder_of(path).join(WRITING);
    let written = write_in(&hidden, path, bytes);
    // It stays where others write or wrote.
    let _ = std::fs::remove_dir(&hidden);
    written.map_err(|e| Error::io(path, e))?;
    sync_folder_of(path)
}

fn write_in(hidden: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fault::at_write()?;
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{}-{}-", host(), std::process::id());
    builder.prefix(&prefix).suffix(".tmp");
    // What any new file gets; left to itself, `tempfile` shuts out everybody but the owner.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut tries = 0;
    let mut file = loop {
        match std::fs::create_dir(hidden) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
            _ => remove_orphans(hidden),
        }
        match builder.tempfile_in(hidden) {
            // Another process has just ended its write and removed the folder.
            Err(e) if e.kind() == ErrorKind::NotFound && tries < 100 => tries += 1,
            made => break made?,
        }
    };
    fault::at_write()?;
    // By the file itself: the wrapper's error names its hidden path.
    file.as_file_mut().write_all(bytes)?;
    fault::at_write()?;
    file.as_file().sync_all()?;
    fault::at_write()?;
    file.persist(path).map(|_| ()).map_err(|e| e.error)
}

/// Removes what killed processes of this machine left in `folder` while they wrote there; the next write does so too.
pub fn remove_unfinished(folder: &Path) {
    let hidden = folder.join(WRITING);
    remove_orphans(&hidden);
    let _ = std::fs::remove_dir(hidden);
}

/// Removes what processes of this machine that are gone left behind.
fn remove_orphans(hidden: &Path) {
    let Ok(entries) = std::fs::read_dir(hidden) else { return };
    let ours = format!("{}-", host());
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(&ours).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|id| Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{id}")).exists()) {
            // Nothing depends on it: the next write tries again.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The machine's name, where the system knows it.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map(|name| name.trim().to_string()).unwrap_or_else(|_| "this machine".into())
}

/// Injected failures, for tests: in builds with debug assertions the n-th step of writing files fails, where
/// `EBBING_FAIL_WRITE` is n.
mod fault {
    #[cfg(debug_assertions)]
    pub fn at_write() -> std::io::Result<()> {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU64, Ordering};
        static CHOSEN: OnceLock<Option<u64>> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let chosen = CHOSEN.get_or_init(|| std::env::var("EBBING_FAIL_WRITE").ok()?.parse().ok());
        match chosen {
            Some(n) if COUNT.fetch_add(1, Ordering::Relaxed) + 1 == *n => {
                Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
            }
            _ => Ok(()),
        }
    }

    #[cfg(not(debug_assertions))]
    pub fn at_write() -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes durable that a file was put under its name.
///
/// # Errors
/// [`Error::Io`] where the operating system refuses.
pub fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    // Elsewhere folders cannot be opened.
    if cfg!(unix) { File::open(folder).and_then(|d| d.sync_all()).map_err(|e| Error::io(folder, e)) } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
    fn empty_files_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_atomic(&path, b"").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("the file's length is 0"));
        assert!(read(folder.path()).unwrap_err().to_string().contains("no regular file"));
        assert!(matches!(read(&folder.path().join("none")), Err(Error::Io { .. })));
    }

    #[test]
    fn files_are_replaced_whole_and_failures_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let path = folder.path().join("a.bin");
        write_atomic(&path, b"old").unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!((read(&path).unwrap(), count()), (b"new".to_vec(), 1));
        // A folder stands where the file should go: the rename fails after the writing.
        let blocked = folder.path().join("blocked");
        std::fs::create_dir_all(blocked.join("full")).unwrap();
        assert!(write_atomic(&blocked, b"x").unwrap_err().to_string().contains("blocked"));
        assert_eq!(count(), 2);
        assert!(write_atomic(&folder.path().join("no/such/folder"), b"x").is_err());
    }

    #[test]
    fn what_killed_processes_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let hidden = folder.path().join(WRITING);
        std::fs::create_dir(&hidden).unwrap();
        // No process has the largest number; this one lives; another machine's processes are not known here.
        let left = |owner: String| hidden.join(format!("{owner}-x.tmp"));
        let [gone, alive, elsewhere] =
            [format!("{}-{}", host(), u32::MAX), format!("{}-{}", host(), std::process::id()), "far-1".into()]
                .map(left);
        [&gone, &alive, &elsewhere].iter().for_each(|path| std::fs::write(path, b"half").unwrap());
        write_atomic(&folder.path().join("a.bin"), b"new").unwrap();
        assert_eq!([&gone, &alive, &elsewhere].map(|path| path.exists()), [false, true, true]);
    }

    #[test]
    fn many_writers_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for k in 0..4 {
                let path = folder.path().join(format!("{k}.bin"));
                scope.spawn(move || (0..50).for_each(|n| write_atomic(&path, &[k; 100][..n]).unwrap()));
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn files_have_the_permissions_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_atomic(&ours, b"x").unwrap();
        std::fs::write(&plain, b"x").unwrap();
        let mode = |path| std::fs::metadata(path).unwrap().permissions();
        assert_eq!(mode(ours), mode(plain));
    }
}
