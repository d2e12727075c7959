//! Quantities against the load α = P/N: a line per regime, an arrow where λ → ∞ takes them beyond every bound, and the
//! regimes' tints.

use crate::figure::{Band, Direction, Line, Panel};
use crate::style::{Dash, OKABE_ITO};
use ebbing::theory::multi_head::{Power, Regime};
use ebbing::theory::phase::PhasePoint;

/// A quantity at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// The load P/N.
    pub alpha: f64,
    /// The quantity, a power of λ.
    pub value: Power,
    /// The regime at λ → ∞; none where λ is finite.
    pub regime: Option<Regime>,
}

/// A quantity against the load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCurve {
    /// Its name in the legend.
    pub label: String,
    /// The category of its color.
    pub category: usize,
    /// Its dash where colors alone stand for something else: samples in the legend name both, and not the curve.
    pub dash: Option<Dash>,
    /// Its values, by increasing load.
    pub points: Vec<LoadPoint>,
}

impl LoadCurve {
    /// A quantity of a curve of the theory, where it is known.
    pub fn new(
        label: &str,
        category: usize,
        points: &[PhasePoint],
        quantity: impl Fn(&PhasePoint) -> Option<Power>,
    ) -> LoadCurve {
        let point = |p: &PhasePoint| {
            Some(LoadPoint { alpha: p.factors.alpha, value: quantity(p)?, regime: p.factors.regime() })
        };
        LoadCurve { label: label.into(), category, dash: None, points: points.iter().filter_map(point).collect() }
    }

    /// With a dash of its own, and named in the legend by samples of colors and dashes.
    pub fn dashed(mut self, dash: Dash) -> LoadCurve {
        self.dash = Some(dash);
        self
    }

    /// With its lines, one per regime, interrupted where the quantity diverges.
    pub fn lines(&self, mut panel: Panel) -> Panel {
        for run in self.points.chunk_by(|a, b| a.regime == b.regime) {
            let limits = run.iter().map(|p| (p.alpha, p.value.limit())).filter(|(_, y)| y.is_finite());
            let (x, y): (Vec<f64>, Vec<f64>) = limits.unzip();
            if !x.is_empty() {
                let line = Line::new(&self.label, &x, &y).category(self.category);
                panel = panel.line(match self.dash {
                    Some(dash) => line.color(OKABE_ITO[self.category % OKABE_ITO.len()]).dash(dash).unlisted(),
                    None => line,
                });
            }
        }
        panel
    }

    /// The middle, on a logarithmic axis, of the loads where the quantity diverges with λ.
    fn diverges_at(&self) -> Option<f64> {
        let mut diverging = self.points.iter().filter(|p| p.value.exponent > 0.0).map(|p| p.alpha);
        let first = diverging.next()?;
        Some((first * diverging.next_back().unwrap_or(first)).sqrt())
    }
}

/// Draws curves with their arrows, which stand side by side.
pub fn curves(mut panel: Panel, curves: &[LoadCurve]) -> Panel {
    for (k, curve) in curves.iter().enumerate() {
        panel = curve.lines(panel);
        if let Some(middle) = curve.diverges_at() {
            let color = OKABE_ITO[curve.category % OKABE_ITO.len()];
            panel = panel.diverges("∝ λ^{1/2}", middle * (1.0 + 0.06 * k as f64), Direction::Up, color);
        }
    }
    panel
}

/// Tints the regimes along an axis of loads, given the critical load.
pub fn tints(mut panel: Panel, (low, high): (f64, f64), critical: f64) -> Panel {
    let edges = [
        (Regime::FixedRepresentations, low, high.min(1.0)),
        (Regime::Overfitting, low.max(1.0), high.min(critical)),
        (Regime::Generalization, low.max(critical), high),
    ];
    for (regime, from, to) in edges.into_iter().filter(|(_, from, to)| from < to) {
        panel = panel.regime(regime, from, to);
    }
    panel
}

/// Fills a frame of loads above x with the regimes, given the critical load at every x.
pub fn diagram(mut panel: Panel, x: &[f64], (low, high): (f64, f64), critical: &[f64]) -> Panel {
    let level = |a: f64| vec![a; x.len()];
    panel = panel.log_y().y_range(low, high);
    if low < 1.0 {
        panel = panel.band(Band::regime(Regime::FixedRepresentations, x, &level(low), &level(high.min(1.0))));
    }
    if high > 1.0 {
        let bottom = low.max(1.0);
        let edge: Vec<f64> = critical.iter().map(|a| a.max(bottom)).collect();
        let top: Vec<f64> = edge.iter().map(|a| a.max(high)).collect();
        panel = panel.band(Band::regime(Regime::Overfitting, x, &level(bottom), &edge));
        panel = panel.band(Band::regime(Regime::Generalization, x, &edge, &top));
    }
    panel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    #[test]
    fn a_diverging_quantity_is_interrupted_and_has_an_arrow() {
        let point = |alpha: f64, exponent: f64, regime: Regime| LoadPoint {
            alpha,
            value: Power { coefficient: 2.0, exponent },
            regime: Some(regime),
        };
        let points = vec![
            point(0.5, 0.0, Regime::FixedRepresentations),
            point(0.8, 0.0, Regime::FixedRepresentations),
            point(2.0, 0.5, Regime::Overfitting),
            point(8.0, 0.5, Regime::Overfitting),
            point(9.0, 0.0, Regime::Generalization),
            point(10.0, 0.0, Regime::Generalization),
        ];
        let curve = LoadCurve { label: "G".into(), category: 0, dash: None, points };
        assert_eq!(curve.diverges_at(), Some(4.0));
        let svg = |panel: Panel| Figure::single(panel.x("α").y("G")).to_svg().unwrap();
        assert!(svg(curves(Panel::new(), std::slice::from_ref(&curve))).contains("∝"));
        assert!(!svg(curve.lines(Panel::new())).contains("∝"));
        let finite = LoadCurve { points: curve.points[..2].to_vec(), ..curve };
        assert_eq!(finite.diverges_at(), None);
    }
}
