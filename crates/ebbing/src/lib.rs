//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
//!
//! Data flow one way: data sets become [`TaskSequence`]s, their inputs kernels ([`Kernel`]), and those the theory of wide
//! networks: [`SingleHead`] and [`order_parameters`] for one readout, [`MultiHead`] and [`TwoTasks`] for a readout per
//! task, [`Forecast`] for everything at once. [`Trainer`] and [`sample_posterior`] make networks of finite width to hold
//! the theory against.
//!
//! ```
//! use ebbing::{Dataset, SingleHead, Source};
//! use ebbing::data::Preprocess;
//! use ebbing::tasks::Permuted;
//! use ebbing::theory::single_head::SingleHeadSettings;
//! let source = Source::new(Dataset::sample()?, &Preprocess::default())?;
//! let tasks = Permuted { tasks: 3, p: 200, ..Permuted::default() }.generate(&source, 1)?;
//! let forecast = SingleHead::new(&tasks, &SingleHeadSettings::default())?.forecast()?;
//! // Task 1 is forgotten a little more with every later task, and just after it was learned not at all.
//! assert!(forecast.forgetting[0][0] < 1e-12);
//! assert!(forecast.forgetting[1][0] > 0.05);
//! # Ok::<(), ebbing::Error>(())
//! ```
//!
//! Random draws depend only on the seed, results not on the number of threads. The theory is that of H. Shan, Q. Li and
//! H. Sompolinsky, "Order parameters and phase transitions of continual learning in deep neural networks".
#![deny(missing_docs)]

pub mod data;
mod error;
pub mod kernels;
pub mod linalg;
pub mod metrics;
pub mod nets;
pub mod plan;
pub mod rng;
pub mod serde_infinity;
pub mod stats;
pub mod tasks;
pub mod theory;

pub use data::{Dataset, Source};
pub use error::{Error, Result};
pub use kernels::Kernel;
pub use nets::{Trainer, sample_posterior};
pub use tasks::{Recipe, Task, TaskSequence};
pub use theory::forecast::Forecast;
pub use theory::multi_head::MultiHead;
pub use theory::order_parameters::order_parameters;
pub use theory::single_head::SingleHead;
