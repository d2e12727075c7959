//! `ebbing-paper list`: what there is, with data, sizes and time.

use super::all_here;
use crate::figures::{ENTRIES, Images, Needs, Scale};
use ebbing::plan::time;
use ebbing_cli::program::{Console, stated};
use ebbing_show::wrap;

/// List the figures: what they show, data, sizes, time
#[derive(clap::Args)]
#[command(after_help = "Example:
  ebbing-paper list")]
pub struct Args {
    /// Of embedded images only, at smaller sizes
    #[arg(long)]
    embedded: bool,
}

impl Args {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        print(console, self.embedded)
    }
}

fn print(console: &Console, embedded: bool) -> anyhow::Result<()> {
    let threads = rayon::current_num_threads();
    let mut text = format!("Figures of the paper; times are estimates for {threads} cells at once on this machine\n");
    for entry in ENTRIES {
        let kind = if entry.needs == Needs::Theory { "theory" } else { "trained" };
        text += "\n";
        text += &wrap(&format!("{} {}. {}", entry.id, entry.panels, entry.shows), "", "   ");
        for (name, scale) in [("quick", Scale::Quick), ("paper", Scale::Paper)] {
            let full = entry.at(scale, Images::Paper, None)?.study()?;
            let here = !embedded && all_here(&full.data)?;
            let study = if here { full } else { entry.at(scale, Images::Embedded, None)?.study()? };
            let bill = stated(&study.cells)?;
            let wall = (bill.core_seconds / threads as f64).max(bill.longest_seconds);
            let data = study.data.join(", ");
            let data = if here { data } else { format!("{data}, embedded") };
            let line = format!("{kind}, {name}: {} cells, about {}; data: {data}", bill.cells, time(wall));
            text += &wrap(&line, "   ", "     ");
        }
    }
    console.print(&text)
}
