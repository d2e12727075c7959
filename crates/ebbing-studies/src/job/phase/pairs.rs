//! `phase`, beyond the diagram: every pair of several tasks, and what two tasks do to the hidden layer.

use super::PhaseJob;
use ebbing::Context;
use ebbing::answer::{PhasePair, PhasePairs, Representation};
use ebbing::data::Sources;
use ebbing::linalg::Mat;
use ebbing::tasks::{own_readouts, prepared_words};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks, centered_alignment};
use ebbing::{Error, Task};

/// Inputs of each task on which representations are looked at, at most.
const LOOKED_AT: usize = 500;

impl PhaseJob {
    /// Every pair of the tasks, in the order learned.
    ///
    /// # Errors
    /// What the library says.
    pub fn all_pairs(&self, sources: &Sources, context: &Context) -> ebbing::Result<PhasePairs> {
        self.check()?;
        let theory = self.theory()?;
        let (settings, tasks) = self.drawn_tasks(sources)?;
        let all: Vec<(usize, usize)> = (0..tasks.len()).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
        let mut pairs = Vec::new();
        for &(i, j) in &all {
            let two = TwoTasks::new(&[tasks[i].clone(), tasks[j].clone()], &theory, context)?;
            let critical_load = two.critical_load()?;
            let location = self.width.map(|n| critical_load.locate(tasks[j].x.nrows(), n)).transpose()?;
            context.say("pairs of tasks", (pairs.len() + 1) as f64 / all.len() as f64)?;
            pairs.push(PhasePair { first: i + 1, second: j + 1, critical_load, location });
        }
        let prepared = prepared_words(&settings, &tasks, true);
        Ok(PhasePairs { settings, prepared, sizes: tasks.iter().map(|t| t.x.nrows()).collect(), pairs })
    }

    /// What the two tasks do to the hidden layer of the width asked about, at every λ.
    ///
    /// # Errors
    /// What the library says; [`Error::Setting`] without a width.
    pub(super) fn representations(
        &self,
        tasks: &[Task],
        theory: &MultiHeadSettings,
        context: &Context,
    ) -> ebbing::Result<Vec<Representation>> {
        let mut all = Vec::new();
        for &lambda in &self.lambda {
            let two = TwoTasks::new(tasks, &MultiHeadSettings { lambda, ..theory.clone() }, context)?;
            all.extend(self.representations_of(&two, tasks)?);
        }
        Ok(all)
    }

    /// The same at one λ, from the decomposition there.
    ///
    /// # Errors
    /// What the library says; [`Error::Setting`] without a width.
    pub fn representations_of(&self, two: &TwoTasks, tasks: &[Task]) -> ebbing::Result<Vec<Representation>> {
        let width = self.width.ok_or_else(|| Error::setting("--representation", "given", "needs --width N"))?;
        let (labeled, lambda) = (own_readouts(tasks), two.lambda());
        let point = two.point(tasks[1].x.nrows() as f64 / width)?;
        let mut all = Vec::new();
        for (t, task) in labeled.iter().enumerate() {
            let count = task.x.nrows().min(LOOKED_AT);
            let (x, y) = (task.x.subrows(0, count), task.y.col(0).iter().take(count).copied().collect::<Vec<f64>>());
            let alignment = centered_alignment(two.learned_kernel(&point, x)?.as_ref(), &y).ok();
            let change = if lambda.is_infinite() { Some(two.representation_change(&point, x)?) } else { None };
            // Plus zero: fixed representations change by 0, not by −0.
            let size = |k: &Mat<f64>| (0..count).map(|i| k[(i, i)]).sum::<f64>() / (count as f64 * width) + 0.0;
            all.push(Representation {
                lambda,
                task: t + 1,
                alignment,
                change: change.as_ref().map(size),
                change_alignment: change.and_then(|k| centered_alignment(k.as_ref(), &y).ok()),
            });
        }
        Ok(all)
    }

    /// Refuses what a table of all pairs does not use.
    pub(super) fn refuse_idle_with_pairs(&self) -> ebbing::Result<()> {
        let unused = "is not used with --pairs, which tells similarities and critical loads as lambda grows";
        if let Some(lambda) = self.lambda.iter().find(|l| l.is_finite()) {
            return Err(Error::setting("--lambda", lambda, unused));
        }
        if self.beta.is_finite() {
            return Err(Error::setting("--beta", self.beta, unused));
        }
        if let Some(norm) = self.readout_norm {
            return Err(Error::setting("--readout-norm", norm, unused));
        }
        if self.alpha != PhaseJob::default().alpha {
            return Err(Error::setting("--alpha", &self.alpha, unused));
        }
        Ok(())
    }
}
