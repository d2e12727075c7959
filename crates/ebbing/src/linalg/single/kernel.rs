//! `C ← (C +) alpha·Σ_k a_k b_kᵀ` for 16 rows and 6 columns, whose sums stay in registers.

/// Rows of the kernel: two registers of eight numbers.
pub(super) const ROWS: usize = 16;
/// Columns of the kernel: with two registers for A and one for B, 6 columns of sums fill all 16 registers but one.
pub(super) const COLS: usize = 6;

/// Whether this processor has the kernel's instructions and nothing better.
///
/// With registers of 16 numbers, faer's kernels are faster.
#[cfg(target_arch = "x86_64")]
pub(super) fn available() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && !has!("avx512f")
}

/// Whether this processor has the kernel's instructions.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn available() -> bool {
    false
}

/// The kernel: `depth` terms, A's as rows of 16, B's as rows of 6, one after the other.
///
/// # Safety
/// The kernel must be available, `a` and `b` hold all terms and be aligned to 32 bytes (`a`), and `c` be valid for
/// 6 columns of 16 entries, `stride` apart.
#[cfg(target_arch = "x86_64")]
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
    use std::arch::x86_64::*;
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

/// Never called where the kernel is not available.
///
/// # Safety
/// None can be met.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn micro(_: usize, _: *const f32, _: *const f32, _: f32, _: *mut f32, _: usize, _: bool) {
    unreachable!("the kernel is not available on this processor");
}
