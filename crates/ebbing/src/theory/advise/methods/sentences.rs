//! What methods come to, in sentences: the same in the terminal, the report and Python.

use super::{Method, MethodKind, Methods, Support};
use crate::plan::size;
use crate::stats::number::{between, per_cent};
use crate::theory::single_head::Selection;

impl Support {
    /// What supports a number, in a few words.
    pub fn words(self) -> String {
        match self {
            Support::Exact { .. } => "exact".into(),
            Support::Measured { networks, error } => format!("{networks} networks, ± {:.1}", 100.0 * error),
            Support::Theory => "theory only".into(),
        }
    }
}

impl Method {
    /// "replay, 20 of each class (126 kB)".
    fn named(&self) -> String {
        match self.bytes {
            0 => self.method.clone(),
            bytes => format!("{} ({})", self.method, size(bytes as f64)),
        }
    }

    /// "90 % (86 to 94)", "86 % on your test data".
    fn end(&self) -> String {
        match (self.accuracy_interval, self.support) {
            (Some(range), _) => format!("{} ({})", per_cent(self.accuracy), between(range)),
            (None, Support::Exact { .. }) => format!("{} on your test data", per_cent(self.accuracy)),
            (None, _) => per_cent(self.accuracy),
        }
    }

    /// Points of accuracy that such forecasts are off by.
    fn off_by(&self) -> f64 {
        100.0 * self.forecast_error.unwrap_or(f64::NAN)
    }
}

impl Methods {
    /// What to do and what comes of it.
    pub fn sentences(&self) -> Vec<String> {
        let mut all = vec![self.advice()];
        all.extend(self.smaller());
        all.extend(self.known());
        all.extend(self.ceiling());
        all.extend(self.which_examples());
        let [used, there] = self.examples_used;
        if used < there {
            all.push(format!("From {used} of {there} examples per task; --max-p takes more."));
        }
        all
    }

    /// The first row of a kind.
    pub fn row(&self, kind: MethodKind) -> Option<&Method> {
        self.rows.iter().find(|row| row.kind == kind)
    }

    /// The recommendation, or that none is sure.
    fn advice(&self) -> String {
        let nothing = self.row(MethodKind::FineTuning);
        let now = nothing.map_or(String::new(), Method::end);
        let guessing = format!("guessing gives {}", per_cent(self.chance));
        if let (Some(goal), Some(true)) = (self.goal, nothing.and_then(|row| row.reaches_goal)) {
            return format!("Nothing need be done to {goal}: fine-tuning is forecast to end at {now}; {guessing}.");
        }
        let Some(row) = self.recommended.map(|k| &self.rows[k]) else { return self.nothing_sure() };
        let effect = format!("It ends at {}; fine-tuning ends at {now}, {guessing}.", row.end());
        match (self.goal, row.reaches_goal) {
            (Some(goal), Some(true)) => format!("To {goal}: {}. {effect}", row.named()),
            (Some(goal), _) => {
                format!("Nothing that can be recommended is forecast to {goal}; closest is {}. {effect}", row.named())
            }
            _ => format!("Do this: {}. {effect}", row.named()),
        }
    }

    /// Where no row that needs no knowledge of the task surely gains.
    fn nothing_sure(&self) -> String {
        const SAID: &str = "No gain that we can be sure of";
        let real = |row: &&Method| {
            !row.task_known && !matches!(row.kind, MethodKind::FineTuning | MethodKind::Joint) && row.within_budget
        };
        let most = self.rows.iter().filter(real).max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
        let nothing = self.row(MethodKind::FineTuning).map_or(String::new(), Method::end);
        match most.filter(|row| row.accuracy_gain >= 0.005) {
            Some(row) => {
                let within = match row.forecast_error {
                    Some(_) => format!(
                        "which is within what such forecasts are off by ({:.1} points on average)",
                        row.off_by()
                    ),
                    None => "by theory alone".into(),
                };
                format!(
                    "{SAID}: fine-tuning ends at {nothing}; the most, {} more points by {}, {within}.",
                    points(row.accuracy_gain),
                    row.method
                )
            }
            None => format!("{SAID}: nothing tried is forecast to end above fine-tuning ({nothing})."),
        }
    }

    /// Another row that keeps less and still surely gains.
    fn smaller(&self) -> Option<String> {
        let chosen = &self.rows[self.recommended.filter(|_| self.goal.is_none())?];
        let less = |row: &&Method| row.sure && row.within_budget && !row.task_known && 2 * row.bytes <= chosen.bytes;
        let row = self.rows.iter().filter(less).max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
        Some(format!("With less memory: {} ends at {}.", row.named(), row.end()))
    }

    fn known(&self) -> Option<String> {
        let row = &self.rows[self.recommended_known?];
        Some(format!("If the task is known at test time: {} ends at {}.", row.named(), row.end()))
    }

    /// What nothing without all data at one time can be expected to beat.
    fn ceiling(&self) -> Option<String> {
        let row = self.row(MethodKind::Joint)?;
        Some(format!(
            "Training the network on all tasks at one time, the usual ceiling, ends at {}.",
            per_cent(row.accuracy)
        ))
    }

    /// Whether it matters which examples are kept.
    fn which_examples(&self) -> Option<String> {
        let at = |which: Selection| self.selections.iter().find(|point| point.selection == which).map(|p| p.accuracy);
        let (random, greedy, risk) = (at(Selection::Random)?, at(Selection::Greedy)?, at(Selection::AtRisk)?);
        let error = self.row(MethodKind::Replay).and_then(|row| row.forecast_error)?;
        let best = random.max(greedy).max(risk);
        let all = format!("random {}, greedy {}, those at risk {}", per_cent(random), per_cent(greedy), per_cent(risk));
        Some(match best - random > error {
            true => format!("Which examples are kept matters: {all}."),
            false => format!("Random examples do as well as chosen ones, as far as we can be sure: {all}."),
        })
    }
}

/// Points of accuracy.
fn points(gain: f64) -> String {
    format!("{:.0}", 100.0 * gain)
}
