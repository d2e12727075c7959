//! How much memory may be planned with, as it is written.

/// A number of bytes with or without a unit.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 9] = [
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0),
        ("TiB", 1099511627776.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("B", 1.0),
    ];
    let text = text.trim();
    let ends = |unit: &str| text.to_ascii_lowercase().ends_with(&unit.to_ascii_lowercase());
    let (digits, unit) = match UNITS.iter().find(|(unit, _)| ends(unit)) {
        Some((unit, size)) => (&text[..text.len() - unit.len()], *size),
        None => (text, 1.0),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number * unit >= 1.0 => Ok((number * unit) as u64),
        _ => Err("must be a positive number of bytes such as 20GiB, 500MB or 8e9".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(
            ["20GiB", "500 MB", "8e9", "1.5kb", "7B"].map(|t| bytes(t).unwrap()),
            [20 << 30, 500_000_000, 8_000_000_000, 1500, 7]
        );
        assert!(
            ["", "GiB", "-1GB", "0", "nan", "inf", "20 elephants", "1e400"].iter().all(|text| bytes(text).is_err())
        );
    }
}
