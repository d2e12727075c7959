//! `ebbing data list`: every set that can be named, and where its copy is.

use crate::console::Console;
use ebbing::data::{Places, Status};
use serde_json::{Value, json};

/// List the data sets that can be named, and where copies of them are
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ebbing data list
  EBBING_DATA=/srv/data ebbing data list --json")]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the list.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let places = Places::from_env();
        let all = places.list();
        if self.json {
            let sets: Vec<Value> = all.iter().map(to_json).collect();
            return console.print_json(&json!({ "data_directory": places.data_dir, "sets": sets }));
        }
        console.print(&table(&places, &all))
    }
}

fn to_json(status: &Status) -> Value {
    json!({
        "name": status.name,
        "title": status.title,
        "available": status.available,
        "place": status.found.as_ref().map(|f| &f.place),
        "files": status.found.as_ref().map(|f| &f.files),
        "notes": status.notes,
    })
}

/// The word for where a set comes from.
fn copy_of(status: &Status) -> &str {
    match &status.found {
        Some(found) => &found.place,
        None if status.available => "embedded",
        None => "-",
    }
}

fn table(places: &Places, all: &[Status]) -> String {
    let head = ("name", "what", "copy");
    let rows = all.iter().map(|s| (s.name.as_str(), s.title.as_str(), copy_of(s)));
    let rows: Vec<(&str, &str, &str)> = std::iter::once(head).chain(rows).collect();
    let width = |cell: fn(&(&str, &str, &str)) -> usize| rows.iter().map(cell).max().unwrap_or(0);
    let (w0, w1, w2) = (width(|r| r.0.len()), width(|r| r.1.chars().count()), width(|r| r.2.len()));
    let mut text = String::new();
    for (i, (name, what, copy)) in rows.iter().enumerate() {
        text += format!("{name:w0$}  {what:w1$}  {copy}").trim_end();
        text.push('\n');
        if i == 0 {
            text += &format!("{}\n", "-".repeat(w0 + w1 + w2 + 4));
        }
    }
    text.push('\n');
    for note in all.iter().flat_map(|status| &status.notes) {
        text += &format!("note: {note}\n");
    }
    let used = |place: &str| place == "data directory" || all.iter().any(|s| copy_of(s) == place);
    for (place, folder) in places.folders.iter().filter(|(place, _)| used(place)) {
        text += &format!("{place}: {}\n", folder.display());
    }
    if let Some(missing) = all.iter().find(|status| !status.available) {
        text += &format!("more: ebbing data get {}\n", missing.name);
    }
    text
}
