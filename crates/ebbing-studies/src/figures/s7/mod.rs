//! Figure S7, panels b, c, e, f: intermediate datasets lower the critical load.

mod claims;
mod draw;

use super::loads::{COLUMNS, Setup, column, critical_row, loads};
use super::{Entry, Needs, Reproduction, Scale};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::{Column, Study};
use ebbing::plan::Cost;
use ebbing::tasks::Interpolated;
use ebbing::theory::alpha_c::{CurveCritical, CurveFeature, alpha_c_from_curve, sequence_curve};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing_report::Figure;

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S7",
    panels: "b, c, e, f",
    shows: "Critical load with and without an intermediate dataset between two tasks",
    needs: Needs::Theory,
    study: |scale, embedded| Box::new(FigS7::at(scale, embedded)),
};

/// A benchmark: protocol, axis, letters, ratios, and the ratio whose curves are drawn.
struct Benchmark {
    protocol: &'static str,
    axis: &'static str,
    letters: [char; 2],
    ratios: &'static [f64],
    example: f64,
}

const BENCHMARKS: [Benchmark; 2] = [
    Benchmark {
        protocol: "permuted",
        axis: "permutation ratio",
        letters: ['b', 'c'],
        ratios: &[0.05, 0.1, 0.15, 0.2, 0.3],
        example: 0.15,
    },
    Benchmark {
        protocol: "split",
        axis: "split ratio",
        letters: ['e', 'f'],
        ratios: &[0.1, 0.15, 0.2, 0.25, 0.35],
        example: 0.25,
    },
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
    fn at(scale: Scale, embedded: bool) -> Self {
        let data = if embedded { "mnist-sample" } else { "mnist" };
        let (p, p_test, seeds, count) = match scale {
            Scale::Quick => (300, 120, 2, 12),
            Scale::Paper => (600, 120, 3, 20),
        };
        FigS7 { setup: Setup { scale, data, p, p_test }, seeds, above: loads(1.05, 12.0, count) }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, true);
        FigS7 { setup: Setup { p: 40, p_test: 20, ..full.setup }, seeds: 1, above: loads(1.1, 12.0, 5) }
    }

    /// The loads of a cell without intermediate datasets: all of them; with one, its own.
    fn loads(&self, cell: &Cell, example: bool) -> Result<Vec<f64>> {
        if cell.count("steps_between")? > 0 {
            return Ok(vec![cell.number("load")?]);
        }
        let below = if example { &BELOW[..] } else { &[] };
        Ok(below.iter().chain(&self.above).copied().collect())
    }
}

fn example(cell: &Cell) -> Result<bool> {
    let (protocol, ratio) = (cell.text("protocol")?, cell.number("ratio")?);
    Ok(BENCHMARKS.iter().any(|b| b.protocol == protocol && b.example == ratio))
}

impl Study for FigS7 {
    fn name(&self) -> String {
        "figure-S7".into()
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!({
            "setup": self.setup, "sigma2": 1.0, "depth": 1, "loads_above_1": self.above, "loads_below_1": BELOW,
            "lambda_for_infinity": LAMBDAS[0],
        })
    }

    fn data(&self) -> Vec<String> {
        vec![self.setup.data.into()]
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for benchmark in &BENCHMARKS {
            for (&ratio, seed) in benchmark.ratios.iter().flat_map(|r| (0..self.seeds).map(move |seed| (r, seed))) {
                for lambda in LAMBDAS {
                    let example = ratio == benchmark.example;
                    if lambda != LAMBDAS[0] && !(example && seed == 0) {
                        continue;
                    }
                    let cell = |steps: usize| {
                        Cell::new(seed)
                            .with("protocol", benchmark.protocol)
                            .with("ratio", ratio)
                            .with("lambda", lambda)
                            .with("steps_between", steps)
                    };
                    cells.push(cell(0));
                    let below = if example && lambda == LAMBDAS[0] { &BELOW[..] } else { &[] };
                    cells.extend(below.iter().chain(&self.above).map(|&load| cell(1).with("load", load)));
                }
            }
        }
        Ok(cells)
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let sequence = self.setup.tasks(cell, sources)?;
        let settings = MultiHeadSettings { lambda: cell.number("lambda")?, ..MultiHeadSettings::default() };
        let grid = self.loads(cell, example(cell)?)?;
        if cell.count("steps_between")? == 0 {
            let points = TwoTasks::new(&sequence.tasks, &settings)?.curve(&grid)?.points;
            let row = |p: &ebbing::theory::phase::PhasePoint| {
                let g22 = p.g22.map_or(f64::NAN, |g| g.coefficient);
                Row::new().with("alpha", p.factors.alpha).with("f21", p.f21.coefficient).with("g22", g22)
            };
            let mut rows: Vec<Row> = points.iter().map(row).collect();
            let limit = TwoTasks::new(&sequence.tasks, &MultiHeadSettings::default())?;
            rows.push(critical_row(&limit.critical_load()?, "given"));
            rows.push(critical_row(&limit.with_normalised_labels()?.critical_load()?, "scaled"));
            return Ok(rows);
        }
        let between = Interpolated { steps: cell.count("steps_between")? }.apply(&sequence, cell.seed)?;
        let curve = sequence_curve(&between.tasks, &settings, &grid)?;
        let generalisation = curve.generalisation.unwrap_or_default();
        let row = |(k, alpha): (usize, &f64)| {
            let g22 = generalisation.get(k).copied().unwrap_or(f64::NAN);
            Row::new().with("alpha", *alpha).with("f21", curve.forgetting[k]).with("g22", g22)
        };
        Ok(curve.alphas.iter().enumerate().map(row).collect())
    }

    fn cost(&self, cell: &Cell) -> Cost {
        match cell.count("steps_between") {
            Ok(0) => self.setup.cost(2, self.setup.p_test, self.above.len()).times(2),
            // Two pencils, and three tasks' worth of posterior covariances in their bases.
            _ => self.setup.cost(3, self.setup.p_test, 1).times(3),
        }
    }

    fn columns(&self) -> Vec<Column> {
        let own = [column("steps_between", "intermediate datasets S"), column("load", "load of the cell")];
        COLUMNS.iter().chain(&own).copied().collect()
    }
}

impl Reproduction for FigS7 {
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-S7".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for benchmark in &BENCHMARKS {
            claims.extend(claims::claims(benchmark, frame)?);
        }
        Ok(claims)
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
    Ok((super::loads::mean(&rows, "alpha_c")?.value, rows.mean("gamma_sim")?.value.powi(-2)))
}
