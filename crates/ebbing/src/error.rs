//! The one error type: every variant carries the facts that a user needs to act.

use std::path::PathBuf;

/// Shorthand for results of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the file, field, value and remedy where they are known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file's content is not what its format or this program requires.
    #[error("{}: {field} is {value}; {expected}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The header field, array name, row or column at fault.
        field: String,
        /// What was found there.
        value: String,
        /// What would be right, as the end of a sentence ("expected 2051, the magic number of …").
        expected: String,
    },
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A setting is out of its range.
    #[error("{name} is {value}; {expected}")]
    Setting {
        /// The setting, as the user calls it.
        name: String,
        /// The value given.
        value: String,
        /// What would be right, as the end of a sentence ("must lie in [0, 1]").
        expected: String,
    },
    /// Arrays whose shapes or contents do not fit together.
    #[error("{what}: {problem}")]
    Data {
        /// The array or task at fault ("task 2, row 17").
        what: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A matrix that must be positive definite is singular or indefinite.
    #[error("{matrix} is not positive definite: {advice}")]
    NotPositiveDefinite {
        /// The matrix, as the user would call it ("kernel of task 2").
        matrix: String,
        /// The row (from 0) where the factorization broke down.
        pivot: usize,
        /// The number of rows.
        size: usize,
        /// The value of the pivot there.
        pivot_value: f64,
        /// An estimate of the smallest eigenvalue.
        smallest_eigenvalue: f64,
        /// What to do about it.
        advice: String,
    },
    /// A result would have fewer than four correct digits.
    #[error("{what}: only about {digits:.1} correct digits are left (condition number {condition:.1e}); {advice}")]
    LostAccuracy {
        /// The quantity.
        what: String,
        /// Estimated correct decimal digits.
        digits: f64,
        /// The condition number that costs them.
        condition: f64,
        /// What to do about it.
        advice: String,
    },
    /// An iteration did not reach its tolerance.
    #[error("{what} did not converge: scaled residual {residual:.2e} after {steps} steps; {advice}")]
    NotConverged {
        /// The equations.
        what: String,
        /// The smallest scaled residual reached.
        residual: f64,
        /// Steps taken over all starts.
        steps: usize,
        /// One line per step or start.
        trace: Vec<String>,
        /// What to do about it.
        advice: String,
    },
    /// Training ran away.
    #[error(
        "training diverged on task {task} at step {step}: mean squared error {loss:.3e} at learning rate {eta:.3e}; {suggestion}"
    )]
    Diverged {
        /// The task, from 1.
        task: usize,
        /// The step.
        step: usize,
        /// The mean squared error there.
        loss: f64,
        /// The learning rate there.
        eta: f64,
        /// What to do about it.
        suggestion: String,
    },
    /// A computation that this machine has not the memory for.
    #[error("{what} would take about {needed} of memory, and {free}; {advice}, or force it")]
    Memory {
        /// The computation.
        what: String,
        /// The estimate, in words.
        needed: String,
        /// What there is and what bounds it, in words ("2.1 GB are free on this machine").
        free: String,
        /// What would fit.
        advice: String,
    },
    /// An end was asked for before the work had come to its own.
    #[error("stopped")]
    Stopped,
    /// The theory does not cover what was asked.
    #[error("{what} is outside the theory: {reason}")]
    OutsideTheory {
        /// What was asked.
        what: String,
        /// Why it is not covered.
        reason: String,
    },
}

/// A number in scientific notation where it would be a row of zeros.
fn short(value: String) -> String {
    /// More than any number of 64 bits needs.
    const LONGEST: usize = 24;
    match value.parse::<f64>() {
        Ok(number) if value.len() > LONGEST => format!("{number:e}"),
        _ => value,
    }
}

impl Error {
    /// A file whose `field` holds `value` where `expected` describes what would be right.
    pub fn file(
        path: impl Into<PathBuf>,
        field: impl Into<String>,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Error::File {
            path: path.into(),
            field: field.into(),
            value: short(value.to_string()),
            expected: expected.into(),
        }
    }

    /// A setting `name` with an unusable `value`.
    pub fn setting(name: impl Into<String>, value: impl ToString, expected: impl Into<String>) -> Self {
        Error::Setting { name: name.into(), value: short(value.to_string()), expected: expected.into() }
    }

    /// The same where neither a temperature nor a ridge can be given: advice to give one is left out.
    pub fn without_temperature(mut self) -> Self {
        if let Error::NotPositiveDefinite { advice, .. }
        | Error::LostAccuracy { advice, .. }
        | Error::NotConverged { advice, .. } = &mut self
        {
            for of_beta in [", or set beta to", ", or use a finite beta"] {
                advice.truncate(advice.find(of_beta).unwrap_or(advice.len()));
            }
            if let Some((_, rest)) =
                advice.split_once(", or ").filter(|(ridge, _)| ridge.starts_with("add a ridge to "))
            {
                *advice = rest.into();
            }
        }
        self
    }

    /// A question that the theory does not cover.
    pub(crate) fn outside(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::OutsideTheory { what: what.into(), reason: reason.into() }
    }

    /// Arrays that do not fit.
    pub fn data(what: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Data { what: what.into(), problem: problem.into() }
    }

    /// A setting's error as one of the file that holds the setting; other errors as they are.
    pub(crate) fn in_file(self, path: impl Into<PathBuf>) -> Self {
        match self {
            Error::Setting { name, value, expected } => Error::File { path: path.into(), field: name, value, expected },
            other => other,
        }
    }

    /// An operating-system error at `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }
}

/// Refuses a setting where it is `bad`.
pub(crate) fn refuse(bad: bool, name: &str, value: impl ToString, expected: impl Into<String>) -> Result<()> {
    if bad { Err(Error::setting(name, value, expected)) } else { Ok(()) }
}

/// Refuses a number that is not positive and finite.
pub(crate) fn positive(name: &str, value: f64) -> Result<()> {
    refuse(!(value.is_finite() && value > 0.0), name, value, "must be positive and finite")
}

/// Refuses a number that is negative or not finite.
pub(crate) fn not_negative(name: &str, value: f64) -> Result<()> {
    refuse(!(value.is_finite() && value >= 0.0), name, value, "must be at least 0 and finite")
}

/// Refuses a count below `least`.
pub(crate) fn at_least(name: &str, value: usize, least: usize) -> Result<()> {
    refuse(value < least, name, value, format!("must be at least {least}"))
}

/// Refuses a number outside [low, high] (and NaN).
pub(crate) fn within(name: &str, value: f64, low: f64, high: f64) -> Result<()> {
    refuse(!(low..=high).contains(&value), name, value, format!("must lie in [{low}, {high}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_digits_that_tell_them_apart() {
        let said = |value: f64| Error::setting("sigma", value, "must be smaller").to_string();
        assert!(said(1e200).contains("sigma is 1e200;"), "{}", said(1e200));
        assert!(said(-1.7976931348623157e308).contains("is -1.7976931348623157e308;"));
        assert!(said(0.30000000000000004).contains("is 0.30000000000000004;"));
        let seed = Error::setting("seed", u64::MAX, "must be smaller").to_string();
        assert!(seed.contains("seed is 18446744073709551615;"), "{seed}");
        let name = "1".repeat(30) + "x";
        assert!(Error::setting("data", &name, "must be known").to_string().contains(&name));
    }
}
