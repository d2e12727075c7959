//! The report: one HTML file that loads nothing and needs no script, for screens from 360 px and for A4 paper.

use std::path::Path;

use crate::error::Result;
use crate::figure::Figure;
use crate::matrix::Matrix;
use crate::metadata::Metadata;
use crate::table::Table;
use crate::text::{Rich, xml_escape};

const STYLE: &str = include_str!("page.css");
/// Sentences that the report opens with; more would be a wall.
const BULLETS: usize = 5;
/// Browsers are told what holds anyway: nothing may be loaded or run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A report: title, the answer in a few bullets, figures, notes, tables, then how it was made and how to cite it.
///
/// ```
/// use ebbing_show::{Metadata, Report, Table};
/// let page = Report::new("Forecast for five permuted tasks", "Task 1 loses 0.31 ± 0.02 after five tasks.")
///     .table(&Table::new("Order parameters").number("γ_{RF}", &[0.8]))
///     .metadata(&Metadata::new("0.1.0", "ebbing forecast").seed(1))
///     .to_html()?;
/// assert!(page.contains("γ<sub>RF</sub>") && !page.contains("<script"));
/// # Ok::<(), ebbing_show::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    about: String,
    points: Vec<String>,
    notes: Vec<String>,
    figures: Vec<Figure>,
    tables: Vec<Content>,
    metadata: Option<Metadata>,
    bibtex: String,
}

#[derive(Clone, Debug)]
enum Content {
    Table(Table),
    Matrix(Matrix),
}

impl Content {
    fn name(&self) -> &str {
        match self {
            Content::Table(table) => &table.title,
            Content::Matrix(matrix) => &matrix.name,
        }
    }
}

fn rich(markup: &str) -> String {
    Rich::parse(markup).html()
}

impl Report {
    /// A report with its title and the answer in one paragraph of words (markup).
    pub fn new(title: &str, answer: &str) -> Report {
        Report::telling(title, &[answer.into()])
    }

    /// A report that opens with sentences (markup): the first five as bullets, the rest as notes below the figures. Sentences
    /// that are plain text go through [`escape_markup`](crate::escape_markup) first.
    pub fn telling(title: &str, sentences: &[String]) -> Report {
        let (points, notes) = sentences.split_at(sentences.len().min(BULLETS));
        Report {
            title: title.into(),
            about: String::new(),
            points: points.to_vec(),
            notes: notes.to_vec(),
            figures: Vec::new(),
            tables: Vec::new(),
            metadata: None,
            bibtex: String::new(),
        }
    }

    /// One line below the title: what was computed, and on what (markup).
    pub fn about(mut self, line: &str) -> Report {
        self.about = line.into();
        self
    }

    /// Adds a note below the figures, such as what the forecast assumes (markup).
    pub fn note(mut self, text: &str) -> Report {
        self.notes.push(text.into());
        self
    }

    /// Adds a figure with its caption.
    pub fn figure(mut self, figure: &Figure) -> Report {
        self.figures.push(figure.clone());
        self
    }

    /// Adds a table.
    pub fn table(mut self, table: &Table) -> Report {
        self.tables.push(Content::Table(table.clone()));
        self
    }

    /// Adds a matrix as a table.
    pub fn matrix(mut self, matrix: &Matrix) -> Report {
        self.tables.push(Content::Matrix(matrix.clone()));
        self
    }

    /// How the report was made: program, command, seed, data and settings.
    pub fn metadata(mut self, metadata: &Metadata) -> Report {
        self.metadata = Some(metadata.clone());
        self
    }

    /// How to cite it.
    pub fn bibtex(mut self, bibtex: &str) -> Report {
        self.bibtex = bibtex.into();
        self
    }

    /// The page.
    ///
    /// # Errors
    /// When a figure's or a table's arrays do not fit together.
    pub fn to_html(&self) -> Result<String> {
        let title = xml_escape(&Rich::parse(&self.title).plain());
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        );
        out += &format!("<h1>{}</h1>\n", rich(&self.title));
        if !self.about.is_empty() {
            out += &format!("<p class=\"about\">{}</p>\n", rich(&self.about));
        }
        match &self.points[..] {
            [] => {}
            [only] => out += &format!("<p class=\"answer\">{}</p>\n", rich(only)),
            several => out += &list("answer", several),
        }
        for (k, figure) in self.figures.iter().enumerate() {
            out += &figure_html(k + 1, figure)?;
        }
        if !self.notes.is_empty() {
            out += &format!("<h2>Notes</h2>\n{}", list("notes", &self.notes));
        }
        if !self.tables.is_empty() {
            out += "<h2>Tables</h2>\n";
        }
        for (k, content) in self.tables.iter().enumerate() {
            let body = match content {
                Content::Table(table) => table.body_html()?,
                Content::Matrix(matrix) => matrix.body_html()?,
            };
            let caption = format!("<caption><b>Table {}.</b> {}</caption>\n", k + 1, rich(content.name()));
            let name = xml_escape(&Rich::parse(content.name()).plain());
            let scroll = format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">");
            out += &format!("{scroll}<table>\n{caption}{body}</table></div>\n");
        }
        out += &self.origin_html();
        out += "</main>\n</body>\n</html>\n";
        Ok(out)
    }

    /// Settings, seed, version and hash, and the BibTeX entry.
    fn origin_html(&self) -> String {
        let mut out = String::new();
        if let Some(metadata) = &self.metadata {
            out += "<h2>How this was made</h2>\n<table class=\"facts\">\n<tbody>\n";
            for (name, value) in metadata.entries().iter().filter(|(name, _)| *name != "settings") {
                let name = name.replace('_', " ");
                out += &format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", xml_escape(value));
            }
            out += "</tbody>\n</table>\n";
            if !metadata.settings.is_null() {
                let settings = serde_json::to_string_pretty(&metadata.settings).unwrap_or_default();
                out += &format!("<h2>Settings</h2>\n<pre>{}</pre>\n", xml_escape(&settings));
            }
        }
        if !self.bibtex.is_empty() {
            out += &format!("<h2>How to cite</h2>\n<pre>{}</pre>\n", xml_escape(&self.bibtex));
        }
        out
    }

    /// Writes the page.
    ///
    /// # Errors
    /// When a figure's or a table's arrays do not fit together or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(ebbing::data::write_atomic(path, self.to_html()?.as_bytes())?)
    }
}

/// Sentences as bullets.
fn list(class: &str, sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|sentence| format!("<li>{}</li>\n", rich(sentence))).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
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
