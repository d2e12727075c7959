//! The multi-head theory against reference numbers computed independently, and against itself in limits.

use ebbing::{Mat, MultiHead, MultiHeadSettings, Task};
use serde_json::Value;

fn reference(name: &str) -> Value {
    let path = format!("{}/../../tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("not a number: {v}"))
}

fn vector(v: &Value) -> Vec<f64> {
    v.as_array().expect("an array").iter().map(number).collect()
}

fn matrix(v: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = v.as_array().expect("an array").iter().map(vector).collect();
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn column_matrix(y: &[f64]) -> Mat<f64> {
    Mat::from_fn(y.len(), 1, |i, _| y[i])
}

fn task(v: &Value) -> Task {
    Task { name: String::new(), x: matrix(&v["x"]), y: column_matrix(&vector(&v["y"])), rows: None, test: None }
}

fn tasks(v: &Value) -> Vec<Task> {
    v.as_array().expect("tasks").iter().map(task).collect()
}

/// Relative to the larger of the reference and `floor`.
fn close(got: f64, want: f64, tolerance: f64, floor: f64, what: &str) {
    let error = (got - want).abs() / want.abs().max(floor);
    assert!(error <= tolerance, "{what}: {got:.12e}, reference {want:.12e}, relative error {error:.1e}");
}

#[test]
fn factors_and_maps_of_two_to_four_tasks() {
    for (i, case) in reference("multi_head").as_array().unwrap().iter().enumerate() {
        let tasks = tasks(&case["tasks"]);
        let settings = MultiHeadSettings {
            lambda: number(&case["lambda"]),
            sigma2: number(&case["sigma2"]),
            beta: case["beta"].as_f64().unwrap_or(f64::INFINITY),
            width: Some(number(&case["width"])),
            ..MultiHeadSettings::default()
        };
        let theory = MultiHead::solve(&tasks, &settings).unwrap();
        for r in theory.residuals() { eprintln!("case {i} {} {:.1e}", r.unknown, r.residual); }
        let (u1, u0) = (matrix(&case["u1"]), matrix(&case["u0"]));
        for t in 1..=tasks.len() {
            for s in 1..=t {
                eprintln!("{t} {s} {} {} | {} {}", theory.u1(t,s), u1[(t-1,s-1)], theory.u0(t,s), u0[(t-1,s-1)]);
            }
        }
        let query = matrix(&case["query"]);
        for head in case["heads"].as_array().unwrap() {
            let h = head["head"].as_u64().unwrap() as usize;
            let p = theory.predict(h, tasks.len(), query.as_ref()).unwrap();
            let (m, v) = (vector(&head["mean"]), vector(&head["variance"]));
            let mut e = (0.0f64, 0.0f64);
            for j in 0..m.len() { e.0 = e.0.max((p.mean[j]-m[j]).abs()); e.1 = e.1.max((p.variance[j]-v[j]).abs()); }
            eprintln!("head {h}: {e:?} F {} {}", theory.forgetting(tasks.len(), h).unwrap(), head["forgetting"]);
        }
    }
}

#[test]
fn limit_probe() {
    for case in reference("two_task_limit").as_array().unwrap() {
        let two = ebbing::TwoTasks::new(&tasks(&case["tasks"]), &MultiHeadSettings::default()).unwrap();
        let c = two.critical_load().unwrap();
        eprintln!("{:?} | {} {} {}", c, case["alpha_c_exact"], case["gamma_sim"], case["alpha_c_gamma_sim"]);
        for p in case["points"].as_array().unwrap() {
            let q = two.point(number(&p["alpha"])).unwrap();
            let l = q.limit.as_ref().unwrap();
            eprintln!("{} {:?} {} | rho {:e} {} u12 {:e} {} d {:?} u0 {:?} {}", p["alpha"], l.regime, p["regime"], q.rho, p["rho"], q.u12, p["u12"], q.d, q.u0, p);
            for lambda in [1e4,1e6,1e8,1e10] {
            let f = ebbing::TwoTasks::new(&tasks(&case["tasks"]), &MultiHeadSettings{lambda,..MultiHeadSettings::default()}).unwrap();
            let q = f.point(number(&p["alpha"]));
            match q { Ok(q)=>eprintln!("   {lambda:e} rho {:e} u12 {:e} d {:e} u0 {:e} {:?}", q.rho/lambda, q.u12, q.d.coefficient, q.u0.coefficient, q.residuals.iter().map(|r| r.residual).collect::<Vec<_>>()), Err(e)=>eprintln!("{e:?}") }
            }
        }
    }
}
