//! Curves against the load of any number of tasks, at any temperature.

use super::PhaseJob;
use ebbing::Context;
use ebbing::answer::PhaseSequence;
use ebbing::data::Sources;
use ebbing::tasks::prepared_words;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::phase::sequence_curve;

impl PhaseJob {
    /// Curves of any number of tasks and any temperature, one per λ; with a width also at that width.
    ///
    /// # Errors
    /// What the library says.
    pub fn sequence(&self, sources: &Sources, context: &Context) -> ebbing::Result<PhaseSequence> {
        self.check()?;
        let (settings, tasks) = self.drawn_tasks(sources)?;
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
