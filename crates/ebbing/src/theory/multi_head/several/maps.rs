//! Both heads of two tasks with several outputs on any inputs.
//!
//! Rows `D = Δk_22 V`, `Q = k¹_22 V`, `E = k¹_21 K_11^{-1}K_12 V` of an input, `w_ia = 1/(1 + ρ_aτ_i)`, directions `f_a` with duals `e_a`,
//! `r_i = y_i − Vᵀb_i`, `q_bc = e_bᵀU21U11^{-1}U12e_c` and `p_bc = e_bᵀU1(2,2)e_c`:
//!
//! - head 1: with `t_a = w_aD` and `g_a = U12e_a`, mean `Y_1ᵀK_11^{-1}k + Σ_a g_a t_a·(e_a·r)`, covariance
//!   `U11 (k¹(x,x) − k¹_21K_11^{-1}k¹_12) − 2 Σ_a g_ag_aᵀ t_a·(Q − E) + Σ_ab g_ag_bᵀ (p_ab t_a·t_b − q_ab t_aGt_b)`;
//! - head 2: with `t_a = w_a(Q + ρ_aD)`, mean `Vᵀ(Y_1ᵀK_11^{-1}k) + Σ_a f_a t_a·(e_a·r)`, covariance
//!   `Σ_ab f_af_bᵀ {p_ab (k¹(x,x) − t_a·Q − Q·t_b + t_a·t_b) − q_ab (k¹_21K_11^{-1}k¹_12 − t_a·E − E·t_b + t_aGt_b)}`.
//!
//! At λ = ∞ only directions that generalize change head 1, and covariances of head 2 have the power of λ of those that overfit.

use super::frame::Frame;
use super::pair::{TwoTaskOutputs, TwoTaskOutputsPoint};
use super::prediction::OutputPrediction;
use crate::error::{Result, refuse};
use crate::linalg::{Mat, MatRef, dot, matmul};
use crate::theory::multi_head::two_tasks::Power;

/// Directions of head 2 with weights, in the units in which something has a limit.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Their places in ρ.
    pub places: Vec<usize>,
    /// `f_a` in columns and `e_a` in rows.
    pub f: Mat<f64>,
    pub e: Mat<f64>,
    /// `p_ab` and `q_ab`.
    pub own: Mat<f64>,
    pub earlier: Mat<f64>,
}

/// What predictions need of one point, in the directions that have labels.
#[derive(Debug, Clone)]
pub(super) struct Maps {
    pub u11: Mat<f64>,
    /// `V = U11^{-1}U12`, transposed: m_2 × m_1.
    pub theta: Mat<f64>,
    pub rho: Vec<f64>,
    /// All directions, `Σ_a f_ae_aᵀ = 1`: the mean of head 2.
    pub f: Mat<f64>,
    pub e: Mat<f64>,
    /// Those that change head 1.
    pub change: Group,
    /// Those that spread head 2, with the power of λ.
    pub spread: Group,
    pub exponent: f64,
    /// `u1(1,1)` and `u1(2,2)` along directions without labels.
    pub silent: (f64, f64),
}

impl Maps {
    /// At finite λ.
    pub fn finite(u11: &Mat<f64>, theta: &Mat<f64>, frame: &Frame, silent: (f64, f64)) -> Self {
        let m = frame.size();
        let inner = matmul(frame.e.as_ref(), theta.as_ref());
        let earlier = matmul(matmul(inner.as_ref(), u11.as_ref()).as_ref(), inner.transpose());
        let own = Mat::from_fn(m, m, |a, b| if a == b { 1.0 + frame.rho[a] } else { 0.0 });
        let all = Group { places: (0..m).collect(), f: frame.f.clone(), e: frame.e.clone(), own, earlier };
        Maps {
            u11: u11.clone(),
            theta: theta.clone(),
            rho: frame.rho.clone(),
            f: frame.f.clone(),
            e: frame.e.clone(),
            change: all.clone(),
            spread: all,
            exponent: 0.0,
            silent,
        }
    }

    /// `U12 e_a` for the directions of a group, m_1 × k.
    fn reach(&self, group: &Group) -> Mat<f64> {
        let u12 = matmul(self.u11.as_ref(), self.theta.transpose());
        matmul(u12.as_ref(), group.e.transpose())
    }
}

/// A head of two tasks on one set of inputs with targets, ready for any load.
#[derive(Debug, Clone)]
pub struct OutputMaps {
    head: usize,
    target: Mat<f64>,
    /// `K_11^{-1}Y_1` applied to `k¹_12`, n × m_1.
    base: Mat<f64>,
    d: Mat<f64>,
    q: Mat<f64>,
    /// Sums over the inputs per vector of the basis: of D², Q², QD, DE and QE.
    sums: [Vec<f64>; 5],
    /// `G ∘ DᵀD`, `G ∘ QᵀD` and `G ∘ QᵀQ`, the latter two for head 2.
    h: Vec<Mat<f64>>,
    /// `Σ k¹(x,x)`, `Σ k¹_21K_11^{-1}k¹_12` and, for directions without labels, `Σ k¹(x,x) − k K_22^{-1} kᵀ`.
    prior: f64,
    explained: f64,
    unexplained: f64,
}

/// Refuses a head of two tasks that does not exist.
pub(super) fn check_head(head: usize) -> Result<()> {
    refuse(head != 1 && head != 2, "head", head, "must be 1 or 2")
}

fn column_dots(a: &Mat<f64>, b: &Mat<f64>) -> Vec<f64> {
    (0..a.ncols()).map(|j| dot(a.col_as_slice(j), b.col_as_slice(j))).collect()
}

impl TwoTaskOutputs {
    /// `w_ia` for every direction.
    fn shrinkage(&self, maps: &Maps) -> Mat<f64> {
        let tau = &self.pair.basis.values;
        Mat::from_fn(tau.len(), maps.rho.len(), |i, a| 1.0 / (1.0 + maps.rho[a] * tau[i]))
    }

    /// `e_a·(y_i − Vᵀb_i)` for the rows of `e`.
    fn innovation(&self, maps: &Maps, e: &Mat<f64>) -> Mat<f64> {
        let miss = &self.y - matmul(self.b.as_ref(), maps.theta.transpose());
        matmul(miss.as_ref(), e.transpose())
    }

    /// Head `head` after both tasks on any inputs.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for another head, [`crate::Error::Data`] for inputs that do not fit.
    pub fn predict(&self, head: usize, point: &TwoTaskOutputsPoint, x: MatRef<'_, f64>) -> Result<OutputPrediction> {
        check_head(head)?;
        let rows = self.pair.rows(x)?;
        let (n, p, maps) = (x.nrows(), self.y.nrows(), &point.maps);
        let base = matmul(rows.half.transpose(), self.half_labels.as_ref());
        let explained = column_dots(&rows.half, &rows.half);
        let w = self.shrinkage(maps);
        let g = self.pair.g()?;
        let silent = |v: f64, i: usize| {
            let own: f64 = (0..p).map(|j| rows.q[(i, j)].powi(2)).sum();
            v * (rows.prior[i] - if head == 1 { explained[i] } else { own })
        };
        let group = if head == 1 { &maps.change } else { &maps.spread };
        let count = group.places.len();
        // Per direction of the group, what an input multiplies in the basis: w D for head 1, w (Q + ρD) for head 2.
        let t: Vec<Mat<f64>> = group
            .places
            .iter()
            .map(|&a| {
                Mat::from_fn(n, p, |i, j| {
                    let inner = if head == 1 { rows.d[(i, j)] } else { rows.q[(i, j)] + maps.rho[a] * rows.d[(i, j)] };
                    w[(j, a)] * inner
                })
            })
            .collect();
        let tg: Vec<Mat<f64>> = t.iter().map(|t| matmul(t.as_ref(), g.as_ref())).collect();
        let fold = |a: &Mat<f64>, b: &Mat<f64>, i: usize| (0..p).map(|j| a[(i, j)] * b[(i, j)]).sum::<f64>();
        if head == 1 {
            let innovation = self.innovation(maps, &group.e);
            let reach = maps.reach(group);
            let mut mean = base;
            for (k, t) in t.iter().enumerate() {
                let along = matmul(t.as_ref(), innovation.as_ref().subcols(k, 1));
                mean = Mat::from_fn(n, mean.ncols(), |i, a| mean[(i, a)] + reach[(a, k)] * along[(i, 0)]);
            }
            // U12 e_a stands once with e_aᵀU21 = (U12e_a)ᵀ in the term that is linear in a.
            let m = reach.nrows();
            let covariance = (0..n)
                .map(|i| {
                    let free = rows.prior[i] - explained[i];
                    let mut sum = Mat::from_fn(m, m, |a, b| maps.u11[(a, b)] * free);
                    for k in 0..count {
                        let linear = fold(&t[k], &rows.q, i) - fold(&t[k], &rows.e, i);
                        for l in 0..count {
                            let square = group.own[(k, l)] * fold(&t[k], &t[l], i)
                                - group.earlier[(k, l)] * fold(&tg[k], &t[l], i);
                            let both = square - if k == l { 2.0 * linear } else { 0.0 };
                            for a in 0..m {
                                for b in 0..m {
                                    sum[(a, b)] += both * reach[(a, k)] * reach[(b, l)];
                                }
                            }
                        }
                    }
                    super::frame::symmetric(sum.as_ref())
                })
                .collect();
            let found = OutputPrediction { mean, covariance, exponent: 0.0 };
            return Ok(found.expanded(&self.spans[0], |i| silent(maps.silent.0, i)));
        }
        let innovation = self.innovation(maps, &maps.e);
        let mut mean = matmul(base.as_ref(), maps.theta.transpose());
        for a in 0..maps.rho.len() {
            let t = Mat::from_fn(n, p, |i, j| w[(j, a)] * (rows.q[(i, j)] + maps.rho[a] * rows.d[(i, j)]));
            let along = matmul(t.as_ref(), innovation.as_ref().subcols(a, 1));
            mean = Mat::from_fn(n, mean.ncols(), |i, c| mean[(i, c)] + maps.f[(c, a)] * along[(i, 0)]);
        }
        let covariance = (0..n)
            .map(|i| {
                let (tq, te): (Vec<f64>, Vec<f64>) =
                    t.iter().map(|t| (fold(t, &rows.q, i), fold(t, &rows.e, i))).unzip();
                let inner = Mat::from_fn(count, count, |k, l| {
                    group.own[(k, l)] * (rows.prior[i] - tq[k] - tq[l] + fold(&t[k], &t[l], i))
                        - group.earlier[(k, l)] * (explained[i] - te[k] - te[l] + fold(&tg[k], &t[l], i))
                });
                let outer = matmul(matmul(group.f.as_ref(), inner.as_ref()).as_ref(), group.f.transpose());
                super::frame::symmetric(outer.as_ref())
            })
            .collect();
        let found = OutputPrediction { mean, covariance, exponent: maps.exponent };
        Ok(found.expanded(&self.spans[1], |i| if maps.exponent > 0.0 { 0.0 } else { silent(maps.silent.1, i) }))
    }

    /// Prepares head `head` (1 or 2) after both tasks on inputs `x` with targets, one column per output.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for another head, [`crate::Error::Data`] for inputs or targets that do not fit.
    pub fn maps(&self, head: usize, x: MatRef<'_, f64>, target: MatRef<'_, f64>) -> Result<OutputMaps> {
        check_head(head)?;
        let outputs = self.tasks[head - 1].y.ncols();
        if x.nrows() != target.nrows() || target.ncols() != outputs || target.squared_norm_l2() == 0.0 {
            let problem = format!(
                "{} inputs with targets of {} × {}; expected {} × {outputs}, not all zero",
                x.nrows(),
                target.nrows(),
                target.ncols(),
                x.nrows()
            );
            return Err(crate::Error::data("inputs of a head", problem));
        }
        let rows = self.pair.rows(x)?;
        let explained: f64 = column_dots(&rows.half, &rows.half).iter().sum();
        let weighted = |a: &Mat<f64>, b: &Mat<f64>| -> Result<Mat<f64>> {
            let (mut h, g) = (matmul(a.transpose(), b.as_ref()), self.pair.g()?);
            for j in 0..h.ncols() {
                h.col_as_slice_mut(j).iter_mut().zip(g.col_as_slice(j)).for_each(|(h, g)| *h *= g);
            }
            Ok(h)
        };
        let mut h = vec![weighted(&rows.d, &rows.d)?];
        if head == 2 {
            h.push(weighted(&rows.q, &rows.d)?);
            h.push(weighted(&rows.q, &rows.q)?);
        }
        let prior: f64 = rows.prior.iter().sum();
        Ok(OutputMaps {
            head,
            target: target.to_owned(),
            base: matmul(rows.half.transpose(), self.half_labels.as_ref()),
            sums: [
                column_dots(&rows.d, &rows.d),
                column_dots(&rows.q, &rows.q),
                column_dots(&rows.q, &rows.d),
                column_dots(&rows.d, &rows.e),
                column_dots(&rows.q, &rows.e),
            ],
            unexplained: prior - if head == 1 { explained } else { rows.q.squared_norm_l2() },
            d: rows.d,
            q: rows.q,
            h,
            prior,
            explained,
        })
    }

    /// `Σ(|<f> − y|² + Tr Cov f)/|y|²` at every point: its limit, or its leading power of λ where it diverges.
    pub fn losses(&self, maps: &OutputMaps, points: &[TwoTaskOutputsPoint]) -> Vec<Power> {
        points.iter().map(|point| self.loss(maps, &point.maps)).collect()
    }

    fn loss(&self, maps: &OutputMaps, at: &Maps) -> Power {
        let (w, p, norm) = (self.shrinkage(at), self.y.nrows(), maps.target.squared_norm_l2());
        let group = if maps.head == 1 { &at.change } else { &at.spread };
        let count = group.places.len();
        let chosen = Mat::from_fn(p, count, |i, k| w[(i, group.places[k])]);
        // Sums over the inputs of w_a X w_b Y for X, Y in {D, Q}, over one vector of the basis or weighted with G over two.
        let products = |sum: &[f64]| {
            let scaled = Mat::from_fn(p, count, |i, k| chosen[(i, k)] * sum[i]);
            matmul(chosen.transpose(), scaled.as_ref())
        };
        let forms: Vec<Mat<f64>> =
            maps.h.iter().map(|h| matmul(chosen.transpose(), matmul(h.as_ref(), chosen.as_ref()).as_ref())).collect();
        let single = |k: usize, sum: &[f64]| dot(chosen.col_as_slice(k), sum);
        let [dd, qq, qd, de, qe] = &maps.sums;
        let (span, silent) = match maps.head {
            1 => (&self.spans[0], at.silent.0),
            _ => (&self.spans[1], at.silent.1),
        };
        let spare = span.silent.ncols() as f64 * silent * maps.unexplained;
        let trace = |a: &Mat<f64>| (0..a.nrows()).map(|i| a[(i, i)]).sum::<f64>();
        let mut mean;
        let variance = if maps.head == 1 {
            let reach = at.reach(group);
            let innovation = self.innovation(at, &group.e);
            let z = Mat::from_fn(p, count, |i, k| chosen[(i, k)] * innovation[(i, k)]);
            let along = matmul(maps.d.as_ref(), z.as_ref());
            mean = &maps.base + matmul(along.as_ref(), reach.transpose());
            let overlap = matmul(reach.transpose(), reach.as_ref());
            let (square, form) = (products(dd), &forms[0]);
            let mut sum = trace(&at.u11) * (maps.prior - maps.explained);
            for k in 0..count {
                sum -= 2.0 * overlap[(k, k)] * (single(k, qd) - single(k, de));
                for l in 0..count {
                    sum +=
                        overlap[(k, l)] * (group.own[(k, l)] * square[(k, l)] - group.earlier[(k, l)] * form[(k, l)]);
                }
            }
            sum
        } else {
            let innovation = self.innovation(at, &at.e);
            let z = |from_d: bool| {
                let gain = |a: usize| if from_d { at.rho[a] } else { 1.0 };
                Mat::from_fn(p, at.rho.len(), |i, a| gain(a) * w[(i, a)] * innovation[(i, a)])
            };
            let along = matmul(maps.q.as_ref(), z(false).as_ref()) + matmul(maps.d.as_ref(), z(true).as_ref());
            mean = matmul(maps.base.as_ref(), at.theta.transpose()) + matmul(along.as_ref(), at.f.transpose());
            let overlap = matmul(group.f.transpose(), group.f.as_ref());
            let rho = |k: usize| at.rho[group.places[k]];
            let (s_dd, s_qq, s_qd) = (products(dd), products(qq), products(qd));
            let tq = |k: usize| single(k, qq) + rho(k) * single(k, qd);
            let te = |k: usize| single(k, qe) + rho(k) * single(k, de);
            let mut sum = 0.0;
            for k in 0..count {
                for l in 0..count {
                    let (rk, rl) = (rho(k), rho(l));
                    let tt = s_qq[(k, l)] + (rk + rl) * s_qd[(k, l)] + rk * rl * s_dd[(k, l)];
                    // G ∘ QᵀD has Q on its left index.
                    let cross = rl * forms[1][(k, l)] + rk * forms[1][(l, k)];
                    let tgt = forms[2][(k, l)] + cross + rk * rl * forms[0][(k, l)];
                    sum += overlap[(k, l)]
                        * (group.own[(k, l)] * (maps.prior - tq(k) - tq(l) + tt)
                            - group.earlier[(k, l)] * (maps.explained - te(k) - te(l) + tgt));
                }
            }
            sum
        };
        if maps.head == 2 && at.exponent > 0.0 {
            return Power { coefficient: variance / norm, exponent: at.exponent };
        }
        if span.silent.ncols() > 0 {
            mean = matmul(mean.as_ref(), span.used.transpose());
        }
        let error = (&mean - &maps.target).squared_norm_l2();
        Power::finite((error + variance + spare) / norm)
    }
}
