//! The views of the page, computed by the library and drawn by the report; heavy results are cached by what they depend on.

pub mod advise;
pub mod forecast;
pub mod phase;
pub mod take;
pub mod tasks;

use crate::cache::Cache;
use crate::desk::Desk;
use crate::files::Files;
use crate::state::State;
use ebbing::Context;
use ebbing_show::{Figure, html_text, typeset};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Errors: the library's sentences.
pub type Result<T> = ebbing::Result<T>;

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    /// The cached results.
    pub cache: Cache,
    /// Users' own tasks.
    pub files: Files,
    /// The requests that wait.
    pub desk: Desk,
}

/// One request: the state of the page, how its figures are drawn, and what it runs within.
pub struct Asked<'a> {
    /// What requests share.
    pub app: &'a App,
    /// The state of the page.
    pub state: &'a State,
    /// Whether figures are for a narrow screen.
    pub narrow: bool,
    /// What it runs within.
    pub context: &'a Context,
}

impl Asked<'_> {
    /// Figures for the page, drawn in parallel: `finding` describes a figure for those who cannot see it.
    ///
    /// # Errors
    /// What the report says.
    pub fn figures(&self, all: &[(&str, Figure)], finding: &(dyn Fn(&str) -> String + Sync)) -> Result<Vec<Value>> {
        let narrow = self.narrow;
        all.par_iter().map(|(name, figure)| drawn(name, figure, &finding(name), narrow)).collect()
    }
}

fn drawn(name: &str, figure: &Figure, finding: &str, narrow: bool) -> Result<Value> {
    let marked = ebbing_show::escape_markup(finding);
    let figure = figure.clone().title(marked.trim_end_matches('.')).finding(&marked);
    let figure = if narrow { figure.narrow() } else { figure };
    let (svg, panels) = figure.to_svg_with_readings().map_err(said)?;
    Ok(json!({ "name": name, "finding": finding, "caption": figure.caption_html(), "svg": svg, "panels": panels }))
}

/// Plain sentences as HTML, their symbols typeset.
fn typeset_all(sentences: &[String]) -> Vec<String> {
    sentences.iter().map(|sentence| html_text(&typeset(sentence))).collect()
}

/// What the report refuses, as the library would say it.
pub fn said(error: ebbing_show::Error) -> ebbing::Error {
    ebbing::Error::data("a figure or table", error.to_string())
}
