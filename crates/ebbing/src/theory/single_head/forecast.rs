//! `F[t][s] = L(f_t, D_s)`, `G[t][s] = L(f_t, D_s^test)/G_s⁰` (loss: paper, Eq. 3) and what follows from them.

use super::SingleHead;
use super::score::{Score, Scores, Targets, accuracies, losses, task_accuracies};
use crate::error::Result;
use crate::linalg::{Mat, par_map};
use crate::stats::number::{accuracy, within};
use crate::theory::blocks::kernels::PointSet;
use crate::theory::blocks::shared::{Shared, Start};
use serde::{Deserialize, Serialize};

/// What becomes of every task after every task. In all matrices row t is the network after task t + 1 and column s is task s + 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SingleHeadForecast {
    /// `F[t][s] = Σ (f_t(x)−y)² / |Y_s|²` on the training data of task s + 1; for t < s the loss before it is learned.
    pub forgetting: Vec<Vec<f64>>,
    /// Share of training examples classified correctly (by the sign of one column, or the largest of several); `None`
    /// where a task's targets name no classes.
    pub train_accuracy: Option<Vec<Vec<f64>>>,
    /// The same on held-out data, where every task has some.
    pub test: Option<SingleHeadTest>,
    /// Forgetting of task 1 after task 2 without penalty (λ = 0).
    pub f21_at_lambda_zero: Option<f64>,
    /// `ΔF_21 = F_21 − F_21(λ = 0)`: below zero where the penalty helps.
    pub delta_f21: Option<f64>,
    /// Whether losses include the variance over networks.
    pub variance: bool,
    /// The estimated number of correct decimal digits.
    pub digits: f64,
    /// Condition number of each task's kernel, as estimated; of features that are fewer than examples that of `XᵀX/d + 1/β`.
    pub conditions: Vec<f64>,
    /// How many directions of each task's kernel are inverted: the number of examples, or the rank of a pseudo-inverse.
    pub ranks: Vec<usize>,
}

/// What becomes of held-out data; orientation as in [`SingleHeadForecast`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SingleHeadTest {
    /// `L(f_t, D_s^test)`.
    pub loss: Vec<Vec<f64>>,
    /// `G_s⁰`: the same loss for a fresh network that learns task s + 1 alone.
    pub alone: Vec<f64>,
    /// `G[t][s] = L(f_t, D_s^test)/G_s⁰`.
    pub generalization: Vec<Vec<f64>>,
    /// `L(f_t, D_s^test) − L(f_s, D_s^test)` for s ≤ t: row t has t + 1 entries.
    pub forgetting: Vec<Vec<f64>>,
    /// Share of test examples classified correctly; `None` as in [`SingleHeadForecast::train_accuracy`].
    pub accuracy: Option<Vec<Vec<f64>>>,
    /// The same share among the classes that the task's test set holds (task-incremental: the task is known); `None` where that
    /// is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_accuracy: Option<Vec<Vec<f64>>>,
    /// The same share for a fresh network that learns task s + 1 alone.
    pub alone_accuracy: Option<Vec<f64>>,
}

impl SingleHead {
    /// Everything this theory says about the sequence; losses that are zero within their accuracy are 0.
    ///
    /// # Errors
    /// As the kernels and their factors; [`Error::LostAccuracy`](crate::Error::LostAccuracy) where fewer than four digits are left.
    pub fn forecast(&self) -> Result<SingleHeadForecast> {
        let free = || self.forgetting_at_lambda_zero(2, 1);
        let scores = Scores {
            train: self.train_scores()?,
            test: self.tested()?,
            free: if self.tasks() > 1 { Some(free()?) } else { None },
            conditions: self.learned.inverses.conditions.clone(),
            ranks: self.learned.inverses.ranks.clone(),
        };
        Ok(SingleHeadForecast::of(scores, self.learned.inverses.digits, self.settings.variance))
    }

    /// `F[t][s] = L(f_t, D_s)`; row t is the network after task t + 1, column s is task s + 1.
    ///
    /// # Errors
    /// As for [`SingleHead::forecast`].
    pub fn forgetting(&self) -> Result<Vec<Vec<f64>>> {
        Ok(losses(&self.train_scores()?))
    }

    /// `F_ts` without penalty: at λ = 0 the network after task t is one that learned t alone, `L(K_st K_tt^{-1} Y_t, D_s)`.
    /// Tasks count from 1.
    ///
    /// # Errors
    /// As for [`SingleHead::forecast`]; [`Error::Setting`](crate::Error::Setting) where there is no such task.
    pub fn forgetting_at_lambda_zero(&self, t: usize, s: usize) -> Result<f64> {
        let (t, s) = (self.index(t)?, self.index(s)?);
        if let (1, 0, false, None, Some(free)) = (t, s, self.settings.variance, &self.own, self.learned.free) {
            return Ok(free.loss);
        }
        let task = &self.own().tasks[s];
        let points = self.own().whole(s);
        Ok(self.scored_alone(&self.shared, t, (&points, &task.y, task.start.as_ref()))?.loss)
    }

    /// On the training data, `[t][s]`.
    pub(super) fn train_scores(&self) -> Result<Vec<Vec<Score>>> {
        if !self.learned.train.is_empty() && !self.settings.variance && self.own.is_none() {
            return Ok(self.learned.train.clone());
        }
        let columns = (0..self.tasks()).map(|s| self.scores_on(self.own(), s));
        Ok(transposed(columns.collect::<Result<Vec<_>>>()?))
    }

    /// On the training data of task s (from 0) of `tasks` after every task.
    fn scores_on(&self, tasks: &Shared, s: usize) -> Result<Vec<Score>> {
        self.scores(&tasks.whole(s), &tasks.tasks[s].y, tasks.tasks[s].start.as_ref())
    }

    /// At given points, a fresh network that learns task s (from 0) of `tasks` alone.
    fn scored_alone(
        &self,
        tasks: &Shared,
        s: usize,
        (points, y, start): (&PointSet, &Mat<f64>, Option<&Start>),
    ) -> Result<Score> {
        match &self.learned.weights {
            Some(weights) if std::ptr::eq(tasks, &self.shared) && !self.settings.variance => {
                let f = weights.outputs_alone(points.points(), s)?;
                Targets::new(y.as_ref(), start).score(f.as_ref())
            }
            _ => Ok(self.alone(tasks, s)?.scores(points, y, start)?[0]),
        }
    }

    /// At given points after every task.
    fn scores(&self, points: &PointSet, y: &Mat<f64>, start: Option<&Start>) -> Result<Vec<Score>> {
        Ok(self.scores_and_alone((points, y, start), None)?.0)
    }

    /// At given points after every task, and of a fresh network that learns one task (from 0) alone where that is known too.
    fn scores_and_alone(
        &self,
        (points, y, start): (&PointSet, &Mat<f64>, Option<&Start>),
        alone: Option<usize>,
    ) -> Result<(Vec<Score>, Option<Score>)> {
        if let (Some(weights), false) = (&self.learned.weights, self.settings.variance) {
            let targets = Targets::new(y.as_ref(), start);
            let times: Vec<usize> = (0..self.tasks()).collect();
            let score = |t: &usize| targets.score(weights.outputs(points.points(), &[*t])?[0].as_ref());
            let scores: Result<Vec<Score>> = par_map(&times, score).into_iter().collect();
            return Ok((scores?, None));
        }
        let all: Vec<usize> = (0..self.tasks()).collect();
        let alone = alone.filter(|_| self.own.is_none() && !self.settings.variance);
        let (means, fresh) = self.outputs_and_alone(points.points(), &all, alone)?;
        if self.settings.variance {
            let score = |(t, f): (usize, &Mat<f64>)| {
                let variance = self.variance(points.points(), t + 1)?;
                Score::new(f.as_ref(), y.as_ref(), start, Some(&variance))
            };
            let scores: Result<Vec<Score>> = means.iter().enumerate().map(score).collect();
            return Ok((scores?, None));
        }
        let targets = Targets::new(y.as_ref(), start);
        let scores: Result<Vec<Score>> = par_map(&means, |f| targets.score(f.as_ref())).into_iter().collect();
        Ok((scores?, fresh.map(|f| targets.score(f.as_ref())).transpose()?))
    }

    /// The held-out data of all tasks, where every one has some.
    fn held_out(&self) -> Option<Vec<&(PointSet, Mat<f64>, Option<Start>)>> {
        self.shared.tasks.iter().map(|task| task.test.as_ref()).collect()
    }

    /// On held-out data, `[t][s]`.
    pub(super) fn test_scores(&self) -> Result<Option<Vec<Vec<Score>>>> {
        let Some(sets) = self.held_out() else { return Ok(None) };
        let columns =
            sets.iter().map(|(points, y, start)| self.scores(points, y, start.as_ref())).collect::<Result<Vec<_>>>()?;
        Ok(Some(transposed(columns)))
    }

    /// `R[t][s]` on held-out data, among all classes and, where that is anything else, among each task's own; none without test data
    /// that name classes.
    pub(crate) fn test_accuracies(&self) -> Result<Option<TestAccuracies>> {
        let Some(scores) = self.test_scores()? else { return Ok(None) };
        Ok(accuracies(&scores).map(|all| TestAccuracies { all, own: task_accuracies(&scores) }))
    }

    /// On held-out data, and there of fresh networks that learn one task alone.
    fn tested(&self) -> Result<Option<(Vec<Vec<Score>>, Vec<Score>)>> {
        let Some(sets) = self.held_out() else { return Ok(None) };
        let (mut columns, mut alone) = (vec![], vec![]);
        for (s, (points, y, start)) in sets.into_iter().enumerate() {
            let set = (points, y, start.as_ref());
            let (scores, fresh) = self.scores_and_alone(set, Some(s))?;
            columns.push(scores);
            alone.push(fresh.map_or_else(|| self.scored_alone(self.own(), s, set), Ok)?);
        }
        Ok(Some((transposed(columns), alone)))
    }
}

/// Accuracies on held-out data: `[t][s]` is after task t + 1 on task s + 1.
#[derive(Debug, Clone)]
pub(crate) struct TestAccuracies {
    /// Among all classes.
    pub all: Vec<Vec<f64>>,
    /// Among each task's own, where that is anything else.
    pub own: Option<Vec<Vec<f64>>>,
}

impl SingleHeadForecast {
    /// Accuracies on held-out data that name classes.
    pub(crate) fn test_accuracies(&self) -> Option<TestAccuracies> {
        let test = self.test.as_ref()?;
        Some(TestAccuracies { all: test.accuracy.clone()?, own: test.task_accuracy.clone() })
    }

    /// What scores show, right to so many digits.
    pub(crate) fn of(scores: Scores, digits: f64, variance: bool) -> SingleHeadForecast {
        // Outputs are right to `accuracy`, losses are their squares, and differences of losses are as good as outputs.
        let accuracy = accuracy(digits);
        let forgetting = shown(losses(&scores.train), accuracy * accuracy);
        let free = scores.free.map(|loss| within(loss, accuracy * accuracy));
        SingleHeadForecast {
            train_accuracy: accuracies(&scores.train),
            test: scores.test.map(|(scores, alone)| SingleHeadTest::of(&scores, &alone)),
            f21_at_lambda_zero: free,
            delta_f21: free.map(|free| within(forgetting[1][0] - free, accuracy)),
            forgetting,
            variance,
            digits,
            conditions: scores.conditions,
            ranks: scores.ranks,
        }
    }
}

impl SingleHeadTest {
    fn of(scores: &[Vec<Score>], alone_scores: &[Score]) -> SingleHeadTest {
        let (loss, alone): (_, Vec<f64>) = (losses(scores), alone_scores.iter().map(|score| score.loss).collect());
        // What a network solves from the start it solves alone as well.
        let over = |(l, g): (&f64, &f64)| if l == g { 1.0 } else { l / g };
        let generalization = loss.iter().map(|row| row.iter().zip(&alone).map(over).collect()).collect();
        let forgetting = (0..loss.len()).map(|t| (0..=t).map(|s| loss[t][s] - loss[s][s]).collect()).collect();
        SingleHeadTest {
            generalization,
            forgetting,
            loss,
            alone,
            accuracy: accuracies(scores),
            task_accuracy: task_accuracies(scores),
            alone_accuracy: alone_scores.iter().map(|score| score.accuracy).collect(),
        }
    }
}

/// Losses, 0 where they are zero within their accuracy.
fn shown(losses: Vec<Vec<f64>>, accuracy: f64) -> Vec<Vec<f64>> {
    losses.iter().map(|row| row.iter().map(|&loss| within(loss, accuracy)).collect()).collect()
}

fn transposed(columns: Vec<Vec<Score>>) -> Vec<Vec<Score>> {
    (0..columns[0].len()).map(|t| columns.iter().map(|column| column[t]).collect()).collect()
}
