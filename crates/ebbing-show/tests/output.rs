//! What is written can be read back: CSV, Parquet and JSON with their metadata; the page holds nothing but itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use ebbing_show::{
    Band, Figure, Line, Matrix, Metadata, Panel, Shown, Spread, Table, escape_markup, json_number, write_csv,
    write_table,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

const HOSTILE: &str = "<script>alert(1)</script> & \"quotes\" 'x'\n# seed: 7,\u{1b}[31m";

fn metadata() -> Metadata {
    #[derive(serde::Serialize)]
    struct Settings {
        depth: usize,
        lambda: serde_json::Value,
        name: &'static str,
    }
    let settings = Settings { depth: 3, lambda: json_number(f64::INFINITY), name: HOSTILE };
    Metadata::new("0.1.0", "ebbing forecast --seed 1").seed(1).dataset(HOSTILE, "ab12").settings(&settings).unwrap()
}

fn table() -> Table {
    Table::new(&escape_markup(HOSTILE))
        .text("name", &[&escape_markup(HOSTILE), "#comment", "plain"])
        .integer("task", &[1, 2, 3])
        .estimate("γ_{RF}", &[0.1, f64::NAN, 1e-300], Spread::StandardError, &[0.01, f64::INFINITY, 0.0])
        .meaning("overlap of features")
        .number("time", &[1.0 / 3.0, f64::NEG_INFINITY, -0.0])
        .unit("s")
}

#[test]
fn csv_reads_back_with_its_metadata() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    write_csv(&path, &table(), &metadata()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let comments: Vec<&str> = text.lines().take_while(|l| l.starts_with("# ")).collect();
    assert_eq!(comments.iter().filter(|c| c.starts_with("# seed: ")).count(), 1, "a name cannot forge a line");
    assert!(comments.contains(&"# seed: 1") && comments.contains(&"# dataset_sha256: ab12"));
    assert!(comments.contains(&"# column gamma_RF: dimensionless; overlap of features"));
    assert!(comments.contains(&"# column gamma_RF_se: dimensionless; standard error of gamma_RF"));
    assert!(comments.contains(&"# column time: s"));
    let settings = comments.iter().find_map(|c| c.strip_prefix("# settings: ")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
    assert_eq!((&settings["depth"], &settings["lambda"]), (&3.into(), &"inf".into()));
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(&path).unwrap();
    assert_eq!(reader.headers().unwrap(), vec!["name", "task", "gamma_RF", "gamma_RF_se", "time"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(&rows[1][0], "#comment");
    assert!(rows[0][0].starts_with("<script>"));
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    assert_eq!(number(0, 4).to_bits(), (1.0f64 / 3.0).to_bits());
    assert_eq!(number(2, 2).to_bits(), 1e-300f64.to_bits());
    assert!(number(1, 2).is_nan());
    assert_eq!((number(1, 3), number(1, 4)), (f64::INFINITY, f64::NEG_INFINITY));
}

fn parquet_metadata(path: &Path) -> BTreeMap<String, String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    pairs.into_iter().map(|p| (p.key, p.value.unwrap())).collect()
}

#[test]
fn parquet_reads_back_with_its_metadata() {
    let directory = tempfile::tempdir().unwrap();
    let [_, path] = write_table(directory.path(), "t", &table(), &metadata()).unwrap();
    let pairs = parquet_metadata(&path);
    let expected: BTreeMap<String, String> = metadata().entries().into_iter().map(|(k, v)| (k.into(), v)).collect();
    for (key, value) in &expected {
        assert_eq!(pairs.get(key), Some(value), "{key}");
    }
    let columns: serde_json::Value = serde_json::from_str(&pairs["columns"]).unwrap();
    assert_eq!(columns[2]["meaning"], "overlap of features");
    assert_eq!(columns[4]["unit"], "s");
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let rows: Vec<Vec<(String, Field)>> =
        reader.get_row_iter(None).unwrap().map(|r| r.unwrap().into_columns()).collect();
    assert_eq!(rows.len(), 3);
    assert!(matches!(&rows[0][0].1, Field::Str(s) if s.starts_with("<script>")));
    assert_eq!(rows[1][1], ("task".into(), Field::Long(2)));
    assert_eq!(rows[2][2], ("gamma_RF".into(), Field::Double(1e-300)));
    assert!(matches!(rows[1][2].1, Field::Double(v) if v.is_nan()));
    assert_eq!(rows[1][4].1, Field::Double(f64::NEG_INFINITY));
}

#[test]
fn a_matrix_and_an_empty_table_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let matrix = Matrix::tasks("F_{ts}", &[vec![0.0, 0.0], vec![0.5, 0.0]]).only(|t, s| s <= t);
    let [csv, parquet] = write_table(directory.path(), "f", &matrix.to_table().unwrap(), &metadata()).unwrap();
    let text = std::fs::read_to_string(csv).unwrap();
    assert!(text.contains("after_task,on_task,F_ts\n1,1,0\n2,1,0.5\n2,2,0\n"));
    assert!(parquet_metadata(&parquet)["columns"].contains("downwards"));
    let empty = Table::new("no rows").number("x", &[]).text("y", &[""; 0]);
    write_table(directory.path(), "empty", &empty, &metadata()).unwrap();
    assert!(write_table(directory.path(), "none", &Table::new("no columns"), &metadata()).is_err());
}

fn page() -> String {
    let x = [1.0, 2.0, 3.0];
    let hostile = escape_markup(HOSTILE);
    let line = Panel::new().x(&hostile).y("F_{21}").line(Line::new(&hostile, &x, &[1.0, f64::NAN, 2.0]));
    let band = Panel::new().x("α").band(Band::new("SD", &x, &x, &[2.0, 3.0, 4.0]));
    let matrix = Matrix::tasks("F_{ts}", &[vec![0.0, 0.1], vec![-0.5, 0.0]]);
    let grid = Figure::grid(vec![line.clone(), band, Panel::matrix(&matrix)], 3).caption("**a** Forgetting F_{21}.");
    let (sentences, notes) = (vec![format!("{hostile} is 0.31 ± 0.02.")], vec!["Assumes a wide network.".to_string()]);
    Shown::new(&hostile, "", sentences, notes, vec![table().into(), matrix.into()])
        .figure("grid", grid.metadata(&metadata()))
        .figure("single", Figure::single(line).caption(&hostile))
        .report(&metadata())
        .unwrap()
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    let page = page();
    for forbidden in
        ["<script", "<link", "<img", "<iframe", "<object", " src=", " href=", "url(", "@import", "onload", "\u{1b}"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("size: A4"));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_page_is_well_formed_and_complete() {
    let page = page();
    // Void elements aside, the page is XML: a reader of XML finds every unclosed or stray tag.
    let head = page.find("<main>").unwrap();
    let body = page[head..].trim_end().trim_end_matches("</html>").trim_end().trim_end_matches("</body>");
    let document = roxmltree::Document::parse(body).unwrap();
    let count = |tag: &str| document.descendants().filter(|n| n.tag_name().name() == tag).count();
    // The wide figure is there twice: for a screen, and with its panels below each other for a phone.
    assert_eq!((count("svg"), count("figure"), count("figcaption")), (3, 2, 2));
    assert_eq!(count("table"), 3);
    let text: String = document.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect();
    for part in [
        "0.100 ± 0.010",
        "0.31 ± 0.02",
        "seed",
        "ab12",
        "\"depth\": 3",
        "@software{ebbing",
        "1 value not a number",
        "Figure 2.",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let ids = document.descendants().filter(|n| n.attribute("id").is_some()).count();
    assert_eq!(ids, 0, "no ids, so none can clash between figures");
}

#[test]
fn the_page_opens_with_five_bullets_and_notes_follow_the_figures() {
    let sentences: Vec<String> = (1..=7).map(|k| format!("Sentence {k} of γ_{{RF}}.")).collect();
    let figure = Figure::single(Panel::new()).title("Forgetting").finding("Task 1 loses 0.31.").caption("Empty.");
    let shown = Shown::new("Title", "Two tasks.", sentences, vec!["Assumed.".into()], vec![]).figure("f", figure);
    let page = shown.report(&metadata()).unwrap();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    let places = ["Two tasks.", "Sentence 1", "Sentence 5", "<figure>", "Sentence 6", "Assumed."].map(at);
    assert!(places.is_sorted(), "{places:?}");
    let opening = &page[at("<main>")..at("<figure>")];
    assert_eq!(opening.matches("<li>").count(), 5);
    assert!(opening.contains("Sentence 1 of γ<sub>RF</sub>."), "sentences are marked");
    assert!(page.contains("aria-label=\"Forgetting. Task 1 loses 0.31.\""), "what is read aloud is the finding");
}

#[test]
fn panels_stand_below_each_other_on_a_phone() {
    let panel = |name: &str| Panel::new().y(name).line(Line::new("", &[1.0, 2.0], &[1.0, 2.0]));
    let figure = Figure::grid(vec![panel("F_{21}"), panel("G_{22}")], 2).caption("Two panels.");
    let page = Shown::new("Title", "", vec!["Answer.".into()], vec![], vec![]).figure("f", figure);
    let page = page.report(&metadata()).unwrap();
    let size = |class: &str| {
        let card = &page[page.find(&format!("<div class=\"card {class}\">")).unwrap()..];
        let number = |name: &str| {
            let from = card.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
            card[from..].split("mm").next().unwrap().parse::<f64>().unwrap()
        };
        (number("width"), number("height"))
    };
    let (wide, stacked) = (size("wide"), size("stacked"));
    assert_eq!((wide.0, stacked.0), (178.0, 86.0));
    assert!(stacked.1 > 1.5 * wide.1, "{wide:?} {stacked:?}");
    assert!(page.contains("max-width: 699px"));
}

#[test]
fn figures_carry_their_settings() {
    let directory = tempfile::tempdir().unwrap();
    let figure = Figure::single(Panel::new()).caption("Empty.").metadata(&metadata());
    let [svg, png] = figure.save(directory.path(), "f").unwrap();
    let svg = std::fs::read_to_string(svg).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let element =
        |tag: &str| document.descendants().find(|n| n.tag_name().name() == tag).unwrap().text().unwrap().to_owned();
    assert_eq!(element("desc"), "Empty.");
    assert_eq!(serde_json::from_str::<Metadata>(&element("metadata")).unwrap().seed, Some(1));
    let reader = png::Decoder::new(std::io::BufReader::new(File::open(png).unwrap())).read_info().unwrap();
    let chunks = &reader.info().utf8_text;
    let settings = chunks.iter().find(|c| c.keyword == "ebbing").unwrap().get_text().unwrap();
    assert_eq!(serde_json::from_str::<Metadata>(&settings).unwrap(), metadata());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}
