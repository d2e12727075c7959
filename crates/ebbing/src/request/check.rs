//! `check`: what a file of tasks holds, what would be computed with it, what that costs, what is wrong.

use super::field::{Fields, Range, fields};
use crate::context::Context;
use crate::data::{Dataset, Preprocess, Source};
use crate::error::Result;
use crate::tasks::{ByClass, Permuted, TaskCheck, TaskSequence, check_file, check_sequence};
use crate::theory::forecast::{Forecast, ForecastSettings};
use crate::theory::multi_head::{MultiHeadSettings, TwoTasks};
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
            let check = check_sequence(&Permuted::default().generate(&source, 1)?, context.plan());
            return Ok(CheckAnswer { name: "embedded sample of MNIST".into(), check });
        };
        let (mut check, sequence) = check_file(path, self.by_class(), self.seed, context.plan());
        if self.features {
            check.of_features();
        }
        if let Some(sequence) = sequence.filter(|_| check.usable()) {
            try_out(&sequence, self.features, &mut check, context);
        }
        Ok(CheckAnswer { name: path.display().to_string(), check })
    }
}

impl CheckRequest {
    fn by_class(&self) -> Option<ByClass> {
        self.classes_per_task.map(|classes_per_task| ByClass { classes_per_task })
    }
}

/// Computes what the commands would, and keeps what they refuse: a kernel that is singular shows only then.
fn try_out(sequence: &TaskSequence, features: bool, check: &mut TaskCheck, context: &Context) {
    let settings = ForecastSettings { order: false, features, ..ForecastSettings::default() };
    for computation in check.computations.iter_mut().filter(|c| c.refused.is_none()) {
        if computation.seconds - computation.order_seconds > LONGEST_TRIAL {
            let untried = format!("ebbing {} was not tried out: it would take too long here", computation.command);
            check.warnings.push(untried);
            continue;
        }
        let tried = match computation.command.as_str() {
            "forecast" => Forecast::of(std::slice::from_ref(sequence), &settings, context).map(|_| ()),
            // Of more than two tasks every two that follow each other: each kernel is seen.
            _ => sequence.tasks.windows(2).try_for_each(|pair| {
                let two = TwoTasks::new(pair, &MultiHeadSettings::default(), context)?;
                two.critical_load().map(|_| ())
            }),
        };
        computation.refused = tried.err().map(|error| error.to_string());
    }
    let forecast = check.computations.iter().find(|c| c.command == "forecast");
    check.problems.extend(forecast.and_then(|c| c.refused.clone()));
}
