//! Tables applied to columns of cosines: eight entries at a time where the processor has AVX-512 and the kernel is smooth enough
//! ([`Roots`](super::roots::Roots)), four with AVX2 and FMA, else one by one. Results agree to rounding.

use super::table::{NEAREST, Table};

/// Turns dot products into cosines, `cos_i = dot_i p_i q`, and says whether any is within [`NEAREST`] of ±1.
pub(super) fn cosines(dots: &mut [f64], p: &[f64], q: f64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if avx2::detected() {
        // SAFETY: the processor has the features.
        return unsafe { avx2::cosines(dots, p, q) };
    }
    cosines_anywhere(dots, p, q)
}

/// `out_i = p_i q f(cos_i)`.
pub(super) fn apply(table: &Table, cos: &[f64], p: &[f64], q: f64, out: &mut [f64]) {
    assert!(cos.len() == p.len() && cos.len() == out.len());
    #[cfg(target_arch = "x86_64")]
    if let Some(roots) = table.roots() {
        // SAFETY: such a table is made where the processor has the features; lengths are equal.
        return unsafe { super::roots::apply(roots, cos, p, q, out) };
    }
    #[cfg(target_arch = "x86_64")]
    if avx2::detected() {
        // SAFETY: the processor has the features.
        return unsafe { avx2::apply(table, cos, p, q, out) };
    }
    apply_scalar(table, cos, p, q, out);
}

#[inline(always)]
fn cosines_anywhere(dots: &mut [f64], p: &[f64], q: f64) -> bool {
    let mut near = false;
    for (d, p) in dots.iter_mut().zip(p) {
        *d *= p * q;
        near |= d.abs() > 1.0 - NEAREST;
    }
    near
}

fn apply_scalar(table: &Table, cos: &[f64], p: &[f64], q: f64, out: &mut [f64]) {
    for ((o, &c), p) in out.iter_mut().zip(cos).zip(p) {
        *o = p * q * table.evaluate(c);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use crate::kernels::table::{FARTHEST, FIRST, MIDDLE, NEAREST, ONE, SHIFT, TERMS, Table, WITHIN};
    use std::arch::x86_64::*;

    pub fn detected() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn cosines(dots: &mut [f64], p: &[f64], q: f64) -> bool {
        super::cosines_anywhere(dots, p, q)
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn apply(table: &Table, cos: &[f64], p: &[f64], q: f64, out: &mut [f64]) {
        let coefficients = table.coefficients();
        let q = _mm256_set1_pd(q);
        let (cos4, cos_rest) = cos.as_chunks::<4>();
        let (p4, p_rest) = p.as_chunks::<4>();
        let (out4, out_rest) = out.as_chunks_mut::<4>();
        for ((o, c), p) in out4.iter_mut().zip(cos4).zip(p4) {
            four(coefficients, c, p, q, o);
        }
        // The rest goes through the same instructions, so that a value does not depend on its place.
        let n = cos_rest.len();
        if n == 0 {
            return;
        }
        let (mut c, mut p, mut o) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        c[..n].copy_from_slice(cos_rest);
        p[..n].copy_from_slice(p_rest);
        four(coefficients, &c, &p, q, &mut o);
        out_rest.copy_from_slice(&o[..n]);
    }

    /// [`Table::evaluate`] of four cosines, times p and q.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn four(coefficients: &[f64], cos: &[f64; 4], p: &[f64; 4], q: __m256d, out: &mut [f64; 4]) {
        // SAFETY: loads and stores of whole arrays.
        let (cos, p) = unsafe { (_mm256_loadu_pd(cos.as_ptr()), _mm256_loadu_pd(p.as_ptr())) };
        let sign = _mm256_set1_pd(-0.0);
        let a = _mm256_sub_pd(_mm256_set1_pd(1.0), _mm256_andnot_pd(sign, cos));
        // A NaN in the first place of max gives its second.
        let a = _mm256_min_pd(_mm256_max_pd(a, _mm256_set1_pd(NEAREST)), _mm256_set1_pd(FARTHEST));
        let bits = _mm256_castpd_si256(a);
        let within = _mm256_and_si256(bits, _mm256_set1_epi64x(WITHIN as i64));
        let one = _mm256_or_si256(within, _mm256_set1_epi64x(ONE as i64));
        let x = _mm256_sub_pd(_mm256_castsi256_pd(one), _mm256_set1_pd(MIDDLE));
        let panel = _mm256_sub_epi64(_mm256_srli_epi64::<{ SHIFT as i32 }>(bits), _mm256_set1_epi64x(FIRST as i64));
        let side = _mm256_srli_epi64::<63>(_mm256_castpd_si256(cos));
        let place = _mm256_add_epi64(_mm256_add_epi64(panel, panel), side);
        let start = _mm256_mul_epu32(place, _mm256_set1_epi64x(TERMS as i64));
        // SAFETY: a lies in [NEAREST, FARTHEST], whose panels all have their TERMS coefficients in the table.
        let value = unsafe { polynomial(coefficients.as_ptr(), start, x) };
        // SAFETY: a store of a whole array.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), _mm256_mul_pd(_mm256_mul_pd(p, q), value)) };
    }

    /// Even and odd powers of `x` apart, by Horner's rule in `x²`, with coefficients from `start` on for each lane.
    ///
    /// # Safety
    /// `TERMS` numbers must be readable from each start.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn polynomial(coefficients: *const f64, start: __m256i, x: __m256d) -> __m256d {
        let lane = [
            _mm256_extract_epi64::<0>(start) as usize,
            _mm256_extract_epi64::<1>(start) as usize,
            _mm256_extract_epi64::<2>(start) as usize,
            _mm256_extract_epi64::<3>(start) as usize,
        ];
        // SAFETY: promised by the caller.
        let lane = lane.map(|l| unsafe { coefficients.add(l) });
        let square = _mm256_mul_pd(x, x);
        let (mut even, mut odd) = (_mm256_setzero_pd(), _mm256_setzero_pd());
        for k in (0..TERMS).step_by(2).rev() {
            // SAFETY: promised by the caller.
            let pair = lane.map(|l| unsafe { _mm_loadu_pd(l.add(k)) });
            let (even_lanes, odd_lanes) = (_mm256_set_m128d(pair[2], pair[0]), _mm256_set_m128d(pair[3], pair[1]));
            even = _mm256_fmadd_pd(even, square, _mm256_unpacklo_pd(even_lanes, odd_lanes));
            odd = _mm256_fmadd_pd(odd, square, _mm256_unpackhi_pd(even_lanes, odd_lanes));
        }
        _mm256_fmadd_pd(odd, x, even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn vector_and_scalar_code_agree() {
        // The shorter form knows what is beyond this one's ends; it has a test of its own.
        let table = Table::build(|angle| (3.0 * angle.cos()).exp() - angle.minus.sqrt()).without_roots();
        let mut stream = Stream::new(5, "simd test", 0);
        // Every remainder of a length by four, and cosines at and beyond the table's ends.
        for n in (0..9).chain([4001]) {
            let mut cos: Vec<f64> = (0..n).map(|_| 2.0 * stream.uniform() - 1.0).collect();
            for (c, edge) in cos.iter_mut().zip([1.0, -1.0, 0.0, -0.0, 1.0 - NEAREST, f64::NAN, 0.5]) {
                *c = edge;
            }
            let p: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
            let (mut fast, mut slow) = (vec![0.0; n], vec![0.0; n]);
            apply(&table, &cos, &p, 1.5, &mut fast);
            apply_scalar(&table, &cos, &p, 1.5, &mut slow);
            for i in 0..n {
                // Twelve terms, rounded once by fused and twice by plain multiplication and addition; |f| < 21.
                let bound = 24.0 * f64::EPSILON * 21.0 * (1.5 * p[i]).abs();
                assert!((fast[i] - slow[i]).abs() <= bound, "{n} {i} {}: {} {}", cos[i], fast[i], slow[i]);
            }
        }
    }

    #[test]
    fn a_value_does_not_depend_on_its_place() {
        let table = Table::build(|angle| angle.cos().powi(3));
        let cos: Vec<f64> = (0..23).map(|i| i as f64 / 23.0 - 0.4).collect();
        let mut all = vec![0.0; 23];
        apply(&table, &cos, &[0.7; 23], 1.1, &mut all);
        for i in 0..23 {
            let mut one = [0.0];
            apply(&table, &cos[i..=i], &[0.7], 1.1, &mut one);
            assert_eq!(one[0].to_bits(), all[i].to_bits());
        }
    }

    #[test]
    fn near_cosines_are_noticed() {
        let p = [0.5; 7];
        let mut dots = [1.0; 7];
        assert!(!cosines(&mut dots, &p, 1.0));
        assert_eq!(dots, [0.5; 7]);
        for (place, near) in [(0, 2.0), (5, -2.0), (6, 2.0 - NEAREST)] {
            let mut dots = [1.0; 7];
            dots[place] = near;
            assert!(cosines(&mut dots, &p, 1.0), "{place}");
        }
    }
}
