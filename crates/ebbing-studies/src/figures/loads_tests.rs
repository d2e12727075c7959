//! The figures against the load, small, from cells to claims.

use super::fig5::Fig5;
use super::fig6::Fig6;
use super::fig7::Fig7;
use super::s7::FigS7;
use super::{ENTRIES, Reproduction, Scale};
use crate::cell::{Cell, Row, Value};
use crate::claim::{Claim, Verdict};
use crate::frame::Frame;
use crate::run::compute_cells;
use ebbing::data::Sources;
use std::sync::OnceLock;

/// Whitening the sample takes longer than every cell here: once for all tests.
fn sources() -> &'static Sources {
    static LOADED: OnceLock<Sources> = OnceLock::new();
    LOADED.get_or_init(Sources::new)
}

fn computed(study: &dyn Reproduction) -> (Vec<Cell>, Vec<Vec<Row>>) {
    let cells = study.cells().unwrap();
    let mut rows = vec![Vec::new(); cells.len()];
    compute_cells(study, &cells, sources(), 2, &mut |at, result| {
        rows[at] = result?;
        Ok(())
    })
    .unwrap();
    (cells, rows)
}

fn collected(cells: &[Cell], rows: &[Vec<Row>]) -> Frame {
    Frame::collect(cells.iter().zip(rows.iter().map(Vec::as_slice)))
}

/// The rows with other numbers in one column.
fn altered(rows: &[Vec<Row>], column: &str, change: impl Fn(f64) -> f64) -> Vec<Vec<Row>> {
    let mut rows = rows.to_vec();
    for (name, value) in rows.iter_mut().flatten().flat_map(|row| &mut row.0) {
        if let (true, Some(number)) = (name == column, value.number()) {
            *value = Value::Number(change(number));
        }
    }
    rows
}

fn verdict(claims: &[Claim], statement: &str) -> Verdict {
    let found = claims.iter().find(|claim| claim.statement.contains(statement));
    found.unwrap_or_else(|| panic!("no claim about {statement}")).verdict
}

/// Draws and judges; what is computed must be described, and figures must not miss values.
fn shown(study: &dyn Reproduction, cells: &[Cell], rows: &[Vec<Row>]) -> Vec<Claim> {
    let frame = collected(cells, rows);
    for (name, figure) in study.draw(&frame).unwrap() {
        assert!(figure.to_svg().unwrap().starts_with("<svg"), "{name}");
        assert_eq!(figure.notes().unwrap(), Vec::<String>::new(), "{name}");
        assert!(figure.caption_markup().contains("embedded sample"), "{name}: the data used must be told");
    }
    let columns = study.columns();
    for (name, _) in rows.iter().flatten().flat_map(|row| &row.0) {
        assert!(columns.iter().any(|column| column.name == name), "{}: {name} is not described", study.name());
    }
    assert!(cells.iter().all(|cell| study.cost(cell).flops > 0.0));
    study.claims(&frame).unwrap()
}

#[test]
fn figure_5_from_cells_to_claims() {
    let study = Fig5::tiny();
    let (cells, rows) = computed(&study);
    let claims = shown(&study, &cells, &rows);
    assert_eq!(verdict(&claims, "γ_sim of (1, 0.88, 0)"), Verdict::Open, "numbers of the paper are for its own P");
    for statement in
        ["α < 1: F_21 = 0", "overfitting (α = √α_c): power of λ in G_22", "linear networks: exact α_c", "α = 1e-5"]
    {
        assert_eq!(verdict(&claims, statement), Verdict::Pass, "{statement}");
    }
    let judged = |column: &str, change: fn(f64) -> f64| {
        study.claims(&collected(&cells, &altered(&rows, column, change))).unwrap()
    };
    assert_eq!(verdict(&judged("f21", |_| 1e-3), "α < 1: F_21 = 0"), Verdict::Fail);
    assert_eq!(verdict(&judged("g22", |_| 1.0), "overfitting (α = √α_c): power of λ in G_22"), Verdict::Fail);
    assert_eq!(verdict(&judged("power_above_1", |_| 0.0), "diverges just above"), Verdict::Fail);
    assert_eq!(verdict(&judged("alpha_c_linear", |a| 1.01 * a), "linear networks: exact α_c"), Verdict::Fail);
}

#[test]
fn figure_6_from_cells_to_claims() {
    let study = Fig6::tiny();
    let (cells, rows) = computed(&study);
    let claims = shown(&study, &cells, &rows);
    assert_eq!(verdict(&claims, "γ_sim at permutation ratio 5 %"), Verdict::Open);
    for statement in
        ["γ_sim at permutation ratio 0 %", "γ_sim falls with the split ratio", "share of draws with three regimes"]
    {
        assert_eq!(verdict(&claims, statement), Verdict::Pass, "{statement}");
    }
    let judged = |column: &str, change: fn(f64) -> f64| {
        study.claims(&collected(&cells, &altered(&rows, column, change))).unwrap()
    };
    assert_eq!(verdict(&judged("gamma_sim", |g| 1.1 - g), "γ_sim falls with the split ratio"), Verdict::Fail);
    assert_eq!(verdict(&judged("alpha_c", |_| f64::INFINITY), "share of draws with three regimes"), Verdict::Fail);
    assert_eq!(verdict(&judged("alpha_c_curve", |a| 2.0 * a), "steepest F_21 against exact"), Verdict::Fail);
}

#[test]
fn figure_7_from_cells_to_claims() {
    let study = Fig7::tiny();
    let (cells, rows) = computed(&study);
    let claims = shown(&study, &cells, &rows);
    for statement in
        ["permuted: F_21 falls with λ", "split: |ΔΦ·ΔΦ| at α = 0.5", "permuted: change of K(X_2) when Y_2 is shuffled"]
    {
        assert_eq!(verdict(&claims, statement), Verdict::Pass, "{statement}");
    }
    let judged = |column: &str, change: fn(f64) -> f64| {
        study.claims(&collected(&cells, &altered(&rows, column, change))).unwrap()
    };
    assert_eq!(verdict(&judged("f21", |f| 1.0 / f), "permuted: F_21 falls with λ"), Verdict::Fail);
    assert_eq!(verdict(&judged("g22", |_| 1.0), "permuted: power of λ in G_22"), Verdict::Fail);
    assert_eq!(verdict(&judged("alignment_2", |_| 0.9), "permuted: alignment of K(X_2)"), Verdict::Fail);
}

#[test]
fn figure_s7_from_cells_to_claims() {
    let study = FigS7::tiny();
    let (cells, rows) = computed(&study);
    let claims = shown(&study, &cells, &rows);
    assert_eq!(verdict(&claims, "permuted, S = 1, overfitting"), Verdict::Pass);
    let judged = study.claims(&collected(&cells, &altered(&rows, "g22", |_| 1.0))).unwrap();
    assert_eq!(verdict(&judged, "permuted, S = 1, overfitting"), Verdict::Fail, "a flat curve has no critical load");
    assert_eq!(verdict(&judged, "permuted: α_c(S=1)/α_c(S=0)"), Verdict::Fail);
}

#[test]
fn paper_scale_has_the_papers_sizes() {
    let cells = |id: &str, scale, embedded| {
        let entry = ENTRIES.iter().find(|entry| entry.id == id).unwrap();
        let study = (entry.study)(scale, embedded);
        (study.cells().unwrap().len(), study.settings()["setup"]["p"].as_u64().unwrap(), study.data())
    };
    let set = |name: &str| vec![name.to_string()];
    assert_eq!(cells("5", Scale::Paper, false), (2 * (5 + 5 * 2) + 23 * 4 + 2 + 16, 2000, set("cifar100")));
    assert_eq!(cells("6", Scale::Paper, false), (2 * (8 * 10 + 1), 2000, set("mnist")));
    assert_eq!(cells("7", Scale::Paper, false), (2 * (1 + 17 * 10 + 10), 2000, set("mnist")));
    assert_eq!(cells("S7", Scale::Paper, false), (2 * (3 * 5 * 21 + 3 * 3 + 21), 600, set("mnist")));
    for id in ["5", "6", "7", "S7"] {
        let (quick, p, _) = cells(id, Scale::Quick, false);
        let (paper, full, _) = cells(id, Scale::Paper, false);
        assert!(quick < paper && p < full, "{id}");
        assert_eq!(cells(id, Scale::Quick, true).2, set("mnist-sample"), "{id}");
    }
    // Every cell is different: its settings and seed are all that its result depends on.
    for entry in ENTRIES.iter().filter(|entry| ["5", "6", "7", "S7"].contains(&entry.id)) {
        let mut cells: Vec<String> =
            (entry.study)(Scale::Paper, false).cells().unwrap().iter().map(|cell| format!("{cell:?}")).collect();
        let count = cells.len();
        cells.sort();
        cells.dedup();
        assert_eq!(cells.len(), count, "{}", entry.id);
    }
}
