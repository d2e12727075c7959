//! Figure S3: what the penalty λ does to task 1 after task 2.

use super::common::{Trend, TrendClaim, data_title, grid, means_along, pair, random_features};
use super::task_one::{COLUMNS, TaskOne, lines};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::stats::Estimate;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing_show::{Figure, Panel};
use ebbing_studies::{Cell, Frame, Result, Study};
use serde::Serialize;

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "S3",
    panels: "a, b",
    shows: "error and accuracy on task 1 after task 2 against the penalty λ, for dissimilar and similar tasks",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(FigureS3::new(scale, images)),
};

/// Permutation ratios of panels a and b.
const RATIOS: [f64; 2] = [1.0, 0.05];

#[derive(Debug, Clone, Serialize)]
pub(super) struct FigureS3 {
    data: &'static str,
    p: usize,
    p_test: usize,
    depth: usize,
    seeds: usize,
    /// Finite penalties; the limit λ → ∞ is added.
    lambda: Vec<f64>,
}

impl FigureS3 {
    fn new(scale: Scale, images: Images) -> FigureS3 {
        let (p, p_test, seeds) = match (scale, images.few()) {
            (Scale::Paper, false) => (2000, 2000, 10),
            (Scale::Quick, false) => (800, 500, 3),
            (Scale::Paper, true) => (1000, 1000, 10),
            (Scale::Quick, true) => (500, 500, 3),
        };
        let lambda = match scale {
            Scale::Paper => vec![0.0, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5, 1e6],
            Scale::Quick => vec![0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4],
        };
        FigureS3 { data: images.name("mnist"), p, p_test, depth: 9, seeds, lambda }
    }

    fn lambdas(&self) -> Vec<f64> {
        self.lambda.iter().copied().chain([f64::INFINITY]).collect()
    }
}

impl Reproduction for FigureS3 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let settings = [("ratio", "permutation ratio of task 2"), ("lambda", "penalty λ")];
        let columns: Vec<_> = settings.into_iter().chain(COLUMNS).collect();
        let mut grid = grid(ENTRY.id, self, &[self.data], &columns);
        for (ratio, lambda) in RATIOS.into_iter().flat_map(|ratio| self.lambdas().into_iter().map(move |l| (ratio, l)))
        {
            let mode = if lambda.is_infinite() { Mode::Ntk } else { Mode::Gibbs };
            let theory = SingleHeadSettings { mode, lambda, ..random_features(self.depth) };
            let work = |seed| TaskOne { tasks: pair(self.data, (self.p, self.p_test), ratio, seed), theory };
            grid.push_seeds(self.seeds, &Cell::new(0).with("ratio", ratio).with("lambda", lambda), work);
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let lambdas = self.lambdas();
        // A logarithmic axis has neither 0 nor ∞: they stand a decade beyond the finite penalties.
        let finite = self.lambda.iter().copied().filter(|l| *l > 0.0);
        let (least, most) = finite.fold((f64::INFINITY, 0.0f64), |(a, b), l| (a.min(l), b.max(l)));
        let place = |l: &f64| if *l == 0.0 { least / 10.0 } else { l.min(10.0 * most) };
        let at: Vec<f64> = lambdas.iter().map(place).collect();
        let panel = |ratio: f64| -> Result<Panel> {
            let rows = frame.only("ratio", ratio)?;
            let title = format!("{} % permuted", 100.0 * ratio);
            let panel = Panel::new().x("λ (left end: 0, right end: ∞)").title(&title).log_x().y_range(0.0, 1.4);
            lines(panel, &rows, ("lambda", &lambdas, &at), "MSE, training")
        };
        let caption = format!(
            "The penalty λ and task 1 after task 2, from λ = 0 (left end of each line) to λ → ∞ (right end). Squared error and share of right signs \
             of the mean over networks, on training and test data of task 1. **a** All pixels of task 2 permuted; **b** 5 %. \
             Two tasks of {}; all weights learn, *L* = {}, *P* = {}, {} test images; bands: standard deviation of {} seeds.",
            data_title(self.data),
            self.depth,
            self.p,
            self.p_test,
            self.seeds
        );
        let panels = vec![panel(RATIOS[0])?, panel(RATIOS[1])?];
        Ok(vec![("figure-S3".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let lambdas = self.lambdas();
        let [apart, alike] = RATIOS.map(|ratio| frame.only("ratio", ratio));
        let (apart, alike) = (apart?, alike?);
        let along = |rows: &Frame, of: &str| means_along(rows, "lambda", &lambdas, of);
        let ends = |rows: &Frame, of: &str| -> Result<(f64, f64)> {
            let means: Vec<Estimate> = along(rows, of)?;
            Ok((means[0].value, means[means.len() - 1].value))
        };
        let named = |of: &str| -> Result<(String, Vec<Estimate>)> { Ok((of.into(), along(&apart, of)?)) };
        let mut claims = vec![
            Trend::Falls.claim("S3a", "MSE on task 1 falls with λ", &[named("train_mse")?, named("test_mse")?])?,
            Trend::Rises.claim(
                "S3a",
                "accuracy on task 1 rises with λ",
                &[named("train_accuracy")?, named("test_accuracy")?],
            )?,
        ];
        for part in ["train", "test"] {
            let (free, strong) = ends(&apart, &format!("{part}_mse"))?;
            let ratio = Claim::above("S3a", &format!("MSE(λ = 0)/MSE(λ → ∞), {part} data"), free / strong, 2.0);
            claims.push(ratio.if_failing(
                "the error of a task just learned, which the penalty cannot lower, is larger at smaller P: at P = 2000 the ratio on \
                 test data is 2.2 (one seed)",
            ));
            let (free_alike, strong_alike) = ends(&alike, &format!("{part}_mse"))?;
            let share = (free_alike - strong_alike) / (free - strong);
            let statement = format!("drop of the MSE with λ at 5 % over that at 100 %, {part} data");
            claims.push(Claim::below("S3b", &statement, share, 0.2));
            let accuracy = along(&alike, &format!("{part}_accuracy"))?;
            let values = || accuracy.iter().map(|a| a.value);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            claims.push(
                Claim::below("S3b", &format!("range of the accuracy over λ at 5 %, {part} data"), most - least, 0.02)
                    .note(format!("from {least:.3} to {most:.3}")),
            );
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn sizes_are_the_paper_s() {
        let paper = FigureS3::new(Scale::Paper, Images::Paper);
        assert_eq!((paper.p, paper.depth, paper.seeds, paper.data), (2000, 9, 10, "mnist"));
        assert_eq!(paper.study().unwrap().cells.len(), 2 * 13 * 10);
        let quick = FigureS3::new(Scale::Quick, Images::Paper);
        assert!(quick.p < paper.p && quick.depth == 9 && quick.lambdas().last() == Some(&f64::INFINITY));
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let study = FigureS3 {
            p: 100,
            p_test: 50,
            seeds: 2,
            depth: 3,
            lambda: vec![0.0, 1.0, 1e3],
            ..FigureS3::new(Scale::Quick, Images::Embedded)
        };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 2);
        assert_eq!(study.claims(&frame).unwrap()[0].verdict, Verdict::Pass);
        assert_eq!(study.claims(&testing::reversed(&frame, "train_mse")).unwrap()[0].verdict, Verdict::Fail);
    }
}
