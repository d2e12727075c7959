//! Gradient descent on one task, `θ ← θ − η∇L − ηκF∘(θ − θ_prev)` (paper, Eqs. 180–182, 185, 186): its steps, its
//! learning rate, and its end.
//!
//! The rate comes from the network's own tangent kernel Θ: near a solution gradient descent multiplies the error by
//! `1 − ηΘ`, so `η = 1/λ_max(Θ)` is half of what it can bear. The kernel moves as the network learns, so it is looked
//! at again every few steps.

use super::activations::Activations;
use super::gram::GramLayer;
use super::learner::{LossScale, PenaltyStep, TrainSettings};
use super::levenberg::Minimum;
use super::mlp::{Mlp, squared_error};
use super::posterior::Heads;
use super::tangent::Tangent;
use super::train::Examples;
use super::update::{Params, Penalty, Updater};
use super::watch::{Stop, Watch};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, column_f32, column_f32_mut, for_columns};
use crate::rng::Stream;
use std::time::{Duration, Instant};

/// Where a running task is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The task, from 0.
    pub task: usize,
    /// Steps taken on it.
    pub step: usize,
    /// Its mean squared training error.
    pub mse: f64,
    /// The learning rate; 0 where there is none.
    pub eta: f64,
    /// The gradient's norm over that at the start, where the minimum itself is sought.
    pub gradient: Option<f64>,
}

/// How a task ended.
#[derive(Clone)]
pub(crate) struct TaskEnd {
    pub steps: usize,
    pub mse: f64,
    pub stop: Stop,
    pub eta: f64,
    /// The largest loss over the lowest before it.
    pub rose: f64,
    /// Where the minimum itself was sought.
    pub minimum: Option<Minimum>,
}

/// Steps between two looks at the tangent kernel, at most.
const LOOK: usize = 25;
/// Networks with this many hidden layers or more start at a small rate that then grows.
///
/// Outputs are products of L + 1 layers. A step that would change small outputs by O(1) to first order multiplies every
/// layer of a deep network at once, and leaves the range in which the tangent kernel is a guide.
const DEEP: usize = 3;
/// The first step of a deep network, as a share of the stable rate, and how much a rate may grow from look to look.
const RAMP: (f64, f64) = (0.02, 1.5);
/// Looks at a deep network come twice as often while the kernel's logarithm changes by more than this between them.
const STEADY: f64 = 0.1;
/// Power iterations at the first look and at each later one, which starts from the last vector.
const ITERATIONS: (usize, usize) = (30, 2);
/// Calls of `progress` are this many steps apart, or this much time.
const REPORT: (usize, Duration) = (LOOK, Duration::from_millis(100));

/// One task's training.
pub(crate) struct Descent<'a> {
    settings: &'a TrainSettings,
    task: usize,
    head: usize,
    data: &'a Examples,
    penalized: bool,
    updater: Updater,
    /// Where the task began, against which distances are measured: hidden weights and readout.
    start: Params,
    watch: Watch,
    looks: Looks,
    reported: Option<(usize, Instant)>,
}

/// When the tangent kernel is looked at next, and what was seen last.
struct Looks {
    deep: bool,
    next: usize,
    interval: usize,
    last: Option<f64>,
}

impl Looks {
    fn new(settings: &TrainSettings) -> Self {
        let deep = settings.architecture.depth >= DEEP && !settings.readout_only && settings.eta.is_none();
        Looks { deep, next: 0, interval: if deep { 1 } else { LOOK }, last: None }
    }

    /// Plans the next look after one at `step`, which saw `curvature`.
    fn plan(&mut self, step: usize, curvature: f64) {
        if let (true, Some(last)) = (self.deep, self.last) {
            let steady = (curvature / last).ln().abs() < STEADY;
            self.interval = if steady { (2 * self.interval).min(LOOK) } else { (self.interval / 2).max(1) };
        }
        self.last = Some(curvature);
        self.next = step + self.interval;
    }

    /// The rate to take where `stable` would be stable and `now` is taken.
    fn rate(&self, stable: f64, now: f64) -> f64 {
        match (self.deep, self.last) {
            (false, _) => stable,
            (true, None) => RAMP.0 * stable,
            (true, Some(_)) => stable.min(RAMP.1 * now),
        }
    }
}

impl<'a> Descent<'a> {
    /// Prepares training of `task` with readout `head` of `net` under `penalty`.
    pub fn new(
        settings: &'a TrainSettings,
        task: usize,
        head: usize,
        data: &'a Examples,
        penalty: Penalty,
        net: &Mlp,
    ) -> Self {
        let layers = settings.architecture.depth;
        let start = Params::of(net, head);
        let momentum = (settings.momentum > 0.0).then(|| (settings.momentum as f32, start.zeros_like()));
        let weighted = matches!(penalty, Penalty::Weighted { .. });
        let updater = Updater {
            eta: settings.eta.unwrap_or(0.0) as f32,
            penalized: if settings.heads == Heads::Multi { layers } else { layers + 1 },
            form: settings.penalty_step,
            gradient: (weighted && momentum.is_none()).then(|| start.zeros_like()),
            momentum,
            penalty,
        };
        let penalized = !matches!(updater.penalty, Penalty::None);
        let looks = Looks::new(settings);
        Descent {
            settings,
            task,
            head,
            data,
            penalized,
            updater,
            start,
            watch: Watch::default(),
            looks,
            reported: None,
        }
    }

    /// Trains until a stopping rule holds.
    pub fn run(&mut self, net: &mut Mlp, progress: &mut dyn FnMut(Progress) -> bool) -> Result<TaskEnd> {
        match self.settings.batch {
            Some(batch) if batch < self.data.x.nrows() => self.run_batches(net, batch, progress),
            _ => self.run_full(net, progress),
        }
    }

    fn run_full(&mut self, net: &mut Mlp, progress: &mut dyn FnMut(Progress) -> bool) -> Result<TaskEnd> {
        let data = self.data;
        let (x, y) = (data.x.as_ref(), &data.y);
        let uniform = !matches!(self.updater.penalty, Penalty::Weighted { .. });
        let pays = GramLayer::pays(x.nrows(), x.ncols()) && !self.settings.readout_only;
        let mut gram = (uniform && pays).then(|| GramLayer::new(net, x, self.settings.momentum as f32));
        let mut pass = Activations::new(net, x.nrows(), y.ncols());
        let mut tangent = self.tangent(net, x.nrows());
        let mut scratch = Mat::zeros(x.nrows(), if gram.is_some() { net.hidden[0].nrows() } else { 0 });
        let mut step = 0;
        let (mse, stop) = loop {
            pass.forward(net, x, gram.as_ref(), self.head);
            let mse = self.residual(&mut pass.f, y);
            let check = self.penalized && step % self.settings.patience == 0;
            let distance = check.then(|| self.distance(net, gram.as_ref(), &mut scratch));
            if let Some(stop) = self.ends(step, mse, distance)? {
                break (mse, stop);
            }
            if step >= self.looks.next {
                self.look(&mut tangent, net, &mut pass, x, gram.as_ref(), step, mse)?;
            }
            self.report(step, mse, progress)?;
            self.backward(net, &mut pass, x, gram.as_mut());
            step += 1;
        };
        if let Some(gram) = &gram {
            gram.write_back(net, x);
        }
        Ok(self.outcome(step, mse, stop))
    }

    fn run_batches(
        &mut self,
        net: &mut Mlp,
        batch: usize,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<TaskEnd> {
        let data = self.data;
        let (rows, targets) = (data.x.nrows(), data.y.ncols());
        let mut whole = Activations::new(net, rows, targets);
        let mut part = Activations::new(net, batch, targets);
        let mut tangent = self.tangent(net, batch);
        let (mut bx, mut by) = (Mat::zeros(batch, data.x.ncols()), Mat::zeros(batch, targets));
        let mut order: Vec<usize> = (0..rows).collect();
        let mut stream = Stream::new(self.settings.seed, "batches", self.task as u64);
        let mut scratch = Mat::new();
        let (mut step, mut checked) = (0, 0);
        let (mse, stop) = loop {
            whole.forward(net, data.x.as_ref(), None, self.head);
            let mse = self.residual(&mut whole.f, &data.y);
            let check = self.penalized && step >= checked;
            let distance = check.then(|| self.distance(net, None, &mut scratch));
            if check {
                checked = step + self.settings.patience;
            }
            if let Some(stop) = self.ends(step, mse, distance)? {
                break (mse, stop);
            }
            stream.shuffle(&mut order);
            for (index, chosen) in order.chunks_exact(batch).enumerate() {
                gather(&mut bx, &data.x, chosen);
                gather(&mut by, &data.y, chosen);
                part.forward(net, bx.as_ref(), None, self.head);
                if index == 0 || self.looks.deep && step >= self.looks.next {
                    self.look(&mut tangent, net, &mut part, bx.as_ref(), None, step, mse)?;
                }
                self.report(step, mse, progress)?;
                self.residual(&mut part.f, &by);
                self.backward(net, &mut part, bx.as_ref(), None);
                step += 1;
                if step == self.settings.max_steps {
                    break;
                }
            }
        };
        Ok(self.outcome(step, mse, stop))
    }

    fn outcome(&self, steps: usize, mse: f64, stop: Stop) -> TaskEnd {
        TaskEnd { steps, mse, stop, eta: f64::from(self.updater.eta), rose: self.watch.rose(), minimum: None }
    }

    /// `|Θ − Θ_{t−1}|` over what the penalty holds.
    fn distance(&self, net: &Mlp, gram: Option<&GramLayer>, scratch: &mut Mat<f32>) -> f64 {
        let now = net.hidden.iter().chain([&net.heads[self.head]]).take(self.updater.penalized);
        let carried = usize::from(gram.is_some());
        let rest: f64 = now.zip(&self.start.0).skip(carried).map(|(a, b)| squared_error(a, b)).sum();
        (rest + gram.map_or(0.0, |g| g.squared_distance(scratch))).sqrt()
    }

    /// The stopping rule that holds, if one does; a distance is given where it is time to compare it with the last.
    fn ends(&mut self, step: usize, mse: f64, distance: Option<f64>) -> Result<Option<Stop>> {
        if self.watch.runs_away(mse) {
            return Err(self.diverged(step, mse));
        }
        if !self.penalized && mse < self.settings.threshold {
            return Ok(Some(Stop::Threshold));
        }
        if distance.is_some_and(|d| self.watch.settled(mse, d, self.settings)) {
            return Ok(Some(Stop::Settled));
        }
        Ok((step >= self.settings.max_steps).then_some(Stop::MaxSteps))
    }

    /// Reports progress, unless it was reported a moment ago.
    fn report(&mut self, step: usize, mse: f64, progress: &mut dyn FnMut(Progress) -> bool) -> Result<()> {
        crate::stop::check()?;
        if self.reported.is_some_and(|(last, at)| step < last + REPORT.0 && at.elapsed() < REPORT.1) {
            return Ok(());
        }
        self.reported = Some((step, Instant::now()));
        let eta = f64::from(self.updater.eta);
        if progress(Progress { task: self.task, step, mse, eta, gradient: None }) {
            return Ok(());
        }
        Err(Error::Stopped)
    }

    /// The tangent kernel, where it is needed to choose the rate or to check an explicit penalty.
    fn tangent(&self, net: &Mlp, rows: usize) -> Option<Tangent> {
        let explicit = self.penalized && self.updater.form == PenaltyStep::Explicit;
        (self.settings.eta.is_none() || explicit).then(|| {
            let mut stream = Stream::new(self.settings.seed, "tangent kernel", self.task as u64);
            Tangent::new(net, rows, self.data.y.ncols(), &mut stream)
        })
    }

    /// Adapts the rate, and checks an explicit penalty with it.
    fn look(
        &mut self,
        tangent: &mut Option<Tangent>,
        net: &Mlp,
        pass: &mut Activations,
        x: MatRef<'_, f32>,
        gram: Option<&GramLayer>,
        step: usize,
        mse: f64,
    ) -> Result<()> {
        let Some(t) = tangent else { return Ok(()) };
        let iterations = if step == 0 { ITERATIONS.0 } else { ITERATIONS.1 };
        let top = t.largest(net, pass, x, gram, self.head, self.settings.readout_only, iterations);
        let curvature = loss_scale(self.settings.loss, x.nrows()) * top;
        if self.settings.eta.is_none() {
            let eta = self.looks.rate(stable_rate(self.settings, curvature), f64::from(self.updater.eta));
            if !(eta.is_finite() && eta > 0.0) {
                return Err(self.diverged(step, mse));
            }
            self.updater.eta = eta as f32;
            self.looks.plan(step, curvature);
        } else {
            // A rate that was given stays: one check is enough.
            *tangent = None;
        }
        self.check_explicit(curvature)
    }

    /// Refuses an explicit penalty step that may be unstable: η(h + κF/(1−m)) > 2 with h the curvature of the loss.
    fn check_explicit(&self, curvature: f64) -> Result<()> {
        if !self.penalized || self.updater.form != PenaltyStep::Explicit {
            return Ok(());
        }
        let eta = f64::from(self.updater.eta);
        let share = eta * curvature + self.updater.strongest_pull();
        if share <= 2.0 {
            return Ok(());
        }
        Err(Error::setting(
            "the explicit penalty step",
            format!("eta*(curvature + kappa*F) = {share:.3e}"),
            format!("must be at most 2; use the implicit step or a learning rate below {:.3e}", eta * 2.0 / share),
        ))
    }

    /// The mean squared error; `f ← scale · (f − y)`, its gradient by the outputs.
    fn residual(&self, f: &mut Mat<f32>, y: &Mat<f32>) -> f64 {
        let scale = loss_scale(self.settings.loss, f.nrows()) as f32;
        let mut sum = 0.0;
        for j in 0..f.ncols() {
            for (f, y) in column_f32_mut(f.as_mut(), j).iter_mut().zip(column_f32(y.as_ref(), j)) {
                sum += (f64::from(*f) - f64::from(*y)).powi(2);
                *f = scale * (*f - y);
            }
        }
        sum / (f.nrows() * f.ncols()) as f64
    }

    /// Errors from the top down; each layer is stepped after the error below it was taken.
    fn backward(
        &mut self,
        net: &mut Mlp,
        pass: &mut Activations,
        x: MatRef<'_, f32>,
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
        let suggestion = match self.settings.eta {
            Some(eta) => {
                let bearable = self.rate_at_start().min(eta / 2.0);
                format!("try a learning rate of {bearable:.1e} or let it be chosen automatically")
            }
            None => {
                let factor = self.settings.eta_factor / 4.0;
                format!("try a learning rate of {:.1e}, or an eta factor of {factor}", self.updater.eta / 4.0)
            }
        };
        Error::Diverged { task: self.task + 1, step, loss: mse, eta: f64::from(self.updater.eta), suggestion }
    }

    /// The rate that would have been chosen at the start of the task; ∞ where there is none.
    fn rate_at_start(&self) -> f64 {
        let mut hidden = self.start.0.clone();
        let heads = hidden.pop().into_iter().collect();
        let net = Mlp { activation: self.settings.architecture.activation, hidden, heads };
        let x = self.data.x.as_ref();
        let mut pass = Activations::new(&net, x.nrows(), self.data.y.ncols());
        pass.forward(&net, x, None, 0);
        let mut stream = Stream::new(self.settings.seed, "tangent kernel", self.task as u64);
        let mut tangent = Tangent::new(&net, x.nrows(), self.data.y.ncols(), &mut stream);
        let top = tangent.largest(&net, &mut pass, x, None, 0, self.settings.readout_only, ITERATIONS.0);
        let eta = stable_rate(self.settings, loss_scale(self.settings.loss, x.nrows()) * top);
        if eta.is_nan() { f64::INFINITY } else { eta }
    }
}

/// The curvature of the loss per unit of the tangent kernel's eigenvalue.
pub(crate) fn loss_scale(loss: LossScale, rows: usize) -> f64 {
    if loss == LossScale::Sum { 1.0 } else { 1.0 / rows as f64 }
}

/// `η = factor/curvature`. With a factor of 1 that is half of the largest stable rate `2/curvature`; momentum m
/// raises that limit to `2(1+m)/curvature`, of which it is the fraction 1/(2(1+m)).
fn stable_rate(settings: &TrainSettings, curvature: f64) -> f64 {
    settings.eta_factor / curvature
}

/// Copies the chosen rows.
fn gather(to: &mut Mat<f32>, from: &Mat<f32>, rows: &[usize]) {
    for_columns(to, |j, column| {
        let source = column_f32(from.as_ref(), j);
        column.iter_mut().zip(rows).for_each(|(c, &i)| *c = source[i]);
    });
}
