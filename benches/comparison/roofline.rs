//! The share of the machine's speed in bare products that Gram matrices and training steps reach.

use super::measure::{Outcome, THREADS, write_inputs};
use super::side::{Fallible, Side};
use super::works::Work;
use ebbing::data::{Array, write_npz};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use serde_json::{Value, json};
use std::path::Path;

/// A work's speed beside that of the fastest product in the same precision.
pub struct Line {
    pub work: String,
    /// Operations per second.
    pub speed: f64,
    pub peak: f64,
}

/// The fastest products (f64, f32) and who was fastest, and the lines.
pub struct Roofline {
    pub peaks: [(f64, &'static str); 2],
    pub size: usize,
    pub lines: Vec<Line>,
}

/// Measures products here and, where there is an interpreter with NumPy, there; training steps were measured before.
pub fn measure(numpy: Option<&str>, outcomes: &[Outcome], folder: &Path, short: bool) -> Fallible<Roofline> {
    let size = if short { 500 } else { 4000 };
    let rounds = if short { 3 } else { 7 };
    let mut stream = Stream::new(1, "product bench", 0);
    let a = Mat::from_fn(size, size, |_, _| stream.normal());
    let path = folder.join("inputs.npz");
    write_npz(&path, &[("a", &Array::from_mat(a.as_ref()))])?;
    let mut sides = vec![("faer", Side::ours(THREADS)?)];
    if let Some(python) = numpy {
        sides.push(("NumPy", Side::peer(python, "product", THREADS)?));
    }
    let operations = 2.0 * (size as f64).powi(3);
    let mut peaks = [(0.0, ""); 2];
    for _ in 0..rounds {
        for (name, side) in &mut sides {
            for (precision, peak) in ["f64", "f32"].into_iter().zip(&mut peaks) {
                let work = json!({"work": "product", "inputs": path, "precision": precision});
                let speed = operations / side.request(&work)?.seconds;
                if speed > peak.0 {
                    *peak = (speed, *name);
                }
            }
        }
    }
    let mut lines = gram_lines(peaks[0].0, folder, rounds, short)?;
    for outcome in outcomes {
        if let Work::Step { shape, .. } = outcome.row.work {
            let mut line = |what: &str, operations: f64| {
                let work = format!("training step, {shape}, f32{what}");
                lines.push(Line { work, speed: operations / outcome.ours.seconds, peak: peaks[1].0 });
            };
            let (plain, done) = (shape.plain_operations(), shape.operations());
            if plain == done {
                line("", plain);
            } else {
                line(" (counting the plain form's operations, more than are done)", plain);
                line(" (counting those that are done, by the Gram form)", done);
            }
        }
    }
    Ok(Roofline { peaks, size, lines })
}

/// Gram matrices of one layer, of two sets of inputs and of one.
fn gram_lines(peak: f64, folder: &Path, rounds: usize, short: bool) -> Fallible<Vec<Line>> {
    let p = if short { 500 } else { 2000 };
    let (work, path) = (Work::Kernel { kind: "nngp", p, depth: 1 }, folder.join("inputs.npz"));
    write_inputs(&work, &path)?;
    let symmetric = work.request(&path.display().to_string());
    let mut rectangular = symmetric.clone();
    rectangular["work"] = Value::from("gram");
    let (p, n0) = (p as f64, 784.0);
    let mut side = Side::ours(THREADS)?;
    let mut line = |request: &Value, what: &str, operations: f64| -> Fallible<Line> {
        let mut best = f64::INFINITY;
        for _ in 0..=rounds {
            best = best.min(side.request(request)?.seconds);
        }
        let work = format!("Gram matrix {p} × {p}, N0 = 784, f64, {what}");
        Ok(Line { work, speed: operations / best, peak })
    };
    Ok(vec![
        line(&rectangular, "of two sets (2 P² N0 operations)", 2.0 * p * p * n0)?,
        line(&symmetric, "of one set (P (P + 1) N0 operations)", p * (p + 1.0) * n0)?,
    ])
}
