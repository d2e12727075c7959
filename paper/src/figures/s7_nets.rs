//! Figure S7, panels d and g: intermediate datasets lower the critical load, in trained networks.

use super::common::{Trend, TrendClaim};
use super::drawn::ByRatio;
use super::loads::column;
use super::minima::{Minima, at_every_kappa, critical_by_height, of_kappa, pair_cell, pairs, reached, seeds};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::nets::Heads;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing_show::{Figure, Legend, Line, Markers, Panel};
use ebbing_studies::{Frame, Result, Study};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S7-nets",
    panels: "d, g",
    shows: "Critical load of trained networks against task similarity, with 0 to 3 intermediate datasets",
    needs: Needs::Training,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(StepsByNets::at(scale, images)),
};

struct StepsByNets {
    nets: Minima,
    scale: Scale,
    ratios: [Vec<f64>; 2],
    steps: Vec<usize>,
    loads: Vec<f64>,
    seeds: u64,
}

impl StepsByNets {
    fn at(scale: Scale, images: Images) -> Self {
        let nets = Minima::at(scale, images);
        match scale {
            Scale::Quick => StepsByNets {
                nets,
                scale,
                ratios: [vec![0.1, 0.15, 0.2], vec![0.15, 0.2, 0.25]],
                steps: vec![0, 1, 3],
                loads: vec![1.2, 1.6, 2.2, 3.2, 4.5, 6.5],
                seeds: if images.few() { 1 } else { 3 },
            },
            Scale::Paper => StepsByNets {
                nets,
                scale,
                ratios: [vec![0.1, 0.15, 0.2], vec![0.15, 0.2, 0.25]],
                steps: vec![0, 1, 2, 3],
                loads: vec![1.15, 1.4, 1.7, 2.1, 2.6, 3.2, 4.0, 5.0, 6.5],
                seeds: 10,
            },
        }
    }

    /// The critical load at S, of the networks at one κ, by their mean G_22; its standard error by the seeds' own ones.
    fn critical(&self, frame: &Frame, protocol: ByRatio, ratio: f64, steps: usize) -> Result<Estimate> {
        let runs = frame.only("protocol", protocol)?.only("ratio", ratio)?.only("steps_between", steps)?;
        let own = runs.levels("seed")?.into_iter().map(|seed| critical_by_height(&runs.only("seed", seed)?));
        let own: Vec<f64> = own.collect::<Result<Vec<f64>>>()?.into_iter().filter(|a| !a.is_nan()).collect();
        let standard_error = if own.len() > 1 { mean_with_error(&own)?.standard_error } else { None };
        Ok(Estimate { value: critical_by_height(&runs)?, standard_error })
    }

    fn panel(&self, frame: &Frame, k: usize) -> Result<Panel> {
        let protocol = ByRatio::BOTH[k];
        let mut panel =
            Panel::new().letter(['d', 'g'][k]).x(protocol.axis()).y("α_{c} of networks").legend(Legend::Below);
        for (category, &steps) in self.steps.iter().enumerate() {
            let (mut x, mut y, mut errors) = (vec![], vec![], vec![]);
            for &ratio in &self.ratios[k] {
                let critical = self.critical(frame, protocol, ratio, steps)?;
                if !critical.value.is_nan() {
                    // Side by side, so that bars do not hide each other.
                    x.push(ratio + 0.001 * (category as f64 - 0.5 * (self.steps.len() - 1) as f64));
                    y.push(critical.value);
                    errors.push(critical.standard_error.unwrap_or(0.0));
                }
            }
            if !x.is_empty() {
                let name = format!("S = {steps}");
                panel = panel.line(Line::new(&name, &x, &y).category(category));
                panel = panel.markers(Markers::new(&name, &x, &y).errors(&errors).category(category));
            }
        }
        Ok(panel)
    }

    /// The claim of one panel at one κ.
    fn falls(&self, frame: &Frame, k: usize) -> Result<Claim> {
        let mut series = Vec::new();
        for &ratio in self.ratios[k].iter().filter(|r| **r >= 0.1) {
            let at = |&s: &usize| self.critical(frame, ByRatio::BOTH[k], ratio, s);
            series.push((format!("ratio {ratio}"), self.steps.iter().map(at).collect::<Result<Vec<Estimate>>>()?));
        }
        let steps: Vec<String> = self.steps.iter().map(usize::to_string).collect();
        let answer = |(name, critical): &(String, Vec<Estimate>)| {
            format!("{name}: {}", critical.iter().map(Estimate::to_string).collect::<Vec<_>>().join(", "))
        };
        let all: Vec<String> = series.iter().map(answer).collect();
        let statement = "α_c falls with S at every ratio of 0.1 and more";
        // A load that cannot be read off is NaN, which no trend passes.
        let claim = Trend::Falls.claim(["S7d", "S7g"][k], statement, &series)?;
        let against = if claim.note.is_empty() { String::new() } else { format!("{}; ", claim.note) };
        Ok(claim.note(format!("{against}α_c at S = {}: {}", steps.join(", "), all.join("; "))))
    }
}

impl Reproduction for StepsByNets {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let own = [column("steps_between", "datasets S between the two tasks")];
        let mut grid = self.nets.study("figure-S7-nets", self.scale, serde_json::json!({}), &own);
        for (kind, ratio) in pairs(&self.ratios) {
            for (&steps, &alpha) in self.steps.iter().flat_map(|s| self.loads.iter().map(move |a| (s, a))) {
                for seed in seeds(self.seeds) {
                    let cell = pair_cell("nets", (kind, ratio), seed).with("steps_between", steps).with("alpha", alpha);
                    let tasks = self.nets.tasks(kind, ratio, steps);
                    grid.push(cell, self.nets.nets(tasks, Heads::Multi, 1, alpha, seed));
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut figures = Vec::new();
        for (n, &kappa) in self.nets.kappas.iter().enumerate() {
            let here = frame.only("kappa", kappa)?;
            let panels = vec![self.panel(&here, 0)?, self.panel(&here, 1)?];
            let caption = format!(
                "Load at which the mean of ln G_{{22}} over {} seed(s) falls through the middle of its range over α = {} … {}, with S \
                 datasets between the two tasks; bars are standard errors of the seeds' own. {}",
                self.seeds,
                self.loads[0],
                self.loads[self.loads.len() - 1],
                self.nets.caption(kappa)
            );
            figures.push((of_kappa("figure-S7-nets", n, kappa), Figure::grid(panels, 2).caption(&caption)));
        }
        Ok(figures)
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let at = |&kappa: &f64| {
            let here = frame.only("kappa", kappa)?;
            Ok((kappa, vec![self.falls(&here, 0)?, self.falls(&here, 1)?]))
        };
        let mut claims = at_every_kappa(self.nets.kappas.iter().map(at).collect::<Result<_>>()?);
        claims.push(reached("S7d, g", frame)?);
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn runs_through_and_claims_say_what_cannot_be_read_off() {
        let mut study = StepsByNets {
            ratios: [vec![0.1], vec![0.25]],
            steps: vec![0, 1],
            loads: vec![1.3, 2.0, 3.0],
            ..StepsByNets::at(Scale::Quick, Images::Embedded)
        };
        (study.nets.p, study.nets.p_test) = (24, 16);
        study.nets.kappas.truncate(1);
        study.limit_seeds(1);
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 2);
        assert_eq!(study.claims(&frame).unwrap().len(), 3);
        // The same load at every S does not fall.
        let flat =
            frame.replaced("g22", frame.numbers("alpha").unwrap().iter().map(|a| (1.0 / a).into()).collect()).unwrap();
        let claims = study.claims(&flat).unwrap();
        assert_eq!((claims[0].verdict, claims[1].verdict), (Verdict::Fail, Verdict::Fail));
    }
}
