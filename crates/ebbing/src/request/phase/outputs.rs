//! Two tasks with several outputs each in the diagram: a critical load for every direction of the second head, where a width lies, the
//! best penalty, and the accuracy of both heads.

use super::PhaseRequest;
use super::place::RANGE;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::request::words::HeadFactors;
use crate::tasks::{Provenance, Task, TaskSequence, own_readouts, prepared_words, same_classes};
use crate::theory::best_lambda::{BestLambda, best_lambda};
use crate::theory::multi_head::{Classes, DirectionLoads, MultiHeadSettings, TwoTaskOutputs, TwoTaskOutputsPoint};
use crate::theory::phase::{OutputsCurve, OutputsLocation, OutputsPoint};
use serde::Serialize;

/// Loads of a curve at which accuracies are computed.
const WITH_ACCURACY: usize = 12;

/// How far two tasks are from what symmetric factors assume.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Symmetric {
    /// Whether both tasks have the same classes, which symmetric factors then permute at once.
    pub shared: bool,
    /// The distance of products of labels from `a 1 + b 11ᵀ`, relative to their size: 0 where classes are alike.
    pub asymmetry: f64,
    /// The largest scaled residual of the exact equations at the symmetric factors, over loads and penalties; none where a class has no
    /// labels of its own.
    pub departure: Option<f64>,
}

/// Two tasks with several outputs each in the diagram.
#[derive(Debug, Clone)]
pub struct PhaseOutputs {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Prior standard deviation of a weight.
    pub sigma: f64,
    /// Examples of either task.
    pub sizes: [usize; 2],
    /// Outputs of either head.
    pub outputs: [usize; 2],
    /// The critical loads of the directions of the second head.
    pub critical: DirectionLoads,
    /// Where the width lies.
    pub location: Option<OutputsLocation>,
    /// The penalty that serves both tasks best at that width, where both have test sets.
    pub best: Option<BestLambda>,
    /// That width at every λ asked for and at the best one, with accuracies where test sets name classes.
    pub at_width: Vec<OutputsPoint>,
    /// Whether both have test sets.
    pub tested: bool,
    /// Curves against the load, one per λ; some loads have accuracies.
    pub curves: Vec<OutputsCurve>,
    /// What symmetric factors assume, where they were asked for.
    pub symmetric: Option<Symmetric>,
}

impl PhaseRequest {
    /// Whether tasks have heads of several outputs.
    pub(super) fn has_several_outputs(tasks: &[Task]) -> bool {
        super::most_outputs(tasks) > 1
    }

    /// Refuses what is derived for one output per head.
    pub(super) fn refuse_with_several_outputs(&self) -> Result<()> {
        let expected =
            "is derived for one output per head, and these tasks have more than two classes each: leave it out";
        if self.representation {
            return Err(Error::setting("--representation", "given", expected));
        }
        if self.rescale_labels {
            return Err(Error::setting("--rescale-labels", "given", expected));
        }
        Ok(())
    }

    /// Refuses symmetric factors where there is nothing that they would replace.
    pub(super) fn refuse_symmetric(&self) -> Result<()> {
        if self.heads == HeadFactors::Exact {
            return Ok(());
        }
        let expected = "is for two tasks of more than two classes each, without a temperature: leave it out";
        Err(Error::setting("--heads", "symmetric", expected))
    }

    /// The factors of two tasks at every load, exact or symmetric; what symmetric ones depart from goes to `departure`.
    fn solved(
        &self,
        two: &TwoTaskOutputs,
        (classes, alphas): (Classes, &[f64]),
        symmetric: &mut Option<Symmetric>,
    ) -> Result<Vec<TwoTaskOutputsPoint>> {
        if self.heads == HeadFactors::Exact {
            return two.points(alphas);
        }
        let alike = two.alike(classes)?;
        let points = alike.points(alphas)?;
        let found = points.iter().map(|point| alike.departure(point).ok());
        let departure = found.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max));
        let before = symmetric.take();
        *symmetric = Some(Symmetric {
            shared: classes == Classes::Shared,
            asymmetry: alike.asymmetry(),
            departure: departure.map(|now| before.and_then(|b| b.departure).map_or(now, |b| b.max(now))),
        });
        Ok(points)
    }

    /// Places two tasks with several outputs in the diagram; `search` for the best penalty of the width too, which takes most of the time.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn outputs(&self, sequence: TaskSequence, search: bool, context: &Context) -> Result<PhaseOutputs> {
        self.refuse_with_several_outputs()?;
        let (theory, alphas) = (self.theory()?, self.alpha.grid()?);
        let prepared = prepared_words(&sequence.settings, &sequence.tasks, true);
        let classes = if same_classes(&sequence.tasks) { Classes::Shared } else { Classes::Own };
        let tasks = own_readouts(&sequence.tasks).into_owned();
        let limit = TwoTaskOutputs::new(&tasks, &theory, context)?;
        let critical = limit.critical_loads()?;
        let sizes = limit.sizes();
        let location = self.width.map(|width| critical.locate(sizes[1], width)).transpose()?;
        let tested = tasks.iter().all(|task| task.test.is_some());
        let best = match self.width.filter(|_| tested && search) {
            Some(width) => {
                context.say("the best penalty", 0.0)?;
                let settings = MultiHeadSettings { width: Some(width), ..theory.clone() };
                Some(best_lambda(&tasks, &settings, RANGE.0, RANGE.1, context)?)
            }
            None => None,
        };
        let own = location.as_ref().map(|l| l.alpha);
        let (mut curves, mut at_width, mut symmetric) = (Vec::new(), Vec::new(), None);
        let step = alphas.len().div_ceil(WITH_ACCURACY).max(1);
        for (k, &lambda) in self.lambda.iter().enumerate() {
            context.say("curves against the load", k as f64 / self.lambda.len() as f64)?;
            let made;
            let two = if lambda.is_infinite() {
                &limit
            } else {
                made = TwoTaskOutputs::new(&tasks, &MultiHeadSettings { lambda, ..theory.clone() }, context)?;
                &made
            };
            let all: Vec<f64> = alphas.iter().copied().chain(own).collect();
            let curve = context.run(|| -> Result<OutputsCurve> {
                let points = self.solved(two, (classes, &all), &mut symmetric)?;
                let mut curve = two.curve_from(&two.loss_maps()?, &points)?;
                two.add_accuracies(&mut curve, &points, |k| k % step == 0 || k >= alphas.len())?;
                Ok(curve)
            });
            let mut curve = curve?;
            at_width.extend(curve.points.split_off(alphas.len()));
            curves.push(curve);
        }
        if let (Some(best), Some(alpha)) = (&best, own) {
            context.say("the best penalty", 1.0)?;
            let settings = MultiHeadSettings { lambda: best.best.lambda, ..theory.clone() };
            let two = TwoTaskOutputs::new(&tasks, &settings, context)?;
            let found = context.run(|| -> Result<OutputsCurve> {
                let points = two.points(&[alpha])?;
                let mut curve = two.curve_from(&two.loss_maps()?, &points)?;
                two.add_accuracies(&mut curve, &points, |_| true)?;
                Ok(curve)
            });
            at_width.extend(found?.points);
        }
        Ok(PhaseOutputs {
            settings: sequence.settings,
            prepared,
            sigma: self.sigma,
            sizes,
            outputs: limit.outputs(),
            critical,
            location,
            best,
            at_width,
            tested,
            curves,
            symmetric,
        })
    }
}
