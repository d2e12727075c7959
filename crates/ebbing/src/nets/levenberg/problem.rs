//! `E(θ) = c/2 Σ r² + κ/2 |W − W_0|² + κ_a/2 |a − a_0|²`, `r = y − f(x)`: what is minimized, and its value at some weights.

use super::rounding::Rounding;
use crate::linalg::{Mat, Scale, matmul, matmul_into};
use crate::nets::mlp::{Mlp, to_f64};
use crate::nets::train::Examples;

/// Hidden weights and readout, as the solver moves them.
#[derive(Clone)]
pub(super) struct Weights {
    /// How far hidden weights are from where the task began, a column per unit: the first layer by its coefficients on the
    /// examples, P × N (see [`crate::nets::gram`]), later ones in × out. Empty where only the readout learns.
    pub hidden: Vec<Mat<f64>>,
    /// Width × target columns.
    pub readout: Mat<f64>,
}

impl Weights {
    /// `self + share · step`.
    pub fn moved(&self, step: &Weights, share: f64) -> Weights {
        let add = |(a, b): (&Mat<f64>, &Mat<f64>)| a + b * Scale(share);
        let hidden = self.hidden.iter().zip(&step.hidden).map(add).collect();
        Weights { hidden, readout: add((&self.readout, &step.readout)) }
    }
}

/// A change of the weights.
#[derive(Clone)]
pub(super) struct Step {
    /// By how much.
    pub weights: Weights,
    /// What it adds to the first layer's pre-activations.
    pub first: Mat<f64>,
}

impl Step {
    /// `share · self + other`.
    pub fn plus(&self, share: f64, other: &Step) -> Step {
        Step { weights: other.weights.moved(&self.weights, share), first: &other.first + &self.first * Scale(share) }
    }

    /// `share · self`.
    pub fn times(&self, share: f64) -> Step {
        let hidden = self.weights.hidden.iter().map(|w| w * Scale(share)).collect();
        let weights = Weights { hidden, readout: &self.weights.readout * Scale(share) };
        Step { weights, first: &self.first * Scale(share) }
    }

    /// `gradient · self`, where the gradient's first layer is given by coefficients on the examples too.
    pub fn along(&self, gradient: &Weights) -> f64 {
        let own = |l: usize| if l == 0 { &self.first } else { &self.weights.hidden[l] };
        let hidden = gradient.hidden.iter().enumerate().map(|(l, g)| inner(g, own(l)));
        hidden.sum::<f64>() + inner(&gradient.readout, &self.weights.readout)
    }
}

/// One task's objective.
pub(super) struct Problem {
    /// c of the loss `c/2 Σ r²`.
    pub loss: f64,
    /// κ, the pull of hidden weights to where they began.
    pub kappa: f64,
    /// κ_a, the pull of the readout …
    pub pull: f64,
    /// … to `a_0`.
    pub center: Mat<f64>,
    /// Targets.
    pub y: Mat<f64>,
    /// `XXᵀ/N0`.
    pub gram: Mat<f64>,
    /// The first layer's pre-activations where the task began; the last layer's activations where only the readout learns.
    before: Mat<f64>,
    /// Weights of later layers where the task began, in × out.
    upper: Vec<Mat<f64>>,
}

/// The network at some weights.
#[derive(Clone)]
pub(super) struct Point {
    /// The weights.
    pub weights: Weights,
    /// Pre-activations of every hidden layer that learns, P × N.
    pub z: Vec<Mat<f64>>,
    /// Their activations.
    pub h: Vec<Mat<f64>>,
    /// What the first layer's coefficients add to its pre-activations.
    pub first: Mat<f64>,
    /// `y − f`.
    pub r: Mat<f64>,
    /// E.
    pub objective: f64,
}

impl Problem {
    /// The objective of a task that begins at the weights of `net`, as yet without penalties.
    pub fn new(net: &Mlp, data: &Examples, frozen: bool, loss: f64, readout: &Mat<f64>) -> Self {
        let (y, center, kappa, pull) = (to_f64(&data.y), readout.clone(), 0.0, 0.0);
        if frozen {
            let before = to_f64(&net.features(data.x.as_ref()));
            return Problem { loss, kappa, pull, center, y, gram: Mat::new(), before, upper: vec![] };
        }
        let x = to_f64(&data.x);
        let mut gram = Mat::zeros(x.nrows(), x.nrows());
        matmul_into(gram.as_mut(), 0.0, 1.0 / x.ncols() as f64, x.as_ref(), x.transpose());
        let weights = |w: &Mat<f32>| to_f64(w).transpose().to_owned();
        let mut before = Mat::zeros(x.nrows(), net.hidden[0].nrows());
        let scale = 1.0 / (x.ncols() as f64).sqrt();
        matmul_into(before.as_mut(), 0.0, scale, x.as_ref(), weights(&net.hidden[0]).as_ref());
        let upper = net.hidden[1..].iter().map(weights).collect();
        Problem { loss, kappa, pull, center, y, gram, before, upper }
    }

    /// No displacement, and this readout.
    pub fn start(&self, readout: Mat<f64>) -> Weights {
        let mut hidden = Vec::new();
        if self.gram.nrows() > 0 {
            hidden.push(Mat::zeros(self.before.nrows(), self.before.ncols()));
            hidden.extend(self.upper.iter().map(|w| Mat::zeros(w.nrows(), w.ncols())));
        }
        Weights { hidden, readout }
    }

    /// The weights of layer `l` ≥ 1, in × out.
    pub fn upper(&self, weights: &Weights, l: usize) -> Mat<f64> {
        &self.upper[l - 1] + &weights.hidden[l]
    }

    /// The last layer's activations, P × N.
    pub fn features<'a>(&'a self, point: &'a Point) -> &'a Mat<f64> {
        point.h.last().unwrap_or(&self.before)
    }

    /// What coefficients of the first layer add to its pre-activations; nothing where only the readout learns.
    fn first(&self, weights: &Weights) -> Mat<f64> {
        weights.hidden.first().map_or(Mat::new(), |own| matmul(self.gram.as_ref(), own.as_ref()))
    }

    /// A change of the weights, ready for [`Problem::along`].
    pub fn step(&self, weights: Weights) -> Step {
        Step { first: self.first(&weights), weights }
    }

    /// The network and its objective at `weights`, with the activations of `rounding`.
    pub fn at(&self, weights: Weights, rounding: &Rounding) -> Point {
        let first = self.first(&weights);
        self.reached(weights, first, rounding)
    }

    /// The same after a share of a step from `point`. The first layer is linear in its weights, so that this takes no product
    /// with the Gram matrix.
    pub fn along(&self, point: &Point, step: &Step, share: f64, rounding: &Rounding) -> Point {
        let first = if step.weights.hidden.is_empty() { Mat::new() } else { &point.first + &step.first * Scale(share) };
        self.reached(point.weights.moved(&step.weights, share), first, rounding)
    }

    fn reached(&self, weights: Weights, first: Mat<f64>, rounding: &Rounding) -> Point {
        let (mut z, mut h) = (Vec::new(), Vec::<Mat<f64>>::new());
        for l in 0..weights.hidden.len() {
            let mut next;
            if l == 0 {
                next = &self.before + &first;
            } else {
                let below = &h[l - 1];
                next = Mat::zeros(below.nrows(), self.upper[l - 1].ncols());
                let scale = 1.0 / (below.ncols() as f64).sqrt();
                matmul_into(next.as_mut(), 0.0, scale, below.as_ref(), self.upper(&weights, l).as_ref());
            }
            h.push(rounding.values(l, &next));
            z.push(next);
        }
        let mut point = Point { weights, z, h, first, r: self.y.clone(), objective: 0.0 };
        let phi = self.features(&point);
        let scale = 1.0 / (phi.ncols() as f64).sqrt();
        let f = matmul(phi.as_ref(), point.weights.readout.as_ref());
        point.r = Mat::from_fn(f.nrows(), f.ncols(), |i, j| self.y[(i, j)] - scale * f[(i, j)]);
        let far = (&point.weights.readout - &self.center).squared_norm_l2();
        let moved = self.squared_distance(&point);
        let error = point.r.squared_norm_l2();
        point.objective = 0.5 * (self.loss * error + self.kappa * moved + self.pull * far);
        point
    }

    /// By how much a step with damping μ lowers the quadratic model that it minimizes: `−½ ∇E·δ + ½ μ|δ|²`, since
    /// `Hδ = −∇E − μδ`; `first_order` is what the step adds to outputs.
    pub fn predicted(&self, point: &Point, step: &Step, first_order: &Mat<f64>, mu: f64) -> f64 {
        let (own, weights) = (&step.weights, &point.weights);
        let off = &weights.readout - &self.center;
        let mut slope = self.pull * inner(&off, &own.readout) - self.loss * inner(&point.r, first_order);
        let mut square = own.readout.squared_norm_l2();
        for l in 0..own.hidden.len() {
            let image = if l == 0 { &step.first } else { &own.hidden[l] };
            slope += self.kappa * inner(&weights.hidden[l], image);
            square += inner(&own.hidden[l], image);
        }
        0.5 * (mu * square - slope)
    }

    /// `|W − W_0|²`.
    pub fn squared_distance(&self, point: &Point) -> f64 {
        let own = |l: usize, w: &Mat<f64>| if l == 0 { inner(w, &point.first) } else { w.squared_norm_l2() };
        point.weights.hidden.iter().enumerate().map(|(l, w)| own(l, w)).sum()
    }

    /// The mean squared error.
    pub fn mse(&self, point: &Point) -> f64 {
        point.r.squared_norm_l2() / (self.y.nrows() * self.y.ncols()) as f64
    }

    /// Writes the weights to `net`, readout `head`, in single precision.
    pub fn write(&self, weights: &Weights, data: &Examples, head: usize, net: &mut Mlp) {
        for (l, moved) in weights.hidden.iter().enumerate() {
            let to = &mut net.hidden[l];
            let moved = if l == 0 {
                let x = to_f64(&data.x);
                let mut moved = Mat::zeros(x.ncols(), moved.ncols());
                let scale = 1.0 / (x.ncols() as f64).sqrt();
                matmul_into(moved.as_mut(), 0.0, scale, x.transpose(), weights.hidden[0].as_ref());
                moved
            } else {
                moved.clone()
            };
            *to = Mat::from_fn(to.nrows(), to.ncols(), |i, j| (f64::from(to[(i, j)]) + moved[(j, i)]) as f32);
        }
        let a = &weights.readout;
        net.heads[head] = Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] as f32);
    }
}

/// `Σ a_ij b_ij`, column by column.
pub(super) fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| crate::linalg::dot(a.col_as_slice(j), b.col_as_slice(j))).sum()
}
