"""What all results share: attributes, dictionary, table, notebook display, figure, pickling."""

from __future__ import annotations

import html
import io
import json
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array


class Result:
    """A small object whose attributes are what was computed.

    >>> point = Result(gamma=0.5, matrix=np.eye(2))
    >>> point.gamma, point.to_dict()["matrix"]
    (0.5, [[1.0, 0.0], [0.0, 1.0]])
    >>> import pickle
    >>> pickle.loads(pickle.dumps(point)) == point
    True
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={brief(value)}" for key, value in self.__dict__.items() if worth_showing(value))
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(self.__dict__, other.__dict__)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and numbers."""
        return {key: plain(value) for key, value in self.__dict__.items()}

    def to_pandas(self) -> Any:
        """A table: a `Series` of the numbers, or a `DataFrame` where there is a natural one."""
        return pandas().Series({key: value for key, value in self.to_dict().items() if scalar(value)}, name=self.title())

    def plot(self, ax: Any = None) -> Any:
        """Draws the result and returns matplotlib's axes."""
        from . import _plotting

        numbers = {key: float(value) for key, value in self.to_dict().items() if number(value)}
        return _plotting.bars(numbers, self.title(), ax)

    def title(self) -> str:
        """What the result is called where it is shown."""
        name = type(self).__name__
        return "".join(" " + c.lower() if c.isupper() and i else c for i, c in enumerate(name))

    def sentences(self) -> list[str]:
        """What the numbers say."""
        return []

    def tables(self) -> list[str]:
        """What the notebook shows, as HTML."""
        return [key_value({key: value for key, value in self.__dict__.items() if scalar(value)})]

    def text_tables(self) -> list[str]:
        """What `summary` shows between the title and the sentences, as plain text."""
        values = {key: value for key, value in self.__dict__.items() if scalar(value)}
        return [text_table(["", "value"], [[key, significant(value)] for key, value in values.items()])] if values else []

    def summary(self) -> str:
        """What there is to read: title, tables and sentences as plain text; `print` shows the same."""
        parts = [self.title(), *self.text_tables(), *(textwrap.fill(said, 88) for said in self.sentences())]
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.summary()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything as JSON, infinity and nan as words that Python's `json` reads back."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one HTML file: title, sentences, figure (with matplotlib), tables. It needs no other file and no script."""
        said = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences())
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(self.title())}</title>"
            "<style>body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
            "table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}svg{max-width:100%;height:auto}</style>"
            f"<h1>{html.escape(self.title())}</h1><ul>{said}</ul>{self._figure()}{''.join(self.tables())}</html>\n"
        )
        Path(path).write_text(page, encoding="utf-8")

    def _figure(self) -> str:
        """The plot as SVG; nothing without matplotlib."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            return ""
        axes = np.ravel(self.plot())
        with io.StringIO() as file:
            axes[0].figure.savefig(file, format="svg")
            drawn = file.getvalue()
        plt.close(axes[0].figure)
        return drawn[drawn.index("<svg") :]

    def _repr_html_(self) -> str:
        parts = [f"<b>{html.escape(self.title())}</b>", *self.tables()]
        parts += [f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences()]
        return "\n".join(parts)


def pandas() -> Any:
    """The package pandas, or what to do to have it."""
    try:
        import pandas as package
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas") from error
    return package


def number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def scalar(value: Any) -> bool:
    return number(value) or isinstance(value, (str, bool))


def plain(value: Any) -> Any:
    """Without arrays and results."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def same(a: Any, b: Any) -> bool:
    """Equality that looks into arrays; nan equals nan."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (isinstance(a, float) and a != a and isinstance(b, float) and b != b)


def significant(value: Any) -> str:
    """Three significant digits, as the program writes them.

    >>> significant(0.81234), significant(1234.5), significant(4.1e-7), significant(float("inf")), significant(12)
    ('0.812', '1234', '4.1e-7', 'inf', '12')
    """
    if isinstance(value, (bool, str, int, np.integer)):
        return str(value)
    return "" if value is None else _ebbing.written(float(value))


def with_error(value: float, error: float | None) -> str:
    """A value with its standard error: `0.812 ± 0.006`; the value alone where the error is none or rounding.

    >>> with_error(0.8123, 0.0061), with_error(1.0000000000000004, 5e-16)
    ('0.812 ± 0.006', '1.00')
    """
    return _ebbing.written(float(value), error)


#: Losses below this are rounding where they are shown.
ROUNDING = 1e-12


def without_rounding(values: Array) -> Array:
    """What is shown of a matrix: 0 where it is rounding."""
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


def worth_showing(value: Any) -> bool:
    return scalar(value) or isinstance(value, np.ndarray)


def brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{'×'.join(map(str, value.shape))} array>" if value.ndim != 1 or value.size > 6 else str(value)
    return repr(value) if isinstance(value, str) else significant(value)


STYLE = "text-align:right;padding:2px 8px"


def key_value(values: dict[str, Any]) -> str:
    """A table of names and numbers."""
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(key)}</th><td style="{STYLE}">{html.escape(significant(v))}</td></tr>'
        for key, v in values.items()
    )
    return f"<table>{rows}</table>"


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A table with a head."""
    first = "".join(f'<th style="{STYLE}">{html.escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{STYLE}">{html.escape(significant(v))}</td>' for v in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"


def text_table(head: list[str], rows: list[list[str]]) -> str:
    """A table as plain text, numbers to the right.

    >>> print(text_table(["task", "F"], [["1", "0"], ["2", "0.512"]]))
    task      F
    -----------
    1         0
    2     0.512
    """
    widths = [max(len(line[k]) for line in [head, *rows]) for k in range(len(head))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in [head, *rows]]
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def task_names(names: Sequence[str] | int) -> list[Any]:
    """Names of tasks, or numbers from 1 where they have none of their own.

    >>> task_names(["task 1", "task 2"]), task_names(["digits", "letters"]), task_names(2)
    ([1, 2], ['digits', 'letters'], [1, 2])
    """
    if isinstance(names, int):
        return list(range(1, names + 1))
    numbered = all(name in ("", f"task {t}") for t, name in enumerate(names, 1))
    return task_names(len(names)) if numbered or len(set(names)) < len(names) else list(names)


def heat_table(caption: str, values: Array, names: Sequence[str] | None = None) -> str:
    """A matrix [t, s] with shaded cells: after task t downwards, on task s to the right, by name or from 1."""
    called = [html.escape(str(name)) for name in task_names(names if names is not None else values.shape[1])]
    clean = without_rounding(values)
    finite = clean[np.isfinite(clean)]
    top = finite.max() if finite.size and finite.max() > 0 else 1.0
    head = "<th>after task</th>" + "".join(f'<th style="{STYLE}">on {name}</th>' for name in called)
    body = ""
    for t, row in enumerate(clean):
        cells = ""
        for value in row:
            if np.isnan(value):
                cells += "<td></td>"
                continue
            shade = 0.55 * min(max(value / top, 0.0), 1.0) if np.isfinite(value) else 0.55
            cells += f'<td style="{STYLE};background:rgba(213,94,0,{shade:.2f})">{significant(float(value))}</td>'
        body += f'<tr><th style="{STYLE}">{called[t]}</th>{cells}</tr>'
    return f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def matrix_frame(values: Array, names: Sequence[str] | None = None) -> Any:
    """A matrix [t, s] as a frame whose rows and columns are tasks, by name or counted from 1."""
    package, called = pandas(), task_names(names if names is not None else values.shape[1])
    rows, columns = package.Index(called, name="after task"), package.Index(called, name="on task")
    return package.DataFrame(without_rounding(values), index=rows, columns=columns)
