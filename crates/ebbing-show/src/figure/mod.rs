//! Figures: panels in a grid, written as SVG and PNG at print size.
//!
//! ```
//! use ebbing_show::{Figure, Line, Markers, Panel};
//! let alpha = [0.1, 1.0, 10.0];
//! let panel = Panel::new().x("α").y("F_{21}").log_x()
//!     .line(Line::new("theory", &alpha, &[0.1, 0.4, 0.9]))
//!     .markers(Markers::new("experiment", &alpha, &[0.12, 0.38, 0.91]).errors(&[0.02, 0.03, 0.02]));
//! let figure = Figure::single(panel).caption("Forgetting against load. Bars: standard error of 10 seeds.");
//! assert!(figure.to_svg()?.starts_with("<svg"));
//! # Ok::<(), ebbing_show::Error>(())
//! ```

mod axis;
mod canvas;
mod clip;
mod draw;
mod frame;
mod heat;
mod layers;
mod layout;
mod legend;
mod marks;
mod panel;
mod png;
mod reading;
mod series;
mod shared;
mod svg;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use layers::{Band, Bars, Direction, Line, Map, Markers};
pub use panel::{Legend, Panel};
pub use reading::{AxisReading, CellsReading, PanelReading, SeriesReading};

use self::canvas::Canvas;
use self::layout::Slot;
use self::shared::Shared;
use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::style::{POINTS_PER_MM, SINGLE_MM, WIDE_MM};
use crate::text::Rich;

/// Panels, a caption, and where they come from.
#[derive(Clone, Debug)]
pub struct Figure {
    panels: Vec<Panel>,
    columns: usize,
    width_mm: f64,
    title: String,
    finding: String,
    caption: String,
    metadata: Option<Metadata>,
    remarks: Vec<String>,
}

/// A drawing and what it could not show.
struct Drawn {
    canvas: Canvas,
    notes: Vec<String>,
    readings: Vec<PanelReading>,
    mistakable: Vec<[String; 2]>,
}

impl Figure {
    /// One panel, 86 mm wide.
    pub fn single(panel: Panel) -> Figure {
        Figure::of_width(vec![panel], 1, SINGLE_MM)
    }

    /// One panel, 178 mm wide.
    pub fn wide(panel: Panel) -> Figure {
        Figure::of_width(vec![panel], 1, WIDE_MM)
    }

    /// Panels side by side and below each other, 178 mm wide, with bold letters where there is more than one.
    pub fn grid(panels: Vec<Panel>, columns: usize) -> Figure {
        Figure::of_width(panels, columns, WIDE_MM)
    }

    fn of_width(panels: Vec<Panel>, columns: usize, width_mm: f64) -> Figure {
        let (title, finding, caption) = Default::default();
        Figure { panels, columns, width_mm, title, finding, caption, metadata: None, remarks: Vec::new() }
    }

    /// The caption (markup): understandable alone, with what bars and bands mean and of how many runs.
    pub fn caption(mut self, caption: &str) -> Figure {
        self.caption = caption.into();
        self
    }

    /// What the figure shows of these data, in a sentence with its numbers (markup), for those who cannot see it. By default the
    /// whole caption stands for it.
    pub fn finding(mut self, finding: &str) -> Figure {
        self.finding = finding.into();
        self
    }

    /// What it shows, in a sentence (markup); empty where nobody said.
    pub fn finding_markup(&self) -> &str {
        &self.finding
    }

    pub(crate) fn has_finding(&self) -> bool {
        !self.finding.is_empty()
    }

    /// A short name; by default the first sentence of the caption.
    pub fn title(mut self, title: &str) -> Figure {
        self.title = title.into();
        self
    }

    /// With a remark (markup) at the foot of the figure, such as which data it shows.
    pub fn note(mut self, remark: &str) -> Figure {
        self.remarks.push(remark.into());
        self
    }

    /// With the program, seed and settings written into the files.
    pub fn metadata(mut self, metadata: &Metadata) -> Figure {
        self.metadata = Some(metadata.clone());
        self
    }

    fn draw(&self) -> Result<Drawn> {
        if self.panels.is_empty() {
            return Err(Error::shape("figure", "has no panels"));
        }
        for panel in &self.panels {
            let inset = panel.inset.iter().flat_map(|inset| &inset.layers);
            panel.layers.iter().chain(inset).try_for_each(layers::Layer::check)?;
            panel.matrix.iter().try_for_each(crate::Matrix::check)?;
        }
        let margin = 2.0;
        let width = self.width_mm * POINTS_PER_MM - 2.0 * margin;
        let lettered = self.panels.len() > 1;
        let mut slots: Vec<Slot> = self.panels.iter().map(|p| Slot::new(p, lettered)).collect();
        let columns = layout::columns(&slots, self.columns, width);
        let mut shared = Shared::take(&mut slots, columns, width);
        // A legend that moves outside or a name that breaks moves everything else: settled after a few rounds.
        let mut height = layout::arrange(&mut slots, columns, width, &shared);
        for _ in 0..6 {
            if !layout::improve(&mut slots) {
                break;
            }
            height = layout::arrange(&mut slots, columns, width, &shared);
        }
        if shared.fill_free_cell(&mut slots) {
            height = layout::arrange(&mut slots, columns, width, &shared);
        }
        let mut canvas = Canvas::default();
        let mut notes = Vec::new();
        let readings = slots.iter().map(|slot| PanelReading::of(slot, margin)).collect();
        for (k, slot) in slots.iter().enumerate() {
            canvas.panel = 2 * k;
            let next = lettered.then(|| char::from(b'a' + (k % 26) as u8));
            let letter = slot.panel.letter.or(next).filter(|letter| *letter != ' ');
            let prefix = letter.map_or(String::new(), |l| format!("{l}: "));
            notes.extend(draw::draw_panel(&mut canvas, slot, letter).into_iter().map(|n| prefix.clone() + &n));
        }
        canvas.panel = 2 * slots.len();
        shared.draw(&mut canvas, &slots);
        notes.extend(self.remarks.iter().cloned());
        height += draw::draw_notes(&mut canvas, &notes, height, width);
        canvas.shift(margin, margin);
        (canvas.width, canvas.height) = (width + 2.0 * margin, height + 2.0 * margin);
        let mistakable = shared.mistakable(&slots);
        Ok(Drawn { canvas, notes, readings, mistakable })
    }

    /// What a pointer over the drawing can read off, panel by panel.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together.
    pub fn readings(&self) -> Result<Vec<PanelReading>> {
        Ok(self.draw()?.readings)
    }

    /// The figure as one `<svg>` element for a page that carries its caption, with what a pointer can read off it.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together.
    pub fn to_svg_with_readings(&self) -> Result<(String, Vec<PanelReading>)> {
        let drawn = self.draw()?;
        let names = svg::Names { title: &self.plain_title(), spoken: &self.spoken(), description: "" };
        Ok((svg::to_svg(&drawn.canvas, &names, None), drawn.readings))
    }

    /// The caption as HTML.
    pub fn caption_html(&self) -> String {
        Rich::parse(&self.caption).html()
    }

    /// The caption as given (markup).
    pub fn caption_markup(&self) -> &str {
        &self.caption
    }

    /// Its short name (markup), and what it shows.
    pub(crate) fn title_and_finding(&self) -> (&str, &str) {
        (&self.title, &self.finding)
    }

    /// What could not be drawn (values that are not finite, cells without a value), and the remarks that were given: what is
    /// written at the foot of the figure.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together.
    pub fn notes(&self) -> Result<Vec<String>> {
        Ok(self.draw()?.notes.iter().map(|n| Rich::parse(n).plain()).collect())
    }

    /// Pairs of names in a legend whose samples look the same: none in a figure that can be read.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together.
    pub fn mistakable(&self) -> Result<Vec<[String; 2]>> {
        Ok(self.draw()?.mistakable)
    }

    fn plain_title(&self) -> String {
        let markup = if self.title.is_empty() { &self.caption } else { &self.title };
        let plain = Rich::parse(markup).plain();
        plain.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
    }

    /// What is read to those who cannot see the figure: its title and what it shows.
    fn spoken(&self) -> String {
        let shows = if self.finding.is_empty() { &self.caption } else { &self.finding };
        let (title, shows) = (self.plain_title(), Rich::parse(shows).plain());
        if shows.starts_with(&title) { shows } else { format!("{}. {shows}", title.trim_end_matches('.')) }
    }

    /// The figure as one `<svg>` element.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together.
    pub fn to_svg(&self) -> Result<String> {
        let caption = Rich::parse(&self.caption).plain();
        let names = svg::Names { title: &self.plain_title(), spoken: &self.spoken(), description: &caption };
        Ok(svg::to_svg(&self.draw()?.canvas, &names, self.metadata.as_ref()))
    }

    /// The figure for a page that carries caption and settings itself: as it is, and where it is wider than a phone with its
    /// panels below each other.
    pub(crate) fn inline_svg(&self) -> Result<(String, Option<String>)> {
        let (title, spoken) = (self.plain_title(), self.spoken());
        let names = svg::Names { title: &title, spoken: &spoken, description: "" };
        let svg = |figure: &Figure| -> Result<String> { Ok(svg::to_svg(&figure.draw()?.canvas, &names, None)) };
        let stacked = (self.width_mm > SINGLE_MM).then(|| svg(&self.narrow())).transpose()?;
        Ok((svg(self)?, stacked))
    }

    /// The panels below each other, as narrow as a single one (86 mm): for screens as narrow as a phone's.
    pub fn narrow(&self) -> Figure {
        let below = |panel: &Panel| match panel.legend {
            Legend::Right => panel.clone().legend(Legend::Below),
            _ => panel.clone(),
        };
        Figure { panels: self.panels.iter().map(below).collect(), columns: 1, width_mm: SINGLE_MM, ..self.clone() }
    }

    /// The figure as the bytes of a PNG file of 300 dots per inch.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        png::to_png(&self.draw()?.canvas, &Rich::parse(&self.caption).plain(), self.metadata.as_ref())
    }

    /// Writes `name.svg` and `name.png` into a directory and returns their paths.
    ///
    /// # Errors
    /// When a layer's arrays do not fit together or a file cannot be written.
    pub fn save(&self, directory: &Path, name: &str) -> Result<[PathBuf; 2]> {
        let (svg, png) = (directory.join(format!("{name}.svg")), directory.join(format!("{name}.png")));
        let header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
        ebbing::data::write_atomic(&svg, (header.to_owned() + &self.to_svg()?).as_bytes())?;
        ebbing::data::write_atomic(&png, &self.to_png()?)?;
        Ok([svg, png])
    }
}
