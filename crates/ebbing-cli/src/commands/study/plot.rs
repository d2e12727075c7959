//! `ebbing study plot`: one column of a study against another, mean and standard error over seeds.

use crate::console::Console;
use ebbing::Error;
use ebbing::tasks::unknown_key;
use ebbing_show::{Figure, Line, Markers, Panel, Screen, escape_markup};
use ebbing_studies::{Frame, Store, Value};
use std::path::{Path, PathBuf};

/// Draw one column of the result against another: mean and standard error over seeds
#[derive(clap::Args)]
#[command(after_help = "Example:
  ebbing study plot depths --x ratio --y forgetting --by depth \\
      --where t=2 --where s=1")]
pub struct Args {
    /// The folder of results
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Column to the right
    #[arg(long, value_name = "COLUMN")]
    x: String,
    /// Column upwards
    #[arg(long, value_name = "COLUMN")]
    y: String,
    /// One curve for each value of this column
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Only rows where a column has this value; several times for several columns
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    only: Vec<String>,
    /// Logarithmic axis to the right
    #[arg(long)]
    logx: bool,
    /// Logarithmic axis upwards
    #[arg(long)]
    logy: bool,
    /// Name of the figure's files [default: Y-against-X]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// One curve: places, means, standard errors.
struct PlottedCurve {
    label: String,
    x: Vec<f64>,
    mean: Vec<f64>,
    error: Vec<f64>,
}

impl Args {
    /// Averages and draws.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let store = Store::open(&self.folder)?;
        let mut frame = store.frame(true)?;
        self.check_columns(&frame)?;
        for condition in &self.only {
            frame = self.filtered(&frame, condition)?;
        }
        let (curves, seeds) = self.curves(&frame)?;
        let label = |name: &str| escape_markup(&name.replace('_', " "));
        let mut panel = Panel::new().x(&label(&self.x)).y(&label(&self.y));
        panel = match (self.logx, counts(curves.iter().flat_map(|curve| &curve.x))) {
            (true, _) => panel.log_x(),
            (false, true) => panel.integer_x(),
            (false, false) => panel,
        };
        panel = match (self.logy, counts(curves.iter().flat_map(|curve| &curve.mean))) {
            (true, _) => panel.log_y(),
            (false, true) => panel.integer_y(),
            (false, false) => panel,
        };
        for (k, curve) in curves.iter().enumerate() {
            let markers = Markers::new(&escape_markup(&curve.label), &curve.x, &curve.mean).category(k);
            panel = panel.line(Line::new("", &curve.x, &curve.mean).category(k));
            panel = panel.markers(if seeds > 1 { markers.errors(&curve.error) } else { markers });
        }
        let (done, all) = (store.status()?.done(), store.count());
        let part = if done < all { format!(" {done} of {all} cells are done.") } else { String::new() };
        let fixed = if self.only.is_empty() { String::new() } else { format!(" at {}", self.only.join(", ")) };
        let bars = if seeds > 1 { format!(" Bars: standard errors of up to {seeds} seeds.") } else { String::new() };
        let (x, y, name) = (&self.x, &self.y, &store.manifest().name);
        let caption = format!("Study {name}: {y} against {x}{fixed}.{bars}{part}");
        let figure = Figure::single(panel).caption(&escape_markup(&caption)).metadata(&store.metadata()?);
        let file = self.name.clone().unwrap_or_else(|| format!("{y}-against-{x}"));
        let [svg, png] = figure.save(&self.folder, &file)?;
        let screen = Screen::new(&escape_markup(&caption)).next("figure", &svg.display().to_string());
        console.print(&screen.next("figure", &png.display().to_string()).render_for_stdout())
    }

    fn check_columns(&self, frame: &Frame) -> ebbing::Result<()> {
        let conditions = self.only.iter().map(|c| c.split_once('=').map_or(c.as_str(), |(name, _)| name));
        for name in
            [Some(self.x.as_str()), Some(self.y.as_str()), self.by.as_deref()].into_iter().flatten().chain(conditions)
        {
            if !frame.columns().iter().any(|column| column == name) {
                return Err(unknown_key(&self.folder, "a column", name, frame.columns()));
            }
        }
        Ok(())
    }

    fn filtered(&self, frame: &Frame, condition: &str) -> anyhow::Result<Frame> {
        let wrong = |expected: &str| Error::setting("--where", condition, expected);
        let (name, value) = condition.split_once('=').ok_or_else(|| wrong("must be COLUMN=VALUE"))?;
        let value = value.parse::<f64>().map_or_else(|_| Value::Text(value.into()), Value::Number);
        let left = frame.only(name, value)?;
        if left.is_empty() { Err(wrong("leaves no row").into()) } else { Ok(left) }
    }

    /// The curves, and the largest number of seeds behind a point.
    fn curves(&self, frame: &Frame) -> anyhow::Result<(Vec<PlottedCurve>, usize)> {
        let groups = match &self.by {
            Some(by) => frame.groups(&[by])?,
            None => vec![(Vec::new(), frame.clone())],
        };
        let (mut curves, mut most) = (Vec::new(), 0);
        for (key, group) in groups {
            let label = key.first().zip(self.by.as_ref()).map_or(String::new(), |(v, by)| format!("{by} {v}"));
            let mut curve = PlottedCurve { label, x: vec![], mean: vec![], error: vec![] };
            for x in group.levels(&self.x)?.into_iter().filter(|x| x.is_finite()) {
                let rows = group.only(&self.x, x)?;
                // A column that is empty at some points leaves a gap there.
                let known = rows.having(&self.y, |y| !y.is_nan())?;
                if known.is_empty() {
                    continue;
                }
                refuse_mixtures(&known, &self.folder)?;
                let mean = known.mean(&self.y)?;
                most = most.max(known.len());
                curve.x.push(x);
                curve.mean.push(mean.value);
                curve.error.push(mean.standard_error.unwrap_or(0.0));
            }
            curves.push(curve);
        }
        if most == 0 {
            return Err(Error::setting("--y", &self.y, "has no number in these rows").into());
        }
        Ok((curves, most))
    }
}

/// Whether values are whole numbers so few that ticks between them would mislead, as depths and tasks are.
fn counts<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> bool {
    /// Over longer ranges ticks are whole anyway.
    const LONGEST: f64 = 20.0;
    let (low, high) = values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    high > low && high - low <= LONGEST && values.clone().all(|v| v.fract() == 0.0)
}

/// An average is over seeds: several rows of one seed at one point differ in something that must be fixed first.
fn refuse_mixtures(rows: &Frame, folder: &Path) -> anyhow::Result<()> {
    let seeds = rows.levels("seed")?.len();
    if rows.len() <= seeds {
        return Ok(());
    }
    let first = rows.only("seed", rows.numbers("seed")?[0])?;
    let varies = |name: &&String| {
        let texts = first.texts(name).unwrap_or_default();
        texts.windows(2).any(|pair| pair[0] != pair[1])
    };
    // Settings come before results: the first few are the ones to fix.
    let varying: Vec<&str> = rows.columns().iter().filter(varies).map(String::as_str).take(4).collect();
    let problem = format!(
        "several rows of one seed fall on one point; fix what differs with --where COLUMN=VALUE or part curves with --by (the \
         first that differ: {})",
        varying.join(", ")
    );
    Err(Error::data(folder.display().to_string(), problem).into())
}
