//! What a reproduced figure leaves: pictures, tidy data and claims.

use super::claims;
use ebbing_report::escape_markup;
use ebbing_studies::{Claim, Reproduction, Store};

/// Draws, judges and writes everything into the figure's folder (`study.json` there has the settings).
///
/// # Errors
/// Where cells are missing or a file cannot be written.
pub fn all(id: &str, study: &dyn Reproduction, embedded: bool, store: &Store) -> anyhow::Result<Vec<Claim>> {
    let frame = store.frame(false)?;
    store.collect(&frame, "data")?;
    let data = study.data();
    let used = if embedded { "embedded images, at smaller sizes than with whole data sets" } else { "whole data sets" };
    let used = escape_markup(&format!("Data: {} ({used}).", data.join(", ")));
    let metadata = store.metadata()?;
    for (name, figure) in study.draw(&frame)? {
        let caption = format!("{} {used}", figure.caption_markup());
        figure.caption(&caption).note(&used).metadata(&metadata).save(store.folder(), &name)?;
    }
    let judged = study.claims(&frame)?;
    let text = claims::file(id, &metadata.version, &data, &judged)?;
    crate::files::write_atomic(&store.folder().join("claims.toml"), text.as_bytes())?;
    Ok(judged)
}
