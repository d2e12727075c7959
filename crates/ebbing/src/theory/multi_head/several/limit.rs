//! λ → ∞ for two tasks with several outputs: a regime for every direction of head 2.
//!
//! With θ eliminated, the free energy at finite λ is a sum over directions of a frame, `D = Σ f_af_aᵀ` with dual vectors e_a and
//! `U0 = λ Σ r_af_af_aᵀ` (derived in `docs/theory.md`):
//!
//! ```math
//! \mathcal H = \sum_a\{\sigma^{-2}(1+\lambda r_a)|f_a|^2 - \lambda T(r_a) + e_a^\top\mathcal R(r_a)e_a\} + (\alpha-1)\ln\det D + O(1)
//! ```
//!
//! with `T' = t(r) = 1 − Tr(M^{-1}K)²/N`, `M = K + rΔ̂`, and the matrix `𝓡(r) = yy − byᵀΦ^{-1}by` of what a direction costs, where
//! `yy = Y_2ᵀM^{-1}Y_2/N`, `by = BᵀM^{-1}Y_2/N`, `Φ = U11(1 − Tr(GM^{-1})/N) + BᵀM^{-1}B/N`. As λ → ∞:
//!
//! - α < 1: all directions keep representations fixed; `D = σ²(1−α)`, `U0 = 𝓡(0)/(1−α)`.
//! - α > 1, **generalization**: `𝓡(r_a)ε_a = 0` at an `r_a > r*`, with `t(r*) = 0`, `e_a = λ^½ε_a` and `ε_aᵀ𝓡'(r_a)ε_a = t(r_a)`.
//! - α > 1, **overfitting**: all other directions have r = r*, `e_a = λ^¼ε_a`, are orthogonal to the former in `𝓡(r*)`, and
//!   `(r*/σ²) f_a·f_b = ε_aᵀ𝓡(r*)ε_b` among themselves; without generalizing directions `D² = σ²𝓡(r*)/(λr*)`.
//!
//! The number of generalizing directions is that of negative eigenvalues of `Ψ(r*) = Φ − by yy^{-1}byᵀ` (m_1 × m_1): the k-th critical
//! load is where the k-th of them turns negative. At most m_1 directions can generalize.

use super::frame::{Frame, symmetric};
use super::maps::{Group, Maps};
use super::one_task::{FirstFactors, without_labels};
use super::pair::{TwoTaskOutputs, TwoTaskOutputsPoint};
use super::problem::Problem;
use super::start::Sums;
use crate::error::{Error, Result, refuse};
use crate::linalg::{Cholesky, Mat, SymmetricEigen, matmul};
use crate::stats::try_bisect;
use crate::theory::multi_head::critical::BOUND;
use crate::theory::multi_head::limit::Regime;
use crate::theory::multi_head::saddle::TOLERANCE;
use crate::theory::multi_head::solve::EquationResidual;
use serde::Serialize;

/// Roots of generalizing directions closer than this, relatively, count as one: classes that are alike by symmetry.
const SAME_ROOT: f64 = 1e-9;

/// The directions of head 2 at λ = ∞, in the order of [`TwoTaskOutputsPoint::rho`].
#[derive(Debug, Clone)]
pub struct LimitDirections {
    /// The regime of every direction.
    pub regimes: Vec<Regime>,
    /// The directions as unit vectors among the outputs of head 2, one per column: readouts of head 2 lie along them.
    pub axes: Mat<f64>,
    /// Their dual vectors, one per row: the combination of targets that a direction learns.
    pub duals: Mat<f64>,
}

impl LimitDirections {
    /// How many directions generalize.
    pub fn generalizing(&self) -> usize {
        self.regimes.iter().filter(|r| **r == Regime::Generalization).count()
    }
}

/// The critical loads of the directions of head 2, ascending.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionLoads {
    /// The load above which at least k + 1 directions generalize; 1 where they do at every load above 1, ∞ where none was found.
    #[serde(with = "crate::serde_infinity::list")]
    pub alpha_c: Vec<f64>,
    /// The largest load that was searched.
    pub bound: f64,
}

/// One generalizing direction: r, the null vector ν of Ψ and ε, in units in which `ε·𝓡'ε = t`.
struct General {
    r: f64,
    theta: Vec<f64>,
    e: Vec<f64>,
    residual: f64,
}

/// `Ψ = Φ − by yy^{-1} byᵀ`.
fn psi(sums: &Sums) -> Result<Mat<f64>> {
    let factor = Cholesky::factor(sums.yy.as_ref(), "products of the labels of task 2")?;
    let half = factor.half_solve(sums.gy.transpose());
    Ok(symmetric((&sums.phi - matmul(half.transpose(), half.as_ref())).as_ref()))
}

impl TwoTaskOutputs {
    /// Sums at one r of the limit.
    fn sums_at(&self, problem: &Problem, r: f64) -> Result<Sums> {
        problem.sums(r).ok_or_else(|| self.unsolved("the domain of the two-task limit", r, f64::INFINITY))
    }

    /// Eigenvalues and vectors of Ψ(r), ascending.
    fn psi_at(&self, problem: &Problem, r: f64) -> Result<SymmetricEigen> {
        crate::stop::check()?;
        let psi = psi(&self.sums_at(problem, r)?)?;
        SymmetricEigen::factor(psi.as_ref(), "what decides between overfitting and generalization")
    }

    /// The factors at λ = ∞.
    pub(super) fn limit_point(&self, alpha: f64) -> Result<TwoTaskOutputsPoint> {
        let expected = "must not be 1 at lambda = inf: fixed representations end there, and only smaller and larger loads have a \
                        solution";
        refuse(alpha == 1.0, "alpha", 1, expected)?;
        if self.readout.bound.is_finite() {
            let reason = "its limit is derived for one output per head; use a large finite lambda";
            return Err(Error::outside("a bound on the readouts of several outputs at lambda = inf", reason));
        }
        let width = self.y.nrows() as f64 / alpha;
        let first = self.first.factor(width, self.readout)?;
        let problem = self.problem(width, &first.u);
        if alpha < 1.0 { self.fixed(alpha, first, &problem) } else { self.beyond(alpha, first, &problem) }
    }

    /// α < 1.
    fn fixed(&self, alpha: f64, first: FirstFactors, problem: &Problem) -> Result<TwoTaskOutputsPoint> {
        let at = problem.at_rho(0.0).ok_or_else(|| self.unsolved("rho = 0", alpha, f64::INFINITY))?;
        let sums = self.sums_at(problem, 0.0)?;
        let (m, d) = (self.y.ncols(), without_labels(self.readout.sigma2, alpha));
        let theta = solved(&sums.phi, &sums.gy).transpose().to_owned();
        let u0 = Mat::from_fn(m, m, |a, b| at.r[(a, b)] / (1.0 - alpha));
        let root = d.sqrt();
        let diagonal = |v: f64| Mat::from_fn(m, m, |a, b| if a == b { v } else { 0.0 });
        let q = matmul(matmul(theta.as_ref(), first.u.as_ref()).as_ref(), theta.transpose());
        let own = Mat::from_fn(m, m, |a, b| (u0[(a, b)] + if a == b { d } else { 0.0 }) / d);
        let (f, e) = (diagonal(root), diagonal(1.0 / root));
        let earlier = Mat::from_fn(m, m, |a, b| q[(a, b)] / d);
        let spread = Group { places: (0..m).collect(), f: f.clone(), e: e.clone(), own, earlier };
        let change = empty(m);
        let maps = Maps {
            u11: first.u.clone(),
            theta,
            rho: vec![0.0; m],
            f,
            e,
            change,
            spread,
            exponent: 0.0,
            silent: (first.silent, d),
        };
        let u22 = Mat::from_fn(m, m, |a, b| u0[(a, b)] + if a == b { d } else { 0.0 });
        self.assembled(alpha, &first, maps, [u22, u0, diagonal(d)], vec![Regime::FixedRepresentations; m], vec![])
    }

    /// α > 1.
    fn beyond(&self, alpha: f64, first: FirstFactors, problem: &Problem) -> Result<TwoTaskOutputsPoint> {
        let (m, n) = (self.y.ncols(), self.b.ncols());
        let star = self.pair.rho_star(alpha)?;
        let general = self.generalizing(problem, star, alpha)?;
        let (k, h) = (general.len(), m.saturating_sub(general.len()));
        if k > m {
            return Err(self.unsolved("at most one root per output", alpha, k as f64));
        }
        let (f, e, residual) = self.frames(problem, star, &general, alpha)?;
        let sums = self.sums_at(problem, star)?;
        // θ = Σ f_a θ̃_a: Φ^{-1}by ε for those that overfit, ν for those that generalize.
        let mut theta = Mat::zeros(m, n);
        let follow = solved(&sums.phi, &sums.gy);
        for a in 0..m {
            for l in 0..n {
                let row =
                    if a < h { (0..m).map(|b| follow[(l, b)] * e[(a, b)]).sum() } else { general[a - h].theta[l] };
                for j in 0..m {
                    theta[(j, l)] += f[(j, a)] * row;
                }
            }
        }
        let rho: Vec<f64> = (0..m).map(|a| if a < h { star } else { general[a - h].r }).collect();
        let group = |places: Vec<usize>, earlier: bool| {
            let count = places.len();
            let e_part = Mat::from_fn(count, m, |a, j| e[(places[a], j)]);
            let inner = matmul(e_part.as_ref(), theta.as_ref());
            let q = matmul(matmul(inner.as_ref(), first.u.as_ref()).as_ref(), inner.transpose());
            Group {
                f: Mat::from_fn(m, count, |j, a| f[(j, places[a])]),
                e: e_part,
                own: Mat::from_fn(count, count, |a, b| if a == b { rho[places[a]] } else { 0.0 }),
                earlier: if earlier { q } else { Mat::zeros(count, count) },
                places,
            }
        };
        let change = group((h..m).collect(), true);
        let spread = if h > 0 { group((0..h).collect(), false) } else { change.clone() };
        let sum = matmul(
            Mat::from_fn(m, spread.places.len(), |j, a| spread.f[(j, a)] * spread.own[(a, a)]).as_ref(),
            spread.f.transpose(),
        );
        let u22 = symmetric(sum.as_ref());
        let exponent = if h > 0 { 0.5 } else { 0.0 };
        let regimes =
            (0..m).map(|a| if a < h { Regime::Overfitting } else { Regime::Generalization }).collect::<Vec<_>>();
        let mut residuals = vec![];
        if h > 0 {
            residuals.push(("overfitting directions", residual));
        }
        if k > 0 {
            residuals.push(("generalizing directions", general.iter().fold(0.0, |m: f64, g| m.max(g.residual))));
        }
        let maps =
            Maps { u11: first.u.clone(), theta, rho, f, e, change, spread, exponent, silent: (first.silent, 0.0) };
        self.assembled(alpha, &first, maps, [u22.clone(), u22, Mat::zeros(m, m)], regimes, residuals)
    }

    /// All directions at r*, f in columns and e in rows: those that overfit first, then `general`.
    fn frames(
        &self,
        problem: &Problem,
        star: f64,
        general: &[General],
        alpha: f64,
    ) -> Result<(Mat<f64>, Mat<f64>, f64)> {
        let m = self.y.ncols();
        let (k, h) = (general.len(), m - general.len());
        let at = problem.at_rho(star).ok_or_else(|| self.unsolved("t(rho) = 0", alpha, f64::INFINITY))?;
        // Dual vectors of overfitting directions: orthogonal in 𝓡(r*) to those that generalize.
        let towards = Mat::from_fn(m, k, |a, j| {
            let image = |a: usize| (0..m).map(|b| at.r[(a, b)] * general[j].e[b]).sum::<f64>();
            image(a) / (0..m).map(|a| image(a).powi(2)).sum::<f64>().sqrt()
        });
        let products = symmetric(matmul(towards.as_ref(), towards.transpose()).as_ref());
        let basis = SymmetricEigen::factor(products.as_ref(), "directions that overfit")?.vectors;
        let duals = Mat::from_fn(m, m, |a, j| if a < h { basis[(j, a)] } else { general[a - h].e[j] });
        let frames = inverse_of(&duals);
        let part = |x: &Mat<f64>| Mat::from_fn(m, h, |i, a| x[(i, a)]);
        let (f_raw, n_raw) = (part(&frames), Mat::from_fn(m, h, |j, a| basis[(j, a)]));
        let mut residual = (1.0 - self.y.nrows() as f64 / self.pair.load_at(star) / problem.width).abs();
        let (mut f, mut e) = (frames.clone(), duals.clone());
        if h > 0 {
            // B R B = P for B = CᵀC, ε = C Nᵀ.
            let r = symmetric(matmul(matmul(n_raw.transpose(), at.r.as_ref()).as_ref(), n_raw.as_ref()).as_ref());
            let p = symmetric(matmul(f_raw.transpose(), f_raw.as_ref()).as_ref());
            let scale = star / self.readout.sigma2;
            let p = Mat::from_fn(h, h, |a, b| scale * p[(a, b)]);
            let b = self.riccati(&r, &p, alpha)?;
            let back = matmul(matmul(b.as_ref(), r.as_ref()).as_ref(), b.as_ref());
            residual = residual.max((&back - &p).norm_l2() / p.norm_l2());
            let c = Cholesky::factor(b.as_ref(), "directions that overfit")?;
            // ε = Lᵀ Nᵀ and f = F L^{-T}, B = L Lᵀ.
            let (ce, cf) = (matmul(c.l().transpose(), n_raw.transpose()), c.half_solve(f_raw.transpose()));
            for a in 0..h {
                for j in 0..m {
                    e[(a, j)] = ce[(a, j)];
                    f[(j, a)] = cf[(a, j)];
                }
            }
        }
        Ok((f, e, residual))
    }

    /// Where the limit puts the directions at a large finite λ: a start for Newton's method. `None` below α = 1, or where the limit
    /// has no solution.
    pub(super) fn start_beyond(&self, problem: &Problem) -> Option<Frame> {
        let alpha = problem.alpha();
        let star = (alpha > 1.0).then(|| self.pair.rho_star(alpha).ok()).flatten()?;
        let general = self.generalizing(problem, star, alpha).ok().filter(|g| g.len() <= self.y.ncols())?;
        let (f, e, _) = self.frames(problem, star, &general, alpha).ok()?;
        let h = self.y.ncols() - general.len();
        let rho = (0..self.y.ncols()).map(|a| if a < h { star } else { general[a - h].r }).collect();
        Some(Frame { f, e, rho })
    }

    /// A point from its maps and its factors u22, u0 and d.
    fn assembled(
        &self,
        alpha: f64,
        first: &FirstFactors,
        maps: Maps,
        [u22, u0, d]: [Mat<f64>; 3],
        regimes: Vec<Regime>,
        equations: Vec<(&str, f64)>,
    ) -> Result<TwoTaskOutputsPoint> {
        let [one, two] = &self.spans;
        let note = |step, unknown: &str, residual| EquationResidual { step, unknown: unknown.into(), residual };
        let mut residuals = vec![note(1, "U1(1,1)", first.residual)];
        for (equation, residual) in equations {
            if residual.is_nan() || residual >= TOLERANCE {
                return Err(self.unsolved(equation, alpha, residual));
            }
            residuals.push(note(2, equation, residual));
        }
        let u21 = matmul(maps.theta.as_ref(), first.u.as_ref());
        let axes = {
            let all = matmul(two.used.as_ref(), maps.f.as_ref());
            let norm = |a: usize| all.col_as_slice(a).iter().map(|x| x * x).sum::<f64>().sqrt();
            Mat::from_fn(all.nrows(), all.ncols(), |i, a| all[(i, a)] / norm(a))
        };
        let duals = {
            let all = matmul(maps.e.as_ref(), two.used.transpose());
            let norm = |a: usize| (0..all.ncols()).map(|j| all[(a, j)].powi(2)).sum::<f64>().sqrt();
            Mat::from_fn(all.nrows(), all.ncols(), |a, j| all[(a, j)] / norm(a))
        };
        let free = maps.silent.1;
        Ok(TwoTaskOutputsPoint {
            alpha,
            width: self.y.nrows() as f64 / alpha,
            lambda: f64::INFINITY,
            u11: one.own(first.u.as_ref(), first.silent),
            u12: one.expanded(u21.transpose(), two),
            u22: two.own(u22.as_ref(), free),
            u0: two.own(u0.as_ref(), 0.0),
            d: two.own(d.as_ref(), free),
            exponent: maps.exponent,
            rho: maps.rho.clone(),
            directions: Some(LimitDirections { regimes, axes, duals }),
            residuals,
            maps,
        })
    }

    /// All directions that generalize, by ascending r.
    fn generalizing(&self, problem: &Problem, star: f64, alpha: f64) -> Result<Vec<General>> {
        let negative =
            |r: f64| -> Result<usize> { Ok(self.psi_at(problem, r)?.values.iter().filter(|v| **v < 0.0).count()) };
        let count = negative(star)?;
        if count == 0 {
            return Ok(vec![]);
        }
        // Above the largest root no eigenvalue is negative; roots are looked for from there down, 30 % at a time.
        let mut grid = vec![star];
        let mut high = star.max(1e-12 * self.pair.rho_scale()) * 1.3;
        let mut counts = vec![count];
        while counts.last() != Some(&0) {
            counts.push(negative(high)?);
            grid.push(high);
            high *= 1.3;
            if grid.len() > 1000 || !high.is_finite() {
                return Err(self.unsolved("Psi(rho) = 0", alpha, f64::INFINITY));
            }
        }
        let mut roots = Vec::new();
        for j in 1..=count {
            let above = (0..grid.len()).rev().find(|&i| counts[i] >= j).unwrap_or(0);
            let left = grid[above];
            let right = grid[(above + 1).min(grid.len() - 1)];
            roots.push((j, try_bisect(left, right, |r| Ok::<_, Error>(negative(r)? >= j))?));
        }
        // The smallest eigenvalue crosses last: root j belongs to the j-th.
        roots.reverse();
        let mut all: Vec<General> = Vec::new();
        let mut at = 0;
        while at < roots.len() {
            let same = roots[at..].iter().take_while(|r| (r.1 / roots[at].1 - 1.0).abs() < SAME_ROOT).count();
            all.extend(self.null_vectors(problem, &roots[at..at + same], alpha)?);
            at += same;
        }
        Ok(all)
    }

    /// The directions at one root, from the eigenvectors of Ψ there.
    fn null_vectors(&self, problem: &Problem, roots: &[(usize, f64)], alpha: f64) -> Result<Vec<General>> {
        let r = roots[0].1;
        let (eigen, sums) = (self.psi_at(problem, r)?, self.sums_at(problem, r)?);
        let (n, m, p, g) = (self.b.ncols(), self.y.ncols(), self.y.nrows(), roots.len());
        let size = eigen.values.iter().fold(0.0, |m: f64, v| m.max(v.abs())) + sums.phi.norm_max();
        let nu = Mat::from_fn(n, g, |l, j| eigen.vectors[(l, roots[j].0 - 1)]);
        let yy = Cholesky::factor(sums.yy.as_ref(), "products of the labels of task 2")?;
        let e = yy.solve(matmul(sums.gy.transpose(), nu.as_ref()).as_ref());
        // ε·𝓡'ε, with θ̃ = ν itself: at large loads Φ has few digits.
        let miss = matmul(self.y.as_ref(), e.as_ref()) - matmul(self.b.as_ref(), nu.as_ref());
        let scaled = Mat::from_fn(p, g, |i, j| sums.sw2[i] * miss[(i, j)] / problem.width);
        let fit = matmul(miss.transpose(), scaled.as_ref());
        let turned = matmul(matmul(nu.transpose(), sums.turned.as_ref()).as_ref(), nu.as_ref());
        let slope = symmetric(Mat::from_fn(g, g, |a, b| -fit[(a, b)] - turned[(a, b)]).as_ref());
        let mixed = SymmetricEigen::factor(slope.as_ref(), "the slope of Psi")?;
        let t = 1.0 - sums.w.iter().map(|w| w * w).sum::<f64>() / problem.width;
        (0..g)
            .map(|j| {
                let slope = mixed.values[j];
                if !(slope > 0.0 && t > 0.0) {
                    return Err(self.unsolved("the slope of Psi(rho) at its root", alpha, f64::INFINITY));
                }
                let scale = (t / slope).sqrt();
                let turn =
                    |x: &Mat<f64>, i: usize| scale * (0..g).map(|k| x[(i, k)] * mixed.vectors[(k, j)]).sum::<f64>();
                Ok(General {
                    r,
                    theta: (0..n).map(|l| turn(&nu, l)).collect(),
                    e: (0..m).map(|a| turn(&e, a)).collect(),
                    residual: eigen.values[roots[j].0 - 1].abs() / size,
                })
            })
            .collect()
    }

    /// The positive definite B with `B R B = P`: `R^{-½}(R^½PR^½)^½R^{-½}`.
    fn riccati(&self, r: &Mat<f64>, p: &Mat<f64>, alpha: f64) -> Result<Mat<f64>> {
        let eigen = SymmetricEigen::factor(r.as_ref(), "what overfitting directions cost")?;
        if eigen.values.first().is_none_or(|v| *v <= 0.0) {
            return Err(self.unsolved("a positive cost of overfitting directions", alpha, f64::INFINITY));
        }
        let power = |eigen: &SymmetricEigen, exponent: f64| {
            let h = eigen.values.len();
            let scaled = Mat::from_fn(h, h, |i, j| eigen.vectors[(i, j)] * eigen.values[j].max(0.0).powf(exponent));
            symmetric(matmul(scaled.as_ref(), eigen.vectors.transpose()).as_ref())
        };
        let (root, back) = (power(&eigen, 0.5), power(&eigen, -0.5));
        let around = |a: &Mat<f64>, b: &Mat<f64>| {
            symmetric(matmul(matmul(a.as_ref(), b.as_ref()).as_ref(), a.as_ref()).as_ref())
        };
        let inner = SymmetricEigen::factor(around(&root, p).as_ref(), "directions that overfit")?;
        Ok(around(&back, &power(&inner, 0.5)))
    }

    /// The critical loads of the directions, one for every output of head 2 that has labels.
    ///
    /// # Errors
    /// [`Error::Setting`] at finite λ, where the transitions are smooth.
    pub fn critical_loads(&self) -> Result<DirectionLoads> {
        let expected = "must be inf for critical loads; at finite lambda the changes are smooth";
        refuse(self.lambda().is_finite(), "lambda", self.lambda(), expected)?;
        let negative = |r: f64| -> Result<usize> {
            let width = self.y.nrows() as f64 / self.pair.load_at(r);
            let first = self.first.factor(width, self.readout)?;
            let problem = self.problem(width, &first.u);
            Ok(self.psi_at(&problem, r)?.values.iter().filter(|v| **v < 0.0).count())
        };
        let m = self.y.ncols();
        let mut alpha_c = Vec::new();
        // As for one output: ten points per decade from α − 1 ≈ 1e-6.
        let mut r = 5e-7 * self.pair.rho_scale();
        alpha_c.resize(negative(r)?.min(m), 1.0);
        let step = 10f64.powf(0.1);
        while self.pair.load_at(r) < BOUND && alpha_c.len() < m {
            let next = r * step;
            let count = negative(next)?.min(m);
            while alpha_c.len() < count {
                let j = alpha_c.len() + 1;
                let root = try_bisect(r, next, |r| Ok::<_, Error>(negative(r)? < j))?;
                alpha_c.push(self.pair.load_at(root));
            }
            r = next;
        }
        alpha_c.resize(m, f64::INFINITY);
        Ok(DirectionLoads { alpha_c, bound: BOUND })
    }

    fn unsolved(&self, equation: &str, alpha: f64, residual: f64) -> Error {
        Error::NotConverged {
            what: format!("{equation} of the two-task limit at alpha = {alpha}"),
            residual,
            steps: 0,
            trace: vec![],
            advice: "the change kernel of task 2 may be singular; remove repeated inputs, or use a finite lambda"
                .into(),
        }
    }
}

/// No directions.
fn empty(m: usize) -> Group {
    Group { places: vec![], f: Mat::zeros(m, 0), e: Mat::zeros(0, m), own: Mat::zeros(0, 0), earlier: Mat::zeros(0, 0) }
}

/// `A^{-1} B` of small matrices.
fn solved(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    let n = a.nrows();
    let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| a[(i, j)]).collect()).collect();
    let mut x = Mat::zeros(n, b.ncols());
    for j in 0..b.ncols() {
        let column = crate::theory::multi_head::small::solve_small(&rows, b.col_as_slice(j));
        x.col_as_slice_mut(j).copy_from_slice(&column);
    }
    x
}

/// The vectors that are dual to the rows of a small matrix, in columns.
fn inverse_of(a: &Mat<f64>) -> Mat<f64> {
    solved(a, &Mat::identity(a.nrows(), a.nrows()))
}
