//! `H_T` written out with whole matrices, against which the solver's pieces are checked.

use super::chain::{Basis, Blocks, Chain, Factors};
use super::saddle::{Saddle, Solution};
use super::small::solve_small;
use super::solve::{Finite, unit_pencil};
use super::{MultiHeadSettings, TwoTasks};
use crate::kernels::{Activation, Kernel, KernelKind};
use crate::linalg::{Cholesky, Mat, Pencil};
use crate::rng::Stream;
use crate::tasks::Task;

fn tasks(sizes: &[usize], inputs: usize, seed: u64) -> Vec<Task> {
    let mut stream = Stream::new(seed, "hamiltonian test", 0);
    let mut gauss = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
    sizes.iter().map(|&p| Task::new(gauss(p, inputs), gauss(p, 1))).collect()
}

/// Everything that `D[K]` and the label term need, by the book: 𝓛, C, A, c, Σ, ḡ as whole matrices.
struct Direct {
    /// `k1[t][s]` and `k0[t][s]`, s ≤ t.
    k1: Vec<Vec<Mat<f64>>>,
    k0: Vec<Vec<Mat<f64>>>,
    y: Vec<Vec<f64>>,
    ridge: f64,
}

impl Direct {
    fn data(tasks: &[Task], settings: &MultiHeadSettings) -> Self {
        let gram = |kind, t: usize, s: usize| {
            Kernel::new(kind, settings.architecture().unwrap(), settings.prior().unwrap(), t + 1, s + 1)
                .unwrap()
                .gram(tasks[t].x.as_ref(), tasks[s].x.as_ref())
                .unwrap()
        };
        let all = |kind| (0..tasks.len()).map(|t| (0..=t).map(|s| gram(kind, t, s)).collect()).collect();
        Direct {
            k1: all(KernelKind::K1),
            k0: all(KernelKind::K0),
            y: tasks.iter().map(super::settings::labels).collect(),
            ridge: 1.0 / settings.beta,
        }
    }

    fn unit(t: usize) -> Self {
        let ones: Vec<Vec<Mat<f64>>> =
            (0..t).map(|t| (0..=t).map(|_| Mat::from_fn(1, 1, |_, _| 1.0)).collect()).collect();
        Direct { k1: ones.clone(), k0: ones, y: vec![vec![0.0]; t], ridge: 0.0 }
    }

    fn offsets(&self, t: usize) -> Vec<usize> {
        let mut at = vec![0];
        for y in &self.y[..t] {
            at.push(at[at.len() - 1] + y.len());
        }
        at
    }

    /// `ln det K̃_TT + Tr K̃_TT^{-1}Σ + (Y−ḡ)ᵀK̃_TT^{-1}(Y−ḡ)`, T = `factors.len()`.
    fn value(&self, factors: &[Factors]) -> f64 {
        let t = factors.len() - 1;
        let new = &factors[t];
        let at = self.offsets(t);
        let (n, p) = (at[t], self.y[t].len());
        let tilde = |r: usize, s: usize, i: usize, j: usize| {
            factors[r].u1(s) * self.k1[r][s][(i, j)] - factors[r].u0[s] * self.k0[r][s][(i, j)]
        };
        let mut l = vec![vec![0.0; n]; n];
        let mut c_full = vec![vec![0.0; n]; n];
        for r in 0..t {
            for s in 0..=r {
                for i in 0..self.y[r].len() {
                    for j in 0..self.y[s].len() {
                        let ridge = if r == s && i == j { self.ridge } else { 0.0 };
                        l[at[r] + i][at[s] + j] = tilde(r, s, i, j) + ridge;
                        let c = factors[r].u1(s) * self.k1[r][s][(i, j)] + ridge;
                        c_full[at[r] + i][at[s] + j] = c;
                        c_full[at[s] + j][at[r] + i] = c;
                    }
                }
            }
        }
        let transposed: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| l[j][i]).collect()).collect();
        // Rows of A solve 𝓛ᵀ aᵀ = K̃_{T,<T}ᵀ.
        let row = |i: usize, f: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
            (0..t).flat_map(|s| (0..self.y[s].len()).map(move |j| (s, j))).map(|(s, j)| f(s, i, j)).collect()
        };
        let a: Vec<Vec<f64>> =
            (0..p).map(|i| solve_small(&transposed, &row(i, &|s, i, j| tilde(t, s, i, j)))).collect();
        let c: Vec<Vec<f64>> = (0..p).map(|i| row(i, &|s, i, j| new.u1(s) * self.k1[t][s][(i, j)])).collect();
        let y: Vec<f64> = self.y[..t].iter().flatten().copied().collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let own = Mat::from_fn(p, p, |i, j| tilde(t, t, i, j) + if i == j { self.ridge } else { 0.0 });
        let factor = Cholesky::factor(own.as_ref(), "test").unwrap();
        let sigma = Mat::from_fn(p, p, |i, j| {
            let ca: Vec<f64> = c_full.iter().map(|r| dot(r, &a[j])).collect();
            new.u0[t] * self.k0[t][t][(i, j)] - dot(&a[i], &c[j]) - dot(&c[i], &a[j]) + dot(&a[i], &ca)
        });
        let solved = factor.solve(sigma.as_ref());
        let miss: Vec<f64> = (0..p).map(|i| self.y[t][i] - dot(&a[i], &y)).collect();
        factor.logdet() + (0..p).map(|i| solved[(i, i)]).sum::<f64>() + dot(&miss, &factor.solve_vec(&miss))
    }
}

fn unknowns(factors: &Factors) -> Vec<f64> {
    let t = factors.d.len() - 1;
    let mut all = vec![factors.d[0]];
    for s in 1..t {
        all.extend([factors.d[s], factors.u0[s]]);
    }
    all.extend([factors.d[t], factors.u0[t]]);
    all
}

fn chains(theory: &Finite, data: &Direct, t: usize) -> (Chain, Chain) {
    let (mut chain, mut unit) = (Chain::new(theory.ridge), Chain::new(0.0));
    for s in 0..t - 1 {
        chain.push(&blocks(data, s), &theory.factors[s], "test").unwrap();
        unit.push(&Blocks::unit(s + 1), &theory.factors[s], "test").unwrap();
    }
    (chain, unit)
}

/// The solution of step t from the largest root alone.
fn first_root(theory: &Finite, t: usize) -> crate::error::Result<Solution> {
    let (mut chain, mut unit) = (Chain::new(0.0), Chain::new(0.0));
    for s in 1..t {
        chain.push(&theory.blocks(s)?, &theory.factors[s - 1], "test")?;
        unit.push(&Blocks::unit(s), &theory.factors[s - 1], "test")?;
    }
    let new = theory.blocks(t)?;
    let pencil = Pencil::factor(new.delta[t - 1].as_ref(), new.k1[t - 1].as_ref(), "test")?;
    let terms = chain.terms(&new, &Basis::Pencil(pencil));
    let unit = unit.terms(&Blocks::unit(t), &Basis::Pencil(unit_pencil()));
    let saddle = Saddle { data: &terms, unit: &unit, width: theory.width, sigma2: theory.prior.sigma2() };
    saddle.solve(&[], "test")
}

fn blocks(data: &Direct, t: usize) -> Blocks {
    let k1 = data.k1[t].clone();
    let delta = (0..=t)
        .map(|s| Mat::from_fn(k1[s].nrows(), k1[s].ncols(), |i, j| k1[s][(i, j)] - data.k0[t][s][(i, j)]))
        .collect();
    Blocks { k1, delta, y: data.y[t].clone() }
}

#[test]
fn hamiltonian_and_gradient_of_steps_two_to_four() {
    for (beta, activation) in
        [(f64::INFINITY, Activation::Relu), (30.0, Activation::Relu), (f64::INFINITY, Activation::Erf)]
    {
        let settings =
            MultiHeadSettings { lambda: 3.0, sigma2: 0.9, beta, width: Some(5.0), activation, ..Default::default() };
        let tasks = tasks(&[4, 6, 5, 7], 9, 3);
        let theory = Finite::new(&tasks, &settings).unwrap();
        let data = Direct::data(&tasks, &settings);
        for t in 2..=4 {
            let (chain, unit) = chains(&theory, &data, t);
            let new = blocks(&data, t - 1);
            let basis = if beta.is_finite() {
                Basis::Whole(Mat::from_fn(data.y[t - 1].len(), data.y[t - 1].len(), |i, j| {
                    if i == j { 1.3 } else { 0.2 * (i + j) as f64 }
                }))
            } else {
                Basis::Pencil(Pencil::factor(new.delta[t - 1].as_ref(), new.k1[t - 1].as_ref(), "test").unwrap())
            };
            let terms = chain.terms(&new, &basis);
            let unit_terms = unit.terms(&Blocks::unit(t), &Basis::Pencil(unit_pencil()));
            let saddle = Saddle { data: &terms, unit: &unit_terms, width: 5.0, sigma2: 0.9 };
            let direct = |x: &[f64]| {
                let n = x.len();
                let mut factors = theory.factors[..t - 1].to_vec();
                factors.push(Factors::new(&x[..n - 2], x[n - 2], x[n - 1]));
                (x[n - 2] + x[n - 1]) / 0.9 - Direct::unit(t).value(&factors) + data.value(&factors) / 5.0
            };
            // A point away from the solution, where the gradient does not vanish.
            let x: Vec<f64> = unknowns(&theory.factors[t - 1]).iter().map(|u| 1.1 * u + 0.05).collect();
            let n = x.len();
            assert_eq!(n, 2 * t - 1);
            let value = |x: &[f64]| saddle.hamiltonian(&x[..n - 2], x[n - 2], x[n - 1]).unwrap().unwrap();
            let gradient = value(&x).1;
            // The solver leaves out nothing but what does not depend on the unknowns: differences of H agree to rounding.
            let y: Vec<f64> = x.iter().map(|x| 0.9 * x).collect();
            let (a, b) = (value(&x).0 - value(&y).0, direct(&x) - direct(&y));
            // The pencil's basis has det V ≠ 1, which shifts both values alike; sums of about 20 terms.
            assert!((a - b).abs() < 1e-10 * (1.0 + a.abs()), "step {t}: {a} {b}");
            for k in 0..n {
                let step = 1e-5;
                let moved = |sign: f64| {
                    let mut z = x.clone();
                    z[k] += sign * step;
                    direct(&z)
                };
                // Central differences: truncation about step², rounding about 1e-15/step.
                let slope = (moved(1.0) - moved(-1.0)) / (2.0 * step);
                assert!(
                    (slope - gradient[k]).abs() < 1e-7 * (1.0 + slope.abs()),
                    "step {t}, {k}: {slope} {}",
                    gradient[k]
                );
            }
            // And at the solution it vanishes.
            let solution = unknowns(&theory.factors[t - 1]);
            for k in 0..n {
                let moved = |sign: f64| {
                    let mut z = solution.clone();
                    z[k] += sign * 1e-5;
                    direct(&z)
                };
                let slope = (moved(1.0) - moved(-1.0)) / 2e-5;
                assert!(slope.abs() < 1e-7, "step {t}, {k}: {slope}");
            }
        }
    }
}

/// The three equations of two tasks as theory prints them, with whole matrices.
#[test]
fn printed_equations_of_two_tasks() {
    let tasks = tasks(&[6, 8], 10, 5);
    for (lambda, alpha) in [(0.0, 0.6), (2.0, 1.4), (1e3, 0.8), (1e5, 4.0)] {
        let settings = MultiHeadSettings { lambda, ..Default::default() };
        let point = TwoTasks::new(&tasks, &settings, &crate::Context::default()).unwrap().point(alpha).unwrap();
        let data = Direct::data(&tasks, &settings);
        let new = blocks(&data, 1);
        let (p, n) = (8, point.width);
        let (d, u0, u11, u12) = (point.d.coefficient, point.u0.coefficient, point.u11, point.u12);
        let (k1, delta, k0) = (&new.k1[1], &new.delta[1], &data.k0[1][1]);
        let first = Cholesky::factor(data.k1[0][0].as_ref(), "test").unwrap();
        let tilde = Mat::from_fn(p, p, |i, j| d * k1[(i, j)] + u0 * delta[(i, j)]);
        let m = Cholesky::factor(tilde.as_ref(), "test").unwrap().solve(Mat::<f64>::identity(p, p).as_ref());
        let g = &new.k1[0] * first.solve(new.k1[0].transpose());
        let b = &new.k1[0] * Mat::from_fn(6, 1, |i, _| first.solve_vec(&data.y[0])[i]);
        let y = Mat::from_fn(p, 1, |i, _| data.y[1][i] - u12 / u11 * b[(i, 0)]);
        let trace = |a: &Mat<f64>| (0..a.nrows()).map(|i| a[(i, i)]).sum::<f64>();
        let (mk0, md) = (&m * k0, &m * delta);
        let q = u12 * u12 / u11;
        let form = |a: &Mat<f64>, b: &Mat<f64>| (a.transpose() * b)[(0, 0)];
        let my = &m * &y;
        let equations = [
            vec![u12 / (u11 * d), -u12 * trace(&(&g * &m)) / (n * u11), -form(&b, &my) / (n * u11)],
            vec![
                (u0 - q) / (d * d),
                -u0 / n * trace(&(&mk0 * &mk0)),
                q / n * trace(&(&g * &mk0 * &m)),
                -form(&my, &(k0 * &my)) / n,
            ],
            vec![
                1.0 / d,
                -1.0,
                u0 / n * trace(&(&md * &mk0)),
                -trace(&(&m * k1)) / n,
                -q / n * trace(&(&g * &md * &m)),
                form(&my, &(delta * &my)) / n,
            ],
        ];
        for (e, terms) in equations.iter().enumerate() {
            let size: f64 = terms.iter().map(|t| t.abs()).sum();
            // Whole matrices lose what cancels: λ·ε relative to the largest terms.
            let sum: f64 = terms.iter().sum();
            assert!(sum.abs() < 1e-11 * size, "lambda {lambda}, alpha {alpha}, equation {e}: {sum:e} of {size:e}");
        }
    }
}

/// In every case the largest root of the scalar equation in ρ = u0/d is a solution, with a positive spread and readouts
/// that obey Cauchy and Schwarz.
#[test]
fn largest_root_in_random_cases() {
    let mut stream = Stream::new(8, "random cases", 0);
    for case in 0..120 {
        let count = 2 + case % 3;
        let sizes: Vec<usize> = (0..count).map(|_| 3 + stream.below(12)).collect();
        let mut tasks = tasks(&sizes, 6 + stream.below(20), 100 + case as u64);
        if case % 4 == 0 {
            let noise = stream.uniform();
            let (x, y) = (tasks[0].x.clone(), tasks[0].y.clone());
            for task in &mut tasks[1..] {
                task.x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] + noise * stream.normal());
                task.y = Mat::from_fn(x.nrows(), 1, |i, _| y[(i, 0)] + 0.3 * noise);
            }
        }
        for _ in 0..5 {
            let lambda = if case % 10 == 0 { 0.0 } else { 10f64.powf(10.0 * stream.uniform() - 2.0) };
            let alpha = 10f64.powf(3.0 * stream.uniform() - 1.5);
            let sigma2 = 0.5 + stream.uniform();
            let settings = MultiHeadSettings { lambda, sigma2, alpha: Some(alpha), ..Default::default() };
            let what = format!("case {case}: lambda {lambda}, alpha {alpha}");
            let theory = Finite::new(&tasks, &settings).unwrap_or_else(|e| panic!("{what}: {e}"));
            for t in 2..=count {
                let largest = first_root(&theory, t).unwrap_or_else(|e| panic!("{what}, step {t}: {e}"));
                // The same Newton iteration from the same start.
                assert_eq!((largest.d, largest.u0), (theory.d(t, t), theory.u0(t, t)), "{what}, step {t}");
                for s in 1..t {
                    let bound = theory.u1(t, t) * theory.u1(s, s);
                    assert!(theory.u1(t, s).powi(2) <= bound * (1.0 + 1e-9), "{what}: u1({t},{s})");
                }
            }
        }
    }
}

/// Temperature couples three matrices that share no basis: the start from a frozen `β^{-1}/d` must still arrive.
#[test]
fn finite_temperature_in_random_cases() {
    let mut stream = Stream::new(9, "random warm cases", 0);
    for case in 0..100 {
        let count = 2 + case % 3;
        let sizes: Vec<usize> = (0..count).map(|_| 3 + stream.below(12)).collect();
        // Fewer inputs than examples in some cases: kernels that only temperature makes regular for linear networks.
        let inputs = 3 + stream.below(20);
        let tasks = tasks(&sizes, inputs, 300 + case as u64);
        for _ in 0..5 {
            let lambda = if case % 10 == 0 { 0.0 } else { 10f64.powf(8.0 * stream.uniform() - 2.0) };
            let alpha = 10f64.powf(2.0 * stream.uniform() - 1.0);
            let beta = 10f64.powf(4.0 * stream.uniform());
            let activation = if case % 2 == 0 { Activation::Relu } else { Activation::Linear };
            let settings = MultiHeadSettings { lambda, alpha: Some(alpha), beta, activation, ..Default::default() };
            let what = format!("case {case}, T = {count}: lambda {lambda}, alpha {alpha}, beta {beta}, {activation:?}");
            let theory = Finite::new(&tasks, &settings).unwrap_or_else(|e| panic!("{what}: {e}"));
            for t in 2..=count {
                for s in 1..t {
                    let bound = theory.u1(t, t) * theory.u1(s, s);
                    assert!(theory.u1(t, s).powi(2) <= bound * (1.0 + 1e-9), "{what}: u1({t},{s})");
                }
            }
        }
    }
}
