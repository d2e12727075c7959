//! A drawing as SVG, with text as text so that it can be searched, copied and edited.

use std::fmt::Write;

use super::canvas::{Anchor, Canvas, Ink, Label, Shape};
use crate::metadata::Metadata;
use crate::style::{FONT_FAMILY, POINTS_PER_MM};
use crate::text::{PathCommand, run_starts, run_width, xml_escape};

/// A coordinate with three decimals at most (a thousandth of a point is 0.35 µm).
pub(super) fn coordinate(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn path_data(commands: &[PathCommand]) -> String {
    let mut d = String::new();
    let mut put = |letter: char, numbers: &[f64]| {
        d.push(letter);
        let texts: Vec<String> = numbers.iter().map(|n| coordinate(*n)).collect();
        d.push_str(&texts.join(" "));
    };
    for command in commands {
        match *command {
            PathCommand::Move(x, y) => put('M', &[x, y]),
            PathCommand::Line(x, y) => put('L', &[x, y]),
            PathCommand::Quad(a, b, x, y) => put('Q', &[a, b, x, y]),
            PathCommand::Cubic(a, b, c, e, x, y) => put('C', &[a, b, c, e, x, y]),
            PathCommand::Close => put('Z', &[]),
        }
    }
    d
}

fn write_shape(out: &mut String, shape: &Shape) {
    let _ = write!(out, "<path d=\"{}\"", path_data(&shape.commands));
    match shape.fill {
        Some((colour, opacity)) => {
            let _ = write!(out, " fill=\"{}\"", colour.to_hex());
            if opacity < 1.0 {
                let _ = write!(out, " fill-opacity=\"{opacity}\"");
            }
        }
        None => out.push_str(" fill=\"none\""),
    }
    if let Some(stroke) = &shape.stroke {
        let _ = write!(out, " stroke=\"{}\" stroke-width=\"{}\"", stroke.colour.to_hex(), coordinate(stroke.width));
        if !stroke.dash.is_empty() {
            let dash: Vec<String> = stroke.dash.iter().map(|d| coordinate(*d)).collect();
            let _ = write!(out, " stroke-dasharray=\"{}\"", dash.join(" "));
        } else {
            out.push_str(" stroke-linejoin=\"round\"");
        }
    }
    if shape.crisp {
        out.push_str(" shape-rendering=\"crispEdges\"");
    }
    out.push_str("/>\n");
}

fn write_label(out: &mut String, label: &Label) {
    let (x, y) = (coordinate(label.x), coordinate(label.y));
    let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", coordinate(label.size));
    match label.anchor {
        Anchor::Start => {}
        Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
        Anchor::End => out.push_str(" text-anchor=\"end\""),
    }
    if label.colour != crate::style::Rgb::BLACK {
        let _ = write!(out, " fill=\"{}\"", label.colour.to_hex());
    }
    if label.bold {
        out.push_str(" font-weight=\"bold\"");
    }
    if label.upwards {
        let _ = write!(out, " transform=\"rotate(-90 {x} {y})\"");
    }
    out.push('>');
    let mut rise = 0.0;
    let mut end = 0.0;
    let (starts, _) = run_starts(&label.rich, label.size, label.bold);
    for (run, start) in label.rich.runs.iter().zip(starts) {
        let text = xml_escape(&run.text);
        // Only stacked scripts do not start where the run before ends.
        let dx = start - end;
        end = start + run_width(run, label.size, label.bold);
        if run.rise == rise && run.scale == 1.0 && !run.italic && !run.bold {
            out.push_str(&text);
            continue;
        }
        out.push_str("<tspan");
        if dx.abs() > 1e-9 {
            let _ = write!(out, " dx=\"{}\"", coordinate(dx));
        }
        if run.rise != rise {
            let _ = write!(out, " dy=\"{}\"", coordinate((rise - run.rise) * label.size));
            rise = run.rise;
        }
        if run.scale != 1.0 {
            let _ = write!(out, " font-size=\"{}\"", coordinate(run.scale * label.size));
        }
        if run.italic {
            out.push_str(" font-style=\"italic\"");
        }
        if run.bold {
            out.push_str(" font-weight=\"bold\"");
        }
        let _ = write!(out, ">{text}</tspan>");
    }
    out.push_str("</text>\n");
}

/// What a drawing is called, what is read aloud in its place, and its caption.
pub(crate) struct Names<'a> {
    pub title: &'a str,
    pub spoken: &'a str,
    pub description: &'a str,
}

/// The drawing as one `<svg>` element without any ids, so that several can share a page.
pub(crate) fn to_svg(canvas: &Canvas, names: &Names, metadata: Option<&Metadata>) -> String {
    let Names { title, spoken, description } = names;
    let (w, h) = (canvas.width, canvas.height);
    let mm = |points: f64| coordinate(points / POINTS_PER_MM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {} {}\" role=\"img\" \
         aria-label=\"{}\" font-family=\"{FONT_FAMILY}\" xml:space=\"preserve\">\n",
        mm(w),
        mm(h),
        coordinate(w),
        coordinate(h),
        xml_escape(spoken),
    );
    let _ = writeln!(out, "<title>{}</title>\n<desc>{}</desc>", xml_escape(title), xml_escape(description));
    if let Some(metadata) = metadata {
        let _ = writeln!(out, "<metadata>{}</metadata>", xml_escape(&metadata.to_json()));
    }
    let _ = writeln!(out, "<path d=\"M0 0H{}V{}H0Z\" fill=\"#ffffff\"/>", coordinate(w), coordinate(h));
    for item in &canvas.items {
        match &item.ink {
            Ink::Shape(shape) => write_shape(&mut out, shape),
            Ink::Label(label) => write_label(&mut out, label),
        }
    }
    out.push_str("</svg>\n");
    out
}
