//! How numbers are written in files and figures: exactly, and with a real minus sign.

/// The shortest text that reads back as the same bits, for CSV: `0.1`, `1e-300`, `NaN`, `inf`.
pub(crate) fn exact(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&size) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// The same text with a real minus sign, for figures and pages.
pub(crate) fn with_minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_reads_back_as_the_same_bits() {
        for value in [0.1, 1e-300, -5e-324, 1.0 / 3.0, 1e22, 123456789.123, f64::INFINITY] {
            assert_eq!(exact(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
            assert!(exact(value).len() < 25);
        }
        assert_eq!(exact(f64::NAN), "NaN");
    }
}
