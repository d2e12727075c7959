//! A drawing as PNG at print resolution, with its size, caption and settings written into the file.

use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::canvas::{Canvas, Ink, Label, Shape};
use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::style::{DPI, Rgb};
use crate::text::{PathCommand, glyphs};

/// Pixels per point.
const SCALE: f64 = DPI / 72.0;

fn path(commands: &[PathCommand]) -> Option<Path> {
    let mut b = PathBuilder::new();
    for command in commands {
        match *command {
            PathCommand::Move(x, y) => b.move_to(x as f32, y as f32),
            PathCommand::Line(x, y) => b.line_to(x as f32, y as f32),
            PathCommand::Quad(a, c, x, y) => b.quad_to(a as f32, c as f32, x as f32, y as f32),
            PathCommand::Cubic(a, c, d, e, x, y) => {
                b.cubic_to(a as f32, c as f32, d as f32, e as f32, x as f32, y as f32);
            }
            PathCommand::Close => b.close(),
        }
    }
    b.finish()
}

fn paint(color: Rgb, opacity: f64, smooth: bool) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(color.0, color.1, color.2, (opacity * 255.0).round() as u8);
    paint.anti_alias = smooth;
    paint
}

fn draw_shape(pixels: &mut Pixmap, shape: &Shape) {
    let Some(path) = path(&shape.commands) else { return };
    let transform = Transform::from_scale(SCALE as f32, SCALE as f32);
    if let Some((color, opacity)) = shape.fill {
        pixels.fill_path(&path, &paint(color, opacity, !shape.crisp), FillRule::Winding, transform, None);
    }
    if let Some(pen) = &shape.stroke {
        let stroke = Stroke {
            width: pen.width as f32,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(pen.dash.iter().map(|d| *d as f32).collect(), 0.0),
            ..Stroke::default()
        };
        pixels.stroke_path(&path, &paint(pen.color, 1.0, true), &stroke, transform, None);
    }
}

fn draw_label(pixels: &mut Pixmap, label: &Label) {
    let outlines = glyphs(&label.rich, label.size, label.bold);
    let Some(path) = path(&outlines) else { return };
    // Outlines have y upwards; the drawing has it downwards.
    let mut transform = Transform::from_translate(-label.lead() as f32, 0.0).post_scale(1.0, -1.0);
    if label.upwards {
        transform = transform.post_concat(Transform::from_rotate(-90.0));
    }
    let transform = transform.post_translate(label.x as f32, label.y as f32).post_scale(SCALE as f32, SCALE as f32);
    pixels.fill_path(&path, &paint(label.color, 1.0, true), FillRule::Winding, transform, None);
}

fn rasterize(canvas: &Canvas) -> Result<Pixmap> {
    let (width, height) = ((canvas.width * SCALE).round() as u32, (canvas.height * SCALE).round() as u32);
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| Error::shape("figure", format!("cannot hold {width} × {height} pixels; draw fewer panels")))?;
    pixels.fill(Color::WHITE);
    for item in &canvas.items {
        match &item.ink {
            Ink::Shape(shape) => draw_shape(&mut pixels, shape),
            Ink::Label(label) => draw_label(&mut pixels, label),
        }
    }
    Ok(pixels)
}

/// The drawing as the bytes of a PNG file of `DPI` dots per inch.
pub(crate) fn to_png(canvas: &Canvas, description: &str, metadata: Option<&Metadata>) -> Result<Vec<u8>> {
    let pixels = rasterize(canvas)?;
    let failed = |e: png::EncodingError| Error::shape("figure", format!("the PNG could not be written: {e}"));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let per_meter = (DPI / 0.0254).round() as u32;
    let dims = png::PixelDimensions { xppu: per_meter, yppu: per_meter, unit: png::Unit::Meter };
    encoder.set_pixel_dims(Some(dims));
    if !description.is_empty() {
        encoder.add_itxt_chunk("Description".into(), description.into()).map_err(failed)?;
    }
    if let Some(metadata) = metadata {
        encoder.add_itxt_chunk("ebbing".into(), metadata.to_json()).map_err(failed)?;
    }
    let mut writer = encoder.write_header().map_err(failed)?;
    // The background is opaque, so the alpha channel carries nothing.
    let rgb: Vec<u8> = pixels.data().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    writer.write_image_data(&rgb).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}
