//! `ebbing sample`: networks drawn from the posterior itself, beside what the theory says of them.

mod cell;

pub use cell::COLUMNS;

use crate::console::Console;
use crate::output::Output;
use crate::sequence::SequenceArgs;
use ebbing::kernels::{Activation, Architecture};
use ebbing::nets::{Heads, PosteriorSettings, SampledPosterior};
use ebbing::stats::Estimate;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{MultiHead, SingleHead, Task, TaskSequence, sample_posterior};
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

/// Turned into the seed of the chains that learn the last task alone.
const ALONE: u64 = 1 << 63;

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
        let sampled = chains(console, "sampling chains", &sequence.tasks, &settings)?;
        // Fresh networks that learn the last task alone, from other random numbers: what G is measured against.
        let alone = match &sequence.tasks[..] {
            [_, .., last] if last.test.is_some() => {
                let settings = PosteriorSettings { seed: settings.seed ^ ALONE, ..settings.clone() };
                Some(chains(console, "sampling the last task alone", std::slice::from_ref(last), &settings)?)
            }
            _ => None,
        };
        let rows = self.compare(&sequence, &settings, &sampled, alone.as_ref())?;
        self.show(console, &sequence, &settings, &sampled, alone.as_ref(), &rows)
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
        alone: Option<&SampledPosterior>,
    ) -> ebbing::Result<Vec<Row>> {
        let theory = match settings.heads {
            Heads::Multi if settings.architecture.depth == 1 => multi_head(&sequence.tasks, settings)?,
            // The multi-head theory has one hidden layer: deeper networks are sampled without it.
            Heads::Multi => Theory::default(),
            Heads::Single => single_head(sequence, settings)?,
        };
        Ok(rows(sampled, alone, &theory))
    }

    fn show(
        &self,
        console: &Console,
        sequence: &TaskSequence,
        settings: &PosteriorSettings,
        sampled: &SampledPosterior,
        alone: Option<&SampledPosterior>,
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
            "last_task_alone": alone,
            "comparison": rows.iter().map(|row| json!({
                "quantity": row.name, "mean": row.sampled.value, "se": row.sampled.error(),
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
        let off = |row: &Row| {
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

/// What the theory says of the rows, where it says anything; indices as in [`SampledPosterior`].
#[derive(Default)]
struct Theory {
    u1: Vec<Vec<f64>>,
    forgetting: Vec<f64>,
    test: Vec<Option<f64>>,
    generalisation: Option<f64>,
    kernel: Vec<f64>,
}

/// The rows of the comparison.
fn rows(sampled: &SampledPosterior, alone: Option<&SampledPosterior>, theory: &Theory) -> Vec<Row> {
    let last = sampled.u1.len();
    let mut all = Vec::new();
    let mut add = |name: String, sampled: Estimate, theory: Option<f64>| all.push(Row { name, sampled, theory });
    for (t, row) in sampled.u1.iter().enumerate() {
        for (s, &estimate) in row.iter().enumerate() {
            let value = theory.u1.get(t).and_then(|row| row.get(s)).copied();
            add(format!("u1({},{}) = <a_{}·a_{}>/N", t + 1, s + 1, t + 1, s + 1), estimate, value);
        }
    }
    for (s, &estimate) in sampled.forgetting.iter().enumerate() {
        add(format!("F_{last}{}: training loss of task {}", s + 1, s + 1), estimate, theory.forgetting.get(s).copied());
    }
    for (s, estimate) in sampled.test_loss.iter().enumerate() {
        if let Some(estimate) = estimate {
            add(format!("test loss of task {}", s + 1), *estimate, theory.test.get(s).copied().flatten());
        }
    }
    let after = sampled.test_loss.last().copied().flatten();
    if let (Some(after), Some(fresh)) = (after, alone.and_then(|alone| alone.test_loss[0])) {
        let name = format!("G_{last}{last}: test loss of task {last} / alone");
        add(name, ratio(after, fresh), theory.generalisation);
    }
    for (s, &estimate) in sampled.label_kernel.iter().enumerate() {
        add(format!("kernel along labels of task {}", s + 1), estimate, theory.kernel.get(s).copied());
    }
    all
}

/// The ratio of two independent estimates, its error to first order.
fn ratio(a: Estimate, b: Estimate) -> Estimate {
    let value = a.value / b.value;
    let error = value.abs() * ((a.error() / a.value).powi(2) + (b.error() / b.value).powi(2)).sqrt();
    Estimate { value, standard_error: Some(error) }
}

fn multi_head(tasks: &[Task], settings: &PosteriorSettings) -> ebbing::Result<Theory> {
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
    let test = tasks.iter().enumerate().map(|(s, task)| {
        let loss = |test: &ebbing::tasks::TestSet| {
            let predicted = theory.predict(s + 1, last, test.x.as_ref())?;
            Ok(predicted.loss(test.y.as_ref()).coefficient)
        };
        task.test.as_ref().map(loss).transpose()
    });
    let tested = tasks[last - 1].test.is_some();
    Ok(Theory {
        u1: (1..=last).map(|t| (1..=t).map(|s| theory.u1(t, s)).collect()).collect(),
        forgetting: (1..=last).map(|s| theory.forgetting(last, s)).collect::<ebbing::Result<_>>()?,
        test: test.collect::<ebbing::Result<_>>()?,
        generalisation: tested.then(|| theory.generalisation(last, last)).transpose()?,
        // The learned part of the kernel is known for two tasks.
        kernel: if last == 2 {
            tasks.iter().map(|task| label_kernel(&theory, task, settings)).collect::<ebbing::Result<_>>()?
        } else {
            Vec::new()
        },
    })
}

/// `yᵀ K_sim y / P²`: the prior kernel plus its learned part, along the labels.
fn label_kernel(theory: &MultiHead, task: &Task, settings: &PosteriorSettings) -> ebbing::Result<f64> {
    let prior = ebbing::kernels::WeightPrior::new(settings.lambda, settings.sigma2)?;
    let kernel = ebbing::Kernel::new(ebbing::kernels::KernelKind::K1, settings.architecture, prior, 2, 2)?;
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

fn single_head(sequence: &TaskSequence, settings: &PosteriorSettings) -> ebbing::Result<Theory> {
    let theory = SingleHead::new(
        sequence,
        &SingleHeadSettings {
            mode: Mode::Gibbs,
            architecture: settings.architecture,
            lambda: settings.lambda,
            sigma2: settings.sigma2,
            beta: settings.beta,
            variance: true,
            ..SingleHeadSettings::default()
        },
    )?;
    let forecast = theory.forecast()?;
    let last = sequence.tasks.len() - 1;
    let test = forecast.test.as_ref();
    Ok(Theory {
        forgetting: forecast.forgetting[last].clone(),
        test: (0..=last).map(|s| test.map(|test| test.loss[last][s])).collect(),
        generalisation: test.map(|test| test.generalisation[last][last]),
        ..Theory::default()
    })
}

/// Samples with a bar.
fn chains(
    console: &Console,
    what: &str,
    tasks: &[Task],
    settings: &PosteriorSettings,
) -> ebbing::Result<SampledPosterior> {
    let bar = std::sync::Mutex::new(console.steps(what, settings.chains as u64));
    sample_posterior(tasks, settings, |done| {
        if let Ok(mut bar) = bar.lock() {
            bar.set(done as u64);
        }
    })
}

/// Sampled against theoretical values, with the diagonal on which they agree.
fn figure(rows: &[Row], title: &str) -> Figure {
    let pairs: Vec<(&Row, f64)> = rows.iter().filter_map(|r| r.theory.map(|t| (r, t))).collect();
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
    Figure::single(panel).title(title).caption(
        "Readout overlaps, losses and the hidden kernel along the labels: networks sampled from the posterior (mean and \
         standard error over independent chains) against the theory at the same width and temperature. Negative values are \
         left out of the logarithmic axes.",
    )
}
