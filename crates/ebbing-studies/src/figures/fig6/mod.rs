//! Figure 6: similarity and phase diagrams of permuted and split tasks with a readout each.

mod claims;
mod draw;

use super::loads::{COLUMNS, Setup, critical_row, loads, point_row};
use super::{Entry, Needs, Reproduction, Scale};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::{Column, Study};
use ebbing::plan::Cost;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing_report::Figure;

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "6",
    panels: "a-f",
    shows: "Similarity of permuted and split tasks and their phase diagrams, a readout per task",
    needs: Needs::Theory,
    study: |scale, embedded| Box::new(Fig6::at(scale, embedded)),
};

/// One of the two benchmarks.
struct Benchmark {
    protocol: &'static str,
    /// What is varied, as axes call it.
    axis: &'static str,
    /// The letters of its three panels.
    letters: [char; 3],
    ratios: &'static [f64],
    /// The two examples: ratio, γ_sim and α_c as the paper prints them.
    examples: [(f64, f64, f64); 2],
    /// How far γ_sim may be from the printed numbers.
    tolerances: [f64; 2],
}

const BENCHMARKS: [Benchmark; 2] = [
    Benchmark {
        protocol: "permuted",
        axis: "permutation ratio",
        letters: ['a', 'b', 'c'],
        ratios: &[0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0],
        examples: [(0.05, 0.81, 1.51), (0.15, 0.56, 3.19)],
        tolerances: [0.02, 0.03],
    },
    Benchmark {
        protocol: "split",
        axis: "split ratio",
        letters: ['d', 'e', 'f'],
        ratios: &[0.0, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8, 1.0],
        examples: [(0.1, 0.81, 1.54), (0.25, 0.57, 3.03)],
        tolerances: [0.03, 0.03],
    },
];

/// The study.
pub(super) struct Fig6 {
    setup: Setup,
    seeds: u64,
    /// Draws with curves against the load, at the examples.
    curves: u64,
    loads: Vec<f64>,
}

impl Fig6 {
    fn at(scale: Scale, embedded: bool) -> Self {
        let data = if embedded { "mnist-sample" } else { "mnist" };
        let (p, p_test, seeds, curves) = match (scale, embedded) {
            (Scale::Quick, false) => (800, 300, 4, 2),
            (Scale::Quick, true) => (400, 120, 4, 2),
            (Scale::Paper, false) => (2000, 500, 10, 3),
            // As many as the sample holds of a class.
            (Scale::Paper, true) => (600, 120, 10, 3),
        };
        let mut grid = loads(0.1, 0.98, 30);
        grid.extend(loads(1.02, 10.0, 60));
        Fig6 { setup: Setup { scale, data, p, p_test }, seeds, curves, loads: grid }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, true);
        Fig6 { setup: Setup { p: 60, p_test: 20, ..full.setup }, seeds: 2, curves: 1, loads: loads(0.5, 10.0, 12) }
    }
}

impl Study for Fig6 {
    fn name(&self) -> String {
        "figure-6".into()
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!({ "setup": self.setup, "sigma2": 1.0, "depth": 1, "loads": self.loads })
    }

    fn data(&self) -> Vec<String> {
        vec![self.setup.data.into()]
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for benchmark in &BENCHMARKS {
            for &ratio in benchmark.ratios {
                // Equal tasks have γ_sim = 1 in every draw.
                let seeds = if ratio == 0.0 { 1 } else { self.seeds };
                let example = benchmark.examples.iter().any(|e| e.0 == ratio);
                cells.extend((0..seeds).map(|seed| {
                    let part = if example && seed < self.curves { "curve" } else { "similarity" };
                    Cell::new(seed).with("part", part).with("protocol", benchmark.protocol).with("ratio", ratio)
                }));
            }
        }
        Ok(cells)
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.setup.tasks(cell, sources)?.tasks;
        let two = TwoTasks::new(&tasks, &MultiHeadSettings::default())?;
        let mut row = critical_row(&two.critical_load()?, "given");
        let mut rows = Vec::new();
        if cell.text("part")? == "curve" {
            let points = two.curve(&self.loads)?.points;
            let above = points.iter().filter(|p| p.factors.alpha > 1.0);
            let (alphas, f21): (Vec<f64>, Vec<f64>) = above.map(|p| (p.factors.alpha, p.f21.coefficient)).unzip();
            if let Some(found) = alpha_c_from_curve(&alphas, &f21, CurveFeature::Steepest)? {
                row = row.with("alpha_c_curve", found.alpha_c).with("spacing", found.spacing);
            }
            rows.extend(points.iter().map(point_row));
        }
        rows.push(row);
        rows.push(critical_row(&two.with_normalised_labels()?.critical_load()?, "scaled"));
        Ok(rows)
    }

    fn cost(&self, cell: &Cell) -> Cost {
        match cell.text("part") {
            Ok("curve") => self.setup.cost(2, self.setup.p_test, self.loads.len()),
            // No sums over data points: those take eight of the products of a curve.
            _ => {
                let all = self.setup.cost(2, 0, 0);
                Cost { flops: all.flops - 8.0 * (self.setup.p as f64).powi(3), ..all }
            }
        }
    }

    fn columns(&self) -> Vec<Column> {
        COLUMNS.to_vec()
    }
}

impl Reproduction for Fig6 {
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-6".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for benchmark in &BENCHMARKS {
            claims.extend(claims::claims(self, benchmark, frame)?);
        }
        Ok(claims)
    }
}

/// A benchmark's critical loads at one label scale.
fn critical_rows(frame: &Frame, benchmark: &Benchmark, labels: &str) -> Result<Frame> {
    frame.only("protocol", benchmark.protocol)?.only("labels", labels)
}

/// "5 %".
fn percent(ratio: f64) -> String {
    format!("{} %", (1000.0 * ratio).round() / 10.0)
}
