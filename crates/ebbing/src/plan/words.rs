//! Sizes and times as people say them.

/// A number of bytes as people read it.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e3 => format!("{b:.0} bytes"),
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A time as people say it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => "under 0.1 s".into(),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// An estimate of a time.
pub fn about(seconds: f64) -> String {
    match time(seconds) {
        bound if bound.starts_with("under") => bound,
        estimate => format!("about {estimate}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!([size(512.0), size(9_912_422.0), size(2.34e9)], ["512 bytes", "10 MB", "2.3 GB"]);
        assert_eq!([time(0.01), time(3.21), time(45.0), time(600.0)], ["under 0.1 s", "3.2 s", "45 s", "10 min"]);
        assert_eq!([about(0.01), about(3.21)], ["under 0.1 s", "about 3.2 s"]);
    }
}
