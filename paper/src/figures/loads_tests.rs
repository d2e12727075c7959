//! The figures against the load, small, from cells to claims.

use super::fig5::Fig5;
use super::fig6::Fig6;
use super::fig7::Fig7;
use super::s7::FigS7;
use super::{ENTRIES, Images, Reproduction, Scale};
use crate::claim::{Claim, Verdict};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing_studies::{Cell, Frame, Row, Study, Value, compute_cells};
use std::sync::OnceLock;

/// Whitening the sample takes longer than every cell here: once for all tests.
fn sources() -> &'static Sources {
    static LOADED: OnceLock<Sources> = OnceLock::new();
    LOADED.get_or_init(Sources::new)
}

/// A small study with its rows, drawn and judged.
struct Shown<'a> {
    study: &'a dyn Reproduction,
    grid: Study,
    rows: Vec<Vec<Row>>,
    claims: Vec<Claim>,
}

impl Shown<'_> {
    /// Computes, draws and judges; what is computed must be described, and figures must not miss values.
    fn new(study: &dyn Reproduction) -> Shown<'_> {
        let grid = study.study().unwrap();
        let mut rows = vec![Vec::new(); grid.cells.len()];
        compute_cells(&grid.cells, sources(), 2, &Context::default(), &mut |at, result| {
            rows[at] = result?;
            Ok(())
        })
        .unwrap();
        for (name, _) in rows.iter().flatten().flat_map(|row| &row.0) {
            assert!(grid.columns.iter().any(|column| column.name == name), "{}: {name} is not described", grid.name);
        }
        assert!(grid.cells.iter().all(|cell| cell.cost().flops > 0.0));
        let mut shown = Shown { study, grid, rows, claims: Vec::new() };
        let frame = shown.frame(&shown.rows);
        for (name, figure) in study.draw(&frame).unwrap() {
            assert!(figure.to_svg().unwrap().starts_with("<svg"), "{name}");
            assert_eq!(figure.notes().unwrap(), Vec::<String>::new(), "{name}");
            assert!(figure.caption_markup().contains("embedded sample"), "{name}: the data used must be named");
        }
        shown.claims = study.claims(&frame).unwrap();
        shown
    }

    fn frame(&self, rows: &[Vec<Row>]) -> Frame {
        Frame::collect(self.grid.cells.iter().zip(rows.iter().map(Vec::as_slice)))
    }

    fn pass(&self, statements: &[&str]) {
        for statement in statements {
            assert_eq!(verdict(&self.claims, statement), Verdict::Pass, "{statement}");
        }
    }

    /// A claim fails once the numbers of one column are others.
    fn fails(&self, column: &str, change: fn(f64) -> f64, statement: &str) {
        let mut rows = self.rows.clone();
        for (name, value) in rows.iter_mut().flatten().flat_map(|row| &mut row.0) {
            if let (true, Some(number)) = (name == column, value.number()) {
                *value = Value::Number(change(number));
            }
        }
        let claims = self.study.claims(&self.frame(&rows)).unwrap();
        assert_eq!(verdict(&claims, statement), Verdict::Fail, "{statement}, {column} changed");
    }
}

fn verdict(claims: &[Claim], statement: &str) -> Verdict {
    let found = claims.iter().find(|claim| claim.statement.contains(statement));
    found.unwrap_or_else(|| panic!("no claim about {statement}")).verdict
}

#[test]
fn figure_5_from_cells_to_claims() {
    let study = Fig5::tiny();
    let shown = Shown::new(&study);
    let printed = verdict(&shown.claims, "γ_sim of (1, 0.88, 0)");
    assert_eq!(printed, Verdict::Open, "numbers of the paper are for its own P");
    let power = "overfitting (α = √α_c): power of λ in G_22";
    shown.pass(&["α < 1: F_21 = 0", power, "linear networks: exact α_c", "α = 1e-5"]);
    shown.fails("f21", |_| 1e-3, "α < 1: F_21 = 0");
    shown.fails("g22", |_| 1.0, power);
    shown.fails("exponent_above_1", |_| 0.0, "diverges just above");
    shown.fails("alpha_c_u11", |a| 1.01 * a, "linear networks: exact α_c");
}

#[test]
fn figure_6_from_cells_to_claims() {
    let study = Fig6::tiny();
    let shown = Shown::new(&study);
    let figures = study.draw(&shown.frame(&shown.rows)).unwrap();
    assert!(figures.iter().all(|(_, figure)| figure.mistakable().unwrap().is_empty()));
    assert_eq!(verdict(&shown.claims, "γ_sim at permutation ratio 5 %"), Verdict::Open);
    let (falls, share) = ("γ_sim falls with the split ratio", "share of draws with three regimes");
    shown.pass(&["γ_sim at permutation ratio 0 %", falls, share]);
    shown.fails("gamma_sim", |g| 1.1 - g, falls);
    shown.fails("alpha_c", |_| f64::INFINITY, share);
    shown.fails("alpha_c_curve", |a| 2.0 * a, "steepest F_21 against exact");
}

#[test]
fn figure_7_from_cells_to_claims() {
    let study = Fig7::tiny();
    let shown = Shown::new(&study);
    let falls = "permuted: F_21 falls with λ";
    shown.pass(&[falls, "split: |ΔΦ·ΔΦ| at α = 0.5", "permuted: change of K(X_2) when Y_2 is shuffled"]);
    shown.fails("f21", |f| 1.0 / f, falls);
    shown.fails("g22", |_| 1.0, "permuted: power of λ in G_22");
    shown.fails("alignment_2", |_| 0.9, "permuted: alignment of K(X_2)");
}

#[test]
fn figure_s7_from_cells_to_claims() {
    let study = FigS7::tiny();
    let shown = Shown::new(&study);
    shown.pass(&["permuted, S = 1, overfitting"]);
    // A flat curve has no critical load.
    shown.fails("g22", |_| 1.0, "permuted, S = 1, overfitting");
    shown.fails("g22", |_| 1.0, "permuted: α_c(S=1)/α_c(S=0)");
}

#[test]
fn paper_scale_has_the_papers_sizes() {
    let cells = |id: &str, scale, images| {
        let entry = ENTRIES.iter().find(|entry| entry.id == id).unwrap();
        let study = (entry.figure)(scale, images).study().unwrap();
        (study.cells.len(), study.settings["setup"]["p"].as_u64().unwrap(), study.data)
    };
    let set = |name: &str| vec![name.to_string()];
    assert_eq!(cells("5", Scale::Paper, Images::Paper), (2 * (5 + 5 * 2) + 23 * 4 + 2 + 16, 2000, set("cifar100")));
    assert_eq!(cells("6", Scale::Paper, Images::Paper), (2 * (8 * 10 + 1), 2000, set("mnist")));
    assert_eq!(cells("7", Scale::Paper, Images::Paper), (2 * (1 + 17 * 10 + 2 * 10), 2000, set("mnist")));
    assert_eq!(cells("S7", Scale::Paper, Images::Paper), (2 * (3 * 5 * 21 + 3 * 3 + 21), 600, set("mnist")));
    for id in ["5", "6", "7", "S7"] {
        let (quick, p, _) = cells(id, Scale::Quick, Images::Paper);
        let (paper, full, _) = cells(id, Scale::Paper, Images::Paper);
        assert!(quick < paper && p < full, "{id}");
        assert_eq!(cells(id, Scale::Quick, Images::Embedded).2, set("mnist-sample"), "{id}");
    }
    // Every cell is different: its settings and seed are all that its result depends on.
    for entry in ENTRIES.iter().filter(|entry| ["5", "6", "7", "S7"].contains(&entry.id)) {
        let name = |cell: &Cell| format!("{:?} {}", cell.settings, cell.seed);
        let mut cells: Vec<String> =
            (entry.figure)(Scale::Paper, Images::Paper).study().unwrap().cells.iter().map(name).collect();
        let count = cells.len();
        cells.sort();
        cells.dedup();
        assert_eq!(cells.len(), count, "{}", entry.id);
    }
}
