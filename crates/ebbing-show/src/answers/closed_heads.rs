//! Heads in closed form as a table.

use crate::table::Table;
use crate::text::escape_markup;
use ebbing::theory::closed_heads::{ClosedHead, ClosedHeads};

/// Heads in closed form, in the order in which they need more memory.
pub fn closed_heads(found: &ClosedHeads) -> Table {
    let percent = |share: f64| 100.0 * share;
    Table::of("Heads in closed form, which do not forget", &found.heads)
        .text("head", |h: &ClosedHead| escape_markup(h.kind.title()))
        .number("accuracy", |h| percent(h.mean_accuracy))
        .unit("%")
        .meaning("accuracy on held-out examples among all classes, mean over tasks")
        .number("known task", |h| percent(h.mean_task_accuracy))
        .key("task_accuracy")
        .unit("%")
        .meaning("the same among each task's own classes")
        .number("memory", |h| h.bytes as f64 / 1e6)
        .unit("MB")
        .meaning("what is kept between tasks, in single precision")
        .chosen("ridge", |h| h.strength.map(|s| s.relative))
        .meaning("in mean eigenvalues, chosen on examples held out of the training data")
        .done()
}
