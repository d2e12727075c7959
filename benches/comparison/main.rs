//! Ebbing beside its peers on the same inputs and cores: agreement, ratios of time and memory, growth of cost, roofline.
//!
//! `bash benches/compare` prepares the peers and runs this; `-- --serve` is ebbing's own side.

mod document;
mod growth;
mod machine;
mod measure;
mod roofline;
mod serve;
mod side;
mod steps;
#[path = "../timing.rs"]
mod timing;
mod works;

use ebbing::data::write_atomic;
use side::Fallible;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `benches/compare` asks for.
#[derive(Default)]
struct Options {
    serve: bool,
    /// Small sizes and few rounds.
    short: bool,
    /// The rows wanted; all where there are none.
    only: Vec<String>,
    /// Where the document and its figures go.
    out: Option<PathBuf>,
    /// Interpreters by environment.
    peers: BTreeMap<String, String>,
    missing: document::Missing,
    /// Further lines for the document.
    facts: machine::Facts,
}

impl Options {
    fn read() -> Fallible<Options> {
        let mut options = Options::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut pair = || -> Fallible<(String, String)> {
                let value = words.next().ok_or_else(|| format!("{word} needs NAME=VALUE"))?;
                let (name, value) = value.split_once('=').ok_or_else(|| format!("{word} needs NAME=VALUE"))?;
                Ok((name.into(), value.into()))
            };
            match word.as_str() {
                "--bench" => {}
                "--serve" => options.serve = true,
                "--short" => options.short = true,
                "--peer" => options.peers.extend([pair()?]),
                "--missing" => options.missing.push(pair()?),
                "--fact" => options.facts.push(pair()?),
                "--only" => options.only.push(words.next().ok_or("--only needs the name of a row")?),
                "--out" => {
                    // Relative to the top of the repository, from where the script runs.
                    let top = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
                    options.out = Some(top.join(words.next().ok_or("--out needs a folder")?));
                }
                other => return Err(format!("there is no option '{other}'").into()),
            }
        }
        Ok(options)
    }

    /// The rows wanted: those whose names start with a given one.
    fn rows(&self) -> Fallible<Vec<works::Row>> {
        let rows = works::rows(self.short);
        let names = || rows.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        if let Some(name) = self.only.iter().find(|name| !rows.iter().any(|row| row.name.starts_with(name.as_str()))) {
            return Err(format!("there is no row '{name}'; there are {}", names()).into());
        }
        let wanted =
            |row: &works::Row| self.only.is_empty() || self.only.iter().any(|name| row.name.starts_with(name.as_str()));
        Ok(rows.into_iter().filter(wanted).collect())
    }
}

fn compare(options: &Options) -> Fallible<ExitCode> {
    let (short, folder) = (options.short, tempfile::tempdir()?);
    let rows = options.rows()?;
    let mut facts = options.facts.clone();
    facts.extend(machine::facts(measure::THREADS));
    let mut seen: Vec<&str> = vec![];
    for peer in rows.iter().map(|row| row.peer) {
        if let Some(python) = options.peers.get(peer.environment)
            && !seen.contains(&peer.environment)
        {
            seen.push(peer.environment);
            facts.push((peer.environment.into(), machine::versions(&peer, python)?));
        }
    }
    for (name, value) in &facts {
        println!("{name}: {value}");
    }
    for (name, reason) in &options.missing {
        println!("{name} is left out: {reason}");
    }
    let (mut outcomes, mut steps_apart, mut failed) = (vec![], None, vec![]);
    for row in rows {
        println!("{}: {} ({})", row.name, row.work.description(), row.peer.title);
        let python = options.peers.get(row.peer.environment).map(String::as_str);
        let name = row.name;
        match measure::measure(row, python, folder.path(), short, &mut steps_apart) {
            Ok(outcome) => {
                if let Some(ratio) = outcome.ratio() {
                    println!("  {ratio:.2} times as fast");
                }
                if !outcome.agrees() {
                    failed.push(format!("{name}: results differ"));
                }
                outcomes.push(outcome);
            }
            Err(problem) => failed.push(format!("{name}: {problem}")),
        }
    }
    println!("\n{}", document::table(&outcomes, short)?);
    if !failed.is_empty() {
        println!("FAILED: {}", failed.join("; "));
        return Ok(ExitCode::FAILURE);
    }
    if options.only.is_empty() {
        println!("growth of cost");
        let all = growth::measure(folder.path(), short)?;
        let numpy = options.peers.get("scipy").or_else(|| options.peers.get("neural-tangents"));
        let peaks = roofline::measure(numpy.map(String::as_str), &outcomes, folder.path(), short)?;
        println!("\n{}", document::roofline(&peaks)?);
        if let Some(out) = &options.out {
            document::figure(&outcomes).save(out, "benchmarks")?;
            growth::figure(&all).save(out, "growth")?;
            let text = document::document(&outcomes, &all, &peaks, &facts, &options.missing)?;
            write_atomic(&out.join("benchmarks.md"), text.as_bytes())?;
            println!("written to {}", out.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let ended = Options::read().and_then(|options| match &options {
        Options { serve: true, .. } => serve::serve().map(|()| ExitCode::SUCCESS),
        Options { peers, .. } if peers.is_empty() => {
            println!("no peer was named: `bash benches/compare` prepares them and compares");
            Ok(ExitCode::SUCCESS)
        }
        _ => compare(&options),
    });
    ended.unwrap_or_else(|problem| {
        eprintln!("compare: {problem}");
        ExitCode::FAILURE
    })
}
