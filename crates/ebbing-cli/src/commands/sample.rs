//! `ebbing sample`: networks drawn from the posterior itself, beside what the theory says of them.

use crate::console::Console;
use crate::flags::Flags;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing::request::SampleRequest;

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
    request: Flags<SampleRequest>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Samples and compares.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let request = &self.request.0;
        let context = console.watched("sample");
        let _held = self.output.begin(request.clone(), &context)?;
        let answer = request.run(&Sources::new(), &context)?;
        drop(context);
        let (settings, tasks) = (&answer.settings, &answer.sequence.settings);
        let metadata = self.output.metadata("sample", Some(settings.seed), tasks, settings)?;
        self.output.finish(console, ("sample", "sample"), &metadata, &answer)
    }
}
