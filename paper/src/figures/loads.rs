//! Two tasks with a readout each: what the figures against the load α = P/N share.

use super::Scale;
use super::drawn::{ByRatio, Drawn};
use crate::statistics::LinearFit;
use ebbing::Task;
use ebbing::stats::Estimate;
use ebbing::tasks::Protocol;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::theory::multi_head::{CriticalLoad, Power, Regime};
use ebbing::theory::phase::PhasePoint;
use ebbing_show::loads::{self, LoadCurve, LoadPoint};
use ebbing_show::{OKABE_ITO, Panel, Rgb};
use ebbing_studies::{Cell, Column, Frame, Result, Row, Study};

/// Where tasks are drawn from, and how large they are.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Setup {
    /// The scale, for what is said about it.
    pub scale: Scale,
    /// The data set by name, and that of the paper.
    pub data: &'static str,
    #[serde(skip)]
    pub paper: &'static str,
    /// Training examples per task.
    pub p: usize,
    /// Test examples per task.
    pub p_test: usize,
}

impl Setup {
    /// Whether numbers can be held against the paper's: its data set at its P.
    pub fn is_paper(&self) -> bool {
        self.p == 2000 && self.data == self.paper
    }

    /// The data set as captions name it.
    pub fn data_name(&self) -> &'static str {
        match self.data {
            "cifar100" => "gray CIFAR-100",
            "mnist" => "MNIST",
            "mnist-sample" => "the embedded sample of MNIST",
            other => other,
        }
    }

    /// Why a number of the paper is not judged here.
    pub fn not_paper(&self) -> String {
        let paper = Setup { data: self.paper, ..self.clone() };
        format!(
            "the paper's number is for P = 2000 on {}; here P = {} on {}",
            paper.data_name(),
            self.p,
            self.data_name()
        )
    }

    /// The tasks of a protocol.
    pub fn drawn(&self, protocol: Protocol, seed: u64) -> Drawn {
        Drawn { data: self.data.into(), protocol, between: 0, seed }
    }

    /// The two tasks of a benchmark at a ratio.
    pub fn by_ratio(&self, kind: ByRatio, ratio: f64, seed: u64) -> Drawn {
        self.drawn(kind.protocol(ratio, self.p, self.p_test), seed)
    }

    /// A grid without cells; `settings` are those besides the setup, `own` the columns besides those of all.
    pub fn study(&self, name: &str, mut settings: serde_json::Value, own: &[Column]) -> Study {
        settings["setup"] = serde_json::json!(self);
        settings["sigma2"] = 1.0.into();
        settings["depth"] = 1.into();
        let columns = COLUMNS.iter().chain(own).copied().collect();
        Study { name: name.into(), settings, data: vec![self.data.into()], columns, ..Study::default() }
    }
}

/// A cell of a benchmark at a ratio.
pub(super) fn ratio_cell(kind: ByRatio, ratio: f64, seed: u64) -> Cell {
    Cell::new(seed).with("protocol", kind).with("ratio", ratio)
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
        row = row.with(name, coefficient).with(&format!("{name}_exponent"), exponent);
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
        .with("alpha_c", critical.alpha_c)
        .with("alpha_c_gamma_sim", critical.alpha_c_gamma_sim)
        .with("alpha_c_u11", critical.alpha_c_u11)
        .with("label_scale_1", critical.label_scale[0])
        .with("label_scale_2", critical.label_scale[1])
}

/// With the critical load where F_21 is steepest, if the curve shows one.
pub(super) fn with_steepest(row: Row, alphas: &[f64], f21: &[f64]) -> Result<Row> {
    let found = alpha_c_from_curve(alphas, f21, CurveFeature::Steepest)?;
    Ok(found.map_or(row.clone(), |at| row.with("alpha_c_curve", at.alpha_c).with("spacing", at.spacing)))
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
    column("f21_exponent", "exponent of lambda"),
    column("g21_exponent", "exponent of lambda"),
    column("g22_exponent", "exponent of lambda"),
    column("u22_exponent", "exponent of lambda"),
    column("d_exponent", "exponent of lambda"),
    column("labels", "given: ±1 (0) as they are; scaled: YᵀK⁻¹Y/P = 1"),
    column("gamma_sim", "similarity of the tasks"),
    column("gamma_feature", "shared part of the features"),
    column("cos", "cosine of the rule vectors"),
    column("proj", "squared part of rule vector 1 within the features of task 2"),
    column("alpha_c", "exact critical load"),
    column("alpha_c_gamma_sim", "its estimate gamma_sim^-2"),
    column("alpha_c_u11", "its closed form for linear networks at this label scale"),
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
    let known: Vec<f64> = frame.numbers(name)?.into_iter().filter(|x| !x.is_nan()).collect();
    Ok(Estimate::over(&known))
}

/// The means of a column at every level of another.
pub(super) fn estimates_by(frame: &Frame, by: &str, name: &str) -> Result<(Vec<f64>, Vec<Estimate>)> {
    let levels = frame.levels(by)?;
    let means = levels.iter().map(|&x| mean(&frame.only(by, x)?, name)).collect::<Result<Vec<_>>>()?;
    Ok((levels, means))
}

/// The same as levels, means, standard errors (0 for one seed).
pub(super) fn means_by(frame: &Frame, by: &str, name: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let (levels, means) = estimates_by(frame, by, name)?;
    let (values, errors) = means.iter().map(|m| (m.value, m.error())).unzip();
    Ok((levels, values, errors))
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

/// Draws a quantity of λ → ∞ of several examples against the load, each given by its rows, name and category.
pub(super) fn draw_limit(panel: Panel, examples: &[(&Frame, &str, usize)], name: &str) -> Result<Panel> {
    let mut curves = Vec::new();
    for &(frame, label, category) in examples {
        let (alphas, values) = (frame.numbers("alpha")?, frame.numbers(name)?);
        let (exponents, regimes) = (frame.numbers(&format!("{name}_exponent"))?, frame.texts("regime")?);
        let point = |i: usize| LoadPoint {
            alpha: alphas[i],
            value: Power { coefficient: values[i], exponent: exponents[i] },
            regime: Regime::ALL.into_iter().find(|regime| is_regime(&regimes[i], *regime)),
        };
        curves.push(LoadCurve {
            label: label.into(),
            category,
            dash: None,
            points: (0..alphas.len()).map(point).collect(),
        });
    }
    Ok(loads::curves(panel, &curves))
}

/// The color of a category.
pub(super) fn color(category: usize) -> Rgb {
    OKABE_ITO[category % OKABE_ITO.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_say_what_is_undefined() {
        assert!(largest([]).is_nan());
        assert!(largest([1.0, f64::NAN]).is_nan() && largest([f64::NAN, 1.0]).is_nan());
        assert_eq!(largest([-2.0, -1.0]), -1.0);
        // √x and 1/x, to rounding.
        assert!((log_slope(&[1.0, 4.0, 16.0], &[1.0, 2.0, 4.0]) - 0.5).abs() < 1e-12);
        assert!(log_slope(&[1.0], &[1.0]).is_nan());
    }
}
