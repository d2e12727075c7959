//! `x^{l+1} = φ(W^l x^l/√dim x^l)`, `f(x) = a·x^L/√N`: a fully connected network in single precision.

use crate::error::{Error, Result};
use crate::kernels::{Activation, Architecture};
use crate::linalg::{Mat, MatRef, column_f32, column_f32_mut, matmul_f32};
use crate::rng::Stream;

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
    /// [`Error::Setting`] for a depth, width, dimension or number of targets of 0, or an unusable σ0.
    pub fn new(
        architecture: Architecture,
        input_dim: usize,
        width: usize,
        targets: usize,
        sigma0: f64,
        stream: &mut Stream,
    ) -> Result<Self> {
        for (name, value) in [
            ("depth", architecture.depth),
            ("input dimension", input_dim),
            ("width", width),
            ("target columns", targets),
        ] {
            if value == 0 {
                return Err(Error::setting(name, 0, "must be at least 1"));
            }
        }
        if !(sigma0.is_finite() && sigma0 > 0.0) {
            return Err(Error::setting("sigma0", sigma0, "must be positive and finite"));
        }
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

    /// The width N of the last hidden layer.
    pub fn width(&self) -> usize {
        self.hidden[self.hidden.len() - 1].nrows()
    }

    /// The input dimension N0.
    pub fn input_dim(&self) -> usize {
        self.hidden[0].ncols()
    }

    /// The number of readouts.
    pub fn head_count(&self) -> usize {
        self.heads.len()
    }

    /// Hidden weights plus those of one readout.
    pub fn parameters(&self) -> usize {
        self.hidden.iter().map(|w| w.nrows() * w.ncols()).sum::<usize>() + self.heads[0].nrows() * self.heads[0].ncols()
    }

    /// The last hidden layer on the rows of `x`, P × N.
    pub fn features(&self, x: MatRef<'_, f32>) -> Mat<f32> {
        let mut h = Mat::zeros(x.nrows(), self.hidden[0].nrows());
        pre_activation(&mut h, x, &self.hidden[0]);
        activate(&mut h, self.activation);
        for w in &self.hidden[1..] {
            let mut next = Mat::zeros(x.nrows(), w.nrows());
            pre_activation(&mut next, h.as_ref(), w);
            activate(&mut next, self.activation);
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

/// `Z = H Wᵀ/√dim`.
pub(crate) fn pre_activation(z: &mut Mat<f32>, h: MatRef<'_, f32>, w: &Mat<f32>) {
    let scale = 1.0 / (w.ncols() as f32).sqrt();
    matmul_f32(z.as_mut(), 0.0, scale, h, w.as_ref().transpose());
}

/// `Z ← φ(Z)`.
pub(crate) fn activate(z: &mut Mat<f32>, activation: Activation) {
    for j in 0..z.ncols() {
        let column = column_f32_mut(z.as_mut(), j);
        match activation {
            Activation::Relu => column.iter_mut().for_each(|z| *z = z.max(0.0)),
            Activation::Linear => {}
            Activation::Erf => column.iter_mut().for_each(|z| *z = libm::erff(*z)),
        }
    }
}

/// `δ ← δ ∘ φ'(z)`, from the activations `h = φ(z)` for ReLU and linear units, from `z` itself for erf.
pub(crate) fn times_slope(delta: &mut Mat<f32>, h: &Mat<f32>, z: Option<&Mat<f32>>, activation: Activation) {
    for j in 0..delta.ncols() {
        let d = column_f32_mut(delta.as_mut(), j);
        match activation {
            Activation::Relu => {
                d.iter_mut().zip(column_f32(h.as_ref(), j)).for_each(|(d, &h)| *d = if h > 0.0 { *d } else { 0.0 });
            }
            Activation::Linear => {}
            Activation::Erf => {
                let z = z.expect("erf layers keep their pre-activations");
                let c = std::f32::consts::FRAC_2_SQRT_PI;
                d.iter_mut().zip(column_f32(z.as_ref(), j)).for_each(|(d, &z)| *d *= c * (-z * z).exp());
            }
        }
    }
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
