//! The commands: a figure, and the list of figures.

mod claims;
pub mod figure;
pub mod list;
mod write;

use ebbing::data::Places;

/// Whether data sets can be loaded here.
fn all_here(names: &[String]) -> anyhow::Result<bool> {
    let places = Places::from_env();
    for name in names.iter().filter(|name| *name != "mnist-sample") {
        if places.find(name)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
