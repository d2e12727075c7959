//! How many threads compute.

/// More threads than this per core only wait for each other.
const PER_CORE: usize = 8;

/// A number of threads that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threads {
    /// What asked for it: a flag, or `RAYON_NUM_THREADS`.
    pub by: &'static str,
    /// How many it asked for.
    pub asked: usize,
    /// How many are used: at most eight per core.
    pub used: usize,
    /// What there is to say where fewer are used.
    pub fewer: Option<String>,
}

impl Threads {
    /// What `flag` asks for, by its name, else what the variable `RAYON_NUM_THREADS` does; none where neither asks.
    pub fn asked(flag: Option<(&'static str, usize)>) -> Option<Threads> {
        let variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|&n: &usize| n > 0);
        let (by, asked) = flag.or_else(|| Some(("RAYON_NUM_THREADS", variable()?)))?;
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let used = asked.min(PER_CORE * cores);
        let fewer = (used < asked)
            .then(|| format!("{by} is {asked}; this machine has {cores} cores, and {used} threads are used"));
        Some(Threads { by, asked, used, fewer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_and_it_is_reported() {
        let one = Threads::asked(Some(("--threads", 1))).unwrap();
        assert_eq!((one.used, one.fewer), (1, None));
        let many = Threads::asked(Some(("--threads", 100_000))).unwrap();
        assert!(many.used < many.asked && many.used.is_multiple_of(PER_CORE), "{many:?}");
        assert!(many.fewer.unwrap().starts_with("--threads is 100000; this machine has "));
    }
}
