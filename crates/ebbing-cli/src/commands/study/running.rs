//! Running cells and reporting progress: the same for users' grids and for the figures of the paper.

use crate::console::Console;
use crate::failure::Refused;
use anyhow::Context;
use clap::Args;
use ebbing::Error;
use ebbing::plan::Speed;
use ebbing::plan::{size, time};
use ebbing_show::{Screen, Table, escape_markup};
use ebbing_studies::{Bill, Cell, Event, Outcome, Share, Sources, Store, Study, bill, run_missing, single_speed};
use serde_json::json;
use std::path::Path;
use std::sync::OnceLock;

/// Which cells are wanted.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Parts")]
pub struct Wanted {
    /// Compute part I of N of the cells only; parts may run at once, on any machines that share the folder
    #[arg(long, value_name = "I/N", conflicts_with = "cells")]
    shard: Option<String>,
    /// Compute these cells only, by their numbers from 1: 3,7-9
    #[arg(long, value_name = "LIST")]
    cells: Option<String>,
}

impl Wanted {
    /// The checked share.
    ///
    /// # Errors
    /// [`Error::Setting`] for words that are no part.
    pub fn share(&self) -> ebbing::Result<Share> {
        if let Some(text) = &self.shard {
            let wrong = || Error::setting("--shard", text, "must be I/N with 1 <= I <= N, as 2/8");
            let (i, n) = text.split_once('/').ok_or_else(wrong)?;
            let (i, n) = (i.trim().parse().map_err(|_| wrong())?, n.trim().parse().map_err(|_| wrong())?);
            return if (1..=n).contains(&i) { Ok(Share::Shard(i, n)) } else { Err(wrong()) };
        }
        self.cells.as_deref().map_or(Ok(Share::All), |text| listed(text).map(Share::Listed))
    }
}

/// The numbers of `3,7-9`.
fn listed(text: &str) -> ebbing::Result<Vec<usize>> {
    let wrong = || Error::setting("--cells", text, "must be numbers from 1, as 3,7-9");
    let number = |word: &str| word.trim().parse::<usize>().ok().filter(|n| (1..1 << 32).contains(n)).ok_or_else(wrong);
    let mut all = Vec::new();
    for word in text.split(',') {
        match word.split_once('-') {
            Some((from, to)) => all.extend(number(from)?..=number(to)?),
            None => all.push(number(word)?),
        }
    }
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { Err(wrong()) } else { Ok(all) }
}

/// Computes what is missing of a share, with one bar. Cells may have failed: see [`Outcome::trouble`].
///
/// # Errors
/// Where the folder is in use or cannot be written.
pub fn part(console: &Console, study: &Study, store: &Store, share: &Share) -> anyhow::Result<Outcome> {
    let chosen = share.of(store.count())?;
    let _lock = store.lock(share)?;
    let weights: Vec<f64> = study.cells.iter().map(|cell| cell.cost().flops.max(1.0)).collect();
    let total: f64 = chosen.iter().map(|&k| weights[k]).sum();
    let name = &study.name;
    let mut bar = console.share(name);
    let (mut done, mut weight) = (0, 0.0);
    let threads = rayon::current_num_threads();
    let outcome =
        run_missing(study, store, &chosen, &Sources::new(), threads, &console.context(), &mut |event| match event {
            Event::Damaged(_, problem) => console.remark(&format!("{problem}; it is computed again")),
            Event::Failed(number, why) => console.remark(&format!("cell {number} failed: {why}")),
            Event::Elsewhere(number) => console.remark(&format!("cell {number} is being computed by another process")),
            Event::Done(number) => {
                done += 1;
                weight += weights[number - 1];
                bar.note(&format!("{name}: {done} cells"));
                bar.set((1e4 * weight / total) as u64);
            }
        });
    drop(bar);
    outcome.context("the study stopped; finished cells are kept, and running it again goes on")
}

/// The estimated cost of cells here.
///
/// # Errors
/// Where a thread does not start.
pub fn stated<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> anyhow::Result<Bill> {
    // Measured once, so that all studies are estimated by the same yardstick.
    static SPEED: OnceLock<Speed> = OnceLock::new();
    let speed = match SPEED.get() {
        Some(speed) => *speed,
        None => {
            let speed = single_speed()?;
            *SPEED.get_or_init(|| speed)
        }
    };
    Ok(bill(cells.into_iter().map(Cell::cost), speed))
}

/// Prints what `--dry-run` shows.
///
/// # Errors
/// Where standard output is closed.
pub fn print_bill(console: &Console, name: &str, bills: &[(String, Bill)], json: bool) -> anyhow::Result<()> {
    let threads = rayon::current_num_threads();
    if json {
        let one = |(name, bill): &(String, Bill)| {
            json!({
                "name": name, "cells": bill.cells, "core_seconds": bill.core_seconds, "longest_seconds": bill.longest_seconds,
                "bytes": bill.bytes,
            })
        };
        return console
            .print_json(&json!({ "threads": threads, "estimates": bills.iter().map(one).collect::<Vec<_>>() }));
    }
    let column = |get: &dyn Fn(&Bill) -> String| bills.iter().map(|(_, bill)| get(bill)).collect::<Vec<String>>();
    let hours = |seconds: f64| ebbing_show::significant(seconds / 3600.0);
    let at_once = |bill: &Bill| threads.clamp(1, bill.cells.max(1)) as f64;
    let wall = |bill: &Bill| time((bill.core_seconds / at_once(bill)).max(bill.longest_seconds));
    let table = Table::new("")
        .text("study", &bills.iter().map(|(name, _)| escape_markup(name)).collect::<Vec<_>>())
        .integer("cells", &bills.iter().map(|(_, bill)| bill.cells as i64).collect::<Vec<_>>())
        .text("core-hours", &column(&|bill| hours(bill.core_seconds)))
        .text("longest cell", &column(&|bill| time(bill.longest_seconds)))
        .text("here", &column(&wall))
        .text("memory", &column(&|bill| size(bill.bytes * at_once(bill))));
    let screen = Screen::new(&escape_markup(name)).table(&table)?.paragraph(&format!(
        "Estimates, right within a factor of about two for the theory; training takes as long as its tasks are hard. Here: \
         {threads} cells at once, data sets not counted."
    ));
    console.print(&screen.render_for_stdout())
}

/// Refuses a file that stands where a folder should be.
///
/// # Errors
/// [`Refused`].
pub fn check_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() && !folder.is_dir() {
        return Err(Refused(format!("{}: a file is in the way; give another folder (--out)", folder.display())).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        let share = |shard: Option<&str>, cells: Option<&str>| {
            Wanted { shard: shard.map(Into::into), cells: cells.map(Into::into) }.share()
        };
        assert_eq!(share(None, None).unwrap(), Share::All);
        assert_eq!(share(Some("2/8"), None).unwrap(), Share::Shard(2, 8));
        assert_eq!(share(None, Some("7-9,3,8")).unwrap(), Share::Listed(vec![3, 7, 8, 9]));
        for bad in ["0/2", "3/2", "1", "a/b", "1/0"] {
            assert!(share(Some(bad), None).unwrap_err().to_string().contains("--shard is"), "{bad}");
        }
        for bad in ["", "0", "a", "5-3", "1-99999999999999"] {
            assert!(share(None, Some(bad)).unwrap_err().to_string().contains("--cells is"), "{bad}");
        }
    }
}
