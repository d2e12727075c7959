//! The page of `ebbing explore`: tasks, forecasts, phase diagrams and remedies to change and watch, on your own machine.
//!
//! ```text
//! address -> State (requests) -> library, what is heavy kept in the Cache -> answer, as `--json` prints it -> page
//! ```
//!
//! | Module | What it does |
//! |---|---|
//! | `server` | routes, answers that stream their progress, the end |
//! | `guard` | refuses requests that do not come from the page itself |
//! | `desk` | only the newest request of a page counts; heavy work one at a time |
//! | `cache` | computed results, within a memory bound |
//! | `state` | the address in the words of the flags |
//! | `files` | users' own tasks, read by the library's readers |
//! | `answers` | the answers of the page, in the words of every other door |
#![deny(missing_docs)]

mod answers;
mod assets;
mod browser;
mod cache;
mod desk;
mod files;
mod guard;
mod lines;
mod server;
mod state;

use answers::App;
use files::Files;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

/// The port to try by default.
pub const PORT: u16 = 8738;
/// The most bytes of kernels, factors and results that are kept by default: the penalties of one pair of tasks of 1000 examples
/// beside their forecast.
const KEEP_BYTES: usize = 2 << 30;

/// Bytes that are kept by default: a quarter of the memory that is free, within [`KEEP_BYTES`].
fn keep_bytes() -> usize {
    ebbing::plan::Memory::default().free().map_or(KEEP_BYTES, |free| KEEP_BYTES.min((free.bytes / 4.0) as usize))
}

/// How to start the page.
#[derive(Debug, Clone)]
pub struct Options {
    /// The user's own tasks: an `.npz` or CSV file, a folder of them, or a recipe.
    pub tasks: Option<PathBuf>,
    /// Or features of their own, in such a file.
    pub features: Option<PathBuf>,
    /// How many classes of one set of features or inputs become a task.
    pub classes_per_task: Option<usize>,
    /// The port on 127.0.0.1; 0 for any free one. Without one, [`PORT`] or any free one.
    pub port: Option<u16>,
    /// Whether to open the browser.
    pub browser: bool,
    /// Bytes of kernels, factors and results that are kept.
    pub keep_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            tasks: None,
            features: None,
            classes_per_task: None,
            port: None,
            browser: true,
            keep_bytes: keep_bytes(),
        }
    }
}

/// A server that listens on its port.
#[derive(Debug)]
pub struct Explorer {
    listener: TcpListener,
    app: App,
    address: SocketAddr,
    options: Options,
}

impl Explorer {
    /// Reads the tasks and opens the port.
    ///
    /// # Errors
    /// What the library says of the tasks; [`ebbing::Error::Setting`] for a port that is not available.
    pub fn new(options: Options) -> ebbing::Result<Explorer> {
        let files = Files::starting_with(options.tasks.as_deref().or(options.features.as_deref()))?;
        let listener = listen(options.port)?;
        let address = listener.local_addr().map_err(|e| ebbing::Error::io("127.0.0.1", e))?;
        let app = App { cache: cache::Cache::new(options.keep_bytes), files, desk: desk::Desk::default() };
        Ok(Explorer { listener, app, address, options })
    }

    /// The address of the page: with the user's own tasks, that of their forecast.
    pub fn url(&self) -> String {
        let base = format!("http://{}/", self.address);
        let state = self.first();
        if state.is_empty() { base } else { format!("{base}#{state}") }
    }

    /// The state that is shown first; empty for that of the page itself.
    fn first(&self) -> String {
        let Some(file) = self.app.files.all().into_iter().next() else { return String::new() };
        let name: String = form_urlencoded::byte_serialize(file.name.as_bytes()).collect();
        let key = if self.options.features.is_some() { "features" } else { "tasks" };
        let classes = self.options.classes_per_task.or_else(|| file.content.classes_of_one_set().map(some_per_task));
        classes.map_or(format!("{key}={name}"), |k| format!("{key}={name}&classes-per-task={k}"))
    }

    /// Serves until the program is stopped; `say` prints what the user should know.
    ///
    /// # Errors
    /// Where the operating system does not let it serve.
    pub fn run(self, say: &(dyn Fn(&str) + Sync)) -> ebbing::Result<()> {
        let (url, wanted) = (self.url(), self.options.browser);
        let first = Some(self.first()).filter(|first| !first.is_empty()).unwrap_or_else(|| state::FIRST.into());
        std::thread::scope(|scope| {
            // In parallel with the server: the browser requests the page while its opener is still running.
            scope.spawn(move || {
                if wanted && !browser::open(&url) {
                    say("No browser could be opened here: open the address yourself.");
                }
            });
            server::serve(self.listener, self.app, self.address.port(), &first)
        })
    }
}

/// How many of so many classes become a task where nobody says: five tasks of few classes, ten of many.
fn some_per_task(classes: usize) -> usize {
    classes.div_ceil(if classes > 20 { 10 } else { 5 }).max(1)
}

/// The given port, or the default one, or any free one.
fn listen(port: Option<u16>) -> ebbing::Result<TcpListener> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let found = match port {
        None => bind(PORT).or_else(|_| bind(0)),
        Some(port) => bind(port),
    };
    found.map_err(|error| {
        let expected = match error.kind() {
            std::io::ErrorKind::AddrInUse => "is in use: give another one, or 0 for any that is free".to_string(),
            _ => format!("cannot be had ({error}): give another one, or 0 for any that is free"),
        };
        ebbing::Error::setting("--port", port.unwrap_or(PORT), expected)
    })
}
