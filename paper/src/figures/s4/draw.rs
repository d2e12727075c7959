//! The panels of figure S4.

use super::{Learners, NAMES};
use ebbing_show::{Figure, Line, Markers, Panel};
use ebbing_studies::{Frame, Result};

/// The learners as they are called in the legend.
const SHOWN: [&str; 4] = ["gradient descent", "L2", "online EWC, γ = 0", "online EWC, γ = 1"];

impl Learners {
    /// A quantity after each task, with its errors.
    fn curve(&self, part: &Frame, who: &str, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        let points = (1..=self.tasks).map(|t| self.after(part, who, t, column)).collect::<Result<Vec<_>>>()?;
        let t = (1..=self.tasks).map(|t| t as f64).collect();
        let errors = points.iter().map(|p| p.standard_error.unwrap_or(0.0)).collect();
        Ok((t, points.iter().map(|p| p.value).collect(), errors))
    }
}

pub(super) fn draw(study: &Learners, frame: &Frame) -> Result<Vec<(String, Figure)>> {
    let (part, mut panels) = (frame.only("part", "learners")?, Vec::new());
    for (column, name) in [("train_accuracy", "train accuracy, task 1"), ("test_accuracy", "test accuracy, task 1")] {
        let mut panel = Panel::new().x("tasks learned, *t*").y(name).integer_x();
        let (t, y, _) = study.curve(&part, "theory", column)?;
        panel = panel.line(Line::new("theory", &t, &y).category(6));
        for (k, (who, label)) in NAMES.iter().zip(SHOWN).enumerate() {
            let (mut t, y, e) = study.curve(&part, who, column)?;
            // Side by side, so that bars do not hide each other.
            t.iter_mut().for_each(|t| *t += 0.09 * (k as f64 - 0.5 * (NAMES.len() - 1) as f64));
            panel = panel.markers(Markers::new(label, &t, &y).errors(&e).category(k));
        }
        panels.push(panel);
    }
    let widths: Vec<f64> = study.small.widths.iter().map(|n| *n as f64).collect();
    let mut panel = Panel::new().x("width *N*").y("accuracy, task 1");
    for (column, name, k) in [("train_accuracy", "train", 1), ("test_accuracy", "test", 2)] {
        let found = study.small(frame, "width", "width", &study.small.widths, column)?;
        let (y, e): (Vec<f64>, Vec<f64>) = found.iter().map(|f| (f.value, f.standard_error.unwrap_or(0.0))).unzip();
        let theory = vec![study.small_theory(frame, column)?; widths.len()];
        panel = panel.line(Line::new(&format!("theory, {name}"), &widths, &theory).category(k));
        panel = panel.markers(Markers::new(&format!("L2, {name}"), &widths, &y).errors(&e).category(k));
    }
    panels.push(panel);
    let loss = format!("{:?}", study.training.loss).to_lowercase();
    let caption = format!(
        "Accuracy on task 1 after t permuted tasks (ratio 1, {}), L = {}, N = {}, P = {}, κ = {} against the {loss} of \
         squared errors, σ_0 = {}; L2 at its minimum, EWC after {} steps with momentum, Fisher with unit rms, of past tasks. \
         Means and standard errors over {} seeds of sequence and initial weights (theory, mean map with random features: {} \
         sequences). Right: the same after the last of {} tasks of P = {} against the width.",
        study.data,
        study.depth,
        study.width,
        study.p,
        study.training.kappa,
        study.training.sigma0,
        study.training.ewc_steps,
        study.seeds[0],
        study.seeds[1],
        study.tasks,
        study.small.p
    );
    Ok(vec![("figure-S4".into(), Figure::grid(panels, 3).caption(&caption))])
}
