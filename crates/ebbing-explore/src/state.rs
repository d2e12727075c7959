//! The state of the page, which its address holds: `key=value` pairs in the words of the flags, such as
//! `protocol=split&examples=300&order=3,1,2&mode=ntk&phase.width=200`.
//!
//! | keys | what they are |
//! |---|---|
//! | those of `ebbing forecast` | which tasks, and how they are learned; `tasks` and `features` name a file that the page knows |
//! | `phase.pair`, `phase.lambda`, `phase.width` | two of the tasks with a head each, the penalty and the width |
//! | `phase.representation` | whether the hidden layer is looked at |
//! | `advise.keep-accuracy-above`, `advise.memory-budget`, … | of what would help |
//!
//! Keys that begin with `page.` are the page's own: what it shows of an answer, and nothing that changes one.

use crate::files::{Content, Files, OwnFile};
use ebbing::data::Places;
use ebbing::request::{
    AdviseRequest, Door, Field, Fields, ForecastRequest, LearningOrder, PhaseRequest, ProtocolKind, Value,
};
use ebbing::tasks::{PostSteps, unknown_key};
use ebbing::{Error, Recipe, Result};
use std::path::Path;

/// Fields that the page does not use: averages over seeds, what is shown anyway.
const NOT_HERE: [&str; 6] = ["seeds", "max_p", "theory", "bootstrap", "shuffles", "convention"];
/// Keys of the other requests, each behind the name of its request.
const OF_VIEWS: [(&str, &[&str]); 2] = [
    ("phase", &["pair", "lambda", "width", "representation"]),
    ("advise", &["keep-accuracy-above", "lose-at-most", "memory-budget", "keep-forgetting-below", "budget"]),
];
/// What the page shows first: what the program shows without arguments.
pub const FIRST: &str = "data=mnist-sample&protocol=class-incremental&length=5";
/// The longest address that is read.
const LONGEST: usize = 4000;

/// The state of the page.
#[derive(Debug, Clone)]
pub struct State {
    /// The users' own file.
    pub file: Option<OwnFile>,
    /// Which tasks, and how they are learned; a file of tasks has the name that the page knows it by.
    pub forecast: ForecastRequest,
    /// Two of those tasks with a readout each: the pair, the penalty, the width.
    pub phase: PhaseRequest,
    /// The request of advice beside the forecast.
    pub advise: AdviseRequest,
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
        let mut state = State {
            file: None,
            forecast: ForecastRequest::default(),
            phase: PhaseRequest { pair: vec![1, 2], ..PhaseRequest::default() },
            advise: AdviseRequest::default(),
        };
        for (key, value) in form_urlencoded::parse(address.as_bytes()) {
            state.set(&key.replace('_', "-"), &value)?;
        }
        let asked = &mut state.forecast;
        if asked.tasks.tasks.is_none() && asked.features.is_empty() {
            // As the forecast draws them; the lines of every command say so.
            asked.tasks.protocol.get_or_insert(ProtocolKind::ClassIncremental);
        }
        if asked.features.len() > 1 {
            return Err(Error::setting("features", asked.features.len(), "must be one file"));
        }
        let named = asked.tasks.tasks.as_ref().or(asked.features.first());
        state.file = named.map(|name| files.named(&name.to_string_lossy())).transpose()?;
        state.check()?;
        Ok(state)
    }

    /// Sets what one key of the address says.
    fn set(&mut self, key: &str, word: &str) -> Result<()> {
        let value = Value::from(word);
        let known = |view: &str, key: &str| OF_VIEWS.iter().any(|(name, keys)| *name == view && keys.contains(&key));
        match key.split_once('.') {
            None if ForecastRequest::field(key).is_some_and(|field| !NOT_HERE.contains(&field.key)) => {
                self.forecast.set(key, &value)
            }
            Some((view @ "phase", of_view)) if known(view, of_view) => in_view(view, self.phase.set(of_view, &value)),
            Some((view, of_view)) if known(view, of_view) => in_view(view, self.advise.set(of_view, &value)),
            _ => {
                let own = ForecastRequest::fields().iter().filter(|field| !NOT_HERE.contains(&field.key));
                let own = own.map(|field| Door::Page.name(field.key));
                let of_views =
                    OF_VIEWS.iter().flat_map(|(view, keys)| keys.iter().map(move |key| format!("{view}.{key}")));
                let known: Vec<String> = own.chain(of_views).collect();
                Err(unknown_key(Path::new("the address"), "a key", key, &known))
            }
        }
    }

    /// Every field that the page can show, by its name in the address: those of a forecast, and those of the views behind their
    /// names.
    pub fn fields() -> Vec<serde_json::Value> {
        let own = ForecastRequest::fields().iter().filter(|field| !NOT_HERE.contains(&field.key));
        let of_view = |view: &str, fields: &[Field]| -> Vec<serde_json::Value> {
            let named = |field: &Field| {
                let mut all = field.describe(Door::Page);
                all["name"] = format!("{view}.{}", Door::Page.name(field.key)).into();
                all
            };
            fields.iter().map(named).collect()
        };
        let mut all: Vec<serde_json::Value> = own.map(|field| field.describe(Door::Page)).collect();
        all.extend(of_view("phase", PhaseRequest::fields()));
        all.extend(of_view("advise", AdviseRequest::fields()));
        all
    }

    /// The file that an address names and nobody has given, if any.
    pub fn missing(address: &str, files: &Files) -> Option<String> {
        let mut pairs = form_urlencoded::parse(address.as_bytes());
        let named = pairs.find(|(key, _)| key == "tasks" || key == "features")?.1.into_owned();
        (files.named(&named).is_err() && !named.contains(['/', '\\'])).then_some(named)
    }

    /// Whether the tasks are features, of which a head alone learns.
    pub fn of_features(&self) -> bool {
        !self.forecast.features.is_empty()
    }

    /// Refuses what can be refused before any tasks are drawn.
    fn check(&self) -> Result<()> {
        self.forecast.tasks.refuse_best_order("the page")?;
        if let Some(OwnFile { content: Content::Recipe(_), .. }) = &self.file {
            self.forecast.settings()?;
            self.recipe()?;
        } else {
            if self.file.is_none() {
                known_data(self.forecast.tasks.data())?;
            }
            self.forecast.check()?;
        }
        if !self.of_features() {
            in_view("phase", self.phase_request().and_then(|request| request.check_fields()))?;
        }
        match (&self.phase.pair[..], &self.phase.lambda[..]) {
            ([i, j], [_]) if i != j && *i > 0 && *j > 0 => Ok(()),
            ([_, _], lambdas) if lambdas.len() != 1 => {
                Err(Error::setting("phase.lambda", lambdas.len(), "must be one penalty, or inf"))
            }
            (pair, _) => {
                let pair: Vec<String> = pair.iter().map(usize::to_string).collect();
                Err(Error::setting("phase.pair", pair.join(","), "must be two different tasks, such as 1,2"))
            }
        }
    }

    /// What makes the tasks before they are put in order; a file's own tasks are in memory already.
    ///
    /// # Errors
    /// What the keys say.
    pub fn recipe(&self) -> Result<Recipe> {
        let mut tasks = self.forecast.tasks.clone();
        tasks.order = LearningOrder::Given;
        match &self.file {
            Some(OwnFile { content: Content::Recipe(recipe), .. }) => {
                let post = PostSteps { order: Vec::new(), ..recipe.post.clone() };
                tasks.over(Recipe { post, ..(**recipe).clone() })
            }
            _ => tasks.recipe(),
        }
    }

    /// The order in which tasks are learned, from 1: the one asked for, or the one in which they come.
    pub fn order(&self, count: usize) -> Vec<usize> {
        let order = self.forecast.tasks.order.numbers();
        if order.is_empty() { self.came(count) } else { order.to_vec() }
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
            None => format!("{}, {}", self.forecast.tasks.data(), self.forecast.tasks.protocol_name()),
        }
    }

    /// The penalty of the phase diagram.
    pub fn phase_lambda(&self) -> f64 {
        self.phase.lambda.first().copied().unwrap_or(f64::INFINITY)
    }

    /// The request of the phase diagram of the chosen pair: the forecast's network, with a penalty and a temperature of its own.
    ///
    /// # Errors
    /// [`Error::Setting`] for what the phase diagram does not know.
    pub fn phase_request(&self) -> Result<PhaseRequest> {
        if let Some(name) = self.forecast.features.first() {
            let expected = "are given as they are: a network that learns its own has a width";
            return Err(Error::setting("features", name.display(), expected));
        }
        let mut request = self.phase.clone();
        self.share(&mut request, &["order", "lambda", "beta"])?;
        request.representation &= request.width.is_some();
        Ok(request)
    }

    /// The request of advice, which sweeps penalties and widths itself.
    ///
    /// # Errors
    /// [`Error::Setting`] for what advice does not know.
    pub fn advise_request(&self) -> Result<AdviseRequest> {
        let mut request = self.advise.clone();
        self.share(&mut request, &["lambdas", "widths"])?;
        Ok(request)
    }

    /// Sets what was asked of the forecast, where the other request has a field for it.
    fn share<R: Fields>(&self, request: &mut R, but: &[&str]) -> Result<()> {
        let shared =
            self.forecast.given().filter(|(field, _)| R::field(field.key).is_some() && !but.contains(&field.key));
        shared.into_iter().try_for_each(|(field, value)| request.set(field.key, &value))
    }

    /// What the tasks depend on: equal words, equal tasks.
    ///
    /// # Errors
    /// What the keys say.
    pub fn tasks_key(&self) -> Result<String> {
        let file = self.file.as_ref().map_or("", |file| &file.hash);
        if self.of_features() {
            let tasks = &self.forecast.tasks;
            return Ok(format!("{file} features {:?} {}", tasks.classes_per_task, tasks.seed()));
        }
        let recipe = serde_json::to_string(&self.recipe()?);
        Ok(format!("{file} {}", recipe.map_err(|e| Error::data("the recipe", e.to_string()))?))
    }
}

/// An error with the name that the address has for the setting.
fn in_view(view: &str, done: Result<()>) -> Result<()> {
    done.map_err(|error| match Door::Page.say(error) {
        Error::Setting { name, value, expected } => Error::setting(format!("{view}.{name}"), value, expected),
        other => other,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_the_words_of_the_flags() {
        let files = Files::default();
        let state = State::read("protocol=split&examples=50&order=2,1,3,4,5&mode=gibbs&lambda=10&phase.pair=3,1&phase.lambda=inf&phase.width=200&one-hot=true", &files).unwrap();
        assert_eq!((&state.phase.pair[..], state.phase.width), (&[3, 1][..], Some(200.0)));
        let tasks = &state.forecast.tasks;
        assert_eq!((state.forecast.lambda, tasks.examples, tasks.one_hot), (10.0, Some(50), true));
        assert_eq!((state.order(5), state.came(5)), (vec![2, 1, 3, 4, 5], vec![1, 2, 3, 4, 5]));
        assert!(state.recipe().unwrap().post.order.is_empty() && state.phase_lambda().is_infinite());
        let underscored = State::read("test_examples=20&rho_target=0.25&protocol=target-distractor", &files).unwrap();
        let tasks = &underscored.forecast.tasks;
        assert_eq!((tasks.test_examples, tasks.rho_target), (Some(20), Some(0.25)));
        let first = State::read(FIRST, &files).unwrap();
        assert_eq!(first.order(3), [1, 2, 3]);
        let given = first.forecast.given();
        let written: Vec<String> =
            given.map(|(field, value)| format!("{}={value}", Door::Page.name(field.key))).collect();
        assert_eq!(written.join("&"), FIRST);
    }

    /// Labels, defaults and bounds of the page's controls are those of the requests.
    #[test]
    fn fields_are_described_for_the_page() {
        let fields = State::fields();
        let named = |name: &str| fields.iter().find(|field| field["name"] == name).unwrap();
        assert!(fields.iter().all(|field| !field["label"].as_str().unwrap().is_empty()));
        assert_eq!((&named("depth")["label"], &named("depth")["default"]), (&"hidden layers".into(), &1.into()));
        assert_eq!((&named("beta")["label"], &named("sigma")["low"]), (&"inverse temperature".into(), &0.0.into()));
        let ratio = &named("ratio")["belongs"]["words"];
        assert_eq!(ratio["permuted"], serde_json::json!({ "label": "share of pixels shuffled", "usual": "1" }));
        assert_eq!(ratio["partial-split"], serde_json::json!({ "label": "the split", "usual": "0.5" }));
        assert_eq!(named("phase.lambda")["default"], serde_json::json!(["inf"]));
        assert!(fields.iter().all(|field| !NOT_HERE.contains(&field["name"].as_str().unwrap())));
    }

    #[test]
    fn advice_sweeps_the_penalty_itself_and_refuses_one() {
        let settings = |address: &str| {
            let state = State::read(address, &Files::default()).unwrap();
            state.advise_request()?.settings()?.checked()
        };
        for gibbs in ["mode=gibbs&lambda=10", "mode=gibbs"] {
            let refused = settings(gibbs).unwrap_err().to_string();
            assert_eq!(refused, "--mode is gibbs; must be rf, ntk or lazy");
        }
        settings("mode=ntk").unwrap();
    }

    #[test]
    fn malformed_addresses_are_refused_in_a_sentence() {
        let files = Files::default();
        let long = format!("order={}", "1,".repeat(3000));
        for (address, words) in [
            ("wiew=phase", "wiew"),
            ("view=phase", "view"),
            ("depth=deep", "depth is deep"),
            ("depth=0", "depth"),
            ("mode=soft", "mode is soft"),
            ("data=/etc/passwd", "data is /etc/passwd"),
            ("data=../mnist", "must be a data set that is here"),
            ("tasks=/etc/passwd", "drop it on the page again"),
            ("protocol=split&ratio=0.5", "--ratio"),
            ("lambda=5", "lambda"),
            ("phase.pair=1,1", "two different tasks"),
            ("phase.pair=x", "phase.pair is x"),
            ("phase.width=0.5", "at least 1"),
            ("phase.width=-3", "phase.width"),
            ("phase.representation=1", "true or false"),
            ("sigma=-1", "sigma"),
            ("widths=ten", "widths"),
            ("seed=-1", "seed is -1"),
            ("phase.lambda=1,2", "phase.lambda"),
            ("features=/etc/passwd", "drop it on the page again"),
            ("features=a.npz,b.npz", "must be one file"),
            ("advise.budget=many", "advise.budget is many"),
            (long.as_str(), "too long"),
        ] {
            let said = State::read(address, &files).map(|_| ()).unwrap_err().to_string();
            assert!(said.contains(words), "{address}: {said}");
        }
    }
}
