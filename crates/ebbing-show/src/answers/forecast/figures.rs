//! The figures of a forecast.

use super::super::charts;
use super::tables;
use crate::figure::{Band, Figure, Line, Markers, Panel};
use crate::matrix::Matrix;
use crate::shown::counted;
use crate::style::significant;
use ebbing::Forecast;
use ebbing::request::ForecastAnswer;
use ebbing::stats::CurveShape;
use ebbing::theory::closed_heads::ClosedHeads;
use ebbing::theory::forecast::Averaged;
use ebbing::theory::order_parameters::{OrderParameters, PairOrderParameters};

/// The name of the file and the figure, and how many of them belong to the answer: how much each task loses, how many examples to keep,
/// what else would help.
pub(super) fn all(answer: &ForecastAnswer) -> (Vec<(&'static str, Figure)>, usize) {
    let forecast = &answer.forecast;
    let mut figures = Vec::new();
    if let Some(trained) = &forecast.trained {
        figures.push(("accuracy", super::accuracy::figure(forecast, trained)));
        let (curve, heads) = (forecast.keep.as_ref(), forecast.heads.as_ref());
        figures.extend(curve.and_then(|curve| charts::keep(curve, trained.chance)).map(|figure| ("keep", figure)));
        let joint = curve.and_then(|curve| curve.points.last()).map(|point| point.accuracy);
        let points = charts::of_forecast(curve, heads);
        let finding = heads.and_then(ClosedHeads::in_short).unwrap_or_default();
        figures.extend(charts::methods(&points, trained.chance, joint, &finding).map(|figure| ("methods", figure)));
    }
    let front = figures.len();
    figures.extend(forecast.forgetting.iter().map(|matrix| ("forgetting", forgetting(forecast, matrix))));
    if !forecast.pairs.is_empty() {
        figures.push(("order_parameters", order_parameters(forecast)));
    }
    figures.extend(intervals(forecast).map(|figure| ("intervals", figure)));
    if forecast.test.is_some() {
        figures.push(("test", test(forecast)));
    }
    if forecast.depths.len() > 1 {
        figures.push(("depth", depth(forecast, answer.settings.theory.architecture.depth)));
    }
    (figures, front)
}

/// The largest number of a task matrix at or below its diagonal, with its row and column counted from 1.
fn largest(matrix: &[Vec<f64>]) -> Option<(usize, usize, f64)> {
    let cells =
        matrix.iter().enumerate().flat_map(|(t, row)| row[..=t].iter().enumerate().map(move |(s, v)| (t, s, *v)));
    let finite = cells.filter(|(.., v)| v.is_finite());
    finite.max_by(|a, b| a.2.total_cmp(&b.2)).map(|(t, s, v)| (t + 1, s + 1, v))
}

/// The forgetting matrix and the first task's curve with its fit.
fn forgetting(forecast: &Forecast, f: &Averaged) -> Figure {
    let matrix = Panel::matrix(&Matrix::tasks("forgetting F_{ts}", &f.mean).only(|t, s| s <= t));
    let curve: Vec<f64> = f.mean.iter().map(|row| row[0]).collect();
    let times: Vec<f64> = (1..=curve.len()).map(|t| t as f64).collect();
    let mut panel = Panel::new().x("tasks learned, t").y("forgetting of task 1, F_{t1}").integer_x();
    if let Some(errors) = &f.standard_error {
        let e: Vec<f64> = errors.iter().map(|row| row[0]).collect();
        panel = panel.band(Band::around(&times, &curve, &e).category(0));
    }
    panel = panel.line(Line::new("theory", &times, &curve).category(0));
    if let Some(fit) = &forecast.fit {
        let last = curve.len() as f64;
        let fine: Vec<f64> = (0..=100).map(|k| 1.0 + (last - 1.0) * f64::from(k) / 100.0).collect();
        let fitted: Option<Vec<f64>> = fine.iter().map(|&t| fit.at(t)).collect();
        if let Some(fitted) = fitted {
            let name = match fit.shape {
                CurveShape::Linear if fit.saturating().is_none() => "straight line",
                CurveShape::Step if fit.saturating().is_none() => "plateau",
                _ => "F_{max}(1 − e^{−(t−1)/τ})",
            };
            panel = panel.line(Line::new(name, &fine, &fitted).category(1));
        }
    }
    let bars = match forecast.seeds {
        1 => String::new(),
        n => format!(" The band is the standard error over {n} seeds."),
    };
    let worst =
        largest(&f.mean).map(|(t, s, v)| format!("The most is lost of task {s} after task {t}: {}. ", significant(v)));
    let last = curve.last().map(|v| format!("After the last task the loss on task 1 is {}.", significant(*v)));
    let finding = worst.unwrap_or_default() + &last.unwrap_or_default();
    Figure::grid(vec![matrix, panel], 2).title("Forecast forgetting").finding(&finding).caption(&format!(
        "Forecast forgetting. **a** Loss Σ(f − y)²/|Y|² on the training data of each task after each task; 0 is perfect memory, \
         1 is as bad as answering zero. **b** The first task's row by row, with the curve that fits it best.{bars}"
    ))
}

/// Heat maps of the order parameters over all ordered pairs.
fn order_parameters(forecast: &Forecast) -> Figure {
    let n = forecast.tasks.len();
    let panel = |name: &str, get: fn(&OrderParameters) -> f64| {
        let mut values = vec![vec![f64::NAN; n]; n];
        for pair in &forecast.pairs {
            values[pair.second - 1][pair.first - 1] = get(&pair.values);
        }
        Panel::matrix(&Matrix::new(name, "learned second", "learned first", &values).only(|t, s| t != s))
    };
    let panels = vec![
        panel("γ_{RF}", |p| p.gamma_rf),
        panel("γ_{rule}", |p| p.gamma_rule),
        panel("conflict γ_{RF} − γ_{rule}", |p| p.conflict),
        panel("γ_{feature}", |p| p.gamma_feature),
        panel("γ_{sim}", |p| p.gamma_sim),
        panel("F_{pair}", |p| p.f21),
    ];
    let finding = forecast.worst.as_ref().map_or(String::new(), |w| {
        let (conflict, shared) = (significant(w.conflict), significant(w.gamma_rf));
        format!("Tasks {} and {} conflict most, by {conflict}, with γ_{{RF}} {shared}.", w.first, w.second)
    });
    Figure::grid(panels, 3).title("Order parameters of all pairs").finding(&finding).caption(
        "Order parameters of every ordered pair of tasks. γ_{RF}: how much the second task drives features that the first one \
         uses; γ_{rule}: how far the two rules agree on them; their difference is the conflict, half of the expected forgetting \
         F_{pair} of the first task after the second, these two learned alone. γ_{feature}: overlap of all features; γ_{sim}: similarity of tasks that have readouts of their own.",
    )
}

/// Order parameters of the pairs that tables show, with their intervals and the null of shuffled targets.
fn intervals(forecast: &Forecast) -> Option<Figure> {
    let (pairs, _) = tables::chosen(forecast);
    let first = &pairs.first()?.detail;
    let (interval, null) = (first.interval.as_ref(), first.null.as_ref());
    if interval.is_none() && null.is_none() {
        return None;
    }
    let x: Vec<f64> = (0..pairs.len()).map(|k| k as f64).collect();
    let names: Vec<String> = pairs.iter().map(|pair| tables::name_of(pair)).collect();
    let panel = |name: &str, get: fn(&OrderParameters) -> f64| {
        let each = |part: &dyn Fn(&PairOrderParameters) -> Option<&OrderParameters>| -> Option<Vec<f64>> {
            pairs.iter().map(|pair| part(&pair.detail).map(get)).collect()
        };
        let mut markers = Markers::new("tasks", &x, &each(&|p| Some(&p.values)).unwrap_or_default()).category(0);
        let low = each(&|p| p.interval.as_ref().map(|i| &i.low));
        if let Some((low, high)) = low.zip(each(&|p| p.interval.as_ref().map(|i| &i.high))) {
            markers = markers.interval(&low, &high);
        }
        let mut panel = Panel::new().x("pair of tasks, first → second").y(name).names_x(&names);
        panel = panel.horizontal("", 0.0).markers(markers);
        let mean = each(&|p| p.null.as_ref().map(|n| &n.mean));
        let low = each(&|p| p.null.as_ref().map(|n| &n.low));
        if let Some(((mean, low), high)) = mean.zip(low).zip(each(&|p| p.null.as_ref().map(|n| &n.high))) {
            let beside: Vec<f64> = x.iter().map(|x| x + 0.2).collect();
            panel = panel.markers(Markers::new("shuffled", &beside, &mean).interval(&low, &high).category(1));
        }
        panel
    };
    let panels = vec![
        panel("γ_{RF}", |p| p.gamma_rf),
        panel("γ_{rule}", |p| p.gamma_rule),
        panel("conflict γ_{RF} − γ_{rule}", |p| p.conflict),
        panel("F_{pair}", |p| p.f21),
    ];
    let mut bars = Vec::new();
    if let Some(i) = interval {
        bars.push(format!(
            "Bars on the tasks are {} % intervals: a tenth of the examples left out {} times.",
            100.0 * i.confidence,
            i.samples
        ));
    }
    if let Some(n) = null {
        let share = 100.0 * n.confidence;
        bars.push(format!("Beside them mean and central {share} % of {} shuffles of the targets.", n.samples));
    }
    let finding = against_null(&pairs.iter().map(|pair| &pair.detail).collect::<Vec<_>>());
    Some(Figure::grid(panels, 2).title("How well order parameters are known").finding(&finding).caption(&format!(
        "Order parameters of pairs of tasks over the choice of examples, and against targets without meaning. {}",
        bars.join(" ")
    )))
}

/// How many pairs conflict more than shuffled targets do, and how many less, by their p-values; nothing without a null.
fn against_null(pairs: &[&PairOrderParameters]) -> String {
    let Some(level) = pairs.iter().find_map(|pair| pair.null.as_ref()).map(|null| 1.0 - null.confidence) else {
        return String::new();
    };
    let (mut more, mut less) = (0, 0);
    for pair in pairs {
        let Some(null) = pair.null.as_ref().filter(|null| null.p_value.conflict <= level + 1e-12) else { continue };
        match pair.values.conflict > null.mean.conflict {
            true => more += 1,
            false => less += 1,
        }
    }
    let verb = |n: usize| if n == 1 { "conflicts" } else { "conflict" };
    format!(
        "Of {} {more} {} more than with shuffled targets, {less} less (two-sided p ≤ {} each); the other {} cannot be distinguished from \
         chance.",
        counted(pairs.len(), "pair"),
        verb(more),
        // As it was given, without the rounding of 1 − 0.95.
        (1e6 * level).round() / 1e6,
        pairs.len() - more - less
    )
}

/// Held-out data: normalized loss and accuracy.
fn test(forecast: &Forecast) -> Figure {
    let mut panels = Vec::new();
    if let Some(test) = &forecast.test {
        panels.push(Panel::matrix(
            &Matrix::tasks("normalized test loss G_{ts}", &test.generalization.mean).only(|t, s| s <= t),
        ));
        let among = if test.task_accuracy.is_some() { ", all classes" } else { "" };
        let class = test.accuracy.as_ref().map(|accuracy| (format!("accuracy{among}"), accuracy));
        let own = test.task_accuracy.as_ref().map(|accuracy| ("accuracy, own classes".to_string(), accuracy));
        for (name, accuracy) in class.into_iter().chain(own) {
            panels.push(Panel::matrix(&Matrix::tasks(&name, &accuracy.mean)));
        }
    }
    let columns = panels.len();
    let worst = forecast.test.as_ref().and_then(|test| largest(&test.generalization.mean));
    let finding = worst.map_or(String::new(), |(t, s, g)| {
        format!(
            "The normalized test loss G_{{ts}} is largest on task {s} after task {t}: {} times that of learning it alone.",
            significant(g)
        )
    });
    let (all, own) = match forecast.test.as_ref().is_some_and(|test| test.task_accuracy.is_some()) {
        true => (
            " among all classes (class-incremental)",
            " **c** The same among the classes of the task alone, as where the task is known (task-incremental).",
        ),
        false => ("", ""),
    };
    Figure::grid(panels, columns).title("Held-out data").finding(&finding).caption(&format!(
        "Held-out data. **a** Normalized test loss: that of each task after each task, over that of learning the task alone. **b** Share \
         of test examples classified correctly{all}; above the diagonal tasks not yet learned.{own}"
    ))
}

/// What depth changes; the network's own depth is marked.
fn depth(forecast: &Forecast, own: usize) -> Figure {
    let x: Vec<f64> = forecast.depths.iter().map(|d| d.depth as f64).collect();
    let get =
        |f: fn(&ebbing::theory::forecast::DepthForecast) -> f64| forecast.depths.iter().map(f).collect::<Vec<f64>>();
    let last = get(|d| d.final_forgetting);
    let mut left = Panel::new().x("hidden layers, L").y("forgetting").integer_x();
    if forecast.seeds > 1 {
        let errors: Vec<f64> = forecast.depths.iter().map(|d| d.standard_error.unwrap_or(0.0)).collect();
        left = left.band(Band::around(&x, &last, &errors).category(1));
    }
    let mark = |panel: Panel| match x.contains(&(own as f64)) {
        true => panel.own(&format!("this network, L = {own}"), own as f64),
        false => panel,
    };
    let left = mark(left)
        .line(Line::new("F_{21}", &x, &get(|d| d.f21)).category(0))
        .line(Line::new("final, mean over tasks", &x, &last).category(1));
    let right = mark(Panel::new().x("hidden layers, L").y("order parameter").integer_x())
        .line(Line::new("γ_{RF}", &x, &get(|d| d.order_parameters.gamma_rf)).category(0))
        .line(Line::new("γ_{rule}", &x, &get(|d| d.order_parameters.gamma_rule)).category(1))
        .line(Line::new("conflict", &x, &get(|d| d.order_parameters.conflict)).category(2));
    let best = forecast.depths.iter().min_by(|a, b| a.final_forgetting.total_cmp(&b.final_forgetting));
    let finding = best.map_or(String::new(), |d| {
        format!(
            "The least is forecast to be forgotten at depth {}: {} on average.",
            d.depth,
            significant(d.final_forgetting)
        )
    });
    Figure::grid(vec![left, right], 2).title("What depth changes").finding(&finding).caption(
        "What depth changes. **a** Short-term forgetting F_{21} and the mean forgetting of all earlier tasks after the last. \
         **b** Order parameters averaged over consecutive pairs of tasks.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing::data::{Dataset, Preprocess, Source};
    use ebbing::tasks::Permuted;
    use ebbing::theory::order_parameters::{self, OrderParameterSettings};

    #[test]
    fn the_finding_looks_at_the_side_and_at_the_p_value() {
        let source = Source::new(Dataset::sample().unwrap(), &Preprocess::default()).unwrap();
        let tasks = Permuted { tasks: 2, p: 20, p_test: 20, ..Permuted::default() }.generate(&source, 1).unwrap();
        let settings = OrderParameterSettings { shuffles: 40, ..OrderParameterSettings::default() };
        let mut pair =
            order_parameters::pair(&tasks.tasks[0], &tasks.tasks[1], &settings, &ebbing::Context::default()).unwrap();
        let mut finding = |conflict: f64, p: f64| {
            let null = pair.null.as_mut().unwrap();
            (null.mean.conflict, null.low.conflict, null.high.conflict) = (1.1, 0.8, 1.4);
            (null.p_value.conflict, null.confidence) = (p, 0.95);
            pair.values.conflict = conflict;
            against_null(&[&pair])
        };
        assert!(
            finding(1.6, 0.01)
                .starts_with("Of 1 pair 1 conflicts more than with shuffled targets, 0 less (two-sided p ≤ 0.05 each")
        );
        assert!(finding(0.326, 0.01).starts_with("Of 1 pair 0 conflict more than with shuffled targets, 1 less"));
        // Outside the central range, yet not significant.
        assert!(
            finding(0.326, 0.059).contains("0 less")
                && finding(0.326, 0.059).contains("the other 1 cannot be distinguished")
        );
        pair.null = None;
        assert_eq!(against_null(&[&pair]), "");
    }

    #[test]
    fn a_fit_is_called_by_its_shape() {
        let source = Source::new(Dataset::sample().unwrap(), &Preprocess::default()).unwrap();
        let tasks = Permuted { tasks: 3, p: 20, p_test: 20, ..Permuted::default() }.generate(&source, 1).unwrap();
        let settings = ebbing::theory::forecast::ForecastSettings { order: false, ..Default::default() };
        let mut forecast = Forecast::of(&[tasks], &settings, &ebbing::Context::default()).unwrap();
        let times = [1.0, 2.0, 3.0, 4.0];
        for (curve, name) in [([0.0, 0.1, 0.2, 0.3], "straight line"), ([0.0, 0.4, 0.4, 0.4], "plateau")] {
            forecast.fit = Some(ebbing::stats::ForgettingFit::new(&times, &curve).unwrap());
            assert!(
                forgetting(&forecast, forecast.forgetting.as_ref().unwrap()).to_svg().unwrap().contains(name),
                "{name}"
            );
        }
    }
}
