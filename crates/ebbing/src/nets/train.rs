//! A network learns a sequence of tasks; losses and accuracies on every task seen are taken after each.

use super::descent::{Descent, Progress, TaskEnd};
use super::fisher::fisher;
use super::learner::{Indexing, Learner, Solver, TrainSettings};
use super::levenberg::{Minimizer, Minimum};
use super::mlp::{Mlp, squared_error, to_f32, to_f64};
use super::posterior::Heads;
use super::update::{Params, Penalty};
use super::watch::Stop;
use crate::context::Context;
use crate::error::{Error, Result, refuse};
use crate::linalg::{Mat, column_f32, for_columns, within_pool};
use crate::metrics::{accuracy, squared_loss};
use crate::plan::train_cost;
use crate::rng::Stream;
use crate::tasks::{Task, sizes_of};
use serde::{Deserialize, Serialize};

/// How one task was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Steps taken.
    pub steps: usize,
    /// Mean squared training error at the end.
    pub mse: f64,
    /// Whether that is below the threshold: only then does remembering older tasks mean anything.
    pub learned: bool,
    /// Why it ended.
    pub stop: Stop,
    /// The learning rate of the last step; 0 where the solver has none.
    pub eta: f64,
    /// `|Θ_t − Θ_{t−1}|/|Θ_{t−1}|` over hidden weights.
    pub moved: f64,
    /// The largest training error over the lowest before it (from a hundredth of the first on): 1 where it only fell. Momentum that
    /// overshoots throws a network far from where it began, and leaves no other trace.
    #[serde(default = "one")]
    pub rose: f64,
    /// Whether it rose by more than half: less may be ripples.
    #[serde(default)]
    pub overshot: bool,
    /// Whether it ended where it was meant to: at the threshold, settled, or at the minimum.
    #[serde(default)]
    pub converged: bool,
    /// The objective, its gradient relative to the start, and how starts differ, where the minimum itself was sought.
    #[serde(flatten, default)]
    pub minimum: Option<Minimum>,
}

/// What checkpoints say that were written before it was counted.
fn one() -> f64 {
    1.0
}

/// Losses and accuracies of one run; `[t][s]` is after task t on task s, both from 0, s ≤ t.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trained {
    /// How each task was learned.
    pub reports: Vec<TaskReport>,
    /// `Σ(f−y)²/|Y|²` on training data.
    pub train_loss: Vec<Vec<f64>>,
    /// The same on test data; absent where a task has none.
    pub test_loss: Vec<Vec<Option<f64>>>,
    /// Share of training examples classified correctly (by the sign of one target column, or the largest of several);
    /// absent where targets name no classes.
    pub train_accuracy: Vec<Vec<Option<f64>>>,
    /// The same on test data.
    pub test_accuracy: Vec<Vec<Option<f64>>>,
}

/// Inputs and targets in single precision.
#[derive(Clone)]
pub(crate) struct Examples {
    pub x: Mat<f32>,
    pub y: Mat<f32>,
}

/// A run over a task sequence that can be interrupted and resumed between tasks.
#[derive(Clone)]
pub struct Trainer {
    settings: TrainSettings,
    train: Vec<Examples>,
    test: Vec<Option<Examples>>,
    pub(crate) net: Mlp,
    pub(crate) fisher: Option<Params>,
    pub(crate) trained: Trained,
}

impl Trainer {
    /// A fresh network and the tasks it will learn.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings out of range, [`Error::Data`] for tasks that do not fit together.
    pub fn new(tasks: &[Task], settings: &TrainSettings, context: &Context) -> Result<Self> {
        settings.check()?;
        crate::tasks::inputs_only(tasks)?;
        let tasks = &settings.heads.targets(tasks)[..];
        let Some(first) = tasks.first() else {
            return Err(Error::data("the task sequence", "is empty; give at least one task"));
        };
        for task in tasks {
            let [own, wanted] = [task, first].map(|task| (task.x.ncols(), task.y.ncols()));
            if own != wanted {
                let shape = |(inputs, columns)| format!("{inputs} inputs and {columns} target columns");
                let problem = format!("has {} but the first task {} and {}", shape(own), wanted.0, wanted.1);
                return Err(Error::data(&task.name, problem));
            }
            if let Some(batch) = settings.batch.filter(|batch| *batch > task.x.nrows()) {
                let expected = format!("must be at most {}, the size of {}", task.x.nrows(), task.name);
                return Err(Error::setting("batch", batch, expected));
            }
        }
        context.plan().check("training", &sizes_of(tasks), |s| {
            train_cost(s, settings.width, settings.architecture.depth, None, &[])
        })?;
        let mut stream = Stream::new(settings.seed, "initial weights", 0);
        let (dim, targets) = (first.x.ncols(), first.y.ncols());
        let net = Mlp::new(settings.architecture, dim, settings.width, targets, settings.sigma0, &mut stream)?;
        let single = |x: &Mat<f64>, y: &Mat<f64>| Examples { x: to_f32(x.as_ref()), y: to_f32(y.as_ref()) };
        Ok(Trainer {
            settings: settings.clone(),
            train: tasks.iter().map(|t| single(&t.x, &t.y)).collect(),
            test: tasks.iter().map(|t| t.test.as_ref().map(|t| single(&t.x, &t.y))).collect(),
            net,
            fisher: None,
            trained: Trained::default(),
        })
    }

    /// The number of tasks learned so far.
    pub fn done(&self) -> usize {
        self.trained.reports.len()
    }

    /// The number of tasks in all.
    pub fn tasks(&self) -> usize {
        self.train.len()
    }

    /// The settings of the run.
    pub fn settings(&self) -> &TrainSettings {
        &self.settings
    }

    /// The network as it is now.
    pub fn net(&self) -> &Mlp {
        &self.net
    }

    /// What was measured so far.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }

    /// Learns the next task, then measures all tasks seen. `progress` may end the run by returning false.
    ///
    /// # Errors
    /// [`Error::Diverged`] where the loss runs away; [`Error::Setting`] where an explicit penalty step is unstable;
    /// [`Error::Stopped`] where `progress` returned false (the trainer is then as before the call).
    pub fn learn_next(&mut self, progress: &mut (dyn FnMut(Progress) -> bool + Send)) -> Result<()> {
        within_pool(|| self.learn(progress))
    }

    /// Learns the next task with each of several penalties κ: a trainer for each, the same in every bit as if this one had that
    /// κ from this task on. The solver `levenberg` comes to a small κ through larger ones, and goes that way once for all.
    ///
    /// # Errors
    /// As [`Trainer::learn_next`]; [`Error::Setting`] for another solver than `levenberg`, another learner than L2, or a κ
    /// that is not positive.
    pub fn learn_next_at(
        &self,
        kappas: &[f64],
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<Vec<Trainer>> {
        let l2 = matches!(self.settings.learner, Learner::L2 { .. });
        let bad = self.settings.solver_of(self.done()) != Solver::Levenberg || !l2;
        refuse(bad, "kappas", "several", "need the solver levenberg and the learner L2")?;
        for (k, &kappa) in kappas.iter().enumerate() {
            let bad = !(kappa.is_finite() && kappa > 0.0) || kappas[..k].contains(&kappa);
            refuse(bad, "kappas", kappa, "every κ must be positive, finite and named once")?;
        }
        within_pool(|| {
            let (t, before, head) = self.begin();
            // The first task is not penalized.
            let wanted = if t == 0 { &[0.0] } else { kappas };
            let found =
                Minimizer::new(&self.settings, t, head, &self.train[t], &before).run(wanted, &before, progress)?;
            let one = |(k, &kappa): (usize, &f64)| {
                let mut trainer = self.clone();
                trainer.settings.learner = Learner::L2 { kappa };
                let (net, outcome) = found[k.min(found.len() - 1)].clone();
                trainer.end(t, &before, net, outcome)?;
                Ok(trainer)
            };
            kappas.iter().enumerate().map(one).collect()
        })
    }

    /// The task that is next, the network with a readout for it, and which readout that is.
    fn begin(&self) -> (usize, Mlp, usize) {
        let t = self.done();
        let multi = self.settings.heads == Heads::Multi;
        let mut net = self.net.clone();
        if multi && t > 0 {
            let mut stream = Stream::new(self.settings.seed, "initial readout", t as u64);
            net.add_head(self.train[t].y.ncols(), self.settings.sigma0, &mut stream);
        }
        (t, net, if multi { t } else { 0 })
    }

    fn learn(&mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<()> {
        let (t, before, head) = self.begin();
        let mut fisher_now = self.fisher.clone();
        let (net, outcome) = match self.settings.solver_of(t) {
            Solver::Descent => {
                let penalty = self.penalty(&before, t, head, &mut fisher_now);
                let mut net = before.clone();
                let outcome =
                    Descent::new(&self.settings, t, head, &self.train[t], penalty, &net).run(&mut net, progress)?;
                (net, outcome)
            }
            Solver::Levenberg => {
                let kappa = if t == 0 { 0.0 } else { self.settings.learner.kappa() };
                let mut minimizer = Minimizer::new(&self.settings, t, head, &self.train[t], &before);
                minimizer.run(&[kappa], &before, progress)?.remove(0)
            }
        };
        if let Learner::Ewc { gamma, fisher: kind, indexing: Indexing::Past, .. } = self.settings.learner {
            let new = fisher(&net, self.train[t].x.as_ref(), &self.train[t].y, head, kind);
            fisher_now = Some(decayed_sum(fisher_now, gamma as f32, new));
        }
        self.fisher = fisher_now;
        self.end(t, &before, net, outcome)
    }

    /// Takes a task's network and measures it.
    fn end(&mut self, t: usize, before: &Mlp, net: Mlp, outcome: TaskEnd) -> Result<()> {
        let moved = relative_distance(&net.hidden, &before.hidden);
        self.net = net;
        self.trained.reports.push(TaskReport {
            steps: outcome.steps,
            mse: outcome.mse,
            learned: outcome.mse < self.settings.threshold,
            stop: outcome.stop,
            eta: outcome.eta,
            moved,
            rose: outcome.rose,
            overshot: outcome.rose > 1.5,
            converged: !matches!(outcome.stop, Stop::MaxSteps | Stop::Stalled),
            minimum: outcome.minimum,
        });
        self.measure(t, self.settings.heads == Heads::Multi)
    }

    fn penalty(&self, net: &Mlp, t: usize, head: usize, fisher_now: &mut Option<Params>) -> Penalty {
        let kappa = self.settings.learner.kappa() as f32;
        if t == 0 || kappa == 0.0 {
            return Penalty::None;
        }
        let anchor = Params::of(net, head);
        match self.settings.learner {
            Learner::Gd => Penalty::None,
            Learner::L2 { .. } => Penalty::Uniform { kappa, anchor },
            Learner::Ewc { gamma, fisher: kind, indexing, .. } => {
                if indexing == Indexing::Printed {
                    let new = fisher(net, self.train[t].x.as_ref(), &self.train[t].y, head, kind);
                    *fisher_now = Some(decayed_sum(fisher_now.take(), gamma as f32, new));
                }
                let fisher = fisher_now.clone().unwrap_or_else(|| anchor.zeros_like());
                Penalty::Weighted { kappa, fisher, anchor }
            }
        }
    }

    fn measure(&mut self, t: usize, multi: bool) -> Result<()> {
        let on = |examples: &Examples, s: usize| {
            let f = to_f64(&self.net.output(examples.x.as_ref(), if multi { s } else { 0 }));
            let y = to_f64(&examples.y);
            let loss = squared_loss(f.as_ref(), y.as_ref(), None)?;
            // Targets without a class (all zero, or tied) have no accuracy.
            Ok((loss, accuracy(f.as_ref(), y.as_ref(), None).ok()))
        };
        let train = (0..=t).map(|s| on(&self.train[s], s)).collect::<Result<Vec<_>>>()?;
        let test = (0..=t).map(|s| self.test[s].as_ref().map(|e| on(e, s)).transpose()).collect::<Result<Vec<_>>>()?;
        self.trained.train_loss.push(train.iter().map(|r| r.0).collect());
        self.trained.train_accuracy.push(train.iter().map(|r| r.1).collect());
        self.trained.test_loss.push(test.iter().map(|r| r.map(|r| r.0)).collect());
        self.trained.test_accuracy.push(test.iter().map(|r| r.and_then(|r| r.1)).collect());
        Ok(())
    }
}

/// `γ old + new`.
fn decayed_sum(old: Option<Params>, gamma: f32, mut new: Params) -> Params {
    if let Some(old) = old {
        for (new, old) in new.0.iter_mut().zip(&old.0) {
            for_columns(new, |j, n| {
                n.iter_mut().zip(column_f32(old.as_ref(), j)).for_each(|(n, o)| *n += gamma * o);
            });
        }
    }
    new
}

/// `|W − W_before|/|W_before|`.
fn relative_distance(now: &[Mat<f32>], before: &[Mat<f32>]) -> f64 {
    let distance: f64 = now.iter().zip(before).map(|(a, b)| squared_error(a, b)).sum();
    (distance / Params(before.to_vec()).squared_norm()).sqrt()
}
