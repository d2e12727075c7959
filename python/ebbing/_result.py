"""What all results share: attributes, dictionary, table, notebook display, figure, pickling."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

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
    """Three significant digits.

    >>> significant(0.81234), significant(1234.5), significant(4.1e-7), significant(float("inf"))
    ('0.812', '1.23e+03', '4.1e-07', 'inf')
    """
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(value)
    return f"{value:.3g}"


def with_error(value: float, error: float | None) -> str:
    """A value with its standard error: `0.812 ± 0.006`."""
    if error is None:
        return significant(value)
    digits = max(0, 1 - int(np.floor(np.log10(error)))) if error > 0 else 3
    return f"{value:.{min(digits, 12)}f} ± {error:.2g}"


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


def heat_table(caption: str, values: Array) -> str:
    """A matrix [t, s] with shaded cells: after task t downwards, on task s to the right, both from 1."""
    clean = np.where(np.abs(values) < 1e-20, 0.0, values)
    finite = clean[np.isfinite(clean)]
    top = finite.max() if finite.size and finite.max() > 0 else 1.0
    head = "<th>after task</th>" + "".join(f'<th style="{STYLE}">on {s + 1}</th>' for s in range(clean.shape[1]))
    body = ""
    for t, row in enumerate(clean):
        cells = ""
        for value in row:
            if np.isnan(value):
                cells += "<td></td>"
                continue
            shade = 0.55 * min(max(value / top, 0.0), 1.0) if np.isfinite(value) else 0.55
            cells += f'<td style="{STYLE};background:rgba(213,94,0,{shade:.2f})">{significant(float(value))}</td>'
        body += f'<tr><th style="{STYLE}">{t + 1}</th>{cells}</tr>'
    return f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def matrix_frame(values: Array) -> Any:
    """A matrix [t, s] as a frame whose rows and columns count tasks from 1."""
    package = pandas()
    rows = package.RangeIndex(1, values.shape[0] + 1, name="after task")
    columns = package.RangeIndex(1, values.shape[1] + 1, name="on task")
    return package.DataFrame(values, index=rows, columns=columns)
