//! What is stored of earlier tasks: the keys that commands share.

use super::words::choice;
use ebbing::theory::single_head::{Replay, ReplayBudget, Selection};
use serde::{Deserialize, Serialize};

/// What is stored of earlier tasks and learned again with every later one.
#[derive(Debug, Clone, PartialEq, Default, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayKeys {
    /// Store M examples of every earlier task and learn them again with each later one
    #[arg(long, value_name = "M", default_value_t = 0)]
    pub replay: usize,
    /// What M counts
    #[arg(long, value_parser = choice::<ReplayBudget>(BUDGETS), default_value = "per-task")]
    pub replay_budget: ReplayBudget,
    /// Which examples are stored
    #[arg(long, value_parser = choice::<Selection>(SELECTIONS), default_value = "random")]
    pub replay_selection: Selection,
}

pub(super) const BUDGETS: &[(&str, &str)] = &[
    ("per-task", "Examples of each earlier task"),
    ("in-all", "Examples in all, shared by the tasks seen so far"),
    ("per-class", "Examples of each class of each earlier task"),
];

const SELECTIONS: &[(&str, &str)] = &[
    ("random", "Drawn at random"),
    ("by-class", "Drawn at random, as many of every class"),
    ("greedy", "Those that take most from the forecast forgetting"),
];

impl ReplayKeys {
    /// The settings of the theory.
    pub fn settings(&self) -> Replay {
        let (budget, selection) = (self.replay_budget, self.replay_selection);
        Replay { examples: self.replay, budget, selection, ..Replay::default() }
    }
}
