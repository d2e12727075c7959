//! `F_{t1} = |<f_t(X_1)> − Y_1|²/|Y_1|²` of several theories of the same tasks at once.
//!
//! Products of inputs, by far the most work, are made once for the kernels of all theories (depths, modes), and no block is made
//! twice: only what learning task b needs, `K̃(X_b,X_a)` of the tasks before it, and of these the first task's a second time, for
//! what b changes there.

use super::settings::SingleHeadSettings;
use super::{SingleHead, score::stacked};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernels::{Architecture, Kernel};
use crate::linalg::{Cholesky, Mat, MatRef, matmul_into};
use crate::metrics::squared_loss;
use crate::plan::first_task_cost;
use crate::tasks::TaskSequence;
use crate::theory::Inputs;
use crate::theory::blocks::factor::{Factor, digits, one_norm, with_ridge};
use crate::theory::blocks::kernels::{KernelSource, Kernels, PointSet};
use crate::theory::blocks::repeats::Repeats;
use crate::theory::blocks::shared::{self, Prepared, Shared};
use crate::theory::operator::{self, Operator};
use std::sync::Arc;

/// Forgetting of the first task in one theory.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstTask {
    /// `forgetting[k][t]`: `F_{t1}` of target column k alone, t from 0 (the first task just learned).
    pub forgetting: Vec<Vec<f64>>,
    /// The estimated number of correct decimal digits of means: `−log₁₀(ε · condition)` of the worst kernel.
    pub digits: f64,
}

/// `F_{t1} = |<f_t(X_1)> − Y_1|²/|Y_1|²` for every theory, target column and t: what [`SingleHead::forgetting`] has in its first
/// column, where nothing else is needed. Columns are labelings of the same inputs.
///
/// # Errors
/// As for [`SingleHead::new`]; [`Error::Setting`] for finite λ, replay and variances, which need more than one pass.
pub fn forgetting_of_first(
    sequence: &TaskSequence,
    theories: &[SingleHeadSettings],
    context: &Context,
) -> Result<Vec<FirstTask>> {
    let inputs = Inputs::from(sequence);
    let given = inputs.given(theories.iter().fold(f64::INFINITY, |least, theory| least.min(theory.bias2)))?;
    let numbers = shared::number(&given);
    let mut slots = Slots::default();
    let mut passes = vec![];
    for settings in theories {
        check(settings)?;
        shared::check(&given)?;
        let kernels = Kernels::new(inputs.source(settings.architecture, settings.checked()?), settings.limit()?)?;
        let [first, later] = [1, 2].map(|s| slots.of(&kernels, settings, s));
        passes.push(Pass::new(settings.ridge(), first?, later?));
    }
    inputs.fits("this forecast", |sizes| first_task_cost(sizes, theories.len()), context)?;
    let share = theories.iter().all(|settings| settings.share);
    let shared = if share { Shared::find(&given, &numbers) } else { Shared::nothing(&given) };
    let mut several = Several { slots: &slots, shared: &shared, passes, blocks: Blocks::default(), now: 0 };
    context.run(|| operator::learn(&mut several)).map_err(|error| match error {
        // With the rows numbered as the user gave them.
        Error::NotPositiveDefinite { .. } => {
            SingleHead::new(sequence, &theories[several.now], context).err().unwrap_or(error)
        }
        error => error,
    })?;
    let one = |pass: Pass| FirstTask { forgetting: pass.forgetting, digits: pass.digits };
    Ok(several.passes.into_iter().map(one).collect())
}

/// Refuses what is not known after one pass.
fn check(settings: &SingleHeadSettings) -> Result<()> {
    let wrong = |name: &str, value: &dyn std::fmt::Display, expected: &str| Err(Error::setting(name, value, expected));
    if settings.lambda.is_finite() {
        return wrong("lambda", &settings.lambda, "must be inf where several theories are computed at once");
    }
    if settings.variance || settings.replay.is_on() {
        return wrong("variance or replay", &"on", "must be off where several theories are computed at once");
    }
    Ok(())
}

/// The kernels of all theories, each once.
#[derive(Default)]
struct Slots {
    kernels: Vec<(Arc<Kernel>, f64)>,
    /// What each is: settings that decide kernels, which it is, and its multiple.
    keys: Vec<(Architecture, [f64; 2], String, f64)>,
    /// Those that tasks after the first are learned with.
    later: Vec<usize>,
}

impl Slots {
    /// The place of `K̃_ss` (s from 1) of a theory.
    fn of(&mut self, kernels: &Kernels, settings: &SingleHeadSettings, s: usize) -> Result<usize> {
        let (which, scale) = kernels.tilde(s, s).unscaled();
        let SingleHeadSettings { architecture, sigma2, bias2, .. } = settings;
        let key = (*architecture, [*sigma2, *bias2], which.word(), scale);
        let place = match self.keys.iter().position(|known| *known == key) {
            Some(place) => place,
            None => {
                let KernelSource::Network(network) = &kernels.source else {
                    unreachable!("the kernels of a task sequence are a network's")
                };
                self.kernels.push((network.prepared(which)?, scale));
                self.keys.push(key);
                self.keys.len() - 1
            }
        };
        if s > 1 && !self.later.contains(&place) {
            self.later.push(place);
        }
        Ok(place)
    }

    fn all(&self) -> Vec<usize> {
        (0..self.kernels.len()).collect()
    }

    /// The wanted kernels between two sets of inputs, from one product; those not wanted stay empty.
    fn blocks(&self, wanted: &[usize], x: &PointSet, x2: &PointSet) -> Result<Vec<Mat<f64>>> {
        let kernels: Vec<&Kernel> = wanted.iter().map(|&k| self.kernels[k].0.as_ref()).collect();
        let (x, x2) = (inputs(x), inputs(x2));
        if x.nrows() == 0 || x2.nrows() == 0 {
            return Ok(self.kernels.iter().map(|_| Mat::zeros(x.nrows(), x2.nrows())).collect());
        }
        Ok(self.placed(wanted, Kernel::gram_many(&kernels, x, x2)?))
    }

    /// All kernels of a set of inputs with itself, from one product.
    fn symmetric(&self, x: &PointSet) -> Result<Vec<Mat<f64>>> {
        let x = inputs(x);
        if x.nrows() == 0 {
            return Ok(self.kernels.iter().map(|_| Mat::zeros(0, 0)).collect());
        }
        let kernels: Vec<&Kernel> = self.kernels.iter().map(|(kernel, _)| kernel.as_ref()).collect();
        Ok(self.placed(&self.all(), Kernel::gram_many_symmetric(&kernels, x)?))
    }

    fn placed(&self, wanted: &[usize], made: Vec<Mat<f64>>) -> Vec<Mat<f64>> {
        let mut blocks: Vec<Mat<f64>> = self.kernels.iter().map(|_| Mat::zeros(0, 0)).collect();
        for (&place, mut block) in wanted.iter().zip(made) {
            let scale = self.kernels[place].1;
            if scale != 1.0 {
                block.col_iter_mut().for_each(|column| column.iter_mut().for_each(|v| *v *= scale));
            }
            blocks[place] = block;
        }
        blocks
    }
}

fn inputs(points: &PointSet) -> MatRef<'_, f64> {
    match points {
        PointSet::Inputs(x) => x.as_ref(),
        PointSet::Rows(_) => unreachable!("the points of a task sequence are inputs"),
    }
}

/// One theory while tasks are learned.
struct Pass {
    ridge: f64,
    /// Places of the kernels of the first task and of all others.
    kernels: [usize; 2],
    /// The factor of the common inputs' kernel in each, made at its first use.
    factors: [Option<Arc<Cholesky>>; 2],
    /// `u_a` at each task's own inputs.
    duals: Vec<Mat<f64>>,
    /// `u_1` and `Σ_{a≥2} u_a` at the common inputs.
    common_duals: [Mat<f64>; 2],
    /// The network as it is now at the common inputs and at the first task's own.
    f_common: Mat<f64>,
    f_first: Mat<f64>,
    forgetting: Vec<Vec<f64>>,
    digits: f64,
}

/// Blocks of all kernels that learning a task needs.
#[derive(Default)]
struct Blocks {
    /// The common inputs with themselves.
    k_cc: Vec<Mat<f64>>,
    /// The task's own inputs with the common ones, and with themselves.
    k_oc: Vec<Mat<f64>>,
    k_oo: Vec<Mat<f64>>,
    /// The first task's own inputs with the common ones, and the task's own with them.
    first_oc: Vec<Mat<f64>>,
    to_first: Vec<Mat<f64>>,
}

/// Several theories of the same tasks, whose kernels are made from one product.
struct Several<'a> {
    slots: &'a Slots,
    shared: &'a Shared,
    passes: Vec<Pass>,
    blocks: Blocks,
    /// The theory that solves now.
    now: usize,
}

impl Operator for Several<'_> {
    type Vector = Vec<Mat<f64>>;

    fn tasks(&self) -> usize {
        self.shared.tasks.len()
    }

    fn rest(&mut self, b: usize) -> Result<Vec<Mat<f64>>> {
        let (slots, shared) = (self.slots, self.shared);
        let (task, blocks) = (&shared.tasks[b], &mut self.blocks);
        if b == 0 {
            blocks.k_cc = slots.symmetric(&shared.common)?;
        }
        blocks.k_oc = slots.blocks(&slots.all(), &task.own, &shared.common)?;
        blocks.k_oo = slots.symmetric(&task.own)?;
        let mut before: Vec<Mat<f64>> = self.passes.iter().map(|pass| pass.through_common(&blocks.k_oc)).collect();
        for a in 0..b {
            let wanted = if a == 0 { &slots.all() } else { &slots.later };
            let made = slots.blocks(wanted, &task.own, &shared.tasks[a].own)?;
            for (pass, f) in self.passes.iter().zip(&mut before) {
                add(f, made[pass.kernel(a)].as_ref(), pass.duals[a].as_ref());
            }
            if a == 0 {
                blocks.to_first = made;
            }
        }
        let left = |(pass, before): (&Pass, Mat<f64>)| match b {
            0 => task.y.clone(),
            _ => &task.y - stacked(pass.f_common.as_ref(), before.as_ref()),
        };
        Ok(self.passes.iter().zip(before).map(left).collect())
    }

    fn solve(&mut self, b: usize, rest: Vec<Mat<f64>>) -> Result<Vec<Mat<f64>>> {
        let mut duals = vec![];
        for (n, (pass, rest)) in self.passes.iter_mut().zip(rest).enumerate() {
            self.now = n;
            duals.push(pass.solve(b, &self.shared.tasks[b], &self.blocks, &rest)?);
        }
        Ok(duals)
    }

    fn carry(&mut self, b: usize, duals: Vec<Mat<f64>>) -> Result<()> {
        if b == 0 {
            self.blocks.first_oc = self.blocks.k_oc.clone();
        }
        for (n, (pass, dual)) in self.passes.iter_mut().zip(duals).enumerate() {
            self.now = n;
            pass.update(b, &self.blocks, &dual);
            pass.score(&self.shared.tasks[0].y)?;
        }
        Ok(())
    }
}

impl Pass {
    fn new(ridge: f64, first: usize, later: usize) -> Pass {
        let nothing = || Mat::zeros(0, 0);
        Pass {
            ridge,
            kernels: [first, later],
            factors: [None, None],
            duals: vec![],
            common_duals: [nothing(), nothing()],
            f_common: nothing(),
            f_first: nothing(),
            forgetting: vec![],
            digits: f64::INFINITY,
        }
    }

    /// The place of the kernel of task s (from 0).
    fn kernel(&self, s: usize) -> usize {
        self.kernels[usize::from(s > 0)]
    }

    /// What all tasks so far have learned at the common inputs says at points whose kernels with those are `k_oc`.
    fn through_common(&self, k_oc: &[Mat<f64>]) -> Mat<f64> {
        let mut f = Mat::zeros(k_oc[self.kernels[0]].nrows(), self.f_common.ncols());
        for (kernel, dual) in self.kernels.iter().zip(&self.common_duals).filter(|(_, dual)| dual.nrows() > 0) {
            add(&mut f, k_oc[*kernel].as_ref(), dual.as_ref());
        }
        f
    }

    /// `K̃_bb^{-1} R`.
    fn solve(&mut self, b: usize, task: &Prepared, blocks: &Blocks, rest: &Mat<f64>) -> Result<Mat<f64>> {
        let kernel = self.kernel(b);
        let [k_cc, k_oc, k_oo] = [&blocks.k_cc, &blocks.k_oc, &blocks.k_oo].map(|all| all[kernel].as_ref());
        let name = format!("the kernel of {}", task.name);
        let common = if k_cc.nrows() == 0 { None } else { Some(self.common_factor(b, k_cc)?) };
        let repeats = if self.ridge > 0.0 { None } else { Repeats::of(task.own.points()) };
        let factor = Factor::of_distinct(repeats, (k_oc, k_oo), &name, |k_oc, k_oo, name| match &common {
            None => Factor::plain(k_oo, self.ridge, name),
            Some(common) => Factor::extend(common, k_oc, k_oo, self.ridge, name),
        })?;
        let condition = factor.condition(rest.nrows(), one_norm(k_cc, k_oc, k_oo) + self.ridge);
        self.digits = self.digits.min(digits(condition, &task.name)?);
        Ok(factor.solve(rest.as_ref()))
    }

    /// The factor of the common inputs' kernel in the kernel of task b.
    fn common_factor(&mut self, b: usize, k_cc: MatRef<'_, f64>) -> Result<Arc<Cholesky>> {
        let slot = usize::from(b > 0 && self.kernels[0] != self.kernels[1]);
        if let Some(factor) = &self.factors[slot] {
            return Ok(factor.clone());
        }
        let name = "the kernel of the inputs that all tasks share";
        let factor = Arc::new(Cholesky::factor_owned(with_ridge(k_cc, self.ridge), name)?);
        self.factors[slot] = Some(factor.clone());
        Ok(factor)
    }

    /// `f_b = f_{b−1} + K̃(·,X_b) u_b` at the inputs of the first task.
    fn update(&mut self, b: usize, blocks: &Blocks, dual: &Mat<f64>) {
        let kernel = self.kernel(b);
        let (top, bottom) = dual.as_ref().split_at_row(blocks.k_cc[kernel].nrows());
        if b == 0 {
            self.f_common = Mat::zeros(top.nrows(), top.ncols());
            self.f_first = Mat::zeros(bottom.nrows(), bottom.ncols());
            self.common_duals = [self.f_common.clone(), self.f_common.clone()];
        }
        let to_own = if b == 0 { &blocks.k_oo } else { &blocks.to_first };
        add(&mut self.f_common, blocks.k_cc[kernel].as_ref(), top);
        add(&mut self.f_common, blocks.k_oc[kernel].transpose(), bottom);
        add(&mut self.f_first, blocks.first_oc[kernel].as_ref(), top);
        add(&mut self.f_first, to_own[kernel].transpose(), bottom);
        self.common_duals[usize::from(b > 0)] += top;
        self.duals.push(bottom.to_owned());
    }

    /// The loss of every column on the first task.
    fn score(&mut self, y: &Mat<f64>) -> Result<()> {
        let f = stacked(self.f_common.as_ref(), self.f_first.as_ref());
        self.forgetting.resize(y.ncols(), vec![]);
        for (k, curve) in self.forgetting.iter_mut().enumerate() {
            curve.push(squared_loss(f.as_ref().subcols(k, 1), y.as_ref().subcols(k, 1), None)?);
        }
        Ok(())
    }
}

/// `f ← f + K u`.
fn add(f: &mut Mat<f64>, k: MatRef<'_, f64>, u: MatRef<'_, f64>) {
    matmul_into(f.as_mut(), 1.0, 1.0, k, u);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Sources;
    use crate::kernels::Activation;
    use crate::tasks::{Permuted, Protocol, TargetDistractor};
    use crate::theory::single_head::Mode;
    use crate::{Recipe, tasks::Task};

    fn theories() -> Vec<SingleHeadSettings> {
        let relu = |depth| Architecture { activation: Activation::Relu, depth };
        let rf = |depth| SingleHeadSettings { architecture: relu(depth), ..Default::default() };
        vec![
            rf(1),
            rf(3),
            SingleHeadSettings { mode: Mode::Ntk, ..rf(3) },
            SingleHeadSettings { mode: Mode::Ntk, sigma2: 1.7, ..rf(2) },
            SingleHeadSettings { mode: Mode::Lazy, beta: 50.0, ..rf(2) },
        ]
    }

    fn drawn(protocol: Protocol) -> TaskSequence {
        Recipe::drawn("mnist-sample", protocol).draw(&Sources::new(), 3).unwrap()
    }

    /// Every theory gives what it gives alone, with and without inputs that all tasks share.
    #[test]
    fn several_theories_give_what_each_gives_alone() {
        let split = TargetDistractor {
            tasks: 4,
            p: 60,
            rho_target: 0.5,
            rho_shared: 0.5,
            rho_flip: 0.2,
            p_test: Some(0),
            ..Default::default()
        };
        let permuted = Permuted { tasks: 4, p: 40, p_test: 0, ratio: 0.3, ..Default::default() };
        for sequence in [drawn(Protocol::TargetDistractor(split)), drawn(Protocol::Permuted(permuted))] {
            let together = forgetting_of_first(&sequence, &theories(), &crate::Context::default()).unwrap();
            for (settings, found) in theories().iter().zip(&together) {
                let alone = SingleHead::new(&sequence, settings, &crate::Context::default()).unwrap();
                assert_eq!(found.forgetting.len(), 1);
                for (t, row) in alone.forgetting().unwrap().iter().enumerate() {
                    // Rounding, magnified by condition numbers below 1e4.
                    let gap = (found.forgetting[0][t] - row[0]).abs();
                    assert!(gap < 1e-10, "{settings:?} after task {}: {gap:e}", t + 1);
                }
                assert!((found.digits - alone.digits()).abs() < 0.1, "{} {}", found.digits, alone.digits());
            }
        }
    }

    #[test]
    fn columns_are_labelings_of_their_own() {
        let mut sequence = drawn(Protocol::Permuted(Permuted { tasks: 3, p: 30, p_test: 0, ..Default::default() }));
        let single = forgetting_of_first(&sequence, &theories(), &crate::Context::default()).unwrap();
        for task in &mut sequence.tasks {
            let y = task.y.clone();
            task.y = Mat::from_fn(y.nrows(), 2, |i, j| if j == 0 { y[(i, 0)] } else { 3.0 * y[(i, 0)] });
        }
        for (one, two) in
            single.iter().zip(forgetting_of_first(&sequence, &theories(), &crate::Context::default()).unwrap())
        {
            for t in 0..3 {
                // A factor of 3 on all targets cancels, up to rounding.
                assert!((two.forgetting[0][t] - one.forgetting[0][t]).abs() < 1e-12);
                assert!((two.forgetting[1][t] - one.forgetting[0][t]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn what_needs_more_is_refused() {
        let sequence = drawn(Protocol::Permuted(Permuted { tasks: 2, p: 20, p_test: 0, ..Default::default() }));
        let refused = |settings: SingleHeadSettings, name: &str| {
            let said = forgetting_of_first(&sequence, &[settings], &crate::Context::default()).unwrap_err().to_string();
            assert!(said.starts_with(name), "{said}");
        };
        let rf = SingleHeadSettings::default();
        refused(SingleHeadSettings { mode: Mode::Gibbs, lambda: 1.0, ..rf }, "lambda");
        refused(SingleHeadSettings { variance: true, ..rf }, "variance");
        // A singular kernel is named with the rows that were given; a repeated one is learned.
        let mut twice = sequence.clone();
        let again = |task: &mut Task, by: f64| (0..task.x.ncols()).for_each(|j| task.x[(7, j)] = by * task.x[(4, j)]);
        again(&mut twice.tasks[1], 2.0);
        let alone = SingleHead::new(&twice, &rf, &crate::Context::default()).unwrap_err().to_string();
        assert_eq!(forgetting_of_first(&twice, &[rf], &crate::Context::default()).unwrap_err().to_string(), alone);
        let task = &mut twice.tasks[1];
        (0..task.x.ncols()).for_each(|j| task.x[(7, j)] = task.x[(4, j)]);
        let alone = SingleHead::new(&twice, &rf, &crate::Context::default()).unwrap().forgetting().unwrap();
        let first = &forgetting_of_first(&twice, &[rf], &crate::Context::default()).unwrap()[0].forgetting[0];
        // Rounding times condition numbers below 1e4.
        assert!((0..2).all(|t| (first[t] - alone[t][0]).abs() < 1e-10), "{first:?} {alone:?}");
    }
}
