//! `Z = Z_prev + G C`, `G = XXᵀ/N0`: the first layer carried by its coefficients on the examples.
//!
//! Every gradient of the first layer's weights is a combination of the inputs, so after a start at `W_prev` the
//! weights are `W_prev + CᵀX/√N0` with C ∈ R^{P×N}, exactly. A step then costs one P × P × N product instead of two
//! P × N0 × N ones: fewer operations where P < 2 N0.

use super::mlp::{Mlp, pre_activation};
use crate::linalg::{Mat, MatRef, column_f32, matmul_f32};
use crate::nets::update::for_columns;

/// The first layer in coefficient form.
pub(crate) struct GramLayer {
    gram: Mat<f32>,
    before: Mat<f32>,
    coefficients: Mat<f32>,
}

impl GramLayer {
    /// Whether this form needs fewer operations for `rows` examples of dimension `dim`.
    pub fn pays(rows: usize, dim: usize) -> bool {
        rows < 2 * dim
    }

    /// Starts at the network's present first layer.
    pub fn new(net: &Mlp, x: MatRef<'_, f32>) -> Self {
        let mut gram = Mat::zeros(x.nrows(), x.nrows());
        matmul_f32(gram.as_mut(), 0.0, 1.0 / x.ncols() as f32, x, x.transpose());
        let mut before = Mat::zeros(x.nrows(), net.hidden[0].nrows());
        pre_activation(&mut before, x, &net.hidden[0]);
        let coefficients = Mat::zeros(before.nrows(), before.ncols());
        GramLayer { gram, before, coefficients }
    }

    /// Writes the pre-activations of the first layer to `z`.
    pub fn pre_activation(&self, z: &mut Mat<f32>) {
        z.copy_from(&self.before);
        matmul_f32(z.as_mut(), 1.0, 1.0, self.gram.as_ref(), self.coefficients.as_ref());
    }

    /// One step with the factors of [`super::update::factors`] along the error `delta` of the pre-activations.
    pub fn step(&mut self, [keep, _, along]: [f32; 3], delta: &Mat<f32>) {
        for_columns(&mut self.coefficients, |j, c| {
            c.iter_mut().zip(column_f32(delta.as_ref(), j)).for_each(|(c, d)| *c = keep * *c + along * d);
        });
    }

    /// `XXᵀ/N0` times `m`, written to `out`.
    pub fn times_gram(&self, out: &mut Mat<f32>, m: &Mat<f32>) {
        matmul_f32(out.as_mut(), 0.0, 1.0, self.gram.as_ref(), m.as_ref());
    }

    /// `|W − W_prev|² = Tr CᵀGC`, with `scratch` of C's shape.
    pub fn squared_distance(&self, scratch: &mut Mat<f32>) -> f64 {
        self.times_gram(scratch, &self.coefficients);
        let product = |j| -> f64 {
            let (a, b) = (column_f32(self.coefficients.as_ref(), j), column_f32(scratch.as_ref(), j));
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        (0..self.coefficients.ncols()).map(product).sum::<f64>().max(0.0)
    }

    /// Writes the weights back into the network: `W = W_prev + CᵀX/√N0`.
    pub fn write_back(&self, net: &mut Mlp, x: MatRef<'_, f32>) {
        let scale = 1.0 / (x.ncols() as f32).sqrt();
        matmul_f32(net.hidden[0].as_mut(), 1.0, scale, self.coefficients.as_ref().transpose(), x);
    }
}
