//! Figure 4: forgetting of benchmark sequences, and the effect of depth.

use super::common::{BestFit, CIFAR, SAMPLE, data_title, drawn, grid};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use at_depths::AtDepths;
use ebbing::Recipe;
use ebbing::tasks::{Permuted, Protocol, Split};
use ebbing_show::Figure;
use ebbing_studies::{Cell, Frame, Result, Study};
use orders::EveryOrder;
use serde::Serialize;
use std::collections::BTreeSet;

mod at_depths;
mod claims;
mod orders;
mod panels;
mod series;

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "4",
    panels: "a-f",
    shows: "forgetting of permuted and split sequences at five depths, and the order parameters that explain it",
    needs: Needs::Theory,
    kin: None,
    bound: Some("it sets several data sets beside each other"),
    figure: |scale, images| Box::new(Figure4::new(scale, images)),
};

/// Up to this permutation ratio long-term forgetting is followed.
const LONG: f64 = 0.15;

/// Sizes and sequences.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figure4 {
    /// Examples per task of sequences of two tasks.
    p: usize,
    /// Tasks, and examples per task, of sequences that are followed for long.
    tasks: usize,
    p_long: usize,
    depths: Vec<usize>,
    seeds: usize,
    /// Seeds of split sequences, which differ more from each other: of tasks with one class in a group, and with several.
    split_seeds: [usize; 2],
    /// Permutation ratios.
    ratios: Vec<f64>,
    /// Sources of permuted sequences.
    sources: Vec<&'static str>,
    /// Split sequences: source, and classes in each of a task's two groups.
    splits: Vec<(&'static str, usize)>,
    /// Tasks, examples and depth of the permuted sequences that are learned in every order.
    orders: (usize, usize, usize),
}

impl Figure4 {
    fn new(scale: Scale, images: Images) -> Figure4 {
        let (p, p_long, tasks, seeds, split_seeds) = match (scale, images.few()) {
            // γ_rule of two pairs of classes scatters by 0.17 from draw to draw: means of 300 draws are right to half the 0.02 that
            // is asked of them.
            (Scale::Paper, false) => (2000, 2000, 15, 50, [300, 50]),
            (Scale::Quick, false) => (800, 500, 8, 3, [16; 2]),
            (Scale::Paper, true) => (600, 600, 15, 50, [300, 50]),
            (Scale::Quick, true) => (600, 400, 8, 4, [16; 2]),
        };
        let (sources, splits) = match images.few() {
            false => (vec!["mnist", "emnist", "fashion-mnist", CIFAR], vec![("emnist", 1), (CIFAR, 2)]),
            true => (vec![SAMPLE], vec![(SAMPLE, 1), (SAMPLE, 2)]),
        };
        let ratios = vec![0.05, 0.1, 0.15, 0.3, 0.6, 1.0];
        let (orders, depths) = ((4, p_long.min(1000), 5), vec![1, 3, 5, 7, 9]);
        Figure4 { p, tasks, p_long, depths, seeds, split_seeds, ratios, sources, splits, orders }
    }

    /// Tasks, and examples per task, of the sequences of a permutation ratio: long ones serve as short ones if they are as large.
    fn lengths(&self, ratio: f64) -> Vec<(usize, usize)> {
        let (short, long) = ((2, self.p), (self.tasks, self.p_long));
        match (ratio <= LONG, self.p == self.p_long) {
            (false, _) => vec![short],
            (true, true) => vec![long],
            (true, false) => vec![short, long],
        }
    }
}

/// What the columns are.
const COLUMNS: [(&str, &str); 13] = [
    ("sequence", "permuted or split tasks; orders: one permuted sequence learned in every order"),
    ("data", "source"),
    ("ratio", "permutation ratio"),
    ("tasks", "tasks of the sequence"),
    ("p", "examples per task"),
    ("classes_per_group", "classes in each of the two groups of a split task"),
    ("depth", "hidden layers L"),
    ("t", "tasks learned"),
    ("f", "F_{t1}: forgetting of task 1 after task t"),
    ("gamma_rf", "similarity of the features of tasks 1 and 2 that matter"),
    ("gamma_rule", "similarity of the rules on them"),
    ("order", "number of the order"),
    ("mean_forgetting", "mean of F_{Ts} over all tasks s but the last"),
];

impl Reproduction for Figure4 {
    fn limit_seeds(&mut self, most: usize) {
        // Splits keep theirs: γ_rule is 0 on average over random groups of classes, which a few of them do not show.
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let names: BTreeSet<&str> = self.sources.iter().copied().chain(self.splits.iter().map(|s| s.0)).collect();
        let mut grid = grid(ENTRY.id, self, &names.into_iter().collect::<Vec<_>>(), &COLUMNS);
        let permuted = |data: &str, (tasks, p): (usize, usize), ratio: f64, seed: u64| {
            drawn(data, Protocol::Permuted(Permuted { tasks, p, p_test: 0, ratio, ..Default::default() }), seed)
        };
        let cell = |sequence: &str, data: &str| Cell::new(0).with("sequence", sequence).with("data", data);
        let at_depths = |tasks: Recipe| AtDepths { tasks, depths: self.depths.clone() };
        for (&data, &ratio) in self.sources.iter().flat_map(|data| self.ratios.iter().map(move |ratio| (data, ratio))) {
            for size in self.lengths(ratio) {
                let cell = cell("permuted", data).with("ratio", ratio).with("tasks", size.0).with("p", size.1);
                grid.push_seeds(self.seeds, &cell, |seed| at_depths(permuted(data, size, ratio, seed)));
            }
        }
        for &(data, classes_per_group) in &self.splits {
            let split = Split { tasks: 2, p: self.p, p_test: 0, classes_per_group, ..Default::default() };
            let cell = cell("split", data).with("classes_per_group", classes_per_group);
            let cell = cell.with("tasks", split.tasks).with("p", split.p);
            let work = |seed| at_depths(drawn(data, Protocol::Split(split.clone()), seed));
            grid.push_seeds(self.split_seeds[usize::from(classes_per_group > 1)], &cell, work);
        }
        let ((tasks, p, depth), data) = (self.orders, self.sources[0]);
        let work = |seed| EveryOrder { tasks: permuted(data, (tasks, p), 1.0, seed), depth };
        grid.push_seeds(self.seeds, &cell("orders", data), work);
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let all = self.series(frame)?;
        let panels = panels::all(self, &all);
        let sources: Vec<&str> = self.sources.iter().map(|s| data_title(s)).collect();
        let splits: Vec<String> = all.iter().filter(|s| s.ratio.is_none()).map(|s| s.name.clone()).collect();
        let size = match self.p == self.p_long {
            true => format!("*P* = {}", self.p),
            false => format!("*P* = {} in a, d, e and {} in b, c, f", self.p, self.p_long),
        };
        let caption = format!(
            "Forgetting of benchmark sequences, and the effect of depth. **a** Forgetting of task 1 after task 2. **b**, **c** Time \
             τ_{{F}} and plateau F_{{max}} of permuted sequences of ratio 5 to 15 % ({} tasks). **d** Order parameters; each line \
             runs over depths *L* = 1 (large γ_{{RF}}) to 9. **e** F_{{21}} against twice the conflict. **f** τ_{{F}} against \
             γ_{{RF}}. Permuted sequences: every task permuted, means over {}; bars: standard error over these sources. {}: bars \
             over seeds. {size}, random features; means of {} seeds ({} of split pairs of classes, {} of larger groups).",
            self.tasks,
            sources.join(", "),
            splits.join(", "),
            self.seeds,
            self.split_seeds[0],
            self.split_seeds[1]
        );
        Ok(vec![("figure-4".into(), Figure::grid(panels, 3).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = claims::all(self, &self.series(frame)?)?;
        claims.extend(orders::claims(&frame.only("sequence", "orders")?)?);
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
        let paper = Figure4::new(Scale::Paper, Images::Paper);
        assert_eq!((paper.p, paper.p_long, paper.seeds, paper.split_seeds), (2000, 2000, 50, [300, 50]));
        assert_eq!(paper.depths, [1, 3, 5, 7, 9]);
        assert_eq!(paper.sources.len(), 4);
        assert_eq!(paper.splits, [("emnist", 1), ("cifar100", 2)]);
        let grid = paper.study().unwrap();
        assert_eq!(grid.cells.len(), 50 * (4 * 6 + 1) + 300 + 50);
        assert_eq!(grid.data, ["cifar100", "emnist", "fashion-mnist", "mnist"]);
        let quick = Figure4::new(Scale::Quick, Images::Paper);
        assert_eq!((&quick.depths, &quick.ratios, &quick.sources), (&paper.depths, &paper.ratios, &paper.sources));
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let small = Figure4::new(Scale::Quick, Images::Embedded);
        let study =
            Figure4 { p: 120, p_long: 60, tasks: 5, seeds: 2, split_seeds: [3; 2], orders: (3, 40, 2), ..small };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 6);
        let verdict = |claims: &[Claim]| {
            let claim = claims.iter().find(|c| c.statement.contains("γ_RF of the splits falls with L"));
            claim.unwrap().verdict
        };
        assert_eq!(verdict(&study.claims(&frame).unwrap()), Verdict::Pass);
        assert_eq!(verdict(&study.claims(&testing::reversed(&frame, "gamma_rf")).unwrap()), Verdict::Fail);
    }
}
