use super::*;
use crate::context::Context;
use crate::rng::Stream;
use crate::tasks::{Task, TaskSequence};
use crate::theory::single_head::{SingleHead, SingleHeadSettings};

fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut stream = Stream::new(seed, "direction tests", 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

/// `Σ σ_k u_k v_kᵀ` with orthonormal vectors drawn at random.
fn known(rows: usize, columns: usize, sizes: &[f64], seed: u64) -> Mat<f64> {
    let basis = |n: usize, seed: u64| {
        let g = normal(n, n, seed);
        SymmetricEigen::factor((&g + g.transpose()).as_ref(), "test").unwrap().vectors
    };
    let (u, v) = (basis(rows, seed), basis(columns, seed + 1));
    Mat::from_fn(rows, columns, |i, j| sizes.iter().enumerate().map(|(k, s)| s * u[(i, k)] * v[(j, k)]).sum())
}

fn of(change: &Mat<f64>) -> Directions {
    let before = normal(change.nrows(), change.ncols(), 99);
    Directions::new(before.as_ref(), (&before + change).as_ref(), "task 1").unwrap()
}

#[test]
fn singular_values_and_vectors_are_those_that_made_the_change() {
    let sizes = [5.0, 2.0, 1.0, 0.1];
    for (rows, columns) in [(30, 6), (6, 30), (4, 4)] {
        let change = known(rows, columns, &sizes, 1);
        let found = of(&change);
        assert_eq!(found.singular_values.len(), rows.min(columns));
        for (k, value) in found.singular_values.iter().enumerate() {
            let known = sizes.get(k).copied().unwrap_or(0.0);
            // Squares are known to rounding of the largest, 25: small values to a few parts in 10⁻⁷.
            assert!((value - known).abs() < 1e-6, "{rows} × {columns}: {value} {known}");
        }
        // 25 of 30.01 are 83 %, 29 are 97 %.
        assert_eq!((found.carrying, found.leading.len(), found.as_claimed), (2, 2, Some(true)));
        assert_eq!(
            (found.carrying(0.5).unwrap(), found.carrying(1.0).unwrap(), found.carrying(0.0).unwrap()),
            (1, 4, 0)
        );
        assert!((found.squared_change - 30.01).abs() < 1e-10);
        assert!((found.effective - 30.01f64.powi(2) / (625.0 + 16.0 + 1.0 + 1e-4)).abs() < 1e-10);
        // Vectors are orthonormal and give the change back along themselves.
        let (u, v) = (&found.over_examples, &found.over_classes);
        let among = |m: &Mat<f64>| (matmul(m.transpose(), m.as_ref()) - Mat::<f64>::identity(2, 2)).norm_max();
        assert!(among(u) < 1e-12 && among(v) < 1e-12);
        let along = matmul(matmul(u.transpose(), change.as_ref()).as_ref(), v.as_ref());
        assert!((along[(0, 0)] - 5.0).abs() < 1e-12 && (along[(1, 1)] - 2.0).abs() < 1e-12);
        let top = &found.leading[0];
        assert!(top.classes[0].weight > 0.0 && top.classes.len() <= LISTED && top.examples.len() <= LISTED);
        assert!(top.examples.windows(2).all(|w| w[0].weight.abs() >= w[1].weight.abs()));
        assert_eq!(top.examples[0].weight, u[(top.examples[0].index, 0)]);
    }
}

#[test]
fn many_equal_directions_are_no_few() {
    let found = of(&known(20, 12, &[1.0; 12], 3));
    assert_eq!((found.carrying, found.as_claimed, found.leading.len()), (11, Some(false), DESCRIBED));
    assert!((found.effective - 12.0).abs() < 1e-9);
}

#[test]
fn rows_and_columns_may_be_renamed_and_signs_turned() {
    let change = known(15, 5, &[3.0, 1.0], 5);
    let one = of(&change);
    let renamed = of(&Mat::from_fn(15, 5, |i, j| change[((i + 4) % 15, (j + 2) % 5)]));
    let opposite = of(&(-&change));
    for other in [&renamed, &opposite] {
        assert_eq!(other.carrying, one.carrying);
        one.singular_values.iter().zip(&other.singular_values).for_each(|(a, b)| assert!((a - b).abs() < 1e-7));
    }
    // The class stays, the examples turn.
    assert_eq!(opposite.leading[0].classes[0].index, one.leading[0].classes[0].index);
    let turned = opposite.leading[0].examples[0].weight + one.leading[0].examples[0].weight;
    assert!(turned.abs() < 1e-12);
    let there = one.leading[0].examples[0].index;
    assert_eq!(renamed.leading[0].examples[0].index, (there + 11) % 15);
}

#[test]
fn nothing_and_one_column_have_no_claim() {
    let still = of(&Mat::zeros(5, 3));
    assert_eq!((still.carrying, still.effective, still.as_claimed), (0, 0.0, None));
    assert!(still.leading.is_empty());
    let single = of(&normal(8, 1, 7));
    assert_eq!((single.carrying, single.as_claimed), (1, None));
    let (a, b) = (Mat::<f64>::zeros(3, 2), Mat::<f64>::zeros(2, 2));
    assert!(Directions::new(a.as_ref(), b.as_ref(), "task 1").is_err());
    let nan = Mat::from_fn(3, 2, |_, _| f64::NAN);
    assert!(Directions::new(a.as_ref(), nan.as_ref(), "task 1").unwrap_err().to_string().contains("row 1, column 1"));
}

#[test]
fn a_later_task_of_few_directions_is_found_in_the_features() {
    // Features: the second task lies along one of them, so that it moves the outputs of the first along that one alone.
    let (d, classes) = (10, 4);
    let y = |n: usize| Mat::from_fn(n, classes, |i, j| f64::from(u8::from(i % classes == j)));
    let first = Task::new(normal(40, d, 8), y(40)).with_test(normal(20, d, 9), y(20));
    let noise = normal(40, 1, 10);
    let along = Mat::from_fn(40, d, |i, j| if j == 3 { 1.0 + 0.1 * noise[(i, 0)] } else { 0.0 });
    let second = Task::new(along, Mat::from_fn(40, classes, |_, j| f64::from(u8::from(j == 2))));
    let sequence = TaskSequence::new(vec![first, Task { test: None, ..second }]).unwrap();
    let settings = SingleHeadSettings { beta: 100.0, ..Default::default() };
    let context = Context::default();
    let network = SingleHead::new(crate::theory::Inputs::Features(&sequence), &settings, &context).unwrap();
    let found = ForgettingDirections::of(&network, &sequence, &context).unwrap();
    assert_eq!(found.tasks.len(), 1);
    let train = &found.tasks[0].train;
    // A change of the weights of rank one, exactly.
    assert_eq!((train.carrying(1.0).unwrap(), train.carrying, train.leading[0].classes[0].index), (1, 1, 2));
    let w = train.in_features(sequence.tasks[0].x.as_ref()).unwrap();
    // `Xᵀ X e_3`: along the feature up to the sampling noise of 40 examples, 1/√40 for each of the others.
    assert!(w[(3, 0)].abs() > 0.85, "{}", w[(3, 0)]);
    assert_eq!(found.tasks[0].test.as_ref().unwrap().carrying, 1);
    assert!(train.in_features(normal(3, d, 1).as_ref()).is_err());
    assert!(serde_json::to_value(&found).unwrap()["tasks"][0]["train"]["carrying"] == 1);
}
