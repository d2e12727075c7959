"""A bar that shows how far long work is, in terminals and notebooks."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

#: Hears how much of how much is done, and what comes next.
Listener = Callable[[float, float, str], None]


def listener(progress: bool | Listener, what: str) -> Listener | None:
    """What hears the steps of long work: nothing, a bar, or the function given."""
    if callable(progress):
        return progress
    if not progress:
        return None
    return Notebook(what) if in_notebook() else Terminal(what)


def in_notebook() -> bool:
    """Whether output goes to a notebook's cell."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and "IPKernelApp" in running.config


class Terminal:
    """A line on standard error that is written over; where that is no terminal, one line per step."""

    def __init__(self, what: str) -> None:
        self.what, self.started, self.shown = what, time.monotonic(), ""

    def __call__(self, done: float, total: float, text: str) -> None:
        part = done / total if total else 1.0
        stream = sys.stderr
        if not stream.isatty():
            if text != self.shown:
                print(f"{self.what}: {text}", file=stream)
            self.shown = text
            return
        filled = round(24 * part)
        seconds = time.monotonic() - self.started
        line = f"{self.what} [{'#' * filled}{'.' * (24 - filled)}] {100 * part:3.0f} % {seconds:.0f} s  {text}"[:100]
        print("\r" + line.ljust(len(self.shown)), end="\n" if done >= total else "", file=stream, flush=True)
        self.shown = line


class Notebook:
    """A bar in a cell's output, drawn anew with every step."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.handle: Any = None

    def __call__(self, done: float, total: float, text: str) -> None:
        ipython: Any = importlib.import_module("IPython.display")
        label = f"{html.escape(self.what)}: {html.escape(text)}"
        bar = ipython.HTML(f'<progress max="{total}" value="{done}" style="width:20em"></progress> {label}')
        if self.handle is None:
            self.handle = ipython.display(bar, display_id=True)
        else:
            self.handle.update(bar)
