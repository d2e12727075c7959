//! What is swept across the diagram: critical loads of every value, curves of some.

use super::PhaseJob;
use crate::job::tasks::ProtocolKind;
use crate::job::words::checked_seeds;
use clap::ValueEnum;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::answer::{PhaseDiagram, SweptCurves, SweptLoads};
use ebbing::data::Sources;
use ebbing::tasks::{Protocol, TaskOrigin};
use ebbing::theory::multi_head::TwoTasks;
use ebbing::theory::phase::phase_curves;
use serde::{Deserialize, Serialize};

/// What is swept across the phase diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseSweep {
    /// Permutation ratio
    #[default]
    Perm,
    /// Split ratio of a partial split
    Split,
    /// Target-distractor: share of targets that both tasks share
    Target,
    /// Target-distractor: share of images that both tasks share
    Shared,
    /// Target-distractor: chance that a shared label is flipped
    Flip,
}

impl PhaseSweep {
    /// The name on axes (markup).
    pub(super) fn axis(self) -> &'static str {
        match self {
            PhaseSweep::Perm => "permutation ratio",
            PhaseSweep::Split => "split ratio",
            PhaseSweep::Target => "ρ_{target}",
            PhaseSweep::Shared => "ρ_{shared}",
            PhaseSweep::Flip => "ρ_{flip}",
        }
    }

    /// The values that are swept if none are given.
    fn values(self) -> Vec<f64> {
        let upto = |top: f64, n: usize| (0..=n).map(|k| top * k as f64 / n as f64).collect::<Vec<_>>();
        match self {
            PhaseSweep::Perm => vec![0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0],
            PhaseSweep::Split => vec![0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0],
            PhaseSweep::Target => upto(1.0, 8),
            PhaseSweep::Shared => vec![0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9],
            PhaseSweep::Flip => upto(0.5, 8),
        }
    }

    /// The curves that are drawn if none are chosen.
    fn curves(self) -> Vec<f64> {
        match self {
            PhaseSweep::Perm => vec![0.05, 0.15, 0.4],
            PhaseSweep::Split => vec![0.1, 0.25, 0.5],
            PhaseSweep::Target => vec![0.25, 0.75, 1.0],
            PhaseSweep::Shared => vec![0.2, 0.5, 0.8],
            PhaseSweep::Flip => vec![0.0, 0.125, 0.25],
        }
    }

    /// The protocol that has the swept setting.
    pub(super) fn protocol(self) -> ProtocolKind {
        match self {
            PhaseSweep::Perm => ProtocolKind::Permuted,
            PhaseSweep::Split => ProtocolKind::PartialSplit,
            PhaseSweep::Target | PhaseSweep::Shared | PhaseSweep::Flip => ProtocolKind::TargetDistractor,
        }
    }

    /// The recipe with the swept setting at `value`.
    pub(super) fn at(self, recipe: &Recipe, value: f64) -> Recipe {
        let mut recipe = recipe.clone();
        if let TaskOrigin::Drawn { protocol, .. } = &mut recipe.origin {
            match (protocol, self) {
                (Protocol::Permuted(p), _) => p.ratio = value,
                (Protocol::PartialSplit(p), _) => p.split = value,
                (Protocol::TargetDistractor(p), PhaseSweep::Target) => p.rho_target = value,
                (Protocol::TargetDistractor(p), PhaseSweep::Shared) => p.rho_shared = value,
                (Protocol::TargetDistractor(p), _) => p.rho_flip = value,
                (Protocol::Split(_), _) => {}
            }
        }
        recipe
    }
}

impl PhaseJob {
    /// The values of the sweep and those whose curves are drawn, ascending.
    pub fn grid(&self) -> (Vec<f64>, Vec<f64>) {
        let chosen = |given: &[f64], default: Vec<f64>| if given.is_empty() { default } else { sorted(given) };
        let sweep = self.sweep().unwrap_or_default();
        (chosen(&self.values, sweep.values()), chosen(&self.curves, sweep.curves()))
    }

    /// Sweeps: the critical loads of every value, curves of the chosen ones, and what made the first tasks.
    ///
    /// # Errors
    /// What the library says.
    pub fn swept(&self, sources: &Sources, context: &Context) -> ebbing::Result<PhaseDiagram> {
        let (theory, alphas, seeds) = (self.theory()?, self.alpha.grid()?, checked_seeds(self.seeds)?);
        self.check()?;
        let sweep = self.sweep().unwrap_or_default();
        let base = self.recipe(sweep.protocol())?;
        let (values, chosen) = self.grid();
        let mut settings = None;
        let mut swept = Vec::new();
        let (mut done, all) = (0, values.len() * seeds + chosen.len());
        let mut step = || {
            done += 1;
            context.say("phase diagram", done as f64 / all as f64)
        };
        for value in values {
            let mut loads = Vec::new();
            for k in 0..seeds as u64 {
                let sequence = sweep.at(&base, value).draw(sources, base.seed.wrapping_add(k))?;
                settings.get_or_insert_with(|| sequence.settings.clone());
                loads.push(TwoTasks::new(&self.labels(sequence.tasks)?, &theory, context)?.critical_load()?);
                step()?;
            }
            swept.push(SweptLoads { value, loads });
        }
        let mut curves = Vec::new();
        for value in chosen {
            let tasks = self.labels(sweep.at(&base, value).draw(sources, base.seed)?.tasks)?;
            curves.push(SweptCurves { value, curves: phase_curves(&tasks, &theory, &self.lambda, &alphas, context)? });
            step()?;
        }
        Ok(PhaseDiagram {
            settings: settings.unwrap_or_default(),
            axis: sweep.axis(),
            data: self.tasks.data().to_string(),
            examples: self.examples(),
            sigma: self.sigma,
            readout_norm: self.readout_norm,
            rescaled: self.rescale_labels,
            seeds,
            loads: (alphas[0], alphas[alphas.len() - 1]),
            values: swept,
            curves,
        })
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}
