//! NumPy arrays as matrices and back, without a copy where layouts allow.

use ebbing::TaskSequence;
use ebbing::linalg::{Mat, MatRef};
use ebbing::tasks::{self, Class, PoolRow, Present, Provenance, RawTargets};
use numpy::ndarray::{ArrayView1, ArrayView2, ShapeBuilder};
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A matrix that came from Python: one example per row.
pub type Matrix<'py> = PyReadonlyArray2<'py, f64>;

/// Inputs, targets, held-out inputs, held-out targets, name, outputs at the start, the same on held-out inputs, and which image
/// and view of it each input is.
pub type RawTask<'py> = (
    Matrix<'py>,
    Labels<'py>,
    Option<Matrix<'py>>,
    Option<Labels<'py>>,
    String,
    Option<Matrix<'py>>,
    Option<Matrix<'py>>,
    Option<PyReadonlyArray2<'py, u64>>,
);

/// Targets that came from Python: numbers, or one class per example.
#[derive(FromPyObject)]
pub enum Labels<'py> {
    /// Real targets, one row per example.
    Real(Matrix<'py>),
    /// Integer (or boolean) classes.
    Integers(Vec<i64>),
    /// Classes by name.
    Names(Vec<String>),
}

impl Labels<'_> {
    /// The same, owned.
    pub fn given(&self) -> RawTargets {
        match self {
            Labels::Real(y) => RawTargets::Real(owned(y)),
            Labels::Integers(labels) => RawTargets::Classes(labels.iter().copied().map(Class::Number).collect()),
            Labels::Names(labels) => RawTargets::Classes(labels.iter().cloned().map(Class::Name).collect()),
        }
    }
}

/// The array itself where it is contiguous (C or Fortran order), `None` where it is strided.
pub fn view<'a>(x: &'a Matrix<'_>) -> Option<MatRef<'a, f64>> {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let values = x.as_slice().ok()?;
    Some(if x.is_fortran_contiguous() {
        MatRef::from_column_major_slice(values, rows, columns)
    } else {
        MatRef::from_row_major_slice(values, rows, columns)
    })
}

/// A copy that outlives the array.
pub fn owned(x: &Matrix<'_>) -> Mat<f64> {
    match view(x) {
        Some(view) => view.to_owned(),
        None => {
            let array = x.as_array();
            Mat::from_fn(array.nrows(), array.ncols(), |i, j| array[(i, j)])
        }
    }
}

/// A checked sequence out of the tasks given; classes become target columns by the library's one rule.
pub fn sequence(tasks: &[RawTask<'_>]) -> ebbing::Result<TaskSequence> {
    sequence_with(tasks, Provenance::default())
}

/// The same with what made the tasks.
pub fn sequence_with(tasks: &[RawTask<'_>], settings: Provenance) -> ebbing::Result<TaskSequence> {
    let task = |(t, (x, y, x_test, y_test, name, f, f_test, rows)): (usize, &RawTask<'_>)| tasks::RawTask {
        name: name.clone(),
        place: format!("task {}, y", t + 1),
        x: owned(x),
        y: y.given(),
        rows: rows.as_ref().map(pool_rows),
        test: x_test.as_ref().zip(y_test.as_ref()).map(|(x, y)| (owned(x), y.given())),
        present: f.as_ref().map(|f| Present { train: owned(f), test: f_test.as_ref().map(owned) }),
    };
    TaskSequence::of_raw(tasks.iter().enumerate().map(task).collect(), settings)
}

fn pool_rows(rows: &PyReadonlyArray2<'_, u64>) -> Vec<PoolRow> {
    let row = |row: ArrayView1<'_, u64>| PoolRow { image: row[0], view: row[1] as u32 };
    rows.as_array().rows().into_iter().filter(|row| row.len() == 2).map(row).collect()
}

/// Keeps a matrix alive for the array that shows it.
#[pyclass(frozen)]
struct Owner {
    _matrix: Mat<f64>,
}

/// The matrix as an array, its memory included (columns are contiguous).
pub fn array(py: Python<'_>, mut matrix: Mat<f64>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = (matrix.nrows(), matrix.ncols());
    let stride = matrix.col_stride().unsigned_abs();
    if shape.0 == 0 || shape.1 == 0 {
        return Ok(PyArray2::zeros(py, shape, true));
    }
    let values = matrix.as_mut().as_ptr_mut();
    let owner = Bound::new(py, Owner { _matrix: matrix })?;
    // SAFETY: the pointer, shape and strides are those of the matrix, whose heap memory stays where it is while `owner`
    // lives; the array holds a reference to `owner`, and nothing else reads or writes the matrix any more.
    unsafe {
        let view = ArrayView2::from_shape_ptr(shape.strides((1, stride)), values);
        Ok(PyArray2::borrow_from_array(&view, owner.into_any()))
    }
}
