//! Networks that learn one task each, from the same start: what separate heads know in the wide limit, and what distillation keeps.
//!
//! With targets of a wide network with one output per class, distillation without loss means that outputs of earlier classes have no
//! residual on new examples, and do not change: the output of a class stays as its own task left it, and the answer is the largest
//! of all.

use crate::context::Context;
use crate::error::Result;
use crate::linalg::Mat;
use crate::tasks::TaskSequence;
use crate::theory::Inputs;
use crate::theory::classes::{class_count, classes_of, occurring};
use crate::theory::closed_heads::share_right;
use crate::theory::single_head::{SingleHead, SingleHeadSettings};

/// What networks that learned one task each answer on the test data of every task.
pub(super) struct Apart {
    /// `[t][s]`: of the network of task t on the test data of task s, one column per class.
    outputs: Vec<Vec<Mat<f64>>>,
    /// The classes of each task.
    own: Vec<Vec<usize>>,
    /// The classes of its test data.
    truth: Vec<Vec<Option<usize>>>,
}

impl Apart {
    /// # Errors
    /// Any error of the theory for a task alone.
    pub fn of(
        sequence: &TaskSequence,
        theory: &SingleHeadSettings,
        features: bool,
        context: &Context,
    ) -> Result<Apart> {
        let count = class_count(sequence.columns());
        let (mut outputs, mut own, mut truth) = (vec![], vec![], vec![]);
        for (t, task) in sequence.tasks.iter().enumerate() {
            let alone = TaskSequence { tasks: vec![task.clone()], settings: sequence.settings.clone() };
            let inputs = if features { Inputs::Features(&alone) } else { Inputs::Network(&alone) };
            let network = SingleHead::new(inputs, theory, context)?;
            let tests = sequence.tasks.iter().filter_map(|other| other.test.as_ref());
            let answer = |x: &Mat<f64>| Ok(by_class(network.mean(x.as_ref(), 1)?));
            outputs.push(tests.map(|test| answer(&test.x)).collect::<Result<Vec<_>>>()?);
            let label = task.label(t);
            own.push(occurring(&classes_of(task.y.as_ref(), &label)?, count));
            let test = task.test.as_ref().map_or(task.y.as_ref(), |test| test.y.as_ref());
            truth.push(classes_of(test, &label)?);
        }
        Ok(Apart { outputs, own, truth })
    }

    /// The mean accuracy of each network on its own task, among its own classes.
    pub fn own(&self) -> f64 {
        let of = |t: usize| {
            let f = self.outputs[t][t].as_ref();
            let all: Vec<usize> = (0..f.ncols()).collect();
            share_right(f, &all, &self.own[t], &self.truth[t]).unwrap_or(0.0)
        };
        (0..self.own.len()).map(of).sum::<f64>() / self.own.len() as f64
    }

    /// The mean accuracy among all classes where the outputs of each class are those of the network of its task; none where tasks share
    /// classes.
    pub fn distilled(&self) -> Option<f64> {
        let columns = self.outputs[0][0].ncols();
        let of_class: Vec<Vec<usize>> =
            (0..columns).map(|c| (0..self.own.len()).filter(|&t| self.own[t].contains(&c)).collect()).collect();
        if of_class.iter().any(|tasks| tasks.len() > 1) || self.own.len() < 2 {
            return None;
        }
        let seen: Vec<usize> = (0..columns).filter(|&c| !of_class[c].is_empty()).collect();
        let of = |s: usize| {
            let rows = self.outputs[0][s].nrows();
            let f =
                Mat::from_fn(rows, columns, |i, c| of_class[c].first().map_or(0.0, |&t| self.outputs[t][s][(i, c)]));
            share_right(f.as_ref(), &(0..columns).collect::<Vec<_>>(), &seen, &self.truth[s]).unwrap_or(0.0)
        };
        Some((0..self.own.len()).map(of).sum::<f64>() / self.own.len() as f64)
    }
}

/// One column per class: of a single column −f and f.
fn by_class(f: Mat<f64>) -> Mat<f64> {
    match f.ncols() {
        1 => Mat::from_fn(f.nrows(), 2, |i, j| if j == 1 { f[(i, 0)] } else { -f[(i, 0)] }),
        _ => f,
    }
}
