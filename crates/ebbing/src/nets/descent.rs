//! Gradient descent on one task: steps, learning rate, and when to stop.

use super::gram::GramLayer;
use super::learner::{LossScale, PenaltyStep, TrainSettings};
use super::mlp::{Mlp, squared_error};
use super::pass::Pass;
use super::posterior::Heads;
use super::tangent::Tangent;
use super::train::Examples;
use super::update::{Params, Penalty, Updater, for_columns};
use crate::error::{Error, Result};
use crate::linalg::{Mat, column_f32};
use crate::rng::Stream;
use serde::{Deserialize, Serialize};

/// Why training of a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The mean squared error fell below the threshold.
    Threshold,
    /// Loss and distance to the previous weights stopped changing.
    Settled,
    /// The largest number of steps was reached first.
    MaxSteps,
}

/// Where a running task is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The task, from 0.
    pub task: usize,
    /// Steps taken on it.
    pub step: usize,
    /// Its mean squared training error.
    pub mse: f64,
    /// The learning rate.
    pub eta: f64,
}

/// How a task ended.
pub(crate) struct Outcome {
    pub steps: usize,
    pub mse: f64,
    pub stop: Stop,
    pub eta: f64,
}

/// Steps between two looks at the tangent kernel and two calls of `progress`.
const LOOK: usize = 25;
/// Power iterations at the first look and at each later one, which starts from the last vector.
const ITERATIONS: (usize, usize) = (30, 3);

/// One task's training.
pub(crate) struct Descent<'a> {
    settings: &'a TrainSettings,
    task: usize,
    head: usize,
    data: &'a Examples,
    penalised: bool,
    updater: Updater,
}

impl<'a> Descent<'a> {
    /// Prepares training of `task` with readout `head` under `penalty`.
    pub fn new(settings: &'a TrainSettings, task: usize, head: usize, data: &'a Examples, penalty: Penalty) -> Self {
        let layers = settings.architecture.depth;
        let updater = Updater {
            eta: settings.eta.unwrap_or(0.0) as f32,
            penalised: if settings.heads == Heads::Multi { layers } else { layers + 1 },
            form: settings.penalty_step,
            momentum: None,
            gradient: None,
            penalty,
        };
        let penalised = !matches!(updater.penalty, Penalty::None);
        Descent { settings, task, head, data, penalised, updater }
    }

    /// Trains until a stopping rule holds.
    pub fn run(&mut self, net: &mut Mlp, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome> {
        if self.settings.momentum > 0.0 {
            let zeros = Params::of(net, self.head).zeros_like();
            self.updater.momentum = Some((self.settings.momentum as f32, zeros));
        } else if matches!(self.updater.penalty, Penalty::Weighted { .. }) {
            self.updater.gradient = Some(Params::of(net, self.head).zeros_like());
        }
        match self.settings.batch {
            Some(batch) if batch < self.data.x.nrows() => self.run_batches(net, batch, progress),
            _ => self.run_full(net, progress),
        }
    }

    fn run_full(&mut self, net: &mut Mlp, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome> {
        let data = self.data;
        let (x, y) = (data.x.as_ref(), &data.y);
        let in_place = self.updater.momentum.is_none() && self.updater.gradient.is_none();
        let pays = GramLayer::pays(x.nrows(), x.ncols());
        let mut gram = (in_place && pays && !self.settings.readout_only).then(|| GramLayer::new(net, x));
        let mut pass = Pass::new(net, x.nrows(), y.ncols());
        let mut tangent = self.tangent(net, x.nrows());
        let anchor = Params(net.hidden.clone());
        let mut scratch = Mat::zeros(x.nrows(), net.hidden[0].nrows());
        let mut watch = Watch::default();
        let mut step = 0;
        let (mse, stop) = loop {
            match &gram {
                Some(gram) => {
                    gram.pre_activation(&mut pass.h[0]);
                    pass.forward_above(net, self.head);
                }
                None => pass.forward(net, x, self.head),
            }
            let mse = squared_error(&pass.f, y) / (y.nrows() * y.ncols()) as f64;
            watch.loss(self, step, mse)?;
            if !self.penalised && mse < self.settings.threshold {
                break (mse, Stop::Threshold);
            }
            if self.penalised && step % self.settings.patience == 0 {
                let mut distance: f64 = net
                    .hidden
                    .iter()
                    .zip(&anchor.0)
                    .skip(usize::from(gram.is_some()))
                    .map(|(a, b)| squared_error(a, b))
                    .sum();
                distance += gram.as_ref().map_or(0.0, |g| g.squared_distance(&mut scratch));
                if watch.settled(mse, distance.sqrt(), self.settings.tolerance) {
                    break (mse, Stop::Settled);
                }
            }
            if step == self.settings.max_steps {
                break (mse, Stop::MaxSteps);
            }
            if step % LOOK == 0 {
                if let Some(tangent) = &mut tangent {
                    let iterations = if step == 0 { ITERATIONS.0 } else { ITERATIONS.1 };
                    let only = self.settings.readout_only;
                    let top = tangent.largest(net, &mut pass, x, gram.as_ref(), self.head, only, iterations);
                    self.set_rate(top, y.nrows(), step, mse)?;
                }
                if step == 0 {
                    self.check_explicit()?;
                }
                if !progress(self.progress(step, mse)) {
                    return Err(Error::Interrupted { what: format!("training of task {}", self.task + 1) });
                }
            }
            self.residual(&mut pass.f, y);
            self.backward(net, &mut pass, x, gram.as_mut());
            step += 1;
        };
        if let Some(gram) = &gram {
            gram.write_back(net, x);
        }
        Ok(Outcome { steps: step, mse, stop, eta: f64::from(self.updater.eta) })
    }

    fn run_batches(
        &mut self,
        net: &mut Mlp,
        batch: usize,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome> {
        let data = self.data;
        let (rows, targets) = (data.x.nrows(), data.y.ncols());
        let mut whole = Pass::new(net, rows, targets);
        let mut part = Pass::new(net, batch, targets);
        let mut tangent = self.tangent(net, rows);
        let (mut bx, mut by) = (Mat::zeros(batch, data.x.ncols()), Mat::zeros(batch, targets));
        let mut order: Vec<usize> = (0..rows).collect();
        let mut stream = Stream::new(self.settings.seed, "batches", self.task as u64);
        let anchor = Params(net.hidden.clone());
        let mut watch = Watch::default();
        let (mut step, mut checked) = (0, 0);
        let (mse, stop) = loop {
            whole.forward(net, data.x.as_ref(), self.head);
            let mse = squared_error(&whole.f, &data.y) / (rows * targets) as f64;
            watch.loss(self, step, mse)?;
            if !self.penalised && mse < self.settings.threshold {
                break (mse, Stop::Threshold);
            }
            if self.penalised && step >= checked {
                checked = step + self.settings.patience;
                let distance: f64 = net.hidden.iter().zip(&anchor.0).map(|(a, b)| squared_error(a, b)).sum();
                if watch.settled(mse, distance.sqrt(), self.settings.tolerance) {
                    break (mse, Stop::Settled);
                }
            }
            if step >= self.settings.max_steps {
                break (mse, Stop::MaxSteps);
            }
            if let Some(tangent) = &mut tangent {
                let iterations = if step == 0 { ITERATIONS.0 } else { ITERATIONS.1 };
                let only = self.settings.readout_only;
                let top = tangent.largest(net, &mut whole, data.x.as_ref(), None, self.head, only, iterations);
                self.set_rate(top, rows, step, mse)?;
            }
            if step == 0 {
                self.check_explicit()?;
            }
            if !progress(self.progress(step, mse)) {
                return Err(Error::Interrupted { what: format!("training of task {}", self.task + 1) });
            }
            stream.shuffle(&mut order);
            for chosen in order.chunks_exact(batch) {
                gather(&mut bx, &data.x, chosen);
                gather(&mut by, &data.y, chosen);
                part.forward(net, bx.as_ref(), self.head);
                self.residual(&mut part.f, &by);
                self.backward(net, &mut part, bx.as_ref(), None);
                step += 1;
            }
        };
        Ok(Outcome { steps: step, mse, stop, eta: f64::from(self.updater.eta) })
    }

    fn tangent(&self, net: &Mlp, rows: usize) -> Option<Tangent> {
        self.settings.eta.is_none().then(|| {
            let mut stream = Stream::new(self.settings.seed, "tangent kernel", self.task as u64);
            Tangent::new(net, rows, self.data.y.ncols(), &mut stream)
        })
    }

    fn progress(&self, step: usize, mse: f64) -> Progress {
        Progress { task: self.task, step, mse, eta: f64::from(self.updater.eta) }
    }

    /// The curvature of the loss per unit of the tangent kernel's eigenvalue.
    fn loss_scale(&self, rows: usize) -> f64 {
        match self.settings.loss {
            LossScale::Sum => 1.0,
            LossScale::Mean => 1.0 / rows as f64,
        }
    }

    /// `η = factor/(loss scale · largest eigenvalue)`: half of what gradient descent is stable with.
    fn set_rate(&mut self, largest: f64, rows: usize, step: usize, mse: f64) -> Result<()> {
        let eta = self.settings.eta_factor / (self.loss_scale(rows) * largest);
        if !(eta.is_finite() && eta > 0.0) {
            return Err(self.diverged(step, mse));
        }
        // Momentum m lengthens steps by 1/(1−m).
        self.updater.eta = (eta * (1.0 - self.settings.momentum)) as f32;
        Ok(())
    }

    /// Refuses an explicit penalty step that would be unstable: ηκF > 2 for some weight.
    fn check_explicit(&self) -> Result<()> {
        let curvature = match &self.updater.penalty {
            Penalty::None => return Ok(()),
            Penalty::Uniform { kappa, .. } => *kappa,
            Penalty::Weighted { kappa, fisher, .. } => kappa * fisher.max(),
        };
        let pull = f64::from(self.updater.eta * curvature);
        if self.settings.penalty_step == PenaltyStep::Explicit && pull > 2.0 {
            return Err(Error::setting(
                "the explicit penalty step",
                format!("eta*kappa*F = {pull:.3e}"),
                format!(
                    "must be at most 2; use the implicit step or a learning rate below {:.3e}",
                    f64::from(self.updater.eta) * 2.0 / pull
                ),
            ));
        }
        Ok(())
    }

    /// `f ← scale · (f − y)`.
    fn residual(&self, f: &mut Mat<f32>, y: &Mat<f32>) {
        let scale = self.loss_scale(f.nrows()) as f32;
        for_columns(f, |j, f| f.iter_mut().zip(column_f32(y.as_ref(), j)).for_each(|(f, y)| *f = scale * (*f - y)));
    }

    /// Errors from the top down; each layer is stepped after the error below it was taken.
    fn backward(
        &mut self,
        net: &mut Mlp,
        pass: &mut Pass,
        x: crate::linalg::MatRef<'_, f32>,
        mut gram: Option<&mut GramLayer>,
    ) {
        let top = pass.h.len() - 1;
        let scale = 1.0 / (net.width() as f32).sqrt();
        let hidden = !self.settings.readout_only;
        if hidden {
            let r = std::mem::replace(&mut pass.f, Mat::new());
            pass.error_of_top(net, self.head, r.as_ref());
            pass.f = r;
        }
        let phi = pass.h[top].as_ref().transpose();
        self.updater.step(top + 1, &mut net.heads[self.head], scale, phi, pass.f.as_ref());
        if !hidden {
            return;
        }
        for l in (0..=top).rev() {
            if l > 0 {
                pass.error_below(net, l);
            }
            match &mut gram {
                Some(gram) if l == 0 => gram.step(self.updater.uniform_factors(0), &pass.delta[0]),
                _ => {
                    let input = pass.input(x, l);
                    let scale = 1.0 / (input.ncols() as f32).sqrt();
                    self.updater.step(l, &mut net.hidden[l], scale, pass.delta[l].as_ref().transpose(), input);
                }
            }
        }
    }

    fn diverged(&self, step: usize, mse: f64) -> Error {
        Error::Diverged {
            task: self.task + 1,
            step,
            loss: mse,
            eta: f64::from(self.updater.eta),
            suggestion: match self.settings.eta {
                Some(eta) => format!("try a learning rate of {:.1e} or let it be chosen automatically", eta / 10.0),
                None => format!("try an eta factor of {:.2}", self.settings.eta_factor / 4.0),
            },
        }
    }
}

/// Keeps the losses that tell divergence and standstill.
#[derive(Default)]
struct Watch {
    first: Option<f64>,
    last: Option<(f64, f64)>,
}

impl Watch {
    fn loss(&mut self, descent: &Descent<'_>, step: usize, mse: f64) -> Result<()> {
        let first = *self.first.get_or_insert(mse);
        // A million times the first loss is no transient of a stable step.
        if !mse.is_finite() || mse > 1e6 * (first + 1.0) {
            return Err(descent.diverged(step, mse));
        }
        Ok(())
    }

    fn settled(&mut self, mse: f64, distance: f64, tolerance: f64) -> bool {
        let same = |a: f64, b: f64| (a - b).abs() <= tolerance * a.abs().max(b.abs());
        let settled = self.last.is_some_and(|(m, d)| same(m, mse) && same(d, distance));
        self.last = Some((mse, distance));
        settled
    }
}

/// Copies the chosen rows.
fn gather(to: &mut Mat<f32>, from: &Mat<f32>, rows: &[usize]) {
    for_columns(to, |j, column| {
        let source = column_f32(from.as_ref(), j);
        column.iter_mut().zip(rows).for_each(|(c, &i)| *c = source[i]);
    });
}
