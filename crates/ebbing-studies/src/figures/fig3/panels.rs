//! The panels of figure 3.

use super::claims::{foretold, shares};
use super::{Fitted, SMALL, binned, examples};
use crate::error::Result;
use crate::figures::targets::Point;
use ebbing_report::{Bars, ColourScale, Line, Marker, Markers, Panel, Rgb};

/// Markers for each ρ_shared, coloured by its γ_feature.
pub(in crate::figures) fn by_feature(mut panel: Panel, points: &[(&Point, f64, f64)]) -> Panel {
    let mut levels: Vec<f64> = points.iter().map(|p| p.0.shared).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    for (k, level) in levels.iter().enumerate() {
        let inside: Vec<_> = points.iter().filter(|p| p.0.shared == *level).collect();
        let feature = inside.iter().map(|p| p.0.feature).sum::<f64>() / inside.len() as f64;
        let (x, y): (Vec<f64>, Vec<f64>) = inside.iter().map(|p| (p.1, p.2)).unzip();
        let name = format!("γ_{{feature}} ≈ {feature:.2}");
        let colour = ColourScale::Magnitude.at(0.85 * feature.clamp(0.0, 1.0));
        panel = panel.markers(Markers::new(&name, &x, &y).colour(colour).shape(Marker::category(k)));
    }
    panel
}

/// a.
pub(super) fn short_term(fitted: &[Fitted]) -> Panel {
    let points: Vec<_> = fitted.iter().map(|f| (&f.point, 2.0 * f.point.conflict(), f.point.f21())).collect();
    let end = points.iter().map(|p| p.1.max(p.2)).fold(0.0, f64::max);
    let small: Vec<&Point> = fitted.iter().map(|f| &f.point).filter(|p| p.f21() < SMALL).collect();
    let (rf, delta): (Vec<f64>, Vec<f64>) = small.iter().map(|p| (p.rf, p.delta_f21)).unzip();
    let inset = Panel::new().x("γ_{RF}").y("ΔF_{21}").markers(Markers::new("", &rf, &delta));
    let panel = Panel::new().x("2(γ_{RF} − γ_{rule})").y("F_{21}").aspect(1.0).inset(inset);
    let diagonal = Line::new("", &[0.0, end], &[0.0, end]).colour(Rgb::BLACK);
    by_feature(panel.line(diagonal), &points)
}

/// b.
pub(super) fn long_term(fitted: &[Fitted]) -> Panel {
    let mut panel = Panel::new().x("tasks learned, *t*").y("F_{t1}").integer_x().aspect(1.0);
    for (k, f) in examples(fitted).into_iter().flatten().enumerate() {
        let times: Vec<f64> = (1..=f.point.forgetting.len()).map(|t| t as f64).collect();
        let fit: Vec<f64> = times.iter().map(|&t| f.at(t).unwrap_or(f64::NAN)).collect();
        let name = format!("γ_{{RF}} = {:.2}, γ_{{rule}} = {:.2}", f.point.rf, f.point.rule.value);
        panel = panel
            .line(Line::new(&name, &times, &fit).category(k))
            .markers(Markers::new(&name, &times, &f.point.forgetting).category(k));
    }
    panel
}

/// c.
pub(super) fn variance(fitted: &[Fitted]) -> Result<Panel> {
    let (short, long) = shares(fitted)?;
    let mut bars = Bars::new(&["γ_{feature}", "γ_{RF}", "γ_{rule}"]).series("F_{21}", &short.share);
    if let Some(long) = long {
        bars = bars.series("τ_{F}", &long.share);
    }
    Ok(Panel::new().y("share of variance explained").aspect(1.0).bars(bars))
}

/// d: τ against γ_RF in bins, with the region near 0 as inset.
pub(in crate::figures) fn times(points: &[(f64, f64)], name: &str) -> Panel {
    let bins = binned(points);
    let panel = |bins: &[[f64; 3]]| {
        let column = |k: usize| bins.iter().map(|b| b[k]).collect::<Vec<f64>>();
        Panel::new().x("γ_{RF}").y(name).markers(Markers::new("", &column(0), &column(1)).errors(&column(2)))
    };
    let near: Vec<[f64; 3]> = bins.iter().filter(|b| b[0] < 0.05).copied().collect();
    let whole = panel(&bins).aspect(1.0);
    if near.len() < 2 { whole } else { whole.inset(panel(&near)) }
}

/// e.
pub(super) fn plateaus(fitted: &[Fitted]) -> Panel {
    let (x, y) = foretold(fitted);
    let end = x.iter().chain(&y).copied().fold(0.0, f64::max);
    Panel::new()
        .x("F_{21}/(1 − e^{−1/τ_{F}})")
        .y("F_{max}")
        .aspect(1.0)
        .line(Line::new("", &[0.0, end], &[0.0, end]).colour(Rgb::BLACK))
        .markers(Markers::new("", &x, &y))
}
