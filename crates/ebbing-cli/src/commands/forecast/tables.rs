//! The tables of a forecast, for the terminal, the report and files.

use ebbing::Forecast;
use ebbing::theory::forecast::PairForecast;
use ebbing::theory::order_parameters::OrderParameters;
use ebbing_report::{Spread, Table};

/// The order parameters that tables show, with what they mean.
const PARAMETERS: [(&str, fn(&OrderParameters) -> f64, &str); 10] = [
    ("γ_{feature}", |p| p.gamma_feature, "overlap of all features"),
    ("γ_{RF}", |p| p.gamma_rf, "how much the second task drives features that the first uses"),
    ("γ_{rule}", |p| p.gamma_rule, "how far the rules agree on them"),
    ("conflict", |p| p.conflict, "gamma_RF - gamma_rule"),
    ("F_{21}", |p| p.f21, "forgetting of the first task after the second"),
    ("γ_{sim}", |p| p.gamma_sim, "similarity of tasks with readouts of their own"),
    ("cos", |p| p.cos, "cosine of the two readouts"),
    ("proj", |p| p.proj, "part of the first readout within the features of the second task"),
    ("F_{21}(λ = 0)", |p| p.f21_at_lambda_zero, "forgetting without penalty"),
    ("ΔF_{21}", |p| p.delta_f21, "what the penalty changes"),
];

/// How many of them fit the terminal.
const SHOWN: usize = 6;

/// Order parameters of consecutive pairs, or of all pairs in the order learned if tasks are few.
pub fn shown_pairs(outlook: &Forecast, title: &str) -> Table {
    let few = outlook.tasks.len() <= 4;
    let which = if few { "pairs in the order learned" } else { "consecutive pairs" };
    let chosen = |p: &&PairForecast| if few { p.first < p.second } else { p.second == p.first + 1 };
    let pairs: Vec<&PairForecast> = outlook.pairs.iter().filter(chosen).collect();
    let names: Vec<String> = pairs.iter().map(|p| format!("{}→{}", p.first, p.second)).collect();
    columns(Table::new(&format!("{title}, {which}")).text("pair", &names), &pairs, SHOWN)
}

/// Everything about all ordered pairs.
pub fn all_pairs(outlook: &Forecast) -> Table {
    let pairs: Vec<&PairForecast> = outlook.pairs.iter().collect();
    let table = Table::new("Order parameters of all ordered pairs")
        .integer("first", &pairs.iter().map(|p| p.first as i64).collect::<Vec<_>>())
        .meaning("the task learned first")
        .integer("second", &pairs.iter().map(|p| p.second as i64).collect::<Vec<_>>())
        .meaning("the task learned second");
    columns(table, &pairs, PARAMETERS.len())
}

fn columns(mut table: Table, pairs: &[&PairForecast], count: usize) -> Table {
    let several = pairs.iter().any(|p| p.standard_error.is_some());
    for (name, get, meaning) in &PARAMETERS[..count] {
        let values: Vec<f64> = pairs.iter().map(|p| get(&p.values)).collect();
        table = if several {
            let errors: Vec<f64> = pairs.iter().map(|p| p.standard_error.as_ref().map_or(f64::NAN, get)).collect();
            table.estimate(name, &values, Spread::StandardError, &errors)
        } else {
            table.number(name, &values)
        };
        table = table.meaning(meaning);
    }
    table
}

/// What depth would change.
pub fn depths(outlook: &Forecast) -> Table {
    let column =
        |get: fn(&ebbing::theory::forecast::DepthForecast) -> f64| outlook.depths.iter().map(get).collect::<Vec<f64>>();
    let errors = column(|d| d.standard_error.unwrap_or(f64::NAN));
    let last = column(|d| d.final_forgetting);
    let table = Table::new("What depth would change: order parameters over consecutive pairs, mean final forgetting")
        .integer("depth", &outlook.depths.iter().map(|d| d.depth as i64).collect::<Vec<_>>())
        .number("γ_{RF}", &column(|d| d.order_parameters.gamma_rf))
        .number("γ_{rule}", &column(|d| d.order_parameters.gamma_rule))
        .number("conflict", &column(|d| d.order_parameters.conflict))
        .number("F_{21}", &column(|d| d.f21));
    let table = if outlook.seeds > 1 {
        table.estimate("final F", &last, Spread::StandardError, &errors)
    } else {
        table.number("final F", &last)
    };
    table
        .meaning("mean forgetting of all earlier tasks after the last")
        .number("τ", &column(|d| d.fit.as_ref().and_then(|f| f.tau).map_or(f64::NAN, |t| t.value)))
        .unit("tasks")
}
