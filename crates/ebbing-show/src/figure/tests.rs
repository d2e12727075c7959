//! Checks on whole drawings: nothing overlaps or sticks out, nothing is left out silently, the SVG is well-formed.

use super::canvas::{Canvas, Ink, Label, Rect, Role};
use super::*;
use crate::style::{Regime, Rgb};
use crate::{Matrix, escape_markup};

fn labels(canvas: &Canvas, keep: impl Fn(Role) -> bool) -> Vec<(Role, usize, Label)> {
    let label = |i: &canvas::Item| match &i.ink {
        Ink::Label(l) if keep(i.role) => Some((i.role, i.panel, l.clone())),
        _ => None,
    };
    canvas.items.iter().filter_map(label).collect()
}

/// No two texts overlap, and all lie within the figure.
fn assert_tidy(figure: &Figure, name: &str) {
    let canvas = figure.draw().unwrap().canvas;
    let texts = labels(&canvas, |_| true);
    // Rounding, and the bearing of a letter at the very edge.
    let page = Rect::new(0.0, 0.0, canvas.width, canvas.height).grown(0.5);
    for (k, (role, panel, a)) in texts.iter().enumerate() {
        let bounds = a.bounds();
        assert!(
            page.contains((bounds.x0, bounds.y0)) && page.contains((bounds.x1, bounds.y1)),
            "{name}: {role:?} {:?} sticks out: {bounds:?}",
            a.rich.plain()
        );
        for (other_role, other_panel, b) in &texts[k + 1..] {
            assert!(
                !bounds.grown(-0.3).overlaps(&b.bounds()),
                "{name}: {role:?} {:?} of panel {panel} overlaps {other_role:?} {:?} of panel {other_panel}",
                a.rich.plain(),
                b.rich.plain()
            );
        }
    }
    let document = figure.to_svg().unwrap();
    roxmltree::Document::parse(&document).unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn lines(panel: Panel, n: usize, f: impl Fn(usize, f64) -> f64) -> Panel {
    let x: Vec<f64> = (0..40).map(|k| 0.1 * 1.13f64.powi(k)).collect();
    (0..n).fold(panel, |panel, k| {
        let y: Vec<f64> = x.iter().map(|v| f(k, *v)).collect();
        panel.line(Line::new(&format!("series {k}"), &x, &y))
    })
}

/// Figures of all kinds and shapes.
fn zoo() -> Vec<(&'static str, Figure)> {
    let square = |n: usize, scale: f64| -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..n).map(|j| scale * (i as f64 - 0.7 * j as f64)).collect()).collect()
    };
    let curve = || lines(Panel::new().x("α").y("F_{21}").log_x(), 3, |k, v| (k + 1) as f64 * v);
    let names = ["γ_{feature}", "a rather long name", "γ_{rule}", "conflict", "cosine"];
    let bars = || Panel::new().y("%").bars(Bars::new(&names).series("τ_{F}", &[1.0, 2.0, -3.0, 4.0, 5.0]));
    let x = [0.0, 0.1, 0.4, 1.0];
    let y = [0.1, 1.0, 10.0];
    let map =
        || Panel::new().x("ratio").y("α").log_y().map(Map::regimes(&x, &y, &vec![vec![Regime::Overfitting; 4]; 3]));
    let matrix = |n: usize, scale: f64| Panel::matrix(&Matrix::tasks("F_{ts}", &square(n, scale)));
    let hostile = escape_markup("<&>\"'\\ _{x}^{ *\u{1b}[0m\u{202e}");
    vec![
        ("one line", Figure::single(curve())),
        ("wide", Figure::wide(curve())),
        ("three in a row", Figure::grid(vec![curve(), curve().log_y(), curve().title("a title")], 3)),
        ("bars", Figure::grid(vec![bars(), bars(), bars()], 3)),
        ("single bars", Figure::single(bars())),
        ("maps", Figure::grid(vec![map(), map(), curve()], 2)),
        ("matrix 1", Figure::single(matrix(1, 1.0))),
        ("matrix 2", Figure::single(matrix(2, 1e-9))),
        ("matrix 10", Figure::single(matrix(10, 1e5))),
        ("matrices 10", Figure::grid(vec![matrix(10, 0.1), matrix(10, 0.1), matrix(10, 0.1)], 3)),
        ("matrices 30", Figure::grid(vec![matrix(30, 0.1), matrix(7, -3.0), curve()], 3)),
        ("nothing", Figure::single(Panel::new().x("x").y("y"))),
        ("one point", Figure::single(Panel::new().markers(Markers::new("m", &[3.0], &[3.0])))),
        (
            "long",
            Figure::single(
                curve()
                    .y("a name of the y axis that is far too long to fit beside this panel")
                    .x("an even longer name of the x axis that cannot be written in a single line of this figure"),
            ),
        ),
        (
            "hostile",
            Figure::grid(
                vec![curve().title(&hostile).x(&hostile).y(&hostile), lines(Panel::new(), 9, |k, v| k as f64 + v)],
                2,
            )
            .caption(&hostile),
        ),
        (
            "extreme",
            Figure::grid(
                vec![
                    lines(Panel::new(), 1, |_, v| 1e300 * v),
                    lines(Panel::new().log_y(), 1, |_, v| (300.0 * v).exp()),
                    lines(Panel::new(), 1, |_, v| 5.0 + 1e-9 * v),
                ],
                3,
            ),
        ),
    ]
}

#[test]
fn no_text_overlaps_or_sticks_out() {
    for (name, figure) in zoo() {
        assert_tidy(&figure, name);
    }
}

#[test]
fn legends_do_not_cover_data() {
    for (name, figure) in zoo() {
        let canvas = figure.draw().unwrap().canvas;
        for (_, panel, legend) in labels(&canvas, |r| r == Role::Legend) {
            let mut data = canvas.clone();
            data.items.retain(|i| i.role == Role::Data && i.panel == panel);
            let b = legend.bounds();
            // Less than the room that is offered by more than rounding.
            let place = legend::free_place(&data, &b.grown(5.0), (b.width() - 1.1, b.height() - 0.1));
            assert!(place.is_some(), "{name}: {:?} lies on data", legend.rich.plain());
        }
    }
}

/// How often each legend label stands in a figure.
fn answer(figure: &Figure) -> Vec<(String, usize)> {
    let mut all: Vec<String> =
        labels(&figure.draw().unwrap().canvas, |r| r == Role::Legend).iter().map(|l| l.2.rich.plain()).collect();
    all.sort();
    all.chunk_by(|a, b| a == b).map(|same| (same[0].clone(), same.len())).collect()
}

#[test]
fn no_legend_stands_twice_and_the_free_cell_takes_it() {
    let curve = || lines(Panel::new().x("α").y("F"), 3, |k, v| (k + 1) as f64 * v);
    let own = || curve().markers(Markers::new("networks", &[1.0], &[1.0]));
    for (panels, columns) in [(vec![curve(), curve()], 2), (vec![curve(), own(), curve()], 2), (vec![curve(); 6], 3)] {
        let figure = Figure::grid(panels.clone(), columns);
        assert_tidy(&figure, "shared");
        assert_tidy(&figure.narrow(), "shared, below each other");
        assert!(answer(&figure).iter().all(|(_, n)| *n == 1), "{:?}", answer(&figure));
        assert!(answer(&figure).len() >= 3, "what is shared is still reported");
        // In a grid with a free cell the legend lies in it: right of the last panel, beside its frame.
        let canvas = figure.draw().unwrap().canvas;
        let legend = labels(&canvas, |r| r == Role::Legend).iter().map(|l| l.2.bounds()).collect::<Vec<_>>();
        let free = panels.len() % columns != 0;
        let low = legend.iter().filter(|b| b.y0 > canvas.height / 2.0 && b.x0 > canvas.width / 2.0).count();
        assert_eq!(free, low >= 3, "{columns} columns: {legend:?}");
    }
    // The same name for another look is another entry.
    let other = Panel::new().line(Line::new("series 0", &[1.0, 2.0], &[1.0, 2.0]).category(4));
    assert!(answer(&Figure::grid(vec![curve(), other], 2)).contains(&("series 0".into(), 2)));
}

#[test]
fn panels_of_a_row_have_one_height() {
    let frame_heights = |figure: &Figure| -> Vec<f64> {
        let canvas = figure.draw().unwrap().canvas;
        let tall = |panel: usize| {
            let axis = canvas.items.iter().filter(|i| i.panel == panel && matches!(i.role, Role::Frame | Role::Cell));
            let ends = axis.filter_map(|i| if let Ink::Shape(s) = &i.ink { Some(&s.commands) } else { None }).flatten();
            let y = ends.filter_map(|c| match *c {
                crate::text::PathCommand::Move(_, y) | crate::text::PathCommand::Line(_, y) => Some(y),
                _ => None,
            });
            let (low, high) = y.fold((f64::INFINITY, 0.0f64), |(a, b), y| (a.min(y), b.max(y)));
            high - low
        };
        (0..figure.panels.len()).map(|k| tall(2 * k)).collect()
    };
    let curve =
        |aspect: f64| lines(Panel::new().x("α").y("a name that is wider").aspect(aspect), 2, |k, v| k as f64 * v);
    let heights = frame_heights(&Figure::grid(vec![curve(0.8), curve(0.8).y("1"), curve(0.5)], 3));
    // Equal within rounding, ticks included.
    assert!(heights.iter().all(|h| (h - heights[0]).abs() < 1e-9), "{heights:?}");
    for n in [2usize, 3, 5, 8] {
        let values = vec![vec![0.5; n]; n];
        let figure = Figure::grid(vec![Panel::matrix(&Matrix::tasks("F_{ts}", &values)), curve(0.72)], 2);
        let heights = frame_heights(&figure);
        // The matrix has no tick below its frame; the other panel's is 2.5 pt.
        assert!((heights[0] - heights[1]).abs() < 3.0, "{n} tasks: {heights:?}");
    }
}

#[test]
fn names_of_points_keep_clear_of_everything() {
    let x: Vec<f64> = (0..9).map(f64::from).collect();
    let mut panel = Panel::new().x("x").y("y").horizontal("", 3.1).y_range(-0.5, 9.0).x_range(-1.0, 10.0);
    panel = panel.line(Line::new("", &x, &x)).markers(Markers::new("", &x, &x));
    for v in &x {
        panel = panel.tag(*v, *v, "12");
    }
    let canvas = Figure::single(panel).draw().unwrap().canvas;
    let tags = labels(&canvas, |r| r == Role::Note);
    assert_eq!(tags.len(), x.len());
    for (_, _, tag) in &tags {
        let bounds = tag.bounds();
        for item in canvas.items.iter().filter(|i| matches!(i.role, Role::Data | Role::Guide)) {
            let Ink::Shape(shape) = &item.ink else { continue };
            assert!(!legend::meets(shape, &bounds), "{:?} lies on something", tag.rich.plain());
        }
    }
}

#[test]
fn insets_lie_in_a_free_corner_and_letters_are_those_asked_for() {
    let inset = Panel::new().x("γ_{RF}").y("ΔF_{21}").line(Line::new("", &[0.0, 0.05], &[-1.0, -0.2]));
    let panel = lines(Panel::new().x("x").y("y"), 1, |_, v| v).inset(inset);
    let figure = Figure::grid(vec![panel.letter('e'), Panel::new().letter('f')], 2);
    assert_tidy(&figure, "inset");
    let canvas = figure.draw().unwrap().canvas;
    let letters: Vec<String> = labels(&canvas, |r| r == Role::Letter).iter().map(|l| l.2.rich.plain()).collect();
    assert_eq!(letters, ["e", "f"]);
    let of = |panel: usize, role: Role| canvas.items.iter().filter(move |i| i.panel == panel && i.role == role);
    assert_eq!(of(1, Role::Data).count(), 1);
    assert!(of(1, Role::TickX).count() >= 2 && of(1, Role::Name).count() == 2);
    let wrong = Panel::new().inset(Panel::new().line(Line::new("", &[0.0], &[1.0, 2.0])));
    assert!(Figure::single(wrong).to_svg().is_err());
}

#[test]
fn sizes_are_those_of_print() {
    let single = Figure::single(Panel::new()).to_svg().unwrap();
    assert!(single.contains("width=\"86mm\""));
    let figure = Figure::grid(vec![Panel::new(), Panel::new()], 2);
    assert!(figure.to_svg().unwrap().contains("width=\"178mm\""));
    let png = figure.to_png().unwrap();
    let reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    // 178 mm at 300 dots per inch.
    assert_eq!(reader.info().width, 2102);
    let dims = reader.info().pixel_dims.unwrap();
    assert_eq!((dims.xppu, dims.unit), (11811, ::png::Unit::Meter));
    for (_, _, label) in labels(&figure.draw().unwrap().canvas, |_| true) {
        assert!((7.0..=9.0).contains(&label.size));
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let y = [1.0, f64::NAN, 20.0, f64::INFINITY, f64::INFINITY, 30.0, 0.0];
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let figure = Figure::single(Panel::new().log_y().line(Line::new("theory", &x, &y))).caption("A line.");
    let note = "theory: 1 value not a number, 2 values infinite (arrow), 1 value not above 0 (log axis) not drawn";
    assert_eq!(figure.notes().unwrap(), [note]);
    let canvas = figure.draw().unwrap().canvas;
    assert!(labels(&canvas, |r| r == Role::Note).iter().any(|(_, _, l)| l.rich.plain().contains("not drawn")));
    // Gaps split the line: one stroke per stretch of finite points, and one arrow (a stroke and a tip).
    let strokes =
        canvas.items.iter().filter(|i| i.role == Role::Data && matches!(&i.ink, Ink::Shape(s) if s.stroke.is_some()));
    assert_eq!(strokes.count(), 3 + 1);
    let markers = Figure::single(Panel::new().markers(Markers::new("m", &x, &y)));
    assert_eq!(markers.notes().unwrap(), ["m: 1 value not a number, 2 values infinite (arrow) not drawn"]);
    let bars = Markers::new("m", &[1.0, 2.0], &[1.0, 2.0]).errors(&[0.1, f64::NAN]);
    let bars = Figure::single(Panel::new().markers(bars));
    assert_eq!(bars.notes().unwrap(), ["m: 1 error bar not a number not drawn"]);
    let matrix = Figure::single(Panel::matrix(&Matrix::tasks("F", &[vec![f64::NAN, 1.0]])));
    assert_eq!(matrix.notes().unwrap(), ["F: 1 cell has no value (gray)"]);
}

#[test]
fn leaving_the_range_is_marked_with_arrows() {
    let tips = |figure: &Figure| {
        let canvas = figure.draw().unwrap().canvas;
        let is_tip = |i: &&canvas::Item| i.role == Role::Data && matches!(&i.ink, Ink::Shape(s) if s.fill.is_some());
        canvas.items.iter().filter(is_tip).count()
    };
    let x = [0.0, 1.0, 2.0];
    let line = |range: f64| Figure::single(Panel::new().y_range(0.0, range).line(Line::new("", &x, &[0.0, 5.0, 0.0])));
    assert_eq!(tips(&line(1.0)), 2);
    assert_eq!(tips(&line(6.0)), 0);
    let explicit =
        Figure::single(Panel::new().line(Line::new("", &x, &x)).diverges("∝ λ^{1/2}", 1.0, Direction::Up, Rgb::BLACK));
    let canvas = explicit.draw().unwrap().canvas;
    assert!(labels(&canvas, |r| r == Role::Legend).iter().any(|(_, _, l)| l.rich.plain() == "∝ λ^(1/2)"));
}

#[test]
fn nothing_is_drawn_outside_the_frame() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let wild = [1e9, -1e9, 0.5, 1e30];
    let low = [-1e9; 4];
    let panel = Panel::new().x_range(0.5, 2.5).y_range(0.0, 1.0);
    let panel =
        panel.line(Line::new("", &x, &wild)).band(Band::new("", &x, &low, &wild)).markers(Markers::new("", &x, &wild));
    let canvas = Figure::single(panel).draw().unwrap().canvas;
    let page = Rect::new(0.0, 0.0, canvas.width, canvas.height);
    for item in &canvas.items {
        if let Ink::Shape(shape) = &item.ink {
            for command in &shape.commands {
                if let crate::text::PathCommand::Move(x, y) | crate::text::PathCommand::Line(x, y) = *command {
                    assert!(page.contains((x, y)), "{x} {y}");
                }
            }
        }
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let refused = |panel: Panel| Figure::single(panel).to_svg().unwrap_err().to_string();
    let text = refused(Panel::new().line(Line::new("theory", &[1.0, 2.0], &[1.0])));
    assert_eq!(text, "line \"theory\": x has 2 values but y has 1; they must be as many");
    for errors in [&[0.1][..], &[0.1, 0.1, 0.1]] {
        refused(Panel::new().markers(Markers::new("", &[1.0, 2.0], &[1.0, 2.0]).errors(errors)));
    }
    refused(Panel::new().band(Band::new("", &[1.0], &[1.0], &[])));
    refused(Panel::new().bars(Bars::new(&["a"]).series("", &[1.0, 2.0])));
    refused(Panel::new().map(Map::new("", &[1.0, 2.0], &[1.0, 2.0], &[vec![1.0, 2.0]])));
    refused(Panel::new().map(Map::new("", &[2.0, 1.0], &[1.0, 2.0], &vec![vec![1.0, 2.0]; 2])));
    refused(Panel::matrix(&Matrix::tasks("", &[])));
    refused(Panel::matrix(&Matrix::tasks("", &[vec![1.0], vec![1.0, 2.0]])));
    assert!(Figure::grid(vec![], 2).to_svg().is_err());
}

#[test]
fn neighboring_cells_leave_no_seam() {
    let values: Vec<Vec<f64>> = (0..13).map(|_| vec![0.7; 13]).collect();
    let png = Figure::single(Panel::matrix(&Matrix::tasks("F", &values))).to_png().unwrap();
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    let width = reader.info().width as usize;
    let at = |x: usize, y: usize| &pixels[3 * (y * width + x)..3 * (y * width + x) + 3];
    // A row through the middle of the cells: between its first and last colored pixel there is one color only.
    let y = 300;
    let colored: Vec<usize> = (150..700).filter(|x| at(*x, y) != [255, 255, 255]).collect();
    assert!(colored.len() > 500);
    assert!(colored.iter().all(|x| at(*x, y) == at(colored[0], y)));
}

#[test]
fn drawing_twice_gives_the_same_bytes() {
    for (_, figure) in zoo().into_iter().take(3) {
        assert_eq!(figure.to_svg().unwrap(), figure.to_svg().unwrap());
        assert_eq!(figure.to_png().unwrap(), figure.to_png().unwrap());
    }
}

/// How often the legends of a figure name something.
fn named(figure: &Figure, name: &str) -> usize {
    let canvas = figure.draw().unwrap().canvas;
    labels(&canvas, |role| role == Role::Legend).iter().filter(|(.., label)| label.rich.plain() == name).count()
}

#[test]
fn panels_that_share_a_legend_have_no_second_one() {
    let x = [1.0, 2.0, 3.0];
    let panel = || Panel::new().x("t").y("F").markers(Markers::new("networks", &x, &[0.1, 0.5, 0.4]).category(1));
    let with_theory = panel().line(Line::new("theory", &x, &[0.0, 0.4, 0.5]).category(0));
    let figure = Figure::grid(vec![with_theory, panel(), panel()], 3);
    assert_tidy(&figure, "one row");
    assert_eq!((named(&figure, "theory"), named(&figure, "networks")), (1, 1));
    let canvas = figure.draw().unwrap().canvas;
    let heights: Vec<f64> = labels(&canvas, |role| role == Role::Legend).iter().map(|(.., label)| label.y).collect();
    assert!(heights.windows(2).all(|pair| pair[0] == pair[1]), "both stand in one line above the row: {heights:?}");
}

#[test]
fn samples_that_look_the_same_are_found() {
    let x = [1.0, 2.0];
    let two = |k: usize| {
        let panel = Panel::new().line(Line::new("a", &x, &x).category(0)).line(Line::new("b", &x, &x).category(k));
        Figure::single(panel).mistakable().unwrap()
    };
    assert_eq!(two(0), [["a".to_string(), "b".to_string()]]);
    assert!(two(7).is_empty(), "the palette is used up, dashes are not");
    let nine =
        (0..9).fold(Panel::new(), |panel, k| panel.line(Line::new(&format!("series {k}"), &x, &[0.0, k as f64])));
    assert!(Figure::single(nine).mistakable().unwrap().is_empty());
}

#[test]
fn names_stand_under_markers() {
    let names: Vec<String> = ["1→2", "1→3", "2→3"].map(String::from).to_vec();
    let panel =
        Panel::new().x("pair").y("F").names_x(&names).markers(Markers::new("", &[0.0, 1.0, 2.0], &[0.1, 0.2, 0.3]));
    let figure = Figure::single(panel);
    assert_tidy(&figure, "names");
    let ticks = labels(&figure.draw().unwrap().canvas, |role| role == Role::TickX);
    assert_eq!(ticks.iter().map(|(.., label)| label.rich.plain()).collect::<Vec<_>>(), names);
    // So many that not even upright ones have room: some are left out, none overlap.
    let many: Vec<String> = (1..60).map(|k| format!("{k}→{}", k + 1)).collect();
    let x: Vec<f64> = (0..59).map(f64::from).collect();
    assert_tidy(&Figure::single(Panel::new().names_x(&many).markers(Markers::new("", &x, &x))), "many names");
}
