//! Figure 5: the three regimes of target-distractor tasks with a readout each.

mod claims;
mod draw;
mod limits;

use super::loads::{self, COLUMNS, Setup, column, critical_row, labels, loads, point_row};
use super::{Entry, Needs, Reproduction, Scale};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::{Column, Study};
use ebbing::plan::Cost;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing_report::Figure;

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "5",
    panels: "b-f",
    shows: "Three regimes of forgetting and generalisation against the load, target-distractor tasks, a readout per task",
    needs: Needs::Theory,
    study: |scale, embedded| Box::new(Fig5::at(scale, embedded)),
};

/// (ρ_target, ρ_shared, ρ_flip).
type Triple = [f64; 3];

/// The two examples of panels b to e.
const EXAMPLES: [Triple; 2] = [[1.0, 0.88, 0.0], [1.0, 0.58, 0.005]];

/// The triples of panel f, the two examples among them.
const TRIPLES: [Triple; 23] = [
    [1.0, 0.15, 0.0],
    [1.0, 0.25, 0.0],
    [1.0, 0.35, 0.0],
    [1.0, 0.45, 0.0],
    EXAMPLES[1],
    [1.0, 0.7, 0.0],
    [1.0, 0.8, 0.0],
    EXAMPLES[0],
    [0.5, 0.2, 0.0],
    [0.5, 0.4, 0.0],
    [0.5, 0.6, 0.0],
    [0.5, 0.8, 0.0],
    [0.0, 0.3, 0.0],
    [0.0, 0.5, 0.0],
    [0.0, 0.7, 0.0],
    [1.0, 0.4, 0.1],
    [1.0, 0.6, 0.1],
    [1.0, 0.8, 0.1],
    [0.75, 0.5, 0.25],
    [0.75, 0.7, 0.25],
    [1.0, 0.2, 0.5],
    [1.0, 0.5, 0.5],
    [1.0, 0.8, 0.5],
];

/// The λ over which powers are measured.
const LAMBDAS: [f64; 5] = [1e6, 1e7, 1e8, 1e9, 1e10];

/// The study.
pub(super) struct Fig5 {
    setup: Setup,
    /// Draws of the examples, of the powers of λ, and of panel f.
    seeds: [u64; 3],
    triples: Vec<Triple>,
    /// Loads below 1, above 1, and of the curves of panel f.
    below: Vec<f64>,
    above: Vec<f64>,
    boundary: Vec<f64>,
    /// Cells of sampled networks.
    sampled: u64,
}

impl Fig5 {
    fn at(scale: Scale, embedded: bool) -> Self {
        let data = if embedded { "mnist-sample" } else { "cifar100" };
        let (p, p_test, seeds, sampled) = match scale {
            Scale::Quick => (400, 200, [3, 1, 2], 4),
            Scale::Paper => (2000, 500, [5, 2, 4], 16),
        };
        let mut below = vec![0.01, 0.02, 0.05, 0.1, 0.15];
        below.extend((4..=19).map(|k| 0.05 * f64::from(k)));
        // Towards 1 in steps of half a decade of 1 − α.
        below.extend((3..=8).map(|k| 1.0 - 10f64.powf(-0.5 * f64::from(k))));
        below.sort_by(f64::total_cmp);
        Fig5 {
            setup: Setup { scale, data, p, p_test },
            seeds,
            triples: TRIPLES.to_vec(),
            below,
            above: loads(1.02, 10.0, 60),
            boundary: loads(1.02, 100.0, 93),
            sampled,
        }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, true);
        Fig5 {
            setup: Setup { p: 60, p_test: 20, ..full.setup },
            seeds: [1; 3],
            triples: vec![EXAMPLES[0], [0.5, 0.2, 0.0], [1.0, 0.2, 0.5]],
            above: loads(1.02, 10.0, 12),
            boundary: loads(1.02, 50.0, 20),
            sampled: 0,
            ..full
        }
    }

    fn cell(part: &str, triple: Triple, seed: u64) -> Cell {
        let [target, shared, flip] = triple;
        Cell::new(seed)
            .with("part", part)
            .with("protocol", "target-distractor")
            .with("rho_target", target)
            .with("rho_shared", shared)
            .with("rho_flip", flip)
    }

    /// λ → ∞ at every load, and the critical load at both label scales.
    fn curve(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.setup.tasks(cell, sources)?.tasks;
        let two = TwoTasks::new(&tasks, &MultiHeadSettings::default())?;
        let grid: Vec<f64> = self.below.iter().chain(&self.above).copied().collect();
        let mut rows = vec![critical_row(&two.critical_load()?, "given")];
        rows.extend(two.curve(&grid)?.points.iter().map(point_row));
        rows.push(critical_row(&two.with_normalised_labels()?.critical_load()?, "scaled"));
        Ok(rows)
    }

    /// A finite λ at loads above 1.
    fn finite(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.setup.tasks(cell, sources)?.tasks;
        let settings = MultiHeadSettings { lambda: cell.number("lambda")?, ..MultiHeadSettings::default() };
        Ok(TwoTasks::new(&tasks, &settings)?.curve(&self.above)?.points.iter().map(point_row).collect())
    }

    /// The critical load: exact, by γ_sim, and read off F_21.
    fn critical(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.setup.tasks(cell, sources)?.tasks;
        let two = TwoTasks::new(&tasks, &MultiHeadSettings::default())?;
        let critical = two.critical_load()?;
        let mut row = critical_row(&critical, "given");
        let (first, last) = (self.boundary[0], self.boundary[self.boundary.len() - 1]);
        // What the curve cannot show is left out: no transition between its ends.
        if critical.exact > first && critical.exact < last {
            let points = two.points(&self.boundary)?;
            let maps = two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0]))?;
            let f21: Vec<f64> = two.losses(&maps, &points).iter().map(|f| f.coefficient).collect();
            if let Some(found) = alpha_c_from_curve(&self.boundary, &f21, CurveFeature::Steepest)? {
                row = row.with("alpha_c_curve", found.alpha_c).with("spacing", found.spacing);
            }
        }
        let edge = two.points(&[0.98, 1.0 + 0.5 * (critical.exact - 1.0).min(0.04)])?;
        row = row.with("power_below_1", edge[0].u22.exponent).with("power_above_1", edge[1].u22.exponent);
        let scaled = two.with_normalised_labels()?.critical_load()?;
        Ok(vec![row, critical_row(&scaled, "scaled")])
    }
}

impl Study for Fig5 {
    fn name(&self) -> String {
        "figure-5".into()
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!({
            "setup": self.setup, "sigma2": 1.0, "depth": 1, "loads_below_1": self.below, "loads_above_1": self.above,
            "loads_of_the_boundary": self.boundary, "limits": limits::settings(),
        })
    }

    fn data(&self) -> Vec<String> {
        vec![self.setup.data.into()]
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let [curves, powers, boundary] = self.seeds;
        let mut cells = Vec::new();
        for triple in EXAMPLES {
            cells.extend((0..curves).map(|seed| Self::cell("curve", triple, seed)));
            for lambda in LAMBDAS {
                cells.extend((0..powers).map(|seed| Self::cell("power", triple, seed).with("lambda", lambda)));
            }
        }
        for &triple in &self.triples {
            cells.extend((0..boundary).map(|seed| Self::cell("boundary", triple, seed)));
        }
        cells.extend(limits::cells(self.sampled));
        Ok(cells)
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        match cell.text("part")? {
            "curve" => self.curve(cell, sources),
            "power" => self.finite(cell, sources),
            "boundary" => self.critical(cell, sources),
            part => limits::compute(part, &self.setup, cell, sources),
        }
    }

    fn cost(&self, cell: &Cell) -> Cost {
        let tested = self.setup.p_test;
        match cell.text("part") {
            Ok("curve") => self.setup.cost(2, tested, self.below.len() + self.above.len()),
            Ok("power") => self.setup.cost(2, tested, self.above.len()),
            Ok("boundary") => self.setup.cost(2, 0, self.boundary.len()),
            _ => limits::cost(cell, &self.setup),
        }
    }

    fn columns(&self) -> Vec<Column> {
        let own = [
            column("power_below_1", "power of lambda of |a_2|²/N at load 0.98"),
            column("power_above_1", "power of lambda of |a_2|²/N at 1.02, or halfway to alpha_c where that is lower"),
        ];
        COLUMNS.iter().chain(&own).chain(limits::COLUMNS).copied().collect()
    }
}

impl Reproduction for Fig5 {
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-5".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = claims::claims(self, frame)?;
        claims.extend(limits::claims(frame)?);
        Ok(claims)
    }
}

/// The rows of one triple.
fn of_triple(frame: &Frame, triple: Triple) -> Result<Frame> {
    let [target, shared, flip] = triple;
    frame.only("rho_target", target)?.only("rho_shared", shared)?.only("rho_flip", flip)
}

/// "(1, 0.88, 0)".
fn triple_name(triple: Triple) -> String {
    let [target, shared, flip] = triple;
    format!("({target}, {shared}, {flip})")
}

/// The exact α_c of one draw of an example, labels as given.
fn critical_of(frame: &Frame, triple: Triple, seed: u64) -> Result<f64> {
    let rows =
        of_triple(&frame.only("part", "curve")?, triple)?.only("seed", seed as usize)?.only("labels", "given")?;
    let found = rows.numbers("alpha_c")?;
    found
        .first()
        .copied()
        .ok_or_else(|| Error::data("figure 5", format!("no critical load of {}", triple_name(triple))))
}

/// One draw's powers of λ at the load of the grid that is nearest to a given one.
struct AtLoad {
    lambdas: Vec<f64>,
    rows: Frame,
}

impl AtLoad {
    fn new(frame: &Frame, triple: Triple, seed: u64, load: f64) -> Result<AtLoad> {
        let rows = of_triple(&frame.only("part", "power")?, triple)?.only("seed", seed as usize)?;
        let distance = |a: &f64| (a / load).ln().abs();
        let nearest = rows.levels("alpha")?.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let rows = rows.only("alpha", nearest.unwrap_or(load))?;
        Ok(AtLoad { lambdas: rows.numbers("lambda")?, rows })
    }

    /// The power of λ of a column.
    fn power(&self, name: &str) -> Result<f64> {
        Ok(loads::log_slope(&self.lambdas, &self.rows.numbers(name)?))
    }
}
