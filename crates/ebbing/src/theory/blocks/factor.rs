//! `K = [[K_cc, K_co], [K_oc, K_oo]]` of a task, factored so that the block of the inputs common to all tasks is factored once.

use super::kernels::{KernelSource, Kernels, Points, Which};
use super::repeats::Repeats;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, PseudoInverse, Scale, matmul, matmul_into};
use crate::rng::Stream;
use std::sync::Arc;

/// Fewer correct digits than this are an error.
const DIGITS_NEEDED: f64 = 4.0;

/// Eigenvalues below this fraction of the largest count as zero: what is left has at least five correct digits.
pub(crate) const RANK_TOLERANCE: f64 = 1e-10;

/// `K^{-1}` of one task's kernel, or its pseudo-inverse.
#[derive(Debug, Clone)]
pub(crate) enum Factor {
    /// `K_cc = L_c L_cᵀ`, `W = L_c^{-1} K_co`, `K_oo − WᵀW = L_o L_oᵀ`.
    Blocks { common: Option<Arc<Cholesky>>, w: Mat<f64>, own: Cholesky },
    /// At a stated rank.
    Pseudo(PseudoInverse),
    /// The pseudo-inverse of a kernel of which some rows are the same input: the factor of the different ones.
    Repeated { repeats: Repeats, of: Box<Factor> },
}

impl Factor {
    /// Factors a kernel of which no part is shared.
    pub fn plain(k: MatRef<'_, f64>, ridge: f64, name: &str) -> Result<Factor> {
        let own =
            if ridge > 0.0 { Cholesky::factor_owned(with_ridge(k, ridge), name)? } else { Cholesky::factor(k, name)? };
        Ok(Factor::Blocks { common: None, w: Mat::zeros(0, k.nrows()), own })
    }

    /// Extends the factor of the common inputs' kernel by a task's own inputs: `k_oc` and `k_oo` are their kernels with
    /// the common ones and with themselves.
    pub fn extend(
        common: &Arc<Cholesky>,
        k_oc: MatRef<'_, f64>,
        k_oo: MatRef<'_, f64>,
        ridge: f64,
        name: &str,
    ) -> Result<Factor> {
        let w = common.half_solve(k_oc.transpose());
        let mut schur = with_ridge(k_oo, ridge);
        matmul_into(schur.as_mut(), 1.0, -1.0, w.transpose(), w.as_ref());
        let own = Cholesky::factor_owned(schur, name)?;
        Ok(Factor::Blocks { common: Some(common.clone()), w, own })
    }

    /// The factor of a kernel whose first rows are factored already.
    pub fn continued(first: Arc<Cholesky>, k: MatRef<'_, f64>, ridge: f64, name: &str) -> Result<Factor> {
        let (n, all) = (first.size(), k.nrows());
        if n == all {
            return Ok(Factor::Blocks { common: None, w: Mat::zeros(0, n), own: (*first).clone() });
        }
        let (k_oc, k_oo) = (k.submatrix(n, 0, all - n, n), k.submatrix(n, n, all - n, all - n));
        // The row at fault is numbered among all rows.
        Factor::extend(&first, k_oc, k_oo, ridge, name).or_else(|_| Factor::plain(k, ridge, name))
    }

    /// The factor of `[[K_cc, K_co], [K_oc, K_oo]]` where `repeats` says which own inputs are the same: `make` is given the kernels
    /// of the different ones, and what to call them.
    ///
    /// # Errors
    /// What `make` says.
    pub fn of_distinct(
        repeats: Option<Repeats>,
        (k_oc, k_oo): (MatRef<'_, f64>, MatRef<'_, f64>),
        name: &str,
        make: impl FnOnce(MatRef<'_, f64>, MatRef<'_, f64>, &str) -> Result<Factor>,
    ) -> Result<Factor> {
        let Some(repeats) = repeats else { return make(k_oc, k_oo, name) };
        let repeats = repeats.below(k_oc.ncols());
        let (oc, oo) = (repeats.distinct_rows(k_oc), repeats.distinct(k_oo));
        let of = make(oc.as_ref(), oo.as_ref(), &format!("{name} (of its different inputs)"))?;
        Ok(Factor::Repeated { repeats, of: Box::new(of) })
    }

    /// The pseudo-inverse that keeps eigenvalues above `tolerance` of the largest.
    pub fn pseudo(k: MatRef<'_, f64>, tolerance: f64, name: &str) -> Result<Factor> {
        Ok(Factor::Pseudo(PseudoInverse::factor(k, Some(tolerance), name)?))
    }

    /// The inverse of `ΦΦᵀ/N`, or its pseudo-inverse at the numerical rank where it has no inverse.
    pub fn of_features(k: MatRef<'_, f64>, name: &str) -> Result<Factor> {
        match Factor::plain(k, 0.0, name) {
            Err(Error::NotPositiveDefinite { .. }) => Factor::pseudo(k, RANK_TOLERANCE, name),
            Ok(factor) if factor.is_singular(k) => Factor::pseudo(k, RANK_TOLERANCE, name),
            other => other,
        }
    }

    /// Whether the kernel K that it is of is singular to rounding, which may leave every pivot above 0.
    pub fn is_singular(&self, k: MatRef<'_, f64>) -> bool {
        let nothing: Mat<f64> = Mat::zeros(k.nrows(), 0);
        let norm = one_norm(nothing.submatrix(0, 0, 0, 0), nothing.as_ref(), k);
        digits(self.condition(k.nrows(), norm), "").is_err()
    }

    /// The number of directions that are inverted.
    pub fn rank(&self) -> usize {
        match self {
            Factor::Blocks { common, own, .. } => common.as_ref().map_or(0, |c| c.size()) + own.size(),
            Factor::Pseudo(inverse) => inverse.rank(),
            Factor::Repeated { of, .. } => of.rank(),
        }
    }

    /// `K^{-1} B`.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let (common, w, own) = match self {
            Factor::Pseudo(inverse) => return inverse.solve(b),
            Factor::Repeated { repeats, of } => {
                return repeats.divided(of.solve(repeats.average(b).as_ref()).as_ref());
            }
            Factor::Blocks { common: None, own, .. } => return own.solve(b),
            Factor::Blocks { common: Some(common), w, own } => (common, w, own),
        };
        let mut x = b.to_owned();
        let (mut top, mut bottom) = x.as_mut().split_at_row_mut(common.size());
        common.half_solve_in_place(top.as_mut());
        matmul_into(bottom.as_mut(), 1.0, -1.0, w.transpose(), top.as_ref());
        own.solve_in_place(bottom.as_mut());
        matmul_into(top.as_mut(), 1.0, -1.0, w.as_ref(), bottom.as_ref());
        common.half_solve_transposed_in_place(top);
        x
    }

    /// `B − K K⁺ B`, what a singular kernel cannot learn of `B`; none where it is inverted whole.
    pub fn unlearned(&self, b: MatRef<'_, f64>) -> Option<Mat<f64>> {
        match self {
            Factor::Pseudo(inverse) => Some(b - inverse.project(b)),
            Factor::Repeated { repeats, of } => {
                let mean = repeats.average(b);
                let mut left = b - repeats.repeated(mean.as_ref());
                if let Some(more) = of.unlearned(mean.as_ref()) {
                    left += repeats.repeated(more.as_ref());
                }
                Some(left)
            }
            Factor::Blocks { .. } => None,
        }
    }

    /// `Y − K u` of a solution `u = (K + ridge)^{-1} Y`: `ridge u`, and what of Y a pseudo-inverse leaves out; none where that is 0.
    pub fn left(&self, y: &Mat<f64>, u: &Mat<f64>, ridge: f64) -> Option<Mat<f64>> {
        let of_ridge = (ridge > 0.0).then(|| ridge * u);
        match (of_ridge, self.unlearned(y.as_ref())) {
            (Some(left), Some(unlearned)) => Some(left + unlearned),
            (left, unlearned) => left.or(unlearned),
        }
    }

    /// `‖K_b^{-1/2} K_ba K_a^{-1/2}‖²` = `Tr(K_b^{-1} K_ba K_a^{-1} K_ab)` of two tasks with the same common inputs;
    /// `k_ba` is the kernel between their own inputs (between all of them for pseudo-inverses).
    ///
    /// With the common inputs first, `L_b^{-1} K_ba L_a^{-T}` is the identity on them and zero between them and the rest.
    pub fn overlap(&self, other: &Factor, mut k_ba: Mat<f64>) -> f64 {
        if let Factor::Repeated { repeats, of } = self {
            return of.overlap(other, repeats.average(k_ba.as_ref()));
        }
        if let Factor::Repeated { repeats, of } = other {
            return self.overlap(of, repeats.average(k_ba.transpose()).transpose().to_owned());
        }
        let half = match self {
            Factor::Repeated { .. } => k_ba,
            Factor::Pseudo(inverse) => inverse.half_solve(k_ba.as_ref()),
            Factor::Blocks { common, w, own } => {
                if let (Some(_), Factor::Blocks { w: w_a, .. }) = (common, other) {
                    matmul_into(k_ba.as_mut(), 1.0, -1.0, w.transpose(), w_a.as_ref());
                }
                own.half_solve_in_place(k_ba.as_mut());
                k_ba
            }
        };
        let (shared, whole) = match other {
            Factor::Repeated { .. } => (0, half),
            Factor::Pseudo(inverse) => (0, inverse.half_solve(half.transpose())),
            Factor::Blocks { common, own, .. } => {
                (common.as_ref().map_or(0, |c| c.size()), own.half_solve(half.transpose()))
            }
        };
        shared as f64 + whole.squared_norm_l2()
    }

    /// `Aᵀ Z` with `A = L_b^{-1} K_ba L_a^{-T}` on the own inputs of two tasks, whose square norm [`overlap`](Self::overlap) is, and
    /// the number of common inputs, which it adds to that; none of pseudo-inverses.
    pub fn whitened(&self, other: &Factor, k_ba: MatRef<'_, f64>, z: MatRef<'_, f64>) -> Option<(usize, Mat<f64>)> {
        let (Factor::Blocks { common, w, own }, Factor::Blocks { w: w_a, own: own_a, .. }) = (self, other) else {
            return None;
        };
        let half = own.half_solve_transposed(z);
        let mut out = Mat::zeros(k_ba.ncols(), z.ncols());
        matmul_into(out.as_mut(), 0.0, 1.0, k_ba.transpose(), half.as_ref());
        if common.is_some() {
            let inner = matmul(w.as_ref(), half.as_ref());
            matmul_into(out.as_mut(), 1.0, -1.0, w_a.transpose(), inner.as_ref());
        }
        own_a.half_solve_in_place(out.as_mut());
        Some((common.as_ref().map_or(0, |c| c.size()), out))
    }

    /// An estimate of `‖K‖₁ ‖K^{-1}‖₂` for a kernel of `n` rows and of one-norm `norm`: two steps of inverse iteration on
    /// two random vectors, which find the smallest eigenvalue to within a small factor.
    pub fn condition(&self, n: usize, norm: f64) -> f64 {
        match self {
            Factor::Pseudo(inverse) => return inverse.smallest_kept().map_or(1.0, |smallest| norm / smallest),
            Factor::Repeated { of, .. } => return of.condition(of.rank(), norm),
            Factor::Blocks { .. } => {}
        }
        let mut stream = Stream::new(0, "condition probes", n as u64);
        let probe = Mat::from_fn(n, 2, |_, _| stream.normal());
        let mut once = self.solve(probe.as_ref());
        // A power of two, which changes no digit: kernels far from 1 would leave the range of numbers in two steps.
        let exponent = once.norm_max().log2().floor();
        if exponent.is_finite() {
            once *= Scale((-exponent).exp2());
        }
        let twice = self.solve(once.as_ref());
        let growth = |j: usize| twice.col(j).norm_l2() / once.col(j).norm_l2();
        norm * growth(0).max(growth(1))
    }
}

impl Kernels {
    /// Which points are the same input, where the kernel of all of them cannot be inverted: with a temperature it can, and features
    /// have pseudo-inverses anyway.
    pub fn repeats(&self, points: Points<'_>, ridge: f64) -> Option<Repeats> {
        let features = matches!(self.source, KernelSource::Features { .. });
        if ridge > 0.0 || features { None } else { Repeats::of(points) }
    }

    /// One kernel of a set of points with itself plus `ridge`, inverted, and its condition number: of features without ridge
    /// the pseudo-inverse where it must be.
    ///
    /// # Errors
    /// [`Error::LostAccuracy`] where fewer than four digits are left.
    pub fn invert(&self, which: Which, points: Points<'_>, ridge: f64, name: &str) -> Result<(Factor, f64)> {
        let k = self.symmetric(which, points)?;
        let matrix = format!("the kernel of {name}");
        let factor = if matches!(self.source, KernelSource::Features { .. }) && ridge == 0.0 {
            Factor::of_features(k.as_ref(), &matrix)?
        } else {
            let none: Mat<f64> = Mat::zeros(k.nrows(), 0);
            let kernels = (none.as_ref(), k.as_ref());
            Factor::of_distinct(self.repeats(points, ridge), kernels, &matrix, |_, k, name| {
                Factor::plain(k, ridge, name)
            })?
        };
        let nothing: Mat<f64> = Mat::zeros(k.nrows(), 0);
        let norm = one_norm(nothing.submatrix(0, 0, 0, 0), nothing.as_ref(), k.as_ref()) + ridge;
        let condition = factor.condition(k.nrows(), norm);
        digits(condition, name)?;
        Ok((factor, condition))
    }
}

/// `−log₁₀(ε · condition)`, or an error where fewer than four digits are left.
///
/// # Errors
/// [`Error::LostAccuracy`] that names the kernel of task `name`.
pub(crate) fn digits(condition: f64, name: &str) -> Result<f64> {
    // What left the range of numbers has no digits either.
    let condition = if condition.is_nan() { f64::INFINITY } else { condition };
    let digits = -(f64::EPSILON * condition).log10();
    if digits >= DIGITS_NEEDED {
        return Ok(digits);
    }
    Err(Error::LostAccuracy {
        what: format!("the kernel of {name}"),
        digits: digits.max(0.0),
        condition,
        advice: "remove examples that are nearly equal, or set a beta of 1e8 over the mean of the kernel's diagonal"
            .into(),
    })
}

/// `K + ridge · I`.
pub(crate) fn with_ridge(k: MatRef<'_, f64>, ridge: f64) -> Mat<f64> {
    let mut k = k.to_owned();
    for i in 0..k.nrows() {
        k[(i, i)] += ridge;
    }
    k
}

/// `‖K‖₁` of `[[K_cc, K_co], [K_oc, K_oo]]`.
pub(crate) fn one_norm(k_cc: MatRef<'_, f64>, k_oc: MatRef<'_, f64>, k_oo: MatRef<'_, f64>) -> f64 {
    let sum = |a: Vec<f64>, b: Vec<f64>| a.into_iter().zip(b).map(|(x, y)| x + y).fold(0.0, f64::max);
    let mut rows = vec![0.0; k_oc.nrows()];
    for j in 0..k_oc.ncols() {
        rows.iter_mut().zip(k_oc.col(j).iter()).for_each(|(sum, v)| *sum += v.abs());
    }
    sum(column_sums(k_cc), column_sums(k_oc)).max(sum(rows, column_sums(k_oo)))
}

/// `Σ_i |k_ij|` of every column j.
fn column_sums(k: MatRef<'_, f64>) -> Vec<f64> {
    k.col_iter().map(|c| c.iter().map(|v| v.abs()).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::SymmetricEigen;

    /// A symmetric matrix with eigenvalues spread evenly in the logarithm from 1/condition to 1.
    fn with_condition(n: usize, condition: f64) -> Mat<f64> {
        let mut stream = Stream::new(n as u64, "factor tests", 0);
        let g = Mat::from_fn(n, n, |_, _| stream.normal());
        let v = SymmetricEigen::factor((&g + g.transpose()).as_ref(), "test").unwrap().vectors;
        let scaled = Mat::from_fn(n, n, |i, j| v[(i, j)] * condition.powf(-(j as f64) / (n as f64 - 1.0)));
        let a = matmul(scaled.as_ref(), v.transpose());
        0.5 * (&a + a.transpose())
    }

    #[test]
    fn condition_is_found_to_within_a_small_factor() {
        for n in [2, 10, 80] {
            for condition in [10.0, 1e5, 1e11] {
                let k = with_condition(n, condition);
                let none: Mat<f64> = Mat::zeros(n, 0);
                let norm = one_norm(none.submatrix(0, 0, 0, 0), none.as_ref(), k.as_ref());
                let found = Factor::plain(k.as_ref(), 0.0, "test").unwrap().condition(n, norm);
                // Below by the components of two random vectors, above by ‖K‖₁/‖K‖₂ ≤ √n.
                let allowed = (n as f64).sqrt() * 1.01;
                assert!(found > 0.2 * condition && found < allowed * condition, "{n} {condition:e}: {found:e}");
            }
        }
    }

    #[test]
    fn a_continued_factor_is_that_of_the_whole() {
        let mut stream = Stream::new(4, "continued", 0);
        let x = Mat::from_fn(20, 40, |_, _| stream.normal());
        let k = &x * x.transpose();
        let b = Mat::from_fn(20, 2, |_, _| stream.normal());
        for (ridge, n) in [(0.0, 12), (0.3, 12), (0.0, 20)] {
            let first = with_ridge(k.as_ref().submatrix(0, 0, n, n), ridge);
            let first = Arc::new(Cholesky::factor_owned(first, "test").unwrap());
            let continued = Factor::continued(first, k.as_ref(), ridge, "test").unwrap();
            let plain = Factor::plain(k.as_ref(), ridge, "test").unwrap();
            // Rounding times a condition number below 100.
            assert!((continued.solve(b.as_ref()) - plain.solve(b.as_ref())).norm_max() < 1e-12);
            assert_eq!(continued.rank(), 20);
        }
        // A row that repeats an earlier one: rounding may leave its pivot above 0, and then no digit is left.
        let twice = Mat::from_fn(20, 40, |i, j| x[(if i == 17 { 3 } else { i }, j)]);
        let k = &twice * twice.transpose();
        let first = Arc::new(Cholesky::factor(k.as_ref().submatrix(0, 0, 12, 12), "test").unwrap());
        match Factor::continued(first, k.as_ref(), 0.0, "test") {
            Ok(factor) => assert!(digits(factor.condition(20, k.norm_max()), "test").is_err()),
            Err(error) => assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error}"),
        }
    }

    #[test]
    fn the_extended_factor_is_that_of_the_whole() {
        let k = with_condition(30, 100.0);
        let mut stream = Stream::new(1, "factor tests", 1);
        let b = Mat::from_fn(30, 3, |_, _| stream.normal());
        for (common, ridge) in [(12, 0.0), (30, 0.0), (29, 0.5), (1, 0.2)] {
            let own = 30 - common;
            let k_cc = Cholesky::factor(with_ridge(k.submatrix(0, 0, common, common), ridge).as_ref(), "test").unwrap();
            let (k_oc, k_oo) = (k.submatrix(common, 0, own, common), k.submatrix(common, common, own, own));
            let extended = Factor::extend(&Arc::new(k_cc), k_oc, k_oo, ridge, "test").unwrap();
            let plain = Factor::plain(k.as_ref(), ridge, "test").unwrap();
            // Rounding times the condition number 100.
            let gap = (extended.solve(b.as_ref()) - plain.solve(b.as_ref())).norm_max();
            assert!(gap < 1e-11, "{common}: {gap:e}");
            assert_eq!((extended.rank(), plain.rank()), (30, 30));
            let norm = one_norm(k.submatrix(0, 0, common, common), k_oc, k_oo);
            let none: Mat<f64> = Mat::zeros(30, 0);
            let whole = one_norm(none.submatrix(0, 0, 0, 0), none.as_ref(), k.as_ref());
            assert!((norm - whole).abs() < 1e-13, "{norm} {whole}");
        }
    }

    #[test]
    fn repeated_inputs_have_the_pseudo_inverse() {
        let mut stream = Stream::new(3, "repeats", 0);
        let different = Mat::from_fn(12, 30, |_, _| stream.normal());
        // Three rows that all tasks share, then nine inputs, some of them two or three times.
        let which = [0, 1, 2, 3, 4, 3, 5, 6, 7, 3, 8, 6, 9, 10, 11];
        let x = Mat::from_fn(which.len(), 30, |i, j| different[(which[i], j)]);
        let k = matmul(x.as_ref(), x.transpose());
        let own = x.as_ref().subrows(3, 12);
        let repeats = Repeats::of(own.into()).unwrap();
        assert_eq!(Repeats::of(different.as_ref().into()), None);
        let b = Mat::from_fn(which.len(), 2, |_, _| stream.normal());
        let known = PseudoInverse::factor(k.as_ref(), Some(1e-10), "test").unwrap();
        let common = Arc::new(Cholesky::factor(k.submatrix(0, 0, 3, 3), "test").unwrap());
        let (k_oc, k_oo) = (k.submatrix(3, 0, 12, 3), k.submatrix(3, 3, 12, 12));
        let extended = Factor::of_distinct(Some(repeats), (k_oc, k_oo), "test", |k_oc, k_oo, name| {
            Factor::extend(&common, k_oc, k_oo, 0.0, name)
        });
        let none: Mat<f64> = Mat::zeros(which.len(), 0);
        let whole =
            Factor::of_distinct(Repeats::of(x.as_ref().into()), (none.as_ref(), k.as_ref()), "test", |_, k, name| {
                Factor::plain(k, 0.0, name)
            });
        let (extended, whole) = (extended.unwrap(), whole.unwrap());
        for factor in [&extended, &whole] {
            // Rounding times condition numbers below 1e3.
            assert!((factor.solve(b.as_ref()) - known.solve(b.as_ref())).norm_max() < 1e-12);
            let left = &b - known.project(b.as_ref());
            assert!((factor.unlearned(b.as_ref()).unwrap() - left).norm_max() < 1e-12);
            assert_eq!(factor.rank(), 12);
        }
        // A row that occurs w times at temperature 1/β is one row at 1/(wβ); as β → ∞ only the average counts, off by 1/β.
        let beta = 1e7;
        let warm = Factor::plain(k.as_ref(), 1.0 / beta, "test").unwrap();
        let f = |u: Mat<f64>| matmul(k.as_ref(), u.as_ref());
        assert!((f(warm.solve(b.as_ref())) - f(whole.solve(b.as_ref()))).norm_max() < 1e-5);
        // The overlap of two tasks with repeats, and of one with another that has none.
        let other = Mat::from_fn(8, 30, |_, _| stream.normal());
        let k_other = matmul(other.as_ref(), other.transpose());
        let plain = Factor::plain(k_other.as_ref(), 0.0, "test").unwrap();
        let between = matmul(other.as_ref(), x.transpose());
        let pseudo = Factor::Pseudo(known);
        let (a, b) = (plain.overlap(&whole, between.clone()), plain.overlap(&pseudo, between.clone()));
        assert!((a - b).abs() < 1e-11, "{a} {b}");
        let turned = whole.overlap(&plain, between.transpose().to_owned());
        assert!((turned - b).abs() < 1e-11, "{turned} {b}");
        assert!((whole.overlap(&whole, k.clone()) - 12.0).abs() < 1e-11);
    }

    #[test]
    fn too_few_digits_are_an_error() {
        assert!((digits(1e6, "task 1").unwrap() - 9.65).abs() < 0.01);
        let error = digits(1e13, "task 1").unwrap_err();
        assert!(matches!(error, Error::LostAccuracy { .. }) && error.to_string().contains("task 1"), "{error}");
        assert!(digits(f64::INFINITY, "task 1").is_err() && digits(f64::NAN, "task 1").is_err());
    }
}
