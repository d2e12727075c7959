//! One forward and one backward pass over a batch, with every buffer made beforehand.

use super::mlp::{Mlp, activate, pre_activation, times_slope};
use crate::kernels::Activation;
use crate::linalg::{Mat, MatRef, matmul_f32};

/// Activations and errors of one batch.
pub(crate) struct Pass {
    /// Activations of every hidden layer, P × width.
    pub h: Vec<Mat<f32>>,
    /// Pre-activations, kept for erf only.
    z: Vec<Mat<f32>>,
    /// Errors of every hidden layer's pre-activations, P × width.
    pub delta: Vec<Mat<f32>>,
    /// Outputs, P × target columns.
    pub f: Mat<f32>,
}

impl Pass {
    /// Buffers for batches of `rows` examples.
    pub fn new(net: &Mlp, rows: usize, targets: usize) -> Self {
        let mats = || net.hidden.iter().map(|w| Mat::zeros(rows, w.nrows())).collect::<Vec<_>>();
        Pass {
            h: mats(),
            z: if net.activation == Activation::Erf { mats() } else { vec![] },
            delta: mats(),
            f: Mat::zeros(rows, targets),
        }
    }

    /// Fills activations and outputs of readout `head` on the rows of `x`.
    pub fn forward(&mut self, net: &Mlp, x: MatRef<'_, f32>, head: usize) {
        pre_activation(&mut self.h[0], x, &net.hidden[0]);
        self.forward_above(net, head);
    }

    /// The same where the first layer's pre-activations are already in `h[0]`.
    pub fn forward_above(&mut self, net: &Mlp, head: usize) {
        for l in 0..self.h.len() {
            if l > 0 {
                let (below, here) = self.h.split_at_mut(l);
                pre_activation(&mut here[0], below[l - 1].as_ref(), &net.hidden[l]);
            }
            if !self.z.is_empty() {
                self.z[l].copy_from(&self.h[l]);
            }
            activate(&mut self.h[l], net.activation);
        }
        let phi = &self.h[self.h.len() - 1];
        let scale = 1.0 / (phi.ncols() as f32).sqrt();
        matmul_f32(self.f.as_mut(), 0.0, scale, phi.as_ref(), net.heads[head].as_ref());
    }

    /// The error of the last hidden layer, `δ^L = (r aᵀ/√N) ∘ φ'`, from the errors `r` of the outputs.
    pub fn error_of_top(&mut self, net: &Mlp, head: usize, r: MatRef<'_, f32>) {
        let top = self.h.len() - 1;
        let scale = 1.0 / (self.h[top].ncols() as f32).sqrt();
        matmul_f32(self.delta[top].as_mut(), 0.0, scale, r, net.heads[head].as_ref().transpose());
        self.slope(net, top);
    }

    /// The error one layer below `l`, `δ^{l−1} = (δ^l W^l/√dim) ∘ φ'`.
    pub fn error_below(&mut self, net: &Mlp, l: usize) {
        let (below, here) = self.delta.split_at_mut(l);
        let scale = 1.0 / (net.hidden[l].ncols() as f32).sqrt();
        matmul_f32(below[l - 1].as_mut(), 0.0, scale, here[0].as_ref(), net.hidden[l].as_ref());
        self.slope(net, l - 1);
    }

    fn slope(&mut self, net: &Mlp, l: usize) {
        times_slope(&mut self.delta[l], &self.h[l], self.z.get(l), net.activation);
    }

    /// `m ← m ∘ φ'` with the slopes of layer `l`.
    pub fn times_slope(&self, m: &mut Mat<f32>, net: &Mlp, l: usize) {
        times_slope(m, &self.h[l], self.z.get(l), net.activation);
    }

    /// The input of layer `l` in this pass.
    pub fn input<'a>(&'a self, x: MatRef<'a, f32>, l: usize) -> MatRef<'a, f32> {
        if l == 0 { x } else { self.h[l - 1].as_ref() }
    }
}
