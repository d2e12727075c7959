//! The profile of a kernel that is analytic in the angle, as polynomials in `h = √(1 − |cos|)`: few enough panels of equal width
//! that all coefficients of one power fit two registers of eight numbers, which AVX-512 looks entries up in.
//!
//! `θ = 2 asin(h/√2)`, or π less that. Kernels with narrow layers (large finite λ, great depth) are not resolved; they keep their
//! [`Table`](super::table::Table) alone.

use super::layers::Angle;
use super::table::Chebyshev;

/// Coefficients per panel: degree 12.
pub(super) const TERMS: usize = 13;
/// Panels for each sign of the cosine.
pub(super) const PANELS: usize = 8;
/// The largest error that is allowed, relative to the largest value: what rounding leaves of the other table.
const RIGHT: f64 = 16.0 * f64::EPSILON;

/// `f(cos)`.
#[derive(Debug, Clone)]
pub(super) struct Roots {
    /// `coefficients[k][panel]` of `(8 h − panel − ½)^k`; panels of negative cosines follow those of the others.
    pub coefficients: Box<[[f64; 2 * PANELS]; TERMS]>,
}

impl Roots {
    /// Interpolates `f` at Chebyshev points of every panel; none where that is not right to rounding.
    pub fn build(f: impl Fn(Angle) -> f64) -> Option<Roots> {
        let chebyshev = Chebyshev::<TERMS>::new();
        let mut coefficients = Box::new([[0.0; 2 * PANELS]; TERMS]);
        let (mut scale, mut error, mut known) = (0f64, 0f64, true);
        for place in 0..2 * PANELS {
            let (panel, negative) = (place % PANELS, place >= PANELS);
            let at = |x: f64| {
                let h = (panel as f64 + 0.5 + 0.5 * x) / PANELS as f64;
                f(Angle::near(h * h, if negative { -1.0 } else { 1.0 }))
            };
            let mut powers = [0.0; TERMS];
            chebyshev.interpolate(at, 1.0, &mut powers);
            for (k, c) in powers.iter().enumerate() {
                coefficients[k][place] = *c;
            }
            for x in [-1.0, -0.97, -0.8, -0.45, -0.1, 0.3, 0.6, 0.93, 1.0] {
                let (value, want) = (powers.iter().rev().fold(0.0, |sum, c| sum * (0.5 * x) + c), at(x));
                scale = scale.max(want.abs());
                error = error.max((value - want).abs());
                // A maximum drops what is no number.
                known &= value.is_finite() && want.is_finite();
            }
        }
        (known && error <= RIGHT * scale).then_some(Roots { coefficients })
    }
}

/// `out_i = p_i q f(cos_i)`; a cosine beyond ±1 gives the value there.
///
/// # Safety
/// The processor must have AVX-512, and the slices one length.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn apply(roots: &Roots, cos: &[f64], p: &[f64], q: f64, out: &mut [f64]) {
    use std::arch::x86_64::*;
    let q = _mm512_set1_pd(q);
    let c = &roots.coefficients;
    let last = _mm512_set1_pd(PANELS as f64 * (1.0 - f64::EPSILON / 2.0));
    for i in (0..cos.len()).step_by(8) {
        let left = (cos.len() - i).min(8);
        let mask = ((1u32 << left) - 1) as __mmask8;
        // SAFETY: only the entries of the mask are read.
        let (x, p) = unsafe {
            (_mm512_maskz_loadu_pd(mask, cos.as_ptr().add(i)), _mm512_maskz_loadu_pd(mask, p.as_ptr().add(i)))
        };
        let a = _mm512_max_pd(_mm512_sub_pd(_mm512_set1_pd(1.0), _mm512_abs_pd(x)), _mm512_setzero_pd());
        let s = _mm512_mul_pd(_mm512_sqrt_pd(a), _mm512_set1_pd(PANELS as f64));
        let whole = _mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(_mm512_min_pd(s, last));
        let t = _mm512_sub_pd(_mm512_sub_pd(s, whole), _mm512_set1_pd(0.5));
        let panel = _mm512_cvtepi32_epi64(_mm512_cvttpd_epi32(whole));
        // The sign becomes the fourth bit of the place.
        let sign = _mm512_slli_epi64::<3>(_mm512_srli_epi64::<63>(_mm512_castpd_si512(x)));
        let place = _mm512_or_si512(panel, sign);
        // SAFETY: two times eight numbers.
        let of = |k: usize| unsafe {
            let row = c[k].as_ptr();
            _mm512_permutex2var_pd(_mm512_loadu_pd(row), place, _mm512_loadu_pd(row.add(PANELS)))
        };
        // Even and odd powers apart: half as long a chain.
        let square = _mm512_mul_pd(t, t);
        let (mut even, mut odd) = (of(TERMS - 1), of(TERMS - 2));
        for k in (0..TERMS - 2).step_by(2).rev() {
            even = _mm512_fmadd_pd(even, square, of(k));
            if k > 0 {
                odd = _mm512_fmadd_pd(odd, square, of(k - 1));
            }
        }
        let value = _mm512_fmadd_pd(odd, t, even);
        // SAFETY: only the entries of the mask are written.
        unsafe { _mm512_mask_storeu_pd(out.as_mut_ptr().add(i), mask, _mm512_mul_pd(_mm512_mul_pd(p, q), value)) };
    }
}

/// Whether the processor has what [`apply`] needs.
#[cfg(target_arch = "x86_64")]
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};

    fn value(roots: &Roots, cos: f64) -> f64 {
        let s = (1.0 - cos.abs()).max(0.0).sqrt() * PANELS as f64;
        let panel = (s as usize).min(PANELS - 1);
        let place = if cos.is_sign_negative() { panel + PANELS } else { panel };
        roots.coefficients.iter().rev().fold(0.0, |sum, c| sum * (s - panel as f64 - 0.5) + c[place])
    }

    #[test]
    fn limits_of_strong_penalty_are_resolved() {
        for depth in [1, 3, 10] {
            for kind in [KernelKind::Nngp, KernelKind::Ntk] {
                let architecture = Architecture { activation: Activation::Relu, depth };
                let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
                let kernel = Kernel::new(kind, architecture, prior, 1, 1).unwrap();
                let f = |angle| kernel.value(angle, 1.0, 1.0);
                let roots = Roots::build(f).unwrap();
                for i in 0..=2000 {
                    let h = i as f64 / 2000.0;
                    for sign in [1.0, -1.0] {
                        // 1 − |cos| as a rounded cosine has it: the slope of a root is that of √ε at most.
                        let cos = sign * (1.0 - h * h);
                        let error = (value(&roots, cos) - f(Angle::near(1.0 - cos.abs(), sign))).abs();
                        assert!(error <= 2.0 * RIGHT * f(Angle::ZERO), "{kind:?} {depth} {cos}: {error:e}");
                    }
                }
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn vector_and_scalar_code_agree_wherever_an_entry_stands() {
        if !available() {
            return;
        }
        let roots = Roots::build(|angle| angle.cos().powi(3) + angle.minus.sqrt()).unwrap();
        let mut stream = crate::rng::Stream::new(5, "roots test", 0);
        for n in (0..18).chain([1001]) {
            let mut cos: Vec<f64> = (0..n).map(|_| 2.0 * stream.uniform() - 1.0).collect();
            for (c, edge) in cos.iter_mut().zip([1.0, -1.0, 0.0, -0.0, 1.0 + 1e-15, 0.5]) {
                *c = edge;
            }
            let p: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
            let mut all = vec![0.0; n];
            // SAFETY: the processor has the features.
            unsafe { apply(&roots, &cos, &p, 1.5, &mut all) };
            for i in 0..n {
                // Thirteen terms, rounded once or twice each; |f| < 3.
                let bound = 26.0 * f64::EPSILON * 3.0 * (1.5 * p[i]).abs();
                assert!((all[i] - 1.5 * p[i] * value(&roots, cos[i])).abs() <= bound, "{n} {i} {}", cos[i]);
                let mut one = [0.0];
                // SAFETY: the same.
                unsafe { apply(&roots, &cos[i..=i], &p[i..=i], 1.5, &mut one) };
                assert_eq!(one[0].to_bits(), all[i].to_bits());
            }
        }
    }
}
