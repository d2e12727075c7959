//! CIFAR records of both sets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    for set in [ebbing::data::Cifar::Ten, ebbing::data::Cifar::Hundred] {
        let _ = ebbing::data::parse_cifar(bytes, set, Path::new("fuzz"));
    }
});
