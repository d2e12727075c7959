//! Small pictures as part of the page.

use super::rich;
use crate::error::{Error, Result};
use crate::shown::Gallery;

/// All galleries; nothing of none.
pub(super) fn all(galleries: &[Gallery]) -> Result<String> {
    galleries.iter().map(one).collect()
}

fn one(gallery: &Gallery) -> Result<String> {
    let cards = gallery.pictures.iter().map(|(gray, words)| {
        let data = base64(&png(gallery.size, gray)?);
        let words = rich(words);
        Ok(format!("<div><img alt=\"\" src=\"data:image/png;base64,{data}\">{words}</div>\n"))
    });
    let cards = cards.collect::<Result<String>>()?;
    Ok(format!("<p>{}</p>\n<div class=\"gallery\">\n{cards}</div>\n", rich(&gallery.title)))
}

/// Gray levels as the bytes of a PNG file.
fn png([width, height]: [usize; 2], gray: &[u8]) -> Result<Vec<u8>> {
    let failed = |e: png::EncodingError| Error::shape("picture", format!("the PNG could not be written: {e}"));
    let mut bytes = vec![];
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(gray).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * k)) as usize & 63];
            out.push(if k <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_digits() {
        // The test vectors of RFC 4648, section 10.
        for (bytes, digits) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), digits);
        }
    }

    #[test]
    fn a_picture_is_a_png() {
        let bytes = png([2, 2], &[0, 255, 128, 7]).unwrap();
        assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
        assert!(png([2, 2], &[0]).is_err());
    }
}
