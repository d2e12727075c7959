//! Every pair of several tasks with a readout each: how similar, and where a width lies.

use super::Args;
use crate::console::Console;
use crate::output::write_json;
use ebbing::data::Sources;
use ebbing_show::{Report, Screen, Table, significant, typeset, write_table};
use ebbing_studies::job::{PhasePair, PhasePairs};
use ebbing_studies::show::phase as show;
use ebbing_studies::show::{bibtex, in_brackets};
use serde_json::json;

impl Args {
    /// Computes all pairs and tells.
    pub(super) fn all_pairs(&self, console: &Console) -> anyhow::Result<()> {
        let told = self.job.all_pairs(&Sources::new(), &console.watched("pairs of tasks"))?;
        let PhasePairs { settings, prepared, sizes, pairs } = told;
        let metadata =
            self.output.metadata("phase", Some(self.job.seed()?), &settings, &show::settings(&self.job, &prepared)?)?;
        let examples: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let done = in_brackets(&prepared);
        let heading = format!("{} tasks of {} examples{done}, a readout each", sizes.len(), examples.join(", "));
        let (table, sentence) = (table(&pairs), closest(&pairs));
        let result = json!({ "metadata": metadata, "tasks": sizes, "pairs": pairs, "answer": sentence });
        self.output.save("phase", |folder| {
            write_json(&folder.join("phase.json"), &result)?;
            write_table(folder, "phase-pairs", &table, &metadata)?;
            let report = Report::telling("Tasks with a readout each", &[typeset(&sentence)]).about(&heading);
            Ok(report.table(&table).metadata(&metadata).bibtex(&bibtex()).save(&folder.join("report.html"))?)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        let screen = Screen::new(&heading).table(&table)?.paragraph(&typeset(&sentence));
        let screen = match &self.output.out {
            Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
            None => screen.next("more", "ebbing phase --pair I,J (one pair, with its curves)"),
        };
        console.print(&screen.render_for_stdout())
    }
}

/// One row per pair.
fn table(pairs: &[PhasePair]) -> Table {
    let column = |get: fn(&PhasePair) -> f64| pairs.iter().map(get).collect::<Vec<f64>>();
    let whole = |get: fn(&PhasePair) -> usize| pairs.iter().map(|p| get(p) as i64).collect::<Vec<i64>>();
    let mut table = Table::new("Similarity and critical load of every pair")
        .integer("first", &whole(|p| p.first))
        .meaning("the task learned first")
        .integer("second", &whole(|p| p.second))
        .meaning("the task learned second")
        .number("γ_{sim}", &column(|p| p.critical_load.gamma_sim))
        .meaning("similarity of tasks that have readouts of their own")
        .number("exact α_{c}", &column(|p| p.critical_load.alpha_c))
        .meaning("critical load P/N")
        .number("γ_{sim}^{−2}", &column(|p| p.critical_load.alpha_c_gamma_sim))
        .meaning("its estimate");
    if pairs.iter().any(|p| p.location.is_some()) {
        let regimes = pairs.iter().map(|p| p.location.as_ref().map_or(String::new(), |l| l.regime.to_string()));
        table = table
            .number("load", &column(|p| p.location.as_ref().map_or(f64::NAN, |l| l.alpha)))
            .meaning("P/N of the width asked about")
            .text("regime", &regimes.collect::<Vec<_>>());
    }
    table
}

/// The most and the least similar pair.
fn closest(pairs: &[PhasePair]) -> String {
    let by = |a: &&PhasePair, b: &&PhasePair| a.critical_load.gamma_sim.total_cmp(&b.critical_load.gamma_sim);
    let told =
        |p: &PhasePair| format!("{} and {} (γ_sim {})", p.first, p.second, significant(p.critical_load.gamma_sim));
    match (pairs.iter().max_by(by), pairs.iter().min_by(by)) {
        (Some(most), Some(least)) if pairs.len() > 1 => {
            format!("Most alike are tasks {}, least alike {}.", told(most), told(least))
        }
        (Some(only), _) => format!("The pair is tasks {}.", told(only)),
        _ => String::new(),
    }
}
