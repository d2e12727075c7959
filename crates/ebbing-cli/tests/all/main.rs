//! The `ebbing` program from outside: what it prints, what it leaves on disk, and how it ends.

mod check;
mod commands;
mod data;
mod doors;
mod faults;
mod fetch;
mod forecast;
mod front_door;
mod help;
mod labels;
mod looks;
mod program;
mod server;
mod solver;
mod study;
mod support;
mod whole;
