//! IDX files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let _ = ebbing::data::parse_idx(bytes.to_vec(), Path::new("fuzz"));
});
