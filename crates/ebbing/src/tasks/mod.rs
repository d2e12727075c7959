//! Tasks and sequences of tasks, and the protocols that make them.

mod check;
mod context;
mod draw;
mod interpolated;
mod keys;
mod labels;
mod load;
mod partial_split;
mod permuted;
mod pool;
mod prepare;
mod protocol;
mod recipe;
mod save;
mod split;
mod subsample;
mod target_distractor;
mod task;

pub use check::{Computation, TargetSummary, TaskCheck, TaskSummary, check_sequence, check_tasks};
pub use context::WithContext;
pub use interpolated::Interpolated;
pub use keys::unknown_key;
pub use labels::TargetRule;
pub use partial_split::PartialSplit;
pub use permuted::Permuted;
pub use pool::Pool;
pub(crate) use pool::number_inputs;
pub use protocol::{PostSteps, Protocol};
pub use recipe::{Recipe, TaskOrigin};
pub use split::{Labels, Split};
pub use target_distractor::TargetDistractor;
pub use task::{PoolRow, Task, TaskSequence, TestSet};

/// Adds an entry to the settings of a sequence.
fn note(settings: &mut serde_json::Value, key: &str, value: serde_json::Value) {
    if !settings.is_object() {
        *settings = serde_json::json!({});
    }
    if let Some(map) = settings.as_object_mut() {
        map.insert(key.into(), value);
    }
}
