//! Curves against load, what is searched on them, and how representations change along them.

use super::*;
use ebbing::Context;

#[test]
fn curves_searches_and_ways_out() {
    let tasks = pair(24, 20, 15);
    let alphas: Vec<f64> = (0..60).map(|i| (0.12 * f64::from(i) - 2.0).exp()).collect();
    let curves =
        phase_curves(&tasks, &MultiHeadSettings::default(), &[f64::INFINITY, 1e8], &alphas, &Context::default())
            .unwrap();
    let critical = curves[0].critical.clone().unwrap();
    assert!(critical.alpha_c > 1.3 && critical.alpha_c < 50.0, "{}", critical.alpha_c);
    assert!(curves[1].critical.is_none());
    for point in &curves[0].points {
        let regime = point.factors.regime().unwrap();
        assert_eq!(regime, critical.regime(point.factors.alpha).0);
        let exponent = if regime == Regime::Overfitting { 0.5 } else { 0.0 };
        assert_eq!(point.g22.unwrap().exponent, exponent);
        assert_eq!(point.f21.coefficient.abs() > 1e-9, regime == Regime::Generalization);
        assert_eq!(point.near_critical, (point.factors.alpha / critical.alpha_c - 1.0).abs() < 1e-3);
    }
    // The general theory gives the same curve, point by point.
    let few = [alphas[10], alphas[30], alphas[50]];
    for (k, i) in [10, 30, 50].into_iter().enumerate() {
        let (point, chain) =
            (&curves[1].points[i], MultiHead::new(&tasks, &at(1e8, few[k]), &Context::default()).unwrap());
        // Rounding times √λ = 1e4 in overfitting.
        close(point.f21.coefficient, chain.forgetting(2, 1).unwrap(), 1e-6, 1e-6, "F21");
        close(point.g22.unwrap().coefficient, chain.generalization(2, 2).unwrap(), 1e-6, 0.0, "G22");
    }
    // α_c read off the curves at large λ: within the grid's spacing of 0.12.
    let f21: Vec<f64> = curves[1].points.iter().map(|p| p.f21.coefficient).collect();
    let g22: Vec<f64> = curves[1].points.iter().map(|p| p.g22.unwrap().coefficient).collect();
    let steep = alpha_c_from_curve(&alphas, &f21, CurveFeature::Steepest).unwrap().unwrap();
    let middle = alpha_c_from_curve(&alphas, &g22, CurveFeature::MidHeight).unwrap().unwrap();
    assert!((steep.alpha_c / critical.alpha_c).ln().abs() < 0.25, "{steep:?} {}", critical.alpha_c);
    assert!((middle.alpha_c / critical.alpha_c).ln().abs() < 0.5, "{middle:?} {}", critical.alpha_c);

    let inside = critical.locate(24, 24.0 / (1.0 + 0.5 * (critical.alpha_c - 1.0))).unwrap();
    assert_eq!(inside.regime, Regime::Overfitting);
    let narrow = if 24.0 / critical.alpha_c >= 1.5 { "below" } else { "no smaller width" };
    assert!(inside.advice.contains("above 24 hidden units") && inside.advice.contains(narrow), "{}", inside.advice);
    let out = inside.generalizes_below.unwrap();
    assert_eq!(critical.locate(24, 0.999 * out).unwrap().regime, Regime::Generalization);
    assert_eq!(critical.locate(24, 1.001 * inside.fixed_above).unwrap().regime, Regime::FixedRepresentations);
    assert!(critical.locate(24, out * 1.0005).unwrap().near_critical);
    // Where less than one unit would do, no width does.
    let mut beyond = critical.clone();
    beyond.alpha_c = 100.0;
    let answer = beyond.locate(24, 12.0).unwrap();
    assert!(
        answer.advice.contains("no smaller width generalizes") && answer.generalizes_below == Some(0.24),
        "{answer:?}"
    );
    assert!(critical.locate(24, 0.0).is_err() && critical.locate(24, 24.0).is_err());

    let settings = at(1.0, 1.0 + 0.5 * (critical.alpha_c - 1.0));
    let best = best_lambda(&tasks, &settings, 1e-2, 1e6, &Context::default()).unwrap();
    assert!(!best.at_edge, "{best:?}");
    assert!(best.curve.windows(2).all(|w| w[0].lambda < w[1].lambda));
    assert!(best.curve.iter().all(|p| p.worst() >= best.best.worst()));
    let ends = [best.curve[0], best.curve[best.curve.len() - 1]];
    assert!(ends.iter().all(|p| p.worst() > 1.01 * best.best.worst()), "{ends:?} {:?}", best.best);
    let warm =
        best_lambda(&tasks, &MultiHeadSettings { beta: 1e9, ..settings }, 1e-2, 1e6, &Context::default()).unwrap();
    // β = 1e9 stands for ∞ up to 1e-9 times the kernel's condition.
    close(warm.best.worst(), best.best.worst(), 1e-5, 0.0, "best at finite temperature");
}

#[test]
fn representations_in_the_three_regimes() {
    let tasks = pair(30, 25, 8);
    let two = limit(&tasks);
    let exact = two.critical_load().unwrap().alpha_c;
    let x = tasks[1].x.as_ref();
    let change = |tasks: &[Task], alpha: f64| {
        let two = limit(tasks);
        let point = two.point(alpha).unwrap();
        (point.regime().unwrap(), two.representation_change(&point, x).unwrap())
    };
    let differs = |a: &Mat<f64>, b: &Mat<f64>| {
        let (mut largest, mut size) = (0.0_f64, 0.0_f64);
        for i in 0..30 {
            for j in 0..30 {
                largest = largest.max((a[(i, j)] - b[(i, j)]).abs());
                size = size.max(a[(i, j)].abs());
            }
        }
        largest / size
    };
    let mut stream = Stream::new(12, "shuffle", 0);
    let shuffled = |k: usize, stream: &mut Stream| {
        let mut tasks = tasks.clone();
        let mut y = labels(&tasks[k].y);
        stream.shuffle(&mut y);
        tasks[k].y = column_matrix(&y);
        tasks
    };
    let (first, second) = (shuffled(0, &mut stream), shuffled(1, &mut stream));

    let (regime, fixed) = change(&tasks, 0.7);
    assert_eq!(regime, Regime::FixedRepresentations);
    assert!((0..30).all(|i| (0..30).all(|j| fixed[(i, j)] == 0.0)));

    let alpha = 1.0 + 0.3 * (exact - 1.0);
    let (regime, overfit) = change(&tasks, alpha);
    assert_eq!(regime, Regime::Overfitting);
    assert!((0..30).all(|i| overfit[(i, i)] > 0.0));
    let (regime, other) = change(&second, alpha);
    assert_eq!(regime, Regime::Overfitting);
    // No label enters: the same arithmetic.
    assert!(differs(&overfit, &other) < 1e-13);

    let alpha = 3.0 * exact;
    let (regime, general) = change(&tasks, alpha);
    assert_eq!(regime, Regime::Generalization);
    let (_, with_first) = change(&first, alpha);
    let (_, with_second) = change(&second, alpha);
    assert!(differs(&general, &with_first) > 1e-3 && differs(&general, &with_second) > 1e-3);
    // Beyond α_c what is learned follows the labels of task 2, within overfitting it does not.
    let aligned = |alpha: f64| {
        let point = two.point(alpha).unwrap();
        centered_alignment(two.learned_kernel(&point, x).unwrap().as_ref(), &labels(&tasks[1].y)).unwrap()
    };
    assert!(aligned(3.0 * exact) > aligned(1.0 + 0.3 * (exact - 1.0)), "{} {}", aligned(3.0 * exact), aligned(1.2));
    let finite = TwoTasks::new(&tasks, &at(10.0, 1.0), &Context::default()).unwrap();
    let point = finite.point(2.0).unwrap();
    assert!(matches!(finite.representation_change(&point, x), Err(Error::Setting { .. })));
}

#[test]
fn alignment_with_labels() {
    let y = [1.0, -1.0, 1.0, 1.0, -1.0];
    let mean = 0.2;
    let rank_one = Mat::from_fn(5, 5, |i, j| (y[i] - mean) * (y[j] - mean) + 3.0);
    close(centered_alignment(rank_one.as_ref(), &y).unwrap(), 1.0, 1e-14, 0.0, "alignment");
    let negative = Mat::from_fn(5, 5, |i, j| -2.0 * y[i] * y[j]);
    close(centered_alignment(negative.as_ref(), &y).unwrap(), -1.0, 1e-14, 0.0, "alignment");
    assert!(centered_alignment(rank_one.as_ref(), &[1.0; 5]).is_err());
    assert!(centered_alignment(rank_one.as_ref(), &y[..4]).is_err());
}
