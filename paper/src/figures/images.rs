//! Where the images of a figure come from.

use super::common::SAMPLE;

/// Where the images of a figure come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// The paper's data set.
    Paper,
    /// The embedded sample of MNIST, at smaller sizes.
    Embedded,
    /// Another data set, by name, at the sizes of the paper's.
    Of(&'static str),
}

impl Images {
    /// Whether sizes are those that the embedded sample allows.
    pub fn few(self) -> bool {
        self == Images::Embedded
    }

    /// The name of the data set of a figure that the paper draws from `own`.
    pub(super) fn name(self, own: &'static str) -> &'static str {
        match self {
            Images::Paper => own,
            Images::Embedded => SAMPLE,
            Images::Of(name) => name,
        }
    }
}
