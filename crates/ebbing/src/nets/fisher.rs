//! `F_i = g_i² / √(Σ_j g_j⁴/n)` (paper, Eq. 184, with 1/n inside the root): which weights a task's loss depends on.

use super::activations::Activations;
use super::learner::Fisher;
use super::mlp::Mlp;
use super::update::Params;
use crate::linalg::{Mat, MatRef, column_f32, for_columns, matmul_f32};

/// A forward pass and the errors `f − y` of its outputs.
fn residual(net: &Mlp, x: MatRef<'_, f32>, y: &Mat<f32>, head: usize) -> (Activations, Mat<f32>) {
    let mut pass = Activations::new(net, x.nrows(), y.ncols());
    pass.forward(net, x, None, head);
    let mut residual = pass.f.clone();
    for_columns(&mut residual, |j, r| {
        r.iter_mut().zip(column_f32(y.as_ref(), j)).for_each(|(r, y)| *r -= y);
    });
    (pass, residual)
}

/// The diagonal Fisher information at the network's weights on one task's data.
pub(crate) fn fisher(net: &Mlp, x: MatRef<'_, f32>, y: &Mat<f32>, head: usize, kind: Fisher) -> Params {
    let (mut pass, residual) = residual(net, x, y, head);
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
    pass: &mut Activations,
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
    let of_column =
        |m: &Mat<f32>, j: usize| column_f32(m.as_ref(), j).iter().map(|&v| f64::from(v).powi(4)).sum::<f64>();
    let fourth: f64 = g.0.iter().flat_map(|m| (0..m.ncols()).map(move |j| of_column(m, j))).sum();
    let norm = if kind == Fisher::Paper { fourth.sqrt() / n } else { (fourth / n).sqrt() };
    let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    for m in &mut g.0 {
        for_columns(m, |_, v| v.iter_mut().for_each(|v| *v = (f64::from(*v).powi(2) * scale) as f32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Activation, Architecture};
    use crate::linalg::matmul;
    use crate::nets::mlp::to_f64;
    use crate::rng::Stream;

    fn matrix(v: &serde_json::Value) -> Mat<f32> {
        let rows: Vec<Vec<f64>> = serde_json::from_value(v.clone()).unwrap();
        Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j] as f32)
    }

    /// Gradients against automatic differentiation by an independent program, at depths 1, 2 and 4.
    #[test]
    fn gradients_match_automatic_differentiation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/gradients.json");
        let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for case in cases.as_array().unwrap() {
            let mut hidden: Vec<Mat<f32>> = case["weights"].as_array().unwrap().iter().map(matrix).collect();
            let head = hidden.pop().unwrap();
            let activation: Activation = serde_json::from_value(case["activation"].clone()).unwrap();
            let net = Mlp { activation, hidden, heads: vec![head] };
            let (x, y) = (matrix(&case["x"]), matrix(&case["y"]));
            let (mut pass, r) = residual(&net, x.as_ref(), &y, 0);
            let mut g = Params::of(&net, 0).zeros_like();
            accumulate(&mut g, &net, &mut pass, x.as_ref(), 0, &r, false);
            for (g, want) in g.0.iter().zip(case["gradients"].as_array().unwrap()) {
                let want = matrix(want);
                let scale =
                    (0..want.ncols()).flat_map(|j| column_f32(want.as_ref(), j)).fold(0f32, |a, b| a.max(b.abs()));
                for j in 0..want.ncols() {
                    for i in 0..want.nrows() {
                        // Single precision through up to four layers of seven terms: some tens of 6e-8.
                        assert!((g[(i, j)] - want[(i, j)]).abs() < 5e-6 * scale, "{}", case["activation"]);
                    }
                }
            }
        }
    }

    /// `½ Σ (f − y)²` in double precision.
    fn loss(weights: &[Mat<f64>], activation: Activation, x: &Mat<f64>, y: &Mat<f64>) -> f64 {
        let mut h = x.clone();
        for (l, w) in weights.iter().enumerate() {
            let (readout, dim) = (l + 1 == weights.len(), h.ncols());
            let z = if readout { matmul(h.as_ref(), w.as_ref()) } else { matmul(h.as_ref(), w.transpose()) };
            h = Mat::from_fn(z.nrows(), z.ncols(), |i, j| {
                match (readout, activation, z[(i, j)] / (dim as f64).sqrt()) {
                    (true, _, z) | (_, Activation::Linear, z) => z,
                    (_, Activation::Relu, z) => z.max(0.0),
                    (_, Activation::Erf, z) => libm::erf(z),
                    (_, Activation::Gelu, z) => 0.5 * z * (1.0 + libm::erf(z / f64::sqrt(2.0))),
                }
            });
        }
        let miss = |j: usize| (0..h.nrows()).map(|i| (h[(i, j)] - y[(i, j)]).powi(2)).sum::<f64>();
        0.5 * (0..h.ncols()).map(miss).sum::<f64>()
    }

    /// Gradients against central differences of the loss, two hidden layers, two target columns.
    #[test]
    fn gradients_match_finite_differences() {
        let mut s = Stream::new(3, "fisher test", 0);
        for activation in [Activation::Relu, Activation::Linear, Activation::Erf, Activation::Gelu] {
            let net = Mlp::new(Architecture { activation, depth: 2 }, 4, 5, 2, 1.0, &mut s).unwrap();
            let x = Mat::from_fn(6, 4, |_, _| s.normal() as f32);
            let y = Mat::from_fn(6, 2, |_, _| s.normal() as f32);
            let (mut pass, r) = residual(&net, x.as_ref(), &y, 0);
            let params = Params::of(&net, 0);
            let mut g = params.zeros_like();
            accumulate(&mut g, &net, &mut pass, x.as_ref(), 0, &r, false);
            let weights: Vec<Mat<f64>> = params.0.iter().map(to_f64).collect();
            let (x, y) = (to_f64(&x), to_f64(&y));
            for (k, w) in weights.iter().enumerate() {
                for (i, j) in [(0, 0), (w.nrows() - 1, w.ncols() - 1), (w.nrows() / 2, w.ncols() / 2)] {
                    let at = |step: f64| {
                        let mut moved = weights.clone();
                        moved[k][(i, j)] += step;
                        loss(&moved, activation, &x, &y)
                    };
                    let h = 1e-4;
                    let numeric = (at(h) - at(-h)) / (2.0 * h);
                    let got = f64::from(g.0[k][(i, j)]);
                    // Truncation of order h² and single precision of the gradient, of order 1.
                    assert!(
                        (got - numeric).abs() < 2e-6 * (1.0 + numeric.abs()),
                        "{activation:?} {k}: {got} {numeric}"
                    );
                }
            }
        }
    }

    /// The per-example Fishers against gradients taken one example at a time.
    #[test]
    fn per_example_fishers_are_sums_over_examples() {
        let mut s = Stream::new(1, "fisher test", 0);
        let net = Mlp::new(Architecture { activation: Activation::Relu, depth: 2 }, 4, 5, 2, 1.0, &mut s).unwrap();
        let x = Mat::from_fn(6, 4, |_, _| s.normal() as f32);
        let y = Mat::from_fn(6, 2, |_, _| s.normal() as f32);
        let one = |m: &Mat<f32>, i: usize| Mat::from_fn(1, m.ncols(), |_, j| m[(i, j)]);
        for kind in [Fisher::Empirical, Fisher::Exact] {
            let all = fisher(&net, x.as_ref(), &y, 0, kind);
            let mut want = all.zeros_like();
            for i in 0..6 {
                let (xi, yi) = (one(&x, i), one(&y, i));
                let (mut pass, r) = residual(&net, xi.as_ref(), &yi, 0);
                let directions = match kind {
                    Fisher::Empirical => vec![r],
                    _ => (0..2).map(|c| Mat::from_fn(1, 2, |_, j| f32::from(u8::from(j == c)))).collect(),
                };
                for r in directions {
                    let mut g = all.zeros_like();
                    accumulate(&mut g, &net, &mut pass, xi.as_ref(), 0, &r, false);
                    for (want, g) in want.0.iter_mut().zip(&g.0) {
                        for_columns(want, |j, w| {
                            w.iter_mut().zip(column_f32(g.as_ref(), j)).for_each(|(w, g)| *w += g * g / 6.0);
                        });
                    }
                }
            }
            for (a, b) in all.0.iter().zip(&want.0) {
                for j in 0..a.ncols() {
                    for i in 0..a.nrows() {
                        // Rounding of sums of six squares in single precision.
                        assert!((a[(i, j)] - b[(i, j)]).abs() <= 1e-5 * b[(i, j)].abs() + 1e-7, "{kind:?}");
                    }
                }
            }
        }
    }

    /// rms of the normalized Fishers: 1, and √n for the paper's.
    #[test]
    fn normalized_fishers_have_their_rms() {
        let mut s = Stream::new(2, "fisher test", 0);
        let net = Mlp::new(Architecture { activation: Activation::Erf, depth: 1 }, 3, 6, 1, 1.0, &mut s).unwrap();
        let x = Mat::from_fn(5, 3, |_, _| s.normal() as f32);
        let y = Mat::from_fn(5, 1, |_, _| s.normal() as f32);
        let n = net.parameters() as f64;
        for (kind, want) in [(Fisher::Rms, 1.0), (Fisher::Paper, n.sqrt())] {
            let rms = (fisher(&net, x.as_ref(), &y, 0, kind).squared_norm() / n).sqrt();
            // Rounding of each entry to single precision.
            assert!((rms / want - 1.0).abs() < 1e-6, "{kind:?} {rms} {want}");
        }
    }
}
