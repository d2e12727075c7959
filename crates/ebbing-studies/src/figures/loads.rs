//! Two tasks with a readout each: what the figures against the load α = P/N share.

use super::Scale;
use crate::cell::{Cell, Row};
use crate::error::Result;
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::Column;
use ebbing::data::Preprocess;
use ebbing::plan::{Cost, Sizes};
use ebbing::stats::{Estimate, LinearFit, spearman};
use ebbing::tasks::{PartialSplit, Permuted, TargetDistractor};
use ebbing::theory::multi_head::{CriticalLoad, Power, Regime};
use ebbing::theory::phase::PhasePoint;
use ebbing::{Error, Task, TaskSequence};
use ebbing_report::{Direction, Line, OKABE_ITO, Panel, Rgb};

/// Where tasks are drawn from, and how large they are.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Setup {
    /// The scale, for what is said about it.
    pub scale: Scale,
    /// The data set by name.
    pub data: &'static str,
    /// Training examples per task.
    pub p: usize,
    /// Test examples per task.
    pub p_test: usize,
}

impl Setup {
    /// The input dimension of the data set.
    pub fn dim(&self) -> usize {
        if self.data == "cifar100" { 1024 } else { 784 }
    }

    /// Whether numbers can be held against the paper's: its data set at its P.
    pub fn is_paper(&self) -> bool {
        self.p == 2000 && self.data != "mnist-sample"
    }

    /// The data set as captions name it.
    pub fn data_name(&self) -> &'static str {
        match self.data {
            "cifar100" => "grey CIFAR-100",
            "mnist" => "MNIST",
            _ => "the embedded sample of MNIST",
        }
    }

    /// Why a number of the paper is not judged here.
    pub fn not_paper(&self) -> String {
        format!("the paper's number is for P = 2000; here P = {} on {}", self.p, self.data_name())
    }

    /// The two tasks that a cell names by `protocol` and its ratio (`permuted`, `split`) or its three ρ.
    pub fn tasks(&self, cell: &Cell, sources: &Sources) -> Result<TaskSequence> {
        let source = sources.get(self.data, &Preprocess::default())?;
        let sequence = match cell.text("protocol")? {
            "permuted" => {
                let ratio = cell.number("ratio")?;
                let (p, p_test) = (self.p, self.p_test);
                Permuted { tasks: 2, p, p_test, ratio, permute_first: false, ..Permuted::default() }
                    .generate(&source, cell.seed)?
            }
            "split" => {
                let split = cell.number("ratio")?;
                PartialSplit { split, p: self.p, p_test: self.p_test, pairs: None }.generate(&source, cell.seed)?
            }
            "target-distractor" => TargetDistractor {
                tasks: 2,
                p: self.p,
                rho_target: cell.number("rho_target")?,
                rho_shared: cell.number("rho_shared")?,
                rho_flip: cell.number("rho_flip")?,
                p_test: Some(self.p_test),
                ..TargetDistractor::default()
            }
            .generate(&source, cell.seed)?,
            other => {
                let expected = "must be permuted, split or target-distractor";
                return Err(Error::setting("protocol", other, expected).into());
            }
        };
        Ok(sequence)
    }

    /// The cost of drawing tasks, one decomposition and its curves.
    pub fn cost(&self, tasks: usize, tested: usize, loads: usize) -> Cost {
        let sizes = Sizes {
            train: vec![self.p; tasks],
            test: vec![tested; tasks],
            dim: self.dim(),
            columns: 1,
            distinct: None,
        };
        // Every image is whitened: one product with a matrix of its dimension.
        let images = (tasks * (self.p + tested)) as f64;
        let drawn = Cost { flops: 2.0 * images * (self.dim() as f64).powi(2), bytes: 0.0 };
        drawn.then(ebbing::plan::phase_cost(&sizes, loads))
    }
}

/// `count` loads from one to another, evenly in ln α.
pub(super) fn loads(from: f64, to: f64, count: usize) -> Vec<f64> {
    (0..count).map(|k| from * (to / from).powf(k as f64 / (count - 1) as f64)).collect()
}

/// The labels of a task.
pub(super) fn labels(task: &Task) -> Vec<f64> {
    (0..task.y.nrows()).map(|i| task.y[(i, 0)]).collect()
}

/// The row of one load of a curve: every quantity with its power of λ.
pub(super) fn point_row(point: &PhasePoint) -> Row {
    let factors = &point.factors;
    let regime = factors.regime().map_or(String::new(), |r| r.to_string());
    let mut row = Row::new().with("alpha", factors.alpha).with("regime", regime);
    row = row.with("u11", factors.u11).with("u12", factors.u12);
    let quantities = [
        ("f21", Some(point.f21)),
        ("g21", point.g21),
        ("g22", point.g22),
        ("u22", Some(factors.u22)),
        ("d", Some(factors.d)),
    ];
    for (name, power) in quantities {
        let Some(Power { coefficient, exponent }) = power else { continue };
        row = row.with(name, coefficient).with(&format!("{name}_power"), exponent);
    }
    row
}

/// The row of a critical load; `labels` says whether they are as given or scaled.
pub(super) fn critical_row(critical: &CriticalLoad, labels: &str) -> Row {
    Row::new()
        .with("labels", labels)
        .with("gamma_sim", critical.gamma_sim)
        .with("gamma_feature", critical.gamma_feature)
        .with("cos", critical.cos)
        .with("proj", critical.proj)
        .with("alpha_c", critical.exact)
        .with("alpha_c_law", critical.from_gamma_sim)
        .with("alpha_c_linear", critical.from_u11)
        .with("label_scale_1", critical.label_scale[0])
        .with("label_scale_2", critical.label_scale[1])
}

/// The name of a regime as rows carry it.
pub(super) fn is_regime(text: &str, regime: Regime) -> bool {
    text == regime.to_string()
}

/// What the columns of these rows are.
pub(super) const COLUMNS: &[Column] = &[
    column("part", "which computation the row belongs to"),
    column("protocol", "how the two tasks are made"),
    column("ratio", "permutation or split ratio"),
    column("rho_target", "share of the targets that both tasks hold"),
    column("rho_shared", "share of the images that both tasks hold"),
    column("rho_flip", "chance that a shared target's label is flipped in a task"),
    column("lambda", "penalty on the change of the hidden weights; inf is the limit"),
    column("alpha", "load P/N"),
    column("regime", "regime at infinite lambda"),
    column("u11", "norm of the first readout, |a_1|²/N"),
    column("u12", "overlap of the readouts, a_1·a_2/N"),
    column("f21", "training loss on task 1 after task 2, coefficient of its power of lambda"),
    column("g21", "test loss on task 1 after task 2 over that of learning it alone, likewise"),
    column("g22", "test loss on task 2 over that of learning it alone, likewise"),
    column("u22", "norm of the second readout, |a_2|²/N, likewise"),
    column("d", "u1(2,2) − u0(2,2), likewise"),
    column("f21_power", "power of lambda"),
    column("g21_power", "power of lambda"),
    column("g22_power", "power of lambda"),
    column("u22_power", "power of lambda"),
    column("d_power", "power of lambda"),
    column("labels", "given: ±1 (0) as they are; scaled: YᵀK⁻¹Y/P = 1"),
    column("gamma_sim", "similarity of the tasks"),
    column("gamma_feature", "shared part of the features"),
    column("cos", "cosine of the rule vectors"),
    column("proj", "squared part of rule vector 1 within the features of task 2"),
    column("alpha_c", "exact critical load"),
    column("alpha_c_law", "its estimate gamma_sim^-2"),
    column("alpha_c_linear", "its closed form for linear networks at this label scale"),
    column("label_scale_1", "YᵀK⁻¹Y/P of task 1"),
    column("label_scale_2", "YᵀK⁻¹Y/P of task 2"),
    column("alpha_c_curve", "critical load read off a curve: steepest change of F_21"),
    column("alpha_c_height", "critical load read off a curve: mid-height of G_22 at loads above 1"),
    column("spacing", "spacing of ln alpha there"),
];

/// A column without a unit.
pub(super) const fn column(name: &'static str, meaning: &'static str) -> Column {
    Column { name, unit: "", meaning }
}

/// Mean of a column over its rows; infinite where one of them is, NaN where there is none.
pub(super) fn mean(frame: &Frame, name: &str) -> Result<Estimate> {
    if frame.numbers(name)?.iter().any(|x| x.is_infinite()) {
        return Ok(Estimate { value: f64::INFINITY, standard_error: None });
    }
    frame.mean(name)
}

/// The means of a column at every level of another: levels, means, standard errors (0 for one seed).
pub(super) fn means_by(frame: &Frame, by: &str, name: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let levels = frame.levels(by)?;
    let means = levels.iter().map(|&x| mean(&frame.only(by, x)?, name)).collect::<Result<Vec<_>>>()?;
    let (values, errors) = means.iter().map(|m| (m.value, m.standard_error.unwrap_or(0.0))).unzip();
    Ok((levels, values, errors))
}

/// Whether means fall along a grid: Spearman ≤ −0.9, or every step down within two standard errors. With the former's value.
pub(super) fn falls(x: &[f64], means: &[f64], errors: &[f64]) -> (f64, bool) {
    let rank = spearman(x, means).unwrap_or(f64::NAN);
    let error = |k: usize| (errors[k].powi(2) + errors[k + 1].powi(2)).sqrt();
    let steps = means.len() > 1 && (0..means.len() - 1).all(|k| means[k + 1] - means[k] <= 2.0 * error(k));
    (rank, rank <= -0.9 || steps)
}

/// The slope of ln y against ln x; NaN where it is not defined.
pub(super) fn log_slope(x: &[f64], y: &[f64]) -> f64 {
    let ln = |v: &[f64]| v.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    LinearFit::new(&ln(x), &ln(y)).map_or(f64::NAN, |fit| fit.slope.value)
}

/// The largest number of a list; NaN for an empty one or where one is NaN.
pub(super) fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    values.into_iter().reduce(larger).unwrap_or(f64::NAN)
}

/// The middle of a list; NaN for an empty one.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// One curve of a panel: its rows, its label and look.
pub(super) struct Curve<'a> {
    pub frame: &'a Frame,
    pub label: &'a str,
    pub category: usize,
}

/// Draws a quantity of λ → ∞ against the load: a line per regime, an arrow where it diverges as a power of λ.
pub(super) fn draw_limit(mut panel: Panel, curves: &[Curve<'_>], name: &str) -> Result<Panel> {
    for (k, curve) in curves.iter().enumerate() {
        let (x, y) = (curve.frame.numbers("alpha")?, curve.frame.numbers(name)?);
        let (powers, regimes) = (curve.frame.numbers(&format!("{name}_power"))?, curve.frame.texts("regime")?);
        let rows: Vec<usize> = (0..x.len()).collect();
        let mut label = curve.label;
        for run in rows.chunk_by(|&i, &j| regimes[i] == regimes[j]) {
            if powers[run[0]] > 0.0 {
                let middle = (x[run[0]] * x[run[run.len() - 1]]).sqrt() * (1.0 + 0.06 * k as f64);
                panel = panel.diverges("∝ λ^{1/2}", middle, Direction::Up, colour(curve.category));
                continue;
            }
            // What vanishes as a power of λ is 0 in the limit.
            let value = |i: &usize| if powers[*i] < 0.0 { 0.0 } else { y[*i] };
            let (x, y): (Vec<f64>, Vec<f64>) = run.iter().map(|i| (x[*i], value(i))).unzip();
            panel = panel.line(Line::new(label, &x, &y).category(curve.category));
            label = "";
        }
    }
    Ok(panel)
}

/// The colour of a category.
pub(super) fn colour(category: usize) -> Rgb {
    OKABE_ITO[category % OKABE_ITO.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_means_are_recognised() {
        let x = [0.0, 1.0, 2.0, 3.0];
        assert!(falls(&x, &[3.0, 2.0, 1.0, 0.0], &[0.0; 4]).1);
        assert!(!falls(&x, &[0.0, 1.0, 2.0, 3.0], &[0.0; 4]).1);
        // A step up of 0.1 is within two standard errors of 0.1, and rank correlation alone (−0.8) would not do.
        assert!(!falls(&x, &[3.0, 1.0, 1.1, 1.05], &[0.0; 4]).1);
        assert!(falls(&x, &[3.0, 1.0, 1.1, 1.05], &[0.1; 4]).1);
        assert!(!falls(&[1.0], &[1.0], &[0.0]).1);
    }

    #[test]
    fn summaries_say_what_is_undefined() {
        assert!(largest([]).is_nan() && median(&[]).is_nan());
        assert!(largest([1.0, f64::NAN]).is_nan() && largest([f64::NAN, 1.0]).is_nan());
        assert_eq!((largest([-2.0, -1.0]), median(&[3.0, 1.0]), median(&[5.0, 1.0, 2.0])), (-1.0, 2.0, 2.0));
        // √x and 1/x, to rounding.
        assert!((log_slope(&[1.0, 4.0, 16.0], &[1.0, 2.0, 4.0]) - 0.5).abs() < 1e-12);
        assert!(log_slope(&[1.0], &[1.0]).is_nan());
    }

    #[test]
    fn loads_are_even_on_a_logarithmic_scale() {
        let grid = loads(0.1, 10.0, 5);
        assert_eq!(grid.len(), 5);
        assert!((grid[2] - 1.0).abs() < 1e-12 && (grid[4] - 10.0).abs() < 1e-12, "{grid:?}");
    }
}
