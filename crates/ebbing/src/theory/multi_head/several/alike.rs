//! K classes that are alike: every factor is `U = a 1 + b 11ᵀ`, two numbers instead of m².
//!
//! Where a permutation of the classes changes nothing, factors commute with permutations: they have one value along the sum of all
//! outputs, `11ᵀ/m`, and one across it, `1 − 11ᵀ/m`. The free energy splits into two of a single output each, one with the labels summed
//! (`Y1/√m`), one with products of labels averaged over the m − 1 directions across; each is solved as for one output.
//! On data that are alike only on average this is the stationary point within symmetric factors, an approximation:
//! [`AlikeClasses::asymmetry`] and [`AlikeClasses::departure`] measure how far from symmetric the data and the equations are.

use super::frame::Frame;
use super::maps::Maps;
use super::newton::Form;
use super::one_task::without_labels;
use super::pair::{TwoTaskOutputs, TwoTaskOutputsPoint};
use crate::error::{Error, Result, refuse};
use crate::linalg::{Mat, matmul, par_map};
use crate::theory::multi_head::one_task::quadratic_root;
use crate::theory::multi_head::saddle::Saddle;
use crate::theory::multi_head::settings::checked_load;
use crate::theory::multi_head::solve::EquationResidual;
use crate::theory::multi_head::terms::Terms;

/// Labels count as absent along the sum of all outputs below this part of all labels.
const ABSENT: f64 = 1e-14;

/// Which classes of two tasks belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classes {
    /// Class c of one task is class c of the other: classes are permuted in both tasks at once.
    Shared,
    /// Each task has classes of its own, permuted by themselves: readouts overlap only through the sum over classes.
    Own,
}

/// The arrays of one of the two problems.
#[derive(Debug, Clone)]
struct Part {
    /// How many directions it stands for.
    count: f64,
    /// `YᵀK^{-1}Y` of task 1, per direction.
    first: f64,
    labels: Vec<f64>,
    /// `b∘y` and `b∘b`, where the two tasks share the direction.
    shared: Option<(Vec<f64>, Vec<f64>)>,
}

/// Two tasks whose classes are alike, at one finite λ and β = ∞.
#[derive(Debug, Clone)]
pub struct AlikeClasses<'a> {
    two: &'a TwoTaskOutputs,
    /// Along the sum of all outputs; absent where labels sum to zero.
    along: Option<Part>,
    across: Part,
    /// Whether labels of task 1 have a sum.
    first_along: f64,
    asymmetry: f64,
}

/// Along or across in numbers: `U = across 1 + (along − across) 11ᵀ/m`.
#[derive(Debug, Clone, Copy)]
struct Side {
    u11: f64,
    theta: f64,
    d: f64,
    rho: f64,
    residual: f64,
}

/// The columns of labels along the sum and the sum of squares across it.
fn sum_of(y: &Mat<f64>, i: usize) -> f64 {
    (0..y.ncols()).map(|a| y[(i, a)]).sum::<f64>() / (y.ncols() as f64).sqrt()
}

impl TwoTaskOutputs {
    /// The same two tasks with factors of two numbers each.
    ///
    /// # Errors
    /// [`Error::Data`] for tasks of fewer than two outputs, of different numbers where classes are shared, or whose labels span
    /// fewer directions than those across their sum; [`Error::Setting`] at λ = ∞; [`Error::OutsideTheory`] for bounded readouts.
    pub fn alike(&self, classes: Classes) -> Result<AlikeClasses<'_>> {
        let expected = "must be finite for alike classes; at lambda = inf the exact limit costs little";
        refuse(self.lambda().is_infinite(), "lambda", "inf", expected)?;
        if self.readout.bound.is_finite() {
            return Err(Error::outside("a bound on readouts of alike classes", "use the exact factors"));
        }
        let [m1, m2] = self.outputs();
        if m1 < 2 || m2 < 2 || (classes == Classes::Shared && m1 != m2) {
            let problem = format!(
                "have {m1} and {m2} outputs; alike classes need two at least, and as many where they are shared"
            );
            return Err(Error::data("the two tasks", problem));
        }
        let y = matmul(self.pair.basis.vectors.transpose(), self.tasks[1].y.as_ref());
        let half = self.pair.first.half_solve(self.tasks[0].y.as_ref());
        let b = matmul(self.pair.half.transpose(), half.as_ref());
        let p = y.nrows();
        let products =
            |x: &Mat<f64>, z: &Mat<f64>, i: usize| (0..x.ncols()).map(|a| x[(i, a)] * z[(i, a)]).sum::<f64>();
        let array = |f: &dyn Fn(usize) -> f64| (0..p).map(f).collect::<Vec<f64>>();
        let (total, sum) = ((0..half.nrows()).map(|i| products(&half, &half, i)).sum::<f64>(), {
            (0..half.nrows()).map(|i| sum_of(&half, i).powi(2)).sum::<f64>()
        });
        let (ys, bs) = (array(&|i| sum_of(&y, i)), array(&|i| sum_of(&b, i)));
        let (rest1, rest2) = ((m1 - 1) as f64, (m2 - 1) as f64);
        let across = Part {
            count: rest2,
            first: (total - sum) / rest1,
            labels: array(&|i| (products(&y, &y, i) - ys[i] * ys[i]) / rest2),
            shared: (classes == Classes::Shared).then(|| {
                let mixed = array(&|i| (products(&b, &y, i) - bs[i] * ys[i]) / rest2);
                let squares = array(&|i| (products(&b, &b, i) - bs[i] * bs[i]) / rest2);
                (mixed, squares)
            }),
        };
        let all: f64 = (0..p).map(|i| products(&y, &y, i)).sum();
        let labels = array(&|i| ys[i] * ys[i]);
        let has = labels.iter().sum::<f64>() > ABSENT * all;
        let first_along = if sum > ABSENT * total { sum } else { 0.0 };
        let along = has.then(|| Part {
            count: 1.0,
            first: first_along,
            labels,
            // A first readout that vanishes has no overlap.
            shared: (first_along > 0.0).then(|| (array(&|i| bs[i] * ys[i]), array(&|i| bs[i] * bs[i]))),
        });
        if across.first <= ABSENT * total || across.labels.iter().sum::<f64>() <= ABSENT * all {
            return Err(Error::data("the labels", "do not differ between classes; there is nothing across their sum"));
        }
        let mut asymmetry = spread_of(&matmul(half.transpose(), half.as_ref()));
        asymmetry = asymmetry.max(spread_of(&matmul(y.transpose(), y.as_ref())));
        if classes == Classes::Shared {
            asymmetry = asymmetry.max(spread_of(&matmul(b.transpose(), y.as_ref())));
        }
        Ok(AlikeClasses { two: self, along, across, first_along, asymmetry })
    }
}

/// How far a matrix is from `a 1 + b 11ᵀ`, relative to its own size.
fn spread_of(m: &Mat<f64>) -> f64 {
    let n = m.nrows() as f64;
    let trace: f64 = (0..m.nrows()).map(|i| m[(i, i)]).sum();
    let sum: f64 = (0..m.nrows()).map(|i| (0..m.ncols()).map(|j| m[(i, j)]).sum::<f64>()).sum();
    let (own, off) = (trace / n, (sum - trace) / (n * (n - 1.0)));
    let miss = Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] - if i == j { own } else { off });
    miss.norm_l2() / m.norm_l2()
}

impl AlikeClasses<'_> {
    /// The largest relative distance of `Y_tᵀK_tt^{-1}Y_t` (and of `BᵀK_22^{-1}Y_2` where classes are shared) from `a 1 + b 11ᵀ`.
    /// 0 where classes are alike by symmetry; where it is not, the factors are an approximation.
    pub fn asymmetry(&self) -> f64 {
        self.asymmetry
    }

    /// How far the exact equations are from being solved: their largest scaled residual at a point of [`AlikeClasses::point`].
    ///
    /// # Errors
    /// [`Error::Data`] where a class has no labels of its own, so that the exact equations have fewer directions.
    pub fn departure(&self, point: &TwoTaskOutputsPoint) -> Result<f64> {
        let [one, two] = &self.two.spans;
        if one.silent.ncols() + two.silent.ncols() > 0 {
            return Err(Error::data("the labels", "span fewer directions than there are outputs"));
        }
        let problem = self.two.problem(point.width, &point.u11);
        let frame = Frame::of(point.d.as_ref(), point.u0.as_ref())?;
        let Some(local) = problem.at(&frame)? else { return Ok(f64::INFINITY) };
        let mut most: f64 = 0.0;
        for b in 0..frame.size() {
            for c in 0..frame.size() {
                most = most.max(local.gx[(b, c)].abs() / (local.scale_x[b] * local.scale_x[c]).sqrt());
                most = most.max(local.gz[(b, c)].abs() / (local.scale_z[b] * local.scale_z[c]).sqrt());
            }
        }
        Ok(most)
    }

    /// One of the two problems at one width.
    fn side(&self, part: &Part, width: f64, what: &str) -> Result<Side> {
        let (sigma2, p) = (self.two.readout.sigma2, part.labels.len());
        let p1 = self.two.sizes()[0] as f64;
        let first = quadratic_root(p1 / width, part.first / width, sigma2);
        let u11 = first.u;
        let values = &self.two.pair.basis.values;
        let (data, unit) = match &part.shared {
            Some((mixed, squares)) => (
                Terms::diagonal(
                    values,
                    part.labels.clone(),
                    vec![mixed.iter().map(|m| m / u11).collect()],
                    vec![(0..p).map(|i| squares[i] / (u11 * u11) - self.two.pair.g_diagonal[i] / u11).collect()],
                ),
                Terms::diagonal(&[0.0], vec![0.0], vec![vec![0.0]], vec![vec![-1.0 / u11]]),
            ),
            None => (
                Terms::diagonal(values, part.labels.clone(), vec![], vec![]),
                Terms::diagonal(&[0.0], vec![0.0], vec![], vec![]),
            ),
        };
        let saddle = Saddle { data: &data, unit: &unit, width, sigma2 };
        let found = saddle.solve_within(f64::INFINITY, what)?;
        let residual = first.residual.max(found.residual());
        Ok(Side {
            u11,
            theta: found.theta.first().map_or(0.0, |u| u / u11),
            d: found.d,
            rho: found.u0 / found.d,
            residual,
        })
    }

    /// The factors at load α.
    ///
    /// # Errors
    /// [`Error::Setting`] for α ≤ 0; [`Error::NotConverged`] where the equations are not solved.
    pub fn point(&self, alpha: f64) -> Result<TwoTaskOutputsPoint> {
        crate::stop::check()?;
        let alpha = checked_load(alpha)?;
        let [m1, m2] = self.two.outputs();
        let width = self.two.sizes()[1] as f64 / alpha;
        let (sigma2, lambda) = (self.two.readout.sigma2, self.two.lambda());
        let what = format!("the renormalization factors of alike classes at alpha = {alpha}, lambda = {lambda}");
        let across = self.side(&self.across, width, &what)?;
        let along = match &self.along {
            Some(part) => self.side(part, width, &what)?,
            None => {
                let alpha1 = self.two.sizes()[0] as f64 / width;
                let u11 = quadratic_root(alpha1, self.first_along / width, sigma2).u;
                Side { u11, theta: 0.0, d: without_labels(sigma2, alpha), rho: 0.0, residual: 0.0 }
            }
        };
        let mixed = |m: usize, f: fn(&Side) -> f64| {
            let (a, b) = (f(&across), (f(&along) - f(&across)) / m as f64);
            Mat::from_fn(m, m, |i, j| b + if i == j { a } else { 0.0 })
        };
        let (u11, d) = (mixed(m1, |s| s.u11), mixed(m2, |s| s.d));
        let u0 = mixed(m2, |s| s.d * s.rho);
        let norm = ((m1 * m2) as f64).sqrt();
        let theta = match self.across.shared {
            Some(_) => mixed(m2, |s| s.theta),
            None => Mat::from_fn(m2, m1, |_, _| along.theta / norm),
        };
        let u12 = matmul(u11.as_ref(), theta.transpose());
        let note = |step, unknown: &str, residual| EquationResidual { step, unknown: unknown.into(), residual };
        let mut residuals = vec![note(2, "across the sum of outputs", across.residual)];
        if self.along.is_some() {
            residuals.push(note(2, "along the sum of outputs", along.residual));
        }
        // A direction without labels above α = 1 has no readout, and no frame either.
        let frame = axes_of(m2, &across, &along);
        let rho = frame.rho.clone();
        Ok(TwoTaskOutputsPoint {
            alpha,
            width,
            lambda,
            u22: &d + &u0,
            maps: Maps::finite(&u11, &theta, &frame, (0.0, 0.0)),
            u11,
            u12,
            u0,
            d,
            exponent: 0.0,
            rho,
            directions: None,
            residuals,
        })
    }

    /// The factors at every load.
    ///
    /// # Errors
    /// As for [`AlikeClasses::point`].
    pub fn points(&self, alphas: &[f64]) -> Result<Vec<TwoTaskOutputsPoint>> {
        par_map(alphas, |&alpha| self.point(alpha)).into_iter().collect()
    }

    /// How many directions the two numbers of every factor stand for: across the sum of outputs, and along it.
    pub fn directions(&self) -> [f64; 2] {
        [self.across.count, self.along.as_ref().map_or(0.0, |part| part.count)]
    }
}

/// The frame of symmetric factors: the sum of outputs first, then Helmert's contrasts.
fn axes_of(m: usize, across: &Side, along: &Side) -> Frame {
    let axes = Mat::from_fn(m, m, |i, a| match a {
        0 => 1.0 / (m as f64).sqrt(),
        a if i < a => 1.0 / ((a * (a + 1)) as f64).sqrt(),
        a if i == a => -(a as f64) / ((a * (a + 1)) as f64).sqrt(),
        _ => 0.0,
    });
    // Nothing is divided by a D that vanishes: without labels nothing is projected on it.
    let d: Vec<f64> = (0..m).map(|a| if a == 0 { along.d.max(f64::MIN_POSITIVE) } else { across.d }).collect();
    Frame::along(axes.as_ref(), &d, (0..m).map(|a| if a == 0 { along.rho } else { across.rho }).collect())
}
