#!/usr/bin/env python3
"""The page of `ebbing explore` in a real browser. Ends with 77 where there is no Chromium.

python3 page.py --program target/debug/ebbing [--python PYTHON] [--pictures FOLDER] [--axe axe.min.js] [NAME…]

With an interpreter that has the package the Python lines that the page shows are run too.
"""

import argparse
import io
import json
import os
import shlex
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
import zipfile

from devtools import Browser, Program, chromium

# Small tasks: every answer within a moment.
SMALL = "data=mnist-sample&protocol=permuted&length=4&examples=60&test-examples=40"
OPTIONS = argparse.Namespace(program="target/debug/ebbing", python=None, pictures=None, axe=None)


def npz(broken=False):
    """Three tasks of 24 examples with 16 inputs as the bytes of an .npz file."""

    def array(values, shape):
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        head += " " * (-(len(head) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}d", *values)

    file = io.BytesIO()
    state = 1
    with zipfile.ZipFile(file, "w") as archive:
        for t in (1, 2, 3):
            values = []
            for _ in range(24 * 16):
                state = (1103515245 * state + 12345) % 2**31
                values.append(state / 2**30 - 1)
            archive.writestr(f"x_{t}.npy", array(values, (24, 16)))
            labels = [1.0 if k % 2 else -1.0 for k in range(23 if broken else 24)]
            archive.writestr(f"y_{t}.npy", array(labels, f"({len(labels)},)"))
    return file.getvalue()


class Case(unittest.TestCase):
    """One program and one browser for all; a tab for each test."""

    @classmethod
    def setUpClass(cls):
        cls.program = Program(OPTIONS.program)
        cls.browser = Browser()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.program.close()
        cls.folder.cleanup()

    def setUp(self):
        self.page = self.browser.page()

    def tearDown(self):
        # Whatever a test did: no complaint of the page, and no request to anywhere else.
        self.page.run("1")
        self.assertEqual(self.page.complaints, [])
        elsewhere = [url for url in self.page.requests if not url.startswith((self.program.base, "about:", "data:"))]
        self.assertEqual(elsewhere, [])

    def visit(self, state, base=None):
        self.page.open(f"{base or self.program.base}#{state}")
        self.page.settled()
        self.assertEqual(self.page.run("document.getElementById('problem').textContent"), "")

    def saved(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def line(self, command):
        """What the program says to the command line that the page shows."""
        self.page.click("[data-view=take]")
        words = shlex.split(self.page.until(f"document.querySelector('[data-line={command}]')?.textContent"))
        self.assertEqual(words[0], "ebbing")
        done = subprocess.run([OPTIONS.program, *words[1:], "--json"], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def python(self, command, numbers):
        """What the Python lines that the page shows make of an expression of their `told`; None without the package."""
        if not OPTIONS.python:
            return None
        self.page.click("[data-view=take]")
        lines = self.page.until(f"document.querySelector('[data-python={command}]')?.textContent")
        more = f"import json, numpy\nprint('NUMBERS ' + json.dumps({numbers}))"
        done = subprocess.run([OPTIONS.python, "-c", f"{lines}\n{more}"], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, f"{lines}\n{done.stderr}")
        return json.loads(done.stdout.split("NUMBERS ")[1])

    def table(self, name):
        script = f"""[...document.querySelectorAll('[data-table={name}] tbody tr')].map((row) =>
            [...row.querySelectorAll('td[data-value]')].map((cell) => Number(cell.dataset.value)))"""
        return self.page.run(script)

    def picture(self, name):
        if OPTIONS.pictures:
            self.page.picture(os.path.join(OPTIONS.pictures, f"{name}.png"))


# The page follows an order by products with vectors, the program computes the reordered sequence anew: rounding times the
# condition of these kernels, which is below 1e5.
ROUNDING = 1e-9


class Numbers(Case):
    def close_to(self, shown, known, what):
        self.assertTrue(abs(shown - known) <= ROUNDING * (1 + abs(known)), f"{what}: {shown} {known}")

    def triangle_close(self, shown, known, what):
        for t, row in enumerate(shown):
            self.assertEqual(len(row), t + 1, what)
            for s, value in enumerate(row):
                self.close_to(value, known[t][s], f"{what} {t} {s}")

    def test_the_lines_that_the_page_shows_compute_its_forecast(self):
        own = "tasks=lines.npz"
        self.visit(SMALL + "&view=tasks")
        self.page.upload("#file", self.saved("lines.npz", npz()))
        self.page.until("location.hash.includes('lines.npz')")
        recipe = b'data = "mnist-sample"\norder = [2, 1, 3]\n[protocol]\nkind = "permuted"\ntasks = 3\np = 40\np_test = 20\n'
        self.page.upload("#file", self.saved("lines.toml", recipe))
        self.page.until("location.hash.includes('lines.toml')")
        self.page.settled()
        for state in (
            SMALL + "&order=3,1,4,2&bias=0.5&depths=2",
            "data=mnist-sample&protocol=split&length=3&examples=40&test-examples=20&one-hot=true&mode=ntk&seed=5",
            "data=mnist-sample&protocol=partial-split&examples=40&test-examples=20&ratio=0.3&activation=erf&beta=50",
            "data=mnist-sample&protocol=target-distractor&length=3&examples=40&rho-target=0.75&rho-flip=0.1&mode=lazy&depth=2",
            SMALL + "&context=16&no-whiten=true&centre=pixel&replay=5&lambdas=1,inf",
            "data=mnist-sample&protocol=permuted&length=2&examples=40&test-examples=20&intermediate=1&mode=gibbs&lambda=3",
            own + "&order=2,3,1",
            own + "&centre=pixel&norm=true&context=4",
            "tasks=lines.toml",
            "tasks=lines.toml&order=3,2,1",
        ):
            self.visit(state)
            shown = self.table("forgetting")
            self.triangle_close(shown, self.line("forecast")["forecast"]["forgetting"]["mean"], state)
            known = self.python("forecast", "told.forgetting.tolist()")
            if known:
                self.triangle_close(shown, known, f"Python {state}")

    def test_the_lines_that_the_page_shows_compute_its_phase(self):
        value = lambda name: float(self.page.run(f"document.querySelector('[data-name=\"{name}\"]').dataset.value"))
        for state in ("phase.pair=3,1&phase.width=45", "phase.pair=1,2&phase.width=100&phase.lambda=10", "phase.width=90&activation=erf&sigma=1.5"):
            self.visit(f"{SMALL}&view=phase&{state}")
            f21, g21, g22 = value("F21"), value("G21"), value("G22")
            lambda_ = "inf" if "phase.lambda" not in state else "10"
            told = self.line("phase")
            if lambda_ == "inf":
                self.close_to(g21, told["widths"][0]["g21"], state)
            known = self.python("phase", "[told.forgetting()[1, 0], *told.generalization()[1].tolist()]")
            for shown, right in zip((f21, g21, g22), known or ()):
                self.assertTrue(shown == right or abs(shown - right) <= 1e-7 * (1 + abs(right)), f"{state}: {shown} {right}")

    def test_the_hidden_layer_is_that_of_the_program(self):
        self.visit(SMALL + "&view=phase&phase.pair=1,2&phase.width=30")
        self.assertEqual(self.table("hidden"), [])
        self.page.choose("[data-key='phase.representation']", True)
        self.page.settled()
        shown = self.table("hidden")
        for row, known in zip(shown, self.line("phase")["representation"], strict=True):
            for value, name in zip(row, ("alignment", "change", "change_alignment")):
                self.close_to(value, known[name], name)

    def test_forecast_of_another_order_is_that_of_the_program(self):
        for more in ("", "&order=3,1,4,2", "&order=2,1,3,4&mode=ntk&depth=2", "&mode=gibbs&lambda=10&order=4,3,2,1"):
            self.visit(SMALL + more)
            shown, accuracy, pairs = self.table("forgetting"), self.table("accuracy"), self.table("pairs")
            told = self.line("forecast")["forecast"]
            for t, row in enumerate(shown):
                self.assertEqual(len(row), t + 1)
                for s, value in enumerate(row):
                    self.close_to(value, told["forgetting"]["mean"][t][s], f"F {t} {s} {more}")
            for row, known in zip(accuracy, told["test"]["accuracy"]["mean"]):
                for value, right in zip(row, known):
                    self.close_to(value, right, "accuracy")
            for row, pair in zip(pairs, told["pairs"]):
                self.close_to(row[0], pair["values"]["gamma_rf"], "gamma_rf")
                self.close_to(row[3], pair["values"]["f21"], "F pair")

    def test_phase_of_a_pair_is_that_of_the_program(self):
        self.visit(SMALL + "&view=phase&phase.pair=3,1&phase.width=45")
        shown = {name: self.page.run(f"document.querySelector('[data-name=\"{name}\"]').dataset.value") for name in ("F21", "G21", "regime")}
        told = self.line("phase")
        self.assertEqual(shown["regime"], told["location"]["regime"].replace("-", " "))
        self.close_to(float(shown["G21"]), told["widths"][0]["g21"], "G21")
        self.assertAlmostEqual(told["location"]["alpha"], 60 / 45, places=12)

    def test_advice_is_that_of_the_program(self):
        self.visit("data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20&view=advise")
        shown = self.table("remedies")
        told = self.line("advise")["advice"]
        known = [r for r in told["remedies"] if r["applies"]]
        self.assertEqual(len([row for row in shown if row]), len(known))
        for row, remedy in zip(shown, known):
            self.close_to(row[0], remedy["forgetting"], remedy["remedy"])
        for row, value in zip(shown, self.python("advise", "[r['forgetting'] for r in told.remedies if r['applies']]") or ()):
            self.close_to(row[0], value, "Python")


class Controls(Case):
    def order(self):
        return self.page.run("[...document.querySelectorAll('#order [data-task]')].map((e) => e.dataset.task).join()")

    def test_tasks_are_dragged_into_another_order(self):
        self.visit(SMALL)
        before = self.table("forgetting")
        start = self.page.place("[data-task='1']")
        end = self.page.run("(() => { const b = document.querySelector('[data-task=\"3\"]').getBoundingClientRect(); return [b.left + 9, b.bottom]; })()")
        self.page.drag(start[:2], end, 20)
        self.page.settled()
        self.assertEqual(self.order(), "2,3,1,4")
        self.assertIn("order=2,3,1,4", self.page.run("location.hash"))
        self.assertNotEqual(self.table("forgetting"), before)
        self.page.click("#given")
        self.page.settled()
        self.assertEqual((self.order(), self.table("forgetting")), ("1,2,3,4", before))

    def test_the_keyboard_moves_tasks_and_tabs(self):
        self.visit(SMALL)
        self.page.run("document.querySelector(\"[data-task='2']\").focus()")
        self.page.key("ArrowUp")
        self.page.settled()
        self.assertEqual(self.order(), "2,1,3,4")
        self.assertEqual(self.page.run("document.activeElement.dataset.task"), "2")
        self.page.click("[aria-label='Learn task 2 later']")
        self.page.settled()
        self.assertEqual(self.order(), "1,2,3,4")
        self.page.run("document.querySelector('[aria-selected=true]').focus()")
        self.page.key("ArrowRight")
        self.page.settled()
        self.assertEqual(self.page.run("document.activeElement.id"), "tab-phase")

    def test_the_best_order_is_one_click_and_no_worse(self):
        self.visit(SMALL + "&order=4,3,2,1")
        mean = lambda: sum(self.table("forgetting")[-1][:-1])
        before = mean()
        self.page.click("#best")
        self.page.settled()
        self.assertLessEqual(mean(), before + ROUNDING)
        self.assertTrue(self.page.run("document.getElementById('best').disabled"))

    def test_the_best_order_is_searched_where_orders_share_no_kernels(self):
        self.visit("data=mnist-sample&protocol=split&length=3&examples=30&test-examples=20&mode=gibbs&lambda=3")
        mean = lambda: sum(self.table("forgetting")[-1][:-1])
        before = mean()
        self.page.click("#best")
        self.page.until("location.hash.includes('order=') || document.getElementById('status').textContent.includes('No better order')", 60)
        self.page.settled()
        self.assertLessEqual(mean(), before + ROUNDING)
        best = self.line("forecast")["forecast"]["order"]
        # From the order found no better one is found: the search of the program starts where the page ended.
        self.assertLessEqual(best["gain"], ROUNDING)

    def test_other_depths_penalties_and_widths_stand_beside(self):
        self.visit("data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20")
        for key, value in (("depths", "2, 3"), ("lambdas", "1,inf"), ("widths", "20,80")):
            self.page.choose(f"[data-key={key}]", value)
            self.page.settled()
        told = self.line("forecast")["forecast"]
        self.page.click("[data-view=forecast]")
        self.page.until("Boolean(document.querySelector('[data-table=widths]'))")
        for name, count in (("depths", 2), ("lambdas", 2), ("widths", 4)):
            shown = [row[0] for row in self.table(name)]
            self.assertEqual(len(shown), count, name)
            for value, row in zip(shown, told[name], strict=True):
                self.assertAlmostEqual(value, row["final_forgetting"], delta=ROUNDING)

    def test_every_control_of_the_network(self):
        self.visit(SMALL)
        before = self.table("forgetting")[1][0]
        for key, value in (("depth", 3), ("mode", "lazy"), ("activation", "erf"), ("bias", 0.5)):
            self.page.choose(f"[data-key={key}]", value)
            self.page.settled()
            self.assertIn(f"{key}={value}", self.page.run("location.hash"))
            after = self.table("forgetting")[1][0]
            self.assertNotEqual(after, before)
            before = after
        self.page.choose("[data-key=mode]", "gibbs")
        self.page.settled()
        self.page.choose("[data-key=lambda]", 2)
        self.page.settled()
        self.assertIn("lambda=1", self.page.run("location.hash"))
        self.assertNotEqual(self.table("forgetting")[1][0], before)
        self.page.choose("[data-key=mode]", "rf")
        self.page.settled()
        self.assertNotIn("lambda", self.page.run("location.hash"))

    def test_every_control_of_the_tasks(self):
        self.visit(SMALL + "&view=tasks")
        self.assertEqual(self.page.run("document.querySelectorAll('.thumbs canvas').length"), 32)
        self.assertIn("× 1", self.page.run("document.querySelector('[data-counts]').textContent"))
        for key, value in (("ratio", 0.5), ("length", 3), ("examples", 50), ("test-examples", 20), ("seed", 7)):
            self.page.choose(f"[data-key={key}]", value)
            self.page.settled()
            self.assertIn(f"{key}={value}", self.page.run("location.hash"))
        for key in ("first-unpermuted", "fresh-images", "no-whiten", "no-norm"):
            self.page.choose(f"[data-key={key}]", True)
            self.page.settled()
        self.page.choose("[data-key=centre]", "pixel")
        self.page.choose("[data-key=context]", 16)
        self.page.settled()
        self.assertEqual(self.page.run("document.querySelectorAll('.task').length"), 3)
        for protocol, key, value in (("split", "classes-per-group", 1), ("partial-split", "ratio", 0.2), ("target-distractor", "rho-target", 0.75)):
            self.page.choose("[data-key=protocol]", protocol)
            self.page.settled()
            self.page.choose(f"[data-key={key}]", value)
            self.page.settled()
            self.assertEqual(self.page.run("document.getElementById('problem').textContent"), "")
        self.page.choose("[data-key=rho-shared]", 0.6)
        self.page.choose("[data-key=rho-flip]", 0.1)
        self.page.settled()
        self.assertIn("rho-flip=0.1", self.page.run("location.hash"))

    def test_the_width_is_dragged_across_the_diagram(self):
        self.visit(SMALL + "&view=phase&phase.width=120")
        regime = lambda: self.page.run("document.querySelector('[data-name=regime]').textContent")
        self.assertEqual(regime(), "fixed representations")
        box = "document.querySelector('[data-figure=phase] svg .own').getBoundingClientRect()"
        self.page.place("[data-figure=phase] svg")
        x, top, bottom = self.page.run(f"(() => {{ const b = {box}; return [b.left + b.width / 2, b.top, b.bottom]; }})()")
        self.page.drag((x, (top + bottom) / 2), (x + 90, (top + bottom) / 2), 15)
        self.page.settled()
        self.assertIn(regime(), ("overfitting", "generalisation"))
        width = int(self.page.run("new URLSearchParams(location.hash.slice(1)).get('phase.width')"))
        self.assertLess(width, 60)
        self.page.choose("#width-slider", 10)
        self.page.settled()
        self.assertEqual(regime(), "fixed representations")
        self.page.choose("#width-exact", 60)
        self.page.settled()
        # 60 examples: the boundary itself has no regime, and the next width is taken.
        self.assertIn("phase.width=61", self.page.run("location.hash"))
        self.page.choose("[data-key='phase.lambda']", 4)
        self.page.settled()
        self.assertIn("phase.lambda=100", self.page.run("location.hash"))
        self.page.choose("[data-key='learned second']", 4)
        self.page.settled()
        self.assertIn("phase.pair=1,4", self.page.run("location.hash"))

    def test_replay_is_a_slider(self):
        self.visit("data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20&view=advise")
        told = lambda: float(self.page.run("document.querySelector('#replayed [data-value]').dataset.value"))
        nothing = told()
        last = self.page.run("Number(document.getElementById('replay-slider').max)")
        self.page.choose("#replay-slider", last)
        self.assertLess(told(), 0.5 * nothing)
        kept = self.page.run("new URLSearchParams(location.hash.slice(1)).get('replay')")
        self.assertEqual(int(kept), 30)
        for key, value in (("advise.keep-forgetting-below", 0.2), ("advise.budget", 10), ("replay-budget", "in-all")):
            self.page.choose(f"[data-key='{key}']", value)
            self.page.settled()
        self.page.click("[data-view=forecast]")
        self.page.settled()
        self.assertIn("replay of 30", self.page.run("document.getElementById('heading').textContent"))

    def test_values_under_the_pointer_and_by_keys(self):
        self.visit(SMALL)
        panels = "document.querySelector('[data-figure=forgetting] svg')"
        self.page.place("[data-figure=forgetting] svg")
        x, y, w, h = self.page.run(f"(() => {{ const b = {panels}.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()")
        self.page.mouse("mouseMoved", x + 0.75 * w, y + 0.4 * h)
        tip = "document.querySelector('[data-figure=forgetting] .tip')"
        self.assertRegex(self.page.run(f"{tip}.textContent"), r"(?s)tasks learned.*\d")
        self.page.run(f"{panels}.focus()")
        # From the curve on to the matrix, and down in it.
        self.page.key("PageDown")
        self.page.key("ArrowDown")
        self.assertRegex(self.page.run(f"{tip}.textContent"), r"(?s)forgetting.*after task 2")


class Address(Case):
    def test_the_address_is_the_whole_state(self):
        state = SMALL + "&order=2,1,3,4&depth=2&view=phase&phase.pair=2,3&phase.width=45&phase.lambda=100"
        self.visit(state)
        text = "document.getElementById('result').textContent + document.getElementById('controls').textContent"
        before = self.page.run(text)
        self.assertEqual(self.page.run("location.hash"), f"#{state}")
        self.page.call("Page.reload")
        time.sleep(0.3)
        self.page.settled()
        self.assertEqual(self.page.run(text), before)
        other = self.browser.page()
        other.open(f"{self.program.base}#{state}")
        other.settled()
        self.assertEqual(other.run(text), before)

    def test_a_malformed_address_is_told_and_the_first_state_shown(self):
        for state, words in (("depth=deep", "depth is deep"), ("wiew=1", "wiew"), ("data=/etc/passwd", "must be a data set"), ("%%%=%", "is"), ("tasks=gone.npz", "drop it on the page again")):
            self.page.open(f"{self.program.base}#{state}")
            self.page.until("document.body.dataset.shown")
            said = self.page.until("document.getElementById('problem').textContent")
            self.assertIn(words, said)
            self.assertIn("first state", said)
            self.assertIn("protocol=permuted", self.page.run("location.hash"))

    def test_another_fragment_is_another_state(self):
        self.visit(SMALL)
        self.page.run(f"location.hash = '{SMALL}&order=4,3,2,1'")
        self.page.until("document.body.dataset.shown?.includes('order=4,3,2,1')")
        self.assertEqual(self.page.run("document.querySelector('#order [data-task]').dataset.task"), "4")


class Uploads(Case):
    def test_a_good_file_is_taken(self):
        self.visit(SMALL + "&view=tasks")
        self.page.upload("#file", self.saved("own tasks.npz", npz()))
        self.page.until("location.hash.includes('own_tasks.npz')")
        self.page.settled()
        self.assertEqual(self.page.run("document.querySelectorAll('.task').length"), 3)
        self.page.click("[data-view=forecast]")
        self.page.settled()
        self.assertEqual(len(self.table("forgetting")), 3)
        self.page.click("[data-view=take]")
        line = self.page.until("document.querySelector('[data-line=forecast]')?.textContent")
        self.assertIn("--tasks own_tasks.npz", line)

    def test_bad_files_end_in_a_sentence_and_the_server_goes_on(self):
        self.visit(SMALL + "&view=tasks")
        recipe = b'data = "mnist-sample"\n[protocol]\nkind = "permuted"\ntasks = 2\np = 40\np_test = 20\n'
        for name, content, words in (
            ("bad.npz", npz(broken=True), "bad.npz"),
            ("cut.npz", npz()[:200], "cut.npz"),
            ("words.txt", b"hello", "the page takes"),
            ("path.toml", b'tasks = "/etc/passwd"', "opens no files"),
        ):
            self.page.run("document.getElementById('problem').textContent = ''")
            self.page.upload("#file", self.saved(name, content))
            said = self.page.until("document.getElementById('problem').textContent")
            self.assertIn(words, said)
        # The browser tells of answers that are refusals: they are meant.
        self.page.complaints = [c for c in self.page.complaints if "api/files" not in c]
        self.page.upload("#file", self.saved("recipe.toml", recipe))
        self.page.until("location.hash.includes('recipe.toml')")
        self.page.settled()
        self.assertEqual(self.page.run("document.querySelectorAll('.task').length"), 2)

    def test_a_file_dropped_on_the_page_is_taken(self):
        self.visit(SMALL)
        content = list(npz())
        self.page.run(f"""(() => {{ const data = new DataTransfer();
            data.items.add(new File([new Uint8Array({content})], 'dropped.npz'));
            for (const type of ['dragenter', 'dragover', 'drop'])
              window.dispatchEvent(new DragEvent(type, {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()""")
        self.page.until("location.hash.includes('dropped.npz')")
        self.page.settled()

    def test_two_gigabytes_end_in_a_sentence(self):
        self.visit(SMALL + "&view=tasks")
        path = os.path.join(self.folder.name, "huge.npz")
        with open(path, "wb") as file:
            file.truncate(2 << 30)
        self.page.upload("#file", path)
        self.assertIn("2048 MiB", self.page.until("document.getElementById('problem').textContent"))
        # Without the page's own check the server refuses as well.
        request = urllib.request.Request(f"{self.program.base}api/files?name=huge.npz", data=b"", method="POST",
                                         headers={"x-ebbing": "1", "Content-Length": str(2 << 30)})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        self.assertEqual(refused.exception.code, 413)
        self.assertIn("larger than 256 MiB", refused.exception.read().decode())


class TakenAlong(Case):
    def test_every_file_can_be_saved(self):
        self.visit(SMALL + "&view=phase&phase.width=45")
        # Files of what has not been asked for are made when they are.
        self.page.click("[data-view=advise]")
        self.page.settled()
        self.page.click("[data-view=take]")
        self.page.settled()
        links = self.page.run("[...document.querySelectorAll('.files a')].map((a) => a.href)")
        endings = {"svg": b"<svg", "png": b"\x89PNG", "csv": b"# program: ebbing", "html": b"<!DOCTYPE html>"}
        seen = set()
        for link in links:
            command, ending = link.split("/take/")[1].split("/")[0], link.split("?")[0].rsplit(".", 1)[1]
            content = urllib.request.urlopen(link, timeout=60).read()
            self.assertTrue(content.startswith(endings[ending]), link)
            seen.add((command, ending))
        self.assertEqual(seen, {(command, ending) for command in ("forecast", "phase", "advise") for ending in endings})
        python = self.page.run("document.querySelector('[data-python=forecast]').textContent")
        self.assertIn("ebbing.tasks.permuted(None, tasks=4, p=60, p_test=40", python)

    def test_two_tabs_do_not_disturb_each_other(self):
        other = self.browser.page()
        for k in range(3):
            self.page.open(f"{self.program.base}#{SMALL}&seed={k}")
            other.open(f"{self.program.base}#{SMALL}&seed={k + 10}&depth=2")
            self.page.settled()
            other.settled()
        self.assertEqual(len(self.table("forgetting")), 4)
        self.assertEqual(other.complaints, [])

    def test_a_reload_during_work_and_ten_quick_moves(self):
        big = "data=mnist-sample&protocol=permuted&length=5&examples=400&test-examples=200"
        self.page.open(f"{self.program.base}#{big}&seed=99")
        self.page.call("Page.reload")
        time.sleep(0.3)
        self.page.until("Boolean(document.querySelector('[data-key=depth]'))")
        begin = time.time()
        for depth in range(2, 11):
            self.page.choose("[data-key=depth]", depth)
        self.page.settled(120)
        asked = [url for url in self.page.requests if "api/view/forecast" in url]
        self.assertIn("depth=10", self.page.run("document.body.dataset.shown"))
        # Of nine moves within an instant the first may be under way; of the others only the last is sent.
        self.assertLessEqual(len([u for u in asked if "depth=" in u]), 4, f"{time.time() - begin:.1f} s")


class Looks(Case):
    VIEWS = ("tasks", "forecast", "phase", "advise", "take")

    def test_every_view_at_every_width_and_in_the_dark(self):
        state = SMALL + "&phase.width=45"
        for dark in (False, True):
            for width in (1200, 360):
                self.page.size(width, 900, dark)
                for view in self.VIEWS:
                    self.visit(f"{state}&view={view}")
                    name = f"{view}-{width}{'-dark' if dark else ''}"
                    wide = self.page.run("document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{name} scrolls sideways")
                    self.contrast(name)
                    self.names(name)
                    self.picture(name)
        # Text in figures stays legible on a phone: 7 pt and more at 86 mm, that is 9 px at 360 px.
        self.page.size(360, 900)
        self.visit(f"{state}&view=forecast")
        small = self.page.run("Math.min(...[...document.querySelectorAll('.card svg text')].map((t) => t.getBoundingClientRect().height))")
        self.assertGreater(small, 8)

    def names(self, view):
        """Every element that can be used or seen as one has a name."""
        roles = {"button", "slider", "combobox", "textbox", "spinbutton", "checkbox", "tab", "tabpanel", "image", "img", "link", "region", "table", "list"}
        nodes = self.page.call("Accessibility.getFullAXTree")["nodes"]
        for node in nodes:
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in roles - {"list", "table"}:
                continue
            self.assertTrue(node.get("name", {}).get("value", "").strip(), f"{view}: a {role} without a name")
        pictures = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") in ("image", "img") and not n.get("ignored")]
        self.assertFalse([p for p in pictures if p.lower().startswith("figure")], "a name states the finding")

    def contrast(self, view):
        """Words stand out from what is behind them: 4.5 to 1, as WCAG 2 asks for."""
        script = """(() => {
          const parse = (c) => (c.match(/[\\d.]+/g) ?? []).map(Number);
          const part = (v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
          const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
          const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
          const poor = [];
          for (const e of document.querySelectorAll('body *')) {
            const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
            if (!own || e.closest('svg, [hidden], button:disabled, noscript') || !e.offsetParent || e.disabled) continue;
            const style = getComputedStyle(e);
            const [a, b] = [light(parse(style.color)), light(behind(e))];
            const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
            if (ratio < 4.5) poor.push(`${e.tagName} ${e.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
          }
          return poor; })()"""
        self.assertEqual(self.page.run(script), [], view)

    def test_axe_finds_nothing(self):
        if not OPTIONS.axe:
            self.skipTest("axe-core is not here (ci/extra browser brings it)")
        with open(OPTIONS.axe, encoding="utf-8") as file:
            axe = file.read()
        for dark in (False, True):
            self.page.size(1200, 900, dark)
            for view in self.VIEWS:
                self.visit(f"{SMALL}&phase.width=45&view={view}")
                self.page.run(axe + "; 1")
                found = self.page.run("axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')))")
                self.assertEqual(found, [], view)


class Endings(unittest.TestCase):
    """How the program itself ends."""

    def test_interrupts_end_it_at_once_and_well(self):
        for signal in (2, 15):
            program = Program(OPTIONS.program)
            # Something heavy under way.
            urllib.request.urlopen(f"{program.base}api/view/forecast?examples=900&test-examples=500&page.number=1", timeout=30).close()
            begin = time.time()
            program.process.send_signal(signal)
            self.assertEqual(program.process.wait(10), 0)
            self.assertLess(time.time() - begin, 2)
            program.close()

    def test_a_port_in_use_is_told(self):
        program = Program(OPTIONS.program)
        port = program.base.rstrip("/").rsplit(":", 1)[1]
        done = subprocess.run([OPTIONS.program, "explore", "--port", port, "--no-browser"], capture_output=True, text=True, timeout=30)
        program.close()
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"--port is {port}; is in use", done.stderr)

    def test_the_browser_is_opened_at_the_tasks_given(self):
        with tempfile.TemporaryDirectory() as folder:
            opener, opened, tasks = (os.path.join(folder, name) for name in ("open", "opened", "own.npz"))
            with open(tasks, "wb") as file:
                file.write(npz())
            with open(opener, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
            os.chmod(opener, stat.S_IRWXU)
            pipe = subprocess.PIPE
            command = [OPTIONS.program, "explore", "--port", "0", "--tasks", tasks]
            process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, "BROWSER": opener})
            address = process.stdout.readline().strip()
            self.assertIn("#tasks=own.npz&view=tasks", address)
            for _ in range(100):
                if os.path.exists(opened) and os.path.getsize(opened):
                    break
                time.sleep(0.1)
            with open(opened, encoding="utf-8") as file:
                self.assertEqual(file.read(), address)
            base = address.split("#")[0]
            answer = urllib.request.urlopen(f"{base}api/view/forecast?tasks=own.npz&page.number=1", timeout=60).read()
            told = json.loads(answer.decode().strip().split("\n")[-1])
            self.assertEqual(len(told["result"]["forecast"]["tasks"]), 3)
            process.terminate()
            self.assertEqual(process.wait(10), 0)
            with process.stdout, process.stderr:
                self.assertNotIn("No browser", process.stderr.read())

    def test_tasks_that_cannot_be_read_end_in_a_sentence(self):
        for name in ("gone.npz", "bad.npz"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, name)
                if name == "bad.npz":
                    with open(path, "wb") as file:
                        file.write(npz(broken=True))
                done = subprocess.run([OPTIONS.program, "explore", "--tasks", path, "--no-browser"], capture_output=True, text=True, timeout=30)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(path, done.stderr)

    def test_without_a_browser_the_server_goes_on(self):
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
        pipe = subprocess.PIPE
        process = subprocess.Popen([OPTIONS.program, "explore", "--port", "0"], stdout=pipe, stderr=pipe, text=True, env=environment)
        address = process.stdout.readline().strip()
        self.assertIn("ebbing", urllib.request.urlopen(address, timeout=20).read().decode())
        process.terminate()
        self.assertEqual(process.wait(10), 0)
        with process.stdout, process.stderr:
            self.assertIn("No browser could be opened", process.stderr.read())


def main():
    if not chromium():
        print("there is no Chromium here (ci/extra browser installs one)")
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
