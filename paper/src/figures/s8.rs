//! Figure S8: one readout for both tasks against one for each, on tasks with nothing in common.

use super::drawn::ByRatio;
use super::loads::{column, largest};
use super::minima::{AtMinimum, Minima, against_load, at_every_kappa, of_kappa, reached, seeds};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::nets::Heads;
use ebbing::plan::Cost;
use ebbing_show::{Figure, Markers, Panel};
use ebbing_studies::{Cell, Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S8",
    panels: "a-c",
    shows: "Test losses of both tasks with one readout and with one per task, against load",
    needs: Needs::Training,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(SingleAgainstMulti::at(scale, images)),
};

struct SingleAgainstMulti {
    nets: Minima,
    scale: Scale,
    loads: Vec<f64>,
    seeds: u64,
}

const HEADS: [(&str, Heads); 2] = [("single", Heads::Single), ("multi", Heads::Multi)];

impl SingleAgainstMulti {
    fn at(scale: Scale, images: Images) -> Self {
        let nets = Minima { sigma0: 0.5, ..Minima::at(scale, images) };
        let (loads, seeds) = match scale {
            Scale::Quick => (vec![0.4, 0.5, 1.3, 2.0, 3.0, 4.5], if images.few() { 2 } else { 3 }),
            Scale::Paper => (vec![0.25, 0.35, 0.5, 0.7, 0.9, 1.1, 1.4, 1.8, 2.3, 3.0, 4.0, 5.0], 10),
        };
        SingleAgainstMulti { nets, scale, loads, seeds }
    }

    /// Mean of a column at every load.
    fn curve(&self, frame: &Frame, heads: &str, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        against_load(&frame.only("heads", heads)?, column)
    }
}

/// Networks with the larger of G_21 and G_22.
#[derive(Debug, Serialize, Deserialize)]
struct WithWorst(AtMinimum);

impl Work for WithWorst {
    fn recipe(&self) -> Option<Recipe> {
        self.0.recipe()
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let value = |row: &Row, name: &str| row.0.iter().find(|(n, _)| n == name).and_then(|(_, v)| v.number());
        let worst = |row: Row| match (value(&row, "g21"), value(&row, "g22")) {
            (Some(g21), Some(g22)) => row.with("worst", g21.max(g22)),
            _ => row,
        };
        Ok(self.0.rows(sources, context)?.into_iter().map(worst).collect())
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }
}

impl Reproduction for SingleAgainstMulti {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let own =
            [column("heads", "one readout, or one per task"), column("worst", "the larger of G_21 and G_22 of a run")];
        let settings = serde_json::json!({ "split": 1.0, "depth": 1 });
        let mut grid = self.nets.study("figure-S8", self.scale, settings, &own);
        for (&alpha, (name, heads)) in self.loads.iter().flat_map(|alpha| HEADS.map(|heads| (alpha, heads))) {
            for seed in seeds(self.seeds) {
                let nets = self.nets.nets(self.nets.tasks(ByRatio::Split, 1.0, 0), heads, 1, alpha, seed);
                grid.push(Cell::new(seed).with("alpha", alpha).with("heads", name), WithWorst(nets));
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut figures = Vec::new();
        for (n, &kappa) in self.nets.kappas.iter().enumerate() {
            let here = frame.only("kappa", kappa)?;
            let mut panels = Vec::new();
            for (column, name) in [("g21", "G_{21}"), ("g22", "G_{22}"), ("worst", "max(G_{21}, G_{22})")] {
                let mut panel = Panel::new().x("load α = P/N").y(name).log_x().log_y();
                for (k, (heads, _)) in HEADS.iter().enumerate() {
                    let (x, y, e) = self.curve(&here, heads, column)?;
                    let label = ["one readout", "a readout per task"][k];
                    panel = panel.markers(Markers::new(label, &x, &y).errors(&e).category(k));
                }
                panels.push(panel);
            }
            let caption = format!(
                "Test loss of task 1 (a) and task 2 (b) after both, over that of the task alone, and the larger of the two (c). \
                 Two tasks without a digit in common (split ratio 1), one hidden layer; means and standard errors over {} seeds \
                 of the initial weights. {}",
                self.seeds,
                self.nets.caption(kappa)
            );
            figures.push((of_kappa("figure-S8", n, kappa), Figure::grid(panels, 3).caption(&caption)));
        }
        Ok(figures)
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let at = |&kappa: &f64| Ok((kappa, self.claims_at(&frame.only("kappa", kappa)?)?));
        let mut claims = at_every_kappa(self.nets.kappas.iter().map(at).collect::<Result<_>>()?);
        claims.push(reached("S8", frame)?);
        Ok(claims)
    }
}

impl SingleAgainstMulti {
    /// Loads, and a column's means of the network with one readout and of that with several.
    fn both(&self, frame: &Frame, column: &str) -> Result<[Vec<f64>; 3]> {
        let (alphas, single, _) = self.curve(frame, "single", column)?;
        let (others, multi, _) = self.curve(frame, "multi", column)?;
        if alphas != others {
            return Err(ebbing_studies::Error::data("figure S8", "loads are missing for one of the two networks"));
        }
        Ok([alphas, single, multi])
    }

    fn claims_at(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let ratios = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<f64>>();
        let [_, single21, multi21] = self.both(frame, "g21")?;
        let ratio21 = largest(ratios(&multi21, &single21));
        let [alphas, single22, multi22] = self.both(frame, "g22")?;
        let (low, high) = (-largest(single22.iter().map(|g| -g)), largest(single22.iter().copied()));
        let above = ratios(&single22, &multi22).into_iter().zip(&alphas).filter(|(_, a)| **a > 1.0);
        let least22 = 1.0 / largest(above.map(|(ratio, _)| ratio));
        let [_, single, multi] = self.both(frame, "worst")?;
        let wins = |inside: &dyn Fn(f64) -> bool| {
            (0..alphas.len()).filter(|&i| inside(alphas[i]) && single[i] < multi[i]).count()
        };
        let (many, few) = (wins(&|a| a > 1.0), wins(&|a| a <= 0.5));
        let errors =
            HEADS.map(|(heads, _)| Ok(format!("{heads} {:.2e}", frame.only("heads", heads)?.mean("mse")?.value)));
        let errors = errors.into_iter().collect::<Result<Vec<String>>>()?.join(", ");
        let range =
            format!("G_22 from {low:.3} to {high:.3}; mean squared errors that the minimum leaves on task 2: {errors}");
        Ok(vec![
            Claim::below("S8a", "largest G_21 of a readout per task over that of one", ratio21, 1.0),
            Claim::new(
                "S8b",
                "one readout: the G_22 that is furthest from 1",
                if high > 1.0 / low { high } else { low },
                "0.8 … 1.4",
                low >= 0.8 && high <= 1.4,
            )
            .note(range),
            Claim::above("S8b", "least G_22 of a readout per task over that of one, α > 1", least22, 2.0),
            Claim::new("S8c", "loads above 1 where one readout has the smaller max(G)", many as f64, "≥ 1", many >= 1),
            Claim::new("S8c", "loads up to 0.5 where it has", few as f64, "= 0", few == 0),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn runs_through_and_claims_can_fail() {
        let mut study =
            SingleAgainstMulti { loads: vec![0.5, 2.0], ..SingleAgainstMulti::at(Scale::Quick, Images::Embedded) };
        (study.nets.p, study.nets.p_test) = (24, 16);
        study.nets.kappas.truncate(1);
        study.limit_seeds(1);
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 3);
        let figures = study.draw(&frame).unwrap();
        assert!(figures.iter().all(|(_, figure)| figure.mistakable().unwrap().is_empty()));
        assert_eq!(study.claims(&frame).unwrap().len(), 6);
        // One readout with test losses a hundred times larger is beyond the range.
        let spoilt = frame.numbers("g22").unwrap().iter().map(|g| (100.0 * g).into()).collect();
        let claims = study.claims(&frame.replaced("g22", spoilt).unwrap()).unwrap();
        assert_eq!(claims[1].verdict, Verdict::Fail);
    }
}
