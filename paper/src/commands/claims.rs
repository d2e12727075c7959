//! The claims of figures: a table for the screen, and `claims.toml`.

use crate::claim::{Claim, Verdict};
use crate::figures::Seeds;
use ebbing_show::{Style, TERMINAL_COLUMNS, significant, with_error, wrap};
use serde::Serialize;
use std::path::Path;

/// Where the words of a claim begin.
const WORDS: usize = 40;

/// The file of a figure's claims.
#[derive(Serialize)]
struct File<'a> {
    figure: &'a str,
    version: &'a str,
    data: &'a [String],
    /// At most so many seeds, where fewer were asked for than the scale has.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<Seeds>,
    claim: &'a [Claim],
}

/// The content of `claims.toml`.
///
/// # Errors
/// Where a claim cannot be written as TOML.
pub fn file(
    figure: &str,
    version: &str,
    (data, seeds): (&[String], Option<Seeds>),
    claims: &[Claim],
) -> anyhow::Result<String> {
    Ok(toml::to_string(&File { figure, version, data, seeds, claim: claims })?)
}

fn verdict(claim: &Claim) -> &'static str {
    match claim.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Open => "open",
    }
}

fn value(claim: &Claim) -> String {
    match claim.standard_error {
        _ if claim.value.is_nan() => "–".into(),
        Some(error) => with_error(claim.value, error),
        None => significant(claim.value),
    }
}

/// A line of the table: four short columns, and the words in what is left of 80 columns, over as many lines as they need.
fn line(cells: [&str; 4], words: &str) -> String {
    let [panel, verdict, value, threshold] = cells;
    let short = format!("{panel:<6} {verdict:<4} {value:>13} ");
    let first = format!("{short}{threshold:<12} ");
    let blank = " ".repeat(WORDS);
    if first.chars().count() > WORDS {
        // Too wide for its column: the words go below.
        return wrap(threshold, &short, &" ".repeat(short.chars().count())) + &wrap(words, &blank, &blank);
    }
    wrap(words, &format!("{first:<WORDS$}"), &blank)
}

/// The table of claims, with the reasons of those that fail or stay open; `styled` colors the verdicts.
pub fn table(heading: &str, claims: &[(&str, Claim)], out: &Path, styled: bool) -> String {
    let count = |wanted: Verdict| claims.iter().filter(|(_, claim)| claim.verdict == wanted).count();
    let mut text = format!(
        "{heading}: {} pass, {} fail, {} open\n\n",
        count(Verdict::Pass),
        count(Verdict::Fail),
        count(Verdict::Open)
    );
    text += &line(["panel", "", "value", "threshold"], "claim");
    text += &"─".repeat(TERMINAL_COLUMNS);
    text.push('\n');
    for (_, claim) in claims {
        let mut words = claim.statement.clone();
        if let Some(paper) = claim.paper {
            words += &format!(" (paper: {})", significant(paper));
        }
        let answer = line([&claim.panel, verdict(claim), &value(claim), &claim.threshold], &words);
        text += &match claim.verdict {
            Verdict::Open => answer,
            Verdict::Pass => answer.replacen("pass", &Style::Good.on("pass", styled), 1),
            Verdict::Fail => answer.replacen("FAIL", &Style::Bad.on("FAIL", styled), 1),
        };
        if claim.verdict != Verdict::Pass && !claim.note.is_empty() {
            text += &wrap(&claim.note, "       because: ", "       ");
        }
    }
    text + &format!("\nfigures: {}\n", out.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_80_columns_and_reports_reasons() {
        let long = "a claim with many words that goes over several lines of the table because it is so long";
        let claims = [
            ("3", Claim::near("3a", long, 0.998, 1.0, 0.02).error(Some(0.004)).paper(1.0)),
            ("3", Claim::above("3a inset", long, 0.1, 0.5).note("few seeds at this scale ".repeat(6))),
            (
                "5",
                Claim::new(
                    "5f",
                    "no number",
                    f64::NAN,
                    "within one step of the grid of loads, or every step down within 2 SE",
                    false,
                ),
            ),
        ];
        let colored = table("Claims at quick scale", &claims, Path::new("out"), true);
        assert_eq!(
            (colored.matches("\u{1b}[1;31mFAIL\u{1b}[0m").count(), colored.matches("\u{1b}[32mpass").count()),
            (2, 1)
        );
        let text = table("Claims at quick scale", &claims, Path::new("out"), false);
        assert!(text.lines().all(|l| l.chars().count() <= TERMINAL_COLUMNS), "{text}");
        for word in
            ["1 pass, 2 fail, 0 open", "0.998 ± 0.004", "(paper: 1.00)", "FAIL", "because: few seeds", "figures: out"]
        {
            assert!(text.contains(word), "{word} is not in\n{text}");
        }
    }

    #[test]
    fn claims_become_toml() {
        let claims =
            [Claim::below("2e", "a \"quoted\" one", f64::NAN, 1.0), Claim::above("2f", "b", 2.0, 1.0).paper(2.1)];
        let text = file("2", "0.1.0", (&["mnist".into()], None), &claims).unwrap();
        let back: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(back["claim"][1]["verdict"].as_str(), Some("pass"));
        assert!(back["claim"][0]["value"].as_float().unwrap().is_nan());
        assert_eq!(back["claim"][1]["paper"].as_float(), Some(2.1));
    }
}
