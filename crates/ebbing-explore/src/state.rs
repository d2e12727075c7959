//! The state of the page, which its address holds: `key=value` pairs in the words of the flags, such as
//! `protocol=split&examples=300&order=3,1,2&mode=ntk&phase.width=200`.
//!
//! | keys | what they are |
//! |---|---|
//! | those of `ebbing forecast` | which tasks, and how they are learned; `tasks` names a file that the page knows |
//! | `phase.pair`, `phase.lambda`, `phase.width` | two of the tasks, the penalty and the width of the view *Phase* |
//! | `phase.representation` | whether it looks at the hidden layer |
//! | `advise.keep-forgetting-below`, `advise.budget` | of the view *What to do* |
//! | `view` | the view that is open |

use crate::files::{Content, Files, OwnFile};
use ebbing::data::Places;
use ebbing::tasks::{PostSteps, unknown_key};
use ebbing::{Error, Recipe, Result};
use ebbing_studies::job::{AdviseJob, ForecastJob, PhaseJob};
use ebbing_studies::{Job, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Keys of tasks and theory, in the order in which addresses and command lines write them.
const KEYS: [&str; 36] = [
    "tasks",
    "data",
    "protocol",
    "length",
    "examples",
    "test-examples",
    "ratio",
    "first-unpermuted",
    "fresh-images",
    "classes-per-group",
    "one-hot",
    "rho-target",
    "rho-shared",
    "rho-flip",
    "intermediate",
    "context",
    "seed",
    "center",
    "whiten",
    "no-whiten",
    "whiten-ridge",
    "norm",
    "no-norm",
    "order",
    "depth",
    "activation",
    "mode",
    "lambda",
    "sigma",
    "bias",
    "beta",
    "replay",
    "replay-budget",
    "depths",
    "lambdas",
    "widths",
];
/// Those that are flags without a value.
const SWITCHES: [&str; 8] =
    ["first-unpermuted", "fresh-images", "one-hot", "whiten", "no-whiten", "norm", "no-norm", "representation"];
/// How many of them are of the tasks; those that follow are of the theory, which a file of tasks leaves open.
const OF_TASKS: usize = 24;
/// Keys of the views.
const OF_VIEWS: [&str; 7] = [
    "view",
    "phase.pair",
    "phase.lambda",
    "phase.width",
    "phase.representation",
    "advise.keep-forgetting-below",
    "advise.budget",
];
/// The views.
pub const VIEWS: [&str; 5] = ["tasks", "forecast", "phase", "advise", "take"];
/// What the page shows first: tasks that are there within a moment.
pub const FIRST: &str = "data=mnist-sample&protocol=permuted&length=5&examples=300&test-examples=200";
/// The longest address that is read.
const LONGEST: usize = 4000;

/// The state of the page.
#[derive(Debug, Clone)]
pub struct State {
    /// The keys as given, those of the theory and tasks.
    given: BTreeMap<&'static str, String>,
    /// The users' own file.
    pub file: Option<OwnFile>,
    /// The request; `tasks` in it is never a path.
    pub job: ForecastJob,
    /// Two of the tasks, from 1, for the phase diagram.
    pub pair: [usize; 2],
    /// The penalty there.
    pub phase_lambda: f64,
    /// The width there.
    pub width: Option<f64>,
    /// Whether the hidden layer is looked at there.
    pub representation: bool,
    /// What replay is to reach.
    pub keep_below: Option<f64>,
    /// The most examples that may be kept.
    pub budget: Option<usize>,
}

impl State {
    /// Reads an address.
    ///
    /// # Errors
    /// One sentence that names the key and the value at fault.
    pub fn read(address: &str, files: &Files) -> Result<State> {
        if address.len() > LONGEST {
            return Err(Error::setting("the address", "too long", format!("at most {LONGEST} characters are read")));
        }
        let (mut given, mut of_views) = (BTreeMap::new(), BTreeMap::new());
        for (key, value) in form_urlencoded::parse(address.as_bytes()) {
            let key = key.replace('_', "-");
            if let Some(known) = OF_VIEWS.iter().find(|known| **known == key) {
                of_views.insert(*known, value.into_owned());
            } else if let Some(known) = KEYS.iter().find(|known| **known == key) {
                given.insert(*known, value.into_owned());
            } else {
                let known: Vec<String> = KEYS.iter().chain(&OF_VIEWS).map(|key| key.to_string()).collect();
                return Err(unknown_key(Path::new("the address"), "a key", &key, &known));
            }
        }
        let file = given.get("tasks").map(|name| files.named(name)).transpose()?;
        let job = job(&given, file.as_ref())?;
        if let Some(view) = of_views.get("view").filter(|view| !VIEWS.contains(&view.as_str())) {
            return Err(Error::setting("view", view, format!("must be one of {}", VIEWS.join(", "))));
        }
        let number = |key: &str| of_views.get(key).map(|value| positive(key, value)).transpose();
        let width = number("phase.width")?.filter(|n| n.is_finite());
        if let Some(narrow) = width.filter(|n| *n < 1.0) {
            return Err(Error::setting("phase.width", narrow, "must be a number of units, at least 1"));
        }
        let representation = match of_views.get("phase.representation").map(String::as_str) {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => return Err(Error::setting("phase.representation", other, "must be true or false")),
        };
        let budget = of_views
            .get("advise.budget")
            .map(|m| m.parse().map_err(|_| Error::setting("advise.budget", m, "must be a whole number, at least 0")));
        Ok(State {
            pair: of_views.get("phase.pair").map_or(Ok([1, 2]), |pair| two_of(pair))?,
            phase_lambda: number("phase.lambda")?.unwrap_or(f64::INFINITY),
            keep_below: number("advise.keep-forgetting-below")?,
            budget: budget.transpose()?,
            representation,
            given,
            file,
            job,
            width,
        })
    }

    /// What makes the tasks before they are put in order, and the tasks themselves where they are a file's own.
    ///
    /// # Errors
    /// What the keys say.
    pub fn recipe(&self) -> Result<Recipe> {
        let mut keys = self.job.tasks.clone();
        keys.order.clear();
        let Some(OwnFile { content: Content::Recipe(recipe), .. }) = &self.file else {
            // A name with this ending is not opened by anybody.
            keys.tasks = self.file.as_ref().map(|_| "tasks.npz".into());
            return keys.recipe();
        };
        let own = |key: &&&str| !State::is_of_theory(key) && !["tasks", "seed", "order"].contains(*key);
        if let Some(key) = self.given.keys().find(own) {
            return Err(Error::setting(*key, &self.given[key], "the recipe says itself which tasks are drawn"));
        }
        let post = PostSteps { order: Vec::new(), ..recipe.post.clone() };
        Ok(Recipe { post, seed: keys.seed.unwrap_or(recipe.seed), ..(**recipe).clone() })
    }

    /// The order in which tasks are learned, from 1: the one asked for, or the one in which they come.
    pub fn order(&self, count: usize) -> Vec<usize> {
        if self.job.tasks.order.is_empty() { self.came(count) } else { self.job.tasks.order.clone() }
    }

    /// The order in which tasks come, from 1: a recipe's own, or that of their numbers.
    pub fn came(&self, count: usize) -> Vec<usize> {
        let own = self.own_order();
        if own.is_empty() { (1..=count).collect() } else { own.to_vec() }
    }

    /// The order that a recipe itself puts its tasks in.
    fn own_order(&self) -> &[usize] {
        match &self.file {
            Some(OwnFile { content: Content::Recipe(recipe), .. }) => &recipe.post.order,
            _ => &[],
        }
    }

    /// The number that a task has for those who read the file themselves: its place, where a recipe has an order of its own.
    pub fn as_read(&self, task: usize) -> usize {
        self.own_order().iter().position(|t| *t == task).map_or(task, |place| place + 1)
    }

    /// Where the tasks come from, in words.
    pub fn origin(&self) -> String {
        match &self.file {
            Some(file) => file.name.clone(),
            None => format!("{}, {}", self.job.tasks.data(), self.job.tasks.protocol_name()),
        }
    }

    /// The request of the phase diagram of the chosen pair.
    pub fn phase(&self) -> PhaseJob {
        let mut tasks = self.job.tasks.clone();
        tasks.order.clear();
        PhaseJob {
            tasks,
            sigma: self.job.sigma,
            activation: self.job.activation,
            pair: self.pair.to_vec(),
            width: self.width,
            lambda: vec![self.phase_lambda],
            representation: self.representation && self.width.is_some(),
            ..PhaseJob::default()
        }
    }

    /// The request of advice.
    pub fn advise(&self) -> AdviseJob {
        let job = &self.job;
        AdviseJob {
            tasks: job.tasks.clone(),
            depth: job.depth,
            activation: job.activation,
            mode: job.mode,
            sigma: job.sigma,
            bias: job.bias,
            beta: job.beta,
            keep_forgetting_below: self.keep_below,
            budget: self.budget,
            replay_budget: job.replay.replay_budget,
            ..AdviseJob::default()
        }
    }

    /// The keys of tasks and theory as given, in their order.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        KEYS.iter().filter_map(|key| Some((*key, self.given.get(key)?.as_str())))
    }

    /// Whether a key is a flag without a value.
    pub fn is_switch(key: &str) -> bool {
        SWITCHES.contains(&key)
    }

    /// Whether a key is one of the theory, not of the tasks.
    pub fn is_of_theory(key: &str) -> bool {
        KEYS[OF_TASKS..].contains(&key)
    }

    /// What the tasks depend on: equal words, equal tasks.
    pub fn tasks_key(&self) -> Result<String> {
        let file = self.file.as_ref().map_or("", |file| &file.hash);
        let recipe = self.recipe()?;
        Ok(format!("{file} {:?}", recipe))
    }
}

/// The request of the keys.
fn job(given: &BTreeMap<&'static str, String>, file: Option<&OwnFile>) -> Result<ForecastJob> {
    let seed = given.get("seed").map(|seed| {
        seed.parse::<u64>().map_err(|_| Error::setting("seed", seed, "must be a whole number, at least 0"))
    });
    let seed = seed.transpose()?;
    let values: Vec<(String, Value)> = given
        .iter()
        .filter(|(key, _)| !["tasks", "seed"].contains(*key))
        .map(|(key, value)| (key.replace('-', "_"), typed(value)))
        .collect();
    let settings: BTreeMap<&str, &Value> = values.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let mut made = Job::new("forecast", &settings, seed.unwrap_or(0))?;
    if let Job::Forecast(job) = &mut made {
        job.tasks.seed = seed;
        if file.is_some() {
            // Which keys go with a file is told by those that draw; it is never opened by this name.
            job.tasks.tasks = Some("tasks.npz".into());
        } else {
            known_data(job.tasks.data())?;
        }
    }
    let recipe = matches!(file, Some(OwnFile { content: Content::Recipe(_), .. }));
    if !recipe {
        made.check()?;
    }
    let Job::Forecast(mut job) = made else { return Err(Error::data("the address", "it is no forecast")) };
    job.settings()?;
    job.tasks.tasks = None;
    Ok(*job)
}

/// Only data sets that are known by name: with a path in its place, the page would reach into the file system.
fn known_data(data: &str) -> Result<()> {
    // Embedded: no folder need be searched with every request.
    if data == "mnist-sample" {
        return Ok(());
    }
    let all = Places::from_env().list();
    let here: Vec<&str> = all.iter().filter(|set| set.available).map(|set| set.name.as_str()).collect();
    if here.contains(&data) {
        return Ok(());
    }
    Err(Error::setting("data", data, format!("must be a data set that is here: {}", here.join(", "))))
}

/// A value as studies take it.
fn typed(text: &str) -> Value {
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Value::Integer(whole),
        (_, Ok(number)) if !number.is_nan() => Value::Number(number),
        _ => Value::Text(text.into()),
    }
}

fn positive(key: &str, text: &str) -> Result<f64> {
    let number = text.parse::<f64>().ok().filter(|x| *x >= 0.0);
    number.ok_or_else(|| Error::setting(key, text, "must be a number, at least 0"))
}

fn two_of(text: &str) -> Result<[usize; 2]> {
    let numbers: Vec<usize> = text.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    match numbers[..] {
        [i, j] if i != j && i > 0 && j > 0 => Ok([i, j]),
        _ => Err(Error::setting("phase.pair", text, "must be two different tasks, such as 1,2")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_the_words_of_the_flags() {
        let files = Files::default();
        let state = State::read("protocol=split&examples=50&order=2,1,3,4,5&mode=gibbs&lambda=10&view=phase&phase.pair=3,1&phase.lambda=inf&phase.width=200&one-hot=true", &files).unwrap();
        assert_eq!((state.pair, state.width), ([3, 1], Some(200.0)));
        assert_eq!((state.job.lambda, state.job.tasks.examples, state.job.tasks.one_hot), (10.0, Some(50), true));
        assert_eq!((state.order(5), state.came(5)), (vec![2, 1, 3, 4, 5], vec![1, 2, 3, 4, 5]));
        assert!(state.recipe().unwrap().post.order.is_empty() && state.phase_lambda.is_infinite());
        let underscored = State::read("test_examples=20&rho_target=0.25&protocol=target-distractor", &files).unwrap();
        assert_eq!((underscored.job.tasks.test_examples, underscored.job.tasks.rho_target), (Some(20), Some(0.25)));
        assert!(State::is_of_theory("depth") && !State::is_of_theory("order"));
        let first = State::read(FIRST, &files).unwrap();
        assert_eq!(first.order(3), [1, 2, 3]);
        let written: Vec<String> = first.given().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(written.join("&"), FIRST);
    }

    #[test]
    fn advice_sweeps_the_penalty_itself_and_refuses_one() {
        let settings = |address: &str| {
            let state = State::read(address, &Files::default()).unwrap();
            state.advise().settings().and_then(|settings| settings.checked())
        };
        for gibbs in ["mode=gibbs&lambda=10", "mode=gibbs"] {
            let refused = settings(gibbs).unwrap_err().to_string();
            assert_eq!(refused, "mode is gibbs; must be rf, ntk or lazy: advice sweeps the penalty itself");
        }
        settings("mode=ntk").unwrap();
    }

    #[test]
    fn malformed_addresses_are_refused_in_a_sentence() {
        let files = Files::default();
        let long = format!("order={}", "1,".repeat(3000));
        for (address, words) in [
            ("wiew=phase", "wiew"),
            ("view=all", "view is all"),
            ("depth=deep", "depth is deep"),
            ("depth=0", "depth"),
            ("mode=soft", "mode is soft"),
            ("data=/etc/passwd", "data is /etc/passwd"),
            ("data=../mnist", "must be a data set that is here"),
            ("tasks=/etc/passwd", "drop it on the page again"),
            ("protocol=split&ratio=0.5", "--ratio"),
            ("lambda=5", "lambda"),
            ("phase.pair=1,1", "two different tasks"),
            ("phase.pair=x", "two different tasks"),
            ("phase.width=0.5", "at least 1"),
            ("phase.width=-3", "phase.width"),
            ("phase.representation=1", "true or false"),
            ("bias=-1", "bias"),
            ("widths=ten", "widths"),
            ("seed=-1", "seed is -1"),
            ("advise.budget=many", "advise.budget"),
            (long.as_str(), "too long"),
        ] {
            let said = State::read(address, &files).map(|_| ()).unwrap_err().to_string();
            assert!(said.contains(words), "{address}: {said}");
        }
    }
}
