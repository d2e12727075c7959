//! The files of a study's folder: its manifest, or the first cell's rows.
#![no_main]

use ebbing_studies::{Store, Study};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A folder with one finished cell.
fn folder() -> &'static (PathBuf, PathBuf, Vec<u8>) {
    static MADE: OnceLock<(PathBuf, PathBuf, Vec<u8>)> = OnceLock::new();
    MADE.get_or_init(|| {
        let base = std::env::temp_dir().join(format!("ebbing-fuzz-cells-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        std::fs::create_dir_all(&base).unwrap();
        let file = base.join("one.toml");
        let text = "command = \"forecast\"\n[settings]\nexamples = 4\ntest_examples = 0\nlength = 1\nno_whiten = true\n";
        std::fs::write(&file, text).unwrap();
        let study: Study = ebbing_studies::StudyFile::read(&file).unwrap().study().unwrap();
        let out = base.join("out");
        let store = Store::create(&out, &study).unwrap();
        let sources = ebbing_studies::Sources::new();
        ebbing_studies::run_missing(&study, &store, &[0], &sources, 1, &mut |_| ()).unwrap();
        let cell = std::fs::read_dir(out.join("cells")).unwrap().next().unwrap().unwrap().path();
        let manifest = std::fs::read(out.join("study.json")).unwrap();
        (out, cell, manifest)
    })
}

fuzz_target!(|bytes: &[u8]| {
    let (out, cell, manifest) = folder();
    let Some((which, bytes)) = bytes.split_first() else { return };
    let path = out.join("study.json");
    std::fs::write(&path, manifest).unwrap();
    std::fs::write(if which % 2 == 0 { cell.clone() } else { path }, bytes).unwrap();
    if let Ok(store) = Store::open(out) {
        let _ = store.status().map(|status| status.done());
        let _ = store.frame(true).map(|frame| frame.len());
    }
});
