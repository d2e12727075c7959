"""What all results share: attributes, dictionary, page for terminal and notebook, report, figure, pickling."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from . import _ebbing, _plotting
from ._table import Table, clean, pandas, significant, values_table


class Shown:
    """Something that is printed, in a terminal and in a notebook, as the program would."""

    #: What it is called where it is shown, if not by the name of its class.
    _title = ""

    def title(self) -> str:
        """What it is called where it is shown."""
        if self._title:
            return self._title
        name = type(self).__name__
        return "".join(" " + c.lower() if c.isupper() and i else c for i, c in enumerate(name))

    def about(self) -> str:
        """What has to be known to read the rest, below the title; empty where nothing has to."""
        return ""

    def sentences(self) -> list[str]:
        """What the numbers say."""
        return []

    def tables(self) -> list[Table]:
        """The tables that print, notebook and report show."""
        values = {key: value for key, value in self.__dict__.items() if scalar(value)}
        return [values_table(values)] if values else []

    def _shown(self, drawing: str | None = None) -> _ebbing.Shown:
        """The page, with a drawing (SVG) for its report."""
        about = [self.about()] if self.about() else []
        settings = self.__dict__.get("settings") or {}
        return _ebbing.Shown(self.title(), about, self.tables(), self.sentences(), drawing, settings)

    def summary(self) -> str:
        """What there is to read: title, tables and sentences as plain text; `print` shows the same."""
        return self._shown().text().rstrip("\n")

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self._shown().html()


class Result(Shown):
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
        """Whether the numbers are the same, whatever was asked to get them."""
        return type(self) is type(other) and same(*({**one.__dict__, "settings": None} for one in (self, other)))

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and numbers."""
        return {key: plain(value) for key, value in self.__dict__.items()}

    def to_pandas(self) -> Any:
        """A table: a `Series` of the numbers, or a `DataFrame` where there is a natural one."""
        values = {key: clean(v) if isinstance(v, float) else v for key, v in self.to_dict().items() if scalar(v)}
        return pandas().Series(values, name=self.title())

    def plot(self, ax: Any = None) -> Any:
        """Draws the result and returns matplotlib's axes."""
        numbers = {key: float(value) for key, value in self.to_dict().items() if number(value)}
        return _plotting.bars(numbers, self.title(), ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything as JSON, infinity and nan as words that Python's `json` reads back."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one HTML file: what the numbers say, figures (of some results with matplotlib), tables, settings. It needs no
        other file and no script."""
        Path(path).write_text(self._shown(self._drawing()).report(), encoding="utf-8")

    def _drawing(self) -> str | None:
        """The plot as SVG; None without matplotlib."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            return None
        axes = np.ravel(self.plot())
        with io.StringIO() as file:
            axes[0].figure.savefig(file, format="svg", bbox_inches="tight")
            drawn = file.getvalue()
        plt.close(axes[0].figure)
        return drawn[drawn.index("<svg") :]


class Answer(Result):
    """A result whose page is the program's, made where it was computed."""

    __slots__ = ("_page",)
    _page: _ebbing.Shown

    answer: list[str]

    @classmethod
    def with_page(cls, found: dict[str, Any], **values: Any) -> Any:
        """The result that the page of what was found shows."""
        made = cls(**values, answer=found["answer"])
        made._page = found["page"]
        return made

    def sentences(self) -> list[str]:
        """What the numbers say, in sentences."""
        return list(self.answer)

    def tables(self) -> list[Table]:
        """The tables that print and notebook show."""
        return self._page.tables() if hasattr(self, "_page") else super().tables()

    def _shown(self, drawing: str | None = None) -> _ebbing.Shown:
        return self._page if hasattr(self, "_page") else super()._shown(drawing)

    def _drawing(self) -> str | None:
        """None where the page has its own figures."""
        return None if hasattr(self, "_page") else super()._drawing()


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


def worth_showing(value: Any) -> bool:
    return scalar(value) or isinstance(value, np.ndarray)


def brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{'×'.join(map(str, value.shape))} array>" if value.ndim != 1 or value.size > 6 else str(value)
    return repr(value) if isinstance(value, str) else significant(value)
