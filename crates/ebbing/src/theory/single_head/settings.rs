//! What the single-head theory is asked to compute.

use super::replay::Replay;
use crate::error::{Error, Result};
use crate::kernels::{Activation, Architecture, WeightPrior};
use crate::theory::blocks::kernels::{Limit, Mode};
use serde::{Deserialize, Serialize};

/// In which precision kernels are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// In double precision, as every quantity of the theory is.
    #[default]
    Double,
    /// In single precision where a temperature is given: in half of the time and memory, for what is said of trained networks.
    /// [`SingleHead::residual`](crate::SingleHead::residual) is how far it is from the theory, measured in double precision; where
    /// that exceeds 1e-4 of the targets, and where kernels are no function of an angle (other activations than `relu` and
    /// `linear`, biases, mode `gibbs`, variances), double precision is used all the same.
    Single,
}

impl Precision {
    fn is_double(&self) -> bool {
        *self == Precision::Double
    }
}

/// What training lowers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Squared error, as everywhere in the theory.
    #[default]
    Squared,
    /// Cross-entropy over the classes that targets name, at a temperature: `u = β (Y − softmax(f + K u))` in place of
    /// `u = β (Y − f − K u)`. For means alone, in modes whose kernels do not depend on the times.
    CrossEntropy,
}

impl Loss {
    fn is_squared(&self) -> bool {
        *self == Loss::Squared
    }
}

/// Settings of [`SingleHead`](crate::SingleHead).
///
/// | name | default | range |
/// |---|---|---|
/// | `mode` | `rf` | `rf`, `ntk`, `lazy`, `gibbs` |
/// | `architecture` | ReLU, depth 1 | depth ≥ 1 |
/// | `lambda` | ∞ | ≥ 0; finite only in mode `gibbs` |
/// | `sigma2` | 1 | > 0 |
/// | `bias2` | 0 | ≥ 0 |
/// | `beta` | ∞ | > 0 |
/// | `variance` | false | |
/// | `replay` | none | see [`Replay`] |
/// | `share` | true | |
/// | `keep_bytes` | 512 MiB | |
/// | `precision` | `double` | `double`, `single` |
/// | `loss` | `squared` | `squared`, `cross-entropy` |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SingleHeadSettings {
    /// Which limit of learning.
    pub mode: Mode,
    /// Hidden layers of the network (of no effect where kernels or features are given).
    pub architecture: Architecture,
    /// Penalty λ on the change of the weights from task to task; ∞ is the limit at the β given (see [`Mode::Gibbs`]).
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// Prior variance σ² of a weight.
    pub sigma2: f64,
    /// Prior variance σ_b² of a bias in every layer, the readout included; 0 for networks without (of no effect where kernels or
    /// features are given).
    #[serde(skip_serializing_if = "is_none")]
    pub bias2: f64,
    /// Inverse temperature β: 1/β, the variance of noise on the targets, is added to the diagonal of every training block.
    #[serde(with = "crate::serde_infinity")]
    pub beta: f64,
    /// Whether losses and accuracies include the variance over networks, or are those of the mean.
    pub variance: bool,
    /// What is stored of earlier tasks and learned again.
    pub replay: Replay,
    /// Whether inputs that all tasks hold are found, and their kernels and factors made once.
    pub share: bool,
    /// Bytes of kernel blocks kept between their two uses; blocks beyond that are made twice.
    pub keep_bytes: usize,
    /// In which precision kernels are computed.
    #[serde(skip_serializing_if = "Precision::is_double")]
    pub precision: Precision,
    /// What training lowers.
    #[serde(skip_serializing_if = "Loss::is_squared")]
    pub loss: Loss,
}

impl Default for SingleHeadSettings {
    fn default() -> Self {
        SingleHeadSettings {
            mode: Mode::Rf,
            architecture: Architecture { activation: Activation::Relu, depth: 1 },
            lambda: f64::INFINITY,
            sigma2: 1.0,
            bias2: 0.0,
            beta: f64::INFINITY,
            variance: false,
            replay: Replay::default(),
            share: true,
            keep_bytes: crate::plan::KEEP_BYTES,
            precision: Precision::Double,
            loss: Loss::Squared,
        }
    }
}

impl SingleHeadSettings {
    /// The prior of a weight, after every setting has been checked.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first one that is out of its range.
    pub fn checked(&self) -> Result<WeightPrior> {
        self.architecture.check()?;
        if self.beta.is_nan() || self.beta <= 0.0 {
            return Err(Error::setting("beta", self.beta, "must be positive (inf, the default, is zero temperature)"));
        }
        if self.loss == Loss::CrossEntropy {
            if self.beta.is_infinite() {
                return Err(Error::setting(
                    "beta",
                    "inf",
                    "must be finite with cross-entropy: nothing ends its training",
                ));
            }
            if self.variance {
                return Err(Error::setting("variance", true, "must be false with cross-entropy: only means are known"));
            }
            if self.mode == Mode::Gibbs {
                return Err(Error::setting("mode", "gibbs", "must be rf, ntk or lazy with cross-entropy"));
            }
        }
        let prior = WeightPrior::new(self.lambda, self.sigma2)?.with_bias(self.bias2)?;
        if self.mode != Mode::Gibbs && self.lambda.is_finite() {
            let expected = "must be inf but in mode gibbs: the others are limits of strong penalty, or have none";
            return Err(Error::setting("lambda", self.lambda, expected));
        }
        Ok(prior)
    }

    /// What kernels depend on, after every setting has been checked.
    ///
    /// # Errors
    /// As for [`SingleHeadSettings::checked`].
    pub(crate) fn limit(&self) -> Result<Limit> {
        // At λ = ∞ the Gibbs kernels are their limits; λ cancels unless a temperature is held fixed.
        let mode = if self.at_limit() { Mode::Ntk } else { self.mode };
        Ok(Limit { mode, frozen: self.frozen(), prior: self.checked()? })
    }

    /// Whether λ → ∞ is taken at a temperature that is held fixed: `K̃_ts → 0` for s ≥ 2, and only the first task is learned.
    pub(crate) fn frozen(&self) -> bool {
        self.mode == Mode::Gibbs && self.lambda.is_infinite() && self.beta.is_finite()
    }

    /// Whether the kernels of mode `gibbs` are their limits: at λ = ∞, and at β = ∞ where what is left, `λ^{-1/2}`, is far below
    /// rounding and `Q/λ` nears the end of the range of numbers.
    pub(crate) fn at_limit(&self) -> bool {
        self.mode == Mode::Gibbs && (self.lambda.is_infinite() || (self.lambda > 1e100 && self.beta.is_infinite()))
    }

    /// Whether two theories use the same kernels, whatever their temperatures.
    pub(crate) fn same_kernels(&self, other: &SingleHeadSettings) -> bool {
        let of = |s: &SingleHeadSettings| (s.mode, s.frozen(), s.architecture, s.lambda, s.sigma2, s.bias2);
        of(self) == of(other)
    }

    /// The prior of a weight under a strong penalty.
    pub(crate) fn held_prior(&self) -> Result<WeightPrior> {
        WeightPrior::new(f64::INFINITY, self.sigma2)?.with_bias(self.bias2)
    }

    /// `1/β`, the ridge on every training block; with cross-entropy `2/β`, that of the block whose factor serves its steps.
    pub(crate) fn ridge(&self) -> f64 {
        match self.loss {
            Loss::Squared => 1.0 / self.beta,
            Loss::CrossEntropy => 2.0 / self.beta,
        }
    }
}

/// Whether there are no biases: settings without say nothing of them.
pub(crate) fn is_none(bias2: &f64) -> bool {
    *bias2 == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_json() {
        let settings = SingleHeadSettings { beta: 2.5, ..Default::default() };
        let text = serde_json::to_string(&settings).unwrap();
        assert!(text.contains(r#""lambda":"inf""#), "{text}");
        assert_eq!(serde_json::from_str::<SingleHeadSettings>(&text).unwrap(), settings);
        let null: SingleHeadSettings = serde_json::from_str(r#"{"lambda": null, "mode": "ntk"}"#).unwrap();
        assert_eq!((null.lambda, null.mode), (f64::INFINITY, Mode::Ntk));
        assert!(serde_json::from_str::<SingleHeadSettings>(r#"{"lambda": "much"}"#).is_err());
        assert!(serde_json::from_str::<SingleHeadSettings>(r#"{"lamda": 1.0}"#).is_err());
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let sound = SingleHeadSettings { mode: Mode::Gibbs, lambda: 1.0, ..Default::default() };
        assert!(sound.checked().is_ok());
        let no_layers = Architecture { depth: 0, ..sound.architecture };
        for (wrong, name) in [
            (SingleHeadSettings { lambda: -1.0, ..sound }, "lambda"),
            (SingleHeadSettings { lambda: f64::NAN, ..sound }, "lambda"),
            (SingleHeadSettings { lambda: 1.0, mode: Mode::Rf, ..sound }, "lambda"),
            (SingleHeadSettings { sigma2: -0.5, ..sound }, "sigma2"),
            (SingleHeadSettings { bias2: -0.5, ..sound }, "bias2"),
            (SingleHeadSettings { bias2: f64::INFINITY, ..sound }, "bias2"),
            (SingleHeadSettings { beta: 0.0, ..sound }, "beta"),
            (SingleHeadSettings { architecture: no_layers, ..sound }, "depth"),
        ] {
            let message = wrong.checked().unwrap_err().to_string();
            assert!(message.starts_with(name), "{message}");
        }
    }
}
