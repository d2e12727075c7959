//! Target-distractor tasks: a few images carry random labels ±1, the rest 0, and how much the tasks share is set.

use super::draw::{Images, SourcePart, drawn_sequence, fits, gather, one_column, plain_rows, rounded, test_set};
use super::{Draws, ImageCounts, Protocol, Task, TaskSequence};
use crate::data::Source;
use crate::error::{Error, Result, at_least, not_negative, refuse, within};
use crate::linalg::Mat;
use crate::rng::Stream;
use serde::{Deserialize, Serialize};

/// Rounding in `ρ/x` must not make a request at the edge of its range infeasible.
const EDGE: f64 = 1e-12;

/// Target-distractor tasks: a fraction x of each task's images carries ±1 (targets), the rest 0 (distractors).
///
/// Of the targets a fraction ρ_target is shared by all tasks, of the distractors `(ρ_shared − x ρ_target)/(1 − x)`, so that
/// ρ_shared of all images is shared; all others occur in one task only. In counts: round(x·p) targets, of which
/// round(ρ_target·that) are shared, and round(ρ_shared·p) shared images in all. A label is +1 or −1 with equal chances;
/// that of a shared target is flipped in each task, task 1 included, with probability ρ_flip. The "test" set of a task is
/// its first `p_test` training images with Gaussian noise on every pixel, not scaled back to their norm, labels 0 included.
///
/// | name | default | range |
/// |---|---|---|
/// | `tasks` | 5 | ≥ 1; shared + tasks·unique ≤ training images |
/// | `p` | 1000 | ≥ 1 |
/// | `rho_target` | 0.5 | [max(0, (ρ_shared − 1 + x)/x), min(1, ρ_shared/x)] |
/// | `rho_shared` | 0.5 | [0, 1] |
/// | `rho_flip` | 0 | [0, 0.5] |
/// | `label_fraction` (x) | 0.1 | (0, 1] with round(x·p) ≥ 1 |
/// | `test_noise` | 0.2 | ≥ 0, standard deviation per pixel |
/// | `p_test` | all `p` | 0 … `p`; 0: no test sets |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetDistractor {
    /// How many tasks.
    pub tasks: usize,
    /// Training examples per task.
    pub p: usize,
    /// The fraction of targets that all tasks share.
    pub rho_target: f64,
    /// The fraction of images that all tasks share.
    pub rho_shared: f64,
    /// The probability that a shared target's label is flipped in a task.
    pub rho_flip: f64,
    /// The fraction x of images that carry ±1.
    pub label_fraction: f64,
    /// The standard deviation of the noise that makes test images.
    pub test_noise: f64,
    /// How many noisy images are tested, if not all.
    pub p_test: Option<usize>,
}

impl Default for TargetDistractor {
    fn default() -> Self {
        TargetDistractor {
            tasks: 5,
            p: 1000,
            rho_target: 0.5,
            rho_shared: 0.5,
            rho_flip: 0.0,
            label_fraction: 0.1,
            test_noise: 0.2,
            p_test: None,
        }
    }
}

impl ImageCounts {
    fn shared(&self) -> usize {
        self.shared_targets + self.shared_zeros
    }

    fn own(&self) -> usize {
        self.own_targets + self.own_zeros
    }
}

impl TargetDistractor {
    /// The smallest and the largest ρ_target that go with ρ_shared = `shared` and x = `label_fraction`.
    pub fn feasible_rho_target(shared: f64, label_fraction: f64) -> (f64, f64) {
        let x = label_fraction;
        (((shared - 1.0 + x) / x).clamp(0.0, 1.0), (shared / x).clamp(0.0, 1.0))
    }

    /// Draws a sequence.
    ///
    /// # Errors
    /// [`Error::Setting`] with the feasible range for a setting outside it, a pair (ρ_target, ρ_shared) that no sequence has,
    /// or too few images; [`Error::Data`] where a drawn image cannot be prepared.
    pub fn generate(&self, source: &Source, seed: u64) -> Result<TaskSequence> {
        let counts = self.counts()?;
        let available = SourcePart::Train.count(source);
        let needed = counts.own().checked_mul(self.tasks).and_then(|own| own.checked_add(counts.shared()));
        if needed.is_none_or(|needed| needed > available) {
            return Err(self.too_few(source, available, &counts));
        }
        let tested = self.p_test.unwrap_or(self.p);
        fits("tasks", self.tasks, self.tasks, self.p.saturating_add(tested), source.dim())?;
        let drawn = Stream::new(seed, "target-distractor: images", 0).choose(available, needed.unwrap_or(0));
        let images = Images::prepare(source, SourcePart::Train, &drawn)?;
        let mut base = Stream::new(seed, "target-distractor: base labels", 0);
        let base: Vec<f64> = (0..counts.shared_targets).map(|_| sign(&mut base)).collect();
        let task = |t: usize| self.task(&counts, &drawn, &base, &images, t, seed);
        let (tasks, protocol) = ((0..self.tasks).map(task).collect(), Protocol::TargetDistractor(self.clone()));
        Ok(drawn_sequence(tasks, source, protocol, seed, Draws::TargetDistractor(counts)))
    }

    /// Checks the settings and counts the images of each kind.
    fn counts(&self) -> Result<ImageCounts> {
        let x = self.label_fraction;
        at_least("tasks", self.tasks, 1)?;
        at_least("p", self.p, 1)?;
        refuse(!(x > 0.0 && x <= 1.0), "label_fraction", x, "must lie in (0, 1]")?;
        within("rho_shared", self.rho_shared, 0.0, 1.0)?;
        within("rho_flip", self.rho_flip, 0.0, 0.5)?;
        not_negative("test_noise", self.test_noise)?;
        if let Some(tested) = self.p_test.filter(|n| *n > self.p) {
            let expected = format!("must lie in [0, {}]: test images are noisy training images", self.p);
            return Err(Error::setting("p_test", tested, expected));
        }
        let (low, high) = Self::feasible_rho_target(self.rho_shared, x);
        if !(self.rho_target >= low - EDGE && self.rho_target <= high + EDGE) {
            let [low, high] = [low, high].map(|edge| (edge * 1e9).round() / 1e9);
            let expected =
                format!("must lie in [{low}, {high}] at rho_shared = {} and label_fraction = {x}", self.rho_shared);
            return Err(Error::setting("rho_target", self.rho_target, expected));
        }
        let targets = rounded(x, self.p);
        if targets == 0 {
            let expected = format!("must be at least {} for one labeled image at p = {}", 0.5 / self.p as f64, self.p);
            return Err(Error::setting("label_fraction", x, expected));
        }
        let shared_targets = rounded(self.rho_target, targets).min(targets);
        let shared = rounded(self.rho_shared, self.p);
        let shared_zeros = shared.saturating_sub(shared_targets).min(self.p - targets);
        let (own_targets, own_zeros) = (targets - shared_targets, self.p - targets - shared_zeros);
        Ok(ImageCounts { shared_targets, shared_zeros, own_targets, own_zeros })
    }

    /// The refusal where the source has fewer images than the sequence needs.
    fn too_few(&self, source: &Source, available: usize, counts: &ImageCounts) -> Error {
        let set = &source.dataset().origin.name;
        let (shared, own) = (counts.shared(), counts.own());
        let most = available.saturating_sub(shared) / own.max(1);
        if most == 0 {
            let expected = format!("{set} has only {available} training images; one task takes {}", self.p);
            return Error::setting("p", self.p, expected);
        }
        let expected = format!(
            "{set} has {available} training images; with {shared} shared and {own} of its own per task they are enough for \
             at most {most}"
        );
        Error::setting("tasks", self.tasks, expected)
    }

    /// Task `t` (from 0): its images in random order, labels with this task's flips, and the noisy test set.
    fn task(&self, n: &ImageCounts, drawn: &[usize], base: &[f64], images: &Images, t: usize, seed: u64) -> Task {
        let stream = |what: &str| Stream::new(seed, &format!("target-distractor: {what}"), t as u64);
        let (mut flip, mut own_label) = (stream("flips"), stream("own labels"));
        let first_own = n.shared() + t * n.own();
        let own = &drawn[first_own..first_own + n.own()];
        let flipped = base.iter().map(|label| if flip.chance(self.rho_flip) { -label } else { *label });
        let mut labels: Vec<f64> = flipped.collect();
        labels.resize(n.shared(), 0.0);
        labels.extend((0..n.own_targets).map(|_| sign(&mut own_label)));
        labels.resize(n.shared() + n.own(), 0.0);
        let mut rows: Vec<(usize, f64)> = drawn[..n.shared()].iter().chain(own).copied().zip(labels).collect();
        stream("order").shuffle(&mut rows);
        let (numbers, labels): (Vec<usize>, Vec<f64>) = rows.into_iter().unzip();
        let (x, y) = (images.select(&numbers), one_column(&labels));
        let tested: Vec<usize> = (0..self.p_test.unwrap_or(self.p)).collect();
        let mut noise = stream("test noise");
        let mut noisy = gather(x.as_ref(), &tested);
        add_noise(&mut noisy, self.test_noise, &mut noise);
        Task {
            name: format!("task {}", t + 1),
            rows: Some(plain_rows(&numbers)),
            test: test_set(noisy, gather(y.as_ref(), &tested)),
            x,
            y,
            present: None,
        }
    }
}

/// +1 or −1 with equal chances.
fn sign(stream: &mut Stream) -> f64 {
    if stream.chance(0.5) { 1.0 } else { -1.0 }
}

/// Adds independent Gaussian noise, row after row.
fn add_noise(x: &mut Mat<f64>, deviation: f64, stream: &mut Stream) {
    for i in 0..x.nrows() {
        for j in 0..x.ncols() {
            x[(i, j)] += deviation * stream.normal();
        }
    }
}
