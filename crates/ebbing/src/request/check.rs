//! `check`: what a file of tasks holds, what would be computed with it, what that costs, what is wrong.

use super::AdviseRequest;
use super::field::{Fields, Range, fields};
use super::phase::{most_outputs, of_outputs};
use crate::context::Context;
use crate::data::{Dataset, Preprocess, Source};
use crate::error::Result;
use crate::plan::{
    Cost, Memory, PROCESS_BYTES, Speed, in_tiles, outputs_cost, phase_cost, sequence_cost, size, whole_disk,
};
use crate::tasks::{ByClass, Computation, Permuted, TaskCheck, TaskSequence, check_file, check_sequence, own_readouts};
use crate::theory::forecast::{Forecast, ForecastSettings};
use crate::theory::multi_head::{MultiHeadSettings, TwoTaskOutputs, TwoTasks};
use std::path::PathBuf;

fields! {
    /// What a file of tasks holds and costs, and what is wrong with it.
    pub struct CheckRequest {
        /// The file or folder
        file: Option<PathBuf> = None, positional();
        /// Inputs are features (of a network's layer, of neurons): kernels are their products
        features: bool = false, needs("file");
        /// Make tasks of K classes each out of the one set of features and labels that the file holds
        classes_per_task: Option<usize> = None, value("K"), range(Range::AT_LEAST_1), unit("classes"), needs("file");
        /// The seed of which classes a task has
        seed: u64 = 0, value("SEED"), needs("file");
    }
}

/// What a file of tasks holds, and what it is called.
#[derive(Debug)]
pub struct CheckAnswer {
    /// What it is called.
    pub name: String,
    /// What it holds, what would be computed with it, and what is wrong.
    pub check: TaskCheck,
}

/// Loads per λ that are assumed for the cost of a phase diagram.
const ALPHAS: usize = 200;
/// Trials that would take longer are left out.
const LONGEST_TRIAL: f64 = 20.0;

impl CheckRequest {
    /// Reads the file, or the sample that stands for none, and tries what the commands would compute with it.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for `features` without a file; where the embedded sample cannot be drawn from; what is wrong with a file is part of the answer.
    pub fn run(&self, context: &Context) -> Result<CheckAnswer> {
        self.check_fields()?;
        let Some(path) = &self.file else {
            // Five permuted tasks of the embedded sample.
            let source = Source::new(Dataset::sample()?, &Preprocess::default())?;
            let sequence = Permuted::default().generate(&source, 1)?;
            let check = Self::of_sequence(&sequence, false, context);
            return Ok(CheckAnswer { name: "embedded sample of MNIST".into(), check });
        };
        let (mut check, sequence) = check_file(path, self.by_class(), self.seed);
        if self.features {
            check.of_features();
        }
        if let Some(sequence) = sequence.filter(|_| check.usable()) {
            check.computations = computations(&sequence, self.features, context.plan());
            try_out(&sequence, self.features, &mut check, context);
        }
        Ok(CheckAnswer { name: path.display().to_string(), check })
    }
}

impl CheckRequest {
    /// What tasks in memory hold, what would be computed with them, and what is wrong with them.
    pub fn of_sequence(sequence: &TaskSequence, features: bool, context: &Context) -> TaskCheck {
        let mut check = check_sequence(sequence);
        if features {
            check.of_features();
        }
        if check.problems.is_empty() {
            check.computations = computations(sequence, features, context.plan());
        }
        check
    }

    fn by_class(&self) -> Option<ByClass> {
        self.classes_per_task.map(|classes_per_task| ByClass { classes_per_task })
    }
}

/// What the commands would do with a usable sequence, and what that costs by their own estimates.
fn computations(sequence: &TaskSequence, features: bool, memory: &Memory) -> Vec<Computation> {
    let (sizes, speed, n) = (sequence.sizes(), Speed::measure(), sequence.tasks.len());
    let make = |command: &str, what: String, refused: Option<String>, cost: Cost| Computation {
        command: command.into(),
        what,
        refused,
        cost: Cost { bytes: cost.bytes + PROCESS_BYTES, ..cost },
        seconds: cost.seconds(speed),
    };
    let settings = ForecastSettings { features, ..ForecastSettings::default() };
    let tested = sequence.names_classes();
    let theory = !tested || settings.computes_theory(&sizes);
    let mut what = Vec::new();
    if tested {
        what.push("accuracy lost and kept by trained networks".to_string());
    }
    if tested && settings.compares(&sizes) {
        what.push("examples to keep".into());
    }
    what.push(match (theory, n) {
        (false, _) => "the theory's own quantities with --theory".into(),
        (true, 0 | 1) => "training loss".into(),
        (true, n) => format!("{n} × {n} forgetting matrix, order parameters of {}", pairs(n)),
    });
    let tiles = !features && in_tiles(&sizes, memory);
    if tiles {
        what.push(format!("in tiles on {} of disk", size(whole_disk(&sizes, 1))));
    }
    let mut all = vec![make("forecast", what.join(", "), None, settings.cost(&sizes, tested, memory))];
    if n > 1 {
        let advise = AdviseRequest { features: features.then(PathBuf::new), ..AdviseRequest::default() };
        let cost = advise.cost_of(&advise.part_of(sizes.clone()));
        all.push(make("advise", "every remedy, examples to keep".into(), None, cost));
    }
    if !features {
        let outputs = most_outputs(&sequence.tasks);
        let refused = if n < 2 { Some("it takes two tasks at least".to_string()) } else { None };
        let (phase, cost) = if n > 2 {
            let what = format!(
                "{n} tasks at {ALPHAS} loads; --pairs: regime and critical load of every two, --pair I,J: of two"
            );
            (what, sequence_cost(&of_outputs(&sizes, outputs)).times(ALPHAS))
        } else if outputs > 1 {
            let what = format!("regimes and critical loads of two heads of up to {outputs} outputs, {ALPHAS} loads");
            (what, outputs_cost(&sizes, outputs, ALPHAS))
        } else {
            (format!("regime and critical load of two tasks, {ALPHAS} loads"), phase_cost(&sizes, ALPHAS))
        };
        all.push(make("phase", phase, refused, cost));
    }
    all
}

/// "the pair", "45 pairs".
fn pairs(tasks: usize) -> String {
    match tasks * (tasks - 1) / 2 {
        1 => "the pair".into(),
        pairs => format!("{pairs} pairs"),
    }
}

/// Computes what the commands would, and keeps what they refuse: a kernel that is singular shows only then.
fn try_out(sequence: &TaskSequence, features: bool, check: &mut TaskCheck, context: &Context) {
    let settings = ForecastSettings { order: false, features, ..ForecastSettings::default() };
    for computation in check.computations.iter_mut().filter(|c| c.refused.is_none()) {
        if computation.command == "advise" {
            // Its first step is the forecast.
            continue;
        }
        if computation.seconds > LONGEST_TRIAL {
            let untried = format!("ebbing {} was not tried out: it would take too long here", computation.command);
            check.warnings.push(untried);
            continue;
        }
        let tried = match computation.command.as_str() {
            "forecast" => Forecast::of(std::slice::from_ref(sequence), &settings, context).map(|_| ()),
            // Of more than two tasks every two that follow each other: each kernel is seen.
            _ => sequence.tasks.windows(2).try_for_each(|pair| {
                let (pair, settings) = (&own_readouts(pair)[..], MultiHeadSettings::default());
                if pair.iter().any(|task| task.y.ncols() > 1) {
                    let two = TwoTaskOutputs::new(pair, &settings, context)?;
                    return context.run(|| two.critical_loads()).map(|_| ());
                }
                TwoTasks::new(pair, &settings, context)?.critical_load().map(|_| ())
            }),
        };
        computation.refused = tried.err().map(|error| error.to_string());
    }
    let forecast = check.computations.iter().find(|c| c.command == "forecast");
    check.problems.extend(forecast.and_then(|c| c.refused.clone()));
}
