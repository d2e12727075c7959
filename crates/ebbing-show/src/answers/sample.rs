//! Networks drawn from the posterior itself, beside what the theory says of them.

use super::prepared;
use crate::error::Result;
use crate::figure::{Figure, Line, Markers, Panel};
use crate::files::json_number;
use crate::shown::{Part, Show, Shown, counted};
use crate::style::significant;
use crate::table::Table;
use crate::text::escape_markup;
use ebbing::nets::Heads;
use ebbing::request::{Comparison, SampleAnswer};
use serde_json::{Value, json};

impl Show for SampleAnswer {
    fn shown(&self) -> Result<Shown> {
        let (settings, sampled, rows) = (&self.settings, &self.sampled, &self.comparison[..]);
        let heading = format!(
            "Posterior of {}{}: width {}, depth {}, λ = {}, β = {}, {}, seed {}",
            self.sequence.described(),
            prepared(&self.sequence, settings.heads == Heads::Multi),
            settings.width,
            settings.architecture.depth,
            settings.lambda,
            settings.beta,
            counted(settings.chains, "chain"),
            settings.seed
        );
        let compared = Table::of("", rows)
            .text("quantity", |row| escape_markup(&row.name))
            .estimate("sampled", true, |row| row.sampled)
            .text("theory", |row| row.theory.map_or("-".into(), significant))
            .text("off by (SE)", |row| off(row).map_or("-".into(), |off| format!("{off:+.1}")))
            .done();
        let tasks: Vec<usize> = (0..sampled.convergence.len()).collect();
        let chains = Table::of("Chains", &tasks)
            .integer("task", |t| t + 1)
            .text("R-hat", |&t| format!("{:.3}", sampled.convergence[t].r_hat))
            .number("effective draws", |&t| sampled.convergence[t].effective)
            .number("acceptance", |&t| sampled.acceptance[t])
            .done();
        let mut notes: Vec<String> = sampled.warnings.iter().map(|warning| format!("Warning: {warning}.")).collect();
        let alone = self.alone.iter().flat_map(|alone| &alone.warnings);
        notes.extend(alone.map(|warning| format!("Warning: the last task alone, {warning}.")));
        notes.push("The theory is for wide networks: gaps shrink as the width grows at fixed P/N.".into());
        let tables = vec![Part::Table(compared.clone()), Part::Table(chains)];
        Ok(Shown::new("Sampled networks beside the theory", &heading, vec![finding(rows)], notes, tables)
            .figure("sample", figure(rows))
            .file("sample", compared)
            .next(&[("report with a figure", "ebbing sample --out DIR")]))
    }

    fn json(&self) -> Value {
        let compared = |row: &Comparison| {
            json!({
                "quantity": row.name, "mean": row.sampled.value, "se": row.sampled.error(),
                "theory": row.theory.map(json_number),
            })
        };
        json!({
            "sampled": self.sampled,
            "last_task_alone": self.alone,
            "comparison": self.comparison.iter().map(compared).collect::<Vec<_>>(),
        })
    }
}

/// How many standard errors a sampled value is off the theory.
fn off(row: &Comparison) -> Option<f64> {
    row.theory.map(|theory| (row.sampled.value - theory) / row.sampled.error())
}

/// How far the sampled values are from the theory.
fn finding(rows: &[Comparison]) -> String {
    let off: Vec<f64> = rows.iter().filter_map(off).collect();
    let within = off.iter().filter(|off| off.abs() <= 2.0).count();
    format!("{within} of {} quantities lie within two standard errors of the theory.", off.len())
}

/// Sampled against theoretical values, with the diagonal on which they agree.
fn figure(rows: &[Comparison]) -> Figure {
    let pairs: Vec<(&Comparison, f64)> = rows.iter().filter_map(|r| r.theory.map(|t| (r, t))).collect();
    let theory: Vec<f64> = pairs.iter().map(|(_, t)| *t).collect();
    let mean: Vec<f64> = pairs.iter().map(|(r, _)| r.sampled.value).collect();
    let se: Vec<f64> = pairs.iter().map(|(r, _)| r.sampled.error()).collect();
    let low = theory.iter().chain(&mean).copied().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    let high = theory.iter().chain(&mean).copied().fold(0.0, f64::max);
    let ends = [0.7 * low.min(high), 1.4 * high];
    let panel = Panel::new()
        .x("theory")
        .y("sampled networks")
        .log_x()
        .log_y()
        .line(Line::new("equal", &ends, &ends))
        .markers(Markers::new("mean ± SE", &theory, &mean).errors(&se));
    Figure::single(panel).title("Sampled networks beside the theory").caption(
        "Readout overlaps, losses and the hidden kernel along the labels: networks sampled from the posterior (mean and \
         standard error over independent chains) against the theory at the same width and temperature. Negative values are \
         left out of the logarithmic axes.",
    )
}
