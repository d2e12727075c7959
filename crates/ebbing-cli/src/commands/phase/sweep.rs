//! The phase diagram over a swept setting of a protocol.

use super::Args;
use crate::console::Console;
use crate::output::write_json;
use ebbing::data::Sources;
use ebbing::stats::Estimate;
use ebbing::theory::multi_head::CriticalLoad;
use ebbing_show::{Screen, Spread, Table, escape_markup, significant, write_table};
use ebbing_studies::job::{PhaseSweep, SweptCurves, SweptLoads};
use ebbing_studies::show::{counted, phase as figures};
use serde_json::json;

impl Args {
    /// Sweeps, tells and draws.
    pub(super) fn swept(&self, console: &Console, sweep: PhaseSweep) -> anyhow::Result<()> {
        let (settings, swept, curves) = self.job.swept(&Sources::new(), &console.watched("phase diagram"))?;
        self.tell_sweep(console, sweep, &settings, &swept, &curves)
    }

    fn tell_sweep(
        &self,
        console: &Console,
        sweep: PhaseSweep,
        tasks: &ebbing::tasks::Provenance,
        swept: &[SweptLoads],
        curves: &[SweptCurves],
    ) -> anyhow::Result<()> {
        let prepared = tasks.preparation_words();
        let settings = figures::settings(&self.job, &prepared)?;
        let metadata = self.output.metadata("phase", Some(self.job.seed()?), tasks, &settings)?;
        let result = json!({
            "metadata": metadata,
            "sweep": sweep.axis().replace(['{', '}'], ""),
            "label_scale": if self.job.rescale_labels { "YᵀK⁻¹Y/P = 1" } else { "as given" },
            "values": swept.iter().map(|s| json!({ "value": s.value, "critical_loads": s.loads })).collect::<Vec<_>>(),
            "curves": curves.iter().map(|c| json!({ "value": c.value, "curves": c.curves })).collect::<Vec<_>>(),
        });
        let heading = format!(
            "Phase boundary of two tasks of {} examples ({}; {prepared}), σ = {}, {}",
            self.job.examples(),
            escape_markup(self.job.tasks.data()),
            self.job.sigma,
            counted(self.job.seeds, "seed")
        );
        let boundary = boundary(sweep, swept, self.job.seeds);
        let (sentences, notes) = ([rule(self.job.readout_norm), reach(sweep, swept)], notes(sweep, swept));
        self.output.save("phase", |folder| {
            let figure = figures::diagram(sweep.axis(), swept, curves, &self.job.alpha.grid()?, self.job.seeds);
            let figure = figure.finding(&sentences[1]).metadata(&metadata);
            figure.save(folder, "phase")?;
            write_json(&folder.join("phase.json"), &result)?;
            let against_load = figures::curve_table(curves);
            write_table(folder, "phase-boundary", &boundary, &metadata)?;
            write_table(folder, "phase-curves", &against_load, &metadata)?;
            let bullets = [&sentences[..], &[figures::DEFINED.to_string()]].concat();
            let report = figures::report((&heading, &bullets), &figure, &[&boundary], &metadata);
            Ok(notes.iter().fold(report, |report, note| report.note(note)).save(&folder.join("report.html"))?)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        let mut screen = Screen::new(&heading).table(&boundary)?;
        for sentence in sentences.iter().chain(&notes) {
            screen = screen.paragraph(sentence);
        }
        screen = screen.paragraph(figures::DEFINED);
        screen = match &self.output.out {
            Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
            None => screen.next("more", "ebbing phase --out DIR (report, figure and tables)"),
        };
        console.print(&screen.render_for_stdout())
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
fn reach(sweep: PhaseSweep, swept: &[SweptLoads]) -> String {
    let at = |s: &SweptLoads| {
        let load = s.mean(|c| c.alpha_c).value;
        let load = if load.is_finite() { significant(load) } else { "beyond every load computed".into() };
        format!("{load} at {} {}", sweep.axis(), significant(s.value))
    };
    match swept {
        [] => String::new(),
        [only] => format!("The critical load α_{{c}} is {}.", at(only)),
        [first, .., last] => format!("The critical load α_{{c}} goes from {} to {}.", at(first), at(last)),
    }
}

/// What to know beside the numbers, each once, with the values it is about (markup).
fn notes(sweep: PhaseSweep, swept: &[SweptLoads]) -> Vec<String> {
    let at = |holds: &dyn Fn(&CriticalLoad) -> bool| {
        let values: Vec<f64> = swept.iter().filter(|s| s.loads.iter().any(holds)).map(|s| s.value).collect();
        (!values.is_empty()).then(|| format!("{} {}", sweep.axis(), listed(&values)))
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
fn boundary(sweep: PhaseSweep, swept: &[SweptLoads], seeds: usize) -> Table {
    let mut table =
        Table::new("Boundary of overfitting").number(sweep.axis(), &swept.iter().map(|s| s.value).collect::<Vec<_>>());
    let all: [(&str, fn(&CriticalLoad) -> f64, &str); 4] = [
        ("γ_{sim}", |c| c.gamma_sim, "similarity of the tasks"),
        ("exact α_{c}", |c| c.alpha_c, "critical load P/N"),
        ("γ_{sim}^{−2}", |c| c.alpha_c_gamma_sim, "its estimate for linear networks and scaled labels"),
        ("α_{c} with u_{11}", |c| c.alpha_c_u11, "its estimate for linear networks"),
    ];
    for (name, get, meaning) in all {
        let means: Vec<Estimate> = swept.iter().map(|s| s.mean(get)).collect();
        let values: Vec<f64> = means.iter().map(|m| m.value).collect();
        let errors: Vec<f64> = means.iter().map(|m| m.standard_error.unwrap_or(f64::NAN)).collect();
        table = if seeds > 1 {
            table.estimate(name, &values, Spread::StandardError, &errors)
        } else {
            table.number(name, &values)
        };
        table = table.meaning(meaning);
    }
    table
}
