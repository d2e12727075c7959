//! Inputs that a task holds more than once, with equal and with different targets, as real data have them.

use super::*;
use ebbing::theory::forecast::{Forecast, ForecastSettings};
use ebbing::theory::order_parameters::{OrderParameterSettings, order_parameters};

/// Which of its different inputs each row of a task is: two tasks have repeats, one has none.
const ROWS: [&[usize]; 3] = [&[0, 1, 2, 1, 3, 4, 1, 5], &[0, 1, 2, 3, 4, 5], &[3, 0, 1, 2, 0, 4]];

/// Tasks with repeats; the different inputs with the average of their targets; how often each occurs.
fn repeated(shared: bool) -> (TaskSequence, TaskSequence, Vec<Vec<f64>>) {
    let mut stream = Stream::new(5, "repeats", 0);
    let common = gauss(&mut stream, 2, 12);
    let (mut all, mut merged, mut counts) = (vec![], vec![], vec![]);
    for rows in ROWS {
        let n = rows.iter().max().unwrap() + 1;
        let own = gauss(&mut stream, n, 12);
        // Inputs 4 and 5, where there are some, are in every task.
        let x = Mat::from_fn(n, 12, |i, j| if shared && i >= 4 { common[(i - 4, j)] } else { own[(i, j)] });
        let y = gauss(&mut stream, rows.len(), 2);
        let count: Vec<f64> = (0..n).map(|g| rows.iter().filter(|row| **row == g).count() as f64).collect();
        let mean =
            |g: usize, c: usize| (0..rows.len()).filter(|&i| rows[i] == g).map(|i| y[(i, c)]).sum::<f64>() / count[g];
        merged.push(Task::new(x.clone(), Mat::from_fn(n, 2, mean)));
        let test = (gauss(&mut stream, 4, 12), gauss(&mut stream, 4, 2));
        all.push(Task::new(Mat::from_fn(rows.len(), 12, |i, j| x[(rows[i], j)]), y.clone()).with_test(test.0, test.1));
        counts.push(count);
    }
    (TaskSequence::new(all).unwrap(), TaskSequence::new(merged).unwrap(), counts)
}

fn learned(tasks: &TaskSequence, settings: &SingleHeadSettings) -> SingleHead {
    SingleHead::new(tasks, settings, &Context::default()).unwrap()
}

/// `|f − y|²/|y|²` of every row with its own target.
fn loss(f: &Mat<f64>, y: &Mat<f64>) -> f64 {
    (f - y).squared_norm_l2() / y.squared_norm_l2()
}

#[test]
fn a_row_that_occurs_w_times_is_one_row_at_w_times_beta() {
    let (tasks, merged, counts) = repeated(false);
    let (beta, query) = (7.0, gauss(&mut Stream::new(6, "repeats", 0), 5, 12));
    let settings = SingleHeadSettings { beta, ..settings(Mode::Rf, f64::INFINITY) };
    let kernel = Kernel::new(KernelKind::Nngp, relu(1), WeightPrior::new(f64::INFINITY, 1.0).unwrap(), 1, 1).unwrap();
    let k = |a: &Mat<f64>, b: &Mat<f64>| kernel.gram(a.as_ref(), b.as_ref()).unwrap();
    let (network, mut duals) = (learned(&tasks, &settings), vec![]);
    let at = |x: &Mat<f64>, duals: &[Mat<f64>]| {
        let mut f = Mat::<f64>::zeros(x.nrows(), 2);
        duals.iter().zip(&merged.tasks).for_each(|(u, task)| f += &k(x, &task.x) * u);
        f
    };
    for (t, task) in merged.tasks.iter().enumerate() {
        let mut own = k(&task.x, &task.x);
        (0..own.nrows()).for_each(|i| own[(i, i)] += 1.0 / (beta * counts[t][i]));
        duals.push(eliminate(own.as_ref(), (&task.y - at(&task.x, &duals)).as_ref()));
        // Rounding times condition numbers below 1e3.
        let gap = distance(network.mean(&query, t + 1).unwrap().as_ref(), at(&query, &duals).as_ref());
        assert!(gap < 1e-10, "after task {}: {gap:e}", t + 1);
        for (s, task) in tasks.tasks.iter().enumerate() {
            let want = loss(&at(&task.x, &duals), &task.y);
            within(network.forgetting().unwrap()[t][s], want, 1e-10, "training loss");
        }
    }
}

#[test]
fn without_temperature_equal_inputs_are_learned_as_their_average() {
    let query = gauss(&mut Stream::new(7, "repeats", 0), 5, 12);
    for shared in [false, true] {
        let (tasks, merged, _) = repeated(shared);
        for (mode, lambda) in ALL_MODES {
            let settings = SingleHeadSettings { variance: false, ..settings(mode, lambda) };
            let (network, known) = (learned(&tasks, &settings), learned(&merged, &settings));
            let forgetting = network.forgetting().unwrap();
            for t in 0..3 {
                let gap = distance(
                    network.mean(&query, t + 1).unwrap().as_ref(),
                    known.mean(&query, t + 1).unwrap().as_ref(),
                );
                assert!(gap < 1e-10, "{mode:?}, shared {shared}, after task {}: {gap:e}", t + 1);
                for (s, task) in tasks.tasks.iter().enumerate() {
                    let want = loss(&known.mean(&task.x, t + 1).unwrap(), &task.y);
                    within(forgetting[t][s], want, 1e-10, &format!("{mode:?}, training loss {t} {s}"));
                }
                let (a, b) = (network.variance(&query, t + 1).unwrap(), known.variance(&query, t + 1).unwrap());
                assert!(largest_difference(&a, &b) < 1e-10, "{mode:?}: {a:?} {b:?}");
            }
            // What one task holds twice with different targets is what is left of it.
            assert!(forgetting[0][0] > 0.01 && forgetting[1][1] < 1e-20, "{forgetting:?}");
            // Off by 1/β times the inverse of the smallest eigenvalue, which is above 1e-2. At λ = ∞ and a temperature the limits
            // do not commute.
            if (mode, lambda) != (Mode::Gibbs, f64::INFINITY) {
                let warm = learned(&tasks, &SingleHeadSettings { beta: 1e9, ..settings });
                let gap = distance(network.mean(&query, 3).unwrap().as_ref(), warm.mean(&query, 3).unwrap().as_ref());
                assert!(gap < 1e-5, "{mode:?}: {gap:e}");
            }
        }
    }
}

#[test]
fn forecasts_and_order_parameters_take_repeats() {
    for shared in [false, true] {
        let (tasks, merged, _) = repeated(shared);
        for theory in [
            settings(Mode::Rf, f64::INFINITY),
            settings(Mode::Ntk, f64::INFINITY),
            SingleHeadSettings { beta: 30.0, ..Default::default() },
        ] {
            let network = learned(&tasks, &theory);
            let settings = ForecastSettings { theory, resamples: 20, order: true, ..Default::default() };
            let found = Forecast::of(std::slice::from_ref(&tasks), &settings, &Context::default()).unwrap();
            let known = network.forecast().unwrap();
            for (t, s) in (0..3).flat_map(|t| (0..3).map(move |s| (t, s))) {
                within(found.forgetting.as_ref().unwrap().mean[t][s], known.forgetting[t][s], 1e-10, "F");
            }
            // The first two tasks, learned alone, are the first two of the sequence.
            within(found.pairs[0].values.f21, known.forgetting[1][0], 1e-9, "F_pair");
            assert!(found.order.is_some());
            let noted = found.notes.iter().any(|note| note.starts_with("3 examples repeat an input of their task"));
            assert_eq!(noted, theory.beta.is_infinite(), "{:?}", found.notes);
        }
        let of = |tasks: &TaskSequence| {
            order_parameters(tasks, &OrderParameterSettings::default(), &Context::default()).unwrap()
        };
        for (a, b) in of(&tasks).iter().zip(of(&merged)) {
            assert_eq!(a.ranks, b.ranks);
            // Features are those of the different inputs; what depends on targets has every one.
            within(a.values.gamma_feature, b.values.gamma_feature, 1e-10, "γ_feature");
        }
    }
}

#[test]
fn replay_and_features_take_repeats() {
    let (tasks, ..) = repeated(true);
    for selection in [Selection::Random, Selection::Greedy] {
        let replay = Replay { examples: 3, selection, ..Default::default() };
        let network = learned(&tasks, &SingleHeadSettings { replay, ..Default::default() });
        let f = network.forgetting().unwrap();
        assert!(f.iter().flatten().all(|f| f.is_finite()), "{selection:?}: {f:?}");
    }
    let features =
        SingleHead::new(Inputs::Features(&tasks), &SingleHeadSettings::default(), &Context::default()).unwrap();
    assert!(features.forgetting().unwrap()[0][0] > 0.01);
}
