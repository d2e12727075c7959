//! `(c JᵀJ + S) δ = −∇E`, solved in the space of outputs: `(1/c + J S⁻¹ Jᵀ) u = J S⁻¹ ∇E`, `δ = S⁻¹(Jᵀu − ∇E)`.
//!
//! `S = κ + μ` is the penalty and the damping, plus the curvature of kinks ([`super::kinks`]). In this form δ vanishes with ∇E,
//! whatever rounding errors the matrix has.

use super::coupled::Coupled;
use super::kinks::Kinks;
use super::linearized::{Linearized, as_column, pulled};
use super::problem::{Point, Problem, Step, Weights};
use crate::linalg::{Cholesky, Mat, Scale, dot, lower_gram_into, matmul, matmul_into};

impl Linearized {
    /// The system of a step with damping `mu`, factored; none where rounding errors leave no step.
    pub fn system<'a>(&'a self, problem: &'a Problem, point: &'a Point, mu: f64) -> Option<StepSystem<'a>> {
        let (p, targets) = (problem.y.nrows(), problem.y.ncols());
        let (stiff, stiff_readout) = (problem.kappa + mu, problem.pull + mu);
        let kinks = Kinks::new(problem, self, stiff)?;
        let mut matrix = Mat::zeros(p * targets, p * targets);
        let mut right = Mat::zeros(p, targets);
        if !self.signals.is_empty() {
            matrix.copy_from(&self.kernel);
            let (mut along, mut through) = (self.along.clone(), self.through.clone());
            kinks.hold(self, point, &mut matrix, &mut through, &mut along);
            let (a, b) = (problem.kappa / stiff, problem.loss / stiff);
            right = along * Scale(a) - as_columns(&through, targets) * Scale(b);
        }
        for j in 0..p * targets {
            let column = matrix.col_as_slice_mut(j);
            column[j..].iter_mut().for_each(|k| *k /= stiff);
            column[j] += 1.0 / problem.loss;
        }
        let solvable = |matrix: &Mat<f64>| Cholesky::factor(matrix.as_ref(), "the system of a step").ok();
        if self.coupling.is_some() {
            let factor = solvable(&matrix)?;
            let coupled = Coupled::new(problem, self, point, &kinks, &factor, (stiff, stiff_readout));
            if coupled.is_some() {
                let here = self;
                return Some(StepSystem { here, problem, point, kinks, factor, right, coupled, stiff, stiff_readout });
            }
        }
        let phi = problem.features(point);
        let scale = 1.0 / ((phi.ncols() as f64).sqrt() * stiff_readout);
        matmul_into(right.as_mut(), 1.0, scale, phi.as_ref(), self.readout.as_ref());
        let features = self.features.get_or_init(|| {
            let mut features = Mat::zeros(p, p);
            lower_gram_into(features.as_mut(), 0.0, 1.0 / phi.ncols() as f64, phi.as_ref());
            features
        });
        for c in 0..targets {
            for j in 0..p {
                let own = matrix.col_as_slice_mut(c * p + j)[c * p + j..(c + 1) * p].iter_mut();
                own.zip(&features.col_as_slice(j)[j..]).for_each(|(k, f)| *k += f / stiff_readout);
            }
        }
        let factor = solvable(&matrix)?;
        Some(StepSystem { here: self, problem, point, kinks, factor, right, coupled: None, stiff, stiff_readout })
    }
}

/// `1/c + J S⁻¹ Jᵀ`, factored, and what goes with it.
pub(super) struct StepSystem<'a> {
    here: &'a Linearized,
    problem: &'a Problem,
    point: &'a Point,
    kinks: Kinks,
    /// Over hidden weights alone where the readout is coupled.
    factor: Cholesky,
    /// `J S⁻¹ ∇E`.
    right: Mat<f64>,
    coupled: Option<Coupled>,
    stiff: f64,
    stiff_readout: f64,
}

impl StepSystem<'_> {
    /// μ.
    pub fn damping(&self) -> f64 {
        self.stiff - self.problem.kappa
    }

    fn solve(&self, outputs: &Mat<f64>) -> Mat<f64> {
        as_columns(&self.factor.solve(as_column(outputs).as_ref()), outputs.ncols())
    }

    /// The step of a coupled readout, `H_a⁻¹ (Yᵀ push − force)`, whose effect is taken from `push`.
    fn couple(&self, coupled: &Coupled, push: &mut Mat<f64>, less_force: impl FnOnce(&mut Mat<f64>)) -> Mat<f64> {
        let mut readout = matmul(coupled.reach.transpose(), push.as_ref());
        less_force(&mut readout);
        coupled.reduced.solve_in_place(readout.as_mut());
        *push -= self.solve(&matmul(coupled.reach.as_ref(), readout.as_ref()));
        readout
    }

    /// The step δ, and by how much it changes the outputs to first order.
    pub fn step(&self) -> (Weights, Mat<f64>) {
        let mut push = self.solve(&self.right);
        let readout = self
            .coupled
            .as_ref()
            .map(|coupled| self.couple(coupled, &mut push, |readout| *readout -= &coupled.force + &self.here.readout));
        let first_order = &push * Scale(-1.0 / self.problem.loss);
        (self.lift(&push, readout, 1.0), first_order)
    }

    /// What makes up for a change of the outputs: `(cJᵀJ + S)⁻¹ c Jᵀ` times its negative.
    pub fn undo(&self, change: &Mat<f64>) -> Weights {
        let mut push = self.solve(&(change * Scale(-1.0)));
        let readout = self.coupled.as_ref().map(|coupled| self.couple(coupled, &mut push, |_| ()));
        self.lift(&push, readout, 0.0)
    }

    /// `(cJᵀJ + S)⁻¹` of a gradient, with the coupling of the readout where it is taken in.
    pub fn solved(&self, gradient: &Weights) -> Step {
        let StepSystem { here, problem, point, .. } = self;
        // S⁻¹ of its hidden part, and what that adds to pre-activations.
        let (mut own, mut images) = (Vec::new(), Vec::new());
        let mut reached = Mat::zeros(problem.y.nrows(), problem.y.ncols());
        for (l, gradient) in gradient.hidden.iter().enumerate() {
            let mut relaxed = gradient.clone();
            self.kinks.relax(problem, here, l, &mut relaxed);
            relaxed *= Scale(1.0 / self.stiff);
            let by = here.inputs[l].rows.as_ref().unwrap_or(&problem.gram);
            let image = matmul(by.as_ref(), relaxed.as_ref());
            for (c, signal) in here.signals[l].iter().enumerate() {
                let to = reached.col_as_slice_mut(c);
                for i in 0..signal.ncols() {
                    let terms = signal.col_as_slice(i).iter().zip(image.col_as_slice(i));
                    to.iter_mut().zip(terms).for_each(|(t, (s, z))| *t += s * z);
                }
            }
            own.push(relaxed);
            images.push(image);
        }
        let phi = problem.features(point);
        let (push, readout) = match (&self.coupled, &here.coupling) {
            (Some(coupled), Some(coupling)) => {
                let mut push = self.solve(&reached);
                let image = &images[images.len() - 1];
                let readout = self.couple(coupled, &mut push, |readout| {
                    *readout -= &gradient.readout;
                    for i in 0..readout.nrows() {
                        readout[(i, 0)] -= dot(coupling.pairs.col_as_slice(i), image.col_as_slice(i));
                    }
                });
                (push, Some(readout))
            }
            _ => {
                let scale = 1.0 / ((phi.ncols() as f64).sqrt() * self.stiff_readout);
                matmul_into(reached.as_mut(), 1.0, scale, phi.as_ref(), gradient.readout.as_ref());
                (self.solve(&reached), None)
            }
        };
        let free = readout.is_none();
        let mut step = self.lift(&push, readout, 0.0);
        step.hidden.iter_mut().zip(&own).for_each(|(step, own)| *step -= own);
        if free {
            step.readout -= &gradient.readout * Scale(1.0 / self.stiff_readout);
        }
        let negative = |m: &mut Mat<f64>| *m *= Scale(-1.0);
        step.hidden.iter_mut().for_each(negative);
        negative(&mut step.readout);
        problem.step(step)
    }

    /// `S⁻¹(Jᵀ push − share·∇E)`; a readout's step that is known already is taken as it is, with what it is coupled to.
    fn lift(&self, push: &Mat<f64>, readout: Option<Mat<f64>>, share: f64) -> Weights {
        let StepSystem { here, problem, point, .. } = self;
        let whole = push + &point.r * Scale(share * problem.loss);
        let mut hidden = Vec::with_capacity(here.signals.len());
        for (l, signals) in here.signals.iter().enumerate() {
            let mut along = pulled(signals, &whole, 1.0);
            if let (Some(a), Some(coupling), true) = (&readout, &here.coupling, l + 1 == here.signals.len()) {
                for i in 0..along.ncols() {
                    let pairs = coupling.pairs.col_as_slice(i);
                    along.col_as_slice_mut(i).iter_mut().zip(pairs).for_each(|(t, b)| *t += b * a[(i, 0)]);
                }
            }
            if let Some(rows) = &here.inputs[l].rows {
                along = matmul(rows.transpose(), along.as_ref());
            }
            along -= &point.weights.hidden[l] * Scale(share * problem.kappa);
            self.kinks.relax(problem, here, l, &mut along);
            hidden.push(along * Scale(1.0 / self.stiff));
        }
        let readout = readout.unwrap_or_else(|| {
            let phi = problem.features(point);
            let scale = 1.0 / ((phi.ncols() as f64).sqrt() * self.stiff_readout);
            let mut readout = &here.readout * Scale(-share / self.stiff_readout);
            matmul_into(readout.as_mut(), 1.0, scale, phi.transpose(), push.as_ref());
            readout
        });
        Weights { hidden, readout }
    }
}

/// The reverse.
fn as_columns(m: &Mat<f64>, targets: usize) -> Mat<f64> {
    let p = m.nrows() / targets;
    Mat::from_fn(p, targets, |i, c| m[(c * p + i, 0)])
}
