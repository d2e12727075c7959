//! Figure S2: generalization of single-head networks, and the choice of P.

use super::common::{Trend, TrendClaim, data_title, grid, means_along, pair, plain};
use super::two_tasks::{COLUMNS, TwoTasks};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use crate::statistics::spearman;
use ebbing::stats::Estimate;
use ebbing_show::{Band, Figure, Line, Panel};
use ebbing_studies::{Cell, Error, Frame, Result, Study};
use serde::Serialize;

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "S2",
    panels: "a-d",
    shows: "generalization and forgetting of two permuted tasks against the number of examples",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(FigureS2::new(scale, images)),
};

#[derive(Debug, Clone, Serialize)]
pub(super) struct FigureS2 {
    data: &'static str,
    p: Vec<usize>,
    p_test: usize,
    depth: usize,
    seeds: usize,
}

impl FigureS2 {
    fn new(scale: Scale, images: Images) -> FigureS2 {
        let (p, p_test, seeds) = match (scale, images.few()) {
            (Scale::Paper, false) => (vec![250, 500, 1000, 2000, 4000, 8000], 2000, 50),
            (Scale::Quick, false) => (vec![250, 500, 1000, 2000, 4000], 500, 2),
            (Scale::Paper, true) => (vec![125, 250, 500, 1000, 2000, 4000], 1000, 50),
            (Scale::Quick, true) => (vec![125, 250, 500, 1000], 500, 4),
        };
        FigureS2 { data: images.name("mnist"), p, p_test, depth: 9, seeds }
    }

    fn sizes(&self) -> Vec<f64> {
        self.p.iter().map(|&p| p as f64).collect()
    }

    fn along(&self, frame: &Frame, of: &str) -> Result<Vec<Estimate>> {
        means_along(frame, "p", &self.sizes(), of)
    }
}

impl Reproduction for FigureS2 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let columns: Vec<_> = [("p", "examples of each task")].into_iter().chain(COLUMNS).collect();
        let mut grid = grid(ENTRY.id, self, &[self.data], &columns);
        // The largest first: they take longest.
        for &p in self.p.iter().rev() {
            let work = |seed| TwoTasks { tasks: pair(self.data, (p, self.p_test), 1.0, seed), depth: self.depth };
            grid.push_seeds(self.seeds, &Cell::new(0).with("p", p), work);
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let at = self.sizes();
        let add = |panel: Panel, label: &str, k: usize, of: &str| -> Result<Panel> {
            let means = self.along(frame, of)?;
            let end = |sign: f64| -> Vec<f64> {
                means.iter().map(|m| m.value + sign * m.standard_error.unwrap_or(0.0)).collect()
            };
            let band = Band::new(label, &at, &end(-1.0), &end(1.0)).category(k);
            Ok(panel.band(band).line(Line::new(label, &at, &plain(&means)).category(k)))
        };
        let against = |name: &str| Panel::new().x("examples of a task, *P*").y(name).log_x();
        let kinds = [("task 1 after task 1", "11"), ("task 2 after task 2", "22"), ("task 1 after task 2", "21")];
        let (mut a, mut b) = (against("MSE on test data"), against("accuracy on test data"));
        for (k, (label, which)) in kinds.iter().enumerate() {
            a = add(a, label, k, &format!("mse_{which}"))?;
            b = add(b, label, k, &format!("accuracy_{which}"))?;
        }
        let c = add(against("forgetting"), "F_{21}", 0, "f_21")?;
        let c = add(c, "Δ of test MSE", 1, "delta_g")?;
        let d = add(against("G_{22}").y_range(0.8, 1.2), "", 0, "g_22")?.horizontal("", 1.0);
        let caption = format!(
            "Generalization and the number *P* of examples. **a** Squared error on test data. **b** Share of signs of the mean that \
             are right. **c** Forgetting of training data, and of test data (error after task 2 minus error after task 1). **d** \
             G_{{22}}, error on task 2 over that of a network that learned it alone. Two tasks of {}, all pixels of the second \
             permuted; random features, *L* = {}, {} test images; bands: standard error of {} seeds.",
            data_title(self.data),
            self.depth,
            self.p_test,
            self.seeds
        );
        Ok(vec![("figure-S2".into(), Figure::grid(vec![a, b, c, d], 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let series = |names: &[&str]| -> Result<Vec<(String, Vec<Estimate>)>> {
            names.iter().map(|n| Ok((n.to_string(), self.along(frame, n)?))).collect()
        };
        let change = |of: &str| -> Result<f64> {
            let at = |p: usize| Ok::<f64, Error>(frame.only("p", p)?.mean(of)?.value);
            if self.p.contains(&2000) && self.p.contains(&4000) {
                return Ok((at(4000)? / at(2000)? - 1.0).abs());
            }
            Ok(f64::NAN)
        };
        let plateau = |panel: &str, what: &str, of: &str| -> Result<Claim> {
            let statement = format!("relative change of the {what} of task 1 after task 2 from P = 2000 to 4000");
            let claim = Claim::below(panel, &statement, change(of)?, 0.05);
            let small = claim.value.is_nan();
            Ok(if small { claim.open("P does not reach 4000 at this size") } else { claim })
        };
        let (f21, delta) = (plain(&self.along(frame, "f_21")?), plain(&self.along(frame, "delta_g")?));
        let g22 = self.along(frame, "g_22")?;
        let far = g22.iter().map(|g| (g.value - 1.0).abs()).fold(0.0, f64::max);
        Ok(vec![
            Trend::Falls.claim(
                "S2a",
                "test MSE of a task just learned falls with P",
                &series(&["mse_11", "mse_22"])?,
            )?,
            plateau("S2a", "test MSE", "mse_21")?,
            Trend::Rises.claim(
                "S2b",
                "test accuracy of a task just learned rises with P",
                &series(&["accuracy_11", "accuracy_22"])?,
            )?,
            plateau("S2b", "test accuracy", "accuracy_21")?,
            Trend::Rises.claim("S2c", "F_21 rises with P", &series(&["f_21"])?)?,
            Claim::above(
                "S2c",
                "rank correlation of F_21 with the forgetting of test data",
                spearman(&f21, &delta)?,
                0.9,
            ),
            Claim::new("S2d", "largest |G_22 − 1| over P", far, "≤ 0.1", far <= 0.1),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn sizes_are_the_paper_s() {
        let paper = FigureS2::new(Scale::Paper, Images::Paper);
        assert_eq!((paper.depth, paper.seeds, paper.data), (9, 50, "mnist"));
        assert!(paper.p.contains(&2000) && paper.p.contains(&4000));
        assert_eq!(paper.study().unwrap().cells.len(), 50 * 6);
        assert_eq!(FigureS2::new(Scale::Quick, Images::Embedded).data, "mnist-sample");
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let study =
            FigureS2 { p: vec![30, 100, 300], p_test: 60, seeds: 2, ..FigureS2::new(Scale::Quick, Images::Embedded) };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 4);
        let claims = study.claims(&frame).unwrap();
        assert_eq!((claims[0].verdict, claims[1].verdict), (Verdict::Pass, Verdict::Open));
        assert_eq!(study.claims(&testing::reversed(&frame, "mse_11")).unwrap()[0].verdict, Verdict::Fail);
    }
}
