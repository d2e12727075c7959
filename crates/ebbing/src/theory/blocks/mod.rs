//! Kernel blocks between the tasks of a sequence and their factors: what every single-head statistic is made from.

pub(crate) mod factor;
pub(crate) mod feature_space;
pub(crate) mod inputs;
pub(crate) mod kernels;
pub(crate) mod repeats;
pub(crate) mod shared;
pub(crate) mod table;
