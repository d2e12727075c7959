//! Words and numbers as a terminal of 80 columns shows them.

/// The width of everything that is printed.
pub const WIDTH: usize = 80;

/// Breaks a text into lines of at most [`WIDTH`] columns; the first begins with `first`, the others with `rest`.
pub fn wrap(text: &str, first: &str, rest: &str) -> String {
    let (mut out, mut line) = (String::new(), first.to_string());
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out += line.trim_end();
            out.push('\n');
            line = rest.to_string();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    out + line.trim_end() + "\n"
}

/// A number of bytes as people read it.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e3 => format!("{b:.0} bytes"),
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A time as people tell it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => "under 0.1 s".into(),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_80_columns_and_words_kept_whole() {
        let text = wrap(&"word ".repeat(40), "* ", "  ");
        assert!(text.lines().all(|l| l.len() <= WIDTH && !l.ends_with(' ')));
        assert!(text.starts_with("* word word") && text.lines().skip(1).all(|l| l.starts_with("  word")));
        assert_eq!(text.split_whitespace().filter(|w| *w == "word").count(), 40);
        let long = "x".repeat(100);
        assert_eq!(wrap(&format!("a {long} b"), "", "  "), format!("a\n  {long}\n  b\n"));
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!([size(512.0), size(9_912_422.0), size(2.34e9)], ["512 bytes", "10 MB", "2.3 GB"]);
        assert_eq!([time(0.01), time(3.21), time(45.0), time(600.0)], ["under 0.1 s", "3.2 s", "45 s", "10 min"]);
    }
}
