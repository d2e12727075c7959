"""Small sound files of every format, as seeds for the fuzz targets: `python3 fuzz/seeds.py PROGRAM`."""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).parent
sys.path.insert(0, str(here.parent / "tools"))
from faults import idx, npy, sound  # noqa: E402


def keep(target: str, name: str, content: bytes) -> None:
    folder = here / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


files = sound(random.Random(0))
keep("idx", "images", idx((2, 2, 2), bytes(range(8))))
keep("npy", "matrix", npy((2, 3), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]))
keep("npz", "tasks", files["tasks"][1])
keep("csv", "labels", files["csv"][1])
keep("cifar", "images", bytes(3074))
keep("tar", "cifar", b"\0" + files["cifar"][1])
keep("recipe", "permuted", files["recipe"][1])
keep("study", "grid", files["study"][1])
with tempfile.TemporaryDirectory() as folder:
    home = Path(folder)
    (home / "one.toml").write_text('command = "forecast"\n[settings]\nexamples = 4\ntest_examples = 0\nlength = 1\nno_whiten = true\n')
    run = lambda *words: subprocess.run([Path(sys.argv[1]).resolve(), *words], cwd=home, check=True, capture_output=True)
    run("study", "run", "one.toml", "--out", "out")
    keep("cells", "cell", b"\0" + next((home / "out/cells").iterdir()).read_bytes())
    keep("cells", "manifest", b"\1" + (home / "out/study.json").read_bytes())
keep("checkpoint", "edits", bytes([1, 90, 0, 3, 48, 200, 1, 0, 57]))
