//! What a reproduced figure leaves: pictures, tidy data and claims.

use super::claims;
use super::figure::Chosen;
use crate::claim::Claim;
use crate::figures::{Images, Reproduction, Seeds};
use ebbing_show::escape_markup;
use ebbing_studies::Store;

/// What captions say of the data, and of seeds where there are fewer than the scale has.
fn used(data: &[String], images: Images, seeds: Option<Seeds>) -> String {
    let whole = match images {
        Images::Paper => "whole data sets",
        Images::Embedded => "embedded images, at smaller sizes than with whole data sets",
        Images::Of(_) => "not the paper's data set",
    };
    let data = format!("Data: {} ({whole}).", data.join(", "));
    let fewer = seeds.map_or(String::new(), |seeds| format!(" {} (--seeds).", seeds.words().replacen('a', "A", 1)));
    escape_markup(&(data + &fewer))
}

/// Draws, judges and writes everything into the figure's folder (`study.json` there has the settings).
///
/// # Errors
/// Where cells are missing or a file cannot be written.
pub fn all(figure: &Chosen, seeds: Option<Seeds>, store: &Store) -> anyhow::Result<Vec<Claim>> {
    let (id, data) = (figure.entry.id, &figure.study.data);
    write(id, &*figure.figure, (data, seeds), &used(data, figure.images, seeds), store)
}

fn write(
    id: &str,
    figure: &dyn Reproduction,
    (data, seeds): (&[String], Option<Seeds>),
    used: &str,
    store: &Store,
) -> anyhow::Result<Vec<Claim>> {
    let frame = store.frame(false)?;
    store.collect(&frame, "data")?;
    let metadata = store.metadata()?;
    for (name, drawn) in figure.draw(&frame)? {
        let caption = format!("{} {used}", drawn.caption_markup());
        drawn.caption(&caption).note(used).metadata(&metadata).save(store.folder(), &name)?;
    }
    let judged = figure.claims(&frame)?;
    let text = claims::file(id, &metadata.version, (data, seeds), &judged)?;
    ebbing::data::write_atomic(&store.folder().join("claims.toml"), text.as_bytes())?;
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing::Context;
    use ebbing::plan::Cost;
    use ebbing_cli::program::{Console, part};
    use ebbing_show::{Figure, Line, Panel};
    use ebbing_studies::{Cell, Frame, Result, Row, Share, Sources, Study, Work};
    use std::fs;

    /// A figure of two points.
    struct Tiny;

    #[derive(Debug)]
    struct Square(f64);

    impl Work for Square {
        fn rows(&self, _: &Sources, _: &Context) -> Result<Vec<Row>> {
            Ok(vec![Row::new().with("y", self.0.powi(2))])
        }

        fn cost(&self) -> Cost {
            Cost::default()
        }
    }

    impl Reproduction for Tiny {
        fn limit_seeds(&mut self, _: usize) {}

        fn study(&self) -> Result<Study> {
            let mut study = Study { name: "tiny".into(), data: vec!["mnist-sample".into()], ..Study::default() };
            [1.0, 2.0].into_iter().for_each(|x| study.push(Cell::new(0).with("x", x), Square(x)));
            Ok(study)
        }

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
        let study = Tiny.study().unwrap();
        let store = Store::create(folder.path(), &study).unwrap();
        let said = used(&study.data, Images::Embedded, Some(Seeds::of(1)));
        assert!(said.ends_with("At most 1 seed (--seeds)."), "{said}");
        let all = |store: &Store| write("0", &Tiny, (&study.data, Some(Seeds::of(1))), &said, store);
        assert!(all(&store).unwrap_err().to_string().contains("2 of 2 cells are not there"));
        part(&Console::new(true, ebbing::plan::MemoryLimit::Machine), &study, &store, &Share::All).unwrap();
        let claims = all(&store).unwrap();
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
        assert!(claims.contains("seeds = 1"), "{claims}");
    }
}
