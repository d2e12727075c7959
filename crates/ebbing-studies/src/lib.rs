//! Studies: a grid of cells and seeds, each cell a pure function of its settings.
//!
//! A [`Study`] holds its cells, each with its [`Work`]: a [`Job`] of a command, or a computation of another crate, as those of
//! the paper's figures. Running, resuming, sharing out and collecting are the same for all.
#![deny(missing_docs)]

mod cell;
mod engine;
mod error;
mod file;
mod frame;
mod rows;
mod run;
mod slurm;
mod store;
mod study;

pub use cell::{Cell, Row, Settings, Value};
pub use ebbing::data::Sources;
pub use engine::{Bill, Event, Outcome, bill, run_missing, single_speed};
pub use error::{Error, Result};
pub use file::StudyFile;
pub use frame::Frame;
pub use rows::Job;
pub use run::{Listener, compute_cells};
pub use slurm::{SlurmArgs, SlurmOptions};
pub use store::{CellState, Lock, Manifest, Share, Status, Store, StoredColumn};
pub use study::{Column, Study, Work};
