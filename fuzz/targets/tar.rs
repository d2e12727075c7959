//! Archives of data sets as they are fetched: gzipped tar, and zip.
#![no_main]

use ebbing::Dataset;
use ebbing::data::ImportOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let name = ["cifar-10-binary.tar.gz", "cifar-100-binary.tar.gz", "gzip.zip"][*which as usize % 3];
    let folder = std::env::temp_dir().join(format!("ebbing-fuzz-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_ok() && std::fs::write(folder.join(name), bytes).is_ok() {
        let _ = Dataset::open(folder.join(name), &ImportOptions::default());
    }
});
