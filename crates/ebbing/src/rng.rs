//! Random streams: (seed, purpose, index) names an independent ChaCha stream, the same on every machine.
//!
//! [`Stream`] is the only type. Give every use a purpose of its own ("permutation", "labels"): then one use does not
//! shift the draws of another, and the index (of a task, a chain) makes pieces of work independent of their order.
//!
//! Nothing here calls the platform's mathematical library: normals use the `libm` crate, so that the draws have the
//! same bits everywhere and at any number of threads.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use sha2::{Digest, Sha256};

/// One stream of random numbers.
///
/// ```
/// use ebbing::rng::Stream;
/// let mut a = Stream::new(7, "permutation", 0);
/// let mut b = Stream::new(7, "permutation", 0);
/// assert_eq!(a.uniform(), b.uniform());
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    rng: ChaCha8Rng,
    spare: Option<f64>,
}

impl Stream {
    /// The stream that belongs to `seed`, a `purpose` ("permutation", "grouping", …) and an `index` (task, seed, chain …).
    pub fn new(seed: u64, purpose: &str, index: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"ebbing stream 1\0");
        hash.update(seed.to_le_bytes());
        hash.update((purpose.len() as u64).to_le_bytes());
        hash.update(purpose.as_bytes());
        hash.update(index.to_le_bytes());
        let key: [u8; 32] = hash.finalize().into();
        Stream { rng: ChaCha8Rng::from_seed(key), spare: None }
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A uniform number in [0, 1) with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform integer in 0..n, without bias (Lemire's multiply-and-reject).
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "Stream::below needs at least one value to choose from");
        let n = n as u64;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if (wide as u64) >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// A standard normal number (Marsaglia's polar method; the second of each pair is kept for the next call).
    pub fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let r2 = u * u + v * v;
            if r2 > 0.0 && r2 < 1.0 {
                let scale = libm::sqrt(-2.0 * libm::log(r2) / r2);
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Shuffles `items` uniformly (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `k` different indices out of 0..n, in random order.
    ///
    /// # Panics
    /// If `k > n`.
    pub fn choose(&mut self, n: usize, k: usize) -> Vec<usize> {
        assert!(k <= n, "cannot choose {k} of {n}");
        let mut all: Vec<usize> = (0..n).collect();
        for i in 0..k {
            let j = i + self.below(n - i);
            all.swap(i, j);
        }
        all.truncate(k);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First words computed by an independent implementation (SHA-256 of the name as key, ChaCha with 8 rounds, counter from 0,
    /// words paired low half first). A change here changes every published draw.
    #[test]
    fn first_words_are_those_of_the_definition() {
        let cases = [
            (0, "", 0, [0xfff0_75f9_6dcd_ee24, 0x80f7_80d5_6331_5a8d, 0xece6_01eb_b0d4_d17a]),
            (7, "permutation", 0, [0x964e_4c55_d1a9_383c, 0x5810_c49d_715a_face, 0xc3c1_d442_36f2_12a8]),
            (7, "permutation", 1, [0xda0a_78d7_1945_1b67, 0x108c_943c_4bc0_f806, 0x161a_318c_3f33_464d]),
            (u64::MAX, "größe", u64::MAX, [0x512b_7d38_c238_b798, 0x4f25_b2f4_5093_9a25, 0xf9a6_ecc8_e39f_beb4]),
        ];
        for (seed, purpose, index, words) in cases {
            let mut stream = Stream::new(seed, purpose, index);
            assert_eq!(words.map(|_| stream.bits()), words, "{seed} {purpose} {index}");
        }
        let mut stream = Stream::new(7, "permutation", 0);
        assert_eq!((0..101).map(|_| stream.bits()).last(), Some(0x84bd_d92a_9c81_4d47));
    }

    #[test]
    fn derived_draws_are_those_of_the_definition() {
        let stream = || Stream::new(7, "permutation", 0);
        let mut s = stream();
        assert_eq!(
            [s.uniform(), s.uniform(), s.uniform()],
            [0.5871322354811682, 0.3440058597928831, 0.7646763478905501]
        );
        let mut s = stream();
        assert_eq!([0; 12].map(|_: i32| s.below(10)), [5, 3, 7, 8, 3, 9, 0, 5, 1, 9, 6, 2]);
        let mut items: Vec<usize> = (0..10).collect();
        stream().shuffle(&mut items);
        assert_eq!(items, [2, 8, 7, 0, 4, 1, 9, 6, 3, 5]);
        assert_eq!(stream().choose(20, 5), [11, 7, 15, 17, 9]);
        let mut s = stream();
        let normals = [s.normal(), s.normal(), s.normal(), s.normal()];
        assert_eq!(normals, [0.9893421730347108, -1.7712340421536168, 0.4806658618091774, 0.6142045614093776]);
    }

    /// Mean of `f` over `n` draws from a fresh stream.
    fn average(n: usize, mut f: impl FnMut(&mut Stream) -> f64) -> f64 {
        let mut stream = Stream::new(1, "moments", 0);
        (0..n).map(|_| f(&mut stream)).sum::<f64>() / n as f64
    }

    #[test]
    fn moments_of_normals() {
        // Variances of z, z², z³, z⁴ are 1, 2, 15, 96; five standard errors each.
        let n = 400_000;
        for (power, mean, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0_f64)] {
            let moment = average(n, |s| s.normal().powi(power));
            assert!((moment - mean).abs() < 5.0 * (variance / n as f64).sqrt(), "moment {power}: {moment}");
        }
        // The two of a pair are uncorrelated, and so are their squares.
        let product = average(n, |s| s.normal() * s.normal());
        assert!(product.abs() < 5.0 / (n as f64).sqrt(), "{product}");
        let squares = average(n, |s| (s.normal().powi(2) - 1.0) * (s.normal().powi(2) - 1.0));
        assert!(squares.abs() < 5.0 * 2.0 / (n as f64).sqrt(), "{squares}");
        // Tails: P(|z| > 3) = 0.0026998.
        let tail = average(n, |s| f64::from(u8::from(s.normal().abs() > 3.0)));
        assert!((tail - 0.002_699_8).abs() < 5.0 * (0.0027 / n as f64).sqrt(), "{tail}");
    }

    #[test]
    fn uniforms_and_chances() {
        let n = 400_000;
        // Variance 1/12.
        assert!((average(n, Stream::uniform) - 0.5).abs() < 5.0 * (1.0 / 12.0 / n as f64).sqrt());
        let mut stream = Stream::new(1, "range", 0);
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&stream.uniform())));
        let share = average(n, |s| f64::from(u8::from(s.chance(0.3))));
        assert!((share - 0.3).abs() < 5.0 * (0.21 / n as f64).sqrt());
        assert!((0..100).all(|_| !stream.chance(0.0) && stream.chance(1.0)));
    }

    #[test]
    fn integers_below_a_bound_are_unbiased() {
        let draws = 70_000;
        let mut stream = Stream::new(1, "below", 0);
        let mut counts = [0.0; 7];
        (0..draws).for_each(|_| counts[stream.below(7)] += 1.0);
        let expected = f64::from(draws) / 7.0;
        let chi2: f64 = counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum();
        // χ² with six degrees of freedom exceeds 30.1 once in 26 000 times.
        assert!(chi2 < 30.1, "{counts:?}");
        // With a bound of 3·2⁶² plain multiplication makes multiples of three half of all results instead of a third.
        let bound = 3usize << 62;
        let thirds = average(draws as usize, |s| f64::from(u8::from(s.below(bound).is_multiple_of(3))));
        assert!((thirds - 1.0 / 3.0).abs() < 5.0 * (2.0 / 9.0 / f64::from(draws)).sqrt(), "{thirds}");
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn shuffles_are_uniform() {
        let draws = 60_000;
        let mut stream = Stream::new(1, "shuffle", 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..draws {
            let mut items = [0, 1, 2, 3];
            stream.shuffle(&mut items);
            *counts.entry(items).or_insert(0.0) += 1.0;
        }
        assert_eq!(counts.len(), 24);
        let expected = f64::from(draws) / 24.0;
        let chi2: f64 = counts.values().map(|c: &f64| (c - expected) * (c - expected) / expected).sum();
        // χ² with 23 degrees of freedom exceeds 64.0 once in 100 000 times.
        assert!(chi2 < 64.0, "{chi2}");
        let mut chosen = stream.choose(50, 50);
        chosen.sort_unstable();
        assert!(chosen.into_iter().eq(0..50));
        assert!(stream.choose(5, 0).is_empty());
    }

    #[test]
    fn names_give_independent_streams() {
        let mut first = std::collections::BTreeSet::new();
        let purposes = ["", "a", "b", "ab", "a\0", "permutation", "permutation "];
        for seed in 0..20 {
            for purpose in purposes {
                for index in 0..20 {
                    first.insert(Stream::new(seed, purpose, index).bits());
                }
            }
        }
        assert_eq!(first.len(), 20 * 7 * 20);
        let n = 100_000;
        let pairs = [(0, "a", 0), (1, "a", 0), (0, "b", 0), (0, "a", 1)];
        for (i, a) in pairs.iter().enumerate() {
            for b in &pairs[..i] {
                let (mut x, mut y) = (Stream::new(a.0, a.1, a.2), Stream::new(b.0, b.1, b.2));
                let correlation = (0..n).map(|_| x.normal() * y.normal()).sum::<f64>() / f64::from(n);
                assert!(correlation.abs() < 5.0 / f64::from(n).sqrt(), "{a:?} {b:?}: {correlation}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "at least one value")]
    fn nothing_lies_below_zero() {
        Stream::new(0, "below", 0).below(0);
    }

    #[test]
    #[should_panic(expected = "cannot choose 3 of 2")]
    fn no_more_can_be_chosen_than_there_are() {
        Stream::new(0, "choose", 0).choose(2, 3);
    }
}
