//! The network to first order at a point: signals, the Gram matrices of `J_l J_lᵀ`, and ∇E.
//!
//! J is the Jacobian of the P outputs (of every target column). Layer by layer `J_l J_lᵀ` is the Gram matrix of the
//! activations below, entry by entry times the Gram matrix of the back-propagated signals.

use super::coupled::Coupling;
use super::problem::{Point, Problem, inner};
use super::rounding::Rounding;
use crate::linalg::{Mat, Scale, lower_gram_into, matmul, matmul_into, symmetric_matmul};
use std::cell::OnceCell;

/// Sums that are less than this share of their terms are taken another way: rounding leaves them 1e-7 of their value.
const CANCELED: f64 = 1e-9;

/// What a layer is fed with.
pub(super) struct Input {
    /// Activations below over √dim, P × in; none for the first layer, whose weights are coefficients on the examples.
    pub rows: Option<Mat<f64>>,
    /// Their Gram matrix, P × P; none for the first layer (it is the problem's).
    gram: Option<Mat<f64>>,
}

/// The network to first order at a point, and the gradient there.
pub(super) struct Linearized {
    /// `∂f_c/∂z^l` for every layer l and target column c, P × N.
    pub signals: Vec<Vec<Mat<f64>>>,
    /// What each hidden layer is fed with.
    pub inputs: Vec<Input>,
    /// What the weights' displacement adds to pre-activations, directly, in layers above the first.
    shifts: Vec<Mat<f64>>,
    /// `Σ_l J_l J_lᵀ` over hidden layers, lower half; outputs are counted column after column.
    pub kernel: Mat<f64>,
    /// `Σ_l J_l (W − W_0)_l`, P × targets.
    pub along: Mat<f64>,
    /// `Σ_l J_l J_lᵀ r`, a column.
    pub through: Mat<f64>,
    /// `ΦΦᵀ/N`, lower half, once a step needs it.
    pub features: OnceCell<Mat<f64>>,
    /// ∂E/∂a.
    pub readout: Mat<f64>,
    /// `|∇E|`.
    pub gradient: f64,
    /// What couples the readout to the last hidden layer, where that is taken in.
    pub coupling: Option<Coupling>,
    /// Where kinks curve the objective, and how much: `(layer, unit, example, ∂²E/∂z²)`, unit after unit.
    pub kinks: Vec<(usize, usize, usize, f64)>,
}

impl Linearized {
    /// The network at `point` to first order.
    pub fn new(problem: &Problem, point: &Point, rounding: &Rounding) -> Self {
        let (p, targets) = (problem.y.nrows(), problem.y.ncols());
        let phi = problem.features(point);
        let root = (phi.ncols() as f64).sqrt();
        let (signals, kinks) = signals(problem, point, rounding);
        let mut inputs: Vec<Input> = Vec::new();
        let mut shifts = Vec::new();
        for l in 0..signals.len() {
            if l == 0 {
                inputs.push(Input { rows: None, gram: None });
                shifts.push(Mat::new());
                continue;
            }
            let scale = 1.0 / (point.h[l - 1].ncols() as f64).sqrt();
            let rows = &point.h[l - 1] * Scale(scale);
            let gram = matmul(rows.as_ref(), rows.transpose());
            shifts.push(matmul(rows.as_ref(), point.weights.hidden[l].as_ref()));
            inputs.push(Input { rows: Some(rows), gram: Some(gram) });
        }
        let mut readout = &point.weights.readout - &problem.center;
        readout *= Scale(problem.pull);
        matmul_into(readout.as_mut(), 1.0, -problem.loss / root, phi.transpose(), point.r.as_ref());
        let mut here = Linearized {
            signals,
            inputs,
            shifts,
            kernel: Mat::zeros(p * targets, p * targets),
            along: Mat::zeros(p, targets),
            through: Mat::zeros(p * targets, 1),
            features: OnceCell::new(),
            readout,
            gradient: 0.0,
            coupling: None,
            kinks,
        };
        here.fill(problem, point);
        here.through = symmetric_matmul(here.kernel.as_ref(), as_column(&point.r).as_ref());
        here.gradient = here.gradient(problem, point);
        if Coupling::pays(problem, point) {
            let top = point.z.len() - 1;
            let slopes = rounding.slopes(top, &point.z[top]);
            here.coupling = Some(Coupling::new(problem, point, slopes, here.gram(problem, top)));
        }
        here
    }

    /// The Gram matrix of what layer `l` is fed with.
    pub fn gram<'a>(&'a self, problem: &'a Problem, l: usize) -> &'a Mat<f64> {
        self.inputs[l].gram.as_ref().unwrap_or(&problem.gram)
    }

    /// What the displacement of layer `l` adds to its pre-activations, directly.
    pub fn shift<'a>(&'a self, point: &'a Point, l: usize) -> &'a Mat<f64> {
        if l == 0 { &point.first } else { &self.shifts[l] }
    }

    /// The kernel and the displacement's first-order effect on outputs.
    fn fill(&mut self, problem: &Problem, point: &Point) {
        let p = problem.y.nrows();
        let mut product = Mat::zeros(p, p);
        for l in 0..self.signals.len() {
            for (c, signal) in self.signals[l].iter().enumerate() {
                let shift = if l == 0 { &point.first } else { &self.shifts[l] };
                for i in 0..signal.ncols() {
                    let (signal, shift) = (signal.col_as_slice(i), shift.col_as_slice(i));
                    let along = self.along.col_as_slice_mut(c);
                    (0..p).for_each(|m| along[m] += signal[m] * shift[m]);
                }
                for (d, other) in self.signals[l][..=c].iter().enumerate() {
                    if c == d {
                        lower_gram_into(product.as_mut(), 0.0, 1.0, signal.as_ref());
                    } else {
                        matmul_into(product.as_mut(), 0.0, 1.0, signal.as_ref(), other.transpose());
                    }
                    let gram = self.inputs[l].gram.as_ref().unwrap_or(&problem.gram);
                    for j in 0..p {
                        let from = if c == d { j } else { 0 };
                        let to = &mut self.kernel.col_as_slice_mut(d * p + j)[c * p + from..(c + 1) * p];
                        let terms = gram.col_as_slice(j)[from..].iter().zip(&product.col_as_slice(j)[from..]);
                        to.iter_mut().zip(terms).for_each(|(k, (g, s))| *k += g * s);
                    }
                }
            }
        }
    }

    /// `|∇E|² = κ²|W−W_0|² − 2κc r·J(W−W_0) + c² rᵀJJᵀr + |∂E/∂a|²`; where that cancels, from the gradient's own entries.
    fn gradient(&self, problem: &Problem, point: &Point) -> f64 {
        let Problem { loss, kappa, .. } = *problem;
        let readout = self.readout.squared_norm_l2();
        if self.signals.is_empty() {
            return readout.sqrt();
        }
        let terms = [
            kappa * kappa * problem.squared_distance(point),
            -2.0 * kappa * loss * inner(&point.r, &self.along),
            loss * loss * inner(&as_column(&point.r), &self.through),
        ];
        let (square, size): (f64, f64) = (terms.iter().sum(), terms.iter().map(|t| t.abs()).sum());
        let square = if square > CANCELED * size { square } else { self.squared_entries(problem, point) };
        (square + readout).sqrt()
    }

    /// The squared norm of `∂E/∂W = κ(W−W_0) − c Jᵀr` over hidden layers.
    fn squared_entries(&self, problem: &Problem, point: &Point) -> f64 {
        let layer = |(l, signals): (usize, &Vec<Mat<f64>>)| {
            let mut own = pulled(signals, &point.r, -problem.loss);
            if let Some(rows) = &self.inputs[l].rows {
                own = matmul(rows.transpose(), own.as_ref());
            }
            own += &point.weights.hidden[l] * Scale(problem.kappa);
            match l {
                // Coefficients on the examples.
                0 => inner(&own, &matmul(problem.gram.as_ref(), own.as_ref())).max(0.0),
                _ => own.squared_norm_l2(),
            }
        };
        self.signals.iter().enumerate().map(layer).sum()
    }

    /// A typical eigenvalue of `c JJᵀ`: its mean.
    pub fn scale(&self, problem: &Problem, point: &Point) -> f64 {
        let (p, phi) = (problem.y.nrows(), problem.features(point));
        let size = p * problem.y.ncols();
        let hidden: f64 = if self.signals.is_empty() { 0.0 } else { (0..size).map(|i| self.kernel[(i, i)]).sum() };
        let readout = phi.squared_norm_l2() / phi.ncols() as f64;
        problem.loss * (hidden / size as f64 + readout / p as f64)
    }
}

/// `∂f_c/∂z^l` of every layer and target column, and the kinks that curve the objective.
fn signals(
    problem: &Problem,
    point: &Point,
    rounding: &Rounding,
) -> (Vec<Vec<Mat<f64>>>, Vec<(usize, usize, usize, f64)>) {
    let layers = point.z.len();
    let (mut all, mut kinks) = (vec![Vec::new(); layers], Vec::new());
    let (p, targets) = (problem.y.nrows(), problem.y.ncols());
    for l in (0..layers).rev() {
        let n = point.z[l].ncols();
        // Signals before the slope of the layer that they reach.
        let raw: Vec<Mat<f64>> = if l + 1 == layers {
            let scale = 1.0 / (n as f64).sqrt();
            let a = &point.weights.readout;
            (0..targets).map(|c| Mat::from_fn(p, n, |_, i| scale * a[(i, c)])).collect()
        } else {
            let w = problem.upper(&point.weights, l + 1);
            let scale = 1.0 / (n as f64).sqrt();
            let below = |signal: &Mat<f64>| {
                let mut below = Mat::zeros(p, n);
                matmul_into(below.as_mut(), 0.0, scale, signal.as_ref(), w.transpose());
                below
            };
            all[l + 1].iter().map(below).collect()
        };
        for i in 0..n {
            for m in 0..p {
                let bend = rounding.curvature(l, point.z[l][(m, i)]);
                if bend > 0.0 {
                    let force: f64 = (0..targets).map(|c| raw[c][(m, i)] * point.r[(m, c)]).sum();
                    kinks.push((l, i, m, -problem.loss * force * bend));
                }
            }
        }
        let slopes = rounding.slopes(l, &point.z[l]);
        all[l] = raw.iter().map(|signal| times(signal, &slopes)).collect();
    }
    (all, kinks)
}

/// `factor · Σ_c signal_c ∘ r_c` of a layer, P × N, r_c a column of `r` for every example.
pub(super) fn pulled(signals: &[Mat<f64>], r: &Mat<f64>, factor: f64) -> Mat<f64> {
    let mut sum = Mat::<f64>::zeros(signals[0].nrows(), signals[0].ncols());
    for (c, signal) in signals.iter().enumerate() {
        for i in 0..sum.ncols() {
            let terms = signal.col_as_slice(i).iter().zip(r.col_as_slice(c));
            sum.col_as_slice_mut(i).iter_mut().zip(terms).for_each(|(o, (s, r))| *o += factor * s * r);
        }
    }
    sum
}

/// Entry by entry.
pub(super) fn times(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    let mut to = a.clone();
    for j in 0..to.ncols() {
        to.col_as_slice_mut(j).iter_mut().zip(b.col_as_slice(j)).for_each(|(t, b)| *t *= b);
    }
    to
}

/// A P × targets matrix as one column, target after target.
pub(super) fn as_column(m: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(m.nrows() * m.ncols(), 1, |k, _| m[(k % m.nrows(), k / m.nrows())])
}
