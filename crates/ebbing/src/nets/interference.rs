//! What tasks do to each other in trained networks, and its mean over seeds.

use super::Trained;
use crate::error::Result;
use crate::stats::{Estimate, mean_with_error};

/// What learning one task after another did to the first and to the last of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interference {
    /// `F_T1`: training loss of task 1 after the last task, over |Y|².
    pub f21: f64,
    /// `G_T1`: test loss of task 1 after the last task, over that after task 1; with test sets only.
    pub g21: Option<f64>,
    /// `G_TT`: test loss of the last task, over that of learning it alone; with test sets only.
    pub g22: Option<f64>,
}

impl Trained {
    /// `F_T1`, `G_T1` and `G_TT` of a run, where `alone` is that of the last task from the same initial weights.
    ///
    /// # Panics
    /// Where either run has learned nothing yet.
    pub fn interference(&self, alone: &Trained) -> Interference {
        let last = self.reports.len() - 1;
        let ratio = |after: Option<f64>, fresh: Option<f64>| Some(after? / fresh?);
        Interference {
            f21: self.train_loss[last][0],
            g21: ratio(self.test_loss[last][0], self.test_loss[0][0]),
            g22: ratio(self.test_loss[last][last], alone.test_loss[0][0]),
        }
    }
}

/// Runs of the same tasks from several initial weights, averaged.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanInterference {
    /// `F_T1`; none without runs.
    pub f21: Option<Estimate>,
    /// `G_T1`; none without runs or test sets.
    pub g21: Option<Estimate>,
    /// `G_TT`; none without runs or test sets.
    pub g22: Option<Estimate>,
    /// Mean squared training error of the last task; NaN without runs.
    pub mse: f64,
    /// Steps on the last task; NaN without runs.
    pub steps: f64,
    /// How many runs learned the last task.
    pub learned: usize,
    /// How many ended it where they were meant to, not out of steps.
    pub settled: usize,
}

impl MeanInterference {
    /// The mean over `(run, its last task alone)`. Runs that diverged are not to be among them.
    ///
    /// # Errors
    /// [`crate::Error::Data`] where a loss is not finite.
    ///
    /// # Panics
    /// As [`Trained::interference`].
    pub fn of(runs: &[(&Trained, &Trained)]) -> Result<Self> {
        let all: Vec<Interference> = runs.iter().map(|(run, alone)| run.interference(alone)).collect();
        let mean = |get: fn(&Interference) -> Option<f64>| {
            let known: Vec<f64> = all.iter().filter_map(get).collect();
            if known.is_empty() { Ok(None) } else { mean_with_error(&known).map(Some) }
        };
        let ends: Vec<_> = runs.iter().filter_map(|(run, _)| run.reports.last()).collect();
        let over = |values: Vec<f64>| Estimate::over(&values).value;
        Ok(MeanInterference {
            f21: mean(|i| Some(i.f21))?,
            g21: mean(|i| i.g21)?,
            g22: mean(|i| i.g22)?,
            mse: over(ends.iter().map(|end| end.mse).collect()),
            steps: over(ends.iter().map(|end| end.steps as f64).collect()),
            learned: ends.iter().filter(|end| end.learned).count(),
            settled: ends.iter().filter(|end| end.converged).count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nets::{Stop, TaskReport};

    fn run(train: f64, test: Option<f64>, tasks: usize, stop: Stop) -> Trained {
        let report = TaskReport {
            steps: 10,
            mse: train,
            learned: train < 0.5,
            stop,
            eta: 1.0,
            moved: 0.0,
            rose: 1.0,
            overshot: false,
            converged: stop != Stop::MaxSteps,
            minimum: None,
        };
        Trained {
            reports: vec![report; tasks],
            train_loss: (1..=tasks).map(|t| vec![train; t]).collect(),
            test_loss: (1..=tasks).map(|t| (0..t).map(|_| test.map(|loss| loss * t as f64)).collect()).collect(),
            ..Trained::default()
        }
    }

    #[test]
    fn runs_are_held_against_the_last_task_alone_and_averaged() {
        let (low, high) = (run(0.25, Some(2.0), 2, Stop::MaxSteps), run(0.75, Some(6.0), 2, Stop::MaxSteps));
        let alone = run(0.0, Some(4.0), 1, Stop::MaxSteps);
        // Test losses double with the second task: 4 and 12 after it, 2 and 6 before.
        assert_eq!(low.interference(&alone), Interference { f21: 0.25, g21: Some(2.0), g22: Some(1.0) });
        let mean = MeanInterference::of(&[(&low, &alone), (&high, &alone)]).unwrap();
        // Half the difference of two values is their mean's standard error.
        assert_eq!(mean.f21, Some(Estimate { value: 0.5, standard_error: Some(0.25) }));
        assert_eq!(mean.g22.map(|g| g.value), Some(2.0));
        assert_eq!((mean.mse, mean.steps, mean.learned, mean.settled), (0.5, 10.0, 1, 0));
        let untested = run(0.25, None, 2, Stop::MaxSteps);
        assert_eq!(MeanInterference::of(&[(&untested, &alone)]).unwrap().g22, None);
        let none = MeanInterference::of(&[]).unwrap();
        assert!(none.f21.is_none() && none.mse.is_nan());
    }
}
