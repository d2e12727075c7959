//! `(H + μ) δ = −∇E`, H with all second derivatives of E, by conjugate gradients.
//!
//! ```math
//! H = c J^\top J + κ + C, \quad C = -c \sum_m r_m \frac{∂^2 f_m}{∂θ^2}
//! ```
//!
//! At a penalized minimum `κ(θ − θ_0) = c Jᵀr`, so that C is of the order of κ and decides, where J is silent, how the objective
//! curves. Of one hidden layer the system of a step holds all of it ([`super::coupled`], [`super::kinks`]); of several it
//! lacks what couples hidden layers to each other, and steps creep. Products with H take a pass forwards and one backwards
//! (B. Pearlmutter 1994); the system of a step preconditions (T. Steihaug 1983), so that one iteration is that step
//! with its best length.

use super::linearized::{Linearized, pulled, times};
use super::problem::{Point, Problem, Step, Weights};
use super::rounding::Rounding;
use super::system::StepSystem;
use crate::linalg::{Mat, Scale, matmul, matmul_into};

/// Iterations of a step, at most, and the share of the preconditioned gradient at which they end.
const ITERATIONS: usize = 10;
const ACCURACY: f64 = 0.3;

/// H at a point.
pub(super) struct Hessian<'a> {
    problem: &'a Problem,
    point: &'a Point,
    here: &'a Linearized,
    /// φ'(z) of every layer.
    slopes: Vec<Mat<f64>>,
    /// ∂E/∂z by the loss, of every layer, P × N.
    errors: Vec<Mat<f64>>,
    /// Weights of layers above the first, in × out; the first is empty.
    upper: Vec<Mat<f64>>,
}

impl<'a> Hessian<'a> {
    /// At the point where the network is linearized.
    pub fn new(problem: &'a Problem, point: &'a Point, here: &'a Linearized, rounding: &Rounding) -> Self {
        let slopes = point.z.iter().enumerate().map(|(l, z)| rounding.slopes(l, z)).collect();
        let errors = here.signals.iter().map(|signals| pulled(signals, &point.r, -problem.loss)).collect();
        let upper = |l: usize| if l == 0 { Mat::new() } else { problem.upper(&point.weights, l) };
        Hessian { problem, point, here, slopes, errors, upper: (0..point.z.len()).map(upper).collect() }
    }

    /// ∇E, its first layer by coefficients on the examples.
    pub fn gradient(&self) -> Weights {
        let layer = |(l, error): (usize, &Mat<f64>)| {
            let mut own = match &self.here.inputs[l].rows {
                None => error.clone(),
                Some(rows) => matmul(rows.transpose(), error.as_ref()),
            };
            own += &self.point.weights.hidden[l] * Scale(self.problem.kappa);
            own
        };
        Weights { hidden: self.errors.iter().enumerate().map(layer).collect(), readout: self.here.readout.clone() }
    }

    /// Hd, and by how much d changes the outputs to first order.
    pub fn times(&self, d: &Step) -> (Weights, Mat<f64>) {
        let Hessian { problem, point, here, .. } = self;
        let layers = point.z.len();
        let root = |m: &Mat<f64>| 1.0 / (m.ncols() as f64).sqrt();
        // Forwards: what d adds to pre-activations and activations.
        let (mut z, mut h) = (Vec::with_capacity(layers), Vec::<Mat<f64>>::with_capacity(layers));
        for l in 0..layers {
            let added = match &here.inputs[l].rows {
                None => d.first.clone(),
                Some(rows) => {
                    let mut added = matmul(rows.as_ref(), d.weights.hidden[l].as_ref());
                    let below = &h[l - 1];
                    matmul_into(added.as_mut(), 1.0, root(below), below.as_ref(), self.upper[l].as_ref());
                    added
                }
            };
            h.push(times(&added, &self.slopes[l]));
            z.push(added);
        }
        let (phi, a) = (problem.features(point), &point.weights.readout);
        let (top, scale) = (&h[layers - 1], root(phi));
        let mut f = Mat::zeros(problem.y.nrows(), problem.y.ncols());
        matmul_into(f.as_mut(), 0.0, scale, top.as_ref(), a.as_ref());
        matmul_into(f.as_mut(), 1.0, scale, phi.as_ref(), d.weights.readout.as_ref());
        let loss = problem.loss;
        let mut readout = &d.weights.readout * Scale(problem.pull);
        matmul_into(readout.as_mut(), 1.0, loss * scale, phi.transpose(), f.as_ref());
        matmul_into(readout.as_mut(), 1.0, -loss * scale, top.transpose(), point.r.as_ref());
        // Backwards: what it adds to ∂E/∂h, and to ∂E/∂z.
        let mut raw = Mat::zeros(phi.nrows(), phi.ncols());
        matmul_into(raw.as_mut(), 0.0, loss * scale, f.as_ref(), a.transpose());
        matmul_into(raw.as_mut(), 1.0, -loss * scale, point.r.as_ref(), d.weights.readout.transpose());
        let mut hidden: Vec<Mat<f64>> = Vec::with_capacity(layers);
        for l in (0..layers).rev() {
            let mut error = times(&raw, &self.slopes[l]);
            for &(_, i, m, curvature) in here.kinks.iter().filter(|k| k.0 == l) {
                error[(m, i)] += curvature * z[l][(m, i)];
            }
            let mut own = &d.weights.hidden[l] * Scale(problem.kappa);
            match &here.inputs[l].rows {
                None => own += &error,
                Some(rows) => {
                    let below = &h[l - 1];
                    matmul_into(own.as_mut(), 1.0, 1.0, rows.transpose(), error.as_ref());
                    matmul_into(own.as_mut(), 1.0, root(below), below.transpose(), self.errors[l].as_ref());
                    let mut next = Mat::zeros(below.nrows(), below.ncols());
                    matmul_into(next.as_mut(), 0.0, root(below), error.as_ref(), self.upper[l].transpose());
                    let moved = d.weights.hidden[l].transpose();
                    matmul_into(next.as_mut(), 1.0, root(below), self.errors[l].as_ref(), moved);
                    raw = next;
                }
            }
            hidden.push(own);
        }
        hidden.reverse();
        (Weights { hidden, readout }, f)
    }

    /// The step δ with the damping of `system`, and by how much it changes the outputs to first order. Where the objective curves
    /// downwards on the way the step ends, at the earliest with that of `system` itself.
    pub fn step(&self, system: &StepSystem<'_>) -> (Step, Mat<f64>) {
        let mu = system.damping();
        let (first, first_order) = system.step();
        let first = self.problem.step(first);
        let mut residual = self.gradient();
        residual.hidden.iter_mut().for_each(|m| *m *= Scale(-1.0));
        residual.readout *= Scale(-1.0);
        let mut size = first.along(&residual);
        let (start, mut direction) = (size, first.clone());
        let mut found: Option<(Step, Mat<f64>)> = None;
        for _ in 0..ITERATIONS {
            let (product, outputs) = self.times(&direction);
            let product = product.moved(&direction.weights, mu);
            let curvature = direction.along(&product);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let share = size / curvature;
            found = Some(match found {
                None => (direction.times(share), outputs * Scale(share)),
                Some((step, known)) => (direction.plus(share, &step), known + outputs * Scale(share)),
            });
            residual = residual.moved(&product, -share);
            let next = system.solved(&residual);
            let left = next.along(&residual);
            if left.is_nan() || left <= ACCURACY * ACCURACY * start {
                break;
            }
            direction = direction.plus(left / size, &next);
            size = left;
        }
        found.unwrap_or((first, first_order))
    }
}
