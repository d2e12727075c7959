//! Target-distractor sequences over a grid of (ρ_target, ρ_shared, ρ_flip): order parameters and forgetting of task 1.

use super::common::grid;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing::tasks::TargetDistractor;
use ebbing_studies::{Cell, Frame, Result, Study};
use serde::Serialize;
use std::collections::BTreeMap;

mod labelings;

use labelings::Labelings;

/// The fraction of images that carry ±1.
const LABELED: f64 = 0.1;

/// The grid and the sizes. A cell is a pair (ρ_shared, ρ_target) with a seed: all ρ_flip, and all labelings at each, share its
/// images and kernels.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Targets {
    pub data: &'static str,
    pub p: usize,
    pub tasks: usize,
    pub depth: usize,
    pub seeds: usize,
    /// Draws of labels for each draw of images; a row holds their mean.
    pub labelings: usize,
    /// Whether labels are drawn at ρ_flip = 0 and ½ only: means are linear in (1 − 2ρ_flip)².
    pub ends: bool,
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
    /// The part of the range of (ρ_shared, ρ_target) that the point stands for: the mesh is closer near ρ_target = 0.
    pub span: f64,
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

impl Targets {
    /// The values of ρ_flip that differ at a ρ_target: without shared targets nothing is flipped.
    fn flips(&self, target: f64) -> &[f64] {
        if target == 0.0 { &self.flip[..1] } else { &self.flip }
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        let all = self.shared.iter().flat_map(|&s| self.target.iter().map(move |&t| (s, t)));
        let feasible = |&(shared, target): &(f64, f64)| {
            let (low, high) = TargetDistractor::feasible_rho_target(shared, LABELED);
            target >= low - 1e-12 && target <= high + 1e-12
        };
        all.filter(feasible).collect()
    }

    /// How many (ρ_target, ρ_shared, ρ_flip) there are.
    pub fn triples(&self) -> usize {
        self.pairs().iter().map(|&(_, target)| self.flips(target).len()).sum()
    }

    /// What is computed at a pair (ρ_shared, ρ_target) with a seed.
    fn work(&self, rho_shared: f64, rho_target: f64, seed: u64) -> Labelings {
        let protocol = TargetDistractor {
            tasks: self.tasks,
            p: self.p,
            rho_target,
            rho_shared,
            rho_flip: 0.0,
            label_fraction: LABELED,
            p_test: Some(0),
            ..Default::default()
        };
        let (data, flips) = (self.data.to_string(), self.flips(rho_target).to_vec());
        let Targets { depth, labelings, ends, full, .. } = *self;
        Labelings { data, protocol, depth, flips, labelings, ends, full, seed }
    }

    /// The grid of figure `id`.
    pub fn study(&self, id: &str) -> Study {
        let mut grid = grid(id, self, &[self.data], &COLUMNS);
        for (shared, target) in self.pairs() {
            let cell = Cell::new(0).with("rho_shared", shared).with("rho_target", target);
            grid.push_seeds(self.seeds, &cell, |seed| self.work(shared, target, seed));
        }
        grid
    }

    /// What captions say of means.
    pub fn averaged(&self) -> String {
        match self.labelings {
            1 => format!("means of {} seeds", self.seeds),
            n if self.ends => format!(
                "means of {} seeds of images with {n} labelings each at ρ_{{flip}} = 0 and ½, between which means are linear in \
                 (1 − 2ρ_{{flip}})²",
                self.seeds
            ),
            n => format!("means of {} seeds of images with {n} labelings each", self.seeds),
        }
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
                span: span(&self.shared, shared) * span(&self.target, target),
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

/// Half the distance between the neighbors of a value, of values in ascending order; at an end, to the one neighbor.
fn span(values: &[f64], value: f64) -> f64 {
    let (below, above) = (values.iter().filter(|v| **v < value), values.iter().filter(|v| **v > value));
    let (low, high) = (below.fold(f64::NEG_INFINITY, |a, b| a.max(*b)), above.fold(f64::INFINITY, |a, b| a.min(*b)));
    let edge = |v: f64| if v.is_finite() { v } else { value };
    match (edge(high) - edge(low)) / 2.0 {
        // A single value stands for all.
        0.0 => 1.0,
        width => width,
    }
}

/// What the columns are.
const COLUMNS: [(&str, &str); 10] = [
    ("rho_shared", "fraction of images that all tasks share"),
    ("rho_target", "fraction of labeled images that all tasks share"),
    ("rho_flip", "probability that a shared label is flipped in a task"),
    ("t", "tasks learned"),
    ("f", "F_{t1}: forgetting of task 1 after task t, random features"),
    ("f_full", "the same where all weights learn"),
    ("gamma_feature", "overlap of the features of tasks 1 and 2"),
    ("gamma_rf", "similarity of the features that matter"),
    ("gamma_rule", "similarity of the rules on them"),
    ("delta_f21", "F_{21} − F_{21}(λ = 0)"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::common::SAMPLE;

    pub(super) fn tiny(tasks: usize, full: bool) -> Targets {
        let (shared, target, flip) = (vec![0.0, 0.5], vec![0.0, 1.0], vec![0.0, 0.3]);
        Targets {
            data: SAMPLE,
            p: 40,
            tasks,
            depth: 2,
            seeds: 2,
            labelings: 1,
            ends: false,
            full,
            shared,
            target,
            flip,
        }
    }

    #[test]
    fn values_of_a_mesh_share_its_range() {
        let values = [0.0, 0.1, 0.5, 1.0];
        assert_eq!(values.map(|v| span(&values, v)), [0.05, 0.25, 0.45, 0.25]);
        assert_eq!(span(&[0.3], 0.3), 1.0);
    }

    #[test]
    fn infeasible_pairs_are_left_out() {
        let targets = tiny(2, false);
        assert_eq!(targets.pairs(), [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0)]);
        assert_eq!((targets.triples(), targets.study("").cells.len()), (4, 6));
    }
}
