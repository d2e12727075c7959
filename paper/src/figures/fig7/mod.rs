//! Figure 7: a finite penalty balances memory and new learning, and what it does to representations.

mod claims;
mod draw;
mod work;

use super::drawn::ByRatio;
use super::loads::{Setup, column, ratio_cell};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::stats::log_grid;
use ebbing_show::Figure;
use ebbing_studies::{Column, Frame, Result, Study};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "7",
    panels: "a-f",
    shows: "The penalty that serves both of two dissimilar tasks best, and the representations it leads to",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(Fig7::at(scale, images)),
};

/// The two benchmarks and the letters of their panels; tasks share nothing (ratio 100 %).
const BENCHMARKS: [(ByRatio, [char; 3]); 2] = [(ByRatio::Permuted, ['a', 'b', 'c']), (ByRatio::Split, ['d', 'e', 'f'])];

/// The load, in the overfitting regime of both.
const LOAD: f64 = 3.0;
/// Inputs of each task whose kernel is compared with the labels.
const ALIGNED: usize = 200;
/// Inputs of each task whose kernel is drawn, half of either label.
const DRAWN: usize = 30;
/// The range in which the best λ is searched.
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
    fn at(scale: Scale, images: Images) -> Self {
        let data = images.name("mnist");
        let (p, p_test, seeds) = match (scale, images.few()) {
            (Scale::Quick, false) => (400, 300, 5),
            (Scale::Quick, true) => (400, 120, 5),
            (Scale::Paper, false) => (2000, 500, 10),
            // As many as the sample holds of a class.
            (Scale::Paper, true) => (600, 120, 10),
        };
        Fig7 { setup: Setup { scale, data, paper: "mnist", p, p_test }, seeds, lambdas: log_grid(1e-2, 1e6, 17) }
    }

    /// A few small cells of every kind.
    #[cfg(test)]
    pub fn tiny() -> Self {
        let full = Self::at(Scale::Quick, Images::Embedded);
        Fig7 { setup: Setup { p: 60, p_test: 20, ..full.setup }, seeds: 2, lambdas: log_grid(1e-2, 1e6, 5) }
    }

    /// The drawn kernels' setup.
    fn drawn_setup(&self) -> Setup {
        Setup { p: self.setup.p.min(DRAWN_P), ..self.setup.clone() }
    }
}

/// The columns of this figure alone.
const COLUMNS: [Column; 11] = [
    column("at_edge", "1 where the best lambda lies at an end of the range searched"),
    column("alignment_1", "centered alignment of the learned kernel on inputs of task 1 with its labels"),
    column("alignment_2", "the same of task 2"),
    column("change", "mean of |ΔΦ(x)|² over inputs of task 2 at lambda = inf, not divided by N"),
    column("change_fixed", "norm of ΔΦ·ΔΦ at load 0.5 over that at load 3"),
    column("shuffled_kernel", "relative change of the learned kernel when labels of task 2 are shuffled"),
    column("shuffled_change", "relative change of ΔΦ·ΔΦ when labels of task 2 are shuffled"),
    column("task", "whose inputs"),
    column("row", "input, those labeled +1 first"),
    column("column", "input, those labeled +1 first"),
    column("kernel", "learned part of the similarity matrix of the hidden layer"),
];

impl Reproduction for Fig7 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let drawn = self.drawn_setup();
        let settings = serde_json::json!({
            "load": LOAD, "aligned": ALIGNED, "drawn": DRAWN, "drawn_p": drawn.p,
            "range_of_best_lambda": [RANGE.0, RANGE.1],
        });
        let mut grid = self.setup.study("figure-7", settings, &COLUMNS);
        for (protocol, _) in BENCHMARKS {
            let cell = |part: &str, seed: u64| ratio_cell(protocol, 1.0, seed).with("part", part);
            let tasks = |seed: u64| self.setup.by_ratio(protocol, 1.0, seed);
            grid.push(cell("kernel", 0), work::KernelMap { tasks: drawn.by_ratio(protocol, 1.0, 0) });
            for (&lambda, seed) in self.lambdas.iter().flat_map(|l| (0..self.seeds).map(move |seed| (l, seed))) {
                let work = work::Finite { tasks: tasks(seed), lambda };
                grid.push(cell("finite", seed).with("lambda", lambda), work);
            }
            for seed in 0..self.seeds {
                grid.push(cell("best", seed), work::Best { tasks: tasks(seed) });
                grid.push(cell("limit", seed), work::LimitLambda { tasks: tasks(seed) });
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Ok(vec![("figure-7".into(), draw::draw(self, frame)?)])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let claims = BENCHMARKS.map(|(protocol, letters)| claims::claims(frame, protocol.name(), letters));
        Ok(claims.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}

/// A benchmark against λ: means over draws, standard deviations, and the best λ.
struct Balance {
    lambdas: Vec<f64>,
    /// The rows at every λ.
    rows: Vec<Frame>,
    /// Mean of max(G_21, G_22) over draws, and its standard deviation.
    worst: Vec<(f64, f64)>,
    /// The rows of the best λ of each draw.
    best: Frame,
    /// The geometric mean of these λ.
    best_lambda: f64,
}

impl Balance {
    fn new(frame: &Frame, protocol: &str) -> Result<Balance> {
        let all = frame.only("part", "finite")?.only("protocol", protocol)?;
        let lambdas = all.levels("lambda")?;
        let rows = lambdas.iter().map(|&lambda| all.only("lambda", lambda)).collect::<Result<Vec<_>>>()?;
        let worst = rows.iter().map(worst).collect::<Result<Vec<_>>>()?;
        let best = frame.only("part", "best")?.only("protocol", protocol)?;
        let found = best.numbers("lambda")?;
        let best_lambda = (found.iter().map(|l| l.ln()).sum::<f64>() / found.len() as f64).exp();
        Ok(Balance { lambdas, rows, worst, best, best_lambda })
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
