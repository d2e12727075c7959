//! What is swept across the diagram: critical loads of every value, curves of some.

use super::PhaseRequest;
use crate::context::Context;
use crate::data::Sources;
use crate::error::Result;
use crate::request::words::{PhaseSweep, ProtocolKind};
use crate::stats::Estimate;
use crate::tasks::{Protocol, Provenance, Recipe, TaskOrigin};
use crate::theory::multi_head::{CriticalLoad, TwoTasks};
use crate::theory::phase::{PhaseCurve, phase_curves};

impl PhaseSweep {
    /// The name on axes (markup).
    pub fn axis(self) -> &'static str {
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

/// One value of a sweep: its critical loads over seeds.
#[derive(Debug, Clone)]
pub struct SweptLoads {
    /// The value.
    pub value: f64,
    /// One per seed.
    pub loads: Vec<CriticalLoad>,
}

impl SweptLoads {
    /// Mean and standard error of a number over seeds; a number that is infinite for any seed is infinite.
    pub fn mean(&self, get: fn(&CriticalLoad) -> f64) -> Estimate {
        Estimate::over(&self.loads.iter().map(get).collect::<Vec<f64>>())
    }
}

/// The curves of one value of a sweep (first seed), one per λ.
#[derive(Debug, Clone)]
pub struct SweptCurves {
    /// The value.
    pub value: f64,
    /// One per λ.
    pub curves: Vec<PhaseCurve>,
}

/// A sweep across the diagram.
#[derive(Debug, Clone)]
pub struct PhaseSwept {
    /// What was asked for.
    pub request: PhaseRequest,
    /// What was swept.
    pub sweep: PhaseSweep,
    /// Everything that made the first tasks.
    pub settings: Provenance,
    /// The critical loads of every value.
    pub swept: Vec<SweptLoads>,
    /// The curves of the chosen values.
    pub curves: Vec<SweptCurves>,
}

impl PhaseRequest {
    /// The values of the sweep and those whose curves are drawn, ascending.
    pub fn grid(&self) -> (Vec<f64>, Vec<f64>) {
        let chosen = |given: &[f64], default: Vec<f64>| if given.is_empty() { default } else { sorted(given) };
        let sweep = self.sweep().unwrap_or_default();
        (chosen(&self.values, sweep.values()), chosen(&self.curves, sweep.curves()))
    }

    /// Sweeps: the critical loads of every value, and curves of the chosen ones.
    pub(super) fn swept(&self, sweep: PhaseSweep, sources: &Sources, context: &Context) -> Result<PhaseSwept> {
        let (theory, alphas) = (self.theory()?, self.alpha.grid()?);
        let base = self.recipe(sweep.protocol())?;
        let (values, chosen) = self.grid();
        let (mut done, all) = (0, values.len() * self.seeds + chosen.len());
        let mut step = || {
            done += 1;
            context.say("phase diagram", done as f64 / all as f64)
        };
        let mut settings = None;
        let mut swept = Vec::new();
        for value in values {
            let mut loads = Vec::new();
            for k in 0..self.seeds as u64 {
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
        Ok(PhaseSwept { request: self.clone(), sweep, settings: settings.unwrap_or_default(), swept, curves })
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}
