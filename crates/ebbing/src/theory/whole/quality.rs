//! How well a forecast in tiles is known, in numbers and in words.

use super::Whole;
use super::solver::RESIDUAL;
use crate::error::Result;
use crate::stats::number::significant;
use crate::theory::blocks::factor::digits;
use crate::theory::order_parameters::PairOrderParameters;

/// How well a forecast is known: the worst of all its parts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Quality {
    /// Relative residual of solutions.
    residual: f64,
    /// Steps that they took.
    steps: f64,
    /// What was added to the diagonals of factors.
    shift: f64,
    /// Standard error of γ_feature, and the probes it was estimated from.
    error: f64,
    probes: usize,
}

impl Quality {
    /// The worse of two.
    pub fn worse(self, other: Quality) -> Quality {
        Quality {
            residual: self.residual.max(other.residual),
            steps: self.steps.max(other.steps),
            shift: self.shift.max(other.shift),
            error: self.error.max(other.error),
            probes: self.probes.max(other.probes),
        }
    }

    /// How it was computed, and how well.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "the kernels do not fit into memory: factors in single precision, solutions in double precision, in at most {} steps, \
             to a relative residual of {}",
            self.steps,
            significant(self.residual),
        )];
        if self.residual > RESIDUAL {
            let times = significant(self.residual / RESIDUAL);
            notes.push(format!("conditioning forbids a residual of 1e-8: the one reached is {times} times as large"));
        }
        if self.shift > 0.0 {
            let shift = significant(self.shift);
            notes.push(format!(
                "a factor needed {shift} more on its diagonal, scaled to about 1, on which solutions do not depend"
            ));
        }
        if self.probes > 0 {
            notes.push(format!(
                "γ_feature, and γ_sim with it, is an estimate from {} random probes with a standard error of {} at most",
                self.probes,
                significant(self.error)
            ));
        }
        notes
    }
}

impl Whole<'_> {
    pub(super) fn quality(&self, pairs: &[PairOrderParameters]) -> Quality {
        let most = |name: &str| self.heard.iter().filter_map(|(_, n)| n.get(name)).fold(0f64, |a, &b| a.max(b));
        Quality {
            residual: most("residual"),
            steps: most("steps"),
            shift: most("shift"),
            error: pairs.iter().filter_map(|pair| pair.gamma_feature_error).fold(0.0, f64::max),
            probes: if pairs.is_empty() { 0 } else { self.probes },
        }
    }

    /// The estimated number of correct digits: what conditioning and residuals leave.
    pub(super) fn digits(&self) -> Result<f64> {
        let mut least = f64::INFINITY;
        for (system, numbers) in &self.heard {
            let forecast = |name: &str| numbers.get(name).copied().unwrap_or(0.0);
            least = least
                .min(digits(forecast("condition"), &self.tasks[system.task].name)?)
                .min(-forecast("residual").log10());
        }
        Ok(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reached_is_said_with_how_far_it_is() {
        let good = Quality { residual: 3e-9, steps: 3.0, ..Quality::default() };
        assert_eq!(good.notes().len(), 1);
        let bad = good.worse(Quality { residual: 4e-7, shift: 1e-6, error: 0.002, probes: 8, ..good });
        let said = bad.notes().join("\n");
        assert!(
            said.contains("40.0 times as large") && said.contains("1e-6 more") && said.contains("8 random"),
            "{said}"
        );
    }
}
