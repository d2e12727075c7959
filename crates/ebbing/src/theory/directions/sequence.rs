//! Where the forgetting of every task of a sequence sits, from the forecast of a network with one head.

use super::{CARRIED, CLAIMED, Directions};
use crate::context::Context;
use crate::error::Result;
use crate::tasks::TaskSequence;
use crate::theory::classes::class_names;
use crate::theory::own_and_last::{AllOwnAndLast, OwnAndLast};
use crate::theory::single_head::SingleHead;
use serde::Serialize;

/// Every task but the last, which nothing follows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForgettingDirections {
    /// The tasks, first learned first.
    pub tasks: Vec<TaskDirections>,
    /// What each class is called; a column without a label by its number.
    pub class_names: Vec<String>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskDirections {
    /// Its name.
    pub name: String,
    /// The change of outputs on its training examples.
    pub train: Directions,
    /// The same on its held-out examples, where it has some.
    pub test: Option<Directions>,
}

impl ForgettingDirections {
    /// Of a network that learned this sequence.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) where the network learned another number of tasks; those of [`SingleHead::mean`] and
    /// [`Directions::new`].
    pub fn of(network: &SingleHead, sequence: &TaskSequence, context: &Context) -> Result<ForgettingDirections> {
        context.run(|| Self::with_outputs(sequence, &OwnAndLast::of(network, sequence, context)?))
    }

    /// The same from outputs that are known.
    pub(crate) fn with_outputs(sequence: &TaskSequence, outputs: &AllOwnAndLast) -> Result<ForgettingDirections> {
        let mut tasks = vec![];
        let earlier = &sequence.tasks[..sequence.tasks.len().saturating_sub(1)];
        for (t, (task, (train, test))) in earlier.iter().zip(outputs).enumerate() {
            let label = task.label(t);
            let of = |f: &OwnAndLast, what: &str| Directions::new(f.own.as_ref(), f.last.as_ref(), what);
            let test = test.as_ref().map(|f| of(f, &format!("{label}, test set"))).transpose()?;
            let name = if task.name.is_empty() { format!("task {}", t + 1) } else { task.name.clone() };
            tasks.push(TaskDirections { name, train: of(train, &label)?, test });
        }
        Ok(ForgettingDirections { tasks, class_names: class_names(&sequence.settings, sequence.columns()) })
    }

    /// How many directions carry the change, in a sentence as it is printed; none where nothing changed or there is one column.
    pub fn sentence(&self) -> Option<String> {
        let judged = || self.tasks.iter().map(|task| &task.train).filter(|found| found.as_claimed.is_some());
        let (least, most) = (judged().map(|d| d.carrying).min()?, judged().map(|d| d.carrying).max()?);
        let count = match (least, most) {
            (1, 1) => "one direction".to_string(),
            (a, b) if a == b => format!("{a} directions"),
            (a, b) => format!("{a} to {b} directions, depending on the task"),
        };
        let [low, high] = CLAIMED;
        Some(format!(
            "{:.0} % of the change of outputs on earlier tasks lies along {count} ({low} to {high} were reported for transformers).",
            100.0 * CARRIED
        ))
    }
}
