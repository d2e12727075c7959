//! A side of the comparison: a process that answers every line it is asked with one line.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// What a side tells about one work.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Answer {
    /// Seconds by the clock, without reading and writing files.
    pub seconds: f64,
    /// The largest resident memory of the process so far.
    pub peak_bytes: Option<f64>,
    /// Its resident memory once the inputs were read, before the work.
    pub base_bytes: Option<f64>,
    /// How many loads were solved, where there are loads.
    pub converged: Option<usize>,
}

pub struct Side {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Side {
    /// This program as a side of its own.
    pub fn ours(threads: usize) -> Fallible<Side> {
        Side::start("ebbing", Command::new(std::env::current_exe()?).arg("--serve"), threads)
    }

    /// A script of `benches/peers`.
    pub fn peer(python: &str, script: &str, threads: usize) -> Fallible<Side> {
        let path = format!("{}/peers/{script}.py", env!("CARGO_MANIFEST_DIR"));
        Side::start(script, Command::new(python).arg(path), threads)
    }

    fn start(name: &str, command: &mut Command, threads: usize) -> Fallible<Side> {
        for variable in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        let xla = format!("--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={threads}");
        command.env("XLA_FLAGS", xla).env("JAX_PLATFORMS", "cpu");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("a side gives no answers")?);
        Ok(Side { name: name.into(), child, input, output })
    }

    /// The line with which a line is answered.
    pub fn ask(&mut self, line: &str) -> Fallible<String> {
        // Threads of the other side that wait for work by spinning have gone to sleep after this.
        std::thread::sleep(Duration::from_millis(100));
        writeln!(self.input.as_mut().ok_or("a side takes no requests")?, "{line}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        if answer.is_empty() {
            return Err(format!("{} ended when asked {line}", self.name).into());
        }
        Ok(answer)
    }

    /// Names and versions of what a peer uses.
    pub fn versions(&mut self) -> Fallible<BTreeMap<String, String>> {
        let line = self.ask(r#"{"work": "about"}"#)?;
        Ok(serde_json::from_value(serde_json::from_str::<Value>(&line)?["versions"].take())?)
    }

    /// The answer to a work.
    pub fn request(&mut self, work: &Value) -> Fallible<Answer> {
        let line = self.ask(&work.to_string())?;
        let answer = serde_json::from_str(&line);
        Ok(answer.map_err(|e| format!("{} answered {work} with {}: {e}", self.name, line.trim()))?)
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        drop(self.input.take());
        // It ends when its input does; there is nobody left to tell where it does not.
        let _ = self.child.wait();
    }
}
