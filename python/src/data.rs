//! Data sets, and the protocols that make tasks of them.

use crate::arrays::{Labels, Matrix, RawTask, array, owned, sequence, sequence_with};
use crate::errors::python;
use crate::run::run;
use crate::values::{object, settings};
use ebbing::data::{Features, Origin, Part, Preprocess, Preprocessor, Targets};
use ebbing::linalg::Mat;
use ebbing::plan::drawing_cost;
use ebbing::tasks::{ByClass, Interpolated, Protocol, RawTargets, TargetRule, WithContext};
use ebbing::{Dataset, TaskSequence};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// An array that may be missing.
type Some2<'py> = Option<Bound<'py, PyArray2<f64>>>;

/// Inputs, targets, held-out inputs, held-out targets, name, outputs at the start, the same on held-out inputs, and which image
/// and view of it each input is.
type TaskArrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Some2<'py>,
    Some2<'py>,
    String,
    Some2<'py>,
    Some2<'py>,
    Option<Bound<'py, PyArray2<u64>>>,
);

/// Tasks and everything that made them.
pub type SequenceArrays<'py> = (Vec<TaskArrays<'py>>, Bound<'py, PyAny>);

pub fn sequence_arrays<'py>(py: Python<'py>, sequence: TaskSequence) -> PyResult<SequenceArrays<'py>> {
    let settings = object(py, &sequence.settings)?;
    let mut tasks = Vec::new();
    for task in sequence.tasks {
        let (x_test, y_test) = match task.test {
            Some(test) => (Some(array(py, test.x)?), Some(array(py, test.y)?)),
            None => (None, None),
        };
        let (f, f_test) = task.present.map_or((None, None), |present| (Some(present.train), present.test));
        let [f, f_test] = [f, f_test].map(|f| f.map(|f| array(py, f)).transpose());
        let rows = task.rows.map(|rows| {
            let rows: Vec<Vec<u64>> = rows.iter().map(|row| vec![row.image, u64::from(row.view)]).collect();
            PyArray2::from_vec2(py, &rows)
        });
        tasks.push((array(py, task.x)?, array(py, task.y)?, x_test, y_test, task.name, f?, f_test?, rows.transpose()?));
    }
    Ok((tasks, settings))
}

/// A data set with its preprocessing fitted.
#[pyclass(frozen)]
pub struct Source {
    source: Arc<ebbing::Source>,
}

#[pymethods]
impl Source {
    /// A set by its name.
    #[staticmethod]
    fn load(py: Python<'_>, name: String, preprocess: &Bound<'_, PyDict>) -> PyResult<Self> {
        let asked: Preprocess = settings(preprocess)?;
        let source = run(py, None, move |_| ebbing::Source::new(Dataset::load(&name)?, &asked))?;
        Ok(Source { source: Arc::new(source) })
    }

    /// A set of arrays: features and class labels, training and (optionally) test.
    #[staticmethod]
    fn from_arrays(
        py: Python<'_>,
        x: Matrix<'_>,
        classes: Vec<i64>,
        x_test: Option<Matrix<'_>>,
        classes_test: Option<Vec<i64>>,
        name: String,
        sha256: String,
        preprocess: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let asked: Preprocess = settings(preprocess)?;
        let part = |x: &Matrix<'_>, classes: Vec<i64>| Part {
            features: Features::Real(owned(x)),
            targets: Targets::Classes(classes),
        };
        let dataset = Dataset {
            train: part(&x, classes),
            test: x_test.as_ref().zip(classes_test).map(|(x, classes)| part(x, classes)),
            image_shape: None,
            origin: Origin { name, source: "arrays in memory".into(), sha256 },
        };
        let source = run(py, None, move |_| ebbing::Source::new(dataset, &asked))?;
        Ok(Source { source: Arc::new(source) })
    }

    /// Numbers of training and test examples.
    #[getter]
    fn sizes(&self) -> (usize, usize) {
        let set = self.source.dataset();
        (set.train.features.rows(), set.test.as_ref().map_or(0, |part| part.features.rows()))
    }

    /// Data set, hash and preprocessing.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.source.settings())
    }

    /// Height and width of an image, where rows are images.
    #[getter]
    fn image_shape(&self) -> Option<Vec<usize>> {
        self.source.dataset().image_shape.clone()
    }

    /// Prepared examples by their row numbers.
    fn examples<'py>(&self, py: Python<'py>, rows: Vec<usize>, test: bool) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let source = self.source.clone();
        array(py, run(py, None, move |_| if test { source.test(&rows) } else { source.train(&rows) })?)
    }

    /// Class labels.
    fn classes(&self, test: bool) -> PyResult<Vec<i64>> {
        let classes = if test { self.source.test_classes() } else { self.source.train_classes() };
        Ok(classes.map_err(python)?.to_vec())
    }

    /// Draws tasks by a protocol.
    fn draw<'py>(&self, py: Python<'py>, protocol: &Bound<'_, PyDict>, seed: u64) -> PyResult<SequenceArrays<'py>> {
        let protocol: Protocol = settings(protocol)?;
        let source = self.source.clone();
        let drawn = run(py, None, move |context| {
            context.plan().check("drawing these tasks", &protocol.sizes(source.dim())?, drawing_cost)?;
            protocol.generate(&source, seed)
        })?;
        sequence_arrays(py, drawn)
    }
}

/// Target columns of training and held-out labels of all tasks, by the library's one rule, which comes last.
#[pyfunction]
pub fn target_columns<'py>(
    py: Python<'py>,
    train: Vec<Labels<'py>>,
    test: Vec<Labels<'py>>,
) -> PyResult<(Vec<Bound<'py, PyArray2<f64>>>, Vec<Bound<'py, PyArray2<f64>>>, Bound<'py, PyAny>)> {
    let given = |all: &[Labels<'_>]| all.iter().map(Labels::given).collect::<Vec<_>>();
    let (train, test) = (given(&train), given(&test));
    fn named<'a>(all: &'a [RawTargets], suffix: &str) -> Vec<(String, &'a RawTargets)> {
        (1..).zip(all).map(|(t, given)| (format!("task {t}, y{suffix}"), given)).collect()
    }
    let rule = TargetRule::of_targets(&named(&train, ""), &named(&test, "_test")).map_err(python)?;
    let columns =
        |all: &[RawTargets]| -> PyResult<Vec<_>> { all.iter().map(|given| array(py, rule.apply(given))).collect() };
    Ok((columns(&train)?, columns(&test)?, object(py, &rule)?))
}

/// What to know of real targets that look like class labels.
#[pyfunction]
pub fn whole_targets(targets: Vec<Matrix<'_>>) -> Option<String> {
    let targets: Vec<Mat<f64>> = targets.iter().map(owned).collect();
    ebbing::tasks::whole_targets(&targets.iter().map(|y| y.as_ref()).collect::<Vec<_>>())
}

/// Datasets between two tasks.
#[pyfunction]
pub fn interpolated<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    steps: usize,
    seed: u64,
) -> PyResult<SequenceArrays<'py>> {
    let sequence = sequence(&tasks).map_err(python)?;
    sequence_arrays(py, run(py, None, move |_| Interpolated { steps }.apply(&sequence, seed))?)
}

/// Context vectors appended to inputs.
#[pyfunction]
pub fn with_context<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    dim: usize,
    variance: f64,
    renormalize: bool,
    seed: u64,
) -> PyResult<SequenceArrays<'py>> {
    let sequence = sequence(&tasks).map_err(python)?;
    sequence_arrays(py, run(py, None, move |_| WithContext { dim, variance, renormalize }.apply(&sequence, seed))?)
}

/// Tasks of so many classes each, out of one set of examples.
#[pyfunction]
pub fn by_class<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    made: &Bound<'_, PyDict>,
    classes_per_task: usize,
    seed: u64,
) -> PyResult<SequenceArrays<'py>> {
    let whole = sequence_with(&tasks, settings(made)?).map_err(python)?;
    sequence_arrays(py, run(py, None, move |_| ByClass { classes_per_task }.apply(whole, seed))?)
}

/// Tasks from an `.npz` file, a folder of them, or a recipe.
#[pyfunction]
pub fn load_tasks<'py>(py: Python<'py>, path: PathBuf) -> PyResult<SequenceArrays<'py>> {
    sequence_arrays(py, run(py, None, move |_| TaskSequence::load(path))?)
}

/// Tasks as one `.npz` file.
#[pyfunction]
pub fn save_tasks(py: Python<'_>, tasks: Vec<RawTask<'_>>, path: PathBuf) -> PyResult<()> {
    let sequence = sequence(&tasks).map_err(python)?;
    run(py, None, move |_| sequence.save_npz(path))
}

/// Sets of inputs, prepared with what was fitted to the first.
#[pyfunction]
pub fn prepared<'py>(
    py: Python<'py>,
    sets: Vec<Matrix<'py>>,
    preprocess: &Bound<'_, PyDict>,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let asked: Preprocess = settings(preprocess)?;
    let sets: Vec<Mat<f64>> = sets.iter().map(owned).collect();
    let done = run(py, None, move |_| {
        let Some(first) = sets.first() else { return Ok(vec![]) };
        let fitted = Preprocessor::fit(first.as_ref(), &asked)?;
        sets.iter().map(|x| fitted.apply(x.as_ref())).collect()
    })?;
    done.into_iter().map(|x| array(py, x)).collect()
}
