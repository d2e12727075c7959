//! Rows of figure 4 as series over depth: one per permutation ratio (means over sources) and one per split sequence.

use super::{BestFit, Figure4, LONG, data_title};
use ebbing::stats::{Estimate, mean_with_error};
use ebbing_studies::{Frame, Result};

/// Up to this permutation ratio curves are cut after their maximum, as in the paper.
const CUT: f64 = 0.1;

/// One sequence at all depths.
pub(super) struct Series {
    pub name: String,
    /// The permutation ratio, of a permuted sequence.
    pub ratio: Option<f64>,
    pub f21: Vec<Estimate>,
    pub rf: Vec<Estimate>,
    pub rule: Vec<Estimate>,
    /// Where long-term forgetting is followed.
    pub long: Option<Long>,
}

/// Long-term forgetting at all depths.
#[derive(Default)]
pub(super) struct Long {
    /// Of the same sequences, which may be smaller than those of the short term.
    pub f21: Vec<Estimate>,
    pub rf: Vec<Estimate>,
    /// None where no source's fit has a finite τ_F > 0.
    pub tau: Vec<Option<Estimate>>,
    pub f_max: Vec<Option<Estimate>>,
    /// Curves whose fit has none.
    pub unfit: Vec<String>,
}

impl Series {
    /// `2(γ_RF − γ_rule)` at each depth.
    pub fn twice_conflict(&self) -> Vec<f64> {
        self.rf.iter().zip(&self.rule).map(|(a, b)| 2.0 * (a.value - b.value)).collect()
    }

    /// The conflict with its error at each depth.
    pub fn conflict(&self) -> Vec<Estimate> {
        let difference = |(a, b): (&Estimate, &Estimate)| Estimate {
            value: a.value - b.value,
            standard_error: a.standard_error.zip(b.standard_error).map(|(a, b)| a.hypot(b)),
        };
        self.rf.iter().zip(&self.rule).map(difference).collect()
    }

    fn empty(name: String, ratio: Option<f64>) -> Series {
        Series { name, ratio, f21: vec![], rf: vec![], rule: vec![], long: None }
    }
}

/// Mean over seeds of every source, then mean and standard error over sources.
fn over_sources(sources: &[Frame], name: &str) -> Result<Estimate> {
    let means = sources.iter().map(|f| Ok(f.mean(name)?.value)).collect::<Result<Vec<f64>>>()?;
    Ok(mean_with_error(&means)?)
}

impl Figure4 {
    pub(super) fn series(&self, frame: &Frame) -> Result<Vec<Series>> {
        let permuted = frame.only("sequence", "permuted")?;
        let mut all = vec![];
        for &ratio in &self.ratios {
            all.push(self.permuted(&permuted.only("ratio", ratio)?, ratio)?);
        }
        let split = frame.only("sequence", "split")?;
        for &(data, classes) in &self.splits {
            let rows = split.only("data", data)?.only("classes_per_group", classes)?.only("t", 2usize)?;
            let groups = if classes == 1 { "pairs".to_string() } else { format!("{classes} v {classes}") };
            let mut series = Series::empty(format!("split {}, {groups}", short(data)), None);
            for &depth in &self.depths {
                let rows = rows.only("depth", depth)?;
                series.f21.push(rows.mean("f")?);
                series.rf.push(rows.mean("gamma_rf")?);
                series.rule.push(rows.mean("gamma_rule")?);
            }
            all.push(series);
        }
        Ok(all)
    }

    /// The rows of every source.
    fn by_source(&self, rows: &Frame) -> Result<Vec<Frame>> {
        self.sources.iter().map(|s| rows.only("data", *s)).collect()
    }

    fn permuted(&self, rows: &Frame, ratio: f64) -> Result<Series> {
        let mut series = Series::empty(format!("{} %", 100.0 * ratio), Some(ratio));
        let second = rows.only("p", self.p)?.only("t", 2usize)?;
        for &depth in &self.depths {
            let sources = self.by_source(&second.only("depth", depth)?)?;
            series.f21.push(over_sources(&sources, "f")?);
            series.rf.push(over_sources(&sources, "gamma_rf")?);
            series.rule.push(over_sources(&sources, "gamma_rule")?);
        }
        if ratio <= LONG {
            let rows = rows.only("tasks", self.tasks)?;
            let mut long = Long::default();
            for &depth in &self.depths {
                let sources = self.by_source(&rows.only("depth", depth)?)?;
                self.long_term(&mut long, ratio, &sources, &format!("{}, L = {depth}", series.name))?;
            }
            series.long = Some(long);
        }
        Ok(series)
    }

    /// Fits each source's mean curve, and averages over sources.
    fn long_term(&self, long: &mut Long, ratio: f64, sources: &[Frame], what: &str) -> Result<()> {
        let (mut taus, mut plateaus) = (vec![], vec![]);
        for (source, name) in sources.iter().zip(&self.sources) {
            let mut curve = vec![0.0];
            for t in 2..=self.tasks {
                curve.push(source.only("t", t)?.mean("f")?.value);
            }
            match BestFit::of(&curve, ratio <= CUT)? {
                Some(fit) => {
                    taus.push(fit.tau);
                    plateaus.push(fit.f_max);
                }
                None => long.unfit.push(format!("{} at {what}", short(name))),
            }
        }
        let second = sources.iter().map(|s| s.only("t", 2usize)).collect::<Result<Vec<Frame>>>()?;
        long.f21.push(over_sources(&second, "f")?);
        long.rf.push(over_sources(&second, "gamma_rf")?);
        let mean = |values: &[f64]| if values.is_empty() { None } else { mean_with_error(values).ok() };
        long.tau.push(mean(&taus));
        long.f_max.push(mean(&plateaus));
        Ok(())
    }
}

/// What legends call a data set.
fn short(data: &str) -> &str {
    match data {
        "mnist-sample" => "MNIST sample",
        "cifar100" => "CIFAR-100",
        other => data_title(other),
    }
}
