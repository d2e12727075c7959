"""Numbers and tables for readers: one formatter that knows how accurate a number is, symbols, text and HTML."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _ebbing
from ._arrays import Array, task_names

#: Values below this are rounding where nothing else is known of their accuracy.
ROUNDING = 1e-12

#: A number given by hand is not longer than this; one of a grid has twelve digits.
GIVEN = 10

#: How things are written, subscripts in braces.
SYMBOLS = {
    "gamma_feature": "γ_{feature}",
    "gamma_rf": "γ_{RF}",
    "gamma_rule": "γ_{rule}",
    "gamma_sim": "γ_{sim}",
    "f_pair": "F_{pair}",
    "f_pair_at_lambda_zero": "F_{pair}(λ = 0)",
    "delta_f_pair": "ΔF_{pair}",
    "alpha": "α",
    "alpha_c": "exact α_{c}",
    "alpha_c_gamma_sim": "γ_{sim}⁻²",
    "alpha_c_u11": "α_{c} with u_{11}",
    "lam": "λ",
    "width": "N",
    "rho": "ρ",
    "u11": "u_{11}",
    "u12": "u_{12}",
    "u22": "|a_{2}|²/N",
    "f21": "F_{21}",
    "g21": "G_{21}",
    "g22": "G_{22}",
    "u_tt": "|a_{T}|²/N",
    "f_t1": "F_{T1}",
    "g_t1": "G_{T1}",
    "g_tt": "G_{TT}",
    "f_max": "F_{max}",
    "tau": "τ",
    "r2": "R²",
}


def symbol(name: str) -> str:
    """What is written for an attribute: `γ_{RF}`, or its own words; what is written already stays."""
    return SYMBOLS.get(name, name if "_{" in name else name.replace("_", " "))


def as_text(markup: str) -> str:
    """Markup for a terminal.

    >>> as_text("γ_{RF}")
    'γ_RF'
    """
    return re.sub(r"_\{([^}]*)\}", r"_\1", markup)


def as_html(markup: str) -> str:
    """Markup for a page."""
    return re.sub(r"_\{([^}]*)\}", r"<sub>\1</sub>", html.escape(markup))


def as_math(markup: str) -> str:
    """Markup for matplotlib."""
    return re.sub(r"_\{([^}]*)\}", r"$_\\mathregular{\1}$", markup)


def significant(value: Any, accuracy: float = ROUNDING) -> str:
    """Three significant digits, as the program writes them; 0 where a value is 0 within its accuracy.

    >>> significant(0.81234), significant(1234.5), significant(4.1e-7), significant(float("inf")), significant(12)
    ('0.812', '1234', '4.1e-7', 'inf', '12')
    >>> significant(-2.8e-18), significant(3e-10, accuracy=1e-9)
    ('0', '0')
    """
    if isinstance(value, (bool, str, int, np.integer, np.bool_)):
        return str(value)
    return "" if value is None or np.isnan(value) else _ebbing.written(clean(float(value), accuracy))


def with_error(value: float, error: float | None, accuracy: float = ROUNDING) -> str:
    """A value with its standard error: `0.812 ± 0.006`; the value alone where the error is none or rounding.

    >>> with_error(0.8123, 0.0061), with_error(1.0000000000000004, 5e-16), with_error(3e-17, 2e-17)
    ('0.812 ± 0.006', '1.00', '0')
    """
    if error is None or np.isnan(error) or abs(error) < accuracy or np.isnan(value):
        return significant(value, accuracy)
    return _ebbing.written(clean(float(value), accuracy), error)


def clean(value: float, accuracy: float = ROUNDING) -> float:
    """0 where a value is 0 within its accuracy."""
    return 0.0 if abs(value) < accuracy else value


def setting(value: float) -> str:
    """A number that was given: λ, N or α, with the digits that it has; three of one with more than anybody gives.

    >>> setting(20.0), setting(0.1), setting(12345), setting(0.010000000000000004), setting(float("inf"))
    ('20', '0.1', '12345', '0.01', '∞')
    >>> setting(2 / 3)
    '0.667'
    """
    shown = _ebbing.chosen(float(value))
    return shown if len(shown) <= GIVEN else significant(float(value))


def power(coefficient: float, exponent: float) -> str:
    """A value that may grow or vanish as a power of λ.

    >>> power(0.25, 0.0), power(0.25, 0.5), power(0.25, -1.0)
    ('0.250', '0.250 λ^0.5', '0.250 λ^-1')
    """
    shown = significant(float(coefficient))
    return shown if exponent == 0 or shown in ("0", "inf", "") else f"{shown} λ^{exponent:g}"


def without_rounding(values: Array) -> Array:
    """What is shown of a matrix: 0 where it is rounding."""
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


CELL = "text-align:right;padding:2px 8px"


class Table(NamedTuple):
    """A caption, a head and rows of cells; numbers are written by `significant`. `shades` colors the cells after the first."""

    caption: str
    head: list[str]
    rows: list[list[Any]]
    shades: Array | None = None

    def text(self) -> str:
        """Plain text: words to the left, numbers to the right.

        >>> print(Table("Forgetting", ["task", "F"], [["1", 0.0], ["2", 0.512]]).text())
        Forgetting
        task      F
        -----------
        1         0
        2     0.512
        """
        lines = [[as_text(significant(cell)) for cell in row] for row in [self.head, *self.rows]]
        columns = list(zip(*lines))
        widths = [max(map(len, column)) for column in columns]
        words = [k == 0 or not any(re.match(r"-?(\d|inf|∞)", cell) for cell in c[1:]) for k, c in enumerate(columns)]
        put = [str.ljust if left else str.rjust for left in words]
        drawn = ["  ".join(place(cell, w) for place, cell, w in zip(put, line, widths)).rstrip() for line in lines]
        drawn.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
        return "\n".join([textwrap.fill(as_text(self.caption), 80)] * bool(self.caption) + drawn)

    def html(self) -> str:
        """The same for notebooks and reports."""
        caption = f"<caption>{as_html(self.caption)}</caption>" if self.caption else ""
        first, *rest = map(as_html, self.head)
        head = f'<th style="text-align:left">{first}</th>' + "".join(f'<th style="{CELL}">{name}</th>' for name in rest)
        body = "".join(f"<tr>{''.join(self._cells(t))}</tr>" for t in range(len(self.rows)))
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _cells(self, t: int) -> list[str]:
        first, *rest = (as_html(significant(cell)) for cell in self.rows[t])
        cells = [f'<th style="text-align:left">{first}</th>']
        for s, cell in enumerate(rest):
            cells.append(f'<td style="{CELL}{self._shade(t, s)}">{cell}</td>')
        return cells

    def _shade(self, t: int, s: int) -> str:
        if self.shades is None or np.isnan(self.shades[t, s]):
            return ""
        finite = self.shades[np.isfinite(self.shades)]
        top = finite.max() if finite.size and finite.max() > 0 else 1.0
        depth = 0.55 * min(max(self.shades[t, s] / top, 0.0), 1.0)
        return f";background:rgba(213,94,0,{depth:.2f})"


def values_table(values: dict[str, Any], caption: str = "") -> Table:
    """Names and numbers below each other."""
    return Table(caption, ["", "value"], [[symbol(name), value] for name, value in values.items()])


def matrix_table(caption: str, values: Array, names: Sequence[str] | None = None, errors: Array | None = None) -> Table:
    """A matrix [t, s]: after task t downwards, on task s to the right, by name or from 1."""
    called = [str(name) for name in task_names(names if names is not None else values.shape[1])]
    error = np.full(values.shape, np.nan) if errors is None else errors
    rows = [[name, *(with_error(v, e) for v, e in zip(*row))] for name, *row in zip(called, values, error)]
    return Table(caption, ["after task", *(f"on {name}" for name in called)], rows, without_rounding(values))


def shortened(caption: str, head: list[str], rows: list[list[Any]], most: int = 12) -> Table:
    """A long table by rows at even distances, which its caption says."""
    if len(rows) <= most:
        return Table(caption, head, rows)
    kept = sorted({round(k) for k in np.linspace(0, len(rows) - 1, most)})
    return Table(f"{caption} ({len(kept)} of {len(rows)}; to_pandas() has all)".strip(), head, [rows[k] for k in kept])


def pandas() -> Any:
    """The package pandas, or what to do to have it."""
    try:
        import pandas as package
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas") from error
    return package


def frame(rows: Any, index: Sequence[str] = ()) -> Any:
    """A `DataFrame` without rounding noise."""
    made = pandas().DataFrame(rows)
    for name in made.select_dtypes("float"):
        made[name] = without_rounding(made[name].to_numpy())
    return made.set_index(list(index) if len(index) > 1 else index[0]) if index else made


def matrix_frame(values: Array, names: Sequence[str] | None = None) -> Any:
    """A matrix [t, s] as a frame whose rows and columns are tasks, by name or counted from 1."""
    package, called = pandas(), task_names(names if names is not None else values.shape[1])
    rows, columns = package.Index(called, name="after task"), package.Index(called, name="on task")
    return package.DataFrame(without_rounding(values), index=rows, columns=columns)
