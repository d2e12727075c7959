//! The claims of figure S4.

use super::super::loads::largest;
use super::{Learners, NAMES};
use crate::claim::Claim;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing_studies::{Frame, Result};

pub(super) fn claims(study: &Learners, frame: &Frame) -> Result<Vec<Claim>> {
    let (part, mut claims, last) = (frame.only("part", "learners")?, Vec::new(), study.tasks);
    for (panel, column, what) in [("S4a", "train_accuracy", "train"), ("S4b", "test_accuracy", "test")] {
        let at = |who: &str| study.after(&part, who, last, column);
        let (mut gaps, mut shown) = (Vec::new(), Vec::new());
        for who in NAMES.iter().copied().chain(["theory"]) {
            let here = at(who)?;
            shown.push(format!("{who} {:.3} ± {:.3}", here.value, here.standard_error.unwrap_or(0.0)));
        }
        for good in ["l2", "ewc1"] {
            for poor in ["gd", "ewc0"] {
                gaps.push(study.lead(&part, (good, poor), column)?);
            }
        }
        let statement = format!("{what}: L2 and EWC γ = 1 above GD and EWC γ = 0, least gap in standard errors");
        let least = -largest(gaps.iter().map(|gap| -gap));
        claims.push(Claim::above(panel, &statement, least, 2.0).note(shown.join(", ")));
        let theory = at("theory")?.value;
        let gap = (theory - at("l2")?.value).abs().min((theory - at("ewc1")?.value).abs());
        let statement = format!("{what}: theory to the nearer of L2 and EWC γ = 1");
        claims.push(Claim::below(panel, &statement, gap, 0.05).note(format!(
            "the theory is of N → ∞ at fixed P; here P/N = {:.1}: S4c shows what the width does",
            study.p as f64 / study.width as f64
        )));
    }
    // Not to forget may only mean not to learn: on the data that were learned, and on new ones.
    for (panel, column, what) in [("S4a", "current_train_accuracy", "train"), ("S4b", "current_accuracy", "test")] {
        let current = |who: &&str| Ok(part.only("learner", *who)?.mean(column)?.value);
        let current = NAMES.iter().map(current).collect::<Result<Vec<f64>>>()?;
        let spread = largest(current.iter().copied()) + largest(current.iter().map(|a| -a));
        let shown: Vec<String> = NAMES.iter().zip(&current).map(|(who, a)| format!("{who} {a:.3}")).collect();
        let statement = format!("{what}: accuracy on the newest task, spread over learners");
        claims.push(Claim::below(panel, &statement, spread, 0.02).note(shown.join(", ")));
    }
    claims.push(study.ended(frame, &part)?);
    claims.push(study.widened(frame)?);
    Ok(claims)
}

impl Learners {
    /// By how many standard errors `good` is above `poor` after the last task. Learners of one seed have the same tasks and the same
    /// initial weights, so that the error is that of the mean difference seed by seed.
    pub(super) fn lead(&self, part: &Frame, (good, poor): (&str, &str), column: &str) -> Result<f64> {
        let last = part.only("t", self.tasks)?;
        let (good, poor) = (last.only("learner", good)?, last.only("learner", poor)?);
        let mut gaps = Vec::new();
        for seed in good.levels("seed")? {
            let (a, b) = (good.only("seed", seed)?, poor.only("seed", seed)?);
            if !b.is_empty() {
                gaps.push(a.mean(column)?.value - b.mean(column)?.value);
            }
        }
        let Estimate { value, standard_error } = mean_with_error(&gaps)?;
        // No gap is none, also where all seeds agree.
        Ok(if value == 0.0 { 0.0 } else { value / standard_error.unwrap_or(f64::NAN) })
    }

    /// The claim that training ended where it was meant to: below the threshold without a penalty, at the minimum with the plain
    /// one. EWC leaves weights without Fisher information free, and is ended after a number of steps: what more would do is reported.
    fn ended(&self, frame: &Frame, part: &Frame) -> Result<Claim> {
        let (mut least, mut shown) = (f64::INFINITY, Vec::new());
        for who in NAMES {
            let runs = part.only("learner", who)?;
            let ended = runs.numbers("converged")?.iter().filter(|l| **l == 1.0).count() as f64 / runs.len() as f64;
            let mse = runs.having("mse", |m| !m.is_nan())?.mean("mse")?.value;
            shown.push(format!("{who} {ended:.2} (mean squared error {mse:.1e})"));
            if !who.starts_with("ewc") {
                least = least.min(ended);
            }
        }
        let longer = |column| self.small(frame, "steps", "ewc_steps", &self.small.steps, column);
        let (train, test) = (longer("train_accuracy")?, longer("test_accuracy")?);
        let each = self.small.steps.iter().zip(train.iter().zip(&test));
        let each: Vec<String> =
            each.map(|(steps, (train, test))| format!("{steps}: {:.3}, {:.3}", train.value, test.value)).collect();
        let note = format!(
            "{}; EWC is ended after {} steps with momentum {}; train and test accuracy on task 1 of small networks (P = {}, \
             N = {}) with γ = 1 by steps: {}",
            shown.join(", "),
            self.training.ewc_steps,
            self.training.momentum,
            self.small.p,
            self.small.width,
            each.join("; ")
        );
        let statement = "least share of newest tasks that ended below the threshold (GD) or at the minimum (L2)";
        Ok(Claim::new("S4", statement, least, "= 1", least == 1.0).note(note))
    }

    /// The claim that networks come to the theory as they widen, P fixed.
    fn widened(&self, frame: &Frame) -> Result<Claim> {
        let theory = self.small_theory(frame, "train_accuracy")?;
        let found = self.small(frame, "width", "width", &self.small.widths, "train_accuracy")?;
        let loss = self.small(frame, "width", "width", &self.small.widths, "train_loss")?;
        let each = self.small.widths.iter().zip(found.iter().zip(&loss));
        let each: Vec<String> =
            each.map(|(n, (accuracy, loss))| format!("N = {n}: {:.3} ({:.2})", accuracy.value, loss.value)).collect();
        let gap = found.last().map_or(f64::NAN, |widest| (widest.value - theory).abs());
        let statement = format!(
            "train, P = {}: theory to L2 at N = {}",
            self.small.p,
            self.small.widths.last().copied().unwrap_or_default()
        );
        Ok(Claim::below("S4c", &statement, gap, 0.05).note(format!(
            "accuracy on task 1 after {} tasks (and its loss): {}; theory {theory:.3} ({:.2})",
            self.tasks,
            each.join(", "),
            self.small_theory(frame, "train_loss")?
        )))
    }
}
