//! What two tasks do to the hidden layer: the learned part of `K_sim = <Φ(x)·Φ(x')>/N` (paper, Eqs. 174–176) and the
//! change `ΔΦ = Φ(W_2,x) − Φ(W_1,x)` (Eqs. 177–179).
//!
//! `K_sim − K¹_22 = −(1/N) { u11 k<v_1v_1>k + u0 Δk<v_2v_2>Δk + [u12 k<v_1v_2>Δk + u0 k⁰<v_2p_2>Δk + transposed]`
//! `  + d (k¹<v_2v_2>k¹ − k⁰<v_2v_2>k⁰) }`
//! with `<v_2p_2> = K̃^{-1}`, `<v_1v_1> = K̃_11^{-1} − ū_1ū_1ᵀ`, `<v_1v_2> = −K̃_11^{-1}K̃_12K̃^{-1} − ū_1ū_2ᵀ`,
//! `<v_2v_2> = K̃^{-1} − K̃^{-1}ΣK̃^{-1} − ū_2ū_2ᵀ`. Activations are treated as Gaussian: along the labels this agrees with
//! sampled posteriors to 10-25 %; the trace and the projection on the all-ones vector are not to be read.
//!
//! For ΔΦ, `<v_2v_2>` enters Eq. 177 whole. Eqs. 178 and 179 put `u0 K⁰` for Σ, which in the generalization regime
//! leaves out a term of the same order, `−u0 Δk K̃^{-1}K̃_21K̃_11^{-1}K̃_12K̃^{-1} Δk`.

use super::solve::Finite;
use super::two_tasks::{TwoTaskPoint, TwoTasks};
use crate::error::{Error, Result, refuse};
use crate::linalg::{Mat, MatRef, column, matmul, matmul_into};

/// The parts of the learned kernel on one set of inputs, in a basis in which `K̃^{-1}` is diagonal.
struct Parts {
    /// `u11 k<v_1v_1>k`.
    first: Mat<f64>,
    /// `Δk` and `k¹` in the basis.
    delta: Mat<f64>,
    k1: Mat<f64>,
    /// `d <v_2v_2>` in the basis.
    core: Mat<f64>,
    /// `u0/d`.
    rho: f64,
    /// The diagonal of `u0 K̃^{-1}`.
    shrunk: Vec<f64>,
    /// `u12 k K̃_11^{-1}K̃_12 K̃^{-1}` in the basis.
    cross: Mat<f64>,
    /// `k ū_1` and `u12 Δk ū_2`.
    means: (Vec<f64>, Vec<f64>),
    /// The weight of terms that vanish as 1/λ.
    finite: f64,
    width: f64,
}

impl Parts {
    fn assemble(&self) -> Mat<f64> {
        let (n, p) = (self.k1.nrows(), self.k1.ncols());
        let delta_core = matmul(self.delta.as_ref(), self.core.as_ref());
        let quadratic = matmul(delta_core.as_ref(), self.delta.transpose());
        // Everything that stands left or right of Δk: half of the sum of terms and their transposes.
        let left = Mat::from_fn(n, p, |i, j| {
            self.shrunk[j] * (self.k1[(i, j)] - self.finite * self.delta[(i, j)]) - self.cross[(i, j)]
        });
        let mut half = matmul(left.as_ref(), self.delta.transpose());
        matmul_into(half.as_mut(), 1.0, 1.0, self.k1.as_ref(), delta_core.transpose());
        Mat::from_fn(n, n, |i, j| {
            let means = self.means.0[i] * self.means.1[j] + self.means.1[i] * self.means.0[j];
            let sum =
                self.first[(i, j)] + (self.rho - self.finite) * quadratic[(i, j)] + half[(i, j)] + half[(j, i)] - means;
            -sum / self.width
        })
    }
}

impl TwoTasks {
    /// The learned part of `K_sim` on any inputs after both tasks; its limit at λ = ∞.
    ///
    /// # Errors
    /// [`Error::Data`] for inputs that do not fit.
    pub fn learned_kernel(&self, point: &TwoTaskPoint, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let rows = self.rows(x)?;
        let (n, p, inverse_d) = (x.nrows(), self.y.len(), point.inverse_d());
        let gain = point.u12 * inverse_d;
        let m: Vec<f64> = (0..p).map(|i| self.shrinkage(point, i)).collect();
        let z: Vec<f64> = (0..p).map(|i| m[i] * self.innovation(point, i)).collect();
        let change = matmul(rows.d.as_ref(), column(&z));
        let first = matmul(rows.half.transpose(), rows.half.as_ref());
        let parts = Parts {
            first: Mat::from_fn(n, n, |i, j| first[(i, j)] - rows.base[i] * rows.base[j] / point.u11),
            core: self.core(point, &m, &z)?,
            rho: point.rho,
            shrunk: m.iter().map(|m| point.rho * m).collect(),
            cross: Mat::from_fn(n, p, |i, j| gain * point.u12 / point.u11 * rows.e[(i, j)] * m[j]),
            means: (rows.base.iter().map(|b| b / point.u11).collect(), (0..n).map(|i| gain * change[(i, 0)]).collect()),
            delta: rows.d,
            k1: rows.q,
            finite: point.finite_size(),
            width: point.width,
        };
        Ok(parts.assemble())
    }

    /// `ΔΦ(x)·ΔΦ(x') = −u0 Δk<v_2v_2>Δk` (not divided by N) on any inputs at λ = ∞.
    ///
    /// # Errors
    /// [`Error::Setting`] at finite λ, where the formula does not hold; [`Error::Data`] for inputs that do not fit.
    pub fn representation_change(&self, point: &TwoTaskPoint, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let expected = "must be inf: the change of representations is derived in that limit";
        refuse(point.lambda.is_finite(), "lambda", point.lambda, expected)?;
        let rows = self.rows(x)?;
        let m: Vec<f64> = (0..self.y.len()).map(|i| self.shrinkage(point, i)).collect();
        let z: Vec<f64> = (0..self.y.len()).map(|i| m[i] * self.innovation(point, i)).collect();
        let left = matmul(rows.d.as_ref(), self.core(point, &m, &z)?.as_ref());
        let product = matmul(left.as_ref(), rows.d.transpose());
        Ok(Mat::from_fn(x.nrows(), x.nrows(), |i, j| -point.rho * 0.5 * (product[(i, j)] + product[(j, i)])))
    }

    /// `d <v_2v_2>` in the pencil's basis, in the limit λ times that.
    fn core(&self, point: &TwoTaskPoint, m: &[f64], z: &[f64]) -> Result<Mat<f64>> {
        let (q, inverse_d, finite) = (point.q(), point.inverse_d(), point.finite_size());
        let g = self.g()?;
        Ok(Mat::from_fn(m.len(), m.len(), |i, j| {
            let shared = inverse_d * (q * m[i] * g[(i, j)] * m[j] - z[i] * z[j]);
            let tau = self.basis.values[i];
            if i == j { shared + finite * m[i] - point.rho * m[i] * m[i] * (1.0 - finite * tau) } else { shared }
        }))
    }
}

impl Finite {
    /// The learned part of `K_sim` on any inputs after two tasks.
    ///
    /// # Errors
    /// [`Error::OutsideTheory`] for any other number of tasks; [`Error::Data`] for inputs that do not fit.
    pub fn learned_kernel(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        if self.tasks() != 2 {
            let what = format!("the hidden kernel after {} tasks", self.tasks());
            return Err(Error::outside(what, "it is derived for two tasks"));
        }
        let (k1, delta) = self.kernels_at(2, x)?;
        let (own, first) = (self.chain.factor(1), self.chain.factor(0));
        let (d, u0, u11, u12) = (self.d(2, 2), self.u0(2, 2), self.u1(1, 1), self.u1(1, 2));
        let (n, p) = (x.nrows(), k1[1].ncols());
        // Rows times L^{-T}, K̃ = L Lᵀ: in this basis K̃^{-1} is the identity.
        let whiten = |m: MatRef<'_, f64>| own.half_solve(m.transpose()).transpose().to_owned();
        let z = own.half_solve(column(self.chain.residual(1)));
        let spread = own.half_solve(whiten(self.chain.covariance(1, 1)).as_ref());
        let half = first.half_solve(k1[0].transpose());
        let mean1 = matmul(half.transpose(), first.half_solve(column(self.chain.residual(0))).as_ref());
        let rows = matmul(k1[0].as_ref(), self.chain.prediction(1, 0).transpose());
        let delta = whiten(delta[1].as_ref());
        let change = matmul(delta.as_ref(), z.as_ref());
        let own_part = matmul(half.transpose(), half.as_ref());
        let parts = Parts {
            first: Mat::from_fn(n, n, |i, j| u11 * (own_part[(i, j)] - mean1[(i, 0)] * mean1[(j, 0)])),
            k1: whiten(k1[1].as_ref()),
            core: Mat::from_fn(p, p, |i, j| {
                d * (if i == j { 2.0 } else { 0.0 } - spread[(i, j)] - z[(i, 0)] * z[(j, 0)])
            }),
            rho: u0 / d,
            shrunk: vec![u0; p],
            cross: {
                let rows = whiten(rows.as_ref());
                Mat::from_fn(n, p, |i, j| u12 * rows[(i, j)])
            },
            means: ((0..n).map(|i| mean1[(i, 0)]).collect(), (0..n).map(|i| u12 * change[(i, 0)]).collect()),
            delta,
            finite: 1.0,
            width: self.width,
        };
        Ok(parts.assemble())
    }
}

/// Centered kernel alignment of a kernel with the labels: `y_cᵀ K_c y_c / (‖K_c‖ |y_c|²)`, where the subscript removes means.
///
/// # Errors
/// [`Error::Data`] where shapes differ, or the labels are constant or the centered kernel vanishes.
pub fn centered_alignment(kernel: MatRef<'_, f64>, y: &[f64]) -> Result<f64> {
    let n = y.len();
    if kernel.nrows() != n || kernel.ncols() != n {
        let problem = format!("kernel of {} × {} and {n} labels", kernel.nrows(), kernel.ncols());
        return Err(Error::data("kernel alignment", problem));
    }
    let size = n as f64;
    let mean = y.iter().sum::<f64>() / size;
    let y: Vec<f64> = y.iter().map(|y| y - mean).collect();
    let rows: Vec<f64> = (0..n).map(|i| (0..n).map(|j| kernel[(i, j)]).sum::<f64>() / size).collect();
    let columns: Vec<f64> = (0..n).map(|j| (0..n).map(|i| kernel[(i, j)]).sum::<f64>() / size).collect();
    let total = rows.iter().sum::<f64>() / size;
    let (mut along, mut norm) = (0.0, 0.0);
    for j in 0..n {
        for i in 0..n {
            let centered = kernel[(i, j)] - rows[i] - columns[j] + total;
            along += y[i] * centered * y[j];
            norm += centered * centered;
        }
    }
    let alignment = along / (norm.sqrt() * y.iter().map(|y| y * y).sum::<f64>());
    if alignment.is_finite() {
        return Ok(alignment);
    }
    Err(Error::data("kernel alignment", "is undefined: the labels are constant or the centered kernel is zero"))
}
