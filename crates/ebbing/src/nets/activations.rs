//! One forward and one backward pass over a batch, with every buffer made beforehand.

use super::gram::GramLayer;
use super::mlp::{Mlp, layer, times_slope};
use crate::kernels::Activation;
use crate::linalg::{LEAVE, Mat, MatRef, for_columns, matmul_f32, matmul_f32_with};

/// Activations and errors of one batch.
pub(crate) struct Activations {
    /// Activations of every hidden layer, P × width.
    pub h: Vec<Mat<f32>>,
    /// Pre-activations, kept for erf and GELU only.
    z: Vec<Mat<f32>>,
    /// Errors of every hidden layer's pre-activations, P × width.
    pub delta: Vec<Mat<f32>>,
    /// Outputs, P × target columns.
    pub f: Mat<f32>,
}

impl Activations {
    /// Buffers for batches of `rows` examples.
    pub fn new(net: &Mlp, rows: usize, targets: usize) -> Self {
        let mats = || net.hidden.iter().map(|w| Mat::zeros(rows, w.nrows())).collect::<Vec<_>>();
        Activations {
            h: mats(),
            z: if matches!(net.activation, Activation::Erf | Activation::Gelu) { mats() } else { vec![] },
            delta: mats(),
            f: Mat::zeros(rows, targets),
        }
    }

    /// Fills activations and outputs of readout `head` on the rows of `x`; `gram` stands for the first layer if given.
    pub fn forward(&mut self, net: &Mlp, x: MatRef<'_, f32>, gram: Option<&GramLayer>, head: usize) {
        for l in 0..self.h.len() {
            let (below, here) = self.h.split_at_mut(l);
            let (h, z) = (&mut here[0], self.z.get_mut(l));
            match (gram, l) {
                (Some(gram), 0) => gram.layer(h, z, net.activation),
                (None, 0) => layer(h, z, x, &net.hidden[0], net.activation),
                _ => layer(h, z, below[l - 1].as_ref(), &net.hidden[l], net.activation),
            }
        }
        let phi = &self.h[self.h.len() - 1];
        let scale = 1.0 / (phi.ncols() as f32).sqrt();
        matmul_f32(self.f.as_mut(), 0.0, scale, phi.as_ref(), net.heads[head].as_ref());
    }

    /// The error of the last hidden layer, `δ^L = (r aᵀ/√N) ∘ φ'`, from the errors `r` of the outputs.
    pub fn error_of_top(&mut self, net: &Mlp, head: usize, r: MatRef<'_, f32>) {
        let top = self.h.len() - 1;
        let scale = 1.0 / (self.h[top].ncols() as f32).sqrt();
        let (h, z) = (&self.h[top], self.z.get(top));
        let slope = |i: usize, j: usize, d: &mut [f32]| times_slope(i, j, d, h, z, net.activation);
        let a = net.heads[head].transpose();
        matmul_f32_with(self.delta[top].as_mut(), 0.0, scale, r, a, LEAVE, &slope);
    }

    /// The error one layer below `l`, `δ^{l−1} = (δ^l W^l/√dim) ∘ φ'`.
    pub fn error_below(&mut self, net: &Mlp, l: usize) {
        let (below, here) = self.delta.split_at_mut(l);
        let scale = 1.0 / (net.hidden[l].ncols() as f32).sqrt();
        let (h, z) = (&self.h[l - 1], self.z.get(l - 1));
        let slope = |i: usize, j: usize, d: &mut [f32]| times_slope(i, j, d, h, z, net.activation);
        let w = net.hidden[l].as_ref();
        matmul_f32_with(below[l - 1].as_mut(), 0.0, scale, here[0].as_ref(), w, LEAVE, &slope);
    }

    /// `m ← m ∘ φ'` with the slopes of layer `l`.
    pub fn times_slope(&self, m: &mut Mat<f32>, net: &Mlp, l: usize) {
        for_columns(m, |j, m| times_slope(0, j, m, &self.h[l], self.z.get(l), net.activation));
    }

    /// The input of layer `l` in this pass.
    pub fn input<'a>(&'a self, x: MatRef<'a, f32>, l: usize) -> MatRef<'a, f32> {
        if l == 0 { x } else { self.h[l - 1].as_ref() }
    }
}
