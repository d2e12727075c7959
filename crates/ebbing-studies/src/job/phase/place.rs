//! Two tasks in the diagram: critical load, where a width lies, the best penalty and width.

use super::PhaseJob;
use super::pairs::Representation;
use super::sweep::SweptCurves;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::tasks::{Provenance, prepared_words};
use ebbing::theory::best_lambda::{BestLambda, best_lambda};
use ebbing::theory::multi_head::{CriticalLoad, MultiHeadSettings, Regime, TwoTasks};
use ebbing::theory::phase::{Location, LossMaps, PhaseCurve, WidthPoint, phase_curves};
use ebbing::{Error, Task};

/// The range of λ in which the best one is searched.
const RANGE: (f64, f64) = (1e-2, 1e6);

/// Two tasks in the diagram.
#[derive(Debug, Clone)]
pub struct PhasePlace {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
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
    /// Curves against the load.
    pub curves: SweptCurves,
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
        with_own: impl FnOnce(f64) -> ebbing::Result<PhaseCurve>,
        curves: Vec<PhaseCurve>,
        (settings, tasks): (Provenance, &[Task]),
    ) -> ebbing::Result<PhasePlace> {
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
        let curves = SweptCurves { value: f64::NAN, curves };
        let (sizes, tested) = (sizes.to_vec(), maps.tested());
        let (prepared, representation) = (prepared_words(&settings, tasks, true), vec![]);
        let best = None;
        Ok(PhasePlace { settings, prepared, sizes, critical, location, best, widths, tested, curves, representation })
    }
}

impl PhaseJob {
    /// Places two tasks, given or drawn, in the diagram.
    ///
    /// # Errors
    /// What the library says; [`Error::Data`] for another number of tasks.
    pub fn place(&self, sources: &Sources, context: &Context) -> ebbing::Result<PhasePlace> {
        self.check()?;
        let (theory, alphas) = (self.theory()?, self.alpha.grid()?);
        let (settings, tasks) = self.two_tasks(sources)?;
        let two = TwoTasks::new(&tasks, &theory, context)?;
        let curves = phase_curves(&tasks, &theory, &self.lambda, &alphas, context)?;
        let maps = two.loss_maps()?;
        let with_own = |own: f64| {
            let loads: Vec<f64> = std::iter::once(own).chain(alphas.iter().copied()).collect();
            two.curve_from(&maps, &loads)
        };
        let mut place = PhasePlace::of((&two, &maps), self.width, with_own, curves, (settings, &tasks))?;
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

    fn two_tasks(&self, sources: &Sources) -> ebbing::Result<(Provenance, Vec<Task>)> {
        let (settings, tasks) = self.drawn_tasks(sources)?;
        match tasks.len() {
            2 => Ok((settings, tasks)),
            n => Err(Error::data("the task sequence", format!("it holds {n} tasks; the phase diagram is of two"))),
        }
    }
}
