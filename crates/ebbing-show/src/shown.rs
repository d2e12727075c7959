//! What an answer looks like, whoever asks: one page for the terminal, the notebook, the report and files.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::figure::Figure;
use crate::files::write_table;
use crate::html;
use crate::matrix::Matrix;
use crate::metadata::Metadata;
use crate::table::Table;
use crate::terminal::Screen;
use crate::text::plain_text;

/// An answer that can be shown.
pub trait Show {
    /// Its figures, tables and sentences.
    ///
    /// # Errors
    /// Where a table's columns do not fit together.
    fn shown(&self) -> Result<Shown>;

    /// Everything about it as a JSON object, to which files add their metadata.
    fn json(&self) -> serde_json::Value;
}

/// A part of a page.
#[derive(Debug, Clone)]
pub enum Part {
    /// A sentence or a paragraph (markup).
    Words(String),
    /// A table.
    Table(Table),
    /// A matrix.
    Matrix(Matrix),
}

impl Part {
    /// Caption, heads and cells, row by row, as plain text.
    pub fn grid(&self) -> (String, Vec<String>, Vec<Vec<String>>) {
        match self {
            Part::Words(words) => (plain_text(words), vec![], vec![]),
            Part::Table(table) => {
                let heads = table.columns.iter().map(|c| plain_text(&c.full_head()));
                let rows =
                    (0..table.rows().unwrap_or(0)).map(|r| table.columns.iter().map(move |c| plain_text(&c.cell(r))));
                (plain_text(&table.title), heads.collect(), rows.map(Iterator::collect).collect())
            }
            Part::Matrix(matrix) => {
                let heads = std::iter::once(&matrix.row_name).chain(&matrix.columns).map(|head| plain_text(head));
                let cells = |r: usize| (0..matrix.columns.len()).map(move |c| matrix.cell(r, c));
                let rows = matrix.rows.iter().enumerate();
                let rows = rows.map(|(r, name)| std::iter::once(plain_text(name)).chain(cells(r)).collect());
                (plain_text(&matrix.name), heads.collect(), rows.collect())
            }
        }
    }
}

impl From<Table> for Part {
    fn from(table: Table) -> Part {
        Part::Table(table)
    }
}

impl From<Matrix> for Part {
    fn from(matrix: Matrix) -> Part {
        Part::Matrix(matrix)
    }
}

/// Small pictures with what is said of each.
#[derive(Debug, Clone)]
pub struct Gallery {
    /// What they are (markup).
    pub title: String,
    /// Width and height of a picture in pixels.
    pub size: [usize; 2],
    /// Gray levels row by row, and a few words (markup).
    pub pictures: Vec<(Vec<u8>, String)>,
}

/// Figures, tables and sentences of an answer; all words are markup.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The title of the report.
    pub title: String,
    /// What was computed on what, in one line.
    pub heading: String,
    /// What the numbers say, the answer first.
    pub sentences: Vec<String>,
    /// What else to know, such as what is assumed.
    pub notes: Vec<String>,
    /// How many of the figures belong to the answer: the report's first page holds these, everything else is folded below.
    pub front: usize,
    /// Figures by the names of their files.
    pub figures: Vec<(&'static str, Figure)>,
    /// A figure of the report that somebody else has drawn, as SVG.
    pub drawing: Option<String>,
    /// Examples with pictures, in the report.
    pub galleries: Vec<Gallery>,
    /// What terminal and notebook show below the heading.
    pub page: Vec<Part>,
    /// The tables and matrices of the report.
    pub tables: Vec<Part>,
    /// The tables by the names of their files.
    pub files: Vec<(String, Table)>,
    /// What to do next where nothing was written, as `more: command`.
    pub next: &'static [(&'static str, &'static str)],
}

impl Shown {
    /// A page of tables with the sentences and notes below them, and a report of the same.
    pub fn new(title: &str, heading: &str, sentences: Vec<String>, notes: Vec<String>, tables: Vec<Part>) -> Shown {
        let words = sentences.iter().chain(&notes).cloned().map(Part::Words);
        let page = tables.iter().cloned().chain(words).collect();
        Shown { title: title.into(), heading: heading.into(), sentences, notes, page, tables, ..Shown::default() }
    }

    /// With a figure, which shows what the first sentence says unless it has a finding of its own.
    pub fn figure(mut self, name: &'static str, figure: Figure) -> Shown {
        let figure = match self.sentences.first() {
            Some(first) if !figure.has_finding() => figure.finding(first),
            _ => figure,
        };
        self.figures.push((name, figure));
        self
    }

    /// With a table for files.
    pub fn file(mut self, name: &str, table: Table) -> Shown {
        self.files.push((name.into(), table));
        self
    }

    /// With what to do next where nothing was written.
    pub fn next(mut self, next: &'static [(&'static str, &'static str)]) -> Shown {
        self.next = next;
        self
    }

    /// With all words changed, as from the words of one door into those of another.
    pub fn in_words(mut self, change: impl Fn(&str) -> String) -> Shown {
        let parts = self.page.iter_mut().filter_map(|part| match part {
            Part::Words(words) => Some(words),
            _ => None,
        });
        for words in parts.chain(&mut self.sentences).chain(&mut self.notes) {
            *words = change(words);
        }
        self
    }

    /// The page for a terminal.
    ///
    /// # Errors
    /// When the columns of a table do not fit together.
    pub fn screen(&self) -> Result<Screen> {
        let mut screen = Screen::new(&self.heading);
        for part in &self.page {
            screen = match part {
                Part::Words(words) => screen.paragraph(words),
                Part::Table(table) => screen.table(table)?,
                Part::Matrix(matrix) => screen.matrix(matrix)?,
            };
        }
        Ok(screen)
    }

    /// The page for a notebook.
    ///
    /// # Errors
    /// When the columns of a table do not fit together.
    pub fn fragment(&self) -> Result<String> {
        html::fragment(self)
    }

    /// The tables of the report as HTML, each with its name as plain text.
    ///
    /// # Errors
    /// When the columns of a table do not fit together.
    pub fn tables_html(&self) -> Result<Vec<(String, String)>> {
        html::tables(self)
    }

    /// The report: one HTML file that loads nothing and needs no script.
    ///
    /// # Errors
    /// When a figure's or a table's arrays do not fit together.
    pub fn report(&self, metadata: &Metadata) -> Result<String> {
        html::report(self, metadata)
    }

    /// Writes `report.html`, figures as SVG and PNG, and tables as CSV and Parquet into a folder.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn save(&self, folder: &Path, metadata: &Metadata) -> Result<PathBuf> {
        for (name, figure) in &self.figures {
            figure.clone().metadata(metadata).save(folder, name)?;
        }
        for (name, table) in &self.files {
            write_table(folder, name, table, metadata)?;
        }
        let path = folder.join("report.html");
        ebbing::data::write_atomic(&path, self.report(metadata)?.as_bytes())?;
        Ok(path)
    }
}

/// "1 seed", "3 seeds".
pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
