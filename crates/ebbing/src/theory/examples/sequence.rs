//! The examples of a whole sequence, from the forecast of a network with one head.

use super::{ExampleOutputs, ExampleRisks, Width};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::tasks::TaskSequence;
use crate::theory::classes::class_names;
use crate::theory::own_and_last::{AllOwnAndLast, OwnAndLast};
use crate::theory::single_head::SingleHead;
use serde::Serialize;

/// Every example of a sequence: what becomes of it, and how sure that is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExamplesAtRisk {
    /// The tasks, first learned first.
    pub tasks: Vec<TaskRisks>,
    /// What each class is called.
    pub class_names: Vec<String>,
    /// What the chance of each example is, in a sentence.
    pub meaning: String,
}

/// The examples of one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskRisks {
    /// Its name.
    pub name: String,
    /// Its training examples.
    pub train: ExampleRisks,
    /// Its held-out examples, where it has some.
    pub test: Option<ExampleRisks>,
}

impl ExamplesAtRisk {
    /// Of a network that learned this sequence. [`Width::Spread`] takes the theory's own spread, which needs kernels between all
    /// examples; [`Width::Change`] needs means alone.
    ///
    /// ```
    /// use ebbing::linalg::Mat;
    /// use ebbing::rng::Stream;
    /// use ebbing::theory::examples::{ExamplesAtRisk, Width};
    /// use ebbing::theory::single_head::SingleHeadSettings;
    /// use ebbing::{Context, SingleHead, Task, TaskSequence};
    /// let mut stream = Stream::new(1, "example", 0);
    /// let mut task = || {
    ///     let x = Mat::from_fn(20, 30, |_, _| stream.normal());
    ///     Task::new(x, Mat::from_fn(20, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))
    /// };
    /// let sequence = TaskSequence::new(vec![task(), task()])?;
    /// let network = SingleHead::new(&sequence, &SingleHeadSettings::default(), &Context::default())?;
    /// let risks = ExamplesAtRisk::of(&network, &sequence, Width::Change, &Context::default())?;
    /// assert_eq!(risks.tasks[0].train.learned, 20);
    /// assert_eq!(risks.tasks[1].train.lost, 0);
    /// # Ok::<(), ebbing::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Data`] where the network learned another number of tasks, or targets name no classes; those of
    /// [`SingleHead::mean`] and [`SingleHead::variance`].
    pub fn of(
        network: &SingleHead,
        sequence: &TaskSequence,
        width: Width,
        context: &Context,
    ) -> Result<ExamplesAtRisk> {
        context.run(|| {
            let outputs = OwnAndLast::of(network, sequence, context)?;
            Self::with_outputs(network, sequence, width, &outputs)
        })
    }

    /// The same from outputs that are known.
    pub(crate) fn with_outputs(
        network: &SingleHead,
        sequence: &TaskSequence,
        width: Width,
        outputs: &AllOwnAndLast,
    ) -> Result<ExamplesAtRisk> {
        let names = class_names(&sequence.settings, sequence.columns());
        let of = |f: &OwnAndLast, (x, y): (&Mat<f64>, &Mat<f64>), what: &str| {
            let variance = match width {
                Width::Spread => Some(network.variance(x.as_ref(), network.tasks())?),
                _ => None,
            };
            let (own, last) = (f.own.as_ref(), f.last.as_ref());
            let outputs = ExampleOutputs { own, last, y: y.as_ref(), variance: variance.as_deref() };
            Ok::<_, Error>(ExampleRisks::new(&outputs, width, what)?.named(&names))
        };
        let mut tasks = vec![];
        for (t, (task, (train, test))) in sequence.tasks.iter().zip(outputs).enumerate() {
            crate::stop::check()?;
            let label = task.label(t);
            let tested = task.test.as_ref().zip(test.as_ref());
            let tested = tested.map(|(set, f)| of(f, (&set.x, &set.y), &format!("{label}, test set"))).transpose()?;
            let name = if task.name.is_empty() { format!("task {}", t + 1) } else { task.name.clone() };
            tasks.push(TaskRisks { name, train: of(train, (&task.x, &task.y), &label)?, test: tested });
        }
        Ok(ExamplesAtRisk { tasks, class_names: names, meaning: meaning(width) })
    }
}

impl ExamplesAtRisk {
    /// What is forecast to be lost, in sentences as they are printed: on held-out examples where every task has some, otherwise on
    /// training examples.
    pub fn sentences(&self) -> Vec<String> {
        let tested = self.tasks.iter().all(|task| task.test.is_some());
        let risks = |task: &'_ TaskRisks| -> [usize; 2] {
            let set = if tested { task.test.as_ref().unwrap_or(&task.train) } else { &task.train };
            [set.learned, set.lost]
        };
        let earlier = &self.tasks[..self.tasks.len().saturating_sub(1)];
        let [learned, lost] = earlier.iter().map(risks).fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
        if learned == 0 {
            return vec![];
        }
        let percent = |lost: usize, learned: usize| format!("{:.0} %", 100.0 * lost as f64 / learned as f64);
        let which = if tested { "held-out" } else { "training" };
        let mut all = vec![format!(
            "Of {learned} {which} examples of earlier tasks that were right, {lost} ({}) are forecast to be lost.",
            percent(lost, learned)
        )];
        let share = |task: &&TaskRisks| {
            let [learned, lost] = risks(task);
            lost as f64 / learned.max(1) as f64
        };
        let worst = earlier.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
        if let Some(worst) = worst.filter(|worst| earlier.len() > 1 && share(worst) > 0.0) {
            let [learned, lost] = risks(worst);
            all.push(format!("{} loses most: {lost} of {learned} ({}).", worst.name, percent(lost, learned)));
        }
        all
    }
}

fn meaning(width: Width) -> String {
    match width {
        Width::Spread => {
            "the chance that a network of the theory is wrong there after the last task, from the spread of \
                          its outputs; not calibrated on trained networks"
                .into()
        }
        Width::Change => {
            "the normal probability of a negative margin, with the root mean square change of margins by later \
                          tasks as its width; not calibrated on trained networks: read it as a ranking"
                .into()
        }
        Width::Fixed(w) => format!("the normal probability of a negative margin, with a width of {w} that was given"),
    }
}
