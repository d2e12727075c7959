//! The diagram as rows, one per penalty and load.

use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::request::{PhaseAnswer, PhaseRequest};
use ebbing::theory::multi_head::{CriticalLoad, Power, Regime, TwoTasks};
use ebbing::theory::phase::{OutputsCurve, OutputsPoint, PhaseCurve, PhasePoint, SequencePoint, phase_curves};

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("lambda", "penalty on the change of weights"),
    ("alpha", "load P/N"),
    ("regime", "regime at infinite lambda"),
    ("u11", "renormalization factor u1(1,1)"),
    ("u12", "renormalization factor u1(1,2)"),
    ("u22", "renormalization factor u1(2,2), or the factor before lambda^u22_exponent"),
    ("u22_exponent", "exponent of lambda that u22 grows with"),
    ("d", "u1 - u0, or the factor before lambda^d_exponent"),
    ("d_exponent", "exponent of lambda that d grows with"),
    ("f21", "training loss of task 1 after task 2; inf where it diverges"),
    ("g21", "test loss of task 1 over that of learning it alone; inf where it diverges"),
    ("g22", "test loss of task 2 over that of learning it alone, or the factor before lambda^g22_exponent"),
    ("g22_exponent", "exponent of lambda that g22 grows with"),
    ("alpha_c", "exact critical load"),
    ("alpha_c_gamma_sim", "its estimate gamma_sim^-2"),
    ("alpha_c_u11", "its estimate for linear networks"),
    ("gamma_sim", "similarity of the two tasks"),
    ("gamma_feature", "overlap of all features"),
    ("u_tt", "renormalization factor u1(T,T) of the last of T tasks, or the factor before lambda^u_tt_exponent"),
    ("f_t1", "training loss of task 1 after the last task, likewise"),
    ("g_t1", "test loss of task 1 after the last task over that of learning it alone, likewise"),
    ("generalizing", "directions of the second head that generalize at infinite lambda, of heads with several outputs"),
    ("alpha_c_last", "critical load above which all directions of the second head generalize"),
    ("accuracy_learned", "test accuracy of task 1 when it was learned, of heads with several outputs, at some loads"),
    ("accuracy_first", "test accuracy of task 1 after task 2, likewise"),
    ("accuracy_second", "test accuracy of task 2, likewise"),
    ("g_tt", "test loss of the last task over that of learning it alone, likewise"),
];

pub(super) fn rows(request: &PhaseRequest, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
    let (theory, sequence) = (request.theory()?, request.drawn(sources, context)?);
    if sequence.tasks.len() > 2 || request.beta.is_finite() {
        let curves = request.sequence(sequence, context)?.curves;
        return Ok(curves.iter().flat_map(|c| c.points.iter().map(|p| sequence_row(c.lambda, p))).collect());
    }
    if sequence.tasks.iter().any(|task| task.y.ncols() > 1) {
        // Two classes in two columns are one output, which the answer knows.
        return match request.answer(sequence, context)? {
            PhaseAnswer::Outputs(found) => Ok(found
                .curves
                .iter()
                .flat_map(|c| c.points.iter().map(|p| outputs_row(c, p, &found.critical.alpha_c)))
                .collect()),
            PhaseAnswer::Place(place) => {
                Ok(place.curves.iter().flat_map(|c| c.points.iter().map(|p| row(c, p, &place.critical))).collect())
            }
            _ => Ok(vec![]),
        };
    }
    let curves = phase_curves(&sequence.tasks, &theory, &request.lambda, &request.alpha.grid()?, context)?;
    let critical = match curves.iter().find_map(|curve| curve.critical.clone()) {
        Some(critical) => critical,
        None => TwoTasks::new(&sequence.tasks, &theory, context)?.critical_load()?,
    };
    Ok(curves.iter().flat_map(|curve| curve.points.iter().map(|p| row(curve, p, &critical))).collect())
}

fn sequence_row(lambda: f64, point: &SequencePoint) -> Row {
    let row = Row::new().with("lambda", lambda).with("alpha", point.alpha);
    let row = point.regime.map_or(row.clone(), |regime| row.with("regime", regime.to_string()));
    let all = [("u_tt", Some(point.u_tt)), ("f_t1", Some(point.f_t1)), ("g_t1", point.g_t1), ("g_tt", point.g_tt)];
    all.into_iter().fold(row, |row, (name, power)| match power {
        Some(power) => row.with(name, power.coefficient).with(&format!("{name}_exponent"), power.exponent),
        None => row,
    })
}

fn outputs_row(curve: &OutputsCurve, point: &OutputsPoint, critical: &[f64]) -> Row {
    let mut row = Row::new().with("lambda", curve.lambda).with("alpha", point.alpha);
    if let Some(directions) = &point.directions {
        row = row.with("generalizing", directions.iter().filter(|r| **r == Regime::Generalization).count() as f64);
    }
    let powers = [("u22", Some(point.norm)), ("f21", Some(point.f21)), ("g21", point.g21), ("g22", point.g22)];
    for (name, power) in powers {
        if let Some(power) = power {
            row = row.with(name, power.coefficient);
            row = if ["u22", "g22"].contains(&name) {
                row.with(&format!("{name}_exponent"), power.exponent)
            } else {
                row
            };
        }
    }
    for (name, edge) in [("alpha_c", critical.first()), ("alpha_c_last", critical.last())] {
        row = row.with(name, edge.copied().unwrap_or(f64::INFINITY));
    }
    match point.accuracy {
        Some(found) => row
            .with("accuracy_learned", found.learned.value)
            .with("accuracy_first", found.first.value)
            .with("accuracy_second", found.second.value),
        None => row,
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
        .with("f21", point.f21.limit());
    row = power(row, "u22", factors.u22);
    row = power(row, "d", factors.d);
    if let Some(g21) = point.g21 {
        row = row.with("g21", g21.limit());
    }
    if let Some(g22) = point.g22 {
        row = power(row, "g22", g22);
    }
    row.with("alpha_c", critical.alpha_c)
        .with("alpha_c_gamma_sim", critical.alpha_c_gamma_sim)
        .with("alpha_c_u11", critical.alpha_c_u11)
        .with("gamma_sim", critical.gamma_sim)
        .with("gamma_feature", critical.gamma_feature)
}
