//! Checkpoints of training, damaged anywhere and signed anew.
#![no_main]

use ebbing::linalg::Mat;
use ebbing::nets::TrainSettings;
use ebbing::{Task, Trainer};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

/// Puts the right checksum into a file whose header has a place for it.
fn signed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let key = b"sha256\\\":\\\"";
    if let Some(at) = bytes.windows(key.len()).position(|window| window == key).map(|at| at + key.len())
        && at + 64 <= bytes.len()
    {
        bytes[at..at + 64].fill(b'0');
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        bytes[at..at + 64].copy_from_slice(digest.as_bytes());
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let x = Mat::from_fn(4, 3, |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
    let y = Mat::from_fn(4, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 });
    let tasks = [Task::new(x.clone(), y.clone()), Task::new(y.clone() * x.row(0), y)];
    let settings = TrainSettings { width: 5, max_steps: 3, ..TrainSettings::default() };
    let path = std::env::temp_dir().join(format!("ebbing-fuzz-{}.safetensors", std::process::id()));
    if std::fs::write(&path, signed(bytes)).is_ok()
        && let Ok(mut trainer) = Trainer::resume(&path, &tasks, &settings)
    {
        while trainer.done() < trainer.tasks() && trainer.learn_next(&mut |_| true).is_ok() {}
    }
});
