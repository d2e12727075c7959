//! Figure S5: task identity as part of the input of a single-head network.

use super::common::{Trend, TrendClaim, data_title, grid, means_along, pair, random_features};
use super::task_one::{COLUMNS, TaskOne, lines};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::Recipe;
use ebbing::stats::Estimate;
use ebbing::tasks::{PostSteps, WithContext};
use ebbing_show::{Figure, Panel};
use ebbing_studies::{Cell, Frame, Result, Study};
use serde::Serialize;

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "S5",
    panels: "a, b",
    shows: "error and accuracy on task 1 after task 2 against the length of a context vector, for two depths",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(FigureS5::new(scale, images)),
};

/// Depths of panels a and b.
const DEPTHS: [usize; 2] = [1, 9];

#[derive(Debug, Clone, Serialize)]
pub(super) struct FigureS5 {
    data: &'static str,
    p: usize,
    p_test: usize,
    seeds: usize,
    /// N_ctx/N0.
    context: Vec<f64>,
    /// Variance of a context entry, in that of a pixel.
    variance: f64,
    /// Whether inputs are scaled back to unit variance per entry.
    renormalize: bool,
}

impl FigureS5 {
    fn new(scale: Scale, images: Images) -> FigureS5 {
        let (p, p_test, seeds) = match (scale, images.few()) {
            (Scale::Paper, false) => (2000, 2000, 10),
            (Scale::Quick, false) => (600, 500, 4),
            (Scale::Paper, true) => (1000, 1000, 10),
            (Scale::Quick, true) => (400, 500, 4),
        };
        let context = match scale {
            Scale::Paper => vec![0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0],
            Scale::Quick => vec![0.0, 0.25, 0.5, 1.0, 2.0, 4.0],
        };
        FigureS5 { data: images.name("mnist"), p, p_test, seeds, context, variance: 1.0, renormalize: true }
    }

    fn along(&self, frame: &Frame, depth: usize, of: &str) -> Result<Vec<Estimate>> {
        means_along(&frame.only("depth", depth)?, "context", &self.context, of)
    }
}

impl Reproduction for FigureS5 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let settings =
            [("depth", "hidden layers L"), ("context", "length of the context vector over that of an image")];
        let columns: Vec<_> = settings.into_iter().chain(COLUMNS).collect();
        let mut grid = grid(ENTRY.id, self, &[self.data], &columns);
        let plain = |seed| pair(self.data, (self.p, self.p_test), 1.0, seed);
        let pixels = plain(0).sizes()?.dim as f64;
        for (depth, context) in DEPTHS.into_iter().flat_map(|depth| self.context.iter().map(move |c| (depth, *c))) {
            let dim = (context * pixels).round() as usize;
            let with = WithContext { dim, variance: self.variance, renormalize: self.renormalize };
            let post = PostSteps { context: Some(with), ..Default::default() };
            let tasks = |seed| Recipe { post: post.clone(), ..plain(seed) };
            let work = |seed| TaskOne { tasks: tasks(seed), theory: random_features(depth) };
            grid.push_seeds(self.seeds, &Cell::new(0).with("depth", depth).with("context", context), work);
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let panel = |depth: usize| -> Result<Panel> {
            let rows = frame.only("depth", depth)?;
            let title = format!("*L* = {depth}");
            let panel = Panel::new().x("*N*_{ctx}/*N*_{0}").title(&title).y_range(0.0, 1.2);
            lines(panel, &rows, ("context", &self.context, &self.context), "MSE, training (F_{21})")
        };
        let caption = format!(
            "Task identity as input: a random vector of *N*_{{ctx}} entries, drawn for each task, is appended to the *N*_{{0}} pixels of \
             its images; inputs are then scaled to one norm. Squared error and share of right signs of the mean, on task 1 after \
             task 2. **a** *L* = 1; **b** *L* = 9. Two tasks of {}, all pixels of the second permuted; random features, *P* = {}, {} \
             test images; bands: standard deviation of {} seeds.",
            data_title(self.data),
            self.p,
            self.p_test,
            self.seeds
        );
        let panels = vec![panel(DEPTHS[0])?, panel(DEPTHS[1])?];
        Ok(vec![("figure-S5".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let [shallow, deep] = DEPTHS.map(|depth| self.along(frame, depth, "train_mse"));
        let (shallow, deep) = (shallow?, deep?);
        let gain = |f: &[Estimate]| 1.0 - f[f.len() - 1].value / f[0].value;
        let mut claims = vec![];
        for (panel, f, depth) in [("S5a", &shallow, 1), ("S5b", &deep, 9)] {
            let statement = format!("F_21 falls with the length of the context at L = {depth}");
            claims.push(Trend::Falls.claim(panel, &statement, &[("F_21".into(), f.clone())])?);
            let n = f.len();
            let step = (f[n - 2].value - f[n - 1].value) / (f[0].value - f[n - 1].value);
            let statement = format!("F_21 at the longest context, L = {depth}");
            claims.push(Claim::above(panel, &statement, f[n - 1].value, 0.0).error(f[n - 1].standard_error).note(
                format!(
                    "the last step, from {} to {}, brings {:.0} % of the whole gain",
                    self.context[n - 2],
                    self.context[n - 1],
                    100.0 * step
                ),
            ));
        }
        let absolute = |f: &[Estimate]| f[0].value - f[f.len() - 1].value;
        claims.push(
            Claim::above(
                "S5a, b",
                "absolute gain by context at L = 1 minus that at L = 9",
                absolute(&shallow) - absolute(&deep),
                0.0,
            )
            .note(format!("relative gains {:.3} and {:.3}", gain(&shallow), gain(&deep))),
        );
        let statement = "F_21 without context at L = 9 over that at L = 1";
        claims.push(Claim::below("S5a, b", statement, deep[0].value / shallow[0].value, 1.0));
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
        let paper = FigureS5::new(Scale::Paper, Images::Paper);
        assert_eq!((paper.p, paper.seeds, paper.data, DEPTHS), (2000, 10, "mnist", [1, 9]));
        assert!(paper.context.contains(&4.0) && FigureS5::new(Scale::Quick, Images::Paper).context.contains(&4.0));
        assert_eq!(paper.study().unwrap().cells.len(), 2 * 9 * 10);
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let study = FigureS5 {
            p: 80,
            p_test: 40,
            seeds: 2,
            context: vec![0.0, 0.5, 2.0],
            ..FigureS5::new(Scale::Quick, Images::Embedded)
        };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 2);
        let claims = study.claims(&frame).unwrap();
        assert_eq!((claims.len(), claims[0].verdict), (6, Verdict::Pass));
        assert_eq!(study.claims(&testing::reversed(&frame, "train_mse")).unwrap()[0].verdict, Verdict::Fail);
    }
}
