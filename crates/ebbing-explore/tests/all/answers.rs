//! Answers, their progress, what is overtaken, what is taken along.

use super::support::Server;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::request::{Fields, ForecastRequest};
use ebbing_show::Show;
use serde_json::Value;
use std::io::Read;
use std::time::{Duration, Instant};

const SMALL: &str = "protocol=permuted&length=3&examples=40&test-examples=20";

fn result(server: &Server, question: &str, state: &str) -> Value {
    let (_, last) = server.get(&format!("/api/answer/{question}?{state}")).lines();
    assert!(last["refused"].is_null(), "{last}");
    last
}

#[test]
fn answers_report_their_progress_and_then_come_from_memory() {
    let server = Server::start();
    let path = format!("/api/answer/forecast?{SMALL}&page.number=1&page.first=1");
    let (steps, first) = server.get(&path).lines();
    assert!(steps.iter().any(|step| step.contains("kernels")), "{steps:?}");
    assert_eq!((first["ready"].clone(), first["result"]["whole"].clone()), (false.into(), false.into()));
    let (steps, again) = server.get(&format!("{path}&order=3,1,2")).lines();
    assert!(steps.is_empty() && again["ready"] == true, "another order needs no kernels: {steps:?}");
    assert_eq!(again["result"]["order"], serde_json::json!([3, 1, 2]));
    let forecast = |answer: &Value| answer["result"]["answer"]["forecast"].clone();
    assert_ne!(forecast(&first)["forgetting"], forecast(&again)["forgetting"]);
    assert!(first["result"]["said"]["expectation"][0].as_str().unwrap().starts_with("Expect to "), "{first}");
    assert!(first["result"]["figures"][0]["finding"].as_str().unwrap().contains("loses most"), "{first}");
    // What is there first is what all of it begins with.
    let whole = result(&server, "forecast", &format!("{SMALL}&page.number=2"));
    assert_eq!(whole["result"]["whole"], true, "{whole}");
    let (first, whole) = (forecast(&first), forecast(&whole));
    assert!(first["keep"].is_null() && whole["keep"].is_object() && whole["heads"].is_object());
    for part in ["forgetting", "trained", "expected", "test", "pairs"] {
        assert_eq!(first[part], whole[part], "{part}");
    }
}

/// The answer is that of the library's own door, number by number.
#[test]
fn an_answer_is_that_of_the_request() {
    let server = Server::start();
    let page = result(&server, "forecast", SMALL)["result"]["answer"].clone();
    let mut request = ForecastRequest::default();
    for pair in SMALL.split('&') {
        let (key, value) = pair.split_once('=').unwrap();
        request.set(key, &value.into()).unwrap();
    }
    // The page shows the fate of examples; single outputs of them stay in the files.
    request.set("at-risk", &"true".into()).unwrap();
    let known = request.run(&Sources::new(), &Context::new(), &|_, _| ()).unwrap().json();
    assert_eq!(page["answer"], known["answer"]);
    close(&page["forecast"], &known["forecast"], "forecast");
}

/// What the answer has of every example: the page lists those at most risk and leaves the others to the file.
const SINGLE_EXAMPLES: [&str; 6] = ["class", "output", "margin_own", "margin", "chance", "fate"];

/// Equal but for rounding times the condition of these kernels, and for what the memory of the machine decides.
fn close(page: &Value, known: &Value, at: &str) {
    match (page, known) {
        _ if at.ends_with("computed") || at.ends_with("digits") => {}
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{at}: {a} {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            a.iter().zip(b).enumerate().for_each(|(k, (a, b))| close(a, b, &format!("{at}[{k}]")));
        }
        (Value::Object(a), Value::Object(b)) => {
            let single = |key: &str| SINGLE_EXAMPLES.contains(&key) && b[key].is_array();
            let listed = |key: &&String| !(at.contains("examples.tasks") && single(key));
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().filter(listed).collect::<Vec<_>>(), "{at}");
            a.iter().for_each(|(key, a)| close(a, &b[key], &format!("{at}.{key}")));
        }
        (a, b) => assert_eq!(a, b, "{at}"),
    }
}

#[test]
fn every_question_is_answered() {
    let server = Server::start();
    let data = result(&server, "data", SMALL);
    assert_eq!(data["result"]["images"][0][0]["side"], 28);
    assert_eq!(data["result"]["answer"]["check"]["tasks"].as_array().map(Vec::len), Some(3));
    let phase = result(&server, "phase", &format!("{SMALL}&phase.pair=3,1&phase.width=25"));
    assert_eq!(phase["result"]["answer"]["location"]["alpha"], 1.6);
    assert_eq!(
        phase["result"]["command"],
        "ebbing phase --protocol permuted --length 3 --examples 40 --test-examples 20 --pair 3,1 --width 25"
    );
    let advise = result(&server, "advise", &format!("{SMALL}&order=2,1,3"));
    assert!(advise["result"]["answer"]["advice"].is_object());
    assert_eq!(
        advise["result"]["command"],
        "ebbing advise --protocol permuted --length 3 --examples 40 --test-examples 20 --order 2,1,3"
    );
    for (file, begins) in [("forgetting.csv", "# program"), ("report.html", "<!DOCTYPE")] {
        let taken = server.get(&format!("/take/forecast/{file}?{SMALL}&order=2,1,3"));
        assert!(taken.status == 200 && taken.text().starts_with(begins), "{file}: {}", taken.text());
        assert!(taken.head.contains("content-disposition: attachment"), "{}", taken.head);
        assert!(taken.text().contains("--order 2,1,3"), "{file} says how it was made");
    }
}

#[test]
fn files_are_listed_and_made() {
    let server = Server::start();
    let state = format!("{SMALL}&phase.width=25&phase.representation=true");
    for name in ["forecast", "phase", "advise"] {
        let files = result(&server, name, &state)["result"]["files"].as_array().unwrap().clone();
        assert!(files.len() > 1, "{files:?}");
        for file in files.iter().map(|file| file.as_str().unwrap()) {
            let taken = server.get(&format!("/take/{name}/{file}?{state}"));
            assert_eq!(taken.status, 200, "{name} {file}: {}", taken.text());
        }
        assert_eq!(server.get(&format!("/take/{name}/other.csv?{state}")).status, 422);
    }
}

#[test]
fn a_link_without_its_file_says_which() {
    let server = Server::start();
    let start =
        |query: &str| -> Value { serde_json::from_str(&server.get(&format!("/api/start?{query}")).text()).unwrap() };
    assert_eq!(start("tasks=own.npz&depth=2")["missing"], "own.npz");
    assert_eq!(start("features=layer.npz&classes-per-task=2")["missing"], "layer.npz");
    assert!(start("depth=2")["missing"].is_null() && start("tasks=%2Fetc%2Fpasswd")["missing"].is_null());
}

#[test]
fn a_recipe_says_in_which_order_its_tasks_come() {
    let server = Server::start();
    let recipe = b"order = [2, 1, 3]\n[protocol]\nkind = \"permuted\"\ntasks = 3\np = 20\np_test = 0\n";
    assert!(server.upload("r.toml", recipe).text().contains("r.toml"));
    for (asked, order) in [("", [2, 1, 3]), ("&order=1,2,3", [1, 2, 3])] {
        let answer = result(&server, "forecast", &format!("tasks=r.toml{asked}"));
        assert_eq!(answer["result"]["order"], serde_json::json!(order));
        assert_eq!(answer["result"]["came"], serde_json::json!([2, 1, 3]));
    }
    let phase = result(&server, "phase", "tasks=r.toml&phase.width=10");
    assert_eq!(phase["result"]["tasks"], 3);
    let sentences = phase["result"]["sentences"].to_string();
    assert!(!sentences.contains("test sets"), "the page searches no best penalty: {sentences}");
}

#[test]
fn inputs_that_tasks_share_are_reported() {
    let server = Server::start();
    let answer = |state: &str| result(&server, "data", state)["result"]["common"].clone();
    assert!(answer(SMALL).is_null());
    let shared = answer("protocol=target-distractor&length=3&examples=40&rho-shared=0.5");
    let shared = shared.as_str().unwrap().to_string();
    assert!(shared.ends_with("different inputs among 120 examples: 3 pairs of tasks share some."), "{shared}");
}

#[test]
fn memory_is_bounded_whatever_is_asked_for() {
    // The data set takes 9 MiB of it, the tasks of a seed and what is computed with them some 3.
    const BOUND: usize = 15 << 20;
    let server = Server::keeping(BOUND);
    for seed in 0..6 {
        for view in ["data", "forecast", "phase"] {
            let answer = result(&server, view, &format!("{SMALL}&seed={seed}&phase.width=25"));
            let kept = answer["kept"].as_u64().unwrap();
            assert!(kept as usize <= BOUND, "{kept}");
        }
    }
    // What was let go of is computed anew.
    let again = |seed: usize| result(&server, "forecast", &format!("{SMALL}&seed={seed}"));
    assert_eq!((again(5)["ready"].clone(), again(0)["ready"].clone()), (true.into(), false.into()));
    assert_eq!(again(0)["ready"], true);
}

#[test]
fn widths_and_penalties_come_from_decompositions_that_are_there() {
    let server = Server::start();
    let ask = |more: &str| result(&server, "phase", &format!("{SMALL}&phase.pair=3,1{more}"));
    for lambda in ["inf", "10"] {
        let first = ask(&format!("&phase.lambda={lambda}&phase.width=25"));
        assert_eq!(first["ready"], false, "{lambda}");
    }
    for (lambda, width) in [("inf", 90), ("10", 90), ("inf", 7), ("10", 25)] {
        let answer = ask(&format!("&phase.lambda={lambda}&phase.width={width}"));
        assert_eq!(answer["ready"], true, "{lambda} {width}");
        let alpha = answer["result"]["answer"]["location"]["alpha"].as_f64().unwrap();
        assert_eq!(alpha, 40.0 / f64::from(width));
    }
    let hidden = ask("&phase.width=25&phase.representation=true");
    assert_eq!(hidden["result"]["answer"]["representation"].as_array().unwrap().len(), 2);
}

#[test]
fn newer_requests_overtake_and_closed_connections_are_heard() {
    let server = Server::start();
    // Heavy enough to be under way for a while: each seed has kernels of its own.
    let heavy = |seed: usize, number: usize| {
        format!(
            "/api/answer/forecast?length=5&examples=500&test-examples=200&seed={seed}&page.id=a&page.number={number}"
        )
    };
    let begin = Instant::now();
    let mut waiting: Vec<_> =
        (1..=9).map(|k| server.connection("GET", &heavy(k, k), &[("Host", &server.host)], b"")).collect();
    let (_, last) = server.get(&heavy(10, 10)).lines();
    let together = begin.elapsed();
    assert!(last["result"].is_object(), "{last}");
    let mut left = 0;
    for stream in &mut waiting {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        left += usize::from(text.contains("\"left\":true"));
    }
    // The first may have got through before the second came.
    assert!(left >= 8, "{left} of nine were left");
    let begin = Instant::now();
    let (_, alone) = server.get(&heavy(11, 11)).lines();
    let one = begin.elapsed();
    assert!(alone["result"].is_object());
    // One that is under way is left at its next step, the others before they begin: two computations at most, and a step.
    assert!(together < 4 * one + Duration::from_secs(2), "{together:?} for ten moves, {one:?} for one");
    // A page that goes away leaves the lane to others.
    drop(server.connection("GET", &heavy(12, 1).replace("page.id=a", "page.id=b"), &[("Host", &server.host)], b""));
    let (_, last) = server.get(&format!("/api/answer/forecast?{SMALL}&page.id=c&page.number=1")).lines();
    assert!(last["result"].is_object());
}
