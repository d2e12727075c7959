//! All pairs of a sequence: each kernel block made once, each task's kernel factored once.

use super::feature_space;
use super::pair::{Cross, evaluate};
use super::resample::{TrialsNeeded, check_trials, intervals, shuffles, trials_needed};
use super::{Inverse, OrderParameterSettings, PairOrderParameters, probed_gamma_feature};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, par_map};
use crate::plan::pairs_at_once;
use crate::rng::Stream;
use crate::stats::number::accuracy;
use crate::theory::blocks::factor::{Factor, digits, one_norm, with_ridge};
use crate::theory::blocks::kernels::{KernelSource, Kernels, Limit, Mode, Points, Which};
use crate::theory::blocks::shared::{Shared, TaskInput, check, number};
use std::sync::Arc;

/// Kernels within the tasks and their factors.
struct Tasks<'a> {
    settings: &'a OrderParameterSettings,
    kernels: Kernels,
    shared: Shared,
    k_cc: Mat<f64>,
    each: Vec<Inverted>,
}

/// One task's kernel with the common inputs, and its inverse.
struct Inverted {
    k_oc: Mat<f64>,
    factor: Factor,
    /// What γ_feature is divided by, if it is the smaller of the pair's.
    rank: usize,
    digits: f64,
    /// What it would need to have intervals, if it has none.
    trials: Option<TrialsNeeded>,
}

pub(crate) fn all_pairs(
    settings: &OrderParameterSettings,
    source: KernelSource,
    given: &[TaskInput<'_>],
    spare: f64,
) -> Result<Vec<PairOrderParameters>> {
    if given.len() < 2 {
        return Err(Error::data("the task sequence", format!("it holds {} task; a pair needs two", given.len())));
    }
    if feature_space::serves(settings, &source, given) {
        return feature_space::all_pairs(settings, given);
    }
    let largest = given.iter().map(|task| task.points.len()).max().unwrap_or(0);
    let at_once = pairs_at_once(largest, spare);
    let tasks = Tasks::new(settings, source, given, at_once)?;
    let places: Vec<_> = (0..given.len()).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    // Threads that share one pair wait for each other at every step of its solves; a few pairs at a time bound the
    // memory.
    let mut pairs: Vec<PairOrderParameters> = vec![];
    for some in places.chunks(at_once) {
        for both in par_map(some, |&(i, j)| tasks.pair(i, j)) {
            pairs.extend(both?);
        }
    }
    pairs.sort_by_key(|pair| (pair.first, pair.second));
    Ok(pairs)
}

/// Examples of a task up to which γ_feature is exact: beyond, its `P³` operations would take longer than all the rest.
const EXACT_UP_TO: usize = 2000;
/// Random probes of γ_feature beyond that: of unrelated tasks it then has a relative standard error of about a hundredth.
const PROBES: usize = 64;

/// The order parameters of the first task before the second for each target column alone.
pub(super) fn labelings(
    settings: &OrderParameterSettings,
    source: KernelSource,
    given: &[TaskInput<'_>],
) -> Result<Vec<super::OrderParameters>> {
    if let Some(task) = given.iter().find(|task| task.has_start()) {
        let problem =
            "its columns are labelings of the same inputs, which have no present outputs and no rows of their own";
        return Err(Error::data(&task.name, problem));
    }
    let tasks = Tasks::new(settings, source, given, given.len())?;
    let k21 = tasks.kernels.block(Which::NNGP, tasks.own(1), tasks.own(0))?;
    let (one, two) = (&tasks.each[0], &tasks.each[1]);
    let overlap = two.factor.overlap(&one.factor, k21.clone()) / one.rank.min(two.rank) as f64;
    let cross = Cross { cc: tasks.k_cc.as_ref(), own_c: [one.k_oc.as_ref(), two.k_oc.as_ref()], k21: k21.as_ref() };
    let y = [&tasks.shared.tasks[0].y, &tasks.shared.tasks[1].y];
    let sets = evaluate(&cross, ([&one.factor, &two.factor], settings.ridge), y, 1, overlap, None);
    Ok(sets.into_iter().map(|[first, _]| first).collect())
}

impl<'a> Tasks<'a> {
    fn new(
        settings: &'a OrderParameterSettings,
        source: KernelSource,
        given: &[TaskInput<'_>],
        at_once: usize,
    ) -> Result<Self> {
        let network = matches!(source, KernelSource::Network(_));
        let resampled = settings.resamples.max(settings.shuffles);
        if resampled > 0 && given.iter().any(|task| task.points_per_example() > 1) {
            let expected = "must be 0: with features of each output apart, rows are no independent examples";
            return Err(Error::setting("resamples or shuffles", resampled, expected));
        }
        let numbers = number(given);
        check(given)?;
        // A ridge belongs to each task's own kernel, not to the kernel between tasks, so it leaves nothing to share.
        let share = network && settings.ridge == 0.0;
        let shared = if share { Shared::find(given, &numbers) } else { Shared::nothing(given) };
        let prior = settings.checked()?;
        let kernels = Kernels::new(source, Limit { mode: Mode::Rf, frozen: false, prior })?;
        let k_cc = kernels.symmetric(Which::NNGP, shared.common.points())?;
        let common = match k_cc.nrows() {
            0 => None,
            _ => Some(Arc::new(Cholesky::factor(k_cc.as_ref(), "the kernel of the inputs that all tasks share")?)),
        };
        let mut tasks = Tasks { settings, kernels, shared, k_cc, each: vec![] };
        let numbers: Vec<usize> = (0..given.len()).collect();
        for some in numbers.chunks(at_once) {
            let each = par_map(some, |&t| tasks.invert(t, common.as_ref()));
            tasks.each.extend(each.into_iter().collect::<Result<Vec<_>>>()?);
        }
        check_trials(settings, tasks.each.iter().filter_map(|task| task.trials.as_ref()))?;
        Ok(tasks)
    }

    fn own(&self, t: usize) -> Points<'_> {
        self.shared.tasks[t].own.points()
    }

    /// The kernel of task t, inverted.
    fn invert(&self, t: usize, common: Option<&Arc<Cholesky>>) -> Result<Inverted> {
        let own = self.own(t);
        let k_oc = self.kernels.block(Which::NNGP, own, self.shared.common.points())?;
        let k_oo = self.kernels.symmetric(Which::NNGP, own)?;
        let label = &self.shared.tasks[t].name;
        let factor = invert(self.settings, &self.kernels, own, common, (k_oc.as_ref(), k_oo.as_ref()), label)?;
        let size = self.k_cc.nrows() + k_oo.nrows();
        let mut trials = None;
        if self.settings.resamples > 0 {
            let sum = |k: MatRef<'_, f64>| (0..k.nrows()).map(|i| k[(i, i)]).sum::<f64>();
            let mean = (sum(self.k_cc.as_ref()) + sum(k_oo.as_ref())) / size as f64;
            trials = trials_needed(self.settings, &factor, &self.kernels.source, (size, mean), label);
        }
        let norm = one_norm(self.k_cc.as_ref(), k_oc.as_ref(), k_oo.as_ref()) + self.settings.ridge;
        let digits = digits(factor.condition(size, norm), label)?;
        let rank = rank(&factor, &self.kernels.source);
        Ok(Inverted { k_oc, factor, rank, digits, trials })
    }

    /// γ_feature of a pair; of large tasks an estimate with its standard error, where nothing is resampled.
    fn overlap(&self, i: usize, j: usize, k21: &Mat<f64>) -> (f64, Option<f64>) {
        let (one, two) = (&self.each[i], &self.each[j]);
        let rank = one.rank.min(two.rank);
        let resampled = self.settings.resamples.max(self.settings.shuffles) > 0;
        if resampled || k21.nrows().min(k21.ncols()) <= EXACT_UP_TO {
            return (two.factor.overlap(&one.factor, k21.clone()) / rank as f64, None);
        }
        let mut stream = Stream::new(0, "probes of gamma_feature", (i * self.each.len() + j) as u64);
        let found = probed_gamma_feature([&one.factor, &two.factor], k21.as_ref(), rank, PROBES, &mut stream);
        (found.mean, (found.standard_error > 0.0).then_some(found.standard_error))
    }

    /// Both orders of one pair.
    fn pair(&self, i: usize, j: usize) -> Result<[PairOrderParameters; 2]> {
        let k21 = self.kernels.block(Which::NNGP, self.own(j), self.own(i))?;
        let (one, two) = (&self.each[i], &self.each[j]);
        let (overlap, off) = self.overlap(i, j, &k21);
        let cross = Cross { cc: self.k_cc.as_ref(), own_c: [one.k_oc.as_ref(), two.k_oc.as_ref()], k21: k21.as_ref() };
        let factors = [&one.factor, &two.factor];
        let y = [&self.shared.tasks[i].y, &self.shared.tasks[j].y];
        let norms = [i, j].map(|t| self.shared.tasks[t].norm2().sqrt());
        let values = evaluate(&cross, (factors, self.settings.ridge), y, y[0].ncols(), overlap, Some(norms))[0];
        let stream = (i * self.each.len() + j) as u64;
        let nulls = shuffles(self.settings, &cross, factors, (y, norms), overlap, &values, stream);
        let digits = one.digits.min(two.digits);
        finite(&values, [&self.shared.tasks[i].name, &self.shared.tasks[j].name])?;
        let shown = values.map(|values| values.within(accuracy(digits)));
        let intervals = self.intervals(i, j, k21.as_ref(), &shown, stream)?;
        let pseudo = factors.iter().any(|f| matches!(f, Factor::Pseudo(_)));
        let inverse = match (self.settings.ridge > 0.0, pseudo) {
            (true, _) => Inverse::Ridge,
            (false, true) => Inverse::Pseudo,
            (false, false) => Inverse::Exact,
        };
        let order = |first: usize, second: usize, way: usize| PairOrderParameters {
            first: first + 1,
            second: second + 1,
            values: shown[way],
            inverse,
            ranks: [self.each[first].rank, self.each[second].rank],
            digits,
            interval: intervals.as_ref().map(|both| both[way].clone()),
            null: nulls.as_ref().map(|both| both[way].clone()),
            gamma_feature_error: off,
        };
        Ok([order(i, j, 0), order(j, i, 1)])
    }

    /// Intervals for both orders of one pair, if they are wanted.
    fn intervals(
        &self,
        i: usize,
        j: usize,
        k21: MatRef<'_, f64>,
        values: &[super::OrderParameters; 2],
        stream: u64,
    ) -> Result<Option<[super::Interval; 2]>> {
        if self.settings.resamples == 0 {
            return Ok(None);
        }
        let k_oo =
            [self.kernels.symmetric(Which::NNGP, self.own(i))?, self.kernels.symmetric(Which::NNGP, self.own(j))?];
        let cross =
            Cross { cc: self.k_cc.as_ref(), own_c: [self.each[i].k_oc.as_ref(), self.each[j].k_oc.as_ref()], k21 };
        let tasks = [&self.shared.tasks[i], &self.shared.tasks[j]];
        intervals(self.settings, &self.kernels, &cross, &k_oo, tasks, values, stream).map(Some)
    }
}

/// Refuses what is no number: kernels of rank 0, or kernels that no set of inputs has.
fn finite(values: &[super::OrderParameters; 2], names: [&String; 2]) -> Result<()> {
    if values.iter().all(super::OrderParameters::is_finite) {
        return Ok(());
    }
    Err(Error::LostAccuracy {
        what: format!("the order parameters of {} and {}", names[0], names[1]),
        digits: 0.0,
        condition: f64::INFINITY,
        advice: "see that no kernel is 0 and that all of them are of the same inputs".into(),
    })
}

/// The inverse of `[[K_cc, K_co], [K_oc, K_oo]]`, `own` the points that are not common: of features and given kernels the
/// pseudo-inverse where it must be.
pub(super) fn invert(
    settings: &OrderParameterSettings,
    kernels: &Kernels,
    own: Points<'_>,
    common: Option<&Arc<Cholesky>>,
    (k_oc, k_oo): (MatRef<'_, f64>, MatRef<'_, f64>),
    label: &str,
) -> Result<Factor> {
    let name = format!("the kernel of {label}");
    let repeats = kernels.repeats(own, settings.ridge);
    let may_be_singular = matches!(kernels.source, KernelSource::Features { .. } | KernelSource::Table { .. });
    Factor::of_distinct(repeats, (k_oc, k_oo), &name, |k_oc, k_oo, name| {
        let exact = match common {
            Some(common) => Factor::extend(common, k_oc, k_oo, 0.0, name),
            None => Factor::plain(k_oo, settings.ridge, name),
        };
        let singular = match &exact {
            Err(error) => matches!(error, Error::NotPositiveDefinite { .. }),
            Ok(factor) => common.is_none() && settings.ridge == 0.0 && factor.is_singular(k_oo),
        };
        if singular && may_be_singular {
            return Factor::pseudo(with_ridge(k_oo, settings.ridge).as_ref(), settings.rank_tolerance, name);
        }
        exact
    })
}

/// What γ_feature is divided by: with a ridge every direction is inverted, but only as many exist as there are features.
pub(super) fn rank(factor: &Factor, source: &KernelSource) -> usize {
    match source {
        KernelSource::Features { neurons, .. } => factor.rank().min(*neurons),
        _ => factor.rank(),
    }
}
