//! Tables in single precision applied to columns of cosines: sixteen entries at a time with AVX-512, eight with AVX2, else one by
//! one.

use super::table::Table;

/// `out_i = p_i q f(cos_i)`.
pub(super) fn apply(table: &Table, cos: &[f32], p: &[f32], q: f32, out: &mut [f32]) {
    assert!(cos.len() == p.len() && cos.len() == out.len());
    #[cfg(target_arch = "x86_64")]
    {
        if vector::avx512() {
            // SAFETY: the processor has the features; lengths are equal.
            return unsafe { vector::sixteens(table, cos, p, q, out) };
        }
        if vector::avx2() {
            // SAFETY: the same.
            return unsafe { vector::eights(table, cos, p, q, out) };
        }
    }
    apply_scalar(table, cos, p, q, out);
}

fn apply_scalar(table: &Table, cos: &[f32], p: &[f32], q: f32, out: &mut [f32]) {
    for ((o, &c), p) in out.iter_mut().zip(cos).zip(p) {
        *o = p * q * table.evaluate(c);
    }
}

#[cfg(target_arch = "x86_64")]
mod vector {
    use crate::kernels::single::table::{PANELS, TERMS, Table};
    use std::arch::x86_64::*;

    pub fn avx512() -> bool {
        is_x86_feature_detected!("avx512f")
    }

    pub fn avx2() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    /// The largest number below [`PANELS`], so that its whole part is a panel.
    const LAST: f32 = PANELS as f32 * (1.0 - f32::EPSILON / 2.0);

    #[target_feature(enable = "avx512f")]
    pub fn sixteens(table: &Table, cos: &[f32], p: &[f32], q: f32, out: &mut [f32]) {
        let mut c = [[_mm512_setzero_ps(); 2]; TERMS];
        for (c, from) in c.iter_mut().zip(&table.coefficients) {
            // SAFETY: two times sixteen numbers.
            *c = unsafe { [_mm512_loadu_ps(from.as_ptr()), _mm512_loadu_ps(from[PANELS..].as_ptr())] };
        }
        let q = _mm512_set1_ps(q);
        let (panels, last) = (_mm512_set1_ps(PANELS as f32), _mm512_set1_ps(LAST));
        for i in (0..cos.len()).step_by(16) {
            let left = (cos.len() - i).min(16);
            let mask = ((1u32 << left) - 1) as __mmask16;
            // SAFETY: only the entries of the mask are read.
            let (x, p) = unsafe {
                (_mm512_maskz_loadu_ps(mask, cos.as_ptr().add(i)), _mm512_maskz_loadu_ps(mask, p.as_ptr().add(i)))
            };
            let a = _mm512_max_ps(_mm512_sub_ps(_mm512_set1_ps(1.0), _mm512_abs_ps(x)), _mm512_setzero_ps());
            let s = _mm512_mul_ps(_mm512_sqrt_ps(a), panels);
            let panel = _mm512_cvttps_epi32(_mm512_min_ps(s, last));
            let t = _mm512_sub_ps(_mm512_sub_ps(s, _mm512_cvtepi32_ps(panel)), _mm512_set1_ps(0.5));
            // The sign becomes the fifth bit of the place.
            let sign = _mm512_slli_epi32::<4>(_mm512_srli_epi32::<31>(_mm512_castps_si512(x)));
            let place = _mm512_or_si512(panel, sign);
            let of = |k: usize| _mm512_permutex2var_ps(c[k][0], place, c[k][1]);
            let mut value = of(TERMS - 1);
            for k in (0..TERMS - 1).rev() {
                value = _mm512_fmadd_ps(value, t, of(k));
            }
            let value = _mm512_mul_ps(_mm512_mul_ps(p, q), value);
            // SAFETY: only the entries of the mask are written.
            unsafe { _mm512_mask_storeu_ps(out.as_mut_ptr().add(i), mask, value) };
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn eights(table: &Table, cos: &[f32], p: &[f32], q: f32, out: &mut [f32]) {
        let (cos8, cos_rest) = cos.as_chunks::<8>();
        let (p8, p_rest) = p.as_chunks::<8>();
        let (out8, out_rest) = out.as_chunks_mut::<8>();
        let q = _mm256_set1_ps(q);
        for ((o, c), p) in out8.iter_mut().zip(cos8).zip(p8) {
            eight(table, c, p, q, o);
        }
        let n = cos_rest.len();
        if n > 0 {
            let (mut c, mut p, mut o) = ([0.0; 8], [0.0; 8], [0.0; 8]);
            c[..n].copy_from_slice(cos_rest);
            p[..n].copy_from_slice(p_rest);
            eight(table, &c, &p, q, &mut o);
            out_rest.copy_from_slice(&o[..n]);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn eight(table: &Table, cos: &[f32; 8], p: &[f32; 8], q: __m256, out: &mut [f32; 8]) {
        // SAFETY: loads of whole arrays.
        let (x, p) = unsafe { (_mm256_loadu_ps(cos.as_ptr()), _mm256_loadu_ps(p.as_ptr())) };
        let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), x);
        let a = _mm256_max_ps(_mm256_sub_ps(_mm256_set1_ps(1.0), size), _mm256_setzero_ps());
        let s = _mm256_mul_ps(_mm256_sqrt_ps(a), _mm256_set1_ps(PANELS as f32));
        let panel = _mm256_cvttps_epi32(_mm256_min_ps(s, _mm256_set1_ps(LAST)));
        let t = _mm256_sub_ps(_mm256_sub_ps(s, _mm256_cvtepi32_ps(panel)), _mm256_set1_ps(0.5));
        let sign = _mm256_slli_epi32::<4>(_mm256_srli_epi32::<31>(_mm256_castps_si256(x)));
        let place = _mm256_or_si256(panel, sign);
        // SAFETY: places are below twice PANELS: √ of a number in [0, 1], cut at the last panel.
        let of = |k: usize| unsafe { _mm256_i32gather_ps::<4>(table.coefficients[k].as_ptr(), place) };
        let mut value = of(TERMS - 1);
        for k in (0..TERMS - 1).rev() {
            value = _mm256_fmadd_ps(value, t, of(k));
        }
        // SAFETY: a store of a whole array.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), _mm256_mul_ps(_mm256_mul_ps(p, q), value)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn vector_and_scalar_code_agree() {
        let table = Table::build(|angle| (1.5 * angle.cos()).exp() - angle.minus.sqrt()).unwrap();
        let mut stream = Stream::new(5, "single simd test", 0);
        // Every remainder of a length by sixteen, and cosines at and beyond ±1.
        for n in (0..34).chain([4001]) {
            let mut cos: Vec<f32> = (0..n).map(|_| 2.0 * stream.uniform() as f32 - 1.0).collect();
            for (c, edge) in cos.iter_mut().zip([1.0, -1.0, 0.0, -0.0, 1.0000001, -1.0000001, 0.5]) {
                *c = edge;
            }
            let p: Vec<f32> = (0..n).map(|_| stream.normal() as f32).collect();
            let mut slow = vec![0.0; n];
            apply_scalar(&table, &cos, &p, 1.5, &mut slow);
            let mut ways: Vec<fn(&Table, &[f32], &[f32], f32, &mut [f32])> = vec![apply];
            #[cfg(target_arch = "x86_64")]
            if vector::avx2() {
                // SAFETY: the processor has the features.
                ways.push(|table, cos, p, q, out| unsafe { vector::eights(table, cos, p, q, out) });
            }
            for way in ways {
                let mut fast = vec![0.0; n];
                way(&table, &cos, &p, 1.5, &mut fast);
                for i in 0..n {
                    // Six terms, rounded once by fused and twice by plain multiplication and addition; |f| < 5.
                    let bound = 12.0 * f32::EPSILON * 5.0 * (1.5 * p[i]).abs();
                    assert!((fast[i] - slow[i]).abs() <= bound, "{n} {i} {}: {} {}", cos[i], fast[i], slow[i]);
                }
            }
        }
    }
}
