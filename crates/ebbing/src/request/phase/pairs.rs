//! `phase`, beyond the diagram: every pair of several tasks, and what two tasks do to the hidden layer.

use super::PhaseRequest;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::tasks::{Provenance, Task, TaskSequence, own_readouts, prepared_words};
use crate::theory::multi_head::{
    CriticalLoad, DirectionLoads, MultiHeadSettings, TwoTaskOutputs, TwoTasks, centered_alignment,
};
use crate::theory::phase::{Location, OutputsLocation};
use serde::Serialize;

/// Inputs of each task on which representations are looked at, at most.
const LOOKED_AT: usize = 500;

/// One pair of a sequence, with a readout each.
#[derive(Debug, Clone, Serialize)]
pub struct PhasePair {
    /// The task learned first, from 1.
    pub first: usize,
    /// The task learned second, from 1.
    pub second: usize,
    /// Their critical load; of heads with several outputs there is one for every direction.
    pub critical_load: Option<CriticalLoad>,
    /// Where the width lies that was asked about.
    pub location: Option<Location>,
    /// The critical loads of the directions of the second head, where heads have several outputs.
    pub direction_loads: Option<DirectionLoads>,
    /// Where the width lies that was asked about, direction by direction.
    pub place: Option<OutputsLocation>,
}

/// All pairs of a sequence in the order learned.
#[derive(Debug, Clone)]
pub struct PhasePairs {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Examples of each task.
    pub sizes: Vec<usize>,
    /// The pairs.
    pub pairs: Vec<PhasePair>,
}

/// What learning two tasks does to the hidden layer, on the inputs of one of them.
#[derive(Debug, Clone, Serialize)]
pub struct Representation {
    /// The penalty λ.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// The task whose inputs are looked at, from 1.
    pub task: usize,
    /// Centered alignment of the learned part of `K_sim = Φ·Φ/N` with the task's labels.
    pub alignment: Option<f64>,
    /// Mean over inputs of `|ΔΦ(x)|²/N`, ΔΦ what task 2 changes; at λ = ∞ alone.
    pub change: Option<f64>,
    /// Centered alignment of `ΔΦ·ΔΦ` with the task's labels, where there is a change.
    pub change_alignment: Option<f64>,
}

impl PhaseRequest {
    /// Every pair of the tasks, in the order learned.
    pub(super) fn all_pairs(&self, sequence: TaskSequence, context: &Context) -> Result<PhasePairs> {
        let (theory, TaskSequence { tasks, settings }) = (self.theory()?, sequence);
        let all: Vec<(usize, usize)> = (0..tasks.len()).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
        let mut pairs = Vec::new();
        self.refuse_symmetric()?;
        for &(i, j) in &all {
            let pair = own_readouts(&[tasks[i].clone(), tasks[j].clone()]).into_owned();
            if Self::has_several_outputs(&pair) {
                let two = TwoTaskOutputs::new(&pair, &theory, context).map_err(Error::without_temperature)?;
                let loads = context.run(|| two.critical_loads()).map_err(Error::without_temperature)?;
                let place = self.width.map(|n| loads.locate(tasks[j].x.nrows(), n)).transpose()?;
                let (first, second) = (i + 1, j + 1);
                pairs.push(PhasePair {
                    first,
                    second,
                    critical_load: None,
                    location: None,
                    direction_loads: Some(loads),
                    place,
                });
                context.say("pairs of tasks", pairs.len() as f64 / all.len() as f64)?;
                continue;
            }
            let two = TwoTasks::new(&pair, &theory, context);
            // A table of all pairs has no temperature.
            let two = two.map_err(Error::without_temperature)?;
            let critical_load = two.critical_load().map_err(Error::without_temperature)?;
            let location = self.width.map(|n| critical_load.locate(tasks[j].x.nrows(), n)).transpose()?;
            let (first, second) = (i + 1, j + 1);
            let critical_load = Some(critical_load);
            pairs.push(PhasePair { first, second, critical_load, location, direction_loads: None, place: None });
            context.say("pairs of tasks", pairs.len() as f64 / all.len() as f64)?;
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
    ) -> Result<Vec<Representation>> {
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
    pub fn representations_of(&self, two: &TwoTasks, tasks: &[Task]) -> Result<Vec<Representation>> {
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
    pub(super) fn refuse_idle_with_pairs(&self) -> Result<()> {
        let unused = "is not used with --pairs, which reports similarities and critical loads as lambda grows";
        if let Some(lambda) = self.lambda.iter().find(|l| l.is_finite()) {
            return Err(Error::setting("--lambda", lambda, unused));
        }
        if self.beta.is_finite() {
            return Err(Error::setting("--beta", self.beta, unused));
        }
        if let Some(norm) = self.readout_norm {
            return Err(Error::setting("--readout-norm", norm, unused));
        }
        if self.alpha != PhaseRequest::default().alpha {
            return Err(Error::setting("--alpha", &self.alpha, unused));
        }
        Ok(())
    }
}
