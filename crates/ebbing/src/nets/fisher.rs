//! Diagonal Fisher information: which weights a task's loss depends on.

use super::learner::Fisher;
use super::mlp::Mlp;
use super::pass::Pass;
use super::update::{Params, for_columns};
use crate::linalg::{Mat, MatRef, column_f32, matmul_f32};

/// The diagonal Fisher information at the network's weights on one task's data.
pub(crate) fn fisher(net: &Mlp, x: MatRef<'_, f32>, y: &Mat<f32>, head: usize, kind: Fisher) -> Params {
    let mut pass = Pass::new(net, x.nrows(), y.ncols());
    pass.forward(net, x, head);
    let mut residual = pass.f.clone();
    for_columns(&mut residual, |j, r| {
        r.iter_mut().zip(column_f32(y.as_ref(), j)).for_each(|(r, y)| *r -= y);
    });
    let mut total = Params::of(net, head).zeros_like();
    match kind {
        Fisher::Paper | Fisher::Rms => {
            accumulate(&mut total, net, &mut pass, x, head, &residual, false);
            square_and_scale(&mut total, kind);
        }
        Fisher::Empirical => accumulate(&mut total, net, &mut pass, x, head, &residual, true),
        Fisher::Exact => {
            for c in 0..y.ncols() {
                let unit = Mat::from_fn(y.nrows(), y.ncols(), |_, j| if j == c { 1.0 } else { 0.0 });
                accumulate(&mut total, net, &mut pass, x, head, &unit, true);
            }
        }
    }
    if matches!(kind, Fisher::Empirical | Fisher::Exact) {
        let scale = 1.0 / x.nrows() as f32;
        for m in &mut total.0 {
            for_columns(m, |_, v| v.iter_mut().for_each(|v| *v *= scale));
        }
    }
    total
}

/// Adds `Σ_μ g_μ` (or, if `squared`, `Σ_μ g_μ²`) of every weight, g_μ the gradient of `r_μ·f(x_μ)`.
fn accumulate(
    total: &mut Params,
    net: &Mlp,
    pass: &mut Pass,
    x: MatRef<'_, f32>,
    head: usize,
    r: &Mat<f32>,
    squared: bool,
) {
    let top = pass.h.len() - 1;
    pass.error_of_top(net, head, r.as_ref());
    for l in (1..=top).rev() {
        pass.error_below(net, l);
    }
    let square = |m: MatRef<'_, f32>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] * m[(i, j)]);
    let mut add = |k: usize, scale: f32, a: MatRef<'_, f32>, b: MatRef<'_, f32>| {
        if squared {
            matmul_f32(total.0[k].as_mut(), 1.0, scale * scale, square(a).as_ref().transpose(), square(b).as_ref());
        } else {
            matmul_f32(total.0[k].as_mut(), 1.0, scale, a.transpose(), b);
        }
    };
    for l in 0..=top {
        let input = pass.input(x, l);
        add(l, 1.0 / (input.ncols() as f32).sqrt(), pass.delta[l].as_ref(), input);
    }
    let phi = pass.h[top].as_ref();
    add(top + 1, 1.0 / (phi.ncols() as f32).sqrt(), phi, r.as_ref());
}

/// `g² / ((1/n) sqrt(Σg⁴))` or, with rms 1, `g² / sqrt(Σg⁴/n)`; zero where the gradient vanishes everywhere.
fn square_and_scale(g: &mut Params, kind: Fisher) {
    let entries = |m: &Mat<f32>| m.nrows() * m.ncols();
    let n = g.0.iter().map(entries).sum::<usize>() as f64;
    let mut fourth = 0.0;
    for m in &g.0 {
        for j in 0..m.ncols() {
            fourth += column_f32(m.as_ref(), j).iter().map(|&v| f64::from(v).powi(4)).sum::<f64>();
        }
    }
    let norm = if kind == Fisher::Paper { fourth.sqrt() / n } else { (fourth / n).sqrt() };
    let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    for m in &mut g.0 {
        for_columns(m, |_, v| v.iter_mut().for_each(|v| *v = (f64::from(*v).powi(2) * scale) as f32));
    }
}
