//! What advice says, in sentences: the same in the terminal, the report and Python.

use super::{Advice, Remedy, RemedyKind};
use crate::stats::number::significant;
use crate::theory::calibration::{Expected, headline, not_calibrated};

impl Advice {
    /// What to do, and what comes of it: of the methods, by accuracy; where accuracies are not known, of the theory's remedies.
    pub fn sentences(&self) -> Vec<String> {
        let Some(methods) = &self.methods else { return self.by_theory() };
        let mut all = methods.sentences();
        all.insert(1, self.outside.as_deref().map_or(String::new(), not_calibrated));
        all.retain(|sentence| !sentence.is_empty());
        all.extend(self.ordering());
        all
    }

    /// What the theory's own remedies come to beside the methods: how much replay holds training-loss forgetting down, and why some
    /// are not advised.
    pub fn theory_sentences(&self) -> Vec<String> {
        if self.methods.is_none() || self.remedies.is_empty() {
            return vec![];
        }
        let refuted = "Depth is not advised: trained networks of one to four hidden layers hardly differed, whatever the theory says \
                       (docs/evidence.md).";
        let depth = self.remedies.iter().any(|r| r.applies && !borne_out(r)).then(|| refuted.to_string());
        self.kept().into_iter().chain(depth).collect()
    }

    /// What to do by the theory's own remedies, and what to expect from it.
    pub fn by_theory(&self) -> Vec<String> {
        let best = self.best(false);
        let mut all = vec![best.map_or_else(|| self.nothing_sure(), |best| format!("Do this: {}.", self.effect(best)))];
        all.extend(best.or_else(|| self.row(RemedyKind::Nothing)).and_then(prospects));
        all.extend(self.outside.as_deref().map(not_calibrated));
        all.extend(self.kept());
        if let Some(best) = self.best(true) {
            all.push(format!("If the task is known at test time: {}.", self.effect(best)));
            all.extend(prospects(best));
        }
        all.extend(self.ordering());
        if let Some(accuracy) = self.row(RemedyKind::Joint).and_then(|r| r.accuracy) {
            all.push(format!(
                "The bound of this network, without knowing the task at test time, is training on everything at once: average \
                 accuracy {}.",
                per_cent(accuracy)
            ));
        }
        all.extend(self.to_know());
        all
    }

    /// What a reader should know.
    fn to_know(&self) -> Vec<String> {
        let mut all = vec![];
        if self.remedies.iter().any(|r| r.trained.is_some()) {
            all.push(
                "Note: the table holds the theory of wide networks as asked for; what is expected of trained networks is by the \
                 theory that came closest to measured ones."
                    .into(),
            );
        }
        if self.remedies.iter().any(|r| r.applies && !borne_out(r)) {
            all.push(
                "Note: rows of another depth are the theory's alone; trained networks hardly differed between depths."
                    .into(),
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

    fn row(&self, kind: RemedyKind) -> Option<&Remedy> {
        self.remedies.iter().find(|r| r.kind == kind && r.applies)
    }

    /// Remedies that surely differ from doing nothing.
    fn sure(&self) -> impl Iterator<Item = &Remedy> {
        let real = |r: &&Remedy| !matches!(r.kind, RemedyKind::Joint | RemedyKind::Nothing) && borne_out(r);
        self.remedies.iter().filter(real).filter(|r| r.gains_surely())
    }

    /// The remedy whose gain exceeds its error by most; of equal ones the cheapest, and of those the first.
    fn best(&self, task_known: bool) -> Option<&Remedy> {
        let some = self.sure().filter(|r| r.task_known == task_known);
        let better = |a: &Remedy, b: &Remedy| {
            let [cost, other] = [a, b].map(|r| r.cost.unwrap_or(f64::INFINITY));
            beyond(a).total_cmp(&beyond(b)).then(other.total_cmp(&cost)).is_gt()
        };
        // What adds nothing to an earlier row, such as a best order that is the one given, is not recommended in its place.
        some.reduce(|best, next| if better(next, best) { next } else { best })
    }

    /// What is said where no remedy that needs no knowledge of the task surely differs from doing nothing.
    fn nothing_sure(&self) -> String {
        const SAID: &str = "No gain that we can be sure of";
        let without = |r: &&Remedy| r.applies && !r.task_known && borne_out(r);
        let real = self.remedies.iter().filter(without);
        let real = real.filter(|r| !matches!(r.kind, RemedyKind::Joint | RemedyKind::Nothing));
        let gain = |r: &Remedy| r.accuracy_gain.unwrap_or(f64::NEG_INFINITY);
        let best = real.clone().filter(|r| r.accuracy_gain.is_some()).max_by(|a, b| gain(a).total_cmp(&gain(b)));
        match best {
            Some(best) if best.accuracy_gain > Some(0.0) => format!(
                "{SAID}: the most, {} by {}, is within what such forecasts are off by ({:.1} points on average).",
                points_of(best.accuracy_gain),
                best.remedy,
                100.0 * best.forecast_error.unwrap_or(f64::NAN)
            ),
            Some(_) => {
                let nothing =
                    self.row(RemedyKind::Nothing).and_then(|r| r.accuracy).map(|a| format!(" ({})", per_cent(a)));
                format!(
                    "{SAID}: nothing tried is forecast to end with a higher average accuracy than doing nothing{}.",
                    nothing.unwrap_or_default()
                )
            }
            None => {
                let least = real.filter(|r| r.gain.is_some_and(|g| g > 0.0)).find_map(|r| Some((r, r.forgetting?)));
                let theory = least.map_or(String::new(), |(r, f)| {
                    format!(" By the theory alone {} forgets least, F {}.", r.remedy, significant(f))
                });
                format!(
                    "{SAID}: targets name no classes, and forecasts were held against networks by accuracy.{theory}"
                )
            }
        }
    }

    /// Points of accuracy gained; where both accuracies are said, between these as they are said.
    fn points(&self, remedy: &Remedy) -> f64 {
        match self.ends(remedy) {
            Some([from, to]) => (100.0 * to).round() - (100.0 * from).round(),
            None => (100.0 * remedy.accuracy_gain.unwrap_or(f64::NAN)).round(),
        }
    }

    /// Accuracy without and with a remedy; none where what trained networks come to stands for them.
    fn ends(&self, remedy: &Remedy) -> Option<[f64; 2]> {
        let nothing = self.row(RemedyKind::Nothing)?;
        if remedy.trained.is_some() && nothing.trained.is_some() {
            return None;
        }
        Some([nothing.accuracy?, remedy.accuracy?])
    }

    fn effect(&self, remedy: &Remedy) -> String {
        let ends = self
            .ends(remedy)
            .map_or(String::new(), |[from, to]| format!(", from {:.0} to {}", 100.0 * from, per_cent(to)));
        format!(
            "{}. It is forecast to raise the final average accuracy by {:.0} points{ends}; such forecasts are off by {:.1} on average",
            remedy.remedy,
            self.points(remedy),
            100.0 * remedy.forecast_error.unwrap_or(f64::NAN)
        )
    }

    /// How many examples must be kept.
    fn kept(&self) -> Option<String> {
        let (target, most, last) = (significant(self.target?), self.examples_most?, self.replay.last()?);
        if let Some(needed) = self.examples_needed {
            return Some(format!(
                "To hold the mean training-loss forgetting F at {target} or below by replay alone, keep {needed} examples (random \
                 ones; {most} are the most that can be kept)."
            ));
        }
        let least = self.replay.iter().map(|p| p.forgetting).fold(f64::INFINITY, f64::min);
        let joint = self.row(RemedyKind::Joint);
        let error = self.row(RemedyKind::Replay).and_then(|r| r.forecast_error).unwrap_or(0.0);
        let level = joint.and_then(|r| r.accuracy).zip(last.accuracy);
        let as_good = level.is_some_and(|(joint, replay)| replay >= joint - error);
        let though = if as_good { ", and is as accurate as training on everything at once" } else { "" };
        let bound = joint.and_then(|r| r.forgetting).filter(|f| Some(*f) > self.target);
        Some(match bound {
            Some(bound) => format!(
                "A mean training-loss forgetting F of {target} is out of reach of one readout for all tasks: training on everything \
                 at once has {}. Replay of {most} comes to {} times that{though}.",
                significant(bound),
                significant(least / bound)
            ),
            None => format!(
                "Replay alone does not reach a mean training-loss forgetting F of {target}: with {most} kept it has {}{though}.",
                significant(least)
            ),
        })
    }

    /// What the order of tasks can change.
    fn ordering(&self) -> Option<String> {
        let mut rows = self.remedies.iter().filter(|r| r.kind == RemedyKind::Order && r.applies);
        let row = rows.clone().find(|r| r.gains_surely()).or_else(|| rows.next())?;
        let judged = match row.beyond_noise {
            Some(true) => format!("beyond the noise of {} draws", self.draws),
            Some(false) => format!("within the noise of {} draws", self.draws),
            None => "of one draw, whose noise is unknown: use several seeds".into(),
        };
        let gain = row.gain?;
        let found = match row.accuracy_gain {
            _ if gain <= 0.0 => format!("No better order was found ({judged})."),
            Some(_) if !row.gains_surely() => {
                format!("No gain of accuracy that we can be sure of from another order (forgetting: {judged}).")
            }
            _ => format!("The {} would change forgetting by {} ({judged}).", row.remedy, self.change(row)),
        };
        let Some(range) = &self.orders else { return Some(found) };
        let [best, worst] = range.forgetting.map(significant);
        let accuracy = range.accuracy.map_or(String::new(), |[best, worst]| {
            format!(" and average test accuracy between {:.0} and {}", 100.0 * worst, per_cent(best))
        });
        let roughly = if self.features { "" } else { "; forecasts rank the orders of trained networks only roughly" };
        let tried = range.tried;
        Some(format!("{found} {tried} orders were tried: F lies between {best} and {worst}{accuracy}{roughly}."))
    }

    /// "−52 %".
    fn change(&self, row: &Remedy) -> String {
        let nothing = self.row(RemedyKind::Nothing).and_then(|r| r.forgetting).unwrap_or(f64::NAN);
        let change = -100.0 * row.gain.unwrap_or(f64::NAN) / nothing;
        format!("{}{:.0} %", if change < 0.0 { "−" } else { "+" }, change.abs())
    }
}

/// What trained networks lose and keep, with the range where there is one.
fn prospects(remedy: &Remedy) -> Option<String> {
    let bare = |[lost, end]: [f64; 2]| format!("{}. Average accuracy at the end: {}.", headline(lost), per_cent(end));
    remedy.expected.as_ref().map(Expected::sentence).or_else(|| remedy.trained.map(bare))
}

/// Whether trained networks bear a remedy out: they hardly differ between depths, whatever the theory says.
fn borne_out(remedy: &Remedy) -> bool {
    remedy.kind != RemedyKind::Depth && remedy.beside != Some(RemedyKind::Depth)
}

/// By how much its gain of accuracy exceeds what such forecasts are off by.
fn beyond(remedy: &Remedy) -> f64 {
    remedy.accuracy_gain.zip(remedy.forecast_error).map_or(f64::NEG_INFINITY, |(gain, error)| gain - error)
}

fn per_cent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// "1.3 points".
fn points_of(gain: Option<f64>) -> String {
    format!("{:.1} points", 100.0 * gain.unwrap_or(f64::NAN))
}
