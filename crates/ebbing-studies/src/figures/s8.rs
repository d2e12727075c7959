//! Figure S8: one readout for both tasks against one for each, trained by descent on tasks with nothing in common.

use super::descent::{ByDescent, Descent, against_load, learned, seeds};
use super::drawn::ByRatio;
use super::loads::column;
use super::{Entry, Images, Needs, Reproduction, Scale};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use crate::study::{Study, Work};
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::nets::Heads;
use ebbing::plan::Cost;
use ebbing_report::{Figure, Markers, Panel};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S8",
    panels: "a-c",
    shows: "Test losses of both tasks with one readout and with one per task, against load",
    needs: Needs::Training,
    bound: None,
    figure: |scale, images| Box::new(SingleAgainstMulti::at(scale, images)),
};

struct SingleAgainstMulti {
    descent: Descent,
    scale: Scale,
    loads: Vec<f64>,
    seeds: u64,
}

const HEADS: [(&str, Heads); 2] = [("single", Heads::Single), ("multi", Heads::Multi)];

impl SingleAgainstMulti {
    fn at(scale: Scale, images: Images) -> Self {
        let mut descent = Descent::at(scale, images);
        descent.training.sigma0 = 0.5;
        if scale == Scale::Quick {
            descent.training.max_steps = descent.training.max_steps.min(6000);
        }
        let (loads, seeds) = match scale {
            Scale::Quick => (vec![0.4, 0.5, 1.3, 2.0, 3.0, 4.5], if images.few() { 2 } else { 3 }),
            Scale::Paper => (vec![0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.1, 1.4, 1.8, 2.3, 3.0, 4.0, 5.0], 10),
        };
        SingleAgainstMulti { descent, scale, loads, seeds }
    }

    /// Mean of a column at every load.
    fn curve(&self, frame: &Frame, heads: &str, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        against_load(&frame.only("heads", heads)?, column)
    }
}

/// Networks by descent, with the larger of G_21 and G_22.
#[derive(Debug, Serialize, Deserialize)]
struct WithWorst(ByDescent);

impl Work for WithWorst {
    fn recipe(&self) -> Option<Recipe> {
        self.0.recipe()
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let value = |row: &Row, name: &str| row.0.iter().find(|(n, _)| n == name).and_then(|(_, v)| v.number());
        let worst = |row: Row| match (value(&row, "g21"), value(&row, "g22")) {
            (Some(g21), Some(g22)) => row.with("worst", g21.max(g22)),
            _ => row,
        };
        Ok(self.0.rows(sources)?.into_iter().map(worst).collect())
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }
}

impl Reproduction for SingleAgainstMulti {
    fn study(&self) -> Result<Study> {
        let own =
            [column("heads", "one readout, or one per task"), column("worst", "the larger of G_21 and G_22 of a run")];
        let settings = serde_json::json!({ "split": 1.0, "depth": 1 });
        let mut grid = self.descent.study("figure-S8", self.scale, settings, &own);
        for (&alpha, (name, heads)) in self.loads.iter().flat_map(|alpha| HEADS.map(|heads| (alpha, heads))) {
            for seed in seeds(self.seeds) {
                let nets = self.descent.nets(self.descent.tasks(ByRatio::Split, 1.0, 0), heads, 1, alpha, seed);
                grid.push(Cell::new(seed).with("alpha", alpha).with("heads", name), WithWorst(nets));
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut panels = Vec::new();
        for (column, name) in [("g21", "G_{21}"), ("g22", "G_{22}"), ("worst", "max(G_{21}, G_{22})")] {
            let mut panel = Panel::new().x("load α = P/N").y(name).log_x().log_y();
            for (k, (heads, _)) in HEADS.iter().enumerate() {
                let (x, y, e) = self.curve(frame, heads, column)?;
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
            self.descent.caption()
        );
        Ok(vec![("figure-S8".into(), Figure::grid(panels, 3).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let curves = |column: &str| -> Result<_> {
            let (alphas, single, _) = self.curve(frame, "single", column)?;
            let (others, multi, _) = self.curve(frame, "multi", column)?;
            if alphas != others {
                return Err(crate::error::Error::data("figure S8", "loads are missing for one of the two networks"));
            }
            Ok((alphas, single, multi))
        };
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let (_, single21, multi21) = curves("g21")?;
        let ratio21 = largest(&mut multi21.iter().zip(&single21).map(|(m, s)| m / s));
        let (alphas, single22, multi22) = curves("g22")?;
        let off =
            single22.iter().map(|g| (g / if *g > 1.0 { 1.25 } else { 0.8 }).ln() * if *g > 1.0 { 1.0 } else { -1.0 });
        let off = off.fold(f64::NEG_INFINITY, f64::max);
        let loaded = alphas.iter().zip(multi22.iter().zip(&single22)).filter(|(a, _)| **a > 1.0);
        let least22 = loaded.map(|(_, (m, s))| m / s).fold(f64::INFINITY, f64::min);
        let (alphas, single, multi) = curves("worst")?;
        let wins = |from: f64, to: f64| {
            let inside = alphas.iter().zip(single.iter().zip(&multi)).filter(move |(a, _)| **a > from && **a <= to);
            inside.filter(|(_, (s, m))| s < m).count()
        };
        let (high, low) = (wins(1.0, f64::INFINITY), wins(0.0, 0.5));
        let share = learned(frame)?;
        let shares = format!(
            "one readout: {:.2}, a readout per task: {:.2}. Where it fails: with one readout κ holds all weights back, and at \
             σ_0 = {} the tangent kernel is too small beside it",
            learned(&frame.only("heads", "single")?)?,
            learned(&frame.only("heads", "multi")?)?,
            self.descent.training.sigma0
        );
        let few = format!(
            "where it fails: with P = {} examples a task alone is hardly learned for test images, so that forgetting it costs \
             little",
            self.descent.p
        );
        Ok(vec![
            Claim::below("S8a", "largest G_21 of a readout per task over that of one", ratio21, 1.0).note(&few),
            Claim::new("S8b", "one readout: ln of G_22 beyond [0.8, 1.25]", off, "≤ 0", off <= 0.0).note(&few),
            Claim::above("S8b", "least G_22 of a readout per task over that of one, α > 1", least22, 2.0),
            Claim::new("S8c", "loads above 1 where one readout has the smaller max(G)", high as f64, "≥ 1", high >= 1),
            Claim::new("S8c", "loads up to 0.5 where it has", low as f64, "= 0", low == 0).note(&few),
            Claim::new("S8", "share of runs whose second task was learned", share, "= 1", share == 1.0).note(shares),
        ])
    }
}
