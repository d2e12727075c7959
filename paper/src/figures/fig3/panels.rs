//! The panels of figure 3.

use super::claims::{long, predicted, shares, short};
use super::{Fitted, SMALL, Slow, binned, examples};
use crate::figures::targets::Point;
use ebbing_show::{Bars, ColorScale, Line, Marker, Markers, Panel, Rgb};

/// Markers for each ρ_shared, colored by its γ_feature.
pub(in crate::figures) fn by_feature(mut panel: Panel, points: &[(&Point, f64, f64)]) -> Panel {
    let mut levels: Vec<f64> = points.iter().map(|p| p.0.shared).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    for (k, level) in levels.iter().enumerate() {
        let inside: Vec<_> = points.iter().filter(|p| p.0.shared == *level).collect();
        let feature = inside.iter().map(|p| p.0.feature).sum::<f64>() / inside.len() as f64;
        let (x, y): (Vec<f64>, Vec<f64>) = inside.iter().map(|p| (p.1, p.2)).unzip();
        let name = format!("γ_{{feature}} ≈ {feature:.2}");
        let color = ColorScale::Magnitude.at(0.85 * feature.clamp(0.0, 1.0));
        panel = panel.markers(Markers::new(&name, &x, &y).color(color).shape(Marker::category(k)));
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
    let panel = Panel::new().x("2(γ_{RF} − γ_{rule})").y("F_{21}").aspect(0.8).inset(inset);
    let diagonal = Line::new("", &[0.0, end], &[0.0, end]).color(Rgb::BLACK);
    by_feature(panel.line(diagonal), &points)
}

/// b.
pub(super) fn long_term(fitted: &[Fitted]) -> Panel {
    let mut panel = Panel::new().x("tasks learned, *t*").y("F_{t1}").integer_x().aspect(0.8);
    for (k, f) in examples(fitted).into_iter().flatten().enumerate() {
        let times: Vec<f64> = (1..=f.point.forgetting.len()).map(|t| t as f64).collect();
        let fit: Vec<f64> = times.iter().map(|&t| f.fit.map_or(f64::NAN, |fit| fit.at(t))).collect();
        let name = format!("γ_{{RF}} = {:.2}, γ_{{rule}} = {:.2}", f.point.rf, f.point.rule.value);
        panel = panel
            .line(Line::new(&name, &times, &fit).category(k))
            .markers(Markers::new(&name, &times, &f.point.forgetting).category(k));
    }
    panel
}

/// c.
pub(super) fn variance(fitted: &[Fitted]) -> Panel {
    let mut bars = Bars::new(&["γ_{feature}", "γ_{RF}", "γ_{rule}"]);
    for (label, values) in [("F_{21}", short(fitted)), ("τ_{F}", long(fitted))] {
        if let Some(found) = shares(&values) {
            bars = bars.series(label, &found.share);
        }
    }
    Panel::new().y("share of variance explained").aspect(0.8).bars(bars)
}

/// d: τ against γ_RF in bins, with the sequences near 0 one by one as inset.
pub(in crate::figures) fn times(points: &Slow, name: &str) -> Panel {
    let series = [("all", &points.all), ("without ρ_{flip} = 0", &points.inconsistent)];
    let mut whole = Panel::new().x("γ_{RF}").y(name).log_y().aspect(0.8);
    let mut near = Panel::new().x("γ_{RF}").y("τ_{F}").log_y();
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for (k, (label, points)) in series.into_iter().enumerate() {
        let bins = binned(points);
        let column = |k: usize| bins.iter().map(|b| b[k]).collect::<Vec<f64>>();
        let (x, y, d) = (column(0), column(1), column(2));
        // The lower end of a bar stays on the logarithmic axis.
        let from: Vec<f64> = y.iter().zip(&d).map(|(y, d)| (y - d).max(0.3 * y)).collect();
        let to: Vec<f64> = y.iter().zip(&d).map(|(y, d)| y + d).collect();
        low = y.iter().fold(low, |low, y| low.min(0.5 * y));
        high = to.iter().fold(high, |high, to| high.max(*to));
        whole = whole.markers(Markers::new(label, &x, &y).interval(&from, &to).category(k));
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().filter(|p| p.0 < 0.05).copied().unzip();
        near = near.markers(Markers::new(label, &x, &y).category(k));
    }
    let inside: Vec<f64> = points.all.iter().filter(|p| p.0 < 0.05).map(|p| p.1).collect();
    if inside.len() < 2 {
        return whole;
    }
    let ends = inside.iter().fold((f64::INFINITY, 0.0f64), |(low, high), tau| (low.min(*tau), high.max(*tau)));
    // Room for the inset above the data: about half of the logarithmic axis.
    whole.y_range(low, high * high / low).inset(near.y_range(0.7 * ends.0, 1.4 * ends.1))
}

/// e.
pub(super) fn plateaus(fitted: &[Fitted]) -> Panel {
    let (x, y) = predicted(fitted);
    let end = x.iter().chain(&y).copied().fold(0.0, f64::max);
    Panel::new()
        .x("F_{21}/(1 − e^{−1/τ_{F}})")
        .y("F_{max}")
        .aspect(0.8)
        .line(Line::new("", &[0.0, end], &[0.0, end]).color(Rgb::BLACK))
        .markers(Markers::new("", &x, &y))
}
