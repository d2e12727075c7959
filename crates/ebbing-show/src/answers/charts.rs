//! The three charts of an answer in accuracy: how much each task loses, how many examples to keep, what else would help. All have one
//! axis from 0 to 100 %, a line for what guessing gives, and names beside what they name.

use crate::figure::{Band, Figure, Legend, Line, Markers, Panel};
use crate::style::Rgb;
use crate::text::escape_markup;
use ebbing::stats::number::per_cent;
use ebbing::theory::advise::{KeepCurve, KeepPoint, Method, MethodKind, Methods, Support};
use ebbing::theory::closed_heads::{ClosedHeadKind, ClosedHeads};

/// Height over width of a chart beside another.
const ASPECT: f64 = 0.72;

/// Final accuracy against the examples kept of each class, with the band of measured networks; none of a single amount.
pub(super) fn keep(curve: &KeepCurve, chance: f64) -> Option<Figure> {
    let (none, kept) = curve.points.split_first()?;
    let (first, last) = (kept.first()?, kept.last()?);
    let x: Vec<f64> = kept.iter().map(|point| point.per_class as f64).collect();
    let of = |get: &dyn Fn(&KeepPoint) -> f64| kept.iter().map(|point| 100.0 * get(point)).collect::<Vec<f64>>();
    let mut panel = Panel::new()
        .x("examples kept of each class")
        .y("final accuracy (%)")
        .log_x()
        .x_range(0.8 * first.per_class as f64, 1.25 * last.per_class as f64)
        .y_range(0.0, 100.0)
        .aspect(ASPECT)
        .legend(Legend::Hidden);
    if kept.iter().all(|point| point.accuracy_interval.is_some()) {
        let end = |k: usize| of(&|point| point.accuracy_interval.map_or(f64::NAN, |range| range[k]));
        panel = panel.band(Band::new("", &x, &end(0), &end(1)).category(0));
    }
    panel = panel.line(Line::new("", &x, &of(&|point| point.accuracy)).category(0));
    // Lines that lie together are named once.
    let [nothing, guess] = [none.accuracy, chance].map(|share| 100.0 * share);
    let near = (nothing - guess).abs() < 9.0;
    let at = (0.8 * first.per_class as f64 * 1.25 * last.per_class as f64).sqrt();
    panel = panel.horizontal("", guess).horizontal("", nothing);
    panel = match near {
        true => panel.text(at, nothing.max(guess) + 5.0, &format!("none kept {nothing:.0} %, guessing {guess:.0} %")),
        false => panel.text(at, guess + 5.0, &format!("guessing {guess:.0} %")).text(
            at,
            nothing + 5.0,
            &format!("none kept {nothing:.0} %"),
        ),
    };
    let mut said = vec![];
    for target in &curve.targets {
        let Some(point) = target.point.filter(|point| point.per_class > 0) else { continue };
        let (n, value) = (point.per_class, 100.0 * point.accuracy);
        panel =
            panel.markers(Markers::new("", &[n as f64], &[value]).category(0)).tag(n as f64, value, &format!("{n}"));
        said.push(format!("{n} for {}", per_cent(target.accuracy)));
    }
    let all = format!("All {} of each class end at {}", last.per_class, per_cent(last.accuracy));
    let finding = match said.is_empty() {
        true => format!("{all}; none kept ends at {}.", per_cent(none.accuracy)),
        false => format!("Keep {} of each class. {all}.", said.join(", ")),
    };
    let band = match last.accuracy_interval {
        Some(_) => " The band holds eight in ten measured networks.",
        None => "",
    };
    Some(Figure::single(panel).title("How many examples must I keep?").finding(&finding).caption(&format!(
        "Forecast accuracy at the end against the examples of each class that are kept and learned again.{band}"
    )))
}

/// A method as a point.
pub(super) struct Point {
    name: String,
    bytes: f64,
    accuracy: f64,
    range: Option<[f64; 2]>,
    /// How it is drawn: the network, a head in closed form, a known task.
    group: usize,
}

/// The methods of advice.
pub(super) fn of_methods(methods: &Methods) -> Vec<Point> {
    let drawn = methods.rows.iter().filter(|row| row.kind != MethodKind::Joint);
    drawn.map(of_method).collect()
}

fn of_method(row: &Method) -> Point {
    let group = match (row.support, row.task_known) {
        (Support::Exact { .. }, _) => 2,
        (_, true) => 1,
        _ => 0,
    };
    let name = match (row.kind, row.per_class) {
        (MethodKind::Replay, Some(n)) => format!("replay {n}"),
        (MethodKind::ClosedHead(kind), _) => short(kind).into(),
        (MethodKind::Ewc, _) => "EWC".into(),
        (MethodKind::L2, _) => "L2".into(),
        (MethodKind::Distillation, _) => "LwF".into(),
        (MethodKind::Gating, _) => "gating*".into(),
        (MethodKind::SeparateHeads, _) => "separate heads*".into(),
        _ => row.method.clone(),
    };
    Point { name, bytes: row.bytes as f64, accuracy: row.accuracy, range: row.accuracy_interval, group }
}

/// The name of a head beside its point.
fn short(kind: ClosedHeadKind) -> &'static str {
    match kind {
        ClosedHeadKind::NearestMean => "class means",
        ClosedHeadKind::Discriminant => "discriminant",
        ClosedHeadKind::Ridge => "ridge",
        ClosedHeadKind::RandomRidge => "random features",
        ClosedHeadKind::Joint => "kernel ridge",
    }
}

/// What a forecast knows of methods: fine-tuning, replay for its targets, heads in closed form.
pub(super) fn of_forecast(curve: Option<&KeepCurve>, heads: Option<&ClosedHeads>) -> Vec<Point> {
    let replay = |point: &KeepPoint, name: String| Point {
        name,
        bytes: point.bytes as f64,
        accuracy: point.accuracy,
        range: point.accuracy_interval,
        group: 0,
    };
    let mut all: Vec<Point> = vec![];
    if let Some(curve) = curve {
        all.extend(curve.points.first().map(|point| replay(point, "fine-tuning".into())));
        let reached = curve.targets.iter().filter_map(|target| target.point).filter(|point| point.per_class > 0);
        all.extend(reached.map(|point| replay(&point, format!("replay {}", point.per_class))));
    }
    for head in heads.iter().flat_map(|heads| &heads.heads) {
        let (bytes, accuracy) = (head.bytes as f64, head.mean_accuracy);
        all.push(Point { name: short(head.kind).into(), bytes, accuracy, range: None, group: 2 });
    }
    all
}

/// Final accuracy against the memory kept between tasks, with joint training of the network as a dashed line; none of fewer than two
/// methods.
pub(super) fn methods(points: &[Point], chance: f64, joint: Option<f64>, finding: &str) -> Option<Figure> {
    if points.len() < 2 {
        return None;
    }
    let sizes = || points.iter().map(|point| point.bytes / 1e3).filter(|size| *size > 0.0);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let (least, most) = if least <= most { (least, most) } else { (1.0, 1.0) };
    // What keeps nothing stands at the left edge.
    let left = least / 4.0;
    let at = |point: &Point| if point.bytes > 0.0 { point.bytes / 1e3 } else { left };
    let (low, high) = (left / 2.0, 60.0 * most);
    let mut panel = Panel::new()
        .x("kept between tasks (kB)")
        .y("final accuracy (%)")
        .log_x()
        .x_range(low, high)
        .y_range(0.0, 100.0)
        .aspect(ASPECT)
        .legend(Legend::Hidden);
    let line = |panel: Panel, share: f64, name: &str| {
        let dashed = Line::new("", &[low, high], &[100.0 * share; 2]).color(Rgb::GRAY).category(6).width(0.8);
        panel.line(dashed.dash(crate::style::Dash::Dashed)).tag(high / 8.0, 100.0 * share, name)
    };
    panel = line(panel, chance, "guessing");
    if let Some(joint) = joint {
        panel = line(panel, joint, "joint training");
    }
    for point in points {
        let (x, y) = (at(point), 100.0 * point.accuracy);
        let markers = Markers::new("", &[x], &[y]).category(point.group);
        let markers = match point.range {
            Some([a, b]) => markers.interval(&[100.0 * a], &[100.0 * b]),
            None => markers,
        };
        panel = panel.markers(markers).tag(x, y, &escape_markup(&point.name));
    }
    let known = points.iter().any(|point| point.group == 1);
    let star = if known { " \\* The task must be known at test time." } else { "" };
    Some(Figure::single(panel).title("What else would help?").finding(finding).caption(&format!(
        "Accuracy at the end against what is kept between tasks, at the left edge nothing. Bars hold eight in ten measured networks; heads \
         in closed form are exact.{star}"
    )))
}
