//! Full-batch gradient steps beside PyTorch's on the same cores, in turns, the best of several rounds.
//!
//! `cargo bench -p ebbing-benches --bench train_step -- PYTHON`, with PYTHON an interpreter that has PyTorch; without
//! it, only this side is timed. `benches/compare_train_step` prepares such an interpreter. Ends with exit code 1 where a
//! ratio is below its bound.

use ebbing::{Architecture, Error, Learner, Mat, Stream, Task, TrainSettings, Trainer};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

/// A shape to be timed, and how much faster than the peer it has to be.
struct Case {
    rows: usize,
    inputs: usize,
    width: usize,
    depth: usize,
    /// Steps timed at once: about a second's worth.
    steps: usize,
    bound: f64,
}

const CASES: [Case; 3] = [
    Case { rows: 600, inputs: 784, width: 400, depth: 1, steps: 150, bound: 2.0 },
    Case { rows: 2000, inputs: 784, width: 1000, depth: 2, steps: 8, bound: 0.85 },
    Case { rows: 2000, inputs: 784, width: 2000, depth: 9, steps: 1, bound: 0.85 },
];
const ROUNDS: usize = 6;
/// A learning rate at which nothing changes much, so that every step is alike.
const ETA: f64 = 1e-7;

impl Case {
    /// Operations of a step in which every product is taken: forward, errors, gradients.
    fn operations(&self) -> f64 {
        let (p, n0, n) = (self.rows as f64, self.inputs as f64, self.width as f64);
        4.0 * p * n0 * n + 6.0 * (self.depth - 1) as f64 * p * n * n + 6.0 * p * n
    }

    fn task(&self) -> Task {
        let mut stream = Stream::new(1, "step bench", 0);
        let mut draw = |cols| Mat::from_fn(self.rows, cols, |_, _| stream.normal());
        Task { name: "bench".into(), x: draw(self.inputs), y: draw(1), rows: None, test: None }
    }

    /// Seconds per step: the best over stretches of a training run between two reports of progress.
    fn seconds(&self, task: &Task, learner: Learner) -> ebbing::Result<f64> {
        let settings = TrainSettings {
            learner,
            architecture: Architecture { depth: self.depth, ..TrainSettings::default().architecture },
            width: self.width,
            eta: Some(ETA),
            threshold: 1e-30,
            max_steps: usize::MAX,
            ..Default::default()
        };
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
            timed < self.steps
        });
        match ended {
            Err(Error::Interrupted { .. }) => Ok(best),
            other => other.map(|()| best),
        }
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

    /// Seconds per step, the best over stretches as long as those on this side.
    fn seconds(&mut self, case: &Case) -> Result<f64, Box<dyn std::error::Error>> {
        let Case { rows, inputs, width, depth, steps, .. } = case;
        let mut input = self.0.stdin.take().ok_or("the peer takes no requests")?;
        writeln!(input, "{rows} {inputs} {width} {depth} {steps} {ETA}")?;
        self.0.stdin = Some(input);
        let mut output = BufReader::new(self.0.stdout.take().ok_or("the peer gives no answers")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        self.0.stdout = Some(output.into_inner());
        Ok(line.trim().parse::<f64>()?)
    }
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
    println!("{:>6} {:>5} {:>6} {:>6}   {:>22}   {:>22}", "P", "N0", "N", "layers", "ebbing", "PyTorch");
    let mut missed = 0;
    for case in &CASES {
        let task = case.task();
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            ours = ours.min(case.seconds(&task, Learner::Gd)?);
            if let Some(peer) = &mut peer {
                theirs = theirs.min(peer.seconds(case)?);
            }
        }
        let speed =
            |seconds: f64| format!("{:.2} ms, {:.0} GFLOP/s", 1e3 * seconds, 1e-9 * case.operations() / seconds);
        print!("{:>6} {:>5} {:>6} {:>6}   {:>22}", case.rows, case.inputs, case.width, case.depth, speed(ours));
        if peer.is_none() {
            println!();
            continue;
        }
        let ratio = theirs / ours;
        missed += usize::from(ratio < case.bound);
        println!("   {:>22}   {ratio:.2} times as fast (bound {})", speed(theirs), case.bound);
    }
    println!("GFLOP/s count the operations of the plain form; the first row needs fewer, by the Gram form.");
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
