//! Recipes, in TOML.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ebbing-fuzz-{}.toml", std::process::id()));
    if std::fs::write(&path, bytes).is_ok() {
        let _ = ebbing::Recipe::read(&path);
    }
});
