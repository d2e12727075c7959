//! Which tasks are learned: the fields that all requests share, and the step from them to a [`Recipe`].

use super::field::{Fields, Range, fields};
use super::words::{Choice, LearningOrder, ProtocolKind};
use crate::data::{Center, Order, Preprocess, Whiten};
use crate::error::{Error, Result};
use crate::tasks::{
    ByClass, Interpolated, Labels, PartialSplit, Permuted, PostSteps, Protocol, Recipe, Split, TargetDistractor,
    TaskOrigin, TaskSequence, TasksFile, WithContext,
};
use std::path::PathBuf;

/// Fields that draw tasks from a data set do not go with tasks that are given.
const DRAWN: &[&str] = &["tasks"];

fields! {
    /// Which tasks are learned.
    pub struct TaskFields in "Tasks" {
        /// Your own tasks: FILE.npz (.npy, .mat, .csv), a folder of such files, or a FILE.toml recipe (see ebbing check --help)
        tasks: Option<PathBuf> = None, value("PATH");
        /// Make tasks of K classes each out of one set of features and labels (--tasks or --features FILE); which, the seed draws
        classes_per_task: Option<usize> = None, value("K"), range(Range::AT_LEAST_1), unit("classes");
        /// Data set to draw tasks from (see ebbing data list)
        data: Option<String> = None, value("NAME"), usual("mnist-sample"), without(DRAWN);
        /// How tasks are drawn
        protocol: Option<ProtocolKind> = None, usual("permuted"), without(DRAWN);
        /// Number of tasks
        length: Option<usize> = None, value("T"), usual("5"), sets(&["tasks"]), without(DRAWN);
        /// Training examples per task
        examples: Option<usize> = None, value("P"), short('p'), usual("depends on the protocol"), sets(&["p"]), without(DRAWN);
        /// Test examples per task; 0 for none
        test_examples: Option<usize> = None, value("P"), usual("depends on the protocol"), sets(&["p_test"]), without(DRAWN);
        /// Permuted: share of pixels shuffled; partial split: the split
        ratio: Option<f64> = None, value("R"), usual("1, 0.5"), sets(&["split"]), belongs("protocol", &["permuted", "partial-split"]), without(DRAWN);
        /// Permuted: leave the first task unpermuted
        first_unpermuted: bool = false, belongs("protocol", &["permuted"]), without(DRAWN);
        /// Permuted: other images in every task
        fresh_images: bool = false, belongs("protocol", &["permuted"]), without(DRAWN);
        /// Split: classes on either side of a task
        classes_per_group: Option<usize> = None, value("N"), usual("1"), belongs("protocol", &["split"]), without(DRAWN);
        /// Split: one target column per class group instead of one of ±1
        one_hot: bool = false, belongs("protocol", &["split"]), without(DRAWN);
        /// Target-distractor: share of targets that all tasks share
        rho_target: Option<f64> = None, value("RHO"), usual("0.5"), belongs("protocol", &["target-distractor"]), without(DRAWN);
        /// Target-distractor: share of images that all tasks share
        rho_shared: Option<f64> = None, value("RHO"), usual("0.5"), belongs("protocol", &["target-distractor"]), without(DRAWN);
        /// Target-distractor: chance that a shared label is flipped in a task
        rho_flip: Option<f64> = None, value("RHO"), usual("0"), belongs("protocol", &["target-distractor"]), without(DRAWN);
        /// Insert S datasets between two tasks
        intermediate: Option<usize> = None, value("S"), sets(&["steps"]);
        /// Append a random context vector of N entries to the inputs of each task
        context: Option<usize> = None, value("N"), sets(&["dim"]);
        /// Learn the tasks in this order: every task once, by its number, comma-separated; best: search for a better one
        order: LearningOrder = LearningOrder::Given, value("LIST|best");
        /// The seed; with several seeds, the first of them
        seed: Option<u64> = None, value("SEED"), usual("0, or the recipe's own"), not_in_studies();
        /// How inputs are prepared.
        preprocess: PreprocessFields = PreprocessFields::default();
    }
}

fields! {
    /// How inputs are prepared.
    pub struct PreprocessFields in "Preparation of inputs (of own tasks only the steps that are asked for)" {
        /// Order of the steps
        preprocess_order: Option<Order> = None, value("ORDER"), usual("standard");
        /// What is subtracted from an input [default for data sets: image]
        center: Option<Center> = None;
        /// Whiten with the training covariance (ZCA); the default for data sets, except for class-incremental tasks
        whiten: bool = false, without(&["no_whiten"]);
        /// Do not whiten
        no_whiten: bool = false;
        /// Ridge of the whitening, relative to the largest eigenvalue
        whiten_ridge: Option<f64> = None, value("RIDGE"), usual("1e-7; authors: 0"), range(Range::AT_LEAST_0), sets(&["whiten.ridge"]), without(&["no_whiten"]);
        /// Scale inputs to squared norm N0; the default for data sets
        norm: bool = false, sets(&["normalize"]), without(&["no_norm"]);
        /// Do not scale inputs to squared norm N0
        no_norm: bool = false;
    }
}

impl PreprocessFields {
    /// The checked settings; `None` where no key was given. What is not given is as in `base`.
    fn settings(&self, base: Preprocess) -> Option<Preprocess> {
        if *self == PreprocessFields::default() {
            return None;
        }
        let mut settings =
            if self.preprocess_order == Some(Order::Authors) { Preprocess::all(Order::Authors) } else { base };
        settings.center = self.center.unwrap_or(settings.center);
        if self.no_whiten {
            settings.whiten = None;
        } else if let Some(ridge) = self.whiten_ridge {
            settings.whiten = Some(Whiten { ridge, ..Whiten::default() });
        } else if self.whiten {
            settings.whiten.get_or_insert_default();
        }
        settings.normalize = (settings.normalize || self.norm) && !self.no_norm;
        Some(settings)
    }
}

impl TaskFields {
    /// The seed of everything that is drawn.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// Sequences that are there already, in the order that is asked for.
    pub(super) fn in_order(&self, sequences: Vec<TaskSequence>) -> Result<Vec<TaskSequence>> {
        match self.order.numbers() {
            [] => Ok(sequences),
            order => sequences.iter().map(|sequence| sequence.ordered(order)).collect(),
        }
    }

    /// Refuses the search for an order, where `what` does not search.
    ///
    /// # Errors
    /// [`Error::Setting`] for `best`.
    pub fn refuse_best_order(&self, what: &str) -> Result<()> {
        if self.order != LearningOrder::Best {
            return Ok(());
        }
        let expected =
            format!("must be the numbers of all tasks: ebbing forecast and ebbing advise search, {what} does not");
        Err(Error::setting("--order", "best", expected))
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
        self.kind().word().replace('-', " ")
    }

    /// With new classes in every task, where tasks are drawn and no protocol was asked for.
    pub(super) fn or_class_incremental(mut self) -> TaskFields {
        if self.tasks.is_none() {
            self.protocol.get_or_insert(ProtocolKind::ClassIncremental);
        }
        self
    }

    /// Examples and test examples, where tasks are drawn and none were asked for. Tasks that divide the classes are tested on
    /// 200 at most, as their protocols do: the embedded images have 100 of a class.
    pub(super) fn or_examples(mut self, p: usize) -> TaskFields {
        if self.tasks.is_none() {
            let by_class = matches!(
                self.kind(),
                ProtocolKind::ClassIncremental | ProtocolKind::Split | ProtocolKind::PartialSplit
            );
            self.examples.get_or_insert(p);
            self.test_examples.get_or_insert(if by_class { p.min(200) } else { p });
        }
        self
    }

    /// What makes the tasks.
    ///
    /// # Errors
    /// Whatever is wrong with the fields, in one sentence; data sets are not touched, a recipe's file is.
    pub fn recipe(&self) -> Result<Recipe> {
        self.check_fields()?;
        if let (Some(classes), None) = (self.classes_per_task, &self.tasks) {
            let expected = "belongs to --tasks FILE or --features FILE with one set of features and labels";
            return Err(Error::setting("--classes-per-task", classes, expected));
        }
        match &self.tasks {
            Some(path) if path.extension().is_some_and(|ending| ending == "toml") => self.over(Recipe::read(path)?),
            own => Ok(Recipe {
                origin: match own {
                    Some(path) => TaskOrigin::Own(TasksFile::new(path)),
                    None => TaskOrigin::Drawn { data: self.data().into(), protocol: self.protocol()? },
                },
                preprocess: self.preprocess(),
                post: self.post(),
                seed: self.seed(),
            }),
        }
    }

    /// A recipe with what these fields set beside it: its seed, and the steps after its tasks were drawn.
    ///
    /// # Errors
    /// [`Error::Setting`] for what a recipe says itself.
    pub fn over(&self, recipe: Recipe) -> Result<Recipe> {
        self.check_fields()?;
        if let Some((field, value)) = self.preprocess.given().next() {
            let expected = "a recipe says itself how inputs are prepared: use its [preprocess] table";
            return Err(field.refused(&value, expected));
        }
        let own = self.post();
        let post = PostSteps {
            by_class: own.by_class.or(recipe.post.by_class),
            interpolate: own.interpolate.or(recipe.post.interpolate),
            context: own.context.or(recipe.post.context),
            order: if own.order.is_empty() { recipe.post.order } else { own.order },
        };
        Ok(Recipe { post, seed: self.seed.unwrap_or(recipe.seed), ..recipe })
    }

    /// How inputs are prepared: own ones only as asked, those of a data set as in the paper where nothing else is.
    fn preprocess(&self) -> Option<Preprocess> {
        match self.tasks {
            Some(_) => self.preprocess.settings(Preprocess::none()),
            None => {
                let usual = match self.kind() {
                    // As practitioners prepare images; the paper whitens.
                    ProtocolKind::ClassIncremental => Preprocess { whiten: None, ..Preprocess::default() },
                    _ => Preprocess::default(),
                };
                Some(self.preprocess.settings(usual.clone()).unwrap_or(usual))
            }
        }
    }

    /// What is done to the tasks once they are there.
    fn post(&self) -> PostSteps {
        PostSteps {
            by_class: self.classes_per_task.map(|classes_per_task| ByClass { classes_per_task }),
            interpolate: self.intermediate.map(|steps| Interpolated { steps }),
            context: self.context.map(|dim| WithContext { dim, ..WithContext::default() }),
            order: self.order.numbers().to_vec(),
        }
    }

    /// The protocol with the keys that belong to it.
    ///
    /// # Errors
    /// [`Error::Setting`] for a key that belongs to another protocol.
    pub fn protocol(&self) -> Result<Protocol> {
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
            ProtocolKind::ClassIncremental => {
                let d = Split { labels: Labels::OneHotAll, ..Split::default() };
                Protocol::Split(Split {
                    tasks: length.unwrap_or(d.tasks),
                    p: p.unwrap_or(d.p),
                    p_test: p_test.unwrap_or(d.p_test),
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
}
