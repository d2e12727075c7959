//! Pages: the report, one HTML file that loads nothing and needs no script, for screens from 360 px and for A4 paper; and
//! the cell of a notebook.

mod gallery;

use crate::cite::bibtex;
use crate::error::Result;
use crate::figure::Figure;
use crate::matrix::Matrix;
use crate::metadata::Metadata;
use crate::shown::{Part, Shown};
use crate::table::Table;
use crate::text::{Rich, plain_text, xml_escape};

const STYLE: &str = include_str!("page.css");
/// Sentences that the report opens with; more would be a wall.
const BULLETS: usize = 5;
/// Says to browsers what holds anyway: nothing may be loaded or run; pictures are part of the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

fn rich(markup: &str) -> String {
    Rich::parse(markup).html()
}

/// The report of an answer: title, the answer in a few bullets, figures, notes, tables, then how it was made and how to cite it.
///
/// # Errors
/// When a figure's or a table's arrays do not fit together.
pub(crate) fn report(shown: &Shown, metadata: &Metadata) -> Result<String> {
    let title = plain_text(&shown.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        xml_escape(&title)
    );
    out += &format!("<h1>{}</h1>\n", rich(&shown.title));
    if !shown.heading.is_empty() && shown.heading != shown.title {
        out += &format!("<p class=\"about\">{}</p>\n", rich(&shown.heading));
    }
    let (points, more) = shown.sentences.split_at(shown.sentences.len().min(BULLETS));
    match points {
        [] => {}
        [only] => out += &format!("<p class=\"answer\">{}</p>\n", rich(only)),
        several => out += &list("answer", several),
    }
    let (front, rest) = shown.figures.split_at(shown.front.min(shown.figures.len()));
    if !front.is_empty() {
        let cards = front.iter().map(|(_, figure)| front_html(figure)).collect::<Result<String>>()?;
        out += &format!("<div class=\"front\">\n{cards}</div>\n");
    }
    let folded = !front.is_empty();
    let mut below = String::new();
    for (k, (_, figure)) in rest.iter().enumerate() {
        below += &figure_html(front.len() + k + 1, figure)?;
    }
    if let Some(drawing) = &shown.drawing {
        let name = xml_escape(&plain_text(points.first().unwrap_or(&shown.title)));
        below +=
            &format!("<figure role=\"img\" aria-label=\"{name}\">\n<div class=\"card\">\n{drawing}</div>\n</figure>\n");
    }
    out += &fold(folded, "More figures", below);
    out += &fold(folded, "Examples most at risk", gallery::all(&shown.galleries)?);
    let notes = [more, &shown.notes].concat();
    if !notes.is_empty() {
        let list = list("notes", &notes);
        out += &if folded { fold(true, "Assumptions and notes", list) } else { format!("<h2>Notes</h2>\n{list}") };
    }
    let tables = tables_html(&shown.tables)?;
    out += &match folded {
        true => fold(true, "Tables", tables),
        false if tables.is_empty() => String::new(),
        false => format!("<h2>Tables</h2>\n{tables}"),
    };
    out += &fold(folded, "How this was made", origin(metadata));
    out += &fold(folded, "How to cite", format!("<h2>How to cite</h2>\n<pre>{}</pre>\n", xml_escape(&bibtex())));
    Ok(out + "</main>\n</body>\n</html>\n")
}

/// Below a line that opens it, or as it is; nothing of nothing.
fn fold(folded: bool, title: &str, body: String) -> String {
    match folded && !body.is_empty() {
        true => format!("<details>\n<summary>{title}</summary>\n{body}</details>\n"),
        false => body,
    }
}

/// Tables with numbers, and words between them.
fn tables_html(parts: &[Part]) -> Result<String> {
    let (mut out, mut number) = (String::new(), 0);
    for part in parts {
        let Some((name, body)) = body_html(part)? else {
            out += &words_html(part);
            continue;
        };
        number += 1;
        out += &table_html(name, &format!("<b>Table {number}.</b> "), &body);
    }
    Ok(out)
}

/// One table, with what stands before its name.
fn table_html(name: &str, before: &str, body: &str) -> String {
    let caption = format!("<caption>{before}{}</caption>\n", rich(name));
    let name = xml_escape(&plain_text(name));
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table>\n{caption}{body}</table></div>\n"
    )
}

/// The tables one by one, each with its name as plain text.
///
/// # Errors
/// When the columns of a table do not fit together.
pub(crate) fn tables(shown: &Shown) -> Result<Vec<(String, String)>> {
    let one = |part: &Part| -> Result<Option<(String, String)>> {
        Ok(body_html(part)?.map(|(name, body)| (plain_text(name), table_html(name, "", &body))))
    };
    shown.tables.iter().filter_map(|part| one(part).transpose()).collect()
}

/// The page of an answer for the cell of a notebook.
///
/// # Errors
/// When the columns of a table do not fit together.
pub(crate) fn fragment(shown: &Shown) -> Result<String> {
    let mut out = format!("<p><b>{}</b></p>\n", rich(&shown.heading));
    for part in &shown.page {
        let Some((name, body)) = body_html(part)? else {
            out += &words_html(part);
            continue;
        };
        let caption = if name.is_empty() { String::new() } else { format!("<caption>{}</caption>\n", rich(name)) };
        out += &format!("<table>\n{caption}{body}</table>\n");
    }
    Ok(out)
}

/// The caption (markup) of a table or matrix and its rows.
fn body_html(part: &Part) -> Result<Option<(&str, String)>> {
    Ok(match part {
        Part::Words(_) => None,
        Part::Table(table) => Some((&table.title, table.body_html()?)),
        Part::Matrix(matrix) => Some((&matrix.name, matrix.body_html()?)),
    })
}

fn words_html(part: &Part) -> String {
    if let Part::Words(words) = part { format!("<p>{}</p>\n", rich(words)) } else { String::new() }
}

/// Settings, seed, version and hash.
fn origin(metadata: &Metadata) -> String {
    let mut out = String::from("<h2>How this was made</h2>\n<table class=\"facts\">\n<tbody>\n");
    for (name, value) in metadata.entries().iter().filter(|(name, _)| *name != "settings") {
        let name = name.replace('_', " ");
        out += &format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", xml_escape(value));
    }
    out += "</tbody>\n</table>\n";
    if !metadata.settings.is_null() {
        let settings = serde_json::to_string_pretty(&metadata.settings).unwrap_or_default();
        out += &format!("<h2>Settings</h2>\n<pre>{}</pre>\n", xml_escape(&settings));
    }
    out
}

/// Sentences as bullets.
fn list(class: &str, sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|sentence| format!("<li>{}</li>\n", rich(sentence))).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// A figure of the answer: its title, what it shows in a sentence, and its caption.
fn front_html(figure: &Figure) -> Result<String> {
    let (svg, stacked) = figure.inline_svg()?;
    let wide = if stacked.is_some() { " class=\"whole\"" } else { "" };
    let cards = match stacked {
        Some(stacked) => {
            format!("<div class=\"card wide\">\n{svg}</div>\n<div class=\"card stacked\">\n{stacked}</div>\n")
        }
        None => format!("<div class=\"card\">\n{svg}</div>\n"),
    };
    let (title, finding) = figure.title_and_finding();
    let (title, finding) = (rich(title), rich(finding));
    let caption = rich(figure.caption_markup());
    Ok(format!(
        "<figure{wide}>\n<h2>{title}</h2>\n<p>{finding}</p>\n{cards}<figcaption>{caption}</figcaption>\n</figure>\n"
    ))
}

/// A figure with its caption; one wider than a phone is there twice, and the width of the screen chooses.
fn figure_html(number: usize, figure: &Figure) -> Result<String> {
    let (svg, stacked) = figure.inline_svg()?;
    let cards = match stacked {
        Some(stacked) => {
            format!("<div class=\"card wide\">\n{svg}</div>\n<div class=\"card stacked\">\n{stacked}</div>\n")
        }
        None => format!("<div class=\"card\">\n{svg}</div>\n"),
    };
    let caption = rich(figure.caption_markup());
    Ok(format!("<figure>\n{cards}<figcaption><b>Figure {number}.</b> {caption}</figcaption>\n</figure>\n"))
}

/// A row of cells; `right` says which are numbers.
fn row(tag: &str, cells: &[String], right: &[bool]) -> String {
    let scope = if tag == "th" { " scope=\"col\"" } else { "" };
    let cell = |(text, right): (&String, &bool)| {
        let class = if *right { " class=\"n\"" } else { "" };
        format!("<{tag}{scope}{class}>{text}</{tag}>")
    };
    format!("<tr>{}</tr>\n", cells.iter().zip(right).map(cell).collect::<String>())
}

impl Table {
    fn body_html(&self) -> Result<String> {
        let rows = self.rows()?;
        let right: Vec<bool> = self.columns.iter().map(|c| !c.is_text()).collect();
        let heads: Vec<String> = self.columns.iter().map(|c| rich(&c.full_head())).collect();
        let mut out = format!("<thead>\n{}</thead>\n<tbody>\n", row("th", &heads, &right));
        for r in 0..rows {
            let cells: Vec<String> = self.columns.iter().map(|c| rich(&c.cell(r))).collect();
            out += &row("td", &cells, &right);
        }
        Ok(out + "</tbody>\n")
    }
}

impl Matrix {
    fn body_html(&self) -> Result<String> {
        self.check()?;
        let n = self.columns.len();
        let above = format!("<tr><th></th><th colspan=\"{n}\">{}</th></tr>\n", rich(&self.column_name));
        let right: Vec<bool> = std::iter::once(false).chain(std::iter::repeat_n(true, n)).collect();
        let heads: Vec<String> = std::iter::once(&self.row_name).chain(&self.columns).map(|h| rich(h)).collect();
        let mut out = format!("<thead>\n{above}{}</thead>\n<tbody>\n", row("th", &heads, &right));
        for (i, name) in self.rows.iter().enumerate() {
            let cells = std::iter::once(rich(name)).chain((0..n).map(|j| self.cell(i, j)));
            out += &row("td", &cells.collect::<Vec<_>>(), &right);
        }
        Ok(out + "</tbody>\n")
    }
}
