"""The program `ebbing`, as the package installs it: `ebbing ...` or `python -m ebbing ...`."""

from __future__ import annotations

import signal
import sys

from . import _ebbing


def main() -> None:
    """Runs the program with what was typed and ends with its exit code."""
    # Ctrl-C ends the program at once, as it does without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_ebbing.program(["ebbing", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
