//! What every program is expected to know: version, help, completions, citation, and how to refuse.

use crate::support::{Home, clean, done, refusal, run, stdout};
use std::fs;

#[test]
fn version_and_help() {
    let version = run("--version");
    assert_eq!(stdout(&version), concat!("ebbing ", env!("CARGO_PKG_VERSION"), "\n"));

    let text = done(&run("--help"));
    assert!(subcommands(&text).contains(&"cite".to_string()), "{text}");
    assert_help_shows_examples(&[]);
}

/// The names that clap lists under "Commands:".
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    // Names are indented by two; what is said of them goes on further to the right.
    let names = lines.filter_map(|l| l.strip_prefix("  ")).filter(|l| !l.starts_with(' '));
    names.filter_map(|l| l.split_whitespace().next()).map(str::to_string).collect()
}

/// Every subcommand at every level shows itself in an example, within 80 columns.
fn assert_help_shows_examples(command: &[String]) {
    let help = stdout(&run(&format!("{} --help", command.join(" "))));
    let call = ["ebbing".to_string()].iter().chain(command).cloned().collect::<Vec<_>>().join(" ");
    let examples = help.split("\nExample").nth(1).unwrap_or_else(|| panic!("{call} has no example:\n{help}"));
    assert!(examples.contains(&format!("{call} ")) || examples.contains(&format!("{call}\n")), "{call}:\n{help}");
    assert!(help.lines().all(|l| l.chars().count() <= 80), "wider than 80 columns:\n{help}");
    for name in subcommands(&help) {
        assert_help_shows_examples(&[command, &[name]].concat());
    }
}

#[test]
fn completions_know_the_subcommands() {
    for (shell, sign) in [("bash", "complete -F _ebbing"), ("zsh", "#compdef ebbing"), ("fish", "complete -c ebbing")] {
        let script = done(&run(&format!("completions {shell}")));
        assert!(script.contains(sign) && script.contains("cite"), "{shell}");
    }
    let error = refusal(&run("completions tcsh"), 2);
    assert!(error.contains("'tcsh'") && error.contains("bash"), "{error}");
}

#[test]
fn cite_prints_two_balanced_entries() {
    let text = done(&run("cite"));
    for part in ["@misc{", "Shan, Haozhe and Li, Qianyi and Sompolinsky, Haim", "2407.10315", "@software{ebbing"] {
        assert!(text.contains(part), "{part} is missing");
    }
    assert!(text.contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn flags_that_make_no_sense_are_refused_in_one_sentence() {
    let refused = |words: &str| refusal(&run(words), 2);
    assert!(refused("--thread 2").contains("'--threads'"));
    assert!(refused("ciet").contains("'cite'"));
    assert_eq!(refused("--threads 0 cite"), "--threads is 0; must be at least 1");
    assert!(refused("cite --threads many").contains("'many'"));
    assert!(refused("completions").contains("<SHELL>"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_fault_and_a_closed_pipe_is_none() {
    let home = Home::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for what in ["cite", "--help"] {
        let full = full.try_clone().unwrap();
        let output = home.ebbing().arg(what).stdout(full).output().unwrap();
        let error = refusal(&output, 1);
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(error.matches("No space").count(), 1, "said twice: {error}");
    }

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = home.ebbing().arg("cite").stdout(writer).output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}

/// Every relative link of the README and the pages leads to a file, every page is in the book's summary, and every command
/// that the pages show is one that the program has.
#[test]
fn the_pages_lead_somewhere() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let others = ["README.md", "CONTRIBUTING.md", "fuzz/README.md", "paper/README.md", "paper/reproduction.md"];
    let mut pages = others.map(|page| top.join(page)).to_vec();
    let mut folders = vec![top.join("docs")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "md" => pages.push(path),
                _ => {}
            }
        }
    }
    let summary = std::fs::read_to_string(top.join("docs/SUMMARY.md")).unwrap();
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            // tools/make_site.py writes the references, and checks the links of the whole site.
            let generated = page.ends_with("SUMMARY.md") && path.starts_with("reference/");
            if !path.is_empty() && !path.contains("://") && !generated {
                assert!(page.parent().unwrap().join(path).exists(), "{}: {target}", page.display());
            }
        }
        if let Ok(own) = page.strip_prefix(top.join("docs")) {
            let own = own.display().to_string();
            assert!(own == "SUMMARY.md" || summary.contains(&format!("({own})")), "{own} is not in the summary");
        }
        for command in text.lines().filter_map(|line| line.strip_prefix("ebbing ")).filter(|line| !line.contains("…"))
        {
            let words: Vec<&str> = command.split(" #").next().unwrap().split_whitespace().collect();
            let flags: Vec<&&str> = words.iter().filter(|word| word.starts_with("--")).collect();
            let names = words.iter().take_while(|word| !word.starts_with('-') && !word.contains('.')).take(2);
            let help = names.clone().count().min(if ["study", "data"].contains(&words[0]) { 2 } else { 1 });
            let answer = run(&format!("{} --help", words[..help].join(" ")));
            let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
            for flag in flags {
                let flag = flag.split('=').next().unwrap();
                assert!(answer.contains(flag), "{}: `ebbing {command}`: no {flag}", page.display());
            }
        }
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let home = Home::new();
    let page = done(&home.run("man"));
    assert!(page.starts_with(".ie") || page.contains(".TH ebbing 1"), "{page}");
    home.text_of("man pages");
    for name in ["ebbing", "ebbing-forecast", "ebbing-advise", "ebbing-study-run", "ebbing-data-get"] {
        let text = fs::read_to_string(home.join(&format!("pages/{name}.1"))).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH OPTIONS"), "{name}");
    }
}

/// The program, the citation and the changelog know one version.
#[test]
fn versions_agree() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(top.join(name)).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CITATION.cff").lines().any(|line| line == format!("version: {version}")));
    let changelog = read("CHANGELOG.md");
    let heads: Vec<&str> = changelog.lines().filter(|line| line.starts_with("## ")).collect();
    let known = |head: &&str| head.starts_with("## [Unreleased]") || head.starts_with(&format!("## [{version}] - "));
    assert!(heads.first().is_some_and(known), "{heads:?}");
}

/// Ctrl-C ends the search for the best order as it ends everything: by the signal, at once, with nothing written.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_order_search() {
    use std::os::unix::process::ExitStatusExt;
    let home = Home::new();
    let words = "forecast --protocol permuted --order best --mode gibbs --lambda 3 --length 9 -p 400 --test-examples 0 --out out";
    let mut command = home.ebbing();
    command.args(words.split_whitespace()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let sent = clean("kill", home.path()).args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(!home.join("out/forecast.json").exists());
}
