//! What the cells of figure 5 compute.

use super::super::drawn::{Drawn, drawn_cost};
use super::super::loads::{critical_row, labels, point_row, with_steepest};
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::plan::{Cost, phase_cost};
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing_studies::{Result, Row, Work};
use serde::{Deserialize, Serialize};

/// A curve against the load; at λ → ∞ with the critical load at both label scales.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CurveWork {
    pub tasks: Drawn,
    #[serde(with = "ebbing::serde_infinity")]
    pub lambda: f64,
    pub loads: Vec<f64>,
}

impl Work for CurveWork {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let settings = MultiHeadSettings { lambda: self.lambda, ..MultiHeadSettings::default() };
        let two = self.tasks.two(sources, &settings, context)?;
        let mut rows: Vec<Row> = two.curve(&self.loads)?.points.iter().map(point_row).collect();
        if self.lambda.is_infinite() {
            rows.insert(0, critical_row(&two.critical_load()?, "given"));
            rows.push(critical_row(&two.with_normalized_labels()?.critical_load()?, "scaled"));
        }
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        self.tasks.phase_cost(self.loads.len())
    }
}

/// The critical load: exact, by γ_sim, and read off F_21.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Boundary {
    pub tasks: Drawn,
    pub loads: Vec<f64>,
}

impl Work for Boundary {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.tasks.sequence(sources)?.tasks;
        let two = TwoTasks::new(&tasks, &MultiHeadSettings::default(), context)?;
        let critical = two.critical_load()?;
        let mut row = critical_row(&critical, "given");
        let (first, last) = (self.loads[0], self.loads[self.loads.len() - 1]);
        // What the curve cannot show is left out: no transition between its ends.
        if critical.alpha_c > first && critical.alpha_c < last {
            let points = two.points(&self.loads)?;
            let maps = two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0]))?;
            let f21: Vec<f64> = two.losses(&maps, &points).iter().map(|f| f.coefficient).collect();
            row = with_steepest(row, &self.loads, &f21)?;
        }
        let edge = two.points(&[0.98, 1.0 + 0.5 * (critical.alpha_c - 1.0).min(0.04)])?;
        row = row.with("exponent_below_1", edge[0].u22.exponent).with("exponent_above_1", edge[1].u22.exponent);
        let scaled = two.with_normalized_labels()?.critical_load()?;
        Ok(vec![row, critical_row(&scaled, "scaled")])
    }

    fn cost(&self) -> Cost {
        let sizes = self.tasks.untested();
        drawn_cost(&sizes, phase_cost(&sizes, self.loads.len()))
    }
}
