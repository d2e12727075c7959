//! The strength of a ridge, chosen on training examples that are held out.

use super::head::{System, share_right};
use super::{HeadKind, Strength};
use crate::error::{Error, Result};
use crate::linalg::{MatRef, par_map};
use crate::rng::Stream;
use std::collections::BTreeMap;

/// Ridges that are tried, in mean eigenvalues of the second moment.
pub(super) const RIDGES: [f64; 8] = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0];
/// The same for the covariance that classes share.
pub(super) const SHRINKAGES: [f64; 7] = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0];
/// No more examples than this are held out: the choice would hardly be better.
const MOST_HELD_OUT: f64 = 5000.0;

/// The rows of a task that heads of all strengths learn, and those that choose among them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    pub fit: Vec<usize>,
    pub held: Vec<usize>,
}

/// Holds out a share of every class of a task, of `total` examples in all: of n examples at most n − 1. What is drawn of a class
/// depends on the seed, the class and the first of its examples, but not on the place of the task.
pub(super) fn hold_out(x: MatRef<'_, f64>, class: &[Option<usize>], share: f64, total: usize, seed: u64) -> Parts {
    let share = share.min(MOST_HELD_OUT / total.max(1) as f64);
    let mut by_class: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, class) in class.iter().enumerate() {
        class.iter().for_each(|&c| by_class.entry(c).or_default().push(row));
    }
    let mut parts = Parts { fit: vec![], held: vec![] };
    for (class, rows) in by_class {
        let n = rows.len();
        let count = ((share * n as f64).round() as usize).min(n - 1);
        let mut stream = Stream::new(seed ^ mark(x, rows[0]), "held-out examples", class as u64);
        let mut held = stream.choose(n, count);
        held.sort_unstable();
        let mut held = held.into_iter().peekable();
        for (k, &row) in rows.iter().enumerate() {
            if held.next_if_eq(&k).is_some() { parts.held.push(row) } else { parts.fit.push(row) }
        }
    }
    parts.fit.sort_unstable();
    parts.held.sort_unstable();
    parts
}

/// A number made of the entries of a row.
fn mark(x: MatRef<'_, f64>, row: usize) -> u64 {
    (0..x.ncols()).fold(0xcbf2_9ce4_8422_2325, |mark: u64, j| {
        (mark ^ x[(row, j)].to_bits()).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}

/// The strength with the best accuracy on held-out examples among all classes that `system` knows, of several the largest. Without
/// held-out examples it is 1. A strength at which the system cannot be solved is left out.
///
/// # Errors
/// Those of the system where it can be solved at no strength.
pub(super) fn choose(
    kind: HeadKind,
    system: &System,
    held: MatRef<'_, f64>,
    class: &[Option<usize>],
    classes: &[usize],
) -> Result<Strength> {
    let grid: &[f64] = if kind == HeadKind::Ridge { &RIDGES } else { &SHRINKAGES };
    best_of(grid, class.len(), |strength| {
        let head = system.head(strength)?;
        Ok(share_right(head.scores(held)?.as_ref(), &head.classes, classes, class).unwrap_or(0.0))
    })
}

/// The strength of a grid with the best accuracy on so many held-out examples.
///
/// # Errors
/// The last one of `accuracy` where all fail.
pub(super) fn best_of(grid: &[f64], examples: usize, accuracy: impl Fn(f64) -> Result<f64> + Sync) -> Result<Strength> {
    if examples == 0 {
        return Ok(Strength { relative: 1.0, held_out_accuracy: None, at_end_of_grid: false });
    }
    let tried = par_map(grid, |&strength| accuracy(strength));
    crate::stop::check()?;
    let mut best: Option<(usize, f64)> = None;
    let mut failed: Option<Error> = None;
    for (k, outcome) in tried.into_iter().enumerate() {
        match outcome {
            Ok(accuracy) if best.is_none_or(|(_, most)| accuracy >= most) => best = Some((k, accuracy)),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
    }
    match (best, failed) {
        (Some((k, accuracy)), _) => Ok(Strength {
            relative: grid[k],
            held_out_accuracy: Some(accuracy),
            at_end_of_grid: k == 0 || k + 1 == grid.len(),
        }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::setting("strengths", "empty", "at least one is needed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;

    #[test]
    fn every_class_is_held_out_alike_wherever_its_task_stands() {
        let x = Mat::from_fn(60, 3, |i, j| (i * 7 + j) as f64);
        let class: Vec<Option<usize>> = (0..60).map(|i| (i % 7 != 6).then_some(i % 3)).collect();
        let parts = hold_out(x.as_ref(), &class, 0.2, 60, 5);
        assert_eq!(parts.fit.len() + parts.held.len(), class.iter().flatten().count());
        assert!(parts.held.iter().all(|row| !parts.fit.contains(row) && class[*row].is_some()));
        for c in 0..3 {
            let n = class.iter().filter(|k| **k == Some(c)).count();
            let held = parts.held.iter().filter(|&&row| class[row] == Some(c)).count();
            assert_eq!(held, (0.2 * n as f64).round() as usize);
        }
        assert_eq!(parts, hold_out(x.as_ref(), &class, 0.2, 60, 5));
        assert_ne!(parts, hold_out(x.as_ref(), &class, 0.2, 60, 6));
        // One example stays with the head, and of many no more than enough is held out.
        let single = hold_out(x.as_ref(), &[Some(0), None, Some(2)], 0.9, 3, 1);
        assert_eq!((single.fit.as_slice(), single.held.len()), (&[0, 2][..], 0));
        assert!(hold_out(x.as_ref(), &class, 0.5, 1_000_000, 5).held.is_empty());
    }

    #[test]
    fn the_best_strength_wins_and_of_several_the_largest() {
        let accuracies = [0.2, 0.9, 0.9, 0.4];
        let grid = [1.0, 2.0, 3.0, 4.0];
        let chosen = best_of(&grid, 10, |s| Ok(accuracies[s as usize - 1])).unwrap();
        assert_eq!((chosen.relative, chosen.held_out_accuracy, chosen.at_end_of_grid), (3.0, Some(0.9), false));
        let refuse = |s: f64| if s < 4.0 { Err(Error::data("x", "y")) } else { Ok(0.1) };
        assert!(best_of(&grid, 10, refuse).unwrap().at_end_of_grid);
        assert!(best_of(&grid, 10, |_| Err(Error::data("x", "y"))).is_err());
        assert_eq!(best_of(&grid, 0, |_| Err(Error::data("x", "y"))).unwrap().relative, 1.0);
    }
}
