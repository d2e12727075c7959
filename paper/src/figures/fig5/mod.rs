//! Figure 5: the three regimes of target-distractor tasks with a readout each.

mod claims;
mod draw;
mod limits;
mod work;

use super::loads::{self, Setup, column};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::stats::log_grid;
use ebbing::tasks::{Protocol, TargetDistractor};
use ebbing_show::Figure;
use ebbing_studies::{Cell, Column, Error, Frame, Result, Study};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "5",
    panels: "b-f",
    shows: "Three regimes of forgetting and generalization against the load, target-distractor tasks, a readout per task",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(Fig5::at(scale, images)),
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
    fn at(scale: Scale, images: Images) -> Self {
        let data = images.name("cifar100");
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
            setup: Setup { scale, data, paper: "cifar100", p, p_test },
            seeds,
            triples: TRIPLES.to_vec(),
            below,
            above: log_grid(1.02, 10.0, 60),
            boundary: log_grid(1.02, 100.0, 93),
            sampled,
        }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, Images::Embedded);
        Fig5 {
            setup: Setup { p: 60, p_test: 20, ..full.setup },
            seeds: [1; 3],
            triples: vec![EXAMPLES[0], [0.5, 0.2, 0.0], [1.0, 0.2, 0.5]],
            above: log_grid(1.02, 10.0, 12),
            boundary: log_grid(1.02, 50.0, 20),
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

    /// The two tasks of a triple, of `p` examples each.
    fn protocol(triple: Triple, p: usize, p_test: usize) -> Protocol {
        let [rho_target, rho_shared, rho_flip] = triple;
        let p_test = Some(p_test);
        let rest = TargetDistractor::default();
        Protocol::TargetDistractor(TargetDistractor { tasks: 2, p, p_test, rho_target, rho_shared, rho_flip, ..rest })
    }
}

/// The columns of this figure alone.
const COLUMNS: [Column; 2] = [
    column("exponent_below_1", "exponent of lambda of |a_2|²/N at load 0.98"),
    column("exponent_above_1", "exponent of lambda of |a_2|²/N at 1.02, or halfway to alpha_c where that is lower"),
];

impl Reproduction for Fig5 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds[0], most);
        at_most(&mut self.seeds[1], most);
        at_most(&mut self.seeds[2], most);
    }

    fn study(&self) -> Result<Study> {
        let settings = serde_json::json!({
            "loads_below_1": self.below, "loads_above_1": self.above, "loads_of_the_boundary": self.boundary,
            "limits": limits::settings(),
        });
        let mut grid = self.setup.study("figure-5", settings, &[&COLUMNS[..], limits::COLUMNS].concat());
        let tasks =
            |triple: Triple, seed: u64| self.setup.drawn(Self::protocol(triple, self.setup.p, self.setup.p_test), seed);
        let [curves, powers, boundary] = self.seeds;
        let all = [self.below.as_slice(), &self.above].concat();
        for triple in EXAMPLES {
            for seed in 0..curves {
                let work = work::CurveWork { tasks: tasks(triple, seed), lambda: f64::INFINITY, loads: all.clone() };
                grid.push(Self::cell("curve", triple, seed), work);
            }
            for (lambda, seed) in LAMBDAS.into_iter().flat_map(|lambda| (0..powers).map(move |seed| (lambda, seed))) {
                let work = work::CurveWork { tasks: tasks(triple, seed), lambda, loads: self.above.clone() };
                grid.push(Self::cell("power", triple, seed).with("lambda", lambda), work);
            }
        }
        for (&triple, seed) in self.triples.iter().flat_map(|t| (0..boundary).map(move |seed| (t, seed))) {
            let work = work::Boundary { tasks: tasks(triple, seed), loads: self.boundary.clone() };
            grid.push(Self::cell("boundary", triple, seed), work);
        }
        limits::push(&mut grid, &self.setup, self.sampled);
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-5".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        Ok([claims::claims(self, frame)?, limits::claims(frame)?].concat())
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
