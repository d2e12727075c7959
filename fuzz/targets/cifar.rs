//! CIFAR records of both sets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    for set in [ebbing::Cifar::Ten, ebbing::Cifar::Hundred] {
        let _ = ebbing::parse_cifar(bytes, set, Path::new("fuzz"));
    }
});
