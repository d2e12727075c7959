//! Kernels against reference numbers, sampled networks, limits and symmetries.

use ebbing::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/kernels.json");
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str::<Vec<Value>>(&text).unwrap()
}

fn vector(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|a| a.as_f64().unwrap()).collect()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|a| a * a).sum::<f64>().sqrt()
}

/// Asserts `|got − want| ≤ bound`.
#[track_caller]
fn close(got: f64, want: f64, bound: f64, what: &str) {
    let error = (got - want).abs();
    assert!(error <= bound, "{what}: {got:e} against {want:e}, off by {error:e} > {bound:e}");
}

#[test]
fn single_pairs_match_sixty_digit_references() {
    let cases = cases();
    assert_eq!(cases.len(), 456);
    for (number, case) in cases.iter().enumerate() {
        let f = |name: &str| case[name].as_f64().unwrap();
        let time = |name: &str| case[name].as_u64().unwrap() as usize;
        let activation: Activation = serde_json::from_value(case["activation"].clone()).unwrap();
        let arch = Architecture { activation, depth: time("depth") };
        let prior = WeightPrior::new(f("lambda"), f("sigma2")).unwrap();
        let (t, s) = (time("t"), time("s"));
        let (x, x2) = (vector(&case["x"]), vector(&case["xp"]));
        let value = |kind| Kernel::new(kind, arch, prior, t, s).unwrap().pair(&x, &x2).unwrap();
        let what = |name| format!("case {number}, {name}: {case}");
        close(prior.m1(t, s), f("m1"), 1e-12 * f("m1"), &what("m1"));
        close(prior.m0(t, s), f("m0"), 1e-12 * f("m0"), &what("m0"));
        // The accuracies that the kernels promise: 1e-12 relative, 1e-14 absolute below 1e-2.
        for (kind, name) in [(KernelKind::K1, "k1"), (KernelKind::K0, "k0")] {
            let want = f(name);
            close(value(kind), want, if want.abs() < 1e-2 { 1e-14 } else { 1e-12 * want.abs() }, &what(name));
        }
        // Relative accuracy means nothing at a zero crossing: below 1e-2 of the natural scale it is absolute.
        let floor = 1e-2 * prior.m1_minus_m0(t, s) * norm(&x) * norm(&x2) / x.len() as f64;
        for (kind, name) in [(KernelKind::KTilde, "k_tilde"), (KernelKind::DeltaK, "delta_k")] {
            close(value(kind), f(name), 1e-9 * f(name).abs().max(floor), &what(name));
        }
    }
}
