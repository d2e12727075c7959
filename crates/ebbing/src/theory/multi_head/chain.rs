//! Tasks already learned, as blocks: what step T needs of them, and how they grow by one
//! (paper, Eqs. 62, 65 and 66 with the factors u in place of m).
//!
//! With `f⁰` a sample of the prior, the prediction for task s before it is learned misses its labels by
//! `ε_s = Y_s − f⁰_s − Σ_{r<s} K̃_sr u_r`, and learning sets `u_s = K̃_ss^{-1} ε_s`. A chain keeps, for every task, the factor of
//! `K̃_ss`, the mean `ȳ_s = Y_s − ḡ_s` of `ε_s`, its covariances `Ŝ_sr` with the earlier ones, and
//! `A_s = K̃_{s,<s} 𝓛_{<s}^{-1}`, so that `ε_s = Y_s − f⁰_s − A_s (Y − f⁰)_{<s}`. Everything else follows by products.

use super::combined::packed;
use super::terms::{Terms, flatten};
use crate::error::Result;
use crate::linalg::{Cholesky, Mat, MatRef, Pencil, column, matmul, matmul_into};

/// The kernels between the newest task T and those before it, and its labels.
pub(super) struct Blocks {
    /// `K¹_Ts(X_T, X_s)` for s = 1 … T.
    pub k1: Vec<Mat<f64>>,
    /// `ΔK_Ts(X_T, X_s)` for s = 2 … T, with a placeholder for s = 1.
    pub delta: Vec<Mat<f64>>,
    /// `Y_T`.
    pub y: Vec<f64>,
}

/// The factors `u1(T,s) = d + u0` and `u0(T,s)` of task T with tasks s = 1 … T; `u0(T,1) = 0`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factors {
    /// `d(T,s) = u1(T,s) − u0(T,s)`.
    pub d: Vec<f64>,
    /// `u0(T,s)`.
    pub u0: Vec<f64>,
}

impl Factors {
    /// From the cross unknowns [u1(T,1), d(T,2), u0(T,2), …] and the newest task's own (d, u0).
    pub fn new(theta: &[f64], d: f64, u0: f64) -> Self {
        let mut factors = Factors { d: vec![], u0: vec![] };
        if let Some(first) = theta.first() {
            factors.d.push(*first);
            factors.u0.push(0.0);
        }
        for pair in theta.get(1..).unwrap_or(&[]).chunks(2) {
            factors.d.push(pair[0]);
            factors.u0.push(pair[1]);
        }
        factors.d.push(d);
        factors.u0.push(u0);
        factors
    }

    /// `u1(T,s)`, s from 0.
    pub fn u1(&self, s: usize) -> f64 {
        self.d[s] + self.u0[s]
    }
}

/// What a chain learns of a task: its covariances with all tasks up to itself.
pub(super) struct Lesson<'a> {
    /// `K̃_Ts`, s = 1 … T, without temperature.
    pub tilde: Vec<Mat<f64>>,
    /// `Cov(f⁰_T, f⁰_s)` on the training inputs, s = 1 … T.
    pub prior: Vec<Mat<f64>>,
    /// `Y_T`.
    pub y: Vec<f64>,
    /// What to call it in errors.
    pub name: &'a str,
}

/// One learned task.
#[derive(Debug, Clone)]
struct Link {
    /// `K̃_ss = L Lᵀ`.
    factor: Cholesky,
    /// `A_sr` for r < s.
    a: Vec<Mat<f64>>,
    /// `Ŝ_sr = Cov(ε_s, ε_r)` for r ≤ s.
    s: Vec<Mat<f64>>,
    /// The mean of `ε_s`.
    residual: Vec<f64>,
}

/// The tasks learned so far.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    links: Vec<Link>,
    ridge: f64,
}

/// The basis in which the newest task's matrices are stored.
pub(super) enum Basis {
    /// The eigenvectors of (ΔK_TT, K¹_TT): only diagonals are kept.
    Pencil(Pencil),
    /// The columns of a matrix V in whose basis K̃_TT is well-conditioned: whole matrices are kept.
    Whole(Mat<f64>),
}

impl Basis {
    /// `Vᵀ M`.
    fn rows(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Basis::Pencil(p) => matmul(p.vectors.transpose(), m),
            Basis::Whole(v) => matmul(v.transpose(), m),
        }
    }

    /// The symmetric part of `A Bᵀ`: its diagonal, or all of it.
    fn fold(&self, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Vec<f64> {
        match self {
            Basis::Pencil(_) => {
                let mut diagonal = vec![0.0; a.nrows()];
                for j in 0..a.ncols() {
                    for (i, sum) in diagonal.iter_mut().enumerate() {
                        *sum += a[(i, j)] * b[(i, j)];
                    }
                }
                diagonal
            }
            Basis::Whole(_) => {
                let product = matmul(a, b.transpose());
                flatten(Mat::from_fn(a.nrows(), a.nrows(), |i, j| 0.5 * (product[(i, j)] + product[(j, i)])).as_ref())
            }
        }
    }
}

impl Chain {
    /// No task yet; `ridge` is `β^{-1}`.
    pub fn new(ridge: f64) -> Self {
        Chain { links: vec![], ridge }
    }

    /// The number of learned tasks.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// The terms of `H_T` in the given basis; cross unknowns are [u1(T,1), d(T,2), u0(T,2), …].
    pub fn terms(&self, blocks: &Blocks, basis: &Basis) -> Terms {
        let unknowns = (2 * self.len()).saturating_sub(1);
        let y = basis.rows(column(&blocks.y));
        let k1: Vec<Mat<f64>> = blocks.k1[..self.len()].iter().map(|k| basis.rows(k.as_ref())).collect();
        // Unknown k belongs to task ⌈k/2⌉, from 0: u1(T,1) stands alone, every later task has d and u0.
        let source = |k: usize| k.div_ceil(2);
        // X_k = B_k K̃_ss^{-1}, where B_k is what the k-th unknown multiplies in K̃_{T,<T}: K¹ for u1(T,1) and d(T,s), ΔK for
        // u0(T,s).
        let x: Vec<Mat<f64>> = (0..unknowns)
            .map(|k| {
                let s = source(k);
                let factor = &self.links[s].factor;
                let solved = if k == 0 || k % 2 == 1 {
                    factor.solve(k1[s].transpose())
                } else {
                    factor.solve(basis.rows(blocks.delta[s].as_ref()).transpose())
                };
                solved.transpose().to_owned()
            })
            .collect();
        let g: Vec<Mat<f64>> =
            x.iter().enumerate().map(|(k, x)| matmul(x.as_ref(), column(&self.links[source(k)].residual))).collect();
        let gamma = self.prior_covariances(&k1);
        // What θ_k θ_l multiplies: Cov(Σ_s X_s ε_s) + ḡḡᵀ, and the covariance of f⁰_T with the ε_s from both sides.
        let mut cross = Vec::with_capacity(unknowns * (unknowns + 1) / 2);
        for k in 0..unknowns {
            let sk = source(k);
            let spread: Vec<Mat<f64>> = (0..=sk).map(|r| matmul(x[k].as_ref(), self.links[sk].s[r].as_ref())).collect();
            for l in 0..=k {
                let sl = source(l);
                debug_assert_eq!(cross.len(), packed(k, l));
                let mut sum = basis.fold(spread[sl].as_ref(), x[l].as_ref());
                let mut add = |v: Vec<f64>| sum.iter_mut().zip(v).for_each(|(a, b)| *a += b);
                add(basis.fold(g[k].as_ref(), g[l].as_ref()));
                add(basis.fold(x[k].as_ref(), gamma[sk][sl].as_ref()));
                if sk == sl {
                    add(basis.fold(x[l].as_ref(), gamma[sl][sk].as_ref()));
                }
                cross.push(sum);
            }
        }
        let mixed = g.iter().map(|g| basis.fold(g.as_ref(), y.as_ref())).collect();
        let labels = basis.fold(y.as_ref(), y.as_ref());
        match basis {
            Basis::Pencil(p) => Terms::diagonal(&p.values, labels, mixed, cross),
            Basis::Whole(v) => {
                let within = |k: &Mat<f64>| matmul(basis.rows(k.as_ref()).as_ref(), v.as_ref());
                let norms = matmul(v.transpose(), v.as_ref());
                let ridge = Mat::from_fn(v.ncols(), v.ncols(), |i, j| self.ridge * norms[(i, j)]);
                let (k1, delta) = (within(&blocks.k1[self.len()]), within(&blocks.delta[self.len()]));
                Terms::dense(k1, delta, ridge, labels, mixed, cross)
            }
        }
    }

    /// `Γ[s][t]`: the part of `Cov(f⁰_T, ε_s)` that u1(T,t) multiplies, t ≤ s: `−K¹_Ts`, or `K¹_Tt A_stᵀ` for t < s;
    /// for as many tasks as there are kernels.
    fn prior_covariances(&self, k1: &[Mat<f64>]) -> Vec<Vec<Mat<f64>>> {
        self.links[..k1.len()]
            .iter()
            .enumerate()
            .map(|(s, link)| {
                let mut row: Vec<Mat<f64>> = (0..s).map(|t| matmul(k1[t].as_ref(), link.a[t].transpose())).collect();
                row.push(Mat::from_fn(k1[s].nrows(), k1[s].ncols(), |i, j| -k1[s][(i, j)]));
                row
            })
            .collect()
    }

    /// Adds task T with its factors.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] where `K̃_TT` is.
    pub fn push(&mut self, blocks: &Blocks, factors: &Factors, name: &str) -> Result<()> {
        let t = self.len();
        let scaled = |s: usize| {
            let (k, u1) = (&blocks.k1[s], factors.u1(s));
            Mat::from_fn(k.nrows(), k.ncols(), |i, j| u1 * k[(i, j)])
        };
        self.learn(Lesson {
            tilde: (0..=t).map(|s| combination(factors.d[s], &blocks.k1[s], factors.u0[s], &blocks.delta[s])).collect(),
            prior: (0..=t).map(scaled).collect(),
            y: blocks.y.clone(),
            name,
        })
    }

    /// Adds task T, given by its covariances.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] where `K̃_TT` is.
    pub fn learn(&mut self, lesson: Lesson<'_>) -> Result<()> {
        let Lesson { mut tilde, prior: mut c, y, name } = lesson;
        let t = self.len();
        // Task T itself stands last in both.
        let (mut own, mut own_s) = (tilde.remove(t), c.remove(t));
        let p = own.nrows();
        for i in 0..p {
            own[(i, i)] += self.ridge;
            own_s[(i, i)] += self.ridge;
        }
        let factor = Cholesky::factor(own.as_ref(), name)?;
        let x: Vec<Mat<f64>> =
            (0..t).map(|s| self.links[s].factor.solve(tilde[s].transpose()).transpose().to_owned()).collect();
        let gamma = contract(&self.prior_covariances(&c));
        let mut residual = y;
        for (x, link) in x.iter().zip(&self.links) {
            let g = matmul(x.as_ref(), column(&link.residual));
            residual.iter_mut().enumerate().for_each(|(i, r)| *r -= g[(i, 0)]);
        }
        let a = self.through(&x);
        // Cov(ε_T, ε_s) = −Γ_s − Σ_r X_r Ŝ_rs.
        let mut s: Vec<Mat<f64>> = Vec::with_capacity(t + 1);
        for (j, gamma) in gamma.iter().enumerate() {
            let mut block = gamma.clone();
            for (r, x) in x.iter().enumerate() {
                matmul_into(block.as_mut(), 1.0, 1.0, x.as_ref(), self.covariance(r, j));
            }
            s.push(Mat::from_fn(p, block.ncols(), |i, k| -block[(i, k)]));
        }
        // Var ε_T = C_TT + Σ_s (X_s Γ_sᵀ + Γ_s X_sᵀ) + Σ_rs X_r Ŝ_rs X_sᵀ = C_TT + Σ_s (X_s Γ_sᵀ − Cov(ε_T, ε_s) X_sᵀ).
        for j in 0..t {
            matmul_into(own_s.as_mut(), 1.0, 1.0, x[j].as_ref(), gamma[j].transpose());
            matmul_into(own_s.as_mut(), 1.0, -1.0, s[j].as_ref(), x[j].transpose());
        }
        s.push(own_s);
        self.links.push(Link { factor, a, s, residual });
        Ok(())
    }

    /// The factor of `K̃_ss`.
    pub fn factor(&self, s: usize) -> &Cholesky {
        &self.links[s].factor
    }

    /// The mean `ȳ_s` of `ε_s`.
    pub fn residual(&self, s: usize) -> &[f64] {
        &self.links[s].residual
    }

    /// `A_sr`, r < s.
    pub fn prediction(&self, s: usize, r: usize) -> MatRef<'_, f64> {
        self.links[s].a[r].as_ref()
    }

    /// `Ŝ_rs` for any order of r and s.
    pub fn covariance(&self, r: usize, s: usize) -> MatRef<'_, f64> {
        if r >= s { self.links[r].s[s].as_ref() } else { self.links[s].s[r].transpose() }
    }

    /// `[K̃_1 … ] 𝓛^{-1}` from `X_s = K̃_s K̃_ss^{-1}`: block t is `X_t − Σ_{s>t} X_s A_st`.
    fn through(&self, x: &[Mat<f64>]) -> Vec<Mat<f64>> {
        (0..x.len())
            .map(|t| {
                let mut block = x[t].clone();
                for s in t + 1..x.len() {
                    matmul_into(block.as_mut(), 1.0, -1.0, x[s].as_ref(), self.links[s].a[t].as_ref());
                }
                block
            })
            .collect()
    }

    /// What turns kernels between inputs and tasks into predictions: `z_s = κ_s K̃_ss^{-1}`, and `2 Γ_s + Σ_r z_r Ŝ_rs`, to be folded
    /// with z_s.
    fn folds(&self, kappa: &[Mat<f64>], c: &[Mat<f64>]) -> Vec<(Mat<f64>, Mat<f64>)> {
        let z: Vec<Mat<f64>> = kappa
            .iter()
            .zip(&self.links)
            .map(|(k, link)| link.factor.solve(k.transpose()).transpose().to_owned())
            .collect();
        let gamma = contract(&self.prior_covariances(c));
        let weights: Vec<Mat<f64>> = z
            .iter()
            .enumerate()
            .map(|(s, z_s)| {
                let mut weight = Mat::from_fn(z_s.nrows(), z_s.ncols(), |i, j| 2.0 * gamma[s][(i, j)]);
                for (r, z_r) in z.iter().enumerate() {
                    matmul_into(weight.as_mut(), 1.0, 1.0, z_r.as_ref(), self.covariance(r, s));
                }
                weight
            })
            .collect();
        z.into_iter().zip(weights).collect()
    }

    /// Mean and variance of `f⁰(x) + Σ_s κ_s(x) u_s` after the first `kappa.len()` tasks, one row of κ_s and of
    /// `c_s = Cov(f⁰(x), f⁰_s(X_s))` per input; `prior` is `Var f⁰(x)`.
    pub fn predict(&self, kappa: &[Mat<f64>], c: &[Mat<f64>], prior: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut mean = vec![0.0; prior.len()];
        let mut variance = prior.to_vec();
        for (s, (z, weight)) in self.folds(kappa, c).iter().enumerate() {
            let part = matmul(z.as_ref(), column(&self.links[s].residual));
            for i in 0..prior.len() {
                mean[i] += part[(i, 0)];
                variance[i] += (0..z.ncols()).map(|j| z[(i, j)] * weight[(i, j)]).sum::<f64>();
            }
        }
        (mean, variance)
    }

    /// The same for m outputs on n inputs, output after output in the rows: means (n × m), and the covariance of the outputs of
    /// every input; `prior(i)` is the prior's.
    pub fn predict_outputs(
        &self,
        kappa: &[Mat<f64>],
        c: &[Mat<f64>],
        inputs: usize,
        prior: impl Fn(usize) -> Mat<f64>,
    ) -> (Mat<f64>, Vec<Mat<f64>>) {
        let mut covariance: Vec<Mat<f64>> = (0..inputs).map(prior).collect();
        let outputs = kappa.first().map_or(0, |k| k.nrows() / inputs.max(1));
        let mut mean = Mat::zeros(inputs, outputs);
        for (s, (z, weight)) in self.folds(kappa, c).iter().enumerate() {
            let part = matmul(z.as_ref(), column(&self.links[s].residual));
            for i in 0..inputs {
                let row = |a: usize| a * inputs + i;
                let fold =
                    |a: usize, b: usize| (0..z.ncols()).map(|j| z[(row(a), j)] * weight[(row(b), j)]).sum::<f64>();
                for a in 0..outputs {
                    mean[(i, a)] += part[(row(a), 0)];
                    for b in 0..=a {
                        let both = 0.5 * (fold(a, b) + fold(b, a));
                        covariance[i][(a, b)] += both;
                        if a != b {
                            covariance[i][(b, a)] += both;
                        }
                    }
                }
            }
        }
        (mean, covariance)
    }
}

/// `d K¹ + u0 ΔK`; ΔK is not read where u0 = 0.
fn combination(d: f64, k1: &Mat<f64>, u0: f64, delta: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(k1.nrows(), k1.ncols(), |i, j| d * k1[(i, j)] + if u0 == 0.0 { 0.0 } else { u0 * delta[(i, j)] })
}

/// `Σ_t Γ[s][t]` for every s.
fn contract(gamma: &[Vec<Mat<f64>>]) -> Vec<Mat<f64>> {
    let sum = |row: &Vec<Mat<f64>>| row[1..].iter().fold(row[0].clone(), |sum, block| sum + block);
    gamma.iter().map(sum).collect()
}
