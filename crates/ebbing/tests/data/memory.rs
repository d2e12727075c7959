//! No reader panics, or takes more memory than a small multiple of its input, whatever the bytes.

use crate::{cifar, gzip, idx, images, npy};
use ebbing::Dataset;
use ebbing::data::{
    Array, Cifar, CsvOptions, ImportOptions, Values, parse_cifar, parse_csv, parse_idx, parse_npy, parse_npz,
};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

/// Counts what the current thread has allocated, and the most it ever had.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let live = LIVE.with(|live| live.replace(live.get() + bytes)) + bytes;
    PEAK.with(|peak| peak.set(peak.get().max(live)));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that a call had allocated at a time.
fn peak<T>(call: impl FnOnce() -> T) -> usize {
    let before = LIVE.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let result = call();
    let most = PEAK.with(Cell::get) - before;
    drop(result);
    most as usize
}

/// Error messages and buffers, and for compressed files the decoder's window and tables: independent of the input's size.
const FIXED: usize = 20_000;
const DECODER: usize = 200_000;

/// Bytes become 64-bit integers (8 times), once more when they change order, and vectors double as they grow.
const ARRAYS: usize = 32;

/// A field of two characters becomes eight bytes, a single row is padded to eight, and field ends are kept beside them.
const CSV: usize = 64;

/// Stored values of every kind, in NumPy's own and in this library's files.
fn npz_files() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let x = Array { shape: vec![6, 5], values: Values::Real((0..30).map(f64::from).collect()) };
    let y = Array { shape: vec![6], values: Values::Integers(vec![0, 1, 2, 0, 1, 2]) };
    ebbing::data::write_npz(&path, &[("x", &x), ("y", &y)]).unwrap();
    vec![std::fs::read(path).unwrap(), include_bytes!("numpy.npz").to_vec()]
}

/// A valid file with some bytes changed, then cut or prolonged.
fn damaged(files: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let tail = prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (prop::sample::select(files), edits, tail, prop::collection::vec(any::<u8>(), 0..20)).prop_map(
        |(mut file, edits, cut, more)| {
            edits.iter().for_each(|(at, byte)| {
                let at = at.index(file.len());
                file[at] = *byte;
            });
            if let Some(cut) = cut {
                file.truncate(cut.index(file.len()));
                file.extend(more);
            }
            file
        },
    )
}

/// Arbitrary bytes behind the start of a valid file.
fn arbitrary(start: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..600).prop_map(move |bytes| [start, &bytes].concat())
}

fn idx_files() -> Vec<Vec<u8>> {
    let mut real = vec![0, 0, 0x0d, 1, 0, 0, 0, 2];
    real.extend([0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
    vec![images(5), idx(&[7], &[1; 7]), real]
}

fn npy_files() -> Vec<Vec<u8>> {
    vec![
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", &[0x3f; 48]),
        npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 4), }\n", &[9; 24]),
        npy("{'descr': '>u2', 'fortran_order': True, 'shape': (3,), }", &[1; 6]),
    ]
}

const CSV_TEXT: &[u8] = b"a,b,label\n1,2.5,0\n-3e2,4,1\n5,\"6\",1\n";

proptest! {
    #[test]
    fn idx_reader(bytes in prop_oneof![arbitrary(b""), arbitrary(&[0, 0, 8, 3]), damaged(idx_files())]) {
        let input = bytes.len();
        let most = peak(move || parse_idx(bytes, Path::new("x")).is_ok());
        prop_assert!(most <= ARRAYS * input + FIXED, "{most} bytes for {input}");
    }

    #[test]
    fn npy_reader(bytes in prop_oneof![arbitrary(b""), arbitrary(b"\x93NUMPY\x01\x00\x30\x00{'descr': "), damaged(npy_files())]) {
        let input = bytes.len();
        let most = peak(move || parse_npy(bytes, Path::new("x"), "a").is_ok());
        prop_assert!(most <= ARRAYS * input + FIXED, "{most} bytes for {input}");
    }

    #[test]
    fn npz_reader(bytes in prop_oneof![arbitrary(b""), arbitrary(b"PK\x05\x06"), damaged(npz_files())]) {
        let input = bytes.len();
        let most = peak(|| parse_npz(&bytes, Path::new("x")).is_ok());
        prop_assert!(most <= ARRAYS * input + DECODER, "{most} bytes for {input}");
    }

    #[test]
    fn csv_reader(bytes in prop_oneof![arbitrary(b""), arbitrary(b"1,2\n"), damaged(vec![CSV_TEXT.to_vec()])], quick in any::<bool>()) {
        let options = CsvOptions { header: quick.then_some(true), ..CsvOptions::default() };
        let most = peak(|| parse_csv(&bytes, Path::new("x"), &options).is_ok());
        prop_assert!(most <= CSV * bytes.len() + FIXED, "{most} bytes for {}", bytes.len());
    }

    #[test]
    fn cifar_reader(bytes in prop_oneof![arbitrary(b""), damaged(vec![cifar(&[&[3], &[9]]), cifar(&[&[3, 70]])])], hundred in any::<bool>()) {
        let set = if hundred { Cifar::Hundred } else { Cifar::Ten };
        let most = peak(|| parse_cifar(&bytes, set, Path::new("x")).is_ok());
        prop_assert!(most <= 2 * bytes.len() + FIXED, "{most} bytes for {}", bytes.len());
    }
}

/// A tar archive of one file, with a correct checksum.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&b| u32::from(b)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    [&header[..], content, &vec![0; 1536 - content.len() % 512][..]].concat()
}

fn files_of_every_kind() -> Vec<(&'static str, Vec<u8>)> {
    let mut npz = npz_files();
    vec![
        ("a.npz", npz.remove(0)),
        ("b.npz", npz.remove(0)),
        ("c.csv", CSV_TEXT.to_vec()),
        ("d.csv.gz", gzip(CSV_TEXT)),
        ("train-images-idx3-ubyte.gz", gzip(&images(6))),
        ("e.tar.gz", gzip(&tar("cifar-100-binary/test.bin", &cifar(&[&[3, 70], &[4, 5]])))),
        ("f.zip", include_bytes!("numpy.npz").to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn opening_damaged_files(which in 0..7usize, damage in damaged(vec![(0..=255).collect()])) {
        let (name, mut bytes) = files_of_every_kind().swap_remove(which);
        // The pattern says where to damage and with what; index 0 … 255 of it stand for places in the file.
        for (i, byte) in damage.iter().enumerate().filter(|(i, byte)| *i < 256 && **byte != *i as u8) {
            let at = i * bytes.len() / 256;
            bytes[at] = *byte;
        }
        bytes.truncate(bytes.len() * damage.len().min(256) / 256);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), &bytes).unwrap();
        std::fs::write(folder.path().join("train-labels-idx1-ubyte"), crate::labels(6)).unwrap();
        let most = peak(|| Dataset::open(folder.path().join(name), &ImportOptions::default()).is_ok());
        // Compressed inputs decode to at most 1040 times their size.
        prop_assert!(most <= 1040 * CSV * bytes.len() + DECODER);
    }
}

#[test]
fn large_inputs_take_a_small_multiple() {
    const N: usize = 1 << 20;
    let mut signed = idx(&[N as u32], &vec![1; N]);
    signed[2] = 9;
    let input = signed.len();
    let most = peak(move || parse_idx(signed, Path::new("x")).unwrap());
    // One byte becomes one 64-bit integer.
    assert!(most <= 8 * input + FIXED, "{most}");

    let fortran =
        npy(&format!("{{'descr': '|i1', 'fortran_order': True, 'shape': (1024, {})}}", N / 1024), &vec![1; N]);
    // The same, once as stored and once in the other order.
    let most = peak(move || parse_npy(fortran, Path::new("x"), "a").unwrap());
    assert!(most <= 16 * N + FIXED, "{most}");

    let bytes = images(N / 6);
    // Bytes stay where they are.
    assert!(peak(move || parse_idx(bytes, Path::new("x")).unwrap()) <= FIXED);

    let records = cifar(&vec![&[1][..]; 300]);
    // The pixels again, and eight bytes for each label.
    assert!(peak(|| parse_cifar(&records, Cifar::Ten, Path::new("x")).unwrap()) <= records.len() + FIXED);

    for (columns, lines) in [(2, N / 4), (N / 4, 2), (N / 2, 1)] {
        let text = format!("{}1\n", "1,".repeat(columns - 1)).repeat(lines);
        let most = peak(|| parse_csv(text.as_bytes(), Path::new("x"), &CsvOptions::default()).unwrap());
        assert!(most <= CSV * text.len() + FIXED, "{columns} columns: {most} bytes for {}", text.len());
    }
}

#[test]
fn headers_that_claim_gigabytes_take_nothing() {
    let claims: [(&str, Vec<u8>); 3] = [
        ("idx", idx(&[60_000, 28, 28], &[1; 100])),
        ("npy", npy("{'descr': '<f8', 'fortran_order': True, 'shape': (60000, 10000)}", &[1; 80])),
        ("cifar", cifar(&[&[1]])[..3000].to_vec()),
    ];
    for (kind, bytes) in claims {
        let path = Path::new("x");
        let most = peak(move || match kind {
            "idx" => assert!(parse_idx(bytes, path).is_err()),
            "npy" => assert!(parse_npy(bytes, path, "a").is_err()),
            _ => assert!(parse_cifar(&bytes, Cifar::Ten, path).is_err()),
        });
        assert!(most <= FIXED, "{kind}: {most}");
    }
}
