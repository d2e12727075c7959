//! `ebbing data verify`: reads copies of data sets and compares them with what is published.

use super::{describe, to_json};
use crate::console::Console;
use anyhow::Context;
use ebbing::{Dataset, Places};
use serde_json::json;

/// Read copies of data sets and compare them with what is published
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ebbing data verify            every set that is here
  ebbing data verify mnist      one set")]
pub struct Args {
    /// The sets [default: every one that is here]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Verifies set after set; one that is damaged ends the run.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let places = Places::from_env();
        let names = if self.names.is_empty() {
            places.list().into_iter().filter(|s| s.available).map(|s| s.name).collect()
        } else {
            self.names
        };
        let (mut text, mut values) = (String::new(), Vec::new());
        let mut progress = console.steps("reading", names.len() as u64);
        for (done, name) in names.iter().enumerate() {
            progress.set(done as u64);
            if name == "mnist-sample" {
                let sample = Dataset::sample()?;
                let (train, test) = (sample.train.features.rows(), sample.test.map_or(0, |t| t.features.rows()));
                let sha256 = sample.provenance.sha256;
                text += &format!("{name}: {train} training and {test} test examples\n  content sha256 {sha256}\n");
                values.push(json!({ "name": name, "place": "embedded", "train": train, "test": test, "sha256": sha256 }));
                continue;
            }
            let verified = places.verify(name).with_context(|| name.clone())?;
            text += &describe(&verified);
            values.push(to_json(&verified));
        }
        drop(progress);
        if self.json { console.print_json(&values) } else { console.print(&text) }
    }
}
