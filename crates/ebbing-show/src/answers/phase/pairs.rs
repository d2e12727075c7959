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
    if pairs.iter().any(|p| p.direction_loads.is_some()) {
        return by_direction(pairs);
    }
    Table::of("Similarity and critical load of every pair", pairs)
        .integer("first", |p| p.first)
        .meaning("the task learned first")
        .integer("second", |p| p.second)
        .meaning("the task learned second")
        .number("γ_{sim}", |p| p.critical_load.as_ref().map(|c| c.gamma_sim))
        .meaning("similarity of tasks that have readouts of their own")
        .number("exact α_{c}", |p| p.critical_load.as_ref().map(|c| c.alpha_c))
        .meaning("critical load P/N")
        .number("γ_{sim}^{−2}", |p| p.critical_load.as_ref().map(|c| c.alpha_c_gamma_sim))
        .meaning("its estimate")
        .when(pairs.iter().any(|p| p.location.is_some()), |table| {
            table
                .number("load", |p| p.location.as_ref().map(|l| l.alpha))
                .meaning("P/N of the width asked about")
                .text("regime", |p| p.location.as_ref().map_or(String::new(), |l| l.regime.to_string()))
        })
        .done()
}

/// One row per pair of heads with several outputs.
fn by_direction(pairs: &[PhasePair]) -> Table {
    let edge = |p: &PhasePair, last: bool| -> f64 {
        match (&p.direction_loads, &p.critical_load) {
            (Some(loads), _) => {
                *if last { loads.alpha_c.last() } else { loads.alpha_c.first() }.unwrap_or(&f64::INFINITY)
            }
            (None, critical) => critical.as_ref().map_or(f64::INFINITY, |c| c.alpha_c),
        }
    };
    Table::of("Critical loads of every pair", pairs)
        .integer("first", |p| p.first)
        .meaning("the task learned first")
        .integer("second", |p| p.second)
        .meaning("the task learned second")
        .integer("directions", |p| p.direction_loads.as_ref().map_or(1, |l| l.alpha_c.len()))
        .meaning("directions of the second head that have labels")
        .number("first α_{c}", |p| edge(p, false))
        .meaning("load P/N above which the first of them generalizes")
        .number("last α_{c}", |p| edge(p, true))
        .meaning("load P/N above which all do")
        .when(pairs.iter().any(|p| p.place.is_some()), |table| {
            table
                .number("load", |p| p.place.as_ref().map(|l| l.alpha).or(p.location.as_ref().map(|l| l.alpha)))
                .meaning("P/N of the width asked about")
                .text("regime", |p| match (&p.place, &p.location) {
                    (Some(place), _) => super::outputs::regimes(&place.directions),
                    (None, location) => location.as_ref().map_or(String::new(), |l| l.regime.to_string()),
                })
        })
        .done()
}

/// The most and the least similar pair.
fn extremes(pairs: &[PhasePair]) -> String {
    if pairs.iter().any(|p| p.direction_loads.is_some()) {
        return "Above its first critical load one direction of the second head generalizes, above its last one all of them do; \
                directions that generalize cost the first task."
            .into();
    }
    let similar = |p: &PhasePair| p.critical_load.as_ref().map_or(f64::NAN, |c| c.gamma_sim);
    let by = |a: &&PhasePair, b: &&PhasePair| similar(a).total_cmp(&similar(b));
    let named = |p: &PhasePair| format!("{} and {} (γ_sim {})", p.first, p.second, significant(similar(p)));
    match (pairs.iter().max_by(by), pairs.iter().min_by(by)) {
        (Some(most), Some(least)) if pairs.len() > 1 => {
            format!("Most alike are tasks {}, least alike {}.", named(most), named(least))
        }
        (Some(only), _) => format!("The pair is tasks {}.", named(only)),
        _ => String::new(),
    }
}
