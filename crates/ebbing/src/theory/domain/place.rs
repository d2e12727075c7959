//! Whether a sequence lies within what was measured, and what of it does not.

use super::{Descriptor, Kind, Quantity, shown};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What ends of a range may be missed by: they are written with finitely many digits.
const ROUNDING: f64 = 1e-9;

/// The ranges of what was measured, of one kind of data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// What it is called: "standardized images".
    pub name: String,
    /// What inputs were.
    pub kind: Kind,
    /// How many sequences were measured.
    pub sequences: usize,
    /// The smallest and the largest value of every number that is looked at.
    pub ranges: BTreeMap<Quantity, [f64; 2]>,
    /// Whether pixels as they are stored, whole numbers from 0 to 255, were among them.
    #[serde(default)]
    pub raw_pixels: bool,
}

/// Everything that was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainTable {
    /// The domains, any number of them.
    pub domains: Vec<Domain>,
}

/// Where a sequence lies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placement {
    /// Whether it lies inside the nearest domain.
    pub inside: bool,
    /// The name of the nearest domain: the one that it misses in the fewest numbers, of several by the least.
    pub nearest: String,
    /// The kind of the nearest domain.
    pub nearest_kind: Kind,
    /// Sequences measured there.
    pub sequences: usize,
    /// What lies outside of it, in words; nothing where it is inside.
    pub outside: Vec<String>,
    /// The whole in a sentence.
    pub sentence: String,
}

impl Domain {
    /// From the descriptors of measured sequences: the range of every number that all of them have. Sizes and counts have the range that
    /// was measured; scale, norms and spectrum, which fluctuate from draw to draw, a tenth of the larger end more on both sides (the
    /// mean, which may be 0, at least .05; the spread of norms at least .02).
    ///
    /// # Errors
    /// [`Error::Data`] where there is none.
    pub fn around(name: impl Into<String>, kind: Kind, measured: &[Descriptor]) -> Result<Domain> {
        let name = name.into();
        if measured.is_empty() {
            return Err(Error::data(name, "no sequence was measured; at least one is needed"));
        }
        let mut ranges = BTreeMap::new();
        for quantity in Quantity::ALL {
            let values: Option<Vec<[f64; 2]>> = measured.iter().map(|one| one.ends(quantity)).collect();
            if let Some(values) = values {
                let wider = |[a, b]: [f64; 2], [low, high]: &[f64; 2]| [a.min(*low), b.max(*high)];
                let ends = values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], wider);
                ranges.insert(quantity, widened(quantity, ends));
            }
        }
        let raw_pixels = measured.iter().any(|one| one.raw_pixels);
        Ok(Domain { name, kind, sequences: measured.len(), ranges, raw_pixels })
    }

    /// Everything that lies outside, in words, with how far outside it is: in widths of its range, of sizes and
    /// counts also as the logarithm of a ratio, whichever is more.
    fn missed(&self, descriptor: &Descriptor) -> Result<Vec<(f64, String)>> {
        let mut missed = vec![];
        let said = self.kind != Kind::Unknown && descriptor.kind != Kind::Unknown;
        if said && self.kind != descriptor.kind {
            missed.push((1.0, format!("{} (measured: {})", descriptor.kind.words(), self.kind.words())));
        }
        if descriptor.raw_pixels && !self.raw_pixels {
            // The first to be said: scale and mean follow from it.
            missed.push((
                f64::MAX,
                "pixels from 0 to 255 as they are stored (measured: standardized or whitened ones)".to_string(),
            ));
        }
        for (&quantity, &[low, high]) in &self.ranges {
            if !(low <= high && low.is_finite() && high.is_finite()) {
                let problem =
                    format!("the range {low} to {high} of {quantity:?} is none; it must be two finite numbers");
                return Err(Error::data(&self.name, problem));
            }
            let measured = match (shown(low), shown(high)) {
                (low, high) if low == high => low,
                (low, high) => format!("{low} to {high}"),
            };
            let Some([least, most]) = descriptor.ends(quantity) else {
                missed.push((1.0, format!("targets that name no classes (measured: {})", quantity.words(high))));
                continue;
            };
            let slack = ROUNDING * low.abs().max(high.abs());
            let inside = least >= low - slack && most <= high + slack; // false for a NaN
            if !inside {
                let (value, beyond) = if least < low - slack { (least, low - least) } else { (most, most - high) };
                let width = (high - low).max(0.1 * high.abs()).max(f64::MIN_POSITIVE);
                // Sizes and counts by ratios: 1 example instead of 100 is as far off as 10000.
                let ratio =
                    if quantity.counts() { (value / if value < low { low } else { high }).ln().abs() } else { 0.0 };
                let by = (beyond / width).max(ratio);
                missed.push((by, format!("{} (measured: {measured})", quantity.words(value))));
            }
        }
        // Several numbers speak of classes: one sentence is enough.
        missed.dedup_by(|a, b| a.1.starts_with("targets that name") && b.1.starts_with("targets that name"));
        missed.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(missed)
    }
}

/// The ends of a measured range, further apart where the number fluctuates.
fn widened(quantity: Quantity, [low, high]: [f64; 2]) -> [f64; 2] {
    let tenth = 0.1 * low.abs().max(high.abs());
    match quantity {
        Quantity::Mean => [low - tenth.max(0.05), high + tenth.max(0.05)],
        // These are never negative. Norms may all be equal, to rounding.
        Quantity::NormSpread => [(low - tenth.max(0.02)).max(0.0), high + tenth.max(0.02)],
        Quantity::MeanSquare | Quantity::EffectiveRank | Quantity::FeatureSpread => {
            [(low - tenth).max(0.0), high + tenth]
        }
        _ => [low, high],
    }
}

impl DomainTable {
    /// Where a sequence lies: inside a domain, or outside of the nearest one, what is furthest outside first.
    ///
    /// # Errors
    /// [`Error::Data`] where the table is empty or holds a range that is none.
    pub fn place(&self, descriptor: &Descriptor) -> Result<Placement> {
        let mut nearest: Option<(&Domain, Vec<(f64, String)>)> = None;
        for domain in &self.domains {
            let missed = domain.missed(descriptor)?;
            let rank = |missed: &[(f64, String)]| (missed.len(), missed.iter().map(|(by, _)| by).sum::<f64>());
            let nearer = nearest.as_ref().is_none_or(|(_, best)| {
                let ((count, by), (least, best)) = (rank(&missed), rank(best));
                count < least || (count == least && by < best)
            });
            if nearer {
                nearest = Some((domain, missed));
            }
        }
        let Some((domain, missed)) = nearest else {
            return Err(Error::data("the table of domains", "it is empty; nothing was measured"));
        };
        let outside: Vec<String> = missed.into_iter().map(|(_, words)| words).collect();
        let sentence = if outside.is_empty() {
            format!("inside what was measured ({}, {} sequences)", domain.name, domain.sequences)
        } else {
            let (name, all) = (&domain.name, outside.join(", "));
            format!("not calibrated for data like yours: {all}; nearest: {name}, {} sequences", domain.sequences)
        };
        Ok(Placement {
            inside: outside.is_empty(),
            nearest: domain.name.clone(),
            nearest_kind: domain.kind,
            sequences: domain.sequences,
            outside,
            sentence,
        })
    }
}
