//! Two tasks in the diagram: critical load, where a width lies, the best penalty and width.

use super::PhaseJob;
use ebbing::answer::PhasePlace;
use ebbing::data::Sources;
use ebbing::theory::best_lambda::best_lambda;
use ebbing::theory::multi_head::{MultiHeadSettings, Regime, TwoTasks};
use ebbing::theory::phase::phase_curves;
use ebbing::{Context, Error, Task};

/// The range of λ in which the best one is searched.
const RANGE: (f64, f64) = (1e-2, 1e6);

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

    fn two_tasks(&self, sources: &Sources) -> ebbing::Result<(ebbing::tasks::Provenance, Vec<Task>)> {
        let (settings, tasks) = self.drawn_tasks(sources)?;
        match tasks.len() {
            2 => Ok((settings, tasks)),
            n => Err(Error::data("the task sequence", format!("it holds {n} tasks; the phase diagram is of two"))),
        }
    }
}
