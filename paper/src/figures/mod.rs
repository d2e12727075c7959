//! The figures of the paper, one file each: the cells, the picture and the claims.

mod branches;
mod common;
mod drawn;
mod exponents;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod images;
mod loads;
#[cfg(test)]
mod loads_tests;
mod minima;
mod s1;
mod s2;
mod s3;
mod s4;
mod s5;
mod s6;
mod s7;
mod s7_nets;
mod s8;
mod seeds;
mod targets;
mod task_one;
#[cfg(test)]
mod testing;
mod two_tasks;

pub use images::Images;
pub use seeds::Seeds;

use crate::claim::Claim;
use ebbing_show::Figure;
use ebbing_studies::{Frame, Result, Study};
use serde::Serialize;

/// How large a reproduction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Fewer examples, seeds and grid points; the same in kind.
    Quick,
    /// The paper's sizes.
    Paper,
}

/// What a figure takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Needs {
    /// The theory alone.
    Theory,
    /// Trained networks.
    Training,
}

/// A figure of the paper: a study, how it is drawn, and its claims.
pub trait Reproduction: Sync {
    /// Keeps at most so many seeds of whatever is averaged over seeds.
    fn limit_seeds(&mut self, most: usize);

    /// Keeps at most so many seeds of networks with two hidden layers; whether there are such beside others.
    fn limit_deep_seeds(&mut self, _most: usize) -> bool {
        false
    }

    /// The cells, each with what it computes.
    ///
    /// # Errors
    /// Where the settings do not make a grid.
    fn study(&self) -> Result<Study>;

    /// The figures by file name, panels laid out as in the paper, each with a caption that can be understood alone.
    ///
    /// # Errors
    /// Where rows are missing.
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>>;

    /// The claims of every panel.
    ///
    /// # Errors
    /// Where rows are missing.
    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>>;
}

/// A line of the list of figures.
pub struct Entry {
    /// How the paper calls it: "3", "S4".
    pub id: &'static str,
    /// Its panels: "a-e with insets".
    pub panels: &'static str,
    /// What it shows, in one sentence.
    pub shows: &'static str,
    /// What it takes.
    pub needs: Needs,
    /// The figure whose cells are the same at the same sizes: what it has computed is taken over.
    pub kin: Option<&'static str>,
    /// Why it cannot be drawn of another data set, where that is so.
    pub bound: Option<&'static str>,
    /// The figure at a scale, of these images.
    pub figure: fn(scale: Scale, images: Images) -> Box<dyn Reproduction>,
}

impl Entry {
    /// The figure at a scale, with at most so many seeds where that is given.
    ///
    /// # Errors
    /// Where networks with two hidden layers are to have their own number of seeds and there are none.
    pub fn at(&self, scale: Scale, images: Images, seeds: Option<Seeds>) -> Result<Box<dyn Reproduction>> {
        let mut figure = (self.figure)(scale, images);
        if let Some(seeds) = seeds {
            figure.limit_seeds(seeds.most);
            if seeds.deep.is_some_and(|deep| !figure.limit_deep_seeds(deep)) {
                let wanted =
                    format!("must be one number for figure {}, which does not compare depths of networks", self.id);
                return Err(ebbing::Error::setting("--seeds", seeds, wanted).into());
            }
        }
        Ok(figure)
    }
}

/// A number of seeds, lowered to `most`.
fn at_most<N: Ord + TryFrom<usize>>(seeds: &mut N, most: usize) {
    if let Ok(most) = N::try_from(most)
        && *seeds > most
    {
        *seeds = most;
    }
}

/// Every figure that can be reproduced, in the order of the paper, and after them those that it does not have.
pub const ENTRIES: &[Entry] = &[
    fig2::ENTRY,
    fig3::ENTRY,
    fig4::ENTRY,
    fig5::ENTRY,
    fig6::ENTRY,
    fig7::ENTRY,
    s1::ENTRY,
    s2::ENTRY,
    s3::ENTRY,
    s4::ENTRY,
    s5::ENTRY,
    s6::ENTRY,
    s7::ENTRY,
    s7_nets::ENTRY,
    s8::ENTRY,
    branches::ENTRY,
    exponents::ENTRY,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures that take over each other's cells have the same ones, and say so of each other.
    #[test]
    fn kin_have_the_same_cells() {
        let mut kin = 0;
        for entry in ENTRIES {
            let Some(other) = entry.kin.map(|id| ENTRIES.iter().find(|e| e.id == id).unwrap()) else { continue };
            assert_eq!(other.kin, Some(entry.id));
            let [own, theirs] =
                [entry, other].map(|e| e.at(Scale::Paper, Images::Paper, Some(Seeds::of(3))).unwrap().study().unwrap());
            assert_eq!((own.settings, own.columns), (theirs.settings, theirs.columns));
            assert_eq!(own.cells.len(), theirs.cells.len());
            kin += 1;
        }
        assert_eq!(kin, 2);
    }

    /// Networks with two hidden layers have their own number of seeds where there are such beside others; elsewhere that is refused.
    #[test]
    fn depths_have_their_own_number_of_seeds() {
        let of = |entry: &Entry, seeds: &str| entry.at(Scale::Paper, Images::Embedded, Some(seeds.parse().unwrap()));
        let mut deep = Vec::new();
        for entry in ENTRIES {
            match of(entry, "4,2") {
                Ok(figure) => {
                    let cells = figure.study().unwrap().cells;
                    let seeds = |depth: f64| {
                        let is = |cell: &&ebbing_studies::Cell| cell.number("depth").is_ok_and(|d| d == depth);
                        cells.iter().filter(is).map(|cell| cell.seed).max()
                    };
                    assert_eq!((seeds(1.0), seeds(2.0)), (Some(4), Some(2)), "{}", entry.id);
                    deep.push(entry.id);
                }
                Err(error) => assert!(error.to_string().contains("--seeds is 4,2; must be one number"), "{error}"),
            }
        }
        assert_eq!(deep, ["S6", "exponents"]);
    }
}
