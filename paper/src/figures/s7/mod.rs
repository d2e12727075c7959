//! Figure S7, panels b, c, e, f: intermediate datasets lower the critical load.

mod claims;
mod draw;

use super::drawn::{ByRatio, Drawn};
use super::loads::{Setup, column, critical_row, mean, ratio_cell};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::plan::Cost;
use ebbing::stats::log_grid;
use ebbing::theory::alpha_c::{CurveCritical, CurveFeature, alpha_c_from_curve};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::theory::phase::{SequencePoint, sequence_curve};
use ebbing_show::Figure;
use ebbing_studies::{Column, Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S7",
    panels: "b, c, e, f",
    shows: "Critical load with and without an intermediate dataset between two tasks",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(FigS7::at(scale, images)),
};

/// A benchmark: protocol, letters, ratios, and the ratio whose curves are drawn.
struct Benchmark {
    protocol: ByRatio,
    letters: [char; 2],
    ratios: &'static [f64],
    example: f64,
}

const BENCHMARKS: [Benchmark; 2] = [
    Benchmark { protocol: ByRatio::Permuted, letters: ['b', 'c'], ratios: &[0.05, 0.1, 0.15, 0.2, 0.3], example: 0.15 },
    Benchmark { protocol: ByRatio::Split, letters: ['e', 'f'], ratios: &[0.1, 0.15, 0.2, 0.25, 0.35], example: 0.25 },
];

/// The λ that stands for ∞, and the one that shows whether it suffices.
const LAMBDAS: [f64; 2] = [1e6, 1e7];

/// Loads below 1 of the examples.
const BELOW: [f64; 3] = [0.3, 0.6, 0.9];

/// The study.
pub(super) struct FigS7 {
    setup: Setup,
    seeds: u64,
    /// Loads above 1, on which mid-height depends: fixed.
    above: Vec<f64>,
}

impl FigS7 {
    fn at(scale: Scale, images: Images) -> Self {
        let data = images.name("mnist");
        let (p, p_test, seeds, count) = match scale {
            Scale::Quick => (300, 120, 2, 12),
            Scale::Paper => (600, 120, 3, 20),
        };
        FigS7 { setup: Setup { scale, data, paper: "mnist", p, p_test }, seeds, above: log_grid(1.05, 12.0, count) }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, Images::Embedded);
        FigS7 { setup: Setup { p: 40, p_test: 20, ..full.setup }, seeds: 1, above: log_grid(1.1, 12.0, 5) }
    }

    /// The loads at one λ, of an example those below 1 too.
    fn loads(&self, example: bool) -> Vec<f64> {
        [if example { &BELOW[..] } else { &[] }, &self.above].concat()
    }
}

/// The columns of this figure alone.
const COLUMNS: [Column; 2] = [column("steps_between", "intermediate datasets S"), column("load", "load of the cell")];

/// The first task's forgetting and the last one's generalization at every load; without intermediate datasets also the
/// critical load at both label scales.
#[derive(Debug, Serialize, Deserialize)]
struct Intermediate {
    tasks: Drawn,
    lambda: f64,
    loads: Vec<f64>,
}

impl Work for Intermediate {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let settings = MultiHeadSettings { lambda: self.lambda, ..MultiHeadSettings::default() };
        let row = |p: &SequencePoint| {
            let g22 = p.g_tt.map_or(f64::NAN, |g| g.coefficient);
            Row::new().with("alpha", p.alpha).with("f21", p.f_t1.coefficient).with("g22", g22)
        };
        let mut rows: Vec<Row> =
            sequence_curve(&tasks, &settings, &self.loads, context)?.points.iter().map(row).collect();
        if self.tasks.between == 0 {
            let limit = TwoTasks::new(&tasks, &MultiHeadSettings::default(), context)?;
            rows.push(critical_row(&limit.critical_load()?, "given"));
            rows.push(critical_row(&limit.with_normalized_labels()?.critical_load()?, "scaled"));
        }
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        // With intermediate datasets two pencils, and three tasks' worth of posterior covariances in their bases.
        self.tasks.phase_cost(self.loads.len()).times(if self.tasks.between == 0 { 2 } else { 3 })
    }
}

impl Reproduction for FigS7 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let settings = serde_json::json!({
            "loads_above_1": self.above, "loads_below_1": BELOW, "lambda_for_infinity": LAMBDAS[0],
        });
        let mut grid = self.setup.study("figure-S7", settings, &COLUMNS);
        for Benchmark { protocol, ratios, example, .. } in BENCHMARKS {
            for (&ratio, seed) in ratios.iter().flat_map(|r| (0..self.seeds).map(move |seed| (r, seed))) {
                let example = ratio == example;
                for lambda in LAMBDAS {
                    if lambda != LAMBDAS[0] && !(example && seed == 0) {
                        continue;
                    }
                    let cell = |between: usize| {
                        ratio_cell(protocol, ratio, seed).with("lambda", lambda).with("steps_between", between)
                    };
                    let work = |between: usize, loads: Vec<f64>| Intermediate {
                        tasks: Drawn { between, ..self.setup.by_ratio(protocol, ratio, seed) },
                        lambda,
                        loads,
                    };
                    grid.push(cell(0), work(0, self.loads(example)));
                    for load in self.loads(example && lambda == LAMBDAS[0]) {
                        grid.push(cell(1).with("load", load), work(1, vec![load]));
                    }
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-S7".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let claims = BENCHMARKS.iter().map(|benchmark| claims::claims(benchmark, frame));
        Ok(claims.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// A benchmark's curve against the load at one ratio, λ and number of intermediate datasets, averaged over draws.
struct Averaged {
    alphas: Vec<f64>,
    f21: Vec<f64>,
    g22: Vec<f64>,
}

impl Averaged {
    fn new(frame: &Frame, benchmark: &Benchmark, ratio: f64, lambda: f64, steps: usize) -> Result<Averaged> {
        let rows = frame.only("protocol", benchmark.protocol)?.only("ratio", ratio)?.only("lambda", lambda)?;
        Self::of(&rows.only("steps_between", steps)?)
    }

    fn of(rows: &Frame) -> Result<Averaged> {
        let alphas = rows.levels("alpha")?;
        let means = |name: &str| -> Result<Vec<f64>> {
            alphas.iter().map(|&alpha| Ok(rows.only("alpha", alpha)?.mean(name)?.value)).collect()
        };
        Ok(Averaged { f21: means("f21")?, g22: means("g22")?, alphas })
    }

    /// α_c as the mid-height of G_22 over loads above 1; `None` where the curve does not fall.
    fn mid_height(&self) -> Result<Option<f64>> {
        let found = alpha_c_from_curve(&self.alphas, &self.g22, CurveFeature::MidHeight)?;
        Ok(found.map(|CurveCritical { alpha_c, .. }| alpha_c))
    }

    /// F_21 and G_22 at the load nearest to a given one.
    fn near(&self, load: f64) -> (f64, f64) {
        let distance = |k: &usize| (self.alphas[*k] / load).ln().abs();
        let k = (0..self.alphas.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
        (self.f21[k], self.g22[k])
    }
}

/// The exact α_c and γ_sim^−2 without intermediate datasets, averaged over draws.
fn limits(frame: &Frame, benchmark: &Benchmark, ratio: f64) -> Result<(f64, f64)> {
    let rows = frame.only("protocol", benchmark.protocol)?.only("ratio", ratio)?.only("labels", "given")?;
    let rows = rows.only("lambda", LAMBDAS[0])?;
    Ok((mean(&rows, "alpha_c")?.value, rows.mean("gamma_sim")?.value.powi(-2)))
}
