//! Measures a row: agreement first, then both sides in turns.

use super::side::{Answer, Fallible, Side};
use super::steps::{self, Shape};
use super::works::{Row, Work};
use ebbing::data::{Array, read_npz, write_npz};
use ebbing::linalg::Mat;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Works on which either side takes longer are done three times only, the first time included.
const SLOW_SECONDS: f64 = 30.0;
/// Threads of either side.
pub const THREADS: usize = 2;

/// What was measured on one side.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub seconds: f64,
    /// Largest resident memory after the first time that the work was done by a fresh process.
    pub peak_bytes: Option<f64>,
    /// Resident memory before it.
    pub base_bytes: Option<f64>,
    /// Loads solved.
    pub converged: Option<usize>,
}

/// What was measured on both.
pub struct Outcome {
    pub row: Row,
    pub ours: Measured,
    pub theirs: Option<Measured>,
    /// The difference of results and its bound.
    pub difference: Option<[f64; 2]>,
    pub rounds: usize,
    /// Seconds of the peer where it goes further than scripts do.
    pub tuned: Option<f64>,
}

impl Outcome {
    /// How many times as fast this side is.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.theirs?.seconds / self.ours.seconds)
    }

    /// The share of the peer's memory.
    pub fn memory_ratio(&self) -> Option<f64> {
        Some(self.ours.peak_bytes? / self.theirs?.peak_bytes?)
    }

    pub fn agrees(&self) -> bool {
        self.difference.is_none_or(|[difference, bound]| difference <= bound)
    }

    pub fn met(&self) -> Option<bool> {
        let memory = self.row.memory_target.is_none_or(|most| self.memory_ratio().is_some_and(|m| m <= most));
        Some(self.ratio()? >= self.row.target && memory)
    }
}

/// Measures a row; `python` is the peer's interpreter, where it is there. `steps_apart` holds how far gradient steps end
/// apart once that is known.
pub fn measure(
    row: Row,
    python: Option<&str>,
    folder: &Path,
    short: bool,
    steps_apart: &mut Option<f64>,
) -> Fallible<Outcome> {
    let mut sides = vec![Side::ours(THREADS)?];
    if let Some(python) = python {
        sides.push(Side::peer(python, row.peer.script, THREADS)?);
    }
    if let Work::Step { shape, steps } = row.work {
        if let (Some(peer), None) = (sides.get_mut(1), &steps_apart) {
            *steps_apart = Some(steps::disagreement(peer, folder)?);
        }
        return measure_steps(row, shape, steps, &mut sides, if short { 2 } else { 6 }, *steps_apart);
    }
    let inputs = folder.join("inputs.npz");
    write_inputs(&row.work, &inputs)?;
    let mut request = row.work.request(&inputs.display().to_string());
    let outputs = ["ours.npz", "theirs.npz"].map(|name| folder.join(name));
    let mut first: Vec<Answer> = vec![];
    for (side, out) in sides.iter_mut().zip(&outputs) {
        request["out"] = json!(out);
        first.push(side.request(&request)?);
    }
    let difference = python.map(|_| differ(&row.work, &outputs[0], &outputs[1])).transpose()?;
    request["out"] = Value::Null;
    let slowest = first.iter().fold(0.0, |a: f64, b| a.max(b.seconds));
    let rounds = rounds(slowest, short);
    let mut best = in_turns(&mut sides, rounds, |_, side| Ok(side.request(&request)?.seconds))?;
    if slowest > SLOW_SECONDS {
        best.iter_mut().zip(&first).for_each(|(best, answer)| *best = best.min(answer.seconds));
    }
    let tuned = match (&mut sides[..], row.work) {
        ([_, peer], Work::Forgetting { .. } | Work::OrderParameters { .. }) => {
            request["tuned"] = json!(true);
            let times = (0..rounds.min(3)).map(|_| Ok(peer.request(&request)?.seconds));
            Some(times.collect::<Fallible<Vec<f64>>>()?.into_iter().fold(f64::INFINITY, f64::min))
        }
        _ => None,
    };
    let measured = |k: usize| {
        let Answer { peak_bytes, base_bytes, converged, .. } = *first.get(k)?;
        Some(Measured { seconds: best[k], peak_bytes, base_bytes, converged })
    };
    let ours = measured(0).ok_or("no side was measured")?;
    let theirs = measured(1);
    Ok(Outcome { ours, theirs, difference, rounds, row, tuned })
}

/// PyTorch has requests of its own.
fn measure_steps(
    row: Row,
    shape: Shape,
    steps: usize,
    sides: &mut [Side],
    rounds: usize,
    apart: Option<f64>,
) -> Fallible<Outcome> {
    let (ours, theirs) = shape.requests(steps);
    let best = in_turns(sides, rounds, |k, side| {
        Ok(if k == 0 { side.request(&ours)?.seconds } else { side.ask(&theirs)?.trim().parse()? })
    })?;
    let measured = |seconds| Measured { seconds, peak_bytes: None, base_bytes: None, converged: None };
    let theirs = best.get(1).copied().map(measured);
    Ok(Outcome { row, ours: measured(best[0]), theirs, difference: apart.map(|a| [a, 1.0]), rounds, tuned: None })
}

/// Writes what both sides read.
pub fn write_inputs(work: &Work, path: &Path) -> Fallible<()> {
    let arrays = work.inputs()?;
    Ok(write_npz(path, &arrays.iter().map(|(name, array)| (name.as_str(), array)).collect::<Vec<_>>())?)
}

/// How often a work that takes so many seconds is repeated: for half a minute, since what else the machine's host does comes
/// and goes over seconds.
fn rounds(seconds: f64, short: bool) -> usize {
    match seconds {
        _ if short => 2,
        s if s > SLOW_SECONDS => 2,
        s => ((15.0 / s) as usize).clamp(3, 60),
    }
}

/// The best seconds of every side, asked one after another, round by round.
fn in_turns(sides: &mut [Side], rounds: usize, ask: impl Fn(usize, &mut Side) -> Fallible<f64>) -> Fallible<Vec<f64>> {
    let mut best = vec![f64::INFINITY; sides.len()];
    for _ in 0..rounds {
        for (k, side) in sides.iter_mut().enumerate() {
            best[k] = best[k].min(ask(k, side)?);
        }
    }
    Ok(best)
}

fn arrays(path: &Path) -> Fallible<BTreeMap<String, Mat<f64>>> {
    Ok(read_npz(path)?.into_iter().map(|(name, array): (String, Array)| (name, array.to_mat())).collect())
}

/// The largest difference of results, relative to the largest entry of each array, and its bound.
///
/// Both sides work in f64. Kernels agree to 1e-6, which users of both may count on. Solves amplify the rounding of kernels,
/// 1e-16 (neural-tangents: 1e-9 for the NTK of equal inputs), by condition numbers of up to 1e6, and roots are searched to
/// 1e-8 or better: 1e-6 again.
fn differ(work: &Work, ours: &Path, theirs: &Path) -> Fallible<[f64; 2]> {
    let (ours, theirs) = (arrays(ours)?, arrays(theirs)?);
    let mut worst = 0.0;
    for (name, a) in &ours {
        let b = theirs.get(name).ok_or_else(|| format!("the peer gave no array '{name}'"))?;
        if a.nrows() * a.ncols() != b.nrows() * b.ncols() || a.nrows() != b.nrows() {
            let shapes = [a, b].map(|m| format!("{} × {}", m.nrows(), m.ncols()));
            return Err(format!("'{name}' is {} here and {} from the peer", shapes[0], shapes[1]).into());
        }
        let (mut difference, mut size) = (0.0, 0.0);
        for i in 0..a.nrows() {
            // A load that the peer did not solve is 0 there.
            if matches!(work, Work::TwoTasks { .. }) && b[(i, 0)] == 0.0 {
                continue;
            }
            // Of order parameters, pairs with the earlier task first are compared.
            let columns = if matches!(work, Work::OrderParameters { .. }) { i + 1 } else { 0 }..a.ncols();
            for j in columns {
                difference = largest(difference, (a[(i, j)] - b[(i, j)]).abs());
                size = largest(size, b[(i, j)].abs());
            }
        }
        worst = largest(worst, difference / size);
    }
    Ok([worst, 1e-6])
}

/// The larger of two; a NaN is kept.
fn largest(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}
