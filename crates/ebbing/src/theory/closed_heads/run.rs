//! All heads on one sequence: statistics of what every task adds, a strength, and accuracies after the last task.

use super::choose::{Parts, choose, hold_out};
use super::head::{Head, share_right};
use super::joint;
use super::lift::Lift;
use super::statistics::Statistics;
use super::{ClosedHead, ClosedHeadKind, ClosedHeadSettings, ClosedHeads, HeadKind, Strength};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, par_map};
use crate::plan::{Cost, Sizes};
use crate::tasks::TaskSequence;
use crate::theory::classes::{class_count, classes_of, occurring};

/// Examples that are learned at a time.
const BLOCK: usize = 4096;

/// A task as heads see it.
pub(super) struct Classified<'a> {
    pub x: MatRef<'a, f64>,
    pub class: Vec<Option<usize>>,
    pub parts: Parts,
    pub test: (MatRef<'a, f64>, Vec<Option<usize>>),
    /// Its own classes.
    pub own: Vec<usize>,
}

/// What a sequence of tasks comes to with each head.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::closed_heads::{ClosedHeadKind, ClosedHeadSettings, closed_heads};
/// use ebbing::{Context, Task, TaskSequence};
/// let mut stream = Stream::new(1, "example", 0);
/// // Four classes around points of their own, two in each task.
/// let mut set = |first: usize| {
///     let x = Mat::from_fn(40, 6, |i, j| stream.normal() + if j == first + i % 2 { 6.0 } else { 0.0 });
///     (x, Mat::from_fn(40, 4, |i, j| f64::from(u8::from(j == first + i % 2))))
/// };
/// let mut task = |first: usize| {
///     let ((x, y), (x_test, y_test)) = (set(first), set(first));
///     Task::new(x, y).with_test(x_test, y_test)
/// };
/// let sequence = TaskSequence::new(vec![task(0), task(2)])?;
/// let heads = closed_heads(&sequence, &ClosedHeadSettings::default(), &Context::default())?;
/// assert!(heads.head(ClosedHeadKind::Discriminant).unwrap().mean_accuracy > 0.9);
/// # Ok::<(), ebbing::Error>(())
/// ```
///
/// # Errors
/// [`Error::Data`] for tasks that do not fit together, targets that are real numbers, a task without held-out data, and features of each
/// output apart; [`Error::Setting`] for a setting out of its range; [`Error::Memory`] for what does not fit.
pub fn closed_heads(sequence: &TaskSequence, settings: &ClosedHeadSettings, context: &Context) -> Result<ClosedHeads> {
    settings.check()?;
    sequence.validate()?;
    context.plan().check("heads in closed form", &sequence.sizes(), |sizes| cost(sizes, settings))?;
    let tasks = classify(sequence, settings)?;
    context.run(|| run(sequence, &tasks, settings, context))
}

/// Operations and bytes: the second moments, and a factor for every strength that is tried.
fn cost(sizes: &Sizes, settings: &ClosedHeadSettings) -> Cost {
    let rows = |list: &[usize]| list.iter().map(|&p| p as f64).sum::<f64>();
    let (p, test) = (rows(&sizes.train), rows(&sizes.test));
    let (d, k) = (sizes.dim as f64, class_count(sizes.columns) as f64);
    let of = |d: f64| Cost {
        flops: p * d * d + 16.0 * d.powi(3) / 3.0 + (16.0 * (0.2 * p).min(5000.0) + 2.0 * test) * d * k,
        bytes: 8.0 * (7.0 * d * d + (2.0 * BLOCK as f64 + 5000.0 + test) * d),
        ..Cost::default()
    };
    let span = if p < d { Cost { flops: p * p * d, bytes: 16.0 * p * d, ..Cost::default() } } else { Cost::default() };
    let linear =
        Cost { flops: of(d.min(p)).flops + span.flops, bytes: of(d.min(p)).bytes + span.bytes, ..Cost::default() };
    let m = settings.random_features as f64;
    let random =
        Cost { flops: of(m).flops + 2.0 * (p + test) * d * m, bytes: of(m).bytes + 8.0 * d * m, ..Cost::default() };
    let joint = if p <= settings.joint_examples as f64 { joint::cost(p, test, d, k) } else { Cost::default() };
    let most = linear.then(random).then(joint);
    Cost { bytes: most.bytes + 8.0 * (p + test) * (d + sizes.columns as f64), ..most }
}

/// The classes of every task, and what is held out of it.
fn classify<'a>(sequence: &'a TaskSequence, settings: &ClosedHeadSettings) -> Result<Vec<Classified<'a>>> {
    let total = sequence.tasks.iter().map(|task| task.y.nrows()).sum();
    let count = class_count(sequence.columns());
    let each = |(t, task): (usize, &'a crate::Task)| {
        let label = task.label(t);
        if task.rows_per_example() > 1 {
            let problem = "each output has features of its own; heads in closed form take one row for each example";
            return Err(Error::data(label, problem));
        }
        let Some(test) = &task.test else {
            let problem = "it has no held-out examples; the accuracy of a head in closed form is measured on those";
            return Err(Error::data(label, problem));
        };
        let class = classes_of(task.y.as_ref(), &label)?;
        let tested = classes_of(test.y.as_ref(), &format!("{label}, test set"))?;
        Ok(Classified {
            x: task.x.as_ref(),
            parts: hold_out(task.x.as_ref(), &class, settings.held_out, total, settings.seed),
            own: occurring(&class, count),
            class,
            test: (test.x.as_ref(), tested),
        })
    };
    sequence.tasks.iter().enumerate().map(each).collect()
}

fn run(
    sequence: &TaskSequence,
    tasks: &[Classified<'_>],
    settings: &ClosedHeadSettings,
    context: &Context,
) -> Result<ClosedHeads> {
    let (d, count) = (sequence.dim(), class_count(sequence.columns()));
    context.say("statistics of the classes", 0.0)?;
    let lift = Lift::of(sequence)?;
    let mut heads = vec![];
    let kinds = [HeadKind::NearestMean, HeadKind::Discriminant, HeadKind::Ridge];
    heads.extend(of_lift(&lift, (d, count), tasks, &kinds)?);
    if settings.random_features > 0 {
        context.say("random features", 0.3)?;
        let random = Lift::random(d, settings.random_features, settings.seed);
        heads.extend(of_lift(&random, (d, count), tasks, &[HeadKind::Ridge])?);
    }
    let examples: usize = tasks.iter().map(|task| task.class.iter().flatten().count()).sum();
    if examples <= settings.joint_examples {
        context.say("everything at once", 0.8)?;
        heads.extend(joint::joint(tasks)?);
    }
    let classes = occurring(&tasks.iter().flat_map(|task| task.class.clone()).collect::<Vec<_>>(), count);
    let size = |kind: ClosedHeadKind| kind.floats(classes.len(), d, settings.random_features, examples);
    for head in &mut heads {
        head.floats = size(head.kind);
        head.bytes = head.floats * size_of::<f32>() as u64;
    }
    Ok(ClosedHeads {
        heads,
        classes: classes.len(),
        features: d,
        examples,
        without_class: tasks.iter().map(|task| task.class.iter().filter(|c| c.is_none()).count()).sum(),
        held_out: tasks.iter().map(|task| task.parts.held.len()).sum(),
        in_span: matches!(lift, Lift::Span { .. }),
        settings: *settings,
    })
}

/// The heads of these kinds on what a lift sees.
fn of_lift(
    lift: &Lift,
    (d, count): (usize, usize),
    tasks: &[Classified<'_>],
    kinds: &[HeadKind],
) -> Result<Vec<ClosedHead>> {
    let origin = origin(lift, d, tasks);
    let mut fit = Statistics::about(origin, count);
    // The span of the examples has fewer coordinates than there are features, whose mean eigenvalue is meant.
    if let Lift::Span { .. } = lift {
        fit.features = d;
    }
    let mut all = fit.clone();
    let mut held: Vec<Mat<f64>> = vec![];
    for (t, task) in tasks.iter().enumerate() {
        learn(&mut fit, lift, (t, task), &task.parts.fit)?;
        learn(&mut all, lift, (t, task), &task.parts.held)?;
        held.push(lift.see_task(t, task.x, &task.parts.held));
    }
    all.merge(&fit)?;
    let (held, class) = stacked(&held, tasks);
    let tests: Vec<Mat<f64>> = tasks.iter().map(|task| seen_tests(lift, task)).collect();
    crate::stop::check()?;
    kinds
        .iter()
        .map(|&kind| {
            let strength = match kind {
                HeadKind::NearestMean => None,
                _ => Some(choose(kind, &fit.system(kind)?, held.as_ref(), &class, &all.classes())?),
            };
            let head = all.head(kind, strength.map_or(0.0, |s| s.relative))?;
            scored(named(kind, lift), &head, strength, tasks, &tests)
        })
        .collect()
}

fn named(kind: HeadKind, lift: &Lift) -> ClosedHeadKind {
    match (kind, lift) {
        (HeadKind::NearestMean, _) => ClosedHeadKind::NearestMean,
        (HeadKind::Discriminant, _) => ClosedHeadKind::Discriminant,
        (HeadKind::Ridge, Lift::Random(_)) => ClosedHeadKind::RandomRidge,
        (HeadKind::Ridge, _) => ClosedHeadKind::Ridge,
    }
}

/// The mean of what is seen of all training examples, about which moments are taken: without it features with a large mean would
/// lose digits. Random features lie within a few of their spreads of zero.
fn origin(lift: &Lift, d: usize, tasks: &[Classified<'_>]) -> Vec<f64> {
    let n = tasks.iter().map(|task| task.x.nrows()).sum::<usize>() as f64;
    match lift {
        Lift::Random(_) => vec![0.0; lift.dim(d)],
        Lift::Features => {
            let sum = |j: usize| tasks.iter().map(|task| task.x.col(j).iter().sum::<f64>()).sum::<f64>();
            (0..d).map(|j| sum(j) / n).collect()
        }
        Lift::Span { factor, .. } => {
            let l = factor.l();
            (0..l.ncols()).map(|j| l.col(j).iter().sum::<f64>() / n).collect()
        }
    }
}

/// Adds rows of a task to the statistics, some at a time.
fn learn(statistics: &mut Statistics, lift: &Lift, (t, task): (usize, &Classified<'_>), rows: &[usize]) -> Result<()> {
    for rows in rows.chunks(BLOCK) {
        crate::stop::check()?;
        let class: Vec<usize> = rows.iter().filter_map(|&row| task.class[row]).collect();
        match lift {
            Lift::Features => statistics.add_rows(task.x, rows, &class)?,
            _ => {
                let seen = lift.see_task(t, task.x, rows);
                statistics.add_rows(seen.as_ref(), &(0..rows.len()).collect::<Vec<_>>(), &class)?;
            }
        }
    }
    Ok(())
}

/// What is held out of all tasks, one below the other, and its classes.
fn stacked(held: &[Mat<f64>], tasks: &[Classified<'_>]) -> (Mat<f64>, Vec<Option<usize>>) {
    let class: Vec<_> = tasks.iter().flat_map(|task| task.parts.held.iter().map(|&row| task.class[row])).collect();
    let mut all = Mat::zeros(class.len(), held.first().map_or(0, Mat::ncols));
    let mut start = 0;
    for m in held {
        all.as_mut().subrows_mut(start, m.nrows()).copy_from(m);
        start += m.nrows();
    }
    (all, class)
}

fn seen_tests(lift: &Lift, task: &Classified<'_>) -> Mat<f64> {
    lift.see(task.test.0, &(0..task.test.0.nrows()).collect::<Vec<_>>())
}

/// Accuracies of a head after the last task.
fn scored(
    kind: ClosedHeadKind,
    head: &Head,
    strength: Option<Strength>,
    tasks: &[Classified<'_>],
    tests: &[Mat<f64>],
) -> Result<ClosedHead> {
    let outputs = tests.iter().map(|x| head.scores(x.as_ref())).collect::<Result<Vec<_>>>()?;
    let solved = strength.map(|_| (head.condition, head.residual));
    Ok(with_accuracies(kind, (&outputs, &head.classes), (strength, solved), tasks))
}

/// A head from its scores on every task's held-out data.
pub(super) fn with_accuracies(
    kind: ClosedHeadKind,
    (outputs, classes): (&[Mat<f64>], &[usize]),
    (strength, solved): (Option<Strength>, Option<(f64, f64)>),
    tasks: &[Classified<'_>],
) -> ClosedHead {
    let places: Vec<usize> = (0..tasks.len()).collect();
    let pairs = par_map(&places, |&t| {
        let (truth, f) = (&tasks[t].test.1, outputs[t].as_ref());
        let share = |allowed: &[usize]| share_right(f, classes, allowed, truth).unwrap_or(0.0);
        (share(classes), share(&tasks[t].own))
    });
    let (accuracy, task_accuracy): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    ClosedHead {
        kind,
        mean_accuracy: mean(&accuracy),
        mean_task_accuracy: mean(&task_accuracy),
        accuracy,
        task_accuracy,
        floats: 0,
        bytes: 0,
        strength,
        condition: solved.map(|(condition, _)| condition),
        residual: solved.map(|(_, residual)| residual),
    }
}
