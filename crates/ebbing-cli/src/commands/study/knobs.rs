//! The knobs of a study: every flag of the command whose results are its cells.

use super::super::{forecast, phase, sample, train};
use crate::failure::clap_sentence;
use clap::{ArgAction, Command};
use ebbing::plan::Cost;
use ebbing_studies::{Column, Row, Sources, Value};
use std::collections::BTreeMap;

/// A command at one point of its settings: what a cell computes.
pub trait InCells: Send + Sync {
    /// Fills in the command's own defaults and refuses what it would refuse, before anything is computed.
    ///
    /// # Errors
    /// Whatever is wrong with the settings, in one sentence.
    fn check(&mut self) -> ebbing::Result<()>;

    /// The results as rows.
    ///
    /// # Errors
    /// What the library says.
    fn rows(&self, sources: &Sources) -> ebbing_studies::Result<Vec<Row>>;

    /// What they cost, from the settings alone.
    ///
    /// # Errors
    /// Where the sizes of the tasks cannot be told.
    fn cost(&self) -> ebbing::Result<Cost>;
}

/// The command whose results are the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Forecast,
    Phase,
    Train,
    Sample,
}

/// Flags of any command that say where results go or how many seeds there are: a study says that itself.
const OF_THE_STUDY: [&str; 5] = ["out", "json", "seed", "seeds", "help"];

#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Alone<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

fn parsed<A: clap::Args + InCells + 'static>(words: &[String]) -> Result<Box<dyn InCells>, String> {
    let alone = <Alone<A> as clap::Parser>::try_parse_from(words);
    let mut args = alone.map_err(|e| clap_sentence(&e.render().to_string()))?.args;
    args.check().map_err(|e| e.to_string())?;
    Ok(Box::new(args))
}

impl Kind {
    /// Their names.
    pub const NAMES: [&'static str; 4] = ["forecast", "phase", "train", "sample"];

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Kind> {
        [Kind::Forecast, Kind::Phase, Kind::Train, Kind::Sample].into_iter().find(|kind| kind.name() == name)
    }

    /// The command's name.
    pub fn name(self) -> &'static str {
        Kind::NAMES[self as usize]
    }

    /// The knobs: names of flags, with underscores.
    pub fn knobs(self) -> Vec<String> {
        let hidden: &[&str] = match self {
            // A study makes these from its grid.
            Kind::Forecast => &["depths", "no-order", "convention"],
            Kind::Phase => &["sweep", "values", "curves", "width"],
            Kind::Train => &["loads"],
            Kind::Sample => &[],
        };
        let command = self.command();
        let names = command.get_arguments().filter_map(|arg| arg.get_long());
        let kept = names.filter(|name| !OF_THE_STUDY.contains(name) && !hidden.contains(name));
        kept.map(|name| name.replace('-', "_")).collect()
    }

    fn command(self) -> Command {
        let command = Command::new(self.name());
        match self {
            Kind::Forecast => <forecast::Args as clap::Args>::augment_args(command),
            Kind::Phase => <phase::Args as clap::Args>::augment_args(command),
            Kind::Train => <train::Args as clap::Args>::augment_args(command),
            Kind::Sample => <sample::Args as clap::Args>::augment_args(command),
        }
    }

    /// The knobs that are given or not, without a value.
    pub fn switches(self) -> Vec<String> {
        let command = self.command();
        let switches = command.get_arguments().filter(|arg| matches!(arg.get_action(), ArgAction::SetTrue));
        switches.filter_map(|arg| arg.get_long()).map(|name| name.replace('-', "_")).collect()
    }

    /// The command at one point of its settings.
    ///
    /// # Errors
    /// What is wrong with the settings, in one sentence.
    pub fn at(
        self,
        switches: &[String],
        settings: &BTreeMap<&str, &Value>,
        seed: u64,
    ) -> Result<Box<dyn InCells>, String> {
        let mut words = vec![format!("--seed={seed}")];
        for (key, value) in settings {
            let flag = key.replace('_', "-");
            if !switches.iter().any(|switch| switch == key) {
                // A list of files is given as words of its own; everything else as one word.
                let parts = if *key == "features" { value.to_string() } else { String::new() };
                match parts.is_empty() {
                    true => words.push(format!("--{flag}={value}")),
                    false => words.extend(parts.split(',').map(|part| format!("--{flag}={part}"))),
                }
            } else if value.to_string() == "true" {
                words.push(format!("--{flag}"));
            } else if value.to_string() != "false" {
                return Err(format!("{key} is {value}; must be true or false"));
            }
        }
        match self {
            Kind::Forecast => parsed::<forecast::Args>(&words),
            Kind::Phase => parsed::<phase::Args>(&words),
            Kind::Train => parsed::<train::Args>(&words),
            Kind::Sample => parsed::<sample::Args>(&words),
        }
    }

    /// Units and meanings of the columns that rows of this kind have.
    pub fn columns(self) -> Vec<Column> {
        let own = match self {
            Kind::Forecast => forecast::COLUMNS,
            Kind::Phase => phase::COLUMNS,
            Kind::Train => train::COLUMNS,
            Kind::Sample => sample::COLUMNS,
        };
        own.iter().map(|&(name, meaning)| Column { name, unit: "", meaning }).collect()
    }
}
