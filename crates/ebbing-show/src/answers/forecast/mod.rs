//! A forecast as figures, tables, page and report.

mod accuracy;
mod examples;
mod figures;
mod tables;

use crate::answers::names_of;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::shown::{Part, Show, Shown};
use crate::table::{Spread, Table};
use crate::text::{escape_markup, typeset};
use ebbing::request::ForecastAnswer;
use ebbing::theory::calibration::headline;
use ebbing::theory::forecast::{Averaged, assumes};
use serde_json::{Value, json};

impl Show for ForecastAnswer {
    fn shown(&self) -> Result<Shown> {
        let forecast = &self.forecast;
        let typeset_all = |all: Vec<String>| all.iter().map(|s| typeset(s)).collect::<Vec<String>>();
        let sentences = typeset_all(forecast.sentences());
        let notes = vec![assumes(self.settings.features).to_string()];
        // The theory's own quantities are shown where they are asked for, and where there is nothing else.
        let asked = self.settings.asks_for_theory() || !self.layers.is_empty();
        let theory = asked || forecast.trained.is_none();
        let (mut page, mut tables, mut files) = (Vec::<Part>::new(), Vec::<Part>::new(), Vec::new());
        if let Some(trained) = &forecast.trained {
            page.push(Part::Words(typeset(&forecast.expectation().join(" "))));
            page.push(accuracy::table(forecast, trained).into());
            files.push(("accuracies".to_string(), accuracy::rows(forecast, trained)));
            tables.push(accuracy::table(forecast, trained).into());
        }
        if theory {
            self.theory_page(&mut page)?;
        }
        self.theory_tables(&mut tables, &mut files)?;
        for (k, (name, layer)) in self.layers.iter().enumerate() {
            let pairs = tables::all_pairs(layer);
            tables.push(Part::Words(escape_markup(&format!("Order parameters of {name}:"))));
            tables.push(pairs.clone().into());
            files.push((format!("layer_{}_order_parameters", k + 1), pairs));
        }
        let said = forecast.expectation().len().min(sentences.len());
        let said = if forecast.trained.is_some() { said } else { 0 };
        let mut rest = sentences[said..].to_vec();
        if !theory {
            // What the heading says need not be said again.
            let known = |s: &String| {
                s.strip_prefix("Note: ").is_some_and(|note| self.heading.contains(note.trim_end_matches('.')))
            };
            rest.retain(|s| !known(s));
            page.extend((!rest.is_empty()).then(|| Part::Words(rest.join(" "))));
        } else {
            let more = if forecast.trained.is_some() { typeset_all(forecast.theory_sentences()) } else { vec![] };
            page.extend(rest.into_iter().chain(more).map(Part::Words));
            page.extend(notes.iter().cloned().map(Part::Words));
        }
        let title = match (forecast.trained.as_ref().and_then(|found| found.lost), self.settings.features) {
            (Some(lost), _) => headline(lost),
            (None, true) => "What a linear head on these features will forget".into(),
            (None, false) => "What the network will forget".into(),
        };
        let (figures, front) = figures::all(self);
        let galleries = examples::show(self, &mut page, &mut tables, &mut files);
        let heading = typeset(&self.heading);
        let next: &[(&str, &str)] = match theory {
            true => &[
                ("report with figures", "ebbing forecast --out DIR"),
                ("more", "ebbing advise, ebbing phase, ebbing train"),
            ],
            false => &[
                ("report with figures", "ebbing forecast --out DIR"),
                ("what would help", "ebbing advise"),
                ("the theory behind it", "ebbing forecast --theory"),
            ],
        };
        Ok(Shown {
            title,
            heading,
            sentences,
            notes,
            front,
            figures,
            galleries,
            page,
            tables,
            files,
            ..Shown::default()
        }
        .next(next))
    }

    fn json(&self) -> Value {
        let layers = self.layers.iter().map(|(name, forecast)| json!({ "file": name, "forecast": forecast }));
        json!({
            "forecast": self.forecast,
            "layers": layers.collect::<Vec<Value>>(),
            "answer": self.forecast.sentences(),
            "theory": self.forecast.theory_sentences(),
            "assumes": assumes(self.settings.features),
        })
    }
}

/// The theory's own quantities.
trait Theory {
    /// As the terminal and a notebook show them.
    fn theory_page(&self, page: &mut Vec<Part>) -> Result<()>;
    /// As the report and files hold them.
    fn theory_tables(&self, tables: &mut Vec<Part>, files: &mut Vec<(String, Table)>) -> Result<()>;
}

impl Theory for ForecastAnswer {
    fn theory_page(&self, page: &mut Vec<Part>) -> Result<()> {
        let forecast = &self.forecast;
        let names = names_of(&forecast.tasks);
        if let Some(names) = &names {
            let numbered = (1..).zip(names).map(|(t, name)| format!("{t} {name}"));
            page.push(Part::Words(format!("Tasks: {}", numbered.collect::<Vec<_>>().join(", "))));
        }
        if !forecast.pairs.is_empty() {
            page.push(tables::shown_pairs(forecast, "Order parameters").into());
            page.extend(tables::intervals(forecast, &tables::chosen(forecast).0).map(Part::from));
        }
        for (name, layer) in &self.layers {
            let title = format!("Order parameters of {}", escape_markup(name));
            page.push(tables::shown_pairs(layer, &title).into());
        }
        if let Some(forgetting) = &forecast.forgetting {
            let title = "Forecast forgetting F, loss on training data (0: remembered, 1: as bad as answering 0)";
            page.push(named(matrix(title, forgetting), names.as_deref()).into());
        }
        page.extend(tables::accuracies(forecast).map(Part::from));
        page.extend(tables::sweeps(forecast).into_iter().map(|(_, sweep)| sweep.into()));
        Ok(())
    }

    fn theory_tables(&self, tables: &mut Vec<Part>, files: &mut Vec<(String, Table)>) -> Result<()> {
        let forecast = &self.forecast;
        let names = names_of(&forecast.tasks);
        for (file, name, values) in matrices(self) {
            let matrix = matrix(name, values);
            files.push((file.to_string(), matrix.to_table()?));
            tables.push(named(matrix, names.as_deref()).into());
        }
        if !forecast.pairs.is_empty() {
            files.push(("order_parameters".into(), tables::all_pairs(forecast)));
            tables.push(tables::values(forecast).into());
            tables.extend(tables::intervals(forecast, &tables::chosen(forecast).0).map(Part::from));
        }
        for (name, sweep) in tables::sweeps(forecast) {
            tables.push(sweep.clone().into());
            files.push((name.into(), sweep));
        }
        Ok(())
    }
}

/// The matrices of the report and of files: the names of files, what they are, their values.
fn matrices(answer: &ForecastAnswer) -> Vec<(&'static str, &'static str, &Averaged)> {
    let forecast = &answer.forecast;
    let mut all: Vec<_> = forecast.forgetting.iter().map(|found| ("forgetting", "forgetting", found)).collect();
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
