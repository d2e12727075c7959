//! Networks at the minimum of loss and penalty, on tasks with a load: what figures S6, S7 and S8 have in common.

use super::common::relu;
use super::drawn::{ByRatio, Drawn};
use super::loads::{column, largest, ratio_cell};
use crate::claim::{Claim, Verdict};
use crate::figures::{Images, Scale};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::nets::{Heads, Learner, Solver, TrainSettings};
use ebbing::plan::{Cost, levenberg_cost};
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::{Recipe, Task, Trainer};
use ebbing_studies::{Cell, Column, Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The tasks and the networks of every cell of a study.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Minima {
    /// The data set that tasks are drawn from.
    pub data: String,
    /// Training examples per task.
    pub p: usize,
    /// Test examples per task.
    pub p_test: usize,
    /// The seed of the pair of tasks; the cells' seeds are those of the initial weights.
    pub task_seed: u64,
    /// Strengths of the pull to the weights after the task before, against the sum of squared errors, the paper's first.
    pub kappas: Vec<f64>,
    /// Standard deviation of the initial weights.
    pub sigma0: f64,
    /// How the first task, and a task alone, is learned, which have no penalty; none: to a solution by the solver of the others.
    #[serde(flatten)]
    pub first: Option<ByDescent>,
    /// Where the gradient is below this share of what it was at the start, and the objective no longer falls by as much in 20
    /// steps, the minimum is reached. (Two hidden layers have flat valleys: a tenth of it takes hundreds of steps more, which
    /// lower the objective by a thousandth.)
    pub gradient_tolerance: f64,
    /// Steps of the solver on a task, at most.
    pub max_steps: usize,
}

/// Descent without a penalty.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ByDescent {
    /// It ends where the mean squared error is below this.
    threshold: f64,
    /// Heavy-ball momentum …
    momentum: f64,
    /// … at this share of the automatic rate, at which it does not overshoot.
    eta_factor: f64,
}

impl ByDescent {
    /// As in the paper: to zero training error, near enough.
    pub const PAPER: ByDescent = ByDescent { threshold: 1e-5, momentum: 0.9, eta_factor: 0.5 };
}

impl Minima {
    /// The paper's κ = 0.1 and σ0 = 1 on MNIST, P = 600, the first task by descent, and smaller κ, since κ → 0 is the theory's
    /// λ → ∞; `quick` has P = 200.
    pub fn at(scale: Scale, images: Images) -> Minima {
        Minima {
            data: images.name("mnist").into(),
            p: if scale == Scale::Quick { 200 } else { 600 },
            p_test: if images.few() { 200 } else { 400 },
            task_seed: 1,
            kappas: vec![0.1, 0.01, 0.001],
            sigma0: 1.0,
            first: Some(ByDescent::PAPER),
            gradient_tolerance: 1e-4,
            max_steps: 2000,
        }
    }

    /// Two tasks at a ratio, with datasets between them.
    pub fn tasks(&self, kind: ByRatio, ratio: f64, between: usize) -> Drawn {
        let protocol = kind.protocol(ratio, self.p, self.p_test);
        Drawn { data: self.data.clone(), protocol, between, seed: self.task_seed }
    }

    /// Networks of a depth at a load.
    pub fn nets(&self, tasks: Drawn, heads: Heads, depth: usize, alpha: f64, seed: u64) -> AtMinimum {
        let settings = TrainSettings {
            learner: Learner::L2 { kappa: self.kappas[0] },
            heads,
            architecture: relu(depth),
            width: width(self.p, alpha),
            sigma0: self.sigma0,
            solver: Solver::Levenberg,
            gradient_tolerance: self.gradient_tolerance,
            max_steps: self.max_steps,
            seed,
            ..TrainSettings::default()
        };
        let settings = match self.first {
            None => settings,
            Some(ByDescent { threshold, momentum, eta_factor }) => {
                let first_solver = Some(Solver::Descent);
                TrainSettings { first_solver, threshold, momentum, eta_factor, ..settings }
            }
        };
        AtMinimum { tasks, settings, kappas: self.kappas.clone() }
    }

    /// A grid without cells; `settings` are those besides the networks', `own` the columns besides those of all.
    pub fn study(&self, name: &str, scale: Scale, mut settings: serde_json::Value, own: &[Column]) -> Study {
        settings["nets"] = serde_json::json!(self);
        settings["scale"] = serde_json::json!(scale);
        let columns = COLUMNS.iter().chain(own).copied().collect();
        Study { name: name.into(), settings, data: vec![self.data.clone()], columns, ..Study::default() }
    }

    /// What the captions say of the networks at one κ.
    pub fn caption(&self, kappa: f64) -> String {
        let first = self.first.map_or(String::new(), |first| {
            format!(" The first task is learned by descent to a mean squared error of {:e}.", first.threshold)
        });
        format!(
            "Networks at the minimum of squared errors and penalty (Levenberg–Marquardt, to {:e} of the first gradient) on {}, \
             P = {}, κ = {kappa} against the sum of squared errors, σ_0 = {}.{first}",
            self.gradient_tolerance, self.data, self.p, self.sigma0
        )
    }
}

/// Networks trained on all tasks and, from the same initial weights, on the last one alone.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AtMinimum {
    pub tasks: Drawn,
    pub settings: TrainSettings,
    /// Penalties: a row for each.
    pub kappas: Vec<f64>,
}

impl AtMinimum {
    /// A run at every κ. The second task is learned at all of them at once: each is reached from the one before.
    fn runs(&self, tasks: &[Task]) -> Result<Vec<Trainer>> {
        let mut first = Trainer::new(tasks, &self.settings, &Context::default())?;
        first.learn_next(&mut |_| true)?;
        let mut runs = first.learn_next_at(&self.kappas, &mut |_| true)?;
        for run in &mut runs {
            while run.done() < run.tasks() {
                run.learn_next(&mut |_| true)?;
            }
        }
        Ok(runs)
    }
}

impl Work for AtMinimum {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let last = tasks.len() - 1;
        let mut alone = Trainer::new(&tasks[last..], &self.settings, context)?;
        alone.learn_next(&mut |_| true)?;
        let row = |run: &Trainer| {
            let (found, report) = (run.trained().interference(alone.trained()), &run.trained().reports[last]);
            // The first task and the task alone have ended too.
            let ends = run.trained().reports.iter().chain(&alone.trained().reports);
            let converged = ends.into_iter().all(|report| report.converged);
            let readout = &run.net().readouts()[run.net().readouts().len() - 1];
            let minimum = report.minimum.as_ref();
            Row::new()
                .with("kappa", run.settings().learner.kappa())
                .with("width", self.settings.width)
                .with("f21", found.f21)
                .with("g21", found.g21.unwrap_or(f64::NAN))
                .with("g22", found.g22.unwrap_or(f64::NAN))
                .with("readout", f64::from(readout.squared_norm_l2()) / readout.nrows() as f64)
                .with("mse", report.mse)
                .with("objective", minimum.map_or(f64::NAN, |m| m.objective))
                .with("gradient", minimum.map_or(f64::NAN, |m| m.gradient))
                .with("converged", usize::from(converged))
                .with("steps", report.steps)
                .with("moved", report.moved)
        };
        Ok(self.runs(&tasks)?.iter().map(row).collect())
    }

    fn cost(&self) -> Cost {
        let sizes = self.tasks.sizes();
        let depth = self.settings.architecture.depth;
        let mut steps = vec![if depth == 1 { STEPS[1] } else { STEPS[2] }; sizes.train.len()];
        steps[0] = STEPS[0];
        levenberg_cost(&sizes, self.settings.width, depth, &steps)
    }
}

/// Steps of bare products whose time a task takes, about: without a penalty (learned twice), with penalties in one hidden layer
/// (some 80 steps), and in two (some 450, in flat valleys). Trials that are refused, and all that is no product, take twice as long
/// as the products.
const STEPS: [usize; 3] = [40, 650, 1300];

/// The width N = P/α.
pub(super) fn width(p: usize, alpha: f64) -> usize {
    ((p as f64 / alpha).round() as usize).max(1)
}

/// Mean over seeds of a column against the load.
pub(super) fn against_load(frame: &Frame, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let (mut alphas, mut means, mut errors) = (vec![], vec![], vec![]);
    for alpha in frame.levels("alpha")? {
        let mean = frame.only("alpha", alpha)?.having(column, |v| !v.is_nan())?;
        if !mean.is_empty() {
            let mean = mean.mean(column)?;
            alphas.push(alpha);
            means.push(mean.value);
            errors.push(mean.standard_error.unwrap_or(0.0));
        }
    }
    Ok((alphas, means, errors))
}

/// The load where the mean of ln G_22 last falls through the middle of its range over α > 1; NaN where it does not.
///
/// G_22 of networks that overfit ranges over decades from one to the next, and half of the largest is passed beside it, wherever
/// it stands. On the theory's curves (λ = 1e6, the loads of figure S6) heights of G_22 and of its logarithm give the exact α_c
/// equally well, to 8 and 7 %.
pub(super) fn critical_by_height(frame: &Frame) -> Result<f64> {
    critical_by_height_of(frame, f64::ln)
}

/// The same of the mean G_22 itself.
pub(super) fn critical_by_plain_height(frame: &Frame) -> Result<f64> {
    critical_by_height_of(frame, |g22| g22)
}

/// Whether G_22 has come back at the largest load: its geometric mean there is no larger than at the last load below 1, where it
/// begins to diverge. Elsewhere networks overfit up to the largest load, the range of G_22 lacks its lower end, and its middle gives
/// nothing but that α_c lies beyond.
pub(super) fn has_recovered(frame: &Frame) -> Result<bool> {
    let (alphas, heights) = heights(frame, f64::ln)?;
    let below = alphas.iter().rposition(|a| *a < 1.0).map(|i| heights[i]);
    Ok(below.zip(heights.last()).is_some_and(|(below, last)| *last <= below))
}

fn critical_by_height_of(frame: &Frame, of: fn(f64) -> f64) -> Result<f64> {
    let (alphas, heights) = heights(frame, of)?;
    if alphas.len() < 3 {
        return Ok(f64::NAN);
    }
    Ok(alpha_c_from_curve(&alphas, &heights, CurveFeature::MidHeight)?.map_or(f64::NAN, |found| found.alpha_c))
}

/// The loads, and the mean over seeds of a function of G_22 at each.
fn heights(frame: &Frame, of: fn(f64) -> f64) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut alphas, mut heights) = (vec![], vec![]);
    for alpha in frame.levels("alpha")? {
        let g22: Vec<f64> = frame.only("alpha", alpha)?.numbers("g22")?.into_iter().filter(|g| !g.is_nan()).collect();
        if !g22.is_empty() {
            alphas.push(alpha);
            heights.push(g22.iter().map(|g| of(*g)).sum::<f64>() / g22.len() as f64);
        }
    }
    Ok((alphas, heights))
}

/// One claim of the same claim at each κ, the paper's first: it holds only where it does at every κ. Its value is that at the paper's
/// κ, or at the first κ where it fails; the others stand in the note.
///
/// Three penalties of the same networks are no three pieces of evidence: the minimum at each is reached from the one before.
pub(super) fn at_every_kappa(claims: Vec<(f64, Vec<Claim>)>) -> Vec<Claim> {
    let count = claims.first().map_or(0, |(_, first)| first.len());
    let together = |i: usize| {
        let each: Vec<(f64, &Claim)> = claims.iter().map(|(kappa, all)| (*kappa, &all[i])).collect();
        let failing = each.iter().find(|(_, claim)| claim.verdict == Verdict::Fail);
        let &(kappa, deciding) = failing.unwrap_or(&each[0]);
        let values: Vec<String> =
            each.iter().map(|(kappa, claim)| format!("{:.3} at κ = {kappa}", claim.value)).collect();
        let gap = if deciding.note.is_empty() { String::new() } else { format!("; κ = {kappa}: {}", deciding.note) };
        deciding.clone().note(format!("{}{gap}", values.join(", ")))
    };
    (0..count).map(together).collect()
}

/// The claim that all runs of a panel ended at their minimum; its note gives the errors that penalties leave.
pub(super) fn reached(panel: &str, frame: &Frame) -> Result<Claim> {
    let runs = frame.having("converged", |c| !c.is_nan())?;
    let converged = runs.numbers("converged")?;
    let share = converged.iter().sum::<f64>() / converged.len() as f64;
    let mut errors = Vec::new();
    for kappa in runs.levels("kappa")? {
        let at = runs.only("kappa", kappa)?;
        let (mean, most) = (at.mean("mse")?.value, largest(at.numbers("mse")?));
        errors.push(format!("κ = {kappa}: {mean:.1e} (most {most:.1e})"));
    }
    let note = format!("mean squared error that the minimum leaves on the newest task: {}", errors.join(", "));
    let statement = "share of runs that ended at a minimum, by the gradient there";
    Ok(Claim::new(panel, statement, share, "= 1", share == 1.0).note(note))
}

/// The name of a figure at the n-th κ: the first is the paper's.
pub(super) fn of_kappa(name: &str, n: usize, kappa: f64) -> String {
    if n == 0 { name.into() } else { format!("{name}-kappa-{kappa}") }
}

/// Seeds 1 … n.
pub(super) fn seeds(n: u64) -> impl Iterator<Item = u64> + Clone {
    1..=n
}

/// The benchmarks, each at its ratios.
pub(super) fn pairs(ratios: &[Vec<f64>; 2]) -> impl Iterator<Item = (ByRatio, f64)> {
    ByRatio::BOTH.into_iter().zip(ratios).flat_map(|(kind, ratios)| ratios.iter().map(move |&ratio| (kind, ratio)))
}

/// A cell of a pair of tasks.
pub(super) fn pair_cell(what: &str, (kind, ratio): (ByRatio, f64), seed: u64) -> Cell {
    ratio_cell(kind, ratio, seed).with("kind", what)
}

/// What the columns of runs are.
pub(super) const COLUMNS: &[Column] = &[
    column("protocol", "how the two tasks are made"),
    column("ratio", "share of pixels permuted, or split ratio"),
    column("alpha", "load P/N"),
    column("depth", "hidden layers"),
    column("seed", "seed of the initial weights"),
    column("kappa", "strength of the pull to the weights after the task before"),
    column("width", "units per hidden layer"),
    column("f21", "training loss of task 1 after the last, over |Y|²"),
    column("g21", "test loss of task 1 after the last over that after task 1"),
    column("g22", "test loss of the last task over that of learning it alone"),
    column("readout", "norm of the last readout, |a|²/N"),
    column("mse", "mean squared training error of the newest task"),
    column("objective", "half the sum of squared errors and the penalty, at the end of the newest task"),
    column("gradient", "norm of its gradient over that at the start"),
    column("converged", "1 where that is as small as asked for, on every task and on the last alone"),
    column("steps", "steps on the newest task"),
    column("moved", "relative distance of hidden weights from those before the newest task"),
    column("alpha_c", "exact critical load of the theory"),
    column("alpha_c_gamma_sim", "γ_sim^-2"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing_studies::Value;

    /// A run small enough for a test: a row for every κ, every column there and finite, at a minimum, however the first task is
    /// learned.
    #[test]
    fn a_small_pair_is_learned_and_measured() {
        let sources = Sources::new();
        for (kind, first) in ByRatio::BOTH.into_iter().flat_map(|k| [None, Some(ByDescent::PAPER)].map(|f| (k, f))) {
            let nets = Minima { p: 30, p_test: 20, first, ..Minima::at(Scale::Quick, Images::Embedded) };
            let nets = nets.nets(nets.tasks(kind, 0.5, 1), Heads::Multi, 1, 1.5, 3);
            assert_eq!(nets.tasks.sizes().train, [30; 3]);
            let rows = nets.rows(&sources, &Context::default()).unwrap();
            assert_eq!(rows.len(), 3);
            for (name, value) in rows.iter().flat_map(|row| &row.0) {
                assert!(value.number().is_some_and(f64::is_finite), "{name} is {value}");
                assert!(name != "converged" || value.number() == Some(1.0));
            }
            // A first task that descent has not ended is reported, though the last one is at its minimum.
            if let Some(first) = first {
                let mut early = nets;
                (early.settings.max_steps, early.settings.threshold) = (200, 1e-6 * first.threshold);
                for row in early.rows(&sources, &Context::default()).unwrap() {
                    let of = |name: &str| row.0.iter().find(|(n, _)| n == name).and_then(|(_, v)| v.number()).unwrap();
                    assert!(of("converged") == 0.0 && of("steps") < 200.0);
                }
            }
        }
    }

    /// Settings without descent are as they were before there was any: cells that were computed then are still theirs.
    #[test]
    fn descent_of_the_first_task_is_a_setting_of_its_own() {
        let descent = Minima::at(Scale::Paper, Images::Paper);
        let plain = Minima { first: None, ..descent.clone() };
        let keys = |nets: &Minima| serde_json::json!(nets).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let new: Vec<String> = keys(&descent).into_iter().filter(|key| !keys(&plain).contains(key)).collect();
        assert_eq!(new, ["eta_factor", "momentum", "threshold"]);
        let settings = |nets: &Minima| nets.nets(nets.tasks(ByRatio::Split, 0.1, 0), Heads::Multi, 1, 2.0, 1).settings;
        assert_eq!((settings(&plain).first_solver, settings(&descent).first_solver), (None, Some(Solver::Descent)));
        assert!(descent.caption(0.1).contains("descent to a mean squared error of 1e-5"));
    }

    #[test]
    fn a_claim_holds_where_it_does_at_every_kappa() {
        let at = |kappa: f64, value: f64| (kappa, vec![Claim::below("S6a", "gap", value, 0.25).note("of 4")]);
        let holds = &at_every_kappa(vec![at(0.1, 0.2), at(0.01, 0.1)])[0];
        assert_eq!((holds.verdict, holds.value), (Verdict::Pass, 0.2));
        assert_eq!(holds.note, "0.200 at κ = 0.1, 0.100 at κ = 0.01; κ = 0.1: of 4");
        let fails = &at_every_kappa(vec![at(0.1, 0.2), at(0.01, 0.3), at(0.001, 0.4)])[0];
        assert_eq!((fails.verdict, fails.value), (Verdict::Fail, 0.3));
        // What cannot be read off at one κ fails.
        assert_eq!(at_every_kappa(vec![at(0.1, 0.2), at(0.01, f64::NAN)])[0].verdict, Verdict::Fail);
    }

    #[test]
    fn the_critical_load_is_where_g22_falls() {
        let row = |alpha: f64, g22: f64| (Cell::new(1).with("alpha", alpha), vec![Row::new().with("g22", g22)]);
        let rows: Vec<_> = [(0.5, 1.0), (1.5, 3.0), (2.0, 3.0), (4.0, 1.0), (8.0, 1.0)].map(|(a, g)| row(a, g)).into();
        let frame = Frame::collect(rows.iter().map(|(cell, rows)| (cell, rows.as_slice())));
        // Halfway between ln 2 and ln 4.
        for found in [critical_by_height(&frame), critical_by_plain_height(&frame)] {
            assert!((found.unwrap() - 8f64.sqrt()).abs() < 1e-12);
        }
        // One network that overfits far more than its neighbors draws the plain height to its side.
        let peak = frame.replaced("g22", [1.0, 300.0, 30.0, 1.0, 1.0].map(Value::Number).into()).unwrap();
        assert!(critical_by_plain_height(&peak).unwrap() < 2.0 && critical_by_height(&peak).unwrap() > 2.0);
        let rising = frame.having("alpha", |a| a < 3.0).unwrap();
        assert!(critical_by_height(&rising).unwrap().is_nan());
        // Come back at load 8, to what it is below 1; still overfitting at load 2; nothing to hold it against.
        assert!(has_recovered(&frame).unwrap() && !has_recovered(&rising).unwrap());
        assert!(!has_recovered(&frame.having("alpha", |a| a > 1.0).unwrap()).unwrap());
    }
}
