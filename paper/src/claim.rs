//! Claims: what a panel of the paper says, as a number with a threshold.

use serde::Serialize;

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not; the note says why that may be.
    Fail,
    /// It cannot be judged here (for example: a number of the paper that holds for its data set only); the note says why.
    Open,
}

/// One claim with its measured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// The panel, as the paper counts.
    pub panel: String,
    /// What is claimed, in words.
    pub statement: String,
    /// The measured number that decides; NaN where there is none.
    pub value: f64,
    /// Its standard error over seeds, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// The threshold in words, as "> 0.9".
    pub threshold: String,
    /// What the paper prints, where it prints a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Details, and the likely reason where it fails.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Claim {
    /// A claim that holds where `holds` is true. A value that is NaN never passes.
    pub fn new(panel: &str, statement: &str, value: f64, threshold: &str, holds: bool) -> Claim {
        let verdict = if holds && !value.is_nan() { Verdict::Pass } else { Verdict::Fail };
        Claim {
            panel: panel.into(),
            statement: statement.into(),
            value,
            standard_error: None,
            threshold: threshold.into(),
            paper: None,
            verdict,
            note: String::new(),
        }
    }

    /// `value > limit`.
    pub fn above(panel: &str, statement: &str, value: f64, limit: f64) -> Claim {
        Claim::new(panel, statement, value, &format!("> {limit}"), value > limit)
    }

    /// `value < limit`.
    pub fn below(panel: &str, statement: &str, value: f64, limit: f64) -> Claim {
        Claim::new(panel, statement, value, &format!("< {limit}"), value < limit)
    }

    /// `|value − center| ≤ tolerance`.
    pub fn near(panel: &str, statement: &str, value: f64, center: f64, tolerance: f64) -> Claim {
        let holds = (value - center).abs() <= tolerance;
        Claim::new(panel, statement, value, &format!("{center} ± {tolerance}"), holds)
    }

    /// With the standard error of the value.
    pub fn error(mut self, standard_error: Option<f64>) -> Claim {
        self.standard_error = standard_error;
        self
    }

    /// With the number that the paper prints.
    pub fn paper(mut self, value: f64) -> Claim {
        self.paper = Some(value);
        self
    }

    /// With details or the likely reason of a failure.
    pub fn note(mut self, note: impl Into<String>) -> Claim {
        self.note = note.into();
        self
    }

    /// With the likely reason, where it fails.
    pub fn if_failing(mut self, reason: &str) -> Claim {
        if self.verdict == Verdict::Fail {
            let gap = if self.note.is_empty() { "" } else { "; " };
            self.note = format!("{}{gap}{reason}", self.note);
        }
        self
    }

    /// Not judged here, for the reason given.
    pub fn open(mut self, reason: impl Into<String>) -> Claim {
        self.verdict = Verdict::Open;
        self.note = reason.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_a_number_never_passes() {
        assert_eq!(Claim::below("3a", "", f64::NAN, 1.0).verdict, Verdict::Fail);
        assert_eq!(Claim::new("3a", "", f64::NAN, "any", true).verdict, Verdict::Fail);
        assert_eq!(Claim::near("3a", "", 1.01, 1.0, 0.02).verdict, Verdict::Pass);
        assert_eq!(Claim::above("3a", "", 0.5, 0.5).verdict, Verdict::Fail);
        let noted = |value: f64| Claim::above("3a", "", value, 0.5).note("of 3").if_failing("few seeds").note;
        assert_eq!((noted(0.4).as_str(), noted(0.6).as_str()), ("of 3; few seeds", "of 3"));
    }
}
