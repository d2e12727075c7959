//! What a panel can show: lines, markers, bands, tints, bars, maps, guides, arrows.

use crate::error::{Error, Result};
use crate::style::{Dash, Marker, Regime, Rgb, tint};

/// Color, dash and marker of a series: those of its category unless set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SeriesStyle {
    pub category: Option<usize>,
    pub color: Option<Rgb>,
    pub dash: Option<Dash>,
    pub marker: Option<Marker>,
}

/// Theory: a line through points. A value that is not finite, or that a log axis cannot show, leaves a gap and a note.
#[derive(Clone, Debug)]
pub struct Line {
    pub(crate) label: String,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) style: SeriesStyle,
    pub(crate) width: Option<f64>,
    /// Whether the legend names it.
    pub(crate) listed: bool,
}

impl Line {
    /// A line; an empty label keeps it out of the legend.
    pub fn new(label: &str, x: &[f64], y: &[f64]) -> Line {
        Line { label: label.into(), x: x.into(), y: y.into(), style: SeriesStyle::default(), width: None, listed: true }
    }

    /// A sample in the legend for what several lines have in common, such as a color or a dash; nothing is drawn.
    pub fn sample(label: &str) -> Line {
        Line::new(label, &[], &[])
    }

    /// Keeps its name for those who point at it, but out of the legend.
    pub fn unlisted(mut self) -> Line {
        self.listed = false;
        self
    }

    /// Color and dash of category `k` (from 0). By default the first line is 0, the second 1, and so on.
    pub fn category(mut self, k: usize) -> Line {
        self.style.category = Some(k);
        self
    }

    /// A color of its own.
    pub fn color(mut self, color: Rgb) -> Line {
        self.style.color = Some(color);
        self
    }

    /// A dash pattern of its own.
    pub fn dash(mut self, dash: Dash) -> Line {
        self.style.dash = Some(dash);
        self
    }

    /// A width of its own, pt.
    pub fn width(mut self, points: f64) -> Line {
        self.width = Some(points);
        self
    }
}

/// Experiment: markers, with error bars where there is more than one seed.
#[derive(Clone, Debug)]
pub struct Markers {
    pub(crate) label: String,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// Lower and upper ends of the error bars.
    pub(crate) bars: Option<(Vec<f64>, Vec<f64>)>,
    pub(crate) style: SeriesStyle,
}

impl Markers {
    /// Markers; an empty label keeps them out of the legend.
    pub fn new(label: &str, x: &[f64], y: &[f64]) -> Markers {
        Markers { label: label.into(), x: x.into(), y: y.into(), bars: None, style: SeriesStyle::default() }
    }

    /// Error bars from y − e to y + e. The caption must say what they are and of how many runs.
    pub fn errors(mut self, errors: &[f64]) -> Markers {
        // As many as there are errors: a length other than that of y is refused when the figure is drawn.
        let center = |k: usize| self.y.get(k).copied().unwrap_or(f64::NAN);
        let ends = |sign: f64| errors.iter().enumerate().map(|(k, e)| center(k) + sign * e).collect::<Vec<_>>();
        self.bars = Some((ends(-1.0), ends(1.0)));
        self
    }

    /// Error bars from `low` to `high`, as of an interval.
    pub fn interval(mut self, low: &[f64], high: &[f64]) -> Markers {
        self.bars = Some((low.into(), high.into()));
        self
    }

    /// Color and shape of category `k` (from 0). By default the first markers are 0, the second 1, and so on.
    pub fn category(mut self, k: usize) -> Markers {
        self.style.category = Some(k);
        self
    }

    /// A color of its own.
    pub fn color(mut self, color: Rgb) -> Markers {
        self.style.color = Some(color);
        self
    }

    /// A shape of its own.
    pub fn shape(mut self, marker: Marker) -> Markers {
        self.style.marker = Some(marker);
        self
    }
}

/// A band between two curves, as of a standard deviation. Give it the label of its line to share the legend entry.
#[derive(Clone, Debug)]
pub struct Band {
    pub(crate) label: String,
    pub(crate) x: Vec<f64>,
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
    pub(crate) style: SeriesStyle,
    /// `None` for the transparent tint of a series.
    pub(crate) fill: Option<Rgb>,
}

impl Band {
    /// A band from `low` to `high`.
    pub fn new(label: &str, x: &[f64], low: &[f64], high: &[f64]) -> Band {
        let style = SeriesStyle::default();
        Band { label: label.into(), x: x.into(), low: low.into(), high: high.into(), style, fill: None }
    }

    /// A band of one standard error to either side.
    pub fn around(x: &[f64], mean: &[f64], errors: &[f64]) -> Band {
        let side = |sign: f64| mean.iter().zip(errors).map(|(m, e)| m + sign * e).collect::<Vec<f64>>();
        Band::new("± SE", x, &side(-1.0), &side(1.0))
    }

    /// A region of one regime, in its tint, named in the legend; it lies behind everything else.
    pub fn regime(regime: Regime, x: &[f64], low: &[f64], high: &[f64]) -> Band {
        Band { fill: Some(tint(regime)), ..Band::new(&regime.to_string(), x, low, high) }
    }

    /// Color of category `k` (from 0). By default the first band is 0, the second 1, and so on.
    pub fn category(mut self, k: usize) -> Band {
        self.style.category = Some(k);
        self
    }

    /// A color of its own.
    pub fn color(mut self, color: Rgb) -> Band {
        self.style.color = Some(color);
        self
    }
}

/// Bars from zero, one group per name, one bar per series.
#[derive(Clone, Debug)]
pub struct Bars {
    pub(crate) names: Vec<String>,
    pub(crate) series: Vec<(String, Vec<f64>)>,
    pub(crate) errors: Vec<Option<Vec<f64>>>,
}

impl Bars {
    /// Bars over the given names (markup).
    pub fn new(names: &[&str]) -> Bars {
        Bars { names: names.iter().map(|n| (*n).into()).collect(), series: Vec::new(), errors: Vec::new() }
    }

    /// One bar for each name.
    pub fn series(mut self, label: &str, heights: &[f64]) -> Bars {
        self.series.push((label.into(), heights.into()));
        self.errors.push(None);
        self
    }

    /// Error bars of the series added last.
    pub fn errors(mut self, errors: &[f64]) -> Bars {
        if let Some(last) = self.errors.last_mut() {
            *last = Some(errors.into());
        }
        self
    }
}

/// What the cells of a map hold, row by row: the first row belongs to the first y.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    Numbers { values: Vec<Vec<f64>>, log: bool },
    Regimes(Vec<Vec<Regime>>),
}

/// A value at each point of a grid, shown as color; neither axis needs equal steps.
#[derive(Clone, Debug)]
pub struct Map {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) cells: Cells,
    /// Name of the color bar (markup).
    pub(crate) name: String,
    pub(crate) range: Option<(f64, f64)>,
}

impl Map {
    /// Numbers, `values[j][i]` at `x[i]`, `y[j]`; `name` stands at the color bar.
    pub fn new(name: &str, x: &[f64], y: &[f64], values: &[Vec<f64>]) -> Map {
        let cells = Cells::Numbers { values: values.to_vec(), log: false };
        Map { x: x.into(), y: y.into(), cells, name: name.into(), range: None }
    }

    /// Regimes, `regimes[j][i]` at `x[i]`, `y[j]`, in their tints.
    pub fn regimes(x: &[f64], y: &[f64], regimes: &[Vec<Regime>]) -> Map {
        Map { x: x.into(), y: y.into(), cells: Cells::Regimes(regimes.to_vec()), name: String::new(), range: None }
    }

    /// Colors by the logarithm of the value.
    pub fn log(mut self) -> Map {
        if let Cells::Numbers { log, .. } = &mut self.cells {
            *log = true;
        }
        self
    }

    /// Ends of the color scale; values beyond are shown in the color of the end and noted.
    pub fn range(mut self, low: f64, high: f64) -> Map {
        self.range = Some((low, high));
        self
    }
}

/// Where a divergence points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards +∞.
    Up,
    /// Towards −∞.
    Down,
}

#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Line(Line),
    Markers(Markers),
    Band(Band),
    Bars(Bars),
    Map(Map),
    /// A tint across the panel from one x to another.
    Span {
        label: String,
        from: f64,
        to: f64,
        tint: Rgb,
    },
    Horizontal {
        label: String,
        y: f64,
    },
    Vertical {
        label: String,
        x: f64,
        /// The reader's own case.
        own: bool,
    },
    Divergence {
        label: String,
        x: f64,
        direction: Direction,
        color: Rgb,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
    },
    /// The name of a point, written beside it where there is room.
    Tag {
        x: f64,
        y: f64,
        text: String,
    },
}

fn same_length(what: &str, label: &str, lengths: &[(&str, usize)]) -> Result<()> {
    let n = lengths[0].1;
    match lengths.iter().find(|(_, m)| *m != n) {
        None => Ok(()),
        Some((name, m)) => Err(Error::shape(
            format!("{what} \"{label}\""),
            format!("{} has {n} values but {name} has {m}; they must be as many", lengths[0].0),
        )),
    }
}

impl Layer {
    /// Whether it is an area that fills the frame.
    pub fn fills(&self) -> bool {
        matches!(self, Layer::Map(_)) || matches!(self, Layer::Band(b) if b.fill.is_some())
    }

    /// Refuses arrays that do not fit together.
    pub fn check(&self) -> Result<()> {
        match self {
            Layer::Line(l) => same_length("line", &l.label, &[("x", l.x.len()), ("y", l.y.len())]),
            Layer::Markers(m) => {
                let (low, high) = m.bars.as_ref().map_or((m.x.len(), m.x.len()), |(a, b)| (a.len(), b.len()));
                let lengths = [("x", m.x.len()), ("y", m.y.len()), ("the error", low), ("the error", high)];
                same_length("markers", &m.label, &lengths)
            }
            Layer::Band(b) => {
                same_length("band", &b.label, &[("x", b.x.len()), ("low", b.low.len()), ("high", b.high.len())])
            }
            Layer::Bars(b) => {
                for ((label, heights), errors) in b.series.iter().zip(&b.errors) {
                    let n = errors.as_ref().map_or(heights.len(), Vec::len);
                    let lengths =
                        [("the list of names", b.names.len()), ("the series", heights.len()), ("its error", n)];
                    same_length("bars", label, &lengths)?;
                }
                Ok(())
            }
            Layer::Map(map) => map.check(),
            _ => Ok(()),
        }
    }
}

impl Map {
    fn check(&self) -> Result<()> {
        let what = || format!("map \"{}\"", self.name);
        for (axis, points) in [("x", &self.x), ("y", &self.y)] {
            if points.len() < 2 {
                return Err(Error::shape(
                    what(),
                    format!("{axis} has {} points; a map needs two or more", points.len()),
                ));
            }
            if !points.windows(2).all(|w| w[0] < w[1]) || !points.iter().all(|p| p.is_finite()) {
                return Err(Error::shape(what(), format!("{axis} must be finite and increase from point to point")));
            }
        }
        let widths: Vec<usize> = match &self.cells {
            Cells::Numbers { values, .. } => values.iter().map(Vec::len).collect(),
            Cells::Regimes(regimes) => regimes.iter().map(Vec::len).collect(),
        };
        if widths.len() != self.y.len() || widths.iter().any(|w| *w != self.x.len()) {
            let problem = format!("needs {} rows of {} values, one for each y and x", self.y.len(), self.x.len());
            return Err(Error::shape(what(), problem));
        }
        Ok(())
    }
}
