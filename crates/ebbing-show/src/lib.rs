//! Everything that ebbing shows: an answer becomes figures, tables and sentences ([`Show`]), and these a page for the terminal or
//! a notebook, the one-file report, SVG, PNG, CSV, Parquet and JSON ([`Shown`]).
//!
//! Nothing here computes. The figure engine, tables and pages know plain numbers only; what an answer looks like is said in
//! one module per question.
#![deny(missing_docs)]

mod answers;
mod cite;
mod error;
mod figure;
mod files;
mod html;
pub mod loads;
mod matrix;
mod metadata;
mod shown;
mod style;
mod table;
mod terminal;
mod text;

pub use answers::{check, closed_heads, directions, examples, phase};
pub use cite::bibtex;
pub use error::{Error, Result};
pub use figure::{
    AxisReading, Band, Bars, CellsReading, Direction, Figure, Legend, Line, Map, Markers, Panel, PanelReading,
    SeriesReading,
};
pub use files::{json_number, to_csv, write_csv, write_parquet, write_table};
pub use matrix::Matrix;
pub use metadata::Metadata;
pub use shown::{Gallery, Part, Show, Shown};
pub use style::{
    ColorScale, DPI, Dash, Marker, OKABE_ITO, POINTS_PER_MM, Regime, Rgb, SINGLE_MM, TERMINAL_COLUMNS, WIDE_MM,
    significant, with_error,
};
pub use table::{Rows, Spread, Table};
pub use terminal::{Screen, Style, set_terminal_columns, stdout_takes_styles, wrap};
pub use text::{escape_markup, html_text, plain_text, typeset};
