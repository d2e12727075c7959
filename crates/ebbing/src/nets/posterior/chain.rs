//! One chain through all tasks: the weights after each task given those before, and what is read off them.
//!
//! The readout is drawn exactly given the hidden weights, so only these are sampled by Monte Carlo. Readouts of
//! earlier tasks are kept (multi-head, the paper's Eq. 10); with a single head the last one, times λ̃, is the prior
//! mean of the next.

use super::energy::{Energy, Layers};
use super::hmc::{self, Moves};
use super::{Heads, PosteriorSettings};
use crate::error::Result;
use crate::kernels::{Activation, WeightPrior};
use crate::linalg::{Mat, MatRef, dot, matvec};
use crate::metrics::squared_loss;
use crate::rng::Stream;
use crate::tasks::Task;

/// States of a task's phase that results are averaged over.
const STATES: usize = 8;

/// What one chain measured, each number averaged over states of the phase that it belongs to.
#[derive(Default)]
pub(super) struct Chain {
    /// `A_tᵀA_s/N`, m_t × m_s.
    pub overlaps: Vec<Vec<Mat<f64>>>,
    pub forgetting: Vec<f64>,
    pub test_loss: Vec<Option<f64>>,
    pub label_kernel: Vec<f64>,
    pub learned: Vec<f64>,
    /// Every kept draw of [`FOLLOWED`], task by task.
    pub followed: Vec<[Vec<f64>; FOLLOWED.len()]>,
    pub acceptance: Vec<f64>,
    pub divergent: usize,
    /// Why the first of these moves diverged.
    pub cause: Option<String>,
}

/// What is followed from draw to draw, to see whether chains have converged.
pub(super) const FOLLOWED: [&str; 3] = ["energy", "weights' distance from their prior mean", "kernel along the labels"];

/// The networks of one chain.
struct Networks<'a> {
    tasks: &'a [Task],
    layers: Layers,
    activation: Activation,
    heads: Heads,
    /// The readouts drawn after each task so far, N × m.
    readouts: Vec<Mat<f64>>,
}

/// Runs one chain through all tasks.
pub(super) fn run(tasks: &[Task], settings: &PosteriorSettings, prior: WeightPrior, index: u64) -> Result<Chain> {
    let mut stream = Stream::new(settings.seed, "posterior chain", index);
    let mut sizes = vec![tasks[0].x.ncols()];
    sizes.extend(std::iter::repeat_n(settings.width, settings.architecture.depth));
    let (layers, activation) = (Layers { sizes }, settings.architecture.activation);
    let moves = Moves { warmup: settings.warmup, draws: settings.draws, leapfrog: settings.leapfrog, target: 0.8 };
    let stride = settings.draws.div_ceil(STATES);

    let mut w: Vec<f64> = (0..layers.weights()).map(|_| settings.sigma2.sqrt() * stream.normal()).collect();
    let mut networks = Networks { tasks, layers, activation, heads: settings.heads, readouts: Vec::new() };
    let mut chain = Chain::default();
    for t in 0..tasks.len() {
        let energy = energy(&networks, settings, prior, &w);
        if t > 0 {
            // A start from the conditional prior, independent of the draw that the condition itself is.
            let spread = energy.weight_variance.sqrt();
            w = energy.weight_mean.iter().map(|m| m + spread * stream.normal()).collect();
        }
        let (mut work, mut states) = (energy.work(), Vec::new());
        let mut followed = FOLLOWED.map(|_| Vec::with_capacity(settings.draws));
        let moved = hmc::run(
            &mut w,
            energy.weight_variance.sqrt(),
            moves,
            &mut stream,
            |w, g| energy.evaluate(w, &mut work, g),
            |w, u| {
                let distance = w.iter().zip(&energy.weight_mean).map(|(w, m)| (w - m).powi(2)).sum();
                let now = [u, distance, networks.label_kernel(w, &tasks[t])];
                followed.iter_mut().zip(now).for_each(|(all, now)| all.push(now));
                // The last state is one of them.
                if (settings.draws - followed[0].len()).is_multiple_of(stride) {
                    states.push(w.to_vec());
                }
            },
        )?;
        chain.followed.push(followed);
        chain.acceptance.push(moved.acceptance);
        chain.divergent += moved.divergent;
        chain.cause = chain.cause.or(moved.cause);
        let drawn =
            states.into_iter().map(|w| Ok((energy.draw_readouts(&w, &mut stream)?, w))).collect::<Result<Vec<_>>>()?;
        networks.measure(&mut chain, &drawn)?;
        networks.readouts.extend(drawn.into_iter().last().map(|(a, _)| a));
    }
    Ok(chain)
}

/// The posterior of the next task's weights, given the weights `w` and the readout after the last.
fn energy<'a>(networks: &'a Networks<'_>, settings: &PosteriorSettings, prior: WeightPrior, w: &[f64]) -> Energy<'a> {
    let t = networks.readouts.len();
    let (keep, innovation) = (prior.lambda_tilde(), settings.sigma2 * prior.one_minus_lambda_tilde());
    let single_after_first = t > 0 && settings.heads == Heads::Single;
    Energy {
        layers: &networks.layers,
        activation: networks.activation,
        x: networks.tasks[t].x.as_ref(),
        y: networks.tasks[t].y.as_ref(),
        beta: settings.beta,
        weight_mean: w.iter().map(|w| if t == 0 { 0.0 } else { keep * w }).collect(),
        weight_variance: if t == 0 { settings.sigma2 } else { innovation },
        readout_mean: match networks.readouts.last() {
            Some(a) if single_after_first => Mat::from_fn(a.nrows(), a.ncols(), |i, j| keep * a[(i, j)]),
            _ => Mat::zeros(networks.layers.width(), networks.tasks[t].y.ncols()),
        },
        readout_variance: if single_after_first {
            innovation
        } else {
            settings.readout_sigma2.unwrap_or(settings.sigma2)
        },
    }
}

impl Networks<'_> {
    /// Reads off networks just after a task, given as readouts and hidden weights, and averages.
    fn measure(&self, chain: &mut Chain, drawn: &[(Mat<f64>, Vec<f64>)]) -> Result<()> {
        let (t, n) = (self.readouts.len(), self.layers.width() as f64);
        let average = |get: &dyn Fn(&Mat<f64>, &[f64]) -> Result<f64>| -> Result<f64> {
            let values = drawn.iter().map(|(a, w)| get(a, w)).collect::<Result<Vec<_>>>()?;
            Ok(values.iter().sum::<f64>() / values.len() as f64)
        };
        let mut overlaps = Vec::new();
        for s in 0..=t {
            let (rows, columns) = (self.tasks[t].y.ncols(), self.tasks[s].y.ncols());
            let mut overlap = Mat::zeros(rows, columns);
            for i in 0..rows {
                for j in 0..columns {
                    let entry = |a: &Mat<f64>| {
                        let other = self.readouts.get(s).unwrap_or(a);
                        dot(a.col_as_slice(i), other.col_as_slice(j)) / n
                    };
                    overlap[(i, j)] = average(&|a, _| Ok(entry(a)))?;
                }
            }
            overlaps.push(overlap);
        }
        chain.overlaps.push(overlaps);
        chain.learned.push(average(&|a, w| self.loss(a, w, self.tasks[t].x.as_ref(), &self.tasks[t].y))?);
        if t + 1 < self.tasks.len() {
            return Ok(());
        }
        for (s, task) in self.tasks.iter().enumerate() {
            let own = self.readouts.get(s).filter(|_| self.heads == Heads::Multi);
            chain.forgetting.push(average(&|a, w| self.loss(own.unwrap_or(a), w, task.x.as_ref(), &task.y))?);
            let test = task.test.as_ref();
            let test = test.map(|test| average(&|a, w| self.loss(own.unwrap_or(a), w, test.x.as_ref(), &test.y)));
            chain.test_loss.push(test.transpose()?);
            chain.label_kernel.push(average(&|_, w| Ok(self.label_kernel(w, task)))?);
        }
        Ok(())
    }

    /// `yᵀΦΦᵀy/(N P²)` of a task, summed over its outputs.
    fn label_kernel(&self, w: &[f64], task: &Task) -> f64 {
        let phi = self.layers.features(self.activation, w, task.x.as_ref());
        let scale = self.layers.width() as f64 * (task.y.nrows() as f64).powi(2);
        let along = |a: usize| {
            let along = matvec(phi.as_ref().transpose(), task.y.col_as_slice(a));
            dot(&along, &along) / scale
        };
        (0..task.y.ncols()).map(along).sum()
    }

    /// `Σ(f−y)²/|Y|²` of `f(x) = AᵀΦ(x)/√N` on the rows of `x`.
    fn loss(&self, a: &Mat<f64>, w: &[f64], x: MatRef<'_, f64>, y: &Mat<f64>) -> Result<f64> {
        squared_loss(outputs(&self.layers, self.activation, w, a, x).as_ref(), y.as_ref(), None)
    }
}

/// `f(x) = AᵀΦ(x)/√N` on the rows of `x`, one column per output.
pub(super) fn outputs(
    layers: &Layers,
    activation: Activation,
    w: &[f64],
    a: &Mat<f64>,
    x: MatRef<'_, f64>,
) -> Mat<f64> {
    let phi = layers.features(activation, w, x);
    let scale = 1.0 / (a.nrows() as f64).sqrt();
    let mut f = Mat::zeros(x.nrows(), a.ncols());
    for j in 0..a.ncols() {
        let column = matvec(phi.as_ref(), a.col_as_slice(j));
        f.col_as_slice_mut(j).iter_mut().zip(column).for_each(|(to, f)| *to = scale * f);
    }
    f
}
