//! Figure 6: similarity and phase diagrams of permuted and split tasks with a readout each.

mod claims;
mod draw;

use super::drawn::{ByRatio, Drawn, drawn_cost};
use super::loads::{Setup, critical_row, point_row, ratio_cell, with_steepest};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::plan::{Cost, critical_load_cost};
use ebbing::stats::log_grid;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing_show::Figure;
use ebbing_studies::{Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "6",
    panels: "a-f",
    shows: "Similarity of permuted and split tasks and their phase diagrams, a readout per task",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(Fig6::at(scale, images)),
};

/// One of the two benchmarks.
struct Benchmark {
    protocol: ByRatio,
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
        protocol: ByRatio::Permuted,
        letters: ['a', 'b', 'c'],
        ratios: &[0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0],
        examples: [(0.05, 0.81, 1.51), (0.15, 0.56, 3.19)],
        tolerances: [0.02, 0.03],
    },
    Benchmark {
        protocol: ByRatio::Split,
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
    fn at(scale: Scale, images: Images) -> Self {
        let data = images.name("mnist");
        let (p, p_test, seeds, curves) = match (scale, images.few()) {
            (Scale::Quick, false) => (800, 300, 4, 2),
            (Scale::Quick, true) => (400, 120, 4, 2),
            (Scale::Paper, false) => (2000, 500, 10, 3),
            // As many as the sample holds of a class.
            (Scale::Paper, true) => (600, 120, 10, 3),
        };
        let mut grid = log_grid(0.1, 0.98, 30);
        grid.extend(log_grid(1.02, 10.0, 60));
        Fig6 { setup: Setup { scale, data, paper: "mnist", p, p_test }, seeds, curves, loads: grid }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, Images::Embedded);
        Fig6 { setup: Setup { p: 60, p_test: 20, ..full.setup }, seeds: 2, curves: 1, loads: log_grid(0.5, 10.0, 12) }
    }
}

/// The similarity of two tasks and their critical load at both label scales; curves where there are loads.
#[derive(Debug, Serialize, Deserialize)]
struct Similarity {
    tasks: Drawn,
    loads: Vec<f64>,
}

impl Work for Similarity {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let two = self.tasks.two(sources, &MultiHeadSettings::default(), context)?;
        let mut row = critical_row(&two.critical_load()?, "given");
        let mut rows = Vec::new();
        if !self.loads.is_empty() {
            let points = two.curve(&self.loads)?.points;
            let above = points.iter().filter(|p| p.factors.alpha > 1.0);
            let (alphas, f21): (Vec<f64>, Vec<f64>) = above.map(|p| (p.factors.alpha, p.f21.coefficient)).unzip();
            row = with_steepest(row, &alphas, &f21)?;
            rows.extend(points.iter().map(point_row));
        }
        rows.push(row);
        rows.push(critical_row(&two.with_normalized_labels()?.critical_load()?, "scaled"));
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        let untested = self.tasks.untested();
        match self.loads.len() {
            0 => drawn_cost(&untested, critical_load_cost(&untested)),
            loads => self.tasks.phase_cost(loads),
        }
    }
}

impl Reproduction for Fig6 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
        at_most(&mut self.curves, most);
    }

    fn study(&self) -> Result<Study> {
        let mut grid = self.setup.study("figure-6", serde_json::json!({ "loads": self.loads }), &[]);
        for Benchmark { protocol, ratios, examples, .. } in BENCHMARKS {
            for &ratio in ratios {
                // Equal tasks have γ_sim = 1 in every draw.
                let seeds = if ratio == 0.0 { 1 } else { self.seeds };
                for seed in 0..seeds {
                    let drawn = examples.iter().any(|e| e.0 == ratio) && seed < self.curves;
                    let (part, loads) = if drawn { ("curve", self.loads.clone()) } else { ("similarity", vec![]) };
                    let work = Similarity { tasks: self.setup.by_ratio(protocol, ratio, seed), loads };
                    grid.push(ratio_cell(protocol, ratio, seed).with("part", part), work);
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-6".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let claims = BENCHMARKS.iter().map(|benchmark| claims::claims(self, benchmark, frame));
        Ok(claims.collect::<Result<Vec<_>>>()?.concat())
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
