//! Ebbing's own side: reads works from standard input and does them with the library, as the peers do with theirs.

use super::side::Fallible;
use super::steps::Shape;
use crate::timing::timed;
use ebbing::data::{Array, read_npz, write_npz};
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, matvec};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::theory::order_parameters::{OrderParameterSettings, order_parameters};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Kernel, SingleHead, Task, TaskSequence};
use faer::{Accum, Par};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::BufRead;

/// A line of `/proc/self/status` in bytes, where the system tells.
fn status_bytes(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

/// Restarts the count of the largest resident memory, where the system allows it; else it is that of the whole process.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Arrays by name.
type Arrays = BTreeMap<String, Mat<f64>>;

/// What is kept between requests for the same inputs.
struct Server {
    path: String,
    arrays: Arrays,
    sequence: TaskSequence,
    kernel: Option<(KernelKind, usize, Kernel)>,
}

/// Seconds, results, and the number of solved loads.
struct Done {
    seconds: f64,
    results: Vec<(&'static str, Mat<f64>)>,
    converged: Option<usize>,
}

impl Done {
    fn new(seconds: f64, results: Vec<(&'static str, Mat<f64>)>) -> Done {
        Done { seconds, results, converged: None }
    }
}

/// Answers until standard input ends.
pub fn serve() -> Fallible<()> {
    let mut server = Server::new("");
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = server.answer(&request);
        println!("{}", answer.unwrap_or_else(|problem| json!({"error": problem.to_string()})));
    }
    Ok(())
}

impl Server {
    fn new(path: &str) -> Server {
        let sequence = TaskSequence { tasks: vec![], settings: Value::Null };
        Server { path: path.into(), arrays: Arrays::new(), sequence, kernel: None }
    }

    fn answer(&mut self, request: &Value) -> Fallible<Value> {
        if let Some(path) = request["inputs"].as_str() {
            self.load(path)?;
        }
        forget_peak();
        let base = status_bytes("VmRSS");
        let depth = request["depth"].as_u64().unwrap_or(1) as usize;
        let done = match request["work"].as_str().unwrap_or_default() {
            "nngp" => self.gram(KernelKind::Nngp, depth, true)?,
            "ntk" => self.gram(KernelKind::Ntk, depth, true)?,
            "gram" => self.gram(KernelKind::Nngp, depth, false)?,
            "forgetting" => self.forgetting(depth)?,
            "order_parameters" => self.order_parameters(depth)?,
            "two_tasks" => self.two_tasks(request)?,
            "regression" => self.regression(depth)?,
            "step" => Done::new(Shape::of(request)?.seconds(request["steps"].as_u64().unwrap_or(1) as usize)?, vec![]),
            "product" => Done::new(self.product(request["precision"] == "f32")?, vec![]),
            other => return Err(format!("there is no work '{other}'").into()),
        };
        let peak = status_bytes("VmHWM");
        if let Some(out) = request["out"].as_str() {
            let arrays: Vec<_> = done.results.iter().map(|(name, m)| (*name, Array::from_mat(m.as_ref()))).collect();
            write_npz(out, &arrays.iter().map(|(name, array)| (*name, array)).collect::<Vec<_>>())?;
        }
        let converged = done.converged;
        Ok(json!({"seconds": done.seconds, "peak_bytes": peak, "base_bytes": base, "converged": converged}))
    }

    /// Reads a file unless it was the last one; `x0, y0, x1 …` become tasks.
    fn load(&mut self, path: &str) -> Fallible<()> {
        if self.path == path {
            return Ok(());
        }
        *self = Server::new(path);
        for (name, array) in read_npz(path)? {
            self.arrays.insert(name, array.to_mat());
        }
        for t in 0..self.arrays.len() {
            let [x, y] = ["x", "y"].map(|name| self.arrays.remove(&format!("{name}{t}")));
            if let (Some(x), Some(y)) = (x, y) {
                self.sequence.tasks.push(Task { name: String::new(), x, y, rows: None, test: None });
            }
        }
        Ok(())
    }

    fn array(&self, name: &str) -> Fallible<&Mat<f64>> {
        self.arrays.get(name).ok_or_else(|| format!("{} has no array '{name}'", self.path).into())
    }

    fn gram(&mut self, kind: KernelKind, depth: usize, symmetric: bool) -> Fallible<Done> {
        let kept = self.kernel.take().filter(|(k, d, _)| (*k, *d) == (kind, depth));
        let kernel = match kept {
            Some((_, _, kernel)) => kernel,
            None => Kernel::new(kind, relu(depth), WeightPrior::new(1.0, 1.0)?, 1, 1)?,
        };
        let x = self.array("x")?.as_ref();
        let (k, [seconds, _]) = timed(|| if symmetric { kernel.gram_symmetric(x) } else { kernel.gram(x, x) });
        let k = k?;
        self.kernel = Some((kind, depth, kernel));
        Ok(Done::new(seconds, vec![("k", k)]))
    }

    fn forgetting(&self, depth: usize) -> Fallible<Done> {
        let settings = SingleHeadSettings { architecture: relu(depth), ..Default::default() };
        let (f, [seconds, _]) = timed(|| SingleHead::new(&self.sequence, &settings)?.forgetting());
        let f = f?;
        Ok(Done::new(seconds, vec![("f", Mat::from_fn(f.len(), f.len(), |t, s| f[t][s]))]))
    }

    fn order_parameters(&self, depth: usize) -> Fallible<Done> {
        let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
        let (pairs, [seconds, _]) = timed(|| order_parameters(&self.sequence, &settings));
        let tasks = self.sequence.tasks.len();
        let mut all = ["gamma_feature", "gamma_rf", "gamma_rule"].map(|name| (name, Mat::zeros(tasks, tasks)));
        for pair in pairs? {
            let values = [pair.values.gamma_feature, pair.values.gamma_rf, pair.values.gamma_rule];
            all.iter_mut().zip(values).for_each(|((_, m), v)| m[(pair.first - 1, pair.second - 1)] = v);
        }
        Ok(Done::new(seconds, all.into()))
    }

    fn two_tasks(&self, request: &Value) -> Fallible<Done> {
        let number = |name: &str| request[name].as_f64().ok_or_else(|| format!("{name} is missing"));
        let settings = MultiHeadSettings { lambda: number("lambda")?, sigma2: number("sigma2")?, ..Default::default() };
        let alphas = self.array("alphas")?;
        let alphas: Vec<f64> = (0..alphas.nrows()).map(|i| alphas[(i, 0)]).collect();
        let (points, [seconds, _]) = timed(|| TwoTasks::new(&self.sequence.tasks, &settings)?.points(&alphas));
        let points = points?;
        let column = |f: &dyn Fn(usize) -> f64| Mat::from_fn(points.len(), 1, |i, _| f(i));
        let results = vec![
            ("u11", column(&|i| points[i].u11)),
            ("u12", column(&|i| points[i].u12)),
            ("u0", column(&|i| points[i].u0.coefficient)),
        ];
        // A load that is not solved is an error.
        Ok(Done { seconds, results, converged: Some(points.len()) })
    }

    fn regression(&self, depth: usize) -> Fallible<Done> {
        let (x, y, test) = (self.array("x")?, self.array("y")?, self.array("x_test")?);
        let kernel = Kernel::new(KernelKind::Nngp, relu(depth), WeightPrior::new(1.0, 1.0)?, 1, 1)?;
        let (f, [seconds, _]) = timed(|| -> ebbing::Result<Vec<f64>> {
            let factor = Cholesky::factor_owned(kernel.gram_symmetric(x.as_ref())?, "kernel")?;
            let weights = factor.solve_vec(y.col_as_slice(0));
            Ok(matvec(kernel.gram(test.as_ref(), x.as_ref())?.as_ref(), &weights))
        });
        let f = f?;
        Ok(Done::new(seconds, vec![("f", Mat::from_fn(f.len(), 1, |i, _| f[i]))]))
    }

    /// Seconds of a square product by faer.
    fn product(&self, single: bool) -> Fallible<f64> {
        let a = self.array("a")?;
        Ok(if single { square(&Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] as f32)) } else { square(a) })
    }
}

fn relu(depth: usize) -> Architecture {
    Architecture { activation: Activation::Relu, depth }
}

/// `A A` by faer on the threads of the pool.
fn square<T: faer::traits::ComplexField>(a: &Mat<T>) -> f64 {
    let mut c = Mat::zeros(a.nrows(), a.ncols());
    let one = T::one_impl();
    let ((), [seconds, _]) = timed(|| faer::linalg::matmul::matmul(&mut c, Accum::Replace, a, a, one, Par::rayon(0)));
    black_box(c);
    seconds
}
