//! Both heads of two tasks on a set of inputs (paper, Eqs. 102–105): sums over the inputs are `Σ_ij m_i m_j H_ij` in
//! the pencil's basis. In Eq. 105 the second term is taken as `k̃ᵀK̃^{-1}k̃`, not as the `(u1)² ΔkᵀK̃^{-1}Δk` that is
//! printed.
//!
//! Rows `D = Δk_22 V`, `Q = k¹_22 V`, `E = k¹_21 K_11^{-1}K_12 V` of an input, `m_i = 1/(1 + ρτ_i)`, `y = Y_2 − (u12/u11) b`:
//! - head 1: `a = (u12/d) m∘D`, mean `k¹_21 K_11^{-1}Y_1 + a·y`,
//!   variance `u11 v − 2 u12 a·(Q − E) + a(u22 − q G)aᵀ`, `v = k¹(x,x) − k¹_21 K_11^{-1} k¹_12`;
//! - head 2: `a = m∘(Q + ρD)`, mean `(u12/u11) k¹_21 K_11^{-1}Y_1 + a·y`,
//!   variance `u22 (k¹(x,x) − 2 a·Q + a·a) − q (k¹_21 K_11^{-1} k¹_12 − 2 a·E + a G aᵀ)`.

use super::maps::Prediction;
use super::two_tasks::{Power, TwoTaskPoint, TwoTasks};
use crate::error::{Error, Result};
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Mat, MatRef, column, dot, matmul};
use rayon::prelude::*;

/// One head on one set of inputs, ready for any load.
#[derive(Debug, Clone)]
pub struct HeadMaps {
    head: usize,
    target: Vec<f64>,
    /// `k¹_21 K_11^{-1} Y_1`.
    base: Vec<f64>,
    d: Mat<f64>,
    /// Only for head 2.
    q: Option<Mat<f64>>,
    /// `Σ_x D²`, `Σ_x Q²`, `Σ_x QD`, `Σ_x DE`, `Σ_x QE` per basis vector; those of Q² and QE only for head 2.
    dd: Vec<f64>,
    qq: Vec<f64>,
    qd: Vec<f64>,
    de: Vec<f64>,
    qe: Vec<f64>,
    /// `G ∘ DᵀD`, and for head 2 `G ∘ QᵀD`, `G ∘ QᵀQ`.
    h: Vec<Mat<f64>>,
    /// `Σ_x k¹(x,x)` and `Σ_x k¹_21 K_11^{-1} k¹_12`.
    prior: f64,
    explained: f64,
}

/// The rows of a set of inputs.
pub(super) struct Rows {
    pub d: Mat<f64>,
    pub q: Mat<f64>,
    pub e: Mat<f64>,
    /// `k¹_21 K_11^{-1} Y_1`.
    pub base: Vec<f64>,
    /// `L^{-1} k¹_12`, `K_11 = L Lᵀ`.
    pub half: Mat<f64>,
    /// `k¹_22(x,x)`.
    pub prior: Vec<f64>,
}

impl TwoTasks {
    /// Prepares head `head` (1 or 2) after both tasks on inputs `x` with labels `target`.
    ///
    /// # Errors
    /// [`Error::Setting`] for another head, [`Error::Data`] for inputs or labels that do not fit.
    pub fn maps(&self, head: usize, x: MatRef<'_, f64>, target: &[f64]) -> Result<HeadMaps> {
        check_head(head)?;
        if x.nrows() != target.len() || dot(target, target) == 0.0 {
            let problem =
                format!("{} inputs with {} labels; expected as many labels, not all zero", x.nrows(), target.len());
            return Err(Error::data("inputs of a head", problem));
        }
        let Rows { d, q, e, base, half, prior } = self.rows(x)?;
        let explained = column_dots(&half, &half);
        drop(half);
        let (dd, de, qd) = (column_dots(&d, &d), column_dots(&d, &e), column_dots(&q, &d));
        let (qq, qe) = if head == 2 { (column_dots(&q, &q), column_dots(&q, &e)) } else { (vec![], vec![]) };
        drop(e);
        let mut h = vec![self.weighted(&d, &d)?];
        let mut kept = None;
        if head == 2 {
            h.push(self.weighted(&q, &d)?);
            h.push(self.weighted(&q, &q)?);
            kept = Some(q);
        }
        Ok(HeadMaps {
            head,
            target: target.to_vec(),
            base,
            d,
            q: kept,
            dd,
            qq,
            qd,
            de,
            qe,
            h,
            prior: prior.iter().sum(),
            explained: explained.iter().sum(),
        })
    }

    /// `Σ((<f> − y)² + <δf²>)/|y|²` at every point: its limit, or its leading power of λ where it diverges.
    pub fn losses(&self, maps: &HeadMaps, points: &[TwoTaskPoint]) -> Vec<Power> {
        let (p, n) = (self.y.len(), points.len());
        let m = Mat::from_fn(p, n, |i, k| self.shrinkage(&points[k], i));
        let z = Mat::from_fn(p, n, |i, k| m[(i, k)] * self.innovation(&points[k], i));
        let forms: Vec<Vec<f64>> = maps.h.iter().map(|h| column_dots(&matmul(h.as_ref(), m.as_ref()), &m)).collect();
        let from_d = matmul(maps.d.as_ref(), z.as_ref());
        let from_q = maps.q.as_ref().map(|q| matmul(q.as_ref(), z.as_ref()));
        let norm = dot(&maps.target, &maps.target);
        (0..n)
            .map(|k| {
                let point = &points[k];
                let sum = |weight: &dyn Fn(usize) -> f64| (0..p).map(weight).sum::<f64>();
                let (error, variance) = match &from_q {
                    None => {
                        let gain = point.u12 * point.inverse_d();
                        let error = maps.error(|i| maps.base[i] + gain * from_d[(i, k)]);
                        let linear = sum(&|i| m[(i, k)] * (maps.qd[i] - maps.de[i]));
                        let square = sum(&|i| m[(i, k)].powi(2) * maps.dd[i]);
                        let free = maps.prior - maps.explained;
                        (error, Power::finite(self.first_variance(point, free, linear, square, forms[0][k])))
                    }
                    Some(from_q) => {
                        let (rho, ratio) = (point.rho, point.u12 / point.u11);
                        let error = maps.error(|i| ratio * maps.base[i] + from_q[(i, k)] + rho * from_d[(i, k)]);
                        let aq = sum(&|i| m[(i, k)] * (maps.qq[i] + rho * maps.qd[i]));
                        let ae = sum(&|i| m[(i, k)] * (maps.qe[i] + rho * maps.de[i]));
                        let aa =
                            sum(&|i| m[(i, k)].powi(2) * (maps.qq[i] + rho * (2.0 * maps.qd[i] + rho * maps.dd[i])));
                        let aga = forms[2][k] + rho * (2.0 * forms[1][k] + rho * forms[0][k]);
                        (error, second_variance(point, maps.prior - 2.0 * aq + aa, maps.explained - 2.0 * ae + aga))
                    }
                };
                if variance.exponent > 0.0 {
                    Power { coefficient: variance.coefficient / norm, exponent: variance.exponent }
                } else {
                    Power::finite((error + variance.coefficient) / norm)
                }
            })
            .collect()
    }

    /// Head `head` after both tasks on any inputs, with the power of λ in front of its variance.
    ///
    /// # Errors
    /// As for [`TwoTasks::maps`].
    pub fn predict(&self, head: usize, point: &TwoTaskPoint, x: MatRef<'_, f64>) -> Result<Prediction> {
        check_head(head)?;
        let rows = self.rows(x)?;
        let explained = column_dots(&rows.half, &rows.half);
        let (n, p) = (x.nrows(), self.y.len());
        let gain = point.u12 * point.inverse_d();
        // Head 1 is evaluated at unit gain, so that its variance keeps the form of `losses`.
        let a = Mat::from_fn(n, p, |i, j| {
            let m = self.shrinkage(point, j);
            if head == 1 { m * rows.d[(i, j)] } else { m * (rows.q[(i, j)] + point.rho * rows.d[(i, j)]) }
        });
        let y: Vec<f64> = (0..p).map(|i| self.innovation(point, i)).collect();
        let mapped = matmul(a.as_ref(), column(&y));
        let ag = matmul(a.as_ref(), self.g()?.as_ref());
        let mut prediction = Prediction { mean: vec![], variance: vec![], variance_exponent: 0.0 };
        for i in 0..n {
            let sum = |f: &dyn Fn(usize) -> f64| (0..p).map(f).sum::<f64>();
            let (aq, ae) = (sum(&|j| a[(i, j)] * rows.q[(i, j)]), sum(&|j| a[(i, j)] * rows.e[(i, j)]));
            let (aa, aga) = (sum(&|j| a[(i, j)].powi(2)), sum(&|j| a[(i, j)] * ag[(i, j)]));
            if head == 1 {
                prediction.mean.push(rows.base[i] + gain * mapped[(i, 0)]);
                let free = rows.prior[i] - explained[i];
                prediction.variance.push(self.first_variance(point, free, aq - ae, aa, aga));
            } else {
                prediction.mean.push(point.u12 / point.u11 * rows.base[i] + mapped[(i, 0)]);
                let v = second_variance(point, rows.prior[i] - 2.0 * aq + aa, explained[i] - 2.0 * ae + aga);
                prediction.variance.push(v.coefficient);
                prediction.variance_exponent = v.exponent;
            }
        }
        Ok(prediction)
    }

    /// `u11 v − 2 u12 g (linear) + g² (u22 square − q form)` with the gain `g = u12/d`.
    fn first_variance(&self, point: &TwoTaskPoint, v: f64, linear: f64, square: f64, form: f64) -> f64 {
        let gain = point.u12 * point.inverse_d();
        let fixed = point.u11 * v - 2.0 * point.u12 * gain * linear;
        // Where the gain vanishes in the limit it does so faster than u22 grows.
        if gain == 0.0 { fixed } else { fixed + gain * gain * (point.u22.coefficient * square - point.q() * form) }
    }

    /// `1/(1 + ρτ_i)`.
    pub(super) fn shrinkage(&self, point: &TwoTaskPoint, i: usize) -> f64 {
        1.0 / (1.0 + point.rho * self.basis.values[i])
    }

    /// `(Y_2 − (u12/u11) b)_i`.
    pub(super) fn innovation(&self, point: &TwoTaskPoint, i: usize) -> f64 {
        self.y[i] - point.u12 / point.u11 * self.b[i]
    }

    /// `G ∘ AᵀB`.
    fn weighted(&self, a: &Mat<f64>, b: &Mat<f64>) -> Result<Mat<f64>> {
        let (mut h, g) = (matmul(a.transpose(), b.as_ref()), self.g()?);
        for j in 0..h.ncols() {
            h.col_as_slice_mut(j).iter_mut().zip(g.col_as_slice(j)).for_each(|(h, g)| *h *= g);
        }
        Ok(h)
    }

    /// The rows D, Q, E of inputs at time 2.
    pub(super) fn rows(&self, x: MatRef<'_, f64>) -> Result<Rows> {
        let kernel = |kind, s| Kernel::new(kind, self.architecture, self.prior, 2, s);
        let (k1, delta) = (kernel(KernelKind::K1, 2)?, kernel(KernelKind::DeltaK, 2)?);
        let (q, d) = {
            let both = Kernel::gram_many(&[&k1, &delta], x, self.tasks[1].x.as_ref())?;
            let v = self.basis.vectors.as_ref();
            (matmul(both[0].as_ref(), v), matmul(both[1].as_ref(), v))
        };
        let k = kernel(KernelKind::K1, 1)?.gram(x, self.tasks[0].x.as_ref())?;
        let base = matmul(k.as_ref(), column(&self.w));
        let half = self.first.half_solve(k.transpose());
        drop(k);
        let e = matmul(half.transpose(), self.half.as_ref());
        Ok(Rows { d, q, e, base: (0..x.nrows()).map(|i| base[(i, 0)]).collect(), prior: k1.diagonal(x)?, half })
    }
}

impl HeadMaps {
    /// `Σ (f(i) − y_i)²`.
    fn error(&self, f: impl Fn(usize) -> f64) -> f64 {
        self.target.iter().enumerate().map(|(i, y)| (f(i) - y).powi(2)).sum()
    }

    /// Bytes that its matrices take.
    pub(in crate::theory) fn bytes(&self) -> usize {
        let matrices = self.h.iter().chain(&self.q).chain([&self.d]);
        matrices.map(|m| m.nrows() * m.ncols() * size_of::<f64>()).sum()
    }

    /// The head, 1 or 2.
    pub fn head(&self) -> usize {
        self.head
    }
}

/// `u22 free − q explained`, or its leading power of λ.
fn second_variance(point: &TwoTaskPoint, free: f64, explained: f64) -> Power {
    if point.u22.exponent > 0.0 {
        return Power { coefficient: point.u22.coefficient * free, exponent: point.u22.exponent };
    }
    Power::finite(point.u22.coefficient * free - point.q() * explained)
}

fn check_head(head: usize) -> Result<()> {
    if head == 1 || head == 2 {
        return Ok(());
    }
    Err(Error::setting("head", head, "must be 1 or 2"))
}

/// `Σ_i A_ij B_ij` for every column j.
fn column_dots(a: &Mat<f64>, b: &Mat<f64>) -> Vec<f64> {
    (0..a.ncols()).into_par_iter().map(|j| dot(a.col_as_slice(j), b.col_as_slice(j))).collect()
}
