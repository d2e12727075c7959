#!/usr/bin/env python3
"""The two pictures of the page in the README: the forecast on a desk, the phase diagram on a phone in the dark.

python3 pictures.py --program target/release/ebbing FOLDER

Every view, wide, narrow and dark, is what `page.py --pictures FOLDER Looks` leaves.
"""

import argparse
import os
import sys
import time

from devtools import Browser, Program, chromium

TASKS = "data=mnist-sample&protocol=permuted&examples=300"
DESK = f"{TASKS}&length=5&order=3,1,2,4,5&view=forecast"
PHONE = f"{TASKS}&length=2&ratio=0.2&first-unpermuted=true&view=phase&phase.width=150"


def shown(page, address, width, height, dark=False):
    """The page at an address, drawn."""
    page.size(width, height, dark)
    page.open(address)
    page.settled()
    # The last figures are put in place, and painted.
    time.sleep(0.5)


def main():
    if not chromium():
        print("there is no Chromium here")
        return 77
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/debug/ebbing")
    parser.add_argument("folder")
    options = parser.parse_args()
    program, browser = Program(os.path.abspath(options.program)), Browser()
    try:
        page = browser.page()
        # As it looks after a task was moved: the first forecast of a source also reads and whitens it.
        shown(page, f"{program.base}#{DESK}".replace("order=3,1,2,4,5", "order=1,2,3,4,5"), 1180, 900)
        shown(page, f"{program.base}#{DESK}", 1180, 900)
        page.picture(os.path.join(options.folder, "explore-forecast.png"), whole=False)
        shown(page, f"{program.base}#{PHONE}", 390, 1245, dark=True)
        page.run("document.getElementById('result').scrollIntoView()")
        page.picture(os.path.join(options.folder, "explore-phase.png"), whole=False)
    finally:
        browser.close()
        program.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
