//! Gray levels of color images: luma `Y = 0.299 R + 0.587 G + 0.114 B` (ITU-R BT.601).

use super::{Dataset, Features, Part};
use crate::error::{Error, Result};
use crate::linalg::Mat;

/// Converts images of shape height × width × 3 to luma; leaves every other set as it is.
///
/// Bytes stay bytes (rounded to nearest); the origin, hash included, remains that of the color set.
///
/// # Errors
/// [`Error::Data`] where the image shape does not match the number of features.
pub fn to_gray(mut dataset: Dataset) -> Result<Dataset> {
    let (height, width) = match dataset.image_shape.as_deref() {
        Some(&[height, width, 3]) => (height, width),
        _ => return Ok(dataset),
    };
    for part in [Some(&mut dataset.train), dataset.test.as_mut()].into_iter().flatten() {
        if part.features.dim() != 3 * height * width {
            let problem = format!("{} features are no {height} x {width} x 3 image", part.features.dim());
            return Err(Error::data(&dataset.origin.name, problem));
        }
        convert(part);
    }
    dataset.image_shape = Some(vec![height, width]);
    Ok(dataset)
}

fn convert(part: &mut Part) {
    part.features = match &part.features {
        Features::Bytes { pixels, dim } => {
            let luma = |p: &[u8]| (299 * u32::from(p[0]) + 587 * u32::from(p[1]) + 114 * u32::from(p[2]) + 500) / 1000;
            let pixels = pixels.chunks_exact(3).map(|p| luma(p) as u8).collect();
            Features::Bytes { pixels, dim: dim / 3 }
        }
        Features::Real(m) => Features::Real(Mat::from_fn(m.nrows(), m.ncols() / 3, |i, j| {
            0.299 * m[(i, 3 * j)] + 0.587 * m[(i, 3 * j + 1)] + 0.114 * m[(i, 3 * j + 2)]
        })),
    };
}
