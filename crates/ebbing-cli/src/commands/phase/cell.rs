//! Two tasks with a readout each as a cell of a study: one row per penalty and load.

use super::{Args, drawn, grid};
use crate::commands::study::InCells;
use crate::sequence::Kind;
use ebbing::Error;
use ebbing::plan::{Cost, phase_cost};
use ebbing::theory::multi_head::{CriticalLoad, Power, TwoTasks};
use ebbing::theory::phase::{PhaseCurve, PhasePoint, phase_curves};
use ebbing_studies::{Result, Row, Sources};

/// What the columns mean.
pub const COLUMNS: &[(&str, &str)] = &[
    ("lambda", "penalty on the change of weights"),
    ("alpha", "load P/N"),
    ("regime", "regime at infinite lambda"),
    ("u11", "renormalisation factor u1(1,1)"),
    ("u12", "renormalisation factor u1(1,2)"),
    ("u22", "renormalisation factor u1(2,2), or the factor before lambda^u22_exponent"),
    ("u22_exponent", "power of lambda that u22 grows with"),
    ("d", "u1 - u0, or the factor before lambda^d_exponent"),
    ("d_exponent", "power of lambda that d grows with"),
    ("f21", "training loss of task 1 after task 2; NaN where it diverges"),
    ("g21", "test loss of task 1 over that of learning it alone; NaN where it diverges"),
    ("g22", "test loss of task 2 over that of learning it alone, or the factor before lambda^g22_exponent"),
    ("g22_exponent", "power of lambda that g22 grows with"),
    ("alpha_c", "exact critical load"),
    ("alpha_c_gamma_sim", "its estimate gamma_sim^-2"),
    ("alpha_c_u11", "its estimate for linear networks"),
    ("gamma_sim", "similarity of the two tasks"),
    ("gamma_feature", "overlap of all features"),
];

impl InCells for Args {
    fn check(&mut self) -> ebbing::Result<()> {
        self.check_numbers()?;
        grid(&self.alpha)?;
        if self.sequence.tasks.is_none() {
            if let Some(length) = self.sequence.length.filter(|&t| t != 2) {
                return Err(Error::setting("length", length, "must be 2: the phase diagram is of two tasks"));
            }
            if self.sequence.protocol != Kind::PartialSplit {
                self.sequence.length = Some(2);
            }
            self.sequence.examples.get_or_insert(400);
            self.sequence.test_examples.get_or_insert(400);
            // As the command has it: the first task stays as it is.
            self.sequence.first_unpermuted = self.sequence.protocol == Kind::Permuted;
        }
        self.sequence.check()
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.sequence.origin_from(sources)?.sequence(self.sequence.seed)?.tasks;
        if tasks.len() != 2 {
            let problem = format!("it holds {} tasks; the phase diagram is of two", tasks.len());
            return Err(Error::data("the task sequence", problem).into());
        }
        let tasks = self.labels(tasks)?;
        let curves = phase_curves(&tasks, &self.theory(), &self.lambda, &grid(&self.alpha)?)?;
        let known = curves.iter().find_map(|curve| curve.critical.clone());
        let critical = match known {
            Some(critical) => critical,
            None => TwoTasks::new(&tasks, &self.theory())?.critical_load()?,
        };
        Ok(curves.iter().flat_map(|curve| curve.points.iter().map(|p| row(curve, p, &critical))).collect())
    }

    fn cost(&self) -> ebbing::Result<Cost> {
        Ok(phase_cost(&self.sequence.sizes()?, grid(&self.alpha)?.len()).times(self.lambda.len().max(1)))
    }
}

fn row(curve: &PhaseCurve, point: &PhasePoint, critical: &CriticalLoad) -> Row {
    let factors = &point.factors;
    let power = |row: Row, name: &str, power: Power| {
        row.with(name, power.coefficient).with(&format!("{name}_exponent"), power.exponent)
    };
    let mut row = Row::new()
        .with("lambda", curve.lambda)
        .with("alpha", factors.alpha)
        .with("regime", critical.regime(factors.alpha).0.to_string())
        .with("u11", factors.u11)
        .with("u12", factors.u12)
        .with("f21", drawn(point.f21));
    row = power(row, "u22", factors.u22);
    row = power(row, "d", factors.d);
    if let Some(g21) = point.g21 {
        row = row.with("g21", drawn(g21));
    }
    if let Some(g22) = point.g22 {
        row = power(row, "g22", g22);
    }
    row.with("alpha_c", critical.exact)
        .with("alpha_c_gamma_sim", critical.from_gamma_sim)
        .with("alpha_c_u11", critical.from_u11)
        .with("gamma_sim", critical.gamma_sim)
        .with("gamma_feature", critical.gamma_feature)
}
