//! A figure that the paper does not have: ten classes per task, a head each, and a regime for every direction of the second head.
//!
//! As λ → ∞ the theory of several outputs has a critical load for every direction. Networks at their minimum, whose new readouts are
//! pulled to 0 as in the theory's posterior (`λ = κ/(ρσ²)`, as in figure `exponents`), show whether directions cross over one after
//! another: the eigenvalues of `A_2ᵀA_2/N` and of the matrix of test errors of task 2 grow as √λ along directions that overfit.

use super::loads::column;
use super::minima::{reached, seeds, width};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use crate::statistics::median;
use ebbing::data::{Preprocess, Sources};
use ebbing::linalg::{Mat, MatRef, SymmetricEigen, matmul};
use ebbing::nets::{Heads, Learner, Solver, TrainSettings};
use ebbing::plan::{Cost, Sizes, levenberg_cost, outputs_cost};
use ebbing::rng::Stream;
use ebbing::tasks::{Permuted, Protocol};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTaskOutputs};
use ebbing::{Context, Recipe, Task, Trainer};
use ebbing_show::{Dash, Figure, Legend, Line, Markers, Panel, Rgb};
use ebbing_studies::{Cell, Error, Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "ten-classes",
    panels: "a-d, not in the paper",
    shows: "Ten classes per task with a head each: which directions of the second head overfit, networks at their minimum beside the theory",
    needs: Needs::Training,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(TenClasses::at(scale, images)),
};

/// λ = κ/(ρσ²): exponents are taken between the last two.
const LAMBDAS: [f64; 2] = [1e3, 1e4];
const CLASSES: usize = 10;
/// The directions that are drawn, by size of their readouts.
const DRAWN: [usize; 4] = [1, 4, 7, 10];
/// The pull to the weights after task 1, against the sum of squared errors.
const KAPPA: f64 = 0.1;

/// Images of ten classes, and the same with some of their pixels permuted.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Images10 {
    data: String,
    p: usize,
    p_test: usize,
    ratio: f64,
    seed: u64,
}

impl Images10 {
    /// As the program draws permuted tasks, with a target column for every class.
    fn recipe(&self) -> Recipe {
        let (p, p_test, ratio) = (self.p, self.p_test, self.ratio);
        let protocol = Permuted { tasks: 2, p, p_test, ratio, permute_first: false, ..Permuted::default() };
        Recipe { seed: self.seed, ..Recipe::drawn(self.data.as_str(), Protocol::Permuted(protocol)) }
    }

    fn tasks(&self, sources: &Sources) -> Result<Vec<Task>> {
        let source = sources.get(&self.data, &Preprocess::default())?;
        let (mut stream, dim) = (Stream::new(self.seed, "ten classes", 0), source.dim());
        let mut pixels: Vec<usize> = (0..dim).collect();
        stream.shuffle(&mut pixels);
        let moved = &pixels[..(self.ratio * dim as f64).round() as usize];
        let mut to = moved.to_vec();
        stream.shuffle(&mut to);
        let mut place: Vec<usize> = (0..dim).collect();
        moved.iter().zip(&to).for_each(|(&from, &to)| place[to] = from);
        let mut part = |classes: &[i64], count: usize| {
            let mut rows: Vec<usize> = (0..classes.len()).collect();
            stream.shuffle(&mut rows);
            rows.truncate(count);
            let y = Mat::from_fn(rows.len(), CLASSES, |i, c| f64::from(u8::from(classes[rows[i]] == c as i64)));
            (rows, y)
        };
        let (train, y) = part(source.train_classes()?, self.p);
        let (test, y_test) = part(source.test_classes()?, self.p_test);
        let (x, x_test) = (source.train(&train)?, source.test(&test)?);
        let permuted = |x: &Mat<f64>| Mat::from_fn(x.nrows(), dim, |i, j| x[(i, place[j])]);
        Ok(vec![
            Task::new(x.clone(), y.clone()).named("task 1").with_test(x_test.clone(), y_test.clone()),
            Task::new(permuted(&x), y).named("task 2").with_test(permuted(&x_test), y_test),
        ])
    }

    fn sizes(&self) -> Sizes {
        let sizes = self.recipe().sizes().unwrap_or_default();
        Sizes { columns: CLASSES, ..sizes }
    }
}

/// Eigenvalues of a symmetric matrix, the largest first.
fn spectrum(m: &Mat<f64>) -> Result<Vec<f64>> {
    let mut values = SymmetricEigen::factor(m.as_ref(), "a matrix of outputs")?.values;
    values.reverse();
    Ok(values)
}

/// A row per direction.
fn directions(readout: &Mat<f64>, error: &Mat<f64>, more: impl Fn(Row) -> Row) -> Result<Vec<Row>> {
    let (readout, error) = (spectrum(readout)?, spectrum(error)?);
    let row = |k: usize| {
        let row = Row::new().with("direction", k + 1).with("readout", readout[k]);
        more(row.with("error", error[k]))
    };
    Ok((0..CLASSES).map(row).collect())
}

/// The critical load of every direction.
#[derive(Debug, Serialize, Deserialize)]
struct Boundaries {
    tasks: Images10,
}

impl Work for Boundaries {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let two = TwoTaskOutputs::new(&self.tasks.tasks(sources)?, &MultiHeadSettings::default(), context)?;
        let loads = two.critical_loads()?.alpha_c;
        let row = |(k, load): (usize, f64)| Row::new().with("direction", k + 1).with("alpha_c", load);
        Ok(loads.into_iter().enumerate().map(row).collect())
    }

    fn cost(&self) -> Cost {
        outputs_cost(&self.tasks.sizes(), CLASSES, 60)
    }
}

/// Readouts and errors of the theory at one λ.
#[derive(Debug, Serialize, Deserialize)]
struct Theory {
    tasks: Images10,
    lambda: f64,
    loads: Vec<f64>,
}

impl Work for Theory {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.tasks(sources)?;
        let test = tasks[1].test.as_ref().ok_or_else(|| Error::data("task 2", "it has no test set"))?;
        let settings = MultiHeadSettings { lambda: self.lambda, ..MultiHeadSettings::default() };
        let two = TwoTaskOutputs::new(&tasks, &settings, context)?;
        let points = two.points(&self.loads)?;
        let curve = two.curve_from(&two.loss_maps()?, &points)?;
        let mut rows = Vec::new();
        for (point, along) in points.iter().zip(&curve.points) {
            let found = two.predict(2, point, test.x.as_ref())?;
            let mut error = squares((&found.mean - &test.y).as_ref(), &test.y);
            let norm = test.y.squared_norm_l2();
            for covariance in &found.covariance {
                error = Mat::from_fn(CLASSES, CLASSES, |a, b| error[(a, b)] + covariance[(a, b)] / norm);
            }
            let f21 = along.f21.coefficient;
            rows.extend(directions(&point.u22, &error, |row| row.with("alpha", point.alpha).with("f21", f21))?);
        }
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        outputs_cost(&self.tasks.sizes(), CLASSES, self.loads.len())
    }
}

/// `Σ (f − y)(f − y)ᵀ / |y|²`.
fn squares(miss: MatRef<'_, f64>, y: &Mat<f64>) -> Mat<f64> {
    let products = matmul(miss.transpose(), miss);
    Mat::from_fn(y.ncols(), y.ncols(), |a, b| products[(a, b)] / y.squared_norm_l2())
}

/// Networks at their minimum at one load and λ.
#[derive(Debug, Serialize, Deserialize)]
struct Nets {
    tasks: Images10,
    settings: TrainSettings,
}

impl Work for Nets {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.tasks(sources)?;
        let test = tasks[1].test.as_ref().ok_or_else(|| Error::data("task 2", "it has no test set"))?;
        let mut run = Trainer::new(&tasks, &self.settings, context)?;
        while run.done() < run.tasks() {
            run.learn_next(&mut |_| true)?;
        }
        let (net, trained) = (run.net(), run.trained());
        let double = |m: &Mat<f32>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::from(m[(i, j)]));
        let single = Mat::from_fn(test.x.nrows(), test.x.ncols(), |i, j| test.x[(i, j)] as f32);
        let (readout, output) = (double(&net.readouts()[1]), double(&net.output(single.as_ref(), 1)));
        let overlap = matmul(readout.transpose(), readout.as_ref());
        let overlap = Mat::from_fn(CLASSES, CLASSES, |a, b| overlap[(a, b)] / readout.nrows() as f64);
        let report = &trained.reports[1];
        let converged = trained.reports.iter().all(|report| report.converged);
        let minimum = report.minimum.as_ref();
        directions(&overlap, &squares((&output - &test.y).as_ref(), &test.y), |row| {
            row.with("f21", trained.train_loss[1][0])
                .with("width", self.settings.width)
                .with("kappa", KAPPA)
                .with("mse", report.mse)
                .with("gradient", minimum.map_or(f64::NAN, |m| m.gradient))
                .with("converged", usize::from(converged))
                .with("steps", report.steps)
        })
    }

    fn cost(&self) -> Cost {
        levenberg_cost(&self.tasks.sizes(), self.settings.width, 1, &[40, 650])
    }
}

/// Loads × λ × seeds.
struct TenClasses {
    tasks: Images10,
    loads: Vec<f64>,
    seeds: u64,
}

impl TenClasses {
    fn at(scale: Scale, images: Images) -> Self {
        let (p, loads, seeds) = match scale {
            Scale::Quick => (120, vec![0.8, 1.2, 1.6, 2.0, 2.5, 3.2, 4.0], 2),
            Scale::Paper => (300, vec![0.6, 0.8, 1.15, 1.4, 1.7, 2.1, 2.6, 3.2, 4.0, 5.0, 6.5], 5),
        };
        let tasks = Images10 { data: images.name("mnist").into(), p, p_test: 200, ratio: 0.1, seed: 1 };
        TenClasses { tasks, loads, seeds }
    }

    fn of(&self, frame: &Frame, kind: &str) -> Result<Frame> {
        Ok(frame.only("kind", kind)?)
    }

    fn boundaries(&self, frame: &Frame) -> Result<Vec<f64>> {
        Ok(self.of(frame, "boundary")?.numbers("alpha_c")?)
    }

    /// Mean over seeds of one direction's column against the load.
    fn along(&self, frame: &Frame, direction: usize, name: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        super::minima::against_load(&frame.only("direction", direction)?, name)
    }

    /// `d ln y/d ln λ` of one direction against the load, of means over seeds.
    fn growth(&self, frame: &Frame, direction: usize, name: &str) -> Result<(Vec<f64>, Vec<f64>)> {
        let at = |lambda: f64| self.along(&frame.only("lambda", lambda)?, direction, name);
        let [(x, low, _), (_, high, _)] = [at(LAMBDAS[0])?, at(LAMBDAS[1])?];
        let growth = low.iter().zip(&high).map(|(a, b)| (b / a).ln() / (LAMBDAS[1] / LAMBDAS[0]).ln()).collect();
        Ok((x, growth))
    }
}

impl Reproduction for TenClasses {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let columns = vec![
            column("kind", "critical loads, the theory at one λ, or networks"),
            column("direction", "by critical load; of readouts and errors by size, the largest first"),
            column("alpha_c", "critical load of a direction of the second head"),
            column("lambda", "λ = κ/(ρσ²), ρ the strength of the readout's own penalty"),
            column("alpha", "load P/N"),
            column("seed", "seed of the initial weights"),
            column("width", "hidden units"),
            column("kappa", "strength of the pull to the weights after task 1"),
            column("readout", "eigenvalue of the overlaps of the second head's readouts, AᵀA/N"),
            column("error", "eigenvalue of the matrix of test errors of task 2, over |Y|²"),
            column("f21", "training loss of task 1 after task 2, over |Y|²"),
            column("mse", "mean squared training error of task 2"),
            column("gradient", "gradient at the end, over that at the start"),
            column("converged", "whether both tasks ended at their minimum"),
            column("steps", "steps of the solver on task 2"),
        ];
        let settings = serde_json::json!({ "tasks": self.tasks, "lambdas": LAMBDAS, "kappa": KAPPA });
        let mut grid = Study {
            name: "figure-ten-classes".into(),
            settings,
            data: vec![self.tasks.data.clone()],
            columns,
            ..Study::default()
        };
        grid.push(Cell::new(0).with("kind", "boundary"), Boundaries { tasks: self.tasks.clone() });
        for lambda in LAMBDAS {
            let loads: Vec<f64> = self.loads.iter().map(|&a| self.load(a)).collect();
            let theory = Theory { tasks: self.tasks.clone(), lambda, loads };
            grid.push(Cell::new(0).with("kind", "theory").with("lambda", lambda), theory);
            for (&alpha, seed) in self.loads.iter().flat_map(|a| seeds(self.seeds).map(move |s| (a, s))) {
                let settings = TrainSettings {
                    learner: Learner::L2 { kappa: KAPPA },
                    heads: Heads::Multi,
                    width: width(self.tasks.p, alpha),
                    solver: Solver::Levenberg,
                    readout_penalty: KAPPA / lambda,
                    gradient_tolerance: 1e-4,
                    max_steps: 1000,
                    seed,
                    ..TrainSettings::default()
                };
                let cell = Cell::new(seed).with("kind", "nets").with("lambda", lambda);
                grid.push(cell.with("alpha", self.load(alpha)), Nets { tasks: self.tasks.clone(), settings });
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let (theory, nets, edges) = (self.of(frame, "theory")?, self.of(frame, "nets")?, self.boundaries(frame)?);
        let top = self.loads.last().copied().unwrap_or(1.0);
        let marked = |mut panel: Panel, (low, high): (f64, f64)| {
            for (k, &edge) in edges.iter().filter(|e| **e <= top).enumerate() {
                let name = if k == 0 { "critical loads" } else { "" };
                panel = panel.line(Line::new(name, &[edge; 2], &[low, high]).color(Rgb::GRAY).dash(Dash::Dashed));
            }
            panel
        };
        let sized = |name: &str, y: &str| -> Result<Panel> {
            let mut panel = Panel::new().x("load α = P/N").y(y).log_x().log_y().legend(Legend::Below);
            for (n, k) in DRAWN.into_iter().enumerate() {
                let last = LAMBDAS[LAMBDAS.len() - 1];
                let (x, y, e) = self.along(&nets.only("lambda", last)?, k, name)?;
                panel = panel.markers(Markers::new(&format!("direction {k}"), &x, &y).errors(&e).category(n));
                let (x, y, _) = self.along(&theory.only("lambda", last)?, k, name)?;
                panel = panel.line(Line::new("", &x, &y).category(n));
            }
            Ok(panel)
        };
        let growing = |name: &str, y: &str| -> Result<Panel> {
            let mut panel = Panel::new().x("load α = P/N").y(y).log_x().legend(Legend::Below);
            for (n, k) in DRAWN.into_iter().enumerate() {
                let (x, y) = self.growth(&nets, k, name)?;
                panel = panel.markers(Markers::new(&format!("direction {k}"), &x, &y).category(n));
                let (x, y) = self.growth(&theory, k, name)?;
                panel = panel.line(Line::new("", &x, &y).category(n));
            }
            Ok(marked(panel, (0.0, 0.5)))
        };
        let panels = vec![
            sized("readout", "eigenvalues of A_{2}ᵀA_{2}/N")?,
            growing("readout", "exponent of λ in them")?,
            sized("error", "eigenvalues of test errors of task 2")?,
            growing("error", "exponent of λ in them")?,
        ];
        let listed: Vec<String> =
            edges.iter().map(|e| if e.is_finite() { format!("{e:.2}") } else { "∞".into() }).collect();
        let caption = format!(
            "Two tasks of ten classes with a head each: {} images, and the same with {} % of their pixels permuted, P = {}. **a** Eigenvalues of \
             the overlaps of the second head's readouts at λ = 10^{{4}}, by size: 1, 4, 7 and 10 of ten; markers: networks at their minimum \
             (means and standard errors over {} seeds), lines: theory. **b** How they grow, d ln/d ln λ between λ = 10^{{3}} and 10^{{4}}: ½ along \
             directions that overfit, 0 along those that generalize. **c**, **d** The same for the matrix of test errors of task 2. Dashed: critical \
             loads of the ten directions as λ → ∞ ({}).",
            self.tasks.data,
            100.0 * self.tasks.ratio,
            self.tasks.p,
            self.seeds,
            listed.join(", ")
        );
        Ok(vec![("figure-ten-classes".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let (theory, nets, edges) = (self.of(frame, "theory")?, self.of(frame, "nets")?, self.boundaries(frame)?);
        let finite: Vec<f64> = edges.iter().copied().filter(|e| e.is_finite()).collect();
        let (first, last) = (finite.first().copied().unwrap_or(f64::NAN), finite.last().copied().unwrap_or(f64::NAN));
        let listed: Vec<String> = edges.iter().map(|e| format!("{e:.2}")).collect();
        let mut claims = vec![
            Claim::above(
                "b, d",
                "critical load of the last direction over that of the first, in the theory",
                last / first,
                1.5,
            )
            .note(format!("critical loads: {}", listed.join(", "))),
        ];
        for (panel, name) in [("b", "readout"), ("d", "error")] {
            let (x, top) = self.growth(&nets, 1, name)?;
            let (_, bottom) = self.growth(&nets, CLASSES, name)?;
            let between: Vec<usize> = (0..x.len()).filter(|&i| x[i] > first && x[i] < last).collect();
            let mean = |of: &[f64]| between.iter().map(|&i| of[i]).sum::<f64>() / between.len() as f64;
            let what = if name == "readout" { "readouts" } else { "test errors" };
            let gap = mean(&top) - mean(&bottom);
            let statement = format!(
                "networks, {what}: mean exponent of the largest direction less that of the smallest, between the first and the last critical load"
            );
            let each: Vec<String> =
                between.iter().map(|&i| format!("{:.2}: {:.2} and {:.2}", x[i], top[i], bottom[i])).collect();
            claims.push(Claim::above(panel, &statement, gap, 0.1).note(format!("load: exponents {}", each.join(", "))));
        }
        let mut factors = Vec::new();
        for (lambda, k) in LAMBDAS.into_iter().flat_map(|l| (1..=CLASSES).map(move |k| (l, k))) {
            let (_, a, _) = self.along(&nets.only("lambda", lambda)?, k, "readout")?;
            let (_, b, _) = self.along(&theory.only("lambda", lambda)?, k, "readout")?;
            factors.extend(a.iter().zip(&b).map(|(a, b)| (a / b).ln().abs()));
        }
        let statement = "median over directions, loads and λ of the factor between networks and theory, readouts";
        claims.push(Claim::below("a", statement, median(&factors).exp(), 1.5));
        claims.push(reached("a-d", &nets)?);
        Ok(claims)
    }
}

impl TenClasses {
    /// The load of the width that networks have.
    fn load(&self, alpha: f64) -> f64 {
        self.tasks.p as f64 / width(self.tasks.p, alpha) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::testing;

    /// A few small networks run through, and readouts in the wrong order are noticed.
    #[test]
    fn runs_through_and_claims_can_fail() {
        let mut figure = TenClasses { loads: vec![1.5, 3.0], ..TenClasses::at(Scale::Quick, Images::Embedded) };
        (figure.tasks.p, figure.tasks.p_test) = (60, 30);
        figure.limit_seeds(1);
        let frame = testing::run(&figure);
        assert_eq!((figure.draw(&frame).unwrap().len(), testing::svg_panels(&figure, &frame)), (1, 4));
        let claims = figure.claims(&frame).unwrap();
        assert_eq!(claims.len(), 5);
        // The factor between networks and theory is that of the same direction.
        let spoilt = figure.claims(&testing::reversed(&frame, "readout")).unwrap();
        assert!(spoilt[3].value > claims[3].value, "{spoilt:?}");
    }
}
