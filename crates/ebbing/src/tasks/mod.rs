//! Tasks and sequences of tasks, and the protocols that make them.

mod task;

pub use task::{PoolRow, Task, TaskSequence, TestSet};
