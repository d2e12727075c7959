//! `H_T` of several outputs at finite β: three matrices share no basis, so `K̃ = D ⊗ K¹ + U0 ⊗ ΔK + β^{-1}` is kept whole.
//!
//! With `M = K̃^{-1}`, `Ψ = U0 ⊗ K⁰ + Σ_kl θ_kθ_lᵀ ⊗ S_kl + r rᵀ`, `r = y − Σ_k θ_k ⊗ g_k` and blocks `M^{ab}` of P rows, the data's part
//! of H is `(1/N){ln det K̃ + Tr MΨ}`. In a frame in which D and U0 are diagonal all of K̃ but the temperature is; temperature becomes
//! `E Eᵀ ⊗ β^{-1}`, with the dual vectors in the rows of E.

use super::frame::{Frame, from_coordinates, packed, symmetric};
use super::newton::{Form, Local};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, SymmetricEigen, matmul};
use crate::theory::multi_head::combined::ratio;
use crate::theory::multi_head::small::solve_small;

/// The fixed matrices of one step, in any basis.
#[derive(Debug, Clone)]
pub(super) struct Dense {
    pub k1: Mat<f64>,
    pub delta: Mat<f64>,
    /// What `β^{-1}` becomes in the basis.
    pub ridge: Mat<f64>,
    /// Labels, P × m.
    pub y: Mat<f64>,
    /// `g`, P × n.
    pub g: Mat<f64>,
    /// `S_kl` for l ≤ k, packed.
    pub covariance: Vec<Mat<f64>>,
    /// `C`, n × n.
    pub unit: Mat<f64>,
    /// The width N.
    pub width: f64,
    /// The prior variance of readouts.
    pub sigma2: f64,
}

/// What [`Dense`] keeps between equations and Jacobian.
pub(super) struct Work {
    /// M and `MΨM`, whole.
    m: Mat<f64>,
    learned: Mat<f64>,
    /// `Σ_l θ_cl S_kl − g_k r_cᵀ` at k·m + c.
    along: Vec<Mat<f64>>,
    phi: Mat<f64>,
    /// `∂H/∂D` and `∂H/∂U0` in the frame.
    gd: Mat<f64>,
    gu: Mat<f64>,
}

/// Block (a, b) of a matrix of blocks of p rows.
fn block(m: &Mat<f64>, a: usize, b: usize, p: usize) -> MatRef<'_, f64> {
    m.as_ref().submatrix(a * p, b * p, p, p)
}

/// `Σ_ij a_ij b_ij`.
fn inner(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    (0..a.ncols()).map(|j| (0..a.nrows()).map(|i| a[(i, j)] * b[(i, j)]).sum::<f64>()).sum()
}

/// Matrices as columns, each entry by entry, transposed where asked.
fn flattened(all: &[Mat<f64>], transposed: bool) -> Mat<f64> {
    let p = all.first().map_or(0, |m| m.nrows());
    Mat::from_fn(p * p, all.len(), |ij, k| {
        let (i, j) = (ij % p, ij / p);
        if transposed { all[k][(j, i)] } else { all[k][(i, j)] }
    })
}

impl Dense {
    fn rows(&self) -> usize {
        self.k1.nrows()
    }

    /// `S_kl` for any order of k and l.
    fn spread(&self, k: usize, l: usize) -> MatRef<'_, f64> {
        let m = &self.covariance[packed(k, l)];
        if k >= l { m.as_ref() } else { m.transpose() }
    }

    /// The factor of K̃ in a frame, or `None` where it is not positive definite.
    fn factor(&self, frame: &Frame) -> Result<Option<Cholesky>> {
        let (p, m) = (self.rows(), frame.size());
        let warm = matmul(frame.e.as_ref(), frame.e.transpose());
        let full = Mat::from_fn(m * p, m * p, |i, j| {
            let (a, b, i, j) = (i / p, j / p, i % p, j % p);
            let cold = if a == b { self.k1[(i, j)] + frame.rho[a] * self.delta[(i, j)] } else { 0.0 };
            cold + warm[(a, b)] * self.ridge[(i, j)]
        });
        if !(0..m * p).all(|i| full[(i, i)].is_finite()) {
            return Ok(None);
        }
        match Cholesky::factor_owned(full, "renormalized kernel") {
            Ok(factor) => Ok(Some(factor)),
            Err(Error::NotPositiveDefinite { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// `Σ_l θ_cl S_kl`.
    fn mixed(&self, theta: &Mat<f64>, c: usize, k: usize) -> Mat<f64> {
        let p = self.rows();
        let mut sum = Mat::zeros(p, p);
        for l in 0..theta.ncols() {
            let (weight, s) = (theta[(c, l)], self.spread(k, l));
            sum += Mat::from_fn(p, p, |i, j| weight * s[(i, j)]);
        }
        sum
    }

    /// `H` up to a constant that no unknown enters, at any cross unknowns θ.
    #[cfg(test)]
    pub fn value(&self, frame: &Frame, theta: MatRef<'_, f64>) -> Result<f64> {
        let theta = matmul(frame.e.as_ref(), theta);
        let (p, m) = (self.rows(), frame.size());
        let factor = self.factor(frame)?.ok_or_else(|| Error::data("K", "not positive definite"))?;
        let y = matmul(self.y.as_ref(), frame.e.transpose());
        let miss = &y - matmul(self.g.as_ref(), theta.transpose());
        let psi = self.psi(frame, &theta, &miss);
        let unit = matmul(matmul(theta.as_ref(), self.unit.as_ref()).as_ref(), theta.transpose());
        let solved = factor.solve(psi.as_ref());
        let trace: f64 = (0..m * p).map(|i| solved[(i, i)]).sum();
        let prior: f64 = (0..m)
            .map(|a| {
                let norm: f64 = (0..m).map(|i| frame.f[(i, a)].powi(2)).sum();
                (1.0 + frame.rho[a]) * norm / self.sigma2 - frame.rho[a] - unit[(a, a)]
            })
            .sum();
        let logdet = frame.logdet()?;
        Ok(prior - logdet + (p as f64 * logdet + factor.logdet() + trace) / self.width)
    }

    /// Ψ in the frame.
    fn psi(&self, frame: &Frame, theta: &Mat<f64>, miss: &Mat<f64>) -> Mat<f64> {
        let (p, m) = (self.rows(), frame.size());
        let mut psi = Mat::zeros(m * p, m * p);
        for c in 0..m {
            let mixed: Vec<Mat<f64>> = (0..theta.ncols()).map(|k| self.mixed(theta, c, k)).collect();
            for a in 0..m {
                let mut part = psi.as_mut().submatrix_mut(a * p, c * p, p, p);
                for j in 0..p {
                    for i in 0..p {
                        let mut entry = miss[(i, a)] * miss[(j, c)];
                        if a == c {
                            entry += frame.rho[a] * (self.k1[(i, j)] - self.delta[(i, j)]);
                        }
                        for (k, mixed) in mixed.iter().enumerate() {
                            entry += theta[(a, k)] * mixed[(i, j)];
                        }
                        part[(i, j)] = entry;
                    }
                }
            }
        }
        symmetric(psi.as_ref())
    }
}

impl Form for Dense {
    type Work = Work;

    fn outputs(&self) -> usize {
        self.y.ncols()
    }

    fn at(&self, frame: &Frame) -> Result<Option<Local<Work>>> {
        let (p, m, n, width) = (self.rows(), frame.size(), self.g.ncols(), self.width);
        let Some(factor) = self.factor(frame)? else { return Ok(None) };
        let inverse = factor.solve(Mat::<f64>::identity(m * p, m * p).as_ref());
        let y = matmul(self.y.as_ref(), frame.e.transpose());
        // The cross unknowns: one system for all entries of θ̃.
        let blocks: Vec<Mat<f64>> = (0..m * m).map(|ac| block(&inverse, ac / m, ac % m, p).to_owned()).collect();
        let (flat, spreads) = (flattened(&blocks, false), flattened(&self.covariance, false));
        let turned = flattened(&self.covariance, true);
        let (sums, turned) = (matmul(flat.transpose(), spreads.as_ref()), matmul(flat.transpose(), turned.as_ref()));
        let mg: Vec<Mat<f64>> = blocks.iter().map(|b| matmul(b.as_ref(), self.g.as_ref())).collect();
        let gmg: Vec<Mat<f64>> = mg.iter().map(|b| matmul(self.g.transpose(), b.as_ref())).collect();
        let phi = Mat::from_fn(m * n, m * n, |ak, cl| {
            let (a, k, c, l) = (ak / n, ak % n, cl / n, cl % n);
            let of_pair = if k >= l { &sums } else { &turned };
            let data = of_pair[(a * m + c, packed(k, l))] + gmg[a * m + c][(k, l)];
            data / width - if a == c { self.unit[(k, l)] } else { 0.0 }
        });
        let right: Vec<f64> = (0..m * n)
            .map(|ak| {
                let (a, k) = (ak / n, ak % n);
                let products = (0..m).map(|c| {
                    mg[c * m + a].col_as_slice(k).iter().zip(y.col_as_slice(c)).map(|(x, y)| x * y).sum::<f64>()
                });
                products.sum::<f64>() / width
            })
            .collect();
        let rows: Vec<Vec<f64>> = (0..m * n).map(|i| (0..m * n).map(|j| phi[(i, j)]).collect()).collect();
        let solved = solve_small(&rows, &right);
        if solved.iter().any(|t| !t.is_finite()) {
            return Ok(None);
        }
        let largest = solved.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
        let theta_residual = rows.iter().zip(&right).fold(0.0, |most: f64, (row, right)| {
            let size = row.iter().map(|x| x.abs()).sum::<f64>() * largest + right.abs();
            most.max(ratio(row.iter().zip(&solved).map(|(a, b)| a * b).sum::<f64>() - right, size))
        });
        let theta = Mat::from_fn(m, n, |a, k| solved[a * n + k]);
        let miss = &y - matmul(self.g.as_ref(), theta.transpose());
        let psi = self.psi(frame, &theta, &miss);
        let learned = symmetric(matmul(matmul(inverse.as_ref(), psi.as_ref()).as_ref(), inverse.as_ref()).as_ref());

        let gram = matmul(frame.f.transpose(), frame.f.as_ref());
        let a = Mat::from_fn(m, m, |i, j| gram[(i, j)] / self.sigma2);
        let spread = symmetric(matmul(matmul(theta.as_ref(), self.unit.as_ref()).as_ref(), theta.transpose()).as_ref());
        let k0 = &self.k1 - &self.delta;
        let (mut gd, mut gu) = (Mat::zeros(m, m), Mat::zeros(m, m));
        let (mut scale_x, mut scale_z) = (vec![0.0; m], vec![0.0; m]);
        for b in 0..m {
            for c in 0..=b {
                let (own, seen) = (block(&inverse, b, c, p), block(&learned, b, c, p));
                let prior = inner(own, self.k1.as_ref()) / width;
                let trace = if b == c { frame.rho[b] - 1.0 } else { 0.0 };
                let fit = inner(seen, self.k1.as_ref()) / width;
                let entry = a[(b, c)] + prior + trace + spread[(b, c)] - fit;
                // Tr M ΔK + Tr M K⁰ = Tr M K¹, without the part that cancels.
                let change = inner(seen, self.delta.as_ref()) / width;
                let left = if b == c { prior - 1.0 } else { prior };
                let other = a[(b, c)] + left - change;
                for (i, j) in [(b, c), (c, b)] {
                    gd[(i, j)] = entry;
                    gu[(i, j)] = other;
                }
                if b == c {
                    scale_z[b] = a[(b, b)] + left.abs() + change.abs();
                    scale_x[b] = a[(b, b)] * (1.0 + frame.rho[b].abs())
                        + left.abs()
                        + spread[(b, b)].abs()
                        + fit.abs()
                        + frame.rho[b].abs() * (1.0 + inner(own, k0.as_ref()).abs() / width);
                }
            }
        }
        // At fixed ρ: D → e^X and U0 → e^{X/2} ρ e^{X/2}.
        let gx = Mat::from_fn(m, m, |i, j| gd[(i, j)] + 0.5 * (frame.rho[i] + frame.rho[j]) * gu[(i, j)]);
        let along = (0..n * m)
            .map(|kc| {
                let (k, c) = (kc / m, kc % m);
                let mixed = self.mixed(&theta, c, k);
                Mat::from_fn(p, p, |i, j| mixed[(i, j)] - self.g[(i, k)] * miss[(j, c)])
            })
            .collect();
        let gz = gu.clone();
        let work = Work { m: inverse, learned, along, phi, gd, gu };
        Ok(Some(Local { frame: frame.clone(), theta, gx, gz, scale_x, scale_z, theta_residual, spread, work }))
    }

    fn jacobian(&self, local: &Local<Work>) -> Result<(Mat<f64>, usize)> {
        let work = &local.work;
        let (p, m, n, width) = (self.rows(), local.frame.size(), self.g.ncols(), self.width);
        let half = m * (m + 1) / 2;
        let pairs = m * m;
        let times = |whole: &Mat<f64>, k: &Mat<f64>| -> Vec<Mat<f64>> {
            (0..pairs).map(|ab| matmul(block(whole, ab / m, ab % m, p), k.as_ref())).collect()
        };
        let k0 = &self.k1 - &self.delta;
        let kernels = [&self.k1, &self.delta];
        let n_k: Vec<Vec<Mat<f64>>> = kernels.iter().map(|k| times(&work.m, k)).collect();
        let l_k: Vec<Vec<Mat<f64>>> = kernels.iter().map(|k| times(&work.learned, k)).collect();
        let n_0 = times(&work.m, &k0);
        let flat = |all: &[Mat<f64>]| flattened(all, false);
        let turned = |all: &[Mat<f64>]| flattened(all, true);
        let product = |a: &Mat<f64>, b: &Mat<f64>| matmul(a.transpose(), b.as_ref());
        let (n_flat, n_turned): (Vec<_>, Vec<_>) = n_k.iter().map(|k| (flat(k), turned(k))).unzip();
        let l_flat: Vec<_> = l_k.iter().map(|k| flat(k)).collect();
        let n_0 = turned(&n_0);
        // Over all entries of (D, U0), symmetric or not: coefficient of X_ab Y_cd in the data's second-order terms.
        let tensor = |e: usize, f: usize| -> Mat<f64> {
            let nn = product(&n_flat[e], &n_turned[f]);
            let ln = product(&l_flat[f], &n_turned[e]);
            let no = if f == 1 { Some(product(&n_flat[e], &n_0)) } else { None };
            let on = if e == 1 { Some(product(&n_flat[f], &n_0)) } else { None };
            Mat::from_fn(pairs, pairs, |ab, cd| {
                let (a, b, c, d) = (ab / m, ab % m, cd / m, cd % m);
                // Tr(M E M E'), Tr(E M E' MΨM) and Tr(M E M K⁰⊗U0') with E = K X, E' = K' Y.
                let mut sum = -0.5 * nn[(d * m + a, b * m + c)] + ln[(a * m + d, c * m + b)];
                sum -= no.as_ref().map_or(0.0, |no| no[(d * m + a, b * m + c)]) * 0.5;
                sum -= on.as_ref().map_or(0.0, |on| on[(b * m + c, d * m + a)]) * 0.5;
                sum / width
            })
        };
        let tensors = [[tensor(0, 0), tensor(0, 1)], [tensor(1, 0), tensor(1, 1)]];
        // Steps of (D, U0) for every coordinate of (X, Z).
        let rho = |a: usize| local.frame.rho[a];
        let unit = |k: usize| {
            let mut v = vec![0.0; half];
            v[k % half] = 1.0;
            from_coordinates(&v, m)
        };
        let steps: Vec<[Mat<f64>; 2]> = (0..2 * half)
            .map(|k| {
                let x = unit(k);
                if k < half {
                    let along = Mat::from_fn(m, m, |a, b| 0.5 * x[(a, b)] * (rho(a) + rho(b)));
                    [x, along]
                } else {
                    [Mat::zeros(m, m), x]
                }
            })
            .collect();
        let stacked: Vec<Mat<f64>> =
            (0..2).map(|e| Mat::from_fn(pairs, 2 * half, |ab, k| steps[k][e][(ab / m, ab % m)])).collect();
        let mut form = Mat::<f64>::zeros(2 * half, 2 * half);
        for e in 0..2 {
            for f in 0..2 {
                let right = matmul(tensors[e][f].as_ref(), stacked[f].as_ref());
                form += matmul(stacked[e].transpose(), right.as_ref());
            }
        }
        let trace3 =
            |a: &Mat<f64>, b: &Mat<f64>, c: &Mat<f64>| inner(matmul(a.as_ref(), b.as_ref()).as_ref(), c.transpose());
        let own = Mat::from_fn(m, m, |a, b| local.spread[(a, b)] + if a == b { rho(a) } else { 0.0 });
        let scaled = Mat::from_fn(m, m, |a, b| work.gu[(a, b)] * (rho(a) + rho(b)));
        for k in 0..2 * half {
            for l in 0..2 * half {
                let ([xd, xu], [yd, yu]) = (&steps[k], &steps[l]);
                // −D[1]: half Tr X² − Tr X²(U0 + θCθᵀ) + Tr X U0'.
                let mut extra = 0.5 * inner(xd.as_ref(), yd.as_ref()) - trace3(xd, yd, &own);
                extra += 0.5 * (inner(xd.as_ref(), yu.as_ref()) + inner(xu.as_ref(), yd.as_ref()));
                // Second-order parts of e^X and e^{X/2} (ρ + Z) e^{X/2}, which the gradient multiplies.
                let (x, y) = (unit(k), unit(l));
                match (k < half, l < half) {
                    (true, true) => {
                        let inside = Mat::from_fn(m, m, |a, b| rho(a) * y[(a, b)]);
                        extra += 0.5 * trace3(&x, &y, &work.gd)
                            + 0.25 * trace3(&x, &inside, &work.gu)
                            + 0.125 * trace3(&x, &y, &scaled);
                    }
                    (false, false) => {}
                    _ => extra += 0.25 * (trace3(&x, &y, &work.gu) + trace3(&y, &x, &work.gu)),
                }
                form[(k, l)] += extra;
            }
        }
        // How θ̃ follows.
        let mut negative = 0;
        let mut hessian = Mat::from_fn(2 * half, 2 * half, |k, l| form[(k, l)] + form[(l, k)]);
        if n > 0 {
            // Z_k^d = Σ_c W_kc M^{cd}.
            let follow: Vec<Mat<f64>> = (0..n * m)
                .map(|kd| {
                    let (k, d) = (kd / m, kd % m);
                    let mut sum = Mat::zeros(p, p);
                    for c in 0..m {
                        sum += matmul(work.along[k * m + c].as_ref(), block(&work.m, c, d, p));
                    }
                    sum
                })
                .collect();
            let follow = flat(&follow);
            let sums: Vec<Mat<f64>> = n_flat.iter().map(|k| product(k, &follow)).collect();
            let unit_theta = matmul(local.theta.as_ref(), self.unit.as_ref());
            let mixed = Mat::from_fn(m * n, 2 * half, |ak, step| {
                let (a, k) = (ak / n, ak % n);
                let [x, z] = &steps[step];
                let mut sum = 0.0;
                for b in 0..m {
                    sum += 2.0 * x[(a, b)] * unit_theta[(b, k)];
                    for d in 0..m {
                        let row = a * m + b;
                        sum -= 2.0 * (x[(b, d)] * sums[0][(row, k * m + d)] + z[(b, d)] * sums[1][(row, k * m + d)])
                            / width;
                    }
                }
                sum
            });
            let rows: Vec<Vec<f64>> = (0..m * n).map(|i| (0..m * n).map(|j| work.phi[(i, j)]).collect()).collect();
            let mut solved = Mat::zeros(m * n, 2 * half);
            for k in 0..2 * half {
                let column: Vec<f64> = mixed.col_as_slice(k).to_vec();
                solve_small(&rows, &column).iter().enumerate().for_each(|(i, x)| solved[(i, k)] = *x);
            }
            let back = matmul(mixed.transpose(), solved.as_ref());
            for k in 0..2 * half {
                for l in 0..2 * half {
                    hessian[(k, l)] -= 0.5 * back[(k, l)];
                }
            }
            let eigen = SymmetricEigen::factor(symmetric(work.phi.as_ref()).as_ref(), "the cross unknowns' matrix")?;
            negative = eigen.values.iter().filter(|v| **v < 0.0).count();
        }
        Ok((hessian, negative))
    }

    fn unit_negative(&self) -> usize {
        let n = self.unit.nrows();
        let opposite: Vec<Vec<f64>> = (0..n).map(|k| (0..n).map(|l| -self.unit[(k, l)]).collect()).collect();
        self.outputs() * crate::theory::multi_head::small::negative_eigenvalues(&opposite)
    }
}
