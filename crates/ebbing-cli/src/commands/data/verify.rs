//! `ebbing data verify`: reads copies of data sets and compares them with what is published.

use super::{describe, to_json};
use crate::console::Console;
use ebbing::Dataset;
use ebbing::data::Places;
use serde_json::{Value, json};

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
    /// Verifies set after set, and fails at the end if one is damaged.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let places = Places::from_env();
        let names = if self.names.is_empty() {
            places.list().into_iter().filter(|s| s.available).map(|s| s.name).collect()
        } else {
            self.names
        };
        let (mut text, mut values, mut damage) = (String::new(), Vec::new(), None);
        let mut progress = console.steps("reading", names.len() as u64);
        for (done, name) in names.iter().enumerate() {
            progress.set(done as u64);
            match verify(&places, name) {
                Ok((words, value)) => {
                    text += &words;
                    values.push(value);
                }
                Err(error) => {
                    text += &format!("{name}: {error}\n");
                    values.push(json!({ "name": name, "error": error.to_string() }));
                    damage = damage.or(Some(error));
                }
            }
        }
        drop(progress);
        if self.json {
            console.print_json(&values)?
        } else {
            console.print(&text)?
        }
        damage.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// What there is to say of one set, in words and for machines.
fn verify(places: &Places, name: &str) -> ebbing::Result<(String, Value)> {
    if name != "mnist-sample" {
        let verified = places.verify(name)?;
        return Ok((describe(&verified), to_json(&verified)));
    }
    let sample = Dataset::sample()?;
    let (train, test) = (sample.train.features.rows(), sample.test.map_or(0, |t| t.features.rows()));
    let sha256 = sample.origin.sha256;
    let text = format!("{name} (embedded): {train} training and {test} test examples\n  content {sha256}\n");
    Ok((text, json!({ "name": name, "place": "embedded", "train": train, "test": test, "sha256": sha256 })))
}
