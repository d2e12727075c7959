//! How much memory this process may still take, and whether a computation fits.
//!
//! The machine's free memory, the limit of the process's control group and its limit of addresses (`ulimit -v`) each bound
//! it; the tightest counts. What is free decides whether a computation starts; how it is done is decided by what there is in
//! all, which is the same at every moment.

use super::{Cost, Sizes, size};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// How much memory computations may plan with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    /// What the machine, the control group and `ulimit -v` leave.
    Machine,
    /// This many bytes.
    Bytes(u64),
    /// Any amount: plans are not compared with anything.
    None,
}

/// The memory that a computation plans with, read once: every decision taken from it agrees with every other.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    free: Option<FreeMemory>,
    planned: Option<f64>,
}

/// Free memory and what bounds it, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeMemory {
    /// Bytes that may still be taken.
    pub bytes: f64,
    /// What bounds them.
    pub bound: &'static str,
}

/// The share of all memory that computations plan with where nothing was chosen: the rest is the system's.
const SHARE: f64 = 0.8;

impl Memory {
    /// The memory within a limit, as it is now.
    pub fn of(limit: MemoryLimit) -> Memory {
        match limit {
            MemoryLimit::None => Memory { free: None, planned: None },
            MemoryLimit::Bytes(bytes) => {
                let bytes = bytes.max(1) as f64;
                Memory { free: Some(FreeMemory { bytes, bound: "allowed" }), planned: Some(bytes) }
            }
            MemoryLimit::Machine => {
                let bounds = [
                    (machine(), "free on this machine"),
                    (control_group(|limit, used| (limit - used).max(0.0)), "left to this control group"),
                    (addresses(), "left by ulimit -v"),
                ];
                let known = bounds.into_iter().filter_map(|(bytes, bound)| Some(FreeMemory { bytes: bytes?, bound }));
                let free = known.min_by(|a, b| a.bytes.total_cmp(&b.bytes));
                let addresses = field("/proc/self/limits", "Max address space");
                let all = [total(), control_group(|limit, _| limit), addresses];
                let planned = all.into_iter().flatten().min_by(f64::total_cmp).map(|bytes| SHARE * bytes);
                Memory { free, planned }
            }
        }
    }

    /// What may still be taken, which decides whether a computation starts; nothing where no limit holds or none can be found
    /// out.
    pub fn free(&self) -> Option<&FreeMemory> {
        self.free.as_ref()
    }

    /// Bytes that computations are cut for: the limit, or most of what the machine, the control group or `ulimit -v` has in
    /// all, whatever is in use. Nothing where no limit holds or none can be found out.
    pub fn planned(&self) -> Option<f64> {
        self.planned
    }

    /// Refuses a computation on `sizes` that would not fit, with how many examples per task would.
    ///
    /// # Errors
    /// [`Error::Memory`] with the estimate, what there is, and what would fit.
    pub fn check(&self, what: &str, sizes: &Sizes, cost: impl Fn(&Sizes) -> Cost) -> Result<()> {
        let Some(free) = &self.free else { return Ok(()) };
        let needed = cost(sizes).bytes;
        if needed <= free.bytes {
            return Ok(());
        }
        let with_most = |p: usize| {
            let cut = |list: &[usize]| list.iter().map(|&n| n.min(p)).collect::<Vec<_>>();
            Sizes { train: cut(&sizes.train), test: cut(&sizes.test), distinct: None, ..sizes.clone() }
        };
        let fits = |p: usize| cost(&with_most(p)).bytes <= free.bytes;
        // The largest P that fits, of which two digits are shown: bisection to a part in a thousand is enough.
        let (mut low, mut high) = (0, sizes.train.iter().copied().max().unwrap_or(0));
        while high - low > 1 + high / 1000 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        let advice = match two_digits(low) {
            0 => "even one example per task would not fit".to_string(),
            most => format!("about {most} examples per task would fit"),
        };
        let free = format!("{} are {}", size(free.bytes), free.bound);
        Err(Error::Memory { what: what.into(), needed: size(needed), free, advice })
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::of(MemoryLimit::Machine)
    }
}

/// Rounded down to two digits.
fn two_digits(n: usize) -> usize {
    let unit = 10_usize.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(1));
    n / unit * unit
}

/// A number after a word of a file such as /proc/meminfo.
fn field(path: &str, name: &str) -> Option<f64> {
    let text = std::fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().find_map(|word| word.parse().ok())
}

fn total() -> Option<f64> {
    Some(1024.0 * field("/proc/meminfo", "MemTotal:")?)
}

fn machine() -> Option<f64> {
    Some(1024.0 * field("/proc/meminfo", "MemAvailable:")?)
}

/// `ulimit -v` less the addresses in use.
fn addresses() -> Option<f64> {
    let limit = field("/proc/self/limits", "Max address space")?;
    let used = 1024.0 * field("/proc/self/status", "VmSize:")?;
    Some((limit - used).max(0.0))
}

/// The least of what `of` makes of the limits of the control group and those above it, and of what is in use there.
fn control_group(of: impl Fn(f64, f64) -> f64) -> Option<f64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut rooms = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (root, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            list if list.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let root = Path::new(root);
        let mut folder: PathBuf = root.join(path);
        while folder.starts_with(root) {
            let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<f64>().ok();
            // Version 1 writes a number near 2^63 where there is no limit; version 2 the word "max".
            if let (Some(limit), Some(used)) = (number(limit).filter(|&l| l < 1e18), number(used)) {
                rooms.push(of(limit, used - reclaimable(&folder)));
            }
            if !folder.pop() {
                break;
            }
        }
    }
    rooms.into_iter().min_by(f64::total_cmp)
}

/// Cached file pages count as used but are given up when memory is needed.
fn reclaimable(folder: &Path) -> f64 {
    let path = folder.join("memory.stat").display().to_string();
    ["inactive_file ", "active_file "].iter().filter_map(|name| field(&path, name)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::forgetting_cost;

    fn sizes(p: usize) -> Sizes {
        Sizes { train: vec![p; 5], test: vec![0; 5], dim: 784, columns: 1, distinct: None }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        let check = |memory: &Memory, p: usize| memory.check("forecast", &sizes(p), forgetting_cost);
        let two = Memory::of(MemoryLimit::Bytes(2 << 30));
        check(&two, 1000).unwrap();
        let said = check(&two, 100_000).unwrap_err().to_string();
        let most: usize = said.split("about ").last().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(forgetting_cost(&sizes(most)).bytes <= (2_u64 << 30) as f64, "{said}");
        assert!(forgetting_cost(&sizes(most + most / 9)).bytes > (2_u64 << 30) as f64, "{said}");
        assert!(said.contains("memory") && said.contains("2.1 GB are allowed"), "{said}");
        check(&Memory::of(MemoryLimit::None), 1 << 40).unwrap();
        let machine = Memory::default();
        let free = machine.free().expect("this machine reports its memory");
        // From a tiny container to a large node.
        assert!(free.bytes > 1e6 && free.bytes < 1e14, "{free:?}");
        // What is planned with does not move with what is in use.
        let planned = machine.planned().expect("this machine reports its memory");
        let taken = vec![1_u8; 64 << 20];
        assert_eq!(Memory::default().planned(), Some(planned));
        assert!(planned >= SHARE * free.bytes && taken.iter().all(|byte| *byte == 1), "{planned}");
        assert!(check(&machine, 1 << 40).is_err());
    }

    #[test]
    fn numbers_are_rounded_down() {
        assert_eq!([0, 7, 42, 999, 12_345].map(two_digits), [0, 7, 42, 990, 12_000]);
    }
}
