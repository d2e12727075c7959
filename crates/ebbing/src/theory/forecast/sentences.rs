//! What a forecast says, in sentences: the same in the terminal, the report and Python.

use super::{Averaged, Forecast, SweepForecast};
use crate::metrics::ContinualMetrics;
use crate::plan::size;
use crate::stats::number::{between, chosen, per_cent, points_between, significant, within};
use crate::stats::{CurveShape, Estimate, ForgettingFit, VarianceExplained};
use crate::tasks::{called, in_order};
use crate::theory::advise::KeepCurve;
use crate::theory::calibration::{headline, not_calibrated};
use crate::theory::closed_heads::{ClosedHead, ClosedHeads};
use crate::theory::directions::ForgettingDirections;
use crate::theory::examples::ExamplesAtRisk;
use crate::theory::task_order::TaskOrder;

const ASSUMES: &str = "Assumes a wide fully connected network, squared loss, training to the end, and an L2 penalty to the last \
                           solution; what a network of finite width does, `ebbing train` shows.";

/// What a forecast from features assumes.
const ASSUMES_OF_FEATURES: &str = "Assumes that only a linear readout of these features learns (of tangent features: that all \
                                       weights move little), squared loss, and training to the end.";

/// What a forecast assumes: one from inputs of a network, or one from features.
pub fn assumes(features: bool) -> &'static str {
    if features { ASSUMES_OF_FEATURES } else { ASSUMES }
}

impl Forecast {
    /// The answer: what trained networks can be expected to lose, task by task, and which tasks clash; what the theory says where
    /// that cannot be said. Then what to know.
    pub fn sentences(&self) -> Vec<String> {
        let mut all = self.expectation();
        if all.is_empty() {
            all.extend(self.without_accuracy.as_ref().map(|why| {
                format!("The accuracy of trained networks cannot be forecast: {why}. What follows is training loss in theory.")
            }));
            all.extend(self.theory_sentences());
        } else {
            all.extend(self.keep.as_ref().and_then(KeepCurve::sentence));
            all.extend(self.heads.as_ref().and_then(heads));
            all.extend(self.clash());
        }
        all.extend(self.examples.iter().flat_map(ExamplesAtRisk::sentences));
        if self.examples.is_some() {
            all.extend(self.directions.as_ref().and_then(ForgettingDirections::sentence));
        }
        all.extend(best_of("Of the penalties tried", &self.lambdas, self.test.is_some()));
        all.extend(best_of("With a head per task, of the widths tried", &self.widths, self.test.is_some()));
        all.extend(self.order.as_ref().map(|order| best_order(order, &self.tasks)));
        if self.order.as_ref().is_some_and(|order| order.gain > 0.0 && order.within_noise.is_none()) {
            let several = if self.drawn {
                "several seeds show"
            } else {
                "several seeds of a part of the examples (--max-p) show"
            };
            all.push(format!(
                "Of one draw of tasks some order is always the best; {several} whether it is more than chance."
            ));
        }
        // Notes on the theory's own quantities stand with those.
        let shown = if self.trained.is_some() { self.data_notes } else { self.notes.len() };
        all.extend(self.notes[..shown].iter().map(|note| format!("Note: {note}.")));
        all
    }

    /// What trained networks can be expected to lose and keep, in per cent: the headline, the final accuracy, the range; empty without
    /// test data of classes.
    pub fn expectation(&self) -> Vec<String> {
        let Some(trained) = &self.trained else { return vec![] };
        let mut all = Vec::new();
        let range = self.expected.as_ref();
        if let Some(lost) = trained.lost {
            all.push(match range {
                Some(found) => format!("{} ({}).", headline(lost), points_between(found.lost_interval)),
                None => format!("{}.", headline(lost)),
            });
        }
        let between = range.map_or(String::new(), |found| format!(" ({})", between(found.accuracy_interval)));
        let end = if self.tasks.len() > 1 { "Average accuracy at the end" } else { "Accuracy" };
        all.push(format!(
            "{end}: {}{between}; guessing gives {}.",
            per_cent(trained.final_accuracy),
            per_cent(trained.chance)
        ));
        if let Some(own) = trained.task_accuracy.as_ref().filter(|_| self.tasks.len() > 1) {
            let last = own.mean.len() - 1;
            let finally = own.mean[last].iter().sum::<f64>() / (last + 1) as f64;
            all.push(format!("With the task known: {}.", per_cent(finally)));
        }
        match range {
            Some(found) => all.push(found.about()),
            None if trained.lost.is_some() => all.push(self.not_calibrated()),
            None => {}
        }
        all
    }

    /// That no range is given, and why.
    fn not_calibrated(&self) -> String {
        not_calibrated(self.outside.as_deref().unwrap_or("no such networks were measured"))
    }

    /// Which tasks get in each other's way: the largest drop of accuracy, and why where order parameters say so.
    pub fn clash(&self) -> Option<String> {
        let trained = self.trained.as_ref()?;
        if let Some(worst) = &self.worst {
            let tasks = in_pair(worst.first, worst.second, &self.tasks);
            return Some(format!("Tasks {tasks} clash most: they {}.", worst.words().trim_start_matches("they ")));
        }
        let (falls, learned, drop) = trained.largest_drop().filter(|(_, _, drop)| *drop >= 0.01)?;
        Some(format!(
            "Task {} falls most, by {} points, while task {} is learned.",
            self.called(falls + 1),
            (100.0 * drop).round(),
            self.called(learned + 1)
        ))
    }

    /// The theory's own quantities in words: the worst pair, the fate of the first task, the penalty's part, accuracies by the theory
    /// as asked, what was swept.
    pub fn theory_sentences(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(worst) = &self.worst {
            all.push(format!(
                "Tasks {} and {} conflict most (conflict {}): {}.",
                self.called(worst.first),
                self.called(worst.second),
                significant(worst.conflict),
                worst.words()
            ));
        }
        all.extend(self.first_task());
        if let (Some(free), Some(delta)) = (self.f21_at_lambda_zero, self.delta_f21) {
            let change = match delta {
                d if d < 0.0 => format!("the penalty spares {}", significant(-d)),
                d if d > 0.0 => format!("the penalty adds {}", significant(d)),
                _ => "the penalty changes nothing".into(),
            };
            all.push(format!(
                "Without the penalty the training-loss forgetting of task 1 after task 2 would be {}; {change}.",
                significant(free)
            ));
        }
        all.extend(self.test.as_ref().and_then(|test| test.metrics.as_ref()).map(accuracies));
        all.extend(self.test.as_ref().and_then(|test| test.task_accuracy.as_ref()).map(task_incremental));
        all.extend(self.explained.as_ref().map(explained));
        if self.examples.is_none() {
            all.extend(self.directions.as_ref().and_then(ForgettingDirections::sentence));
        }
        if self.trained.is_some() {
            all.extend(self.notes[self.data_notes..].iter().map(|note| format!("Note: {note}.")));
        }
        all
    }

    /// Task t (from 1) as it is spoken of: its number, and the name that it was given.
    fn called(&self, t: usize) -> String {
        called(t, &self.tasks[t - 1])
    }

    /// What is left of the first task after the last; nothing to say of one task.
    fn first_task(&self) -> Option<String> {
        let forgetting = self.forgetting.as_ref()?;
        let after = forgetting.mean.len();
        let last = after.checked_sub(1).filter(|&last| last > 0)?;
        let standard_error = forgetting.standard_error.as_ref().map(|e| e[last][0]);
        let forgetting = Estimate { value: forgetting.mean[last][0], standard_error };
        let shape = self.fit.as_ref().map_or(String::new(), shape);
        Some(format!(
            "Forecast training-loss forgetting F of task {} after {after} tasks is {forgetting}{shape}.",
            self.called(1)
        ))
    }
}

/// Heads that do not forget, in one sentence.
fn heads(found: &ClosedHeads) -> Option<String> {
    let one = |head: &ClosedHead| {
        format!("{} {} ({})", head.kind.title(), per_cent(head.mean_accuracy), size(head.bytes as f64))
    };
    let all: Vec<String> = found.heads.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("Heads in closed form do not forget: {}.", all.join(", ")))
}

/// "1 and 3", by names where tasks have some.
fn in_pair(first: usize, second: usize, names: &[String]) -> String {
    format!("{} and {}", called(first, &names[first - 1]), called(second, &names[second - 1]))
}

/// The fit of the forgetting curve as the end of a sentence.
fn shape(fit: &ForgettingFit) -> String {
    match (fit.shape, fit.f_max, fit.tau) {
        (CurveShape::Saturating, Some(f_max), Some(tau)) => {
            // Two points after the first determine two parameters: that they are met says nothing.
            let r2 = fit.r2.filter(|_| fit.points > 3).map_or(String::new(), |r2| format!(", R² {}", significant(r2)));
            format!(", rising as F_max(1 − e^(−(t−1)/τ)) with F_max {f_max} and τ {tau} tasks{r2}")
        }
        (CurveShape::Zero, ..) => String::new(),
        (CurveShape::Undetermined, ..) => " (how it rises, these points do not show)".into(),
        (shape, ..) => match (fit.saturating(), fit.tau_interval) {
            (Some((f_max, tau)), (low, high)) => format!(
                ", rising as F_max(1 − e^(−(t−1)/τ)) with F_max {} and τ {} tasks at best, which these points do not determine ({})",
                significant(f_max),
                significant(tau),
                match (low, high) {
                    (Some(low), _) => format!("τ may be anything above {}", significant(low)),
                    (None, Some(high)) => format!("τ may be anything below {}", significant(high)),
                    (None, None) => "τ may be anything".into(),
                }
            ),
            (None, _) if shape == CurveShape::Linear => ", rising along a straight line".into(),
            (None, _) => ", reached at once".into(),
        },
    }
}

/// Accuracy metrics in one sentence.
fn accuracies(m: &ContinualMetrics) -> String {
    let all = [
        ("average accuracy", Some(m.average_accuracy)),
        ("learning accuracy", Some(m.learning_accuracy)),
        ("backward transfer", m.backward_transfer),
        ("forward transfer", m.forward_transfer),
        ("forgetting", m.forgetting),
        ("intransigence", m.intransigence),
    ];
    let parts: Vec<String> = all
        .into_iter()
        .filter_map(|(name, v)| v.map(|v| format!("{name} {}", significant(within(v, 1e-12)))))
        .collect();
    format!("On test data after the last task ({} convention): {}.", m.convention.name(), parts.join(", "))
}

/// Which order parameter says most about forgetting, in a sentence.
fn explained(found: &VarianceExplained) -> String {
    let share = |k: usize| format!("{:.0} %", 100.0 * found.share[k]);
    format!(
        "Over all pairs and draws γ_RF and γ_rule explain the forgetting F_pair of pairs with R² {}; {} of that falls to γ_RF, {} to γ_rule.",
        significant(found.r2),
        share(0),
        share(1)
    )
}

/// The best point of a sweep: by accuracy where targets name classes, then by forgetting; nothing to say of a single one.
fn best_of(which: &str, sweep: &[SweepForecast], tested: bool) -> Option<String> {
    let answer: Vec<&SweepForecast> = sweep.iter().filter(|point| point.final_forgetting.is_some()).collect();
    let lost = |point: &SweepForecast| (-point.accuracy.unwrap_or(0.0), point.final_forgetting.unwrap_or(f64::NAN));
    let order = |a: &&&SweepForecast, b: &&&SweepForecast| {
        let (a, b) = (lost(a), lost(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let (best, worst) = (answer.iter().min_by(order)?, answer.iter().max_by(order)?);
    if lost(best) == lost(worst) {
        return None;
    }
    let answer = |point: &SweepForecast| {
        let forgetting = Estimate { value: point.final_forgetting?, standard_error: point.standard_error };
        let accuracy = point.accuracy.map(|value| Estimate { value, standard_error: point.accuracy_error });
        let of = if tested { "accuracy" } else { "training accuracy" };
        let accuracy = accuracy.map_or(String::new(), |a| format!("{of} {a}, "));
        let width = point.width.map_or(String::new(), |n| format!("N = {}, ", chosen(n)));
        Some(format!("{width}λ = {} ({accuracy}forgetting {forgetting} after the last task)", chosen(point.lambda)))
    };
    // What penalties do depends on the temperature that is held fixed.
    let at = if best.beta.is_finite() { format!(" at β = {}", chosen(best.beta)) } else { String::new() };
    Some(format!("{which}{at}, the best is {}, the worst {}.", answer(best)?, answer(worst)?))
}

/// Accuracies among each task's own classes.
fn task_incremental(accuracy: &Averaged) -> String {
    let after = &accuracy.mean;
    let last = after.len() - 1;
    let finally = after[last].iter().sum::<f64>() / (last + 1) as f64;
    let learned = (0..=last).map(|s| after[s][s]).sum::<f64>() / (last + 1) as f64;
    format!(
        "Where the task is known (task-incremental: among its own classes) average accuracy is {}, and {} when learned.",
        significant(finally),
        significant(learned)
    )
}

/// The best order of tasks, or that the given one is the best.
fn best_order(order: &TaskOrder, names: &[String]) -> String {
    if order.gain <= 0.0 {
        return format!(
            "The given order is the best of {} tried (mean final forgetting {}).",
            order.tried,
            significant(order.given)
        );
    }
    let noise = match (order.within_noise, order.gain_error) {
        (Some(true), Some(error)) => format!(
            " The gain, {}, is within noise: the luckiest of {} orders of exchangeable tasks would gain as much.",
            Estimate { value: order.gain, standard_error: Some(error) },
            order.tried
        ),
        (Some(false), Some(error)) => {
            format!(" The gain is {} over draws.", Estimate { value: order.gain, standard_error: Some(error) })
        }
        _ => String::new(),
    };
    format!(
        "The best order found is {}: mean final forgetting {} instead of {} ({:.1} % less; {} orders tried).{noise}",
        in_order(&order.order, names),
        significant(order.forgetting),
        significant(order.given),
        100.0 * order.gain / order.given,
        order.tried
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Preprocess, Source};
    use crate::tasks::Permuted;
    use crate::theory::calibration::{Data, Training, expected_of};
    use crate::theory::forecast::{ForecastSettings, Reading, WorstPair};

    #[test]
    fn sentences_carry_the_numbers() {
        let source = Source::new(Dataset::sample().unwrap(), &Preprocess::default()).unwrap();
        let tasks = Permuted { tasks: 3, p: 20, p_test: 20, ..Permuted::default() }.generate(&source, 1).unwrap();
        let settings = ForecastSettings { order: true, ..ForecastSettings::default() };
        let mut answer = Forecast::of(&[tasks], &settings, &crate::Context::default()).unwrap();
        answer.worst =
            Some(WorstPair { first: 1, second: 3, conflict: 0.4, gamma_rf: 0.5, reading: Reading::DifferentRules });
        let forgetting = answer.forgetting.as_mut().unwrap();
        forgetting.mean[2][0] = 0.3123;
        forgetting.standard_error = Some(vec![vec![0.0211; 3]; 3]);
        (answer.f21_at_lambda_zero, answer.delta_f21) = (Some(0.5), Some(-0.125));
        answer.order =
            Some(TaskOrder { order: vec![2, 1, 3], forgetting: 0.2, given: 0.25, gain: 0.05, ..answer.order.unwrap() });
        (answer.notes, answer.data_notes) = (vec!["mind this".into(), "and that".into()], 1);
        let trained = answer.trained.as_mut().unwrap();
        (trained.lost, trained.final_accuracy) = (Some(0.1126), 0.634);
        // Tasks of 20 examples have none.
        assert!(answer.expected.is_none() && answer.outside.is_some());
        (answer.expected, answer.outside) = (expected_of(Training::Plain, Data::Whitened, 0.1126, 0.634), None);
        let range = answer.expected.as_mut().unwrap();
        (range.lost_interval, range.accuracy_interval) = ([-0.021, 0.2], [0.56, 0.65]);
        let said = answer.sentences();
        assert_eq!(said[0], "Expect to lose 11 points of accuracy (−2 to 20).");
        assert_eq!(said[1], "Average accuracy at the end: 63 % (56 to 65); guessing gives 50 %.");
        assert!(said[2].starts_with("Eight in ten measured networks"), "{said:?}");
        assert!(said[3].starts_with("Keep") || said[3].starts_with("Nothing need be kept"), "{said:?}");
        assert!(said[4].starts_with("Heads in closed form do not forget: nearest class mean "), "{said:?}");
        assert_eq!(said[5], "Tasks 1 and 3 clash most: they use similar features, with unrelated rules.");
        let less = "The best order found is 2 1 3: mean final forgetting 0.200 instead of 0.250 (20.0 % less; ";
        assert!(said[6].starts_with(less), "{said:?}");
        assert!(said[7].starts_with("Of one draw of tasks some order is always the best"), "{said:?}");
        assert_eq!(said[8..], ["Note: mind this."]);
        answer.tasks[1] = "cats".into();
        let named = answer.sentences().join(" ");
        assert!(named.contains("The best order found is 2 (cats), 1, 3: "), "{named}");
        // The theory's own quantities.
        let theory = answer.theory_sentences();
        assert!(theory[0].contains("conflict most (conflict 0.400): they use similar features"), "{theory:?}");
        let f = "Forecast training-loss forgetting F of task 1 after 3 tasks is 0.31 ± 0.02";
        assert!(theory[1].starts_with(f), "{theory:?}");
        assert!(theory[2].ends_with("after task 2 would be 0.500; the penalty spares 0.125."), "{theory:?}");
        assert!(
            theory[3].starts_with("On test data after the last task (gem convention): average accuracy 0."),
            "{theory:?}"
        );
        assert_eq!(theory.last().map(String::as_str), Some("Note: and that."));
        // Sums of shares of examples are right to rounding: what is below that is 0.
        assert!(!theory[3].contains("e-1"), "{theory:?}");
        // Outside the evidence there is no range.
        (answer.expected, answer.outside) = (None, Some("raw pixels".into()));
        let said = answer.sentences();
        assert_eq!(said[0], "Expect to lose 11 points of accuracy.");
        assert_eq!(said[2], "Not calibrated for data like yours: raw pixels. No range can be given.");
        // Without test data of classes there is the theory alone.
        answer.trained = None;
        assert_eq!(answer.sentences()[0], theory[0]);
        // Alone, a task has nothing to be forgotten by.
        answer.forgetting.as_mut().unwrap().mean.truncate(1);
        answer.fit = None;
        assert_eq!(answer.first_task(), None);
    }
}
