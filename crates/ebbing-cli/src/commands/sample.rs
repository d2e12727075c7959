//! `ebbing sample`: networks drawn from the posterior itself, beside what the theory says of them.

mod cell;

pub use cell::COLUMNS;

use crate::console::Console;
use crate::output::Output;
use crate::sequence::SequenceArgs;
use ebbing::{
    Activation, Architecture, Estimate, Heads, Mode, MultiHead, MultiHeadSettings, PosteriorSettings, SampledPosterior,
    SingleHead, SingleHeadSettings, Task, TaskSequence, sample_posterior,
};
use ebbing_report::{Figure, Line, Markers, Panel, Screen, Spread, Table, escape_markup, json_number, significant};
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
    sequence: SequenceArgs,
    /// One readout for all tasks, or one for each
    #[arg(long, value_parser = ["multi", "single"], default_value = "multi")]
    heads: String,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Width N of every hidden layer
    #[arg(long, default_value_t = 80)]
    width: usize,
    /// Penalty on the change of weights
    #[arg(long, value_name = "LAMBDA", default_value_t = 5.0)]
    lambda: f64,
    /// Prior standard deviation of a weight
    #[arg(long, default_value_t = 1.0)]
    sigma: f64,
    /// Inverse temperature
    #[arg(long, default_value_t = 2000.0)]
    beta: f64,
    /// Independent chains
    #[arg(long, default_value_t = 16)]
    chains: usize,
    /// Moves that adapt the step size, per task and chain
    #[arg(long, default_value_t = 300)]
    warmup: usize,
    /// Moves kept, per task and chain
    #[arg(long, default_value_t = 100)]
    draws: usize,
    #[command(flatten)]
    output: Output,
}

/// One number of the comparison.
struct Row {
    name: String,
    sampled: Estimate,
    theory: Option<f64>,
}

impl Args {
    /// Samples and compares.
    pub fn run(mut self, console: &Console) -> anyhow::Result<()> {
        self.output.check()?;
        self.fill_defaults();
        let settings = self.settings();
        let sequence = self.sequence.origin()?.sequence(self.sequence.seed)?;
        let mut bar = console.steps("sampling chains", settings.chains as u64);
        let bar_cell = std::sync::Mutex::new(&mut bar);
        let sampled = sample_posterior(&sequence.tasks, &settings, |done| {
            if let Ok(mut bar) = bar_cell.lock() {
                bar.set(done as u64);
            }
        })?;
        drop(bar);
        let rows = self.compare(&sequence, &settings, &sampled)?;
        self.show(console, &sequence, &settings, &sampled, &rows)
    }

    /// Small tasks, unless others are asked for.
    fn fill_defaults(&mut self) {
        if self.sequence.tasks.is_none() {
            self.sequence.length.get_or_insert(2);
            self.sequence.examples.get_or_insert(40);
            self.sequence.test_examples.get_or_insert(40);
            if self.sequence.ratio.is_none() && self.sequence.takes_ratio() {
                self.sequence.ratio = Some(0.3);
            }
        }
    }

    fn settings(&self) -> PosteriorSettings {
        PosteriorSettings {
            heads: if self.heads == "single" { Heads::Single } else { Heads::Multi },
            architecture: Architecture { activation: Activation::Relu, depth: self.depth },
            width: self.width,
            lambda: self.lambda,
            sigma2: self.sigma * self.sigma,
            beta: self.beta,
            chains: self.chains,
            warmup: self.warmup,
            draws: self.draws,
            seed: self.sequence.seed,
            ..PosteriorSettings::default()
        }
    }

    /// Sampled numbers with the theory's beside them, where there is a theory for them.
    fn compare(
        &self,
        sequence: &TaskSequence,
        settings: &PosteriorSettings,
        sampled: &SampledPosterior,
    ) -> ebbing::Result<Vec<Row>> {
        match settings.heads {
            Heads::Multi if settings.architecture.depth == 1 => multi_head(&sequence.tasks, settings, sampled),
            // The multi-head theory has one hidden layer: deeper networks are sampled without it.
            Heads::Multi => Ok(rows(sampled, |_, _| None, |_| None, |_| None, |_| None)),
            Heads::Single => single_head(sequence, settings, sampled),
        }
    }

    fn show(
        &self,
        console: &Console,
        sequence: &TaskSequence,
        settings: &PosteriorSettings,
        sampled: &SampledPosterior,
        rows: &[Row],
    ) -> anyhow::Result<()> {
        let sizes: Vec<String> = sequence.tasks.iter().map(|t| t.x.nrows().to_string()).collect();
        let title = format!(
            "Posterior of {} tasks of {} examples: width {}, depth {}, lambda {}, beta {}, {} chains, seed {}",
            sequence.tasks.len(),
            sizes.join(", "),
            settings.width,
            settings.architecture.depth,
            settings.lambda,
            settings.beta,
            settings.chains,
            settings.seed
        );
        let metadata = self.output.metadata("sample", Some(settings.seed), &sequence.settings, settings)?;
        let result = json!({
            "metadata": metadata,
            "sampled": sampled,
            "comparison": rows.iter().map(|row| json!({
                "quantity": row.name, "mean": row.sampled.mean, "se": row.sampled.se,
                "theory": row.theory.map(json_number),
            })).collect::<Vec<_>>(),
        });
        if let Some(folder) = &self.output.out {
            crate::files::make_folder(folder)?;
            figure(rows, &title).metadata(&metadata).save(folder, "sample")?;
            self.output.write_json("sample.json", &result)?;
        }
        if self.output.json {
            return console.print_json(&result);
        }
        let column = |get: &dyn Fn(&Row) -> f64| rows.iter().map(get).collect::<Vec<f64>>();
        let theory = |row: &Row| row.theory.map_or("-".into(), significant);
        let off =
            |row: &Row| row.theory.map_or("-".into(), |t| format!("{:+.1}", (row.sampled.mean - t) / row.sampled.se));
        let names: Vec<String> = rows.iter().map(|row| escape_markup(&row.name)).collect();
        let table = Table::new("")
            .text("quantity", &names)
            .estimate("sampled", &column(&|r| r.sampled.mean), Spread::StandardError, &column(&|r| r.sampled.se))
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
        screen = screen.paragraph("The theory is for wide networks: gaps shrink as the width grows at fixed P/N.");
        if let Some(folder) = &self.output.out {
            screen = screen.next("figure", &folder.join("sample.svg").display().to_string());
        }
        console.print(&screen.render_for_stdout())
    }
}

/// The rows of the comparison from functions that give the theory's value.
fn rows(
    sampled: &SampledPosterior,
    u1: impl Fn(usize, usize) -> Option<f64>,
    forgetting: impl Fn(usize) -> Option<f64>,
    test: impl Fn(usize) -> Option<f64>,
    kernel: impl Fn(usize) -> Option<f64>,
) -> Vec<Row> {
    let last = sampled.u1.len();
    let mut all = Vec::new();
    for (t, row) in sampled.u1.iter().enumerate() {
        for (s, &estimate) in row.iter().enumerate() {
            let name = format!("<a_{}·a_{}>/N", t + 1, s + 1);
            all.push(Row { name, sampled: estimate, theory: u1(t, s) });
        }
    }
    for s in 0..last {
        let name = format!("training loss of task {} after {last}", s + 1);
        all.push(Row { name, sampled: sampled.forgetting[s], theory: forgetting(s) });
    }
    for (s, estimate) in sampled.test_loss.iter().enumerate() {
        if let Some(estimate) = estimate {
            let name = format!("test loss of task {} after {last}", s + 1);
            all.push(Row { name, sampled: *estimate, theory: test(s) });
        }
    }
    for (s, &estimate) in sampled.label_kernel.iter().enumerate() {
        let name = format!("kernel along labels of task {}", s + 1);
        all.push(Row { name, sampled: estimate, theory: kernel(s) });
    }
    all
}

fn multi_head(tasks: &[Task], settings: &PosteriorSettings, sampled: &SampledPosterior) -> ebbing::Result<Vec<Row>> {
    let theory = MultiHead::solve(
        tasks,
        &MultiHeadSettings {
            lambda: settings.lambda,
            sigma2: settings.sigma2,
            beta: settings.beta,
            width: Some(settings.width as f64),
            alpha: None,
            activation: settings.architecture.activation,
            ..MultiHeadSettings::default()
        },
    )?;
    let last = tasks.len();
    let forgetting = (1..=last).map(|s| theory.forgetting(last, s)).collect::<ebbing::Result<Vec<f64>>>()?;
    let test = tasks.iter().enumerate().map(|(s, task)| {
        let loss = |test: &ebbing::TestSet| {
            let predicted = theory.predict(s + 1, last, test.x.as_ref())?;
            Ok(predicted.loss(test.y.as_ref()).coefficient)
        };
        task.test.as_ref().map(loss).transpose()
    });
    let test = test.collect::<ebbing::Result<Vec<Option<f64>>>>()?;
    let kernel = if last == 2 {
        tasks.iter().map(|task| label_kernel(&theory, task, settings).map(Some)).collect::<ebbing::Result<Vec<_>>>()?
    } else {
        vec![None; last]
    };
    Ok(rows(sampled, |t, s| Some(theory.u1(t + 1, s + 1)), |s| Some(forgetting[s]), |s| test[s], |s| kernel[s]))
}

/// `yᵀ K_sim y / P²`: the prior kernel plus its learned part, along the labels.
fn label_kernel(theory: &MultiHead, task: &Task, settings: &PosteriorSettings) -> ebbing::Result<f64> {
    let prior = ebbing::WeightPrior::new(settings.lambda, settings.sigma2)?;
    let kernel = ebbing::Kernel::new(ebbing::KernelKind::K1, settings.architecture, prior, 2, 2)?;
    let learned = theory.learned_kernel(task.x.as_ref())?;
    let k = kernel.gram_symmetric(task.x.as_ref())?;
    let p = task.x.nrows();
    let mut sum = 0.0;
    for j in 0..p {
        for i in 0..p {
            sum += task.y[(i, 0)] * (k[(i, j)] + learned[(i, j)]) * task.y[(j, 0)];
        }
    }
    Ok(sum / (p * p) as f64)
}

fn single_head(
    sequence: &TaskSequence,
    settings: &PosteriorSettings,
    sampled: &SampledPosterior,
) -> ebbing::Result<Vec<Row>> {
    let theory = SingleHead::new(
        SingleHeadSettings {
            mode: Mode::Gibbs,
            architecture: settings.architecture,
            lambda: settings.lambda,
            sigma2: settings.sigma2,
            beta: settings.beta,
            variance: true,
            ..SingleHeadSettings::default()
        },
        sequence,
    )?;
    let forecast = theory.forecast()?;
    let last = sequence.tasks.len() - 1;
    let test = |s: usize| forecast.test.as_ref().map(|test| test.loss[last][s]);
    Ok(rows(sampled, |_, _| None, |s| Some(forecast.forgetting[last][s]), test, |_| None))
}

/// Sampled against theoretical values, with the diagonal on which they agree.
fn figure(rows: &[Row], title: &str) -> Figure {
    let pairs: Vec<(&Row, f64)> = rows.iter().filter_map(|r| r.theory.map(|t| (r, t))).collect();
    let theory: Vec<f64> = pairs.iter().map(|(_, t)| *t).collect();
    let mean: Vec<f64> = pairs.iter().map(|(r, _)| r.sampled.mean).collect();
    let se: Vec<f64> = pairs.iter().map(|(r, _)| r.sampled.se).collect();
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
    Figure::single(panel).title(title).caption(
        "Readout overlaps, losses and the hidden kernel along the labels: networks sampled from the posterior (mean and \
         standard error over independent chains) against the theory at the same width and temperature. Negative values are \
         left out of the logarithmic axes.",
    )
}
