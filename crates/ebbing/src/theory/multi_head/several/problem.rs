//! `H_T` of several outputs at β = ∞, in the basis of the pencil (ΔK, K¹) and in a frame in which D and U0 are diagonal.
//!
//! ```math
//! \mathcal H = \sigma^{-2}\operatorname{Tr}(D+U_0) - \ln\det D - \operatorname{Tr} D^{-1}(U_0+\theta C\theta^\top)
//!  + \tfrac1N\sum_i\bigl\{\ln\det\tilde K_i + \operatorname{Tr}\tilde K_i^{-1}\bigl[(1-s_i)U_0 + \theta S_i\theta^\top
//!  + (y_i-\theta g_i)(y_i-\theta g_i)^\top\bigr]\bigr\}, \qquad \tilde K_i = D + s_iU_0
//! ```
//!
//! Row i belongs to the i-th vector of the basis. `θ` (m × n) holds the cross unknowns; `g_i` and `S_i` are mean and covariance of
//! what earlier tasks predict per unit of them, C is the same covariance for 1×1 kernels. With `D = F Fᵀ`, `U0 = F diag ρ Fᵀ`
//! and `ỹ = F^{-1}y`, `θ̃ = F^{-1}θ` every `K̃_i` is `diag(1 + s_iρ_a)`, the rows of θ̃ are solved for one by one, and all second
//! derivatives couple only pairs of entries that share an index: O(P m³) a Newton step.
//!
//! A step is `D → F e^X Fᵀ`, `U0 → F e^{X/2}(diag ρ + Z)e^{X/2} Fᵀ` with symmetric X and Z: for one output, `ln d` at fixed
//! `ρ = u0/d`, and ρ at fixed d.

use super::frame::{Frame, coordinates, packed, symmetric};
use super::newton::{Form, Local};
use crate::error::Result;
use crate::linalg::{Mat, MatRef, matmul};
use crate::theory::multi_head::combined::ratio;
use crate::theory::multi_head::small::solve_small;

/// The covariances `S_i` of all rows.
#[derive(Debug, Clone)]
pub(super) enum Covariance {
    /// `S_i = scale_i · shape`.
    Scaled { scale: Vec<f64>, shape: Mat<f64> },
    /// One row per i, one column per entry of a packed lower triangle.
    Whole(Mat<f64>),
}

/// The fixed arrays of one step.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// Eigenvalues of the pencil (ΔK, K¹).
    pub s: Vec<f64>,
    /// Labels, P × m.
    pub y: Mat<f64>,
    /// `g`, P × n.
    pub g: Mat<f64>,
    /// `S_i`.
    pub covariance: Covariance,
    /// `C`, n × n.
    pub unit: Mat<f64>,
    /// The width N.
    pub width: f64,
    /// The prior variance of readouts.
    pub sigma2: f64,
    /// A start that is known to be near, if any.
    pub near: Option<Frame>,
}

/// What [`Problem`] keeps between equations and Jacobian.
pub(super) struct Work {
    /// `FᵀF/σ²`.
    a: Mat<f64>,
    /// `ỹ`, `w = 1/(1 + s ρ)` and `q = w∘(ỹ − θ̃g)`, P × m.
    y: Mat<f64>,
    w: Mat<f64>,
    q: Mat<f64>,
    /// `(θ̃ S_i)_{ak}` at column a n + k, and `(θ̃ S_i θ̃ᵀ)_{ac}` packed.
    mixed: Mat<f64>,
    both: Mat<f64>,
    /// The matrices of the cross unknowns, one per direction.
    phi: Vec<Vec<Vec<f64>>>,
}

impl Problem {
    /// The number P of rows.
    pub fn rows(&self) -> usize {
        self.s.len()
    }

    /// The number n of cross unknowns per output.
    pub fn unknowns(&self) -> usize {
        self.g.ncols()
    }

    /// The load.
    pub fn alpha(&self) -> f64 {
        self.rows() as f64 / self.width
    }

    /// `w_a` of one direction, or `None` where a block is not positive definite.
    pub fn weights(&self, rho: f64) -> Option<Vec<f64>> {
        let least = self.s.iter().fold(f64::INFINITY, |m: f64, s| m.min(1.0 + rho * s));
        // False for NaN too.
        (least > 0.0 && least.is_finite()).then(|| self.s.iter().map(|s| 1.0 / (1.0 + rho * s)).collect())
    }

    /// `(1/N) Σ_i v_i S_i` for every column v.
    pub fn covariances(&self, v: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let n = self.unknowns();
        match &self.covariance {
            Covariance::Scaled { scale, shape } => (0..v.ncols())
                .map(|b| {
                    let sum: f64 = scale.iter().enumerate().map(|(i, s)| s * v[(i, b)]).sum::<f64>() / self.width;
                    Mat::from_fn(n, n, |k, l| sum * shape[(k, l)])
                })
                .collect(),
            Covariance::Whole(all) => {
                let sums = matmul(all.transpose(), v);
                (0..v.ncols()).map(|b| Mat::from_fn(n, n, |k, l| sums[(packed(k, l), b)] / self.width)).collect()
            }
        }
    }

    /// `θ S_i` of every row.
    fn times_covariance(&self, theta: MatRef<'_, f64>) -> Mat<f64> {
        let (p, m, n) = (self.rows(), theta.nrows(), self.unknowns());
        match &self.covariance {
            Covariance::Scaled { scale, shape } => {
                let product = matmul(theta, shape.as_ref());
                Mat::from_fn(p, m * n, |i, ak| scale[i] * product[(ak / n, ak % n)])
            }
            Covariance::Whole(all) => {
                let mut mixed = Mat::zeros(p, m * n);
                for k in 0..n {
                    for l in 0..n {
                        let entry = all.col_as_slice(packed(k, l));
                        for a in 0..m {
                            let weight = theta[(a, l)];
                            let column = mixed.col_as_slice_mut(a * n + k);
                            column.iter_mut().zip(entry).for_each(|(to, s)| *to += weight * s);
                        }
                    }
                }
                mixed
            }
        }
    }

    /// `θ S_i θᵀ` of every row, packed, from `θ S_i`.
    fn both(&self, mixed: &Mat<f64>, theta: MatRef<'_, f64>) -> Mat<f64> {
        let (p, m, n) = (self.rows(), theta.nrows(), self.unknowns());
        if let Covariance::Scaled { scale, shape } = &self.covariance {
            let product = matmul(matmul(theta, shape.as_ref()).as_ref(), theta.transpose());
            let flat: Vec<f64> =
                (0..m).flat_map(|a| (0..=a).map(move |c| (a, c))).map(|(a, c)| product[(a, c)]).collect();
            return Mat::from_fn(p, m * (m + 1) / 2, |i, ac| scale[i] * flat[ac]);
        }
        let mut both = Mat::zeros(p, m * (m + 1) / 2);
        for a in 0..m {
            for c in 0..=a {
                for k in 0..n {
                    let (weight, column) = (theta[(c, k)], mixed.col_as_slice(a * n + k));
                    let to = both.col_as_slice_mut(packed(a, c));
                    to.iter_mut().zip(column).for_each(|(to, s)| *to += weight * s);
                }
            }
        }
        both
    }

    /// `H` up to a constant that no unknown enters (`ln det K¹` and the like), at any cross unknowns θ.
    ///
    /// # Errors
    /// Those of [`Frame::logdet`].
    pub fn value(&self, frame: &Frame, theta: MatRef<'_, f64>) -> Result<f64> {
        let theta = matmul(frame.e.as_ref(), theta);
        let (p, m, n) = (self.rows(), frame.size(), self.width);
        let y = matmul(self.y.as_ref(), frame.e.transpose());
        let shift = matmul(self.g.as_ref(), theta.transpose());
        let both = self.both(&self.times_covariance(theta.as_ref()), theta.as_ref());
        let unit = matmul(matmul(theta.as_ref(), self.unit.as_ref()).as_ref(), theta.transpose());
        let mut value = (p as f64 / n - 1.0) * frame.logdet()?;
        for a in 0..m {
            let rho = frame.rho[a];
            let norm: f64 = (0..m).map(|i| frame.f[(i, a)].powi(2)).sum();
            value += (1.0 + rho) * norm / self.sigma2 - rho - unit[(a, a)];
            for i in 0..p {
                let w = 1.0 / (1.0 + self.s[i] * rho);
                let miss = y[(i, a)] - shift[(i, a)];
                let inner = (1.0 - self.s[i]) * rho + both[(i, packed(a, a))] + miss * miss;
                value += (w * inner - w.ln()) / n;
            }
        }
        Ok(value)
    }
}

/// `w_i x_i` for a column w and all columns of x.
fn weighted(x: &Mat<f64>, w: &[f64]) -> Mat<f64> {
    let mut out = x.clone();
    for j in 0..out.ncols() {
        out.col_as_slice_mut(j).iter_mut().zip(w).for_each(|(x, w)| *x *= w);
    }
    out
}

/// The entry-wise product.
fn entrywise(x: &Mat<f64>, y: &Mat<f64>) -> Mat<f64> {
    let mut out = x.clone();
    for j in 0..out.ncols() {
        out.col_as_slice_mut(j).iter_mut().zip(y.col_as_slice(j)).for_each(|(x, y)| *x *= y);
    }
    out
}

/// Rows of a square matrix.
fn as_rows(a: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..a.nrows()).map(|i| (0..a.ncols()).map(|j| a[(i, j)]).collect()).collect()
}

impl Form for Problem {
    type Work = Work;

    fn outputs(&self) -> usize {
        self.y.ncols()
    }

    fn at(&self, frame: &Frame) -> Result<Option<Local<Work>>> {
        let (p, m, n, width) = (self.rows(), frame.size(), self.unknowns(), self.width);
        let mut w = Mat::zeros(p, m);
        for a in 0..m {
            let Some(column) = self.weights(frame.rho[a]) else { return Ok(None) };
            w.col_as_slice_mut(a).copy_from_slice(&column);
        }
        let y = matmul(self.y.as_ref(), frame.e.transpose());
        let known = matmul(self.g.transpose(), entrywise(&w, &y).as_ref());
        let spreads = self.covariances(w.as_ref());
        let mut theta = Mat::zeros(m, n);
        let mut phi = Vec::with_capacity(m);
        let mut theta_residual: f64 = 0.0;
        for b in 0..m {
            let gram = matmul(self.g.transpose(), weighted(&self.g, w.col_as_slice(b)).as_ref());
            let matrix = Mat::from_fn(n, n, |k, l| gram[(k, l)] / width + spreads[b][(k, l)] - self.unit[(k, l)]);
            let rows = as_rows(&matrix);
            let right: Vec<f64> = (0..n).map(|k| known[(k, b)] / width).collect();
            let row = solve_small(&rows, &right);
            let largest = row.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
            for k in 0..n {
                let size = rows[k].iter().map(|x| x.abs()).sum::<f64>() * largest + right[k].abs();
                let miss: f64 = rows[k].iter().zip(&row).map(|(a, b)| a * b).sum::<f64>() - right[k];
                theta_residual = theta_residual.max(ratio(miss, size));
                theta[(b, k)] = row[k];
            }
            phi.push(rows);
        }
        if !(0..m).all(|b| (0..n).all(|k| theta[(b, k)].is_finite())) {
            return Ok(None);
        }
        let shift = matmul(self.g.as_ref(), theta.transpose());
        let q = Mat::from_fn(p, m, |i, a| w[(i, a)] * (y[(i, a)] - shift[(i, a)]));
        let mixed = self.times_covariance(theta.as_ref());
        let both = self.both(&mixed, theta.as_ref());

        let a = {
            let gram = matmul(frame.f.transpose(), frame.f.as_ref());
            Mat::from_fn(m, m, |i, j| gram[(i, j)] / self.sigma2)
        };
        let excess = self.alpha() - 1.0;
        let fit = matmul(y.transpose(), q.as_ref());
        let gx = Mat::from_fn(m, m, |i, j| {
            let prior = a[(i, j)] * (1.0 + 0.5 * (frame.rho[i] + frame.rho[j]));
            prior - 0.5 * (fit[(i, j)] + fit[(j, i)]) / width + if i == j { excess } else { 0.0 }
        });
        let sq = weighted(&q, &self.s);
        let curl = matmul(sq.transpose(), q.as_ref());
        let mut gz = Mat::zeros(m, m);
        let (mut scale_x, mut scale_z) = (vec![0.0; m], vec![0.0; m]);
        for b in 0..m {
            for c in 0..=b {
                let (wb, wc, both) = (w.col_as_slice(b), w.col_as_slice(c), both.col_as_slice(packed(b, c)));
                let spread: f64 = (0..p).map(|i| self.s[i] * wb[i] * wc[i] * both[i]).sum::<f64>() / width;
                let learned = 0.5 * (curl[(b, c)] + curl[(c, b)]) / width;
                let mut entry = a[(b, c)] - learned - spread;
                if b == c {
                    let trace: f64 = (0..p).map(|i| wb[i] * (self.s[i] + (1.0 - self.s[i]) * wb[i])).sum();
                    let left = trace / width - 1.0;
                    entry += left;
                    scale_z[b] = a[(b, b)] + left.abs() + learned.abs() + spread.abs();
                    scale_x[b] = a[(b, b)] * (1.0 + frame.rho[b].abs())
                        + excess.abs()
                        + (0..p).map(|i| (y[(i, b)] * q[(i, b)]).abs()).sum::<f64>() / width;
                }
                gz[(b, c)] = entry;
                gz[(c, b)] = entry;
            }
        }
        let spread = symmetric(matmul(matmul(theta.as_ref(), self.unit.as_ref()).as_ref(), theta.transpose()).as_ref());
        let work = Work { a, y, w, q, mixed, both, phi };
        Ok(Some(Local { frame: frame.clone(), theta, gx, gz, scale_x, scale_z, theta_residual, spread, work }))
    }

    fn jacobian(&self, local: &Local<Work>) -> Result<(Mat<f64>, usize)> {
        let Work { a, y, w, q, mixed, both, phi } = &local.work;
        let (p, m, n, width) = (self.rows(), local.frame.size(), self.unknowns(), self.width);
        let half = m * (m + 1) / 2;
        let mut hessian = Mat::zeros(2 * half, 2 * half);
        let lm = {
            let fit = matmul(y.transpose(), q.as_ref());
            Mat::from_fn(m, m, |i, j| 0.5 * (fit[(i, j)] + fit[(j, i)]) / width)
        };
        // Columns ỹ, s q and g, whose weighted Gram matrix holds all sums over rows but those of S_i.
        let sq = weighted(q, &self.s);
        let columns = Mat::from_fn(p, 2 * m + n, |i, k| match k {
            k if k < m => y[(i, k)],
            k if k < 2 * m => sq[(i, k - m)],
            k => self.g[(i, k - 2 * m)],
        });
        // s² w_a w_c (θ̃Sθ̃ᵀ)_ac and s w_a (θ̃S)_ak, to be summed with w_b.
        let pairs = {
            let mut pairs = both.clone();
            for b in 0..m {
                for c in 0..=b {
                    let (wb, wc) = (w.col_as_slice(b), w.col_as_slice(c));
                    let column = pairs.col_as_slice_mut(packed(b, c));
                    for i in 0..p {
                        column[i] *= self.s[i] * self.s[i] * wb[i] * wc[i];
                    }
                }
            }
            matmul(pairs.transpose(), w.as_ref())
        };
        let crossed = {
            let mut crossed = mixed.clone();
            for b in 0..m {
                for k in 0..n {
                    let column = crossed.col_as_slice_mut(b * n + k);
                    column.iter_mut().enumerate().for_each(|(i, x)| *x *= self.s[i] * w[(i, b)]);
                }
            }
            matmul(crossed.transpose(), w.as_ref())
        };
        let weight = |i: usize, j: usize| if i == j { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
        let mut negative = 0;
        for b in 0..m {
            let gram = matmul(columns.transpose(), weighted(&columns, w.col_as_slice(b)).as_ref());
            let sum = |i: usize, j: usize| gram[(i, j)] / width;
            // How the row of θ̃ follows: h_k per unit of X_ab (column a) and of Z_ab (column m + a), and Φ^{-1}h.
            let follow = Mat::from_fn(n, 2 * m, |k, col| match col {
                a if a < m => sum(a, 2 * m + k),
                a => 2.0 * (sum(a, 2 * m + k) - crossed[((a - m) * n + k, b)] / width),
            });
            let mut solved = Mat::zeros(n, 2 * m);
            if n > 0 {
                let (rows, pivots) = eliminated(&phi[b], &follow);
                negative += pivots;
                solved = rows;
            }
            let back = matmul(follow.transpose(), solved.as_ref());
            for i in 0..2 * m {
                for j in 0..2 * m {
                    let (one, other) = (i % m, j % m);
                    let direct = match (i < m, j < m) {
                        (true, true) => {
                            let rho = |a: usize| 1.0 + local.frame.rho[a];
                            let prior = a[(one, other)] * (0.25 * rho(b) + 0.125 * (rho(one) + rho(other)));
                            prior + 0.25 * (sum(i, j) + lm[(one, other)])
                        }
                        // Half of what multiplies X_ab Z_cb: it stands at (i, j) and at (j, i).
                        (true, false) | (false, true) => 0.5 * (a[(one, other)] + sum(i, j)),
                        (false, false) => sum(i, j) + pairs[(packed(one, other), b)] / width,
                    };
                    let entry = 2.0 * weight(one, b) * weight(other, b) * (direct - 0.25 * back[(i, j)]);
                    let place = |k: usize, a: usize| if k < m { packed(a, b) } else { half + packed(a, b) };
                    hessian[(place(i, one), place(j, other))] += entry;
                }
            }
        }
        for b in 0..m {
            for c in 0..=b {
                let (wb, wc) = (w.col_as_slice(b), w.col_as_slice(c));
                let sum: f64 = (0..p)
                    .map(|i| {
                        let (s, product) = (self.s[i], wb[i] * wc[i]);
                        s * product * (s + (1.0 - s) * (wb[i] + wc[i]))
                    })
                    .sum();
                let k = half + packed(b, c);
                hessian[(k, k)] -= sum / width;
            }
        }
        Ok((hessian, negative))
    }

    fn unit_negative(&self) -> usize {
        let opposite: Vec<Vec<f64>> = as_rows(&self.unit).iter().map(|r| r.iter().map(|x| -x).collect()).collect();
        self.outputs() * crate::theory::multi_head::small::negative_eigenvalues(&opposite)
    }
}

/// `A^{-1} B`, and the number of negative eigenvalues of the symmetric A, by elimination without exchanges where pivots allow it.
fn eliminated(a: &[Vec<f64>], b: &Mat<f64>) -> (Mat<f64>, usize) {
    let n = a.len();
    let mut solved = Mat::zeros(n, b.ncols());
    for j in 0..b.ncols() {
        let column: Vec<f64> = (0..n).map(|k| b[(k, j)]).collect();
        let x = solve_small(a, &column);
        (0..n).for_each(|k| solved[(k, j)] = x[k]);
    }
    (solved, crate::theory::multi_head::small::negative_eigenvalues(a))
}

/// The gradient as coordinates (X, then Z).
pub(super) fn gradient<W>(local: &Local<W>) -> Vec<f64> {
    let mut all = coordinates(local.gx.as_ref());
    all.extend(coordinates(local.gz.as_ref()));
    all
}
