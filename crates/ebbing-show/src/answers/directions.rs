//! Directions of forgetting as a table.

use crate::table::Table;
use crate::text::escape_markup;
use ebbing::theory::directions::{ForgettingDirections, TaskDirections};

/// How many directions carry the forgetting of every task.
pub fn directions(found: &ForgettingDirections) -> Table {
    let name = |k: usize| found.class_names.get(k).map_or_else(|| k.to_string(), |name| escape_markup(name));
    let first = |t: &TaskDirections| t.train.leading.first().and_then(|d| d.classes.first()).map(|c| name(c.index));
    Table::of("Where forgetting sits", &found.tasks)
        .text("task", |t: &TaskDirections| escape_markup(&t.name))
        .integer("directions", |t| t.train.carrying)
        .meaning("directions that carry 90 % of the squared change of outputs by later tasks")
        .number("effective", |t| t.train.effective)
        .meaning("directions of equal size that would be spread like these")
        .number("first", |t| t.train.leading.first().map(|d| 100.0 * d.share))
        .key("first_share")
        .unit("%")
        .meaning("share of the largest direction")
        .text("its class", move |t| first(t).unwrap_or_default())
        .key("first_class")
        .meaning("the class whose outputs move most along it")
        .done()
}
