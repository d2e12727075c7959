//! How well order parameters are known: intervals from resampled examples, and a null from shuffled targets.

use super::pair::{Cross, evaluate};
use super::sequence::{invert, rank};
use super::{OrderParameterSettings, OrderParameters};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef};
use crate::rng::Stream;
use crate::stats::number::{significant, within};
use crate::theory::blocks::factor::Factor;
use crate::theory::blocks::kernels::{KernelSource, Kernels};
use crate::theory::blocks::shared::Prepared;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Intervals of order parameters over the choice of examples: where the average over other examples, as many, lies.
///
/// A resample with replacement holds examples twice, and a kernel with two equal rows has no inverse. So a tenth of the examples
/// is left out at a time (an input that both tasks hold is kept or left out in both). What a share q leaves out moves the mean of
/// a sample by `√(q/(1−q))` times as much as drawing it anew, and so, to leading order, anything smooth: the moves around their own
/// average are laid around the full value `√((1−q)/q)`, about 3, times as large. J. Shao, C. F. J. Wu, Annals of Statistics 17, 1176
/// (1989). A smaller share stays closer to the size that is asked about: halves of twice as many trials as neurons are
/// singular, and nothing is known from them.
///
/// An end never passes the value itself, nor what is possible: γ_feature and proj lie in [0, 1], cos in [−1, 1], γ_sim in [−1, 2],
/// γ_RF and forgetting are at least 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower ends.
    pub low: OrderParameters,
    /// Upper ends.
    pub high: OrderParameters,
    /// Standard errors.
    pub standard_error: OrderParameters,
    /// How much of the distribution lies between the ends.
    pub confidence: f64,
    /// How often a tenth of the examples was left out.
    pub samples: usize,
}

/// Order parameters of the same inputs with the targets of each task shuffled among its examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Null {
    /// Averages over shuffles.
    pub mean: OrderParameters,
    /// Standard deviations over shuffles.
    pub deviation: OrderParameters,
    /// Lower ends of the central part of the distribution.
    pub low: OrderParameters,
    /// Upper ends.
    pub high: OrderParameters,
    /// `(1 + #{|v − mean| ≥ |value − mean|})/(B + 1)`: how often shuffled targets lie as far from their mean as the data does,
    /// on either side, the data itself counted (B. Phipson, G. K. Smyth 2010). 1 for what targets do not enter.
    pub p_value: OrderParameters,
    /// How much of the distribution lies between the ends.
    pub confidence: f64,
    /// The number of shuffles.
    pub samples: usize,
}

/// The null for both orders of a pair, if it is wanted: the factors are those of the data as it is.
pub(super) fn shuffles(
    settings: &OrderParameterSettings,
    cross: &Cross<'_>,
    factors: [&Factor; 2],
    (y, norms): ([&Mat<f64>; 2], [f64; 2]),
    overlap: f64,
    found: &[OrderParameters; 2],
    index: u64,
) -> Option<[Null; 2]> {
    /// Shuffles whose targets are held at once.
    const AT_ONCE: usize = 64;
    let (count, columns) = (settings.shuffles, y[0].ncols());
    let mut stream = Stream::new(settings.seed, "order parameters: shuffles", index);
    let mut drawn: Vec<[OrderParameters; 2]> = vec![];
    while drawn.len() < count {
        let some = AT_ONCE.min(count - drawn.len());
        if crate::stop::requested() {
            return None;
        }
        let shuffled = y.map(|y| shuffled(y, some, &mut stream));
        let (inverted, y) = ((factors, settings.ridge), [&shuffled[0], &shuffled[1]]);
        drawn.extend(evaluate(cross, inverted, y, columns, overlap, Some(norms)));
    }
    let null = |way: usize| {
        let mut values: Vec<OrderParameters> = drawn.iter().map(|both| both[way]).collect();
        values.push(found[way]);
        let p_value = each(&values, p_value);
        values.pop();
        let tail = 0.5 * (1.0 - settings.confidence);
        Null {
            mean: each(&values, mean),
            // What targets do not enter varies by rounding only.
            deviation: each(&values, |v| within(deviation(v), 1e-9 * mean(v).abs())),
            low: each(&values, |v| quantile(v, tail)),
            high: each(&values, |v| quantile(v, 1.0 - tail)),
            p_value,
            confidence: settings.confidence,
            samples: count,
        }
    };
    (count > 0).then(|| [null(0), null(1)])
}

/// The share of all values, the last one being that of the data, which lie as far from the mean of the others as it does.
fn p_value(values: &[f64]) -> f64 {
    let Some((found, null)) = values.split_last() else { return f64::NAN };
    let center = mean(null);
    // What differs by rounding alone is the same.
    let least = (found - center).abs() - 1e-9 * found.abs().max(center.abs());
    let far = null.iter().filter(|v| (*v - center).abs() >= least).count();
    (1 + far) as f64 / values.len() as f64
}

/// `count` copies of the targets side by side, each with its rows shuffled.
fn shuffled(y: &Mat<f64>, count: usize, stream: &mut Stream) -> Mat<f64> {
    let columns = y.ncols();
    let orders: Vec<Vec<usize>> = (0..count).map(|_| stream.choose(y.nrows(), y.nrows())).collect();
    Mat::from_fn(y.nrows(), count * columns, |i, j| y[(orders[j / columns][i], j % columns)])
}

/// The share of the examples that is left out at a time.
const LEFT_OUT: f64 = 0.1;
/// Trials per neuron between which kernels are all but singular, and intervals are refused.
const NEARLY_SQUARE: [f64; 2] = [0.75, 4.0 / 3.0];

/// The least and the largest that each order parameter can be.
const POSSIBLE: [OrderParameters; 2] = [
    OrderParameters {
        gamma_feature: 0.0,
        gamma_rf: 0.0,
        gamma_rule: f64::NEG_INFINITY,
        conflict: f64::NEG_INFINITY,
        gamma_sim: -1.0,
        cos: -1.0,
        proj: 0.0,
        f21: 0.0,
        f21_at_lambda_zero: 0.0,
        delta_f21: f64::NEG_INFINITY,
    },
    OrderParameters {
        gamma_feature: 1.0,
        gamma_rf: f64::INFINITY,
        gamma_rule: f64::INFINITY,
        conflict: f64::INFINITY,
        gamma_sim: 2.0,
        cos: 1.0,
        proj: 1.0,
        f21: f64::INFINITY,
        f21_at_lambda_zero: f64::INFINITY,
        delta_f21: f64::INFINITY,
    },
];

/// What a task would need to have intervals.
pub(super) struct TrialsNeeded {
    /// The task with its trials and neurons.
    about: String,
    /// At most so many trials, or at least so many.
    trials: [usize; 2],
    /// Or this ridge.
    ridge: f64,
}

/// What a task with about as many trials as neurons would need: with one more or less its kernel is singular, values grow
/// without bound there, and no resampling of the trials says by how much. A ridge rounds that off from
/// `RIDGE_ENOUGH` of the kernel's mean diagonal on.
pub(super) fn trials_needed(
    settings: &OrderParameterSettings,
    factor: &Factor,
    source: &KernelSource,
    (trials, mean_diagonal): (usize, f64),
    name: &str,
) -> Option<TrialsNeeded> {
    /// In the mean diagonal of the kernel.
    const RIDGE_ENOUGH: f64 = 0.01;
    let (neurons, called) = match (factor, source) {
        (Factor::Pseudo(inverse), KernelSource::Features { neurons, .. }) if inverse.rank() == *neurons => {
            (*neurons, "neurons")
        }
        (Factor::Pseudo(inverse), _) => (inverse.rank(), "independent neurons"),
        (_, KernelSource::Features { neurons, .. }) => (*neurons, "neurons"),
        _ => return None,
    };
    let [low, high] = NEARLY_SQUARE.map(|share| share * neurons as f64);
    let ridge = RIDGE_ENOUGH * mean_diagonal;
    let refused = (low..=high).contains(&(trials as f64)) && settings.ridge < ridge;
    refused.then(|| TrialsNeeded {
        about: format!("{name} has {trials} trials of {neurons} {called}"),
        trials: [(low.ceil() as usize).saturating_sub(1), high.floor() as usize + 1],
        ridge,
    })
}

/// Refuses intervals where a task would need something; the ridge named is enough for every task.
pub(super) fn check_trials<'a>(
    settings: &OrderParameterSettings,
    mut needed: impl Iterator<Item = &'a TrialsNeeded>,
) -> Result<()> {
    let Some(first) = needed.next() else { return Ok(()) };
    let ridge = needed.fold(first.ridge, |most, other| most.max(other.ridge));
    let expected = format!(
        "must be 0: {}, and with about as many trials as neurons no interval holds; \
         take at most {} or at least {} trials, or a ridge of {} or more",
        first.about,
        first.trials[0],
        first.trials[1],
        upwards(ridge)
    );
    Err(Error::setting("resamples", settings.resamples, expected))
}

/// A number with two digits that is not below `value`.
fn upwards(value: f64) -> String {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    significant((value / unit).ceil() * unit)
}

/// Intervals for both orders of a pair with the given values.
pub(super) fn intervals(
    settings: &OrderParameterSettings,
    kernels: &Kernels,
    cross: &Cross<'_>,
    k_oo: &[Mat<f64>; 2],
    tasks: [&Prepared; 2],
    values: &[OrderParameters; 2],
    index: u64,
) -> Result<[Interval; 2]> {
    let mut stream = Stream::new(settings.seed, "order parameters: resamples", index);
    let drawn = (0..settings.resamples)
        .map(|_| resample(settings, kernels, cross, k_oo, tasks, &mut stream))
        .collect::<Result<Vec<[OrderParameters; 2]>>>()?;
    // The shared inputs, and each task's own.
    let parts = [cross.cc.nrows(), k_oo[0].nrows(), k_oo[1].nrows()];
    let left_out = parts.iter().map(|&n| left_out(n)).sum::<usize>().max(1) as f64;
    let scale = (parts.iter().sum::<usize>() as f64 / left_out - 1.0).sqrt();
    let interval = |way: usize| {
        let some: Vec<OrderParameters> = drawn.iter().map(|both| both[way]).collect();
        let tail = 0.5 * (1.0 - settings.confidence);
        let shift = |at: f64| each(&some, |v| scale * (quantile(v, at) - mean(v)));
        let [least, largest] = POSSIBLE;
        Interval {
            low: each(&[values[way], shift(tail), least], |v| (v[0] + v[1].min(0.0)).max(v[2]).min(v[0])),
            high: each(&[values[way], shift(1.0 - tail), largest], |v| (v[0] + v[1].max(0.0)).min(v[2]).max(v[0])),
            standard_error: each(&some, |v| scale * deviation(v)),
            confidence: settings.confidence,
            samples: some.len(),
        }
    };
    Ok([interval(0), interval(1)])
}

/// The order parameters of nine tenths of the examples.
fn resample(
    settings: &OrderParameterSettings,
    kernels: &Kernels,
    cross: &Cross<'_>,
    k_oo: &[Mat<f64>; 2],
    tasks: [&Prepared; 2],
    stream: &mut Stream,
) -> Result<[OrderParameters; 2]> {
    let common = kept(cross.cc.nrows(), stream);
    let own = [kept(k_oo[0].nrows(), stream), kept(k_oo[1].nrows(), stream)];
    let cc = part(cross.cc, &common, &common);
    let own_c = [0, 1].map(|t| part(cross.own_c[t], &own[t], &common));
    let k21 = part(cross.k21, &own[1], &own[0]);
    let factor_cc = match common.len() {
        0 => None,
        _ => Some(Arc::new(Cholesky::factor(cc.as_ref(), "the kernel of nine tenths of the shared inputs")?)),
    };
    let mut factors = vec![];
    let mut targets = vec![];
    let mut norms = [0.0; 2];
    for t in 0..2 {
        let k = part(k_oo[t].as_ref(), &own[t], &own[t]);
        let points = tasks[t].own.points().select(&own[t]);
        let parts = (own_c[t].as_ref(), k.as_ref());
        factors.push(invert(settings, kernels, points.points(), factor_cc.as_ref(), parts, &tasks[t].name)?);
        let n = cross.cc.nrows();
        let rows: Vec<usize> = common.iter().copied().chain(own[t].iter().map(|i| n + i)).collect();
        let y = &tasks[t].y;
        targets.push(Mat::from_fn(rows.len(), y.ncols(), |i, j| y[(rows[i], j)]));
        let start = tasks[t].start.as_ref().map(|start| start.select(&rows).targets);
        norms[t] = start.as_ref().unwrap_or(&targets[t]).norm_l2();
        if norms[t] == 0.0 {
            let problem = "with a tenth of its examples left out only targets of 0 remain; intervals need more examples with others";
            return Err(Error::data(&tasks[t].name, problem));
        }
    }
    let overlap = factors[1].overlap(&factors[0], k21.clone());
    let rank = rank(&factors[0], &kernels.source).min(rank(&factors[1], &kernels.source));
    let cross = Cross { cc: cc.as_ref(), own_c: [own_c[0].as_ref(), own_c[1].as_ref()], k21: k21.as_ref() };
    let y = [&targets[0], &targets[1]];
    let factors = ([&factors[0], &factors[1]], settings.ridge);
    Ok(evaluate(&cross, factors, y, y[0].ncols(), overlap / rank as f64, Some(norms))[0])
}

/// How many of n examples are left out: as many every time, since order parameters move with their number; of two one at least.
fn left_out(n: usize) -> usize {
    ((LEFT_OUT * n as f64).round() as usize).max(1).min(n.saturating_sub(1))
}

/// The random nine tenths of 0..n that stay, in order.
fn kept(n: usize, stream: &mut Stream) -> Vec<usize> {
    let mut chosen = stream.choose(n, n - left_out(n));
    chosen.sort_unstable();
    chosen
}

fn part(k: MatRef<'_, f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| k[(rows[i], columns[j])])
}

/// `act` applied to each order parameter separately.
fn each(values: &[OrderParameters], act: impl Fn(&[f64]) -> f64) -> OrderParameters {
    let on = |pick: fn(&OrderParameters) -> f64| act(&values.iter().map(pick).collect::<Vec<f64>>());
    OrderParameters {
        gamma_feature: on(|v| v.gamma_feature),
        gamma_rf: on(|v| v.gamma_rf),
        gamma_rule: on(|v| v.gamma_rule),
        conflict: on(|v| v.conflict),
        gamma_sim: on(|v| v.gamma_sim),
        cos: on(|v| v.cos),
        proj: on(|v| v.proj),
        f21: on(|v| v.f21),
        f21_at_lambda_zero: on(|v| v.f21_at_lambda_zero),
        delta_f21: on(|v| v.delta_f21),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// The value below which a share `at` of all values lies, linear between order statistics.
fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = at * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_count_the_data_and_forgive_rounding() {
        // Nine of ±1 around 0 and the data at 5, at 1 and at 0.
        let null = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0];
        for (found, want) in [(5.0, 0.1), (-1.0, 0.9), (0.0, 1.0)] {
            assert_eq!(p_value(&[&null[..], &[found]].concat()), want, "{found}");
        }
        assert_eq!(p_value(&[0.3, 0.3 + 1e-16, 0.3 - 1e-16, 0.3]), 1.0);
    }
}
