//! `ebbing train`: networks of finite width learn the tasks by gradient descent, beside what the theory says.

mod cells;
mod loads;
mod reports;
mod runs;
mod sequence_figure;

use crate::console::Console;
use crate::output::Output;
use ebbing::nets::LossScale;
use ebbing_show::{Figure, Metadata, Report, Screen, Table, write_table};
use ebbing_studies::job::TrainJob;
use ebbing_studies::show::bibtex;
use std::path::Path;

/// Train networks on a task sequence, with learners and the theory in one figure
///
/// Losses are sum((f-y)^2)/|Y|^2; [t][s] is after task t on task s. Not forgetting counts only where the newest task was
/// learned: its mean squared training error stands beside every forgetting number.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing train --seeds 5 --out DIR                 gradient descent against the theory
  ebbing train --learners gd,l2,ewc --kappa 0.1    three learners side by side
  ebbing train --heads multi --learners l2 --kappa 0.03 --momentum 0.9 --ratio 0.1 \\
      --loads 0.3,0.6,0.9,1.1,1.3,1.6,2,3,4,6 --seeds 5 --max-steps 30000 \\
      --tolerance 1e-4 --out DIR                   the three regimes by descent
  ebbing train --solver levenberg --heads multi --learners l2 --ratio 0.15 \\
      --loads 0.6,1.3,2,3.2,5 --out DIR            the same at the penalized minimum itself
An interrupted run with --out goes on where it was, to the same numbers.")]
pub struct Args {
    #[command(flatten)]
    job: TrainJob,
    #[command(flatten)]
    output: Output,
}

/// What a run of networks tells: a heading, a table and sentences (markup), and the table that files hold.
struct Told {
    heading: String,
    table: Table,
    in_files: Table,
    sentences: Vec<String>,
}

/// The loss that descent minimizes, in words.
fn loss_words(loss: LossScale) -> &'static str {
    match loss {
        LossScale::Sum => "squared loss summed over examples",
        LossScale::Mean => "squared loss averaged over examples",
    }
}

impl Told {
    /// Writes figure and table under one name, and the report, into a folder.
    fn write(&self, folder: &Path, name: &str, figure: Figure, metadata: &Metadata) -> anyhow::Result<()> {
        let figure = figure.finding(&self.sentences[0]).metadata(metadata);
        figure.save(folder, name)?;
        write_table(folder, name, &self.in_files, metadata)?;
        Report::telling("What trained networks forget", &self.sentences)
            .about(&self.heading)
            .figure(&figure)
            .table(&self.table)
            .metadata(metadata)
            .bibtex(&bibtex())
            .save(&folder.join("report.html"))?;
        Ok(())
    }

    /// The page of the terminal.
    fn screen(&self, output: &Output) -> anyhow::Result<String> {
        let mut screen = Screen::new(&self.heading).table(&self.table)?;
        for sentence in &self.sentences {
            screen = screen.paragraph(sentence);
        }
        screen = match &output.out {
            Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
            None => screen.next("report with a figure", "ebbing train --out DIR"),
        };
        Ok(screen.render_for_stdout())
    }
}

impl Args {
    /// Trains and compares.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let _held = self.output.begin(self.job.clone(), &console.context())?;
        if self.job.loads.is_empty() { self.over_tasks(console) } else { self.over_loads(console) }
    }
}
