//! The same request gives the same tasks and the same numbers from flags, a recipe, a study and the library, which the figures
//! of the paper use. (Python's door is tested with the package, against the same numbers.)

use crate::support::*;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::request::{Fields, ForecastRequest, TaskFields};
use ebbing::tasks::{Permuted, Protocol, TargetDistractor};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::single_head::{Mode, Replay, Selection};
use ebbing::{Forecast, Recipe, TaskSequence};
use ebbing_studies::StudyFile;
use serde_json::Value;
use std::path::Path;

/// Data sets that may be on this machine, besides the embedded one.
const DATA: &str = "EBBING_DATA";

/// One request in the words of every door.
struct Request {
    flags: String,
    recipe: String,
    settings: String,
    protocol: Protocol,
    data: &'static str,
}

fn requests() -> Vec<Request> {
    let mut all = Vec::new();
    for data in ["mnist-sample", "mnist", "cifar100"] {
        let sizes = "--length 2 --examples 60 --test-examples 0";
        all.push(Request {
            flags: format!("--data {data} --protocol target-distractor {sizes} --rho-shared 0.6"),
            recipe: format!(
                "data = \"{data}\"\n[protocol]\nkind = \"target-distractor\"\ntasks = 2\np = 60\np_test = 0\nrho_shared = 0.6\n"
            ),
            settings: format!(
                "data = \"{data}\"\nprotocol = \"target-distractor\"\nlength = 2\nexamples = 60\ntest_examples = 0\n\
                 rho_shared = 0.6\n"
            ),
            protocol: Protocol::TargetDistractor(TargetDistractor {
                tasks: 2,
                p: 60,
                p_test: Some(0),
                rho_shared: 0.6,
                ..Default::default()
            }),
            data,
        });
        all.push(Request {
            flags: format!("--data {data} --protocol permuted {sizes} --ratio 0.2"),
            recipe: format!(
                "data = \"{data}\"\n[protocol]\nkind = \"permuted\"\ntasks = 2\np = 60\np_test = 0\nratio = 0.2\n"
            ),
            settings: format!(
                "data = \"{data}\"\nprotocol = \"permuted\"\nlength = 2\nexamples = 60\ntest_examples = 0\nratio = 0.2\n"
            ),
            protocol: Protocol::Permuted(Permuted { tasks: 2, p: 60, p_test: 0, ratio: 0.2, ..Default::default() }),
            data,
        });
    }
    all
}

/// Inputs and targets, bit by bit.
fn bits(sequence: &TaskSequence) -> Vec<u64> {
    let of = |m: &ebbing::linalg::Mat<f64>| {
        let columns = (0..m.ncols()).flat_map(|j| m.col_as_slice(j).to_vec());
        columns.map(f64::to_bits).collect::<Vec<u64>>()
    };
    sequence.tasks.iter().flat_map(|task| [of(&task.x), of(&task.y)]).flatten().collect()
}

/// The forgetting that a run of the program prints.
fn program(home: &Home, words: &str) -> Value {
    let mut command = home.ebbing();
    if let Some(folder) = std::env::var_os(DATA) {
        command.env(DATA, folder);
    }
    let answer = done_json(&command.args(words.split_whitespace()).output().unwrap());
    answer["forecast"]["forgetting"]["mean"].clone()
}

#[test]
fn every_door_draws_the_same_tasks() {
    let (home, sources) = (Home::new(), Sources::new());
    for request in requests() {
        if request.data != "mnist-sample" && ebbing::Dataset::load(request.data).is_err() {
            skipped(&format!("every_door_draws_the_same_tasks: {} is not on this machine", request.data));
            continue;
        }
        let library = Recipe::drawn(request.data, request.protocol.clone());
        let drawn = bits(&library.draw(&sources, 0).unwrap());
        let recipe = Recipe::read(home.write("recipe.toml", &request.recipe)).unwrap();
        assert_eq!(bits(&recipe.draw(&sources, recipe.seed).unwrap()), drawn, "{}", request.recipe);
        let job = flags(&request.flags);
        assert_eq!(bits(&job.tasks.recipe().unwrap().draw(&sources, 0).unwrap()), drawn, "{}", request.flags);
        let text = format!("command = \"forecast\"\n[settings]\n{}", request.settings);
        let study = StudyFile::read(&home.write("study.toml", &text)).unwrap();
        let f = Forecast::of(&[library.draw(&sources, 0).unwrap()], &ForecastSettings::default(), &Context::default())
            .unwrap();
        let want = serde_json::to_value(&f.forgetting.as_ref().unwrap().mean).unwrap();
        // The program, by flags and by the recipe, and the study's cell give this forgetting to the last bit.
        assert_eq!(program(&home, &format!("forecast --json {}", request.flags)), want);
        assert_eq!(program(&home, "forecast --json --tasks recipe.toml"), want);
        let cell = study.study().unwrap().cells.remove(0);
        let rows = cell.work.unwrap().rows(&sources, &Context::default()).unwrap();
        let last = rows.iter().find(|row| number(row, "t") == 2.0 && number(row, "s") == 1.0).unwrap();
        assert_eq!(number(last, "forgetting"), f.forgetting.as_ref().unwrap().mean[1][0]);
    }
}

#[test]
fn replay_is_the_same_through_every_door() {
    let (home, sources) = (Home::new(), Sources::new());
    let request = requests().into_iter().find(|r| r.data == "mnist-sample").unwrap();
    let drawn = Recipe::drawn(request.data, request.protocol.clone()).draw(&sources, 0).unwrap();
    let mut asked = ForecastSettings { order: false, ..ForecastSettings::default() };
    asked.theory.mode = Mode::Lazy;
    asked.theory.replay = Replay { examples: 5, selection: Selection::ByClass, ..Replay::default() };
    let f = Forecast::of(std::slice::from_ref(&drawn), &asked, &Context::default()).unwrap();
    let flags = "--mode lazy --replay 5 --replay-selection by-class";
    let answer = program(&home, &format!("forecast --json {flags} {}", request.flags));
    assert_eq!(answer, serde_json::to_value(&f.forgetting.as_ref().unwrap().mean).unwrap());
    let keys = "mode = \"lazy\"\nreplay = 5\nreplay_selection = \"by-class\"\n";
    let text = format!("command = \"forecast\"\n[settings]\n{}{keys}", request.settings);
    let study = StudyFile::read(&home.write("study.toml", &text)).unwrap();
    let rows = study.study().unwrap().cells.remove(0).work.unwrap().rows(&sources, &Context::default()).unwrap();
    let last = rows.iter().find(|row| number(row, "t") == 2.0 && number(row, "s") == 1.0).unwrap();
    assert_eq!(number(last, "forgetting"), f.forgetting.as_ref().unwrap().mean[1][0]);
}

/// The request of flags that all have values.
fn flags(words: &str) -> ForecastRequest {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut request = ForecastRequest::default();
    words.chunks(2).for_each(|pair| request.set(pair[0].trim_start_matches("--"), &pair[1].into()).unwrap());
    request
}

fn number(row: &ebbing_studies::Row, name: &str) -> f64 {
    row.0.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.number()).unwrap()
}

#[test]
fn a_recipes_own_seed_holds_unless_another_is_given() {
    let home = Home::new();
    let path = home.write("recipe.toml", "seed = 7\n[protocol]\nkind = \"permuted\"\ntasks = 2\np = 40\np_test = 0\n");
    let seed = |keys: TaskFields| keys.recipe().unwrap().seed;
    let keys = |seed: Option<u64>| TaskFields { tasks: Some(Path::new(&path).into()), seed, ..TaskFields::default() };
    assert_eq!([seed(keys(None)), seed(keys(Some(3))), seed(TaskFields::default())], [7, 3, 0]);
    let own = program(&home, "forecast --json --tasks recipe.toml");
    assert_eq!(own, program(&home, "forecast --json --tasks recipe.toml --seed 7"));
    assert_ne!(own, program(&home, "forecast --json --tasks recipe.toml --seed 0"));
}
