//! Full-batch gradient steps beside PyTorch's on the same cores, in turns, the best of several rounds.
//!
//! `cargo bench -p ebbing-benches --bench train_step -- PYTHON`, with PYTHON an interpreter that has PyTorch and NumPy;
//! without it, only this side is timed. `ci/extra pytorch` prepares such an interpreter. Fails where ten steps end
//! elsewhere than PyTorch's; a ratio of speeds below what is wanted is marked MISSED.

use ebbing::{Activation, Architecture, Array, Error, Mat, Mlp, Stream, Task, TrainSettings, Trainer, write_npz};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

/// A network and its data: P examples of dimension N0, width N, and the number of hidden layers.
struct Shape([usize; 4]);

/// A shape to be timed, the steps that are timed at once (about a second's worth), and how fast it should be beside the
/// peer.
const TIMED: [(Shape, usize, f64); 3] = [
    (Shape([600, 784, 400, 1]), 150, 2.0),
    (Shape([2000, 784, 1000, 2]), 8, 0.85),
    (Shape([2000, 784, 2000, 9]), 1, 0.85),
];
const ROUNDS: usize = 6;
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
    /// Operations of a step in which every product is taken: forward, errors, gradients.
    fn operations(&self) -> f64 {
        let [p, n0, n, layers] = self.0.map(|v| v as f64);
        4.0 * p * n0 * n + 6.0 * (layers - 1.0) * p * n * n + 6.0 * p * n
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
    fn seconds(&self, task: &Task, steps: usize) -> ebbing::Result<f64> {
        let settings = self.settings(Activation::Relu, Some(ETA), usize::MAX);
        let mut trainer = Trainer::new(std::slice::from_ref(task), &settings)?;
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
}

const HEADING: &str = "     P    N0      N layers";

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [rows, inputs, width, layers] = self.0;
        write!(f, "{rows:>6} {inputs:>5} {width:>6} {layers:>6}")
    }
}

/// PyTorch in another process, which steps when asked.
struct Peer(Child);

impl Peer {
    fn start(python: &str) -> std::io::Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/torch_step.py");
        let (input, output) = (Stdio::piped(), Stdio::piped());
        Ok(Peer(Command::new(python).arg(script).stdin(input).stdout(output).spawn()?))
    }

    /// The numbers with which a request is answered.
    fn ask(&mut self, request: &str) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
        writeln!(self.0.stdin.as_mut().ok_or("the peer takes no requests")?, "{request}")?;
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().ok_or("the peer gives no answers")?).read_line(&mut line)?;
        if line.is_empty() {
            return Err("the peer ended".into());
        }
        Ok(line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
    }

    /// Seconds per step, the best over stretches as long as those on this side.
    fn seconds(&mut self, shape: &Shape, steps: usize) -> Result<f64, Box<dyn std::error::Error>> {
        let [rows, inputs, width, layers] = shape.0;
        Ok(self.ask(&format!("time {rows} {inputs} {width} {layers} {steps} {ETA}"))?[0])
    }

    /// Takes the same steps on both sides, prints how far apart they end, and tells whether that is rounding.
    fn agrees(&mut self, shape: &Shape, activation: Activation) -> Result<bool, Box<dyn std::error::Error>> {
        let task = shape.task();
        let mut trainer = Trainer::new(std::slice::from_ref(&task), &shape.settings(activation, None, STEPS))?;
        let before = layers("before", trainer.net());
        trainer.learn_next(&mut |_| true)?;
        let after = layers("after", trainer.net());
        let report = &trainer.trained().reports[0];
        let rounded = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::from(m[(i, j)] as f32));
        let given = [("x", rounded(&task.x)), ("y", rounded(&task.y)), ("mse", Mat::full(1, 1, report.mse))];
        let given = given.map(|(name, m)| (name.to_string(), m)).into_iter().chain(before).chain(after);
        let arrays: Vec<(String, Array)> = given.map(|(name, m)| (name, Array::from_mat(m.as_ref()))).collect();
        let path = std::env::temp_dir().join(format!("ebbing-steps-{}.npz", std::process::id()));
        write_npz(&path, &arrays.iter().map(|(name, array)| (name.as_str(), array)).collect::<Vec<_>>())?;
        let name = format!("{activation:?}").to_lowercase();
        let answer = self.ask(&format!("compare {} {name} {STEPS} {:e}", path.display(), report.eta));
        std::fs::remove_file(&path)?;
        let worst = answer?.into_iter().fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
        // Every step rounds a weight by up to 2^-24 of it, which adds up like a random walk and stands beside how far the
        // weights moved; products of a few hundred terms round as much. Four times that.
        let bound = 4.0 * 2f64.powi(-24) * (STEPS as f64).sqrt() / report.moved;
        let same = worst <= bound;
        let verdict = if same { "agrees" } else { "DIFFERS" };
        println!("{shape}   {name:<4}   {worst:.1e} (bound {bound:.1e})   {verdict}");
        Ok(same)
    }
}

/// The weights of every layer, from inputs to outputs, in × out, with names.
fn layers(name: &str, net: &Mlp) -> Vec<(String, Mat<f64>)> {
    let wide = |m: ebbing::MatRef<'_, f32>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::from(m[(i, j)]));
    let hidden = net.hidden().iter().map(|w| wide(w.transpose()));
    let all = hidden.chain([wide(net.readouts()[0].as_ref())]);
    all.enumerate().map(|(k, w)| (format!("{name}{k}"), w)).collect()
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends when its input does; there is nobody left to tell where it does not.
        let _ = self.0.wait();
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let python = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let mut peer = python.as_deref().map(Peer::start).transpose()?;
    if let Some(peer) = &mut peer {
        println!("{STEPS} steps against PyTorch's in double precision: the largest relative difference");
        println!("{HEADING}");
        let mut same = true;
        for (shape, activation) in &COMPARED {
            same &= peer.agrees(shape, *activation)?;
        }
        if !same {
            return Ok(ExitCode::FAILURE);
        }
        println!();
    }
    println!("{HEADING}   {:>22}   {:>22}", "ebbing", "PyTorch");
    for (shape, steps, wanted) in &TIMED {
        let task = shape.task();
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            ours = ours.min(shape.seconds(&task, *steps)?);
            if let Some(peer) = &mut peer {
                theirs = theirs.min(peer.seconds(shape, *steps)?);
            }
        }
        let speed = |s: f64| format!("{:.2} ms, {:.0} GFLOP/s", 1e3 * s, 1e-9 * shape.operations() / s);
        print!("{shape}   {:>22}", speed(ours));
        if peer.is_some() {
            let ratio = theirs / ours;
            let missed = if ratio < *wanted { ", MISSED" } else { "" };
            print!("   {:>22}   {ratio:.2} times as fast (wanted {wanted}{missed})", speed(theirs));
        }
        println!();
    }
    println!("GFLOP/s count the operations of the plain form; the first row needs fewer, by the Gram form.");
    Ok(ExitCode::SUCCESS)
}
