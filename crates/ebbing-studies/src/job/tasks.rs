//! Which tasks are learned: the keys that flags and study files share, and the step from them to a [`Recipe`].

use super::words::{choice, list, number};
use clap::{Args, ValueEnum};
use ebbing::data::{Center, Order, Preprocess, Sources, Whiten};
use ebbing::plan::Sizes;
use ebbing::tasks::{
    Interpolated, Labels, PartialSplit, Permuted, PostSteps, Protocol, Split, TargetDistractor, TaskOrigin, TasksFile,
    WithContext, dim_of,
};
use ebbing::{Error, Recipe, Result, TaskSequence};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// How tasks are made from a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolKind {
    /// Every task sees the images through its own shuffle of their pixels
    #[default]
    Permuted,
    /// Every task has classes of its own
    Split,
    /// Two tasks on two pairs of classes, mixed in opposite proportions
    PartialSplit,
    /// Random labels on a few images, with controlled sharing between tasks
    TargetDistractor,
}

/// What can be subtracted from an image.
const CENTERS: &[(&str, &str)] = &[
    ("image", "The image's own mean"),
    ("pixel", "The mean of each pixel over the training set"),
    ("none", "Nothing"),
];

/// In which order inputs are prepared.
const ORDERS: &[(&str, &str)] = &[
    ("standard", "Centered, whitened with a ridge, scaled to squared norm N0"),
    ("authors", "Centered, scaled, whitened without a ridge, scaled: every step, also of own tasks"),
];

/// Which tasks are learned.
#[derive(Debug, Clone, PartialEq, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Tasks")]
#[serde(default)]
pub struct TaskKeys {
    /// Your own tasks: FILE.npz, a folder of such files, or a FILE.toml recipe (see ebbing check --help)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["data", "protocol"])]
    pub tasks: Option<PathBuf>,
    /// Data set to draw tasks from (see ebbing data list) [default: mnist-sample]
    #[arg(long, value_name = "NAME")]
    pub data: Option<String>,
    /// How tasks are drawn [default: permuted]
    #[arg(long, value_enum)]
    pub protocol: Option<ProtocolKind>,
    /// Number of tasks [default: 5]
    #[arg(long, value_name = "T")]
    pub length: Option<usize>,
    /// Training examples per task [default: depends on the protocol]
    #[arg(short = 'p', long, value_name = "P")]
    pub examples: Option<usize>,
    /// Test examples per task; 0 for none [default: depends on the protocol]
    #[arg(long, value_name = "P")]
    pub test_examples: Option<usize>,
    /// Permuted: share of pixels shuffled; partial split: the split [default: 1, 0.5]
    #[arg(long, value_parser = number, value_name = "R")]
    pub ratio: Option<f64>,
    /// Permuted: leave the first task unpermuted
    #[arg(long)]
    pub first_unpermuted: bool,
    /// Permuted: other images in every task
    #[arg(long)]
    pub fresh_images: bool,
    /// Split: classes on either side of a task [default: 1]
    #[arg(long, value_name = "N")]
    pub classes_per_group: Option<usize>,
    /// Split: one target column per class group instead of one of ±1
    #[arg(long)]
    pub one_hot: bool,
    /// Target-distractor: share of targets that all tasks share [default: 0.5]
    #[arg(long, value_parser = number, value_name = "RHO")]
    pub rho_target: Option<f64>,
    /// Target-distractor: share of images that all tasks share [default: 0.5]
    #[arg(long, value_parser = number, value_name = "RHO")]
    pub rho_shared: Option<f64>,
    /// Target-distractor: chance that a shared label is flipped in a task [default: 0]
    #[arg(long, value_parser = number, value_name = "RHO")]
    pub rho_flip: Option<f64>,
    /// Insert S datasets between two tasks
    #[arg(long, value_name = "S")]
    pub intermediate: Option<usize>,
    /// Append a random context vector of N entries to the inputs of each task
    #[arg(long, value_name = "N")]
    pub context: Option<usize>,
    /// Learn the tasks in this order: every task once, by its number, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub order: Vec<usize>,
    /// The seed; with several seeds, the first of them [default: 0, or the recipe's own]
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,
    /// How inputs are prepared.
    #[command(flatten)]
    #[serde(flatten)]
    pub preprocess: PreprocessKeys,
}

/// How inputs are prepared.
#[derive(Debug, Clone, PartialEq, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Preparation of inputs (of own tasks only the steps that are asked for)")]
#[serde(default)]
pub struct PreprocessKeys {
    /// Order of the steps [default: standard]
    #[arg(long, value_parser = choice::<Order>(ORDERS), value_name = "ORDER")]
    pub preprocess_order: Option<Order>,
    /// What is subtracted from an input [default for data sets: image]
    #[arg(long, value_parser = choice::<Center>(CENTERS))]
    pub center: Option<Center>,
    /// Whiten with the training covariance (ZCA); the default for data sets
    #[arg(long, conflicts_with = "no_whiten")]
    pub whiten: bool,
    /// Do not whiten
    #[arg(long)]
    pub no_whiten: bool,
    /// Ridge of the whitening, relative to the largest eigenvalue [default: 1e-7; authors: 0]
    #[arg(long, value_parser = number, value_name = "RIDGE", conflicts_with = "no_whiten")]
    pub whiten_ridge: Option<f64>,
    /// Scale inputs to squared norm N0; the default for data sets
    #[arg(long, conflicts_with = "no_norm")]
    pub norm: bool,
    /// Do not scale inputs to squared norm N0
    #[arg(long)]
    pub no_norm: bool,
}

impl PreprocessKeys {
    /// The checked settings; `None` where no key was given. What is not given is as in `base`.
    fn settings(&self, base: Preprocess) -> Result<Option<Preprocess>> {
        if *self == PreprocessKeys::default() {
            return Ok(None);
        }
        let mut settings =
            if self.preprocess_order == Some(Order::Authors) { Preprocess::all(Order::Authors) } else { base };
        settings.center = self.center.unwrap_or(settings.center);
        if self.no_whiten {
            if self.whiten || self.whiten_ridge.is_some() {
                return Err(Error::setting("--no-whiten", "given", "does not go with --whiten or --whiten-ridge"));
            }
            settings.whiten = None;
        } else if let Some(ridge) = self.whiten_ridge {
            if !(ridge.is_finite() && ridge >= 0.0) {
                return Err(Error::setting("--whiten-ridge", ridge, "must be at least 0 and finite"));
            }
            settings.whiten = Some(Whiten { ridge, ..Whiten::default() });
        } else if self.whiten {
            settings.whiten.get_or_insert_default();
        }
        if self.norm && self.no_norm {
            return Err(Error::setting("--no-norm", "given", "does not go with --norm"));
        }
        settings.normalize = (settings.normalize || self.norm) && !self.no_norm;
        Ok(Some(settings))
    }
}

impl TaskKeys {
    /// The seed of everything that is drawn.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The first key whose value is not that of `others`, and the value.
    pub(super) fn first_other_than(&self, others: &TaskKeys) -> Option<(String, String)> {
        let [own, other] = [self, others].map(|keys| serde_json::to_value(keys).unwrap_or_default());
        let (key, value) = own.as_object()?.iter().find(|(key, value)| other.get(key.as_str()) != Some(*value))?;
        Some((key.clone(), value.as_str().map_or_else(|| value.to_string(), String::from)))
    }

    /// The data set that tasks are drawn from.
    pub fn data(&self) -> &str {
        self.data.as_deref().unwrap_or("mnist-sample")
    }

    /// How tasks are drawn.
    pub fn kind(&self) -> ProtocolKind {
        self.protocol.unwrap_or_default()
    }

    /// The protocol in words.
    pub fn protocol_name(&self) -> String {
        self.kind().to_possible_value().map_or(String::new(), |v| v.get_name().replace('-', " "))
    }

    /// Examples and test examples, where tasks are drawn and none were asked for. Tasks that divide the classes are tested on
    /// 200 at most, as their protocols do: the embedded images have 100 of a class.
    pub fn or_examples(mut self, p: usize) -> TaskKeys {
        if self.tasks.is_none() {
            let by_class = matches!(self.kind(), ProtocolKind::Split | ProtocolKind::PartialSplit);
            self.examples.get_or_insert(p);
            self.test_examples.get_or_insert(if by_class { p.min(200) } else { p });
        }
        self
    }

    /// What makes the tasks.
    ///
    /// # Errors
    /// Whatever is wrong with the keys, in one sentence; data sets are not touched, a recipe's file is.
    pub fn recipe(&self) -> Result<Recipe> {
        // Own inputs are prepared only as asked, those of a data set as in the paper unless asked otherwise.
        let base = if self.tasks.is_some() { Preprocess::none() } else { Preprocess::default() };
        let preprocess = self.preprocess.settings(base)?;
        let post = PostSteps {
            interpolate: self.intermediate.map(|steps| Interpolated { steps }),
            context: self.context.map(|dim| WithContext { dim, ..WithContext::default() }),
            order: self.order.clone(),
        };
        let Some(path) = &self.tasks else {
            let origin = TaskOrigin::Drawn { data: self.data().into(), protocol: self.protocol()? };
            let preprocess = Some(preprocess.unwrap_or_default());
            return Ok(Recipe { origin, preprocess, post, seed: self.seed() });
        };
        self.refuse_keys_of_drawing()?;
        if path.extension().is_none_or(|ending| ending != "toml") {
            return Ok(Recipe { origin: TaskOrigin::Own(TasksFile::new(path)), preprocess, post, seed: self.seed() });
        }
        if preprocess.is_some() {
            let expected = "a recipe says itself how inputs are prepared: use its [preprocess] table";
            return Err(Error::setting("preparation of inputs", "given by flags", expected));
        }
        let recipe = Recipe::read(path)?;
        let post = PostSteps {
            interpolate: post.interpolate.or(recipe.post.interpolate),
            context: post.context.or(recipe.post.context),
            order: if post.order.is_empty() { recipe.post.order } else { post.order },
        };
        Ok(Recipe { post, seed: self.seed.unwrap_or(recipe.seed), ..recipe })
    }

    /// The tasks of one seed.
    ///
    /// # Errors
    /// As [`TaskKeys::recipe`] and [`Recipe::draw`].
    pub fn sequence(&self, sources: &Sources) -> Result<TaskSequence> {
        let recipe = self.recipe()?;
        recipe.draw(sources, recipe.seed)
    }

    /// The sizes of a sequence, for estimates. Files are read once, however many cells ask.
    ///
    /// # Errors
    /// As [`TaskKeys::recipe`] and [`Recipe::sizes`].
    pub fn sizes(&self) -> Result<Sizes> {
        static FILES: Mutex<BTreeMap<String, Sizes>> = Mutex::new(BTreeMap::new());
        static SETS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
        let recipe = self.recipe()?;
        match &recipe.origin {
            TaskOrigin::Own(_) => {
                let key = format!("{:?} {:?}", recipe.origin, recipe.post);
                remembered(&FILES, &key, || recipe.sizes())
            }
            TaskOrigin::Drawn { .. } => recipe.sizes_with(&|data| remembered(&SETS, data, || dim_of(data))),
        }
    }

    /// The protocol with the keys that belong to it.
    ///
    /// # Errors
    /// [`Error::Setting`] for a key that belongs to another protocol.
    pub fn protocol(&self) -> Result<Protocol> {
        self.refuse_keys_of_others()?;
        let (length, p, p_test) = (self.length, self.examples, self.test_examples);
        Ok(match self.kind() {
            ProtocolKind::Permuted => {
                let d = Permuted::default();
                Protocol::Permuted(Permuted {
                    tasks: length.unwrap_or(d.tasks),
                    p: p.unwrap_or(d.p),
                    p_test: p_test.unwrap_or(d.p_test),
                    ratio: self.ratio.unwrap_or(d.ratio),
                    permute_first: !self.first_unpermuted,
                    fresh_images: self.fresh_images,
                    ..d
                })
            }
            ProtocolKind::Split => {
                let d = Split::default();
                Protocol::Split(Split {
                    tasks: length.unwrap_or(d.tasks),
                    p: p.unwrap_or(d.p),
                    p_test: p_test.unwrap_or(d.p_test),
                    classes_per_group: self.classes_per_group.unwrap_or(d.classes_per_group),
                    labels: if self.one_hot { Labels::OneHot } else { Labels::Sign },
                    ..d
                })
            }
            ProtocolKind::PartialSplit => {
                let d = PartialSplit::default();
                if let Some(length) = length.filter(|&t| t != 2) {
                    return Err(Error::setting("--length", length, "must be 2: a partial split has two tasks"));
                }
                Protocol::PartialSplit(PartialSplit {
                    split: self.ratio.unwrap_or(d.split),
                    p: p.unwrap_or(d.p),
                    p_test: p_test.unwrap_or(d.p_test),
                    ..d
                })
            }
            ProtocolKind::TargetDistractor => {
                let d = TargetDistractor::default();
                Protocol::TargetDistractor(TargetDistractor {
                    tasks: length.unwrap_or(d.tasks),
                    p: p.unwrap_or(d.p),
                    rho_target: self.rho_target.unwrap_or(d.rho_target),
                    rho_shared: self.rho_shared.unwrap_or(d.rho_shared),
                    rho_flip: self.rho_flip.unwrap_or(d.rho_flip),
                    p_test: p_test.or(d.p_test),
                    ..d
                })
            }
        })
    }

    /// The keys of protocols that were given, with the protocols that take them.
    fn protocol_keys(&self) -> Vec<(&'static str, &'static [ProtocolKind])> {
        use ProtocolKind::{PartialSplit, Permuted, Split, TargetDistractor};
        let all: [(&'static str, bool, &'static [ProtocolKind]); 8] = [
            ("--ratio", self.ratio.is_some(), &[Permuted, PartialSplit]),
            ("--first-unpermuted", self.first_unpermuted, &[Permuted]),
            ("--fresh-images", self.fresh_images, &[Permuted]),
            ("--classes-per-group", self.classes_per_group.is_some(), &[Split]),
            ("--one-hot", self.one_hot, &[Split]),
            ("--rho-target", self.rho_target.is_some(), &[TargetDistractor]),
            ("--rho-shared", self.rho_shared.is_some(), &[TargetDistractor]),
            ("--rho-flip", self.rho_flip.is_some(), &[TargetDistractor]),
        ];
        all.into_iter().filter(|(_, given, _)| *given).map(|(name, _, kinds)| (name, kinds)).collect()
    }

    fn refuse_keys_of_others(&self) -> Result<()> {
        for (name, kinds) in self.protocol_keys() {
            if !kinds.contains(&self.kind()) {
                let names: Vec<String> =
                    kinds.iter().filter_map(|k| k.to_possible_value()).map(|v| v.get_name().into()).collect();
                return Err(Error::setting(name, "given", format!("it belongs to --protocol {}", names.join(" or "))));
            }
        }
        Ok(())
    }

    fn refuse_keys_of_drawing(&self) -> Result<()> {
        let mut given: Vec<&str> = self.protocol_keys().into_iter().map(|(name, _)| name).collect();
        for (name, is_given) in [
            ("--data", self.data.is_some()),
            ("--protocol", self.protocol.is_some()),
            ("--length", self.length.is_some()),
            ("--examples", self.examples.is_some()),
            ("--test-examples", self.test_examples.is_some()),
        ] {
            given.extend(is_given.then_some(name));
        }
        match given.first() {
            Some(name) => {
                Err(Error::setting(*name, "given", "it draws tasks from a data set and does not go with --tasks"))
            }
            None => Ok(()),
        }
    }
}

/// What was looked up before, or is now.
fn remembered<T: Clone>(
    known: &Mutex<BTreeMap<String, T>>,
    key: &str,
    look_up: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let mut known = known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(value) = known.get(key) {
        return Ok(value.clone());
    }
    let value = look_up()?;
    known.insert(key.into(), value.clone());
    Ok(value)
}
