//! Full-batch gradient steps: a step's seconds on this side, its operations, and whether PyTorch's steps end alike.

use super::side::{Fallible, Side};
use ebbing::data::{Array, write_npz};
use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::Mat;
use ebbing::nets::{Mlp, TrainSettings};
use ebbing::rng::Stream;
use ebbing::{Error, Task, Trainer};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// A network and its data: P examples of dimension N0, width N, and the number of hidden layers.
#[derive(Debug, Clone, Copy)]
pub struct Shape(pub [usize; 4]);

/// A learning rate at which nothing changes much, so that every step is alike.
const ETA: f64 = 1e-7;

/// Shapes on which both sides take the same steps: with the first layer by its Gram matrix, and by its weights.
///
/// Networks of ReLUs are small, for rounding may put an input of a unit that is almost 0 on the other side, which changes
/// a gradient by more than rounding. Of 60·100 inputs in 3 layers and 10 steps, 0.05 are expected to be that close.
const COMPARED: [(Shape, Activation); 4] = [
    (Shape([600, 784, 400, 1]), Activation::Erf),
    (Shape([500, 200, 300, 3]), Activation::Erf),
    (Shape([100, 80, 60, 1]), Activation::Relu),
    (Shape([100, 30, 60, 3]), Activation::Relu),
];
/// How many.
const STEPS: usize = 10;

impl Shape {
    /// The shape in a request.
    pub fn of(request: &Value) -> Fallible<Shape> {
        Ok(Shape(serde_json::from_value(request["shape"].clone())?))
    }

    /// The request for the seconds of a step, for this side and for PyTorch's.
    pub fn requests(&self, steps: usize) -> (Value, String) {
        let [rows, inputs, width, layers] = self.0;
        let ours = json!({"work": "step", "shape": self.0, "steps": steps});
        (ours, format!("time {rows} {inputs} {width} {layers} {steps} {ETA}"))
    }

    /// Operations of a step in which every product is taken: forward, errors, gradients.
    pub fn plain_operations(&self) -> f64 {
        let [p, n0, n, layers] = self.0.map(|v| v as f64);
        4.0 * p * n0 * n + 6.0 * (layers - 1.0) * p * n * n + 6.0 * p * n
    }

    /// Operations that this side takes: where P < 2 N0 the first layer is carried by its Gram matrix.
    pub fn operations(&self) -> f64 {
        let [p, n0, n, _] = self.0.map(|v| v as f64);
        let saved = if p < 2.0 * n0 { 4.0 * p * n0 * n - 2.0 * p * p * n } else { 0.0 };
        self.plain_operations() - saved
    }

    fn task(&self) -> Task {
        let mut stream = Stream::new(1, "step bench", 0);
        let mut draw = |cols| Mat::from_fn(self.0[0], cols, |_, _| stream.normal());
        Task { name: "bench".into(), x: draw(self.0[1]), y: draw(1), rows: None, test: None }
    }

    fn settings(&self, activation: Activation, eta: Option<f64>, max_steps: usize) -> TrainSettings {
        let [_, _, width, depth] = self.0;
        let architecture = Architecture { activation, depth };
        TrainSettings { architecture, width, eta, threshold: 1e-30, max_steps, ..Default::default() }
    }

    /// Seconds per step: the best over stretches of a training run between two reports of progress.
    pub fn seconds(&self, steps: usize) -> ebbing::Result<f64> {
        let settings = self.settings(Activation::Relu, Some(ETA), usize::MAX);
        let mut trainer = Trainer::new(std::slice::from_ref(&self.task()), &settings)?;
        let mut last: Option<(usize, Instant)> = None;
        let (mut best, mut timed) = (f64::INFINITY, 0);
        let ended = trainer.learn_next(&mut |at| {
            let now = Instant::now();
            // The first steps warm caches up.
            if at.step < 2 {
                return true;
            }
            if let Some((step, since)) = last {
                best = best.min((now - since).as_secs_f64() / (at.step - step) as f64);
                timed += at.step - step;
            }
            last = Some((at.step, now));
            timed < steps
        });
        match ended {
            Err(Error::Interrupted { .. }) => Ok(best),
            other => other.map(|()| best),
        }
    }

    /// Takes the same steps on both sides; how far apart they end, as a multiple of what rounding allows.
    fn apart(&self, activation: Activation, peer: &mut Side, folder: &Path) -> Fallible<f64> {
        let task = self.task();
        let new = |eta| Trainer::new(std::slice::from_ref(&task), &self.settings(activation, eta, STEPS));
        // The automatic rate adapts on the way; here both sides keep to where it ends.
        let mut found = new(None)?;
        found.learn_next(&mut |_| true)?;
        let mut trainer = new(Some(found.trained().reports[0].eta))?;
        let before = layers("before", trainer.net());
        trainer.learn_next(&mut |_| true)?;
        let after = layers("after", trainer.net());
        let report = &trainer.trained().reports[0];
        let rounded = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::from(m[(i, j)] as f32));
        let given = [("x", rounded(&task.x)), ("y", rounded(&task.y)), ("mse", Mat::full(1, 1, report.mse))];
        let given = given.map(|(name, m)| (name.to_string(), m)).into_iter().chain(before).chain(after);
        let arrays: Vec<(String, Array)> = given.map(|(name, m)| (name, Array::from_mat(m.as_ref()))).collect();
        let path = folder.join("steps.npz");
        write_npz(&path, &arrays.iter().map(|(name, array)| (name.as_str(), array)).collect::<Vec<_>>())?;
        let name = format!("{activation:?}").to_lowercase();
        let line = peer.ask(&format!("compare {} {name} {STEPS} {:e}", path.display(), report.eta))?;
        let answer = line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let worst = answer.into_iter().fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
        // Every step rounds a weight by up to 2^-24 of it, which adds up like a random walk and stands beside how far the
        // weights moved; products of a few hundred terms round as much. Four times that.
        let bound = 4.0 * 2f64.powi(-24) * (STEPS as f64).sqrt() / report.moved;
        println!("  {STEPS} steps, {self}, {name}: differ by {worst:.1e} of the way, rounding allows {bound:.1e}");
        Ok(worst / bound)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [rows, _, width, layers] = self.0;
        write!(f, "P = {rows}, N = {width}, L = {layers}")
    }
}

/// How far steps on both sides end apart on the worst shape, as a multiple of what rounding allows.
pub fn disagreement(peer: &mut Side, folder: &Path) -> Fallible<f64> {
    let mut worst = 0.0;
    for (shape, activation) in &COMPARED {
        let apart = shape.apart(*activation, peer, folder)?;
        // A NaN is kept.
        worst = if apart <= worst { worst } else { apart };
    }
    Ok(worst)
}

/// The weights of every layer, from inputs to outputs, in × out, with names.
fn layers(name: &str, net: &Mlp) -> Vec<(String, Mat<f64>)> {
    let wide = |m: ebbing::linalg::MatRef<'_, f32>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::from(m[(i, j)]));
    let hidden = net.hidden().iter().map(|w| wide(w.transpose()));
    let all = hidden.chain([wide(net.readouts()[0].as_ref())]);
    all.enumerate().map(|(k, w)| (format!("{name}{k}"), w)).collect()
}
