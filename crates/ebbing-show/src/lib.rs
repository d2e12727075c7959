//! Everything that ebbing shows: figures, tables, the one-file report, and the files that carry the numbers.
//!
//! Nothing here computes: plain numbers come in, SVG, PNG, text, HTML, CSV, Parquet and JSON go out.
#![deny(missing_docs)]

mod error;
mod figure;
mod files;
mod html;
mod matrix;
mod metadata;
mod style;
mod table;
mod terminal;
mod text;

pub use error::{Error, Result};
pub use figure::{
    AxisReading, Band, Bars, CellsReading, Direction, Figure, Legend, Line, Map, Markers, Panel, PanelReading,
    SeriesReading,
};
pub use files::{json_number, json_numbers, to_csv, write_csv, write_json, write_parquet, write_table};
pub use html::Report;
pub use matrix::Matrix;
pub use metadata::Metadata;
pub use style::{
    ColourScale, DPI, Dash, Marker, OKABE_ITO, POINTS_PER_MM, Regime, Rgb, SINGLE_MM, TERMINAL_COLUMNS, WIDE_MM,
    significant, with_error,
};
pub use table::{Spread, Table};
pub use terminal::{Screen, Style, set_terminal_columns, stdout_takes_styles, wrap};
pub use text::{escape_markup, html_text, plain_text, typeset};
