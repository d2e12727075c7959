//! The library from outside, one module per part of it, in one binary: every binary links the whole library.

mod advise;
mod allocations;
mod biases;
mod data;
mod forecast;
mod kernels;
mod linalg;
mod minimum;
mod multi_head;
mod order_parameters;
mod pairs;
mod remedies;
mod single_head;
mod stop;
mod support;
mod sweeps;
mod tasks;
