//! Widths and outlines of text in the embedded font, so that what is measured is what is drawn.

use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::rich::{Rich, Run};

static REGULAR: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
static OBLIQUE: &[u8] = include_bytes!("../../assets/DejaVuSans-Oblique-subset.ttf");
static BOLD: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold-subset.ttf");

struct Fonts {
    regular: Face<'static>,
    oblique: Face<'static>,
    bold: Face<'static>,
}

fn fonts() -> &'static Fonts {
    static FONTS: OnceLock<Fonts> = OnceLock::new();
    FONTS.get_or_init(|| {
        let face = |data| Face::parse(data, 0).expect("the embedded fonts are sound; a test reads them");
        Fonts { regular: face(REGULAR), oblique: face(OBLIQUE), bold: face(BOLD) }
    })
}

/// The face that has the character, else the regular face and its box for missing characters.
fn find(c: char, italic: bool, bold: bool) -> (&'static Face<'static>, GlyphId) {
    let f = fonts();
    let wanted = if bold {
        &f.bold
    } else if italic {
        &f.oblique
    } else {
        &f.regular
    };
    match wanted.glyph_index(c) {
        Some(glyph) => (wanted, glyph),
        None => (&f.regular, f.regular.glyph_index(c).unwrap_or(GlyphId(0))),
    }
}

fn is_combining(c: char) -> bool {
    ('\u{300}'..='\u{36F}').contains(&c)
}

/// One step of an outline, in points from the start of the base line, y upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PathCommand {
    Move(f64, f64),
    Line(f64, f64),
    Quad(f64, f64, f64, f64),
    Cubic(f64, f64, f64, f64, f64, f64),
    Close,
}

impl PathCommand {
    /// The same step elsewhere.
    pub fn shifted(self, dx: f64, dy: f64) -> PathCommand {
        match self {
            PathCommand::Move(x, y) => PathCommand::Move(x + dx, y + dy),
            PathCommand::Line(x, y) => PathCommand::Line(x + dx, y + dy),
            PathCommand::Quad(a, b, x, y) => PathCommand::Quad(a + dx, b + dy, x + dx, y + dy),
            PathCommand::Cubic(a, b, c, d, x, y) => PathCommand::Cubic(a + dx, b + dy, c + dx, d + dy, x + dx, y + dy),
            PathCommand::Close => PathCommand::Close,
        }
    }
}

struct Pen<'a> {
    out: &'a mut Vec<PathCommand>,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen<'_> {
    fn at(&self, x: f32, y: f32) -> (f64, f64) {
        (self.x + f64::from(x) * self.scale, self.y + f64::from(y) * self.scale)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let p = self.at(x, y);
        self.out.push(PathCommand::Move(p.0, p.1));
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let p = self.at(x, y);
        self.out.push(PathCommand::Line(p.0, p.1));
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (a, p) = (self.at(x1, y1), self.at(x, y));
        self.out.push(PathCommand::Quad(a.0, a.1, p.0, p.1));
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (a, b, p) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.out.push(PathCommand::Cubic(a.0, a.1, b.0, b.1, p.0, p.1));
    }
    fn close(&mut self) {
        self.out.push(PathCommand::Close);
    }
}

/// Where each run of a label starts, and where the last ends, in points.
pub(crate) fn run_starts(rich: &Rich, size: f64, bold: bool) -> (Vec<f64>, f64) {
    let (mut starts, mut end) = (Vec::with_capacity(rich.runs.len()), 0.0f64);
    for run in &rich.runs {
        let start = if run.stacked { starts.last().copied().unwrap_or(0.0) } else { end };
        starts.push(start);
        end = end.max(start + run_width(run, size, bold));
    }
    (starts, end)
}

/// Width of one run.
pub(crate) fn run_width(run: &Run, size: f64, bold: bool) -> f64 {
    let advance = |c: char| {
        let (face, glyph) = find(c, run.italic, bold || run.bold);
        f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) / f64::from(face.units_per_em())
    };
    run.text.chars().filter(|c| !is_combining(*c)).map(advance).sum::<f64>() * size * run.scale
}

/// The outlines of a label at a size in points.
pub(crate) fn glyphs(rich: &Rich, size: f64, bold: bool) -> Vec<PathCommand> {
    let mut out = Vec::new();
    let (starts, _) = run_starts(rich, size, bold);
    for (run, start) in rich.runs.iter().zip(starts) {
        let mut base: Option<(&Face, GlyphId, f64)> = None;
        let mut at = start;
        for c in run.text.chars() {
            let (face, glyph) = find(c, run.italic, bold || run.bold);
            let scale = size * run.scale / f64::from(face.units_per_em());
            let y = run.rise * size;
            if let (true, Some((base_face, base_glyph, base_x))) = (is_combining(c), base) {
                let (dx, dy) = mark_offset(base_face, base_glyph, face, glyph);
                let mut pen = Pen { out: &mut out, x: base_x + dx * scale, y: y + dy * scale, scale };
                face.outline_glyph(glyph, &mut pen);
                continue;
            }
            face.outline_glyph(glyph, &mut Pen { out: &mut out, x: at, y, scale });
            base = Some((face, glyph, at));
            at += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
    }
    out
}

/// Where a combining mark's origin goes, in font units from the base's origin: centered, just above the base.
fn mark_offset(base: &Face, base_glyph: GlyphId, mark_face: &Face, mark: GlyphId) -> (f64, f64) {
    let (Some(b), Some(m)) = (base.glyph_bounding_box(base_glyph), mark_face.glyph_bounding_box(mark)) else {
        return (0.0, 0.0);
    };
    let center = |r: ttf_parser::Rect| f64::from(r.x_min + r.x_max) / 2.0;
    let gap = f64::from(base.units_per_em()) * 0.06;
    (center(b) - center(m), f64::from(b.y_max) + gap - f64::from(m.y_min))
}

/// Width of a label at a size in points.
pub(crate) fn text_width(rich: &Rich, size: f64, bold: bool) -> f64 {
    run_starts(rich, size, bold).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_signs_of_the_theory() {
        let f = fonts();
        for c in
            "abzABZ0189αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ−±×·≤≥≈≠∞√∂∑∫∝∈‖⟨⟩ᵀ⊤ℓ½→↑↓←…–—’“”²₂\u{303}\u{302}\u{304}".chars()
        {
            assert!(f.regular.glyph_index(c).is_some(), "{c} U+{:04X}", c as u32);
        }
        for c in "PNTLαγλσ\u{303}".chars() {
            assert!(f.oblique.glyph_index(c).is_some(), "{c}");
        }
        for c in 'a'..='z' {
            assert!(f.bold.glyph_index(c).is_some(), "{c}");
        }
    }

    #[test]
    fn drawing_stays_within_what_is_measured() {
        for label in ["γ_{RF}", "λ\u{303} (10^{−4})", "*P*/N", "漢字", "γ_{sim}^{−2} = 3"] {
            let rich = Rich::parse(label);
            let width = text_width(&rich, 8.0, false);
            for command in glyphs(&rich, 8.0, false) {
                if let PathCommand::Move(x, _) | PathCommand::Line(x, _) | PathCommand::Quad(_, _, x, _) = command {
                    // Slanted letters lean out of their advance by up to a tenth of the size.
                    assert!((-0.8..=width + 0.8).contains(&x), "{label}: {x} of {width}");
                }
            }
        }
    }

    #[test]
    fn a_tilde_sits_above_its_letter_and_takes_no_room() {
        let plain = glyphs(&Rich::parse("λ"), 100.0, false);
        let tilde = glyphs(&Rich::parse("λ\u{303}"), 100.0, false);
        let width = text_width(&Rich::parse("λ\u{303}"), 100.0, false);
        assert_eq!(width, text_width(&Rich::parse("λ"), 100.0, false));
        let top = |g: &[PathCommand]| {
            g.iter().fold(f64::MIN, |t, c| match *c {
                PathCommand::Move(_, y) | PathCommand::Line(_, y) | PathCommand::Quad(_, _, _, y) => t.max(y),
                _ => t,
            })
        };
        assert!(top(&tilde) > top(&plain) + 10.0);
        let box_of_mark = tilde[plain.len()..].iter().fold((f64::MAX, f64::MIN), |b, c| match *c {
            PathCommand::Move(x, _) | PathCommand::Line(x, _) | PathCommand::Quad(_, _, x, _) => {
                (b.0.min(x), b.1.max(x))
            }
            _ => b,
        });
        assert!(box_of_mark.0 > 0.0 && box_of_mark.1 < width, "{box_of_mark:?}");
    }
}
