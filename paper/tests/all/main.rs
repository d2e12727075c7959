//! The program `ebbing-paper` from outside: what it prints and refuses, and that a figure is whole.

use ebbing::data::{ImportOptions, Places};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The program with this folder as its home, with nothing of this environment but `PATH`.
fn run(home: &Path, words: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ebbing-paper"));
    program.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home).current_dir(home);
    program.args(words.split_whitespace()).output().unwrap()
}

/// What it prints in an empty home.
#[track_caller]
fn done(words: &str) -> String {
    let output = run(tempfile::tempdir().unwrap().path(), words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one sentence on standard error where it refuses, without the program's name.
#[track_caller]
fn refusal_in(home: &Path, words: &str) -> String {
    let output = run(home, words);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert!(output.stdout.is_empty(), "printed before it failed");
    error.strip_prefix("ebbing-paper: ").expect("the program's name comes first").trim_end().to_string()
}

#[track_caller]
fn refusal(words: &str) -> String {
    refusal_in(tempfile::tempdir().unwrap().path(), words)
}

#[test]
fn figures_are_listed_and_unknown_ones_refused() {
    let text = done("list --embedded");
    assert!(text.starts_with("Figures of the paper"), "{text}");
    for help in ["--help", "figure --help", "list --help"] {
        let answer = done(help);
        assert!(answer.contains("Example"), "{help}: {answer}");
        assert!(format!("{text}{answer}").lines().all(|line| line.chars().count() <= 80), "{answer}");
    }
    let said = refusal("figure 17");
    assert!(said.contains("there is no figure '17'"), "{said}");
    assert!(refusal("figure").contains("see ebbing-paper figure --help"));
    assert!(refusal("").contains("see ebbing-paper --help"));
}

#[test]
fn costs_are_reported_for_fewer_seeds() {
    let cells = |words: &str| {
        let cost: Value = serde_json::from_str(&done(words)).unwrap();
        cost["estimates"][0]["cells"].as_u64().unwrap()
    };
    let all = cells("figure fig2 --embedded --dry-run --json");
    // Six seeds at every point of the quick grid.
    let fewer = cells("figure fig2 --embedded --dry-run --json --seeds 2");
    assert_eq!((all % 6, fewer), (0, all / 3));
    refusal("figure fig2 --seeds 0");
    let said = refusal("figure fig2 --seeds 3,1");
    assert!(said.contains("--seeds is 3,1; must be one number for figure 2"), "{said}");
    let said = refusal("figure S6 --seeds 3,x");
    assert!(said.contains("'3,x'") && said.contains("or two of them, the second no larger: 10,3"), "{said}");
}

#[test]
fn figures_of_other_images_are_recorded_or_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let refused = refusal_in(home, "figure 4 --data mnist-sample --dry-run");
    assert!(refused.contains("--data is mnist-sample") && refused.contains("several data sets"), "{refused}");
    let refused = refusal_in(home, "figure 6 --data no-such-set --dry-run");
    assert!(refused.contains("no-such-set") && refused.contains("ebbing data list"), "{refused}");
    // A small set of one's own: too few images for the figure, which is said before anything is computed.
    let file = home.join("few.csv");
    std::fs::write(&file, "label,a,b\n0,1,2\n1,2,1\n0,1,3\n1,3,1\n").unwrap();
    let places = Places::from_variables(|name| (name == "HOME").then(|| home.into()));
    places.import(&file, &ImportOptions::default(), false).unwrap();
    let refused = refusal_in(home, "figure 6 --data few");
    assert!(refused.contains("few"), "{refused}");
    assert!(!home.join("reproduction").exists());
}

/// Slurm's scripts start this program again, with the words that compute a figure.
#[test]
fn a_figure_is_submitted() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), "figure fig2 --embedded --seeds 1 --slurm --write-only --partition long --quiet");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let scripts = home.path().join("reproduction/figure-2-quick-seeds-1-embedded/slurm/001");
    let script = std::fs::read_to_string(scripts.join("array.sh")).unwrap();
    assert!(script.contains("#SBATCH --partition=long"), "{script}");
    let program = env!("CARGO_BIN_EXE_ebbing-paper");
    assert!(script.contains(&format!("exec {program} --threads 1 figure 2 --scale quick --out ")), "{script}");
    assert!(script.contains("--seeds 1 --embedded --cells "), "{script}");
}

/// Every command of this program that the pages show is one that it has.
#[test]
fn the_pages_show_commands_that_there_are() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut shown = 0;
    for page in ["docs/studies.md", "docs/numbers.md", "docs/howto/theorist.md", "README.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(top.join(page)).unwrap();
        // In a block of commands, or between backticks.
        for words in text.lines().flat_map(|line| line.split('`')) {
            let cargo = words.strip_prefix("cargo run --release -p ebbing-paper -- ");
            let Some(command) = cargo.or_else(|| words.strip_prefix("ebbing-paper ")) else { continue };
            let mut words = command.split(" #").next().unwrap().split_whitespace();
            let help = done(&format!("{} --help", words.next().unwrap()));
            for flag in words.filter(|word| word.starts_with("--")) {
                assert!(help.contains(flag), "{page}: `{command}`: no {flag}");
            }
            shown += 1;
        }
    }
    assert!(shown > 8, "only {shown} commands");
}
