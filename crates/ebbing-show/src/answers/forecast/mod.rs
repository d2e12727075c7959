//! A forecast as figures, tables, page and report.

mod figures;
mod tables;

use crate::answers::names_of;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::shown::{Part, Show, Shown};
use crate::table::Spread;
use crate::text::{escape_markup, typeset};
use ebbing::request::ForecastAnswer;
use ebbing::theory::forecast::{Averaged, assumes};
use serde_json::{Value, json};

impl Show for ForecastAnswer {
    fn shown(&self) -> Result<Shown> {
        let forecast = &self.forecast;
        let sentences: Vec<String> = forecast.sentences().iter().map(|s| typeset(s)).collect();
        let notes = vec![assumes(self.settings.features).to_string()];
        let (mut page, mut tables, mut files) = (Vec::<Part>::new(), Vec::<Part>::new(), Vec::new());
        let names = names_of(&forecast.tasks);
        if let Some(names) = &names {
            let numbered = (1..).zip(names).map(|(t, name)| format!("{t} {name}"));
            page.push(Part::Words(format!("Tasks: {}", numbered.collect::<Vec<_>>().join(", "))));
        }
        let intervals = tables::intervals(forecast, &tables::chosen(forecast).0);
        if !forecast.pairs.is_empty() {
            page.push(tables::shown_pairs(forecast, "Order parameters").into());
            page.extend(intervals.clone().map(Part::from));
        }
        for (name, layer) in &self.layers {
            let title = format!("Order parameters of {}", escape_markup(name));
            page.push(tables::shown_pairs(layer, &title).into());
        }
        let title = "Forecast forgetting F, loss on training data (0: remembered, 1: as bad as answering 0)";
        page.push(named(matrix(title, &forecast.forgetting), names.as_deref()).into());
        page.extend(tables::accuracies(forecast).map(Part::from));
        for (file, name, values) in matrices(self) {
            let matrix = matrix(name, values);
            files.push((file.to_string(), matrix.to_table()?));
            tables.push(named(matrix, names.as_deref()).into());
        }
        if !forecast.pairs.is_empty() {
            files.push(("order_parameters".into(), tables::all_pairs(forecast)));
            tables.push(tables::values(forecast).into());
            tables.extend(intervals.map(Part::from));
        }
        for (name, sweep) in tables::sweeps(forecast) {
            page.push(sweep.clone().into());
            tables.push(sweep.clone().into());
            files.push((name.into(), sweep));
        }
        for (k, (name, layer)) in self.layers.iter().enumerate() {
            let pairs = tables::all_pairs(layer);
            tables.push(Part::Words(escape_markup(&format!("Order parameters of {name}:"))));
            tables.push(pairs.clone().into());
            files.push((format!("layer_{}_order_parameters", k + 1), pairs));
        }
        page.extend(sentences.iter().chain(&notes).cloned().map(Part::Words));
        let title = match self.settings.features {
            true => "What a readout of these features will forget",
            false => "What the network will forget",
        };
        let figures = figures::all(self);
        let (title, heading) = (title.into(), typeset(&self.heading));
        Ok(Shown { title, heading, sentences, notes, figures, page, tables, files, ..Shown::default() }.next(&[
            ("report with figures", "ebbing forecast --out DIR"),
            ("more", "ebbing forecast --help, ebbing phase, ebbing train"),
        ]))
    }

    fn json(&self) -> Value {
        let layers = self.layers.iter().map(|(name, forecast)| json!({ "file": name, "forecast": forecast }));
        json!({
            "forecast": self.forecast,
            "layers": layers.collect::<Vec<Value>>(),
            "answer": self.forecast.sentences(),
            "assumes": assumes(self.settings.features),
        })
    }
}

/// The matrices of the report and of files: the names of files, what they are, their values.
fn matrices(answer: &ForecastAnswer) -> Vec<(&'static str, &'static str, &Averaged)> {
    let forecast = &answer.forecast;
    let mut all = vec![("forgetting", "forgetting", &forecast.forgetting)];
    if let Some(test) = &forecast.test {
        all.push(("test_loss", "test loss", &test.loss));
        let of = match test.task_accuracy {
            Some(_) => "test accuracy among all classes (class-incremental)",
            None => "test accuracy",
        };
        let own = "test accuracy among the task's own classes (task-incremental)";
        all.extend(test.accuracy.as_ref().map(|accuracy| ("test_accuracy", of, accuracy)));
        all.extend(test.task_accuracy.as_ref().map(|accuracy| ("test_task_accuracy", own, accuracy)));
    } else if let Some(accuracy) = &forecast.train_accuracy {
        all.push(("train_accuracy", "training accuracy (there are no test data)", accuracy));
    }
    all
}

/// A task matrix; before a task is learned there is nothing to forget.
fn matrix(name: &str, values: &Averaged) -> Matrix {
    let matrix = Matrix::tasks(name, &values.mean).only(|t, s| s <= t);
    match &values.standard_error {
        Some(errors) => matrix.errors(Spread::StandardError, errors),
        None => matrix,
    }
}

/// A matrix of tasks by their names, where they have some.
fn named(matrix: Matrix, names: Option<&[String]>) -> Matrix {
    let Some(names) = names else { return matrix };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    matrix.names(&names, &names)
}
