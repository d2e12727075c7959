#!/usr/bin/env python3
"""The pictures of the page in the README: on a desk, on a phone in the dark, and a drag that moves.

python3 pictures.py --program target/debug/ebbing FOLDER

Every size and both themes are what `page.py --pictures FOLDER Looks` leaves.
"""

import argparse
import base64
import os
import struct
import sys
import time
import zlib

from devtools import Browser, Program, chromium

TASKS = "data=mnist-sample&protocol=permuted&length=5&examples=300&test-examples=200"


def chunks(png):
    """The parts of a PNG."""
    at, found = 8, []
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def animated(frames, path):
    """PNGs of one size, each with its time in milliseconds, as one animated PNG."""

    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = dict(chunks(frames[0][0]))[b"IHDR"]
    width, height = struct.unpack(">II", head[:8])
    out, number = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"acTL", struct.pack(">II", len(frames), 0)), 0
    for k, (png, milliseconds) in enumerate(frames):
        data = b"".join(body for kind, body in chunks(png) if kind == b"IDAT")
        out += part(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, milliseconds, 1000, 0, 0))
        number += 1
        if k:
            out += part(b"fdAT", struct.pack(">I", number) + data)
            number += 1
        else:
            out += part(b"IDAT", data)
    with open(path, "wb") as file:
        file.write(out + part(b"IEND", b""))


def shown(page, address, width, height, dark=False):
    """The page at an address, all of it computed."""
    page.size(width, height, dark)
    page.open(address)
    page.until("document.body.dataset.refined === location.hash.slice(1)", 120)
    time.sleep(0.3)


def drag(page, path):
    """A task dragged two places down, frame by frame."""
    place = lambda task: page.run(f"(() => {{ const b = document.querySelector('[data-task=\"{task}\"]').getBoundingClientRect(); return [b.left + 90, b.top + b.height / 2]; }})()")
    (x, y), (_, end) = place(1), place(4)
    frames = []

    def shot(milliseconds):
        # A cursor, which pictures leave out.
        data = page.call("Page.captureScreenshot", format="png", clip={"x": 0, "y": 0, "width": 1180, "height": 640, "scale": 0.75})["data"]
        frames.append((base64.b64decode(data), milliseconds))

    shot(900)
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    for k in range(1, 9):
        page.mouse("mouseMoved", x, y + (end - y) * k / 8, button="left", buttons=1)
        time.sleep(0.25)
        shot(140)
    page.mouse("mouseReleased", x, end, button="left", clickCount=1)
    time.sleep(0.6)
    shot(1600)
    animated(frames, path)


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
        shown(page, program.base, 1280, 900)
        page.picture(os.path.join(options.folder, "explore-desk.png"), whole=False)
        shown(page, f"{program.base}#{TASKS}", 1180, 640)
        drag(page, os.path.join(options.folder, "explore-drag.png"))
        shown(page, program.base, 390, 844, dark=True)
        page.picture(os.path.join(options.folder, "explore-phone.png"), whole=False)
    finally:
        browser.close()
        program.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
