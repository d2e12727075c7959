//! Sound files come out as they went in.

use super::{cifar, gzip, images, labels, npy};
use ebbing::Dataset;
use ebbing::data::{
    Array, Cifar, CsvOptions, Features, ImportOptions, LabelColumn, Targets, Values, parse_cifar, parse_csv, parse_npy,
    parse_npz, read_idx, read_npz, to_npy, write_npz,
};
use ebbing::linalg::Mat;
use std::path::Path;

#[test]
fn idx_plain_and_gzipped_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("a"), folder.path().join("a.gz"));
    std::fs::write(&plain, images(4)).unwrap();
    std::fs::write(&packed, gzip(&images(4))).unwrap();
    let array = read_idx(&plain).unwrap();
    assert_eq!(array, read_idx(&packed).unwrap());
    assert_eq!(array.shape, [4, 2, 3]);
    assert_eq!(array.values, Values::Bytes((1..=24).collect()));
}

#[test]
fn arrays_written_by_numpy_are_read() {
    // np.savez_compressed of np.arange(24).reshape(2, 3, 4) in several types and orders.
    let arrays = parse_npz(include_bytes!("numpy.npz"), Path::new("numpy.npz")).unwrap();
    let get = |name: &str| arrays.iter().find(|(n, _)| n == name).unwrap().1.clone();
    let eighths: Vec<f64> = (0..24).map(|i| f64::from(i) / 8.0).collect();
    assert_eq!(get("f8"), Array { shape: vec![2, 3, 4], values: Values::Real(eighths.clone()) });
    assert_eq!(get("f4"), Array { shape: vec![2, 3, 4], values: Values::Real(eighths) });
    assert_eq!(get("i4"), Array { shape: vec![2, 3, 4], values: Values::Integers((0..24).map(|i| -i).collect()) });
    assert_eq!(get("u1"), Array { shape: vec![2, 3, 4], values: Values::Bytes((0..24).collect()) });
    assert_eq!(get("flag").values, Values::Bytes(vec![1, 0, 1]));
    assert_eq!(get("u8").values, Values::Integers(vec![i64::MAX]));
    assert_eq!(get("scalar"), Array { shape: vec![], values: Values::Real(vec![2.5]) });
    assert_eq!(get("i2"), Array { shape: vec![2, 1], values: Values::Integers(vec![-3, 4]) });
    assert_eq!(get("i4").to_mat()[(1, 11)], -23.0);
}

#[test]
fn half_precision_and_strings_are_read() {
    let read =
        |header: &str, values: &[u8]| parse_npy(npy(header, values), Path::new("f"), "array y").map(|a| a.values);
    // 1, −2, the largest, the smallest normal and the smallest number, as NumPy writes float16.
    let bits = [0x3c00u16, 0xc000, 0x7bff, 0x0400, 0x0001].map(u16::to_le_bytes).concat();
    let half = read("{'descr': '<f2', 'fortran_order': False, 'shape': (5,)}", &bits).unwrap();
    assert_eq!(half, Values::Real(vec![1.0, -2.0, 65504.0, 2f64.powi(-14), 2f64.powi(-24)]));
    let infinite = read("{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}", &0x7c00u16.to_le_bytes());
    assert!(infinite.unwrap_err().to_string().contains("value 1 of array y is inf"));
    let wide: Vec<u8> = "ape\0β\0\0\0".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    let texts = Values::Texts(vec!["ape".into(), "β".into()]);
    assert_eq!(read("{'descr': '>U4', 'fortran_order': False, 'shape': (2,)}", &wide).unwrap(), texts);
    let bytes = read("{'descr': '|S3', 'fortran_order': False, 'shape': (2,)}", b"apeno\0").unwrap();
    assert_eq!(bytes, Values::Texts(vec!["ape".into(), "no".into()]));
    let broken = read("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", &0xd800u32.to_le_bytes());
    assert!(broken.unwrap_err().to_string().contains("value 1 of array y is no text"));
    assert!(read("{'descr': '<U0', 'fortran_order': False, 'shape': (1,)}", &[]).is_err());
    let array = Array { shape: vec![2], values: texts };
    assert_eq!(parse_npy(to_npy(&array), Path::new("f"), "array y").unwrap(), array);
}

#[test]
fn arrays_survive_writing_and_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/a.npz");
    let real = Array::from_mat(Mat::from_fn(3, 2, |i, j| i as f64 - 0.5 * j as f64).as_ref());
    let whole = Array { shape: vec![2], values: Values::Integers(vec![i64::MIN, 7]) };
    let bytes = Array { shape: vec![1, 1, 3], values: Values::Bytes(vec![0, 128, 255]) };
    write_npz(&path, &[("real", &real), ("whole", &whole), ("bytes", &bytes)]).unwrap();
    let expected = [("real", real), ("whole", whole), ("bytes", bytes)].map(|(name, a)| (name.to_string(), a));
    assert_eq!(read_npz(&path).unwrap(), expected);
}

#[test]
fn cifar_pixels_keep_their_colors_together() {
    let part = parse_cifar(&cifar(&[&[3, 70], &[0, 99]]), Cifar::Hundred, Path::new("train.bin")).unwrap();
    let Features::Bytes { pixels, dim } = &part.features else { panic!("bytes") };
    assert_eq!((*dim, pixels.len()), (3072, 6144));
    assert!(pixels.chunks_exact(3).all(|p| p == [7, 107, 207]));
    assert_eq!(part.targets, Targets::Classes(vec![70, 99]));
}

#[test]
fn gray_levels_are_luma() {
    let folder = tempfile::tempdir().unwrap();
    let batch = cifar(&[&[1], &[2]]);
    for name in ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"] {
        std::fs::write(folder.path().join(format!("{name}.bin")), &batch).unwrap();
    }
    let color = Dataset::open(folder.path(), &ImportOptions { name: Some("c".into()), ..Default::default() }).unwrap();
    assert_eq!((color.train.features.rows(), color.image_shape.as_deref()), (10, Some(&[32, 32, 3][..])));
    let gray = ebbing::data::to_gray(color).unwrap();
    assert_eq!(gray.image_shape, Some(vec![32, 32]));
    // 0.299 · 7 + 0.587 · 107 + 0.114 · 207 = 88.5, rounded to nearest, half up.
    let Features::Bytes { pixels, dim: 1024 } = &gray.train.features else { panic!("gray bytes") };
    assert!(pixels.iter().all(|&p| p == 89));
}

#[test]
fn csv_columns_headings_and_labels() {
    let parse = |text: &str, options: &CsvOptions| parse_csv(text.as_bytes(), Path::new("x.csv"), options).unwrap();
    let plain = parse("1,2,0\n3,4,1\n", &CsvOptions::default());
    assert_eq!(plain.features, Features::Real(Mat::from_fn(2, 2, |i, j| (2 * i + j + 1) as f64)));
    assert_eq!(plain.targets, Targets::Classes(vec![0, 1]));
    assert_eq!(parse("a, b ,y\n1,2,0\n3,4,1\n", &CsvOptions::default()), plain);
    let first = CsvOptions { label: LabelColumn::First, delimiter: b';', ..CsvOptions::default() };
    assert_eq!(parse("0;1;2\n1;3;4\n", &first), plain);
    let named = CsvOptions { label: LabelColumn::Named("y".into()), ..CsvOptions::default() };
    assert_eq!(parse("a,y,b\n1,0,2\n3,1,4\n", &named), plain);
    // A label with a decimal point makes all of them real targets.
    assert_eq!(
        parse("1,0\n2,1.0\n", &CsvOptions::default()).targets,
        Targets::Real(Mat::from_fn(2, 1, |i, _| i as f64))
    );
    // Headings that look like numbers are headings if that is said.
    let said = CsvOptions { header: Some(true), ..CsvOptions::default() };
    assert_eq!(parse("7,8,9\n1,2,0\n3,4,1\n", &said), plain);
}

#[test]
fn equal_sets_have_equal_hashes_whatever_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("train-images-idx3-ubyte"), images(6)).unwrap();
    std::fs::write(at("train-labels-idx1-ubyte.gz"), gzip(&labels(6))).unwrap();
    let one = Dataset::open(folder.path(), &ImportOptions { name: Some("one".into()), ..Default::default() }).unwrap();
    let x = read_idx(at("train-images-idx3-ubyte")).unwrap();
    let y = Array { shape: vec![6, 1], values: Values::Integers(vec![0, 1, 2, 0, 1, 2]) };
    write_npz(at("two.npz"), &[("X", &x), ("y", &y)]).unwrap();
    let two = Dataset::open(at("two.npz"), &ImportOptions::default()).unwrap();
    assert_eq!(one.origin.sha256, two.origin.sha256);
    assert_eq!((two.origin.name.as_str(), &two.image_shape), ("two", &one.image_shape));
}

/// An archive of one stored member with every zip64 record: sizes and offset in the extra field, the long end record and
/// its locator.
fn zip64(name: &str, content: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let size = (content.len() as u64).to_le_bytes();
    let (full, long) = ([0xff; 2], [0xff; 4]);
    let name_length = (name.len() as u16).to_le_bytes();
    // Version 4.5, no flags, stored, 1980-01-01 00:00.
    let shared =
        [&[45, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &crc.sum().to_le_bytes(), &long, &long, &name_length].concat();
    let mut archive = [b"PK\x03\x04", &shared[..], &[20, 0], name.as_bytes(), &[1, 0, 16, 0], &size, &size].concat();
    archive.extend(content);
    let start = (archive.len() as u64).to_le_bytes();
    let mut directory = [b"PK\x01\x02\x2d\x00", &shared[..], &[28, 0]].concat();
    directory.extend([&[0; 10][..], &long, name.as_bytes(), &[1, 0, 24, 0], &size, &size, &[0; 8]].concat());
    archive.extend(&directory);
    let end = (archive.len() as u64).to_le_bytes();
    let (one, length) = (1_u64.to_le_bytes(), (directory.len() as u64).to_le_bytes());
    let record = [b"PK\x06\x06", &44_u64.to_le_bytes()[..], &[45, 0, 45, 0], &[0; 8], &one, &one, &length, &start];
    archive.extend(record.concat());
    archive.extend([b"PK\x06\x07", &[0; 4][..], &end, &[1, 0, 0, 0]].concat());
    archive.extend([b"PK\x05\x06", &[0; 4][..], &full, &full, &long, &long, &[0; 2]].concat());
    archive
}

#[test]
fn zip64_archives_are_read() {
    let array = Array { shape: vec![3], values: Values::Integers(vec![1, -2, 3]) };
    let bytes = zip64("a.npy", &to_npy(&array));
    assert_eq!(parse_npz(&bytes, Path::new("x.npz")).unwrap(), [("a".to_string(), array)]);
    // A size of 2^64 − 1 is refused, not reserved.
    let at = bytes.windows(4).position(|w| w == [1, 0, 24, 0]).unwrap() + 4;
    let mut bad = bytes.clone();
    bad[at..at + 16].fill(0xff);
    let text = parse_npz(&bad, Path::new("x.npz")).unwrap_err().to_string();
    assert!(text.contains("the total size of the members is 18446744073709551615 bytes"), "{text}");
}

#[test]
fn archives_have_the_same_bytes_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let array = Array { shape: vec![2], values: Values::Real(vec![0.5, 1.5]) };
    let write = |name: &str| {
        write_npz(folder.path().join(name), &[("x", &array), ("y", &array)]).unwrap();
        std::fs::read(folder.path().join(name)).unwrap()
    };
    let first = write("a.npz");
    // 1980-01-01 00:00, the earliest time that the format knows.
    assert_eq!(first[10..14], [0, 0, 0x21, 0]);
    assert_eq!(first, write("new/b.npz"));
}
