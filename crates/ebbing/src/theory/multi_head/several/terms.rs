//! What step T needs of earlier tasks, for several outputs: `g`, `S` and C per cross unknown.
//!
//! Row a of θ holds what the entries `(a, c)` of `D_Ts` and `U0_Ts` multiply: unknown k stands for a task s, an output c of it, and
//! `K¹_Ts` (for `D_Ts`) or `ΔK_Ts` (for `U0_Ts`; none for s = 1). With `X_k = (B_k ⊗ e_cᵀ) K̃_ss^{-1}` the prediction for `X_T` is
//! `f⁰_T + Σ_k θ_ak X_k ε_s`, so that `g_k = X_k <ε_s>` and `S_kl = X_k Ŝ X_lᵀ + X_k Γ_lᵀ + Γ_k X_lᵀ`, where `Γ_l` is what unknown l
//! multiplies in `Cov(f⁰_T, ε_s)`.

use super::dense::Dense;
use super::frame::packed;
use super::problem::{Covariance, Problem};
use crate::linalg::{Mat, MatRef, column, matmul, matmul_into};
use crate::theory::multi_head::chain::Chain;

/// The kernels between the newest task and those before it, and its labels.
pub(super) struct Blocks {
    /// `K¹_Ts(X_T, X_s)` for s = 1 … T.
    pub k1: Vec<Mat<f64>>,
    /// `ΔK_Ts(X_T, X_s)`, with a placeholder for s = 1.
    pub delta: Vec<Mat<f64>>,
    /// `Y_T`, P × m.
    pub y: Mat<f64>,
}

/// `u1(T,s) = d + u0` and `u0(T,s)` of task T with tasks s = 1 … T, as m_T × m_s matrices; `u0(T,1) = 0`.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    pub d: Vec<Mat<f64>>,
    pub u0: Vec<Mat<f64>>,
}

impl Factors {
    /// From the cross unknowns of earlier tasks with so many outputs each, and the newest task's own.
    pub fn new(theta: &Mat<f64>, outputs: &[usize], d: Mat<f64>, u0: Mat<f64>) -> Self {
        let m = theta.nrows();
        let (mut factors, mut at) = (Factors { d: vec![], u0: vec![] }, 0);
        for (s, &count) in outputs.iter().enumerate() {
            let part = |first: usize| Mat::from_fn(m, count, |a, c| theta[(a, first + c)]);
            factors.d.push(part(at));
            at += count;
            factors.u0.push(if s == 0 { Mat::zeros(m, count) } else { part(at) });
            at += if s == 0 { 0 } else { count };
        }
        factors.d.push(d);
        factors.u0.push(u0);
        factors
    }

    /// `u1(T,s)`, s from 0.
    pub fn u1(&self, s: usize) -> Mat<f64> {
        &self.d[s] + &self.u0[s]
    }
}

/// `U ⊗ K` with one block of K per entry of U.
pub(super) fn kronecker(u: &Mat<f64>, k: &Mat<f64>) -> Mat<f64> {
    let (p, r) = (k.nrows(), k.ncols());
    Mat::from_fn(u.nrows() * p, u.ncols() * r, |i, j| u[(i / p, j / r)] * k[(i % p, j % r)])
}

/// `D ⊗ K¹ + U0 ⊗ ΔK`; ΔK is not read for the first task.
pub(super) fn combination(d: &Mat<f64>, k1: &Mat<f64>, u0: &Mat<f64>, delta: &Mat<f64>) -> Mat<f64> {
    let mut all = kronecker(d, k1);
    if delta.ncols() > 0 && u0.norm_max() > 0.0 {
        all += kronecker(u0, delta);
    }
    all
}

/// The parts of one step in the basis `v` (P_T × P_T).
pub(super) struct Parts {
    /// `Vᵀ Y`.
    pub y: Mat<f64>,
    /// `g`, P × n.
    pub g: Mat<f64>,
    /// X_k, and `Γ_l` within every earlier task s ≥ the unknown's own.
    x: Vec<Mat<f64>>,
    gamma: Vec<Vec<Mat<f64>>>,
    /// The task (from 0) of every unknown.
    source: Vec<usize>,
}

impl Parts {
    /// For step T = `chain.len() + 1`, where earlier heads have so many outputs.
    pub fn new(chain: &Chain, blocks: &Blocks, outputs: &[usize], v: MatRef<'_, f64>) -> Self {
        let rows = |k: &Mat<f64>| matmul(v.transpose(), k.as_ref());
        let k1: Vec<Mat<f64>> = blocks.k1[..chain.len()].iter().map(rows).collect();
        let (mut x, mut source, mut of_output) = (Vec::new(), Vec::new(), Vec::new());
        for s in 0..chain.len() {
            let mut kernels = vec![k1[s].clone()];
            kernels.extend((s > 0).then(|| rows(&blocks.delta[s])));
            for kernel in kernels {
                for c in 0..outputs[s] {
                    let placed = in_block(&kernel, c, outputs[s]);
                    x.push(chain.factor(s).solve(placed.transpose()).transpose().to_owned());
                    source.push(s);
                    of_output.push(c);
                }
            }
        }
        let g = {
            let columns: Vec<Mat<f64>> =
                x.iter().zip(&source).map(|(x, &s)| matmul(x.as_ref(), column(chain.residual(s)))).collect();
            Mat::from_fn(v.ncols(), x.len(), |i, k| columns[k][(i, 0)])
        };
        // Γ of unknown l within task s ≥ t, its own: −K¹_Tt in the block of its output for s = t, K¹_Tt A_stᵀ beyond.
        let gamma = (0..x.len())
            .map(|l| {
                let (t, c) = (source[l], of_output[l]);
                (t..chain.len())
                    .map(|s| {
                        if s == t {
                            let placed = in_block(&k1[t], c, outputs[t]);
                            return Mat::from_fn(placed.nrows(), placed.ncols(), |i, j| -placed[(i, j)]);
                        }
                        let (a, p) = (chain.prediction(s, t), k1[t].ncols());
                        matmul(k1[t].as_ref(), a.subcols(c * p, p).transpose())
                    })
                    .collect()
            })
            .collect();
        Parts { y: rows(&blocks.y), g, x, gamma, source }
    }

    /// The matrices whose products sum to `S_kl = Σ left rightᵀ`.
    fn products(&self, k: usize, l: usize, spread: &Mat<f64>) -> Vec<(Mat<f64>, Mat<f64>)> {
        let (sk, sl) = (self.source[k], self.source[l]);
        let mut all = vec![(spread.clone(), self.x[l].clone())];
        if sl <= sk {
            all.push((self.x[k].clone(), self.gamma[l][sk - sl].clone()));
        }
        if sk <= sl {
            all.push((self.gamma[k][sl - sk].clone(), self.x[l].clone()));
        }
        all
    }

    /// `f(k, l)` from the products of every pair l ≤ k.
    fn pairs<R>(&self, chain: &Chain, f: impl Fn(&[(Mat<f64>, Mat<f64>)]) -> R) -> Vec<R> {
        let mut all = Vec::new();
        for k in 0..self.x.len() {
            let spread: Vec<Mat<f64>> =
                (0..=self.source[k]).map(|r| matmul(self.x[k].as_ref(), chain.covariance(self.source[k], r))).collect();
            for l in 0..=k {
                all.push(f(&self.products(k, l, &spread[self.source[l]])));
            }
        }
        all
    }

    /// The diagonals of `S_kl`, one column per pair.
    pub fn diagonals(&self, chain: &Chain) -> Mat<f64> {
        let p = self.y.nrows();
        let columns = self.pairs(chain, |products| {
            let mut diagonal = vec![0.0; p];
            for (a, b) in products {
                for j in 0..a.ncols() {
                    let (a, b) = (a.col_as_slice(j), b.col_as_slice(j));
                    diagonal.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
                }
            }
            diagonal
        });
        Mat::from_fn(p, columns.len(), |i, k| columns[k][i])
    }

    /// `S_kl` themselves.
    fn whole(&self, chain: &Chain) -> Vec<Mat<f64>> {
        let p = self.y.nrows();
        self.pairs(chain, |products| {
            let mut sum = Mat::zeros(p, p);
            products.iter().for_each(|(a, b)| matmul_into(sum.as_mut(), 1.0, 1.0, a.as_ref(), b.transpose()));
            sum
        })
    }

    /// The problem in the pencil's basis, with eigenvalues s.
    pub fn problem(self, chain: &Chain, s: Vec<f64>, unit: Mat<f64>, width: f64, sigma2: f64) -> Problem {
        let covariance = Covariance::Whole(self.diagonals(chain));
        Problem { s, y: self.y, g: self.g, covariance, unit, width, sigma2, near: None }
    }

    /// The problem with whole matrices, in the basis v.
    pub fn dense(
        self,
        chain: &Chain,
        blocks: &Blocks,
        (v, ridge): (MatRef<'_, f64>, f64),
        unit: Mat<f64>,
        (width, sigma2): (f64, f64),
    ) -> Dense {
        let newest = chain.len();
        let within = |k: &Mat<f64>| matmul(matmul(v.transpose(), k.as_ref()).as_ref(), v);
        let norms = matmul(v.transpose(), v);
        Dense {
            k1: within(&blocks.k1[newest]),
            delta: within(&blocks.delta[newest]),
            ridge: Mat::from_fn(v.ncols(), v.ncols(), |i, j| ridge * norms[(i, j)]),
            covariance: self.whole(chain),
            y: self.y,
            g: self.g,
            unit,
            width,
            sigma2,
        }
    }
}

/// C: the covariance of 1×1 kernels equal to 1, without labels.
pub(super) fn unit_covariance(unit: &Chain, outputs: &[usize]) -> Mat<f64> {
    let one = Mat::from_fn(1, 1, |_, _| 1.0);
    let zero = Mat::zeros(1, 1);
    let blocks = Blocks { k1: vec![one; unit.len() + 1], delta: vec![zero; unit.len() + 1], y: Mat::zeros(1, 1) };
    let parts = Parts::new(unit, &blocks, outputs, Mat::<f64>::identity(1, 1).as_ref());
    let (flat, n) = (parts.diagonals(unit), parts.x.len());
    Mat::from_fn(n, n, |k, l| flat[(0, packed(k, l))])
}

/// A matrix as block c of `count` blocks, the others zero.
fn in_block(k: &Mat<f64>, c: usize, count: usize) -> Mat<f64> {
    let p = k.ncols();
    Mat::from_fn(k.nrows(), count * p, |i, j| if j / p == c { k[(i, j % p)] } else { 0.0 })
}
