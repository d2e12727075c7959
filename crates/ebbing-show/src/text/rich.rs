//! The markup of labels: `γ_{RF}`, `λ^{1/2}`, `*P*` for italics, `**a**` for bold; a backslash takes the next character as it is.

use crate::style::size;

/// A piece of text in one size, height and slant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    pub text: String,
    /// Size as a share of the surrounding text's size.
    pub scale: f64,
    /// Height of the base line above that of the surrounding text, in units of its size.
    pub rise: f64,
    pub italic: bool,
    pub bold: bool,
    /// Starts where the run before it starts: a superscript above a subscript.
    pub stacked: bool,
}

/// A parsed label.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Rich {
    pub runs: Vec<Run>,
}

/// Protects a name given by a user (a file, a data set) from being read as markup.
pub fn escape_markup(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '\\' | '_' | '^' | '*' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Characters that terminals or XML would obey or refuse become visible or blank.
pub(crate) fn printable(c: char) -> char {
    match c {
        '\n' | '\t' | '\r' => ' ',
        // Controls; overrides of the writing direction; characters that XML forbids.
        c if c.is_control() => '\u{FFFD}',
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}' => '\u{FFFD}',
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c => c,
    }
}

/// Marked-up text without its marks, for terminals and alternative texts: `γ_RF`, `F₂₁`, `λ^(1/2)`.
pub fn plain_text(markup: &str) -> String {
    Rich::parse(markup).plain()
}

/// Marked-up text as HTML, whatever it holds made safe: `γ<sub>RF</sub>`.
pub fn html_text(markup: &str) -> String {
    Rich::parse(markup).html()
}

/// Text made safe for XML and HTML, in content and in quoted attributes.
pub(crate) fn xml_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c => out.push(printable(c)),
        }
    }
    out
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    runs: Vec<Run>,
    italic: bool,
    bold: bool,
    /// The next run is stacked on the last.
    stack: bool,
}

impl Parser {
    /// Reads to the end, or to the brace that closes this level.
    fn level(&mut self, scale: f64, rise: f64, nested: bool) {
        let mut closed = None;
        while let Some(&c) = self.chars.get(self.at) {
            let next = self.chars.get(self.at + 1).copied();
            let before = closed.take();
            match c {
                '\\' if next.is_some() => {
                    self.at += 1;
                    self.push(next.unwrap_or(c), scale, rise);
                }
                '_' | '^' if next == Some('{') && self.closes(self.at + 2) => {
                    self.at += 2;
                    self.stack = before.is_some_and(|b| b != c);
                    let shift = match (c, self.stack) {
                        ('_', _) => -0.19,
                        (_, false) => 0.36,
                        (_, true) => 0.44,
                    };
                    self.level(scale * size::SCRIPT, rise + shift * scale, true);
                    self.stack = false;
                    closed = Some(c);
                }
                '*' if next == Some('*') => {
                    self.bold = !self.bold;
                    self.at += 1;
                }
                '*' => self.italic = !self.italic,
                '}' if nested => return,
                _ => self.push(c, scale, rise),
            }
            self.at += 1;
        }
    }

    /// Whether a brace opened before `start` is closed.
    fn closes(&self, start: usize) -> bool {
        let mut depth = 1;
        let mut k = start;
        while let Some(&c) = self.chars.get(k) {
            match c {
                '\\' => k += 1,
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return true;
            }
            k += 1;
        }
        false
    }

    fn push(&mut self, c: char, scale: f64, rise: f64) {
        let c = printable(c);
        match self.runs.last_mut() {
            Some(run) if (run.scale, run.rise, run.italic, run.bold) == (scale, rise, self.italic, self.bold) => {
                run.text.push(c);
            }
            _ => {
                let stacked = std::mem::take(&mut self.stack);
                self.runs.push(Run { text: c.into(), scale, rise, italic: self.italic, bold: self.bold, stacked });
            }
        }
    }
}

impl Rich {
    pub fn parse(markup: &str) -> Rich {
        let mut parser = Parser {
            chars: markup.chars().collect(),
            at: 0,
            runs: Vec::new(),
            italic: false,
            bold: false,
            stack: false,
        };
        parser.level(1.0, 0.0, false);
        Rich { runs: parser.runs }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.iter().all(|r| r.text.is_empty())
    }

    /// For terminals and alternative texts: `γ_RF`, `F₂₁`, `λ^(1/2)`.
    pub fn plain(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            if run.rise == 0.0 {
                out.push_str(&run.text);
                continue;
            }
            let small: Option<String> = run.text.chars().map(|c| unicode_script(c, run.rise > 0.0)).collect();
            match small {
                Some(small) => out.push_str(&small),
                None if run.text.chars().all(char::is_alphanumeric) => {
                    out.push(if run.rise > 0.0 { '^' } else { '_' });
                    out.push_str(&run.text);
                }
                None => {
                    out.push_str(if run.rise > 0.0 { "^(" } else { "_(" });
                    out.push_str(&run.text);
                    out.push(')');
                }
            }
        }
        out
    }

    /// For the report page: `γ<sub>RF</sub>`.
    pub fn html(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            let mut text = xml_escape(&run.text);
            if run.italic {
                text = format!("<i>{text}</i>");
            }
            if run.bold {
                text = format!("<b>{text}</b>");
            }
            match run.rise {
                r if r > 0.0 => out.push_str(&format!("<sup>{text}</sup>")),
                r if r < 0.0 => out.push_str(&format!("<sub>{text}</sub>")),
                _ => out.push_str(&text),
            }
        }
        out
    }
}

/// The raised or lowered twin of a digit or sign, where Unicode has one.
fn unicode_script(c: char, raised: bool) -> Option<char> {
    let (from, to) = if raised {
        ("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
    } else {
        ("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
    };
    from.chars().position(|f| f == c).and_then(|k| to.chars().nth(k))
}

/// A column name for files, of letters, digits and underscores: `γ_{RF}` becomes `gamma_RF`.
pub(crate) fn column_key(markup: &str) -> String {
    const GREEK: [(char, &str); 20] = [
        ('α', "alpha"),
        ('β', "beta"),
        ('γ', "gamma"),
        ('δ', "delta"),
        ('Δ', "Delta"),
        ('ε', "epsilon"),
        ('η', "eta"),
        ('θ', "theta"),
        ('κ', "kappa"),
        ('λ', "lambda"),
        ('μ', "mu"),
        ('π', "pi"),
        ('ρ', "rho"),
        ('σ', "sigma"),
        ('Σ', "Sigma"),
        ('τ', "tau"),
        ('φ', "phi"),
        ('Φ', "Phi"),
        ('ω', "omega"),
        ('\u{303}', "_tilde"),
    ];
    let mut out = String::new();
    for (k, run) in Rich::parse(markup).runs.iter().enumerate() {
        if k > 0 && run.rise != 0.0 {
            out.push('_');
        }
        for c in run.text.chars() {
            match GREEK.iter().find(|(g, _)| *g == c) {
                Some((_, name)) => out.push_str(name),
                None if c.is_alphanumeric() && c.is_ascii() => out.push(c),
                None => out.push('_'),
            }
        }
    }
    let parts: Vec<&str> = out.split('_').filter(|p| !p.is_empty()).collect();
    if parts.is_empty() { "column".into() } else { parts.join("_") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_become_runs() {
        let rich = Rich::parse("γ_{RF} of λ^{1/2}");
        let texts: Vec<&str> = rich.runs.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(texts, ["γ", "RF", " of λ", "1/2"]);
        assert!(rich.runs[1].rise < 0.0 && rich.runs[3].rise > 0.0);
        assert!(rich.runs[1].scale < 1.0 && rich.runs[2].scale == 1.0);
        assert_eq!(rich.plain(), "γ_RF of λ^(1/2)");
        assert_eq!(Rich::parse("F_{21}").plain(), "F₂₁");
        assert_eq!(Rich::parse("10^{−4}").plain(), "10⁻⁴");
        assert_eq!(Rich::parse("*P*_{1} **a**").html(), "<i>P</i><sub>1</sub> <b>a</b>");
    }

    #[test]
    fn nested_scripts_shrink_twice() {
        let rich = Rich::parse("e^{x^{2}}!");
        assert!(rich.runs[2].scale < rich.runs[1].scale && rich.runs[2].rise > rich.runs[1].rise);
        assert_eq!(rich.runs[3].text, "!");
        assert_eq!(rich.runs[3].scale, 1.0);
    }

    #[test]
    fn a_superscript_stands_above_a_subscript() {
        let stacked = |markup: &str| Rich::parse(markup).runs.iter().map(|r| r.stacked).collect::<Vec<_>>();
        assert_eq!(stacked("γ_{sim}^{−2} = x"), [false, false, true, false]);
        assert_eq!(stacked("γ_{sim} ^{−2}"), [false, false, false, false]);
        assert_eq!(stacked("a_{1}_{2}"), [false, false]);
    }

    #[test]
    fn user_names_stay_as_they_are() {
        for name in ["my_{data}*set*\\", "a_b^{c", "x}y{", "_{", "\\", "*"] {
            assert_eq!(Rich::parse(&escape_markup(name)).plain(), name);
        }
        assert_eq!(Rich::parse("a_{b").plain(), "a_{b", "an unclosed brace is not markup");
    }

    #[test]
    fn hostile_characters_are_disarmed() {
        let rich = Rich::parse("\u{1b}[31m<script>\u{202e}\0");
        assert_eq!(rich.plain(), "\u{FFFD}[31m<script>\u{FFFD}\u{FFFD}");
        assert_eq!(xml_escape("<a href=\"x\">&'\u{1}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{FFFD}");
        assert_eq!(html_text("<script>γ_{sim}</script>"), "&lt;script&gt;γ<sub>sim</sub>&lt;/script&gt;");
    }

    #[test]
    fn keys_are_plain_words() {
        assert_eq!(column_key("γ_{RF}"), "gamma_RF");
        assert_eq!(column_key("F_{21}"), "F_21");
        assert_eq!(column_key("after task"), "after_task");
        assert_eq!(column_key("λ\u{303}"), "lambda_tilde");
        assert_eq!(column_key("‖a_{2}‖^{2}/N"), "a_2_2_N");
        assert_eq!(column_key("漢"), "column");
    }
}
