//! `C ← (C +) alpha·Σ_k a_k b_kᵀ` for 16 rows and 6 columns, whose sums stay in registers.

use std::arch::x86_64::*;

/// Rows of the kernel: two registers of eight numbers.
pub(super) const ROWS: usize = 16;
/// Columns of the kernel: with two registers for A and one for B, 6 columns of sums fill all 16 registers but one.
pub(super) const COLS: usize = 6;

/// Whether this processor has the kernel's instructions and nothing better.
///
/// With registers of 16 numbers, faer's kernels are faster.
pub(super) fn available() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && !has!("avx512f")
}

/// The kernel: `depth` terms, A's as rows of 16, B's as rows of 6, one after the other.
///
/// # Safety
/// The kernel must be available, `a` and `b` hold all terms and be aligned to 32 bytes (`a`), and `c` be valid for
/// 6 columns of 16 entries, `stride` apart.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn micro(
    depth: usize,
    mut a: *const f32,
    mut b: *const f32,
    alpha: f32,
    c: *mut f32,
    stride: usize,
    add: bool,
) {
    /// How far ahead of their use, in numbers, A's terms are fetched.
    const AHEAD: usize = 16 * ROWS;
    let mut sums = [[_mm256_setzero_ps(); 2]; COLS];
    macro_rules! term {
        ($k:expr) => {
            // SAFETY: the caller's promise. A fetch ahead of use may reach beyond the end: it never faults.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(a.wrapping_add(AHEAD + $k * ROWS).cast());
                let rows = [_mm256_load_ps(a.add($k * ROWS)), _mm256_load_ps(a.add($k * ROWS + 8))];
                for j in 0..COLS {
                    let b = _mm256_broadcast_ss(&*b.add($k * COLS + j));
                    sums[j][0] = _mm256_fmadd_ps(rows[0], b, sums[j][0]);
                    sums[j][1] = _mm256_fmadd_ps(rows[1], b, sums[j][1]);
                }
            }
        };
    }
    for j in 0..COLS {
        let column = c.wrapping_add(j * stride);
        _mm_prefetch::<_MM_HINT_T0>(column.cast());
        _mm_prefetch::<_MM_HINT_T0>(column.wrapping_add(ROWS - 1).cast());
    }
    for _ in 0..depth / 4 {
        term!(0);
        term!(1);
        term!(2);
        term!(3);
        (a, b) = (a.wrapping_add(4 * ROWS), b.wrapping_add(4 * COLS));
    }
    for _ in 0..depth % 4 {
        term!(0);
        (a, b) = (a.wrapping_add(ROWS), b.wrapping_add(COLS));
    }
    let alpha = _mm256_set1_ps(alpha);
    for j in 0..COLS {
        for half in 0..2 {
            // SAFETY: the caller's promise on `c`.
            unsafe {
                let entries = c.add(j * stride + 8 * half);
                let start = if add { _mm256_loadu_ps(entries) } else { _mm256_setzero_ps() };
                _mm256_storeu_ps(entries, _mm256_fmadd_ps(alpha, sums[j][half], start));
            }
        }
    }
}

/// Turns W rows of eight numbers, `from_stride` apart, into eight rows of W, `to_stride` apart; W is 6 or 8.
///
/// # Safety
/// The kernel must be available, and all these numbers be valid to read and to write.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn turn<const W: usize>(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
    let mut r = [_mm256_setzero_ps(); 8];
    for i in 0..W {
        // SAFETY: the caller's promise on `from`.
        r[i] = unsafe { _mm256_loadu_ps(from.add(i * from_stride)) };
    }
    // Pairs of rows, then fours, then eights, are interleaved.
    let mut t = r;
    for i in (0..8).step_by(2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for i in [0, 4] {
        r[i] = _mm256_shuffle_ps::<0x44>(t[i], t[i + 2]);
        r[i + 1] = _mm256_shuffle_ps::<0xee>(t[i], t[i + 2]);
        r[i + 2] = _mm256_shuffle_ps::<0x44>(t[i + 1], t[i + 3]);
        r[i + 3] = _mm256_shuffle_ps::<0xee>(t[i + 1], t[i + 3]);
    }
    for i in 0..4 {
        t[i] = _mm256_permute2f128_ps::<0x20>(r[i], r[i + 4]);
        t[i + 4] = _mm256_permute2f128_ps::<0x31>(r[i], r[i + 4]);
    }
    for (q, row) in t.into_iter().enumerate() {
        // SAFETY: the caller's promise on `to`.
        unsafe {
            let to = to.add(q * to_stride);
            if W == 8 {
                _mm256_storeu_ps(to, row);
            } else {
                _mm_storeu_ps(to, _mm256_castps256_ps128(row));
                _mm_storel_pd(to.add(4).cast(), _mm_castps_pd(_mm256_extractf128_ps::<1>(row)));
            }
        }
    }
}
