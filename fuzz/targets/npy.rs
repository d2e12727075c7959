//! NumPy arrays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let _ = ebbing::data::parse_npy(bytes.to_vec(), Path::new("fuzz"), "array");
});
