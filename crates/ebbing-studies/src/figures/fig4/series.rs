//! Rows of figure 4 as series over depth: one per permutation ratio (means over sources) and one per split sequence.

use super::{Figure4, LONG, data_title, fit};
use crate::error::Result;
use crate::frame::Frame;
use ebbing::{Uncertain, mean_with_error};

/// One sequence at all depths.
pub(super) struct Series {
    pub name: String,
    /// The permutation ratio, of a permuted sequence.
    pub ratio: Option<f64>,
    pub f21: Vec<Uncertain>,
    pub rf: Vec<Uncertain>,
    pub rule: Vec<Uncertain>,
    /// τ_F and F_max where long-term forgetting is followed; none where no source's curve determines them.
    pub tau: Vec<Option<Uncertain>>,
    pub f_max: Vec<Option<Uncertain>>,
    /// Curves that do not determine τ_F.
    pub undetermined: Vec<String>,
}

impl Series {
    pub fn long(&self) -> bool {
        self.ratio.is_some_and(|ratio| ratio <= LONG)
    }

    /// `2(γ_RF − γ_rule)` at each depth.
    pub fn twice_conflict(&self) -> Vec<f64> {
        self.rf.iter().zip(&self.rule).map(|(a, b)| 2.0 * (a.value - b.value)).collect()
    }

    /// The conflict with its error at each depth.
    pub fn conflict(&self) -> Vec<Uncertain> {
        let difference = |(a, b): (&Uncertain, &Uncertain)| Uncertain {
            value: a.value - b.value,
            standard_error: a.standard_error.zip(b.standard_error).map(|(a, b)| a.hypot(b)),
        };
        self.rf.iter().zip(&self.rule).map(difference).collect()
    }

    fn empty(name: String, ratio: Option<f64>) -> Series {
        let none = || vec![];
        Series { name, ratio, f21: none(), rf: none(), rule: none(), tau: vec![], f_max: vec![], undetermined: vec![] }
    }
}

/// Mean over seeds of every source, then mean and standard error over sources.
fn over_sources(sources: &[Frame], name: &str) -> Result<Uncertain> {
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

    fn permuted(&self, rows: &Frame, ratio: f64) -> Result<Series> {
        let mut series = Series::empty(format!("{} %", 100.0 * ratio), Some(ratio));
        for &depth in &self.depths {
            let rows = rows.only("depth", depth)?;
            let sources = self.sources.iter().map(|s| rows.only("data", *s)).collect::<Result<Vec<Frame>>>()?;
            let second = sources.iter().map(|s| s.only("t", 2usize)).collect::<Result<Vec<Frame>>>()?;
            series.f21.push(over_sources(&second, "f")?);
            series.rf.push(over_sources(&second, "gamma_rf")?);
            series.rule.push(over_sources(&second, "gamma_rule")?);
            if series.long() {
                self.long_term(&mut series, &sources, depth)?;
            }
        }
        Ok(series)
    }

    /// Fits each source's mean curve, and averages what the curves determine.
    fn long_term(&self, series: &mut Series, sources: &[Frame], depth: usize) -> Result<()> {
        let (mut taus, mut plateaus) = (vec![], vec![]);
        for (source, name) in sources.iter().zip(&self.sources) {
            let mut curve = vec![0.0];
            for t in 2..=self.tasks {
                curve.push(source.only("t", t)?.mean("f")?.value);
            }
            let fit = fit(&curve)?;
            match (fit.tau, fit.f_max) {
                (Some(tau), Some(f_max)) => {
                    taus.push(tau.value);
                    plateaus.push(f_max.value);
                }
                _ => series.undetermined.push(format!("{} at {}, L = {depth}", short(name), series.name)),
            }
        }
        let mean = |values: &[f64]| if values.is_empty() { None } else { mean_with_error(values).ok() };
        series.tau.push(mean(&taus));
        series.f_max.push(mean(&plateaus));
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
