//! Permuted tasks: each task sees the images through its own shuffle of some of their pixels.

use super::draw::{Drawn, Images, SourcePart, drawn_sequence, fits, one_column, rounded, test_set};
use super::{Draws, PoolRow, Protocol, Task, TaskSequence};
use crate::data::Source;
use crate::error::{Error, Result, at_least, within};
use crate::linalg::{Mat, MatRef};
use crate::rng::Stream;
use serde::{Deserialize, Serialize};

/// Permuted tasks: `x_t[j] = x[π_t(j)]`, where π_t shuffles round(r·N0) random pixels among themselves.
///
/// Images are prepared (centered, whitened, scaled) before they are permuted. A shuffled pixel may stay where it is. Each
/// task has its own independent permutation, the same for its training and its test images. Classes are grouped into
/// labels +1 and −1 once per sequence.
///
/// | name | default | range |
/// |---|---|---|
/// | `tasks` | 5 | ≥ 1 |
/// | `p` | 1000 | 1 … training images (÷ `tasks` if fresh) |
/// | `p_test` | 500 | 0 … test images (÷ `tasks` if fresh); 0: no test sets |
/// | `ratio` | 1.0 | [0, 1] |
/// | `permute_first` | `true` | `false`: task 1 is unpermuted, as in the paper's two-task studies |
/// | `fresh_images` | `false` | `true`: no image occurs in two tasks (training or test) |
/// | `positive` | a random half of the classes (of an odd number: the smaller half) | classes labeled +1; the others get −1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Permuted {
    /// How many tasks.
    pub tasks: usize,
    /// Training examples per task, drawn uniformly from all training images.
    pub p: usize,
    /// Test examples per task, drawn uniformly from all test images.
    pub p_test: usize,
    /// The permutation ratio r.
    pub ratio: f64,
    /// Whether the first task is permuted too.
    pub permute_first: bool,
    /// Whether every task draws other images, so that none occurs twice, instead of using the same ones.
    pub fresh_images: bool,
    /// The classes labeled +1, if not drawn at random.
    pub positive: Option<Vec<i64>>,
}

impl Default for Permuted {
    fn default() -> Self {
        Permuted {
            tasks: 5,
            p: 1000,
            p_test: 500,
            ratio: 1.0,
            permute_first: true,
            fresh_images: false,
            positive: None,
        }
    }
}

impl Permuted {
    /// Draws a sequence.
    ///
    /// # Errors
    /// [`Error::Setting`] with the feasible range for a setting outside it; [`Error::Data`] where the source has no class
    /// labels or a drawn image cannot be prepared.
    pub fn generate(&self, source: &Source, seed: u64) -> Result<TaskSequence> {
        within("ratio", self.ratio, 0.0, 1.0)?;
        at_least("tasks", self.tasks, 1)?;
        at_least("p", self.p, 1)?;
        fits("tasks", self.tasks, self.tasks, self.p.saturating_add(self.p_test), source.dim())?;
        let positive = self.grouping(source, seed)?;
        let train = self.part(source, SourcePart::Train, self.p, &positive, seed)?;
        let test = self.part(source, SourcePart::Test, self.p_test, &positive, seed)?;
        let permutations = self.permutations(source.dim(), seed);
        let views = views(&permutations);
        let make = |(t, (train, test)): (usize, (Drawn, Drawn))| Task {
            name: format!("task {}", t + 1),
            x: permute(train.x.as_ref(), &permutations[t]),
            y: train.y,
            rows: Some(train.numbers.iter().map(|&i| PoolRow { image: i as u64, view: views[t] }).collect()),
            test: test_set(permute(test.x.as_ref(), &permutations[t]), test.y),
            present: None,
        };
        let tasks = train.into_iter().zip(test).enumerate().map(make).collect();
        let drawn = Draws::Permuted { permuted_pixels: rounded(self.ratio, source.dim()), positive };
        Ok(drawn_sequence(tasks, source, Protocol::Permuted(self.clone()), seed, drawn))
    }

    /// The classes labeled +1: those given, or a random half.
    fn grouping(&self, source: &Source, seed: u64) -> Result<Vec<i64>> {
        let classes: Vec<i64> = SourcePart::Train.by_class(source)?.into_keys().collect();
        if classes.len() < 2 {
            let problem = format!("the training labels are all {classes:?}; two groups need at least two classes");
            return Err(Error::data(&source.dataset().origin.name, problem));
        }
        let Some(given) = &self.positive else {
            let mut drawn = Stream::new(seed, "permuted: grouping", 0).choose(classes.len(), classes.len() / 2);
            drawn.sort_unstable();
            return Ok(drawn.into_iter().map(|i| classes[i]).collect());
        };
        let mut positive = given.clone();
        positive.sort_unstable();
        positive.dedup();
        if positive.is_empty() || positive.len() == classes.len() || positive.iter().any(|c| !classes.contains(c)) {
            let expected = format!("must name some, but not all, of the classes {classes:?}");
            return Err(Error::setting("positive", format!("{given:?}"), expected));
        }
        Ok(positive)
    }

    /// The images and labels of every task, before permutation.
    fn part(&self, source: &Source, part: SourcePart, p: usize, positive: &[i64], seed: u64) -> Result<Vec<Drawn>> {
        let sets = if self.fresh_images { self.tasks } else { 1 };
        let available = part.count(source);
        if p.checked_mul(sets).is_none_or(|needed| needed > available) {
            let set = &source.dataset().origin.name;
            let fresh =
                if self.fresh_images { format!(" for each of {sets} tasks with fresh images") } else { String::new() };
            let most = available / sets;
            let expected = format!("{set} has {available} {} images, enough for at most {most}{fresh}", part.name());
            return Err(Error::setting(part.setting(), p, expected));
        }
        if p == 0 {
            return Ok(vec![Drawn::none(source.dim(), 1); self.tasks]);
        }
        let classes = part.classes(source)?;
        let purpose = format!("permuted: {} images", part.name());
        let numbers = Stream::new(seed, &purpose, 0).choose(available, p * sets);
        let images = Images::prepare(source, part, &numbers)?;
        let sign = |i: &usize| if positive.binary_search(&classes[*i]).is_ok() { 1.0 } else { -1.0 };
        let draw = |t: usize| {
            let from = if self.fresh_images { t * p } else { 0 };
            let numbers = numbers[from..from + p].to_vec();
            let labels: Vec<f64> = numbers.iter().map(sign).collect();
            Drawn { x: images.select(&numbers), y: one_column(&labels), numbers }
        };
        Ok((0..self.tasks).map(draw).collect())
    }

    /// One permutation of the pixels per task.
    fn permutations(&self, dim: usize, seed: u64) -> Vec<Vec<usize>> {
        let draw = |t: usize| {
            let moved = if t == 0 && !self.permute_first { 0 } else { rounded(self.ratio, dim) };
            permutation(dim, moved, &mut Stream::new(seed, "permuted: permutation", t as u64))
        };
        (0..self.tasks).map(draw).collect()
    }
}

/// A permutation of 0..dim that shuffles `moved` random places among themselves.
fn permutation(dim: usize, moved: usize, stream: &mut Stream) -> Vec<usize> {
    let to = stream.choose(dim, moved);
    let mut from = to.clone();
    from.sort_unstable();
    let mut map: Vec<usize> = (0..dim).collect();
    for (from, to) in from.into_iter().zip(to) {
        map[from] = to;
    }
    map
}

/// The view of each permutation: 0 for the identity, else 1 + the first task with the same permutation.
fn views(permutations: &[Vec<usize>]) -> Vec<u32> {
    let view = |map: &Vec<usize>| {
        if map.iter().enumerate().all(|(i, &j)| i == j) {
            return 0;
        }
        permutations.iter().position(|other| other == map).map_or(0, |first| first as u32 + 1)
    };
    permutations.iter().map(view).collect()
}

/// `x'[i, j] = x[i, map(j)]`.
fn permute(x: MatRef<'_, f64>, map: &[usize]) -> Mat<f64> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, map[j])])
}
