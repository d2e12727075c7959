//! What a forecast tells of its own accuracy.

use crate::support::{Home, done};

#[test]
fn intervals_null_and_p_values_are_told_everywhere() {
    let home = Home::new();
    home.tasks(2, 40);
    let text = home.told("forecast --tasks tasks.npz --bootstrap 20 --shuffles 20 --out out");
    let title = "95.0 % intervals from 20 half samples of the examples; null and two-sided p";
    assert!(text.contains(title), "{text}");
    let head = text.lines().find(|line| line.contains("value")).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["pair", "value", "from", "to", "null", "p"]);
    // Targets do not enter the overlap of all features.
    let feature = text.lines().find(|line| line.contains("γ_feature") && line.ends_with("1.00"));
    assert!(feature.is_some(), "{text}");
    let csv = std::fs::read_to_string(home.join("out/order_parameters.csv")).unwrap();
    for column in ["gamma_RF_low", "gamma_RF_high", "conflict_null_mean", "F_21_null_sd", "F_21_p"] {
        assert!(csv.contains(column), "{column}: {csv}");
    }
    let report = std::fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(report.contains("half samples of the examples") && report.contains("How well order parameters are known"));
    assert!(home.join("out/intervals.svg").is_file());
    // Nothing of this where it was not asked for.
    let plain = done(&home.run("forecast --tasks tasks.npz --out plain"));
    assert!(!plain.contains("intervals") && !home.join("plain/intervals.svg").exists());
}
