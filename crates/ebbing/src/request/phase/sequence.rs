//! Curves against the load of any number of tasks, at any temperature.

use super::PhaseRequest;
use crate::context::Context;
use crate::error::Result;
use crate::tasks::{Provenance, TaskSequence, prepared_words};
use crate::theory::multi_head::MultiHeadSettings;
use crate::theory::phase::{SequenceCurve, sequence_curve};

/// Curves of any number of tasks.
#[derive(Debug, Clone)]
pub struct PhaseSequence {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Examples of each task.
    pub sizes: Vec<usize>,
    /// One per λ.
    pub curves: Vec<SequenceCurve>,
    /// The load of the width that was asked about, and that width.
    pub at_width: Option<(f64, f64)>,
}

impl PhaseRequest {
    /// Curves of any number of tasks and any temperature, one per λ; with a width also at that width.
    ///
    /// # Errors
    /// Any error of the theory.
    pub fn sequence(&self, sequence: TaskSequence, context: &Context) -> Result<PhaseSequence> {
        let TaskSequence { tasks, settings } = sequence;
        let (theory, mut alphas) = (self.theory()?, self.alpha.grid()?);
        let size = tasks.last().map_or(0, |task| task.x.nrows());
        let at_width = self.width.map(|width| (size as f64 / width, width));
        alphas.extend(at_width.map(|(alpha, _)| alpha));
        alphas.sort_by(f64::total_cmp);
        alphas.dedup();
        let (mut curves, mut done) = (Vec::new(), 0);
        for &lambda in &self.lambda {
            let settings = MultiHeadSettings { lambda, ..theory.clone() };
            let mut curve = sequence_curve(&tasks, &settings, &[], context)?;
            for alpha in &alphas {
                curve.points.extend(sequence_curve(&tasks, &settings, std::slice::from_ref(alpha), context)?.points);
                done += 1;
                let all = self.lambda.len() * alphas.len();
                context.say("curves against the load", done as f64 / all as f64)?;
            }
            curves.push(curve);
        }
        let sizes = tasks.iter().map(|t| t.x.nrows()).collect();
        let prepared = prepared_words(&settings, &tasks, true);
        Ok(PhaseSequence { settings, prepared, sizes, curves, at_width })
    }
}
