//! The critical load α_c: closed forms, the estimate from γ_sim, and what lies between two tasks.

use super::*;
use ebbing::Context;

#[test]
fn critical_load_of_linear_networks_is_the_closed_form() {
    for seed in [5, 6, 7] {
        // As many inputs as twice the examples: a linear kernel of 15 examples has full rank.
        let tasks = pair(15, 30, seed);
        let settings =
            MultiHeadSettings { activation: Activation::Linear, sigma2: 0.8, ..MultiHeadSettings::default() };
        let critical = TwoTasks::new(&tasks, &settings, &Context::default()).unwrap().critical_load().unwrap();
        // Both are roots to rounding.
        close(critical.alpha_c_u11, critical.alpha_c, 1e-9, 0.0, "with the general closed form");
        let settings = MultiHeadSettings { sigma2: 1.0, ..settings };
        let scaled = normalized_labels(&tasks, &settings).unwrap();
        let critical = TwoTasks::new(&scaled, &settings, &Context::default()).unwrap().critical_load().unwrap();
        assert!(critical.label_scale.iter().all(|s| (s - 1.0).abs() < 1e-12), "{:?}", critical.label_scale);
        close(critical.alpha_c_gamma_sim, critical.alpha_c, 1e-9, 0.0, "with gamma_sim");
    }
}

#[test]
fn similarity_is_that_of_the_order_parameters() {
    let mut tasks = pair(24, 30, 20);
    shorten(&mut tasks[0], 17);
    let critical = limit(&tasks).critical_load().unwrap();
    let want = ebbing::theory::order_parameters::pair(
        &tasks[0],
        &tasks[1],
        &OrderParameterSettings::default(),
        &Context::default(),
    )
    .unwrap()
    .values;
    // The pencil's basis against Cholesky factors: rounding times condition numbers below 1e3.
    close(critical.gamma_sim, want.gamma_sim, 1e-11, 1.0, "gamma_sim");
    close(critical.gamma_feature, want.gamma_feature, 1e-11, 1.0, "gamma_feature");
    close(critical.cos, want.cos, 1e-11, 1.0, "cos");
    close(critical.proj, want.proj, 1e-11, 1.0, "proj");
}

#[test]
fn intermediate_data_sets_move_the_critical_load() {
    let tasks = pair(16, 20, 16);
    // One data set between the two, half of its examples from either task.
    let mixed = Task::new(
        Mat::from_fn(16, 20, |i, j| tasks[i % 2].x[(i, j)]),
        Mat::from_fn(16, 1, |i, _| tasks[i % 2].y[(i, 0)]),
    );
    let three = vec![tasks[0].clone(), mixed, tasks[1].clone()];
    let alphas: Vec<f64> = (1..=24).map(|i| (0.15 * f64::from(i)).exp()).collect();
    let settings = at(1e6, 1.0);
    let (direct, smooth) = (
        sequence_curve(&tasks, &settings, &alphas, &Context::default()).unwrap(),
        sequence_curve(&three, &settings, &alphas, &Context::default()).unwrap(),
    );
    let read = |curve: &SequenceCurve| {
        let g: Vec<f64> = curve.points.iter().map(|p| p.g_tt.unwrap().coefficient).collect();
        alpha_c_from_curve(&alphas, &g, CurveFeature::MidHeight).unwrap().unwrap().alpha_c
    };
    let (direct, smooth) = (read(&direct), read(&smooth));
    assert!(smooth < direct, "{smooth} {direct}");
}

#[test]
fn a_negative_gamma_sim_is_said_beside_the_exact_answer() {
    // Inputs of task 2 close to those of task 1, labels unrelated: γ_feature near 0 with a large projection.
    for seed in 0..200 {
        let mut stream = Stream::new(seed, "negative gamma", 0);
        let first = random_task(&mut stream, 6, 60);
        let mut second = random_task(&mut stream, 6, 60);
        for j in 0..60 {
            second.x[(0, j)] = first.x[(0, j)] + 0.05 * stream.normal();
        }
        let mut first = first;
        first.y = column_matrix(&[5.0, 0.1, -0.1, 0.1, -0.1, 0.1]);
        second.y = column_matrix(&[0.01, 1.0, -1.0, 1.0, -1.0, 1.0]);
        let critical = limit(&[first, second]).critical_load().unwrap();
        if critical.gamma_sim <= 0.0 {
            assert_eq!(critical.alpha_c_gamma_sim, f64::INFINITY);
            assert!(critical.notes.iter().any(|n| n.contains("γ_sim law gives no generalization regime")));
            assert!(critical.alpha_c > 1.0);
            return;
        }
    }
    panic!("no draw with a negative gamma_sim");
}
