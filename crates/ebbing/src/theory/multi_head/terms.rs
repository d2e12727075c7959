//! The parts of `H_T` as functions of `d = u1(T,T) − u0(T,T)` and `u0 = u0(T,T)`, with two derivatives.
//!
//! With the other unknowns of step T collected in θ, `K̃ = d K¹ + u0 ΔK (+ β^{-1} I)` and `M = K̃^{-1}`,
//! `D[K] + (Y−ḡ)ᵀM(Y−ḡ) = ln det K̃ + u0 Tr(M K⁰) + Σ_kl θ_k θ_l Tr(M Q_kl) − 2 Σ_k θ_k Tr(M q_k) + Tr(M Y Yᵀ)` because
//! A, c and ḡ are linear in θ. For two tasks θ = u12, `Q = (b bᵀ/u11 − G)/u11`, `q = b Y_2ᵀ/u11`, with
//! `b = K_21K_11^{-1}Y_1` and `G = K_21K_11^{-1}K_12`, and this is the task-2 part of the paper's Eq. 139.
//!
//! The matrices Q, q, Y Yᵀ are fixed for the step. They are stored as flat arrays: their diagonals in the basis of the
//! pencil (ΔK, K¹), P numbers each, or all P² entries where a temperature leaves no common basis. Every trace is then
//! a sum of products of two arrays.

use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, dot, matmul, matmul_into};

/// A function of (d, u0) and its derivatives: value, ∂d, ∂u0, ∂d², ∂d∂u0, ∂u0².
pub(super) type Jet = [f64; 6];

/// How `K̃^{-1}` is formed.
#[derive(Debug, Clone)]
enum Form {
    /// In the pencil's basis K¹ = I and ΔK = diag τ.
    Diagonal { tau: Vec<f64> },
    /// Full matrices; `ridge` is what `β^{-1} I` becomes in their basis.
    Dense { k1: Mat<f64>, delta: Mat<f64>, ridge: Mat<f64> },
}

/// The fixed arrays of one step.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    form: Form,
    k1: Vec<f64>,
    k0: Vec<f64>,
    /// What the diagonal of K¹ falls short of 1 in a basis that diagonalizes K¹ + shift instead; empty without a shift.
    noise: Vec<f64>,
    /// `Y Yᵀ`.
    pub labels: Vec<f64>,
    /// `g_k Yᵀ`, one per cross unknown.
    pub mixed: Vec<Vec<f64>>,
    /// `S_kl + g_k g_lᵀ` for l ≤ k, at index k(k+1)/2 + l.
    pub cross: Vec<Vec<f64>>,
}

/// The traces of one step at one (d, u0).
#[derive(Debug, Clone)]
pub(super) struct Moments {
    /// `Tr(M K¹)`.
    pub k1: Jet,
    /// `Tr(M K⁰)`.
    pub k0: Jet,
    /// `Yᵀ M Y`.
    pub labels: Jet,
    /// `g_kᵀ M Y`.
    pub mixed: Vec<Jet>,
    /// `Tr(M S_kl) + g_kᵀ M g_l`.
    pub cross: Vec<Jet>,
}

impl Terms {
    /// Terms in the basis in which K¹ = I and ΔK = diag `tau`.
    pub fn diagonal(tau: &[f64], labels: Vec<f64>, mixed: Vec<Vec<f64>>, cross: Vec<Vec<f64>>) -> Self {
        let k0 = tau.iter().map(|t| 1.0 - t).collect();
        let form = Form::Diagonal { tau: tau.to_vec() };
        Terms { form, k1: vec![1.0; tau.len()], k0, noise: vec![], labels, mixed, cross }
    }

    /// The same terms where K¹ = I − diag `noise`: only [`Derivatives::AlongU0`] holds then, at d = 1.
    pub fn with_noise(mut self, noise: Vec<f64>) -> Self {
        for (i, noise) in noise.iter().enumerate() {
            self.k1[i] -= noise;
            self.k0[i] -= noise;
        }
        self.noise = noise;
        self
    }

    /// Terms of full matrices.
    pub fn dense(
        k1: Mat<f64>,
        delta: Mat<f64>,
        ridge: Mat<f64>,
        labels: Vec<f64>,
        mixed: Vec<Vec<f64>>,
        cross: Vec<Vec<f64>>,
    ) -> Self {
        let (flat1, flat_delta) = (flatten(k1.as_ref()), flatten(delta.as_ref()));
        let k0 = flat1.iter().zip(&flat_delta).map(|(a, b)| a - b).collect();
        Terms { form: Form::Dense { k1, delta, ridge }, k1: flat1, k0, noise: vec![], labels, mixed, cross }
    }

    /// The number of examples P_T.
    pub fn size(&self) -> usize {
        match &self.form {
            Form::Diagonal { tau } => tau.len(),
            Form::Dense { k1, .. } => k1.nrows(),
        }
    }

    /// `Tr (K¹ + u0 ΔK) (1 + u0 τ)^{-1}`: P_T, less what is noise, in the basis at d = 1.
    pub fn signal(&self, u0: f64) -> f64 {
        let lost: f64 = self.tau().unwrap_or(&[]).iter().zip(&self.noise).map(|(t, n)| n / (1.0 + u0 * t)).sum();
        self.size() as f64 - lost
    }

    /// The eigenvalues of the pencil (ΔK, K¹), where there is a common basis.
    pub fn tau(&self) -> Option<&[f64]> {
        match &self.form {
            Form::Diagonal { tau } => Some(tau),
            Form::Dense { .. } => None,
        }
    }

    /// The traces at (d, u0) and the derivatives asked for (the others stay zero), or `None` where K̃ is not positive
    /// definite.
    ///
    /// # Errors
    /// None for a diagonal form; those of the factorization otherwise, except that of an indefinite K̃.
    pub fn moments(&self, d: f64, u0: f64, wanted: Derivatives) -> Result<Option<Moments>> {
        let Some(weights) = (match &self.form {
            Form::Diagonal { tau } => diagonal_weights(tau, d, u0, wanted),
            Form::Dense { k1, delta, ridge } => {
                dense_weights(k1.as_ref(), delta.as_ref(), ridge.as_ref(), d, u0, wanted)?
            }
        }) else {
            return Ok(None);
        };
        let contract = |a: &Vec<f64>| {
            let mut jet = [0.0; 6];
            for (j, w) in wanted.indices().iter().zip(&weights) {
                jet[*j] = lane_dot(w, a);
            }
            if wanted == Derivatives::AlongU0 {
                jet[1] = jet[0] - noise_part(&weights[0], &self.noise, a);
            }
            jet
        };
        Ok(Some(Moments {
            k1: contract(&self.k1),
            k0: contract(&self.k0),
            labels: contract(&self.labels),
            mixed: self.mixed.iter().map(contract).collect(),
            cross: self.cross.iter().map(contract).collect(),
        }))
    }

    /// `ln det K̃` in the basis of the terms.
    #[cfg(test)]
    pub fn logdet(&self, d: f64, u0: f64) -> f64 {
        match &self.form {
            Form::Diagonal { tau } => tau.iter().map(|t| (d + u0 * t).ln()).sum(),
            Form::Dense { k1, delta, ridge } => tilde_factor(k1.as_ref(), delta.as_ref(), ridge.as_ref(), d, u0)
                .unwrap()
                .map_or(f64::NAN, |f| f.logdet()),
        }
    }
}

/// Which derivatives are wanted besides the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Derivatives {
    /// Only ∂u0; the place of ∂d holds the value less what is noise, `Tr((M − M noise M) ·)`.
    AlongU0,
    /// Both first and all second ones.
    All,
}

impl Derivatives {
    /// Their places in a [`Jet`].
    fn indices(self) -> &'static [usize] {
        match self {
            Derivatives::AlongU0 => &[0, 2],
            Derivatives::All => &[0, 1, 2, 3, 4, 5],
        }
    }
}

impl Moments {
    /// `u0 Tr(M K⁰)`, then the derivatives of `ln det K̃ + u0 Tr(M K⁰)`. The first two share the large part `Tr(M K¹)`:
    /// `∂_d ln det K̃ = Tr(M K¹)`, and in `∂_u0` the `−Tr(M K⁰)` of `Tr(M ΔK)` cancels that of the product rule.
    pub fn entropy(&self, u0: f64) -> Jet {
        [
            u0 * self.k0[0],
            self.k1[0] + u0 * self.k0[1],
            self.k1[0] + u0 * self.k0[2],
            self.k1[1] + u0 * self.k0[3],
            self.k1[1] + u0 * self.k0[4],
            self.k1[2] + self.k0[2] + u0 * self.k0[5],
        ]
    }
}

/// `xᵀ y` in eight interleaved sums, the same on every machine.
fn lane_dot(x: &[f64], y: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest = dot(xs.remainder(), ys.remainder());
    for (x, y) in xs.zip(ys) {
        for k in 0..8 {
            lanes[k] += x[k] * y[k];
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// `Σ_i m_i² noise_i a_i`, zero without noise.
fn noise_part(m: &[f64], noise: &[f64], a: &[f64]) -> f64 {
    noise.iter().zip(m).zip(a).map(|((n, m), a)| m * m * n * a).sum()
}

/// `M` and the wanted derivatives for `K̃_i = d + u0 τ_i`, `M_i = 1/K̃_i`.
fn diagonal_weights(tau: &[f64], d: f64, u0: f64, wanted: Derivatives) -> Option<Vec<Vec<f64>>> {
    let smallest = tau.iter().fold(f64::INFINITY, |m: f64, t| m.min(d + u0 * t));
    // False for NaN too.
    if !(smallest > 0.0 && smallest.is_finite()) {
        return None;
    }
    let m: Vec<f64> = tau.iter().map(|t| 1.0 / (d + u0 * t)).collect();
    let derived = |f: fn(f64, f64) -> f64| m.iter().zip(tau).map(|(&m, &t)| f(m, t)).collect::<Vec<f64>>();
    let along_u0 = derived(|m, t| -m * m * t);
    Some(match wanted {
        Derivatives::AlongU0 => vec![m, along_u0],
        Derivatives::All => {
            let second = [
                derived(|m, _| -m * m),
                along_u0,
                derived(|m, _| 2.0 * m * m * m),
                derived(|m, t| 2.0 * m * m * m * t),
                derived(|m, t| 2.0 * m * m * m * t * t),
            ];
            std::iter::once(m).chain(second).collect()
        }
    })
}

/// The factor of `d K¹ + u0 ΔK + ridge`, or `None` where that is not positive definite.
fn tilde_factor(
    k1: MatRef<'_, f64>,
    delta: MatRef<'_, f64>,
    ridge: MatRef<'_, f64>,
    d: f64,
    u0: f64,
) -> Result<Option<Cholesky>> {
    let p = k1.nrows();
    let kt = Mat::from_fn(p, p, |i, j| d * k1[(i, j)] + u0 * delta[(i, j)] + ridge[(i, j)]);
    if !(0..p).all(|i| kt[(i, i)].is_finite()) {
        return Ok(None);
    }
    match Cholesky::factor_owned(kt, "renormalized kernel") {
        Ok(factor) => Ok(Some(factor)),
        Err(Error::NotPositiveDefinite { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// `M`, `−M B M` and `M B M B' M + M B' M B M` for B, B' in {K¹, ΔK}, those that are wanted.
fn dense_weights(
    k1: MatRef<'_, f64>,
    delta: MatRef<'_, f64>,
    ridge: MatRef<'_, f64>,
    d: f64,
    u0: f64,
    wanted: Derivatives,
) -> Result<Option<Vec<Vec<f64>>>> {
    let p = k1.nrows();
    let Some(factor) = tilde_factor(k1, delta, ridge, d, u0)? else { return Ok(None) };
    let m = factor.solve(Mat::<f64>::identity(p, p).as_ref());
    let e0 = matmul(m.as_ref(), delta);
    let n0 = scaled_product(-1.0, e0.as_ref(), m.as_ref());
    if wanted == Derivatives::AlongU0 {
        return Ok(Some(vec![flatten(m.as_ref()), flatten(n0.as_ref())]));
    }
    let e1 = matmul(m.as_ref(), k1);
    let n1 = scaled_product(-1.0, e1.as_ref(), m.as_ref());
    let mut both = scaled_product(-1.0, e1.as_ref(), n0.as_ref());
    matmul_into(both.as_mut(), 1.0, -1.0, e0.as_ref(), n1.as_ref());
    let twice = |e: &Mat<f64>, n: &Mat<f64>| scaled_product(-2.0, e.as_ref(), n.as_ref());
    let all = [&m, &n1, &n0, &twice(&e1, &n1), &both, &twice(&e0, &n0)];
    Ok(Some(all.iter().map(|w| flatten(w.as_ref())).collect()))
}

/// `factor · A B`.
fn scaled_product(factor: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul_into(c.as_mut(), 0.0, factor, a, b);
    c
}

/// All entries, column after column.
pub(super) fn flatten(m: MatRef<'_, f64>) -> Vec<f64> {
    let mut flat = Vec::with_capacity(m.nrows() * m.ncols());
    for j in 0..m.ncols() {
        flat.extend((0..m.nrows()).map(|i| m[(i, j)]));
    }
    flat
}
