//! Several amounts of replay at once, from kernels that are there already.
//!
//! What a larger amount stores contains what a smaller one does, so that with stored examples in the order in which they come in,
//! `K̃(X̃_t,X̃_t) = L Lᵀ` of the largest amount holds the factor of every smaller one as its first rows. And where one kernel serves
//! all tasks the network after task t is
//!
//! ```math
//! f_t(x) = K(x, X)\,c_t, \qquad c_t = c_{t-1} + \text{($u_t$ at the inputs that task t learns)}
//! ```
//!
//! on all different inputs X: an amount costs its products with c, but no kernel, no factor and no second product for what it stores.

use super::replay::Replay;
use super::score::{Score, Targets};
use super::sequence_kernels::SequenceKernels;
use super::settings::{Loss, SingleHeadSettings};
use super::system::add_product;
use super::{Outcome, SingleHead};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef};
use crate::tasks::TaskSequence;
use crate::theory::blocks::factor::{Factor, digits, one_norm, with_ridge};
use crate::theory::blocks::kernels::{KernelSource, Kernels, Points, Which};
use crate::theory::blocks::shared::{self, TaskInput};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The outcome of a sequence for each of several amounts of what the settings' replay stores (0: nothing), from one set of kernels
/// where they fit into memory.
///
/// # Errors
/// As for [`SingleHead::new`].
pub(crate) fn replay_curve(
    sequence: &TaskSequence,
    settings: &SingleHeadSettings,
    amounts: &[usize],
    context: &Context,
) -> Result<Vec<Outcome>> {
    // What all tasks share is learned once with nothing stored, but not with replay.
    let most = amounts.iter().copied().max().unwrap_or(0).max(1);
    let stored = SingleHeadSettings { replay: Replay { examples: most, ..settings.replay }, ..*settings };
    let made = SequenceKernels::of(sequence, &stored, true, settings.keep_bytes, context.plan())?;
    match made {
        Some(made) => context.run(|| replay_outcomes(|| made.source(), settings, &made.given(), amounts)),
        None => amounts
            .iter()
            .map(|&examples| SingleHead::new(sequence, &with_amount(settings, examples), context)?.outcome())
            .collect(),
    }
}

/// The same for tasks whose kernels are made from `source`.
///
/// # Errors
/// As for [`SingleHead::new`].
pub(crate) fn replay_outcomes(
    source: impl Fn() -> KernelSource,
    settings: &SingleHeadSettings,
    given: &[TaskInput<'_>],
    amounts: &[usize],
) -> Result<Vec<Outcome>> {
    let kernels = Kernels::new(source(), settings.limit()?)?;
    let alone = || {
        let one = |&examples: &usize| SingleHead::learn(with_amount(settings, examples), source(), given)?.outcome();
        amounts.iter().map(one).collect()
    };
    let Some(curve) = Curve::new(&kernels, settings, given, amounts)? else { return alone() };
    match curve.run() {
        // Smaller amounts may do where the largest does not; and messages name the rows of one amount.
        Err(Error::NotPositiveDefinite { .. } | Error::LostAccuracy { .. }) => alone(),
        found => found,
    }
}

fn with_amount(settings: &SingleHeadSettings, examples: usize) -> SingleHeadSettings {
    SingleHeadSettings { replay: Replay { examples, ..settings.replay }, ..*settings }
}

/// What one task learns.
struct Lesson {
    /// Its own inputs and then what is stored, by the smallest amount that stores it, as places among all different inputs.
    places: Vec<usize>,
    y: Mat<f64>,
    /// How many of these each amount learns.
    sizes: Vec<usize>,
    /// Its own examples, which come first.
    own: usize,
    /// Different inputs up to this task.
    seen: usize,
}

/// All amounts on their way through the tasks.
struct Curve<'a> {
    kernels: &'a Kernels,
    which: Which,
    ridge: f64,
    given: &'a [TaskInput<'a>],
    amounts: usize,
    /// The rows of the kernel that all different inputs are, in the order of their first appearance.
    rows: Vec<usize>,
    lessons: Vec<Lesson>,
}

impl<'a> Curve<'a> {
    /// None where amounts cannot be learned together.
    fn new(
        kernels: &'a Kernels,
        settings: &SingleHeadSettings,
        given: &'a [TaskInput<'a>],
        amounts: &[usize],
    ) -> Result<Option<Curve<'a>>> {
        let which = kernels.tilde(1, 1);
        let table = matches!(kernels.source, KernelSource::Table { .. });
        let one_kernel = kernels.stationary() && which == kernels.tilde(2, 2);
        let plain = settings.loss == Loss::Squared && !settings.variance && !given.iter().any(TaskInput::has_start);
        if !table || !one_kernel || !plain || settings.replay.selection.knows_the_end() || amounts.len() < 2 {
            return Ok(None);
        }
        let numbers = shared::number(given);
        shared::check(given)?;
        // Without a temperature the kernel of repeated inputs has a pseudo-inverse, no factor that could be extended.
        let repeated = |task: &Vec<usize>| task.iter().collect::<HashSet<_>>().len() < task.len();
        if settings.beta.is_infinite() && numbers.iter().any(repeated) {
            return Ok(None);
        }
        let (mut rows, mut places) = (vec![], HashMap::new());
        let mut seen = vec![];
        for task in &numbers {
            for &number in task {
                places.entry(number).or_insert_with(|| {
                    rows.push(number);
                    rows.len() - 1
                });
            }
            seen.push(rows.len());
        }
        let mut each = vec![];
        for &examples in amounts {
            each.push(with_amount(settings, examples).replay.learned_again(given, &numbers)?);
        }
        let mut lessons = vec![];
        for (t, task) in given.iter().enumerate() {
            let stored: Vec<&Vec<(usize, usize)>> = each.iter().map(|amount| &amount[t]).collect();
            let Some(order) = nested(&stored) else { return Ok(None) };
            let learned = numbers[t].iter().copied().chain(order.iter().map(|&(s, row)| numbers[s][row]));
            let own = task.examples();
            let y = Mat::from_fn(own + order.len(), task.y.ncols(), |i, j| match i.checked_sub(own) {
                None => task.y[(i, j)],
                Some(k) => given[order[k].0].y[(order[k].1, j)],
            });
            let sizes = stored.iter().map(|stored| own + stored.len()).collect();
            lessons.push(Lesson { places: learned.map(|n| places[&n]).collect(), y, sizes, own, seen: seen[t] });
        }
        let (ridge, amounts) = (settings.ridge(), amounts.len());
        Ok(Some(Curve { kernels, which, ridge, given, amounts, rows, lessons }))
    }

    /// The kernel between some rows and all different inputs `first …` of those up to `last`.
    fn block(&self, rows: &[usize], first: usize, last: usize) -> Result<Mat<f64>> {
        self.kernels.block(self.which, Points::Rows(rows), Points::Rows(&self.rows[first..last]))
    }

    /// `K(rows, X) c` for every amount, of the first `sizes` rows each and of the inputs up to `seen`.
    fn outputs(&self, rows: &[usize], sizes: &[usize], c: &[Mat<f64>], seen: usize) -> Result<Vec<Mat<f64>>> {
        /// Inputs at a time: bounds the memory of the copies.
        const AT_ONCE: usize = 2048;
        let mut f: Vec<Mat<f64>> = sizes.iter().zip(c).map(|(&size, c)| Mat::zeros(size, c.ncols())).collect();
        for first in (0..seen).step_by(AT_ONCE) {
            crate::stop::check()?;
            let last = seen.min(first + AT_ONCE);
            let block = self.block(rows, first, last)?;
            for (f, c) in f.iter_mut().zip(c) {
                let part = block.as_ref().subrows(0, f.nrows());
                add_product(f, part, c.as_ref().subrows(first, last - first));
            }
        }
        Ok(f)
    }

    /// The factor of what task t learns with the largest amount.
    fn factor(&self, t: usize) -> Result<Arc<Cholesky>> {
        let (lesson, name) = (&self.lessons[t], &self.given[t].name);
        let rows: Vec<usize> = lesson.places.iter().map(|&place| self.rows[place]).collect();
        let k = self.kernels.symmetric(self.which, Points::Rows(&rows))?;
        let nothing: Mat<f64> = Mat::zeros(k.nrows(), 0);
        let norm = one_norm(nothing.submatrix(0, 0, 0, 0), nothing.as_ref(), k.as_ref()) + self.ridge;
        let label = format!("the kernel of {name}");
        let own = Cholesky::factor_owned(with_ridge(k.as_ref(), self.ridge), &label)?;
        let factor = Factor::Blocks { common: None, w: Mat::zeros(0, k.nrows()), own };
        // That of fewer rows is no worse.
        digits(factor.condition(k.nrows(), norm), name)?;
        let Factor::Blocks { own, .. } = factor else { unreachable!("it was made above") };
        Ok(Arc::new(own))
    }

    fn run(&self) -> Result<Vec<Outcome>> {
        let (count, columns) = (self.lessons.len(), self.lessons[0].y.ncols());
        let mut c: Vec<Mat<f64>> = (0..self.amounts).map(|_| Mat::zeros(self.rows.len(), columns)).collect();
        let tested = self.given.iter().all(|task| task.test.is_some());
        // `just[t][amount]`: task t when it has just been learned.
        let mut just: Vec<Vec<Score>> = vec![];
        for (t, lesson) in self.lessons.iter().enumerate() {
            crate::stop::check()?;
            let rows: Vec<usize> = lesson.places.iter().map(|&place| self.rows[place]).collect();
            let seen = if t > 0 { self.lessons[t - 1].seen } else { 0 };
            let before = self.outputs(&rows, &lesson.sizes, &c, seen)?;
            let factor = self.factor(t)?;
            let (mut scores, targets) = (vec![], Targets::new(self.given[t].y, None));
            for ((c, f), &size) in c.iter_mut().zip(before).zip(&lesson.sizes) {
                let rest = lesson.y.as_ref().subrows(0, size) - f;
                let u = factor.solve_first(rest.as_ref());
                for j in 0..columns {
                    for (&place, u) in lesson.places.iter().zip(u.col_as_slice(j)) {
                        c[(place, j)] += u;
                    }
                }
                if !tested {
                    let own = self.given[t].y - self.ridge * u.as_ref().subrows(0, lesson.own);
                    scores.push(targets.score(own.as_ref())?);
                }
            }
            just.push(if tested { self.held_out(t, &c, lesson.seen)? } else { scores });
        }
        let all = self.rows.len();
        let (mut train, mut last) = (vec![], vec![]);
        for t in 0..count {
            let y = self.given[t].y;
            if t + 1 < count || !tested {
                let rows: Vec<usize> = self.lessons[t].places[..y.nrows()].iter().map(|&p| self.rows[p]).collect();
                train.push(self.scores(&rows, y, &c, all)?);
            }
            last.push(match tested {
                true if t + 1 == count => just[t].clone(),
                true => self.held_out(t, &c, all)?,
                false => train[t].clone(),
            });
        }
        Ok((0..self.amounts).map(|m| self.outcome(m, &train, &last, &just)).collect())
    }

    /// Every amount's scores at some rows of the kernel.
    fn scores(&self, rows: &[usize], y: MatRef<'_, f64>, c: &[Mat<f64>], seen: usize) -> Result<Vec<Score>> {
        let f = self.outputs(rows, &vec![rows.len(); self.amounts], c, seen)?;
        let targets = Targets::new(y, None);
        f.iter().map(|f| targets.score(f.as_ref())).collect()
    }

    fn held_out(&self, t: usize, c: &[Mat<f64>], seen: usize) -> Result<Vec<Score>> {
        match self.given[t].test {
            Some((Points::Rows(rows), y)) => self.scores(rows, y, c, seen),
            _ => Err(Error::data(&self.given[t].name, "its held-out points are no rows of the kernel")),
        }
    }

    /// What is left of all tasks for one amount.
    fn outcome(&self, m: usize, train: &[Vec<Score>], last: &[Vec<Score>], just: &[Vec<Score>]) -> Outcome {
        let earlier = self.lessons.len() - 1;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let losses: Vec<f64> = train[..earlier].iter().map(|amounts| amounts[m].loss).collect();
        let accuracies =
            |scores: &[Vec<Score>]| scores.iter().map(|each| each[m].accuracy).collect::<Option<Vec<f64>>>();
        let after = accuracies(last);
        let both = after.as_ref().zip(accuracies(just)).filter(|_| earlier > 0);
        let lost = both.map(|(after, just)| {
            mean(&after.iter().zip(&just).take(earlier).map(|(after, just)| after - just).collect::<Vec<_>>())
        });
        Outcome {
            forgetting: mean(&losses),
            accuracy: after.as_deref().map(mean),
            backward_transfer: lost,
            learned: self.lessons.iter().map(|lesson| lesson.sizes[m]).sum(),
        }
    }
}

/// Everything that any amount stores, by the number of examples of the smallest one that does; none where a larger amount lacks what a
/// smaller one has (an input that two tasks hold counts for the later one).
fn nested(stored: &[&Vec<(usize, usize)>]) -> Option<Vec<(usize, usize)>> {
    let mut order: Vec<usize> = (0..stored.len()).collect();
    order.sort_by_key(|&m| stored[m].len());
    let mut all: Vec<(usize, usize)> = vec![];
    for m in order {
        let own: std::collections::HashSet<&(usize, usize)> = stored[m].iter().collect();
        if !all.iter().all(|known| own.contains(known)) {
            return None;
        }
        let known: std::collections::HashSet<(usize, usize)> = all.iter().copied().collect();
        all.extend(stored[m].iter().filter(|one| !known.contains(one)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::tasks::Task;
    use crate::theory::single_head::{Mode, ReplayBudget, Selection};

    fn sequence(tested: bool, columns: usize, twice: bool) -> TaskSequence {
        let mut stream = Stream::new(7, "replay curve", columns as u64);
        let means = Mat::from_fn(columns.max(2) * 3, 12, |_, _| stream.normal());
        let mut points = |t: usize, p: usize| {
            let class = |i: usize| (i + t) % columns.max(2);
            let x = Mat::from_fn(p, 12, |i, j| means[(t * 2 + class(i) % 2, j)] + stream.normal());
            let sign = |i: usize| if class(i) == 0 { 1.0 } else { -1.0 };
            (
                x,
                Mat::from_fn(
                    p,
                    columns,
                    |i, j| if columns == 1 { sign(i) } else { f64::from(u8::from(class(i) == j)) },
                ),
            )
        };
        let mut tasks = vec![];
        for (t, p) in [30, 25, 34].into_iter().enumerate() {
            let ((x, y), (x_test, y_test)) = (points(t, p), points(t, 11));
            let task = Task::new(x, y);
            tasks.push(if tested { task.with_test(x_test, y_test) } else { task });
        }
        if twice {
            for k in 0..12 {
                tasks[2].x[(4, k)] = tasks[0].x[(3, k)];
                tasks[1].x[(5, k)] = tasks[0].x[(6, k)];
            }
        }
        TaskSequence::new(tasks).unwrap()
    }

    #[test]
    fn all_amounts_at_once_are_each_by_itself() {
        let cases = [(true, 4, false), (false, 4, false), (true, 1, false), (true, 3, true), (false, 1, true)];
        for (tested, columns, twice) in cases {
            let sequence = sequence(tested, columns, twice);
            for (mode, beta) in [(Mode::Rf, 20.0), (Mode::Lazy, 3.0), (Mode::Ntk, 20.0), (Mode::Rf, f64::INFINITY)] {
                for (budget, selection) in [
                    (ReplayBudget::PerTask, Selection::Random),
                    (ReplayBudget::InAll, Selection::ByClass),
                    (ReplayBudget::PerTask, Selection::Greedy),
                ] {
                    if twice && beta.is_infinite() {
                        continue; // one input with two targets
                    }
                    let replay = Replay { budget, selection, seed: 3, ..Default::default() };
                    let settings = SingleHeadSettings { mode, beta, replay, ..Default::default() };
                    let amounts = [5, 0, 1, 12];
                    let found = replay_curve(&sequence, &settings, &amounts, &Context::default()).unwrap();
                    for (found, &examples) in found.iter().zip(&amounts) {
                        let one = SingleHead::new(&sequence, &with_amount(&settings, examples), &Context::default());
                        let want = one.unwrap().outcome().unwrap();
                        // Rounding times condition numbers below 1e5.
                        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1e-3);
                        assert!(
                            close(found.forgetting, want.forgetting),
                            "{mode:?} {beta} {examples}: {found:?} {want:?}"
                        );
                        assert_eq!(found.learned, want.learned);
                        let pairs =
                            [(found.accuracy, want.accuracy), (found.backward_transfer, want.backward_transfer)];
                        for (a, b) in pairs {
                            assert_eq!(a.is_some(), b.is_some());
                            assert!(a.zip(b).is_none_or(|(a, b)| close(a, b)), "{examples}: {found:?} {want:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let sequence = sequence(true, 4, false);
        let settings = SingleHeadSettings { beta: 10.0, ..Default::default() };
        let error = replay_curve(&sequence, &settings, &[3, 300], &Context::default()).unwrap_err();
        assert!(error.to_string().starts_with("replay"), "{error}");
    }

    #[test]
    fn amounts_that_are_not_nested_are_noticed() {
        let (a, b, c) = (vec![(0, 1)], vec![(0, 2), (0, 1)], vec![(0, 3), (0, 2), (1, 1)]);
        assert_eq!(nested(&[&b, &a]), Some(vec![(0, 1), (0, 2)]));
        assert_eq!(nested(&[&a, &b, &c]), None);
    }
}
