//! Order parameters in words: which pair conflicts most, and why.

use super::super::order_parameters::OrderParameters;
use super::PairForecast;
use serde::{Deserialize, Serialize};

/// What the order parameters of two tasks say about how they get along, by their sizes.
///
/// The conflict `γ_RF − γ_rule` is large only where the second task drives features that matter to the first (γ_RF) and
/// its rule disagrees on them (γ_rule well below γ_RF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// γ_rule at least 0.1 and 0.8 γ_RF: mostly the same rule.
    SharedRule,
    /// γ_rule at least 0.1: rules that agree in part.
    PartlySharedRule,
    /// γ_rule between −0.1 and 0.1: unrelated rules.
    DifferentRules,
    /// γ_rule at most −0.1: opposite rules.
    OppositeRules,
}

/// Pairs that conflict by less have nothing in words: what little is forgotten, or more, then has other causes than their conflict.
const LEAST: f64 = 0.02;
/// Rules that agree or disagree by less than this are unrelated; features that overlap by less are few.
const SMALL: f64 = 0.1;
/// Features that overlap by this much are similar.
const LARGE: f64 = 0.3;

impl Reading {
    /// Reads a pair of tasks; none where their conflict is below 0.02.
    pub fn of(values: &OrderParameters) -> Option<Self> {
        let reading = match values.gamma_rule {
            rule if rule >= SMALL && rule >= 0.8 * values.gamma_rf => Reading::SharedRule,
            rule if rule >= SMALL => Reading::PartlySharedRule,
            rule if rule > -SMALL => Reading::DifferentRules,
            _ => Reading::OppositeRules,
        };
        (values.conflict >= LEAST).then_some(reading)
    }

    /// The same as part of a sentence, with what γ_RF says of the features.
    pub fn words(self, gamma_rf: f64) -> String {
        let features = match gamma_rf {
            overlap if overlap >= LARGE => "use similar features",
            overlap if overlap >= SMALL => "share some features",
            _ => "share few features",
        };
        let rules = match self {
            Reading::SharedRule => "nearly the same rule",
            Reading::PartlySharedRule => "rules that agree only in part",
            Reading::DifferentRules => "unrelated rules",
            Reading::OppositeRules => "opposite rules",
        };
        format!("they {features}, with {rules}")
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
    /// `γ_RF`.
    pub gamma_rf: f64,
    /// Why.
    pub reading: Reading,
}

impl WorstPair {
    /// Why, in words.
    pub fn words(&self) -> String {
        self.reading.words(self.gamma_rf)
    }
}

/// The largest conflict among pairs in the order in which they are learned, where there is one worth a word.
pub(super) fn worst(pairs: &[PairForecast]) -> Option<WorstPair> {
    let learned = pairs.iter().filter(|p| p.first < p.second);
    let worst = learned.max_by(|a, b| a.values.conflict.total_cmp(&b.values.conflict))?;
    Some(WorstPair {
        first: worst.first,
        second: worst.second,
        conflict: worst.values.conflict,
        gamma_rf: worst.values.gamma_rf,
        reading: Reading::of(&worst.values)?,
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
            (0.5, 0.45, Reading::SharedRule),
            (0.5, 0.3, Reading::PartlySharedRule),
            (0.5, 0.01, Reading::DifferentRules),
            (0.5, -0.4, Reading::OppositeRules),
            // A ratio of −0.3 between small numbers is no opposition.
            (0.12, -0.04, Reading::DifferentRules),
        ] {
            assert_eq!(Reading::of(&values(rf, rule)), Some(want));
        }
        // Without a conflict nothing is said of the pair, whatever the forgetting matrix holds.
        assert_eq!(Reading::of(&values(0.5, 0.5006)), None);
        assert_eq!(Reading::DifferentRules.words(0.12), "they share some features, with unrelated rules");
    }
}
