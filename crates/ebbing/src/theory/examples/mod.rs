//! Which examples are at risk of being forgotten, from forecast mean outputs after the task that an example belongs to and after the
//! last one.
//!
//! With `f(x)` the outputs and c the class of x, the margin is
//!
//! ```math
//! m(x) = f_c(x) - \max_{k\ne c} f_k(x) \quad\text{(several columns)}, \qquad m(x) = y\,f(x)/|y| \quad\text{(one column of ±1)}:
//! ```
//!
//! positive where the answer is right. An example is *lost* where it is right after its own task and wrong after the last one.
//!
//! **Chance.** The chance that an example is wrong after the last task is `Φ(−m/w)`, Φ the normal distribution function: a
//! decreasing function of the margin whose width w is that of [`Width`]. Where that is the spread of a forecast, it is the chance that
//! one network of the theory ranks the strongest other class first (exact for one column and for two, a lower bound for more).
//! Otherwise it is a scale for reading margins: **uncalibrated**, since no trained network was compared with it. What trained
//! networks confirmed is the ranking, not the number.
//!
//! | Item | What it is |
//! |---|---|
//! | [`ExamplesAtRisk::of`] | of a forecast with one head: every training and test example |
//! | [`ExampleRisks::new`] | of outputs from anywhere |
//! | [`ClassRisk`] | the same counted by class |
//! | [`margins`] | margins alone |
//! | [`rows_at_risk`] | which examples to keep for replay: those with the smallest margins, as many of every class |

mod select;
mod sequence;
#[cfg(test)]
mod tests;

pub use select::rows_at_risk;
pub use sequence::{ExamplesAtRisk, TaskRisks};

use super::classes::{classes_of, occurring};
use crate::error::{Error, Result, positive};
use crate::linalg::{MatRef, not_finite};
use crate::metrics::normal_cdf;
use serde::{Deserialize, Serialize};

/// How many examples are listed by name.
pub const LISTED: usize = 20;

/// What becomes of an example between its own task and the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Right after its own task and after the last.
    Kept,
    /// Right after its own task, wrong after the last.
    Lost,
    /// Wrong after its own task, right after the last.
    Gained,
    /// Wrong both times.
    Wrong,
    /// Its target names no class.
    NoClass,
}

/// The width w of the chance `Φ(−m/w)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// The spread of the theory's networks around the forecast: the standard deviation of the margin, `σ` of one column and `√2 σ`
    /// of a difference of two columns with `σ²` the variance of an output. An example each.
    Spread,
    /// The root mean square of the change of margins between an example's own task and the last one, over a task's examples: the
    /// size by which the later tasks move margins. Where nothing moved, the chance is 0 or 1 (½ at a margin of 0).
    Change,
    /// A number that was given, such as one fitted to trained networks.
    Fixed(f64),
}

/// Outputs for examples of one task: after that task and after the last one, with their targets.
#[derive(Debug, Clone, Copy)]
pub struct ExampleOutputs<'a> {
    /// After the task that the examples belong to, one row per example.
    pub own: MatRef<'a, f64>,
    /// After the last task.
    pub last: MatRef<'a, f64>,
    /// Targets.
    pub y: MatRef<'a, f64>,
    /// The variance of an output after the last task, one number per example, where that is known.
    pub variance: Option<&'a [f64]>,
}

/// One example by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExampleAtRisk {
    /// Its row, from 0.
    pub row: usize,
    /// Its class, from 0.
    pub class: usize,
    /// The strongest other class after the last task.
    pub rival: usize,
    /// The output of its own class after the last task (times the sign of the target for one column).
    pub output: f64,
    /// Its margin after its own task.
    pub margin_own: f64,
    /// Its margin after the last one.
    pub margin: f64,
    /// The chance of a wrong answer after the last task.
    pub chance: f64,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of the examples of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassRisk {
    /// The class, from 0.
    pub class: usize,
    /// What it is called; empty where nobody said.
    pub name: String,
    /// Its examples.
    pub examples: usize,
    /// Those that were right after their own task.
    pub learned: usize,
    /// Those of them that are wrong after the last.
    pub lost: usize,
    /// Those that were wrong and are right after the last.
    pub gained: usize,
    /// `lost / learned`; none where nothing was learned.
    pub share_lost: Option<f64>,
    /// Their mean chance of a wrong answer after the last task.
    pub mean_chance: f64,
    /// Their mean margin after the last task.
    pub mean_margin: f64,
}

/// The examples of one set: column by column, one entry per example. Entries of examples without a class are 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExampleRisks {
    /// The class of each, from 0; none where its target names none.
    pub class: Vec<Option<usize>>,
    /// The output of its own class after the last task (times the sign of the target for one column).
    pub output: Vec<f64>,
    /// Its margin after its own task.
    pub margin_own: Vec<f64>,
    /// Its margin after the last one.
    pub margin: Vec<f64>,
    /// The chance of a wrong answer after the last task.
    pub chance: Vec<f64>,
    /// What becomes of it.
    pub fate: Vec<Fate>,
    /// How the width of the chance was taken.
    pub width: Width,
    /// Whether that is the theory's own spread; otherwise the chance is uncalibrated.
    pub from_spread: bool,
    /// Examples that were right after their own task.
    pub learned: usize,
    /// Those of them that are wrong after the last.
    pub lost: usize,
    /// Examples that are wrong after the last task, whatever they were before.
    pub wrong: usize,
    /// Of the examples that were right after their own task the [`LISTED`] with the largest chance of being wrong after the last.
    pub most_at_risk: Vec<ExampleAtRisk>,
    /// The classes that occur, the one that loses the largest share first.
    pub classes: Vec<ClassRisk>,
}

/// A margin, with the class that is the strongest other one.
#[derive(Clone, Copy)]
struct Margin {
    size: f64,
    rival: usize,
    output: f64,
}

impl ExampleRisks {
    /// From outputs; `what` names the examples in messages. [`Width::Spread`] needs their variance.
    ///
    /// # Errors
    /// [`Error::Data`] for shapes that differ, numbers that are not finite, and targets that name no classes; [`Error::Setting`] for a
    /// fixed width that is not positive, and for a spread where no variance is known.
    pub fn new(outputs: &ExampleOutputs<'_>, width: Width, what: &str) -> Result<ExampleRisks> {
        check(outputs, width, what)?;
        let class = classes_of(outputs.y, what)?;
        let columns = outputs.y.ncols();
        let margins = |f: MatRef<'_, f64>| -> Vec<Option<Margin>> {
            class.iter().enumerate().map(|(i, class)| class.map(|c| margin(f, i, c))).collect()
        };
        let (own, last) = (margins(outputs.own), margins(outputs.last));
        let moved = own.iter().flatten().zip(last.iter().flatten()).map(|(a, b)| (b.size - a.size).powi(2));
        let change = (moved.sum::<f64>() / own.iter().flatten().count().max(1) as f64).sqrt();
        let of_variance = |i: usize| {
            let variance = outputs.variance.map_or(0.0, |v| v[i].max(0.0));
            (if columns == 1 { variance } else { 2.0 * variance }).sqrt()
        };
        let width_of = |i: usize| match width {
            Width::Spread => of_variance(i),
            Width::Change => change,
            Width::Fixed(w) => w,
        };
        let size = |all: &[Option<Margin>], i: usize| all[i].map_or(0.0, |m| m.size);
        let examples = || 0..class.len();
        let fate: Vec<Fate> = examples().map(|i| fate(own[i], last[i])).collect();
        let chance = examples().map(|i| last[i].map_or(0.0, |m| wrong_chance(m.size, width_of(i)))).collect();
        let count = |f: &dyn Fn(Fate) -> bool| fate.iter().filter(|&&one| f(one)).count();
        let mut risks = ExampleRisks {
            output: examples().map(|i| last[i].map_or(0.0, |m| m.output)).collect(),
            margin_own: examples().map(|i| size(&own, i)).collect(),
            margin: examples().map(|i| size(&last, i)).collect(),
            chance,
            width,
            from_spread: width == Width::Spread,
            learned: count(&|f| matches!(f, Fate::Kept | Fate::Lost)),
            lost: count(&|f| f == Fate::Lost),
            wrong: count(&|f| matches!(f, Fate::Lost | Fate::Wrong)),
            fate,
            class,
            most_at_risk: vec![],
            classes: vec![],
        };
        risks.most_at_risk = risks.listed(&last);
        risks.classes = risks.by_class(columns);
        Ok(risks)
    }

    /// Of the examples that were right after their own task those with the largest chance of being wrong, of equal ones those with the
    /// smallest margin.
    fn listed(&self, last: &[Option<Margin>]) -> Vec<ExampleAtRisk> {
        let learned = |i: &usize| matches!(self.fate[*i], Fate::Kept | Fate::Lost);
        let mut rows: Vec<usize> = (0..self.fate.len()).filter(learned).collect();
        let by_risk = |a: &usize, b: &usize| {
            self.chance[*b].total_cmp(&self.chance[*a]).then(self.margin[*a].total_cmp(&self.margin[*b])).then(a.cmp(b))
        };
        rows.sort_by(by_risk);
        let named = |row: usize| {
            let (class, last) = (self.class[row]?, last[row]?);
            Some(ExampleAtRisk {
                row,
                class,
                rival: last.rival,
                output: self.output[row],
                margin_own: self.margin_own[row],
                margin: self.margin[row],
                chance: self.chance[row],
                fate: self.fate[row],
            })
        };
        rows.into_iter().take(LISTED).filter_map(named).collect()
    }

    fn by_class(&self, columns: usize) -> Vec<ClassRisk> {
        let count = super::classes::class_count(columns);
        let of = |class: usize| {
            let rows: Vec<usize> = (0..self.class.len()).filter(|&i| self.class[i] == Some(class)).collect();
            let with = |fates: &[Fate]| rows.iter().filter(|&&i| fates.contains(&self.fate[i])).count();
            let mean = |all: &[f64]| rows.iter().map(|&i| all[i]).sum::<f64>() / rows.len() as f64;
            let (learned, lost) = (with(&[Fate::Kept, Fate::Lost]), with(&[Fate::Lost]));
            ClassRisk {
                class,
                name: String::new(),
                examples: rows.len(),
                learned,
                lost,
                gained: with(&[Fate::Gained]),
                share_lost: (learned > 0).then(|| lost as f64 / learned as f64),
                mean_chance: mean(&self.chance),
                mean_margin: mean(&self.margin),
            }
        };
        let mut classes: Vec<ClassRisk> = occurring(&self.class, count).into_iter().map(of).collect();
        let share = |class: &ClassRisk| class.share_lost.unwrap_or(-1.0);
        classes.sort_by(|a, b| share(b).total_cmp(&share(a)).then(a.class.cmp(&b.class)));
        classes
    }

    /// The same with classes called by these names.
    pub(crate) fn named(mut self, names: &[String]) -> ExampleRisks {
        for class in &mut self.classes {
            class.name = names.get(class.class).cloned().unwrap_or_default();
        }
        self
    }
}

/// The margin of every example under outputs `f`, and its class: what [`rows_at_risk`] takes. Examples without a class have a margin of 0;
/// `what` names them in messages.
///
/// # Errors
/// [`Error::Data`] for shapes that differ, outputs that are not finite, and targets that name no classes.
pub fn margins(f: MatRef<'_, f64>, y: MatRef<'_, f64>, what: &str) -> Result<(Vec<f64>, Vec<Option<usize>>)> {
    check(&ExampleOutputs { own: f, last: f, y, variance: None }, Width::Change, what)?;
    let class = classes_of(y, what)?;
    let of = |(i, class): (usize, &Option<usize>)| class.map_or(0.0, |c| margin(f, i, c).size);
    Ok((class.iter().enumerate().map(of).collect(), class))
}

/// The margin of row i, of class c.
fn margin(f: MatRef<'_, f64>, i: usize, c: usize) -> Margin {
    if f.ncols() == 1 {
        let size = if c == 1 { f[(i, 0)] } else { -f[(i, 0)] };
        return Margin { size, rival: 1 - c, output: size };
    }
    let others = (0..f.ncols()).filter(|&k| k != c);
    let (rival, most) =
        others.fold((c, f64::NEG_INFINITY), |best, k| if f[(i, k)] > best.1 { (k, f[(i, k)]) } else { best });
    Margin { size: f[(i, c)] - most, rival, output: f[(i, c)] }
}

/// A margin of zero is no right answer.
fn fate(own: Option<Margin>, last: Option<Margin>) -> Fate {
    match (own.map(|m| m.size > 0.0), last.map(|m| m.size > 0.0)) {
        (Some(true), Some(true)) => Fate::Kept,
        (Some(true), Some(false)) => Fate::Lost,
        (Some(false), Some(true)) => Fate::Gained,
        (Some(false), Some(false)) => Fate::Wrong,
        _ => Fate::NoClass,
    }
}

/// `Φ(−m/w)`, and its limit at w = 0.
fn wrong_chance(margin: f64, width: f64) -> f64 {
    if width > 0.0 {
        return normal_cdf(-margin / width);
    }
    match margin {
        m if m > 0.0 => 0.0,
        m if m < 0.0 => 1.0,
        _ => 0.5,
    }
}

fn check(outputs: &ExampleOutputs<'_>, width: Width, what: &str) -> Result<()> {
    let ExampleOutputs { own, last, y, variance } = *outputs;
    for (name, f) in [("outputs after its own task", own), ("outputs after the last task", last)] {
        if (f.nrows(), f.ncols()) != (y.nrows(), y.ncols()) {
            let shapes = format!("{} × {} for {} × {} targets", f.nrows(), f.ncols(), y.nrows(), y.ncols());
            return Err(Error::data(what, format!("{name} are {shapes}; they must agree")));
        }
        if let Some((i, j)) = not_finite(f) {
            let entry = format!("row {}, column {} is {}", i + 1, j + 1, f[(i, j)]);
            return Err(Error::data(what, format!("{name}: {entry}; every value must be finite")));
        }
    }
    if let Width::Fixed(w) = width {
        positive("width", w)?;
    }
    match variance {
        None if width == Width::Spread => {
            Err(Error::setting("width", "spread", "the forecast has no spread here; take \"change\" or a number"))
        }
        Some(v) if v.len() != y.nrows() || v.iter().any(|v| !v.is_finite()) => {
            let problem = format!("{} variances for {} examples; one finite number each is needed", v.len(), y.nrows());
            Err(Error::data(what, problem))
        }
        _ => Ok(()),
    }
}
