//! What advice says, in sentences: the same in the terminal, the report and Python.

use super::{Advice, Remedy, RemedyKind};
use crate::stats::number::significant;
use crate::theory::calibration::Expected;

impl Advice {
    /// What to do, and what to expect from it.
    pub fn sentences(&self) -> Vec<String> {
        let mut all = vec![];
        let nothing = self.nothing();
        if let Some(best) = self.best(false) {
            all.push(format!("Do this: {}. {}", best.remedy, effect(best, nothing)));
        } else {
            all.push(
                "No remedy that needs no knowledge of the task at test time forgets less than doing nothing.".into(),
            );
        }
        all.extend(self.kept());
        let replay = self.remedies.iter().find(|r| r.kind == RemedyKind::Replay);
        all.extend(replay.and_then(|r| r.expected.as_ref()).map(Expected::sentence));
        if let Some(best) = self.best(true) {
            all.push(format!("If the task is known at test time: {}. {}", best.remedy, effect(best, nothing)));
        }
        all.extend(self.ordering());
        if let Some(bound) = self.remedies.iter().find(|r| r.kind == RemedyKind::Joint && r.applies) {
            let accuracy = bound.accuracy.map_or(String::new(), |a| format!(" (average accuracy {})", significant(a)));
            all.push(format!(
                "The bound, without knowing the task at test time, is training on everything at once{accuracy}."
            ));
        }
        if self.remedies.iter().any(|r| r.applies && !borne_out(r)) {
            all.push(
                "Note: another depth is told as the theory has it; networks that people train hardly differed between depths.".into(),
            );
        }
        let [used, there] = self.examples_used;
        if used < there {
            all.push(format!("Note: {used} of {there} examples per task were used; --max-p takes more."));
        }
        if !self.held_out {
            all.push("Note: not every task has test data; accuracies are those on training data.".into());
        }
        all
    }

    /// The best two remedies in one sentence.
    pub fn in_short(&self) -> Option<String> {
        let best: Vec<&Remedy> = self.real().filter(|r| r.kind != RemedyKind::Combination).take(2).collect();
        let part = |r: &&Remedy| {
            let change = percent(r, self.nothing());
            let known = if r.task_known { " (if the task is known at test time)" } else { "" };
            let what = match (r.kind, self.examples_needed) {
                (RemedyKind::Replay, Some(kept)) => {
                    format!("keeping {kept} of every {} examples", self.examples_used[0])
                }
                _ => r.remedy.clone(),
            };
            format!("{what}{known} would change forgetting by {change}")
        };
        let parts: Vec<String> = best.iter().map(part).collect();
        (!parts.is_empty()).then(|| format!("Against forgetting: {}. All remedies: ebbing advise.", parts.join("; ")))
    }

    fn nothing(&self) -> f64 {
        let row = self.remedies.iter().find(|r| r.kind == RemedyKind::Nothing);
        row.and_then(|r| r.forgetting).unwrap_or(f64::NAN)
    }

    /// Remedies that help, best first.
    fn real(&self) -> impl Iterator<Item = &Remedy> {
        let helps = |r: &&Remedy| r.applies && borne_out(r) && r.gain.is_some_and(|g| g > 0.0);
        self.remedies.iter().filter(helps).filter(|r| !matches!(r.kind, RemedyKind::Joint | RemedyKind::Nothing))
    }

    fn best(&self, task_known: bool) -> Option<&Remedy> {
        self.real().find(|r| r.task_known == task_known)
    }

    /// How many examples must be kept.
    fn kept(&self) -> Option<String> {
        let target = significant(self.target);
        self.replay.last()?;
        Some(match self.needed_words() {
            Some(words) => format!("To hold forgetting at {target} or below by replay alone, keep {words}."),
            None => {
                let least = self.replay.iter().map(|p| p.forgetting).fold(f64::INFINITY, f64::min);
                let most = self.examples_most;
                format!("Replay alone does not reach {target}: with {most} kept, forgetting is {}.", significant(least))
            }
        })
    }

    fn needed_words(&self) -> Option<String> {
        let needed = self.examples_needed?;
        Some(format!("{needed} examples (random ones; {} are the most that can be kept)", self.examples_most))
    }

    fn ordering(&self) -> Option<String> {
        let row = self.remedies.iter().find(|r| r.kind == RemedyKind::Order && r.applies)?;
        let gain = row.gain?;
        let change = percent(row, self.nothing());
        let judged = match row.beyond_noise {
            Some(true) => format!("beyond the noise of {} draws", self.draws),
            Some(false) => format!("within the noise of {} draws", self.draws),
            None => "of one draw, whose noise is unknown: several seeds tell".into(),
        };
        let found = if gain <= 0.0 {
            format!("No better order was found ({judged}).")
        } else {
            format!("The {} would change forgetting by {change} ({judged}).", row.remedy)
        };
        let Some(range) = &self.orders else { return Some(found) };
        let [best, worst] = range.forgetting.map(significant);
        let accuracy = range.accuracy.map_or(String::new(), |[best, worst]| {
            format!(" and average test accuracy between {} and {}", significant(worst), significant(best))
        });
        let roughly = if self.features { "" } else { "; forecasts rank the orders of trained networks only roughly" };
        let tried = range.tried;
        Some(format!(
            "{found} {tried} orders were tried: forgetting lies between {best} and {worst}{accuracy}{roughly}."
        ))
    }
}

/// Whether networks that people train bear a remedy out: they hardly differ between depths, whatever the theory says.
fn borne_out(remedy: &Remedy) -> bool {
    remedy.kind != RemedyKind::Depth && remedy.beside != Some(RemedyKind::Depth)
}

/// "−52 %".
fn percent(row: &Remedy, nothing: f64) -> String {
    let change = -100.0 * row.gain.unwrap_or(f64::NAN) / nothing;
    format!("{}{:.0} %", if change < 0.0 { "−" } else { "+" }, change.abs())
}

fn effect(row: &Remedy, nothing: f64) -> String {
    let accuracy = row.accuracy.map_or(String::new(), |a| format!(", average accuracy {}", significant(a)));
    let forgetting = row.forgetting.map_or(String::new(), significant);
    format!("Forgetting {forgetting} instead of {} ({}){accuracy}.", significant(nothing), percent(row, nothing))
}
