//! More than two tasks, or a finite temperature: curves against the load.

use super::Args;
use crate::console::Console;
use crate::output::write_json;
use ebbing::data::Sources;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::theory::multi_head::Power;
use ebbing::theory::phase::{SequenceCurve, SequencePoint};
use ebbing_show::{Figure, Line, Panel, Screen, Table, significant, write_table};
use ebbing_studies::job::PhaseSequence;
use ebbing_studies::show::{in_brackets, phase as show};
use serde_json::json;

/// Loads that the terminal shows of a curve.
const SHOWN: usize = 12;

/// The quantities of a curve: name on axes, column, and value.
type Quantity = (&'static str, &'static str, fn(&SequencePoint) -> Option<Power>);

const QUANTITIES: [Quantity; 4] = [
    ("F_{T1}", "f_t1", |p| Some(p.f_t1)),
    ("G_{T1}", "g_t1", |p| p.g_t1),
    ("G_{TT}", "g_tt", |p| p.g_tt),
    ("|a_{T}|^{2}/N", "u_tt", |p| Some(p.u_tt)),
];

impl Args {
    /// Computes the curves and tells.
    pub(super) fn longer(&self, console: &Console) -> anyhow::Result<()> {
        let told = self.job.sequence(&Sources::new(), &console.watched("curves against the load"))?;
        let PhaseSequence { settings, prepared, sizes, curves, at_width } = told;
        let metadata =
            self.output.metadata("phase", Some(self.job.seed()?), &settings, &show::settings(&self.job, &prepared)?)?;
        let result = json!({ "metadata": metadata, "tasks": sizes, "load_of_width": at_width, "curves": curves });
        let examples: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let done = in_brackets(&prepared);
        let heading = format!("{} tasks of {} examples{done}, a readout each", sizes.len(), examples.join(", "));
        let told = |curve| std::iter::once(critical(curve)).chain(curve.unsettled());
        let defined = std::iter::once(show::DEFINED_FOR_MORE.to_string());
        let sentences: Vec<String> = curves.iter().flat_map(told).chain(defined).collect();
        self.output.save("phase", |folder| {
            let own = at_width.zip(self.job.width);
            let figure = figure(&curves, sizes.len(), own).finding(&sentences[0]).metadata(&metadata);
            figure.save(folder, "phase")?;
            write_json(&folder.join("phase.json"), &result)?;
            let all = table(&curves, &|_| true);
            write_table(folder, "phase-curves", &all, &metadata)?;
            super::report(folder, (&heading, &sentences), &figure, &[&all], &metadata)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        let mut screen = Screen::new(&heading);
        let step = curves[0].points.len().div_ceil(SHOWN);
        let chosen = |k: usize| k.is_multiple_of(step);
        let wanted = |p: &SequencePoint| at_width.is_none_or(|alpha| p.alpha == alpha);
        let kept = |k: usize| if at_width.is_some() { wanted(&curves[0].points[k]) } else { chosen(k) };
        screen = screen.table(&table(&curves, &kept))?;
        for sentence in &sentences {
            screen = screen.paragraph(sentence);
        }
        screen = match &self.output.out {
            Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
            None => screen.next("more", "ebbing phase --out DIR (figure and all loads)"),
        };
        console.print(&screen.render_for_stdout())
    }
}

/// The critical load that a curve shows, in a sentence.
fn critical(curve: &SequenceCurve) -> String {
    let lambda = lambda(curve);
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

fn lambda(curve: &SequenceCurve) -> String {
    if curve.lambda.is_infinite() { "λ → ∞".into() } else { format!("λ = {}", significant(curve.lambda)) }
}

/// The curves as a table: coefficients, and the exponents of λ where one grows with it.
fn table(curves: &[SequenceCurve], kept: &dyn Fn(usize) -> bool) -> Table {
    let all = curves.iter().flat_map(|c| c.points.iter().enumerate().map(move |(k, p)| (k, c.lambda, p)));
    let rows: Vec<(f64, &SequencePoint)> = all.filter(|(k, ..)| kept(*k)).map(|(_, lambda, p)| (lambda, p)).collect();
    let mut table = Table::new("Against the load")
        .number("λ", &rows.iter().map(|r| r.0).collect::<Vec<_>>())
        .number("load P/N", &rows.iter().map(|r| r.1.alpha).collect::<Vec<_>>());
    for (name, key, get) in QUANTITIES {
        let powers: Vec<Option<Power>> = rows.iter().map(|r| get(r.1)).collect();
        if powers.iter().all(Option::is_none) {
            continue;
        }
        let column = |f: fn(Power) -> f64| powers.iter().map(|p| p.map_or(f64::NAN, f)).collect::<Vec<f64>>();
        table = table.number(name, &column(|p| p.coefficient)).key(key);
        if powers.iter().flatten().any(|p| p.exponent != 0.0) {
            table = table.number("exponent of λ", &column(|p| p.exponent)).key(&format!("{key}_exponent"));
        }
    }
    table
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
                panel = panel.line(Line::new(&lambda(curve), &x, &y).category(k));
                any = true;
            }
        }
        if any {
            panels.push(panel);
        }
    }
    Figure::grid(panels, 2).title("Tasks with a readout each").caption(&format!(
        "{tasks} tasks with a readout each against the load: forgetting F_{{T1}} of the first task after the last, normalized test losses \
         G_{{T1}} and G_{{TT}} of the first and the last task over learning them alone, and the norm of the last readout. For λ → ∞ \
         the numbers are those of the large λ that stands for it."
    ))
}
