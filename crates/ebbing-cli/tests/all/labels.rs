//! What labels become is said wherever tasks are taken.

use crate::support::{Home, done, done_json};
use ebbing::data::{Array, Values, write_npz};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;

/// Two tasks of random inputs with integer labels, class `first + 2 t` or the one after it, in `tasks.npz`.
fn tasks(home: &Home, next: i64) {
    let mut stream = Stream::new(1, "labels test", 0);
    let mut arrays = Vec::new();
    for t in 0..2i64 {
        let x = Mat::from_fn(20, 30, |_, _| stream.normal());
        let y = (0..20).map(|i| next * t + i % 2).collect();
        arrays.push((format!("x_{}", t + 1), Array::from_mat(x.as_ref())));
        arrays.push((format!("y_{}", t + 1), Array { shape: vec![20], values: Values::Integers(y) }));
    }
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    write_npz(home.join("tasks.npz"), &named).unwrap();
}

#[test]
fn classes_are_told_by_check_forecast_and_phase() {
    let home = Home::new();
    tasks(&home, 2);
    let four = "4 classes (0, 1, 2, 3), one target column each";
    let check = done(&home.run("check tasks.npz"));
    assert!(check.contains(four) && check.contains("more: ebbing phase"), "{check}");
    let told = done(&home.run("forecast --tasks tasks.npz"));
    let (head, rest) = told.split_at(200);
    assert!(head.replace('\n', " ").contains("; 4 classes (0, 1, 2, 3)"), "{head}");
    assert!(rest.replace('\n', " ").contains(&format!("Note: {four}.")), "{rest}");
    assert_eq!(done_json(&home.run("forecast --tasks tasks.npz --json"))["forecast"]["notes"][0], four);
    // A readout per task: two classes each, ±1.
    let phase = done(&home.run("phase --tasks tasks.npz")).replace('\n', " ");
    assert!(phase.contains("in each task the smaller class is -1, the larger +1"), "{phase}");
    let critical = |home: &Home| done_json(&home.run("phase --tasks tasks.npz --json"))["critical_load"].clone();
    let own = critical(&home);
    tasks(&home, 0);
    assert_eq!(critical(&home), own);
    let told = done(&home.run("forecast --tasks tasks.npz"));
    assert!(told.contains("classes 0 and 1 are -1 and +1"), "{told}");
}
