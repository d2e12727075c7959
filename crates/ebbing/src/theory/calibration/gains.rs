//! What EWC, an L2 penalty and separate heads gained in trained networks (`paper/evidence/gains.py`).

use serde::Deserialize;
use std::sync::OnceLock;

/// What was measured of one remedy at one strength.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct Gain {
    /// The strength of a penalty.
    pub strength: f64,
    /// How many networks.
    pub networks: usize,
    /// Their mean gain of final accuracy: of a penalty over plain training on the same sequence, of separate heads over the wide limit.
    pub gain: f64,
    /// How far single networks were off it on average.
    pub error: f64,
    /// Between what eight in ten of them gained.
    #[serde(rename = "80")]
    pub range: [f64; 2],
}

/// The table as the script writes it.
#[derive(Debug, Deserialize)]
struct Gains {
    ewc: Vec<Gain>,
    l2: Vec<Gain>,
    heads: Vec<Gain>,
}

fn gains() -> Option<&'static Gains> {
    static GAINS: OnceLock<Option<Gains>> = OnceLock::new();
    GAINS.get_or_init(|| serde_json::from_str(include_str!("gains.json")).ok()).as_ref()
}

/// What online EWC gained at the measured strength nearest to this one; none beyond those that were measured.
pub(crate) fn ewc(strength: f64) -> Option<Gain> {
    let all = &gains()?.ewc;
    let [first, .., last] = &all[..] else { return None };
    let far = |gain: &&Gain| (gain.strength / strength).ln().abs();
    let inside = (first.strength..=last.strength).contains(&strength);
    all.iter().min_by(|a, b| far(a).total_cmp(&far(b))).filter(|_| inside).copied()
}

/// What the L2 penalty that gained most did, and how many strengths were measured.
pub(crate) fn l2() -> Option<(Gain, usize)> {
    let all = &gains()?.l2;
    Some((*all.iter().max_by(|a, b| a.gain.total_cmp(&b.gain))?, all.len()))
}

/// How far separate heads lay from the wide limit.
pub(crate) fn heads() -> Option<Gain> {
    gains()?.heads.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_read() {
        let at = |strength: f64| ewc(strength).map(|gain| gain.strength);
        assert_eq!([at(10.0), at(50.0), at(1000.0)], [Some(10.0), Some(100.0), Some(1000.0)]);
        assert_eq!([at(1.0), at(1e5)], [None, None]);
        let (l2, strengths) = l2().unwrap();
        assert!(strengths == 3 && l2.gain > 0.0);
        let heads = heads().unwrap();
        // Separate heads gain less than the wide limit says.
        assert!(heads.gain < -0.05 && heads.networks == 44);
        for Gain { gain, error, range: [low, high], .. } in [l2, heads] {
            assert!(low < gain && gain < high && error > 0.0);
        }
    }
}
