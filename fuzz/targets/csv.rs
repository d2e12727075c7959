//! CSV files, with headings found out, given and denied.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    for header in [None, Some(true), Some(false)] {
        let options = ebbing::data::CsvOptions { header, ..Default::default() };
        let _ = ebbing::data::parse_csv(bytes, Path::new("fuzz"), &options);
    }
});
