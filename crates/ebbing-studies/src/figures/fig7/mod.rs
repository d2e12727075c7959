//! Figure 7: a finite penalty balances memory and new learning, and what it does to representations.

mod claims;
mod draw;

use super::loads::{COLUMNS, Setup, column, labels, loads, point_row};
use super::{Entry, Needs, Reproduction, Scale};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::{Column, Study};
use ebbing::Task;
use ebbing::linalg::{Mat, MatRef};
use ebbing::plan::Cost;
use ebbing::rng::Stream;
use ebbing::theory::best_lambda::best_lambda;
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTaskPoint, TwoTasks, centred_alignment};
use ebbing_report::Figure;

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "7",
    panels: "a-f",
    shows: "The penalty that serves both of two dissimilar tasks best, and the representations it leads to",
    needs: Needs::Theory,
    study: |scale, embedded| Box::new(Fig7::at(scale, embedded)),
};

/// The two benchmarks and the letters of their panels; tasks share nothing (ratio 100 %).
const BENCHMARKS: [(&str, [char; 3]); 2] = [("permuted", ['a', 'b', 'c']), ("split", ['d', 'e', 'f'])];

/// The load, in the overfitting regime of both.
const LOAD: f64 = 3.0;
/// Inputs of each task whose kernel is compared with the labels.
const ALIGNED: usize = 200;
/// Inputs of each task whose kernel is drawn, half of either label.
const DRAWN: usize = 30;
/// The range in which the best λ of the drawn kernels is searched.
const RANGE: (f64, f64) = (1.0, 1e3);
/// Examples per task of the drawn kernels, at most.
const DRAWN_P: usize = 1000;

/// The study.
pub(super) struct Fig7 {
    setup: Setup,
    seeds: u64,
    lambdas: Vec<f64>,
}

impl Fig7 {
    fn at(scale: Scale, embedded: bool) -> Self {
        let data = if embedded { "mnist-sample" } else { "mnist" };
        let (p, p_test, seeds) = match (scale, embedded) {
            (Scale::Quick, false) => (400, 300, 5),
            (Scale::Quick, true) => (400, 120, 5),
            (Scale::Paper, false) => (2000, 500, 10),
            // As many as the sample holds of a class.
            (Scale::Paper, true) => (600, 120, 10),
        };
        Fig7 { setup: Setup { scale, data, p, p_test }, seeds, lambdas: loads(1e-2, 1e6, 17) }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, true);
        Fig7 { setup: Setup { p: 60, p_test: 20, ..full.setup }, seeds: 2, lambdas: loads(1e-2, 1e6, 5) }
    }

    fn cell(part: &str, protocol: &str, seed: u64) -> Cell {
        Cell::new(seed).with("part", part).with("protocol", protocol).with("ratio", 1.0)
    }

    fn settings_at(lambda: f64) -> MultiHeadSettings {
        MultiHeadSettings { lambda, alpha: Some(LOAD), ..MultiHeadSettings::default() }
    }

    /// Losses at one λ, and how far representations follow the labels.
    fn finite(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.setup.tasks(cell, sources)?.tasks;
        let two = TwoTasks::new(&tasks, &Self::settings_at(cell.number("lambda")?))?;
        let curve = two.curve(&[LOAD])?;
        let point = &curve.points[0];
        Ok(vec![aligned(point_row(point), &two, &point.factors, &tasks)?])
    }

    /// λ → ∞: the same, the change of representations, and what shuffled labels of task 2 change.
    fn limit(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.setup.tasks(cell, sources)?.tasks;
        let two = TwoTasks::new(&tasks, &Self::settings_at(f64::INFINITY))?;
        let curve = two.curve(&[0.5, LOAD])?;
        let point = &curve.points[1];
        let row = aligned(point_row(point), &two, &point.factors, &tasks)?;
        let mut shuffled = tasks.clone();
        let mut y = labels(&tasks[1]);
        Stream::new(cell.seed, "figure 7: shuffled labels", 0).shuffle(&mut y);
        shuffled[1].y = Mat::from_fn(y.len(), 1, |i, _| y[i]);
        let other = TwoTasks::new(&shuffled, &Self::settings_at(f64::INFINITY))?;
        let other_point = other.point(LOAD)?;
        let x = first_rows(&tasks[1], ALIGNED);
        let change = two.representation_change(&point.factors, x)?;
        let fixed = two.representation_change(&curve.points[0].factors, x)?;
        let kernels = (two.learned_kernel(&point.factors, x)?, other.learned_kernel(&other_point, x)?);
        let other_change = other.representation_change(&other_point, x)?;
        Ok(vec![
            row.with("alpha_c", two.critical_load()?.exact)
                .with("change", (0..x.nrows()).map(|i| change[(i, i)]).sum::<f64>() / x.nrows() as f64)
                .with("change_fixed", norm(&fixed, None) / norm(&change, None))
                .with("shuffled_kernel", norm(&kernels.0, Some(&kernels.1)) / norm(&kernels.0, None))
                .with("shuffled_change", norm(&change, Some(&other_change)) / norm(&change, None)),
        ])
    }

    /// The learned kernel of a few inputs of either task at λ → ∞ and at the best λ.
    fn kernel(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.drawn_setup().tasks(cell, sources)?.tasks;
        let best = best_lambda(&tasks, &Self::settings_at(1.0), RANGE.0, RANGE.1)?.best.lambda;
        let mut rows = Vec::new();
        for lambda in [f64::INFINITY, best] {
            let two = TwoTasks::new(&tasks, &Self::settings_at(lambda))?;
            let point = two.point(LOAD)?;
            for (t, task) in tasks.iter().enumerate() {
                let chosen = by_label(task);
                let x = Mat::from_fn(chosen.len(), task.x.ncols(), |i, j| task.x[(chosen[i], j)]);
                let kernel = two.learned_kernel(&point, x.as_ref())?;
                for (i, j) in (0..chosen.len()).flat_map(|i| (0..chosen.len()).map(move |j| (i, j))) {
                    let row = Row::new().with("lambda", lambda).with("task", t + 1).with("row", i + 1);
                    rows.push(row.with("column", j + 1).with("kernel", kernel[(i, j)]));
                }
            }
        }
        Ok(rows)
    }

    fn drawn_setup(&self) -> Setup {
        Setup { p: self.setup.p.min(DRAWN_P), ..self.setup.clone() }
    }
}

/// The first inputs of a task.
fn first_rows(task: &Task, count: usize) -> MatRef<'_, f64> {
    task.x.subrows(0, count.min(task.x.nrows()))
}

/// With the alignment of the learned kernel on each task's inputs with its labels.
fn aligned(mut row: Row, two: &TwoTasks, point: &TwoTaskPoint, tasks: &[Task]) -> Result<Row> {
    for (t, task) in tasks.iter().enumerate() {
        let x = first_rows(task, ALIGNED);
        let alignment = centred_alignment(two.learned_kernel(point, x)?.as_ref(), &labels(task)[..x.nrows()])?;
        row = row.with(&format!("alignment_{}", t + 1), alignment);
    }
    Ok(row)
}

/// The first inputs of a task, half of them labelled +1, those first.
fn by_label(task: &Task) -> Vec<usize> {
    let y = labels(task);
    let of = |positive: bool| (0..y.len()).filter(|&i| (y[i] > 0.0) == positive).take(DRAWN / 2).collect::<Vec<_>>();
    [of(true), of(false)].concat()
}

/// The Frobenius norm of a matrix, or of its difference from another.
fn norm(a: &Mat<f64>, b: Option<&Mat<f64>>) -> f64 {
    let other = |i, j| b.map_or(0.0, |b| b[(i, j)]);
    let squares = (0..a.ncols()).flat_map(|j| (0..a.nrows()).map(move |i| (a[(i, j)] - other(i, j)).powi(2)));
    squares.sum::<f64>().sqrt()
}

impl Study for Fig7 {
    fn name(&self) -> String {
        "figure-7".into()
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!({
            "setup": self.setup, "sigma2": 1.0, "depth": 1, "load": LOAD, "aligned": ALIGNED, "drawn": DRAWN,
            "drawn_p": self.drawn_setup().p, "range_of_best_lambda": [RANGE.0, RANGE.1],
        })
    }

    fn data(&self) -> Vec<String> {
        vec![self.setup.data.into()]
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for (protocol, _) in BENCHMARKS {
            cells.push(Self::cell("kernel", protocol, 0));
            for &lambda in &self.lambdas {
                cells.extend((0..self.seeds).map(|seed| Self::cell("finite", protocol, seed).with("lambda", lambda)));
            }
            cells.extend((0..self.seeds).map(|seed| Self::cell("limit", protocol, seed)));
        }
        Ok(cells)
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        match cell.text("part")? {
            "finite" => self.finite(cell, sources),
            "limit" => self.limit(cell, sources),
            "kernel" => self.kernel(cell, sources),
            other => Err(ebbing::Error::setting("part", other, "is not a part of figure 7").into()),
        }
    }

    fn cost(&self, cell: &Cell) -> Cost {
        // Five products of the aligned inputs of either task with square matrices.
        let aligned = 2.0 * 5.0 * 2.0 * ALIGNED as f64 * (self.setup.p as f64).powi(2);
        let one = self.setup.cost(2, self.setup.p_test, 1).then(Cost { flops: aligned, bytes: 0.0 });
        match cell.text("part") {
            Ok("limit") => one.times(2),
            // Seven λ of the grid, about ten of the search, and the two that are drawn.
            Ok("kernel") => self.drawn_setup().cost(2, self.setup.p_test, 1).times(19),
            _ => one,
        }
    }

    fn columns(&self) -> Vec<Column> {
        let own = [
            column("alignment_1", "centred alignment of the learned kernel on inputs of task 1 with its labels"),
            column("alignment_2", "the same of task 2"),
            column("change", "mean of |ΔΦ(x)|² over inputs of task 2 at lambda = inf, not divided by N"),
            column("change_fixed", "norm of ΔΦ·ΔΦ at load 0.5 over that at load 3"),
            column("shuffled_kernel", "relative change of the learned kernel when labels of task 2 are shuffled"),
            column("shuffled_change", "relative change of ΔΦ·ΔΦ when labels of task 2 are shuffled"),
            column("task", "whose inputs"),
            column("row", "input, those labelled +1 first"),
            column("column", "input, those labelled +1 first"),
            column("kernel", "learned part of the similarity matrix of the hidden layer"),
        ];
        COLUMNS.iter().chain(&own).copied().collect()
    }
}

impl Reproduction for Fig7 {
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-7".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for (protocol, letters) in BENCHMARKS {
            claims.extend(claims::claims(frame, protocol, letters)?);
        }
        Ok(claims)
    }
}

/// A benchmark against λ: means over draws, standard deviations, and the best λ.
struct Balance {
    lambdas: Vec<f64>,
    /// The rows at every λ.
    rows: Vec<Frame>,
    /// Mean of max(G_21, G_22) over draws, and its standard deviation.
    worst: Vec<(f64, f64)>,
}

impl Balance {
    fn new(frame: &Frame, protocol: &str) -> Result<Balance> {
        let all = frame.only("part", "finite")?.only("protocol", protocol)?;
        let lambdas = all.levels("lambda")?;
        let rows = lambdas.iter().map(|&lambda| all.only("lambda", lambda)).collect::<Result<Vec<_>>>()?;
        let worst = rows.iter().map(worst).collect::<Result<Vec<_>>>()?;
        Ok(Balance { lambdas, rows, worst })
    }

    /// Where the mean of max(G_21, G_22) is lowest.
    fn best(&self) -> usize {
        (0..self.worst.len()).min_by(|&i, &j| self.worst[i].0.total_cmp(&self.worst[j].0)).unwrap_or(0)
    }

    /// The means of a column.
    fn means(&self, name: &str) -> Result<Vec<f64>> {
        self.rows.iter().map(|rows| Ok(rows.mean(name)?.value)).collect()
    }

    /// The standard deviations of a column over draws.
    fn deviations(&self, name: &str) -> Result<Vec<f64>> {
        self.rows.iter().map(|rows| rows.deviation(name)).collect()
    }
}

/// Mean and standard deviation of max(G_21, G_22) over draws.
fn worst(rows: &Frame) -> Result<(f64, f64)> {
    let worst: Vec<f64> = rows.numbers("g21")?.into_iter().zip(rows.numbers("g22")?).map(|(a, b)| a.max(b)).collect();
    let mean = ebbing::stats::mean_with_error(&worst)?;
    Ok((mean.value, mean.standard_error.unwrap_or(0.0) * (worst.len() as f64).sqrt()))
}
