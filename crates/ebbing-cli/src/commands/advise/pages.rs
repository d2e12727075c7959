//! Advice in the terminal and in files: report.html, advice.json, the table of remedies, the figure.

use crate::output::{Output, write_json};
use ebbing::theory::advise::Advice;
use ebbing_show::{Metadata, Screen, typeset};
use ebbing::request::AdviseAnswer;
use ebbing_studies::show::advise::{shown, table};
use serde_json::{Value, json};

/// The page of the terminal: what to do, then the table.
///
/// # Errors
/// Where the table is not sound.
pub fn screen(told: &AdviseAnswer, output: &Output) -> ebbing_show::Result<String> {
    let mut screen = Screen::new(&typeset(&told.heading));
    let sentences = told.advice.sentences();
    let (first, rest) = sentences.split_at(1.min(sentences.len()));
    for sentence in first {
        screen = screen.paragraph(&typeset(sentence));
    }
    screen = screen.table(&table(&told.advice, "Remedies, the least forgetting F first", false))?;
    for sentence in rest.iter().map(String::as_str).chain(refused(&told.advice).iter().map(String::as_str)) {
        screen = screen.paragraph(&typeset(sentence));
    }
    screen = screen.paragraph(told.advice.assumes());
    screen = match &output.out {
        Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
        None => screen.next("report with a figure", "ebbing advise --out DIR").next("more", "ebbing advise --help"),
    };
    Ok(screen.render_for_stdout())
}

/// Remedies that do not apply, and why.
fn refused(advice: &Advice) -> Vec<String> {
    let out = advice.remedies.iter().filter(|r| !r.applies);
    out.map(|r| format!("{} does not apply: {}.", r.remedy, r.why.as_deref().unwrap_or_default())).collect()
}

fn metadata(told: &AdviseAnswer, output: &Output) -> anyhow::Result<Metadata> {
    output.metadata("advise", Some(told.seed), &told.tasks, &told.settings)
}

/// Everything advice tells, as JSON.
///
/// # Errors
/// Where settings cannot be written as JSON.
pub fn json(told: &AdviseAnswer, output: &Output) -> anyhow::Result<Value> {
    Ok(json!({
        "metadata": metadata(told, output)?,
        "advice": told.advice,
        "answer": told.advice.sentences(),
        "assumes": told.advice.assumes(),
    }))
}

/// Writes all files into the folder, if there is one.
///
/// # Errors
/// Where a file cannot be written.
pub fn write(told: &AdviseAnswer, output: &Output) -> anyhow::Result<()> {
    output.save("advise", |folder| {
        let metadata = metadata(told, output)?;
        write_json(&folder.join("advice.json"), &json(told, output)?)?;
        Ok(shown(told, &metadata)?.save(folder, &metadata)?)
    })
}
