//! The phase diagram over a swept setting of a protocol.

use super::curves::{curve_panels, curve_table};
use super::{DEFINED, Part};
use crate::error::Result;
use crate::figure::{Figure, Line, Markers, Panel};
use crate::loads;
use crate::shown::{Show, Shown, counted};
use crate::style::{Dash, OKABE_ITO, significant};
use crate::table::Table;
use crate::text::escape_markup;
use ebbing::request::{PhaseSwept, SweptLoads};
use ebbing::theory::multi_head::CriticalLoad;
use serde_json::{Value, json};

impl Show for PhaseSwept {
    fn shown(&self) -> Result<Shown> {
        let heading = format!(
            "Phase boundary of two tasks of {} examples ({}; {}), σ = {}, {}",
            self.request.examples(),
            escape_markup(self.request.tasks.data()),
            self.settings.preparation_words(),
            self.request.sigma,
            counted(self.request.seeds, "seed")
        );
        let mut sentences = vec![rule(self.request.readout_norm), reach(self)];
        let (boundary, notes) = (boundary(self), notes(self));
        let mut page = vec![Part::Table(boundary.clone())];
        page.extend(sentences.iter().chain(&notes).cloned().map(Part::Words));
        page.push(Part::Words(DEFINED.into()));
        let figure = figure(self)?.finding(&sentences[1]);
        sentences.push(DEFINED.into());
        let (title, tables) = (super::TITLE.into(), vec![Part::Table(boundary.clone())]);
        Ok(Shown { title, heading, sentences, notes, page, tables, ..Shown::default() }
            .figure("phase", figure)
            .file("phase-boundary", boundary)
            .file("phase-curves", curve_table(&self.curves))
            .next(&[("more", "ebbing phase --out DIR (report, figure and tables)")]))
    }

    fn json(&self) -> Value {
        json!({
            "sweep": self.sweep.axis().replace(['{', '}'], ""),
            "label_scale": if self.request.rescale_labels { "YᵀK⁻¹Y/P = 1" } else { "as given" },
            "values": self.swept.iter().map(|s| json!({ "value": s.value, "critical_loads": s.loads })).collect::<Vec<_>>(),
            "curves": self.curves.iter().map(|c| json!({ "value": c.value, "curves": c.curves })).collect::<Vec<_>>(),
        })
    }
}

/// What the three regimes are (markup); a bound on readouts keeps everything finite.
fn rule(readout_norm: Option<f64>) -> String {
    let between = match readout_norm {
        None => "overfits task 2 (F_{21} → 0, G_{22} grows as λ^{1/2})".to_string(),
        Some(norm) => format!(
            "would overfit task 2 without the bound |a|^{{2}}/N ≤ {norm} on readouts; with it nothing grows without bound, at the \
             price of some forgetting"
        ),
    };
    format!(
        "Below load 1 representations stay fixed; between 1 and α_{{c}} the network {between}; beyond α_{{c}} it generalizes and \
         forgets task 1."
    )
}

/// From where to where the boundary goes (markup).
fn reach(diagram: &PhaseSwept) -> String {
    let at = |s: &SweptLoads| {
        let load = s.mean(|c| c.alpha_c).value;
        let load = if load.is_finite() { significant(load) } else { "beyond every load computed".into() };
        format!("{load} at {} {}", diagram.sweep.axis(), significant(s.value))
    };
    match &diagram.swept[..] {
        [] => String::new(),
        [only] => format!("The critical load α_{{c}} is {}.", at(only)),
        [first, .., last] => format!("The critical load α_{{c}} goes from {} to {}.", at(first), at(last)),
    }
}

/// What to know beside the numbers, each once, with the values it is about (markup).
fn notes(diagram: &PhaseSwept) -> Vec<String> {
    let swept = &diagram.swept;
    let at = |holds: &dyn Fn(&CriticalLoad) -> bool| {
        let values: Vec<f64> = swept.iter().filter(|s| s.loads.iter().any(holds)).map(|s| s.value).collect();
        (!values.is_empty()).then(|| format!("{} {}", diagram.sweep.axis(), listed(&values)))
    };
    let scales = swept.iter().flat_map(|s| &s.loads).flat_map(|load| load.label_scale);
    let (low, high) = scales.fold((f64::INFINITY, 0.0f64), |(low, high), scale| (low.min(scale), high.max(scale)));
    let mut all = Vec::new();
    all.extend(
        at(&|c| c.alpha_c == 1.0).map(|at| format!("At {at} nothing overfits: every load above 1 generalizes.")),
    );
    all.extend(at(&|c| c.alpha_c.is_infinite()).map(|at| format!("At {at} every load above 1 overfits task 2.")));
    let none = "the estimate γ_{sim}^{−2} knows no generalization, as γ_{sim} is not positive";
    all.extend(at(&|c| c.gamma_sim <= 0.0).map(|at| format!("At {at} {none}.")));
    if (low - 1.0).abs().max((high - 1.0).abs()) > 0.1 {
        let [low, high] = [low, high].map(significant);
        let here = if low == high { low } else { format!("{low} to {high}") };
        all.push(format!(
            "The estimate γ_{{sim}}^{{−2}} assumes labels with YᵀK⁻¹Y/P = 1; here that is {here} (--rescale-labels makes it 1)."
        ));
    }
    all
}

/// A few values one by one, more of them by their ends.
fn listed(values: &[f64]) -> String {
    match values {
        [first, _, _, .., last] => format!("{first} to {last}"),
        few => few.iter().map(f64::to_string).collect::<Vec<_>>().join(" and "),
    }
}

/// The boundary, one row per value of the sweep.
fn boundary(diagram: &PhaseSwept) -> Table {
    let mut table = Table::of("Boundary of overfitting", &diagram.swept).number(diagram.sweep.axis(), |s| s.value);
    let all: [(&str, fn(&CriticalLoad) -> f64, &str); 4] = [
        ("γ_{sim}", |c| c.gamma_sim, "similarity of the tasks"),
        ("exact α_{c}", |c| c.alpha_c, "critical load P/N"),
        ("γ_{sim}^{−2}", |c| c.alpha_c_gamma_sim, "its estimate for linear networks and scaled labels"),
        ("α_{c} with u_{11}", |c| c.alpha_c_u11, "its estimate for linear networks"),
    ];
    for (name, get, meaning) in all {
        table = table.estimate(name, diagram.request.seeds > 1, |s| s.mean(get)).meaning(meaning);
    }
    table.done()
}

/// γ_sim, the diagram with its boundaries, and the curves of the chosen values.
fn figure(diagram: &PhaseSwept) -> Result<Figure> {
    let PhaseSwept { swept, curves, request, .. } = diagram;
    let (axis, seeds, alphas) = (diagram.sweep.axis(), request.seeds, request.alpha.grid()?);
    let (low, high) = (alphas[0], alphas[alphas.len() - 1]);
    let x: Vec<f64> = swept.iter().map(|s| s.value).collect();
    let mean = |get: fn(&CriticalLoad) -> f64| swept.iter().map(|s| s.mean(get).value).collect::<Vec<f64>>();
    let error: Vec<f64> = swept.iter().map(|s| s.mean(|c| c.gamma_sim).standard_error.unwrap_or(0.0)).collect();
    let gamma = mean(|c| c.gamma_sim);
    let markers = Markers::new("", &x, &gamma).category(0);
    let similarity = Panel::new()
        .x(axis)
        .y("task similarity γ_{sim}")
        .line(Line::new("", &x, &gamma).category(0))
        .markers(if seeds > 1 { markers.errors(&error) } else { markers });
    // A boundary beyond every load is drawn as one far above the frame, which clips it.
    let drawable =
        |v: Vec<f64>| v.into_iter().map(|a| if a.is_finite() { a } else { 1e6 * high }).collect::<Vec<f64>>();
    let exact = drawable(mean(|c| c.alpha_c));
    let map = loads::diagram(Panel::new().x(axis).y("load α = P/N"), &x, (low, high), &exact)
        .line(Line::new("exact α_{c}", &x, &exact).color(OKABE_ITO[6]))
        .line(Line::new("γ_{sim}^{−2}", &x, &drawable(mean(|c| c.alpha_c_gamma_sim))).category(1).dash(Dash::Dashed));
    let mut panels = vec![similarity, map];
    // The boundaries have the first two categories.
    panels.extend(curve_panels(axis, curves, 2));
    let bars = crate::answers::bars(seeds);
    Ok(Figure::grid(panels, 3).title("Regimes of two tasks with a readout each").caption(&format!(
        "Regimes at λ → ∞ of two tasks with a readout each. **a** Similarity of the tasks. **b** The phase diagram: the exact \
         boundary α_{{c}} and the estimate γ_{{sim}}^{{−2}}. Then, against the load, forgetting of task 1, test loss of task 2 over \
         learning it alone, and the norm of its readout for chosen values of the {axis}; where a curve is interrupted the quantity \
         grows as λ^{{1/2}} without bound (arrows).{bars}"
    )))
}
