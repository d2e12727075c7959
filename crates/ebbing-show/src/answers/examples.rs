//! Examples at risk as tables: of tasks, of examples, of classes.

use crate::table::Table;
use crate::text::escape_markup;
use ebbing::theory::examples::{ClassRisk, ExampleAtRisk, ExampleRisks, ExamplesAtRisk};

/// What becomes of the examples of every task: held-out ones where every task has some, otherwise training examples.
pub fn tasks_at_risk(found: &ExamplesAtRisk) -> Table {
    let tested = found.tasks.iter().all(|task| task.test.is_some());
    let mut rows: Vec<(&str, &ExampleRisks)> = vec![];
    for task in &found.tasks {
        rows.push((&task.name, task.test.as_ref().filter(|_| tested).unwrap_or(&task.train)));
    }
    let which = if tested { "held-out" } else { "training" };
    Table::of(&format!("What becomes of {which} examples"), &rows)
        .text("task", |(name, _)| escape_markup(name))
        .integer("right", |(_, risks)| risks.learned)
        .key("learned")
        .meaning("examples that are right after their own task")
        .integer("lost", |(_, risks)| risks.lost)
        .meaning("those of them that are wrong after the last task")
        .integer("wrong", |(_, risks)| risks.wrong)
        .meaning("examples that are wrong after the last task")
        .done()
}

/// The examples of one set that are most at risk.
pub fn most_at_risk(name: &str, risks: &ExampleRisks, class_names: &[String]) -> Table {
    let class = |k: usize| class_names.get(k).map_or_else(|| k.to_string(), |name| escape_markup(name));
    let meaning = match risks.from_spread {
        true => "chance that a network of the theory is wrong there after the last task",
        false => "uncalibrated: a decreasing function of the margin",
    };
    Table::of(&format!("Most at risk: {}", escape_markup(name)), &risks.most_at_risk)
        .integer("row", |e: &ExampleAtRisk| e.row + 1)
        .meaning("row of the example, from 1")
        .text("class", |e| class(e.class))
        .text("taken for", |e| class(e.rival))
        .key("rival")
        .meaning("the strongest other class after the last task")
        .number("margin before", |e| e.margin_own)
        .key("margin_own")
        .meaning("own class minus the strongest other, after the example's own task")
        .number("margin after", |e| e.margin)
        .key("margin")
        .meaning("the same after the last task")
        .number("chance", |e| e.chance)
        .meaning(meaning)
        .done()
}

/// What becomes of every class of one set.
pub fn classes_at_risk(name: &str, risks: &ExampleRisks) -> Table {
    Table::of(&format!("Classes at risk: {}", escape_markup(name)), &risks.classes)
        .text("class", |c: &ClassRisk| escape_markup(&c.name))
        .integer("examples", |c| c.examples)
        .integer("right", |c| c.learned)
        .key("learned")
        .meaning("examples that are right after their own task")
        .integer("lost", |c| c.lost)
        .meaning("those of them that are wrong after the last task")
        .number("share lost", |c| c.share_lost.map(|share| 100.0 * share))
        .unit("%")
        .number("mean margin", |c| c.mean_margin)
        .meaning("own class minus the strongest other, after the last task")
        .done()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{closed_heads::closed_heads, directions::directions};
    use ebbing::linalg::Mat;
    use ebbing::rng::Stream;
    use ebbing::theory::closed_heads::{ClosedHeadSettings, closed_heads as compute};
    use ebbing::theory::directions::ForgettingDirections;
    use ebbing::theory::examples::Width;
    use ebbing::theory::single_head::SingleHeadSettings;
    use ebbing::{Context, SingleHead, Task, TaskSequence};

    #[test]
    fn every_table_has_a_row_for_each_of_its_things() {
        let mut stream = Stream::new(1, "tables of heads", 0);
        let mut set = |t: usize, n: usize| {
            let x = Mat::from_fn(n, 12, |i, j| stream.normal() + if j == 2 * t + i % 2 { 2.0 } else { 0.0 });
            (x, Mat::from_fn(n, 6, |i, c| f64::from(u8::from(c == 2 * t + i % 2))))
        };
        let mut task = |t: usize| {
            let ((x, y), (x_test, y_test)) = (set(t, 30), set(t, 20));
            Task::new(x, y).with_test(x_test, y_test).named(["a", "b", "[c]"][t])
        };
        let sequence = TaskSequence::new((0..3).map(&mut task).collect()).unwrap();
        let context = Context::default();
        let settings = ClosedHeadSettings { random_features: 50, ..Default::default() };
        let heads = compute(&sequence, &settings, &context).unwrap();
        assert_eq!(closed_heads(&heads).rows().unwrap(), 5);
        assert!(heads.sentence().unwrap().contains("among all 6 classes"));
        let settings = SingleHeadSettings { beta: 10.0, ..Default::default() };
        let network = SingleHead::new(&sequence, &settings, &context).unwrap();
        let risks = ExamplesAtRisk::of(&network, &sequence, Width::Change, &context).unwrap();
        assert_eq!(tasks_at_risk(&risks).rows().unwrap(), 3);
        let first = &risks.tasks[0].train;
        assert_eq!(most_at_risk("a", first, &risks.class_names).rows().unwrap(), first.most_at_risk.len());
        assert_eq!(classes_at_risk("a", first).rows().unwrap(), 2);
        let found = ForgettingDirections::of(&network, &sequence, &context).unwrap();
        assert_eq!(directions(&found).rows().unwrap(), 2);
        assert!(risks.sentences()[0].contains("held-out") && found.sentence().unwrap().contains("90 %"));
    }
}
