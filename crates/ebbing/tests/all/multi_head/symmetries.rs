//! What must not matter: equal tasks, signs and scales of labels, later tasks, threads, the way of computing.

use super::*;
use ebbing::Context;

#[test]
fn two_tasks_agree_with_the_general_chain() {
    let tasks = pair(24, 30, 1);
    for (lambda, alpha) in [(0.0, 0.7), (0.5, 2.0), (20.0, 0.4), (20.0, 1.7), (1e4, 3.0), (1e6, 6.0)] {
        let chain = MultiHead::new(&tasks, &at(lambda, alpha), &Context::default()).unwrap();
        let two = TwoTasks::new(&tasks, &at(lambda, alpha), &Context::default()).unwrap();
        let point = two.point(alpha).unwrap();
        let what = format!("lambda {lambda}, alpha {alpha}");
        // Two routes to the same equations, each to rounding times the kernels' condition (below 1e4).
        let tolerance = 1e-9;
        close(point.u11, chain.u1(1, 1), tolerance, 0.0, &what);
        close(point.u12, chain.u1(1, 2), tolerance, 1e-3, &what);
        close(point.u22.coefficient, chain.u1(2, 2), tolerance, 0.0, &what);
        close(point.d.coefficient, chain.d(2, 2), tolerance, 0.0, &what);
        for head in [1, 2] {
            let test = tasks[head - 1].test.as_ref().unwrap();
            let a = chain.predict(head, 2, test.x.as_ref()).unwrap();
            let b = two.predict(head, &point, test.x.as_ref()).unwrap();
            assert!(largest_difference(&a.mean, &b.mean) < 1e-9, "{what}");
            assert!(largest_difference(&a.variance, &b.variance) < 1e-9 * point.u22.coefficient, "{what}");
            let y = labels(&test.y);
            let maps = two.maps(head, test.x.as_ref(), &y).unwrap();
            let loss = two.losses(&maps, &[point.clone(), two.point(alpha * 1.1).unwrap()])[0];
            close(loss.coefficient, a.loss(test.y.as_ref()).coefficient, 1e-9, 0.0, &what);
            let alone = two.alone(head, std::slice::from_ref(&point)).unwrap()[0];
            close(loss.coefficient / alone, chain.generalization(2, head).unwrap(), 1e-9, 0.0, &what);
            let (a, b) =
                (chain.learned_kernel(test.x.as_ref()).unwrap(), two.learned_kernel(&point, test.x.as_ref()).unwrap());
            let size = (0..a.nrows()).fold(0.0, |m: f64, i| m.max(a[(i, i)].abs()));
            for i in 0..a.nrows() {
                for j in 0..a.nrows() {
                    close(b[(i, j)], a[(i, j)], 1e-8, size, &what);
                }
            }
        }
    }
}

#[test]
fn identical_tasks() {
    let mut tasks = pair(20, 30, 2);
    tasks[1] = tasks[0].clone();
    let two = limit(&tasks);
    let critical = two.critical_load().unwrap();
    assert_eq!(critical.alpha_c, 1.0);
    assert!(critical.notes.iter().any(|n| n.contains("no overfitting regime")), "{:?}", critical.notes);
    // A cosine of 1 up to rounding times the kernel's condition (about 1e2).
    close(critical.gamma_sim, 1.0, 1e-11, 0.0, "gamma_sim");
    for alpha in [0.3, 0.9, 1.2, 3.0] {
        let point = two.point(alpha).unwrap();
        let want = if alpha < 1.0 { point.u11 - (1.0 - alpha) } else { point.u11 };
        close(point.u12, want, 1e-10, 0.0, "u12");
        close(point.u0.at(1.0), want, 1e-10, 0.0, "u0");
        close(point.u22.at(1.0), point.u11, 1e-10, 0.0, "u22");
        let f21 = two.losses(&two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0].y)).unwrap(), &[point])[0];
        assert_eq!(f21.exponent, 0.0);
        // Rounding of an exact zero: squares of 1e-10 and variances of 1e-12.
        assert!(f21.coefficient.abs() < 1e-11, "alpha {alpha}: {f21:?}");
    }
}

#[test]
fn flipping_the_second_labels_flips_only_the_overlap() {
    let tasks = pair(18, 25, 3);
    let mut flipped = tasks.clone();
    flipped[1].y = Mat::from_fn(18, 1, |i, _| -tasks[1].y[(i, 0)]);
    for lambda in [0.0, 7.0, f64::INFINITY] {
        let settings = at(lambda, 1.0);
        let (a, b) = (
            TwoTasks::new(&tasks, &settings, &Context::default()).unwrap(),
            TwoTasks::new(&flipped, &settings, &Context::default()).unwrap(),
        );
        for alpha in [0.5, 1.6, 30.0] {
            let (p, q) = (a.point(alpha).unwrap(), b.point(alpha).unwrap());
            // The same arithmetic with other signs.
            for (x, y) in [(p.u12, -q.u12), (p.d.coefficient, q.d.coefficient), (p.u0.coefficient, q.u0.coefficient)] {
                close(x, y, 1e-12, 1e-12, &format!("lambda {lambda}, alpha {alpha}"));
            }
            assert_eq!(p.regime(), q.regime());
        }
        if lambda.is_infinite() {
            let (p, q) = (a.critical_load().unwrap(), b.critical_load().unwrap());
            close(p.alpha_c, q.alpha_c, 1e-12, 0.0, "alpha_c");
            close(p.gamma_sim, q.gamma_sim, 1e-12, 0.0, "gamma_sim");
        }
    }
}

#[test]
fn labels_scaled_after_the_decomposition_are_scaled_labels() {
    let tasks: Vec<Task> = pair(20, 30, 8)
        .into_iter()
        .map(|t| {
            let (x, y) = (t.x.subrows(0, 5).to_owned(), t.y.subrows(0, 5).to_owned());
            t.with_test(x, y)
        })
        .collect();
    let settings = MultiHeadSettings { sigma2: 0.8, ..MultiHeadSettings::default() };
    let before = TwoTasks::new(&normalized_labels(&tasks, &settings).unwrap(), &settings, &Context::default()).unwrap();
    let after = TwoTasks::new(&tasks, &settings, &Context::default()).unwrap().with_normalized_labels().unwrap();
    // Rounding, through kernels of condition numbers below 1e4.
    close(after.critical_load().unwrap().alpha_c, before.critical_load().unwrap().alpha_c, 1e-10, 0.0, "alpha_c");
    let (a, b) = (after.curve(&[0.4, 1.3, 9.0]).unwrap(), before.curve(&[0.4, 1.3, 9.0]).unwrap());
    for (a, b) in a.points.iter().zip(&b.points) {
        close(a.factors.u11, b.factors.u11, 1e-10, 0.0, "u11");
        close(a.factors.u22.coefficient, b.factors.u22.coefficient, 1e-10, 0.0, "u22");
        close(a.f21.coefficient, b.f21.coefficient, 1e-10, 1.0, "F_21");
        close(a.g22.unwrap().coefficient, b.g22.unwrap().coefficient, 1e-10, 1.0, "G_22");
    }
    let finite = TwoTasks::new(&tasks, &MultiHeadSettings { lambda: 3.0, ..settings }, &Context::default()).unwrap();
    assert!(finite.with_normalized_labels().unwrap_err().to_string().contains("lambda is 3"));
}

#[test]
fn up_to_six_tasks() {
    let mut stream = Stream::new(9, "multi-head test", 0);
    let base = random_task(&mut stream, 16, 24);
    let mut tasks = vec![base.clone()];
    for size in [16, 10, 16, 12, 14] {
        let mut next = variant(&base, 0.6, 0.2, &mut stream);
        shorten(&mut next, size);
        tasks.push(next);
    }
    for (lambda, width) in [(0.0, 20.0), (2.0, 40.0), (2.0, 8.0), (300.0, 10.0), (1e6, 12.0)] {
        for beta in [f64::INFINITY, 200.0] {
            let settings = MultiHeadSettings { lambda, beta, width: Some(width), ..MultiHeadSettings::default() };
            let all = MultiHead::new(&tasks, &settings, &Context::default()).unwrap();
            assert!(all.residuals().iter().all(|r| r.residual < 1e-10));
            assert_eq!(all.residuals().len(), 36);
            for t in 1..=6 {
                // Learning a later task leaves earlier factors untouched.
                let part = MultiHead::new(&tasks[..t], &settings, &Context::default()).unwrap();
                for s in 1..=t {
                    assert_eq!(part.u1(t, s), all.u1(t, s));
                }
                let own = &tasks[t - 1];
                let newest = all.predict(t, t, own.x.as_ref()).unwrap();
                if beta.is_infinite() {
                    // Interpolation: rounding times condition numbers (below 1e3) and the size of u1.
                    let scale = all.u1(t, t).max(1.0);
                    assert!(largest_difference(&newest.mean, &labels(&own.y)) < 1e-11 * scale);
                    assert!(newest.variance.iter().all(|v| v.abs() < 1e-11 * scale), "{:?}", newest.variance);
                } else {
                    assert!(newest.variance.iter().all(|v| *v > 0.0 && *v < 1.0), "{:?}", newest.variance);
                }
            }
            for head in 1..=6 {
                let f = all.forgetting(6, head).unwrap();
                assert!(f.is_finite() && f > -1e-11, "lambda {lambda}, head {head}: {f}");
            }
        }
    }
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    // Large enough that products and factorizations are divided among threads.
    let tasks = pair(160, 40, 21);
    let run = |threads: usize| {
        on_threads(threads, || {
            let alphas = [0.4, 0.9, 1.3, 2.2, 7.0];
            let curves = phase_curves(
                &tasks,
                &MultiHeadSettings::default(),
                &[f64::INFINITY, 50.0],
                &alphas,
                &Context::default(),
            )
            .unwrap();
            let chain =
                MultiHead::new(&tasks, &MultiHeadSettings { beta: 100.0, ..at(50.0, 1.3) }, &Context::default())
                    .unwrap();
            (curves, chain.u1(2, 2), chain.forgetting(2, 1).unwrap(), chain.generalization(2, 2).unwrap())
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}
