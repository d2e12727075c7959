//! Order parameters in words: which pair conflicts most, and why.

use super::super::order_parameters::OrderParameters;
use super::PairForecast;
use serde::{Deserialize, Serialize};

/// What the order parameters of two tasks say about how they get along.
///
/// The conflict `γ_RF − γ_rule` is large only where the second task drives features that matter to the first (γ_RF) and
/// its rule disagrees on them (γ_rule well below γ_RF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// Conflict below 0.02: neither disturbs the other.
    NoConflict,
    /// γ_rule at least 0.8 γ_RF: the same features, mostly the same rule.
    SharedRule,
    /// γ_rule between 0.3 and 0.8 of γ_RF: the same features, rules that agree in part.
    PartlySharedRule,
    /// γ_rule between −0.3 and 0.3 of γ_RF: the same features, unrelated rules.
    DifferentRules,
    /// γ_rule below −0.3 γ_RF: the same features, opposite rules.
    OppositeRules,
}

impl Reading {
    /// Reads a pair of tasks.
    pub fn of(values: &OrderParameters) -> Self {
        let agreement = values.gamma_rule / values.gamma_rf;
        match agreement {
            _ if values.conflict < 0.02 => Reading::NoConflict,
            a if a >= 0.8 => Reading::SharedRule,
            a if a >= 0.3 => Reading::PartlySharedRule,
            a if a >= -0.3 => Reading::DifferentRules,
            _ => Reading::OppositeRules,
        }
    }

    /// The same as part of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Reading::NoConflict => "they hardly disturb each other",
            Reading::SharedRule => "they use similar features with nearly the same rule",
            Reading::PartlySharedRule => "they use similar features with rules that agree only in part",
            Reading::DifferentRules => "they use similar features with unrelated rules",
            Reading::OppositeRules => "they use similar features with opposite rules",
        }
    }
}

/// The pair of tasks that conflicts most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorstPair {
    /// The task learned first (from 1).
    pub first: usize,
    /// The task learned second (from 1).
    pub second: usize,
    /// `γ_RF − γ_rule`.
    pub conflict: f64,
    /// Why.
    pub reading: Reading,
}

/// The largest conflict among pairs in the order in which they are learned.
pub(super) fn worst(pairs: &[PairForecast]) -> Option<WorstPair> {
    let learned = pairs.iter().filter(|p| p.first < p.second);
    let worst = learned.max_by(|a, b| a.values.conflict.total_cmp(&b.values.conflict))?;
    Some(WorstPair {
        first: worst.first,
        second: worst.second,
        conflict: worst.values.conflict,
        reading: Reading::of(&worst.values),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_order_parameters() {
        let values = |rf: f64, rule: f64| OrderParameters {
            gamma_rf: rf,
            gamma_rule: rule,
            conflict: rf - rule,
            ..OrderParameters::default()
        };
        for (rf, rule, want) in [
            (0.01, 0.0, Reading::NoConflict),
            (0.5, 0.45, Reading::SharedRule),
            (0.5, 0.3, Reading::PartlySharedRule),
            (0.5, 0.01, Reading::DifferentRules),
            (0.5, -0.4, Reading::OppositeRules),
        ] {
            assert_eq!(Reading::of(&values(rf, rule)), want);
        }
    }
}
