//! `Z = Z_prev + G C`, `G = XXᵀ/N0`: the first layer carried by its coefficients on the examples.
//!
//! Every gradient of the first layer's weights is a combination of the inputs, so after a start at `W_prev` the
//! weights are `W_prev + CᵀX/√N0` with C ∈ R^{P×N}, exactly. A step then costs one P × P × N product instead of two
//! P × N0 × N ones: fewer operations where P < 2 N0.

use super::mlp::{Mlp, activate, activate_from, layer};
use crate::kernels::Activation;
use crate::linalg::{LEAVE, Mat, MatRef, column_f32, for_columns, matmul_f32, matmul_f32_with};

/// The first layer in coefficient form.
pub(crate) struct GramLayer {
    gram: Mat<f32>,
    before: Mat<f32>,
    coefficients: Mat<f32>,
    /// Heavy-ball momentum and the velocity of the coefficients.
    momentum: Option<(f32, Mat<f32>)>,
}

impl GramLayer {
    /// Whether this form needs fewer operations for `rows` examples of dimension `dim`.
    pub fn pays(rows: usize, dim: usize) -> bool {
        rows < 2 * dim
    }

    /// Starts at the network's present first layer; a momentum of 0 is none.
    pub fn new(net: &Mlp, x: MatRef<'_, f32>, momentum: f32) -> Self {
        let mut gram = Mat::zeros(x.nrows(), x.nrows());
        matmul_f32(gram.as_mut(), 0.0, 1.0 / x.ncols() as f32, x, x.transpose());
        let mut before = Mat::zeros(x.nrows(), net.hidden[0].nrows());
        layer(&mut before, None, x, &net.hidden[0], Activation::Linear);
        let coefficients = Mat::zeros(before.nrows(), before.ncols());
        let momentum = (momentum > 0.0).then(|| (momentum, coefficients.clone()));
        GramLayer { gram, before, coefficients, momentum }
    }

    /// The first layer's activations to `h`; where `z` is given, its pre-activations to it.
    pub fn layer(&self, h: &mut Mat<f32>, z: Option<&mut Mat<f32>>, activation: Activation) {
        let before = |i: usize, j: usize, to: &mut [f32]| {
            to.copy_from_slice(&column_f32(self.before.as_ref(), j)[i..i + to.len()]);
        };
        let (g, c) = (self.gram.as_ref(), self.coefficients.as_ref());
        let Some(z) = z else {
            let after = |_: usize, _: usize, z: &mut [f32]| activate(z, activation);
            return matmul_f32_with(h.as_mut(), 1.0, 1.0, g, c, &before, &after);
        };
        matmul_f32_with(z.as_mut(), 1.0, 1.0, g, c, &before, LEAVE);
        activate_from(h, z, activation);
    }

    /// One step with the factors of [`super::update::factors`] along the error `delta` of the pre-activations.
    pub fn step(&mut self, [keep, _, along]: [f32; 3], delta: &Mat<f32>) {
        let mut delta = delta;
        if let Some((mu, velocity)) = &mut self.momentum {
            for_columns(velocity, |j, v| {
                v.iter_mut().zip(column_f32(delta.as_ref(), j)).for_each(|(v, d)| *v = *mu * *v + d);
            });
            delta = velocity;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Architecture;
    use crate::nets::learner::PenaltyStep;
    use crate::nets::mlp::squared_error;
    use crate::nets::update::{Params, Penalty, Updater};
    use crate::rng::Stream;

    /// The same steps, with a penalty and with momentum, on coefficients and on weights.
    #[test]
    fn coefficients_follow_the_weights() {
        let mut s = Stream::new(1, "gram test", 0);
        for (activation, mu) in [(Activation::Relu, 0.0), (Activation::Erf, 0.7)] {
            let mut net = Mlp::new(Architecture { activation, depth: 1 }, 30, 20, 1, 1.0, &mut s).unwrap();
            let x = Mat::from_fn(10, 30, |_, _| s.normal() as f32);
            let start = Params::of(&net, 0);
            let mut updater = Updater {
                eta: 0.1,
                penalty: Penalty::Uniform { kappa: 0.3, anchor: start.clone() },
                penalized: 1,
                form: PenaltyStep::Implicit,
                momentum: (mu > 0.0).then(|| (mu, start.zeros_like())),
                gradient: None,
            };
            let mut gram = GramLayer::new(&net, x.as_ref(), mu);
            let mut carried = net.clone();
            for _ in 0..50 {
                let delta = Mat::from_fn(10, 20, |_, _| s.normal() as f32);
                gram.step(updater.uniform_factors(0), &delta);
                let scale = 1.0 / 30f32.sqrt();
                updater.step(0, &mut net.hidden[0], scale, delta.transpose(), x.as_ref());
            }
            let (mut h, mut z) = (Mat::zeros(10, 20), Mat::zeros(10, 20));
            gram.layer(&mut h, Some(&mut z), activation);
            let mut want = (Mat::zeros(10, 20), Mat::zeros(10, 20));
            layer(&mut want.0, Some(&mut want.1), x.as_ref(), &net.hidden[0], activation);
            gram.write_back(&mut carried, x.as_ref());
            let distance = squared_error(&net.hidden[0], &start.0[0]);
            // Fifty steps, each rounding numbers of order 1 by up to 6e-8; squared errors over 600 entries at most.
            for (a, b) in [(&h, &want.0), (&z, &want.1), (&carried.hidden[0], &net.hidden[0])] {
                assert!(
                    squared_error(a, b) < 600.0 * (50.0 * 6e-8f64).powi(2),
                    "{activation:?} {}",
                    squared_error(a, b)
                );
            }
            let got = gram.squared_distance(&mut z);
            assert!((got / distance - 1.0).abs() < 1e-4, "{got} {distance}");
        }
    }
}
