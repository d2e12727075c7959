//! Studies: a grid of cells and seeds, each cell a pure function of its settings, and one study per figure of the paper.
//!
//! A [`Study`] names its cells and computes one of them; running, resuming, sharing out and collecting are the same for
//! all. A [`Reproduction`] is a study that also draws a figure of the paper and computes its claims.
#![deny(missing_docs)]

mod cell;
mod claim;
pub mod draw;
mod engine;
mod error;
mod figures;
mod file;
mod frame;
mod grid;
pub mod job;
mod run;
mod slurm;
mod store;
mod study;

pub use cell::{Cell, Row, Settings, Value};
pub use claim::{Claim, Verdict};
pub use ebbing::data::Sources;
pub use engine::{Bill, Event, Outcome, bill, run_missing, single_speed};
pub use error::{Error, Result};
pub use figures::{ENTRIES, Entry, Needs, Reproduction, Scale};
pub use file::StudyFile;
pub use frame::Frame;
pub use grid::Grid;
pub use job::Job;
pub use run::{Listener, compute_cells};
pub use slurm::{SlurmArgs, SlurmOptions};
pub use store::{CellState, Lock, Manifest, Share, Status, Store, StoredColumn};
pub use study::{Column, Study, Work};
