//! `U(W) = |W−μ|²/(2s²) + Σ_a {½ r_aᵀS⁻¹r_a + ½ ln det S}`, the negative log posterior of the hidden weights (βE of the paper's
//! Eq. 2 with the readout integrated out).
//!
//! With Φ the last hidden layer on the training inputs (P × N), readout prior `a ~ N(ā, v_a)` and noise variance 1/β,
//! the targets of every output are Gaussian given W, of mean `Φā/√N` and covariance `S = v_a ΦΦᵀ/N + I/β`; `r = y − Φā/√N`. The two
//! quadratic terms of Eq. 2 combine to one Gaussian of mean `μ = λ̃ W_{t−1}` and variance
//! `s² = σ²(1−λ̃) = 1/(λ+σ^{-2})`; for task 1, μ = 0 and s² = σ².

use crate::error::Result;
use crate::kernels::Activation;
use crate::linalg::{Cholesky, Mat, MatMut, MatRef, column, dot, matmul, matmul_into, matvec};
use crate::metrics::normal_cdf;
use crate::rng::Stream;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// Layer sizes of a fully connected network: N0, N, …, N (as many hidden layers as entries after the first).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Input dimension, then the width of every hidden layer.
    pub sizes: Vec<usize>,
}

impl Layers {
    /// The number of hidden weights.
    pub fn weights(&self) -> usize {
        self.sizes.windows(2).map(|w| w[0] * w[1]).sum()
    }

    /// The width of the last hidden layer.
    pub fn width(&self) -> usize {
        *self.sizes.last().expect("a network has an input layer")
    }

    /// Layer `l` of a flat weight vector as a matrix, out × in.
    fn view<'a>(&self, w: &'a [f64], l: usize) -> MatRef<'a, f64> {
        let start: usize = self.sizes.windows(2).take(l).map(|p| p[0] * p[1]).sum();
        let (rows, cols) = (self.sizes[l + 1], self.sizes[l]);
        MatRef::from_column_major_slice(&w[start..start + rows * cols], rows, cols)
    }

    /// Layer `l` of a flat gradient as a matrix, out × in.
    fn view_mut<'a>(&self, w: &'a mut [f64], l: usize) -> MatMut<'a, f64> {
        let start: usize = self.sizes.windows(2).take(l).map(|p| p[0] * p[1]).sum();
        let (rows, cols) = (self.sizes[l + 1], self.sizes[l]);
        MatMut::from_column_major_slice_mut(&mut w[start..start + rows * cols], rows, cols)
    }

    /// The last hidden layer on the rows of `x`, P × N.
    pub fn features(&self, activation: Activation, w: &[f64], x: MatRef<'_, f64>) -> Mat<f64> {
        let mut h = x.to_owned();
        for l in 0..self.sizes.len() - 1 {
            let mut z = Mat::zeros(x.nrows(), self.sizes[l + 1]);
            let scale = 1.0 / (self.sizes[l] as f64).sqrt();
            matmul_into(z.as_mut(), 0.0, scale, h.as_ref(), self.view(w, l).transpose());
            for j in 0..z.ncols() {
                z.col_as_slice_mut(j).iter_mut().for_each(|z| *z = value(activation, *z));
            }
            h = z;
        }
        h
    }
}

/// φ(z).
pub(crate) fn value(activation: Activation, z: f64) -> f64 {
    match activation {
        Activation::Relu => z.max(0.0),
        Activation::Linear => z,
        Activation::Erf => libm::erf(z),
        Activation::Gelu => z * normal_cdf(z),
    }
}

/// φ'(z).
pub(crate) fn slope(activation: Activation, z: f64) -> f64 {
    match activation {
        Activation::Relu => f64::from(u8::from(z > 0.0)),
        Activation::Linear => 1.0,
        Activation::Erf => FRAC_2_SQRT_PI * libm::exp(-z * z),
        Activation::Gelu => normal_cdf(z) + z * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2) * libm::exp(-0.5 * z * z),
    }
}

/// The posterior of the hidden weights of one task, given the weights after the task before.
pub(crate) struct Energy<'a> {
    /// Layer sizes.
    pub layers: &'a Layers,
    /// The nonlinearity.
    pub activation: Activation,
    /// Training inputs, P × N0.
    pub x: MatRef<'a, f64>,
    /// Training targets, P × m.
    pub y: MatRef<'a, f64>,
    /// Inverse temperature.
    pub beta: f64,
    /// Prior mean of the hidden weights (λ̃ times the weights before; 0 for the first task).
    pub weight_mean: Vec<f64>,
    /// Prior variance of the hidden weights around that mean.
    pub weight_variance: f64,
    /// Prior means of the readouts, N × m.
    pub readout_mean: Mat<f64>,
    /// Prior variance of the readouts around that mean.
    pub readout_variance: f64,
}

/// What [`Energy::evaluate`] writes: pre-activations and activations per layer, kept between calls.
pub(crate) struct Buffers {
    z: Vec<Mat<f64>>,
    h: Vec<Mat<f64>>,
    delta: Vec<Mat<f64>>,
    gram: Mat<f64>,
}

impl Energy<'_> {
    /// Space for one chain.
    pub fn work(&self) -> Buffers {
        let p = self.x.nrows();
        let mats = || self.layers.sizes[1..].iter().map(|&n| Mat::zeros(p, n)).collect::<Vec<_>>();
        Buffers { z: mats(), h: mats(), delta: mats(), gram: Mat::zeros(p, p) }
    }

    fn forward(&self, w: &[f64], work: &mut Buffers) {
        for l in 0..work.z.len() {
            let (before, here) = work.h.split_at_mut(l);
            let input = if l == 0 { self.x } else { before[l - 1].as_ref() };
            let scale = 1.0 / (self.layers.sizes[l] as f64).sqrt();
            matmul_into(work.z[l].as_mut(), 0.0, scale, input, self.layers.view(w, l).transpose());
            for j in 0..here[0].ncols() {
                let z = work.z[l].col_as_slice(j);
                here[0].col_as_slice_mut(j).iter_mut().zip(z).for_each(|(h, z)| *h = value(self.activation, *z));
            }
        }
    }

    /// `r = y − Φā/√N` of one output.
    fn residual(&self, phi: MatRef<'_, f64>, a: usize) -> Vec<f64> {
        let scale = 1.0 / (phi.ncols() as f64).sqrt();
        let prior = matvec(phi, self.readout_mean.col_as_slice(a));
        prior.iter().enumerate().map(|(i, f)| self.y[(i, a)] - scale * f).collect()
    }

    /// The Cholesky factor of `S = v_a ΦΦᵀ/N + I/β`.
    fn covariance(&self, phi: MatRef<'_, f64>, gram: &mut Mat<f64>) -> Result<Cholesky> {
        matmul_into(gram.as_mut(), 0.0, self.readout_variance / phi.ncols() as f64, phi, phi.transpose());
        for i in 0..gram.nrows() {
            gram[(i, i)] += 1.0 / self.beta;
        }
        Cholesky::factor(gram.as_ref(), "the covariance of the targets given the hidden weights")
    }

    /// U(W) and its gradient, which is written to `gradient`.
    ///
    /// # Errors
    /// Where S is not positive definite, which finite weights at finite β do not produce.
    pub fn evaluate(&self, w: &[f64], work: &mut Buffers, gradient: &mut [f64]) -> Result<f64> {
        self.forward(w, work);
        let last = work.h.len() - 1;
        let phi = work.h[last].as_ref();
        let chol = self.covariance(phi, &mut work.gram)?;
        let (n, outputs) = (phi.ncols() as f64, self.y.ncols());

        // dU/dΦ = Σ_a {(v_a/N) (S⁻¹ − v vᵀ) Φ − v āᵀ/√N}, v = S⁻¹r of output a
        work.delta[last].copy_from(phi);
        chol.solve_in_place(work.delta[last].as_mut());
        let scale = self.readout_variance / n;
        let mut fit = 0.0;
        for a in 0..outputs {
            let r = self.residual(phi, a);
            let v = chol.solve_vec(&r);
            let vphi = matvec(phi.transpose(), &v);
            let whole = if a == 0 { outputs as f64 * scale } else { 1.0 };
            for j in 0..phi.ncols() {
                let along = scale * vphi[j] + self.readout_mean[(j, a)] / n.sqrt();
                work.delta[last].col_as_slice_mut(j).iter_mut().zip(&v).for_each(|(d, v)| *d = whole * *d - along * v);
            }
            fit += dot(&r, &v);
        }
        for l in (0..=last).rev() {
            let scale = 1.0 / (self.layers.sizes[l] as f64).sqrt();
            for j in 0..work.z[l].ncols() {
                let z = work.z[l].col_as_slice(j);
                work.delta[l].col_as_slice_mut(j).iter_mut().zip(z).for_each(|(d, z)| *d *= slope(self.activation, *z));
            }
            let input = if l == 0 { self.x } else { work.h[l - 1].as_ref() };
            matmul_into(self.layers.view_mut(gradient, l), 0.0, scale, work.delta[l].as_ref().transpose(), input);
            if l > 0 {
                let (below, here) = work.delta.split_at_mut(l);
                matmul_into(below[l - 1].as_mut(), 0.0, scale, here[0].as_ref(), self.layers.view(w, l));
            }
        }
        let mut prior = 0.0;
        for ((g, w), m) in gradient.iter_mut().zip(w).zip(&self.weight_mean) {
            let off = w - m;
            prior += off * off;
            *g += off / self.weight_variance;
        }
        Ok(0.5 * (prior / self.weight_variance + fit + outputs as f64 * chol.logdet()))
    }

    /// An exact draw of the readouts given the hidden weights, N × m, by correcting draws of their prior (Matheron's rule):
    /// `a = a₀ + (v_a/√N) Φᵀ S⁻¹ (y − Φa₀/√N − ε)`, a₀ from the prior.
    ///
    /// # Errors
    /// As for [`Energy::evaluate`].
    pub fn draw_readouts(&self, w: &[f64], stream: &mut Stream) -> Result<Mat<f64>> {
        let phi = self.layers.features(self.activation, w, self.x);
        let n = (phi.ncols() as f64).sqrt();
        let mut gram = Mat::zeros(phi.nrows(), phi.nrows());
        let chol = self.covariance(phi.as_ref(), &mut gram)?;
        let mut drawn = Mat::zeros(phi.ncols(), self.y.ncols());
        for a in 0..self.y.ncols() {
            let mean = self.readout_mean.col_as_slice(a);
            let prior: Vec<f64> = mean.iter().map(|m| m + self.readout_variance.sqrt() * stream.normal()).collect();
            let f = matvec(phi.as_ref(), &prior);
            let target = (0..f.len()).map(|i| self.y[(i, a)]);
            let miss: Vec<f64> = target.zip(f).map(|(y, f)| y - f / n - stream.normal() / self.beta.sqrt()).collect();
            let v = chol.solve_vec(&miss);
            let shift = matmul(phi.as_ref().transpose(), column(&v));
            for (j, a0) in prior.iter().enumerate() {
                drawn[(j, a)] = a0 + self.readout_variance / n * shift[(j, 0)];
            }
        }
        Ok(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The analytic gradient against central differences, two hidden layers, every activation, one output and three.
    #[test]
    fn gradient_matches_finite_differences() {
        let layers = Layers { sizes: vec![3, 4, 5] };
        let mut s = Stream::new(3, "test", 0);
        let x = Mat::from_fn(6, 3, |_, _| s.normal());
        let targets = Mat::from_fn(6, 3, |_, _| s.normal());
        let all = [Activation::Relu, Activation::Linear, Activation::Erf, Activation::Gelu];
        for (activation, outputs) in all.into_iter().flat_map(|a| [(a, 1), (a, 3)]) {
            let energy = Energy {
                layers: &layers,
                activation,
                x: x.as_ref(),
                y: targets.as_ref().subcols(0, outputs),
                beta: 7.0,
                weight_mean: (0..layers.weights()).map(|_| s.normal()).collect(),
                weight_variance: 0.6,
                readout_mean: Mat::from_fn(5, outputs, |_, _| s.normal()),
                readout_variance: 1.3,
            };
            let w: Vec<f64> = (0..layers.weights()).map(|_| s.normal()).collect();
            let mut work = energy.work();
            let mut g = vec![0.0; w.len()];
            energy.evaluate(&w, &mut work, &mut g).unwrap();
            for k in 0..w.len() {
                let h = 1e-5;
                let mut at = |step: f64| {
                    let mut moved = w.clone();
                    moved[k] += step;
                    energy.evaluate(&moved, &mut work, &mut vec![0.0; w.len()]).unwrap()
                };
                let numeric = (at(h) - at(-h)) / (2.0 * h);
                // Truncation h² ≈ 1e-10 and rounding 1e-16/h ≈ 1e-11, both times a curvature of order 100.
                assert!((numeric - g[k]).abs() < 1e-7 * (1.0 + g[k].abs()), "{activation:?} {k}: {numeric} {}", g[k]);
            }
        }
    }
}
