//! `x^{l+1} = φ(W^l x^l/√dim x^l)`, `f(x) = a·x^L/√N` (paper, Eqs. 1, 10, 12): a fully connected network in single
//! precision.

use crate::error::{Result, at_least, positive, refuse};
use crate::kernels::{Activation, Architecture};
use crate::linalg::{LEAVE, Mat, MatRef, column_f32, for_columns, matmul_f32, matmul_f32_with};
use crate::rng::Stream;
use std::f32::consts::FRAC_1_SQRT_2;

/// 2^50 weights take four petabytes.
const MOST_WEIGHTS: f64 = (1_u64 << 50) as f64;

/// A network without biases, with one readout per head.
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    pub(crate) activation: Activation,
    /// Hidden weights, out × in, first layer first.
    pub(crate) hidden: Vec<Mat<f32>>,
    /// Readouts, width × target columns.
    pub(crate) heads: Vec<Mat<f32>>,
}

impl Mlp {
    /// A network with hidden weights and one readout drawn from N(0, σ0²).
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for a depth, width, dimension or number of targets of 0, or an unusable σ0.
    pub fn new(
        architecture: Architecture,
        input_dim: usize,
        width: usize,
        targets: usize,
        sigma0: f64,
        stream: &mut Stream,
    ) -> Result<Self> {
        architecture.check()?;
        for (name, value) in [("input dimension", input_dim), ("width", width), ("target columns", targets)] {
            at_least(name, value, 1)?;
        }
        positive("sigma0", sigma0)?;
        // Counted in floating point: no width overflows, and what no machine holds is refused.
        let weights =
            width as f64 * (input_dim as f64 + targets as f64 + width as f64 * (architecture.depth - 1) as f64);
        let expected = format!("the network would have {weights:.1e} weights, more than any machine holds");
        refuse(weights > MOST_WEIGHTS, "width", width, expected)?;
        let mut draw = |rows, cols| Mat::from_fn(rows, cols, |_, _| (sigma0 * stream.normal()) as f32);
        let mut hidden = vec![draw(width, input_dim)];
        for _ in 1..architecture.depth {
            hidden.push(draw(width, width));
        }
        let heads = vec![draw(width, targets)];
        Ok(Mlp { activation: architecture.activation, hidden, heads })
    }

    /// Adds a readout drawn from N(0, σ0²) for a new task.
    pub fn add_head(&mut self, targets: usize, sigma0: f64, stream: &mut Stream) {
        let width = self.width();
        self.heads.push(Mat::from_fn(width, targets, |_, _| (sigma0 * stream.normal()) as f32));
    }

    /// The weights of every hidden layer, out × in, first layer first.
    pub fn hidden(&self) -> &[Mat<f32>] {
        &self.hidden
    }

    /// The weights of every readout, width × target columns.
    pub fn readouts(&self) -> &[Mat<f32>] {
        &self.heads
    }

    /// The width N of the last hidden layer.
    pub fn width(&self) -> usize {
        self.hidden[self.hidden.len() - 1].nrows()
    }

    /// Hidden weights plus those of one readout.
    pub fn parameters(&self) -> usize {
        self.hidden.iter().map(|w| w.nrows() * w.ncols()).sum::<usize>() + self.heads[0].nrows() * self.heads[0].ncols()
    }

    /// The last hidden layer on the rows of `x`, P × N.
    pub fn features(&self, x: MatRef<'_, f32>) -> Mat<f32> {
        let mut h = Mat::new();
        for (l, w) in self.hidden.iter().enumerate() {
            let mut next = Mat::zeros(x.nrows(), w.nrows());
            layer(&mut next, None, if l == 0 { x } else { h.as_ref() }, w, self.activation);
            h = next;
        }
        h
    }

    /// The output of readout `head` on the rows of `x`, P × target columns.
    ///
    /// # Panics
    /// If there is no such readout.
    pub fn output(&self, x: MatRef<'_, f32>, head: usize) -> Mat<f32> {
        let phi = self.features(x);
        let mut f = Mat::zeros(x.nrows(), self.heads[head].ncols());
        let scale = 1.0 / (phi.ncols() as f32).sqrt();
        matmul_f32(f.as_mut(), 0.0, scale, phi.as_ref(), self.heads[head].as_ref());
        f
    }
}

/// `φ(X Wᵀ/√dim)` to `h`; where `z` is given, `X Wᵀ/√dim` to it.
pub(crate) fn layer(
    h: &mut Mat<f32>,
    z: Option<&mut Mat<f32>>,
    x: MatRef<'_, f32>,
    w: &Mat<f32>,
    activation: Activation,
) {
    let scale = 1.0 / (w.ncols() as f32).sqrt();
    let Some(z) = z else {
        let after = |_: usize, _: usize, z: &mut [f32]| activate(z, activation);
        return matmul_f32_with(h.as_mut(), 0.0, scale, x, w.transpose(), LEAVE, &after);
    };
    matmul_f32(z.as_mut(), 0.0, scale, x, w.transpose());
    activate_from(h, z, activation);
}

/// `h = φ(z)`.
pub(crate) fn activate_from(h: &mut Mat<f32>, z: &Mat<f32>, activation: Activation) {
    for_columns(h, |j, h| {
        h.copy_from_slice(column_f32(z.as_ref(), j));
        activate(h, activation);
    });
}

/// `z ← φ(z)`.
pub(crate) fn activate(z: &mut [f32], activation: Activation) {
    match activation {
        Activation::Relu => z.iter_mut().for_each(|z| *z = z.max(0.0)),
        Activation::Linear => {}
        Activation::Erf => z.iter_mut().for_each(|z| *z = libm::erff(*z)),
        Activation::Gelu => z.iter_mut().for_each(|z| *z *= normal_below(*z)),
    }
}

/// `δ ← δ ∘ φ'(z)` for a piece of column `j` from row `i` on: from the activations `h = φ(z)` for ReLU and linear units,
/// from `z` itself for others.
pub(crate) fn times_slope(
    i: usize,
    j: usize,
    delta: &mut [f32],
    h: &Mat<f32>,
    z: Option<&Mat<f32>>,
    activation: Activation,
) {
    let rows = i..i + delta.len();
    match activation {
        Activation::Relu => {
            let h = &column_f32(h.as_ref(), j)[rows];
            delta.iter_mut().zip(h).for_each(|(d, &h)| *d = if h > 0.0 { *d } else { 0.0 });
        }
        Activation::Linear => {}
        Activation::Erf | Activation::Gelu => {
            let z = z.expect("smooth layers keep their pre-activations");
            let z = &column_f32(z.as_ref(), j)[rows];
            let c = std::f32::consts::FRAC_2_SQRT_PI;
            let slope = |z: f32| match activation {
                Activation::Erf => c * (-z * z).exp(),
                _ => normal_below(z) + z * (0.5 * c * FRAC_1_SQRT_2) * (-0.5 * z * z).exp(),
            };
            delta.iter_mut().zip(z).for_each(|(d, &z)| *d *= slope(z));
        }
    }
}

/// `Φ(z)`: the share of a normal distribution below z.
fn normal_below(z: f32) -> f32 {
    0.5 * libm::erfcf(-z * FRAC_1_SQRT_2)
}

/// A matrix rounded to single precision.
pub(crate) fn to_f32(x: MatRef<'_, f64>) -> Mat<f32> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] as f32)
}

/// A matrix in double precision.
pub(crate) fn to_f64(x: &Mat<f32>) -> Mat<f64> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| f64::from(x[(i, j)]))
}

/// `Σ (f − y)²`, summed in double precision.
pub(crate) fn squared_error(f: &Mat<f32>, y: &Mat<f32>) -> f64 {
    let mut sum = 0.0;
    for j in 0..f.ncols() {
        let (f, y) = (column_f32(f.as_ref(), j), column_f32(y.as_ref(), j));
        sum += f.iter().zip(y).map(|(f, y)| (f64::from(*f) - f64::from(*y)).powi(2)).sum::<f64>();
    }
    sum
}
