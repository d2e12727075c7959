//! Many labelings of one draw of target-distractor images.
//!
//! Forgetting and order parameters are quadratic in labels, of which those of one image in two tasks have the covariance
//! (1 − 2ρ_flip)² if the tasks share it as a target, and all others are independent. So means over labelings are linear in that:
//!
//! ```math
//! E F_{t1}(ρ) = (1-2ρ)^2 E F_{t1}(0) + \bigl(1 - (1-2ρ)^2\bigr) E F_{t1}(½)
//! ```
//!
//! and likewise those of γ_RF, γ_rule and ΔF_21. Flips that are rare scatter a mean of sampled ones more than curves bend (of 200
//! targets at ρ = 0.0025, half a label is flipped in a task); the two ends do not.

use crate::figures::common::{cost_of, first, random_features, relu};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::kernels::{KernelKind, WeightPrior};
use ebbing::linalg::Mat;
use ebbing::plan::{Cost, Sizes, first_task_cost, order_parameter_cost, whitening_cost};
use ebbing::rng::Stream;
use ebbing::tasks::{PoolRow, Protocol, TargetDistractor};
use ebbing::theory::KernelTable;
use ebbing::theory::order_parameters::{OrderParameterSettings, OrderParameters, labelings};
use ebbing::theory::single_head::{Mode, SingleHeadSettings, forgetting_of_first};
use ebbing::{Kernel, Recipe, TaskSequence};
use ebbing_studies::{Result, Row, Work};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Order parameters of tasks 1 and 2 and forgetting of task 1, by random features: means over labelings at each ρ_flip,
/// which share images and kernels.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Labelings {
    pub data: String,
    /// At ρ_flip = 0.
    pub protocol: TargetDistractor,
    /// Hidden layers.
    pub depth: usize,
    /// The values of ρ_flip.
    pub flips: Vec<f64>,
    /// Draws of labels at each of them, or at the two ends.
    pub labelings: usize,
    /// Whether labels are drawn at ρ_flip = 0 and ½ only, and means between follow from these.
    pub ends: bool,
    /// Whether forgetting is also that of the full theory.
    pub full: bool,
    pub seed: u64,
}

impl Labelings {
    fn recipe(&self) -> Recipe {
        Recipe::drawn(&self.data, Protocol::TargetDistractor(self.protocol.clone()))
    }

    /// The seed of this point of the grid: points are drawn independently of each other, labels too.
    fn own_seed(&self) -> u64 {
        let TargetDistractor { rho_shared, rho_target, .. } = &self.protocol;
        Stream::new(self.seed, &format!("target-distractor {rho_shared} {rho_target}"), 0).bits()
    }

    /// The images, with the protocol's own labels at ρ_flip = 0.
    fn sequence(&self, sources: &Sources) -> Result<TaskSequence> {
        Ok(self.recipe().draw(sources, self.own_seed())?)
    }

    /// The values of ρ_flip at which labels are drawn.
    fn drawn_at(&self) -> &[f64] {
        // Without flips there is nothing between.
        if self.ends && self.flips != [0.0] { &[0.0, 0.5] } else { &self.flips }
    }

    /// For each value of ρ_flip the places in [`Labelings::drawn_at`] whose means are added up, with their shares.
    fn shares(&self) -> Vec<Vec<(usize, f64)>> {
        let share = |flip: &f64| (1.0 - 2.0 * flip).powi(2);
        match self.drawn_at() {
            [_, _] if self.ends => self.flips.iter().map(|f| vec![(0, share(f)), (1, 1.0 - share(f))]).collect(),
            all => (0..all.len()).map(|k| vec![(k, 1.0)]).collect(),
        }
    }

    /// Of tasks 1 and 2 for every target column, from one set of kernels.
    fn order_parameters(&self, labeled: &TaskSequence) -> Result<Vec<OrderParameters>> {
        let kernel = Kernel::new(KernelKind::Nngp, relu(self.depth), WeightPrior::new(f64::INFINITY, 1.0)?, 1, 1)?;
        let [one, two] = [0, 1].map(|t| labeled.tasks[t].x.as_ref());
        let (k11, k12, k22) = (kernel.gram_symmetric(one)?, kernel.gram(one, two)?, kernel.gram_symmetric(two)?);
        let settings = OrderParameterSettings { architecture: relu(self.depth), ..Default::default() };
        let kernels = (k11.as_ref(), k12.as_ref(), k22.as_ref());
        let targets = (labeled.tasks[0].y.as_ref(), labeled.tasks[1].y.as_ref());
        Ok(labelings(&KernelTable::two_tasks(kernels, targets)?, &settings)?)
    }
}

impl Work for Labelings {
    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe { seed: self.seed, ..Labelings::recipe(self) })
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let labeled = labeled(&self.sequence(sources)?, self.drawn_at(), self.labelings, self.own_seed());
        let parameters = self.order_parameters(&labeled)?;
        let rf = random_features(self.depth);
        let theories = [rf, SingleHeadSettings { mode: Mode::Ntk, ..rf }];
        let curves = forgetting_of_first(&labeled, &theories[..1 + usize::from(self.full)], context)?;
        let mut rows = vec![];
        for (flip, shares) in self.flips.iter().zip(self.shares()) {
            let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
                let at = |k: usize| (k * self.labelings..(k + 1) * self.labelings).map(of).sum::<f64>();
                shares.iter().map(|&(k, share)| share * at(k)).sum::<f64>() / self.labelings as f64
            };
            for t in 2..=self.protocol.tasks {
                let mut row = Row::new().with("rho_flip", *flip).with("t", t);
                for (curves, name) in curves.iter().zip(["f", "f_full"]) {
                    row = row.with(name, mean(&|n| curves.forgetting[n][t - 1]));
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

    fn cost(&self) -> Cost {
        let TargetDistractor { tasks, p, rho_shared, .. } = self.protocol;
        let shared = (rho_shared * p as f64).round() as usize;
        let distinct = shared + tasks * (p - shared);
        cost_of(&self.recipe(), |sizes| {
            let pair = order_parameter_cost(&first(&sizes, 2)).then(whitening_cost(distinct, sizes.dim));
            let columns = self.drawn_at().len() * self.labelings;
            let all = Sizes { distinct: Some(distinct), columns, ..sizes };
            pair.then(first_task_cost(&all, 1 + usize::from(self.full)))
        })
    }
}

/// The sequence with a target column for each labeling of each ρ_flip, as the protocol draws them: base labels ±1 of the
/// targets that all tasks share, flipped in each task with probability ρ_flip, and labels ±1 of a task's own targets. The
/// n-th labelings of different ρ_flip differ in flips only.
fn labeled(sequence: &TaskSequence, flips: &[f64], labelings: usize, seed: u64) -> TaskSequence {
    let rows = |t: usize| sequence.tasks[t].rows.iter().flatten();
    let common: BTreeSet<&PoolRow> =
        rows(0).filter(|row| (1..sequence.tasks.len()).all(|t| rows(t).any(|r| r == *row))).collect();
    let mut all = sequence.clone();
    for (t, task) in all.tasks.iter_mut().enumerate() {
        let mut columns = Mat::zeros(task.y.nrows(), flips.len() * labelings);
        for n in 0..labelings {
            let stream = |what: &str, t: usize| Stream::new(seed, &format!("labeling {n}: {what}"), t as u64);
            let mut base = stream("base", 0);
            // In the order of the pool, the same for every task.
            let base: BTreeMap<&PoolRow, f64> = common.iter().map(|row| (*row, sign(&mut base))).collect();
            for (k, &flip) in flips.iter().enumerate() {
                let (mut flipped, mut own) = (stream("flips", t + 1), stream("own", t + 1));
                for (i, row) in rows(t).enumerate().filter(|(i, _)| task.y[(*i, 0)] != 0.0) {
                    columns[(i, k * labelings + n)] = match base.get(row) {
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

#[cfg(test)]
mod tests {
    use super::super::Targets;
    use super::super::tests::tiny;
    use super::*;
    use ebbing::SingleHead;

    #[test]
    fn labelings_are_drawn_as_the_protocol_draws() {
        let targets = Targets { p: 200, ..tiny(3, false) };
        let sequence = targets.work(0.5, 0.5, 2).sequence(&Sources::new()).unwrap();
        let n = 50;
        let all = labeled(&sequence, &[0.0, 0.2], n, 5);
        let (mut equal, mut pairs, mut sum) = ([0, 0], 0, 0.0);
        for (t, task) in all.tasks.iter().enumerate() {
            for (i, row) in task.rows.iter().flatten().enumerate() {
                let first = all.tasks[0].rows.iter().flatten().position(|r| r == row);
                for k in 0..2 * n {
                    // The same images carry ±1 as in the protocol's own labeling.
                    assert_eq!(task.y[(i, k)].abs(), sequence.tasks[t].y[(i, 0)].abs());
                    sum += task.y[(i, k)];
                    if let Some(first) = first.filter(|_| t > 0 && task.y[(i, k)] != 0.0) {
                        equal[k / n] += usize::from(task.y[(i, k)] == all.tasks[0].y[(first, k)]);
                        pairs += 1 - k / n;
                    }
                }
            }
        }
        // Ten shared targets in two later tasks, fifty labelings each.
        assert_eq!((pairs, equal[0]), (1000, 1000));
        // Both or neither flipped: 0.04 + 0.64; four standard errors of about √(0.68·0.32/1000), those of task 1 shared.
        assert!((equal[1] as f64 / 1000.0 - 0.68).abs() < 0.08, "{equal:?}");
        // Six thousand signs, those of shared targets alike in three tasks and two ρ_flip: four standard errors.
        assert!(sum.abs() < 4.0 * (6.0 * 6000f64).sqrt(), "{sum}");
    }

    /// Means at a ρ_flip from those at the ends against labels drawn at it.
    #[test]
    fn means_are_linear_in_the_covariance_of_labels() {
        let work = |ends: bool, labelings: usize| Labelings {
            ends,
            labelings,
            flips: vec![0.0, 0.1, 0.5],
            ..Targets { p: 60, ..tiny(4, true) }.work(0.5, 1.0, 2)
        };
        let n = 400;
        let (ends, sampled) = (work(true, n), work(false, n));
        assert_eq!((ends.drawn_at(), sampled.drawn_at()), (&[0.0, 0.5][..], &[0.0, 0.1, 0.5][..]));
        let sources = Sources::new();
        let (found, wanted) =
            (ends.rows(&sources, &Context::default()).unwrap(), sampled.rows(&sources, &Context::default()).unwrap());
        assert_eq!((found.len(), wanted.len()), (9, 9));
        let value = |row: &Row, name: &str| row.0.iter().find(|(n, _)| n == name).unwrap().1.number().unwrap();
        // Single labelings, each of images of its own, show how far means of n scatter at most.
        let ones: Vec<Vec<Row>> = (0..40)
            .map(|seed| Labelings { seed: 100 + seed, ..work(false, 1) }.rows(&sources, &Context::default()).unwrap())
            .collect();
        for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            for name in ["f", "f_full", "gamma_rf", "gamma_rule", "delta_f21"] {
                let all: Vec<f64> = ones.iter().map(|rows| value(&rows[k], name)).collect();
                let mean = all.iter().sum::<f64>() / 40.0;
                let deviation = (all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 39.0).sqrt();
                let gap = value(found, name) - value(wanted, name);
                // Four standard errors of the difference of two means; at the ends both are the same.
                let most = if k / 3 == 1 { 4.0 * deviation * (2.0 / n as f64).sqrt() } else { 1e-12 };
                assert!(gap.abs() <= most, "{name} in row {k}: {gap} {most}");
            }
        }
    }

    #[test]
    fn stacked_labels_give_what_single_ones_give() {
        let (targets, sources) = (Targets { labelings: 2, ..tiny(3, true) }, Sources::new());
        let work = targets.work(0.5, 1.0, 2);
        let rows = work.rows(&sources, &Context::default()).unwrap();
        assert_eq!(rows.len(), 4);
        let all = labeled(&work.sequence(&sources).unwrap(), &[0.0, 0.3], 2, work.own_seed());
        let settings = OrderParameterSettings { architecture: relu(2), ..Default::default() };
        let column = |k: usize| {
            let mut one = all.clone();
            one.tasks.iter_mut().for_each(|task| task.y = task.y.as_ref().subcols(k, 1).to_owned());
            one
        };
        for k in 0..2 {
            let pair = [column(2 * k), column(2 * k + 1)];
            let rule = pair.each_ref().map(|s| {
                ebbing::theory::order_parameters::pair(&s.tasks[0], &s.tasks[1], &settings, &Context::default())
                    .unwrap()
                    .values
                    .gamma_rule
            });
            for (mode, name) in [(Mode::Rf, "f"), (Mode::Ntk, "f_full")] {
                let single = SingleHeadSettings { mode, ..random_features(2) };
                let f = pair
                    .each_ref()
                    .map(|s| SingleHead::new(s, &single, &Context::default()).unwrap().forgetting().unwrap());
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
