//! A server on a free port, and plain requests to it.

use ebbing_explore::{Explorer, Options};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A running server; it ends with the tests.
pub struct Server {
    /// `127.0.0.1:PORT`.
    pub host: String,
}

/// An answer: status, head in lower case, body.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The lines of a view: steps of progress, and the last line.
    pub fn lines(&self) -> (Vec<String>, Value) {
        let mut all: Vec<Value> = self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = all.pop().unwrap();
        (all.iter().filter_map(|line| line["progress"].as_str().map(String::from)).collect(), last)
    }
}

impl Server {
    pub fn start() -> Server {
        Server::keeping(Options::default().keep_bytes)
    }

    /// A server whose cache is bounded.
    pub fn keeping(keep_bytes: usize) -> Server {
        let explorer =
            Explorer::new(Options { port: Some(0), browser: false, keep_bytes, ..Options::default() }).unwrap();
        let host = explorer.url().trim_start_matches("http://").trim_end_matches('/').to_string();
        std::thread::spawn(move || explorer.run(&|_| ()));
        Server { host }
    }

    /// Sends a head and a body as they are; the connection, for those who want to close it.
    pub fn connection(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"\r\n").unwrap();
        stream.write_all(body).unwrap();
        stream
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connection(method, path, headers, body);
        let mut all = Vec::new();
        // A server that refuses early may reset the connection after its answer.
        let _ = stream.read_to_end(&mut all);
        let end = all.windows(4).position(|w| w == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        let body = &all[end + 4..];
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
        Answer { status, head, body }
    }

    /// What the page's own request gets.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("Host", &self.host)], b"")
    }

    pub fn upload(&self, name: &str, body: &[u8]) -> Answer {
        let (origin, length) = (format!("http://{}", self.host), body.len().to_string());
        let headers =
            [("Host", self.host.as_str()), ("Origin", &origin), ("X-Ebbing", "1"), ("Content-Length", &length)];
        self.send("POST", &format!("/api/files?name={name}"), &headers, body)
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap().trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        all.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    all
}
