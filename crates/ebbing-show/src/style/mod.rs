//! The one place for the look of everything shown: sizes here, colors and number formats beside it.

mod color;
mod number;

pub use color::{ColorScale, Dash, Marker, OKABE_ITO, Rgb};
pub(crate) use color::{category, tint};
pub use ebbing::stats::number::{significant, with_error};
pub use ebbing::theory::multi_head::Regime;
pub(crate) use number::{exact, with_minus};

/// Points per millimeter: figures are laid out in points (1/72 inch).
pub const POINTS_PER_MM: f64 = 72.0 / 25.4;
/// Width of a figure with several panels, mm.
pub const WIDE_MM: f64 = 178.0;
/// Width of a figure with one panel, mm.
pub const SINGLE_MM: f64 = 86.0;
/// Resolution of PNG figures, dots per inch.
pub const DPI: f64 = 300.0;
/// Columns of the terminal that tables fit in.
pub const TERMINAL_COLUMNS: usize = 80;

/// Sizes of text at print size, pt.
pub(crate) mod size {
    /// Tick labels, legends, notes and values in cells.
    pub const SMALL: f64 = 7.0;
    /// Axis names and titles.
    pub const NORMAL: f64 = 8.0;
    /// Panel letters.
    pub const LETTER: f64 = 9.0;
    /// Sub- and superscripts, as a share of the text they belong to.
    pub const SCRIPT: f64 = 0.74;
    /// Axis lines, ticks and error bars, pt.
    pub const THIN_LINE: f64 = 0.6;
    /// The line that marks the reader's own case, pt.
    pub const OWN_LINE: f64 = 0.9;
    /// Data lines, pt.
    pub const DATA_LINE: f64 = 1.3;
    /// Radius of a marker, pt.
    pub const MARKER: f64 = 2.3;
    /// Length of a tick, pt.
    pub const TICK: f64 = 2.5;
}

/// What SVG asks the viewer for: the family that the layout is measured with, then families no wider than it.
pub(crate) const FONT_FAMILY: &str = "'DejaVu Sans', Verdana, Arial, sans-serif";
