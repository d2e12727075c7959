//! `φ_ε(z) = 0, (z+ε)²/4ε, z` for z below −ε, between, above ε: a ReLU whose kink is rounded off.
//!
//! A minimum under a penalty rests on kinks. Where a unit's pre-activation z would be pushed below 0 by its own example and
//! above 0 by all else, it stays at 0, and there the gradient has no single value: with P N pre-activations this holds
//! a per cent of them or more, and methods that take the slope of one side stall far above the minimum. Rounded off, the
//! gradient there takes every value between those of the two sides, and vanishes at the minimum.

use crate::kernels::Activation;
use crate::linalg::Mat;
use crate::nets::posterior::{slope, value};

/// The activation of every layer.
pub(super) struct Rounding {
    activation: Activation,
    /// ε of every layer; 0: as it is.
    widths: Vec<f64>,
}

impl Rounding {
    /// ReLUs rounded off within `share` of their layer's scale; other activations as they are.
    pub fn new(activation: Activation, share: f64, scales: &[f64]) -> Self {
        let share = if activation == Activation::Relu { share } else { 0.0 };
        Rounding { activation, widths: scales.iter().map(|s| share * s).collect() }
    }

    /// φ(z) of layer `l`.
    pub fn values(&self, l: usize, z: &Mat<f64>) -> Mat<f64> {
        let e = self.widths[l];
        if e == 0.0 {
            return entrywise(z, |z| value(self.activation, z));
        }
        entrywise(z, |z| if z.abs() < e { (z + e) * (z + e) / (4.0 * e) } else { z.max(0.0) })
    }

    /// φ'(z) of layer `l`.
    pub fn slopes(&self, l: usize, z: &Mat<f64>) -> Mat<f64> {
        let e = self.widths[l];
        if e == 0.0 {
            return entrywise(z, |z| slope(self.activation, z));
        }
        entrywise(z, |z| ((z + e) / (2.0 * e)).clamp(0.0, 1.0))
    }

    /// φ''(z) of layer `l` where that is the curvature of a kink.
    pub fn curvature(&self, l: usize, z: f64) -> f64 {
        let e = self.widths[l];
        if z.abs() < e { 0.5 / e } else { 0.0 }
    }
}

fn entrywise(z: &Mat<f64>, f: impl Fn(f64) -> f64) -> Mat<f64> {
    let mut to = Mat::zeros(z.nrows(), z.ncols());
    for j in 0..z.ncols() {
        to.col_as_slice_mut(j).iter_mut().zip(z.col_as_slice(j)).for_each(|(t, z)| *t = f(*z));
    }
    to
}
