//! `Θ = J Jᵀ`, the network's own tangent kernel on the training outputs, and its largest eigenvalue.

use super::activations::Activations;
use super::gram::GramLayer;
use super::mlp::Mlp;
use crate::linalg::{Mat, MatRef, column_f32, for_columns, matmul_f32};
use crate::rng::Stream;

/// Power iteration for the largest eigenvalue of the tangent kernel, started where the last call ended.
pub(crate) struct Tangent {
    vector: Mat<f32>,
    image: Mat<f32>,
    forward: Vec<Mat<f32>>,
    weights: Vec<Mat<f32>>,
    head: Mat<f32>,
}

impl Tangent {
    /// Buffers and a random start for `rows` examples with `targets` columns.
    pub fn new(net: &Mlp, rows: usize, targets: usize, stream: &mut Stream) -> Self {
        Tangent {
            vector: Mat::from_fn(rows, targets, |_, _| stream.normal() as f32),
            image: Mat::zeros(rows, targets),
            forward: net.hidden.iter().map(|w| Mat::zeros(rows, w.nrows())).collect(),
            weights: net.hidden.iter().map(|w| Mat::zeros(w.nrows(), w.ncols())).collect(),
            head: Mat::zeros(net.width(), targets),
        }
    }

    /// A lower estimate of the largest eigenvalue after `iterations` products, at the activations in `pass`.
    pub fn largest(
        &mut self,
        net: &Mlp,
        pass: &mut Activations,
        x: MatRef<'_, f32>,
        gram: Option<&GramLayer>,
        head: usize,
        readout_only: bool,
        iterations: usize,
    ) -> f64 {
        let mut value = 0.0;
        for _ in 0..iterations {
            let norm = norm(&self.vector);
            if !(norm.is_finite() && norm > 0.0) {
                return f64::NAN;
            }
            for_columns(&mut self.vector, |_, v| v.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32));
            self.multiply(net, pass, x, gram, head, readout_only);
            value = self::norm(&self.image);
            std::mem::swap(&mut self.vector, &mut self.image);
        }
        value
    }

    /// `image = J Jᵀ vector`.
    fn multiply(
        &mut self,
        net: &Mlp,
        pass: &mut Activations,
        x: MatRef<'_, f32>,
        gram: Option<&GramLayer>,
        head: usize,
        readout_only: bool,
    ) {
        let top = pass.h.len() - 1;
        let phi = pass.h[top].as_ref();
        let n = phi.ncols() as f32;
        matmul_f32(self.head.as_mut(), 0.0, 1.0, phi.transpose(), self.vector.as_ref());
        matmul_f32(self.image.as_mut(), 0.0, 1.0 / n, phi, self.head.as_ref());
        if readout_only {
            return;
        }
        pass.error_of_top(net, head, self.vector.as_ref());
        for l in (1..=top).rev() {
            pass.error_below(net, l);
        }
        for l in 0..=top {
            let (below, here) = self.forward.split_at_mut(l);
            match gram {
                Some(gram) if l == 0 => gram.times_gram(&mut here[0], &pass.delta[0]),
                _ => {
                    let input = pass.input(x, l);
                    let d = input.ncols() as f32;
                    matmul_f32(self.weights[l].as_mut(), 0.0, 1.0 / d, pass.delta[l].as_ref().transpose(), input);
                    matmul_f32(here[0].as_mut(), 0.0, 1.0, input, self.weights[l].as_ref().transpose());
                }
            }
            if l > 0 {
                let scale = 1.0 / (net.hidden[l].ncols() as f32).sqrt();
                let w = net.hidden[l].as_ref().transpose();
                matmul_f32(here[0].as_mut(), 1.0, scale, below[l - 1].as_ref(), w);
            }
            pass.times_slope(&mut here[0], net, l);
        }
        matmul_f32(self.image.as_mut(), 1.0, 1.0 / n.sqrt(), self.forward[top].as_ref(), net.heads[head].as_ref());
    }
}

/// The Frobenius norm in double precision.
fn norm(m: &Mat<f32>) -> f64 {
    let square = |j| column_f32(m.as_ref(), j).iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
    (0..m.ncols()).map(square).sum::<f64>().sqrt()
}
