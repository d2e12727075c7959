"""Numbers, symbols and tables for readers, in the library's layout; data frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, task_names
from ._ebbing import Table as Table

#: Values below this are rounding where nothing else is known of their accuracy.
ROUNDING = 1e-12

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
    "alpha_c_gamma_sim": "γ_{sim}^{−2}",
    "alpha_c_u11": "α_{c} with u_{11}",
    "lam": "λ",
    "width": "N",
    "rho": "ρ",
    "u11": "u_{11}",
    "u12": "u_{12}",
    "u22": "|a_{2}|^{2}/N",
    "f21": "F_{21}",
    "g21": "G_{21}",
    "g22": "G_{22}",
    "u_tt": "|a_{T}|^{2}/N",
    "f_t1": "F_{T1}",
    "g_t1": "G_{T1}",
    "g_tt": "G_{TT}",
    "f_max": "F_{max}",
    "tau": "τ",
    "r2": "R^{2}",
}


def symbol(name: str) -> str:
    """What is written for an attribute: `γ_{RF}`, or its own words; what is written already stays."""
    return SYMBOLS.get(name, name if "_{" in name else name.replace("_", " "))


def as_math(markup: str) -> str:
    """Markup for matplotlib."""
    return re.sub(r"([_^])\{([^}]*)\}", r"$\1\\mathregular{\2}$", markup)


def significant(value: Any, accuracy: float = ROUNDING) -> str:
    """Three significant digits, as the program writes them; 0 where a value is 0 within its accuracy.

    >>> significant(0.81234), significant(4.1e-7), significant(float("inf")), significant(12), significant(-2.8e-18)
    ('0.812', '4.1e-7', 'inf', '12', '0')
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

    >>> setting(20.0), setting(0.010000000000000004), setting(float("inf")), setting(2 / 3)
    ('20', '0.01', '∞', '0.667')
    """
    shown = _ebbing.chosen(float(value))
    return shown if len(shown) <= 10 else significant(float(value))


def power(coefficient: float, exponent: float) -> str:
    """A value that may grow or vanish as a power of λ, as markup.

    >>> power(0.25, 0.0), power(0.25, 0.5)
    ('0.250', '0.250 λ^{0.5}')
    """
    shown = significant(float(coefficient))
    return shown if exponent == 0 or shown in ("0", "inf", "") else f"{shown} λ^{{{exponent:g}}}"


def without_rounding(values: Array) -> Array:
    """What is shown of a matrix: 0 where it is rounding."""
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


def names_of(tasks: Sequence[str]) -> list[str]:
    """Tasks by name, or by number where they have none, as markup."""
    return [_ebbing.literal(str(name)) for name in task_names(tasks)]


def table(caption: str, columns: Mapping[str, Sequence[Any]], most: int = 12) -> Table:
    """A table of columns by their heads: numbers, pairs of a number and its error, or words (markup); of a long one rows at even
    distances, which its caption says."""
    rows = max(map(len, columns.values()), default=0)
    kept = range(rows) if rows <= most else sorted({round(k) for k in np.linspace(0, rows - 1, most)})
    if len(kept) < rows:
        caption = f"{caption} ({len(kept)} of {rows}; to_pandas() has all)".strip()
    return Table(caption, [(head, [_cell(values[k]) for k in kept]) for head, values in columns.items()])


def _cell(value: Any) -> Any:
    """A cell as the compiled half takes it."""
    return value.item() if isinstance(value, np.generic) else value


def values_table(values: Mapping[str, Any], caption: str = "") -> Table:
    """Names and numbers below each other."""
    shown = [significant(value) or "–" for value in values.values()]
    return Table(caption, [("", [symbol(name) for name in values]), ("value", shown)])


def matrix_table(caption: str, values: Array, names: Sequence[str], errors: Array | None = None) -> Table:
    """A matrix [t, s]: after task t downwards, on task s to the right, by name or from 1."""
    shown = without_rounding(values).tolist()
    return Table.matrix(caption, shown, names_of(names), None if errors is None else errors.tolist())


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


def matrix_frame(values: Array, names: Sequence[str]) -> Any:
    """A matrix [t, s] as a frame whose rows and columns are tasks, by name or counted from 1."""
    package, called = pandas(), task_names(names)
    rows, columns = package.Index(called, name="after task"), package.Index(called, name="on task")
    return package.DataFrame(without_rounding(values), index=rows, columns=columns)
