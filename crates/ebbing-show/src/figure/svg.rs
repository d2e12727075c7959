//! A drawing as SVG, with text as text so that it can be searched, copied and edited.

use std::fmt::Write;

use super::canvas::{Anchor, Canvas, Ink, Label, Shape};
use crate::metadata::Metadata;
use crate::style::{FONT_FAMILY, POINTS_PER_MM};
use crate::text::{PathCommand, run_starts, run_width, xml_escape};

/// Writes a coordinate with three decimals at most (a thousandth of a point is 0.35 µm).
fn put(out: &mut String, value: f64) {
    let begin = out.len();
    let _ = write!(out, "{value:.3}");
    let short = out.trim_end_matches('0').trim_end_matches('.').len();
    out.truncate(short);
    if &out[begin..] == "-0" {
        out.replace_range(begin.., "0");
    }
}

pub(super) fn coordinate(value: f64) -> String {
    let mut text = String::new();
    put(&mut text, value);
    text
}

/// Writes a path; a line along an axis takes one number.
fn put_path(out: &mut String, commands: &[PathCommand]) {
    let mut put_all = |letter: char, numbers: &[f64]| {
        out.push(letter);
        for (k, number) in numbers.iter().enumerate() {
            if k > 0 {
                out.push(' ');
            }
            put(out, *number);
        }
    };
    let mut at = (f64::NAN, f64::NAN);
    for command in commands {
        match *command {
            PathCommand::Move(x, y) => put_all('M', &[x, y]),
            PathCommand::Line(x, y) if y == at.1 => put_all('H', &[x]),
            PathCommand::Line(x, y) if x == at.0 => put_all('V', &[y]),
            PathCommand::Line(x, y) => put_all('L', &[x, y]),
            PathCommand::Quad(a, b, x, y) => put_all('Q', &[a, b, x, y]),
            PathCommand::Cubic(a, b, c, e, x, y) => put_all('C', &[a, b, c, e, x, y]),
            PathCommand::Close => put_all('Z', &[]),
        }
        at = match *command {
            PathCommand::Move(x, y) | PathCommand::Line(x, y) => (x, y),
            PathCommand::Quad(.., x, y) | PathCommand::Cubic(.., x, y) => (x, y),
            PathCommand::Close => (f64::NAN, f64::NAN),
        };
    }
}

fn write_shape(out: &mut String, shape: &Shape) {
    out.push_str("<path d=\"");
    put_path(out, &shape.commands);
    out.push('"');
    match shape.fill {
        Some((color, opacity)) => {
            let _ = write!(out, " fill=\"{}\"", color.to_hex());
            if opacity < 1.0 {
                let _ = write!(out, " fill-opacity=\"{opacity}\"");
            }
        }
        None => out.push_str(" fill=\"none\""),
    }
    if let Some(stroke) = &shape.stroke {
        let _ = write!(out, " stroke=\"{}\" stroke-width=\"{}\"", stroke.color.to_hex(), coordinate(stroke.width));
        if !stroke.dash.is_empty() {
            let dash: Vec<String> = stroke.dash.iter().map(|d| coordinate(*d)).collect();
            let _ = write!(out, " stroke-dasharray=\"{}\"", dash.join(" "));
        } else {
            out.push_str(" stroke-linejoin=\"round\"");
        }
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
    if label.color != crate::style::Rgb::BLACK {
        let _ = write!(out, " fill=\"{}\"", label.color.to_hex());
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
    let is_crisp = |ink: &Ink| matches!(ink, Ink::Shape(shape) if shape.crisp);
    for run in canvas.items.chunk_by(|a, b| is_crisp(&a.ink) == is_crisp(&b.ink)) {
        let crisp = is_crisp(&run[0].ink);
        out.push_str(if crisp { "<g shape-rendering=\"crispEdges\">\n" } else { "" });
        for item in run {
            match &item.ink {
                Ink::Shape(shape) => write_shape(&mut out, shape),
                Ink::Label(label) => write_label(&mut out, label),
            }
        }
        out.push_str(if crisp { "</g>\n" } else { "" });
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_along_an_axis_take_one_number() {
        use PathCommand::{Close, Line, Move, Quad};
        let mut out = String::new();
        let steps = [Move(0.0, -0.0001), Line(2.5, -0.0001), Line(2.5, 1.0), Line(3.0, 2.0), Quad(1.0, 1.0, 4.0, 2.0)];
        put_path(&mut out, &[&steps[..], &[Line(4.0, 5.12345), Close, Line(4.0, 0.0)]].concat());
        assert_eq!(out, "M0 0H2.5V1L3 2Q1 1 4 2V5.123ZL4 0");
    }
}
