//! One panel of a figure: its axes, its layers and its legend.

use super::axis::Scale;
use super::layers::{Band, Bars, Direction, Layer, Line, Map, Markers};
use crate::matrix::Matrix;
use crate::style::{Regime, Rgb, tint};

/// Where the legend of a panel goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Legend {
    /// A corner free of data, else outside.
    #[default]
    Auto,
    /// To the right of the panel.
    Right,
    /// Below the panel.
    Below,
    /// Nowhere.
    Hidden,
}

/// One panel. Names and labels are markup: `γ_{RF}`, `λ^{1/2}`, `*P*`.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its letter where it is not the next one; a blank for none.
    pub(crate) letter: Option<char>,
    pub(crate) title: String,
    pub(crate) x_name: String,
    pub(crate) y_name: String,
    pub(crate) x_scale: Scale,
    pub(crate) y_scale: Scale,
    pub(crate) x_range: Option<(f64, f64)>,
    pub(crate) y_range: Option<(f64, f64)>,
    /// Names at x = 0, 1, 2, … instead of numbers.
    pub(crate) x_names: Option<Vec<String>>,
    pub(crate) grid: bool,
    pub(crate) layers: Vec<Layer>,
    pub(crate) matrix: Option<Matrix>,
    pub(crate) legend: Legend,
    /// Height over width of the frame.
    pub(crate) aspect: Option<f64>,
    /// A small panel inside the frame.
    pub(crate) inset: Option<Box<Panel>>,
}

impl Default for Panel {
    fn default() -> Panel {
        Panel::new()
    }
}

impl Panel {
    /// An empty panel with linear axes.
    pub fn new() -> Panel {
        Panel {
            letter: None,
            title: String::new(),
            x_name: String::new(),
            y_name: String::new(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            x_range: None,
            y_range: None,
            x_names: None,
            grid: false,
            layers: Vec::new(),
            matrix: None,
            legend: Legend::Auto,
            aspect: None,
            inset: None,
        }
    }

    /// A matrix as a heat map of square cells with a color bar, values printed in cells up to 10 × 10.
    pub fn matrix(matrix: &Matrix) -> Panel {
        let (x_name, y_name) = (matrix.column_name.clone(), matrix.row_name.clone());
        Panel { matrix: Some(matrix.clone()), x_name, y_name, ..Panel::new() }
    }

    /// Its letter, where it is not the one of its place in the figure; a blank for none, as for the lower half of a panel.
    pub fn letter(mut self, letter: char) -> Panel {
        self.letter = Some(letter);
        self
    }

    /// A title, only where the axes do not say it.
    pub fn title(mut self, title: &str) -> Panel {
        self.title = title.into();
        self
    }

    /// Name of the x axis, with its unit.
    pub fn x(mut self, name: &str) -> Panel {
        self.x_name = name.into();
        self
    }

    /// Name of the y axis, with its unit.
    pub fn y(mut self, name: &str) -> Panel {
        self.y_name = name.into();
        self
    }

    /// A logarithmic x axis.
    pub fn log_x(mut self) -> Panel {
        self.x_scale = Scale::Log;
        self
    }

    /// A logarithmic y axis.
    pub fn log_y(mut self) -> Panel {
        self.y_scale = Scale::Log;
        self
    }

    /// Ticks at whole numbers of x only, as for tasks and depths.
    pub fn integer_x(mut self) -> Panel {
        self.x_scale = Scale::Integer;
        self
    }

    /// Ticks at whole numbers of y only, as for counts.
    pub fn integer_y(mut self) -> Panel {
        self.y_scale = Scale::Integer;
        self
    }

    /// Names (markup) at x = 0, 1, 2, … instead of numbers.
    pub fn names_x(mut self, names: &[String]) -> Panel {
        self.x_names = Some(names.to_vec());
        self
    }

    /// The range of x; by default that of the data.
    pub fn x_range(mut self, low: f64, high: f64) -> Panel {
        self.x_range = Some((low, high));
        self
    }

    /// The range of y; by default that of the data. Data that leave it are marked with arrows at the frame.
    pub fn y_range(mut self, low: f64, high: f64) -> Panel {
        self.y_range = Some((low, high));
        self
    }

    /// A light grid, where values are to be read off.
    pub fn grid(mut self) -> Panel {
        self.grid = true;
        self
    }

    /// Height of the frame as a multiple of its width; panels of a row take the largest.
    pub fn aspect(mut self, aspect: f64) -> Panel {
        self.aspect = Some(aspect);
        self
    }

    /// Where the legend goes.
    pub fn legend(mut self, legend: Legend) -> Panel {
        self.legend = legend;
        self
    }

    /// A small panel in a corner of the frame that is free of data; its legend is not drawn.
    pub fn inset(mut self, panel: Panel) -> Panel {
        self.inset = Some(Box::new(panel));
        self
    }

    fn layer(mut self, layer: Layer) -> Panel {
        self.layers.push(layer);
        self
    }

    /// Adds a line: theory.
    pub fn line(self, line: Line) -> Panel {
        self.layer(Layer::Line(line))
    }

    /// Adds markers: experiment.
    pub fn markers(self, markers: Markers) -> Panel {
        self.layer(Layer::Markers(markers))
    }

    /// Adds a band.
    pub fn band(self, band: Band) -> Panel {
        self.layer(Layer::Band(band))
    }

    /// Adds bars; they bring their own x axis.
    pub fn bars(self, bars: Bars) -> Panel {
        self.layer(Layer::Bars(bars))
    }

    /// Adds a map; it sets the range of both axes.
    pub fn map(self, map: Map) -> Panel {
        self.layer(Layer::Map(map))
    }

    /// Tints the panel from one x to another as a regime.
    pub fn regime(self, regime: Regime, from: f64, to: f64) -> Panel {
        self.layer(Layer::Span { label: regime.to_string(), from, to, tint: tint(regime) })
    }

    /// Tints the panel from one x to another in light gray.
    pub fn span(self, label: &str, from: f64, to: f64) -> Panel {
        self.layer(Layer::Span { label: label.into(), from, to, tint: Rgb::LIGHT_GRAY })
    }

    /// A thin gray line across the panel at one y.
    pub fn horizontal(self, label: &str, y: f64) -> Panel {
        self.layer(Layer::Horizontal { label: label.into(), y })
    }

    /// A thin gray line from bottom to top at one x.
    pub fn vertical(self, label: &str, x: f64) -> Panel {
        self.layer(Layer::Vertical { label: label.into(), x, own: false })
    }

    /// A black line from bottom to top at the x of the reader's own case: their width, penalty or depth.
    pub fn own(self, label: &str, x: f64) -> Panel {
        self.layer(Layer::Vertical { label: label.into(), x, own: true })
    }

    /// An arrow at the frame where a quantity diverges; `law` is its power law, shown in the legend: `∝ λ^{1/2}`.
    pub fn diverges(self, law: &str, x: f64, direction: Direction, color: Rgb) -> Panel {
        self.layer(Layer::Divergence { label: law.into(), x, direction, color })
    }

    /// The name of a point, written beside it where nothing else is.
    pub fn tag(self, x: f64, y: f64, text: &str) -> Panel {
        self.layer(Layer::Tag { x, y, text: text.into() })
    }

    /// A short text centered at a point.
    pub fn text(self, x: f64, y: f64, text: &str) -> Panel {
        self.layer(Layer::Text { x, y, text: text.into() })
    }

    /// Whether bars stand on names.
    pub(crate) fn has_bars(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, Layer::Bars(_)))
    }

    /// Whether numbers are shown as colors behind the layers, some of them dark.
    pub(crate) fn has_map(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, Layer::Map(_)))
    }

    /// Whether colors fill the frame, as in a phase diagram: the legend goes outside, the axes end with the colors,
    /// and a boundary that leaves the frame needs no arrow.
    pub(crate) fn is_filled(&self) -> bool {
        self.matrix.is_some() || self.layers.iter().any(Layer::fills)
    }
}
