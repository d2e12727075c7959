#!/usr/bin/env python3
"""How long a move takes in the browser, from the request to the new figures on the page: medians of many moves.

python3 latency.py --program target/debug/ebbing [--examples 500,1000] [--moves 40] [--check]

With --check a median above its bound is a failure: on a machine that does nothing else.

Kernels and decompositions are there before a move is timed; penalties are those that the page computes ahead.
"""

import argparse
import os
import statistics
import sys

from devtools import Browser, Program, chromium

# Milliseconds that a move may take, by examples per task.
BOUNDS = {500: 50, 1000: 200}


def moved(page, script, moves, seconds=120):
    """Milliseconds of every move until what is in view is drawn; until all is, and the parts: server, transfer, elements, frame."""
    times, parts = [], []
    for k in range(moves):
        result = page.run(f"""new Promise((done) => {{
            const begin = performance.now();
            let seen;
            document.body.addEventListener('shown', () => requestAnimationFrame(() => {{ seen = performance.now() - begin; }}), {{ once: true }});
            document.body.addEventListener('drawn', () => requestAnimationFrame(() => done([seen, performance.now() - begin,
                ...['server', 'milliseconds', 'building'].map((k) => Number(document.body.dataset[k]))])), {{ once: true }});
            ({script})({k}); }})""")
        times.append(result[0])
        seen, whole, server, answer, building = result
        parts.append((whole, server, answer - server, building, seen - answer - building))
    return times, parts


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


def row(name, examples, times, parts):
    """Prints a row; what is wrong with it, where the median is above its bound."""
    ordered = sorted(times)
    high = ordered[int(0.9 * (len(ordered) - 1))]
    means = " | ".join(f"{statistics.median(part):.0f}" for part in zip(*parts))
    median, bound = statistics.median(times), BOUNDS.get(examples)
    print(f"| {name} | {examples} | {median:.0f} | {high:.0f} | {means} |", flush=True)
    return [f"{name} at P = {examples}: {median:.1f} ms, the bound is {bound} ms"] if bound and median > bound else []


def main():
    if not chromium():
        print("there is no Chromium here")
        return 77
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="target/debug/ebbing")
    parser.add_argument("--examples", default="500,1000")
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    slow = []
    program, browser = Program(os.path.abspath(options.program)), Browser()
    print("| move | P | median, ms | 90 %, ms | all drawn | server | transfer | elements | frame |\n|---|---|---|---|---|---|---|---|---|")
    try:
        for p in map(int, options.examples.split(",")):
            state = f"data=mnist-sample&protocol=permuted&length=5&examples={p}&test-examples=500"
            page = browser.page()
            page.open(f"{program.base}#{state}")
            page.settled(300)
            # Every order once, each from the one before by moving one task one place: none has been computed before.
            drag = f"(k) => document.querySelector(`#order li[data-place=\"${{{swaps(5)}[k]}}\"] button.move:last-child`).click()"
            slow += row("order, one task by one place", p, *moved(page, drag, min(options.moves, 100)))
            page.open(f"{program.base}#{state}&view=phase&phase.width={p // 2}")
            page.settled(300)
            load = f"(k) => {{ const e = document.getElementById('width-slider'); e.value = 20 + (37 * k) % 160; e.dispatchEvent(new Event('input', {{ bubbles: true }})); }}"
            slow += row("load, by the slider", p, *moved(page, load, options.moves))
            page.until("document.body.dataset.ahead !== undefined", 600)
            penalty = "(k) => { const e = document.querySelector(\"[data-key='phase.lambda']\"); e.value = (k + 1) % 10; e.dispatchEvent(new Event('input', { bubbles: true })); }"
            slow += row("λ, by the slider", p, *moved(page, penalty, options.moves))
            page.run("1")
    finally:
        browser.close()
        program.close()
    if options.check:
        print(*slow, sep="\n", end="\n" if slow else "")
    return 1 if options.check and slow else 0


if __name__ == "__main__":
    sys.exit(main())
