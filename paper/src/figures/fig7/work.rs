//! What the cells of figure 7 compute.

use super::super::drawn::Drawn;
use super::super::loads::{labels, point_row};
use super::{ALIGNED, DRAWN, LOAD, RANGE};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::linalg::{Mat, MatRef};
use ebbing::plan::{Cost, product_cost};
use ebbing::rng::Stream;
use ebbing::theory::best_lambda::best_lambda;
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTaskPoint, TwoTasks, centered_alignment};
use ebbing::{Recipe, Task};
use ebbing_studies::{Result, Row, Work};
use serde::{Deserialize, Serialize};

/// The theory at the figure's load.
fn settings_at(lambda: f64) -> MultiHeadSettings {
    MultiHeadSettings { lambda, alpha: Some(LOAD), ..MultiHeadSettings::default() }
}

/// The cost of one λ: five products of the aligned inputs of either task with square matrices.
fn cost_of_one(tasks: &Drawn) -> Cost {
    let p = tasks.sizes().train[0];
    tasks.phase_cost(1).then(product_cost(ALIGNED, p, p).times(2 * 5))
}

/// Losses at one λ, and how far representations follow the labels.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Finite {
    pub tasks: Drawn,
    pub lambda: f64,
}

impl Work for Finite {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let two = TwoTasks::new(&tasks, &settings_at(self.lambda), context)?;
        let curve = two.curve(&[LOAD])?;
        let point = &curve.points[0];
        Ok(vec![aligned(point_row(point), &two, &point.factors, &tasks)?])
    }

    fn cost(&self) -> Cost {
        cost_of_one(&self.tasks)
    }
}

/// λ → ∞: the same, the change of representations, and what shuffled labels of task 2 change.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LimitLambda {
    pub tasks: Drawn,
}

impl Work for LimitLambda {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let two = TwoTasks::new(&tasks, &settings_at(f64::INFINITY), context)?;
        let curve = two.curve(&[0.5, LOAD])?;
        let point = &curve.points[1];
        let row = aligned(point_row(point), &two, &point.factors, &tasks)?;
        let mut shuffled = tasks.clone();
        let mut y = labels(&tasks[1]);
        Stream::new(self.tasks.seed, "figure 7: shuffled labels", 0).shuffle(&mut y);
        shuffled[1].y = Mat::from_fn(y.len(), 1, |i, _| y[i]);
        let other = TwoTasks::new(&shuffled, &settings_at(f64::INFINITY), context)?;
        let other_point = other.point(LOAD)?;
        let x = first_rows(&tasks[1], ALIGNED);
        let change = two.representation_change(&point.factors, x)?;
        let fixed = two.representation_change(&curve.points[0].factors, x)?;
        let kernels = (two.learned_kernel(&point.factors, x)?, other.learned_kernel(&other_point, x)?);
        let other_change = other.representation_change(&other_point, x)?;
        Ok(vec![
            row.with("alpha_c", two.critical_load()?.alpha_c)
                .with("change", (0..x.nrows()).map(|i| change[(i, i)]).sum::<f64>() / x.nrows() as f64)
                .with("change_fixed", norm(&fixed, None) / norm(&change, None))
                .with("shuffled_kernel", norm(&kernels.0, Some(&kernels.1)) / norm(&kernels.0, None))
                .with("shuffled_change", norm(&change, Some(&other_change)) / norm(&change, None)),
        ])
    }

    fn cost(&self) -> Cost {
        cost_of_one(&self.tasks).times(2)
    }
}

/// The λ that is best for the worse of the two tasks, by a search over all λ of a range, and what [`Finite`] gives there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Best {
    pub tasks: Drawn,
}

impl Work for Best {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let found = best_lambda(&tasks, &settings_at(1.0), RANGE.0, RANGE.1, context)?;
        let two = TwoTasks::new(&tasks, &settings_at(found.best.lambda), context)?;
        let curve = two.curve(&[LOAD])?;
        let row = aligned(point_row(&curve.points[0]), &two, &curve.points[0].factors, &tasks)?;
        Ok(vec![row.with("lambda", found.best.lambda).with("at_edge", usize::from(found.at_edge))])
    }

    fn cost(&self) -> Cost {
        self.tasks.phase_cost(1).times(SEARCHED).then(cost_of_one(&self.tasks))
    }
}

/// λ that a search tries: seven of the grid and about twelve around the lowest.
const SEARCHED: usize = 19;

/// The learned kernel of a few inputs of either task at λ → ∞ and at the best λ.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KernelMap {
    pub tasks: Drawn,
}

impl Work for KernelMap {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let best = best_lambda(&tasks, &settings_at(1.0), RANGE.0, RANGE.1, context)?.best.lambda;
        let mut rows = Vec::new();
        for lambda in [f64::INFINITY, best] {
            let two = TwoTasks::new(&tasks, &settings_at(lambda), context)?;
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

    fn cost(&self) -> Cost {
        // The search, and the two that are drawn.
        self.tasks.phase_cost(1).times(SEARCHED + 2)
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
        let alignment = centered_alignment(two.learned_kernel(point, x)?.as_ref(), &labels(task)[..x.nrows()])?;
        row = row.with(&format!("alignment_{}", t + 1), alignment);
    }
    Ok(row)
}

/// The first inputs of a task, half of them labeled +1, those first.
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
