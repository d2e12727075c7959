//! `K(X ∪ X*, X)` between all inputs of a sequence, held-out ones X* included, and its training inputs X: made once for
//! everything that is computed from them.

use super::settings::SingleHeadSettings;
use crate::error::Result;
use crate::kernels::{Kernel, KernelKind, check_inputs};
use crate::linalg::{Mat, MatRef};
use crate::plan::Memory;
use crate::tasks::{Task, TaskSequence, inputs_only, number_inputs};
use crate::theory::blocks::kernels::{Entries, KernelSource, Mode};
use crate::theory::blocks::shared::TaskInput;
use crate::theory::blocks::table::{KernelTask, from_kernel_task};
use std::collections::HashSet;

/// Kernels of a wide network between the inputs of a sequence, and its tasks as rows of them: training inputs first, each once.
#[derive(Debug)]
pub(crate) struct SequenceKernels {
    nngp: Entries,
    ntk: Option<Entries>,
    tasks: Vec<KernelTask>,
}

impl SequenceKernels {
    /// The kernels that `theory` uses for means; none where they depend on the times, where variances are wanted, where all of
    /// them take more than `budget` bytes or half of the memory that is planned with, and where inputs that all tasks hold spare most of the work.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for a sequence that is not sound; [`Error::Setting`](crate::Error::Setting) for
    /// settings out of their range.
    pub fn of(
        sequence: &TaskSequence,
        theory: &SingleHeadSettings,
        held_out: bool,
        budget: usize,
        memory: &Memory,
    ) -> Result<Option<SequenceKernels>> {
        let prior = theory.checked()?;
        sequence.validate()?;
        inputs_only(&sequence.tasks)?;
        check_inputs(&sequence.tasks, theory.bias2 > 0.0)?;
        let tests = sequence.tasks.iter().filter_map(|task| task.test.as_ref()).filter(|_| held_out);
        let below: usize = tests.clone().map(|test| test.x.nrows()).sum();
        let tangent = theory.mode != Mode::Rf;
        let train: Vec<MatRef<'_, f64>> = sequence.tasks.iter().map(|task| task.x.as_ref()).collect();
        let most: usize = train.iter().map(|x| x.nrows()).sum();
        let bytes = (1 + usize::from(tangent)) * most * (most + below) * size_of::<f64>();
        let room = memory.planned().map_or(f64::INFINITY, |most| 0.5 * most);
        if theory.mode == Mode::Gibbs || theory.variance || bytes > budget || bytes as f64 > room {
            return Ok(None);
        }
        let numbers = number_inputs(&train);
        if theory.share && !theory.replay.is_on() && shared(&numbers) {
            return Ok(None);
        }
        let x = distinct(&train, &numbers);
        let mut held = Mat::zeros(below, sequence.dim());
        let mut first = 0;
        for test in tests {
            held.as_mut().submatrix_mut(first, 0, test.x.nrows(), test.x.ncols()).copy_from(&test.x);
            first += test.x.nrows();
        }
        let kernel = |kind: KernelKind| Kernel::new(kind, theory.architecture, prior, 1, 1);
        let mut kernels = vec![kernel(KernelKind::Nngp)?];
        if tangent {
            kernels.push(kernel(KernelKind::Ntk)?);
        }
        let kernels: Vec<&Kernel> = kernels.iter().collect();
        let square = Kernel::gram_many_symmetric(&kernels, x.as_ref())?;
        let rest = if below > 0 { Kernel::gram_many(&kernels, held.as_ref(), x.as_ref())? } else { vec![] };
        let mut rest = rest.into_iter();
        let mut entries = square.into_iter().map(|square| Entries::new(square, rest.next()));
        let Some(nngp) = entries.next() else { return Ok(None) };
        let ntk = entries.next();
        let tasks = kernel_tasks(&sequence.tasks, numbers, x.nrows(), held_out);
        Ok(Some(SequenceKernels { nngp, ntk, tasks }))
    }

    /// Where the theory takes its kernels from.
    pub fn source(&self) -> KernelSource {
        KernelSource::Table { nngp: self.nngp.clone(), ntk: self.ntk.clone(), kept: None }
    }

    /// The tasks as the theory takes them.
    pub fn given(&self) -> Vec<TaskInput<'_>> {
        self.tasks.iter().enumerate().map(|(t, task)| from_kernel_task(t, task)).collect()
    }
}

/// Whether all tasks hold some input.
fn shared(numbers: &[Vec<usize>]) -> bool {
    let mut all = numbers.iter().map(|task| task.iter().copied().collect::<HashSet<_>>());
    let first = all.next().unwrap_or_default();
    numbers.len() > 1 && !all.fold(first, |common, task| &common & &task).is_empty()
}

/// The inputs by their numbers, which count them by first appearance.
fn distinct(train: &[MatRef<'_, f64>], numbers: &[Vec<usize>]) -> Mat<f64> {
    let mut places: Vec<(usize, usize)> = vec![];
    for (t, task) in numbers.iter().enumerate() {
        for (i, &number) in task.iter().enumerate() {
            if number == places.len() {
                places.push((t, i));
            }
        }
    }
    Mat::from_fn(places.len(), train[0].ncols(), |row, j| {
        let (t, i) = places[row];
        train[t][(i, j)]
    })
}

/// The tasks as rows: training inputs by their numbers, held-out ones after all of those.
fn kernel_tasks(tasks: &[Task], numbers: Vec<Vec<usize>>, distinct: usize, held_out: bool) -> Vec<KernelTask> {
    let mut next = distinct;
    let one = |(task, rows): (&Task, Vec<usize>)| KernelTask {
        name: task.name.clone(),
        rows,
        y: task.y.clone(),
        test: task.test.as_ref().filter(|_| held_out).map(|test| {
            let rows = (next..next + test.x.nrows()).collect();
            next += test.x.nrows();
            (rows, test.y.clone())
        }),
    };
    tasks.iter().zip(numbers).map(one).collect()
}
