//! Figure 4: forgetting of benchmark sequences, and the effect of depth.

use super::common::{CIFAR, SAMPLE, data_title, pixels, random_features, relu, sizes};
use super::targets::fit;
use super::{Entry, Needs, Reproduction, Scale};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::{Column, Study};
use ebbing::data::Preprocess;
use ebbing::plan::{Cost, forgetting_cost, order_parameter_cost};
use ebbing::tasks::{Permuted, Split};
use ebbing::theory::order_parameters::{self, OrderParameterSettings};
use ebbing::{SingleHead, TaskSequence};
use ebbing_report::Figure;
use serde::Serialize;

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
    study: |scale, embedded| Box::new(Figure4::new(scale, embedded)),
};

/// Up to this permutation ratio long-term forgetting is followed.
const LONG: f64 = 0.15;

/// Sizes and sequences.
#[derive(Debug, Clone, Serialize)]
struct Figure4 {
    /// Examples per task of sequences of two tasks.
    p: usize,
    /// Tasks, and examples per task, of sequences that are followed for long.
    tasks: usize,
    p_long: usize,
    depths: Vec<usize>,
    seeds: usize,
    /// Seeds of split sequences, which differ more from each other.
    split_seeds: usize,
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
    fn new(scale: Scale, embedded: bool) -> Figure4 {
        let (p, p_long, tasks, seeds, split_seeds) = match (scale, embedded) {
            (Scale::Paper, false) => (2000, 2000, 15, 50, 50),
            (Scale::Quick, false) => (800, 500, 8, 3, 16),
            (Scale::Paper, true) => (600, 600, 15, 50, 50),
            (Scale::Quick, true) => (600, 400, 8, 4, 16),
        };
        let (sources, splits) = match embedded {
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

    fn sequence(&self, cell: &Cell, sources: &Sources) -> Result<TaskSequence> {
        let source = sources.get(cell.text("data")?, &Preprocess::default())?;
        let (tasks, p) = (cell.count("tasks")?, cell.count("p")?);
        let sequence = match cell.text("sequence")? {
            "permuted" => {
                let ratio = cell.number("ratio")?;
                Permuted { tasks, p, p_test: 0, ratio, ..Default::default() }.generate(&source, cell.seed)?
            }
            _ => {
                let classes_per_group = cell.count("classes_per_group")?;
                Split { tasks, p, p_test: 0, classes_per_group, ..Default::default() }.generate(&source, cell.seed)?
            }
        };
        Ok(sequence)
    }

    /// Order parameters of tasks 1 and 2 and forgetting of task 1, at one depth.
    fn at_depth(&self, sequence: &TaskSequence, depth: usize) -> Result<Vec<Row>> {
        let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
        let pair = order_parameters::pair(&sequence.tasks[0], &sequence.tasks[1], &settings)?.values;
        let forgetting = match sequence.tasks.len() {
            2 => vec![vec![0.0], vec![pair.f21]],
            _ => SingleHead::new(sequence, &random_features(depth))?.forgetting()?,
        };
        let row = |(t, f): (usize, &Vec<f64>)| {
            Row::new()
                .with("depth", depth)
                .with("t", t + 1)
                .with("f", f[0])
                .with("gamma_rf", pair.gamma_rf)
                .with("gamma_rule", pair.gamma_rule)
        };
        Ok(forgetting.iter().enumerate().skip(1).map(row).collect())
    }
}

impl Study for Figure4 {
    fn name(&self) -> String {
        "figure-4".into()
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!(self)
    }

    fn data(&self) -> Vec<String> {
        let mut names: Vec<String> = self.sources.iter().map(|s| (*s).into()).collect();
        names.extend(self.splits.iter().map(|(s, _)| (*s).into()));
        names.sort();
        names.dedup();
        names
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = vec![];
        let mut add = |seeds: usize, make: &dyn Fn(u64) -> Cell| cells.extend((1..=seeds as u64).map(make));
        for &data in &self.sources {
            for &ratio in &self.ratios {
                for (tasks, p) in self.lengths(ratio) {
                    add(self.seeds, &|seed| {
                        let cell = Cell::new(seed).with("sequence", "permuted").with("data", data);
                        cell.with("ratio", ratio).with("tasks", tasks).with("p", p)
                    });
                }
            }
        }
        for &(data, classes) in &self.splits {
            add(self.split_seeds, &|seed| {
                let cell = Cell::new(seed).with("sequence", "split").with("data", data);
                cell.with("classes_per_group", classes).with("tasks", 2usize).with("p", self.p)
            });
        }
        add(self.seeds, &|seed| Cell::new(seed).with("sequence", "orders").with("data", self.sources[0]));
        Ok(cells)
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        if cell.text("sequence")? == "orders" {
            let source = sources.get(cell.text("data")?, &Preprocess::default())?;
            return orders::every_order(self.orders, &source, cell.seed);
        }
        let sequence = self.sequence(cell, sources)?;
        let mut rows = vec![];
        for &depth in &self.depths {
            rows.extend(self.at_depth(&sequence, depth)?);
        }
        Ok(rows)
    }

    fn cost(&self, cell: &Cell) -> Cost {
        let dim = pixels(cell.text("data").unwrap_or(SAMPLE));
        if cell.text("sequence").is_ok_and(|s| s == "orders") {
            return orders::cost(self.orders, dim);
        }
        let (tasks, p) = (cell.count("tasks").unwrap_or(2), cell.count("p").unwrap_or(0));
        let pair = order_parameter_cost(&sizes(2, p, 0, dim, None));
        let long = if tasks > 2 { forgetting_cost(&sizes(tasks, p, 0, dim, None)) } else { Cost::default() };
        pair.then(long).times(self.depths.len())
    }

    fn columns(&self) -> Vec<Column> {
        let column = |name, meaning| Column { name, unit: "", meaning };
        vec![
            column("sequence", "permuted or split tasks; orders: one permuted sequence learned in every order"),
            column("data", "source"),
            column("ratio", "permutation ratio"),
            column("tasks", "tasks of the sequence"),
            column("p", "examples per task"),
            column("classes_per_group", "classes in each of the two groups of a split task"),
            column("depth", "hidden layers L"),
            column("t", "tasks learned"),
            column("f", "F_{t1}: forgetting of task 1 after task t"),
            column("gamma_rf", "similarity of the features of tasks 1 and 2 that matter"),
            column("gamma_rule", "similarity of the rules on them"),
            column("order", "number of the order"),
            column("mean_forgetting", "mean of F_{Ts} over all tasks s but the last"),
        ]
    }
}

impl Reproduction for Figure4 {
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
             over seeds. {size}, random features; means of {} seeds ({} of splits).",
            self.tasks,
            sources.join(", "),
            splits.join(", "),
            self.seeds,
            self.split_seeds
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
        let paper = Figure4::new(Scale::Paper, false);
        assert_eq!((paper.p, paper.p_long, paper.seeds, paper.split_seeds), (2000, 2000, 50, 50));
        assert_eq!(paper.depths, [1, 3, 5, 7, 9]);
        assert_eq!(paper.sources.len(), 4);
        assert_eq!(paper.splits, [("emnist", 1), ("cifar100", 2)]);
        assert_eq!(paper.cells().unwrap().len(), 50 * (4 * 6 + 2 + 1));
        let quick = Figure4::new(Scale::Quick, false);
        assert_eq!((&quick.depths, &quick.ratios, &quick.sources), (&paper.depths, &paper.ratios, &paper.sources));
        assert_eq!(paper.data(), ["cifar100", "emnist", "fashion-mnist", "mnist"]);
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let small = Figure4::new(Scale::Quick, true);
        let study = Figure4 { p: 120, p_long: 60, tasks: 5, seeds: 2, split_seeds: 3, orders: (3, 40, 2), ..small };
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
