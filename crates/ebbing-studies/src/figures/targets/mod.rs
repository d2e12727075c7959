//! Target-distractor sequences over a grid of (ρ_target, ρ_shared, ρ_flip): order parameters and forgetting of task 1.

use super::common::{pixels, random_features, relu, sizes};
use crate::cell::{Cell, Row};
use crate::error::Result;
use crate::frame::Frame;
use crate::study::Column;
use ebbing::data::Preprocess;
use ebbing::data::Sources;
use ebbing::kernels::{KernelKind, WeightPrior};
use ebbing::linalg::Mat;
use ebbing::metrics::squared_loss;
use ebbing::plan::{Cost, forgetting_cost, order_parameter_cost, whitening_cost};
use ebbing::rng::Stream;
use ebbing::stats::{Estimate, ForgettingFit, mean_with_error};
use ebbing::tasks::{PoolRow, TargetDistractor};
use ebbing::theory::KernelTable;
use ebbing::theory::order_parameters::{OrderParameterSettings, OrderParameters, labellings};
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{Kernel, SingleHead, TaskSequence};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The fraction of images that carry ±1.
const LABELLED: f64 = 0.1;

/// The grid and the sizes. A cell is a pair (ρ_shared, ρ_target) with a seed: all ρ_flip, and all labellings at each, share its
/// images and kernels.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Targets {
    pub data: &'static str,
    pub p: usize,
    pub tasks: usize,
    pub depth: usize,
    pub seeds: usize,
    /// Draws of labels for each draw of images; a row holds their mean.
    pub labellings: usize,
    /// Whether forgetting is also that of the full theory (λ → ∞, all weights learn).
    pub full: bool,
    pub shared: Vec<f64>,
    pub target: Vec<f64>,
    pub flip: Vec<f64>,
}

/// Means over seeds at one (ρ_target, ρ_shared, ρ_flip).
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub shared: f64,
    pub target: f64,
    pub flip: f64,
    pub feature: f64,
    pub rf: f64,
    pub rule: Estimate,
    pub delta_f21: f64,
    /// `F_{t,1}`, t = 1, 2, …
    pub forgetting: Vec<f64>,
    /// The same of the full theory; empty where it was not asked for.
    pub full: Vec<f64>,
}

impl Point {
    pub fn conflict(&self) -> f64 {
        self.rf - self.rule.value
    }

    /// Whether labels of shared targets, if there are any, differ between tasks.
    pub fn inconsistent(&self) -> bool {
        self.flip > 0.0 || self.target == 0.0
    }

    pub fn f21(&self) -> f64 {
        self.forgetting[1]
    }

    pub fn name(&self) -> String {
        format!("({}, {}, {})", self.target, self.shared, self.flip)
    }
}

/// The fit of a forgetting curve that starts at t = 1.
pub(super) fn fit(curve: &[f64]) -> Result<ForgettingFit> {
    let times: Vec<f64> = (1..=curve.len()).map(|t| t as f64).collect();
    Ok(ForgettingFit::new(&times, curve)?)
}

impl Targets {
    /// The values of ρ_flip that differ at a ρ_target: without shared targets nothing is flipped.
    fn flips(&self, target: f64) -> &[f64] {
        if target == 0.0 { &self.flip[..1] } else { &self.flip }
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        let all = self.shared.iter().flat_map(|&s| self.target.iter().map(move |&t| (s, t)));
        let feasible = |&(shared, target): &(f64, f64)| {
            let (low, high) = TargetDistractor::feasible_rho_target(shared, LABELLED);
            target >= low - 1e-12 && target <= high + 1e-12
        };
        all.filter(feasible).collect()
    }

    /// How many (ρ_target, ρ_shared, ρ_flip) there are.
    pub fn triples(&self) -> usize {
        self.pairs().iter().map(|&(_, target)| self.flips(target).len()).sum()
    }

    pub fn cells(&self) -> Vec<Cell> {
        let cell = |(shared, target): (f64, f64)| {
            (1..=self.seeds as u64)
                .map(move |seed| Cell::new(seed).with("rho_shared", shared).with("rho_target", target))
        };
        self.pairs().into_iter().flat_map(cell).collect()
    }

    /// The images of a cell's sequence, with the protocol's own labels at ρ_flip = 0.
    fn sequence(&self, cell: &Cell, sources: &Sources) -> Result<TaskSequence> {
        let (rho_shared, rho_target) = (cell.number("rho_shared")?, cell.number("rho_target")?);
        let protocol = TargetDistractor {
            tasks: self.tasks,
            p: self.p,
            rho_target,
            rho_shared,
            rho_flip: 0.0,
            label_fraction: LABELLED,
            p_test: Some(0),
            ..Default::default()
        };
        // Points of the grid are drawn independently of each other.
        let seed = Stream::new(cell.seed, &format!("target-distractor {rho_shared} {rho_target}"), 0).bits();
        Ok(protocol.generate(&*sources.get(self.data, &Preprocess::default())?, seed)?)
    }

    pub fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let sequence = self.sequence(cell, sources)?;
        let flips = self.flips(cell.number("rho_target")?);
        let labelled = labelled(&sequence, flips, self.labellings, cell.seed);
        let parameters = self.order_parameters(&labelled)?;
        let mut rf = vec![];
        let mut full = vec![];
        if self.tasks > 2 {
            rf = curves(random_features(self.depth), &labelled)?;
            if self.full {
                full = curves(SingleHeadSettings { mode: Mode::Ntk, ..random_features(self.depth) }, &labelled)?;
            }
        }
        let mut rows = vec![];
        for (k, flip) in flips.iter().enumerate() {
            let draws = k * self.labellings..(k + 1) * self.labellings;
            let mean = |of: &dyn Fn(usize) -> f64| draws.clone().map(of).sum::<f64>() / self.labellings as f64;
            for t in 2..=self.tasks {
                let mut row = Row::new().with("rho_flip", *flip).with("t", t);
                row = row.with("f", mean(&|n| rf.get(n).map_or(parameters[n].f21, |curve| curve[t - 1])));
                if self.full {
                    row = row.with("f_full", mean(&|n| full[n][t - 1]));
                }
                let row = row
                    .with("gamma_feature", mean(&|n| parameters[n].gamma_feature))
                    .with("gamma_rf", mean(&|n| parameters[n].gamma_rf))
                    .with("gamma_rule", mean(&|n| parameters[n].gamma_rule))
                    .with("delta_f21", mean(&|n| parameters[n].delta_f21));
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Of tasks 1 and 2 for every target column, from one set of kernels.
    fn order_parameters(&self, labelled: &TaskSequence) -> Result<Vec<OrderParameters>> {
        let kernel = Kernel::new(KernelKind::Nngp, relu(self.depth), WeightPrior::new(f64::INFINITY, 1.0)?, 1, 1)?;
        let [one, two] = [0, 1].map(|t| labelled.tasks[t].x.as_ref());
        let (k11, k12, k22) = (kernel.gram_symmetric(one)?, kernel.gram(one, two)?, kernel.gram_symmetric(two)?);
        let settings = OrderParameterSettings { architecture: relu(self.depth), ..Default::default() };
        let kernels = (k11.as_ref(), k12.as_ref(), k22.as_ref());
        let targets = (labelled.tasks[0].y.as_ref(), labelled.tasks[1].y.as_ref());
        Ok(labellings(&KernelTable::two_tasks(kernels, targets)?, &settings)?)
    }

    /// What captions say of means.
    pub fn averaged(&self) -> String {
        match self.labellings {
            1 => format!("means of {} seeds", self.seeds),
            n => format!("means of {} seeds of images with {n} labellings each", self.seeds),
        }
    }

    pub fn cost(&self, cell: &Cell) -> Cost {
        let number = |name: &str| cell.number(name).unwrap_or(0.0);
        let shared = (number("rho_shared") * self.p as f64).round() as usize;
        let (flips, dim) = (self.flips(number("rho_target")).len(), pixels(self.data));
        let distinct = shared + self.tasks * (self.p - shared);
        let pair = sizes(2, self.p, 0, dim, None);
        let mut cost = order_parameter_cost(&pair);
        if self.tasks > 2 {
            let mut sequence = sizes(self.tasks, self.p, 0, dim, Some(distinct));
            (sequence.columns, sequence.test[0]) = (flips * self.labellings, self.p);
            cost = cost.then(forgetting_cost(&sequence).times(1 + usize::from(self.full)));
        }
        cost.then(whitening_cost(distinct, dim))
    }

    pub fn columns(&self) -> Vec<Column> {
        let column = |name, meaning| Column { name, unit: "", meaning };
        vec![
            column("rho_shared", "fraction of images that all tasks share"),
            column("rho_target", "fraction of labelled images that all tasks share"),
            column("rho_flip", "probability that a shared label is flipped in a task"),
            column("t", "tasks learned"),
            column("f", "F_{t1}: forgetting of task 1 after task t, random features"),
            column("f_full", "the same where all weights learn"),
            column("gamma_feature", "overlap of the features of tasks 1 and 2"),
            column("gamma_rf", "similarity of the features that matter"),
            column("gamma_rule", "similarity of the rules on them"),
            column("delta_f21", "F_{21} − F_{21}(λ = 0)"),
        ]
    }

    /// Means over seeds, by ρ_shared, ρ_target, ρ_flip.
    pub fn points(&self, frame: &Frame) -> Result<Vec<Point>> {
        let column = |name: &str| frame.numbers(name);
        let [shared, target, flip, t] = ["rho_shared", "rho_target", "rho_flip", "t"].map(column);
        let (shared, target, flip, t) = (shared?, target?, flip?, t?);
        let mut names = vec!["f", "gamma_feature", "gamma_rf", "gamma_rule", "delta_f21"];
        if self.full {
            names.push("f_full");
        }
        let values = names.iter().map(|name| frame.numbers(name)).collect::<Result<Vec<_>>>()?;
        // All numbers of the grid are ≥ 0, so that their bits sort as they do.
        let mut groups: BTreeMap<[u64; 3], BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        for row in 0..t.len() {
            let key = [shared[row], target[row], flip[row]].map(f64::to_bits);
            groups.entry(key).or_default().entry(t[row] as usize).or_default().push(row);
        }
        let mean = |column: usize, rows: &[usize]| {
            mean_with_error(&rows.iter().map(|&row| values[column][row]).collect::<Vec<f64>>())
        };
        let point = |(key, times): (&[u64; 3], &BTreeMap<usize, Vec<usize>>)| -> Result<Point> {
            let [shared, target, flip] = key.map(f64::from_bits);
            let first = times.values().next().map_or(&[][..], Vec::as_slice);
            let curve = |column: usize| -> Result<Vec<f64>> {
                let later = times.values().map(|rows| Ok(mean(column, rows)?.value));
                std::iter::once(Ok(0.0)).chain(later).collect()
            };
            Ok(Point {
                shared,
                target,
                flip,
                feature: mean(1, first)?.value,
                rf: mean(2, first)?.value,
                rule: mean(3, first)?,
                delta_f21: mean(4, first)?.value,
                forgetting: curve(0)?,
                full: if self.full { curve(5)? } else { vec![] },
            })
        };
        groups.iter().map(point).collect()
    }
}

/// The sequence with a target column for each labelling of each ρ_flip, as the protocol draws them: base labels ±1 of the
/// targets that all tasks share, flipped in each task with probability ρ_flip, and labels ±1 of a task's own targets. The
/// n-th labellings of different ρ_flip differ in flips only.
fn labelled(sequence: &TaskSequence, flips: &[f64], labellings: usize, seed: u64) -> TaskSequence {
    let rows = |t: usize| sequence.tasks[t].rows.iter().flatten();
    let common: BTreeSet<&PoolRow> =
        rows(0).filter(|row| (1..sequence.tasks.len()).all(|t| rows(t).any(|r| r == *row))).collect();
    let mut all = sequence.clone();
    for (t, task) in all.tasks.iter_mut().enumerate() {
        let mut columns = Mat::zeros(task.y.nrows(), flips.len() * labellings);
        for n in 0..labellings {
            let stream = |what: &str, t: usize| Stream::new(seed, &format!("labelling {n}: {what}"), t as u64);
            let mut base = stream("base", 0);
            // In the order of the pool, the same for every task.
            let base: BTreeMap<&PoolRow, f64> = common.iter().map(|row| (*row, sign(&mut base))).collect();
            for (k, &flip) in flips.iter().enumerate() {
                let (mut flipped, mut own) = (stream("flips", t + 1), stream("own", t + 1));
                for (i, row) in rows(t).enumerate().filter(|(i, _)| task.y[(*i, 0)] != 0.0) {
                    columns[(i, k * labellings + n)] = match base.get(row) {
                        Some(label) if flipped.chance(flip) => -label,
                        Some(label) => *label,
                        None => sign(&mut own),
                    };
                }
            }
        }
        task.y = columns;
    }
    all
}

/// +1 or −1 with equal chances.
fn sign(stream: &mut Stream) -> f64 {
    if stream.chance(0.5) { 1.0 } else { -1.0 }
}

/// `F_{t,1}` for t = 1, 2, … of every target column.
fn curves(settings: SingleHeadSettings, sequence: &TaskSequence) -> Result<Vec<Vec<f64>>> {
    let first = &sequence.tasks[0];
    let means = SingleHead::new(sequence, &settings)?.means(first.x.as_ref())?;
    let loss = |k: usize, f: &Mat<f64>| -> Result<f64> {
        Ok(squared_loss(f.as_ref().subcols(k, 1), first.y.as_ref().subcols(k, 1), None)?)
    };
    (0..first.y.ncols()).map(|k| means.iter().map(|f| loss(k, f)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::common::SAMPLE;

    fn tiny(tasks: usize, full: bool) -> Targets {
        let (shared, target, flip) = (vec![0.0, 0.5], vec![0.0, 1.0], vec![0.0, 0.3]);
        Targets { data: SAMPLE, p: 40, tasks, depth: 2, seeds: 2, labellings: 1, full, shared, target, flip }
    }

    #[test]
    fn infeasible_pairs_are_left_out() {
        let targets = tiny(2, false);
        assert_eq!(targets.pairs(), [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0)]);
        assert_eq!((targets.triples(), targets.cells().len()), (4, 6));
    }

    #[test]
    fn labellings_are_drawn_as_the_protocol_draws() {
        let targets = Targets { p: 200, ..tiny(3, false) };
        let cell = Cell::new(2).with("rho_shared", 0.5).with("rho_target", 0.5);
        let sequence = targets.sequence(&cell, &Sources::new()).unwrap();
        let n = 50;
        let all = labelled(&sequence, &[0.0, 0.2], n, 5);
        let (mut equal, mut pairs, mut sum) = ([0, 0], 0, 0.0);
        for (t, task) in all.tasks.iter().enumerate() {
            for (i, row) in task.rows.iter().flatten().enumerate() {
                let first = all.tasks[0].rows.iter().flatten().position(|r| r == row);
                for k in 0..2 * n {
                    // The same images carry ±1 as in the protocol's own labelling.
                    assert_eq!(task.y[(i, k)].abs(), sequence.tasks[t].y[(i, 0)].abs());
                    sum += task.y[(i, k)];
                    if let Some(first) = first.filter(|_| t > 0 && task.y[(i, k)] != 0.0) {
                        equal[k / n] += usize::from(task.y[(i, k)] == all.tasks[0].y[(first, k)]);
                        pairs += 1 - k / n;
                    }
                }
            }
        }
        // Ten shared targets in two later tasks, fifty labellings each.
        assert_eq!((pairs, equal[0]), (1000, 1000));
        // Both or neither flipped: 0.04 + 0.64; four standard errors of about √(0.68·0.32/1000), those of task 1 shared.
        assert!((equal[1] as f64 / 1000.0 - 0.68).abs() < 0.08, "{equal:?}");
        // Six thousand signs, those of shared targets alike in three tasks and two ρ_flip: four standard errors.
        assert!(sum.abs() < 4.0 * (6.0 * 6000f64).sqrt(), "{sum}");
    }

    #[test]
    fn stacked_labels_give_what_single_ones_give() {
        let (targets, sources) = (Targets { labellings: 2, ..tiny(3, true) }, Sources::new());
        let cell = Cell::new(2).with("rho_shared", 0.5).with("rho_target", 1.0);
        let rows = targets.compute(&cell, &sources).unwrap();
        assert_eq!(rows.len(), 4);
        let all = labelled(&targets.sequence(&cell, &sources).unwrap(), &[0.0, 0.3], 2, 2);
        let settings = OrderParameterSettings { architecture: relu(2), ..Default::default() };
        let column = |k: usize| {
            let mut one = all.clone();
            one.tasks.iter_mut().for_each(|task| task.y = task.y.as_ref().subcols(k, 1).to_owned());
            one
        };
        for k in 0..2 {
            let pair = [column(2 * k), column(2 * k + 1)];
            let rule = pair.each_ref().map(|s| {
                ebbing::theory::order_parameters::pair(&s.tasks[0], &s.tasks[1], &settings).unwrap().values.gamma_rule
            });
            for (mode, name) in [(Mode::Rf, "f"), (Mode::Ntk, "f_full")] {
                let single = SingleHeadSettings { mode, ..random_features(2) };
                let f = pair.each_ref().map(|s| SingleHead::new(s, &single).unwrap().forgetting().unwrap());
                for t in 2..=3 {
                    let row = &rows[2 * k + t - 2].0;
                    let value = |name: &str| row.iter().find(|(n, _)| n == name).unwrap().1.number().unwrap();
                    // Solves of kernels with condition numbers of about 1e3: rounding.
                    assert!((value(name) - (f[0][t - 1][0] + f[1][t - 1][0]) / 2.0).abs() < 1e-10, "{name} {t}");
                    assert!((value("gamma_rule") - (rule[0] + rule[1]) / 2.0).abs() < 1e-10);
                }
            }
        }
    }
}
