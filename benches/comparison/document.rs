//! The table, the figure of ratios and the document.

use super::growth::Growth;
use super::machine::Facts;
use super::measure::{Measured, Outcome};
use super::roofline::Roofline;
use super::side::Fallible;
use ebbing_report::{Bars, Figure, Marker, Markers, Panel, Rgb, Table, significant};
use std::fmt::Write;

/// Why a peer is left out, by its environment.
pub type Missing = Vec<(String, String)>;

const HEADING: &str = "# Beside the peers

Written by `bash benches/compare`. Every side is a process of its own that keeps its inputs and compiled functions between
requests; the sides take turns on the same cores, and the best time of each counts. Before that, the results of both must
agree, or the comparison fails. A ratio is the peer's time over ebbing's.
";

fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{} ms", significant(1e3 * seconds)) } else { format!("{} s", significant(seconds)) }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.0} MB", bytes / 1e6)
}

fn times(ratio: f64) -> String {
    format!("{} ×", significant(ratio))
}

fn target(outcome: &Outcome) -> String {
    let memory = outcome.row.memory_target.map_or(String::new(), |most| format!(", memory ≤ {most} ×"));
    let all = if outcome.ours.converged.is_some() { ", all loads solved" } else { "" };
    let goal = if outcome.row.target < 1.0 { " (goal 1)" } else { "" };
    format!("≥ {} ×{goal}{memory}{all}", outcome.row.target)
}

fn verdict(outcome: &Outcome) -> &'static str {
    match (outcome.agrees(), outcome.met()) {
        (false, _) => "DIFFERS",
        (true, Some(true)) => "met",
        (true, Some(false)) => "MISSED",
        (true, None) => "no peer",
    }
}

/// The table for the terminal. In the short form sizes are small, and targets do not apply.
pub fn table(outcomes: &[Outcome], short: bool) -> Fallible<String> {
    let column = |f: &dyn Fn(&Outcome) -> String| outcomes.iter().map(f).collect::<Vec<_>>();
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "–".into());
    let mut table = Table::new("")
        .text("row", &column(&|o| o.row.name.into()))
        .text("ebbing", &column(&|o| duration(o.ours.seconds)))
        .text("peer", &column(&|o| or_none(o.theirs.map(|t| duration(t.seconds)))))
        .text("ratio", &column(&|o| or_none(o.ratio().map(times))))
        .text("memory", &column(&|o| or_none(o.memory_ratio().map(times))))
        .text("difference", &column(&|o| or_none(o.difference.map(|[d, bound]| format!("{d:.0e} of {bound:.0e}")))));
    table = if short {
        table.text("", &column(&|o| if o.agrees() { String::new() } else { "DIFFERS".into() }))
    } else {
        table.text("target", &column(&|o| format!("≥ {}", o.row.target))).text("", &column(&|o| verdict(o).into()))
    };
    Ok(table.to_text()?)
}

/// Ratios as bars, with the targets.
pub fn figure(outcomes: &[Outcome]) -> Figure {
    let shown: Vec<(&Outcome, f64)> = outcomes.iter().filter_map(|o| Some((o, o.ratio()?))).collect();
    let names: Vec<&str> = shown.iter().map(|(o, _)| o.row.label).collect();
    let ratios: Vec<f64> = shown.iter().map(|(_, ratio)| *ratio).collect();
    let targets: Vec<f64> = shown.iter().map(|(o, _)| o.row.target).collect();
    let places: Vec<f64> = (0..shown.len()).map(|k| k as f64).collect();
    let high = ratios.iter().chain(&targets).fold(10.0, |a: f64, b| a.max(*b));
    let panel = Panel::new()
        .y("times as fast as the peer")
        .log_y()
        .y_range(0.1, 10f64.powf(high.log10().ceil()))
        .grid()
        .aspect(0.4)
        .bars(Bars::new(&names).series("measured", &ratios))
        .markers(Markers::new("target", &places, &targets).colour(Rgb::BLACK).shape(Marker::Diamond))
        .horizontal("", 1.0);
    Figure::wide(panel)
        .title("Ebbing's speed beside its peers'")
        .caption("The peer's time over ebbing's for every work of the table, and what it must be at least (diamonds).")
}

fn memory_cell(side: &Measured) -> String {
    match (side.peak_bytes, side.base_bytes) {
        (Some(peak), Some(base)) => format!("{} ({})", megabytes(peak), megabytes(peak - base)),
        (Some(peak), None) => megabytes(peak),
        _ => "–".into(),
    }
}

fn result_table(outcomes: &[Outcome]) -> Result<String, std::fmt::Error> {
    let mut text =
        String::from("| work | peer | ebbing | peer's time | ratio | wanted | |\n|---|---|---|---|---|---|---|\n");
    for o in outcomes {
        let (theirs, mut ratio) = match (o.theirs, o.ratio()) {
            (Some(theirs), Some(ratio)) => (duration(theirs.seconds), times(ratio)),
            _ => ("left out".into(), "–".into()),
        };
        if let (Some(_), Some(memory)) = (o.row.memory_target, o.memory_ratio()) {
            write!(ratio, ", memory {}", times(memory))?;
        }
        let (work, peer, ours) = (o.row.work.description(), o.row.peer.title, duration(o.ours.seconds));
        writeln!(text, "| {work} | {peer} | {ours} | {theirs} | {ratio} | {} | {} |", target(o), verdict(o))?;
    }
    Ok(text)
}

fn detail_table(outcomes: &[Outcome]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "| work | rounds | difference of results | ebbing's memory | peer's memory | loads solved (ebbing, peer) |\n\
         |---|---|---|---|---|---|\n",
    );
    for o in outcomes {
        let difference = o.difference.map_or("–".into(), |[d, bound]| format!("{d:.1e} (bound {bound:.0e})"));
        let loads = match (o.ours.converged, o.theirs.and_then(|t| t.converged)) {
            (Some(ours), Some(theirs)) => format!("{ours}, {theirs}"),
            (Some(ours), None) => ours.to_string(),
            _ => String::new(),
        };
        let (ours, theirs) = (memory_cell(&o.ours), o.theirs.as_ref().map_or("–".into(), memory_cell));
        writeln!(text, "| {} | {} | {difference} | {ours} | {theirs} | {loads} |", o.row.name, o.rounds)?;
    }
    Ok(text)
}

fn growth_table(all: &[Growth]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "| work | sizes | slope at small sizes, 1 and 2 threads | at large sizes | expected | because | 2 threads are faster by |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for g in all {
        let (one, two) = (g.slopes(0), g.slopes(1));
        let sizes = g.sizes.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
        writeln!(
            text,
            "| {} | {sizes} | {:.2}, {:.2} | {:.2}, {:.2} | {} | {} | {:.2} × |",
            g.name,
            one[0],
            two[0],
            one[1],
            two[1],
            g.expected(),
            g.reason,
            g.speedup()
        )?;
    }
    Ok(text)
}

/// The speeds of products and the shares that other works reach.
pub fn roofline(roofline: &Roofline) -> Result<String, std::fmt::Error> {
    let [(double, who), (single, who_single)] = roofline.peaks;
    let giga = |speed: f64| format!("{:.0} GFLOP/s", 1e-9 * speed);
    let mut text = format!(
        "The fastest product of {0} × {0} matrices: {1} in f64 ({who}), {2} in f32 ({who_single}).\n\n\
         | work | speed | share of the product's |\n|---|---|---|\n",
        roofline.size,
        giga(double),
        giga(single)
    );
    for line in &roofline.lines {
        writeln!(text, "| {} | {} | {:.0} % |", line.work, giga(line.speed), 100.0 * line.speed / line.peak)?;
    }
    Ok(text)
}

/// The whole document.
pub fn document(
    outcomes: &[Outcome],
    all: &[Growth],
    peaks: &Roofline,
    facts: &Facts,
    missing: &Missing,
) -> Fallible<String> {
    let mut text = String::from(HEADING);
    write!(text, "\n{}\n![The peer's time over ebbing's for every row](benchmarks.png)\n", result_table(outcomes)?)?;
    let tuned =
        |o: &Outcome| Some(format!("{} {} ({})", o.row.label, duration(o.tuned?), times(o.tuned? / o.ours.seconds)));
    let tuned: Vec<String> = outcomes.iter().filter_map(tuned).collect();
    if !tuned.is_empty() {
        write!(
            text,
            "\nThe same script, with NumPy's functions of entries shared out among two threads by blocks that fit the cache, \
             which is further than scripts go: {}.\n",
            tuned.join(", ")
        )?;
    }
    for (peer, reason) in missing {
        writeln!(text, "\n{peer} is left out: {reason}.")?;
    }
    write!(text, "\n{}", include_str!("notes.md"))?;
    write!(
        text,
        "\n## Agreement and memory\n\n{}\nDifferences are relative to the largest entry of a result; of steps, a multiple of \
         what rounding to single precision allows. Memory is the largest resident memory of a fresh process that does the \
         work for the first time, which targets are judged by; in brackets, without what it held after loading programs and \
         inputs.\n",
        detail_table(outcomes)?
    )?;
    write!(text, "\n## How cost grows\n\n![Time against examples, tasks, depth and loads](growth.png)\n\n")?;
    write!(text, "{}\n## Beside bare products\n\n{}", growth_table(all)?, roofline(peaks)?)?;
    write!(text, "\n## Machine and versions\n\n| | |\n|---|---|\n")?;
    for (name, value) in facts {
        writeln!(text, "| {name} | {value} |")?;
    }
    Ok(text)
}
