//! Factorizations are judged as LAPACK's are: by residuals scaled with n, ε and the norm, over sizes and condition numbers.

use crate::support::{gauss, labels, on_threads};
use ebbing::Error;
use ebbing::linalg::{
    Cholesky, Mat, MatRef, Pencil, PseudoInverse, SymmetricEigen, column, dot, matmul, matmul_into, matvec,
};
use ebbing::rng::Stream;

const SIZES: [usize; 8] = [0, 1, 2, 3, 5, 10, 50, 200];
const CONDITIONS: [f64; 5] = [1.0, 1e3, 1e7, 1e11, 1e14];
/// LAPACK's threshold for scaled residuals: above it an algorithm is called wrong, below it lies rounding.
const THRESHOLD: f64 = 30.0;

fn normal_matrix(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    gauss(&mut Stream::new(seed, "test matrix", 0), rows, columns)
}

/// `Q diag(values) Qᵀ` with Q a product of random reflections.
fn with_spectrum(values: &[f64], seed: u64) -> Mat<f64> {
    let n = values.len();
    let mut a = Mat::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 });
    let mut stream = Stream::new(seed, "test reflections", n as u64);
    for _ in 0..n.min(20) {
        let v: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let scale = 2.0 / dot(&v, &v);
        for _ in 0..2 {
            // (I − s v vᵀ) A, then transposed: two rounds make (I − s v vᵀ) A (I − s v vᵀ).
            let va = matvec(a.transpose(), &v);
            a = Mat::from_fn(n, n, |j, i| a[(i, j)] - scale * v[i] * va[j]);
        }
    }
    Mat::from_fn(n, n, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))
}

/// A spectrum from 1 down to 1/condition in equal ratios.
fn spectrum(n: usize, condition: f64) -> Vec<f64> {
    (0..n).map(|i| condition.powf(-(i as f64) / (n.max(2) - 1) as f64)).collect()
}

fn norm(a: MatRef<'_, f64>) -> f64 {
    a.norm_l2()
}

/// `‖difference‖_F / (n ε scale)`.
fn scaled(difference: &Mat<f64>, scale: f64) -> f64 {
    let (n, size) = (difference.nrows() as f64, norm(difference.as_ref()));
    if size == 0.0 { 0.0 } else { size / (n * f64::EPSILON * scale) }
}

fn identity(n: usize) -> Mat<f64> {
    Mat::from_fn(n, n, |i, j| f64::from(u8::from(i == j)))
}

/// Every size with every condition number.
fn cases() -> impl Iterator<Item = (usize, f64, Mat<f64>)> {
    SIZES.into_iter().flat_map(|n| CONDITIONS.map(|c| (n, c, with_spectrum(&spectrum(n, c), 1 + n as u64))))
}

#[test]
fn cholesky_residuals() {
    for (n, condition, a) in cases() {
        let f = Cholesky::factor(a.as_ref(), "test").unwrap();
        let case = format!("n = {n}, condition {condition:e}");
        let recomposed = matmul(f.l(), f.l().transpose());
        assert!(scaled(&(&recomposed - &a), norm(a.as_ref())) < THRESHOLD, "{case}");
        assert!(f.residual(a.as_ref()) < THRESHOLD, "{case}");

        let b = normal_matrix(n, 3, 5);
        let x = f.solve(b.as_ref());
        let left = matmul(a.as_ref(), x.as_ref()) - &b;
        assert!(scaled(&left, norm(a.as_ref()) * norm(x.as_ref())) < THRESHOLD, "{case}");
        let x0 = labels(&b);
        let single = f.solve_vec(&x0);
        let left = matmul(a.as_ref(), column(&single)) - column(&x0);
        assert!(scaled(&left, norm(a.as_ref()) * norm(column(&single))) < THRESHOLD, "{case}");
    }
}

#[test]
fn a_wrong_factor_has_a_large_residual() {
    let a = with_spectrum(&spectrum(20, 10.0), 3);
    let other = with_spectrum(&spectrum(20, 10.0), 4);
    let f = Cholesky::factor(a.as_ref(), "test").unwrap();
    assert!(f.residual(other.as_ref()) > 1e10);
}

#[test]
fn half_solves_and_log_determinant() {
    for n in SIZES {
        let values = spectrum(n, 1e4);
        let a = with_spectrum(&values, 9);
        let f = Cholesky::factor(a.as_ref(), "test").unwrap();
        let b = normal_matrix(n, 4, 2);
        let lower = f.half_solve(b.as_ref());
        let upper = f.half_solve_transposed(b.as_ref());
        // Triangular solves are backward stable whatever the condition.
        let scale = |x: &Mat<f64>| norm(f.l()) * norm(x.as_ref());
        assert!(scaled(&(matmul(f.l(), lower.as_ref()) - &b), scale(&lower)) < THRESHOLD);
        assert!(scaled(&(matmul(f.l().transpose(), upper.as_ref()) - &b), scale(&upper)) < THRESHOLD);
        let mut in_place = b.clone();
        f.solve_in_place(in_place.as_mut());
        assert_eq!(in_place, f.half_solve_transposed(lower.as_ref()));
        // Each eigenvalue moves by at most about n ε ‖A‖, that is, relatively by n ε · 1e4; there are n of them.
        let exact: f64 = values.iter().map(|v| v.ln()).sum();
        assert!((f.logdet() - exact).abs() <= (n * n) as f64 * 1e4 * f64::EPSILON, "n = {n}");
    }
}

#[test]
fn factoring_in_place_gives_the_same_factor_and_the_same_report() {
    for n in [0, 1, 5, 63, 64, 65, 129, 300] {
        let a = with_spectrum(&spectrum(n, 1e5), 9);
        let copied = Cholesky::factor(a.as_ref(), "test").unwrap();
        let owned = Cholesky::factor_owned(a, "test").unwrap();
        assert_eq!(copied.l(), owned.l(), "n = {n}");
        assert_eq!(copied.condition(), owned.condition());
    }
    for bad in [1, 70, 140, 299] {
        let mut x = normal_matrix(300, 400, 1);
        for k in 0..400 {
            x[(bad, k)] = x[(0, k)];
        }
        let a = matmul(x.as_ref(), x.transpose());
        let from_copy = Cholesky::factor(a.as_ref(), "test").unwrap_err().to_string();
        assert!(from_copy.contains(&format!("rows 1 and {} are equal", bad + 1)), "{from_copy}");
        assert_eq!(Cholesky::factor_owned(a, "test").unwrap_err().to_string(), from_copy);
    }
}

#[test]
fn condition_estimate_is_within_a_factor_three() {
    let one_norm = |a: MatRef<'_, f64>| a.col_iter().map(|c| c.norm_l1()).fold(0.0, f64::max);
    for (n, condition, a) in cases().filter(|(n, ..)| *n > 0) {
        let f = Cholesky::factor(a.as_ref(), "test").unwrap();
        let exact = one_norm(a.as_ref()) * one_norm(f.solve(identity(n).as_ref()).as_ref());
        // The estimate is a lower bound up to the rounding of solves with L: condition(L) n ε < 1e-5.
        assert!(f.condition() <= exact * (1.0 + 1e-5), "n = {n}, condition {condition:e}");
        assert!(f.condition() >= exact / 3.0, "n = {n}, condition {condition:e}");
    }
}

#[test]
fn digits_follow_the_condition() {
    let good = Cholesky::factor(with_spectrum(&spectrum(10, 1e7), 1).as_ref(), "kernel of task 1").unwrap();
    // ε · 1e7 leaves 8.65 digits; the one-norm condition exceeds the spectral one by at most n = 10.
    assert!((7.6..=8.7).contains(&good.digits()));
    assert_eq!(good.require_digits("u").unwrap(), good.digits());
    let poor = Cholesky::factor(with_spectrum(&spectrum(10, 1e13), 1).as_ref(), "kernel of task 1").unwrap();
    let error = poor.require_digits("the forgetting of task 1").unwrap_err();
    assert!(matches!(error, Error::LostAccuracy { .. }));
    assert!(error.to_string().starts_with("the forgetting of task 1: only about"), "{error}");
    assert!(error.to_string().contains("kernel of task 1"), "{error}");
}

/// The facts of an [`Error::NotPositiveDefinite`]: pivot, its value, the smallest eigenvalue, the advice.
fn refused(a: &Mat<f64>) -> (usize, f64, f64, String) {
    match Cholesky::factor(a.as_ref(), "kernel of task 2").unwrap_err() {
        Error::NotPositiveDefinite { matrix, pivot, size, pivot_value, smallest_eigenvalue, advice } => {
            assert_eq!((matrix.as_str(), size), ("kernel of task 2", a.nrows()));
            (pivot, pivot_value, smallest_eigenvalue, advice)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn dependent_rows_are_named() {
    for (factor, relation) in [(1.0, "equal"), (-1.0, "opposite"), (2.5, "proportional")] {
        let mut x = normal_matrix(20, 30, 8);
        for k in 0..30 {
            x[(17, k)] = factor * x[(3, k)];
        }
        let a = matmul(x.as_ref(), x.transpose());
        let (pivot, value, smallest, advice) = refused(&a);
        assert_eq!(pivot, 17);
        assert!(value.abs() <= 20.0 * f64::EPSILON * a[(17, 17)]);
        // A singular matrix: zero up to the rounding n ε ‖A‖.
        assert!(smallest.abs() <= 20.0 * f64::EPSILON * norm(a.as_ref()));
        let expected = format!("rows 4 and 18 are {relation}: remove one of each pair, or set beta to ");
        assert!(advice.starts_with(&expected), "{advice}");
        // The ridge 1/β that is suggested helps.
        let beta: f64 = advice[expected.len()..].split(' ').next().unwrap().parse().unwrap();
        let ridge = 1.0 / beta;
        let mended = Mat::from_fn(20, 20, |i, j| a[(i, j)] + if i == j { ridge } else { 0.0 });
        assert!(Cholesky::factor(mended.as_ref(), "mended").is_ok());
    }
}

#[test]
fn many_equal_rows_are_counted() {
    let x = Mat::from_fn(6, 10, |_, k| 1.0 + k as f64);
    let (.., advice) = refused(&matmul(x.as_ref(), x.transpose()));
    assert!(advice.contains("rows 1 and 2 are equal") && advice.contains("and 10 more"), "{advice}");
}

#[test]
fn singular_and_indefinite_matrices_are_refused() {
    // More examples than features: singular, but no two rows alike. Each of these passes or fails a plain
    // factorization by the luck of rounding.
    for seed in 0..20 {
        let x = normal_matrix(50, 20, seed);
        let (pivot, value, smallest, advice) = refused(&matmul(x.as_ref(), x.transpose()));
        assert!(pivot >= 20 && value.is_finite() && smallest.is_finite(), "seed {seed}");
        assert!(advice.contains("linearly dependent"), "{advice}");
    }
    let (pivot, value, smallest, advice) = refused(&Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 }));
    assert_eq!((pivot, value), (1, -3.0));
    // Eigenvalues 3 and −1: two dimensions span everything, so that only rounding is left.
    assert!((smallest + 1.0).abs() < 1e-12);
    assert!(advice.contains("indefinite"), "{advice}");
    // An evenly spaced spectrum from −0.3 to 1 is the hardest to part; the estimate is never below, and within 1 %.
    let values: Vec<f64> = (0..40).map(|i| -0.3 + 1.3 * i as f64 / 39.0).collect();
    let (.., smallest, _) = refused(&with_spectrum(&values, 2));
    assert!((-0.3 - 1e-13..-0.297).contains(&smallest), "{smallest}");
}

#[test]
fn zero_and_tiny_matrices() {
    let zero = Mat::zeros(1, 1);
    let (pivot, value, smallest, advice) = refused(&zero);
    assert_eq!((pivot, value, smallest), (0, 0.0, 0.0));
    assert!(advice.contains("diagonal is zero at row 1"), "{advice}");
    let negative = Mat::from_fn(1, 1, |_, _| -2.0);
    let (pivot, value, smallest, _) = refused(&negative);
    assert_eq!((pivot, value, smallest), (0, -2.0, -2.0));
    // Scale is no matter: diagonal scaling over 300 orders of magnitude leaves a matrix well conditioned.
    let diagonal = Mat::from_fn(3, 3, |i, j| if i == j { [1e-150, 1.0, 1e150][i] } else { 0.0 });
    assert!(Cholesky::factor(diagonal.as_ref(), "diagonal").is_ok());
    // Too large to shift within the range of f64: still a report without NaN.
    let huge = Mat::from_fn(2, 2, |_, _| 8e307);
    let (_, value, smallest, _) = refused(&huge);
    assert!(!value.is_nan() && !smallest.is_nan());
}

#[test]
fn input_that_is_not_finite_or_not_square_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let a = Mat::from_fn(3, 3, |i, j| if (i, j) == (2, 1) { bad } else { f64::from(u8::from(i == j)) });
        let good = identity(3);
        let errors = [
            Cholesky::factor(a.as_ref(), "kernel").unwrap_err(),
            Cholesky::factor_owned(a.clone(), "kernel").unwrap_err(),
            SymmetricEigen::factor(a.as_ref(), "kernel").unwrap_err(),
            Pencil::factor(a.as_ref(), good.as_ref(), "kernel").unwrap_err(),
            Pencil::factor(good.as_ref(), a.as_ref(), "kernel").unwrap_err(),
            PseudoInverse::factor(a.as_ref(), None, "kernel").unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), format!("kernel: entry (2, 1) is {bad}; it must be finite"));
        }
    }
    let wide = Mat::<f64>::zeros(2, 3);
    let message = "kernel: it has 2 rows and 3 columns; it must be square";
    assert_eq!(Cholesky::factor(wide.as_ref(), "kernel").unwrap_err().to_string(), message);
    assert_eq!(SymmetricEigen::factor(wide.as_ref(), "kernel").unwrap_err().to_string(), message);
    let overflowing = Mat::from_fn(3, 3, |_, _| f64::MAX);
    let error = Cholesky::factor(overflowing.as_ref(), "kernel").unwrap_err();
    assert!(error.to_string().contains("scale it down"), "{error}");
}

#[test]
fn eigen_residuals() {
    for (n, condition, a) in cases() {
        let case = format!("n = {n}, condition {condition:e}");
        let e = SymmetricEigen::factor(a.as_ref(), "test").unwrap();
        let v = &e.vectors;
        let scaled_vectors = Mat::from_fn(n, n, |i, j| v[(i, j)] * e.values[j]);
        let residual = scaled(&(matmul(a.as_ref(), v.as_ref()) - &scaled_vectors), norm(a.as_ref()));
        let orthogonality = scaled(&(matmul(v.transpose(), v.as_ref()) - identity(n)), 1.0);
        assert!(residual < THRESHOLD && orthogonality < THRESHOLD, "{case}: {residual}, {orthogonality}");
        assert!(e.residual < THRESHOLD && e.orthogonality < THRESHOLD, "{case}");
        assert!(e.values.is_sorted(), "{case}");
        // Weyl: every eigenvalue is right to n ε ‖A‖₂, and ‖A‖₂ = 1; the reflections that made A add about 20 ε √n.
        let mut exact = spectrum(n, condition);
        exact.reverse();
        let worst = e.values.iter().zip(&exact).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(worst <= THRESHOLD * (n + 20) as f64 * f64::EPSILON, "{case}: {worst:e}");
    }
    // Only the lower half is read.
    let a = Mat::from_fn(2, 2, |i, j| [[2.0, f64::NAN], [1.0, 2.0]][i][j]);
    let e = SymmetricEigen::factor(a.as_ref(), "half").unwrap();
    // Eigenvalues 1 and 3: a few roundings of numbers up to 3.
    assert!((e.values[0] - 1.0).abs() < 1e-14 && (e.values[1] - 3.0).abs() < 1e-14);
}

#[test]
fn small_matrices_are_decomposed_as_well_as_large_ones() {
    let mut stream = Stream::new(4, "small matrices", 0);
    let (n, power) = (120, -40);
    let x = Mat::from_fn(n, n, |_, _| stream.normal());
    let a = matmul(x.as_ref(), x.transpose());
    let small = Mat::from_fn(n, n, |i, j| a[(i, j)] * 2f64.powi(power));
    let (large, small) =
        (SymmetricEigen::factor(a.as_ref(), "a").unwrap(), SymmetricEigen::factor(small.as_ref(), "small").unwrap());
    // Of the order of 1 for a good decomposition, whatever the norm.
    assert!(small.residual < 10.0 && small.orthogonality < 10.0, "{} {}", small.residual, small.orthogonality);
    for (large, small) in large.values.iter().zip(&small.values) {
        // Backward errors of n ε times the norm, which is the largest eigenvalue.
        assert!((small * 2f64.powi(-power) - large).abs() < 1e-11 * 5e2, "{small} {large}");
    }
}

#[test]
fn pencil_residuals() {
    for (n, condition, b) in cases() {
        let case = format!("n = {n}, condition {condition:e}");
        let indefinite: Vec<f64> = (0..n).map(|i| (0.7 * i as f64).cos()).collect();
        let a = with_spectrum(&indefinite, 99);
        let p = Pencil::factor(a.as_ref(), b.as_ref(), "test").unwrap();
        let v = p.vectors.as_ref();
        let largest = p.values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let scaled_vectors = Mat::from_fn(n, n, |i, j| v[(i, j)] * p.values[j]);
        let difference = matmul(a.as_ref(), v) - matmul(b.as_ref(), scaled_vectors.as_ref());
        let scale = norm(v) * (norm(a.as_ref()) + norm(b.as_ref()) * largest);
        assert!(scaled(&difference, scale) < THRESHOLD, "{case}");
        assert!(p.residual < THRESHOLD, "{case}: {}", p.residual);
        // Vᵀ B V = I up to the rounding of the product itself, ε ‖B‖ ‖V‖².
        let gram = matmul(v.transpose(), matmul(b.as_ref(), v).as_ref());
        assert!(scaled(&(gram - identity(n)), 1.0 + norm(b.as_ref()) * norm(v) * norm(v)) < THRESHOLD, "{case}");
        assert!(p.values.is_sorted(), "{case}");
    }
}

#[test]
fn pencil_finds_known_eigenvalues() {
    // A = M D Mᵀ and B = M Mᵀ have the generalized eigenvalues D.
    let n = 60;
    let exact: Vec<f64> = (0..n).map(|i| i as f64 - 20.0).collect();
    let m = normal_matrix(n, n, 12);
    let md = Mat::from_fn(n, n, |i, j| m[(i, j)] * exact[j]);
    let a = matmul(md.as_ref(), m.transpose());
    let b = matmul(m.as_ref(), m.transpose());
    let p = Pencil::factor(a.as_ref(), b.as_ref(), "test").unwrap();
    for (x, y) in p.values.iter().zip(&exact) {
        // Perturbation theory: an error of n ε ‖A‖ is amplified by ‖B⁻¹‖, here by the condition number.
        assert!((x - y).abs() <= n as f64 * f64::EPSILON * p.condition * 40.0, "{x} {y}");
    }
}

#[test]
fn pencil_errors() {
    let rank_one = Mat::from_fn(3, 3, |_, _| 1.0);
    let error = Pencil::factor(identity(3).as_ref(), rank_one.as_ref(), "pencil at λ = 2").unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error}");
    let error = Pencil::factor(identity(3).as_ref(), identity(2).as_ref(), "pencil").unwrap_err();
    assert_eq!(error.to_string(), "pencil: the two matrices of the pencil have 3 and 2 rows");
}

#[test]
fn pseudo_inverse_meets_the_moore_penrose_conditions() {
    for (n, features) in [(0, 3), (1, 1), (5, 2), (50, 20), (50, 80), (200, 60)] {
        let x = normal_matrix(n, features, 3);
        let a = matmul(x.as_ref(), x.transpose());
        let p = PseudoInverse::factor(a.as_ref(), None, "kernel").unwrap();
        assert_eq!(p.rank(), n.min(features));
        if n > features {
            // Clear cut: what is dropped is rounding, what is kept is not.
            assert!(p.largest_dropped().unwrap() < 1e-3 * p.tolerance().max(p.smallest_kept().unwrap()));
        }
        let inverse = p.solve(identity(n).as_ref());
        let (a_norm, i_norm) = (norm(a.as_ref()), norm(inverse.as_ref()));
        let projector = matmul(a.as_ref(), inverse.as_ref());
        // Products of A and A⁺ round to n ε ‖A‖ ‖A⁺‖ times what they multiply.
        let first = matmul(projector.as_ref(), a.as_ref()) - &a;
        let second = matmul(inverse.as_ref(), projector.as_ref()) - &inverse;
        assert!(scaled(&first, a_norm * a_norm * i_norm) < THRESHOLD);
        assert!(scaled(&second, a_norm * i_norm * i_norm) < THRESHOLD);
        assert!(scaled(&(&projector - projector.transpose()), a_norm * i_norm) < THRESHOLD);
        let half = p.half_solve(identity(n).as_ref());
        assert_eq!(half.nrows(), p.rank());
        let squared = matmul(half.transpose(), half.as_ref());
        assert!(scaled(&(squared - &inverse), i_norm) < THRESHOLD);
        let ones = vec![1.0; n];
        let left = column(&p.solve_vec(&ones)) - matmul(inverse.as_ref(), column(&ones));
        assert!(scaled(&left, i_norm * (n as f64).sqrt()) < THRESHOLD);
    }
}

#[test]
fn pseudo_inverse_takes_a_tolerance_and_refuses_what_is_no_kernel() {
    let a = with_spectrum(&[1.0, 0.5, 1e-3, 1e-6], 4);
    assert_eq!(PseudoInverse::factor(a.as_ref(), Some(1e-4), "kernel").unwrap().rank(), 3);
    assert_eq!(PseudoInverse::factor(a.as_ref(), Some(0.1), "kernel").unwrap().rank(), 2);
    assert_eq!(PseudoInverse::factor(Mat::zeros(3, 3).as_ref(), None, "kernel").unwrap().rank(), 0);
    for bad in [-0.1, 1.0, f64::NAN] {
        assert!(matches!(PseudoInverse::factor(a.as_ref(), Some(bad), "kernel"), Err(Error::Setting { .. })));
    }
    let indefinite = with_spectrum(&[1.0, -0.5], 4);
    let error = PseudoInverse::factor(indefinite.as_ref(), None, "kernel of task 1").unwrap_err();
    assert!(error.to_string().starts_with("kernel of task 1: eigenvalue -5.000e-1 is below zero"), "{error}");
}

#[test]
fn products() {
    for (n, k, m) in [(0, 3, 2), (3, 0, 2), (1, 5, 1), (7, 9, 4), (70, 33, 50)] {
        let (a, b) = (normal_matrix(n, k, 1), normal_matrix(k, m, 2));
        let exact = |i: usize, j: usize| (0..k).map(|l| a[(i, l)] * b[(l, j)]).sum::<f64>();
        let plain = Mat::from_fn(n, m, exact);
        let c = matmul(a.as_ref(), b.as_ref());
        // Either order of summation errs by at most k ε |a||b| per entry.
        let close = |x: &Mat<f64>, y: &Mat<f64>| {
            norm((x - y).as_ref()) <= 4.0 * k as f64 * f64::EPSILON * norm(a.as_ref()) * norm(b.as_ref())
        };
        assert!(close(&c, &plain));
        let mut sum = plain.clone();
        matmul_into(sum.as_mut(), 1.0, -1.0, a.as_ref(), b.as_ref());
        assert!(close(&sum, &Mat::zeros(n, m)));
        for j in 0..m {
            let y = matvec(a.as_ref(), b.col_as_slice(j));
            assert!(close(&Mat::from_fn(n, 1, |i, _| y[i]), &Mat::from_fn(n, 1, |i, _| plain[(i, j)])));
        }
    }
    for n in [0, 1, 7, 8, 9, 100] {
        let x: Vec<f64> = (1..=n).map(|i| i as f64).collect();
        // Integers: exact in any order.
        assert_eq!(dot(&x, &x), (n * (n + 1) * (2 * n + 1) / 6) as f64);
    }
}

/// Every bit of what the library computes from one set of matrices.
fn everything(n: usize) -> Vec<u64> {
    let x = normal_matrix(n, n + 20, 6);
    let a = matmul(x.as_ref(), x.transpose());
    let b = with_spectrum(&spectrum(n, 1e3), 2);
    let f = Cholesky::factor(a.as_ref(), "a").unwrap();
    let e = SymmetricEigen::factor(a.as_ref(), "a").unwrap();
    let p = Pencil::factor(b.as_ref(), a.as_ref(), "a").unwrap();
    let pseudo = PseudoInverse::factor(a.as_ref(), Some(0.1), "a").unwrap();
    let vector = labels(&x);
    let numbers = [f.logdet(), f.condition(), f.residual(a.as_ref()), e.residual, e.orthogonality, p.residual];
    let vectors = [&e.values, &p.values, &matvec(a.as_ref(), &vector), &f.solve_vec(&vector)].map(|v| v.to_vec());
    let matrices = [
        f.l().to_owned(),
        f.solve(b.as_ref()),
        f.half_solve(b.submatrix(0, 0, n, 3)),
        f.half_solve_transposed(b.as_ref()),
        e.vectors,
        p.vectors,
        pseudo.solve(b.as_ref()),
        a,
    ];
    let entries = matrices.iter().flat_map(|m| m.col_iter().flat_map(|c| c.iter().copied().collect::<Vec<_>>()));
    numbers.into_iter().chain(vectors.into_iter().flatten()).chain(entries).map(f64::to_bits).collect()
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    for n in [3, 40, 150, 400] {
        let run = |threads| on_threads(threads, || everything(n));
        let one = run(1);
        for threads in [2, 3] {
            let differing = one.iter().zip(&run(threads)).filter(|(x, y)| x != y).count();
            assert_eq!(differing, 0, "{threads} threads, n = {n}: {differing} of {} numbers differ", one.len());
        }
    }
}
