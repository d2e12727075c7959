//! The panels of figure 4.

use super::Figure4;
use super::claims::points;
use super::series::Series;
use crate::figures::common::plain;
use ebbing::stats::Estimate;
use ebbing_show::{Dash, Line, Marker, Markers, OKABE_ITO, Panel, Rgb};

/// Color, dash and marker of a series, the same in every panel: blues for permuted ones, red and green for splits.
#[derive(Clone, Copy)]
struct Look {
    color: Rgb,
    dash: Dash,
    marker: Marker,
}

fn looks(series: &[Series]) -> Vec<Look> {
    let permuted = series.iter().filter(|s| s.ratio.is_some()).count();
    let look = |k: usize| {
        let color = match k.checked_sub(permuted) {
            Some(split) => OKABE_ITO[1 + split % 2],
            // From light to dark blue with the ratio.
            None => {
                let share = k as f64 / (permuted.max(2) - 1) as f64;
                let mix = |light: f64, dark: f64| (light + share * (dark - light)) as u8;
                Rgb(mix(130.0, 0.0), mix(195.0, 50.0), mix(240.0, 110.0))
            }
        };
        Look { color, dash: Dash::category(k), marker: Marker::category(k) }
    };
    (0..series.len()).map(look).collect()
}

/// A line through points with error bars.
fn add(panel: Panel, name: &str, look: Look, x: &[f64], y: &[Estimate]) -> Panel {
    let errors: Vec<f64> = y.iter().map(|u| u.standard_error.unwrap_or(0.0)).collect();
    panel
        .line(Line::new(name, x, &plain(y)).color(look.color).dash(look.dash).width(0.9))
        .markers(Markers::new(name, x, &plain(y)).errors(&errors).color(look.color).shape(look.marker))
}

pub(super) fn all(study: &Figure4, series: &[Series]) -> Vec<Panel> {
    let depths: Vec<f64> = study.depths.iter().map(|&l| l as f64).collect();
    let looks = looks(series);
    let each = || series.iter().zip(looks.iter().copied());
    let over_depth = |name: &str| Panel::new().x("hidden layers *L*").y(name).integer_x().aspect(0.9);
    let mut a = over_depth("F_{21}");
    let (mut b, mut c) = (over_depth("τ_{F}"), over_depth("F_{max}"));
    let mut d = Panel::new().x("γ_{RF}").y("γ_{rule}").aspect(0.9);
    let mut e = Panel::new().x("2(γ_{RF} − γ_{rule})").y("F_{21}").aspect(0.9);
    let mut f = Panel::new().x("γ_{RF}").y("τ_{F}").aspect(0.9);
    for (s, look) in each() {
        a = add(a, &s.name, look, &depths, &s.f21);
        d = add(d, &s.name, look, &plain(&s.rf), &s.rule);
        let (x, y) = (s.twice_conflict(), plain(&s.f21));
        e = e.markers(Markers::new(&s.name, &x, &y).color(look.color).shape(look.marker));
        if let Some(long) = &s.long {
            for (panel, values) in [(&mut b, &long.tau), (&mut c, &long.f_max)] {
                let known = depths.iter().zip(values).filter_map(|(l, v)| Some((*l, (*v)?)));
                let (x, y): (Vec<f64>, Vec<Estimate>) = known.unzip();
                *panel = add(panel.clone(), &s.name, look, &x, &y);
            }
            let (x, y) = points(long);
            f = f.markers(Markers::new(&s.name, &x, &y).color(look.color).shape(look.marker));
        }
    }
    let end = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
    let largest = end(series.iter().flat_map(|s| plain(&s.rf)).collect());
    d = d.line(Line::new("", &[0.0, largest], &[0.0, largest]).color(Rgb::GRAY).dash(Dash::Dashed).width(0.8));
    let largest = end(series.iter().flat_map(|s| s.twice_conflict()).collect());
    e = e.line(Line::new("", &[0.0, largest], &[0.0, largest]).color(Rgb::BLACK));
    vec![a, b, c, d, e, f]
}
