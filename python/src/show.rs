//! What results look like: the library's own pages, and pages and tables that Python fills.

use crate::values::json_of;
use ebbing::request::Door;
use ebbing::stats::number::{self, significant, with_error, within};
use ebbing_show::{Matrix, Metadata, Part, Show, Spread, escape_markup, plain_text, typeset};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

/// Values below this are rounding.
const ROUNDING: f64 = 1e-12;

fn refused(error: ebbing_show::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The cells of a column.
#[derive(FromPyObject)]
pub enum Cells {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Real numbers, or none.
    Numbers(Vec<Option<f64>>),
    /// Real numbers with their errors.
    Estimates(Vec<(Option<f64>, Option<f64>)>),
    /// Words (markup).
    Texts(Vec<String>),
}

/// A table or a matrix; captions, heads and words are markup.
#[pyclass(frozen, module = "ebbing._ebbing")]
pub struct Table {
    part: Part,
}

#[pymethods]
impl Table {
    /// Columns by their heads.
    #[new]
    fn new(caption: &str, columns: Vec<(String, Cells)>) -> Self {
        let clean = |v: &Option<f64>| v.map_or(f64::NAN, |v| within(v, ROUNDING));
        let mut table = ebbing_show::Table::new(caption);
        for (k, (head, cells)) in columns.iter().enumerate() {
            table = match cells {
                Cells::Integers(values) => table.integer(head, values),
                Cells::Numbers(values) => table.number(head, &values.iter().map(clean).collect::<Vec<_>>()),
                Cells::Texts(values) => table.text(head, values),
                Cells::Estimates(values) => {
                    let (means, errors): (Vec<f64>, Vec<f64>) =
                        values.iter().map(|(v, e)| (clean(v), clean(e))).unzip();
                    table.estimate(head, &means, Spread::StandardError, &errors)
                }
            };
            // Heads may repeat, or be empty: names in files do not matter here.
            table = table.key(&format!("column{k}"));
        }
        Table { part: table.into() }
    }

    /// A square matrix, after a task downwards, on a task to the right; cells that are NaN are left out.
    #[staticmethod]
    #[pyo3(signature = (caption, values, names, errors))]
    fn matrix(caption: &str, values: Vec<Vec<f64>>, names: Vec<String>, errors: Option<Vec<Vec<f64>>>) -> Self {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let matrix = Matrix::tasks(caption, &values).names(&names, &names).only(|t, s| !values[t][s].is_nan());
        let matrix = match errors {
            Some(errors) => matrix.errors(Spread::StandardError, &errors),
            None => matrix,
        };
        Table { part: matrix.into() }
    }

    /// What stands above it.
    #[getter]
    fn caption(&self) -> String {
        self.part.grid().0
    }

    /// The heads of its columns.
    #[getter]
    fn head(&self) -> Vec<String> {
        self.part.grid().1
    }

    /// Its cells, row by row.
    #[getter]
    fn rows(&self) -> Vec<Vec<String>> {
        self.part.grid().2
    }

    /// As plain text.
    fn text(&self) -> PyResult<String> {
        match &self.part {
            Part::Table(table) => table.to_text().map_err(refused),
            Part::Matrix(matrix) => matrix.to_text().map_err(refused),
            Part::Words(words) => Ok(words.clone()),
        }
    }
}

/// What a result looks like: plain text, the cell of a notebook, a report.
#[pyclass(frozen, module = "ebbing._ebbing")]
pub struct Shown {
    page: Page,
}

/// A page that can still be drawn, or all that was drawn of one that was pickled.
enum Page {
    Live(Box<ebbing_show::Shown>, Metadata),
    Kept { text: String, html: String, report: String },
}

#[pymethods]
impl Shown {
    /// A page of tables and sentences, with the drawing (SVG) of its report and the settings that made it.
    #[new]
    #[pyo3(signature = (title, about, tables, sentences, drawing, settings))]
    fn new(
        title: &str,
        about: Vec<String>,
        tables: Vec<PyRef<'_, Table>>,
        sentences: Vec<String>,
        drawing: Option<String>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let typeset_all = |all: &[String]| all.iter().map(|s| typeset(s)).collect::<Vec<_>>();
        let parts: Vec<Part> = tables.iter().map(|table| table.part.clone()).collect();
        let mut shown = ebbing_show::Shown::new(title, &typeset(title), typeset_all(&sentences), vec![], parts);
        shown.page.splice(0..0, typeset_all(&about).into_iter().map(Part::Words));
        shown.notes = typeset_all(&about);
        shown.drawing = drawing;
        Shown::of(shown, json_of(settings)?)
    }

    /// All that was drawn of a page.
    #[staticmethod]
    fn kept(text: String, html: String, report: String) -> Self {
        Shown { page: Page::Kept { text, html, report } }
    }

    /// As plain text of 80 columns.
    fn text(&self) -> PyResult<String> {
        match &self.page {
            Page::Live(shown, _) => Ok(shown.screen().map_err(refused)?.render(false)),
            Page::Kept { text, .. } => Ok(text.clone()),
        }
    }

    /// As the cell of a notebook.
    fn html(&self) -> PyResult<String> {
        match &self.page {
            Page::Live(shown, _) => shown.fragment().map_err(refused),
            Page::Kept { html, .. } => Ok(html.clone()),
        }
    }

    /// As one file that needs no other.
    fn report(&self) -> PyResult<String> {
        match &self.page {
            Page::Live(shown, metadata) => shown.report(metadata).map_err(refused),
            Page::Kept { report, .. } => Ok(report.clone()),
        }
    }

    /// The tables and matrices of the page; none of one that was pickled.
    fn tables(&self) -> Vec<Table> {
        match &self.page {
            Page::Live(shown, _) => {
                let parts = shown.page.iter().filter(|part| !matches!(part, Part::Words(_)));
                parts.map(|part| Table { part: part.clone() }).collect()
            }
            Page::Kept { .. } => vec![],
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String, String))> {
        let kept = py.get_type::<Shown>().getattr("kept")?;
        Ok((kept, (self.text()?, self.html()?, self.report()?)))
    }
}

impl Shown {
    /// The page of an answer in Python's words, with the settings that made it.
    pub fn of_answer(answer: &impl Show, settings: Map<String, Value>) -> PyResult<Self> {
        Shown::of(answer.shown().map_err(refused)?.in_words(in_python), settings)
    }

    /// What the numbers say, as plain text.
    pub fn sentences(&self) -> Vec<String> {
        match &self.page {
            Page::Live(shown, _) => shown.sentences.iter().map(|s| plain_text(s)).collect(),
            Page::Kept { .. } => vec![],
        }
    }

    fn of(shown: ebbing_show::Shown, settings: Map<String, Value>) -> PyResult<Self> {
        let metadata = Metadata::new(env!("CARGO_PKG_VERSION"), "the Python package ebbing").settings(&settings);
        Ok(Shown { page: Page::Live(Box::new(shown), metadata.map_err(refused)?) })
    }
}

/// What the library calls several seeds, and what gives them here.
const SAID: [(&str, &str); 2] = [
    ("several seeds show", "a list of TaskSequences, one per seed, shows"),
    (
        "several seeds of a part of the examples (max_p) show",
        "the same TaskSequence several times in a list, with max_p, shows",
    ),
];

/// A sentence of the library in Python's words: `--max-p` is `max_p` here.
pub fn in_python(sentence: &str) -> String {
    SAID.iter().fold(Door::Python.words(sentence), |said, (theirs, ours)| said.replace(theirs, ours))
}

/// Text as markup that shows it as it is.
#[pyfunction]
pub fn literal(text: &str) -> String {
    escape_markup(text)
}

/// A number for a reader, with its standard error where there is one.
#[pyfunction]
#[pyo3(signature = (value, error=None))]
pub fn written(value: f64, error: Option<f64>) -> String {
    error.map_or_else(|| significant(value), |error| with_error(value, error))
}

/// A number that was chosen, not computed, with the digits that it has.
#[pyfunction]
pub fn chosen(value: f64) -> String {
    number::chosen(value)
}
