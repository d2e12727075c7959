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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::study::part;
    use crate::console::Console;
    use ebbing::plan::Cost;
    use ebbing_report::{Figure, Line, Panel};
    use ebbing_studies::{Cell, Column, Frame, Result, Row, Share, Sources, Study};
    use std::fs;

    /// A figure of two points.
    struct Tiny;

    impl Study for Tiny {
        fn name(&self) -> String {
            "tiny".into()
        }

        fn settings(&self) -> serde_json::Value {
            serde_json::json!({})
        }

        fn data(&self) -> Vec<String> {
            vec!["mnist-sample".into()]
        }

        fn cells(&self) -> Result<Vec<Cell>> {
            Ok([1.0, 2.0].map(|x| Cell::new(0).with("x", x)).to_vec())
        }

        fn compute(&self, cell: &Cell, _: &Sources) -> Result<Vec<Row>> {
            Ok(vec![Row::new().with("y", cell.number("x")?.powi(2))])
        }

        fn cost(&self, _: &Cell) -> Cost {
            Cost::default()
        }

        fn columns(&self) -> Vec<Column> {
            Vec::new()
        }
    }

    impl Reproduction for Tiny {
        fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
            let line = Line::new("y", &frame.numbers("x")?, &frame.numbers("y")?);
            let figure = Figure::single(Panel::new().x("x").y("y").line(line)).caption("A square.");
            Ok(vec![("figure-0".into(), figure)])
        }

        fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
            Ok(vec![Claim::above("0a", "y grows", frame.numbers("y")?[1], 3.0)])
        }
    }

    #[test]
    fn a_figure_leaves_pictures_data_settings_and_claims() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path(), &Tiny).unwrap();
        assert!(all("0", &Tiny, true, &store).unwrap_err().to_string().contains("2 of 2 cells are not there yet"));
        part(&Console::new(true), &Tiny, &store, &Share::All).unwrap();
        let claims = all("0", &Tiny, true, &store).unwrap();
        assert_eq!((claims.len(), claims[0].value), (1, 4.0));
        for name in ["figure-0.svg", "figure-0.png", "data.csv", "data.parquet", "study.json", "claims.toml"] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
        // In the caption, and drawn at the foot, where words may be broken.
        let svg = fs::read_to_string(folder.path().join("figure-0.svg")).unwrap();
        assert!(svg.contains("A square. Data: mnist-sample (embedded images"), "{svg}");
        assert!(svg.matches("mnist-sample").count() > 2, "{svg}");
        let claims = fs::read_to_string(folder.path().join("claims.toml")).unwrap();
        assert!(claims.contains("verdict = \"pass\"") && claims.contains("value = 4.0"), "{claims}");
    }
}
