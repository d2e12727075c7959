//! `f_t` and `f_T` on the examples of every task t: the mean outputs after the task itself and after the last one.

use super::single_head::{Mode, SingleHead};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::tasks::TaskSequence;

/// Outputs on one set of examples, one row per example.
#[derive(Debug, Clone)]
pub(crate) struct OwnAndLast {
    /// After the task that they belong to.
    pub own: Mat<f64>,
    /// After the last task.
    pub last: Mat<f64>,
}

/// The same for the training examples of every task, and for its held-out examples where it has some.
pub(crate) type AllOwnAndLast = Vec<(OwnAndLast, Option<OwnAndLast>)>;

impl OwnAndLast {
    /// Of a network that learned this sequence; what it answers at the start is part of its outputs.
    ///
    /// # Errors
    /// [`Error::Data`] where it learned another number of tasks; those of [`SingleHead::mean`].
    pub fn of(network: &SingleHead, sequence: &TaskSequence, context: &Context) -> Result<AllOwnAndLast> {
        let count = sequence.tasks.len();
        if network.tasks() != count {
            let problem = format!("the network learned {} tasks where there are {count}", network.tasks());
            return Err(Error::data("the task sequence", problem));
        }
        let mut all = vec![];
        for (t, task) in sequence.tasks.iter().enumerate() {
            context.say("outputs on every example", t as f64 / count as f64)?;
            let start = task.present.as_ref();
            let train = Self::on(network, t, (&task.x, &task.y), start.map(|f| &f.train))?;
            let test = task.test.as_ref().map(|test| {
                let start = start.and_then(|f| f.test.as_ref());
                Self::on(network, t, (&test.x, &test.y), start)
            });
            all.push((train, test.transpose()?));
        }
        Ok(all)
    }

    /// On examples of task t (from 0).
    fn on(
        network: &SingleHead,
        t: usize,
        (x, y): (&Mat<f64>, &Mat<f64>),
        start: Option<&Mat<f64>>,
    ) -> Result<OwnAndLast> {
        let last = network.tasks() - 1;
        // All times take one kernel block per task, as the last one does alone, where a block does not depend on the time.
        let at_once = !network.in_feature_space() && network.settings().mode != Mode::Gibbs && t < last;
        let (own, end) = if at_once {
            let mut all = network.means(x.as_ref())?;
            let end = all.pop();
            (all.swap_remove(t), end)
        } else {
            let own = network.mean(x.as_ref(), t + 1)?;
            (own, (t < last).then(|| network.mean(x.as_ref(), last + 1)).transpose()?)
        };
        let outputs = |learned: Mat<f64>| {
            let learned = by_example(learned, y.as_ref());
            start.map_or_else(|| learned.clone(), |start| &learned + start)
        };
        let own = outputs(own);
        Ok(OwnAndLast { last: end.map_or_else(|| own.clone(), outputs), own })
    }
}

/// Outputs with one row per example, where each output of each example has a row of its own.
fn by_example(f: Mat<f64>, y: MatRef<'_, f64>) -> Mat<f64> {
    let columns = y.ncols();
    if f.ncols() == columns {
        return f;
    }
    Mat::from_fn(y.nrows(), columns, |i, c| f[(i * columns + c, 0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::tasks::Task;
    use crate::theory::Inputs;
    use crate::theory::single_head::SingleHeadSettings;

    #[test]
    fn both_ways_give_the_means() {
        let mut stream = Stream::new(1, "own and last", 0);
        let mut normal = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
        let context = Context::default();
        // Fewer examples than features, and more: kernels and weights. A network that starts from outputs of its own.
        for (p, start) in [(8, false), (60, false), (60, true)] {
            let mut task = || {
                let task = Task::new(normal(p, 12), normal(p, 3)).with_test(normal(5, 12), normal(5, 3));
                if start { task.with_present(normal(p, 3), Some(normal(5, 3))) } else { task }
            };
            let sequence = TaskSequence::new(vec![task(), task(), task()]).unwrap();
            let settings = SingleHeadSettings { beta: 10.0, ..Default::default() };
            let network = SingleHead::new(Inputs::Features(&sequence), &settings, &context).unwrap();
            let all = OwnAndLast::of(&network, &sequence, &context).unwrap();
            for (t, (task, (train, test))) in sequence.tasks.iter().zip(&all).enumerate() {
                let f_0 = task.present.as_ref();
                let known = |x: &Mat<f64>, t: usize, f_0: Option<&Mat<f64>>| {
                    let f = network.mean(x.as_ref(), t).unwrap();
                    f_0.map_or_else(|| f.clone(), |f_0| &f + f_0)
                };
                let (x, test_x) = (&task.x, &task.test.as_ref().unwrap().x);
                let (f_train, f_test) = (f_0.map(|f| &f.train), f_0.and_then(|f| f.test.as_ref()));
                let test = test.as_ref().unwrap();
                for (found, known) in [
                    (&train.own, known(x, t + 1, f_train)),
                    (&train.last, known(x, 3, f_train)),
                    (&test.own, known(test_x, t + 1, f_test)),
                    (&test.last, known(test_x, 3, f_test)),
                ] {
                    // The same sums in the same order, but for how many are taken at once.
                    assert!((found - known).norm_max() < 1e-12, "{p} {start} {t}");
                }
            }
        }
    }

    #[test]
    fn features_of_each_output_come_as_one_row_per_example() {
        let mut stream = Stream::new(2, "own and last", 0);
        let mut normal = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
        let mut task = || Task::new(normal(12, 20), normal(6, 2));
        let sequence = TaskSequence::new(vec![task(), task()]).unwrap();
        let context = Context::default();
        let network = SingleHead::new(Inputs::Features(&sequence), &SingleHeadSettings::default(), &context).unwrap();
        let all = OwnAndLast::of(&network, &sequence, &context).unwrap();
        // Interpolated: the outputs after the own task are the targets, example by example.
        for (task, (train, _)) in sequence.tasks.iter().zip(&all) {
            assert!((&train.own - &task.y).norm_max() < 1e-9);
        }
    }
}
