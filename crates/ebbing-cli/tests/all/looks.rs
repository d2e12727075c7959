//! What people look at: reports that open with a few bullets, figures that say what they show and mark the reader's own case.

use crate::support::Home;
use std::fs;

/// The text between two marks, from the first of the one to the next of the other.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("{from} is missing")) + from.len();
    &text[start..start + text[start..].find(to).unwrap_or_else(|| panic!("{to} is missing"))]
}

#[test]
fn every_report_opens_with_bullets_and_says_what_its_figures_show() {
    let home = Home::new();
    home.tasks(2, 40);
    for words in [
        "forecast --tasks tasks.npz --depths 1,2",
        "advise --tasks tasks.npz",
        "phase --tasks tasks.npz --width 20",
        "phase --values 0,0.2,0.4 --curves 0.2 --examples 40 --test-examples 20",
        "phase --length 3 --examples 20 --test-examples 20 --alpha 0.5:4:4",
        "train --tasks tasks.npz --width 50 --max-steps 50",
    ] {
        fs::remove_dir_all(home.join("out")).ok();
        let answer = home.text_of(&format!("{words} --out out"));
        assert!(answer.contains("report: out/report.html"), "{words}: {answer}");
        let page = fs::read_to_string(home.join("out/report.html")).unwrap();
        let opening = between(&page, "<main>", "<figure");
        assert!(opening.matches("<li>").count() <= 5 && opening.contains("class=\"about\""), "{words}: {opening}");
        assert!(!opening.contains("_{") && !opening.contains("^{"), "{words}: marks are shown as they are: {opening}");
        // Charts of the answer that stand side by side are narrow as they are.
        let figures = page.matches("<figure").count();
        let (front, wide) = (page.matches("<figure>\n<h2>").count(), page.matches("class=\"card stacked\"").count());
        assert!(figures > 0 && wide + front == figures, "{words}");
        for svg in page.split("<svg ").skip(1) {
            let (spoken, title) = (between(svg, "aria-label=\"", "\""), between(svg, "<title>", "</title>"));
            let shows = spoken.strip_prefix(title.trim_end_matches('.')).unwrap_or(spoken);
            // A finding has numbers of this run.
            assert!(shows.contains(|c: char| c.is_ascii_digit()), "{words}: {spoken}");
        }
    }
}

#[test]
fn the_width_penalty_and_depth_asked_about_are_marked() {
    let home = Home::new();
    home.tasks(2, 40);
    let figure = |words: &str, name: &str| {
        home.text_of(&format!("{words} --out out"));
        fs::read_to_string(home.join("out").join(name)).unwrap()
    };
    let place = figure("phase --tasks tasks.npz --width 20 --lambda 100,inf", "phase.svg");
    assert!(place.contains(">N = 20<") && place.contains(">λ = 100<"), "{place}");
    let longer = figure("phase --length 3 --examples 20 --alpha 0.5:4:4 --width 10", "phase.svg");
    assert!(longer.contains(">N = 10<"));
    let depth = figure("forecast --tasks tasks.npz --depth 2 --depths 1,2,3", "depth.svg");
    assert!(depth.contains(">this network, L = 2<"));
}

#[test]
fn a_bound_on_readouts_is_known_to_the_sentence_on_overfitting() {
    let home = Home::new();
    let sweep = "phase --values 0.1,0.4 --curves 0.4 --examples 40 --test-examples 0";
    let words =
        |flags: &str| home.text_of(&format!("{sweep} {flags}")).split_whitespace().collect::<Vec<_>>().join(" ");
    let free = words("");
    assert!(free.contains("overfits task 2 (F₂₁ → 0, G₂₂ grows as"), "{free}");
    let bounded = words("--readout-norm 2");
    assert!(bounded.contains("nothing grows without bound") && !bounded.contains("G₂₂ grows as"), "{bounded}");
}

#[test]
fn files_of_a_phase_diagram_record_what_was_asked() {
    let home = Home::new();
    home.tasks(3, 40);
    home.text_of("phase --tasks tasks.npz --pair 1,3 --width 20 --alpha 0.5,2 --lambda 10,inf --out out");
    let answer = home.json("out/phase.json")["metadata"]["settings"]["settings"].clone();
    assert_eq!((&answer["width"], &answer["pair"]), (&20.0.into(), &serde_json::json!([1, 3])));
    assert_eq!((&answer["lambdas"], &answer["alpha"]), (&serde_json::json!([10.0, "inf"]), &"0.5,2".into()));
    let page = fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(page.contains("&quot;width&quot;: 20") && page.contains("&quot;pair&quot;"));
}

#[test]
fn symbols_have_one_notation() {
    let home = Home::new();
    home.tasks(4, 40);
    for words in ["phase --values 0,0.2,1 --curves 0.2 --examples 40 --test-examples 20", "forecast --tasks tasks.npz"]
    {
        let answer = home.text_of(&format!("{words} --out out"));
        let page = fs::read_to_string(home.join("out/report.html")).unwrap();
        let read = between(&page, "<main>", "<figure");
        for raw in ["gamma_", "alpha_c", "lambda", "γ_sim", "γ_RF", "F_max", "e^("] {
            assert!(!read.contains(raw), "{words}: {raw} in the report");
        }
        for raw in ["gamma_", "alpha_c", "lambda "] {
            assert!(!answer.contains(raw), "{words}: {raw} in {answer}");
        }
    }
}

#[test]
fn a_sweep_of_values_and_penalties_tells_them_apart() {
    let home = Home::new();
    let words =
        "phase --values 0.05,0.15,0.4 --curves 0.05,0.15,0.4 --lambda 1e2,1e4,inf --examples 40 --alpha 0.5:4:4";
    home.text_of(&format!("{words} --out out"));
    let svg = fs::read_to_string(home.join("out/phase.svg")).unwrap();
    for name in ["permutation ratio 0.05", "permutation ratio 0.4", "λ = 100", "λ → ∞"] {
        assert_eq!(svg.matches(&format!(">{name}<")).count(), 1, "{name}: colors and dashes have samples of their own");
    }
    assert!(!svg.contains("0.05, λ = 100"));
}

#[test]
fn features_are_called_features() {
    let home = Home::new();
    home.tasks(3, 40);
    let answer = home.text_of("forecast --features tasks.npz --shuffles 40 --out out");
    assert!(answer.replace('\n', " ").contains("a linear readout of them learns, seed"), "{answer}");
    let page = fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(page.contains("<h1>Expect to lose ") && !page.contains("random features,"), "{page}");
    let figure = fs::read_to_string(home.join("out/intervals.svg")).unwrap();
    assert!(figure.contains(">1→2<") && figure.contains("Of 3 pairs "), "{figure}");
}
