//! Random streams: (seed, purpose, index) names an independent ChaCha stream, the same on every machine.
//!
//! Nothing here calls the platform's mathematical library: normals use the `libm` crate, so that the
//! draws have the same bits everywhere and at any number of threads.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use sha2::{Digest, Sha256};

/// One stream of random numbers.
///
/// ```
/// use ebbing::Stream;
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
