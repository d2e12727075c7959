//! `S_i = κ + μ + Σ_{m∈A_i} t_m x_m x_mᵀ`: units that rest on kinks are stiff along the examples they rest on.
//!
//! A rounded kink has the curvature `t = −c (∂f/∂h)·r φ''`, which the Gauss–Newton matrix `JᵀJ` lacks; it is far
//! above κ. Unit i rests on few examples A_i, so with `B_i = ((κ+μ)/t + G_{A_iA_i})⁻¹`
//!
//! ```math
//! (κ+μ) S_i^{-1} = 1 - X_{A_i}^\top B_i X_{A_i}
//! ```
//!
//! Of deeper layers the curvature along their own weights is taken, not that along the weights below.

use super::linearized::Linearized;
use super::problem::{Point, Problem};
use crate::linalg::{Cholesky, Mat, dot, subtract_lower_gram_f32};

/// Curvatures below this share of the penalty and damping are left out: a step is no worse than that much off.
const SHARE: f64 = 0.2;

/// The examples on which one unit rests.
struct KinkedUnit {
    layer: usize,
    unit: usize,
    examples: Vec<usize>,
    /// Of `B⁻¹`.
    factor: Cholesky,
}

/// All units that rest on kinks.
pub(super) struct Kinks {
    units: Vec<KinkedUnit>,
    /// Gram matrices of layers, by which rests act on outputs: `L⁻¹ G_{A,·}`, as its transpose, of every unit.
    across: Vec<Mat<f64>>,
}

impl Kinks {
    /// The kinks that matter beside a stiffness κ + μ; none where rounding errors forbid it.
    pub fn new(problem: &Problem, here: &Linearized, stiff: f64) -> Option<Self> {
        let mut kinks = Kinks { units: vec![], across: vec![] };
        let strong: Vec<_> = here.kinks.iter().filter(|k| k.3 > SHARE * stiff).collect();
        for group in strong.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (layer, unit) = (group[0].0, group[0].1);
            let gram = here.gram(problem, layer);
            let examples: Vec<usize> = group.iter().map(|k| k.2).collect();
            let own = Mat::from_fn(examples.len(), examples.len(), |a, b| {
                gram[(examples[a], examples[b])] + if a == b { stiff / group[a].3 } else { 0.0 }
            });
            let factor = Cholesky::factor(own.as_ref(), "the kinks of a unit").ok()?;
            let across = Mat::from_fn(examples.len(), gram.nrows(), |a, m| gram[(m, examples[a])]);
            kinks.across.push(factor.half_solve(across.as_ref()).transpose().to_owned());
            kinks.units.push(KinkedUnit { layer, unit, examples, factor });
        }
        Some(kinks)
    }

    /// Takes from `(κ+μ) J S⁻¹ Jᵀ`, from its product with r and from `(κ+μ) J S⁻¹ (W−W_0)` what the kinks hold. The matrix is made in
    /// single precision, its product with r is not: together with the last it must vanish with the gradient.
    pub fn hold(
        &self,
        here: &Linearized,
        point: &Point,
        system: &mut Mat<f64>,
        through: &mut Mat<f64>,
        along: &mut Mat<f64>,
    ) {
        let (p, targets) = (along.nrows(), along.ncols());
        let total: usize = self.units.iter().map(|held| held.examples.len()).sum();
        if total == 0 {
            return;
        }
        let mut all = Mat::<f32>::zeros(p * targets, total);
        let mut column = vec![0.0; p * targets];
        let mut at = 0;
        for (k, (held, across)) in self.units.iter().zip(&self.across).enumerate() {
            let own = self.within(k, here.shift(point, held.layer).col_as_slice(held.unit));
            for a in 0..held.examples.len() {
                let mut along_r = 0.0;
                for (c, signals) in here.signals[held.layer].iter().enumerate() {
                    let to = &mut column[c * p..(c + 1) * p];
                    let terms = signals.col_as_slice(held.unit).iter().zip(across.col_as_slice(a));
                    to.iter_mut().zip(terms).for_each(|(t, (s, g))| *t = s * g);
                    let along = along.col_as_slice_mut(c).iter_mut();
                    along.zip(to.iter()).for_each(|(l, t)| *l -= t * own[a]);
                    along_r += dot(to, point.r.col_as_slice(c));
                }
                let through = through.col_as_slice_mut(0).iter_mut();
                through.zip(&column).for_each(|(h, t)| *h -= t * along_r);
                all.col_as_slice_mut(at).iter_mut().zip(&column).for_each(|(to, t)| *to = *t as f32);
                at += 1;
            }
        }
        subtract_lower_gram_f32(system.as_mut(), all.as_ref());
    }

    /// For each of `n` units of layer `l` its place among those that rest on kinks.
    pub fn by_unit(&self, l: usize, n: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; n];
        for (k, held) in self.units.iter().enumerate().filter(|(_, held)| held.layer == l) {
            places[held.unit] = Some(k);
        }
        places
    }

    /// `L⁻¹` of the entries of `image` at the examples that unit `k` of the list rests on.
    pub fn within(&self, k: usize, image: &[f64]) -> Vec<f64> {
        let held = &self.units[k];
        let mut own = Mat::from_fn(held.examples.len(), 1, |a, _| image[held.examples[a]]);
        held.factor.half_solve_in_place(own.as_mut());
        own.col_as_slice(0).to_vec()
    }

    /// Takes from `image` what unit `k` of the list holds, given as [`Kinks::within`] has it.
    pub fn subtract(&self, k: usize, within: &[f64], image: &mut [f64]) {
        for (a, own) in within.iter().enumerate() {
            image.iter_mut().zip(self.across[k].col_as_slice(a)).for_each(|(t, g)| *t -= own * g);
        }
    }

    /// Layer `l`: `q ← (κ+μ) S⁻¹ q`, a column per unit.
    pub fn relax(&self, problem: &Problem, here: &Linearized, l: usize, q: &mut Mat<f64>) {
        if self.units.is_empty() {
            return;
        }
        let rows = here.inputs[l].rows.as_ref().map(|rows| rows.transpose().to_owned());
        for held in self.units.iter().filter(|held| held.layer == l) {
            let q = q.col_as_slice_mut(held.unit);
            // Rows of the Gram matrix act on coefficients as inputs act on weights.
            let row = |m: usize| rows.as_ref().unwrap_or(&problem.gram).col_as_slice(m);
            let mut own: Vec<f64> = held.examples.iter().map(|&m| dot(row(m), q)).collect();
            own = held.factor.solve_vec(&own);
            for (&m, own) in held.examples.iter().zip(own) {
                match &rows {
                    None => q[m] -= own,
                    Some(rows) => q.iter_mut().zip(rows.col_as_slice(m)).for_each(|(q, x)| *q -= own * x),
                }
            }
        }
    }
}
