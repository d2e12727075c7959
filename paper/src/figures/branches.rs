//! A figure that the paper does not have: the energy of two branches of minima against the load, and where they cross.
//!
//! At small κ the second task has minima with a large readout, which leave hidden weights where they were and overfit, and
//! minima with a small one, which generalize. In the theory the change from one to the other is the critical load α_c; in
//! networks both are there at once, found from a large and from a small initial readout, and the lower one can be identified.

use super::drawn::ByRatio;
use super::loads::{column, largest};
use super::minima::{Minima, against_load, pair_cell, seeds};
use super::s6::CriticalLoads;
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::nets::Heads;
use ebbing_show::{Figure, Legend, Line, Markers, Panel, Rgb};
use ebbing_studies::{Frame, Result, Study};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "branches",
    panels: "a-d, not in the paper",
    shows: "Energy of overfitting and of generalizing minima against load, and where they cross as P grows",
    needs: Needs::Training,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(Branches::at(scale, images)),
};

/// Initial readouts are multiplied by these: the small one leads to the generalizing branch.
const STARTS: [f64; 2] = [0.3, 30.0];
const NAMES: [&str; 2] = ["small initial readout", "large initial readout"];

/// Sizes × loads × starts × seeds.
struct Branches {
    nets: Minima,
    scale: Scale,
    /// Examples per task.
    sizes: Vec<usize>,
    ratio: f64,
    loads: Vec<f64>,
    seeds: u64,
}

impl Branches {
    fn at(scale: Scale, images: Images) -> Self {
        let (sizes, loads, seeds) = match scale {
            Scale::Quick => (vec![60, 120, 200], vec![1.15, 1.4, 1.7, 2.1, 2.6, 3.2, 4.0], 3),
            Scale::Paper => (vec![100, 200, 400, 600], vec![1.1, 1.3, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0], 10),
        };
        let nets = Minima { kappas: vec![0.01], first: None, ..Minima::at(scale, images) };
        Branches { nets, scale, sizes, ratio: 0.15, loads, seeds }
    }

    /// The exact critical load at a size.
    fn exact(&self, frame: &Frame, p: usize) -> Result<f64> {
        Ok(frame.only("kind", "theory")?.only("p", p)?.mean("alpha_c")?.value)
    }

    /// A column of one branch against the load.
    fn branch(&self, frame: &Frame, p: usize, start: f64, of: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        against_load(&frame.only("kind", "nets")?.only("p", p)?.only("start", start)?, of)
    }

    /// By how much the overfitting branch lies above the other, relatively: negative where it is the lower one.
    fn gap(&self, frame: &Frame, p: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let [(alphas, low, _), (_, high, _)] =
            [self.branch(frame, p, STARTS[0], "objective")?, self.branch(frame, p, STARTS[1], "objective")?];
        Ok((alphas, low.iter().zip(&high).map(|(low, high)| high / low - 1.0).collect()))
    }

    /// The load where the generalizing branch becomes the lower one.
    fn crossing(&self, frame: &Frame, p: usize) -> Result<f64> {
        let (alphas, gap) = self.gap(frame, p)?;
        Ok(crossing(&alphas, &gap))
    }
}

/// Where a curve last rises through 0, linear in ln α between its points; NaN where it does not.
fn crossing(alphas: &[f64], gap: &[f64]) -> f64 {
    let at = (1..gap.len()).rev().find(|&k| gap[k - 1] <= 0.0 && gap[k] > 0.0);
    at.map_or(f64::NAN, |k| {
        let share = -gap[k - 1] / (gap[k] - gap[k - 1]);
        (alphas[k - 1].ln() * (1.0 - share) + alphas[k].ln() * share).exp()
    })
}

impl Reproduction for Branches {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let own = [column("p", "training examples per task"), column("start", "factor of the initial readout")];
        let mut grid = self.nets.study("figure-branches", self.scale, serde_json::json!({ "starts": STARTS }), &own);
        let kind = (ByRatio::Permuted, self.ratio);
        for &p in &self.sizes {
            let nets = Minima { p, ..self.nets.clone() };
            let tasks = || nets.tasks(kind.0, kind.1, 0);
            grid.push(pair_cell("theory", kind, 0).with("p", p), CriticalLoads { tasks: tasks(), sigma2: 1.0 });
            for (&alpha, start) in self.loads.iter().flat_map(|alpha| STARTS.map(|start| (alpha, start))) {
                for seed in seeds(self.seeds) {
                    let cell = pair_cell("nets", kind, seed).with("p", p).with("alpha", alpha).with("start", start);
                    let mut work = nets.nets(tasks(), Heads::Multi, 1, alpha, seed);
                    work.settings.readout_scales = vec![start];
                    grid.push(cell, work);
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let p = self.sizes[self.sizes.len() - 1];
        let panel = |y: &str| Panel::new().x("load α = P/N").y(y).log_x().legend(Legend::Below);
        let (mut energy, mut norm) = (panel("energy/P").log_y(), panel("|a_{2}|²/N").log_y());
        for (k, start) in STARTS.into_iter().enumerate() {
            let (x, y, e) = self.branch(frame, p, start, "objective")?;
            let per = |v: &[f64]| v.iter().map(|v| v / p as f64).collect::<Vec<f64>>();
            energy = energy.markers(Markers::new(NAMES[k], &x, &per(&y)).errors(&per(&e)).category(k));
            let (x, y, e) = self.branch(frame, p, start, "readout")?;
            norm = norm.markers(Markers::new(NAMES[k], &x, &y).errors(&e).category(k));
        }
        let mut gaps = panel("large over small − 1");
        let ends = [self.loads[0], self.loads[self.loads.len() - 1]];
        gaps = gaps.line(Line::new("", &ends, &[0.0, 0.0]).color(Rgb::BLACK));
        for (k, &p) in self.sizes.iter().enumerate() {
            let (x, y) = self.gap(frame, p)?;
            gaps = gaps.line(Line::new(&format!("P = {p}"), &x, &y).category(k));
        }
        let sizes: Vec<f64> = self.sizes.iter().map(|p| *p as f64).collect();
        let exact = self.sizes.iter().map(|&p| self.exact(frame, p)).collect::<Result<Vec<f64>>>()?;
        let found = self.sizes.iter().map(|&p| self.crossing(frame, p)).collect::<Result<Vec<f64>>>()?;
        let (x, y): (Vec<f64>, Vec<f64>) = sizes.iter().zip(found).filter(|(_, a)| !a.is_nan()).unzip();
        let mut growth = Panel::new().x("examples P").y("load").legend(Legend::Below);
        growth = growth.line(Line::new("exact α_{c}", &sizes, &exact).color(Rgb::BLACK));
        if !x.is_empty() {
            growth = growth.markers(Markers::new("branches cross", &x, &y).category(0));
        }
        let caption = format!(
            "Two branches of minima of the second of two tasks with a readout each, found from an initial readout {} and {} times \
             that of the paper. **a** Their energy, the objective that is minimized, per example, P = {p}. **b** Norm of the second \
             readout. **c** How far the energy of the branch with the large readout lies above the other's: below 0 it is the \
             lower one. **d** Where they cross, beside the exact critical load of the theory at the same P. Permutation ratio {}, \
             one hidden layer; means (and standard errors) over {} seeds of the initial weights. {}",
            STARTS[0],
            STARTS[1],
            self.ratio,
            self.seeds,
            self.nets.caption(self.nets.kappas[0])
        );
        Ok(vec![("figure-branches".into(), Figure::grid(vec![energy, norm, gaps, growth], 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let (mut seen, mut last) = (Vec::new(), f64::NAN);
        for &p in &self.sizes {
            let (found, exact) = (self.crossing(frame, p)?, self.exact(frame, p)?);
            seen.push(format!("{p}: {found:.2} / {exact:.2}"));
            last = (found / exact - 1.0).abs();
        }
        let p = self.sizes[self.sizes.len() - 1];
        let [(_, small, _), (_, large, _)] =
            [self.branch(frame, p, STARTS[0], "readout")?, self.branch(frame, p, STARTS[1], "readout")?];
        let apart = largest(large.iter().zip(&small).map(|(a, b)| a / b));
        let statement = "largest P: gap of the load where the branches cross to the exact α_c";
        let note = format!("P: crossing / exact {}", seen.join(", "));
        Ok(vec![
            Claim::below("c, d", statement, last, 0.25).note(note),
            Claim::above("b", "largest P: |a_2|²/N of the two branches, largest ratio over loads", apart, 2.0),
            super::minima::reached("a-d", &frame.only("kind", "nets")?)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn a_crossing_is_interpolated_in_the_logarithm() {
        assert!((crossing(&[1.0, 4.0], &[-1.0, 1.0]) - 2.0).abs() < 1e-12);
        assert!(crossing(&[1.0, 4.0], &[1.0, 2.0]).is_nan());
        // The last one counts: scatter near equal energies may cross more than once.
        assert!(crossing(&[1.0, 2.0, 4.0, 8.0], &[-1.0, 0.1, -0.1, 0.1]) > 4.0);
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let mut study =
            Branches { sizes: vec![20, 30], loads: vec![1.2, 3.0], ..Branches::at(Scale::Quick, Images::Embedded) };
        study.nets.p_test = 20;
        study.limit_seeds(1);
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 4);
        let ratio = |frame: &Frame| study.claims(frame).unwrap()[1].clone();
        let spoilt = testing::reversed(&frame, "readout");
        assert!(ratio(&frame).value != ratio(&spoilt).value);
        assert_eq!(study.claims(&frame).unwrap()[2].verdict, Verdict::Pass);
    }
}
