#!/usr/bin/env python3
"""How long the first answer and a move take in the browser, until what is in view is painted: medians.

python3 latency.py --program target/debug/ebbing [--examples 500] [--features FILE] [--moves 40] [--check]

The first answer is that of the demo, from when the page is asked for: of a program that has been running for a moment, as when a
browser opens (warm), and of one that has just begun to listen (cold). A move is one task one place down, to an order that has not been computed
before; kernels are there. With --check a median above its bound is a failure: on a machine that does nothing else.
"""

import argparse
import os
import statistics
import sys
import time

from devtools import Browser, Program, chromium

FIRST, SMALL, FEATURES = 1000, 50, 150
PAINTED = """addEventListener('DOMContentLoaded', () => document.body.addEventListener('shown', () => requestAnimationFrame(() => setTimeout(() => {
    window.first ??= performance.now(); }))));"""


def first(browser, path, wait):
    """Milliseconds from asking for the page to the first answer on it."""
    program = Program(path)
    try:
        time.sleep(wait)
        page = browser.page()
        page.call("Page.addScriptToEvaluateOnNewDocument", source=PAINTED)
        page.open(program.base)
        return page.until("window.first", 60)
    finally:
        program.close()


def swaps(count):
    """Places (from 1) whose task is to be moved one place down, so that every order of `count` tasks comes once."""
    order, way, found = list(range(count)), [-1] * count, []
    while True:
        free = [t for t in order if 0 <= (at := order.index(t) + way[t]) < count and order[at] < t]
        if not free:
            return found
        task = max(free)
        place = order.index(task)
        other = place + way[task]
        order[place], order[other] = order[other], order[place]
        found.append(min(place, other) + 1)
        way = [-w if t > task else w for t, w in enumerate(way)]


def moved(page, moves):
    """Milliseconds of every move until what is in view is drawn, and those of the server."""
    all_ = []
    for place in swaps(5)[:moves]:
        all_.append(page.run(f"""new Promise((done) => {{ const begin = performance.now();
            document.body.addEventListener('shown', () => requestAnimationFrame(() => done([performance.now() - begin, Number(document.body.dataset.server)])), {{ once: true }});
            document.querySelector('#order li:nth-child({place}) .move:last-child').click(); }})"""))
    return all_


def row(name, times, bound):
    """Prints a row; what is wrong with it, where the median is above its bound."""
    median, high = statistics.median(times), sorted(times)[int(0.9 * (len(times) - 1))]
    print(f"| {name} | {median:.0f} | {high:.0f} | {bound} |", flush=True)
    return [f"{name}: {median:.0f} ms, the bound is {bound} ms"] if median > bound else []


def main():
    if not chromium():
        print("there is no Chromium here")
        return 77
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/debug/ebbing")
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--features", help="one set of features with classes, in five tasks")
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    path, browser = os.path.abspath(options.program), Browser()
    print("| what | median, ms | 90 %, ms | bound, ms |\n|---|---|---|---|")
    try:
        slow = row("first answer of the demo, warm", [first(browser, path, 2) for _ in range(5)], FIRST)
        slow += row("first answer of the demo, cold", [first(browser, path, 0) for _ in range(5)], FIRST)
        cases = [([], f"data=mnist-sample&protocol=class-incremental&length=5&examples={options.examples}", f"a task moved, P = {options.examples}", SMALL)]
        if options.features:
            name = os.path.basename(options.features)
            cases.append((["--features", options.features], f"features={name}&classes-per-task=2", f"a task moved, {name}", FEATURES))
        for more, state, name, bound in cases:
            program, page = Program(path, *more), browser.page()
            page.open(f"{program.base}#{state}")
            page.until("document.body.dataset.refined === location.hash.slice(1)", 300)
            found = moved(page, options.moves)
            slow += row(name, [whole for whole, _ in found], bound)
            print(f"  of that the server: {statistics.median(server for _, server in found):.0f} ms")
            program.close()
    finally:
        browser.close()
    if options.check:
        print(*slow, sep="\n", end="\n" if slow else "")
    return 1 if options.check and slow else 0


if __name__ == "__main__":
    sys.exit(main())
