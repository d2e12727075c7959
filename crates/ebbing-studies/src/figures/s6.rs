//! Figure S6: the three regimes in networks trained by descent, one and two hidden layers.

use super::descent::{Descent, against_load, critical_by_descent, learned, pair_cell, pairs, seeds};
use super::drawn::{ByRatio, Drawn};
use super::{Entry, Images, Needs, Reproduction, Scale};
use crate::cell::Row;
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use crate::study::{Study, Work};
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::nets::Heads;
use ebbing::plan::{Cost, phase_cost};
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing_report::{Dash, Figure, Line, Map, Panel};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S6",
    panels: "a, b",
    shows: "Forgetting and generalisation of descent against load and task similarity, L = 1 and 2",
    needs: Needs::Training,
    bound: None,
    figure: |scale, images| Box::new(PhasesByDescent::at(scale, images)),
};

/// Ratios × loads × depths × seeds for two protocols, and the exact boundary of the theory.
struct PhasesByDescent {
    descent: Descent,
    scale: Scale,
    ratios: [Vec<f64>; 2],
    loads: Vec<f64>,
    /// Seeds at depth 1 and 2.
    seeds: [u64; 2],
}

impl PhasesByDescent {
    fn at(scale: Scale, images: Images) -> Self {
        let descent = Descent::at(scale, images);
        match scale {
            Scale::Quick => PhasesByDescent {
                descent,
                scale,
                ratios: [vec![0.05, 0.1, 0.15], vec![0.1, 0.25]],
                loads: vec![0.6, 1.2, 1.6, 2.2, 3.2, 4.5, 6.5],
                seeds: if images.few() { [2, 1] } else { [3, 2] },
            },
            Scale::Paper => PhasesByDescent {
                descent,
                scale,
                ratios: [vec![0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3], vec![0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4]],
                loads: vec![0.2, 0.4, 0.6, 0.8, 0.95, 1.1, 1.3, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0],
                seeds: [10, 10],
            },
        }
    }

    /// Exact α_c and γ_sim^-2 of a pair.
    fn theory(&self, frame: &Frame, protocol: ByRatio, ratio: f64) -> Result<[f64; 2]> {
        let row = frame.only("kind", "theory")?.only("protocol", protocol)?.only("ratio", ratio)?;
        Ok([row.mean("alpha_c")?.value, row.mean("alpha_c_gamma_sim")?.value])
    }

    fn runs(&self, frame: &Frame, protocol: ByRatio, depth: usize) -> Result<Frame> {
        frame.only("kind", "nets")?.only("protocol", protocol)?.only("depth", depth)
    }
}

/// The exact critical load of two tasks, and γ_sim^−2.
#[derive(Debug, Serialize, Deserialize)]
struct CriticalLoads {
    tasks: Drawn,
    sigma2: f64,
}

impl Work for CriticalLoads {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let settings = MultiHeadSettings { sigma2: self.sigma2, ..MultiHeadSettings::default() };
        let found = self.tasks.two(sources, &settings)?.critical_load()?;
        Ok(vec![Row::new().with("alpha_c", found.alpha_c).with("alpha_c_gamma_sim", found.alpha_c_gamma_sim)])
    }

    fn cost(&self) -> Cost {
        phase_cost(&self.tasks.sizes(), 1)
    }
}

impl Reproduction for PhasesByDescent {
    fn study(&self) -> Result<Study> {
        let mut grid = self.descent.study("figure-S6", self.scale, serde_json::json!({}), &[]);
        for (kind, ratio) in pairs(&self.ratios) {
            let tasks = || self.descent.tasks(kind, ratio, 0);
            let exact = CriticalLoads { tasks: tasks(), sigma2: self.descent.training.sigma0.powi(2) };
            grid.push(pair_cell("theory", (kind, ratio), 0), exact);
            for (depth, &alpha) in [1, 2].into_iter().flat_map(|depth| self.loads.iter().map(move |a| (depth, a))) {
                for seed in seeds(self.seeds[depth - 1]) {
                    let cell = pair_cell("nets", (kind, ratio), seed).with("depth", depth).with("alpha", alpha);
                    grid.push(cell, self.descent.nets(tasks(), Heads::Multi, depth, alpha, seed));
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut figures = Vec::new();
        for (k, protocol) in ByRatio::BOTH.into_iter().enumerate() {
            let mut panels = Vec::new();
            let boundary: Vec<f64> =
                self.ratios[k].iter().map(|r| Ok(self.theory(frame, protocol, *r)?[0])).collect::<Result<_>>()?;
            for depth in [1, 2] {
                let runs = self.runs(frame, protocol, depth)?;
                for (column, name) in [("f21", "F_{21}"), ("g22", "G_{22}")] {
                    panels.push(self.map(&runs, k, depth, column, name, &boundary)?);
                }
            }
            let (letter, what) = [("a", "permutation"), ("b", "split")][k];
            let caption = format!(
                "{letter}: F_{{21}} (left) and G_{{22}} (right) against {what} ratio and load for L = 1 (top) and 2 (bottom); \
                 means over {} and {} seeds of the initial weights. Line: exact critical load of the theory for L = 1 (dashed \
                 where L = 2). {}",
                self.seeds[0],
                self.seeds[1],
                self.descent.caption()
            );
            figures.push((format!("figure-S6{letter}"), Figure::grid(panels, 2).caption(&caption)));
        }
        Ok(figures)
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for (k, protocol) in ByRatio::BOTH.into_iter().enumerate() {
            claims.extend(self.panel_claims(frame, k, protocol)?);
        }
        Ok(claims)
    }
}

impl PhasesByDescent {
    fn map(&self, runs: &Frame, k: usize, depth: usize, column: &str, name: &str, boundary: &[f64]) -> Result<Panel> {
        let ratios = &self.ratios[k];
        let mut values = vec![vec![f64::NAN; ratios.len()]; self.loads.len()];
        for (j, &ratio) in ratios.iter().enumerate() {
            let (alphas, means, _) = against_load(&runs.only("ratio", ratio)?, column)?;
            for (alpha, mean) in alphas.iter().zip(means) {
                if let Some(i) = self.loads.iter().position(|a| a == alpha) {
                    values[i][j] = mean;
                }
            }
        }
        let map = Map::new(name, ratios, &self.loads, &values);
        let map = if column == "g22" { map.log() } else { map };
        let (dash, label) =
            if depth == 1 { (Dash::Solid, "exact α_{c}") } else { (Dash::Dashed, "exact α_{c} of L = 1") };
        let inside = |a: &f64| *a <= self.loads[self.loads.len() - 1];
        let (x, y): (Vec<f64>, Vec<f64>) = ratios.iter().zip(boundary).filter(|(_, a)| inside(a)).unzip();
        let what = ByRatio::BOTH[k].axis();
        // The paper's letter stands for all four maps.
        let letter = if depth == 1 && column == "f21" { ['a', 'b'][k] } else { ' ' };
        let panel =
            Panel::new().letter(letter).title(&format!("L = {depth}")).x(what).y("load α = P/N").log_y().map(map);
        Ok(if x.is_empty() { panel } else { panel.line(Line::new(label, &x, &y).dash(dash)) })
    }

    fn panel_claims(&self, frame: &Frame, k: usize, protocol: ByRatio) -> Result<Vec<Claim>> {
        let panel = format!("S6{}", ["a", "b"][k]);
        let top = self.loads[self.loads.len() - 1];
        let (one, two) = (self.runs(frame, protocol, 1)?, self.runs(frame, protocol, 2)?);
        let (mut gap, mut seen, mut below, mut above) = (0.0_f64, Vec::new(), 0.0_f64, f64::INFINITY);
        let (mut growth, mut contained) = (0.0_f64, 0.0_f64);
        for &ratio in &self.ratios[k] {
            let exact = self.theory(frame, protocol, ratio)?[0];
            let here = one.only("ratio", ratio)?;
            let found = critical_by_descent(&here)?;
            seen.push(format!("{ratio}: {found:.2} / {exact:.2}"));
            if exact > top {
                continue;
            }
            gap = worst(gap, (found / exact - 1.0).abs());
            let (alphas, f21, _) = against_load(&here, "f21")?;
            let part = |low: f64, high: f64| {
                let inside = alphas.iter().zip(&f21).filter(move |(a, _)| **a > low && **a <= high).map(|(_, f)| *f);
                inside.collect::<Vec<f64>>()
            };
            let (under, over) = (part(0.0, found), part(found, f64::INFINITY));
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            below = under.iter().copied().fold(below, worst);
            above = least(above, mean(&over) / mean(&under));
            let deeper = critical_by_descent(&two.only("ratio", ratio)?)?;
            growth = worst(growth, deeper / found - 1.0);
            contained = worst(contained, found / deeper - 1.0);
        }
        let (steps, p) = (self.descent.training.max_steps, self.descent.p);
        let pairs = format!(
            "ratio: by descent / exact {}. Where it fails: G_22 reaches finite heights only (κ and {steps} steps stand for \
             λ → ∞), which moves its middle up; the grid of loads is coarse and the widths, P = {p}, are small",
            seen.join(", ")
        );
        let rounded = "where it fails: κ rounds the transition off, so that F_21 rises over a range of loads";
        let deep = "where it fails: few seeds and loads, so that the middle of a low peak of G_22 is uncertain; there is no \
                    theory of L = 2 beside it";
        let floor =
            format!("where it fails: at large loads κ leaves an error of about 1e-3, or {steps} steps are too few");
        let share = learned(&one)?.min(learned(&two)?);
        Ok(vec![
            Claim::below(&panel, "L = 1: largest gap of mid-height α of G_22 to exact α_c", gap, 0.25).note(pairs),
            Claim::below(&panel, "L = 1: largest F_21 below that α", below, 0.02),
            Claim::above(&panel, "L = 1: mean F_21 above it over the mean below, least", above, 3.0).note(rounded),
            Claim::new(&panel, "L = 2: overfitting region contains that of L = 1", contained, "≤ 0", contained <= 0.0)
                .note(deep),
            Claim::below(&panel, "L = 2: critical load larger by", growth, 0.5).note(deep),
            Claim::new(&panel, "share of runs whose second task was learned", share, "= 1", share == 1.0).note(floor),
        ])
    }
}

/// The smaller of two; NaN wins.
fn least(a: f64, b: f64) -> f64 {
    -worst(-a, -b)
}

/// The larger of two; NaN wins.
fn worst(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_scale_is_the_papers() {
        let study = PhasesByDescent::at(Scale::Paper, Images::Paper);
        let cells = study.study().unwrap().cells;
        assert_eq!(study.descent.p, 600);
        assert_eq!(cells.len(), 2 * 7 * (1 + 2 * 15 * 10));
        assert_eq!(crate::figures::descent::width(600, 1.5), 400);
    }
}
