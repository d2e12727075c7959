//! `H_a = κ_a + μ − R + Yᵀ M⁻¹ Y`, `Y = J_a + J_W S⁻¹ Bᵀ`, `R = B S⁻¹ Bᵀ`: a step with the curvature that couples each
//! readout weight to the weights of its own unit.
//!
//! `B_i = c Σ_m r_m φ'(z_mi) x_m/√N` is `−∂²E/∂a_i∂w_i` beyond `JᵀJ`. Where no penalty holds the readout, a larger readout
//! with smaller changes below does almost the same, and along that valley B all but makes up for what `JᵀJ` has:
//! Gauss–Newton steps shorten by a few per cent each. With `M = 1/c + J_W S⁻¹ J_Wᵀ` over hidden weights alone,
//!
//! ```math
//! H_a δ_a = Y^\top M^{-1} q - B S^{-1} g_W - g_a, \quad u = M^{-1}(q - Y δ_a), \quad
//! δ_W = S^{-1}(J_W^\top u + B^\top δ_a - g_W), \quad q = J_W S^{-1} g_W
//! ```

use super::kinks::Kinks;
use super::linearized::Linearized;
use super::problem::{Point, Problem};
use crate::linalg::{Cholesky, Mat, dot, lower_gram_into, matmul};

/// What is added to curvature that is not positive, at first, in units of its mean.
const LEAST: f64 = 1e-6;
/// Shifts that are tried: four times as much each time, they are as large as the matrix by then.
const TRIES: usize = 12;

/// The coupling at a point, to be used at any damping.
pub(super) struct Coupling {
    /// `c r φ'/√N` of the last hidden layer, P × N.
    pub pairs: Mat<f64>,
    /// The Gram matrix of that layer's input times `pairs`.
    image: Mat<f64>,
}

impl Coupling {
    /// Of one target column, and where it costs no more than the rest.
    pub fn pays(problem: &Problem, point: &Point) -> bool {
        problem.y.ncols() == 1 && !point.z.is_empty() && problem.features(point).ncols() <= problem.y.nrows()
    }

    /// From the slopes of the last hidden layer.
    pub fn new(problem: &Problem, point: &Point, mut slopes: Mat<f64>, gram: &Mat<f64>) -> Self {
        let scale = problem.loss / (slopes.ncols() as f64).sqrt();
        let r = point.r.col_as_slice(0);
        for i in 0..slopes.ncols() {
            slopes.col_as_slice_mut(i).iter_mut().zip(r).for_each(|(s, r)| *s *= scale * r);
        }
        let image = matmul(gram.as_ref(), slopes.as_ref());
        Coupling { pairs: slopes, image }
    }
}

/// The readout's part of a system.
pub(super) struct Coupled {
    /// Y.
    pub reach: Mat<f64>,
    /// `B S⁻¹ g_W`.
    pub force: Mat<f64>,
    /// Of `H_a`.
    pub reduced: Cholesky,
}

impl Coupled {
    /// At a stiffness, with M factored; where the objective curves downwards, with enough added to curve it upwards.
    pub fn new(
        problem: &Problem,
        here: &Linearized,
        point: &Point,
        kinks: &Kinks,
        factor: &Cholesky,
        (stiff, stiff_readout): (f64, f64),
    ) -> Option<Self> {
        let coupling = here.coupling.as_ref()?;
        let top = here.signals.len() - 1;
        let phi = problem.features(point);
        let (p, n) = (phi.nrows(), phi.ncols());
        let root = (n as f64).sqrt();
        let mut reach = Mat::zeros(p, n);
        let mut force = Mat::zeros(n, 1);
        let mut own = vec![0.0; n];
        let held = kinks.by_unit(top, n);
        for i in 0..n {
            let (pairs, image) = (coupling.pairs.col_as_slice(i), coupling.image.col_as_slice(i));
            let (shift, a) = (here.shift(point, top).col_as_slice(i), point.weights.readout[(i, 0)]);
            let pull: Vec<f64> = shift.iter().zip(image).map(|(s, g)| problem.kappa * s - a * g).collect();
            let (mut square, mut along) = (dot(pairs, image), dot(pairs, &pull));
            let mut free = image.to_vec();
            if let Some(k) = held[i] {
                let (of_image, of_pull) = (kinks.within(k, image), kinks.within(k, &pull));
                square -= dot(&of_image, &of_image);
                along -= dot(&of_image, &of_pull);
                kinks.subtract(k, &of_image, &mut free);
            }
            own[i] = square / stiff;
            force[(i, 0)] = along / stiff;
            let (signal, phi) = (here.signals[top][0].col_as_slice(i), phi.col_as_slice(i));
            let to = reach.col_as_slice_mut(i);
            (0..p).for_each(|m| to[m] = phi[m] / root + signal[m] * free[m] / stiff);
        }
        let half = factor.half_solve(reach.as_ref());
        let mut reduced = Mat::zeros(n, n);
        lower_gram_into(reduced.as_mut(), 0.0, 1.0, half.transpose());
        (0..n).for_each(|i| reduced[(i, i)] += stiff_readout - own[i]);
        let size = (0..n).map(|i| reduced[(i, i)].abs()).sum::<f64>() / n as f64;
        let mut added = 0.0;
        for _ in 0..TRIES {
            let within = added <= size; // false for a NaN too
            if !within || crate::stop::requested() {
                break;
            }
            if let Ok(reduced) = Cholesky::factor(reduced.as_ref(), "the readout's curvature") {
                return Some(Coupled { reach, force, reduced });
            }
            let more = if added == 0.0 { LEAST * size } else { 3.0 * added };
            (0..n).for_each(|i| reduced[(i, i)] += more);
            added += more;
        }
        None
    }
}
