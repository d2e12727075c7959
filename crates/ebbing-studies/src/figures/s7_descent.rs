//! Figure S7, panels d and g: intermediate datasets lower the critical load, by descent.

use super::descent::{Descent, critical_by_descent, learned, pair_cell, pairs, seeds};
use super::drawn::ByRatio;
use super::loads::column;
use super::{Entry, Images, Needs, Reproduction, Scale};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use crate::study::Study;
use ebbing::nets::Heads;
use ebbing_report::{Figure, Markers, Panel};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S7-descent",
    panels: "d, g",
    shows: "Critical load by descent against task similarity, with 0 to 3 intermediate datasets",
    needs: Needs::Training,
    bound: None,
    figure: |scale, images| Box::new(StepsByDescent::at(scale, images)),
};

struct StepsByDescent {
    descent: Descent,
    scale: Scale,
    ratios: [Vec<f64>; 2],
    steps: Vec<usize>,
    loads: Vec<f64>,
    seeds: u64,
}

impl StepsByDescent {
    fn at(scale: Scale, images: Images) -> Self {
        let descent = Descent::at(scale, images);
        match scale {
            Scale::Quick => StepsByDescent {
                descent,
                scale,
                ratios: [vec![0.1, 0.15], vec![0.25]],
                steps: vec![0, 1, 3],
                loads: vec![1.2, 1.6, 2.2, 3.2, 4.5, 6.5],
                seeds: if images.few() { 1 } else { 2 },
            },
            Scale::Paper => StepsByDescent {
                descent,
                scale,
                ratios: [vec![0.05, 0.1, 0.15, 0.2, 0.3], vec![0.1, 0.15, 0.2, 0.25, 0.3, 0.4]],
                steps: vec![0, 1, 2, 3],
                loads: vec![1.1, 1.3, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0],
                seeds: 10,
            },
        }
    }

    /// The critical load by descent at S.
    fn critical(&self, frame: &Frame, protocol: ByRatio, ratio: f64, steps: usize) -> Result<f64> {
        critical_by_descent(&frame.only("protocol", protocol)?.only("ratio", ratio)?.only("steps_between", steps)?)
    }
}

impl Reproduction for StepsByDescent {
    fn study(&self) -> Result<Study> {
        let own = [column("steps_between", "datasets S between the two tasks")];
        let mut grid = self.descent.study("figure-S7-descent", self.scale, serde_json::json!({}), &own);
        for (kind, ratio) in pairs(&self.ratios) {
            for (&steps, &alpha) in self.steps.iter().flat_map(|s| self.loads.iter().map(move |a| (s, a))) {
                for seed in seeds(self.seeds) {
                    let cell = pair_cell("nets", (kind, ratio), seed).with("steps_between", steps).with("alpha", alpha);
                    let tasks = self.descent.tasks(kind, ratio, steps);
                    grid.push(cell, self.descent.nets(tasks, Heads::Multi, 1, alpha, seed));
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut panels = Vec::new();
        for (k, protocol) in ByRatio::BOTH.into_iter().enumerate() {
            let largest = self.ratios[k].iter().copied().fold(0.0, f64::max);
            let mut panel = Panel::new().letter(['d', 'g'][k]).x(protocol.axis()).x_range(0.0, 1.3 * largest);
            panel = panel.y("critical load α_{c} by descent");
            for (category, &steps) in self.steps.iter().enumerate() {
                let critical: Vec<(f64, f64)> = self.ratios[k]
                    .iter()
                    .map(|&ratio| Ok((ratio, self.critical(frame, protocol, ratio, steps)?)))
                    .collect::<Result<_>>()?;
                let known = critical.into_iter().filter(|(_, a)| !a.is_nan());
                let (x, y): (Vec<f64>, Vec<f64>) = known.unzip();
                if !x.is_empty() {
                    panel = panel.markers(Markers::new(&format!("S = {steps}"), &x, &y).category(category));
                }
            }
            panels.push(panel);
        }
        let caption = format!(
            "Load at which the mean G_{{22}} over {} seed(s) falls through the middle of its range over α = {} … {}, with S \
             datasets between the two tasks. {}",
            self.seeds,
            self.loads[0],
            self.loads[self.loads.len() - 1],
            self.descent.caption()
        );
        Ok(vec![("figure-S7-descent".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for (k, protocol) in ByRatio::BOTH.into_iter().enumerate() {
            let panel = ["S7d", "S7g"][k];
            let (mut rises, mut seen) = (0, Vec::new());
            for &ratio in self.ratios[k].iter().filter(|r| **r >= 0.1) {
                let critical: Vec<f64> =
                    self.steps.iter().map(|&s| self.critical(frame, protocol, ratio, s)).collect::<Result<_>>()?;
                // A load that cannot be read off counts against the claim.
                rises += critical.windows(2).filter(|w| w[0].is_nan() || w[1].is_nan() || w[1] >= w[0]).count();
                let shown: Vec<String> = critical.iter().map(|a| format!("{a:.2}")).collect();
                seen.push(format!("{ratio}: {}", shown.join(", ")));
            }
            let steps: Vec<String> = self.steps.iter().map(usize::to_string).collect();
            let note = format!(
                "ratio: α_c at S = {}: {}. Where it fails: {} seed(s) and a coarse grid of loads leave the middle of G_22's \
                 range uncertain by about a step of the grid",
                steps.join(", "),
                seen.join("; "),
                self.seeds
            );
            let statement = "steps in S at which α_c does not fall, ratios of 0.1 and more";
            claims.push(Claim::new(panel, statement, rises as f64, "= 0", rises == 0).note(note));
        }
        let share = learned(frame)?;
        let note = "where it fails: at large loads κ leaves an error of about 1e-3, or the steps are too few";
        let statement = "share of runs whose last task was learned";
        claims.push(Claim::new("S7d, g", statement, share, "= 1", share == 1.0).note(note));
        Ok(claims)
    }
}
