"""The doors: the Python package in this process, the program, a study file, and the page's server over loopback HTTP.

Every door answers in the same words: a dictionary of plain numbers by Python's names, or {"refused": sentence},
{"crashed": …}, {"hangs": seconds}.
"""

from __future__ import annotations

import csv
import http.client
import json
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import ebbing
import numpy as np

from request import INF, Request, Task

Answer = dict[str, Any]
LONGEST = 30.0  # seconds after which a small request counts as never ending
#: Order parameters by Python's names.
THEIRS = {"f21": "f_pair", "f21_at_lambda_zero": "f_pair_at_lambda_zero", "delta_f21": "delta_f_pair"}
ORDER_PARAMETERS = ("gamma_feature", "gamma_rf", "gamma_rule", "gamma_sim", "conflict", "f_pair", "cos", "proj")
ORDER_PARAMETERS += ("f_pair_at_lambda_zero", "delta_f_pair")
#: Settings that the program takes without a value.
SWITCHES = ("variance", "theory")
#: What Python calls the program's words.
IN_PYTHON = {"lambda": "lam"}


class Doors:
    """All doors, the program and the page started where they are asked; `spoil` is for the self-test."""

    def __init__(self, program: str | None) -> None:
        self.program_path = program and os.path.abspath(program)
        self.folder = tempfile.TemporaryDirectory(prefix="ebbing-metamorphic-")
        self.files = 0
        self.page_process: subprocess.Popen[str] | None = None
        self.asked = 0
        self.spoil: tuple[int, Callable[[Answer], None]] | None = None

    def end(self) -> None:
        """Ends the page's server, by its own process, and removes what was written."""
        if self.page_process is not None:
            self.page_process.kill()
            self.page_process.wait()
            self.page_process = None
        self.folder.cleanup()

    def passed(self, answer: Answer) -> Answer:
        """Every answer goes through here: the self-test changes one of them."""
        self.asked += 1
        if self.spoil is not None and self.spoil[0] == self.asked - 1:
            self.spoil[1](answer)
        return answer

    def place(self, ending: str) -> Path:
        """The path of a new file or folder."""
        self.files += 1
        return Path(self.folder.name) / f"{self.files}{ending}"

    # Python ---------------------------------------------------------------------------------------------------------

    def computed(self, work: Callable[[], Answer]) -> Answer:
        """What a call in Python gives; what the package refuses, it refuses in a sentence."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = work()
        except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
            answer = {"refused": str(error)}
        except BaseException as error:  # a panic is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            answer = {"crashed": f"{type(error).__name__}: {error}"}
        return self.passed(answer)

    def python(self, request: Request, **more: Any) -> Answer:
        """`ebbing.forecast`; the order of tasks is searched where `order="best"` is given."""
        return self.of_tasks([task.given() for task in request.tasks], request, **more)

    def of_tasks(self, tasks: Any, request: Request, **more: Any) -> Answer:
        """`ebbing.forecast` of anything that it takes, with the settings of a request."""
        words = {IN_PYTHON.get(name, name): value for name, value in request.settings.items()}
        asked = {"features": request.features, **words, **more}
        return self.computed(lambda: of_python(ebbing.forecast(tasks, **asked)))

    def advice(self, request: Request, **more: Any) -> Answer:
        """`ebbing.advise`."""
        words = {IN_PYTHON.get(name, name): value for name, value in request.settings.items() if name != "ridge"}
        tasks = [task.given() for task in request.tasks]
        return self.computed(lambda: of_advice(ebbing.advise(tasks, features=request.features, **words, **more).to_dict()))

    # The program ----------------------------------------------------------------------------------------------------

    def npz(self, tasks: Sequence[Task], path: Path | None = None) -> Path:
        """Tasks as the file that the program reads."""
        path = path or self.place(".npz")
        arrays = {}
        for t, task in enumerate(tasks, 1):
            arrays |= {f"x_{t}": task.x, f"y_{t}": task.y}
            if task.x_test is not None:
                arrays |= {f"x_{t}_test": task.x_test, f"y_{t}_test": task.y_test}
        np.savez(path, **arrays)
        return path

    def run(self, words: Sequence[str], home: Path | None = None) -> tuple[int | None, str, str]:
        """A run of the program: its exit code (none for one that does not end), what it printed and what it said."""
        assert self.program_path, "this law needs --program"
        home = home or Path(self.folder.name)
        process = subprocess.Popen(
            [self.program_path, *words], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "RAYON_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            printed, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, said = process.communicate()
            return None, printed, said
        return process.returncode, printed, said

    def json(self, words: Sequence[str], read: Callable[[Any], Answer]) -> Answer:
        """What a run prints as JSON."""
        code, printed, said = self.run(words)
        if code is None:
            answer: Answer = {"hangs": LONGEST}
        elif code == 0:
            answer = read(json.loads(printed))
        elif code in (1, 2) and "panicked" not in said:
            answer = {"refused": " ".join(line.removeprefix("ebbing: ") for line in said.splitlines())}
        else:
            answer = {"crashed": f"exit code {code}: {said}"}
        return self.passed(answer)

    def words(self, request: Request, path: Path | None = None) -> list[str]:
        """Tasks and settings as flags."""
        path = path or self.npz(request.tasks)
        return [f"--{'features' if request.features else 'tasks'}={path}", *flags(request.settings)]

    def program(self, request: Request, *more: str) -> Answer:
        """`ebbing forecast --json`, without a search for the best order."""
        words = ["forecast", "--json", "--quiet", *self.words(request), *more]
        return self.json(words, lambda printed: of_json(printed["forecast"]) | {"sentences": list(dict.fromkeys([*printed["answer"], *printed["theory"]]))})

    def program_advice(self, request: Request, *more: str) -> Answer:
        """`ebbing advise --json`."""
        words = ["advise", "--json", "--quiet", *self.words(request), *more]
        return self.json(words, lambda printed: of_advice(printed["advice"] | {"answer": printed.get("answer", [])}))

    def study(self, request: Request) -> Answer:
        """`ebbing study run` of one cell: the forgetting and the accuracies of its rows."""
        path = self.npz(request.tasks)
        kind = "features" if request.features else "tasks"
        named = f"[{toml(str(path))}]" if request.features else toml(str(path))
        lines = [f"{name} = {toml(value)}" for name, value in request.settings.items()]
        text = "\n".join(['command = "forecast"', "[settings]", f"{kind} = {named}", *lines, ""])
        out = self.place("")
        out.mkdir()
        (out / "study.toml").write_text(text)
        code, _, said = self.run(["study", "run", "study.toml", "--out", "results", "--quiet"], out)
        if code is None:
            return self.passed({"hangs": LONGEST})
        if code != 0:
            return self.passed({"refused": said})
        return self.passed(of_rows(next((out / "results").glob("*.csv")), len(request.tasks)))

    # The page -------------------------------------------------------------------------------------------------------

    def start_page(self) -> int:
        """The port of the page's server, which is started once."""
        if self.page_process is None:
            assert self.program_path, "this law needs --program"
            self.page_process = subprocess.Popen(
                [self.program_path, "explore", "--port", "0", "--no-browser"], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, cwd=self.folder.name,
                env={"PATH": os.environ["PATH"], "HOME": self.folder.name, "RAYON_NUM_THREADS": "1"},
            )  # fmt: skip
            assert self.page_process.stdout is not None
            self.page_port = int(self.page_process.stdout.readline().strip().rstrip("/").rsplit(":", 1)[1])
        return self.page_port

    def asked_page(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """A request as the page sends it."""
        port = self.start_page()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
        headers = {"Origin": f"http://127.0.0.1:{port}", "X-Ebbing": "1"} if method == "POST" else {}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def page(self, request: Request, view: str = "forecast", **more: Any) -> Answer:
        """A view of the page, of tasks that are dropped on it."""
        status, said = self.asked_page("POST", "/api/files?name=tasks.npz", self.npz(request.tasks).read_bytes())
        if status != 200:
            return self.passed({"refused": said.decode()})
        return self.page_state({"tasks": "tasks.npz", **request.settings, **more}, view)

    def page_state(self, state: dict[str, Any], view: str) -> Answer:
        """A view of the page at an address."""
        address = urlencode({name.replace("_", "-"): word(value) for name, value in state.items()}, quote_via=quote)
        try:
            _, said = self.asked_page("GET", f"/api/answer/{view}?{address}")
        except TimeoutError:
            return self.passed({"hangs": LONGEST})
        last = json.loads(said.decode().strip().splitlines()[-1])
        if last.get("refused") is not None:
            return self.passed({"refused": last["refused"]})
        printed = last["result"]["answer"]
        read = (
            of_json(printed["forecast"])
            if view == "forecast"
            else of_advice(printed["advice"] | {"answer": printed["answer"]})
        )
        return self.passed(read)


def word(value: Any) -> str:
    """A setting as flags and addresses write it: floats in the digits that read back as the same number."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(word, value))
    return ("inf" if value == INF else repr(value)) if isinstance(value, float) else str(value)


def toml(value: Any) -> str:
    """A setting as a study file writes it."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else word(value)


def flags(settings: dict[str, Any]) -> list[str]:
    """Settings as flags."""
    named = {name.replace("_", "-"): value for name, value in settings.items()}
    switches = [f"--{name}" for name, value in named.items() if value is True]
    return switches + [f"--{name}={word(value)}" for name, value in named.items() if not isinstance(value, bool)]


# Answers in the same words -----------------------------------------------------------------------------------------------


def order_parameters(values: dict[str, float]) -> dict[str, float]:
    """Order parameters by Python's names."""
    return {THEIRS.get(name, name): value for name, value in values.items()}


def of_python(printed: Any) -> Answer:
    """A `Forecast`."""
    plain = printed.to_dict()
    answer = {
        name: plain[name] for name in ("forgetting", "forgetting_error", "train_accuracy", "test_loss", "generalization")
    }
    answer |= {
        name: plain[name] for name in ("test_accuracy", "task_accuracy", "metrics", "f21_at_lambda_zero", "delta_f21")
    }
    answer |= {name: plain[name] for name in ("digits", "notes", "worst", "depths", "lambdas", "widths", "order", "fit")}
    answer["pairs"] = {f"{p.first}-{p.second}": p.values() for p in printed.pairs}
    answer["intervals"] = {f"{p.first}-{p.second}": {"low": p.low, "high": p.high} for p in printed.pairs if p.low}
    answer["sentences"] = list(dict.fromkeys([*printed.answer, *printed.theory]))
    answer["expected"] = plain["expected"]
    return answer


def mean(averaged: Any) -> Any:
    """The mean of a matrix over seeds."""
    return None if averaged is None else averaged["mean"]


def of_json(printed: Any) -> Answer:
    """A forecast as the program and the page print it."""
    test = printed["test"] or {}
    pairs = {f"{p['first']}-{p['second']}": order_parameters(p["values"]) for p in printed["pairs"]}
    return {
        "forgetting": mean(printed.get("forgetting")),
        "train_accuracy": mean(printed["train_accuracy"]),
        "test_loss": mean(test.get("loss")),
        "generalization": mean(test.get("generalization")),
        "test_accuracy": mean(test.get("accuracy")),
        "pairs": {name: {key: values[key] for key in ORDER_PARAMETERS} for name, values in pairs.items()},
        **{name: printed[name] for name in ("f21_at_lambda_zero", "delta_f21", "digits", "notes", "worst", "expected")},
        **{name: printed.get(name, []) for name in ("depths", "lambdas", "widths")},
        "order": printed["order"],
    }


def of_advice(printed: Any) -> Answer:
    """Advice: rows by what is done, and sentences."""
    kept = ("remedies", "replay", "target", "examples_needed", "examples_most", "order", "orders")
    methods = (printed.get("methods") or {"rows": []})["rows"]
    return {name: printed[name] for name in kept} | {"methods": methods, "sentences": list(printed["answer"])}


def of_rows(path: Path, tasks: int) -> Answer:
    """The matrices of a study's rows; `t`, `s` count from 1."""
    found: Answer = {}
    columns = {"forgetting": "forgetting", "train_accuracy": "train_accuracy", "test_loss": "test_loss"}
    columns |= {"generalization": "generalization", "test_accuracy": "test_accuracy"}
    with path.open() as file:
        rows = [row for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    for name, column in columns.items():
        if column not in rows[0] or not rows[0][column]:
            found[name] = None
            continue
        matrix = [[float("nan")] * tasks for _ in range(tasks)]
        for row in rows:
            if row.get("t") and row.get(column):
                matrix[int(float(row["t"])) - 1][int(float(row["s"])) - 1] = float(row[column])
        found[name] = matrix
    return found


# What the self-test changes ------------------------------------------------------------------------------------------


def number(part: str, by: float = 0.05) -> Callable[[Answer, np.random.Generator], bool]:
    """Changes one number below a part of an answer, such as `pairs` or `depths`, by some per cent of it and of 1."""

    def spoil(answer: Answer, chance: np.random.Generator) -> bool:
        places: list[tuple[Any, Any]] = []

        def walk(holder: Any, key: Any) -> None:
            value = holder[key]
            if isinstance(value, dict):
                [walk(value, inner) for inner in value]
            elif isinstance(value, list):
                [walk(value, inner) for inner in range(len(value))]
            elif isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value):
                places.append((holder, key))

        if part in answer:
            walk(answer, part)
        if not places:
            return False
        holder, key = places[int(chance.integers(len(places)))]
        holder[key] = holder[key] * (1 + by) + by
        return True

    spoil.__name__ = f"{part} ± {by:g}"
    return spoil
