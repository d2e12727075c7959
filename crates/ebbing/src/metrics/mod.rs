//! Losses and accuracies of predictions, and the continual-learning metrics made of them.
//!
//! ```math
//! \mathcal L(f,D) = \frac{\sum_\mu \bigl[(\langle f(x_\mu)\rangle-y_\mu)^2 + \operatorname{Var} f(x_\mu)\bigr]}{\lVert Y\rVert^2}
//! ```
//!
//! This is the paper's Eq. 3, averaged over networks. Forgetting is `F[t][s] = L(f_t, D_s)` on training data;
//! generalization is `G[t][s] = L(f_t, D_s^test)/G_s⁰`, with `G_s⁰` the loss of a fresh network that learned task s
//! alone.
//!
//! | Item | What it is |
//! |---|---|
//! | [`squared_loss`] | Eq. 3, of a mean or of a mean with a variance |
//! | [`accuracy`] | the share of correct examples, or its average over Gaussian outputs |
//! | [`task_accuracy`] | the same among the classes of the task alone, for a known task |
//! | [`ContinualMetrics`] | average accuracy, backward and forward transfer, forgetting, intransigence |
//! | [`Convention`] | whose definitions: GEM's, Avalanche's, or Chaudhry's |
//!
//! ```
//! use ebbing::metrics::{ContinualMetrics, Convention, TaskAccuracies};
//! // Rows are time: after task 1 and after task 2, on tasks 1 and 2.
//! let after = vec![vec![0.9, 0.5], vec![0.7, 0.95]];
//! let accuracies = TaskAccuracies { after, untrained: None, reference: None, test_sizes: None };
//! let metrics = ContinualMetrics::new(&accuracies, Convention::Gem)?;
//! assert!((metrics.backward_transfer.unwrap() + 0.2).abs() < 1e-12);
//! # Ok::<(), ebbing::Error>(())
//! ```

mod transfer;

pub use transfer::{ContinualMetrics, Convention, TaskAccuracies};

use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, not_finite};

/// `L = Σ [(f − y)² + Var f] / |Y|²`, over rows and target columns.
///
/// `variance` holds one number per row, the variance of each of its columns (the theory's outputs are independent and
/// equally distributed given the data); without it the loss of the mean prediction.
///
/// # Errors
/// [`Error::Data`] if shapes differ, a number is not finite, or all targets are zero.
pub fn squared_loss(mean: MatRef<'_, f64>, y: MatRef<'_, f64>, variance: Option<&[f64]>) -> Result<f64> {
    check(mean, y, variance)?;
    let (mut error, mut scale) = (0.0, 0.0);
    for j in 0..y.ncols() {
        for i in 0..y.nrows() {
            error += (mean[(i, j)] - y[(i, j)]).powi(2);
            scale += y[(i, j)].powi(2);
        }
    }
    if scale == 0.0 {
        return Err(Error::data("targets", "all are zero; a relative loss needs one that is not"));
    }
    let spread = variance.map_or(0.0, |v| v.iter().sum::<f64>() * y.ncols() as f64);
    Ok((error + spread) / scale)
}

/// The fraction of rows on which the prediction has the target's sign (one column) or its largest entry in the same
/// column (several columns).
///
/// With `variance` (one number per row) the average of that fraction over Gaussian predictions, independent between
/// columns. A tie counts as a fair draw among those that tie, so that a network with constant output has the accuracy of
/// chance. Rows whose target is no class (a zero, or no single largest column) are left out.
///
/// # Errors
/// [`Error::Data`] if shapes differ, a number is not finite, a variance is negative, no row has a class, or targets are real
/// numbers rather than names of classes: of one column those of one magnitude are, of several those of two values a column.
pub fn accuracy(mean: MatRef<'_, f64>, y: MatRef<'_, f64>, variance: Option<&[f64]>) -> Result<f64> {
    check(mean, y, variance)?;
    let (mut right, mut counted) = (0.0, 0usize);
    for i in 0..y.nrows() {
        let deviation = variance.map_or(0.0, |v| v[i].max(0.0).sqrt());
        let outcome = if y.ncols() == 1 {
            sign_chance(mean[(i, 0)], y[(i, 0)], deviation)
        } else {
            let row = |m: MatRef<'_, f64>| (0..y.ncols()).map(|j| m[(i, j)]).collect::<Vec<f64>>();
            argmax_chance(&row(mean), &row(y), deviation)
        };
        if let Some(chance) = outcome {
            right += chance;
            counted += 1;
        }
    }
    if !(0..y.ncols()).all(|j| names_classes(y, j)) {
        return Err(Error::data("targets", "they are real numbers, not classes; an accuracy needs classes"));
    }
    if counted == 0 {
        return Err(Error::data("targets", "no row names a class; an accuracy needs labels other than zero"));
    }
    Ok(right / counted as f64)
}

/// [`accuracy`] among the columns of classes that occur in the targets: that of a network that knows the task, if several tasks
/// share one output for all of their classes. For one column, and if all columns occur, it is [`accuracy`] itself.
///
/// # Errors
/// As [`accuracy`].
pub fn task_accuracy(mean: MatRef<'_, f64>, y: MatRef<'_, f64>, variance: Option<&[f64]>) -> Result<f64> {
    check(mean, y, variance)?;
    let own = own_columns(y);
    if own.len() == y.ncols() || own.is_empty() {
        return accuracy(mean, y, variance);
    }
    let among = |m: MatRef<'_, f64>| Mat::from_fn(m.nrows(), own.len(), |i, j| m[(i, own[j])]);
    let (mean, y) = (among(mean), among(y));
    if own.len() > 1 {
        return accuracy(mean.as_ref(), y.as_ref(), variance);
    }
    // A task of one class is always right.
    Ok(1.0)
}

/// The columns that are the largest of some row, ascending; all of one column.
pub(crate) fn own_columns(y: MatRef<'_, f64>) -> Vec<usize> {
    if y.ncols() == 1 {
        return vec![0];
    }
    let mut named = vec![false; y.ncols()];
    for i in 0..y.nrows() {
        let top = (0..y.ncols()).map(|j| y[(i, j)]).fold(f64::NEG_INFINITY, f64::max);
        let mut best = (0..y.ncols()).filter(|&j| y[(i, j)] == top);
        if let (Some(j), None) = (best.next(), best.next()) {
            named[j] = true;
        }
    }
    (0..y.ncols()).filter(|&j| named[j]).collect()
}

/// Whether column j holds names of classes: ±c or 0 where it is the only one, one of two values where there are several.
pub(crate) fn names_classes(y: MatRef<'_, f64>, j: usize) -> bool {
    let value = |i: usize| if y.ncols() == 1 { y[(i, 0)].abs() } else { y[(i, j)] };
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()); // scaled labels, to rounding
    let mut seen = if y.ncols() == 1 { vec![0.0] } else { Vec::new() };
    for v in (0..y.nrows()).map(value) {
        if !seen.iter().any(|&s| same(s, v)) {
            seen.push(v);
        }
        if seen.len() > 2 {
            return false;
        }
    }
    true
}

/// `P(f y > 0)` for `f ~ N(mean, deviation²)`; none for a target of zero.
fn sign_chance(mean: f64, y: f64, deviation: f64) -> Option<f64> {
    if y == 0.0 {
        return None;
    }
    let margin = mean * y.signum();
    Some(match margin.partial_cmp(&0.0) {
        Some(std::cmp::Ordering::Equal) | None => 0.5,
        _ if deviation > 0.0 => normal_cdf(margin / deviation),
        Some(order) => f64::from(u8::from(order.is_gt())),
    })
}

/// `P(argmax f = argmax y)` for independent `f_j ~ N(mean_j, deviation²)`; none where y has no single largest entry.
fn argmax_chance(mean: &[f64], y: &[f64], deviation: f64) -> Option<f64> {
    let ties = |v: &[f64]| {
        let top = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (0..v.len()).filter(|&j| v[j] == top).collect::<Vec<usize>>()
    };
    let [class] = ties(y)[..] else { return None };
    if deviation == 0.0 {
        let best = ties(mean);
        return Some(if best.contains(&class) { 1.0 / best.len() as f64 } else { 0.0 });
    }
    // E_z Π_j Φ((m_c − m_j)/s + z): the trapezoidal rule converges like exp(−2π²/((1+columns) h²)), below 1e-20 up to
    // a hundred columns at h = 1/16, and the integrand is below 1e-17 outside [−8.5, 8.5].
    const STEP: f64 = 1.0 / 16.0;
    let chance: f64 = (-136..=136)
        .map(|k| {
            let z = STEP * f64::from(k);
            let others = (0..mean.len()).filter(|&j| j != class);
            let wins: f64 = others.map(|j| normal_cdf((mean[class] - mean[j]) / deviation + z)).product();
            wins * libm::exp(-0.5 * z * z)
        })
        .sum();
    Some(chance * STEP / std::f64::consts::TAU.sqrt())
}

/// `Φ(x)`, the standard normal distribution function.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Shapes and finiteness of predictions and targets.
fn check(mean: MatRef<'_, f64>, y: MatRef<'_, f64>, variance: Option<&[f64]>) -> Result<()> {
    let (shape, target) = ((mean.nrows(), mean.ncols()), (y.nrows(), y.ncols()));
    if shape != target {
        let problem = format!("{} × {} of them for {} × {} targets", shape.0, shape.1, target.0, target.1);
        return Err(Error::data("predictions", problem));
    }
    for (what, m) in [("predictions", mean), ("targets", y)] {
        if let Some((i, j)) = not_finite(m) {
            let problem = format!("row {}, column {} is {}; it must be finite", i + 1, j + 1, m[(i, j)]);
            return Err(Error::data(what, problem));
        }
    }
    let Some(v) = variance else { return Ok(()) };
    if v.len() != y.nrows() {
        return Err(Error::data("variances", format!("{} of them for {} rows", v.len(), y.nrows())));
    }
    let largest = (0..y.nrows()).map(|i| v[i].abs()).fold(1.0, f64::max);
    // A variance that is zero in exact arithmetic may come out slightly negative.
    match (0..v.len()).find(|&i| !v[i].is_finite() || v[i] < -1e-8 * largest) {
        Some(i) => {
            Err(Error::data("variances", format!("row {} is {}; it must be finite and not negative", i + 1, v[i])))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::column;
    use crate::rng::Stream;

    #[test]
    fn loss_by_hand() {
        let y = Mat::from_fn(2, 2, |i, j| [[1.0, 0.0], [0.0, 2.0]][i][j]);
        let f = Mat::from_fn(2, 2, |i, j| [[0.5, 0.0], [1.0, 2.0]][i][j]);
        // (0.25 + 1) / 5, and two columns of variance 0.1 + 0.2: exact up to a few roundings.
        assert!((squared_loss(f.as_ref(), y.as_ref(), None).unwrap() - 0.25).abs() < 1e-15);
        assert!((squared_loss(f.as_ref(), y.as_ref(), Some(&[0.1, 0.2])).unwrap() - 0.37).abs() < 1e-15);
        assert_eq!(squared_loss(y.as_ref(), y.as_ref(), None).unwrap(), 0.0);
    }

    #[test]
    fn task_accuracy_looks_at_the_tasks_own_classes() {
        // Classes 1 and 3 of four; the network would rather answer 0 or 2.
        let y = Mat::from_fn(3, 4, |i, j| f64::from(u8::from(j == [1, 3, 1][i])));
        let f = Mat::from_fn(3, 4, |i, j| [[2.0, 0.4, 0.0, 0.1], [0.0, 0.2, 5.0, 0.6], [0.0, 0.1, 0.0, 0.3]][i][j]);
        assert_eq!(accuracy(f.as_ref(), y.as_ref(), None).unwrap(), 0.0);
        assert_eq!(task_accuracy(f.as_ref(), y.as_ref(), None).unwrap(), 2.0 / 3.0);
        // All classes named, and one column: the accuracy itself.
        let all = Mat::from_fn(3, 2, |i, j| f64::from(u8::from(j == [0, 1, 1][i])));
        let g = f.as_ref().subcols(0, 2);
        assert_eq!(task_accuracy(g, all.as_ref(), None).unwrap(), accuracy(g, all.as_ref(), None).unwrap());
        let (signs, one) = ([1.0, -1.0, 1.0], [0.2, 0.1, 0.4]);
        assert_eq!(task_accuracy(column(&one), column(&signs), None).unwrap(), 2.0 / 3.0);
        // With a variance, the two outputs alone: Φ((m_1 − m_3)/√(2v)).
        let v: f64 = 0.05;
        let expected: f64 = [0.3, 0.4, -0.2].iter().map(|d: &f64| normal_cdf(d / (2.0 * v).sqrt())).sum::<f64>() / 3.0;
        // The trapezoidal rule of the average is right to rounding.
        assert!((task_accuracy(f.as_ref(), y.as_ref(), Some(&[v; 3])).unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn sign_accuracy_by_hand() {
        let f = [0.3, -0.2, 0.0, 5.0, 1.0];
        let y = [1.0, 1.0, -1.0, 0.0, 1.0];
        // right, wrong, tie, no class, right
        assert_eq!(accuracy(column(&f), column(&y), None).unwrap(), 2.5 / 4.0);
        // One deviation from the boundary: Φ(1) = 0.841344746068543 (Abramowitz & Stegun, table 26.1).
        let chance = accuracy(column(&[2.0]), column(&[0.5]), Some(&[4.0])).unwrap();
        assert!((chance - 0.841_344_746_068_543).abs() < 1e-15);
    }

    #[test]
    fn argmax_accuracy_by_hand() {
        let y = Mat::from_fn(4, 3, |i, j| [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]][i][j]);
        let f = Mat::from_fn(4, 3, |i, j| [[2.0, 1.0, 0.0], [2.0, 2.0, 0.0], [1.0, 0.0, 0.9], [9.0, 0.0, 0.0]][i][j]);
        // right, one of two that tie, wrong, no class
        assert_eq!(accuracy(f.as_ref(), y.as_ref(), None).unwrap(), 1.5 / 3.0);
    }

    #[test]
    fn averaged_argmax_accuracy() {
        let y = Mat::from_fn(1, 4, |_, j| f64::from(u8::from(j == 2)));
        // Equal means: one in four, by symmetry.
        let even = accuracy(Mat::zeros(1, 4).as_ref(), y.as_ref(), Some(&[0.7])).unwrap();
        assert!((even - 0.25).abs() < 1e-14);
        // Two columns: P(f_0 > f_1) = Φ((m_0 − m_1)/(s√2)).
        let pair = Mat::from_fn(1, 2, |_, j| [0.4, -0.3][j]);
        let target = Mat::from_fn(1, 2, |_, j| [1.0, 0.0][j]);
        let chance = accuracy(pair.as_ref(), target.as_ref(), Some(&[0.25])).unwrap();
        assert!((chance - normal_cdf(0.7 / (0.5 * 2f64.sqrt()))).abs() < 1e-14);
        // Four columns against draws: standard error 0.0011 for 2e5 draws; five of them.
        let means = [0.1, -0.5, 0.3, 0.2];
        let f = Mat::from_fn(1, 4, |_, j| means[j]);
        let chance = accuracy(f.as_ref(), y.as_ref(), Some(&[0.36])).unwrap();
        let mut stream = Stream::new(5, "argmax", 0);
        let wins = (0..200_000)
            .filter(|_| {
                let draw = means.map(|m| m + 0.6 * stream.normal());
                (0..4).all(|j| draw[j] <= draw[2])
            })
            .count();
        assert!((chance - wins as f64 / 2e5).abs() < 5.0 * 0.0011, "{chance} {wins}");
    }

    #[test]
    fn bad_input_is_refused() {
        let message = |r: Result<f64>| r.unwrap_err().to_string();
        let (one, two) = ([1.0], [1.0, -1.0]);
        assert_eq!(
            message(squared_loss(column(&one), column(&two), None)),
            "predictions: 1 × 1 of them for 2 × 1 targets"
        );
        assert_eq!(
            message(accuracy(column(&[f64::NAN]), column(&one), None)),
            "predictions: row 1, column 1 is NaN; it must be finite"
        );
        assert!(message(squared_loss(column(&two), column(&[0.0, 0.0]), None)).contains("all are zero"));
        assert!(message(accuracy(column(&two), column(&[0.0, 0.0]), None)).contains("no row names a class"));
        assert_eq!(message(accuracy(column(&two), column(&two), Some(&one))), "variances: 1 of them for 2 rows");
        assert_eq!(
            message(accuracy(column(&one), column(&one), Some(&[-0.5]))),
            "variances: row 1 is -0.5; it must be finite and not negative"
        );
        assert!(accuracy(column(&one), column(&one), Some(&[-1e-17])).is_ok());
    }
}
