//! The flags that say which tasks are learned, and the step from them to task sequences.

use clap::{Args, ValueEnum};
use ebbing::data::{Centre, KnownSet, Preprocess, Whiten};
use ebbing::plan::Sizes;
use ebbing::tasks::{
    Interpolated, Labels, PartialSplit, Permuted, PostSteps, Protocol, Split, TargetDistractor, WithContext,
};
use ebbing::{Dataset, Error, Recipe, Result, Source, TaskSequence};
use ebbing_studies::Sources;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How tasks are made from a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Every task sees the images through its own shuffle of their pixels
    Permuted,
    /// Every task has classes of its own
    Split,
    /// Two tasks on two pairs of classes, mixed in opposite proportions
    PartialSplit,
    /// Random labels on a few images, with controlled sharing between tasks
    TargetDistractor,
}

/// What is subtracted from an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CentreFlag {
    /// The image's own mean
    Image,
    /// The mean of each pixel over the training set
    Pixel,
    /// Nothing
    None,
}

/// Which tasks are learned.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Tasks")]
pub struct SequenceArgs {
    /// Your own tasks: FILE.npz, a folder of such files, or a FILE.toml recipe (see ebbing check --help)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["data", "protocol"])]
    pub tasks: Option<PathBuf>,
    /// Data set to draw tasks from (see ebbing data list)
    #[arg(long, value_name = "NAME", default_value = "mnist-sample")]
    pub data: String,
    /// How tasks are drawn
    #[arg(long, value_enum, default_value = "permuted")]
    pub protocol: Kind,
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
    #[arg(long, value_name = "R")]
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
    #[arg(long, value_name = "RHO")]
    pub rho_target: Option<f64>,
    /// Target-distractor: share of images that all tasks share [default: 0.5]
    #[arg(long, value_name = "RHO")]
    pub rho_shared: Option<f64>,
    /// Target-distractor: chance that a shared label is flipped in a task [default: 0]
    #[arg(long, value_name = "RHO")]
    pub rho_flip: Option<f64>,
    /// Insert S datasets between two tasks
    #[arg(long, value_name = "S")]
    pub intermediate: Option<usize>,
    /// Append a random context vector of N entries to the inputs of each task
    #[arg(long, value_name = "N")]
    pub context: Option<usize>,
    /// The seed; with several seeds, the first of them
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub preprocess: PreprocessArgs,
}

/// How inputs are prepared.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Preparation of inputs (own tasks stay as they are unless one is given)")]
pub struct PreprocessArgs {
    /// What is subtracted from an input [default: image]
    #[arg(long, value_enum)]
    pub centre: Option<CentreFlag>,
    /// Whiten with the training covariance (ZCA); the default for data sets
    #[arg(long, conflicts_with = "no_whiten")]
    pub whiten: bool,
    /// Do not whiten
    #[arg(long)]
    pub no_whiten: bool,
    /// Ridge of the whitening, relative to the largest eigenvalue [default: 1e-7]
    #[arg(long, value_name = "RIDGE", conflicts_with = "no_whiten")]
    pub whiten_ridge: Option<f64>,
    /// Do not scale inputs to squared norm N0
    #[arg(long)]
    pub no_norm: bool,
}

impl PreprocessArgs {
    /// Whether any flag was given.
    fn given(&self) -> bool {
        self.centre.is_some() || self.whiten || self.no_whiten || self.whiten_ridge.is_some() || self.no_norm
    }

    /// The checked settings.
    fn settings(&self) -> Result<Preprocess> {
        let mut settings = Preprocess::default();
        if let Some(centre) = self.centre {
            settings.centre = match centre {
                CentreFlag::Image => Centre::Image,
                CentreFlag::Pixel => Centre::Pixel,
                CentreFlag::None => Centre::None,
            };
        }
        if self.no_whiten {
            settings.whiten = None;
        } else if let Some(ridge) = self.whiten_ridge {
            if !(ridge.is_finite() && ridge >= 0.0) {
                return Err(Error::setting("--whiten-ridge", ridge, "must be at least 0 and finite"));
            }
            settings.whiten = Some(Whiten { ridge, ..Whiten::default() });
        }
        settings.normalise = !self.no_norm;
        Ok(settings)
    }
}

/// The sizes behind a name, looked up once: a study asks for them in every cell.
fn remembered(name: &str, look_up: impl FnOnce() -> Result<Sizes>) -> Result<Sizes> {
    static KNOWN: Mutex<BTreeMap<String, Sizes>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(sizes) = known.get(name) {
        return Ok(sizes.clone());
    }
    let sizes = look_up()?;
    known.insert(name.into(), sizes.clone());
    Ok(sizes)
}

/// Where sequences come from: a data set ready to draw from, or the user's own tasks.
pub enum Origin {
    /// A prepared data set and a protocol: every seed draws another sequence.
    Drawn { source: Arc<Source>, protocol: Protocol, post: PostSteps },
    /// A recipe and what it draws from.
    Recipe { recipe: Box<Recipe>, source: Option<Box<Source>>, post: PostSteps },
    /// One sequence.
    Given(Box<TaskSequence>),
}

impl Origin {
    /// The sequence that belongs to `seed`.
    pub fn sequence(&self, seed: u64) -> Result<TaskSequence> {
        match self {
            Origin::Drawn { source, protocol, post } => post.apply(protocol.generate(source, seed)?, seed),
            Origin::Recipe { recipe, source, post } => post.apply(recipe.draw(source.as_deref(), seed)?, seed),
            Origin::Given(sequence) => Ok((**sequence).clone()),
        }
    }

    /// Whether another seed gives another sequence.
    pub fn varies(&self) -> bool {
        matches!(self, Origin::Drawn { .. } | Origin::Recipe { source: Some(_), .. })
    }
}

impl SequenceArgs {
    /// Loads the data and prepares it.
    ///
    /// # Errors
    /// Whatever is wrong with the flags or the data, in one sentence.
    pub fn origin(&self) -> Result<Origin> {
        self.origin_from(&Sources::new())
    }

    /// The same with a data set that other sequences share.
    ///
    /// # Errors
    /// As [`SequenceArgs::origin`].
    pub fn origin_from(&self, sources: &Sources) -> Result<Origin> {
        if let Some(path) = &self.tasks {
            self.refuse_protocol_flags()?;
            if path.extension().is_some_and(|ending| ending == "toml") {
                if self.preprocess.given() {
                    let expected = "a recipe says itself how inputs are prepared: use its [preprocess] table";
                    return Err(Error::setting("preparation of inputs", "given by flags", expected));
                }
                let recipe = Recipe::read(path)?;
                let source = recipe.source()?.map(Box::new);
                return Ok(Origin::Recipe { recipe: Box::new(recipe), source, post: self.post() });
            }
            let mut sequence = TaskSequence::load(path)?;
            if self.preprocess.given() {
                sequence = sequence.preprocessed(&self.preprocess.settings()?)?;
            }
            let sequence = self.post().apply(sequence, self.seed)?;
            return Ok(Origin::Given(Box::new(sequence)));
        }
        let protocol = self.protocol()?;
        let source = sources.get(&self.data, &self.preprocess.settings()?)?;
        Ok(Origin::Drawn { source, protocol, post: self.post() })
    }

    /// Checks the flags without touching data.
    ///
    /// # Errors
    /// Whatever is wrong with them, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.preprocess.settings()?;
        if self.tasks.is_some() { self.refuse_protocol_flags() } else { self.protocol().map(|_| ()) }
    }

    /// The sizes of a sequence, for estimates; nothing is drawn from a data set.
    ///
    /// # Errors
    /// As [`SequenceArgs::origin`].
    pub fn sizes(&self) -> Result<Sizes> {
        if let Some(path) = &self.tasks {
            return remembered(&path.display().to_string(), || {
                let recipe = path.extension().is_some_and(|ending| ending == "toml");
                let sequence = if recipe { Recipe::read(path)?.sequence()? } else { TaskSequence::load(path)? };
                Ok(Sizes::of(&sequence))
            });
        }
        let (tasks, p, p_test, columns) = match self.protocol()? {
            Protocol::Permuted(d) => (d.tasks, d.p, d.p_test, 1),
            Protocol::Split(d) => (d.tasks, d.p, d.p_test, if d.labels == Labels::OneHot { d.groups } else { 1 }),
            Protocol::PartialSplit(d) => (2, d.p, d.p_test, 1),
            Protocol::TargetDistractor(d) => (d.tasks, d.p, d.p_test.unwrap_or(d.p), 1),
        };
        let tasks = tasks + self.intermediate.unwrap_or(0);
        let dim = match KnownSet::named(&self.data) {
            // Colour images become grey ones.
            Some(set) => set.image_shape.iter().take(2).product(),
            None => {
                let dim = || Dataset::load(&self.data).map(|set| set.train.features.dim());
                let none = Vec::new;
                let load = || Ok(Sizes { train: none(), test: none(), dim: dim()?, columns: 0, distinct: None });
                remembered(&self.data, load)?.dim
            }
        };
        let dim = dim + self.context.unwrap_or(0);
        Ok(Sizes { train: vec![p; tasks], test: vec![p_test; tasks], dim, columns, distinct: None })
    }

    fn post(&self) -> PostSteps {
        PostSteps {
            interpolate: self.intermediate.map(|steps| Interpolated { steps }),
            context: self.context.map(|dim| WithContext { dim, ..WithContext::default() }),
        }
    }

    /// The protocol in words.
    pub fn protocol_name(&self) -> String {
        self.protocol.to_possible_value().map_or(String::new(), |v| v.get_name().replace('-', " "))
    }

    /// Whether the protocol has a ratio.
    pub fn takes_ratio(&self) -> bool {
        matches!(self.protocol, Kind::Permuted | Kind::PartialSplit)
    }

    /// The protocol with the flags that belong to it.
    ///
    /// # Errors
    /// [`Error::Setting`] for a flag that belongs to another protocol.
    pub fn protocol(&self) -> Result<Protocol> {
        self.refuse_flags_of_others()?;
        let (length, p, p_test) = (self.length, self.examples, self.test_examples);
        Ok(match self.protocol {
            Kind::Permuted => {
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
            Kind::Split => {
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
            Kind::PartialSplit => {
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
            Kind::TargetDistractor => {
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

    /// The flags of protocols that were given, with the protocols that take them.
    fn protocol_flags(&self) -> Vec<(&'static str, &'static [Kind])> {
        use Kind::{PartialSplit, Permuted, Split, TargetDistractor};
        let all: [(&'static str, bool, &'static [Kind]); 8] = [
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

    fn refuse_flags_of_others(&self) -> Result<()> {
        for (name, kinds) in self.protocol_flags() {
            if !kinds.contains(&self.protocol) {
                let names: Vec<String> =
                    kinds.iter().filter_map(|k| k.to_possible_value()).map(|v| v.get_name().into()).collect();
                return Err(Error::setting(name, "given", format!("it belongs to --protocol {}", names.join(" or "))));
            }
        }
        Ok(())
    }

    fn refuse_protocol_flags(&self) -> Result<()> {
        let mut given: Vec<&str> = self.protocol_flags().into_iter().map(|(name, _)| name).collect();
        for (name, is_given) in [
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
