//! A forecast as a cell of a study: one sequence, one row per pair of a time and a task.

use super::Args;
use crate::commands::study::InCells;
use ebbing::plan::{Cost, Sizes, forgetting_cost, order_parameter_cost};
use ebbing::theory::forecast::PairForecast;
use ebbing::theory::order_parameters::OrderParameters;
use ebbing::{Error, Forecast, TaskSequence};
use ebbing_studies::{Result, Row, Sources};
use std::path::PathBuf;

/// What the columns mean.
pub const COLUMNS: &[(&str, &str)] = &[
    ("t", "tasks learned"),
    ("s", "the task that is looked at, from 1"),
    ("forgetting", "training loss of task s after task t over the norm of its targets"),
    ("train_accuracy", "share of training examples of task s on the right side after task t"),
    ("test_loss", "test loss of task s after task t over the norm of its targets"),
    ("generalisation", "test loss of task s after task t over that of learning it alone"),
    ("test_accuracy", "share of test examples of task s on the right side after task t"),
    ("gamma_feature", "overlap of all features of tasks s and t"),
    ("gamma_rf", "how much task t drives features that task s uses"),
    ("gamma_rule", "how far the rules of tasks s and t agree on them"),
    ("conflict", "gamma_rf - gamma_rule"),
    ("gamma_sim", "similarity of tasks s and t that have readouts of their own"),
    ("f21", "forgetting of task s after task t alone"),
    ("f_max", "fitted plateau of the first task's forgetting"),
    ("tau", "fitted number of tasks over which the first task is forgotten"),
    ("fit_r2", "share of variance that the fit explains"),
    ("digits", "estimated number of correct digits"),
];

impl InCells for Args {
    fn check(&mut self) -> ebbing::Result<()> {
        self.no_order = true;
        self.seeds = Some(1);
        self.settings()?;
        let seed = self.sequence.seed;
        let file = |path: &PathBuf| path.extension().is_none_or(|ending| ending != "toml");
        let given = !self.features.is_empty() || self.sequence.tasks.as_ref().is_some_and(file);
        if given && seed > 0 && self.max_p.is_none() {
            let expected =
                "these tasks are given, not drawn: use the one seed 0, or let every seed take other examples (max_p)";
            return Err(Error::setting("seed", seed, expected));
        }
        if self.features.is_empty() { self.sequence.check() } else { Ok(()) }
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let mut all = Vec::new();
        for (layer, sequence) in self.cell_sequences(sources)? {
            let outlook = Forecast::of(&[sequence], &self.settings()?, &mut |_| ())?;
            for row in rows(&outlook) {
                let row = if layer.is_empty() { row } else { row.with("layer", layer.as_str()) };
                all.push(row);
            }
        }
        Ok(all)
    }

    fn cost(&self) -> ebbing::Result<Cost> {
        let sizes = match self.features.first() {
            Some(file) => Sizes::of(&TaskSequence::load(file)?),
            None => self.sequence.sizes()?,
        };
        let sizes = match self.max_p {
            Some(p) => Sizes { train: sizes.train.iter().map(|n| p.min(*n)).collect(), ..sizes },
            None => sizes,
        };
        Ok(forgetting_cost(&sizes).then(order_parameter_cost(&sizes)).times(self.features.len().max(1)))
    }
}

impl Args {
    /// The sequence of the seed, or one per layer of features, named.
    fn cell_sequences(&self, sources: &Sources) -> ebbing::Result<Vec<(String, TaskSequence)>> {
        let seed = self.sequence.seed;
        let part = |sequence: TaskSequence| match self.max_p {
            Some(p) => sequence.subsampled(p, p, seed),
            None => Ok(sequence),
        };
        if self.features.is_empty() {
            let sequence = self.sequence.origin_from(sources)?.sequence(seed)?;
            return Ok(vec![(String::new(), part(sequence)?)]);
        }
        let load = |file: &PathBuf| Ok((file.display().to_string(), part(TaskSequence::load(file)?)?));
        self.features.iter().map(load).collect()
    }
}

fn rows(outlook: &Forecast) -> Vec<Row> {
    let count = outlook.tasks.len();
    let mut all = Vec::new();
    for (t, s) in (0..count).flat_map(|t| (0..=t).map(move |s| (t, s))) {
        let mut row = Row::new()
            .with("t", t + 1)
            .with("s", s + 1)
            .with("forgetting", outlook.forgetting.mean[t][s])
            .with("digits", outlook.digits);
        if let Some(accuracy) = &outlook.train_accuracy {
            row = row.with("train_accuracy", accuracy.mean[t][s]);
        }
        if let Some(test) = &outlook.test {
            row = row.with("test_loss", test.loss.mean[t][s]).with("generalisation", test.generalisation.mean[t][s]);
            if let Some(accuracy) = &test.accuracy {
                row = row.with("test_accuracy", accuracy.mean[t][s]);
            }
        }
        if let Some(pair) = outlook.pairs.iter().find(|pair| (pair.first, pair.second) == (s + 1, t + 1)) {
            row = with_pair(row, pair);
        }
        if let Some(fit) = &outlook.fit {
            row = row
                .with("f_max", fit.f_max.map_or(f64::NAN, |f| f.value))
                .with("tau", fit.tau.map_or(f64::NAN, |tau| tau.value))
                .with("fit_r2", fit.r2.unwrap_or(f64::NAN));
        }
        all.push(row);
    }
    all
}

/// The order parameters of a pair, with intervals and null where they were asked for.
fn with_pair(row: Row, pair: &PairForecast) -> Row {
    let mut row = with_parameters(row, &pair.values, "");
    if let Some(interval) = &pair.detail.interval {
        row = with_parameters(row, &interval.low, "_low");
        row = with_parameters(row, &interval.high, "_high");
    }
    if let Some(null) = &pair.detail.null {
        row = with_parameters(row, &null.mean, "_null_mean");
        row = with_parameters(row, &null.deviation, "_null_sd");
    }
    row
}

fn with_parameters(row: Row, p: &OrderParameters, ending: &str) -> Row {
    let all = [
        ("gamma_feature", p.gamma_feature),
        ("gamma_rf", p.gamma_rf),
        ("gamma_rule", p.gamma_rule),
        ("conflict", p.conflict),
        ("gamma_sim", p.gamma_sim),
        ("f21", p.f21),
    ];
    all.into_iter().fold(row, |row, (name, value)| row.with(&format!("{name}{ending}"), value))
}
