//! How numbers are written for a reader: three significant digits, values rounded like their uncertainties, and 0 for what is
//! zero within its accuracy.

/// A spread below this share of a value is rounding, not a spread.
const ROUNDING: f64 = 1e-12;

/// `10^{1−digits}`: how far a number of order 1 may be off that has so many right digits, one of them kept in reserve since
/// their number is an estimate.
pub fn accuracy(digits: f64) -> f64 {
    10f64.powf(1.0 - digits)
}

/// The number, or 0 where it is zero within its accuracy.
pub fn within(value: f64, accuracy: f64) -> f64 {
    if value.abs() <= accuracy { 0.0 } else { value }
}

/// Three significant digits: `0.812`, `1.53`, `4.1e-7`; whole numbers below 10 000 stay whole; `nan`, `inf`, `-inf`.
pub fn significant(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    if value == 0.0 {
        return "0".into();
    }
    if value.fract() == 0.0 && value.abs() < 1e4 {
        return significant_fixed(value);
    }
    match exponent(value, 2) {
        -3..=3 => significant_fixed(value),
        _ => scientific(value, 2),
    }
}

/// A number that was chosen, not computed, with the digits that it has: `20`, `0.1`, `1e6`, `∞`.
pub fn chosen(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "∞".into() } else { "-∞".into() };
    }
    // Grids of logarithms end in rounding.
    let value = format!("{value:.11e}").parse().unwrap_or(value);
    if value == 0.0 || (1e-3..1e5).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

/// Fixed notation with three significant digits, for values from 0.001 to 9999.
fn significant_fixed(value: f64) -> String {
    let decimals = (2 - exponent(value, 2)).max(0) as usize;
    format!("{value:.decimals$}")
}

/// A value and its uncertainty rounded alike: `0.812 ± 0.006`, `(4.1 ± 0.2)e-7`.
///
/// The uncertainty keeps one digit, or two where the first is 1. One that is not finite, zero, or as small as rounding is not
/// shown.
pub fn with_error(value: f64, error: f64) -> String {
    let error = error.abs();
    if !value.is_finite() || !error.is_finite() || error <= ROUNDING * value.abs() {
        return significant(value);
    }
    let digits_after_first = i32::from(format!("{error:.0e}").starts_with('1'));
    let error_exponent = exponent(error, digits_after_first);
    let last_place = error_exponent - digits_after_first;
    let size = exponent(value.abs().max(error), 2);
    if (-3..=3).contains(&size) {
        return format!("{} ± {}", rounded(value, last_place), rounded(error, last_place));
    }
    let scale = |x: f64| x / 10f64.powi(size);
    format!("({} ± {})e{size}", rounded(scale(value), last_place - size), rounded(scale(error), last_place - size))
}

/// Rounded to the decimal place 10^`place`.
fn rounded(value: f64, place: i32) -> String {
    let text = if place <= 0 {
        let decimals = (-place) as usize;
        format!("{value:.decimals$}")
    } else {
        let unit = 10f64.powi(place);
        format!("{:.0}", (value / unit).round() * unit)
    };
    if text.starts_with('-') && !text.contains(|c: char| ('1'..='9').contains(&c)) { text[1..].into() } else { text }
}

/// The power of ten of the leading digit once the value is rounded to `decimals` digits after it.
fn exponent(value: f64, decimals: i32) -> i32 {
    let text = format!("{:.*e}", decimals as usize, value.abs());
    text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// Scientific notation without needless zeros: `4.1e-7`.
fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    match text.split_once('e') {
        Some((mantissa, e)) if mantissa.contains('.') => {
            format!("{}e{e}", mantissa.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A share in per cent, without digits that no range carries: "63 %".
pub fn per_cent(share: f64) -> String {
    // A share that rounds to 0 has no sign.
    format!("{:.0} %", (100.0 * share).round() + 0.0)
}

/// A range of shares in per cent: "56 to 65".
pub fn between([low, high]: [f64; 2]) -> String {
    let whole = |share: f64| (100.0 * share).round() + 0.0;
    format!("{:.0} to {:.0}", whole(low), whole(high))
}

/// A range of points lost; what is gained is a loss below 0.
pub fn points_between(range: [f64; 2]) -> String {
    between(range).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_numbers_have_the_digits_that_they_have() {
        let all =
            [(20.0, "20"), (0.1, "0.1"), (0.010000000000000004, "0.01"), (1e6, "1e6"), (0.0, "0"), (2.5e-4, "2.5e-4")];
        for (value, text) in all.into_iter().chain([(f64::INFINITY, "∞")]) {
            assert_eq!(chosen(value), text);
        }
    }

    #[test]
    fn three_significant_digits() {
        for (value, text) in [
            (0.8123, "0.812"),
            (1.5349, "1.53"),
            (4.1e-7, "4.1e-7"),
            (4.126e-7, "4.13e-7"),
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1.00"),
            (-2.0, "-2.00"),
            (2000.0, "2000"),
            (12.0, "12.0"),
            (123.4, "123"),
            (1234.4, "1234"),
            (99999.0, "1e5"),
            (0.000999999, "0.00100"),
            (0.000412, "4.12e-4"),
            (0.9999, "1.00"),
            (9999.7, "1e4"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn uncertainties_round_both_alike() {
        for (value, error, text) in [
            (0.8123, 0.0061, "0.812 ± 0.006"),
            (0.31, 0.02, "0.31 ± 0.02"),
            (0.8123, 0.0123, "0.812 ± 0.012"),
            (1234.0, 57.0, "1230 ± 60"),
            (4.13e-7, 2.2e-8, "(4.1 ± 0.2)e-7"),
            (0.0001, 0.02, "0.00 ± 0.02"),
            (-0.0001, 0.02, "0.00 ± 0.02"),
            (0.5, 0.0, "0.500"),
            (1.0000000000000004, 5e-16, "1.00"),
            (f64::INFINITY, f64::NAN, "inf"),
            (0.0, 0.0, "0"),
            (0.5, 0.0996, "0.50 ± 0.10"),
            (0.5, f64::NAN, "0.500"),
            (2.0e6, 3.0e5, "(2.0 ± 0.3)e6"),
        ] {
            assert_eq!(with_error(value, error), text);
        }
    }

    #[test]
    fn what_is_zero_within_its_accuracy_is_zero() {
        assert_eq!((within(-6.45e-11, accuracy(10.0)), within(1e-3, accuracy(10.0))), (0.0, 1e-3));
        assert_eq!(significant(within(4.16e-15, accuracy(12.0))), "0");
        assert_eq!(within(f64::INFINITY, 1.0), f64::INFINITY);
    }
}
