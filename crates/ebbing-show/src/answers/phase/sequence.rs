//! More than two tasks, or a finite temperature: curves against the load.

use super::penalty;
use crate::error::Result;
use crate::figure::{Figure, Line, Panel};
use crate::shown::{Part, Show, Shown};
use crate::style::significant;
use crate::table::Table;
use ebbing::request::PhaseSequence;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::theory::multi_head::Power;
use ebbing::theory::phase::{SequenceCurve, SequencePoint};
use serde_json::{Value, json};

/// Loads that the page shows of a curve.
const SHOWN: usize = 12;

/// The quantities of a curve: name on axes, column, and value.
type Quantity = (&'static str, &'static str, fn(&SequencePoint) -> Option<Power>);

const QUANTITIES: [Quantity; 4] = [
    ("F_{T1}", "f_t1", |p| Some(p.f_t1)),
    ("G_{T1}", "g_t1", |p| p.g_t1),
    ("G_{TT}", "g_tt", |p| p.g_tt),
    ("|a_{T}|^{2}/N", "u_tt", |p| Some(p.u_tt)),
];

impl Show for PhaseSequence {
    fn shown(&self) -> Result<Shown> {
        let each = |curve| std::iter::once(critical(curve)).chain(curve.unsettled());
        let mut sentences: Vec<String> = self.curves.iter().flat_map(each).collect();
        sentences.push(super::DEFINED_FOR_MORE.into());
        let step = self.curves[0].points.len().div_ceil(SHOWN);
        let kept = |k: usize| match self.at_width {
            Some((alpha, _)) => self.curves[0].points[k].alpha == alpha,
            None => k.is_multiple_of(step),
        };
        let all = table(&self.curves, &|_| true);
        let heading = super::heading(&self.sizes, &self.prepared);
        let shown = Shown::new(super::TITLE, &heading, sentences, vec![], vec![table(&self.curves, &kept).into()]);
        Ok(Shown { tables: vec![Part::Table(all.clone())], ..shown }
            .figure("phase", figure(&self.curves, self.sizes.len(), self.at_width))
            .file("phase-curves", all)
            .next(&[("more", "ebbing phase --out DIR (figure and all loads)")]))
    }

    fn json(&self) -> Value {
        json!({ "tasks": self.sizes, "load_of_width": self.at_width.map(|(load, _)| load), "curves": self.curves })
    }
}

/// The critical load that a curve shows, in a sentence.
fn critical(curve: &SequenceCurve) -> String {
    let lambda = penalty(curve.lambda);
    let tested: Option<Vec<f64>> = curve.points.iter().map(|p| p.g_tt.map(|g| g.at(p.lambda))).collect();
    let alphas: Vec<f64> = curve.points.iter().map(|p| p.alpha).collect();
    let found = tested.and_then(|g| alpha_c_from_curve(&alphas, &g, CurveFeature::MidHeight).ok().flatten());
    match found {
        Some(found) => format!(
            "At {lambda} the normalized test loss G_{{TT}} of the last task falls through the middle of its height at load {} (spacing of \
             ln α: {}).",
            significant(found.alpha_c),
            significant(found.spacing)
        ),
        None => format!("At {lambda} the curve shows no fall of G_{{TT}} at loads above 1."),
    }
}

/// The curves as a table: coefficients, and the exponents of λ where one grows with it.
fn table(curves: &[SequenceCurve], kept: &dyn Fn(usize) -> bool) -> Table {
    let all = curves.iter().flat_map(|c| c.points.iter().enumerate().map(move |(k, p)| (k, c.lambda, p)));
    let rows: Vec<(f64, &SequencePoint)> = all.filter(|(k, ..)| kept(*k)).map(|(_, lambda, p)| (lambda, p)).collect();
    let mut table = Table::of("Against the load", &rows).chosen("λ", |r| r.0).number("load P/N", |r| r.1.alpha);
    for (name, key, get) in QUANTITIES {
        let mut known = rows.iter().filter_map(|r| get(r.1)).peekable();
        if known.peek().is_none() {
            continue;
        }
        let grows = known.any(|p| p.exponent != 0.0);
        table = table.number(name, |r| get(r.1).map(|p| p.coefficient)).key(key).when(grows, |table| {
            table.number("exponent of λ", |r| get(r.1).map(|p| p.exponent)).key(&format!("{key}_exponent"))
        });
    }
    table.done()
}

/// Every quantity against the load, at the λ of the numbers; the load of the width asked about is marked.
fn figure(curves: &[SequenceCurve], tasks: usize, own: Option<(f64, f64)>) -> Figure {
    let mut panels = Vec::new();
    for (name, _, get) in QUANTITIES {
        let mut panel = Panel::new().x("load α = P/N").y(name).log_x();
        if name != "F_{T1}" {
            panel = panel.log_y();
        }
        if let Some((alpha, width)) = own {
            panel = panel.own(&format!("N = {width}"), alpha);
        }
        let mut any = false;
        for (k, curve) in curves.iter().enumerate() {
            let points = curve.points.iter().filter_map(|p| get(p).map(|v| (p.alpha, v.at(p.lambda))));
            let (x, y): (Vec<f64>, Vec<f64>) = points.filter(|(_, y)| y.is_finite()).unzip();
            if !x.is_empty() {
                panel = panel.line(Line::new(&penalty(curve.lambda), &x, &y).category(k));
                any = true;
            }
        }
        if any {
            panels.push(panel);
        }
    }
    Figure::grid(panels, 2).title(super::TITLE).caption(&format!(
        "{tasks} tasks with a readout each against the load: forgetting F_{{T1}} of the first task after the last, normalized test losses \
         G_{{T1}} and G_{{TT}} of the first and the last task over learning them alone, and the norm of the last readout. For λ → ∞ \
         the numbers are those of the large λ that stands for it."
    ))
}
