//! Two tasks in the diagram: critical load, where a width lies, the best penalty and width.

use super::PhaseRequest;
use super::pairs::Representation;
use crate::context::Context;
use crate::error::Result;
use crate::tasks::{Provenance, Task, TaskSequence, prepared_words};
use crate::theory::best_lambda::{BestLambda, best_lambda};
use crate::theory::multi_head::{CriticalLoad, MultiHeadSettings, Regime, TwoTasks};
use crate::theory::phase::{Location, LossMaps, PhaseCurve, WidthPoint, phase_curves};

/// The range of λ in which the best one is searched.
pub(super) const RANGE: (f64, f64) = (1e-2, 1e6);

/// Two tasks in the diagram.
#[derive(Debug, Clone)]
pub struct PhasePlace {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Prior standard deviation of a weight.
    pub sigma: f64,
    /// Examples of either task.
    pub sizes: Vec<usize>,
    /// The critical load.
    pub critical: CriticalLoad,
    /// Where the width lies.
    pub location: Option<Location>,
    /// The penalty that serves both tasks best at that width, where both have test sets.
    pub best: Option<BestLambda>,
    /// At λ → ∞ and where both have test sets: that width, and the best of all widths of the curves.
    pub widths: Option<[WidthPoint; 2]>,
    /// Whether both have test sets.
    pub tested: bool,
    /// Curves against the load, one per λ.
    pub curves: Vec<PhaseCurve>,
    /// What they do to the hidden layer, where that was asked for.
    pub representation: Vec<Representation>,
}

impl PhasePlace {
    /// Two tasks in the diagram, from their decomposition at λ → ∞ and the maps of their losses; `with_own` makes the curve at
    /// λ → ∞ whose first point is the load given, and `curves` are those to be drawn. The best penalty is not searched, and the
    /// hidden layer not looked at.
    ///
    /// # Errors
    /// As for [`CriticalLoad::locate`] and [`TwoTasks::curve_from`].
    pub fn of(
        (two, maps): (&TwoTasks, &LossMaps),
        width: Option<f64>,
        with_own: impl FnOnce(f64) -> Result<PhaseCurve>,
        curves: Vec<PhaseCurve>,
        (settings, tasks): (Provenance, &[Task]),
        sigma: f64,
    ) -> Result<PhasePlace> {
        let sizes = two.sizes();
        let critical = maps.critical.clone().map_or_else(|| two.critical_load(), Ok)?;
        let location = width.map(|n| critical.locate(sizes[1], n)).transpose()?;
        let widths = match &location {
            Some(location) => {
                let curve = with_own(location.alpha)?;
                curve.widths().zip(curve.best_width()).map(|(all, best)| [all[0], best])
            }
            None => None,
        };
        let (sizes, tested) = (sizes.to_vec(), maps.tested());
        let (prepared, representation) = (prepared_words(&settings, tasks, true), vec![]);
        let best = None;
        Ok(PhasePlace {
            settings,
            prepared,
            sigma,
            sizes,
            critical,
            location,
            best,
            widths,
            tested,
            curves,
            representation,
        })
    }
}

impl PhaseRequest {
    /// Places two tasks, given or drawn, in the diagram.
    pub(super) fn place(&self, sequence: TaskSequence, context: &Context) -> Result<PhasePlace> {
        let (theory, alphas) = (self.theory()?, self.alpha.grid()?);
        let TaskSequence { tasks, settings } = sequence;
        let two = TwoTasks::new(&tasks, &theory, context)?;
        let curves = phase_curves(&tasks, &theory, &self.lambda, &alphas, context)?;
        let maps = two.loss_maps()?;
        let with_own = |own: f64| {
            let loads: Vec<f64> = std::iter::once(own).chain(alphas.iter().copied()).collect();
            two.curve_from(&maps, &loads)
        };
        let mut place = PhasePlace::of((&two, &maps), self.width, with_own, curves, (settings, &tasks), self.sigma)?;
        if let (Some(location), Some(norm)) = (&mut place.location, self.readout_norm)
            && location.regime == Regime::Overfitting
        {
            let bounded = format!("; with readouts of |a|²/N ≤ {norm} it does not, and forgets some of task 1");
            location.advice += &bounded;
        }
        if let Some(width) = self.width.filter(|_| place.tested) {
            let settings = MultiHeadSettings { width: Some(width), ..theory.clone() };
            place.best = Some(best_lambda(&tasks, &settings, RANGE.0, RANGE.1, context)?);
        }
        if self.representation {
            place.representation = self.representations(&tasks, &theory, context)?;
        }
        Ok(place)
    }
}
