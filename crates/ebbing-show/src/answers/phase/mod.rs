//! Tasks with a readout each against the load P/N: two of them in the diagram, all pairs, longer sequences, and the diagram itself.

mod curves;
mod diagram;
mod outputs;
mod pairs;
mod place;
mod sequence;

use super::in_brackets;
use crate::shown::Part;
use crate::style::significant;

/// What the losses of two tasks are.
pub const DEFINED: &str = "F_{21} is the training loss of task 1 after task 2 (0: remembered, 1: as bad as answering 0); G_{21} and G_{22} are \
     test losses of tasks 1 and 2 after task 2, over those of a network that learned the task alone.";

/// What the losses of longer sequences are.
pub const DEFINED_FOR_MORE: &str = "F_{T1} is the training loss of task 1 after the last (0: remembered, 1: as bad as answering 0); G_{T1} and \
     G_{TT} are test losses of the first and the last task then, over those of a network that learned the task alone.";

const TITLE: &str = "Tasks with a readout each";

/// "3 tasks of 20, 20, 30 examples (…), a readout each".
fn heading(sizes: &[usize], prepared: &str) -> String {
    let examples: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let prepared = in_brackets(prepared);
    format!("{} tasks of {} examples{prepared}, a readout each", sizes.len(), examples.join(", "))
}

/// "λ → ∞", "λ = 10".
fn penalty(lambda: f64) -> String {
    if lambda.is_infinite() { "λ → ∞".into() } else { format!("λ = {}", significant(lambda)) }
}
