//! The univariate profile of a kernel: a function of `cos`, tabulated as polynomials in `a = 1 − |cos|`.
//!
//! Every kernel is analytic in the angle, and in `a` away from its square-root branch point at `a = 0`; the narrow layers
//! of large λ lie beyond that point. So panels of fixed ratio in `a`, one set for each sign of the cosine, resolve every
//! depth and every λ alike. A panel spans a quarter of an octave: its index is the float's exponent and two leading
//! mantissa bits, and its coordinate the remaining bits, so that no search, branch, root or arc cosine is needed.

use super::layers::Angle;
use super::roots::Roots;
use crate::linalg::dot;
use std::f64::consts::PI;

/// Coefficients per panel: degree 11.
pub(super) const TERMS: usize = 12;
/// Panels per octave, as a power of two.
const SPLIT_BITS: u32 = 2;
/// Octaves of `a` covered, down from 1.
const OCTAVES: i32 = 20;
/// The smallest `a` that the table covers. Closer angles are not known from a rounded dot product in any case.
pub(super) const NEAREST: f64 = 1.0 / (1u64 << OCTAVES) as f64;
/// The largest `a` that the table covers: `cos = 0` up to rounding.
pub(super) const FARTHEST: f64 = 1.0 - f64::EPSILON / 2.0;
/// How far a float's bits are shifted to give its panel.
pub(super) const SHIFT: u32 = 52 - SPLIT_BITS;
/// The shifted bits of [`NEAREST`]: panel 0.
pub(super) const FIRST: u64 = NEAREST.to_bits() >> SHIFT;
/// The mantissa bits that give the place within a panel.
pub(super) const WITHIN: u64 = (1 << SHIFT) - 1;
/// The bits of 1.0.
pub(super) const ONE: u64 = 1f64.to_bits();
/// The middle of a panel, once its exponent and leading bits have been replaced by those of 1.0.
pub(super) const MIDDLE: f64 = 1.0 + 0.5 * WIDTH;
/// The width of a panel there.
const WIDTH: f64 = 1.0 / (1u64 << SPLIT_BITS) as f64;
/// Panels for one sign of the cosine.
const PANELS: usize = (OCTAVES as usize) << SPLIT_BITS;

/// `f(cos)` for `|cos| ≤ 1 −` [`NEAREST`].
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// [`TERMS`] coefficients for each panel and sign of the cosine (the sign runs fastest), lowest power first.
    coefficients: Vec<f64>,
    /// A shorter form, where the processor can use one and it is as good.
    roots: Option<Roots>,
}

impl Table {
    /// Interpolates `f` at Chebyshev points of every panel.
    ///
    /// On one thread: callers hold a lock, and a thread waiting for parallel work could start another task that
    /// needs the same lock.
    pub fn build(f: impl Fn(Angle) -> f64) -> Table {
        let chebyshev = Chebyshev::<TERMS>::new();
        let mut coefficients = vec![0.0; 2 * PANELS * TERMS];
        for (panel, both) in coefficients.chunks_exact_mut(2 * TERMS).enumerate() {
            let low = f64::from_bits((FIRST + panel as u64) << SHIFT);
            let high = f64::from_bits((FIRST + panel as u64 + 1) << SHIFT);
            let point = |x: f64| 0.5 * (low + high) + 0.5 * (high - low) * x;
            let (near, far) = both.split_at_mut(TERMS);
            chebyshev.interpolate(|x| f(Angle { minus: point(x), plus: 2.0 - point(x) }), WIDTH, near);
            chebyshev.interpolate(|x| f(Angle { minus: 2.0 - point(x), plus: point(x) }), WIDTH, far);
        }
        Table { coefficients, roots: usable().then(|| Roots::build(f)).flatten() }
    }

    /// The shorter form.
    pub fn roots(&self) -> Option<&Roots> {
        self.roots.as_ref()
    }

    /// The same without it.
    #[cfg(test)]
    pub fn without_roots(self) -> Table {
        Table { roots: None, ..self }
    }

    /// The coefficients of all panels, as the vector code reads them.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// `f(cos)`; a cosine beyond the table gives the value at its edge.
    #[allow(clippy::manual_clamp)] // clamp would let a NaN through to the index
    pub fn evaluate(&self, cos: f64) -> f64 {
        let a = (1.0 - cos.abs()).max(NEAREST).min(FARTHEST).to_bits();
        let panel = 2 * ((a >> SHIFT) - FIRST) + (cos.to_bits() >> 63);
        let x = f64::from_bits((a & WITHIN) | ONE) - MIDDLE;
        let c = &self.coefficients[panel as usize * TERMS..][..TERMS];
        c.iter().rev().fold(0.0, |sum, c| sum * x + c)
    }
}

/// Whether the processor can use [`Roots`].
fn usable() -> bool {
    #[cfg(target_arch = "x86_64")]
    return super::roots::available();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Chebyshev interpolation on [−1, 1] at N points, with the cosines that every panel uses.
pub(super) struct Chebyshev<const N: usize> {
    points: [f64; N],
    /// Row k turns values at the points into the coefficient of `T_k`.
    transform: [[f64; N]; N],
}

impl<const N: usize> Chebyshev<N> {
    pub fn new() -> Self {
        let n = N as f64;
        let angle = |i: usize| PI * (i as f64 + 0.5) / n;
        Chebyshev {
            points: std::array::from_fn(|i| angle(i).cos()),
            transform: std::array::from_fn(|k| {
                std::array::from_fn(|i| (k as f64 * angle(i)).cos() * if k == 0 { 1.0 } else { 2.0 } / n)
            }),
        }
    }

    /// The polynomial through `f`, in powers of the place within a panel of this width.
    pub fn interpolate(&self, f: impl Fn(f64) -> f64, width: f64, out: &mut [f64]) {
        // Differences from one value: rounding then scales with the variation over the panel.
        let base = f(0.0);
        let values = self.points.map(|x| f(x) - base);
        // T_{k+1} = 2x T_k − T_{k−1} in powers of x: the series converges fast enough for this to lose nothing.
        let (mut before, mut now) = ([0.0; N], [0.0; N]);
        before[1] = 1.0; // T_{−1} = x
        now[0] = 1.0;
        out.fill(0.0);
        for row in self.transform {
            let c = dot(&row, &values);
            for (o, t) in out.iter_mut().zip(now) {
                *o += c * t;
            }
            let mut next = before.map(|b| -b);
            for k in 1..N {
                next[k] += 2.0 * now[k - 1];
            }
            (before, now) = (now, next);
        }
        out[0] += base;
        let mut scale = 1.0;
        for o in out {
            *o *= scale;
            scale *= 2.0 / width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernel;
    use crate::kernels::{Activation, Architecture, KernelKind, WeightPrior};
    use crate::rng::Stream;

    /// Cosines whose `1 − |cos|` is exact and spread evenly over all octaves, panel edges included.
    fn cosines() -> Vec<f64> {
        let mut stream = Stream::new(3, "table test", 0);
        let edges = (0..PANELS).map(|k| f64::from_bits((FIRST + k as u64) << SHIFT));
        let inner = (0..500).map(|_| NEAREST.powf(stream.uniform()));
        edges.chain(inner).flat_map(|a| [1.0 - a, a - 1.0]).collect()
    }

    fn check(kind: KernelKind, arch: Architecture, lambda: f64, (t, s): (usize, usize)) {
        if kind == KernelKind::DeltaK && lambda.is_infinite() && s == 1 {
            return; // no such limit
        }
        let kernel = Kernel::new(kind, arch, WeightPrior::new(lambda, 1.0).unwrap(), t, s).unwrap();
        let table = kernel.table();
        let cosines = cosines();
        let exact = |c: f64| kernel.value(Angle { minus: 1.0 - c, plus: 1.0 + c }, 1.0, 1.0);
        let values: Vec<f64> = cosines.iter().map(|&c| exact(c)).collect();
        let scale = values.iter().fold(0f64, |m, v| m.max(v.abs()));
        // Rounding of the dozen terms of a panel, and of each layer on both sides of the comparison.
        let bound = (16 + arch.depth) as f64 * f64::EPSILON * scale;
        for (&c, want) in cosines.iter().zip(values) {
            let error = (table.evaluate(c) - want).abs();
            assert!(error <= bound, "{kind:?} {arch:?} λ {lambda:e} ({t},{s}) cos {c}: {error:e} > {bound:e}");
        }
    }

    #[test]
    fn tables_equal_the_layers_at_every_depth_and_lambda() {
        for activation in [Activation::Relu, Activation::Linear, Activation::Erf] {
            for depth in [1, 10, 50] {
                let arch = Architecture { activation, depth };
                check(KernelKind::Nngp, arch, 1.0, (1, 1));
                check(KernelKind::Ntk, arch, 1.0, (1, 1));
                for lambda in [0.0, 1e-3, 1e3, 1e6, 1e12, f64::INFINITY] {
                    for times in [(2, 1), (2, 2), (5, 3)] {
                        for kind in [KernelKind::K1, KernelKind::K0, KernelKind::KTilde, KernelKind::DeltaK] {
                            check(kind, arch, lambda, times);
                        }
                        check(KernelKind::Derivative, arch, lambda, times);
                    }
                }
            }
        }
    }

    #[test]
    fn cosines_out_of_reach_give_the_nearest_value_of_the_table() {
        let table = Table::build(|angle| angle.cos());
        for (cos, want) in [(1.0, 1.0 - NEAREST), (-1.5, NEAREST - 1.0), (f64::NAN, 1.0 - NEAREST)] {
            // One rounding of a number near 1.
            assert!((table.evaluate(cos) - want).abs() <= f64::EPSILON, "{cos}");
        }
        assert!(table.evaluate(0.0).abs() <= f64::EPSILON);
    }
}
