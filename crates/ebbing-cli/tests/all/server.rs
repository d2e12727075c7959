//! An HTTP server on the loopback interface that misbehaves on request.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What the server does with a request.
#[derive(Clone)]
pub enum Act {
    /// Serves the file; honors `Range` and `If-Range`.
    Serve,
    /// Serves the file from its start whatever is asked for, with no entity tag.
    ServeWhole,
    /// Promises the whole answer, sends this many bytes of it and closes.
    Truncate(usize),
    /// Sends this many bytes of the answer and then nothing, until the client goes away.
    Stall(usize),
    /// Accepts the request and never answers.
    Silence,
    /// Serves the file with one byte changed.
    Corrupt,
    /// Redirects to another path.
    Redirect(&'static str),
    /// Answers with this status and a page of text.
    Status(&'static str),
    /// Sends bytes without an end.
    Endless,
}

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub path: String,
    pub range: Option<String>,
}

#[derive(Default)]
struct State {
    files: HashMap<String, (Vec<u8>, String)>,
    plans: HashMap<String, Vec<Act>>,
    seen: Vec<Seen>,
}

/// The server; it stops when dropped.
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (state, stopping) = (Arc::new(Mutex::new(State::default())), Arc::new(AtomicBool::new(false)));
        let (shared, stop) = (state.clone(), stopping.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let (shared, stream) = (shared.clone(), stream.unwrap());
                // A client that hangs up in the middle is part of the game.
                std::thread::spawn(move || drop(answer(stream, &shared)));
            }
        });
        Server { address, state, stopping, thread: Some(thread) }
    }

    /// The address of `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Puts a file there, with an entity tag made from `version`.
    pub fn put(&self, path: &str, content: &[u8], version: &str) {
        let entry = (content.to_vec(), format!("\"{version}\""));
        self.state.lock().unwrap().files.insert(path.into(), entry);
    }

    /// Plans the answers to the coming requests for `path`; once they are used up, the file is served properly.
    pub fn plan(&self, path: &str, acts: &[Act]) {
        let acts = acts.iter().rev().cloned().collect();
        self.state.lock().unwrap().plans.insert(path.into(), acts);
    }

    /// The requests since the last call.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state.lock().unwrap().seen)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let (path, headers) = read_request(&stream)?;
    let (act, file) = {
        let mut state = state.lock().unwrap();
        state.seen.push(Seen { path: path.clone(), range: headers.get("range").cloned() });
        let act = state.plans.get_mut(&path).and_then(Vec::pop).unwrap_or(Act::Serve);
        (act, state.files.get(&path).cloned())
    };
    match act {
        Act::Silence => return until_gone(&stream),
        Act::Redirect(to) => return write!(stream, "HTTP/1.1 302 Found\r\nLocation: {to}\r\n{CLOSE}"),
        Act::Status(status) => return write!(stream, "HTTP/1.1 {status}\r\n{CLOSE}"),
        Act::Endless => return endless(&mut stream),
        _ => {}
    }
    let Some((mut content, tag)) = file else { return write!(stream, "HTTP/1.1 404 Not Found\r\n{CLOSE}") };
    if matches!(act, Act::Corrupt) {
        let middle = content.len() / 2;
        content[middle] ^= 0xff;
    }
    let body = match act {
        Act::ServeWhole => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len())?;
            content
        }
        _ => head_for_range(&mut stream, &headers, &content, &tag)?,
    };
    match act {
        Act::Truncate(n) => stream.write_all(&body[..n.min(body.len())]),
        Act::Stall(n) => {
            stream.write_all(&body[..n.min(body.len())])?;
            until_gone(&stream)
        }
        _ => stream.write_all(&body),
    }
}

const CLOSE: &str = "Content-Length: 5\r\nConnection: close\r\n\r\npage\n";

/// Writes the head of the answer and returns the bytes that belong after it.
fn head_for_range(
    stream: &mut TcpStream,
    headers: &HashMap<String, String>,
    content: &[u8],
    tag: &str,
) -> std::io::Result<Vec<u8>> {
    let fresh = headers.get("if-range").is_none_or(|asked| asked == tag);
    let start = headers.get("range").filter(|_| fresh).map(|range| {
        let first = range.strip_prefix("bytes=").and_then(|r| r.strip_suffix('-'));
        first.expect("a range of the form bytes=N-").parse::<usize>().unwrap()
    });
    let total = content.len();
    let tail = format!("ETag: {tag}\r\nConnection: close\r\n\r\n");
    match start {
        None => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n{tail}")?,
        Some(start) if start >= total => {
            write!(
                stream,
                "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nContent-Range: bytes */{total}\r\n{tail}"
            )?;
            return Ok(Vec::new());
        }
        Some(start) => write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{total}\r\n{tail}",
            total - start,
            total - 1,
        )?,
    }
    Ok(content[start.unwrap_or(0)..].to_vec())
}

fn endless(stream: &mut TcpStream) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
    loop {
        stream.write_all(&[7; 1 << 16])?;
    }
}

/// Waits until the client closes its end.
fn until_gone(mut stream: &TcpStream) -> std::io::Result<()> {
    while stream.read(&mut [0; 64])? > 0 {}
    Ok(())
}

fn read_request(stream: &TcpStream) -> std::io::Result<(String, HashMap<String, String>)> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_string();
    let mut headers = HashMap::new();
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_string());
    }
    Ok((path, headers))
}
