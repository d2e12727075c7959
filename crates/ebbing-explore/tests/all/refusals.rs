//! What does not come from the page, what is too large, what is malformed.

use super::support::Server;

#[test]
fn what_is_not_the_own_page_is_refused_and_learns_nothing() {
    let server = Server::start();
    let own = ("Host", server.host.as_str());
    for headers in [
        vec![("Host", "evil.example")],
        vec![("Host", "evil.example:80")],
        vec![own, ("Origin", "http://evil.example")],
        vec![own, ("Origin", "null")],
        vec![own, ("Sec-Fetch-Site", "cross-site")],
    ] {
        for path in ["/", "/app.js", "/api/start", "/api/answer/forecast", "/take/forecast/report.html", "/nothing"] {
            let answer = server.send("GET", path, &headers, b"");
            assert_eq!(answer.status, 403, "{path} {headers:?}");
            assert!(answer.body.len() < 100, "{}", answer.text());
        }
    }
    // A link on another site opens the page, in a window of its own and nowhere else.
    let link = |dest| {
        [own, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", dest)].to_vec()
    };
    let opened = server.send("GET", "/", &link("document"), b"");
    assert!(opened.status == 200 && opened.head.contains("frame-ancestors 'none'"), "{}", opened.head);
    assert_eq!(server.send("GET", "/", &link("iframe"), b"").status, 403);
    assert_eq!(server.send("GET", "/api/start", &link("document"), b"").status, 403);
    let posted = server.send("POST", "/api/files?name=a.npz", &[own, ("Content-Length", "1")], b"x");
    assert_eq!(posted.status, 403, "a form of another site cannot send the page's mark");
}

#[test]
fn every_answer_forbids_embedding_and_outside_content() {
    let server = Server::start();
    for path in ["/", "/style.css", "/api/start", "/api/answer/none", "/nothing"] {
        let head = server.get(path).head;
        for words in [
            "content-security-policy: default-src 'none'",
            "frame-ancestors 'none'",
            "x-frame-options: deny",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(words), "{path} lacks {words}: {head}");
        }
        assert!(!head.contains("access-control-allow"), "{head}");
    }
    let page = server.get("/").text();
    for outside in ["http://", "https://", "//cdn", " style=", "onclick="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn malformed_states_end_in_a_sentence_and_the_server_goes_on() {
    let server = Server::start();
    for (state, words) in [
        ("depth=deep", "depth is deep"),
        ("data=..%2F..%2Fetc", "must be a data set that is here"),
        ("tasks=%2Fetc%2Fpasswd", "drop it on the page again"),
        ("order=1,1", "order"),
        ("order=1,2,99&length=3&examples=20&test-examples=0", "each of the 3 tasks once"),
        ("protocol=split&ratio=1", "ratio is 1; belongs to protocol permuted or partial-split"),
        ("%ff%fe=%00", "the address"),
        ("examples=99999999999", "examples"),
        ("examples=4000&length=4000", ""),
        ("phase.pair=1,9&length=2&examples=20", "two different tasks from 1 to 2"),
    ] {
        let view = if state.starts_with("phase") { "phase" } else { "forecast" };
        let (_, last) = server.get(&format!("/api/answer/{view}?{state}")).lines();
        let said = last["refused"].as_str().unwrap_or_else(|| panic!("{state}: {last}"));
        assert!(said.contains(words) && !said.contains('\n'), "{state}: {said}");
    }
    let start: serde_json::Value = serde_json::from_str(&server.get("/api/start?wiew=1").text()).unwrap();
    assert!(start["refused"].as_str().unwrap().contains("wiew") && start["first"].is_string());
    let long = server.get(&format!("/api/start?order={}", "1,".repeat(4000))).text();
    assert!(long.contains("the address is too long; at most 4000 characters are read"), "{long}");
    assert_eq!(server.get("/take/forecast/..%2F..%2Fetc%2Fpasswd?length=2&examples=20").status, 422);
    assert_eq!(server.get("/take/none/report.html").status, 404);
    let (_, last) = server.get("/api/answer/none").lines();
    assert!(last["refused"].is_string());
}

#[test]
fn uploads_are_bounded_and_read_by_the_library() {
    let server = Server::start();
    let origin = format!("http://{}", server.host);
    let own = [("Host", server.host.as_str()), ("Origin", &origin), ("X-Ebbing", "1")];
    // Announced as two gigabytes: refused before a byte of it is read.
    let announced = [&own[..], &[("Content-Length", "2147483648")]].concat();
    let answer = server.send("POST", "/api/files?name=huge.npz", &announced, b"PK");
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("huge.npz is larger than 256 MiB"), "{}", answer.text());
    for (name, body) in [("a.npz", &b"no zip"[..]), ("a.exe", b"MZ"), ("a.toml", b"tasks = \"/etc/passwd\"")] {
        let answer = server.upload(name, body);
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(answer.text().contains(name), "{}", answer.text());
    }
    let recipe = b"[protocol]\nkind = \"permuted\"\ntasks = 2\np = 20\np_test = 0\n";
    assert!(server.upload("..%2Fr.toml", recipe).text().contains("\"r.toml\""));
    let (_, last) = server.get("/api/answer/data?tasks=r.toml").lines();
    assert_eq!(last["result"]["answer"]["check"]["tasks"].as_array().map(Vec::len), Some(2), "{last}");
    let (_, last) = server.get("/api/answer/data?tasks=r.toml&examples=30").lines();
    assert!(last["refused"].as_str().unwrap().contains("examples is 30; cannot be used with tasks"), "{last}");
}
