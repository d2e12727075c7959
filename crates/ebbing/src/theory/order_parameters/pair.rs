//! The order parameters of one pair of tasks (paper, Eqs. 5, 6, 11, 29) from its kernels and their factors.
//!
//! Each order of the pair needs four vectors per task: its solution `K_ii^{-1}Y_i`, what that predicts at the other
//! task's inputs, the other task's solution for that prediction, and what comes back from there. All inner products
//! follow.

use super::OrderParameters;
use crate::linalg::{Mat, MatRef, matmul_into};
use crate::theory::blocks::factor::Factor;

/// The kernel between two tasks, inputs that both hold first: `[[K_cc, K_2cᵀ], [K_1c, K_21ᵀ]]` (rows: task 1).
pub(super) struct Cross<'a> {
    /// Among the common inputs.
    pub cc: MatRef<'a, f64>,
    /// Each task's own inputs with the common ones.
    pub own_c: [MatRef<'a, f64>; 2],
    /// Own inputs of task 2 with own ones of task 1.
    pub k21: MatRef<'a, f64>,
}

impl Cross<'_> {
    /// `K_12 V`.
    fn k12(&self, v: &Mat<f64>) -> Mat<f64> {
        self.apply(v, 1, 0, self.k21.transpose())
    }

    /// `K_21 V`.
    fn k21(&self, v: &Mat<f64>) -> Mat<f64> {
        self.apply(v, 0, 1, self.k21)
    }

    fn apply(&self, v: &Mat<f64>, from: usize, to: usize, own: MatRef<'_, f64>) -> Mat<f64> {
        let n = self.cc.nrows();
        let (v_c, v_own) = v.as_ref().split_at_row(n);
        let mut out = Mat::zeros(n + own.nrows(), v.ncols());
        let (mut top, mut bottom) = out.as_mut().split_at_row_mut(n);
        if n > 0 {
            matmul_into(top.as_mut(), 0.0, 1.0, self.cc, v_c);
            matmul_into(top, 1.0, 1.0, self.own_c[from].transpose(), v_own);
            matmul_into(bottom.as_mut(), 0.0, 1.0, self.own_c[to], v_c);
        }
        matmul_into(bottom, 1.0, 1.0, own, v_own);
        out
    }
}

/// Everything about two tasks that needs their targets: the order parameters of both orders, for each of several sets of
/// targets at once (`columns` columns each).
///
/// `overlap` is γ_feature; `norms` are the norms of the targets where these are not what is learned (a network that starts
/// from outputs of its own). The first of each result is task 1 before task 2.
pub(super) fn evaluate(
    cross: &Cross<'_>,
    (factors, ridge): ([&Factor; 2], f64),
    [y1, y2]: [&Mat<f64>; 2],
    columns: usize,
    overlap: f64,
    norms: Option<[f64; 2]>,
) -> Vec<[OrderParameters; 2]> {
    let (u1, u2) = (factors[0].solve(y1.as_ref()), factors[1].solve(y2.as_ref()));
    let (a, c) = (cross.k12(&u2), cross.k21(&u1));
    let (b1, b2) = (factors[0].solve(a.as_ref()), factors[1].solve(c.as_ref()));
    let (e, d) = (cross.k21(&b1), cross.k12(&b2));
    let left = [factors[0].left(y1, &u1, ridge), factors[1].left(y2, &u2, ridge)];
    let sets = (0..y1.ncols() / columns).map(|set| {
        let part = |m: &Mat<f64>| m.as_ref().subcols(set * columns, columns).to_owned();
        let side = |t: usize, y: &Mat<f64>, u: &Mat<f64>, out: &Mat<f64>, back: &Mat<f64>, solved: &Mat<f64>| Side {
            y: part(y),
            u: part(u),
            out: part(out),
            back: part(back),
            solved: part(solved),
            left: left[t].as_ref().map(part),
            norm: norms.map_or_else(|| part(y).norm_l2(), |norms| norms[t]),
        };
        let (one, two) = (side(0, y1, &u1, &c, &d, &b2), side(1, y2, &u2, &a, &e, &b1));
        [values(&one, &two, overlap), values(&two, &one, overlap)]
    });
    sets.collect()
}

/// One task's targets and what becomes of them in the other task (target norms not divided out).
#[derive(Debug, Clone)]
pub struct Side {
    /// `Y_i`.
    pub y: Mat<f64>,
    /// `K_ii^{-1} Y_i`.
    pub u: Mat<f64>,
    /// `K_ji K_ii^{-1} Y_i`: what the task predicts at the other's inputs.
    pub out: Mat<f64>,
    /// `K_ij K_jj^{-1}` of that: back at its own inputs.
    pub back: Mat<f64>,
    /// `K_jj^{-1} K_ji K_ii^{-1} Y_i`.
    pub solved: Mat<f64>,
    /// `Y_i − K_ii u_i`: what a temperature or a pseudo-inverse leaves of its targets; none where they are met.
    pub left: Option<Mat<f64>>,
    /// The norm of its targets.
    pub norm: f64,
}

/// The order parameters of `one` learned before `two`.
pub fn values(one: &Side, two: &Side, gamma_feature: f64) -> OrderParameters {
    let (n1, n2) = (one.norm, two.norm);
    // a = K_12 w_2, c = K_21 w_1; e = K_21 K_11^{-1} a and d = K_12 K_22^{-1} c.
    let (a, e) = (two.out.norm_l2() / n2, two.back.norm_l2() / n2);
    let gamma_rf = 0.5 * (a * a + e * e);
    let gamma_rule = 0.5 * (inner(&two.out, &one.back) + inner(&two.back, &one.out)) / (n1 * n2);
    let (v1, v2) = (inner(&one.y, &one.u) / (n1 * n1), inner(&two.y, &two.u) / (n2 * n2));
    // A task of which nothing is left to learn has no readout, and nothing in common with another.
    let over = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
    let cos = over(inner(&two.u, &one.out) / (n1 * n2), (v1 * v2).sqrt());
    let proj = over(inner(&one.out, &one.solved) / (n1 * n1), v1);
    // f_2(X_1) − Y_1: what the second task changes, less what the first had left.
    let change = &two.out - &one.back;
    let f21 = one.left.as_ref().map_or_else(|| change.squared_norm_l2(), |left| (&change - left).squared_norm_l2());
    let f21 = f21 / (n1 * n1);
    let f21_at_lambda_zero = (&two.out - &one.y).squared_norm_l2() / (n1 * n1);
    OrderParameters::of(gamma_feature, [gamma_rf, gamma_rule], [cos, proj], [f21, f21_at_lambda_zero])
}

/// `Σ a_ij b_ij`.
fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| crate::linalg::dot(a.col_as_slice(j), b.col_as_slice(j))).sum()
}
