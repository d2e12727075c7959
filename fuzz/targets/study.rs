//! Files of studies, in TOML, and every job that they ask for.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ebbing-fuzz-{}.toml", std::process::id()));
    if std::fs::write(&path, bytes).is_ok()
        && let Ok(file) = ebbing_studies::StudyFile::read(&path)
        && file.count() < 100
        // Names of files lead anywhere.
        && !file.text.contains("tasks") && !file.text.contains("features") && !file.text.contains("data")
    {
        let _ = file.study();
    }
});
