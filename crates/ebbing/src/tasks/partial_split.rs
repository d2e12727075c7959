//! Partial split of two tasks: two pairs of classes, mixed in opposite proportions.

use super::draw::{ByClass, Drawn, Images, SourcePart, drawn_sequence, images_of, one_column, plain_tasks, rounded};
use super::split::choose_class;
use super::{Draws, Protocol, TaskSequence};
use crate::data::Source;
use crate::error::{Error, Result, refuse, within};
use crate::rng::Stream;
use serde::{Deserialize, Serialize};

/// Two tasks on two pairs of classes: task 1 takes a fraction (1 + s)/2 of its examples from the first pair and the rest
/// from the second, task 2 the other way round.
///
/// In both pairs the first class is labeled +1, the second −1, with p/2 examples of either label in each task. The
/// smaller share of a pair is a subset of the other task's larger share, in the test sets too, so that at s = 0 both tasks
/// are the same and at s = 1 they have nothing in common. Examples are in one random order common to both tasks.
///
/// | name | default | range |
/// |---|---|---|
/// | `split` | 0.5 | [0, 1] |
/// | `p` | 600 | even, ≥ 2; at most (images of the scarcest class)·4/(1 + s) |
/// | `p_test` | 200 | even, likewise; 0: no test sets |
/// | `pairs` | random | `[[a, b], [c, d]]`, four different classes |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartialSplit {
    /// The split s.
    pub split: f64,
    /// Training examples per task.
    pub p: usize,
    /// Test examples per task.
    pub p_test: usize,
    /// The two pairs of classes, if not drawn at random.
    pub pairs: Option<[[i64; 2]; 2]>,
}

impl Default for PartialSplit {
    fn default() -> Self {
        PartialSplit { split: 0.5, p: 600, p_test: 200, pairs: None }
    }
}

impl PartialSplit {
    /// Draws the two tasks.
    ///
    /// # Errors
    /// [`Error::Setting`] with the feasible range for a setting outside it, too few classes or too few images in a class;
    /// [`Error::Data`] where the source has no class labels or a drawn image cannot be prepared.
    pub fn generate(&self, source: &Source, seed: u64) -> Result<TaskSequence> {
        within("split", self.split, 0.0, 1.0)?;
        for (name, p, least) in [("p", self.p, 2), ("p_test", self.p_test, 0)] {
            refuse(p < least || p % 2 == 1, name, p, format!("must be even and at least {least}"))?;
        }
        let train = SourcePart::Train.by_class(source)?;
        let test = if self.p_test > 0 { SourcePart::Test.by_class(source)? } else { ByClass::new() };
        let pairs = self.choose_pairs(&train, &test, seed)?;
        let train = self.part(source, SourcePart::Train, &train, pairs, seed)?;
        let test = self.part(source, SourcePart::Test, &test, pairs, seed)?;
        let (tasks, protocol) = (plain_tasks(train, test), Protocol::PartialSplit(self.clone()));
        Ok(drawn_sequence(tasks, source, protocol, seed, Draws::PartialSplit { pairs }))
    }

    /// Examples that a task takes from (its main pair, the other pair).
    fn shares(&self, p: usize) -> (usize, usize) {
        let large = rounded((1.0 + self.split) / 2.0, p).min(p);
        (large, p - large)
    }

    /// The pairs given, or four random classes with enough images.
    fn choose_pairs(&self, train: &ByClass, test: &ByClass, seed: u64) -> Result<[[i64; 2]; 2]> {
        let needed = |p: usize| self.shares(p).0.div_ceil(2);
        let has = |images: &ByClass, class: &i64| images_of(images, *class).len();
        let (needed, needed_test) = (needed(self.p), needed(self.p_test));
        if let Some(pairs) = self.pairs {
            let [[a, b], [c, d]] = pairs;
            let mut four = vec![a, b, c, d];
            four.sort_unstable();
            four.dedup();
            if four.len() < 4 || four.iter().any(|class| !train.contains_key(class)) {
                let known: Vec<_> = train.keys().collect();
                let expected = format!("must be four different classes out of {known:?}");
                return Err(Error::setting("pairs", format!("{pairs:?}"), expected));
            }
            for (part, images, needed, p) in
                [(SourcePart::Train, train, needed, self.p), (SourcePart::Test, test, needed_test, self.p_test)]
            {
                let scarce = four.iter().map(|class| (has(images, class), *class)).min().unwrap_or_default();
                if scarce.0 < needed {
                    return Err(self.too_few(part, scarce, p));
                }
            }
            return Ok(pairs);
        }
        let enough = |class: &&i64| has(train, class) >= needed && has(test, class) >= needed_test;
        let usable: Vec<i64> = train.keys().filter(enough).copied().collect();
        if usable.len() < 4 {
            let PartialSplit { split, p, p_test, .. } = self;
            let (have, all) = (usable.len(), train.len());
            let expected = format!(
                "{have} of {all} classes have the {needed} training and {needed_test} test images that p = {p} and p_test = \
                 {p_test} take of a class at split {split}; four are needed"
            );
            return Err(Error::setting("p", self.p, expected));
        }
        let i = Stream::new(seed, "partial split: pairs", 0).choose(usable.len(), 4);
        Ok([[usable[i[0]], usable[i[1]]], [usable[i[2]], usable[i[3]]]])
    }

    /// The refusal of a `p` for which class `class` with its `images` does not suffice.
    fn too_few(&self, part: SourcePart, (images, class): (usize, i64), p: usize) -> Error {
        let most = (0..p / 2).rev().map(|half| 2 * half).find(|&q| self.shares(q).0.div_ceil(2) <= images).unwrap_or(0);
        let (kind, split) = (part.name(), self.split);
        let expected = format!("class {class} has {images} {kind} images, enough for at most {most} at split {split}");
        Error::setting(part.setting(), p, expected)
    }

    /// Numbers, inputs and targets of both tasks.
    fn part(
        &self,
        source: &Source,
        part: SourcePart,
        by_class: &ByClass,
        pairs: [[i64; 2]; 2],
        seed: u64,
    ) -> Result<Vec<Drawn>> {
        let p = if part == SourcePart::Train { self.p } else { self.p_test };
        if p == 0 {
            return Ok(vec![Drawn::none(source.dim(), 1); 2]);
        }
        let (large, small) = self.shares(p);
        // (image, label, whether each task holds it)
        let mut all: Vec<(usize, f64, [bool; 2])> = Vec::new();
        for (pair, classes) in pairs.iter().enumerate() {
            for (second, class) in classes.iter().enumerate() {
                // Odd shares round up for the first class of pair 1 and the second of pair 2: labels stay balanced.
                let half = |n: usize| (n + usize::from(second == pair)) / 2;
                let images = images_of(by_class, *class);
                let drawn = choose_class(part, *class, images, half(large), seed);
                all.extend(drawn.into_iter().enumerate().map(|(i, image)| {
                    let mut held = [i < half(small); 2];
                    held[pair] = true;
                    (image, 1.0 - 2.0 * second as f64, held)
                }));
            }
        }
        Stream::new(seed, &format!("partial split: {} order", part.name()), 0).shuffle(&mut all);
        let images = Images::prepare(source, part, all.iter().map(|(i, ..)| i))?;
        let task = |t: usize| {
            let held = all.iter().filter(|(.., held)| held[t]);
            let (numbers, labels): (Vec<usize>, Vec<f64>) = held.map(|(i, label, _)| (*i, *label)).unzip();
            Drawn { x: images.select(&numbers), y: one_column(&labels), numbers }
        };
        Ok((0..2).map(task).collect())
    }
}
