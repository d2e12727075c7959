//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
//!
//! Data flows one way: a [`Dataset`] becomes a [`TaskSequence`], its inputs become kernels ([`Kernel`]), and the
//! kernels go into the theory of wide networks. Networks of finite width ([`nets`]) are there to hold the theory
//! against.
//!
//! ```
//! use ebbing::{Context, Dataset, SingleHead, Source};
//! use ebbing::data::Preprocess;
//! use ebbing::tasks::Permuted;
//! use ebbing::theory::single_head::SingleHeadSettings;
//! let source = Source::new(Dataset::sample()?, &Preprocess::default())?;
//! let tasks = Permuted { tasks: 3, p: 200, ..Permuted::default() }.generate(&source, 1)?;
//! let forecast = SingleHead::new(&tasks, &SingleHeadSettings::default(), &Context::default())?.forecast()?;
//! // Task 1 is remembered perfectly just after it was learned, and partly forgotten after task 2.
//! assert!(forecast.forgetting[0][0] < 1e-12);
//! assert!(forecast.forgetting[1][0] > 0.05);
//! # Ok::<(), ebbing::Error>(())
//! ```
//!
//! # Where to look
//!
//! | Question | Item |
//! |---|---|
//! | How do I get data in? | [`Dataset::load`], [`Dataset::open`], [`Task::new`], [`TaskSequence::load`] |
//! | How do I make tasks from a data set? | [`tasks::Permuted`], [`tasks::Split`], [`tasks::PartialSplit`], [`tasks::TargetDistractor`], or a [`Recipe`] file |
//! | Is my task file sound, and what will it cost? | [`tasks::check_tasks`], [`plan`] |
//! | Everything about my tasks | [`Forecast`] |
//! | How much of each task is forgotten after each later one? | [`SingleHead::forecast`] |
//! | What does the network say at an input, and how sure is it? | [`SingleHead::mean`], [`SingleHead::variance`], [`SingleHead::sample`] |
//! | How similar are two tasks, and do they conflict? | [`order_parameters`] |
//! | In which order should tasks be learned? | [`theory::task_order::best_order`] |
//! | What if every task has its own readout? | [`MultiHead`], [`theory::multi_head::TwoTasks`] |
//! | Is my network too wide or too narrow for the next task? | [`theory::phase`], [`theory::multi_head::CriticalLoad::locate`] |
//! | Which penalty λ serves both tasks best? | [`theory::best_lambda::best_lambda`] |
//! | I have features or kernels of my own | [`theory::Inputs`] |
//! | How fast is a task forgotten in the long run? | [`stats::ForgettingFit`] |
//! | What does a real network do? | [`Trainer`] (gradient descent), [`sample_posterior`] (the posterior itself) |
//! | Accuracy, transfer, forgetting by their usual names | [`metrics::ContinualMetrics`] |
//!
//! # Modules
//!
//! | Module | Holds |
//! |---|---|
//! | [`data`] | data sets: readers, places to look for them, preprocessing |
//! | [`tasks`] | tasks, sequences of tasks, and the protocols that draw them |
//! | [`kernels`] | the prior of the weights over time, and kernels of wide networks under it |
//! | [`theory`] | forecasts from kernels and targets, one module per question |
//! | [`request`] | what can be asked, command by command, with every field declared once |
//! | [`nets`] | finite networks: gradient descent with penalties, and Monte Carlo |
//! | [`metrics`] | losses, accuracies, and metrics of continual learning |
//! | [`stats`] | fits, shares of variance, means with standard errors |
//! | [`plan`] | what a computation will cost in time and memory |
//! | [`context`] | what a computation runs within: memory, scratch, threads, a listener that can stop it |
//! | [`linalg`] | dense linear algebra with the same bits at any number of threads |
//! | [`rng`] | random streams that are the same on every machine |
//!
//! Random draws depend on the seed alone, and results do not depend on the number of threads.
//!
//! # The paper
//!
//! The theory is that of H. Shan, Q. Li and H. Sompolinsky, "Order parameters and phase transitions of continual
//! learning in deep neural networks", arXiv:2407.10315: "the paper" from here on. Equations are cited by their numbers
//! there, which run on from the main text (1–11) into the supplement (12–186). `docs/theory.md` in the repository
//! lists every equation with the function that computes it, and every misprint that was corrected.
#![deny(missing_docs)]

pub mod context;
pub mod data;
mod error;
pub mod kernels;
pub mod linalg;
pub mod metrics;
pub mod nets;
pub mod plan;
pub mod request;
pub mod rng;
pub mod serde_infinity;
pub mod stats;
pub(crate) mod stop;
pub mod tasks;
pub mod theory;

/// The word that files and options have for a value of a few.
pub(crate) fn word_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| Some(word.as_str()?.to_string())).unwrap_or_default()
}

pub use context::Context;
pub use data::{Dataset, Source};
pub use error::{Error, Result};
pub use kernels::Kernel;
pub use nets::{Trainer, sample_posterior};
pub use tasks::{Recipe, Task, TaskSequence};
pub use theory::forecast::Forecast;
pub use theory::multi_head::MultiHead;
pub use theory::order_parameters::order_parameters;
pub use theory::single_head::SingleHead;
