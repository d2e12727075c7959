//! Centering, ZCA whitening `W = V (Λ + ridge·λ_max I)^{-1/2} Vᵀ`, and scaling to squared norm N0, in either of two orders.

use super::covariance::{Rows, blocks, center, covariance, means, zca};
use crate::error::{Error, Result, not_negative, refuse};
use crate::linalg::{Mat, MatRef, matmul};
use serde::{Deserialize, Serialize, Serializer};

/// What is subtracted from an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Center {
    /// The example's own mean over its features.
    #[default]
    Image,
    /// The mean of each feature over the training set.
    Pixel,
    /// Nothing.
    None,
}

/// ZCA whitening: `x ← V (Λ + ridge·λ_max I)^{-1/2} Vᵀ x`, with `V Λ Vᵀ` the covariance of the centered examples of a named set.
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

/// The order of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Gray, center, whiten, norm; whitening has a ridge.
    #[default]
    Standard,
    /// Gray, center, norm, whiten, norm: the covariance is that of scaled examples. Whitening has no ridge unless one is
    /// given, and leaves out directions in which examples do not vary.
    Authors,
}

impl Order {
    /// The relative ridge where none is given.
    fn ridge(self) -> f64 {
        if self == Order::Authors { 0.0 } else { Whiten::default().ridge }
    }
}

/// How examples are prepared, in this order: gray, center, whiten, norm (see [`Order`]).
///
/// | field | default | values |
/// |---|---|---|
/// | `gray` | `true` | color images become 8-bit luma; gray images stay as they are |
/// | `center` | `"image"` | `"image"`, `"pixel"`, `"none"` |
/// | `whiten` | `true` | `true`, `false`, or a table of [`Whiten`]'s fields |
/// | `normalize` | `true` | scale to squared norm N0 or not |
/// | `order` | `"standard"` | `"standard"`, `"authors"` (the ridge is then 0 where none is given) |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PreprocessKeys")]
pub struct Preprocess {
    /// Whether color images are converted to gray levels.
    pub gray: bool,
    /// What is subtracted from each example.
    pub center: Center,
    /// Whitening, or none.
    #[serde(serialize_with = "whiten_into")]
    pub whiten: Option<Whiten>,
    /// Whether each example is scaled to squared norm N0.
    pub normalize: bool,
    /// The order of the steps.
    pub order: Order,
}

impl Default for Preprocess {
    fn default() -> Self {
        Preprocess::all(Order::Standard)
    }
}

impl Preprocess {
    /// Leaves examples as they are.
    pub fn none() -> Self {
        Preprocess { gray: false, center: Center::None, whiten: None, normalize: false, order: Order::Standard }
    }

    /// Every step, in an order.
    pub fn all(order: Order) -> Self {
        let whiten = Some(Whiten { ridge: order.ridge(), ..Whiten::default() });
        Preprocess { gray: true, center: Center::Image, whiten, normalize: true, order }
    }

    fn check(&self) -> Result<()> {
        let expected = "must be true in the authors' order, which scales examples before and after whitening";
        refuse(self.order == Order::Authors && !self.normalize, "normalize", false, expected)?;
        self.whiten.as_ref().map_or(Ok(()), |whiten| not_negative("whiten.ridge", whiten.ridge))
    }
}

/// [`Preprocess`] as it is written down: what is left out depends on the order.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PreprocessKeys {
    gray: bool,
    center: Center,
    whiten: WhitenChoice,
    normalize: bool,
    order: Order,
}

impl Default for PreprocessKeys {
    fn default() -> Self {
        let Preprocess { gray, center, normalize, order, .. } = Preprocess::default();
        PreprocessKeys { gray, center, whiten: WhitenChoice::Switch(true), normalize, order }
    }
}

impl TryFrom<PreprocessKeys> for Preprocess {
    type Error = String;

    fn try_from(asked: PreprocessKeys) -> std::result::Result<Preprocess, String> {
        let PreprocessKeys { gray, center, whiten, normalize, order } = asked;
        let whiten = match whiten {
            WhitenChoice::Switch(false) => None,
            WhitenChoice::Switch(true) => Preprocess::all(order).whiten,
            WhitenChoice::List(list) => {
                return Err(format!("whiten is a list of {}; it must be true, false or a table", list.len()));
            }
            WhitenChoice::Table(WhitenTable { ridge, covariance_of }) => {
                Some(Whiten { ridge: ridge.unwrap_or(order.ridge()), covariance_of })
            }
        };
        Ok(Preprocess { gray, center, whiten, normalize, order })
    }
}

/// TOML has no null: whitening is a switch or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum WhitenChoice {
    Switch(bool),
    /// A list would otherwise be read as the table's values in their order.
    List(Vec<serde::de::IgnoredAny>),
    Table(WhitenTable),
}

/// [`Whiten`] as it is written down.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WhitenTable {
    ridge: Option<f64>,
    covariance_of: String,
}

impl Default for WhitenTable {
    fn default() -> Self {
        WhitenTable { ridge: None, covariance_of: Whiten::default().covariance_of }
    }
}

fn whiten_into<S: Serializer>(whiten: &Option<Whiten>, into: S) -> std::result::Result<S::Ok, S::Error> {
    match whiten {
        Some(whiten) => whiten.serialize(into),
        None => into.serialize_bool(false),
    }
}

/// How examples were prepared: the steps, and what was fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The steps.
    #[serde(flatten)]
    pub steps: Preprocess,
    /// How many eigenvalues of the covariance exceed the ridge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariance_eigenvalues_above_ridge: Option<usize>,
    /// The largest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariance_largest_eigenvalue: Option<f64>,
    /// The set whose covariance whitens, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariance_set: Option<CovarianceSet>,
}

/// A set whose covariance whitens another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CovarianceSet {
    /// Its name.
    pub name: String,
    /// The hash of its values.
    pub sha256: String,
}

impl Preparation {
    /// What was done to inputs, as part of a sentence.
    pub fn words(&self) -> String {
        let Preprocess { center, whiten, normalize, order, .. } = &self.steps;
        let steps = [
            (*center == Center::Image, "centered one by one"),
            (*center == Center::Pixel, "centered feature by feature"),
            (*order == Order::Authors, "scaled to one norm"),
            (whiten.is_some(), "whitened"),
            (*normalize, "scaled to one norm"),
        ];
        let taken: Vec<&str> = steps.into_iter().filter_map(|(taken, words)| taken.then_some(words)).collect();
        if taken.is_empty() { "inputs as stored".into() } else { format!("inputs {}", taken.join(", ")) }
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
    /// Per-feature training means, for [`Center::Pixel`].
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
        if let Some(Whiten { covariance_of, .. }) = settings.whiten.as_ref().filter(|w| w.covariance_of != "train") {
            let expected = "must be \"train\" for a single matrix";
            return Err(Error::setting("whiten.covariance_of", covariance_of, expected));
        }
        let block = |from: usize, n: usize| x.subrows(from, n).to_owned();
        let rows = Rows { name: "the training inputs", count: x.nrows(), dim: x.ncols(), block: &block };
        Self::fit_rows(&rows, None, settings)
    }

    /// Fits means to `train` and whitening to `reference` (or `train`, where there is none).
    pub(super) fn fit_rows(train: &Rows<'_>, reference: Option<&Rows<'_>>, settings: &Preprocess) -> Result<Self> {
        let (dim, center) = (train.dim, settings.center);
        if train.count == 0 || dim == 0 {
            let problem = format!("there are {} rows of {dim} features; at least one of each is needed", train.count);
            return Err(Error::data(train.name, problem));
        }
        settings.check()?;
        let of_pixels = |set: &Rows<'_>| {
            let centered = |x: &mut Mat<f64>| self::center(x, center, None);
            (center == Center::Pixel).then(|| means(blocks(set, &centered), set.count, set)).transpose()
        };
        let means = of_pixels(train)?;
        let mut fitted = Preprocessor { settings: settings.clone(), dim, means, whitening: None, spectrum: None };
        if let Some(whiten) = &settings.whiten {
            let set = reference.unwrap_or(train);
            if set.dim != dim {
                let problem = format!("its {} features cannot whiten examples of {dim} features", set.dim);
                return Err(Error::data(set.name, problem));
            }
            let authors = settings.order == Order::Authors;
            let own = if authors { of_pixels(set)? } else { None };
            let covariance = covariance(set, &|x| {
                self::center(x, center, own.as_deref());
                if authors {
                    to_one_norm(x, &norms(x.as_ref()));
                }
            })?;
            let (w, spectrum) = zca(covariance.as_ref(), whiten.ridge, authors, set.name)?;
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
    pub fn describe(&self) -> Preparation {
        Preparation {
            steps: self.settings.clone(),
            covariance_eigenvalues_above_ridge: self.spectrum.map(|(_, above)| above),
            covariance_largest_eigenvalue: self.spectrum.map(|(largest, _)| largest),
            covariance_set: None,
        }
    }

    /// The rows of `x`, prepared.
    ///
    /// # Errors
    /// [`Error::Data`] where the dimension differs, a value is NaN or infinite, or a row that is to be scaled has norm 0.
    pub fn apply(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        self.apply_named(x.to_owned(), &|i| format!("row {}", i + 1))
    }

    /// The same for an owned matrix, with a name for each row that error messages use.
    pub(super) fn apply_named(&self, mut x: Mat<f64>, name: &dyn Fn(usize) -> String) -> Result<Mat<f64>> {
        if x.ncols() != self.dim {
            let problem = format!("{} features where the preprocessing was fitted to {}", x.ncols(), self.dim);
            return Err(Error::data("the inputs", problem));
        }
        let before = norms(x.as_ref());
        if let Some(i) = before.iter().position(|n| !n.is_finite()) {
            let problem = "holds a NaN, infinite or overflowing value; every feature must be finite";
            return Err(Error::data(name(i), problem));
        }
        center(&mut x, self.settings.center, self.means.as_deref());
        if self.settings.normalize {
            // A constant image leaves only rounding, at most N0·ε of its norm: nothing that could be scaled up.
            let after = norms(x.as_ref());
            let least = self.dim as f64 * f64::EPSILON;
            if let Some(i) = (0..x.nrows()).find(|&i| after[i] <= least * before[i]) {
                let zero = if before[i] == 0.0 { "is all zero" } else { "is zero after centering (all pixels alike)" };
                let problem = format!("{zero} and cannot be scaled to squared norm {}; drop it", self.dim);
                return Err(Error::data(name(i), problem));
            }
        }
        if let Some(w) = &self.whitening {
            if self.settings.order == Order::Authors {
                let own = norms(x.as_ref());
                to_one_norm(&mut x, &own);
            }
            x = matmul(x.as_ref(), w.as_ref());
        }
        if self.settings.normalize {
            self.scale(&mut x, name)?;
        }
        Ok(x)
    }

    /// `x ← x √N0 / |x|` for every row.
    fn scale(&self, x: &mut Mat<f64>, name: &dyn Fn(usize) -> String) -> Result<()> {
        let norms = norms(x.as_ref());
        if let Some(i) = norms.iter().position(|&n| !(n > 0.0 && n.is_finite())) {
            let problem = format!("has norm {} after whitening; it must be positive and finite", norms[i]);
            return Err(Error::data(name(i), problem));
        }
        to_one_norm(x, &norms);
        Ok(())
    }
}

/// `x ← x √N0 / |x|` for every row with its norm; rows of norm 0 stay.
fn to_one_norm(x: &mut Mat<f64>, norms: &[f64]) {
    let root = (x.ncols() as f64).sqrt();
    let scale: Vec<f64> = norms.iter().map(|&n| if n > 0.0 { root / n } else { 0.0 }).collect();
    for j in 0..x.ncols() {
        x.col_as_slice_mut(j).iter_mut().zip(&scale).for_each(|(value, s)| *value *= s);
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
pub(crate) mod tests {
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

    fn settings(center: Center, ridge: Option<f64>, normalize: bool) -> Preprocess {
        let whiten = ridge.map(|ridge| Whiten { ridge, ..Whiten::default() });
        Preprocess { gray: true, center, whiten, normalize, order: Order::Standard }
    }

    /// Each step by hand: means and norms, the covariance of what is left, its inverse root on the directions that vary.
    #[test]
    fn the_authors_order_scales_before_and_after_whitening() {
        let x = gaussian(300, 5);
        let asked: Preprocess = toml::from_str("order = \"authors\"").unwrap();
        assert_eq!(asked, Preprocess::all(Order::Authors));
        assert_eq!(asked.whiten.as_ref().map(|w| w.ridge), Some(0.0));
        let z = Preprocessor::fit(x.as_ref(), &asked).unwrap().apply(x.as_ref()).unwrap();
        let mut first = x.clone();
        center(&mut first, Center::Image, None);
        let scale = norms(first.as_ref());
        to_one_norm(&mut first, &scale);
        let means: Vec<f64> = (0..5).map(|j| first.col_as_slice(j).iter().sum::<f64>() / 300.0).collect();
        let off = Mat::from_fn(300, 5, |i, j| first[(i, j)] - means[j]);
        let eigen = crate::linalg::SymmetricEigen::factor(
            (matmul(off.transpose(), off.as_ref()) * crate::linalg::Scale(1.0 / 300.0)).as_ref(),
            "by hand",
        )
        .unwrap();
        // Images without their means do not vary along (1, …, 1).
        let root = |k: usize| if eigen.values[k] > 1e-12 { eigen.values[k].powf(-0.5) } else { 0.0 };
        assert_eq!((0..5).filter(|&k| root(k) == 0.0).count(), 1);
        let w =
            Mat::from_fn(5, 5, |i, j| (0..5).map(|k| eigen.vectors[(i, k)] * root(k) * eigen.vectors[(j, k)]).sum());
        let mut want = matmul(first.as_ref(), w.as_ref());
        let scale = norms(want.as_ref());
        to_one_norm(&mut want, &scale);
        for (i, j) in (0..300).flat_map(|i| (0..5).map(move |j| (i, j))) {
            // Eigenvalues differ by a factor of a thousand at most: rounding.
            assert!((z[(i, j)] - want[(i, j)]).abs() < 1e-9);
        }
        // Another order is another result, and no norm is refused.
        let standard = Preprocessor::fit(x.as_ref(), &Preprocess::default()).unwrap().apply(x.as_ref()).unwrap();
        assert!((&standard - &z).norm_l2() > 1.0);
        let bare = Preprocess { normalize: false, ..asked };
        assert!(Preprocessor::fit(x.as_ref(), &bare).unwrap_err().to_string().contains("normalize"));
    }

    /// A table without a ridge has that of its order.
    #[test]
    fn ridges_follow_the_order() {
        let ridge = |text: &str| toml::from_str::<Preprocess>(text).unwrap().whiten.unwrap().ridge;
        assert_eq!(ridge("whiten = {covariance_of = \"mnist\"}"), 1e-7);
        assert_eq!(ridge("order = \"authors\"\nwhiten = {covariance_of = \"mnist\"}"), 0.0);
        assert_eq!(ridge("order = \"authors\"\nwhiten = {ridge = 0.5}"), 0.5);
        let back = toml::to_string(&Preprocess::all(Order::Authors)).unwrap();
        assert_eq!(toml::from_str::<Preprocess>(&back).unwrap(), Preprocess::all(Order::Authors));
    }

    #[test]
    fn whitened_examples_have_unit_covariance_and_the_map_is_symmetric() {
        let x = gaussian(500, 6);
        let fitted = Preprocessor::fit(x.as_ref(), &settings(Center::Pixel, Some(1e-7), false)).unwrap();
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
    fn without_whitening_an_example_is_centered_and_scaled() {
        let x = gaussian(20, 5);
        let z = Preprocessor::fit(x.as_ref(), &settings(Center::Image, None, true)).unwrap().apply(x.as_ref()).unwrap();
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
    fn pixel_centering_subtracts_the_training_means_from_any_examples() {
        let (train, test) = (gaussian(30, 4), Mat::from_fn(2, 4, |i, j| (10 * i + j) as f64));
        let fitted = Preprocessor::fit(train.as_ref(), &settings(Center::Pixel, None, false)).unwrap();
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
        assert_eq!(message, "row 4: is all zero and cannot be scaled to squared norm 7; drop it");
        // The mean of seven times 0.1 is not exactly 0.1: the rest is rounding, not a direction.
        (0..7).for_each(|j| x[(3, j)] = 0.1);
        assert!(fitted.apply(x.as_ref()).unwrap_err().to_string().starts_with("row 4: is zero after centering"));
        x[(5, 2)] = f64::NAN;
        assert!(fitted.apply(x.as_ref()).unwrap_err().to_string().starts_with("row 6: holds a NaN"));
    }

    #[test]
    fn unusable_settings_and_sets_are_refused() {
        let message = |x: &Mat<f64>, s: Preprocess| Preprocessor::fit(x.as_ref(), &s).unwrap_err().to_string();
        let x = gaussian(9, 7);
        assert!(message(&x, settings(Center::Image, Some(-1.0), true)).contains("whiten.ridge is -1"));
        assert!(message(&x, settings(Center::Image, Some(f64::NAN), true)).contains("whiten.ridge is NaN"));
        // Centering each image makes the covariance singular.
        assert!(message(&x, settings(Center::Image, Some(0.0), true)).contains("is singular"));
        assert!(message(&Mat::zeros(0, 7), Preprocess::default()).contains("there are 0 rows of 7 features"));
        assert!(message(&Mat::zeros(9, 7), Preprocess::default()).contains("largest eigenvalue 0"));
        let mut bad = x.clone();
        bad[(4, 2)] = f64::INFINITY;
        assert!(message(&bad, settings(Center::Pixel, None, true)).contains("the mean of feature 2 is inf"));
        let named = Whiten { covariance_of: "mnist".into(), ..Whiten::default() };
        assert!(
            message(&x, Preprocess { whiten: Some(named), ..Preprocess::default() }).contains("covariance_of is mnist")
        );
    }

    #[test]
    fn settings_survive_toml_and_json() {
        for whiten in [None, Some(Whiten { ridge: 1e-5, covariance_of: "mnist".into() })] {
            let settings = Preprocess { whiten, center: Center::Pixel, ..Preprocess::default() };
            let text = toml::to_string(&settings).unwrap();
            assert_eq!(toml::from_str::<Preprocess>(&text).unwrap(), settings);
            let text = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<Preprocess>(&text).unwrap(), settings);
        }
        assert_eq!(toml::from_str::<Preprocess>("whiten = true").unwrap(), Preprocess::default());
        assert!(toml::from_str::<Preprocess>("centre = \"image\"").is_err());
    }
}
