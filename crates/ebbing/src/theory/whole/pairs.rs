//! Order parameters of all pairs of tasks (paper, Eqs. 5, 6, 11, 29) from solves, two of each kernel.
//!
//! ```math
//! \gamma_{\mathrm{feature}} = \frac1P\,\mathrm{Tr}\bigl(K_{22}^{-1}K_{21}K_{11}^{-1}K_{12}\bigr)
//! = \frac1P\,\mathrm{E}_z\Bigl[\bigl(K_{12}K_{22}^{-1}L z\bigr)\cdot K_{11}^{-1}\bigl(K_{12}L^{-\mathsf T}z\bigr)\Bigr]
//! ```
//!
//! for signs z, and any L: the trace does not change under `L^{-T} … Lᵀ`. With `L Lᵀ ≈ K_22` in single precision it is the
//! trace of a matrix that is nearly symmetric with eigenvalues in [0, 1], so that one probe errs by `(2γ/P)^{1/2}` at most
//! (M. F. Hutchinson, Commun. Stat. Simul. 18, 1059 (1989)), and the estimate is unbiased whatever L is. Everything else
//! comes from solves, without estimates.

use super::Whole;
use super::products::{beside, columns};
use super::scratch::Numbers;
use super::solver::{Solved, System};
use crate::error::Result;
use crate::linalg::{Mat, dot};
use crate::rng::Stream;
use crate::stats::mean_with_error;
use crate::theory::blocks::kernels::Which;
use crate::theory::order_parameters::{Inverse, PairOrderParameters, Side, values};

/// What a task gives by itself.
pub(super) struct First {
    /// `K_tt^{-1} Y_t`, and what is left of `Y_t`.
    pub u: Mat<f64>,
    pub left: Mat<f64>,
    /// `K_tt^{-1} L z` and `L^{-T} z` of the probes.
    left_probes: Mat<f64>,
    right_probes: Mat<f64>,
}

/// What every ordered pair of tasks gives, by `[i][j]`, i ≠ j.
pub(super) struct Pairs {
    /// `K_ij K_jj^{-1} Y_j`: what task j says at the inputs of task i.
    pub said: Vec<Vec<Mat<f64>>>,
    /// `K_ii^{-1} K_ij K_jj^{-1} Y_j`.
    pub solved: Vec<Vec<Mat<f64>>>,
    /// What is left of the equations for these.
    pub left: Vec<Vec<Mat<f64>>>,
    /// `K_ji K_ii^{-1} K_ij K_jj^{-1} Y_j`: back at the inputs of task j.
    pub back: Vec<Vec<Mat<f64>>>,
    /// γ_feature and its standard error, i < j.
    overlap: Vec<Vec<(f64, f64)>>,
}

impl Whole<'_> {
    /// The system of a task's `K_GP`.
    pub(super) fn gaussian(&self, task: usize) -> System {
        System { which: Which::NNGP, task, ridge: self.ridge }
    }

    /// The solution of task t by itself in `K_GP`, with probes where there are other tasks.
    pub(super) fn first(&mut self, t: usize) -> Result<First> {
        let (name, system) = (format!("first-{}", t + 1), self.gaussian(t));
        let (y, probes) = (self.tasks[t].y.to_owned(), if self.tasks.len() > 1 { self.probes } else { 0 });
        let (p, c) = (y.nrows(), y.ncols());
        let mut stream = Stream::new(0, "probes of gamma_feature", t as u64);
        let z = Mat::from_fn(p, probes, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 });
        let solved = self.solve(&name, system, |factor| beside(&[y.as_ref(), factor.multiply(z.as_ref()).as_ref()]))?;
        let right = format!("probes-{}", t + 1);
        let right_probes = match self.scratch.read::<f64>(&right)? {
            Some((v, _)) => v,
            None => {
                let mut v = z;
                self.factor(system)?.half_solve_transposed(v.as_mut());
                self.scratch.write(&right, &v, &Numbers::new())?;
                v
            }
        };
        Ok(First {
            u: columns(&solved.x, 0, c),
            left: columns(&solved.residual, 0, c),
            left_probes: columns(&solved.x, c, probes),
            right_probes,
        })
    }

    /// Everything about pairs of tasks.
    pub(super) fn pairs(&mut self, firsts: &[First]) -> Result<Pairs> {
        let (count, c, m) = (self.tasks.len(), self.columns(), self.probes);
        let none = || vec![vec![Mat::<f64>::zeros(0, 0); count]; count];
        let overlap = vec![vec![(0.0, 0.0); count]; count];
        let mut pairs = Pairs { said: none(), solved: none(), left: none(), back: none(), overlap };
        let (mut left, mut right) = (none(), none());
        for (i, j) in (0..count).flat_map(|j| (0..j).map(move |i| (i, j))) {
            let (one, two) = (&firsts[i], &firsts[j]);
            let ahead = beside(&[two.u.as_ref(), two.left_probes.as_ref(), two.right_probes.as_ref()]);
            let (to_i, to_j) = self.both_ways("across", i, j, &ahead, &one.u)?;
            pairs.said[i][j] = columns(&to_i, 0, c);
            (left[i][j], right[i][j]) = (columns(&to_i, c, m), columns(&to_i, c + m, m));
            pairs.said[j][i] = to_j;
        }
        // The last factor made is the one that is still there.
        for t in (0..count).rev() {
            let others: Vec<usize> = (0..count).filter(|&s| s != t).collect();
            let said = others.iter().map(|&s| pairs.said[t][s].as_ref());
            let b = beside(&said.chain((t + 1..count).map(|s| right[t][s].as_ref())).collect::<Vec<_>>());
            let Solved { x, residual, .. } = self.solve(&format!("second-{}", t + 1), self.gaussian(t), |_| b)?;
            for (k, &s) in others.iter().enumerate() {
                pairs.solved[t][s] = columns(&x, k * c, c);
                pairs.left[t][s] = columns(&residual, k * c, c);
            }
            for s in t + 1..count {
                let q = columns(&x, others.len() * c + (s - t - 1) * m, m);
                pairs.overlap[t][s] = self.overlap(&left[t][s], &q, t, s);
            }
        }
        for (i, j) in (0..count).flat_map(|j| (0..j).map(move |i| (i, j))) {
            let (to_i, to_j) = self.both_ways("back", i, j, &pairs.solved[j][i], &pairs.solved[i][j])?;
            (pairs.back[j][i], pairs.back[i][j]) = (to_i, to_j);
        }
        Ok(pairs)
    }

    /// `K_ij V` and `K_ji W` in `K_GP`; a part of that name.
    fn both_ways(
        &mut self,
        part: &str,
        i: usize,
        j: usize,
        v: &Mat<f64>,
        w: &Mat<f64>,
    ) -> Result<(Mat<f64>, Mat<f64>)> {
        let names = [format!("{part}-{}-{}", i + 1, j + 1), format!("{part}-{}-{}", j + 1, i + 1)];
        let sets = (self.points(i), self.points(j));
        if let (Some((a, _)), Some((b, _))) = (self.scratch.read(&names[0])?, self.scratch.read(&names[1])?) {
            self.skipped(sets, v.ncols() + w.ncols())?;
            return Ok((a, b));
        }
        self.work.begin(format!("between {} and {}", self.tasks[i].name, self.tasks[j].name))?;
        let (mut a, mut b) = self.across(sets, &[(Which::NNGP, v.as_ref())], &[(Which::NNGP, w.as_ref())])?;
        let (a, b) = (a.swap_remove(0), b.swap_remove(0));
        self.scratch.write(&names[0], &a, &Numbers::new())?;
        self.scratch.write(&names[1], &b, &Numbers::new())?;
        Ok((a, b))
    }

    /// γ_feature of a pair and its standard error, from the two halves of every probe.
    fn overlap(&self, left: &Mat<f64>, right: &Mat<f64>, i: usize, j: usize) -> (f64, f64) {
        let p = self.points(i).len().min(self.points(j).len()) as f64;
        let one = |k: usize| dot(left.col_as_slice(k), right.col_as_slice(k)) / p;
        let each: Vec<f64> = (0..left.ncols()).map(one).collect();
        let mean = mean_with_error(&each);
        mean.map_or((f64::NAN, f64::NAN), |m| (m.value, m.standard_error.unwrap_or(f64::NAN)))
    }

    /// The order parameters of every ordered pair; numbers are right to `accuracy`.
    pub(super) fn order_parameters(&self, firsts: &[First], pairs: &Pairs, digits: f64) -> Vec<PairOrderParameters> {
        let count = self.tasks.len();
        let side = |t: usize, other: usize| Side {
            y: self.tasks[t].y.to_owned(),
            u: firsts[t].u.clone(),
            out: pairs.said[other][t].clone(),
            back: pairs.back[other][t].clone(),
            solved: pairs.solved[other][t].clone(),
            left: Some(&firsts[t].left + self.ridge * &firsts[t].u),
            norm: self.tasks[t].y.norm_l2(),
        };
        let mut all = vec![];
        for (first, second) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            let (overlap, error) = pairs.overlap[first.min(second)][first.max(second)];
            let found = values(&side(first, second), &side(second, first), overlap);
            // Of random features, as order parameters are; another theory forgets otherwise.
            let found = if self.kernels.random_features() { found } else { found.without_forgetting() };
            all.push(PairOrderParameters {
                first: first + 1,
                second: second + 1,
                values: found.within(crate::stats::number::accuracy(digits)),
                inverse: if self.ridge > 0.0 { Inverse::Ridge } else { Inverse::Exact },
                ranks: [first, second].map(|t| self.points(t).len()),
                digits,
                interval: None,
                null: None,
                gamma_feature_error: Some(error),
            });
        }
        all
    }
}
