//! How cost grows with examples, tasks, depth and loads, on one thread and on two.

use super::measure::{THREADS, write_inputs};
use super::side::{Fallible, Side};
use super::works::Work;
use ebbing_report::{Dash, Figure, Line, Markers, Panel, Rgb};
use serde_json::Value;
use std::path::Path;

/// Times at growing sizes, and the slopes of log time against log size that theory expects for small and large sizes.
pub struct Growth {
    pub name: &'static str,
    /// What grows.
    axis: &'static str,
    pub sizes: Vec<f64>,
    /// Seconds on one thread and on [`THREADS`].
    pub seconds: [Vec<f64>; 2],
    expected: [f64; 2],
    /// Why.
    pub reason: &'static str,
}

/// A work of each size.
struct Plan {
    name: &'static str,
    axis: &'static str,
    sizes: Vec<usize>,
    work: fn(usize, bool) -> Work,
    expected: [f64; 2],
    reason: &'static str,
}

fn plans(short: bool) -> Vec<Plan> {
    let pick = |long: &[usize], small: &[usize]| if short { small.to_vec() } else { long.to_vec() };
    vec![
        Plan {
            name: "kernel regression, depth 3",
            axis: "examples *P*",
            sizes: pick(&[500, 1000, 2000, 4000, 8000], &[100, 200, 400]),
            work: |p, _| Work::Regression { p, depth: 3 },
            expected: [2.0, 3.0],
            reason: "the kernel takes P² N0 operations, its Cholesky factor P³/3",
        },
        Plan {
            name: "single-head forgetting matrix, depth 10",
            axis: "tasks *T*",
            sizes: pick(&[2, 5, 10, 20, 40], &[2, 4, 8]),
            work: |tasks, short| Work::Forgetting { tasks, p: if short { 50 } else { 200 }, depth: 10 },
            expected: [1.0, 2.0],
            reason: "one factor per task, one kernel per pair of tasks",
        },
        Plan {
            name: "NNGP",
            axis: "hidden layers *L*",
            sizes: pick(&[1, 3, 10, 20, 50], &[1, 5, 25]),
            work: |depth, short| Work::Kernel { kind: "nngp", p: if short { 200 } else { 2000 }, depth },
            expected: [0.0, 0.0],
            reason: "whatever the depth, a kernel is one product and one function of an entry",
        },
        Plan {
            name: "two-task multi-head, λ = 1e4",
            axis: "loads",
            sizes: pick(&[10, 30, 100, 300, 1000], &[5, 20, 80]),
            work: |loads, short| Work::TwoTasks { p: if short { 60 } else { 500 }, loads },
            expected: [0.0, 1.0],
            reason: "one decomposition for all loads, then O(P) for each step of a search",
        },
    ]
}

/// Measures all, on this side only.
pub fn measure(folder: &Path, short: bool) -> Fallible<Vec<Growth>> {
    let mut all = vec![];
    for plan in plans(short) {
        let mut seconds = [vec![], vec![]];
        for &size in &plan.sizes {
            let work = (plan.work)(size, short);
            let inputs = folder.join("inputs.npz");
            write_inputs(&work, &inputs)?;
            let request = work.request(&inputs.display().to_string());
            for (threads, seconds) in [1, THREADS].into_iter().zip(&mut seconds) {
                seconds.push(best(&mut Side::ours(threads)?, &request, short)?);
            }
        }
        println!("  {} by {}", plan.name, plan.axis.replace('*', ""));
        let Plan { name, axis, sizes, expected, reason, .. } = plan;
        let sizes = sizes.into_iter().map(|s| s as f64).collect();
        all.push(Growth { name, axis, sizes, seconds, expected, reason });
    }
    Ok(all)
}

/// The best of several, the first not counted unless it is slow.
fn best(side: &mut Side, request: &Value, short: bool) -> Fallible<f64> {
    let first = side.request(request)?.seconds;
    let (mut best, rounds) = match first {
        s if s > 3.0 => (first, 1),
        _ => (f64::INFINITY, if short { 2 } else { 5 }),
    };
    for _ in 0..rounds {
        best = best.min(side.request(request)?.seconds);
    }
    Ok(best)
}

impl Growth {
    /// Slopes of log time between the two smallest sizes and between the two largest ones.
    pub fn slopes(&self, threads: usize) -> [f64; 2] {
        let (x, y, n) = (&self.sizes, &self.seconds[threads], self.sizes.len());
        [1, n - 1].map(|k| (y[k] / y[k - 1]).ln() / (x[k] / x[k - 1]).ln())
    }

    /// How many times as fast two threads are at the largest size.
    pub fn speedup(&self) -> f64 {
        let last = self.sizes.len() - 1;
        self.seconds[0][last] / self.seconds[1][last]
    }

    /// The expected slopes in words.
    pub fn expected(&self) -> String {
        let [low, high] = self.expected;
        if low == high { format!("{low}") } else { format!("{low} to {high}") }
    }

    fn panel(&self) -> Panel {
        let mut panel = Panel::new().title(self.name).x(self.axis).y("time (s)").log_x().log_y();
        let labels = ["1 thread".to_string(), format!("{THREADS} threads")];
        for (label, seconds) in labels.iter().zip(&self.seconds) {
            panel = panel.markers(Markers::new(label, &self.sizes, seconds));
        }
        let ([first, last], n) = (self.expected, self.sizes.len());
        // The slope at small sizes through the first time on one thread, that at large ones through the last.
        let mut guides = vec![(last, n - 1, Dash::Solid)];
        if first != last {
            guides.push((first, 0, Dash::Dashed));
        }
        for (slope, anchor, dash) in guides {
            let (x0, y0) = (self.sizes[anchor], self.seconds[0][anchor]);
            let y: Vec<f64> = self.sizes.iter().map(|x| y0 * (x / x0).powf(slope)).collect();
            let line = Line::new(&format!("slope {slope}"), &self.sizes, &y);
            panel = panel.line(line.colour(Rgb::GREY).width(0.5).dash(dash));
        }
        panel
    }
}

/// One panel for each, with the expected slopes.
pub fn figure(all: &[Growth]) -> Figure {
    Figure::grid(all.iter().map(Growth::panel).collect(), 2).title("Growth of cost").caption(
        "How the time of four works grows, on one thread and on two. Thin lines: the slopes that are expected for small \
         sizes (dashed, through the first time on one thread) and for large ones (solid, through the last).",
    )
}
