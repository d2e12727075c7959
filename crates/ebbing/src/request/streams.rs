//! Features beyond memory: one pass over their files, and the tasks whose sums are the same.

use super::forecast::ForecastRequest;
use crate::context::Context;
use crate::data::RowReader;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::plan::size;
use crate::tasks::{ByClass, FeatureFiles, StreamedTask, Task, TaskSequence, TestSet};
use crate::theory::streams::{BlockTargets, FeatureSums};
use std::path::Path;

/// Features are read whole where so many times their bytes fit: as they are stored, as numbers, and as tasks.
const COPIES: f64 = 3.0;

/// The tasks of a file or folder of features that does not fit into memory, from one pass over it; none where it fits. The second is
/// how many examples there are.
///
/// # Errors
/// What is wrong with the files; [`Error::Setting`] for what needs the examples themselves.
pub(super) fn summed(
    request: &ForecastRequest,
    path: &Path,
    by_class: Option<ByClass>,
    context: &Context,
) -> Result<Option<(TaskSequence, usize)>> {
    let npy = path.is_dir() || path.extension().is_some_and(|ending| ending == "npy");
    let (Some(room), true) = (context.plan().planned(), npy) else { return Ok(None) };
    let Some(files) = FeatureFiles::of(path)?.filter(|files| COPIES * files.bytes() > room) else { return Ok(None) };
    let needs = [
        ("--variance", request.variance),
        ("--replay", request.replay.replay > 0),
        ("--max-p", request.max_p.is_some()),
    ];
    let drawn = [
        ("--bootstrap", request.bootstrap > 0),
        ("--shuffles", request.shuffles > 0),
        ("--seeds", request.seeds() > 1),
    ];
    if let Some((name, _)) = needs.into_iter().chain(drawn).find(|(_, asked)| *asked) {
        let expected = format!(
            "must be left out: it needs the examples themselves, and {} of features do not fit into memory",
            size(files.bytes())
        );
        return Err(Error::setting(name, "given", expected));
    }
    let (tasks, settings) = files.tasks(by_class, request.tasks.seed())?;
    let (d, columns) = files.shape();
    let mut sums: Vec<FeatureSums> = tasks.iter().map(|_| FeatureSums::new(d, columns)).collect();
    let mut pass = Pass { files: &files, done: 0, gathered: vec![], context };
    let whole = tasks.iter().all(|task| task.classes.is_none());
    context.run(|| match whole {
        true => tasks.iter().zip(&mut sums).try_for_each(|(task, sums)| pass.file(task, sums)),
        false => pass.by_class(&tasks, &mut sums),
    })?;
    let made = tasks.into_iter().zip(&sums).map(|(task, sums)| {
        let test = task.test.map(|(x, y)| TestSet { x, y });
        Ok(Task { test, ..sums.task(&task.name)? })
    });
    let sequence = TaskSequence { tasks: made.collect::<Result<_>>()?, settings }.checked()?;
    Ok(Some((sequence, files.examples())))
}

/// One pass over the files.
struct Pass<'a> {
    files: &'a FeatureFiles,
    done: usize,
    gathered: Vec<f64>,
    context: &'a Context,
}

impl Pass<'_> {
    fn say(&mut self, rows: usize) -> Result<()> {
        self.done += rows;
        let all = self.files.examples();
        self.context.say(&format!("sums of {all} examples"), self.done as f64 / all as f64)
    }

    /// A task that has a file of its own.
    fn file(&mut self, task: &StreamedTask, sums: &mut FeatureSums) -> Result<()> {
        let mut reader = RowReader::open(&task.path)?;
        let class = self.files.classes(task);
        while let Some((first, x)) = reader.next_block()? {
            let rows = x.nrows();
            match &class {
                Some(class) => {
                    let of: Vec<usize> = (first..first + rows).filter_map(class).collect();
                    sums.add(x, BlockTargets::Classes(&of))?;
                }
                None => {
                    let y: Mat<f64> = self.files.targets(task, first..first + rows);
                    sums.add(x, BlockTargets::Real(y.as_ref()))?;
                }
            }
            self.say(rows)?;
        }
        Ok(())
    }

    /// One file whose rows go to tasks by their class.
    fn by_class(&mut self, tasks: &[StreamedTask], sums: &mut [FeatureSums]) -> Result<()> {
        let Some(first) = tasks.first() else { return Ok(()) };
        let Some(class) = self.files.classes(first) else {
            return Err(Error::data("classes_per_task", "targets name no classes, by which tasks could be made"));
        };
        let mut owner = vec![0; self.files.shape().1];
        for (t, task) in tasks.iter().enumerate() {
            task.classes.iter().flatten().for_each(|&c| owner[c] = t);
        }
        let mut reader = RowReader::open(&first.path)?;
        while let Some((start, x)) = reader.next_block()? {
            let of: Vec<usize> = (start..start + x.nrows()).filter_map(&class).collect();
            for (t, sums) in sums.iter_mut().enumerate() {
                let rows: Vec<usize> = (0..of.len()).filter(|&i| owner[of[i]] == t).collect();
                self.gathered.clear();
                rows.iter().for_each(|&i| self.gathered.extend(x.row(i).iter()));
                let some = MatRef::from_row_major_slice(&self.gathered, rows.len(), x.ncols());
                let classes: Vec<usize> = rows.iter().map(|&i| of[i]).collect();
                if !rows.is_empty() {
                    sums.add(some, BlockTargets::Classes(&classes))?;
                }
            }
            self.say(of.len())?;
        }
        Ok(())
    }
}
