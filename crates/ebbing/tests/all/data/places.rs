//! Copies of data sets are found where other programs keep them, and imported ones load by name.

use super::{cifar, gzip, images, labels};
use ebbing::Dataset;
use ebbing::data::{Array, ImportOptions, KNOWN_SETS, KnownSet, Places, Targets, Values, write_npz};
use ebbing::linalg::Mat;
use std::ffi::OsString;
use std::path::Path;

/// Four IDX files with given starts of their names.
fn four(folder: &Path, train: &str, test: &str, packed: bool) {
    std::fs::create_dir_all(folder).unwrap();
    for (part, count) in [(train, 6), (test, 3)] {
        for (kind, bytes) in [("images-idx3", images(count)), ("labels-idx1", labels(count))] {
            let (end, bytes) = if packed { (".gz", gzip(&bytes)) } else { ("", bytes) };
            std::fs::write(folder.join(format!("{part}-{kind}-ubyte{end}")), bytes).unwrap();
        }
    }
}

fn places(folder: &Path) -> Places {
    Places { folders: vec![("test".into(), folder.into())], data_dir: Some(folder.into()) }
}

#[test]
fn variables_give_the_places_in_order() {
    let variable = |name: &str| match name {
        "EBBING_DATA" => Some(OsString::from("/a:/b")),
        "HOME" => Some("/home/u".into()),
        _ => None,
    };
    let found = Places::from_variables(variable);
    let folders: Vec<_> = found.folders.iter().map(|(place, path)| (place.as_str(), path.to_str().unwrap())).collect();
    let expected = [
        ("EBBING_DATA", "/a"),
        ("EBBING_DATA", "/b"),
        ("data directory", "/home/u/.local/share/ebbing"),
        ("Debian", "/usr/share/datasets"),
        ("torchvision", "data"),
        ("torchvision", "/home/u/data"),
        ("Keras", "/home/u/.keras/datasets"),
    ];
    assert_eq!(folders, expected);
    let xdg = |value: &'static str| {
        Places::from_variables(move |name| match name {
            "XDG_DATA_HOME" => Some(value.into()),
            "HOME" => Some("/home/u".into()),
            _ => None,
        })
    };
    assert_eq!(xdg("/x").data_dir.unwrap(), Path::new("/x/ebbing"));
    assert_eq!(xdg("relative").data_dir.unwrap(), Path::new("/home/u/.local/share/ebbing"));
    assert_eq!(Places::from_variables(|_| None).data_dir, None);
}

#[test]
fn layouts_of_other_programs() {
    let layouts = [
        ("mnist", "mnist", "train", "t10k"),
        ("mnist", "MNIST/raw", "train", "t10k"),
        ("fashion-mnist", "fashion-mnist", "train", "t10k"),
        ("fashion-mnist", "FashionMNIST/raw", "train", "t10k"),
        ("emnist", "EMNIST/raw", "emnist-byclass-train", "emnist-byclass-test"),
        ("mnist", "", "mnist-train", "mnist-test"),
        ("fashion", "", "fashion-train", "fashion-test"),
        ("emnist62", "", "emnist62-train", "emnist62-test"),
        ("cifar100gray", "", "cifar100gray-train", "cifar100gray-test"),
    ];
    for (name, folder, train, test) in layouts {
        for packed in [false, true] {
            let root = tempfile::tempdir().unwrap();
            four(&root.path().join(folder), train, test, packed);
            let set = places(root.path()).load(name).unwrap();
            assert_eq!(set.origin.name, KnownSet::named(name).unwrap().name);
            assert_eq!((set.train.features.rows(), set.test.unwrap().features.rows()), (6, 3), "{folder}");
            assert!(set.origin.source.contains("6 training images where there are officially"));
            assert_eq!(set.origin.source.contains("transposed"), name.starts_with("emnist"));
            // Nothing else is taken for found.
            let found = places(root.path()).list().into_iter().filter(|status| status.found.is_some()).count();
            assert_eq!(found, 1);
        }
    }
}

#[test]
fn npz_of_keras_and_binary_cifar() {
    let root = tempfile::tempdir().unwrap();
    let x = Array { shape: vec![2, 28, 28], values: Values::Bytes(vec![3; 2 * 784]) };
    let y = Array { shape: vec![2], values: Values::Bytes(vec![0, 7]) };
    write_npz(root.path().join("mnist.npz"), &[("x_test", &x), ("x_train", &x), ("y_train", &y), ("y_test", &y)])
        .unwrap();
    let set = places(root.path()).load("mnist").unwrap();
    assert_eq!((set.image_shape, set.train.targets), (Some(vec![28, 28]), Targets::Classes(vec![0, 7])));

    let folder = root.path().join("cifar-100-binary");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("train.bin"), cifar(&[&[0, 1], &[0, 2]])).unwrap();
    let missing = places(root.path()).load("cifar100").unwrap_err().to_string();
    assert!(missing.contains("test.bin is missing"), "{missing}");
    std::fs::write(folder.join("test.bin"), cifar(&[&[0, 2]])).unwrap();
    let set = places(root.path()).load("cifar100").unwrap();
    assert_eq!(set.image_shape, Some(vec![32, 32, 3]));

    std::fs::create_dir(root.path().join("cifar-10-batches-py")).unwrap();
    let pickles = places(root.path()).load("cifar10").unwrap_err().to_string();
    assert!(pickles.contains("cifar-10-batches-py holds Python pickles, which are not read"), "{pickles}");
    assert!(pickles.contains("run `ebbing data get cifar10` or set EBBING_DATA"));
}

#[test]
fn incomplete_copies_and_unknown_names_are_reported() {
    let root = tempfile::tempdir().unwrap();
    four(&root.path().join("mnist"), "train", "t10k", true);
    std::fs::remove_file(root.path().join("mnist/t10k-labels-idx1-ubyte.gz")).unwrap();
    let here = places(root.path());
    let text = here.load("mnist").unwrap_err().to_string();
    assert!(
        text.starts_with("data set is mnist; no copy was found") && text.contains("lacks t10k-labels-idx1-ubyte"),
        "{text}"
    );
    assert!(here.list().iter().any(|status| status.name == "mnist" && !status.available && status.notes.len() == 1));
    let text = here.load("imagenet").unwrap_err().to_string();
    assert!(
        text.contains("known are mnist-sample, mnist, fashion-mnist, emnist, cifar10, cifar100 and what"),
        "{text}"
    );
    assert!(here.load("../etc/passwd").unwrap_err().to_string().contains("a name has letters"));
    assert_eq!(here.load("mnist-sample").unwrap(), Dataset::sample().unwrap());
}

#[test]
fn imported_sets_load_by_name() {
    let (root, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let here = places(root.path());
    let csv = files.path().join("my-data.csv");
    std::fs::write(&csv, "a,b,y\n1,2,0\n3,4,1\n5,7,1\n").unwrap();
    let options = ImportOptions { test: Some(csv.clone()), ..ImportOptions::default() };
    let (set, stored) = here.import(&csv, &options, false).unwrap();
    assert_eq!(stored, root.path().join("my-data.npz"));
    let loaded = here.load("my-data").unwrap();
    assert_eq!((&loaded.train, &loaded.test), (&set.train, &set.test));
    assert_eq!(loaded.origin.sha256, set.origin.sha256);
    assert!(here.list().iter().any(|status| status.name == "my-data" && status.available));
    assert!(here.import(&csv, &options, false).unwrap_err().to_string().contains("that name is taken"));
    here.import(&csv, &options, true).unwrap();
    // Real targets of several columns keep their form too.
    let x = Array::from_mat(Mat::from_fn(3, 2, |i, j| (i + j) as f64 + 0.5).as_ref());
    write_npz(files.path().join("r.npz"), &[("x", &x), ("y", &x)]).unwrap();
    let (set, _) = here.import(files.path().join("r.npz"), &ImportOptions::default(), false).unwrap();
    assert_eq!(here.load("r").unwrap().train, set.train);
    let homeless = Places { data_dir: None, ..here };
    assert!(homeless.store(&set, true).unwrap_err().to_string().contains("data directory is unknown"));
}

#[test]
fn verification_reports_checksums_and_differences() {
    let root = tempfile::tempdir().unwrap();
    four(&root.path().join("mnist"), "train", "t10k", true);
    let here = places(root.path());
    let check = here.verify("mnist").unwrap();
    assert_eq!((check.files.len(), check.rows), (4, (6, 3)));
    assert!(check.files.iter().all(|file| file.published.is_none() && file.sha256.len() == 64));
    assert_eq!(check.sha256, here.load("mnist").unwrap().origin.sha256);
    assert!(check.differences.iter().any(|d| d == "images are [2, 3] where the official ones are [28, 28]"));
    assert!(check.differences.iter().any(|d| d == "class 3 has no training images"));
    let file = KnownSet::named("mnist").unwrap().files[0].clone();
    let text = file.check(&check.found.files[0]).unwrap_err().to_string();
    assert!(text.contains("the size is") && text.contains("expected 9912422 (tensorflow/datasets"), "{text}");
}

#[test]
fn table_of_known_sets_is_sound() {
    for set in KNOWN_SETS {
        assert!(!set.mirrors.is_empty() && set.mirrors.iter().all(|m| m.starts_with("http") && m.ends_with('/')));
        for file in set.files.iter().chain(set.other_files) {
            assert!(file.sha256.len() == 64 && file.sha256.bytes().all(|b| b.is_ascii_hexdigit()) && file.bytes > 0);
            assert!(!file.checksum_source.is_empty());
        }
    }
}

#[test]
fn the_embedded_sample_differs_from_mnist_only_in_size() {
    let differences = KnownSet::named("mnist").unwrap().differences(&Dataset::sample().unwrap());
    assert_eq!(
        differences,
        ["4000 training images where there are officially 60000", "1000 test images where there are officially 10000"]
    );
}
