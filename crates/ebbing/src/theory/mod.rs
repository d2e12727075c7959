//! What the theory of wide networks forecasts from kernels and targets.
//!
//! | Module | Question | Readouts | Equations |
//! |---|---|---|---|
//! | [`advise`] | what each remedy would do against forgetting, and what it costs | one | 3, 27, 28 |
//! | [`forecast`] | everything at once: forgetting, order parameters, test data, best order | one | 3–9, 27, 28 |
//! | [`single_head`] | means and variances of the outputs after every task | one | 27, 28, 61–67 |
//! | [`order_parameters`] | how similar two tasks are, and how much they conflict | one | 4–9, 11, 29, 30 |
//! | [`task_order`] | the order of tasks with the least forgetting | one | 27, 28 |
//! | [`multi_head`] | renormalized readouts of any number of tasks at any width and λ | one per task | 101–108, 129–179 |
//! | [`phase`] | curves against the load α = P/N, and where a width lies | one per task | 102–105, 158–170 |
//! | [`streams`] | features of any number of examples, in one pass over them | one | 27, 28 |
//! | [`best_lambda`] | the penalty that serves both tasks best | one per task | 102–105 |
//! | [`closed_heads`] | heads in closed form that learn without forgetting, computed exactly | one | |
//! | [`examples`] | which examples are at risk of being forgotten, and which to keep | one | 27, 28 |
//! | [`directions`] | along how many directions outputs on earlier tasks change | one | 27, 28 |
//! | [`domain`] | whether tasks are like those on which intervals were measured | | |
//! | [`alpha_c`] | the critical load read off a curve | one per task | |
//!
//! Equation numbers are the paper's. [`Inputs`] says what kernels are made from: the inputs of a network, features (a
//! trained layer, neural recordings), or kernels that are given. Any of the three goes where a function takes
//! `impl Into<Inputs>`.
//!
//! ```
//! use ebbing::linalg::Mat;
//! use ebbing::rng::Stream;
//! use ebbing::theory::Inputs;
//! use ebbing::theory::order_parameters::{OrderParameterSettings, order_parameters};
//! use ebbing::{Context, Task, TaskSequence};
//! let mut stream = Stream::new(1, "example", 0);
//! let mut task = || {
//!     let x = Mat::from_fn(20, 30, |_, _| stream.normal());
//!     Task::new(x, Mat::from_fn(20, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 }))
//! };
//! let sequence = TaskSequence::new(vec![task(), task()])?;
//! let (settings, context) = (OrderParameterSettings::default(), Context::default());
//! let network = order_parameters(&sequence, &settings, &context)?; // of a wide ReLU network on these inputs
//! let features = order_parameters(Inputs::Features(&sequence), &settings, &context)?; // the inputs taken as features themselves
//! assert!(network[0].values.gamma_feature > 0.0 && features[0].values.gamma_feature > 0.0);
//! # Ok::<(), ebbing::Error>(())
//! ```

pub mod advise;
pub mod alpha_c;
pub mod best_lambda;
pub(crate) mod blocks;
pub mod calibration;
pub(crate) mod classes;
pub mod closed_heads;
pub mod directions;
pub mod domain;
pub mod examples;
pub mod forecast;
pub mod multi_head;
pub mod operator;
pub mod order_parameters;
pub(crate) mod own_and_last;
pub mod phase;
pub mod single_head;
pub mod streams;
pub mod task_order;
pub(crate) mod whole;

pub use blocks::inputs::Inputs;
pub use blocks::kernels::Points;
pub use blocks::table::{KernelTable, KernelTask};
