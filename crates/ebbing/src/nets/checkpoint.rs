//! A run on disk as a safetensors file, which PyTorch opens too: every weight, bit for bit, and what else the run needs.
//!
//! | tensor | shape | holds |
//! |---|---|---|
//! | `layers.0.weight`, … | out × in | `W^l` of `x^{l+1} = φ(W^l x^l/√dim x^l)` |
//! | `heads.0.weight`, … | targets × width | the readouts: `f(x) = a·x^L/√N` |
//! | `fisher.layers.0.weight`, …, `fisher.heads.0.weight` | as above | the penalty's weights, where EWC has some |
//!
//! All are f32. The metadata's one entry, `ebbing`, is JSON: the SHA-256 of the whole file (taken with zeros in its
//! place), version, settings, a fingerprint of the tasks, and what was measured.

use super::learner::{Indexing, Learner, TrainSettings};
use super::posterior::Heads;
use super::train::{Trained, Trainer};
use super::update::Params;
use crate::context::Context;
use crate::data::{hex, write_atomic};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::tasks::{Task, fingerprint};
use safetensors::tensor::{Dtype, Metadata, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// How every file goes on after the header's length; the checksum follows.
const START: &[u8] = br#"{"__metadata__":{"ebbing":"{\"sha256\":\""#;
/// Where the checksum's hexadecimal digits stand.
const CHECKSUM: std::ops::Range<usize> = 8 + START.len()..8 + START.len() + 64;

#[derive(Serialize, Deserialize)]
struct Header {
    sha256: String,
    version: String,
    settings: TrainSettings,
    /// SHA-256 of the tasks' inputs and targets.
    tasks: String,
    trained: Trained,
}

impl Trainer {
    /// Writes the run to `path`, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be written.
    pub fn save(&self, path: &Path, tasks: &[Task]) -> Result<()> {
        let header = Header {
            sha256: "0".repeat(64),
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings().clone(),
            tasks: fingerprint(tasks),
            trained: self.trained().clone(),
        };
        let other = |e: &dyn std::fmt::Display| Error::io(path, std::io::Error::other(e.to_string()));
        let json = serde_json::to_string(&header).map_err(|e| other(&e))?;
        let fisher = self.fisher.iter().flat_map(|f| named("fisher.", f.0.split_at(self.net.hidden.len())));
        let tensors: Vec<(String, [usize; 2], Vec<u8>)> = named("", (&self.net.hidden, &self.net.heads))
            .chain(fisher)
            .map(|(name, m)| (name, [m.nrows(), m.ncols()], row_major(m)))
            .collect();
        let views = tensors.iter().map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.to_vec(), bytes).map(|view| (name, view)).map_err(|e| other(&e))
        });
        let views = views.collect::<Result<Vec<_>>>()?;
        let mut bytes = serialize(views, Some([("ebbing".into(), json)].into())).map_err(|e| other(&e))?;
        let digest = hex(&Sha256::digest(&bytes));
        bytes[CHECKSUM].copy_from_slice(digest.as_bytes());
        write_atomic(path, &bytes)
    }

    /// Takes up the run saved at `path`, which must have been started with the same tasks and settings.
    ///
    /// # Errors
    /// [`Error::File`] for a damaged file or one of other tasks, settings or version; [`Error::Io`] where it cannot be read.
    pub fn resume(path: &Path, tasks: &[Task], settings: &TrainSettings, context: &Context) -> Result<Self> {
        let mut bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        let damaged = |value: &str| Error::file(path, "checkpoint", value, "delete it to start the run anew");
        if bytes.get(8..CHECKSUM.start) != Some(START) || bytes.len() < CHECKSUM.end {
            return Err(damaged("no checkpoint of this program"));
        }
        let stated = bytes[CHECKSUM].to_vec();
        bytes[CHECKSUM].fill(b'0');
        if hex(&Sha256::digest(&bytes)).as_bytes() != stated {
            return Err(damaged("damaged (its checksum does not match)"));
        }
        let unreadable = |e: &dyn std::fmt::Display| damaged(&format!("unreadable ({e})"));
        let (length, metadata) = SafeTensors::read_metadata(&bytes).map_err(|e| unreadable(&e))?;
        let json = metadata.metadata().as_ref().and_then(|entries| entries.get("ebbing"));
        let json = json.ok_or_else(|| damaged("no checkpoint of this program"))?;
        let header: Header = serde_json::from_str(json).map_err(|e| unreadable(&e))?;
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
        let mut trainer = Trainer::new(tasks, settings, context)?;
        if !whole(&header.trained, tasks.len()) {
            return Err(damaged("damaged (what was measured is not there for every task learned)"));
        }
        trainer.trained = header.trained;
        if settings.heads == Heads::Multi {
            let head = trainer.net.heads[0].clone();
            trainer.net.heads.resize(trainer.done().clamp(1, tasks.len()), head);
        }
        let read = |name: String, rows: usize, columns: usize| {
            let wrong = || damaged(&format!("without {name} of {rows} x {columns}"));
            tensor(&metadata, &bytes[8 + length..], &name, rows, columns).ok_or_else(wrong)
        };
        let fill = |prefix: &str, hidden: &mut [Mat<f32>], heads: &mut [Mat<f32>]| -> Result<()> {
            for (l, w) in hidden.iter_mut().enumerate() {
                *w = read(format!("{prefix}layers.{l}.weight"), w.nrows(), w.ncols())?;
            }
            for (h, a) in heads.iter_mut().enumerate() {
                *a = read(format!("{prefix}heads.{h}.weight"), a.ncols(), a.nrows())?.transpose().to_owned();
            }
            Ok(())
        };
        fill("", &mut trainer.net.hidden, &mut trainer.net.heads)?;
        if metadata.info("fisher.layers.0.weight").is_some() {
            let mut fisher = Params::of(&trainer.net, 0);
            let (hidden, heads) = fisher.0.split_at_mut(trainer.net.hidden.len());
            fill("fisher.", hidden, heads)?;
            trainer.fisher = Some(fisher);
        } else if matches!(settings.learner, Learner::Ewc { indexing: Indexing::Past, .. }) && trainer.done() > 0 {
            return Err(damaged("without the penalty's weights"));
        }
        Ok(trainer)
    }
}

/// Hidden matrices and readouts, named and shaped (out × in) as PyTorch has them.
fn named<'a>(
    prefix: &'a str,
    (hidden, heads): (&'a [Mat<f32>], &'a [Mat<f32>]),
) -> impl Iterator<Item = (String, MatRef<'a, f32>)> {
    let layers = hidden.iter().enumerate().map(move |(l, w)| (format!("{prefix}layers.{l}.weight"), w.as_ref()));
    let heads = heads.iter().enumerate().map(move |(h, a)| (format!("{prefix}heads.{h}.weight"), a.transpose()));
    layers.chain(heads)
}

/// The entries row by row, little-endian.
fn row_major(m: MatRef<'_, f32>) -> Vec<u8> {
    (0..m.nrows()).flat_map(|i| (0..m.ncols()).flat_map(move |j| m[(i, j)].to_le_bytes())).collect()
}

/// The tensor of this name, where it has the wanted type and shape.
fn tensor(metadata: &Metadata, data: &[u8], name: &str, rows: usize, columns: usize) -> Option<Mat<f32>> {
    let info = metadata.info(name).filter(|info| info.dtype == Dtype::F32 && info.shape == [rows, columns])?;
    let bytes = data.get(info.data_offsets.0..info.data_offsets.1)?;
    let values: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    if values.len() != rows * columns || values.iter().any(|w| !w.is_finite()) {
        return None;
    }
    Some(MatRef::from_row_major_slice(&values, rows, columns).to_owned())
}

/// Whether there is one report per task learned, and one number for every task seen until then.
fn whole(trained: &Trained, tasks: usize) -> bool {
    fn triangle<T>(matrix: &[Vec<T>], rows: usize) -> bool {
        matrix.len() == rows && matrix.iter().enumerate().all(|(t, row)| row.len() == t + 1)
    }
    let done = trained.reports.len();
    done <= tasks
        && triangle(&trained.train_loss, done)
        && triangle(&trained.test_loss, done)
        && triangle(&trained.train_accuracy, done)
        && triangle(&trained.test_accuracy, done)
}
