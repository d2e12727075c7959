//! Symbols in plain sentences, as the library says them, made markup: `gamma_sim` and `γ_sim` become γ with a subscript, `lambda`
//! becomes λ, and `e^(−t/τ)` has its exponent raised. Whatever is no known symbol, such as the name of a file, stays as it is.

use super::rich::escape_markup;

/// Letters by their names.
const LETTERS: [(&str, &str); 8] =
    [("gamma", "γ"), ("alpha", "α"), ("rho", "ρ"), ("lambda", "λ"), ("kappa", "κ"), ("γ", "γ"), ("α", "α"), ("ρ", "ρ")];

/// Which subscripts a letter has, as written and as shown.
const SUBSCRIPTS: [(&str, &[(&str, &str)]); 6] = [
    ("γ", &[("RF", "RF"), ("rf", "RF"), ("rule", "rule"), ("sim", "sim"), ("feature", "feature")]),
    ("α", &[("c", "c")]),
    ("ρ", &[("target", "target"), ("shared", "shared"), ("flip", "flip")]),
    ("F", &[("max", "max"), ("pair", "pair"), ("21", "21"), ("t1", "t1"), ("T1", "T1")]),
    ("G", &[("21", "21"), ("22", "22"), ("T1", "T1"), ("TT", "TT")]),
    ("u", &[("11", "11")]),
];

/// A plain sentence as markup, its symbols typeset.
pub fn typeset(plain: &str) -> String {
    let (mut out, mut rest, mut before) = (String::with_capacity(plain.len()), plain, ' ');
    while let Some(c) = rest.chars().next() {
        let within = before.is_alphanumeric() || matches!(before, '_' | '-' | '.' | '/');
        let found = if within { None } else { symbol(rest) };
        let (markup, length) =
            found.or_else(|| raised(rest)).unwrap_or_else(|| (escape_markup(c.encode_utf8(&mut [0; 4])), c.len_utf8()));
        out += &markup;
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    out
}

/// The symbol that a text begins with, as markup, and its length.
fn symbol(text: &str) -> Option<(String, usize)> {
    let named = LETTERS.iter().find(|(name, _)| text.starts_with(name)).copied();
    let capital = ["F", "G", "u"].into_iter().find(|name| text.starts_with(name)).map(|name| (name, name));
    let (name, letter) = named.or(capital)?;
    let after = &text[name.len()..];
    if let Some(written) = after.strip_prefix('_') {
        let known = SUBSCRIPTS.iter().find(|(base, _)| *base == letter)?.1;
        let fits = |(subscript, _): &&(&str, &str)| written.starts_with(subscript) && ends(&written[subscript.len()..]);
        let (subscript, shown) = known.iter().find(fits)?;
        return Some((format!("{letter}_{{{shown}}}"), name.len() + 1 + subscript.len()));
    }
    // A letter that stands alone: what is written as one needs no change.
    (name != letter && ends(after)).then(|| (letter.to_string(), name.len()))
}

/// Whether a word ends where this text follows; `name.csv` goes on.
fn ends(after: &str) -> bool {
    let mut letters = after.chars();
    match (letters.next(), letters.next()) {
        (Some('.'), Some(next)) => !next.is_alphanumeric(),
        (Some(c), _) => !c.is_alphanumeric() && c != '_' && c != '-',
        (None, _) => true,
    }
}

/// The exponent that a text begins with, as markup, and its length: `^(…)`, or a number.
fn raised(text: &str) -> Option<(String, usize)> {
    let exponent = text.strip_prefix('^')?;
    if exponent.starts_with('(') {
        let mut depth = 0;
        let close = exponent.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        });
        let (close, _) = close?;
        return Some((format!("^{{{}}}", escape_markup(&exponent[1..close])), close + 2));
    }
    let sign = exponent.strip_prefix(['-', '−']);
    let digits = sign.unwrap_or(exponent).chars().take_while(char::is_ascii_digit).count();
    let length = exponent.len() - sign.unwrap_or(exponent).len() + digits;
    let minus = if sign.is_some() { "−" } else { "" };
    (digits > 0).then(|| (format!("^{{{minus}{}}}", &sign.unwrap_or(exponent)[..digits]), 1 + length))
}

#[cfg(test)]
mod tests {
    use super::typeset;
    use crate::text::Rich;

    #[test]
    fn symbols_are_typeset() {
        assert_eq!(typeset("gamma_sim = 0.1 and γ_RF"), "γ_{sim} = 0.1 and γ_{RF}");
        assert_eq!(typeset("F_max(1 − e^(−(t−1)/τ)) with F_max 2"), "F_{max}(1 − e^{−(t−1)/τ}) with F_{max} 2");
        assert_eq!(typeset("As lambda grows, alpha_c is γ_sim^-2."), "As λ grows, α_{c} is γ_{sim}^{−2}.");
        let page = Rich::parse(&typeset("F_21 of λ^(1/2), F_pair")).html();
        assert_eq!(page, "F<sub>21</sub> of λ<sup>1/2</sup>, F<sub>pair</sub>");
    }

    #[test]
    fn what_is_no_symbol_stays() {
        for text in [
            "gamma_sim.csv",
            "my_F_max",
            "--lambda 3",
            "lambda_x",
            "alphabet",
            "a_{b}*c*\\",
            "F_maximum",
            "2^x",
            "x^(1",
        ] {
            assert_eq!(Rich::parse(&typeset(text)).plain(), text);
        }
    }
}
