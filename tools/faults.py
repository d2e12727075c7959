#!/usr/bin/env python3
"""A campaign against the program: damaged inputs, wrong flags, kills, full disks, little memory, hostile servers.

    python3 tools/faults.py --program target/debug/ebbing --minutes 1
    python3 tools/faults.py --inputs 100000 --kills 1000 --minutes 120

The same seed makes the same attacks. Every run must end by itself with exit code 0, 1 or 2, with one sentence where it
is not 0, and leave nothing half-written behind; what is protected by a checksum must never change a result. The table
counts what did not; any such count fails the campaign, and the attack that did it is kept in a folder.
"""

import argparse
import gzip
import io
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LONGEST = 60.0  # seconds after which a run counts as hanging
COUNTS = ("runs", "crashes", "hangs", "silent", "leftovers")


class Account:
    """What happened, by section."""

    def __init__(self, keep: Path) -> None:
        self.rows: dict[str, dict[str, int]] = {}
        self.kept, self.keep, self.lock = 0, keep, threading.Lock()

    def add(self, section: str, trouble: str | None, result: str = "", files: "list[Path]" = []) -> None:
        with self.lock:
            row = self.rows.setdefault(section, dict.fromkeys(COUNTS, 0))
            row["runs"] += 1
            if trouble is None:
                return
            row[trouble] += 1
            self.kept += 1
            place = self.keep / f"{self.kept:03d}-{section}-{trouble}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "answer.txt").write_text(result, errors="replace")
            for path in files:
                if path.is_dir():
                    shutil.copytree(path, place / path.name, dirs_exist_ok=True)
                elif path.exists():
                    shutil.copy(path, place)

    def table(self) -> str:
        lines = [f"{'section':12}" + "".join(f"{name:>11}" for name in COUNTS)]
        total = dict.fromkeys(COUNTS, 0)
        for section, row in self.rows.items():
            lines.append(f"{section:12}" + "".join(f"{row[name]:>11}" for name in COUNTS))
            total = {name: total[name] + row[name] for name in COUNTS}
        lines.append(f"{'all':12}" + "".join(f"{total[name]:>11}" for name in COUNTS))
        return "\n".join(lines)

    def troubles(self) -> str:
        """What was printed by every run that did not end as it must, cut to a few lines each."""
        folders = sorted(self.keep.iterdir()) if self.keep.exists() else []
        return "".join(f"{place.name}: {(place / 'result.txt').read_text()[:600].rstrip()}\n" for place in folders[:20])

    def failed(self) -> int:
        return sum(row[name] for row in self.rows.values() for name in COUNTS[1:])


class Campaign:
    """The program under attack, a folder to work in, and the account."""

    def __init__(self, program: Path, seed: int, workers: int) -> None:
        self.program, self.seed, self.workers = program, seed, workers
        self.folder = Path(tempfile.mkdtemp(prefix="ebbing-faults-"))
        self.account = Account(Path(f"{self.folder}-kept"))

    def random(self, *name: object) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    def home(self, name: str) -> Path:
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        return home

    def start(self, words: list, home: Path, before: str = "", **more: object) -> subprocess.Popen:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), **more.pop("env", {})}
        command: list = [more.pop("program", self.program), *words]
        if before:
            command = ["/bin/sh", "-c", f'{before}\nexec "$0" "$@"', *command]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(command, cwd=home, env=environment, stdin=subprocess.DEVNULL, **pipes)

    def end(self, process: subprocess.Popen) -> "tuple[int | None, str]":
        """Exit code (nothing for a hang) and what was said."""
        try:
            _, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            return None, (said or b"").decode(errors="replace")
        return process.returncode, (said or b"").decode(errors="replace")

    def verdict(self, code: "int | None", said: str) -> "str | None":
        if code is None:
            return "hangs"
        if code not in (0, 1, 2) or "panicked" in said or "the program itself failed" in said:
            return "crashes"
        sentences = [line for line in said.splitlines() if line.startswith(("ebbing: ", "ebbing-paper: "))]
        return "crashes" if code != 0 and len(sentences) != 1 else None

    def attack(self, section: str, words: list, home: Path, files: "list[Path]" = [], **more: object) -> "int | None":
        """One run, judged by how it ends."""
        code, said = self.end(self.start(["--quiet", *words], home, **more))
        result = f"{' '.join(map(str, words))}\nexit code {code}\n{said}"
        self.account.add(section, self.verdict(code, said), result, files)
        return code

    def leftovers(self, folder: Path) -> "list[str]":
        names = (".ebbing-writing", ".ebbing-lock", ".ebbing-new", ".ebbing-ready", ".ebbing-old")
        return [str(p) for p in folder.rglob("*") if p.name in names or p.suffix in (".tmp", ".part")]

    def each(self, count: int, until: float, work) -> None:
        """`work(k)` for k = 0, 1, …, several at once, until the time is over."""
        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(lambda k: work(k) if time.time() < until else None, range(count)))


# Sound inputs of every format -----------------------------------------------------------------------------------------


def npy(shape: "tuple[int, ...]", values: "list[float]", kind: str = "<f8") -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    code = {"<f8": "d", "<f4": "f", "<i8": "q", "|u1": "B"}[kind]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{code}", *values)


def npz(arrays: "dict[str, bytes]", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return out.getvalue()


def idx(shape: "tuple[int, ...]", values: bytes) -> bytes:
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + values


def sound(chance: random.Random) -> "dict[str, tuple[str, bytes, list[str]]]":
    """By name: the file, its content, and the words that read it (FILE stands for it)."""
    normal = lambda n: [chance.gauss(0, 1) for _ in range(n)]
    signs = lambda n: [1.0 if k % 2 else -1.0 for k in range(n)]
    task = lambda p: {"x": npy((p, 6), normal(6 * p)), "y": npy((p, 1), signs(p))}
    tasks = {f"{name}_{t}": array for t in (1, 2) for name, array in task(9).items()}
    tasks |= {f"{name}_1_test": array for name, array in task(4).items()}
    pixels = bytes(chance.randrange(256) for _ in range(12 * 16))
    labels = bytes(k % 3 for k in range(12))
    cifar = b"".join(bytes([k % 3]) + bytes(chance.randrange(256) for _ in range(3072)) for k in range(4))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for k in range(1, 7):
            name = f"cifar-10-batches-bin/{'test_batch' if k == 6 else f'data_batch_{k}'}.bin"
            entry = tarfile.TarInfo(name)
            entry.size = len(cifar)
            archive.addfile(entry, io.BytesIO(cifar))
    header = "a,b,label\n"
    rows = "".join(f"{chance.gauss(0, 1):.4f},{chance.gauss(0, 1):.4f},{'xyz'[k % 3]}\n" for k in range(9))
    load = ["data", "import", "FILE", "--name", "set", "--replace"]
    recipe = (
        'seed = 3\n[preprocess]\ncenter = "image"\nwhiten = false\n[protocol]\nkind = "permuted"\ntasks = 2\np = 20\n'
        "p_test = 0\nratio = 0.5\n[context]\ndim = 4\n"
    )
    study = (
        'command = "forecast"\nseeds = 2\n[settings]\nexamples = 12\ntest_examples = 0\nno_whiten = true\nlength = 2\n'
        "[grid]\ndepth = [1, 2]\nsigma = { logspace = [0.5, 2.0, 2] }\n"
    )
    return {
        "tasks": ("tasks.npz", npz(tasks), ["check", "FILE"]),
        "stored": ("tasks.npz", npz(tasks, zipfile.ZIP_STORED), ["check", "FILE"]),
        "features": ("tasks.npz", npz(tasks), ["forecast", "--features", "FILE"]),
        "recipe": ("recipe.toml", recipe.encode(), ["check", "FILE"]),
        "study": ("study.toml", study.encode(), ["study", "run", "FILE", "--dry-run"]),
        "csv": ("set.csv", (header + rows).encode(), load),
        "npy": ("x.npy", npy((12, 4), normal(48)), [*load, "--labels", "y.npy"]),
        "idx": ("images-idx3-ubyte", idx((12, 4, 4), pixels), [*load, "--labels", "labels"]),
        "idx.gz": ("images-idx3-ubyte.gz", gzip.compress(idx((12, 4, 4), pixels)), [*load, "--labels", "labels"]),
        "npz": ("set.npz", npz({"x": npy((12, 4), normal(48)), "y": npy((12,), list(labels), "<i8")}), load),
        "cifar": ("cifar-10-binary.tar.gz", packed.getvalue(), load),
    }


def mutated(content: bytes, chance: random.Random) -> bytes:
    """A damaged copy: bits, bytes, numbers, pieces; some of it twice."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        many = chance.choice((1, 2, 4, 8, 16, 64))
        match chance.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + many] = bytes(chance.randrange(256) for _ in range(many))
            case 2:
                del data[at : at + many]
            case 3:
                del data[at:]
            case 4:
                data[at:at] = data[at : at + many]
            case 5:
                value = chance.choice((0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 2**64 - 1))
                data[at : at + 8] = struct.pack(chance.choice("<>") + "Q", value)
            case 6:
                words = (b"nan", b"inf", b"-1", b"1e400", b"99999999999999999999", b"''", b"[", b"\x1b[2J", b"\xff", b",")
                data[at : at + chance.randrange(4)] = chance.choice(words)
            case _ if b"\n" in data:
                lines = bytes(data).split(b"\n")
                chance.shuffle(lines)
                data = bytearray(b"\n".join(lines))
    return bytes(data)


# The sections ---------------------------------------------------------------------------------------------------------


def inputs(campaign: Campaign, count: int, until: float) -> None:
    """Damaged files of every format."""
    formats = sound(campaign.random("sound"))
    names = sorted(formats)
    local = threading.local()

    def one(k: int) -> None:
        if not hasattr(local, "home"):
            local.home = campaign.home(f"inputs-{threading.get_ident()}")
            (local.home / "y.npy").write_bytes(npy((12,), [k % 3 for k in range(12)], "<i8"))
            (local.home / "labels").write_bytes(idx((12,), bytes(k % 3 for k in range(12))))
        file, content, words = formats[names[k % len(names)]]
        path = local.home / file
        path.write_bytes(mutated(content, campaign.random("input", k)))
        campaign.attack("inputs", [path if word == "FILE" else word for word in words], local.home, [path])
        path.unlink(missing_ok=True)

    campaign.each(count, until, one)


def flags(campaign: Campaign, count: int, until: float) -> None:
    """Numbers of every command's flags, in and out of their range."""
    home = campaign.home("flags")
    small = ["-p", "12", "--length", "2", "--test-examples", "0", "--no-whiten"]
    commands = {
        "forecast": [*small],
        "phase": ["-p", "12", "--test-examples", "0", "--no-whiten", "--alpha", "0.5,2", "--values", "0.2", "--curves", "0.2"],
        "train": [*small, "--width", "8", "--max-steps", "5"],
        "sample": ["-p", "8", "--no-whiten", "--width", "6", "--warmup", "10", "--draws", "10", "--chains", "2"],
        "study run": ["none.toml"],
        "data get": ["none"],
    }
    programs = dict.fromkeys(commands, campaign.program)
    # The program of the paper's figures, where it was built beside this one.
    paper = Path(campaign.program).with_name("ebbing-paper")
    if paper.exists():
        commands["figure"], programs["figure"] = ["S2", "--dry-run"], str(paper)
    values = ("0", "-1", "1", "nan", "inf", "-inf", "1e400", "1e-300", "18446744073709551615", "18446744073709551616", "0.5")
    values += ("", " ", "x", "1,2", "\x1b[31m", "9" * 400, "0.1:10:1000000000", "1e308", "-0")
    for command, words in list(commands.items()):
        code, said = campaign.end(campaign.start([*command.split(), "--help"], home, stdout=subprocess.PIPE, program=programs[command]))
        del code, said
    listed = {}
    for command in commands:
        run = subprocess.run([programs[command], *command.split(), "--help"], capture_output=True, text=True, cwd=home)
        listed[command] = [w.strip(",") for line in run.stdout.splitlines() for w in line.split()[:2] if w.startswith("--")]

    def one(k: int) -> None:
        chance = campaign.random("flag", k)
        command = chance.choice(sorted(commands))
        words = list(commands[command])
        for _ in range(chance.choice((1, 1, 2, 3))):
            flag = chance.choice(listed[command] or ["--help"])
            if flag in ("--threads", "--out", "--mirror"):
                continue
            if flag in words:
                at = words.index(flag)
                del words[at : at + 2]
            words += [chance.choice((f"{flag}={chance.choice(values)}", flag))]
        campaign.attack("flags", [*command.split(), *words], home, program=programs[command])

    campaign.each(count, until, one)


def stored(campaign: Campaign, count: int, until: float) -> None:
    """Damage to what the program keeps itself: cells, manifests, checkpoints. Refused, or computed to the same result."""
    home = campaign.home("stored")
    study = sound(campaign.random("sound"))["study"][1]
    (home / "study.toml").write_bytes(study)
    train = ["train", "-p", "12", "--length", "2", "--test-examples", "0", "--no-whiten", "--width", "8", "--max-steps", "20"]
    campaign.attack("stored", ["study", "run", "study.toml", "--out", "study"], home)
    campaign.attack("stored", [*train, "--out", "train"], home)
    reference = {name: (home / name).read_bytes() for name in ("study/study.csv", "train/train.json")}

    def one(k: int) -> None:
        chance = campaign.random("stored", k)
        own = campaign.home(f"stored-{k}")
        kind = chance.choice(("study", "train"))
        shutil.copytree(home / kind, own / kind)
        shutil.copy(home / "study.toml", own)
        pattern = ("cells/*.json", "study.json", "study.toml")[chance.randrange(3)] if kind == "study" else "checkpoints/*"
        files = sorted((own / kind).glob(pattern))
        path = chance.choice(files)
        others = [other for other in files if other != path]
        content = mutated(path.read_bytes(), chance) if chance.random() < 0.8 or not others else chance.choice(others).read_bytes()
        path.write_bytes(content)
        words = ["study", "run", "study.toml", "--out", "study"] if kind == "study" else [*train, "--out", "train"]
        name = "study/study.csv" if kind == "study" else "train/train.json"
        (own / name).unlink()
        code = campaign.attack("stored", words, own, [path])
        if code == 0 and (own / name).read_bytes() != reference[name]:
            campaign.account.add("stored", "silent", f"{kind} {path.name}: another result", [path])
        shutil.rmtree(own)

    campaign.each(count, until, one)


def kills(campaign: Campaign, count: int, until: float) -> None:
    """kill -9 at random moments of a study, training, an import and a forecast with --out; then to the end."""
    base = campaign.home("kills")
    formats = sound(campaign.random("sound"))
    small = ["-p", "40", "--length", "2", "--test-examples", "0", "--no-whiten", "--threads", "1"]
    jobs = {
        "study": (["study", "run", "study.toml", "--out", "out", "--threads", "1"], ["out/study.csv", "out/study.parquet"]),
        "train": (["train", *small, "--width", "30", "--max-steps", "200", "--out", "out"], ["out/train.json"]),
        "forecast": (["forecast", *small, "--out", "out"], ["out/forecast.json", "out/forgetting.svg"]),
        "import": (["data", "import", "set.npz", "--name", "set", "--replace"], [".local/share/ebbing/set.npz"]),
    }

    def prepare(home: Path) -> None:
        (home / "study.toml").write_bytes(formats["study"][1])
        (home / "set.npz").write_bytes(formats["npz"][1])

    lasts, results = {}, {}
    for name, (words, files) in jobs.items():
        home = campaign.home(f"kills/{name}")
        prepare(home)
        begin = time.time()
        campaign.attack("kills", words, home)
        lasts[name] = time.time() - begin
        results[name] = [(home / file).read_bytes() for file in files]

    def one(k: int) -> None:
        name = sorted(jobs)[k % len(jobs)]
        words, files = jobs[name]
        chance = campaign.random("kill", k)
        home = base / f"{k}"
        home.mkdir()
        prepare(home)
        # Several kills in a row, then one run to the end.
        for _ in range(4):
            process = campaign.start(["--quiet", *words], home)
            time.sleep(lasts[name] * 1.2 * chance.random())
            process.send_signal(signal.SIGKILL)
            process.communicate()
            campaign.account.add("kills", None)
        campaign.attack("kills", words, home)
        for file, reference in zip(files, results[name]):
            if not (home / file).exists() or (home / file).read_bytes() != reference:
                campaign.account.add("kills", "silent", f"{name}: {file} differs", [home])
        left = campaign.leftovers(home)
        if left:
            campaign.account.add("kills", "leftovers", f"{name}: {left}", [home])
        shutil.rmtree(home)

    campaign.each(count // 5 + 1, until, one)


def disks(campaign: Campaign, count: int, until: float) -> None:
    """Disks of every size that fill up on the way."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        print("disks: this system lets nobody mount a small disk: left out")
        return
    small = "-p 12 --length 2 --test-examples 0 --no-whiten --threads 1"

    def one(k: int) -> None:
        home = campaign.home(f"disk-{k}")
        (home / "disk").mkdir()
        size = 4 * (1 + campaign.random("disk", k).randrange(100))
        command = ("forecast " + small, "train --width 8 --max-steps 5 " + small)[k % 2]
        # The names of what is left are passed on in a file beside the disk.
        script = f'mount -t tmpfs -o size={size}k none disk || exit 0; "$0" --quiet {command} --out disk/out >/dev/null; code=$?'
        # The list of a result's files stays beside them, but not without them.
        script += '; [ $code -ne 0 ] || rm -f disk/out/.ebbing-list-*; find disk -name ".ebbing*" -o -name "*.tmp" >left'
        # A result that does not fit is not there at all; checkpoints are there before it, so that a run can go on.
        script += "; [ $code -eq 0 ] || find disk/out -type f ! -path '*/checkpoints/*' >>left; exit $code"
        process = subprocess.Popen(
            ["unshare", "-rm", "/bin/sh", "-c", script, campaign.program],
            cwd=home, env={"PATH": os.environ["PATH"], "HOME": str(home)}, stderr=subprocess.PIPE,
        )  # fmt: skip
        code, said = campaign.end(process)
        campaign.account.add("disks", campaign.verdict(code, said), f"{size} kB, {command}: {code}\n{said}")
        left = (home / "left").read_text() if (home / "left").exists() else ""
        if left:
            campaign.account.add("disks", "leftovers", f"{size} kB, {command}: {left}")
        shutil.rmtree(home)

    campaign.each(count, until, one)


def memory(campaign: Campaign, count: int, until: float) -> None:
    """Limits of addresses, heeded and forced."""
    home = campaign.home("memory")
    commands = (
        "forecast --protocol permuted -p 900 --length 2 --test-examples 0 --no-whiten",
        "phase -p 500 --test-examples 0 --no-whiten --alpha 0.5,2 --values 0.2 --curves 0.2",
        "train -p 500 --length 2 --test-examples 0 --no-whiten --width 2000 --max-steps 3",
        "check",
    )

    def one(k: int) -> None:
        chance = campaign.random("memory", k)
        words = chance.choice(commands).split() + ["--threads", chance.choice("12")]
        words += ["--force"] if chance.random() < 0.7 else []
        campaign.attack("memory", words, home, before=f"ulimit -v {chance.randrange(30_000, 400_000)}")

    campaign.each(count, until, one)


def devices(campaign: Campaign, count: int, until: float) -> None:
    """Closed and full standard streams, and readers that go away."""
    home = campaign.home("devices")
    small = ["forecast", "--protocol", "permuted", "-p", "12", "--length", "2", "--test-examples", "0", "--no-whiten"]
    for k in range(min(count, 12)):
        if time.time() > until:
            return
        closed = ("exec >&-", "exec 2>&-", "exec >/dev/full", "exec 2>/dev/full", "exec >&- 2>&-", "exec <&-")[k % 6]
        words = [small, [*small, "--depth", "0"]][k // 6]
        code, _ = campaign.end(campaign.start(words, home, before=closed))
        wanted = {0, 1, 2} if "2>" in closed else ({1, 2} if ">" in closed else {0, 2})
        campaign.account.add("devices", None if code in wanted else "crashes", f"{closed}: {code}")
        reader = campaign.start(small, home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        reader.stdout.close()
        reader.stdout = None
        code, _ = campaign.end(reader)
        campaign.account.add("devices", None if code in (0, 1) else "crashes", f"reader gone: {code}")


def servers(campaign: Campaign, count: int, until: float) -> None:
    """Servers that lie, stall, cut off and loop."""
    body = gzip.compress(os.urandom(2000))
    ok = lambda length: f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()
    answers = [
        lambda: ok(len(body)) + body,
        lambda: ok(10 * len(body)) + body,
        lambda: ok(2**63) + body,
        lambda: b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n" + body,
        lambda: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nxx",
        lambda: b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n",
        lambda: b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        lambda: b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 9-1/0\r\nContent-Length: 4\r\n\r\nabcd",
        lambda: b"",
        lambda: b"\x00" * 5000,
        lambda: b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20000,
        lambda: None,  # stalls
        lambda: ok(9_000_000) + bytes(4_000_000),  # and is killed on the way
    ]
    listener = socket.create_server(("127.0.0.1", 0))
    answer = {"now": answers[0]}
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                listener.settimeout(0.2)
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            with connection:
                try:
                    connection.settimeout(2)
                    connection.recv(4096)
                    reply = answer["now"]()
                    time.sleep(1.5) if reply is None else connection.sendall(reply)
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    for k in range(min(count, 3 * len(answers))):
        if time.time() > until:
            break
        answer["now"] = answers[k % len(answers)]
        home = campaign.home(f"server-{k}")
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/{k}/"
        words = ["data", "get", ("mnist", "cifar10", "emnist")[k // len(answers)], "--mirror", address, "--tries", "2"]
        words += ["--pause", "0.01", "--read-timeout", "1", "--connect-timeout", "1"]
        if k % len(answers) == len(answers) - 1:
            process = campaign.start(["--quiet", *words], home)
            time.sleep(0.3 * campaign.random("server", k).random())
            process.send_signal(signal.SIGKILL)
            process.communicate()
        code = campaign.attack("servers", words, home)
        files = [p for p in home.rglob("*") if p.is_file() and not any(part.startswith(".") and part.endswith(".download") for part in p.parts)]
        if code == 0 or files:
            campaign.account.add("servers", "silent" if code == 0 else "leftovers", f"answer {k}: {code} {files}")
    stop.set()
    listener.close()
    thread.join()


def forks(campaign: Campaign, count: int, until: float) -> None:
    """Children of a process that has computed, as data loaders make them; where the Python package is installed."""
    script = (
        "import os, sys, numpy as np, multiprocessing as mp, ebbing\n"
        "r = np.random.default_rng(0)\n"
        "tasks = [(r.normal(size=(20, 8)), np.sign(r.normal(size=20))) for _ in range(2)]\n"
        "first = ebbing.forecast(tasks).forgetting\n"
        "def work(_): return ebbing.forecast(tasks).forgetting\n"
        "with mp.get_context('fork').Pool(2) as pool: got = pool.map(work, range(4))\n"
        "sys.exit(0 if all(np.array_equal(first, g) for g in got) else 3)\n"
    )
    if subprocess.run([sys.executable, "-c", "import ebbing"], capture_output=True).returncode != 0:
        print("forks: the Python package is not installed here: left out")
        return
    for k in range(min(count, 5)):
        if time.time() > until:
            return
        process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script], stderr=subprocess.PIPE, start_new_session=True)
        try:
            _, said = process.communicate(timeout=LONGEST)
            trouble = {0: None, 3: "silent"}.get(process.returncode, "crashes")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, said = process.communicate()
            trouble = "hangs"
        campaign.account.add("forks", trouble, said.decode(errors="replace"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=Path("target/debug/ebbing"))
    parser.add_argument("--minutes", type=float, default=1.0, help="at most this long")
    parser.add_argument("--inputs", type=int, default=100_000, help="damaged files at most")
    parser.add_argument("--kills", type=int, default=1_000, help="kills at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    program = options.program.resolve()
    if not program.is_file():
        parser.error(f"--program is {options.program}; build it first, or give its path")
    campaign = Campaign(program, options.seed, options.workers)
    begin = time.time()
    # Shares of the time; what is done early leaves its share to those after it.
    sections = [
        (devices, 24, 0.05), (servers, 36, 0.1), (forks, 5, 0.1), (memory, 200, 0.1), (disks, 200, 0.1),
        (stored, 2_000, 0.15), (flags, 20_000, 0.25), (kills, options.kills, 0.4), (inputs, options.inputs, 1.0),
    ]  # fmt: skip
    for section, count, share in sections:
        left = begin + 60 * options.minutes - time.time()
        section(campaign, count, time.time() + share * left)
    print(campaign.account.table())
    print(campaign.account.troubles(), end="")
    failed = campaign.account.failed()
    shutil.rmtree(campaign.folder, ignore_errors=True)
    print(f"seed {options.seed}, {time.time() - begin:.0f} s" + (f"; kept in {campaign.account.keep}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
