//! Average accuracy, transfer, forgetting and intransigence from the accuracies after each task, by a named convention.
//!
//! Orientation: `R[t][s]` is the accuracy after learning task t, on task s; rows are time.

use crate::error::{Error, Result};
use serde::Serialize;

/// Whose definitions are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// D. Lopez-Paz, M. Ranzato, Gradient episodic memory for continual learning, NeurIPS 2017: every task weighs the
    /// same; task s has lost `R[s][s] − R[t][s]`, the opposite of its backward transfer.
    #[default]
    Gem,
    /// V. Lomonaco et al., Avalanche, CVPR workshops 2021: as `gem`, but the average accuracy is that of the whole
    /// evaluation stream, every example of every task in the row counting the same, tasks not learned yet included.
    Avalanche,
    /// A. Chaudhry et al., Riemannian walk for incremental learning, ECCV 2018: what a task has lost is counted from its
    /// best accuracy so far, `max_{l<t} R[l][s] − R[t][s]`.
    Chaudhry,
}

impl Convention {
    /// The name that options and files use.
    pub fn name(self) -> String {
        crate::word_of(&self)
    }
}

impl std::str::FromStr for Convention {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [Convention::Gem, Convention::Avalanche, Convention::Chaudhry];
        let found = all.into_iter().find(|c| c.name() == name);
        found.ok_or_else(|| Error::setting("the convention of metrics", name, "must be gem, avalanche or chaudhry"))
    }
}

/// What the metrics are made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskAccuracies {
    /// `R[t][s]`, the accuracy after task t on task s, in [0, 1]: every row all tasks, or row t the tasks 0..=t.
    pub after: Vec<Vec<f64>>,
    /// The accuracy on each task of a network at random initialization; forward transfer needs it.
    pub untrained: Option<Vec<f64>>,
    /// The accuracy on each task of a reference that is not held back by earlier learning (trained on that task alone, or on
    /// all tasks so far jointly); intransigence needs it.
    pub reference: Option<Vec<f64>>,
    /// The number of test examples of each task; taken as equal where missing. Only `avalanche` uses it.
    pub test_sizes: Option<Vec<usize>>,
}

/// Continual-learning metrics of a sequence of T tasks; a metric is missing if it is undefined for lack of a second
/// task or of a reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContinualMetrics {
    /// Whose definitions these are.
    pub convention: Convention,
    /// How to read every matrix here.
    pub orientation: &'static str,
    /// `A_t`, the average accuracy after each task: the mean of `R[t][s]` over s ≤ t (`avalanche`: over all examples of row t).
    pub average_accuracy_after: Vec<f64>,
    /// The average accuracy after the last task.
    pub average_accuracy: f64,
    /// `LA = mean_s R[s][s]`, the accuracy on each task just after it was learned (M. Riemer et al., ICLR 2019).
    pub learning_accuracy: f64,
    /// `BWT = mean_{s<T} R[T][s] − R[s][s]` (Lopez-Paz & Ranzato 2017, in every convention).
    pub backward_transfer: Option<f64>,
    /// `FWT = mean_{s≥2} R[s−1][s] − b[s]`, b the untrained network (Lopez-Paz & Ranzato 2017, in every convention).
    pub forward_transfer: Option<f64>,
    /// The mean over s < T of the last row of the forgetting matrix.
    pub forgetting: Option<f64>,
    /// What task s has lost after task t, by the convention; zero for s ≥ t.
    pub forgetting_matrix: Vec<Vec<f64>>,
    /// The mean of the intransigences of all tasks.
    pub intransigence: Option<f64>,
    /// `I_s = R*[s] − R[s][s]`, R* the reference (Chaudhry et al. 2018, who quote the last one).
    pub intransigence_by_task: Option<Vec<f64>>,
}

impl ContinualMetrics {
    /// Computes every metric that `accuracies` allow.
    ///
    /// # Errors
    /// [`Error::Data`] if there is no task, a row has the wrong length, or an accuracy is outside [0, 1].
    pub fn new(accuracies: &TaskAccuracies, convention: Convention) -> Result<Self> {
        check(accuracies)?;
        let r = &accuracies.after;
        let tasks = r.len();
        let last = tasks - 1;
        let average_accuracy_after: Vec<f64> =
            (0..tasks).map(|t| average_accuracy(accuracies, t, convention)).collect();
        let forgetting_matrix: Vec<Vec<f64>> =
            (0..tasks).map(|t| (0..tasks).map(|s| lost(r, t, s, convention)).collect()).collect();
        let untrained = accuracies.untrained.as_ref().filter(|_| r[0].len() == tasks);
        let held_back: Option<Vec<f64>> =
            accuracies.reference.as_ref().map(|best| (0..tasks).map(|s| best[s] - r[s][s]).collect());
        Ok(ContinualMetrics {
            convention,
            orientation: "[t][s]: after task t, on task s",
            average_accuracy: average_accuracy_after[last],
            average_accuracy_after,
            learning_accuracy: (0..tasks).map(|s| r[s][s]).sum::<f64>() / tasks as f64,
            backward_transfer: mean((0..last).map(|s| r[last][s] - r[s][s])),
            forward_transfer: untrained.and_then(|b| mean((1..tasks).map(|s| r[s - 1][s] - b[s]))),
            forgetting: mean((0..last).map(|s| forgetting_matrix[last][s])),
            forgetting_matrix,
            intransigence: held_back.as_ref().and_then(|i| mean(i.iter().copied())),
            intransigence_by_task: held_back,
        })
    }
}

/// `A_t` by the convention.
fn average_accuracy(accuracies: &TaskAccuracies, t: usize, convention: Convention) -> f64 {
    let row = &accuracies.after[t];
    let (tasks, sizes) = match convention {
        Convention::Avalanche => (row.len(), accuracies.test_sizes.as_ref()),
        Convention::Gem | Convention::Chaudhry => (t + 1, None),
    };
    let weight = |s: usize| sizes.map_or(1.0, |n| n[s] as f64);
    (0..tasks).map(|s| weight(s) * row[s]).sum::<f64>() / (0..tasks).map(weight).sum::<f64>()
}

/// What task s has lost after task t.
fn lost(r: &[Vec<f64>], t: usize, s: usize, convention: Convention) -> f64 {
    if s >= t {
        return 0.0;
    }
    let before = match convention {
        Convention::Gem | Convention::Avalanche => r[s][s],
        // Also over the times before s was learned, where they are known.
        Convention::Chaudhry => r[..t].iter().filter_map(|row| row.get(s)).copied().fold(f64::NEG_INFINITY, f64::max),
    };
    before - r[t][s]
}

/// The mean, if there is anything to average.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

fn check(accuracies: &TaskAccuracies) -> Result<()> {
    let r = &accuracies.after;
    let tasks = r.len();
    if tasks == 0 {
        return Err(Error::data("accuracies", "there is no task; give one row per task"));
    }
    let full = r[0].len() == tasks;
    for (t, row) in r.iter().enumerate() {
        let expected = if full { tasks } else { t + 1 };
        if row.len() != expected {
            let found = row.len();
            let problem = format!("{found} numbers; give all {tasks} tasks in every row, or tasks 0 to t in row t");
            return Err(Error::data(format!("accuracies, row {t}"), problem));
        }
        in_range(row, &format!("accuracies, row {t}"))?;
    }
    for (what, list) in [("untrained", &accuracies.untrained), ("reference", &accuracies.reference)] {
        let Some(list) = list else { continue };
        if list.len() != tasks {
            let problem = format!("{} numbers for {tasks} tasks", list.len());
            return Err(Error::data(format!("{what} accuracies"), problem));
        }
        in_range(list, &format!("{what} accuracies"))?;
    }
    match &accuracies.test_sizes {
        Some(sizes) if sizes.len() != tasks || sizes.contains(&0) => {
            Err(Error::data("test sizes", format!("{sizes:?}; give {tasks} numbers above zero")))
        }
        _ => Ok(()),
    }
}

fn in_range(values: &[f64], what: &str) -> Result<()> {
    match values.iter().position(|v| !(0.0..=1.0).contains(v)) {
        Some(s) => Err(Error::data(what, format!("task {s} has {}; an accuracy lies in [0, 1]", values[s]))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-15 // a few roundings of numbers up to 1
    }

    fn metrics(after: &[&[f64]], convention: Convention) -> ContinualMetrics {
        let after = after.iter().map(|row| row.to_vec()).collect();
        ContinualMetrics::new(&TaskAccuracies { after, ..Default::default() }, convention).unwrap()
    }

    const EXAMPLE: [&[f64]; 3] = [&[1.0, 0.0, 0.0], &[0.5, 0.8, 1.0], &[0.2, 1.0, 0.5]];

    #[test]
    fn avalanche_forgetting_of_the_example() {
        let m = metrics(&EXAMPLE, Convention::Avalanche);
        let expected = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.8, -0.2, 0.0]];
        for t in 0..3 {
            for s in 0..3 {
                assert!(close(m.forgetting_matrix[t][s], expected[t][s]), "[{t}][{s}]");
            }
        }
        assert!(close(m.forgetting.unwrap(), 0.3));
        assert!(close(m.backward_transfer.unwrap(), -0.3));
        assert!(close(m.learning_accuracy, 2.3 / 3.0));
        // The stream holds all three tasks at any time.
        for (t, sum) in [1.0, 2.3, 1.7].into_iter().enumerate() {
            assert!(close(m.average_accuracy_after[t], sum / 3.0));
        }
    }

    #[test]
    fn gem_averages_over_tasks_seen() {
        let m = metrics(&EXAMPLE, Convention::Gem);
        for (t, mean) in [1.0, 0.65, 1.7 / 3.0].into_iter().enumerate() {
            assert!(close(m.average_accuracy_after[t], mean));
        }
        assert_eq!(m.average_accuracy, m.average_accuracy_after[2]);
        assert_eq!((m.forward_transfer, m.intransigence, m.intransigence_by_task), (None, None, None));
    }

    #[test]
    fn chaudhry_counts_from_the_best() {
        let rows: [&[f64]; 3] = [&[0.8], &[0.9, 0.7], &[0.6, 0.75, 0.5]];
        let m = metrics(&rows, Convention::Chaudhry);
        assert!(close(m.forgetting_matrix[1][0], -0.1));
        assert!(close(m.forgetting_matrix[2][0], 0.3)); // from 0.9; gem: from 0.8
        assert!(close(m.forgetting.unwrap(), 0.5 * (0.3 - 0.05)));
        assert!(close(metrics(&rows, Convention::Gem).forgetting.unwrap(), 0.5 * (0.2 - 0.05)));
        // The definition's maximum runs over all earlier times, before the task was learned too.
        let early: [&[f64]; 3] = [&[1.0, 0.9, 0.0], &[1.0, 0.7, 0.0], &[1.0, 0.6, 1.0]];
        assert!(close(metrics(&early, Convention::Chaudhry).forgetting_matrix[2][1], 0.3));
    }

    #[test]
    fn transfer_and_intransigence_need_their_references() {
        let accuracies = TaskAccuracies {
            after: EXAMPLE.iter().map(|row| row.to_vec()).collect(),
            untrained: Some(vec![0.5, 0.1, 0.4]),
            reference: Some(vec![1.0, 0.9, 0.8]),
            test_sizes: Some(vec![10, 10, 80]),
        };
        let m = ContinualMetrics::new(&accuracies, Convention::Gem).unwrap();
        assert!(close(m.forward_transfer.unwrap(), 0.5 * ((0.0 - 0.1) + (1.0 - 0.4))));
        assert!(close(m.intransigence.unwrap(), (0.0 + 0.1 + 0.3) / 3.0));
        assert!(close(m.intransigence_by_task.unwrap()[2], 0.3));
        let pooled = ContinualMetrics::new(&accuracies, Convention::Avalanche).unwrap();
        assert!(close(pooled.average_accuracy, 0.1 * 0.2 + 0.1 * 1.0 + 0.8 * 0.5));
        // Forward transfer looks above the diagonal.
        let mut lower = accuracies;
        lower.after.iter_mut().enumerate().for_each(|(t, row)| row.truncate(t + 1));
        assert_eq!(ContinualMetrics::new(&lower, Convention::Gem).unwrap().forward_transfer, None);
    }

    #[test]
    fn one_task_has_no_transfer() {
        let m = metrics(&[&[0.9]], Convention::Gem);
        assert_eq!((m.average_accuracy, m.learning_accuracy), (0.9, 0.9));
        assert_eq!((m.backward_transfer, m.forward_transfer, m.forgetting), (None, None, None));
    }

    #[test]
    fn bad_input_is_refused() {
        let message = |after: Vec<Vec<f64>>| {
            let accuracies = TaskAccuracies { after, ..Default::default() };
            ContinualMetrics::new(&accuracies, Convention::Gem).unwrap_err().to_string()
        };
        assert!(message(vec![]).contains("there is no task"));
        assert!(message(vec![vec![1.0, 0.5], vec![1.0]]).starts_with("accuracies, row 1: 1 numbers"));
        assert_eq!(message(vec![vec![97.5]]), "accuracies, row 0: task 0 has 97.5; an accuracy lies in [0, 1]");
        assert!(message(vec![vec![f64::NAN]]).contains("task 0 has NaN"));
        let wrong = TaskAccuracies { after: vec![vec![1.0]], untrained: Some(vec![]), ..Default::default() };
        let error = ContinualMetrics::new(&wrong, Convention::Gem).unwrap_err().to_string();
        assert_eq!(error, "untrained accuracies: 0 numbers for 1 tasks");
        assert!("Gem?".parse::<Convention>().is_err());
    }

    #[test]
    fn files_name_the_convention_and_the_orientation() {
        let json = serde_json::to_value(metrics(&EXAMPLE, Convention::Avalanche)).unwrap();
        assert_eq!(json["convention"], "avalanche");
        assert_eq!(json["orientation"], "[t][s]: after task t, on task s");
        assert_eq!("avalanche".parse::<Convention>().unwrap(), Convention::Avalanche);
    }
}
