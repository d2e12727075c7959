#!/usr/bin/env python3
"""The page of `ebbing explore` in a real browser. Ends with 77 where there is no Chromium.

python3 page.py --program target/debug/ebbing [--python PYTHON] [--pictures FOLDER] [--axe axe.min.js] [NAME…]

With an interpreter that has the package the Python lines that the page shows are run too.
"""

import argparse
import os
import sys
import unittest

from case import OPTIONS
from devtools import chromium
from endings import Endings
from looks import Looks
from moves import Moves
from numbers_and_lines import Numbers
from states import States

__all__ = ["Endings", "Looks", "Moves", "Numbers", "States"]


def main():
    if not chromium():
        print("there is no Chromium here (ci/test installs one where it can)")
        return 77
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=OPTIONS.program)
    parser.add_argument("--python")
    parser.add_argument("--pictures")
    parser.add_argument("--axe")
    parser.add_argument("names", nargs="*")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.program = os.path.abspath(OPTIONS.program)
    if OPTIONS.pictures:
        os.makedirs(OPTIONS.pictures, exist_ok=True)
    return 0 if unittest.main(argv=[sys.argv[0], *OPTIONS.names], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
