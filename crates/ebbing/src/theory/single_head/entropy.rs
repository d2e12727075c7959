//! Learning by cross-entropy in place of squared error: of all changes `K u` of the outputs f at a task's examples the one with
//!
//! ```math
//! \min_u\; \sum_i -\log\operatorname{softmax}(f + K u)_{i,y_i} + \frac{1}{2\beta}\,u^{\mathsf T} K u
//! \qquad\Longrightarrow\qquad u = \beta\,\bigl(Y - \operatorname{softmax}(f + K u)\bigr).
//! ```
//!
//! One implicit step of gradient descent for a time β from the network before the task, and the mode of the posterior whose prior is that
//! network: what squared error makes `u = β (Y − f − K u)`, the same as `(K + 1/β)^{-1}(Y − f)`. With squared error an example pulls
//! until its outputs are its targets; here it pulls by its error in probability alone, so that training ends where a task is answered
//! rightly, and classes that occur often do not rule those that occur seldom.
//!
//! The Hessian of cross-entropy is at most ½ in every output, whatever the outputs are, so that the step
//! `u → u − (K/2 + 1/β)^{-1}(u/β + softmax(f + K u) − Y)` never overshoots; Nesterov's acceleration with restarts makes it fast. One factor
//! of `K + 2/β` serves all steps. It ends where no entry of `u/β + softmax − Y`, an error in probability, exceeds [`ENOUGH`].
//!
//! One column of ±1 is the difference of the two outputs of its two classes: `u = 2β (Y − σ(f + K u))`, with Y of 0 and 1.

use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};

/// Errors in probability that are left: accuracies of test examples do not change by smaller ones.
const ENOUGH: f64 = 2e-3;
/// Steps at most; measured ones take 10 to 160.
const STEPS: usize = 1000;

/// What a task is learned with: `K v`, and `(K + 2/β)^{-1} v`.
pub(super) struct Kernel<'a> {
    pub product: &'a dyn Fn(MatRef<'_, f64>) -> Mat<f64>,
    pub solve: &'a dyn Fn(MatRef<'_, f64>) -> Mat<f64>,
    pub beta: f64,
}

impl Kernel<'_> {
    /// u for targets y of a network whose outputs are f before the task.
    ///
    /// # Errors
    /// [`Error::NotConverged`] where the steps do not end.
    pub fn learn(&self, f: MatRef<'_, f64>, y: MatRef<'_, f64>, name: &str) -> Result<Mat<f64>> {
        let classes = Targets::of(y);
        let mut u = Mat::<f64>::zeros(y.nrows(), y.ncols());
        let mut ahead = u.clone();
        let mut pace = 1.0_f64;
        let mut left = f64::INFINITY;
        for _ in 0..STEPS {
            crate::stop::check()?;
            let outputs = f + (self.product)(ahead.as_ref());
            let mut wrong = classes.probabilities(outputs.as_ref());
            for j in 0..y.ncols() {
                let parts = wrong.col_as_slice_mut(j).iter_mut().zip(ahead.col_as_slice(j));
                parts.enumerate().for_each(|(i, (p, v))| *p += v / (classes.scale * self.beta) - classes.target(i, j));
            }
            left = wrong.col_iter().flat_map(|c| c.iter().copied()).fold(0.0, |most: f64, v| most.max(v.abs()));
            if !left.is_finite() {
                break;
            }
            // (K/2 + 1/β)^{-1} = 2 (K + 2/β)^{-1}.
            let mut new = (self.solve)(wrong.as_ref());
            let mut along = 0.0;
            for j in 0..y.ncols() {
                let (before, wrong, ahead) = (u.col_as_slice(j), wrong.col_as_slice(j), ahead.col_as_slice(j));
                for (i, new) in new.col_as_slice_mut(j).iter_mut().enumerate() {
                    *new = ahead[i] - 2.0 * classes.scale * *new;
                    along += wrong[i] * (*new - before[i]);
                }
            }
            if left <= ENOUGH {
                return Ok(new);
            }
            if along > 0.0 {
                // Uphill: the acceleration begins anew.
                pace = 1.0;
                ahead = new.clone();
            } else {
                let faster = f64::midpoint(1.0, (1.0 + 4.0 * pace * pace).sqrt());
                let more = (pace - 1.0) / faster;
                ahead = Mat::from_fn(y.nrows(), y.ncols(), |i, j| new[(i, j)] + more * (new[(i, j)] - u[(i, j)]));
                pace = faster;
            }
            u = new;
        }
        Err(Error::NotConverged {
            what: format!("learning {name} by cross-entropy"),
            residual: left,
            steps: STEPS,
            trace: vec![],
            advice: "scale the inputs to a mean square near 1".into(),
        })
    }
}

/// The classes that targets name.
struct Targets {
    /// The column of every row's class; of one column 0 where it is positive and 1 where it is not.
    class: Vec<usize>,
    /// One column is the difference of two outputs.
    scale: f64,
}

impl Targets {
    fn of(y: MatRef<'_, f64>) -> Targets {
        let class = |i: usize| match y.ncols() {
            1 => usize::from(y[(i, 0)] <= 0.0),
            n => (1..n).fold(0, |best, j| if y[(i, j)] > y[(i, best)] { j } else { best }),
        };
        Targets { class: (0..y.nrows()).map(class).collect(), scale: if y.ncols() == 1 { 2.0 } else { 1.0 } }
    }

    /// 1 for the column of the class, 0 for others.
    fn target(&self, i: usize, j: usize) -> f64 {
        f64::from(u8::from(self.class[i] == j))
    }

    /// `softmax(f)`, of one column `σ(f)`.
    fn probabilities(&self, f: MatRef<'_, f64>) -> Mat<f64> {
        if f.ncols() == 1 {
            return Mat::from_fn(f.nrows(), 1, |i, _| 1.0 / (1.0 + (-f[(i, 0)]).exp()));
        }
        let mut top = vec![f64::NEG_INFINITY; f.nrows()];
        for j in 0..f.ncols() {
            top.iter_mut().zip(f.col(j).iter()).for_each(|(top, v)| *top = top.max(*v));
        }
        let mut made = Mat::from_fn(f.nrows(), f.ncols(), |i, j| (f[(i, j)] - top[i]).exp());
        let mut sums = vec![0.0; f.nrows()];
        for j in 0..f.ncols() {
            sums.iter_mut().zip(made.col_as_slice(j)).for_each(|(sum, v)| *sum += v);
        }
        for j in 0..f.ncols() {
            made.col_as_slice_mut(j).iter_mut().zip(&sums).for_each(|(v, sum)| *v /= sum);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, matmul};
    use crate::rng::Stream;
    use crate::tasks::{Task, TaskSequence};
    use crate::theory::Inputs;
    use crate::theory::blocks::factor::with_ridge;
    use crate::theory::single_head::{Loss, Replay, ReplayBudget, SingleHeadSettings};
    use crate::{Context, SingleHead};

    /// Examples of classes around means, with outputs before the task.
    fn drawn(n: usize, columns: usize, seed: u64) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let mut stream = Stream::new(seed, "cross-entropy tests", columns as u64);
        let means = Mat::from_fn(columns.max(2), 6, |_, _| stream.normal());
        let x = Mat::from_fn(n, 6, |i, j| means[(i % columns.max(2), j)] + stream.normal());
        let y = match columns {
            1 => Mat::from_fn(n, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }),
            _ => Mat::from_fn(n, columns, |i, j| f64::from(u8::from(i % columns == j))),
        };
        let f = Mat::from_fn(n, columns, |_, _| stream.normal());
        (matmul(x.as_ref(), x.transpose()), y, f)
    }

    fn learned(k: &Mat<f64>, y: &Mat<f64>, f: &Mat<f64>, beta: f64) -> Mat<f64> {
        let factor = Cholesky::factor_owned(with_ridge(k.as_ref(), 2.0 / beta), "a kernel").unwrap();
        let product = |v: MatRef<'_, f64>| matmul(k.as_ref(), v);
        let solve = |v: MatRef<'_, f64>| factor.solve(v);
        Kernel { product: &product, solve: &solve, beta }.learn(f.as_ref(), y.as_ref(), "a task").unwrap()
    }

    #[test]
    fn what_is_learned_is_the_error_that_is_left() {
        for (columns, beta) in [(3, 0.5), (3, 50.0), (1, 2.0), (1, 50.0)] {
            let (k, y, f) = drawn(30, columns, 1);
            let u = learned(&k, &y, &f, beta);
            let outputs = &f + matmul(k.as_ref(), u.as_ref());
            let classes = Targets::of(y.as_ref());
            let p = classes.probabilities(outputs.as_ref());
            for i in 0..30 {
                for j in 0..columns {
                    let left = u[(i, j)] / (classes.scale * beta) + p[(i, j)] - classes.target(i, j);
                    // The last step is taken after the error was seen to be small, and makes it no larger than it was.
                    assert!(left.abs() <= 2.0 * ENOUGH, "{columns} {beta}: {left}");
                }
            }
        }
    }

    #[test]
    fn two_columns_are_one() {
        let (k, one, _) = drawn(24, 1, 2);
        let two = Mat::from_fn(24, 2, |i, j| f64::from(u8::from((one[(i, 0)] > 0.0) == (j == 0))));
        let u = learned(&k, &one, &Mat::zeros(24, 1), 3.0);
        let v = learned(&k, &two, &Mat::zeros(24, 2), 3.0);
        for i in 0..24 {
            // Both to the error at which the steps end, times β and the scale of one column.
            assert!((u[(i, 0)] - (v[(i, 0)] - v[(i, 1)])).abs() < 4.0 * 3.0 * 2.0 * ENOUGH, "{i}");
        }
    }

    #[test]
    fn a_short_time_is_one_step_of_gradient_descent() {
        let (k, y, f) = drawn(20, 3, 3);
        let beta = 1e-4;
        let u = learned(&k, &y, &f, beta);
        let p = Targets::of(y.as_ref()).probabilities(f.as_ref());
        for i in 0..20 {
            for j in 0..3 {
                // u = β (Y − p) up to what β K moves p, and the error at which the steps end.
                let size = beta * k[(i, i)] * 20.0;
                assert!((u[(i, j)] / beta - (y[(i, j)] - p[(i, j)])).abs() < size + ENOUGH, "{i} {j}");
            }
        }
    }

    fn sequence() -> TaskSequence {
        let mut stream = Stream::new(4, "cross-entropy tests", 0);
        let means = Mat::from_fn(6, 8, |_, _| 1.5 * stream.normal());
        let mut set = |t: usize, n: usize| {
            let class = |i: usize| 2 * t + i % 2;
            let x = Mat::from_fn(n, 8, |i, j| means[(class(i), j)] + stream.normal());
            (x, Mat::from_fn(n, 6, |i, j| f64::from(u8::from(class(i) == j))))
        };
        let task = |t| {
            let ((x, y), (x_test, y_test)) = (set(t, 30), set(t, 40));
            Task::new(x, y).with_test(x_test, y_test)
        };
        TaskSequence::new((0..3).map(task).collect()).unwrap()
    }

    fn settings(beta: f64, per_class: usize) -> SingleHeadSettings {
        let replay = Replay { examples: per_class, budget: ReplayBudget::PerClass, ..Replay::default() };
        SingleHeadSettings { loss: Loss::CrossEntropy, beta, replay, ..Default::default() }
    }

    #[test]
    fn features_are_learned_alike_in_both_spaces() {
        let sequence = sequence();
        for per_class in [0, 3] {
            let asked = settings(5.0, per_class);
            let found = SingleHead::new(Inputs::Features(&sequence), &asked, &Context::default()).unwrap();
            assert!(found.in_feature_space());
            let source = crate::theory::blocks::kernels::KernelSource::Features { neurons: 8, by_examples: true };
            let known = SingleHead::learn(asked, source, &Inputs::Features(&sequence).given(0.0).unwrap()).unwrap();
            assert!(!known.in_feature_space());
            for t in 1..=3 {
                let x = &sequence.tasks[0].test.as_ref().unwrap().x;
                let (a, b) = (found.mean(x, t).unwrap(), known.mean(x, t).unwrap());
                // Both take the same steps up to rounding.
                assert!((a - b).norm_max() < 1e-6, "after task {t}");
            }
        }
    }

    #[test]
    fn a_network_learns_its_tasks_and_keeps_more_with_replay() {
        let sequence = sequence();
        let of = |per_class| {
            let asked = settings(50.0, per_class);
            SingleHead::new(&sequence, &asked, &Context::default()).unwrap().test_accuracies().unwrap().unwrap().all
        };
        let (without, with) = (of(0), of(10));
        let final_mean = |a: &[Vec<f64>]| a[2].iter().sum::<f64>() / 3.0;
        assert!((0..3).all(|t| without[t][t] > 0.8), "{without:?}");
        assert!(final_mean(&with) > final_mean(&without) + 0.1, "{with:?} {without:?}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let sound = settings(5.0, 0);
        assert!(sound.checked().is_ok());
        for (wrong, name) in [
            (SingleHeadSettings { beta: f64::INFINITY, ..sound }, "beta"),
            (SingleHeadSettings { variance: true, ..sound }, "variance"),
        ] {
            let message = wrong.checked().unwrap_err().to_string();
            assert!(message.starts_with(name), "{message}");
        }
    }
}
