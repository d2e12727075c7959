//! `ebbing-paper figure`: every figure of the paper from one command, with its claims.

use super::{all_here, claims, write};
use crate::claim::Claim;
use crate::figures::{ENTRIES, Entry, Images, Needs, Reproduction, Scale, Seeds};
use clap::ValueEnum;
use ebbing::data::Sources;
use ebbing::plan::time;
use ebbing_cli::program::{Console, Refused, Submission, Wanted, part, print_bill, stated};
use ebbing_show::{Screen, escape_markup, stdout_takes_styles};
use ebbing_studies::{Frame, Share, SlurmArgs, SlurmOptions, Store, Study};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// How large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScaleFlag {
    /// Fewer examples, seeds and grid points
    Quick,
    /// The paper's sizes
    Paper,
}

impl ScaleFlag {
    fn name(self) -> &'static str {
        if self == ScaleFlag::Quick { "quick" } else { "paper" }
    }

    fn scale(self) -> Scale {
        if self == ScaleFlag::Quick { Scale::Quick } else { Scale::Paper }
    }
}

/// Reproduce figures of the paper: pictures, data and claims
///
/// Each figure gets a folder with SVG, PNG, tidy data, settings and claims.toml. An interrupted run goes on where it was.
/// Without the data sets in EBBING_DATA (or fetched with ebbing data get), embedded images serve, at smaller sizes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing-paper figure 3 --scale quick
  ebbing-paper figure theory                        all without trained networks
  ebbing-paper figure 6 --data fashion-mnist        the same of other images
  ebbing-paper figure S4 --scale paper --dry-run    what the paper's size costs
  ebbing-paper figure S6 --scale paper --seeds 1    the paper's sizes, one seed
  ebbing-paper figure S6 --scale paper --seeds 10,3 ten seeds, three at L = 2
  ebbing-paper figure S4 --scale paper --slurm --partition long")]
pub struct Args {
    /// Figures (2, 3a, S4, …), or theory, trained, all
    #[arg(value_name = "FIGURE", required = true)]
    figures: Vec<String>,
    /// How large
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleFlag,
    /// At most N seeds of what is averaged, for a first look at the paper's sizes; N,M: at most M with two hidden layers
    #[arg(long, value_name = "N[,M]")]
    seeds: Option<Seeds>,
    /// The folder for results, one folder in it for each figure
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Print claims (or estimates) as JSON
    #[arg(long, conflicts_with_all = ["one_cell", "slurm"])]
    json: bool,
    /// Use embedded images only, at smaller sizes
    #[arg(long)]
    embedded: bool,
    /// Draw the tasks from another data set than the paper's
    #[arg(long, value_name = "NAME", conflicts_with = "embedded")]
    data: Option<String>,
    /// Only print cells, core-hours and memory
    #[arg(long, conflicts_with_all = ["one_cell", "slurm"])]
    dry_run: bool,
    /// Compute one cell only, and print what it gave
    #[arg(long, conflicts_with_all = ["slurm", "shard", "cells"])]
    one_cell: bool,
    #[command(flatten)]
    wanted: Wanted,
    /// Submit to Slurm instead of computing here
    #[arg(long, conflicts_with_all = ["shard", "cells"])]
    slurm: bool,
    #[command(flatten)]
    options: SlurmArgs,
}

/// A figure at a scale with data that are there.
pub struct Chosen {
    pub entry: &'static Entry,
    pub figure: Box<dyn Reproduction>,
    pub study: Study,
    /// Where its images come from.
    pub images: Images,
    folder: PathBuf,
}

impl Args {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let share = self.wanted.share()?;
        let chosen: Vec<Chosen> =
            entries(&self.figures)?.into_iter().map(|e| self.chosen(e)).collect::<anyhow::Result<_>>()?;
        if self.dry_run {
            return self.print_costs(console, &chosen);
        }
        for figure in chosen.iter().filter(|figure| figure.images.few() && self.may_have_more()) {
            console.remark(&format!(
                "figure {}: its data sets are not all here; embedded images serve, at smaller sizes (ebbing data list)",
                figure.entry.id
            ));
        }
        if self.one_cell {
            return chosen.iter().try_for_each(|figure| one_cell(console, figure));
        }
        if self.slurm {
            return chosen.iter().try_for_each(|figure| self.submit(console, figure));
        }
        self.compute(console, &chosen, &share)
    }

    /// Whether embedded images were not what was asked for.
    fn may_have_more(&self) -> bool {
        !self.embedded && self.data.is_none()
    }

    /// The figure's study, with embedded data where its sets are not here.
    fn chosen(&self, entry: &'static Entry) -> anyhow::Result<Chosen> {
        let at = |images: Images| entry.at(self.scale.scale(), images, self.seeds);
        let images = match &self.data {
            Some(name) => named(entry, name)?,
            None if self.embedded => Images::Embedded,
            None if all_here(&at(Images::Paper)?.study()?.data)? => Images::Paper,
            None => Images::Embedded,
        };
        let figure = at(images)?;
        let study = figure.study()?;
        if let Images::Of(_) = images {
            study.check_tasks(&Sources::new())?;
        }
        Ok(Chosen { entry, figure, study, images, folder: self.folder(entry.id, images) })
    }

    /// Where a figure's results are.
    fn folder(&self, id: &str, images: Images) -> PathBuf {
        let seeds = self.seeds.map_or(String::new(), |seeds| format!("-seeds-{seeds}").replace(',', "-"));
        let ending = match images {
            Images::Paper => String::new(),
            Images::Embedded => "-embedded".into(),
            Images::Of(other) => format!("-{other}"),
        };
        self.out.join(format!("figure-{id}-{}{seeds}{ending}", self.scale.name()))
    }

    /// Takes over what a figure with the same cells has computed.
    fn take_over(&self, console: &Console, figure: &Chosen, store: &Store) -> anyhow::Result<()> {
        let Some(kin) = figure.entry.kin else { return Ok(()) };
        let folder = self.folder(kin, figure.images);
        if !folder.join("study.json").is_file() {
            return Ok(());
        }
        let taken = store.take(&Store::open(&folder)?)?;
        if taken > 0 {
            let from = folder.display();
            console.remark(&format!("figure {}: {taken} cells taken over from {from}", figure.entry.id));
        }
        Ok(())
    }

    /// "paper scale", "paper scale, at most 3 seeds".
    fn size(&self) -> String {
        let scale = format!("{} scale", self.scale.name());
        self.seeds.map_or(scale.clone(), |seeds| format!("{scale}, {}", seeds.words()))
    }

    fn print_costs(&self, console: &Console, chosen: &[Chosen]) -> anyhow::Result<()> {
        let mut bills = Vec::new();
        for figure in chosen {
            let ending = match figure.images {
                Images::Paper => String::new(),
                Images::Embedded => " (embedded data)".into(),
                Images::Of(name) => format!(" ({name})"),
            };
            let name = format!("figure {}{ending}", figure.entry.id);
            bills.push((name, stated(&figure.study.cells)?));
        }
        print_bill(console, &format!("Figures at {}, nothing computed", self.size()), &bills, self.json)
    }

    /// Computes every figure; one that fails leaves the others alone.
    fn compute(&self, console: &Console, chosen: &[Chosen], share: &Share) -> anyhow::Result<()> {
        let mut answer = Vec::new();
        let mut failed = Vec::new();
        for figure in chosen {
            let begin = Instant::now();
            match self.figure(console, figure, share) {
                Ok(claims) => answer.extend(claims.into_iter().map(|claim| (figure.entry.id, claim))),
                Err(error) if chosen.len() == 1 => return Err(error),
                Err(error) => {
                    console.remark(&format!("figure {}: {error:#}", figure.entry.id));
                    failed.push(figure.entry.id);
                }
            }
            console.remark(&format!("figure {}: {}", figure.entry.id, time(begin.elapsed().as_secs_f64())));
        }
        if *share == Share::All {
            if self.json {
                let claims = answer.iter().map(|(figure, claim)| json!({ "figure": figure, "claim": claim }));
                let folders: Vec<String> = chosen.iter().map(|figure| figure.folder.display().to_string()).collect();
                console.print_json(&json!({
                    "scale": self.scale.name(), "seeds": self.seeds, "folders": folders, "failed": failed,
                    "claims": claims.collect::<Vec<_>>(),
                }))?;
            } else {
                let heading = format!("Claims at {}", self.size());
                console.print(&claims::table(&heading, &answer, &self.out, stdout_takes_styles()))?;
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(anyhow::anyhow!("figures {} failed; running it again goes on with them", failed.join(", ")))
    }

    /// The claims of one figure, once everything is written; none where only a part was computed.
    fn figure(&self, console: &Console, figure: &Chosen, share: &Share) -> anyhow::Result<Vec<Claim>> {
        let store = Store::create(&figure.folder, &figure.study)?;
        self.take_over(console, figure, &store)?;
        let outcome = part(console, &figure.study, &store, share)?;
        if let Some(trouble) = outcome.trouble() {
            return Err(anyhow::anyhow!(trouble));
        }
        if *share == Share::All {
            return write::all(figure, self.seeds, &store);
        }
        let heading = format!("Figure {}: {} cells computed", figure.entry.id, outcome.computed);
        let more = format!("ebbing study status {}", figure.folder.display());
        console.print(&Screen::new(&heading).next("more", &more).render_for_stdout())?;
        Ok(Vec::new())
    }

    fn submit(&self, console: &Console, figure: &Chosen) -> anyhow::Result<()> {
        let store = Store::create(&figure.folder, &figure.study)?;
        let out = std::path::absolute(&self.out).map_err(|e| ebbing::Error::io(&self.out, e))?;
        let mut words = vec!["figure".to_string(), figure.entry.id.into(), "--scale".into(), self.scale.name().into()];
        words.extend(["--out".into(), out.display().to_string()]);
        if let Some(seeds) = self.seeds {
            words.extend(["--seeds".into(), seeds.to_string()]);
        }
        match figure.images {
            Images::Paper => {}
            Images::Embedded => words.push("--embedded".into()),
            Images::Of(name) => words.extend(["--data".into(), name.into()]),
        }
        let options = self.options.over(&SlurmOptions::default())?;
        let name = format!("figure-{}", figure.entry.id);
        let job = Submission { name, compute: words.clone(), collect: words, options };
        job.submit(console, &figure.study, &store)
    }
}

/// The figures that words name, in the order of the paper.
fn entries(words: &[String]) -> anyhow::Result<Vec<&'static Entry>> {
    for word in words {
        if !ENTRIES.iter().any(|entry| means(word, entry)) {
            let known: Vec<&str> = ENTRIES.iter().map(|entry| entry.id).collect();
            let known = known.join(", ");
            return Err(
                Refused(format!("there is no figure '{word}'; there are {known}, and theory, trained, all")).into()
            );
        }
    }
    Ok(ENTRIES.iter().filter(|entry| words.iter().any(|word| means(word, entry))).collect())
}

/// Whether a word names a figure: by number, by one of its panels, or by what it takes.
fn means(word: &str, entry: &Entry) -> bool {
    match word {
        "all" => true,
        "theory" => entry.needs == Needs::Theory,
        "trained" => entry.needs == Needs::Training,
        _ => {
            // "fig3", "Figure S4".
            let lower = word.to_ascii_lowercase();
            let named = ["figure", "fig.", "fig"].iter().find_map(|name| lower.strip_prefix(name)).unwrap_or(&lower);
            let word = named.trim_start_matches([' ', '-', '_']);
            let number = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
            // A figure in two parts, as S7 and S7-nets, goes by its number too.
            let own = entry.id.split('-').next().unwrap_or(entry.id);
            entry.id.eq_ignore_ascii_case(word) || (!number.is_empty() && own.eq_ignore_ascii_case(number))
        }
    }
}

/// The images of a data set that was asked for by name.
fn named(entry: &Entry, name: &str) -> anyhow::Result<Images> {
    if let Some(why) = entry.bound {
        return Err(Refused(format!("--data is {name}; figure {} cannot be drawn of it alone: {why}", entry.id)).into());
    }
    if name == "mnist-sample" {
        return Ok(Images::Embedded);
    }
    if !all_here(&[name.to_string()])? {
        let places = "ebbing data list shows which sets are, ebbing data get and ebbing data import bring others";
        return Err(Refused(format!("--data is {name}, which is not here; {places}")).into());
    }
    // Figures keep the names of their sets for as long as the program runs, as those of the paper's.
    Ok(Images::Of(name.to_string().leak()))
}

/// Computes the first cell that is not there yet (or reports the first one), with its time beside the estimate.
fn one_cell(console: &Console, figure: &Chosen) -> anyhow::Result<()> {
    let store = Store::create(&figure.folder, &figure.study)?;
    let missing = store.status()?.to_do().first().copied();
    let index = missing.unwrap_or(0);
    let cell = &figure.study.cells[index];
    let expected = stated([cell])?.core_seconds;
    let begin = Instant::now();
    let outcome = part(console, &figure.study, &store, &Share::Listed(vec![index + 1]))?;
    if let Some(trouble) = outcome.trouble() {
        return Err(anyhow::anyhow!(trouble));
    }
    let taken = begin.elapsed().as_secs_f64();
    let rows = store.rows(index)?;
    let frame = Frame::collect([(cell, rows.as_slice())]);
    let said = match missing {
        Some(_) => format!("took {} with reading the data (estimated: {})", time(taken), time(expected)),
        None => "was there already".into(),
    };
    let heading = format!("Figure {}, cell {} of {}: {said}", figure.entry.id, index + 1, store.count());
    let screen = Screen::new(&escape_markup(&heading)).table(&frame.table("", &figure.study.columns))?;
    console.print(&screen.render_for_stdout())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_named_by_number_panel_or_kind() {
        fn none(_: Scale, _: Images) -> Box<dyn Reproduction> {
            unreachable!("only names are looked at")
        }
        let entry = |id, needs| Entry { id, panels: "", shows: "", needs, kin: None, bound: None, figure: none };
        let (three, s4) = (entry("3", Needs::Theory), entry("S4", Needs::Training));
        for word in ["3", "3a", "fig3", "Figure 3b", "fig. 3", "all", "theory"] {
            assert!(means(word, &three), "{word}");
        }
        for word in ["S4", "s4", "S4b", "trained"] {
            assert!(means(word, &s4) && !means(word, &three), "{word}");
        }
        let descent = entry("S7-nets", Needs::Training);
        assert!(means("S7", &descent) && means("S7d", &descent) && means("s7-nets", &descent));
        assert!(!means("33", &three) && !means("", &three) && !means("a", &three));
        let said = entries(&["no such figure".into()]).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("there is no figure 'no such figure'"), "{said}");
    }
}
