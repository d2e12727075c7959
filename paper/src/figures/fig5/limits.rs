//! Claims of the text about networks with a readout per task that no panel shows: α → 0, linear networks, sampled networks.

use super::super::drawn::{ByRatio, Drawn};
use super::super::loads::{Setup, column, labels, largest, ratio_cell};
use super::{EXAMPLES, Fig5};
use crate::claim::Claim;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, column as as_column, dot, matmul};
use ebbing::nets::PosteriorSettings;
use ebbing::plan::{Cost, sample_cost};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::{Kernel, MultiHead, Recipe, sample_posterior};
use ebbing_studies::{Column, Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The load that stands for 0: corrections are proportional to it.
const SMALL_LOAD: f64 = 1e-5;
/// Examples per task of the linear networks: fewer than inputs, so that kernels are not singular.
const LINEAR_P: usize = 300;
/// Examples per task of the sampled networks, half of whose pixels are permuted in task 2.
const SAMPLED_P: usize = 20;
/// Their width, penalty and inverse temperature.
const SAMPLED: (usize, f64, f64) = (40, 5.0, 2000.0);
/// Chains of one cell of sampled networks; the moves that they warm up with (shorter ones are not in equilibrium) and keep.
const CHAINS: usize = 8;
const MOVES: [usize; 2] = [1000, 300];
/// The λ and depths at which linear kernels are compared with their limit.
const LINEAR_LAMBDA: f64 = 1e9;
const DEPTHS: [usize; 3] = [1, 2, 4];

pub(super) const COLUMNS: &[Column] = &[
    column(
        "difference_1",
        "rms of <f> of head 1 minus one-task regression over rms label, or of the linear kernel from its form",
    ),
    column("difference_2", "the same of head 2, or of λK̃ from (L+1) x·x'/N0"),
    column("loss_ratio_1", "G_21"),
    column("loss_ratio_2", "G_22"),
    column("forgotten", "F_21"),
    column("scaled_alpha_c", "exact critical load of labels with YᵀK⁻¹Y/P = 1"),
    column("scaled_alpha_c_gamma_sim", "gamma_sim^-2 of the same"),
    column("entry", "which u1(t,s)"),
    column("sampled", "mean of a_t·a_s/N over chains"),
    column("sampled_error", "its standard error over the chains of the cell"),
    column("theory", "u1(t,s)"),
    column("size", "sqrt(u1(t,t) u1(s,s))"),
];

pub(super) fn settings() -> serde_json::Value {
    serde_json::json!({
        "small_load": SMALL_LOAD, "linear_p": LINEAR_P, "sampled_p": SAMPLED_P, "chains": CHAINS,
        "sampled_width": SAMPLED.0, "sampled_lambda": SAMPLED.1, "sampled_beta": SAMPLED.2, "moves": MOVES,
        "linear_lambda": LINEAR_LAMBDA, "depths": DEPTHS,
    })
}

/// Adds the cells; `sampled` of them sample networks.
pub(super) fn push(grid: &mut Study, setup: &Setup, sampled: u64) {
    let tasks = |p: usize, p_test: usize| setup.drawn(Fig5::protocol(EXAMPLES[1], p, p_test), 0);
    grid.push(Fig5::cell("alone", EXAMPLES[1], 0), Alone { tasks: tasks(setup.p, setup.p_test) });
    grid.push(Fig5::cell("linear", EXAMPLES[1], 0), Linear { tasks: tasks(LINEAR_P.min(setup.p), 0) });
    for seed in 0..sampled {
        // One draw of tasks for all cells; the cell's seed is that of its chains.
        let tasks = setup.drawn(ByRatio::Permuted.protocol(0.5, SAMPLED_P, 0), 0);
        grid.push(ratio_cell(ByRatio::Permuted, 0.5, seed).with("part", "sampled"), Sampled { tasks, seed });
    }
}

/// Both heads at a tiny load against regression with the kernel of a wide network on one task alone.
#[derive(Debug, Serialize, Deserialize)]
struct Alone {
    tasks: Drawn,
}

impl Work for Alone {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let two = TwoTasks::new(&tasks, &MultiHeadSettings::default(), context)?;
        let curve = two.curve(&[SMALL_LOAD])?;
        let point = &curve.points[0];
        let kernel =
            Kernel::new(KernelKind::Nngp, Architecture { activation: Activation::Relu, depth: 1 }, limit()?, 1, 1)?;
        let mut row = Row::new().with("forgotten", point.f21.coefficient);
        for (t, task) in tasks.iter().enumerate() {
            let Some(test) = &task.test else { continue };
            let factor = Cholesky::factor(kernel.gram_symmetric(task.x.as_ref())?.as_ref(), "kernel of one task")?;
            let gram = kernel.gram(test.x.as_ref(), task.x.as_ref())?;
            let regression = matmul(gram.as_ref(), as_column(&factor.solve_vec(&labels(task))));
            let head = two.predict(t + 1, &point.factors, test.x.as_ref())?;
            let squares: f64 = head.mean.iter().enumerate().map(|(i, f)| (f - regression[(i, 0)]).powi(2)).sum();
            let norm: f64 = (0..test.y.nrows()).map(|i| test.y[(i, 0)].powi(2)).sum();
            let ratio = [point.g21, point.g22][t].map_or(f64::NAN, |g| g.coefficient);
            row = row.with(&format!("difference_{}", t + 1), (squares / norm).sqrt());
            row = row.with(&format!("loss_ratio_{}", t + 1), ratio);
        }
        Ok(vec![row])
    }

    fn cost(&self) -> Cost {
        self.tasks.phase_cost(1)
    }
}

/// σ = 1 and λ → ∞.
fn limit() -> Result<WeightPrior> {
    Ok(WeightPrior::new(f64::INFINITY, 1.0)?)
}

/// Linear networks: the critical load against its closed form, kernels against theirs.
#[derive(Debug, Serialize, Deserialize)]
struct Linear {
    tasks: Drawn,
}

impl Work for Linear {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let settings = MultiHeadSettings { activation: Activation::Linear, ..MultiHeadSettings::default() };
        let two = TwoTasks::new(&tasks, &settings, context)?;
        let given = two.critical_load()?;
        let scaled = two.with_normalized_labels()?.critical_load()?;
        let mut rows = vec![
            Row::new()
                .with("alpha_c", given.alpha_c)
                .with("alpha_c_u11", given.alpha_c_u11)
                .with("scaled_alpha_c", scaled.alpha_c)
                .with("scaled_alpha_c_gamma_sim", scaled.alpha_c_gamma_sim),
        ];
        let row = |i: usize| (0..tasks[0].x.ncols()).map(|j| tasks[0].x[(i, j)]).collect::<Vec<f64>>();
        let (x, x2) = (row(0), row(1));
        let plain = |a: &[f64], b: &[f64]| dot(a, b) / a.len() as f64;
        for depth in DEPTHS {
            let architecture = Architecture { activation: Activation::Linear, depth };
            // λK̃ → (L+1) x·x'/N0 at σ = 1, and K = m^L x·x'/N0 with m = 0.7 at the first task.
            let (near, first) = (WeightPrior::new(LINEAR_LAMBDA, 1.0)?, WeightPrior::new(5.0, 0.7)?);
            let tilde = Kernel::new(KernelKind::KTilde, architecture, near, 2, 2)?;
            let own = Kernel::new(KernelKind::K1, architecture, first, 1, 1)?;
            for (a, b) in [(&x, &x), (&x, &x2)] {
                let size = plain(&x, &x);
                let limit = (depth + 1) as f64;
                let kernel = 0.7f64.powi(depth as i32);
                rows.push(
                    Row::new()
                        .with("difference_1", (own.pair(a, b)? - kernel * plain(a, b)).abs() / (kernel * size))
                        .with(
                            "difference_2",
                            (LINEAR_LAMBDA * tilde.pair(a, b)? - limit * plain(a, b)).abs() / (limit * size),
                        ),
                );
            }
        }
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        self.tasks.phase_cost(1)
    }
}

/// Readouts of networks sampled from the posterior against u1(t,s) at the same width, λ and β.
#[derive(Debug, Serialize, Deserialize)]
struct Sampled {
    tasks: Drawn,
    /// Of the chains.
    seed: u64,
}

impl Work for Sampled {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let (width, lambda, beta) = SAMPLED;
        let [warmup, draws] = MOVES;
        let chains = PosteriorSettings {
            width,
            lambda,
            beta,
            chains: CHAINS,
            warmup,
            draws,
            seed: self.seed,
            ..PosteriorSettings::default()
        };
        let sampled = sample_posterior(&tasks, &chains, context)?;
        let settings = MultiHeadSettings { lambda, beta, width: Some(width as f64), ..MultiHeadSettings::default() };
        let theory = MultiHead::new(&tasks, &settings, context)?;
        let entry = |t: usize, s: usize| {
            let estimate = sampled.u1[t - 1][s - 1];
            Row::new()
                .with("entry", format!("u1({s},{t})"))
                .with("sampled", estimate.value)
                .with("sampled_error", estimate.error())
                .with("theory", theory.u1(t, s))
                .with("size", (theory.u1(t, t) * theory.u1(s, s)).sqrt())
        };
        Ok(vec![entry(1, 1), entry(2, 1), entry(2, 2)])
    }

    fn cost(&self) -> Cost {
        // Ten leapfrog steps a move on average; products so small run at a sixth of the rate.
        let leaps = 10.0 * (MOVES[0] + MOVES[1]) as f64;
        sample_cost(&self.tasks.sizes(), SAMPLED.0, 1, CHAINS, leaps).times(6)
    }
}

pub(super) fn claims(frame: &Frame) -> Result<Vec<Claim>> {
    let alone = frame.only("part", "alone")?;
    let worst = |name: &str| -> Result<f64> { Ok(largest(alone.numbers(name)?)) };
    let difference = worst("difference_1")?.max(worst("difference_2")?);
    let away = (worst("loss_ratio_1")? - 1.0).abs().max((worst("loss_ratio_2")? - 1.0).abs());
    let linear = frame.only("part", "linear")?;
    let apart = |a: &str, b: &str| -> Result<f64> {
        let pairs = linear.numbers(a)?.into_iter().zip(linear.numbers(b)?).filter(|(a, _)| !a.is_nan());
        Ok(largest(pairs.map(|(a, b)| (b / a - 1.0).abs())))
    };
    let known = |name: &str| -> Result<f64> { Ok(largest(linear.numbers(name)?.into_iter().filter(|x| !x.is_nan()))) };
    let mut claims = vec![
        Claim::below(
            "text",
            "α = 1e-5: each head's mean against one-task regression, rms over rms label",
            difference,
            1e-3,
        ),
        Claim::below(
            "text",
            "α = 1e-5: largest of F_21, |G_21 − 1|, |G_22 − 1|: no interference",
            away.max(worst("forgotten")?),
            1e-3,
        ),
        Claim::below(
            "text",
            "linear networks: exact α_c against its closed form, relative",
            apart("alpha_c", "alpha_c_u11")?,
            1e-6,
        ),
        Claim::below(
            "text",
            "linear networks, YᵀK⁻¹Y/P = 1: exact α_c against γ_sim^−2, relative",
            apart("scaled_alpha_c", "scaled_alpha_c_gamma_sim")?,
            1e-6,
        ),
        Claim::below("text", "linear networks: K against m^L x·x'/N0 at depths 1, 2, 4", known("difference_1")?, 1e-10),
        Claim::below(
            "text",
            "linear networks: λK̃ at λ = 1e9 against (L+1) x·x'/N0 at depths 1, 2, 4",
            known("difference_2")?,
            1e-6,
        ),
    ];
    let sampled = frame.only("part", "sampled")?;
    if sampled.is_empty() {
        return Ok(claims);
    }
    for (key, rows) in sampled.groups(&["entry"])? {
        let (mean, theory) = (rows.mean("sampled")?, rows.mean("theory")?.value);
        let gap = (mean.value - theory).abs() / rows.mean("size")?.value;
        let statement = format!("sampled networks: a_t·a_s/N against {}, relative to √(u1(t,t)u1(s,s))", key[0]);
        let error = mean.standard_error.map(|e| e / rows.mean("size").map_or(f64::NAN, |s| s.value));
        let note = format!(
            "sampled {:.3}, theory {theory:.3} at N = {}, P = {SAMPLED_P}; corrections are of order 1/N",
            mean.value, SAMPLED.0
        );
        claims.push(Claim::below("5c, e", &statement, gap, 0.05).error(error).note(note));
    }
    Ok(claims)
}
