//! How many examples must be kept: the final accuracy of trained networks against the examples of each class that are stored and
//! learned again with every later task.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::tasks::TaskSequence;
use crate::theory::Inputs;
use crate::theory::calibration::{self, Training};
use crate::theory::single_head::{
    Replay, ReplayBudget, SingleHead, SingleHeadSettings, feature_replay_curve, replay_curve,
};
use serde::{Deserialize, Serialize};

/// Final accuracies that a number of examples is found for.
const TARGETS: [f64; 2] = [0.8, 0.9];
/// Amounts that are tried, with their tens, hundreds and so on.
const STEPS: [usize; 3] = [1, 2, 5];
/// Amounts tried between two of those around a target.
const REFINED: usize = 2;
/// Bytes of a stored number in single precision.
const SINGLE: usize = 4;

/// What a remedy is to reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// A mean accuracy after the last task, at least.
    KeepAccuracyAbove(f64),
    /// A mean loss of accuracy over all tasks but the last, at most.
    LoseAtMost(f64),
}

impl Goal {
    /// Whether a final accuracy and a loss of accuracy meet it.
    pub fn met(self, accuracy: f64, lost: f64) -> bool {
        match self {
            Goal::KeepAccuracyAbove(least) => accuracy >= least,
            Goal::LoseAtMost(most) => lost <= most,
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use crate::stats::number::{chosen, per_cent};
        match self {
            Goal::KeepAccuracyAbove(least) => write!(f, "end at {} or more", per_cent(*least)),
            Goal::LoseAtMost(most) => write!(f, "lose at most {} points of accuracy", chosen(100.0 * most)),
        }
    }
}

/// What trained networks come to with so many examples kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeepPoint {
    /// Examples of each class of each earlier task.
    pub per_class: usize,
    /// All of them, once the last task is learned.
    pub examples: usize,
    /// Their size: a byte for each number of an image as it is stored, four for other numbers.
    pub bytes: u64,
    /// Mean accuracy over all tasks after the last.
    pub accuracy: f64,
    /// Between what that lies; none outside the domain of the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_interval: Option<[f64; 2]>,
    /// Mean loss of accuracy over all tasks but the last.
    pub lost: f64,
}

/// The least examples of each class that reach a final accuracy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeepTarget {
    /// The final accuracy.
    pub accuracy: f64,
    /// With so many examples kept; none where all do not reach it.
    pub point: Option<KeepPoint>,
}

/// Final accuracy against the examples of each class that are kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeepCurve {
    /// Ascending, the first with none kept.
    pub points: Vec<KeepPoint>,
    /// What is needed for some final accuracies.
    pub targets: Vec<KeepTarget>,
}

impl KeepCurve {
    /// The curve of a sequence whose tasks have test data of classes, finer around what 80 %, 90 % and the `goal` take; none where
    /// nothing can be kept. `theory` is the one that came closest to trained networks.
    ///
    /// # Errors
    /// Any error of the theory; [`crate::Error::Stopped`].
    pub(crate) fn of(
        sequence: &TaskSequence,
        theory: &SingleHeadSettings,
        features: bool,
        goal: Option<Goal>,
        context: &Context,
    ) -> Result<Option<KeepCurve>> {
        let Some(most) = most_of_a_class(sequence, features)? else { return Ok(None) };
        let tens = (0..).map_while(|k| 10_usize.checked_pow(k)).take_while(|ten| *ten <= most);
        let steps: Vec<usize> = tens.flat_map(|ten| STEPS.map(|step| step * ten)).filter(|n| *n < most).collect();
        let amounts: Vec<usize> = std::iter::once(0).chain(steps).chain([most]).collect();
        context.part(0, 2).say("examples to keep", 0.0)?;
        let Some(points) = Self::points(sequence, theory, features, &amounts, &context.part(0, 2))? else {
            return Ok(None);
        };
        let mut curve = KeepCurve { points, targets: vec![] };
        // Between the amounts around each target.
        let asked = TARGETS.map(Goal::KeepAccuracyAbove).into_iter().chain(goal);
        let mut finer: Vec<usize> = asked.flat_map(|goal| between(&curve.points, goal)).collect();
        finer.sort_unstable();
        finer.dedup();
        if !finer.is_empty() {
            let more = Self::points(sequence, theory, features, &finer, &context.part(1, 2))?;
            curve.points.extend(more.unwrap_or_default());
            curve.points.sort_by_key(|point| point.per_class);
        }
        let target =
            |accuracy: f64| KeepTarget { accuracy, point: curve.least(Goal::KeepAccuracyAbove(accuracy)).copied() };
        curve.targets = TARGETS.map(target).to_vec();
        Ok(Some(curve))
    }

    /// The points of these amounts; none where test data name no classes.
    ///
    /// # Errors
    /// Any error of the theory; [`crate::Error::Stopped`].
    pub(crate) fn points(
        sequence: &TaskSequence,
        theory: &SingleHeadSettings,
        features: bool,
        amounts: &[usize],
        context: &Context,
    ) -> Result<Option<Vec<KeepPoint>>> {
        let settings = SingleHeadSettings { replay: of_class(0), ..*theory };
        // Kernels and factors of all amounts are made once.
        let outcomes: Vec<Option<(f64, f64)>> = match features {
            true => of_features(Inputs::Features(sequence), &settings, amounts, context)?,
            false => replay_curve(sequence, &settings, amounts, context)?
                .iter()
                .map(|found| found.accuracy.zip(found.backward_transfer.map(|b| -b)))
                .collect(),
        };
        let earlier = &sequence.tasks[..sequence.tasks.len() - 1];
        let classes: usize = earlier.iter().map(|task| classes_of(&task.y)).sum();
        let data = calibration::Data::of(sequence, features);
        // Ranges are those of the theory that came closest, which is not taken for many amounts where it takes long.
        let inside = calibration::is_of(data, theory) && calibration::outside(sequence, features)?.is_none();
        let each = sequence.dim() * bytes_of_number(sequence);
        let point = |(&per_class, found): (&usize, &Option<(f64, f64)>)| {
            let (accuracy, lost) = (*found)?;
            let training = if per_class == 0 { Training::Plain } else { Training::Replay };
            let expected = inside.then(|| calibration::expected_of(training, data, lost, accuracy)).flatten();
            let accuracy_interval = expected.map(|found| found.accuracy_interval);
            let examples = per_class * classes;
            let bytes = (examples * each) as u64;
            Some(KeepPoint { per_class, examples, bytes, accuracy, accuracy_interval, lost })
        };
        Ok(amounts.iter().zip(&outcomes).map(point).collect())
    }

    /// The first point that meets a goal.
    pub fn least(&self, goal: Goal) -> Option<&KeepPoint> {
        self.points.iter().find(|point| goal.met(point.accuracy, point.lost))
    }

    /// How many examples must be kept, in a sentence.
    pub fn sentence(&self) -> Option<String> {
        use crate::stats::number::{between as range_of, per_cent};
        let (first, last) = (self.points.first()?, self.points.last()?);
        let end = |point: &KeepPoint| {
            let range = point.accuracy_interval.map_or(String::new(), |range| format!(", {}", range_of(range)));
            format!("{}{range}", per_cent(point.accuracy))
        };
        let reached: Vec<(f64, KeepPoint)> =
            self.targets.iter().filter_map(|target| Some((target.accuracy, target.point?))).collect();
        let unreached = self.targets.iter().find(|target| target.point.is_none());
        let beyond = unreached.map_or(String::new(), |target| {
            format!(
                " All of them ({} each) end at {}: {} is out of reach.",
                last.per_class,
                end(last),
                per_cent(target.accuracy)
            )
        });
        let needed: Vec<String> = reached
            .iter()
            .filter(|(_, point)| point.per_class > 0)
            .enumerate()
            .map(|(k, (target, point))| {
                let unit =
                    if k == 0 && point.per_class == 1 { "example of each class" } else { "examples of each class" };
                let what = if k == 0 { format!("{} {unit}", point.per_class) } else { point.per_class.to_string() };
                format!("{what} to end at {} or more (forecast {})", per_cent(*target), end(point))
            })
            .collect();
        Some(match (&needed[..], reached.first()) {
            ([], Some(_)) => {
                format!("Nothing need be kept to end at {}.{beyond}", per_cent(reached[reached.len() - 1].0))
            }
            ([], None) => format!("Keeping examples does not reach 80 %: none kept ends at {}.{beyond}", end(first)),
            (needed, _) => format!("Keep {}.{beyond}", needed.join(", ")),
        })
    }
}

/// Final accuracy and what is lost of a linear head on features, for every amount: from sums that all share, or each by itself.
fn of_features(
    inputs: Inputs<'_>,
    settings: &SingleHeadSettings,
    amounts: &[usize],
    context: &Context,
) -> Result<Vec<Option<(f64, f64)>>> {
    let given = inputs.given(0.0)?;
    if let Some(found) = context.run(|| feature_replay_curve(&given, settings, amounts))? {
        return Ok(found.iter().map(|[just, last]| Some(final_and_lost(just, last))).collect());
    }
    let one = |&examples: &usize| {
        let asked = SingleHeadSettings { replay: Replay { examples, ..settings.replay }, ..*settings };
        let found = SingleHead::new(inputs, &asked, context)?.test_accuracies()?;
        Ok(found.map(|found| {
            let just: Vec<f64> = (0..found.all.len()).map(|t| found.all[t][t]).collect();
            final_and_lost(&just, &found.all[just.len() - 1])
        }))
    };
    amounts.iter().map(one).collect()
}

/// Mean accuracy after the last task, and what all tasks but the last have lost by then since they were learned.
fn final_and_lost(just: &[f64], after: &[f64]) -> (f64, f64) {
    let last = after.len() - 1;
    let lost = (0..last).map(|s| just[s] - after[s]).sum::<f64>() / last.max(1) as f64;
    (after.iter().sum::<f64>() / (last + 1) as f64, lost)
}

/// Amounts between the last one that misses a target and the first that reaches it, evenly in their logarithms.
fn between(points: &[KeepPoint], goal: Goal) -> Vec<usize> {
    let met = |point: &KeepPoint| goal.met(point.accuracy, point.lost);
    let Some(k) = points.iter().position(met).filter(|k| *k > 0) else { return vec![] };
    let (low, high) = (points[k - 1].per_class, points[k].per_class);
    let ratio = high as f64 / low.max(1) as f64;
    let step = |n: usize| (low.max(1) as f64 * ratio.powf(n as f64 / (REFINED + 1) as f64)).round() as usize;
    (1..=REFINED).map(step).filter(|n| *n > low && *n < high).collect()
}

/// Examples of each class of each earlier task.
fn of_class(examples: usize) -> Replay {
    Replay { examples, budget: ReplayBudget::PerClass, ..Replay::default() }
}

/// The most examples of a class that can be kept; none where targets are no classes to count by.
pub(super) fn most_of_a_class(sequence: &TaskSequence, features: bool) -> Result<Option<usize>> {
    let inputs = if features { Inputs::Features(sequence) } else { Inputs::Network(sequence) };
    match of_class(0).most(&inputs.given(0.0)?) {
        Ok((most, _)) => Ok(Some(most)),
        Err(Error::Setting { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Bytes of a number of an example as it is stored: images of a data set, and whole numbers from 0 to 255, take one.
fn bytes_of_number(sequence: &TaskSequence) -> usize {
    let gray = |v: &f64| v.fract() == 0.0 && (0.0..=255.0).contains(v);
    let stored = |x: &crate::linalg::Mat<f64>| (0..x.ncols()).all(|j| x.col_as_slice(j).iter().all(gray));
    let image = sequence.settings.data.is_some() || sequence.tasks.iter().all(|task| stored(&task.x));
    if image { 1 } else { SINGLE }
}

/// How many classes the targets of a task name: columns that occur, or signs.
fn classes_of(y: &crate::linalg::Mat<f64>) -> usize {
    match y.ncols() {
        1 => {
            let positive = y.col(0).iter().any(|v| *v > 0.0);
            let negative = y.col(0).iter().any(|v| *v <= 0.0);
            usize::from(positive) + usize::from(negative)
        }
        columns => (0..columns).filter(|&j| y.col(j).iter().any(|v| *v > 0.5)).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Center, Dataset, Preprocess, Source};
    use crate::tasks::{Labels, Split};

    fn tasks() -> TaskSequence {
        let prepared = Preprocess { center: Center::Pixel, whiten: None, ..Preprocess::default() };
        let source = Source::new(Dataset::sample().unwrap(), &prepared).unwrap();
        let split = Split { tasks: 3, p: 60, p_test: 40, labels: Labels::OneHotAll, ..Split::default() };
        split.generate(&source, 1).unwrap()
    }

    #[test]
    fn more_kept_examples_end_higher_and_targets_are_met() {
        let sequence = tasks();
        let theory = calibration::theory(Training::Replay, &sequence).unwrap();
        let curve = KeepCurve::of(&sequence, &theory, false, None, &Context::default()).unwrap().unwrap();
        let per_class: Vec<usize> = curve.points.iter().map(|point| point.per_class).collect();
        assert!(per_class.windows(2).all(|w| w[0] < w[1]) && per_class[0] == 0, "{per_class:?}");
        // 30 images of each of two classes in each of two earlier tasks.
        let last = curve.points.last().unwrap();
        assert_eq!((last.per_class, last.examples, last.bytes), (30, 120, 120 * 784));
        assert!(last.accuracy > curve.points[0].accuracy + 0.2, "{curve:?}");
        for target in &curve.targets {
            let Some(point) = target.point else { continue };
            assert!(point.accuracy >= target.accuracy);
            let smaller = curve.points.iter().filter(|other| other.per_class < point.per_class);
            assert!(smaller.into_iter().all(|other| other.accuracy < target.accuracy));
        }
        let said = curve.sentence().unwrap();
        assert!(said.contains("Keep") && said.contains(" %"), "{said}");
    }

    #[test]
    fn a_point_is_the_forecast_with_that_replay() {
        let sequence = tasks();
        let theory = calibration::theory(Training::Replay, &sequence).unwrap();
        let curve = KeepCurve::of(&sequence, &theory, false, None, &Context::default()).unwrap().unwrap();
        let replay = Replay { examples: 5, budget: ReplayBudget::PerClass, ..Replay::default() };
        let network = crate::SingleHead::new(&sequence, &SingleHeadSettings { replay, ..theory }, &Context::default());
        let known = network.unwrap().outcome().unwrap();
        let point = curve.points.iter().find(|point| point.per_class == 5).unwrap();
        // Shares of examples: the same where no two outputs tie to rounding.
        assert_eq!(Some(point.accuracy), known.accuracy);
    }
}
