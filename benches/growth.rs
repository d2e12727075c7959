//! How the cost of a forecast grows with tasks, examples, features and classes, of a wide network in single precision and of a linear
//! head in feature space: losses and accuracies of all tasks after all tasks, on training and held-out data.
//!
//! `cargo bench -p ebbing-benches --bench growth` prints a line of JSON for every size: what grows, the size, and the seconds by the
//! clock and of processor time of both. `python benches/growth.py < LINES` draws them.

mod practice;
mod timing;

use ebbing::theory::Inputs;
use ebbing::theory::single_head::{Precision, SingleHeadSettings};
use ebbing::{Context, Result, SingleHead, TaskSequence};
use practice::tasks;
use timing::timed;

/// Tasks, examples, features, classes.
const BASE: [usize; 4] = [10, 1000, 384, 80];
const GROWING: [(&str, [usize; 5]); 4] = [
    ("tasks", [2, 5, 10, 20, 40]),
    ("examples", [250, 500, 1000, 2000, 4000]),
    ("features", [96, 192, 384, 768, 1536]),
    ("classes", [20, 40, 80, 160, 320]),
];

/// The best of three.
fn best(sequence: &TaskSequence, inputs: impl Fn(&TaskSequence) -> Inputs<'_>, beta: f64) -> Result<[f64; 2]> {
    let settings = SingleHeadSettings { beta, precision: Precision::Single, ..SingleHeadSettings::default() };
    let mut best = [f64::INFINITY; 2];
    for _ in 0..3 {
        let (forecast, seconds) =
            timed(|| SingleHead::new(inputs(sequence), &settings, &Context::default())?.forecast());
        forecast?;
        best = [best[0].min(seconds[0]), best[1].min(seconds[1])];
    }
    Ok(best)
}

fn main() -> Result<()> {
    for (axis, (name, sizes)) in GROWING.into_iter().enumerate() {
        for size in sizes {
            let mut shape = BASE;
            shape[axis] = size;
            let sequence = tasks(shape, shape[1] / 5)?;
            let network = best(&sequence, |s| Inputs::Network(s), 30.0)?;
            let head = best(&sequence, |s| Inputs::Features(s), 10.0)?;
            println!("{}", serde_json::json!({"axis": name, "size": size, "network": network, "head": head}));
        }
    }
    Ok(())
}
