//! The machine, the versions, and what the comparison was told about itself.

use super::side::{Fallible, Side};
use super::works::Peer;
use std::collections::BTreeMap;
use std::process::Command;

/// Lines for the document: what, and its value.
pub type Facts = Vec<(String, String)>;

fn first_line(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.lines().next()?.to_string())
}

/// The value after the colon in the first line of a file that starts with a name.
fn field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Processor, cores, memory, system and load, where the system tells.
pub fn facts(threads: usize) -> Facts {
    let unknown = || "not known".to_string();
    let cores = std::thread::available_parallelism().map_or_else(|_| unknown(), |n| n.to_string());
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kilobytes: f64 = text.split_whitespace().next()?.parse().ok()?;
        Some(format!("{:.1} GiB", kilobytes / 1024f64.powi(2)))
    });
    let wide = ["avx512f", "avx2", "asimd", "neon"];
    let flags = field("/proc/cpuinfo", "flags").or_else(|| field("/proc/cpuinfo", "Features")).unwrap_or_default();
    let found = wide.iter().find(|name| flags.split_whitespace().any(|flag| flag == **name));
    let fact = |name: &str, value: Option<String>| (name.to_string(), value.unwrap_or_else(unknown));
    vec![
        fact("processor", field("/proc/cpuinfo", "model name")),
        fact("widest vector instructions", found.map(|name| (*name).to_string())),
        fact("cores that the comparison may use", Some(cores)),
        fact("threads of either side", Some(threads.to_string())),
        fact("memory", memory),
        fact("system", Some(std::env::consts::OS.into())),
        fact("kernel", first_line("/proc/sys/kernel/osrelease")),
        fact("load average at the start (1, 5, 15 min)", first_line("/proc/loadavg").map(|text| load(&text))),
    ]
}

fn load(text: &str) -> String {
    text.split_whitespace().take(3).collect::<Vec<_>>().join(", ")
}

/// Names and versions of the packages that a peer uses.
pub fn versions(peer: &Peer, python: &str) -> Fallible<String> {
    let named: BTreeMap<String, String> = if peer.environment == "pytorch" {
        let script = "import numpy, platform, torch; \
                      print(torch.__version__, numpy.__version__, platform.python_version())";
        let output = Command::new(python).args(["-c", script]).output()?;
        let text = String::from_utf8(output.stdout)?;
        ["torch", "numpy", "python"]
            .iter()
            .zip(text.split_whitespace())
            .map(|(n, v)| (n.to_string(), v.into()))
            .collect()
    } else {
        Side::peer(python, peer.script, 1)?.versions()?
    };
    Ok(named.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", "))
}
