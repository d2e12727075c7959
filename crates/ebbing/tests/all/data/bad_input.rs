//! Bad files are refused with one sentence that names file, field and value.

use super::{cifar, gzip, idx, images, labels, npy};
use ebbing::data::{
    Array, Cifar, CsvOptions, ImportOptions, LabelColumn, Values, parse_cifar, parse_csv, parse_idx, parse_npy,
    parse_npz, write_npz,
};
use ebbing::linalg::Mat;
use ebbing::{Dataset, Error};
use std::path::Path;

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let text = result.unwrap_err().to_string();
    assert!(!text.contains('\n'), "one sentence: {text}");
    text
}

#[test]
fn idx_headers() {
    let refuse = |bytes: Vec<u8>| message(parse_idx(bytes, Path::new("f")));
    assert_eq!(refuse(vec![0, 0, 8]), "f: the length is 3 bytes; an IDX file has at least 4, its magic number");
    let magic = refuse(vec![0x50, 0x4b, 3, 4, 9, 9]);
    assert!(
        magic.contains("the magic number is 1347093252 (0x504b0304); expected an IDX file: 2051 for images"),
        "{magic}"
    );
    assert!(refuse(vec![0, 0, 7, 1, 0, 0, 0, 0]).contains("the magic number is 1793"));
    assert!(refuse(vec![0, 0, 8, 3, 0, 0]).contains("the number of axes is 3; the file's 6 bytes must hold"));
    assert!(refuse(vec![0, 0, 8, 0]).contains("the number of axes is 0"));
    let mut cut = images(4);
    cut.pop();
    assert_eq!(
        refuse(cut),
        "f: the shape in the header is 4 x 2 x 3; that takes 24 bytes after the header, but there are 23"
    );
    let huge = refuse(idx(&[u32::MAX, u32::MAX, u32::MAX], &[1]));
    assert!(huge.contains("4294967295 x 4294967295 x 4294967295; that takes more than 2^64 bytes"), "{huge}");
    assert!(refuse(idx(&[0, u32::MAX], &[])).contains("every axis needs a length of at least 1"));
    let nan = [vec![0, 0, 0x0d, 1, 0, 0, 0, 1], f32::NAN.to_be_bytes().to_vec()].concat();
    assert_eq!(refuse(nan), "f: value 0 is NaN; every value must be finite");
}

#[test]
fn npy_headers() {
    let refuse = |bytes: Vec<u8>| message(parse_npy(bytes, Path::new("f"), "array x"));
    let with = |header: &str, n: usize| refuse(npy(header, &vec![0; n]));
    assert!(refuse(vec![]).contains("the magic number of array x is 0x"));
    assert!(refuse(b"\x93NUMPY\x09\x00\x00\x00".to_vec()).contains("the format version of array x is 9"));
    assert!(
        refuse(b"\x93NUMPY\x01\x00\xff\xff{".to_vec())
            .contains("the header length of array x is 65535; only 1 bytes follow")
    );
    assert!(with("{'descr': '<f8', 'shape': (1,)}", 8).contains("without one of 'descr', 'fortran_order', 'shape'"));
    assert!(
        with("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", 8)
            .contains("a quoted word should stand")
    );
    assert!(
        with("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 2).contains("the type of array x is '<c8'")
    );
    assert!(with("{'descr': '<f8', 'fortran_order': maybe, 'shape': (1,)}", 8).contains("True or False should stand"));
    assert!(with("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", 8).contains("a length should stand"));
    assert!(
        with("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", 8).contains("followed by something else")
    );
    let short = with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 47);
    assert_eq!(short, "f: the shape of array x is 2 x 3; that takes 48 bytes, but 47 follow the header");
    let huge = with("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 8);
    assert!(huge.contains("more than 2^64"), "{huge}");
    assert!(
        with("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8)
            .contains("a length should stand")
    );
    assert!(with("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 5)}", 0).contains("every axis needs a length"));
    let infinite = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", &f64::INFINITY.to_le_bytes());
    assert_eq!(
        refuse(infinite),
        "f: value 1 of array x is inf; every value must be finite and fit 64 bits (rows and columns count from 1)"
    );
}

#[test]
fn npz_archives() {
    let refuse = |bytes: &[u8]| message(parse_npz(bytes, Path::new("f.npz")));
    assert!(refuse(b"").contains("no zip directory"));
    assert!(refuse(b"hello, this is no archive at all").contains("f.npz: the end of the file is no zip directory"));
    let objects = refuse(include_bytes!("objects.npz"));
    assert!(objects.contains("the type of array o is '|O'; floats of 2, 4 or 8 bytes"), "{objects}");
    let good = include_bytes!("numpy.npz");
    assert!(refuse(&good[..good.len() - 30]).contains("no zip directory"));
    let mut flipped = good.to_vec();
    flipped[80] ^= 0x55;
    assert!(refuse(&flipped).contains("zip member f8.npy"), "{}", refuse(&flipped));
}

#[test]
fn cifar_records() {
    let refuse = |bytes: &[u8], set| message(parse_cifar(bytes, set, Path::new("f.bin")));
    assert!(refuse(&[], Cifar::Ten).contains("the length is 0 bytes"));
    let cut = &cifar(&[&[1], &[2]])[..6000];
    assert_eq!(
        refuse(cut, Cifar::Ten),
        "f.bin: the length is 6000 bytes; expected a multiple of 3073, the size of a record"
    );
    assert_eq!(refuse(&cifar(&[&[1], &[10]]), Cifar::Ten), "f.bin: the label of record 1 is 10; must be at most 9");
    assert!(refuse(&cifar(&[&[20, 0]]), Cifar::Hundred).contains("the coarse label of record 0 is 20"));
}

#[test]
fn csv_lines() {
    let refuse = |text: &str| message(parse_csv(text.as_bytes(), Path::new("f.csv"), &CsvOptions::default()));
    assert!(refuse("a,b\n").contains("the number of examples is 0"));
    assert!(refuse("1\n2\n").contains("the number of columns is 1; expected at least one feature and a label"));
    assert_eq!(refuse("1,2\n3,4\n5\n"), "f.csv: the number of columns in line 3 is 1; the lines before have 2");
    assert_eq!(
        refuse("x,y\n3,4\nNaN,5\n"),
        "f.csv: line 3, column 1 is \"NaN\"; every field but the label must be a finite number"
    );
    assert!(refuse("1,2\n3,cat\n").contains("line 2, column 2 is \"cat\""));
    assert!(refuse("1,2\n1e999,0\n").contains("line 2, column 1 is \"1e999\""));
    assert!(refuse("1,2\n,0\n").contains("line 2, column 1 is \"\""));
    let named = CsvOptions { label: LabelColumn::Named("z".into()), ..CsvOptions::default() };
    let text = message(parse_csv(b"x,y\n1,2\n", Path::new("f.csv"), &named));
    assert!(text.contains("the label column is \"z\"; the columns are x, y"), "{text}");
}

/// A folder with IDX files under their standard names, opened.
fn open(x: &[u8], y: &[u8], test: Option<(&[u8], &[u8])>) -> Result<Dataset, Error> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("train-images-idx3-ubyte.gz", &gzip(x));
    write("train-labels-idx1-ubyte", y);
    if let Some((x, y)) = test {
        write("t10k-images-idx3-ubyte", x);
        write("t10k-labels-idx1-ubyte", y);
    }
    Dataset::open(folder.path(), &ImportOptions { name: Some("set".into()), ..Default::default() })
}

#[test]
fn examples_and_labels_that_do_not_fit() {
    assert!(open(&images(6), &labels(6), Some((&images(3), &labels(3)))).is_ok());
    let other = message(open(&images(6), &labels(5), None));
    assert!(other.contains("train-labels-idx1-ubyte: the number of labels is 5;"), "{other}");
    assert!(other.contains("holds 6 examples, and each needs one"), "{other}");
    let blank = message(open(&idx(&[2, 1, 2], &[1, 2, 0, 0]), &labels(2), None));
    assert!(blank.contains("train-images-idx3-ubyte.gz: image 1 is all zero; an image of norm 0"), "{blank}");
    let single = message(open(&images(2), &idx(&[2], &[4, 4]), None));
    assert!(single.starts_with("set (") && single.contains("train-labels-idx1-ubyte"), "{single}");
    assert!(single.ends_with("every training label is 4; at least two classes are needed"), "{single}");
    let dim = message(open(&images(6), &labels(6), Some((&idx(&[3, 1, 2], &[1; 6]), &labels(3)))));
    assert!(dim.contains("): test examples have 2 features where the training examples have 6"), "{dim}");
    let flat = message(open(&labels(6), &labels(6), None));
    assert!(flat.contains("the shape of the examples is 6; expected examples along the first axis"), "{flat}");
}

#[test]
fn files_that_are_missing_empty_or_of_no_known_kind() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refuse = |name: &str| message(Dataset::open(at(name), &ImportOptions::default()));
    assert!(refuse("none.csv").contains("none.csv: No such file"));
    std::fs::write(at("empty.npz"), b"").unwrap();
    assert!(refuse("empty.npz").contains("empty.npz: the file's length is 0"));
    std::fs::write(at("a.bin"), b"abc").unwrap();
    assert!(refuse("a.bin").contains("the kind of file is unknown; known endings are .npz"));
    assert!(refuse("").contains("without a known data set"));
    std::fs::write(at("x.npy"), npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1)}", &[1, 2])).unwrap();
    assert!(refuse("x.npy").contains("x.npy: the file with its labels is not found"));
    let x = Array::from_mat(Mat::<f64>::zeros(2, 2).as_ref());
    write_npz(at("x.npz"), &[("x", &x), ("z", &x)]).unwrap();
    assert!(refuse("x.npz").contains("the list of arrays is x, z; expected x_train and y_train"));
    let y = Array { shape: vec![2], values: Values::Integers(vec![0, 1]) };
    write_npz(at("w.npz"), &[("x", &x), ("y", &y), ("x_test", &x)]).unwrap();
    assert!(refuse("w.npz").contains("optionally both x_test and y_test"));
}
