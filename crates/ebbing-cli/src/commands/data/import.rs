//! `ebbing data import PATH`: checks a user's own data and keeps a copy that loads by name.

use super::kind_of;
use crate::console::Console;
use ebbing::Error;
use ebbing::data::{CsvOptions, ImportOptions, LabelColumn, Places};
use serde_json::json;
use std::path::PathBuf;

/// Check your own data and keep a copy that loads by name
#[derive(clap::Args)]
#[command(after_help = "\
PATH may be an .npz file with x_train, y_train, x_test, y_test (or x and y), a
CSV file, an IDX or .npy file of examples, a folder of standard IDX files, a
folder or archive of CIFAR's binary files, or EMNIST's archive.

Examples:
  ebbing data import recordings.npz --name mouse-v1
  ebbing data import train.csv --test test.csv --label-column species
  ebbing data import x.npy --labels y.npy")]
pub struct Args {
    /// The file or folder
    path: PathBuf,
    /// What to call the set [default: the file's name without its endings]
    #[arg(long)]
    name: Option<String>,
    /// The labels of an IDX or .npy file of examples
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Test examples, in a file of the same kind
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// The labels of the test examples
    #[arg(long, value_name = "FILE", requires = "test")]
    test_labels: Option<PathBuf>,
    /// CSV: the column with labels, by its heading, or "first" or "last" [default: the one called label, target, class or y,
    /// else the last]
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// CSV: what stands between fields
    #[arg(long, value_name = "CHAR", default_value = ",")]
    delimiter: String,
    /// CSV: whether the first line is headings [default: found out]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    header: Option<bool>,
    /// Replace a set that was imported under this name before
    #[arg(long)]
    replace: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Imports the set and reports what was found.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let options = self.options()?;
        let (set, stored) = Places::from_env().import(&self.path, &options, self.replace)?;
        let (train, test) = (set.train.features.rows(), set.test.as_ref().map_or(0, |t| t.features.rows()));
        let (name, sha256, dim) = (&set.origin.name, &set.origin.sha256, set.train.features.dim());
        let kind = kind_of(&set.train.targets);
        if self.json {
            return console.print_json(&json!({
                "name": name, "path": stored, "train": train, "test": test, "dim": dim, "targets": kind,
                "image_shape": set.image_shape, "sha256": sha256, "source": set.origin.source,
            }));
        }
        console.print(&format!(
            "{name}: {train} training and {test} test examples of {dim} numbers, {kind}\n  content sha256 {sha256}\n  \
             from {}\n  kept as {}\n",
            set.origin.source,
            stored.display()
        ))
    }

    /// The flags as checked settings.
    fn options(&self) -> ebbing::Result<ImportOptions> {
        let label = match self.label_column.as_deref() {
            None => LabelColumn::Auto,
            Some("last") => LabelColumn::Last,
            Some("first") => LabelColumn::First,
            Some(name) => LabelColumn::Named(name.into()),
        };
        let delimiter = match (self.delimiter.as_str(), self.delimiter.as_bytes()) {
            ("\\t" | "tab", _) => b'\t',
            (_, [byte]) if !b"\"\r\n".contains(byte) && !byte.is_ascii_alphanumeric() => *byte,
            _ => return Err(Error::setting("--delimiter", &self.delimiter, "must be one character, such as ; or tab")),
        };
        Ok(ImportOptions {
            name: self.name.clone(),
            labels: self.labels.clone(),
            test: self.test.clone(),
            test_labels: self.test_labels.clone(),
            csv: CsvOptions { header: self.header, label, delimiter, ..CsvOptions::default() },
        })
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("say yes or no".into()),
    }
}
