//! Every pair of several tasks with a readout each: how similar, and where a width lies.

use crate::error::Result;
use crate::shown::{Show, Shown};
use crate::style::significant;
use crate::table::Table;
use crate::text::typeset;
use ebbing::request::{PhasePair, PhasePairs};
use serde_json::{Value, json};

impl Show for PhasePairs {
    fn shown(&self) -> Result<Shown> {
        let (table, sentence) = (table(&self.pairs), typeset(&extremes(&self.pairs)));
        let heading = super::heading(&self.sizes, &self.prepared);
        let shown = Shown::new(super::TITLE, &heading, vec![sentence], vec![], vec![table.clone().into()]);
        Ok(shown.file("phase-pairs", table).next(&[("more", "ebbing phase --pair I,J (one pair, with its curves)")]))
    }

    fn json(&self) -> Value {
        json!({ "tasks": self.sizes, "pairs": self.pairs, "answer": extremes(&self.pairs) })
    }
}

/// One row per pair.
fn table(pairs: &[PhasePair]) -> Table {
    Table::of("Similarity and critical load of every pair", pairs)
        .integer("first", |p| p.first)
        .meaning("the task learned first")
        .integer("second", |p| p.second)
        .meaning("the task learned second")
        .number("γ_{sim}", |p| p.critical_load.gamma_sim)
        .meaning("similarity of tasks that have readouts of their own")
        .number("exact α_{c}", |p| p.critical_load.alpha_c)
        .meaning("critical load P/N")
        .number("γ_{sim}^{−2}", |p| p.critical_load.alpha_c_gamma_sim)
        .meaning("its estimate")
        .when(pairs.iter().any(|p| p.location.is_some()), |table| {
            table
                .number("load", |p| p.location.as_ref().map(|l| l.alpha))
                .meaning("P/N of the width asked about")
                .text("regime", |p| p.location.as_ref().map_or(String::new(), |l| l.regime.to_string()))
        })
        .done()
}

/// The most and the least similar pair.
fn extremes(pairs: &[PhasePair]) -> String {
    let by = |a: &&PhasePair, b: &&PhasePair| a.critical_load.gamma_sim.total_cmp(&b.critical_load.gamma_sim);
    let named =
        |p: &PhasePair| format!("{} and {} (γ_sim {})", p.first, p.second, significant(p.critical_load.gamma_sim));
    match (pairs.iter().max_by(by), pairs.iter().min_by(by)) {
        (Some(most), Some(least)) if pairs.len() > 1 => {
            format!("Most alike are tasks {}, least alike {}.", named(most), named(least))
        }
        (Some(only), _) => format!("The pair is tasks {}.", named(only)),
        _ => String::new(),
    }
}
