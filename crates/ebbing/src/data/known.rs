//! The data sets that are known by name: standard files, mirrors, checksums, and what must come out of them.

use super::{Dataset, Targets, file_sha256};
use crate::error::{Error, Result};
use std::path::Path;

/// A standard file of a set, as its mirrors serve it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// The file's name.
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
    /// Where size and checksum are published.
    pub checksum_source: &'static str,
}

/// A set that is known by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSet {
    /// The name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// A description.
    pub title: &'static str,
    /// The standard files.
    pub files: &'static [KnownFile],
    /// The set's files in other distributions.
    pub other_files: &'static [KnownFile],
    /// Public places: a mirror and a file's name make its address.
    pub mirrors: &'static [&'static str],
    /// The official number of training images.
    pub train: usize,
    /// The official number of test images.
    pub test: usize,
    /// The number of classes.
    pub classes: usize,
    /// Height, width (and colors) of an image.
    pub image_shape: &'static [usize],
    /// Whether the official parts hold equally many images of every class.
    pub balanced: bool,
    /// What to know about its files.
    pub note: &'static str,
    /// What a reader of results should know about its images; written into the set's origin.
    pub image_note: &'static str,
}

const TFDS_MNIST: &str = "tensorflow/datasets, tensorflow_datasets/url_checksums/mnist.txt";
const TFDS_FASHION: &str = "tensorflow/datasets, tensorflow_datasets/url_checksums/fashion_mnist.txt; \
    the same in keras-team/keras, keras/src/datasets/fashion_mnist.py";
const TFDS_EMNIST: &str = "tensorflow/datasets, tensorflow_datasets/url_checksums/emnist.txt";
const TFDS_CIFAR10: &str = "tensorflow/datasets, tensorflow_datasets/url_checksums/cifar10.txt";
const TFDS_CIFAR100: &str = "tensorflow/datasets, tensorflow_datasets/url_checksums/cifar100.txt";

/// Name, size and SHA-256 of a file.
type Row = (&'static str, u64, &'static str);

const MNIST: [Row; 4] = [
    ("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    ("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    ("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
];
const KERAS_MNIST: [Row; 1] =
    [("mnist.npz", 11_490_434, "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1")];
const FASHION: [Row; 4] = [
    ("train-images-idx3-ubyte.gz", 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
    ("train-labels-idx1-ubyte.gz", 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
    ("t10k-images-idx3-ubyte.gz", 4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
    ("t10k-labels-idx1-ubyte.gz", 5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
];
const EMNIST: [Row; 1] =
    [("gzip.zip", 561_753_746, "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e")];
const CIFAR10: [Row; 1] =
    [("cifar-10-binary.tar.gz", 170_052_171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd")];
const CIFAR100: [Row; 1] =
    [("cifar-100-binary.tar.gz", 168_513_733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec")];

/// Files whose sizes and checksums are published in one place.
const fn published<const N: usize>(rows: [Row; N], checksum_source: &'static str) -> [KnownFile; N] {
    let mut files = [const { KnownFile { name: "", bytes: 0, sha256: "", checksum_source: "" } }; N];
    let mut i = 0;
    while i < N {
        let (name, bytes, sha256) = rows[i];
        files[i] = KnownFile { name, bytes, sha256, checksum_source };
        i += 1;
    }
    files
}

/// Every set that is known by name, apart from the embedded sample.
pub const KNOWN_SETS: &[KnownSet] = &[
    KnownSet {
        name: "mnist",
        aliases: &[],
        title: "MNIST, handwritten digits",
        files: &published(MNIST, TFDS_MNIST),
        other_files: &published(KERAS_MNIST, "keras-team/keras, keras/src/datasets/mnist.py"),
        mirrors: &[
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ],
        train: 60_000,
        test: 10_000,
        classes: 10,
        image_shape: &[28, 28],
        balanced: false,
        note: "",
        image_note: "",
    },
    KnownSet {
        name: "fashion-mnist",
        aliases: &["fashion"],
        title: "Fashion-MNIST, articles of clothing",
        files: &published(FASHION, TFDS_FASHION),
        other_files: &[],
        mirrors: &[
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
        ],
        train: 60_000,
        test: 10_000,
        classes: 10,
        image_shape: &[28, 28],
        balanced: true,
        note: "Debian's package dataset-fashion-mnist holds it with other gzip headers, so with other file checksums",
        image_note: "",
    },
    KnownSet {
        name: "emnist",
        aliases: &["emnist62", "emnist-byclass"],
        title: "EMNIST byclass, handwritten digits and letters",
        files: &published(EMNIST, TFDS_EMNIST),
        other_files: &[],
        mirrors: &[
            "https://biometrics.nist.gov/cs_links/EMNIST/",
            "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/",
        ],
        train: 697_932,
        test: 116_323,
        classes: 62,
        image_shape: &[28, 28],
        balanced: false,
        note: "one archive for all six variants; byclass is read straight from it",
        image_note: "images are transposed (rows and columns exchanged), as in the official files",
    },
    KnownSet {
        name: "cifar10",
        aliases: &["cifar-10"],
        title: "CIFAR-10, photographs",
        files: &published(CIFAR10, TFDS_CIFAR10),
        other_files: &[],
        mirrors: &["https://www.cs.toronto.edu/~kriz/"],
        train: 50_000,
        test: 10_000,
        classes: 10,
        image_shape: &[32, 32, 3],
        balanced: true,
        note: "only the binary version is read: the Python version, which torchvision and Keras keep, holds pickles",
        image_note: "",
    },
    KnownSet {
        name: "cifar100",
        aliases: &["cifar-100", "cifar100gray", "cifar100gray"],
        title: "CIFAR-100, photographs, fine labels",
        files: &published(CIFAR100, TFDS_CIFAR100),
        other_files: &[],
        mirrors: &["https://www.cs.toronto.edu/~kriz/"],
        train: 50_000,
        test: 10_000,
        classes: 100,
        image_shape: &[32, 32, 3],
        balanced: true,
        note: "only the binary version is read: the Python version, which torchvision and Keras keep, holds pickles",
        image_note: "",
    },
];

impl KnownSet {
    /// The set of this name or alias.
    pub fn named(name: &str) -> Option<&'static KnownSet> {
        KNOWN_SETS.iter().find(|set| set.name == name || set.aliases.contains(&name))
    }

    /// Names that can be given to load a set, for messages.
    pub(super) fn names() -> String {
        KNOWN_SETS.iter().map(|set| set.name).fold("mnist-sample".into(), |names, name| names + ", " + name)
    }

    /// What a copy of the set lacks of the official one: empty for the whole official set.
    ///
    /// Sizes, image shape, number of classes and (for balanced sets) the count of every class are compared. Gray copies
    /// of color sets are accepted.
    pub fn differences(&self, copy: &Dataset) -> Vec<String> {
        let mut found = vec![];
        let shape = copy.image_shape.as_deref().unwrap_or(&[]);
        if shape != self.image_shape && shape != &self.image_shape[..2] {
            found.push(format!("images are {shape:?} where the official ones are {:?}", self.image_shape));
        }
        let test = copy.test.as_ref();
        for (which, part, official) in [("training", Some(&copy.train), self.train), ("test", test, self.test)] {
            let rows = part.map_or(0, |p| p.features.rows());
            if rows != official {
                found.push(format!("{rows} {which} images where there are officially {official}"));
            }
            let Some(Targets::Classes(classes)) = part.map(|p| &p.targets) else {
                continue;
            };
            let mut counts = vec![0; self.classes];
            let known = |class: &i64| usize::try_from(*class).ok().filter(|&c| c < self.classes);
            match classes.iter().find(|class| known(class).is_none()) {
                Some(class) => {
                    found.push(format!("a {which} label is {class} where classes are 0 to {}", self.classes - 1))
                }
                None => classes.iter().filter_map(known).for_each(|class| counts[class] += 1),
            }
            if let Some(class) = counts.iter().position(|&n| n == 0) {
                found.push(format!("class {class} has no {which} images"));
            } else if self.balanced && counts.iter().any(|&n| n != counts[0]) {
                found.push(format!("{which} classes have unequal numbers of images"));
            }
        }
        found
    }
}

impl KnownFile {
    /// Compares a file with the published size and checksum.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read; [`Error::File`] where it differs.
    pub fn check(&self, path: &Path) -> Result<()> {
        let differs = |what: &str, found: String, official: &str| {
            Err(Error::file(path, what, found, format!("expected {official} ({})", self.checksum_source)))
        };
        let bytes = std::fs::metadata(path).map_err(|e| Error::io(path, e))?.len();
        if bytes != self.bytes {
            return differs("the size", format!("{bytes} bytes"), &self.bytes.to_string());
        }
        let sha256 = file_sha256(path)?;
        if sha256 == self.sha256 { Ok(()) } else { differs("the SHA-256", sha256, self.sha256) }
    }
}
