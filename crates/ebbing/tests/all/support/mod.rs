//! What several questions share: reference files, random tasks, comparisons, and an allocator that counts.

pub mod allocator;

use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::{Mat, MatRef};
use ebbing::rng::Stream;
use ebbing::{Task, TaskSequence};
use serde_json::Value;

/// A file of numbers that were computed independently.
pub fn reference(name: &str) -> Value {
    let path = format!("{}/../../tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

pub fn array(v: &Value) -> &[Value] {
    v.as_array().unwrap_or_else(|| panic!("not an array: {v}"))
}

pub fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("not a number: {v}"))
}

pub fn whole(v: &Value) -> usize {
    v.as_u64().unwrap_or_else(|| panic!("not a whole number: {v}")) as usize
}

pub fn vector(v: &Value) -> Vec<f64> {
    array(v).iter().map(number).collect()
}

/// An array of rows; an array of numbers is one column.
pub fn matrix(v: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> =
        array(v).iter().map(|row| if row.is_array() { vector(row) } else { vec![number(row)] }).collect();
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

pub fn task(v: &Value) -> Task {
    Task::new(matrix(&v["x"]), matrix(&v["y"]))
}

pub fn tasks(v: &Value) -> Vec<Task> {
    array(v).iter().map(task).collect()
}

/// Tasks in memory, unchecked.
pub fn sequence(tasks: Vec<Task>) -> TaskSequence {
    TaskSequence { tasks, settings: Default::default() }
}

pub fn relu(depth: usize) -> Architecture {
    Architecture { activation: Activation::Relu, depth }
}

pub fn gauss(stream: &mut Stream, rows: usize, columns: usize) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

/// Gaussian inputs with targets ±1.
pub fn random_task(stream: &mut Stream, p: usize, dim: usize) -> Task {
    let x = gauss(stream, p, dim);
    Task::new(x, Mat::from_fn(p, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 }))
}

pub fn column_matrix(y: &[f64]) -> Mat<f64> {
    Mat::from_fn(y.len(), 1, |i, _| y[i])
}

pub fn row(x: &Mat<f64>, i: usize) -> Vec<f64> {
    (0..x.ncols()).map(|j| x[(i, j)]).collect()
}

/// The first target column.
pub fn labels(y: &Mat<f64>) -> Vec<f64> {
    y.col_as_slice(0).to_vec()
}

/// Asserts `|got − want| ≤ bound`.
#[track_caller]
pub fn within(got: f64, want: f64, bound: f64, what: &str) {
    let error = (got - want).abs();
    assert!(error <= bound, "{what}: {got:.12e} against {want:.12e}, off by {error:.1e} > {bound:.1e}");
}

/// Asserts a tolerance relative to the larger of |want| and `floor`.
#[track_caller]
pub fn close(got: f64, want: f64, tolerance: f64, floor: f64, what: &str) {
    within(got, want, tolerance * want.abs().max(floor), what);
}

pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

/// Mean and standard deviation of draws.
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

/// `A^{-1} B` by Gaussian elimination with row pivots: slow, plain, and none of the library's.
pub fn eliminate(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let (mut a, mut b, n) = (a.to_owned(), b.to_owned(), a.nrows());
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[(i, k)].abs().total_cmp(&a[(j, k)].abs())).unwrap();
        for m in [&mut a, &mut b] {
            for j in 0..m.ncols() {
                (m[(k, j)], m[(pivot, j)]) = (m[(pivot, j)], m[(k, j)]);
            }
        }
        for i in (0..n).filter(|i| *i != k) {
            let factor = a[(i, k)] / a[(k, k)];
            (k..n).for_each(|j| a[(i, j)] -= factor * a[(k, j)]);
            (0..b.ncols()).for_each(|j| b[(i, j)] -= factor * b[(k, j)]);
        }
    }
    Mat::from_fn(n, b.ncols(), |i, j| b[(i, j)] / a[(i, i)])
}

/// Asserts that it is refused in one sentence with all these words.
#[track_caller]
pub fn refused<T>(result: ebbing::Result<T>, words: &[&str]) {
    let Err(error) = result else { panic!("accepted, expected an error about {words:?}") };
    let text = error.to_string();
    assert!(words.iter().all(|w| text.contains(w)), "{text:?} does not speak of {words:?}");
    assert!(!text.contains('\n'), "more than a sentence: {text}");
}

/// What `work` gives on so many threads.
pub fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}
