//! Which examples are at risk, and where the forgetting sits.

use super::super::directions::directions;
use super::super::examples::{classes_at_risk, most_at_risk, tasks_at_risk};
use crate::shown::{Gallery, Part};
use crate::table::Table;
use crate::text::escape_markup;
use ebbing::Task;
use ebbing::request::ForecastAnswer;
use ebbing::stats::number::per_cent;
use ebbing::theory::examples::{ExampleRisks, ExamplesAtRisk, Fate, TaskRisks};

/// Classes that a task lists in the report.
const CLASSES: usize = 20;

/// Adds the tables of examples and directions, and returns the pictures of the examples most at risk where inputs are images.
pub(super) fn show(
    answer: &ForecastAnswer,
    page: &mut Vec<Part>,
    tables: &mut Vec<Part>,
    files: &mut Vec<(String, Table)>,
) -> Vec<Gallery> {
    let forecast = &answer.forecast;
    if let Some(found) = &forecast.directions {
        let table = directions(found);
        page.push(table.clone().into());
        tables.push(table.clone().into());
        files.push(("directions".into(), table));
    }
    let Some(found) = &forecast.examples else { return vec![] };
    let of_tasks = tasks_at_risk(found);
    page.push(of_tasks.clone().into());
    tables.push(of_tasks.into());
    files.push(("examples".into(), all(found)));
    let tested = found.tasks.iter().all(|task| task.test.is_some());
    let mut galleries = vec![];
    for (t, task) in found.tasks.iter().enumerate().take(found.tasks.len().saturating_sub(1)) {
        let risks = shown(task, tested);
        tables.push(most_at_risk(&task.name, risks, &found.class_names).into());
        let mut few = risks.clone();
        few.classes.truncate(CLASSES);
        tables.push(classes_at_risk(&task.name, &few).into());
        galleries.extend(answer.first.tasks.get(t).and_then(|data| gallery(data, task, risks, (found, tested))));
    }
    galleries
}

fn shown(task: &TaskRisks, tested: bool) -> &ExampleRisks {
    task.test.as_ref().filter(|_| tested).unwrap_or(&task.train)
}

/// Every example of every set, one row each.
fn all(found: &ExamplesAtRisk) -> Table {
    let mut rows: Vec<(&str, &str, &ExampleRisks, usize)> = vec![];
    for task in &found.tasks {
        let sets = [("train", Some(&task.train)), ("test", task.test.as_ref())];
        for (set, risks) in sets.into_iter().filter_map(|(set, risks)| Some((set, risks?))) {
            rows.extend((0..risks.class.len()).map(|i| (task.name.as_str(), set, risks, i)));
        }
    }
    let class = |risks: &ExampleRisks, i: usize| risks.class[i].and_then(|c| found.class_names.get(c).cloned());
    Table::of("Every example", &rows)
        .text("task", |(name, ..)| escape_markup(name))
        .text("set", |(_, set, ..)| (*set).to_string())
        .integer("row", |(.., i)| i + 1)
        .text("class", move |(_, _, risks, i)| class(risks, *i).map_or(String::new(), |name| escape_markup(&name)))
        .number("output", |(_, _, risks, i)| risks.output[*i])
        .meaning("output of its own class after the last task")
        .number("margin_own", |(_, _, risks, i)| risks.margin_own[*i])
        .meaning("own class minus the strongest other, after the example's own task")
        .number("margin", |(_, _, risks, i)| risks.margin[*i])
        .meaning("the same after the last task")
        .number("chance", |(_, _, risks, i)| risks.chance[*i])
        .meaning("a decreasing function of the margin, not calibrated: read it as a ranking")
        .text("fate", |(_, _, risks, i)| fate(risks.fate[*i]).to_string())
        .done()
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::Lost => "lost",
        Fate::Gained => "gained",
        Fate::Wrong => "wrong",
        Fate::NoClass => "no class",
    }
}

/// The examples of a task that are most at risk as pictures; none where inputs are no square images.
fn gallery(
    data: &Task,
    task: &TaskRisks,
    risks: &ExampleRisks,
    (found, tested): (&ExamplesAtRisk, bool),
) -> Option<Gallery> {
    let x = data.test.as_ref().filter(|_| tested).map_or(&data.x, |test| &test.x);
    let side = (x.ncols() as f64).sqrt().round() as usize;
    if side * side != x.ncols() || !(8..=128).contains(&side) {
        return None;
    }
    let name =
        |class: usize| found.class_names.get(class).map_or_else(|| class.to_string(), |name| escape_markup(name));
    let picture = |row: usize| -> Vec<u8> {
        let values = || (0..x.ncols()).map(|j| x[(row, j)]);
        let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let gray = |v: f64| if high > low { (255.0 * (v - low) / (high - low)).round() as u8 } else { 128 };
        values().map(gray).collect()
    };
    let pictures: Vec<(Vec<u8>, String)> = risks
        .most_at_risk
        .iter()
        .filter(|example| example.row < x.nrows())
        .map(|e| (picture(e.row), format!("{} taken for {}, row {}", name(e.class), name(e.rival), e.row + 1)))
        .collect();
    let lost = risks.lost as f64 / risks.learned.max(1) as f64;
    let title = format!(
        "**{}**: {} of the examples that were right are forecast to be lost; the {} most at risk:",
        escape_markup(&task.name),
        per_cent(lost),
        pictures.len()
    );
    (!pictures.is_empty()).then_some(Gallery { title, size: [side, side], pictures })
}
