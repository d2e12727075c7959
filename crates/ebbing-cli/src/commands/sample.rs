//! `ebbing sample`: networks drawn from the posterior itself, beside what the theory says of them.

use crate::console::Console;
use crate::output::{Output, write_json};
use ebbing::data::Sources;
use ebbing::nets::{Heads, PosteriorSettings, SampledPosterior};
use ebbing::{Task, sample_posterior};
use ebbing_show::{Figure, Line, Markers, Panel, Screen, Spread, Table, escape_markup, json_number, significant};
use ebbing_studies::job::{Comparison, SampleJob, SampleResult};
use ebbing_studies::show::{counted, prepared};
use serde_json::json;

/// Sample networks from the posterior and compare them with the theory
///
/// Hamiltonian Monte Carlo over the hidden weights, the readout integrated out, one task after another, at a finite
/// temperature 1/beta and a finite width. The theory is evaluated at the same settings.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing sample                                     two permuted tasks of 40 images, about a minute
  ebbing sample --width 27 --lambda 50 --out DIR    at load P/N = 1.5, with a figure
  ebbing sample --heads single --depth 2            one readout for all tasks")]
pub struct Args {
    #[command(flatten)]
    job: SampleJob,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Samples and compares.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let _held = self.output.begin(self.job.clone(), &console.context())?;
        let chains = |what: &str, tasks: &[Task], settings: &PosteriorSettings| chains(console, what, tasks, settings);
        self.show(console, &self.job.run(&Sources::new(), &console.context(), &chains)?)
    }

    fn show(
        &self,
        console: &Console,
        SampleResult { sequence, settings, sampled, alone, comparison: rows }: &SampleResult,
    ) -> anyhow::Result<()> {
        let title = format!(
            "Posterior of {}{}: width {}, depth {}, λ = {}, β = {}, {}, seed {}",
            sequence.described(),
            prepared(sequence, settings.heads == Heads::Multi),
            settings.width,
            settings.architecture.depth,
            settings.lambda,
            settings.beta,
            counted(settings.chains, "chain"),
            settings.seed
        );
        let metadata = self.output.metadata("sample", Some(settings.seed), &sequence.settings, settings)?;
        let result = json!({
            "metadata": metadata,
            "sampled": sampled,
            "last_task_alone": alone,
            "comparison": rows.iter().map(|row| json!({
                "quantity": row.name, "mean": row.sampled.value, "se": row.sampled.error(),
                "theory": row.theory.map(json_number),
            })).collect::<Vec<_>>(),
        });
        self.output.save("sample", |folder| {
            let figure = figure(rows).finding(&finding(rows)).metadata(&metadata);
            figure.save(folder, "sample")?;
            write_json(&folder.join("sample.json"), &result)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        let column = |get: &dyn Fn(&Comparison) -> f64| rows.iter().map(get).collect::<Vec<f64>>();
        let theory = |row: &Comparison| row.theory.map_or("-".into(), significant);
        let off = |row: &Comparison| {
            row.theory.map_or("-".into(), |t| format!("{:+.1}", (row.sampled.value - t) / row.sampled.error()))
        };
        let names: Vec<String> = rows.iter().map(|row| escape_markup(&row.name)).collect();
        let table = Table::new("")
            .text("quantity", &names)
            .estimate("sampled", &column(&|r| r.sampled.value), Spread::StandardError, &column(&|r| r.sampled.error()))
            .text("theory", &rows.iter().map(theory).collect::<Vec<_>>())
            .text("off by (SE)", &rows.iter().map(off).collect::<Vec<_>>());
        let chains = Table::new("Chains")
            .integer("task", &(1..=sampled.convergence.len() as i64).collect::<Vec<_>>())
            .text("R-hat", &sampled.convergence.iter().map(|c| format!("{:.3}", c.r_hat)).collect::<Vec<_>>())
            .number("effective draws", &sampled.convergence.iter().map(|c| c.effective).collect::<Vec<_>>())
            .number("acceptance", &sampled.acceptance);
        let mut screen = Screen::new(&title).table(&table)?.table(&chains)?;
        for warning in &sampled.warnings {
            screen = screen.paragraph(&format!("Warning: {warning}."));
        }
        for warning in alone.iter().flat_map(|alone| &alone.warnings) {
            screen = screen.paragraph(&format!("Warning: the last task alone, {warning}."));
        }
        screen = screen.paragraph("The theory is for wide networks: gaps shrink as the width grows at fixed P/N.");
        if let Some(folder) = &self.output.out {
            screen = screen.next("figure", &folder.join("sample.svg").display().to_string());
        }
        console.print(&screen.render_for_stdout())
    }
}

/// Samples with a bar.
fn chains(
    console: &Console,
    what: &str,
    tasks: &[Task],
    settings: &PosteriorSettings,
) -> ebbing::Result<SampledPosterior> {
    sample_posterior(tasks, settings, &console.watched(what))
}

/// How far the sampled values are from the theory (markup).
fn finding(rows: &[Comparison]) -> String {
    let off = |row: &Comparison| row.theory.map(|t| (row.sampled.value - t).abs() / row.sampled.error());
    let off: Vec<f64> = rows.iter().filter_map(off).collect();
    let within = off.iter().filter(|off| **off <= 2.0).count();
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
