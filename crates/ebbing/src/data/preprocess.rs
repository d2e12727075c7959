//! Centring, ZCA whitening `W = V (Λ + ridge·λ_max I)^{-1/2} Vᵀ`, and scaling to squared norm N0.

use super::covariance::{Rows, blocks, centre, covariance, means, zca};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, matmul};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is subtracted from an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centre {
    /// The example's own mean over its features.
    #[default]
    Image,
    /// The mean of each feature over the training set.
    Pixel,
    /// Nothing.
    None,
}

/// ZCA whitening: `x ← V (Λ + ridge·λ_max I)^{-1/2} Vᵀ x`, with `V Λ Vᵀ` the covariance of the centred examples of a named set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Whiten {
    /// The ridge relative to the largest eigenvalue of the covariance. Default 1e-7, at least 0.
    pub ridge: f64,
    /// Whose covariance: `"train"` (default) is the whole training part of the set itself; any other name is a set that
    /// can be loaded, of which the whole training part is taken.
    pub covariance_of: String,
}

impl Default for Whiten {
    fn default() -> Self {
        Whiten { ridge: 1e-7, covariance_of: "train".into() }
    }
}

/// How examples are prepared, in this order: grey, centre, whiten, norm. The default is the paper's.
///
/// | field | default | values |
/// |---|---|---|
/// | `grey` | `true` | colour images become 8-bit luma; grey images stay as they are |
/// | `centre` | `"image"` | `"image"`, `"pixel"`, `"none"` |
/// | `whiten` | `true` | `true`, `false`, or a table of [`Whiten`]'s fields |
/// | `normalise` | `true` | scale to squared norm N0 or not |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preprocess {
    /// Whether colour images are converted to grey levels.
    pub grey: bool,
    /// What is subtracted from each example.
    pub centre: Centre,
    /// Whitening, or none.
    #[serde(deserialize_with = "whiten_from", serialize_with = "whiten_into")]
    pub whiten: Option<Whiten>,
    /// Whether each example is scaled to squared norm N0.
    pub normalise: bool,
}

impl Default for Preprocess {
    fn default() -> Self {
        Preprocess { grey: true, centre: Centre::Image, whiten: Some(Whiten::default()), normalise: true }
    }
}

impl Preprocess {
    /// Leaves examples as they are.
    pub fn none() -> Self {
        Preprocess { grey: false, centre: Centre::None, whiten: None, normalise: false }
    }
}

/// TOML has no null: whitening is a switch or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum WhitenChoice {
    Switch(bool),
    /// A list would otherwise be read as the table's values in their order.
    List(Vec<serde::de::IgnoredAny>),
    Table(Whiten),
}

fn whiten_from<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<Whiten>, D::Error> {
    Ok(match WhitenChoice::deserialize(from)? {
        WhitenChoice::Switch(on) => on.then(Whiten::default),
        WhitenChoice::List(list) => {
            let problem = format!("whiten is a list of {}; it must be true, false or a table", list.len());
            return Err(serde::de::Error::custom(problem));
        }
        WhitenChoice::Table(whiten) => Some(whiten),
    })
}

fn whiten_into<S: Serializer>(whiten: &Option<Whiten>, into: S) -> std::result::Result<S::Ok, S::Error> {
    match whiten {
        Some(whiten) => whiten.serialize(into),
        None => into.serialize_bool(false),
    }
}

/// Preprocessing with its parameters fitted: apply it to any examples of the same dimension.
///
/// ```
/// use ebbing::data::{Preprocess, Preprocessor};
/// use ebbing::linalg::Mat;
/// let x = Mat::from_fn(50, 4, |i, j| ((i * i + i * j + j * j * j) % 17) as f64);
/// let fitted = Preprocessor::fit(x.as_ref(), &Preprocess::default())?;
/// let z = fitted.apply(x.as_ref())?;
/// let norm2: f64 = (0..4).map(|j| z[(0, j)] * z[(0, j)]).sum();
/// assert!((norm2 - 4.0).abs() < 1e-12);
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Preprocessor {
    settings: Preprocess,
    dim: usize,
    /// Per-feature training means, for [`Centre::Pixel`].
    means: Option<Vec<f64>>,
    whitening: Option<Mat<f64>>,
    /// The largest eigenvalue of the covariance, and how many exceed the ridge.
    spectrum: Option<(f64, usize)>,
}

impl Preprocessor {
    /// Fits means and whitening to the rows of `x`; `covariance_of` must be `"train"`, which means `x`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a ridge below 0 or a named covariance; [`Error::Data`] for no rows, NaN or infinite values,
    /// or rows that are all the same.
    pub fn fit(x: MatRef<'_, f64>, settings: &Preprocess) -> Result<Self> {
        if let Some(w) = settings.whiten.as_ref().filter(|w| w.covariance_of != "train") {
            return Err(Error::setting(
                "whiten.covariance_of",
                &w.covariance_of,
                "must be \"train\" for a single matrix",
            ));
        }
        let block = |from: usize, n: usize| x.subrows(from, n).to_owned();
        let rows = Rows { name: "the training inputs", count: x.nrows(), dim: x.ncols(), block: &block };
        Self::fit_rows(&rows, None, settings)
    }

    /// Fits means to `train` and whitening to `reference` (or `train`, where there is none).
    pub(super) fn fit_rows(train: &Rows<'_>, reference: Option<&Rows<'_>>, settings: &Preprocess) -> Result<Self> {
        let (dim, centre) = (train.dim, settings.centre);
        if train.count == 0 || dim == 0 {
            let problem = format!("there are {} rows of {dim} features; at least one of each is needed", train.count);
            return Err(Error::data(train.name, problem));
        }
        let means = (centre == Centre::Pixel).then(|| means(blocks(train, centre), train.count, train)).transpose()?;
        let mut fitted = Preprocessor { settings: settings.clone(), dim, means, whitening: None, spectrum: None };
        if let Some(whiten) = &settings.whiten {
            if !(whiten.ridge >= 0.0 && whiten.ridge.is_finite()) {
                return Err(Error::setting("whiten.ridge", whiten.ridge, "must be a finite number, at least 0"));
            }
            let set = reference.unwrap_or(train);
            if set.dim != dim {
                let problem = format!("its {} features cannot whiten examples of {dim} features", set.dim);
                return Err(Error::data(set.name, problem));
            }
            let covariance = covariance(set, centre)?;
            let (w, spectrum) = zca(covariance.as_ref(), whiten.ridge, set.name)?;
            (fitted.whitening, fitted.spectrum) = (Some(w), Some(spectrum));
        }
        Ok(fitted)
    }

    /// The settings it was fitted with.
    pub fn settings(&self) -> &Preprocess {
        &self.settings
    }

    /// The input dimension N0.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The settings and what was fitted, as written into results.
    pub fn describe(&self) -> serde_json::Value {
        let mut value = serde_json::json!(self.settings);
        if let (Some((largest, above)), Some(map)) = (self.spectrum, value.as_object_mut()) {
            map.insert("covariance_largest_eigenvalue".into(), largest.into());
            map.insert("covariance_eigenvalues_above_ridge".into(), above.into());
        }
        value
    }

    /// The rows of `x`, prepared.
    ///
    /// # Errors
    /// [`Error::Data`] where the dimension differs, a value is NaN or infinite, or a row that is to be scaled has norm 0.
    pub fn apply(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        self.apply_named(x.to_owned(), &|i| format!("row {i}"))
    }

    /// The same for an owned matrix, with a name for each row that error messages use.
    pub(super) fn apply_named(&self, mut x: Mat<f64>, name: &dyn Fn(usize) -> String) -> Result<Mat<f64>> {
        if x.ncols() != self.dim {
            let problem = format!("{} features where the preprocessing was fitted to {}", x.ncols(), self.dim);
            return Err(Error::data("the inputs", problem));
        }
        let before = norms(x.as_ref());
        if let Some(i) = before.iter().position(|n| !n.is_finite()) {
            return Err(Error::data(
                name(i),
                "holds a NaN, infinite or overflowing value; every feature must be finite",
            ));
        }
        centre(&mut x, self.settings.centre, self.means.as_deref());
        if self.settings.normalise {
            // A constant image leaves only rounding, at most N0·ε of its norm: nothing that could be scaled up.
            let after = norms(x.as_ref());
            let least = self.dim as f64 * f64::EPSILON;
            if let Some(i) = (0..x.nrows()).find(|&i| after[i] <= least * before[i]) {
                let problem =
                    if before[i] == 0.0 { "is all zero" } else { "is zero after centring (all pixels alike)" };
                return Err(Error::data(
                    name(i),
                    format!("{problem} and cannot be scaled to squared norm {}; drop it", self.dim),
                ));
            }
        }
        if let Some(w) = &self.whitening {
            x = matmul(x.as_ref(), w.as_ref());
        }
        if self.settings.normalise {
            self.scale(&mut x, name)?;
        }
        Ok(x)
    }

    /// `x ← x √N0 / |x|` for every row.
    fn scale(&self, x: &mut Mat<f64>, name: &dyn Fn(usize) -> String) -> Result<()> {
        let norms = norms(x.as_ref());
        if let Some(i) = norms.iter().position(|&n| !(n > 0.0 && n.is_finite())) {
            return Err(Error::data(
                name(i),
                format!("has norm {} after whitening; it must be positive and finite", norms[i]),
            ));
        }
        let root = (self.dim as f64).sqrt();
        let scale: Vec<f64> = norms.iter().map(|n| root / n).collect();
        for j in 0..x.ncols() {
            for (value, s) in x.col_as_slice_mut(j).iter_mut().zip(&scale) {
                *value *= s;
            }
        }
        Ok(())
    }
}

/// The Euclidean norm of every row.
fn norms(x: MatRef<'_, f64>) -> Vec<f64> {
    let mut sums = vec![0.0; x.nrows()];
    for j in 0..x.ncols() {
        for (sum, i) in sums.iter_mut().zip(0..) {
            *sum += x[(i, j)] * x[(i, j)];
        }
    }
    sums.iter().map(|s: &f64| s.sqrt()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::rng::Stream;

    pub fn gaussian(rows: usize, dim: usize) -> Mat<f64> {
        let mut stream = Stream::new(1, "preprocess test", 0);
        let mut x = Mat::from_fn(rows, dim, |_, _| stream.normal());
        // Correlated features of different scales and means.
        for j in 1..dim {
            for i in 0..rows {
                x[(i, j)] = 0.5 * x[(i, j - 1)] + (j as f64) * x[(i, j)] + 3.0;
            }
        }
        x
    }

    fn settings(centre: Centre, ridge: Option<f64>, normalise: bool) -> Preprocess {
        let whiten = ridge.map(|ridge| Whiten { ridge, ..Whiten::default() });
        Preprocess { grey: true, centre, whiten, normalise }
    }

    #[test]
    fn whitened_examples_have_unit_covariance_and_the_map_is_symmetric() {
        let x = gaussian(500, 6);
        let fitted = Preprocessor::fit(x.as_ref(), &settings(Centre::Pixel, Some(1e-7), false)).unwrap();
        let z = fitted.apply(x.as_ref()).unwrap();
        let c = matmul(z.transpose(), z.as_ref());
        let w = fitted.whitening.as_ref().unwrap();
        for i in 0..6 {
            for j in 0..6 {
                // The ridge turns eigenvalue λ into λ/(λ + 1e-7 λ_max): a change of 1e-7 κ at most, and κ is about 100 here.
                assert!((c[(i, j)] / 500.0 - if i == j { 1.0 } else { 0.0 }).abs() < 1e-4);
                // ZCA, not PCA: W is symmetric, up to the rounding of one product.
                assert!((w[(i, j)] - w[(j, i)]).abs() <= 1e-15 * w[(i, i)].abs());
            }
        }
    }

    #[test]
    fn without_whitening_an_example_is_centred_and_scaled() {
        let x = gaussian(20, 5);
        let z = Preprocessor::fit(x.as_ref(), &settings(Centre::Image, None, true)).unwrap().apply(x.as_ref()).unwrap();
        for i in 0..20 {
            let mean = (0..5).map(|j| x[(i, j)]).sum::<f64>() / 5.0;
            let norm = (0..5).map(|j| (x[(i, j)] - mean).powi(2)).sum::<f64>().sqrt();
            for j in 0..5 {
                // A handful of roundings of numbers below 10.
                assert!((z[(i, j)] - 5f64.sqrt() * (x[(i, j)] - mean) / norm).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn pixel_centring_subtracts_the_training_means_from_any_examples() {
        let (train, test) = (gaussian(30, 4), Mat::from_fn(2, 4, |i, j| (10 * i + j) as f64));
        let fitted = Preprocessor::fit(train.as_ref(), &settings(Centre::Pixel, None, false)).unwrap();
        let z = fitted.apply(test.as_ref()).unwrap();
        for j in 0..4 {
            let mean = (0..30).map(|i| train[(i, j)]).sum::<f64>() / 30.0;
            assert!((z[(1, j)] - (test[(1, j)] - mean)).abs() < 1e-13);
        }
    }

    #[test]
    fn rows_without_direction_are_refused_by_name() {
        let mut x = gaussian(9, 7);
        let fitted = Preprocessor::fit(x.as_ref(), &Preprocess::default()).unwrap();
        (0..7).for_each(|j| x[(3, j)] = 0.0);
        let message = fitted.apply(x.as_ref()).unwrap_err().to_string();
        assert_eq!(message, "row 3: is all zero and cannot be scaled to squared norm 7; drop it");
        // The mean of seven times 0.1 is not exactly 0.1: the rest is rounding, not a direction.
        (0..7).for_each(|j| x[(3, j)] = 0.1);
        assert!(fitted.apply(x.as_ref()).unwrap_err().to_string().starts_with("row 3: is zero after centring"));
        x[(5, 2)] = f64::NAN;
        assert!(fitted.apply(x.as_ref()).unwrap_err().to_string().starts_with("row 5: holds a NaN"));
    }

    #[test]
    fn unusable_settings_and_sets_are_refused() {
        let message = |x: &Mat<f64>, s: Preprocess| Preprocessor::fit(x.as_ref(), &s).unwrap_err().to_string();
        let x = gaussian(9, 7);
        assert!(message(&x, settings(Centre::Image, Some(-1.0), true)).contains("whiten.ridge is -1"));
        assert!(message(&x, settings(Centre::Image, Some(f64::NAN), true)).contains("whiten.ridge is NaN"));
        // Centring each image makes the covariance singular.
        assert!(message(&x, settings(Centre::Image, Some(0.0), true)).contains("is singular"));
        assert!(message(&Mat::zeros(0, 7), Preprocess::default()).contains("there are 0 rows of 7 features"));
        assert!(message(&Mat::zeros(9, 7), Preprocess::default()).contains("largest eigenvalue 0"));
        let mut bad = x.clone();
        bad[(4, 2)] = f64::INFINITY;
        assert!(message(&bad, settings(Centre::Pixel, None, true)).contains("the mean of feature 2 is inf"));
        let named = Whiten { covariance_of: "mnist".into(), ..Whiten::default() };
        assert!(
            message(&x, Preprocess { whiten: Some(named), ..Preprocess::default() }).contains("covariance_of is mnist")
        );
    }

    #[test]
    fn settings_survive_toml_and_json() {
        for whiten in [None, Some(Whiten { ridge: 1e-5, covariance_of: "mnist".into() })] {
            let settings = Preprocess { whiten, centre: Centre::Pixel, ..Preprocess::default() };
            let text = toml::to_string(&settings).unwrap();
            assert_eq!(toml::from_str::<Preprocess>(&text).unwrap(), settings);
            let text = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<Preprocess>(&text).unwrap(), settings);
        }
        assert_eq!(toml::from_str::<Preprocess>("whiten = true").unwrap(), Preprocess::default());
        assert!(toml::from_str::<Preprocess>("center = \"image\"").is_err());
    }
}
