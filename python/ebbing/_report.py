"""One HTML file for a result: what it says, its figure, its tables, and what was asked."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _ebbing
from ._table import Table, as_html, as_text, setting

if TYPE_CHECKING:
    from ._result import Result

#: How many sentences open a report; what else there is to say follows its tables.
OPENING = 5

#: A shadow at the edge beyond which a table goes on, as in the program's reports.
SCROLL = (
    ".scroll{overflow-x:auto;margin:1rem 0;background:"
    "linear-gradient(to right,var(--paper) 30%,transparent) left/2rem 100% no-repeat local,"
    "linear-gradient(to left,var(--paper) 30%,transparent) right/2rem 100% no-repeat local,"
    "linear-gradient(to right,var(--line),transparent) left/.6rem 100% no-repeat scroll,"
    "linear-gradient(to left,var(--line),transparent) right/.6rem 100% no-repeat scroll}"
)

STYLE = SCROLL + (
    ":root{color-scheme:light dark;--ink:#1a1a1a;--paper:#ffffff;--line:#c9c9c9}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181c;--line:#454a52}}"
    "body{font-family:system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;line-height:1.5;"
    "color:var(--ink);background:var(--paper)}"
    "table{border-collapse:collapse}"
    "caption{text-align:left;font-weight:bold;padding:4px 8px}thead th{border-bottom:1px solid}"
    "figure{margin:1rem 0;background:white}svg{max-width:100%;height:auto}"
    "@media print{.scroll{overflow:visible}}"
)

CITE = (
    "H. Shan, Q. Li and H. Sompolinsky, Order parameters and phase transitions of continual learning in deep neural "
    "networks, arXiv:2407.10315 (2024)."
)


def page(result: Result) -> str:
    """The page of a result. It needs no other file and no script."""
    title, said = html.escape(result.title()), result.sentences()
    opening, more = said[:OPENING], said[OPENING:]
    about = f"<p>{html.escape(result.about())}</p>" if result.about() else ""
    parts = [f"<h1>{title}</h1>", about, bullets(opening), figure(result, opening[0] if opening else result.title())]
    parts += [scrolled(table, result.title()) for table in result.tables()]
    parts += [f"<h2>More</h2>{bullets(more)}"] if more else []
    parts += [f"<p>{as_html(result.__dict__['assumes'])}</p>"] if result.__dict__.get("assumes") else []
    parts += [asked(result), f"<p>ebbing {_ebbing.__version__}. The theory: {CITE}</p>"]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return f'<!doctype html><html lang="en">{head}<title>{title}</title><style>{STYLE}</style>{"".join(parts)}</html>\n'


def bullets(sentences: list[str]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{as_html(said)}</li>' for said in sentences)}</ul>" if sentences else ""


def scrolled(table: Table, title: str) -> str:
    """A table that scrolls where it is wider than the page, with its caption (or the title) for a screen reader."""
    name = html.escape(as_text(table.caption or title))
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{table.html()}</div>'


def asked(result: Result) -> str:
    """The settings that made the result."""
    settings = result.__dict__.get("settings") or {}

    def shown(value: Any) -> str:
        if isinstance(value, list):
            return ", ".join(map(shown, value)) or "–"
        return "–" if value is None else setting(value) if isinstance(value, float) else str(value)

    rows = [[name, shown(value)] for name, value in settings.items()]
    return scrolled(Table("Settings", ["", ""], rows), "") if rows else ""


def figure(result: Result, finding: str) -> str:
    """The plot as SVG, which says to a screen reader what it shows; nothing without matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return ""
    axes = np.ravel(result.plot())
    with io.StringIO() as file:
        axes[0].figure.savefig(file, format="svg", bbox_inches="tight")
        drawn = file.getvalue()
    plt.close(axes[0].figure)
    return f'<figure role="img" aria-label="{html.escape(as_text(finding))}">{drawn[drawn.index("<svg") :]}</figure>'
