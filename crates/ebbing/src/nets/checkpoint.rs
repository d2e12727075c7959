//! A run on disk: settings, what was measured, and every weight, bit for bit.
//!
//! Layout: the magic line, the length of a JSON header (u64, little-endian), the header, the weights as f32
//! (little-endian, column by column), and the SHA-256 of all that.

use super::learner::TrainSettings;
use super::train::{Trained, Trainer};
use super::update::Params;
use crate::error::{Error, Result};
use crate::linalg::{Mat, column_f32};
use crate::tasks::Task;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

const MAGIC: &[u8] = b"ebbing checkpoint 1\n";

#[derive(Serialize, Deserialize)]
struct Header {
    version: String,
    settings: TrainSettings,
    /// SHA-256 of the tasks' inputs and targets.
    tasks: String,
    trained: Trained,
    /// Rows and columns of every hidden matrix, every readout, and every Fisher matrix (none before the first).
    hidden: Vec<(usize, usize)>,
    heads: Vec<(usize, usize)>,
    fisher: Option<Vec<(usize, usize)>>,
}

impl Trainer {
    /// Writes the run to `path`: to a temporary name first, flushed, then renamed.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be written.
    pub fn save(&self, path: &Path, tasks: &[Task]) -> Result<()> {
        let shapes = |m: &[Mat<f32>]| m.iter().map(|m| (m.nrows(), m.ncols())).collect::<Vec<_>>();
        let header = Header {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings().clone(),
            tasks: fingerprint(tasks),
            trained: self.trained().clone(),
            hidden: shapes(&self.net.hidden),
            heads: shapes(&self.net.heads),
            fisher: self.fisher.as_ref().map(|f| shapes(&f.0)),
        };
        let json = serde_json::to_vec(&header).map_err(|e| Error::io(path, e.into()))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend((json.len() as u64).to_le_bytes());
        bytes.extend(json);
        let fisher = self.fisher.iter().flat_map(|f| &f.0);
        for m in self.net.hidden.iter().chain(&self.net.heads).chain(fisher) {
            for j in 0..m.ncols() {
                column_f32(m.as_ref(), j).iter().for_each(|v| bytes.extend(v.to_le_bytes()));
            }
        }
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        let temporary = path.with_extension("part");
        let write = || {
            let mut file = std::fs::File::create(&temporary)?;
            std::io::Write::write_all(&mut file, &bytes)?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)
        };
        write().map_err(|e| Error::io(path, e))
    }

    /// Takes up the run saved at `path`, which must have been started with the same tasks and settings.
    ///
    /// # Errors
    /// [`Error::File`] for a damaged file or one of other tasks, settings or version; [`Error::Io`] where it cannot be read.
    pub fn resume(path: &Path, tasks: &[Task], settings: &TrainSettings) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        let damaged = |value: &str| Error::file(path, "checkpoint", value, "delete it to start the run anew");
        let split = bytes.len().checked_sub(32).ok_or_else(|| damaged("truncated"))?;
        let (body, digest) = bytes.split_at(split);
        if body.get(..MAGIC.len()) != Some(MAGIC) {
            return Err(damaged("no checkpoint of this program"));
        }
        if Sha256::digest(body)[..] != *digest {
            return Err(damaged("damaged (its checksum does not match)"));
        }
        let rest = &body[MAGIC.len()..];
        let length = rest.get(..8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
        let length = length.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| damaged("truncated"))?;
        let json = rest[8..].get(..length).ok_or_else(|| damaged("truncated"))?;
        let header: Header = serde_json::from_slice(json).map_err(|e| damaged(&format!("unreadable ({e})")))?;
        let differs = |what: &str| {
            Error::file(path, "checkpoint", format!("from {what}"), "delete it, or use the settings it was made with")
        };
        if header.version != env!("CARGO_PKG_VERSION") {
            return Err(differs(&format!("version {}", header.version)));
        }
        if header.settings != *settings {
            return Err(differs("other settings"));
        }
        if header.tasks != fingerprint(tasks) {
            return Err(differs("other tasks"));
        }
        let mut trainer = Trainer::new(tasks, settings)?;
        let mut values = rest[8 + length..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("four")));
        let mut take = |shapes: &[(usize, usize)]| -> Result<Vec<Mat<f32>>> {
            let mut all = Vec::new();
            for &(rows, cols) in shapes {
                let entries: Vec<f32> = values.by_ref().take(rows.saturating_mul(cols)).collect();
                if entries.len() != rows * cols {
                    return Err(damaged("truncated"));
                }
                all.push(Mat::from_fn(rows, cols, |i, j| entries[j * rows + i]));
            }
            Ok(all)
        };
        trainer.net.hidden = take(&header.hidden)?;
        trainer.net.heads = take(&header.heads)?;
        trainer.fisher = header.fisher.map(|shapes| take(&shapes)).transpose()?.map(Params);
        trainer.trained = header.trained;
        Ok(trainer)
    }
}

/// SHA-256 over the shapes and entries of all tasks.
fn fingerprint(tasks: &[Task]) -> String {
    let mut hash = Sha256::new();
    for task in tasks {
        let parts = [Some((&task.x, &task.y)), task.test.as_ref().map(|t| (&t.x, &t.y))];
        for m in parts.into_iter().flatten().flat_map(|(x, y)| [x, y]) {
            hash.update((m.nrows() as u64).to_le_bytes());
            hash.update((m.ncols() as u64).to_le_bytes());
            for j in 0..m.ncols() {
                (0..m.nrows()).for_each(|i| hash.update(m[(i, j)].to_le_bytes()));
            }
        }
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
