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
        let told = home.told(&format!("{words} --out out"));
        assert!(told.contains("report: out/report.html"), "{words}: {told}");
        let page = fs::read_to_string(home.join("out/report.html")).unwrap();
        let opening = between(&page, "<main>", "<figure>");
        assert!(opening.matches("<li>").count() <= 5 && opening.contains("class=\"about\""), "{words}: {opening}");
        assert!(!opening.contains("_{") && !opening.contains("^{"), "{words}: marks are shown as they are: {opening}");
        let figures = page.matches("<figure>").count();
        assert!(figures > 0 && page.matches("class=\"card stacked\"").count() == figures, "{words}");
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
        home.told(&format!("{words} --out out"));
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
    let words = |flags: &str| home.told(&format!("{sweep} {flags}")).split_whitespace().collect::<Vec<_>>().join(" ");
    let free = words("");
    assert!(free.contains("overfits task 2 (F₂₁ → 0, G₂₂ grows as"), "{free}");
    let bounded = words("--readout-norm 2");
    assert!(bounded.contains("nothing grows without bound") && !bounded.contains("G₂₂ grows as"), "{bounded}");
}
