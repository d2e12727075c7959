//! Checkpoints of training, damaged anywhere and signed anew.
#![no_main]

use ebbing::Context;
use ebbing::linalg::Mat;
use ebbing::nets::TrainSettings;
use ebbing::{Task, Trainer};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

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

fn tasks() -> [Task; 2] {
    let task = |shift: usize| {
        let x = Mat::from_fn(4, 3, |i, j| ((i * 5 + j * 3 + shift) % 7) as f64 - 3.0);
        Task::new(x, Mat::from_fn(4, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))
    };
    [task(0), task(2)]
}

fuzz_target!(|bytes: &[u8]| {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    let (tasks, settings) = (tasks(), TrainSettings { width: 5, max_steps: 3, ..TrainSettings::default() });
    let path = std::env::temp_dir().join(format!("ebbing-fuzz-{}.safetensors", std::process::id()));
    let sound = SOUND.get_or_init(|| {
        let mut trainer = Trainer::new(&tasks, &settings, &Context::default()).unwrap();
        trainer.learn_next(&mut |_| true).unwrap();
        trainer.save(&path, &tasks).unwrap();
        std::fs::read(&path).unwrap()
    });
    // Either a file of its own, or edits (place, bytes removed, byte put there) of a sound one.
    let file = match bytes.split_first() {
        Some((0, rest)) => rest.to_vec(),
        Some((_, edits)) => {
            let mut file = sound.clone();
            for edit in edits.chunks_exact(4) {
                let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % file.len();
                let to = (at + usize::from(edit[2] % 32)).min(file.len());
                file.splice(at..to, [edit[3]]);
            }
            // The header's length, so that a header that shrank is read.
            let before = u64::from_le_bytes(sound[..8].try_into().unwrap()) as usize;
            let length = (before + file.len()).saturating_sub(sound.len()) as u64;
            if file.len() >= 8 && edits.len() % 2 == 0 {
                file[..8].copy_from_slice(&length.to_le_bytes());
            }
            file
        }
        None => return,
    };
    if std::fs::write(&path, signed(&file)).is_ok()
        && let Ok(mut trainer) = Trainer::resume(&path, &tasks, &settings)
    {
        while trainer.done() < trainer.tasks() && trainer.learn_next(&mut |_| true).is_ok() {}
    }
});
