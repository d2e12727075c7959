//! Ebbing's own side of the comparison: works done with the library on request, as the peers do theirs (`protocol.py`).
//!
//! `bash paper/compare` starts it. Beside the peers' works there are `gram` (of two sets of inputs), `tasks` (inputs for
//! the others, from the embedded images) and `figures` (of what was measured).

mod figures;
#[path = "../../benches/timing.rs"]
mod timing;

use ebbing::Context;
use ebbing::data::{Array, Preprocess, read_npz, write_npz};
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, MatRef, matvec};
use ebbing::nets::{Mlp, TrainSettings};
use ebbing::rng::Stream;
use ebbing::tasks::Permuted;
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::theory::order_parameters::{OrderParameterSettings, order_parameters};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Dataset, Error, Kernel, SingleHead, Source, Task, TaskSequence, Trainer};
use faer::{Accum, Par};
use serde_json::{Value, from_value, json};
use std::collections::BTreeMap;
use std::time::Instant;
use timing::timed;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Seconds, results by name, and what else belongs into the answer.
type Done = (f64, Vec<(String, Mat<f64>)>, Value);

fn main() -> Fallible<()> {
    if !std::env::args().any(|word| word == "--serve") {
        println!("`bash paper/compare` prepares the peers and compares with this");
        return Ok(());
    }
    let mut server = Server::new("");
    for line in std::io::stdin().lines() {
        let answer = server.answer(&serde_json::from_str(&line?)?);
        println!("{}", answer.unwrap_or_else(|problem| json!({"error": problem.to_string()})));
    }
    Ok(())
}

/// A line of `/proc/self/status` in bytes, where the system reports it.
fn status_bytes(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

/// What is kept between requests for the same inputs.
struct Server {
    path: String,
    arrays: BTreeMap<String, Mat<f64>>,
    sequence: TaskSequence,
    kernel: Option<(KernelKind, usize, Kernel)>,
}

impl Server {
    fn new(path: &str) -> Server {
        let sequence = TaskSequence { tasks: vec![], settings: Default::default() };
        Server { path: path.into(), arrays: BTreeMap::new(), sequence, kernel: None }
    }

    fn answer(&mut self, request: &Value) -> Fallible<Value> {
        self.load(request["inputs"].as_str().unwrap_or_default())?;
        // Restarts the count of the largest resident memory, where the system allows it.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let base = status_bytes("VmRSS");
        let depth = request["depth"].as_u64().unwrap_or(1) as usize;
        let architecture = Architecture { activation: Activation::Relu, depth };
        let (seconds, results, mut answer) = match request["work"].as_str().unwrap_or_default() {
            "nngp" => self.gram(KernelKind::Nngp, architecture, true)?,
            "ntk" => self.gram(KernelKind::Ntk, architecture, true)?,
            "gram" => self.gram(KernelKind::Nngp, architecture, false)?,
            "forgetting" => self.forgetting(architecture)?,
            "order_parameters" => self.order_parameters(architecture)?,
            "two_tasks" => self.two_tasks(request)?,
            "regression" => self.regression(architecture)?,
            "product" => self.product(request["precision"] == "f32")?,
            "step" => step(request)?,
            "steps" => steps(request)?,
            "tasks" => tasks(request)?,
            "figures" => figures::draw(request)?,
            other => return Err(format!("there is no work '{other}'").into()),
        };
        for (name, value) in [("seconds", Some(seconds)), ("peak_bytes", status_bytes("VmHWM")), ("base_bytes", base)] {
            answer[name] = json!(value);
        }
        if let Some(out) = request["out"].as_str() {
            let arrays: Vec<_> = results.iter().map(|(name, m)| (name, Array::from_mat(m.as_ref()))).collect();
            write_npz(out, &arrays.iter().map(|(name, array)| (name.as_str(), array)).collect::<Vec<_>>())?;
        }
        Ok(answer)
    }

    /// Reads a file unless it was the last one; `x0, y0, x1 …` become tasks.
    fn load(&mut self, path: &str) -> Fallible<()> {
        if path.is_empty() || self.path == path {
            return Ok(());
        }
        *self = Server::new(path);
        self.arrays = read_npz(path)?.into_iter().map(|(name, array)| (name, array.to_mat())).collect();
        for t in 0..self.arrays.len() {
            let [x, y] = ["x", "y"].map(|name| self.arrays.remove(&format!("{name}{t}")));
            if let (Some(x), Some(y)) = (x, y) {
                self.sequence.tasks.push(Task { name: String::new(), x, y, rows: None, test: None, present: None });
            }
        }
        Ok(())
    }

    fn array(&self, name: &str) -> Fallible<&Mat<f64>> {
        self.arrays.get(name).ok_or_else(|| format!("{} has no array '{name}'", self.path).into())
    }

    fn gram(&mut self, kind: KernelKind, architecture: Architecture, symmetric: bool) -> Fallible<Done> {
        let depth = architecture.depth;
        let kernel = match self.kernel.take().filter(|(k, d, _)| (*k, *d) == (kind, depth)) {
            Some((_, _, kernel)) => kernel,
            None => Kernel::new(kind, architecture, WeightPrior::new(1.0, 1.0)?, 1, 1)?,
        };
        let x = self.array("x")?.as_ref();
        let (k, [seconds, _]) = timed(|| if symmetric { kernel.gram_symmetric(x) } else { kernel.gram(x, x) });
        self.kernel = Some((kind, depth, kernel));
        Ok((seconds, vec![("k".into(), k?)], json!({})))
    }

    fn forgetting(&self, architecture: Architecture) -> Fallible<Done> {
        let settings = SingleHeadSettings { architecture, ..Default::default() };
        let (f, [seconds, _]) = timed(|| SingleHead::new(&self.sequence, &settings, &Context::default())?.forgetting());
        let f = f?;
        Ok((seconds, vec![("f".into(), Mat::from_fn(f.len(), f.len(), |t, s| f[t][s]))], json!({})))
    }

    fn order_parameters(&self, architecture: Architecture) -> Fallible<Done> {
        let settings = OrderParameterSettings { architecture, ..Default::default() };
        let (pairs, [seconds, _]) = timed(|| order_parameters(&self.sequence, &settings, &Context::default()));
        let n = self.sequence.tasks.len();
        let mut all = ["gamma_feature", "gamma_rf", "gamma_rule"].map(|name| (name.into(), Mat::zeros(n, n)));
        for pair in pairs? {
            let values = [pair.values.gamma_feature, pair.values.gamma_rf, pair.values.gamma_rule];
            all.iter_mut().zip(values).for_each(|((_, m), v)| m[(pair.first - 1, pair.second - 1)] = v);
        }
        Ok((seconds, all.into(), json!({})))
    }

    fn two_tasks(&self, request: &Value) -> Fallible<Done> {
        let [lambda, sigma2] = [number(request, "lambda")?, number(request, "sigma2")?];
        let settings = MultiHeadSettings { lambda, sigma2, ..Default::default() };
        let alphas = self.array("alphas")?.col_as_slice(0);
        let (points, [seconds, _]) =
            timed(|| TwoTasks::new(&self.sequence.tasks, &settings, &Context::default())?.points(alphas));
        let points = points?;
        let column = |name: &str, f: &dyn Fn(usize) -> f64| (name.into(), Mat::from_fn(points.len(), 1, |i, _| f(i)));
        let [u11, u12] = [column("u11", &|i| points[i].u11), column("u12", &|i| points[i].u12)];
        // A load that is not solved is an error.
        let converged = json!({"converged": points.len()});
        Ok((seconds, vec![u11, u12, column("u0", &|i| points[i].u0.coefficient)], converged))
    }

    fn regression(&self, architecture: Architecture) -> Fallible<Done> {
        let (x, y, test) = (self.array("x")?, self.array("y")?, self.array("x_test")?);
        let kernel = Kernel::new(KernelKind::Nngp, architecture, WeightPrior::new(1.0, 1.0)?, 1, 1)?;
        let (f, [seconds, _]) = timed(|| -> ebbing::Result<Vec<f64>> {
            let factor = Cholesky::factor_owned(kernel.gram_symmetric(x.as_ref())?, "kernel")?;
            let weights = factor.solve_vec(y.col_as_slice(0));
            Ok(matvec(kernel.gram(test.as_ref(), x.as_ref())?.as_ref(), &weights))
        });
        let f = f?;
        Ok((seconds, vec![("f".into(), Mat::from_fn(f.len(), 1, |i, _| f[i]))], json!({})))
    }

    /// A square product by faer.
    fn product(&self, single: bool) -> Fallible<Done> {
        let a = self.array("a")?;
        let seconds =
            if single { square(&Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] as f32)) } else { square(a) };
        Ok((seconds, vec![], json!({})))
    }
}

fn number(request: &Value, name: &str) -> Fallible<f64> {
    request[name].as_f64().ok_or_else(|| format!("{name} is missing").into())
}

/// Seconds of `A A` by faer on the threads of the pool.
fn square<T: faer::traits::ComplexField>(a: &Mat<T>) -> f64 {
    let mut c = Mat::zeros(a.nrows(), a.ncols());
    let one = T::one_impl();
    let ((), [seconds, _]) = timed(|| faer::linalg::matmul::matmul(&mut c, Accum::Replace, a, a, one, Par::rayon(0)));
    std::hint::black_box(c);
    seconds
}

/// Random data in single precision for a network of `shape` (P, N0, width, hidden layers), and its settings but for the rate.
fn problem(request: &Value) -> Fallible<(Task, TrainSettings)> {
    let [p, n0, width, depth]: [usize; 4] = from_value(request["shape"].clone())?;
    let activation: Option<Activation> = from_value(request["activation"].clone())?;
    let mut stream = Stream::new(1, "step bench", 0);
    let mut draw = |cols| Mat::from_fn(p, cols, |_, _| f64::from(stream.normal() as f32));
    let task = Task { name: "bench".into(), x: draw(n0), y: draw(1), rows: None, test: None, present: None };
    let architecture = Architecture { activation: activation.unwrap_or_default(), depth };
    Ok((task, TrainSettings { architecture, width, threshold: 1e-30, ..Default::default() }))
}

/// Seconds of a full-batch gradient step: the best over stretches of a training run between two reports of progress.
fn step(request: &Value) -> Fallible<Done> {
    let (task, settings) = problem(request)?;
    let settings = TrainSettings { eta: Some(number(request, "eta")?), max_steps: usize::MAX, ..settings };
    let steps = number(request, "steps")? as usize;
    let mut last: Option<(usize, Instant)> = None;
    let (mut best, mut done) = (f64::INFINITY, 0);
    let ended = Trainer::new(&[task], &settings, &Context::default())?.learn_next(&mut |at| {
        let now = Instant::now();
        // The first steps warm caches up.
        if at.step < 2 {
            return true;
        }
        if let Some((step, since)) = last {
            best = best.min((now - since).as_secs_f64() / (at.step - step) as f64);
            done += at.step - step;
        }
        last = Some((at.step, now));
        done < steps
    });
    match ended {
        Ok(()) | Err(Error::Stopped) => Ok((best, vec![], json!({}))),
        Err(other) => Err(other.into()),
    }
}

/// Takes steps at the rate where the automatic one ends: data, weights before and after, squared error.
fn steps(request: &Value) -> Fallible<Done> {
    let (task, settings) = problem(request)?;
    let tasks = [task];
    let max_steps = number(request, "steps")? as usize;
    let new = |eta| Trainer::new(&tasks, &TrainSettings { eta, max_steps, ..settings.clone() }, &Context::default());
    let mut found = new(None)?;
    found.learn_next(&mut |_| true)?;
    let mut trainer = new(Some(found.trained().reports[0].eta))?;
    let mut results = layers("before", trainer.net());
    trainer.learn_next(&mut |_| true)?;
    results.extend(layers("after", trainer.net()));
    let [Task { x, y, .. }] = tasks;
    let report = &trainer.trained().reports[0];
    results.extend([("x".into(), x), ("y".into(), y), ("mse".into(), Mat::full(1, 1, report.mse))]);
    Ok((0.0, results, json!({"eta": report.eta, "moved": report.moved})))
}

/// The weights of every layer, from inputs to outputs, in × out, with names.
fn layers(name: &str, net: &Mlp) -> Vec<(String, Mat<f64>)> {
    let wide = |m: MatRef<'_, f32>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::from(m[(i, j)]));
    let all = net.hidden().iter().map(|w| wide(w.transpose())).chain([wide(net.readouts()[0].as_ref())]);
    all.enumerate().map(|(k, w)| (format!("{name}{k}"), w)).collect()
}

/// Permuted tasks from the embedded images, `x0, y0, x1 …`, numbered from `first`.
fn tasks(request: &Value) -> Fallible<Done> {
    let protocol: Permuted = from_value(request["permuted"].clone())?;
    let sequence = protocol.generate(&Source::new(Dataset::sample()?, &Preprocess::default())?, 1)?;
    let numbered = (number(request, "first")? as usize..).zip(sequence.tasks);
    let results = numbered.flat_map(|(t, task)| [(format!("x{t}"), task.x), (format!("y{t}"), task.y)]);
    Ok((0.0, results.collect(), json!({})))
}
