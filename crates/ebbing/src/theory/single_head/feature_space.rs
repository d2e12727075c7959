//! `W_t = W_{t−1} + (C_t + 1/β)^{-1} X_tᵀ(Y_t − X_t W_{t−1})/d`, `C_t = X_tᵀX_t/d`: a linear head on d features that learns one task
//! after another, and its outputs `X W_t`.
//!
//! Exactly what kernels `x·x'/d` between all examples give, in `T P d (d + K T)` operations for tasks of P examples and K
//! columns instead of `T² P² d`, and with nothing larger than d × d beside the rows.

use super::entropy;
use super::forward::Learned;
use super::settings::{Loss, SingleHeadSettings};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, matmul};
use crate::plan::{Sizes, in_feature_space};
use crate::theory::blocks::factor::RANK_TOLERANCE;
use crate::theory::blocks::feature_space::{FeatureInverse, outputs};
use crate::theory::blocks::kernels::{KernelSource, Kernels, Points};
use crate::theory::blocks::shared::Shared;
use crate::theory::operator::{self, Inverses, Operator};

/// The weights of the head.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// After every task.
    after: Vec<Mat<f64>>,
    /// Of fresh networks that learn one task alone.
    alone: Vec<Mat<f64>>,
}

impl Weights {
    /// The outputs after some tasks (from 0).
    pub fn outputs(&self, x: Points<'_>, times: &[usize]) -> Result<Vec<Mat<f64>>> {
        let x = features(x)?;
        Ok(times.iter().map(|&t| outputs(x, self.after[t].as_ref())).collect())
    }

    /// The outputs of a fresh network that learns task s (from 0) alone.
    pub fn outputs_alone(&self, x: Points<'_>, s: usize) -> Result<Mat<f64>> {
        Ok(outputs(features(x)?, self.alone[s].as_ref()))
    }
}

/// Whether the tasks are learned in feature space: some task has more examples than features, and all of it costs less.
pub(super) fn serves(kernels: &Kernels, shared: &Shared) -> bool {
    let KernelSource::Features { by_examples: false, .. } = kernels.source else { return false };
    let Some(first) = shared.tasks.first() else { return false };
    let Points::Inputs(x) = first.own.points() else { return false };
    let sizes = Sizes {
        train: shared.tasks.iter().map(|task| task.own.len()).collect(),
        test: shared.tasks.iter().map(|task| task.test.as_ref().map_or(0, |test| test.0.len())).collect(),
        dim: x.ncols(),
        columns: first.y.ncols(),
        distinct: None,
    };
    shared.common.len() == 0 && in_feature_space(&sizes)
}

/// Learns the tasks one after another.
pub(super) fn learn(shared: &Shared, settings: &SingleHeadSettings) -> Result<Learned> {
    let weights = Weights { after: vec![], alone: vec![] };
    let entropy = (settings.loss == Loss::CrossEntropy).then_some(settings.beta);
    let mut head = Head { shared, ridge: settings.ridge(), entropy, weights, inverses: Inverses::default() };
    operator::learn(&mut head)?;
    let Head { weights, inverses, .. } = head;
    // Losses on training data are taken where they are asked for.
    Ok(Learned { inverses, weights: Some(weights), ..Learned::default() })
}

/// A linear head while it learns.
struct Head<'a> {
    shared: &'a Shared,
    ridge: f64,
    /// β, where it learns by cross-entropy.
    entropy: Option<f64>,
    weights: Weights,
    inverses: Inverses,
}

impl Operator for Head<'_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        self.shared.tasks.len()
    }

    fn rest(&mut self, t: usize) -> Result<Mat<f64>> {
        let task = &self.shared.tasks[t];
        match self.weights.after.last() {
            Some(before) => Ok(&task.y - outputs(features(task.own.points())?, before.as_ref())),
            None => Ok(task.y.clone()),
        }
    }

    /// `(C_t + 1/β)^{-1} X_tᵀ R/d`.
    fn solve(&mut self, t: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        let task = &self.shared.tasks[t];
        let x = features(task.own.points())?;
        let inverse = FeatureInverse::new(x, self.ridge, RANK_TOLERANCE, &task.name)?;
        // At a temperature every example counts.
        let rank = if self.ridge > 0.0 { x.nrows() } else { inverse.rank() };
        self.inverses.note(&task.name, inverse.condition, rank)?;
        if let Some(beta) = self.entropy {
            let learn = |f: MatRef<'_, f64>| -> Result<Mat<f64>> {
                let product = |v: MatRef<'_, f64>| outputs(x, carried(x, v).as_ref());
                let solve = |v: MatRef<'_, f64>| inverse.solve(v);
                let kernel = entropy::Kernel { product: &product, solve: &solve, beta };
                Ok(carried(x, kernel.learn(f, task.y.as_ref(), &task.name)?.as_ref()))
            };
            let change = learn((&task.y - &rest).as_ref())?;
            let fresh = if t == 0 { change.clone() } else { learn(Mat::zeros(rest.nrows(), rest.ncols()).as_ref())? };
            self.weights.alone.push(fresh);
            return Ok(change);
        }
        let change = inverse.learn(rest.as_ref());
        self.weights.alone.push(if t == 0 { change.clone() } else { inverse.learn(task.y.as_ref()) });
        Ok(change)
    }

    fn carry(&mut self, _: usize, change: Mat<f64>) -> Result<()> {
        self.weights.after.push(match self.weights.after.last() {
            Some(before) => before + change,
            None => change,
        });
        Ok(())
    }
}

/// `Xᵀu/d`: the weights that coefficients u of examples are.
fn carried(x: MatRef<'_, f64>, u: MatRef<'_, f64>) -> Mat<f64> {
    let mut w = matmul(x.transpose(), u);
    let d = x.ncols() as f64;
    (0..w.ncols()).for_each(|j| w.col_as_slice_mut(j).iter_mut().for_each(|v| *v /= d));
    w
}

/// Features, one row per point.
fn features(points: Points<'_>) -> Result<MatRef<'_, f64>> {
    match points {
        Points::Inputs(x) => Ok(x),
        Points::Rows(_) => Err(Error::data("points", "a theory of features takes features, not rows of kernels")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::TaskSequence;
    use crate::theory::Inputs;
    use crate::theory::blocks::feature_space::shapes::{all, close};
    use crate::theory::single_head::score::Targets;
    use crate::theory::single_head::{Replay, ReplayBudget, Selection, SingleHead};

    fn settings() -> Vec<SingleHeadSettings> {
        let mut all = vec![];
        for beta in [f64::INFINITY, 100.0, 0.4] {
            let plain = SingleHeadSettings { beta, ..Default::default() };
            let stored = |examples: usize, budget, selection| SingleHeadSettings {
                replay: Replay { examples, budget, selection, seed: 1 },
                ..plain
            };
            all.push(plain);
            all.push(stored(7, ReplayBudget::PerTask, Selection::Random));
            all.push(stored(30, ReplayBudget::InAll, Selection::ByClass));
            all.push(stored(5, ReplayBudget::PerTask, Selection::Greedy));
        }
        all
    }

    /// The same by kernels between examples.
    fn by_examples(sequence: &TaskSequence, settings: &SingleHeadSettings) -> SingleHead {
        let source = KernelSource::Features { neurons: sequence.dim(), by_examples: true };
        SingleHead::learn(*settings, source, &Inputs::Features(sequence).given(0.0).unwrap()).unwrap()
    }

    #[test]
    fn feature_space_agrees_with_kernels_between_examples() {
        for (k, sequence) in all().iter().enumerate() {
            for settings in settings() {
                let network =
                    SingleHead::new(Inputs::Features(sequence), &settings, &crate::Context::default()).unwrap();
                assert!(network.learned.weights.is_some());
                let found = network.forecast().unwrap();
                let network = by_examples(sequence, &settings);
                assert!(network.learned.weights.is_none());
                let known = network.forecast().unwrap();
                let name = |what: &str| format!("{what} of sequence {k}, {settings:?}");
                let same = |what: &str, a: &[Vec<f64>], b: &[Vec<f64>]| {
                    assert_eq!(a.len(), b.len());
                    a.iter().flatten().zip(b.iter().flatten()).for_each(|(a, b)| close(&name(what), *a, *b));
                };
                same("forgetting", &found.forgetting, &known.forgetting);
                assert_eq!(found.train_accuracy, known.train_accuracy, "{}", name("accuracy"));
                assert_eq!(found.ranks, known.ranks, "{}", name("ranks"));
                let (tested, answer) = (found.test.unwrap(), known.test.unwrap());
                same("loss", &tested.loss, &answer.loss);
                same("alone", &[tested.alone], &[answer.alone]);
                assert_eq!(tested.accuracy, answer.accuracy, "{}", name("test accuracy"));
                assert_eq!(tested.task_accuracy, answer.task_accuracy, "{}", name("task accuracy"));
                assert_eq!(tested.alone_accuracy, answer.alone_accuracy, "{}", name("accuracy alone"));
                close(&name("F_21 at λ = 0"), found.f21_at_lambda_zero.unwrap(), known.f21_at_lambda_zero.unwrap());
            }
        }
    }

    #[test]
    fn the_spread_is_that_of_kernels() {
        let sequence = &all()[0];
        let settings = SingleHeadSettings { beta: 10.0, variance: true, ..Default::default() };
        let of = || {
            SingleHead::new(Inputs::Features(sequence), &settings, &crate::Context::default())
                .unwrap()
                .forecast()
                .unwrap()
        };
        let (found, known) = (of(), by_examples(sequence, &settings).forecast().unwrap());
        for (a, b) in found.forgetting.iter().flatten().zip(known.forgetting.iter().flatten()) {
            close("with variance", *a, *b);
        }
    }

    #[test]
    fn tasks_without_more_examples_than_features_keep_their_kernels() {
        let sequence = crate::theory::blocks::feature_space::shapes::tasks(&[12, 18], (20, 20), 1, 6);
        let network =
            SingleHead::new(Inputs::Features(&sequence), &SingleHeadSettings::default(), &crate::Context::default())
                .unwrap();
        assert!(network.learned.weights.is_none());
    }

    #[test]
    fn prepared_targets_score_as_any() {
        for sequence in all() {
            let (task, other) = (&sequence.tasks[0], &sequence.tasks[1]);
            let targets = Targets::new(task.y.as_ref(), None);
            // Outputs with ties, and of too few rows.
            let f = Mat::from_fn(task.y.nrows(), task.y.ncols(), |i, j| ((i * 7 + j * 3) % 4) as f64 - 1.0);
            let known = crate::theory::single_head::score::Score::new(f.as_ref(), task.y.as_ref(), None, None).unwrap();
            let found = targets.score(f.as_ref()).unwrap();
            assert_eq!((found.accuracy, found.task_accuracy), (known.accuracy, known.task_accuracy));
            close("loss", found.loss, known.loss);
            assert!(
                targets.score(other.y.as_ref()).is_err()
                    && targets.score(Mat::from_fn(f.nrows(), f.ncols(), |_, _| f64::NAN).as_ref()).is_err()
            );
        }
    }
}
