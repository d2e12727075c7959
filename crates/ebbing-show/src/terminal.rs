//! Text for the terminal: tables of 80 columns with right-aligned numbers and a rule under the head.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::Result;
use crate::matrix::Matrix;
use crate::style::TERMINAL_COLUMNS;
use crate::table::Table;
use crate::text::{Rich, printable};

/// Widest cell of words; longer ones are cut with an ellipsis (files hold them whole).
const WIDEST_TEXT: usize = 44;
/// Blanks between columns.
const BETWEEN: usize = 2;

/// Columns of the terminal.
static COLUMNS: AtomicUsize = AtomicUsize::new(TERMINAL_COLUMNS);
/// Lines of words that are longer than this are hard to read.
const LONGEST_LINE: usize = 100;

/// Tables and words written from now on fit a terminal of so many columns: 80 by default, never fewer than 40.
pub fn set_terminal_columns(columns: usize) {
    COLUMNS.store(columns.max(40), Ordering::Relaxed);
}

fn columns_now() -> usize {
    COLUMNS.load(Ordering::Relaxed)
}

/// A column of cells that are ready to be aligned.
struct Cells {
    head: String,
    cells: Vec<String>,
    right: bool,
}

impl Cells {
    fn width(&self) -> usize {
        self.cells.iter().map(|c| c.width()).max().unwrap_or(0).max(self.head.width())
    }

    fn line(&self, text: &str, width: usize) -> String {
        let blank = " ".repeat(width.saturating_sub(text.width()));
        if self.right { blank + text } else { text.to_owned() + &blank }
    }
}

/// Cuts a text to a width, with an ellipsis.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width - 1 {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// Aligns columns; where they do not fit the terminal the table is folded and the first column repeated.
fn align(columns: &[Cells], above: &str, most: usize) -> String {
    let Some((first, rest)) = columns.split_first() else { return String::new() };
    let blocks = fold(first.width(), rest, most);
    // Narrower blocks of about equal width, as long as they stay as few.
    let even = (1..most).map(|w| fold(first.width(), rest, w)).find(|b| b.len() == blocks.len());
    let blocks = even.unwrap_or(blocks);
    let texts: Vec<String> = blocks.iter().map(|block| align_block(first, block, above, blocks.len() > 1)).collect();
    texts.join("\n")
}

/// Groups columns so that each group fits a width beside the first column.
fn fold(lead: usize, columns: &[Cells], most: usize) -> Vec<Vec<&Cells>> {
    let mut blocks: Vec<Vec<&Cells>> = vec![Vec::new()];
    let mut used = lead;
    for column in columns {
        let width = BETWEEN + column.width();
        if used + width > most && blocks.last().is_some_and(|b| !b.is_empty()) {
            blocks.push(Vec::new());
            used = lead;
        }
        used += width;
        blocks.last_mut().into_iter().for_each(|b| b.push(column));
    }
    blocks
}

/// One block; of a folded table, rows without any cell in it are left out.
fn align_block(first: &Cells, rest: &[&Cells], above: &str, folded: bool) -> String {
    let columns: Vec<&Cells> = std::iter::once(first).chain(rest.iter().copied()).collect();
    let widths: Vec<usize> = columns.iter().map(|c| c.width()).collect();
    let gap = " ".repeat(BETWEEN);
    let line = |pick: &dyn Fn(&Cells) -> String| {
        let cells: Vec<String> = columns.iter().zip(&widths).map(|(c, w)| c.line(&pick(c), *w)).collect();
        cells.join(&gap).trim_end().to_owned() + "\n"
    };
    let mut out = String::new();
    if !above.is_empty() && !rest.is_empty() {
        out += &format!("{}{gap}{above}\n", " ".repeat(widths[0]));
    }
    out += &line(&|c| c.head.clone());
    out += &("─".repeat(widths.iter().sum::<usize>() + BETWEEN * (widths.len() - 1)) + "\n");
    for row in (0..first.cells.len()).filter(|r| !folded || rest.iter().any(|c| !c.cells[*r].is_empty())) {
        out += &line(&|c| c.cells[row].clone());
    }
    out
}

fn plain(markup: &str) -> String {
    Rich::parse(markup).plain()
}

impl Table {
    /// The table for the terminal, under its title.
    ///
    /// # Errors
    /// When columns differ in length or have the same name.
    pub fn to_text(&self) -> Result<String> {
        let rows = self.rows()?;
        let columns: Vec<Cells> = self
            .columns
            .iter()
            .map(|c| Cells {
                head: plain(&c.full_head()),
                cells: (0..rows).map(|r| cut(&plain(&c.cell(r)), WIDEST_TEXT)).collect(),
                right: !c.is_text(),
            })
            .collect();
        Ok(with_title(&self.title, align(&columns, "", columns_now())))
    }
}

impl Matrix {
    /// The matrix for the terminal: rows downwards, columns to the right, folded where it is wide.
    ///
    /// # Errors
    /// When the shape of the matrix is not sound.
    pub fn to_text(&self) -> Result<String> {
        self.check()?;
        let names = |n: &[String]| n.iter().map(|n| cut(&plain(n), WIDEST_TEXT / 2)).collect::<Vec<_>>();
        let rows = names(&self.rows);
        let right = self.rows.iter().all(|r| r.parse::<i64>().is_ok());
        let mut columns = vec![Cells { head: plain(&self.row_name), cells: rows, right }];
        for (j, name) in names(&self.columns).into_iter().enumerate() {
            let cells = (0..self.rows.len()).map(|i| self.cell(i, j)).collect();
            columns.push(Cells { head: name, cells, right: true });
        }
        Ok(with_title(&self.name, align(&columns, &plain(&self.column_name), columns_now())))
    }
}

fn with_title(title: &str, body: String) -> String {
    let title = plain(title);
    if title.is_empty() { body } else { wrap(&title, "", "") + &body }
}

/// Breaks a text into lines that fit the terminal (and are at most 100 columns long), each ended; the first begins with `first`, the others with `rest`.
pub fn wrap(text: &str, first: &str, rest: &str) -> String {
    let most = columns_now().min(LONGEST_LINE);
    let (mut out, mut line, mut between) = (String::new(), first.to_owned(), "");
    for word in text.split_whitespace() {
        if !between.is_empty() && line.width() + 1 + word.width() > most {
            out += &(line + "\n");
            (line, between) = (rest.to_owned(), "");
        }
        line = line + between + word;
        between = " ";
    }
    out + line.trim_end() + "\n"
}

enum Section {
    Paragraph(String),
    Block(String),
    Next(String, String),
}

/// What a command prints: first what was computed on what, then tables, last what to do next.
pub struct Screen {
    heading: String,
    parts: Vec<Section>,
}

impl Screen {
    /// Begins with what was computed on what (markup).
    pub fn new(heading: &str) -> Screen {
        Screen { heading: heading.into(), parts: Vec::new() }
    }

    /// Adds words (markup).
    pub fn paragraph(mut self, text: &str) -> Screen {
        self.parts.push(Section::Paragraph(text.into()));
        self
    }

    /// Adds a table.
    ///
    /// # Errors
    /// When its columns do not fit together.
    pub fn table(mut self, table: &Table) -> Result<Screen> {
        self.parts.push(Section::Block(table.to_text()?));
        Ok(self)
    }

    /// Adds a matrix.
    ///
    /// # Errors
    /// When its shape is not sound.
    pub fn matrix(mut self, matrix: &Matrix) -> Result<Screen> {
        self.parts.push(Section::Block(matrix.to_text()?));
        Ok(self)
    }

    /// Adds a last line, such as `report: ebbing-show/report.html`; paths and commands are not broken.
    pub fn next(mut self, what: &str, how: &str) -> Screen {
        self.parts.push(Section::Next(what.into(), how.into()));
        self
    }

    /// The whole text; `styled` sets the first line in bold type for terminals.
    pub fn render(&self, styled: bool) -> String {
        let heading = wrap(&plain(&self.heading), "", "");
        let mut out = format!("{}\n", Style::Bold.on(heading.trim_end(), styled));
        let mut after_next = false;
        for part in &self.parts {
            let is_next = matches!(part, Section::Next(..));
            if !(is_next && after_next) {
                out.push('\n');
            }
            after_next = is_next;
            match part {
                Section::Paragraph(text) => out += &wrap(&plain(text), "", ""),
                Section::Block(text) => out += text,
                Section::Next(what, how) => {
                    let how: String = how.chars().map(printable).collect();
                    out += &format!("{what}: {how}\n");
                }
            }
        }
        out
    }

    /// The whole text as it suits the standard output: plain unless that is a terminal that takes bold type.
    pub fn render_for_stdout(&self) -> String {
        self.render(stdout_takes_styles())
    }
}

/// How a word of a text stands out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Bold type.
    Bold,
    /// What holds, in green.
    Good,
    /// What does not, in red and bold.
    Bad,
}

impl Style {
    /// The text in this style, or as it is where `styled` is false.
    pub fn on(self, text: &str, styled: bool) -> String {
        let code = match self {
            Style::Bold => "1",
            Style::Good => "32",
            Style::Bad => "1;31",
        };
        if styled { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() }
    }
}

/// Whether the standard output is a terminal that takes bold type and color, and nobody asked for none (`NO_COLOR`).
pub fn stdout_takes_styles() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    takes_styles(std::io::stdout().is_terminal(), set("NO_COLOR"), dumb)
}

fn takes_styles(terminal: bool, no_color: bool, dumb: bool) -> bool {
    terminal && !no_color && !dumb
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    fn fits(text: &str) {
        for line in text.lines() {
            assert!(line.width() <= TERMINAL_COLUMNS, "{} columns: {line}", line.width());
        }
    }

    #[test]
    fn numbers_stand_right_under_their_head() {
        let table = Table::new("Order parameters")
            .text("pair", &["1 → 2", "2 → 3"])
            .number("γ_{RF}", &[0.8123, 4.1e-7])
            .estimate("F_{21}", &[0.31, 1.5], Spread::StandardError, &[0.02, 0.3])
            .integer("P", &[2000, 10])
            .number("time", &[1.534, 20.0])
            .unit("s");
        let expected = "\
Order parameters
pair     γ_RF          F₂₁     P  time (s)
──────────────────────────────────────────
1 → 2   0.812  0.31 ± 0.02  2000      1.53
2 → 3  4.1e-7    1.5 ± 0.3    10      20.0
";
        assert_eq!(table.to_text().unwrap(), expected);
    }

    #[test]
    fn a_matrix_says_which_way_it_runs() {
        let m = Matrix::tasks("Forgetting", &[vec![0.0, 0.0], vec![0.5, f64::NAN]]).only(|t, s| s <= t);
        let expected = "\
Forgetting
            on task
after task      1    2
──────────────────────
         1      0
         2  0.500  nan
";
        assert_eq!(m.to_text().unwrap(), expected);
    }

    #[test]
    fn lines_are_broken_at_80_columns_and_words_kept_whole() {
        let text = wrap(&"word ".repeat(40), "* ", "  ");
        fits(&text);
        assert!(text.starts_with("* word word") && text.lines().skip(1).all(|l| l.starts_with("  word")));
        assert_eq!(text.split_whitespace().filter(|w| *w == "word").count(), 40);
        let long = "x".repeat(100);
        assert_eq!(wrap(&format!("a {long} b"), "", "  "), format!("a\n  {long}\n  b\n"));
        assert_eq!(wrap("", "", ""), "\n");
    }

    #[test]
    fn a_wide_terminal_folds_less() {
        let names: Vec<String> = (0..30).map(|k| format!("column {k}")).collect();
        let columns: Vec<Cells> =
            names.iter().map(|n| Cells { head: n.clone(), cells: vec!["1".into()], right: true }).collect();
        let blocks = |most: usize| align(&columns, "", most).matches("column 0").count();
        assert!(blocks(200) < blocks(80) && blocks(80) < blocks(40));
        assert!(align(&columns, "", 200).lines().all(|line| line.width() <= 200));
    }

    #[test]
    fn wide_tables_are_folded() {
        let m = Matrix::tasks("F", &vec![vec![-1.2345e-7; 30]; 3]);
        let text = m.to_text().unwrap();
        fits(&text);
        // Seven columns of 10 fit beside the first; five blocks of six are more even.
        assert_eq!(text.matches("after task").count(), 5, "the first column is repeated: {text}");
        assert_eq!(text.matches("-1.23e-7").count(), 90);
    }

    #[test]
    fn long_and_hostile_texts_stay_within_the_screen() {
        let long = "word ".repeat(60) + "\u{1b}[31mred\u{7}";
        let table = Table::new(&long).text("name", &[&long, "漢字"]).number("x", &[1.0, 2.0]);
        let screen = Screen::new(&long).paragraph(&long).table(&table).unwrap().next("report", "out/report.html");
        let text = screen.render(false);
        fits(&text);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
        assert!(text.ends_with("\n\nreport: out/report.html\n"));
        assert!(screen.render(true).starts_with("\u{1b}[1m"));
    }

    #[test]
    fn styles_are_for_terminals_that_take_them() {
        assert!(takes_styles(true, false, false));
        assert!(
            ![(false, false, false), (true, true, false), (true, false, true)]
                .map(|(t, n, d)| takes_styles(t, n, d))
                .contains(&true)
        );
        assert_eq!(Style::Bad.on("FAIL", true), "\u{1b}[1;31mFAIL\u{1b}[0m");
        assert_eq!(Style::Good.on("pass", false), "pass");
    }

    #[test]
    fn one_blank_line_around_blocks_and_next_lines_together() {
        let table = Table::new("").number("a", &[1.0]);
        let text = Screen::new("h").table(&table).unwrap().next("report", "r").next("more", "m").render(false);
        assert_eq!(text, "h\n\n   a\n────\n1.00\n\nreport: r\nmore: m\n");
    }
}
