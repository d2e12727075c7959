//! Tasks, sequences of tasks, and the protocols that make them.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Task`], [`TestSet`], [`Present`] | inputs and targets, with optional held-out ones and outputs at the start |
//! | [`TaskSequence`] | tasks in the order in which they are learned; loads and saves `.npz` files |
//! | [`Permuted`] | the same images with some pixels shuffled, differently for each task |
//! | [`Split`], [`PartialSplit`] | other classes in each task, entirely or in part |
//! | [`ByClass`] | tasks of so many classes each, out of one set of examples |
//! | [`TargetDistractor`] | random labels on a few images, with controlled sharing between tasks |
//! | [`Interpolated`] | datasets that lead gradually from one task to the next |
//! | [`WithContext`] | the task's identity as part of the input |
//! | [`TargetRule`], [`own_readouts`] | what labels become: ±1, one-hot columns, or what they are |
//! | [`Provenance`] | what made a sequence, written into every result |
//! | [`Recipe`] | a TOML file that says all of this |
//! | [`check_tasks`], [`check_sequence`] | what a task file holds, what it can be used for, what is wrong with it |
//! | [`Pool`] | the distinct inputs of a sequence |
//!
//! The protocols are those of the paper's supplement ("The Target-Distractor Task Sequence", "Benchmark Task
//! Sequences"), with two corrections: see [`TargetDistractor`] for the fraction of shared distractors and
//! [`PartialSplit`] for the rule.
//!
//! ```
//! use ebbing::linalg::Mat;
//! use ebbing::{Task, TaskSequence};
//! let task = |shift: usize| {
//!     let x = Mat::from_fn(8, 5, |i, j| ((i * (j + shift)) % 7) as f64 + 0.1 * i as f64 + 1.0);
//!     Task::new(x, Mat::from_fn(8, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))
//! };
//! let sequence = TaskSequence::new(vec![task(1).named("first"), task(2)])?;
//! assert_eq!((sequence.tasks.len(), sequence.dim(), sequence.columns()), (2, 5, 1));
//! # Ok::<(), ebbing::Error>(())
//! ```

mod by_class;
mod check;
mod context;
mod draw;
mod feature_files;
mod interpolated;
mod labels;
mod load;
mod partial_split;
mod permuted;
mod pool;
mod protocol;
mod provenance;
mod recipe;
mod slots;
mod split;
mod subsample;
mod target_distractor;
mod task;

pub use by_class::ByClass;
pub(crate) use check::check_file;
pub use check::{Computation, TargetSummary, TaskCheck, TaskSummary, check_sequence, check_tasks};
pub use context::WithContext;
pub use feature_files::{FeatureFiles, StreamedTask};
pub use interpolated::Interpolated;
pub(crate) use labels::same_classes;
pub use labels::{Class, RawTargets, RawTask, TargetRule, own_readouts, prepared_words, whole_targets};
pub use load::TasksFile;
pub use partial_split::PartialSplit;
pub use permuted::Permuted;
pub use pool::Pool;
pub(crate) use pool::number_inputs;
pub use protocol::{PostSteps, Protocol};
pub use provenance::{Draws, FileRecord, ImageCounts, Provenance, Seeded, Subsample};
pub use recipe::{Recipe, TaskOrigin, dim_of, unknown_key};
pub use split::{Labels, Split};
pub use subsample::parts_of;
pub(crate) use subsample::rows_of;
pub use target_distractor::TargetDistractor;
pub use task::{PoolRow, Present, Task, TaskSequence, TestSet, sizes_of};
pub(crate) use task::{called, check_order, fingerprint, in_order, inputs_only, some_target};
