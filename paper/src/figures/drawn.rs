//! The tasks of a cell: one recipe, whatever is computed of them.

use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::{Cost, Sizes, phase_cost, whitening_cost};
use ebbing::tasks::{Interpolated, PartialSplit, Permuted, PostSteps, Protocol};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::{Recipe, TaskSequence};
use ebbing_studies::{Result, Value};
use serde::{Deserialize, Serialize};

/// Two tasks that a ratio makes more or less similar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByRatio {
    /// Permuted images, the first task as it is.
    Permuted,
    /// The partial split of two pairs of classes.
    Split,
}

impl ByRatio {
    /// Both, in the order of the paper's panels.
    pub const BOTH: [ByRatio; 2] = [ByRatio::Permuted, ByRatio::Split];

    /// As rows and claims name it.
    pub fn name(self) -> &'static str {
        match self {
            ByRatio::Permuted => "permuted",
            ByRatio::Split => "split",
        }
    }

    /// As axes name the ratio.
    pub fn axis(self) -> &'static str {
        match self {
            ByRatio::Permuted => "permutation ratio",
            ByRatio::Split => "split ratio",
        }
    }

    /// The two tasks at a ratio, of `p` examples and `p_test` for the test each.
    pub fn protocol(self, ratio: f64, p: usize, p_test: usize) -> Protocol {
        match self {
            ByRatio::Permuted => {
                let permute_first = false;
                Protocol::Permuted(Permuted { tasks: 2, p, p_test, ratio, permute_first, ..Permuted::default() })
            }
            ByRatio::Split => Protocol::PartialSplit(PartialSplit { split: ratio, p, p_test, pairs: None }),
        }
    }
}

impl std::fmt::Display for ByRatio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<ByRatio> for Value {
    fn from(kind: ByRatio) -> Value {
        kind.name().into()
    }
}

/// Tasks drawn from a data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Drawn {
    /// The data set by name.
    pub data: String,
    /// How they are drawn.
    pub protocol: Protocol,
    /// Datasets between two tasks that mix them.
    pub between: usize,
    /// The seed.
    pub seed: u64,
}

impl Drawn {
    /// What makes them.
    pub fn recipe(&self) -> Recipe {
        let interpolate = (self.between > 0).then_some(Interpolated { steps: self.between });
        let post = PostSteps { interpolate, ..PostSteps::default() };
        Recipe { post, seed: self.seed, ..Recipe::drawn(self.data.as_str(), self.protocol.clone()) }
    }

    /// The sequence.
    pub fn sequence(&self, sources: &Sources) -> Result<TaskSequence> {
        Ok(self.recipe().draw(sources, self.seed)?)
    }

    /// The theory of two of them with a readout each.
    pub fn two(&self, sources: &Sources, settings: &MultiHeadSettings, context: &Context) -> Result<TwoTasks> {
        Ok(TwoTasks::new(&self.sequence(sources)?.tasks, settings, context)?)
    }

    /// The sizes of the sequence.
    pub fn sizes(&self) -> Sizes {
        // Known sets are not read for that; of another one that is not there, the dimension counts as nothing.
        self.recipe().sizes().or_else(|_| self.protocol.sizes(0)).unwrap_or_default()
    }

    /// The cost of drawing two tasks and of their curve against the load.
    pub fn phase_cost(&self, loads: usize) -> Cost {
        let sizes = self.sizes();
        drawn_cost(&sizes, phase_cost(&sizes, loads))
    }

    /// The sizes where test examples are of no use.
    pub fn untested(&self) -> Sizes {
        let sizes = self.sizes();
        Sizes { test: vec![0; sizes.test.len()], ..sizes }
    }
}

/// The cost of drawing tasks and of what is then done with them.
pub(super) fn drawn_cost(sizes: &Sizes, then: Cost) -> Cost {
    let examples = sizes.train.iter().chain(&sizes.test).sum();
    whitening_cost(examples, sizes.dim).then(then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_sequence() {
        let sources = Sources::new();
        for (kind, between) in [(ByRatio::Permuted, 0), (ByRatio::Split, 1)] {
            let protocol = kind.protocol(0.5, 30, 20);
            let drawn = Drawn { data: "mnist-sample".into(), protocol, between, seed: 3 };
            let (found, answer) = (drawn.sequence(&sources).unwrap().sizes(), drawn.sizes());
            assert_eq!((found.train, found.test, found.dim), (answer.train, answer.test, answer.dim), "{kind}");
            assert_eq!(drawn.untested().test, vec![0; 2 + between]);
        }
    }
}
