//! Text with sub- and superscripts, Greek and italics: its markup, and the font that measures and draws it.

mod font;
mod rich;
mod symbols;

pub(crate) use font::{PathCommand, glyphs, run_starts, run_width, text_width};
pub(crate) use rich::{Rich, column_key, printable, xml_escape};
pub use rich::{escape_markup, html_text, plain_text};
pub use symbols::typeset;
