"""What the tests of the page share: small tasks, files, one program and one browser."""

import argparse
import io
import json
import os
import shlex
import struct
import subprocess
import tempfile
import unittest
import zipfile

from devtools import Browser, Program

# The page follows an order by products with vectors, the program computes the reordered sequence anew: rounding times the
# condition of these kernels, which is below 1e5.
ROUNDING = 1e-9
# Small tasks: every answer within a moment.
SMALL = "data=mnist-sample&protocol=permuted&length=4&examples=60&test-examples=40"
OPTIONS = argparse.Namespace(program="target/debug/ebbing", python=None, pictures=None, axe=None)


def archive(arrays):
    """Arrays of numbers, by name, with their shapes, as the bytes of an .npz file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, (values, shape) in arrays.items():
            head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
            head += " " * (-(len(head) + 11) % 64) + "\n"
            data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}d", *values)
            zipped.writestr(f"{name}.npy", data)
    return file.getvalue()


def numbers(seed=1):
    """Numbers between -1 and 1 that look random, the same every time."""
    state = seed
    while True:
        state = (1103515245 * state + 12345) % 2**31
        yield state / 2**30 - 1


def npz(broken=False):
    """Three tasks of 24 examples with 16 inputs as the bytes of an .npz file."""
    stream, arrays = numbers(), {}
    for t in (1, 2, 3):
        arrays[f"x_{t}"] = ([next(stream) for _ in range(24 * 16)], (24, 16))
        count = 23 if broken else 24
        arrays[f"y_{t}"] = ([1.0 if k % 2 else -1.0 for k in range(count)], f"({count},)")
    return archive(arrays)


def features(classes=4, each=30, dim=12, test=15):
    """One set of features with a column of classes."""
    stream, arrays = numbers(7), {}
    for name, count in (("train", each), ("test", test)):
        rows = [c for _ in range(count) for c in range(classes)]
        arrays[f"x_{name}"] = ([next(stream) + (2.0 if j % classes == c else 0.0) for c in rows for j in range(dim)], (len(rows), dim))
        arrays[f"y_{name}"] = ([float(c) for c in rows], f"({len(rows)},)")
    return archive(arrays)


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
        elsewhere = [url for url in self.page.requests if not url.startswith((self.program.base, f"blob:{self.program.base}", "about:", "data:"))]
        self.assertEqual(elsewhere, [])

    def visit(self, state, base=None, refined=False):
        self.page.open(f"{base or self.program.base}#{state}")
        self.settled(refined)
        self.assertEqual(self.said(), "")

    def settled(self, refined=False):
        """Waits until nothing moves any more, or until all is computed."""
        what = "refined" if refined else "settled"
        self.page.until(f"document.body.dataset.{what} === location.hash.slice(1)", 120)

    def headline(self):
        return self.page.run("document.getElementById('headline').textContent")

    def lead(self, question):
        return self.page.run(f"document.querySelector('#q-{question} .lead').textContent")

    def hash(self):
        return self.page.run("location.hash.slice(1)")

    def saved(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def said(self):
        """What the page says that is wrong."""
        return self.page.run("document.getElementById('problem').textContent")

    def slowed(self, words, milliseconds):
        """Holds back every answer to an address with these words; `held` counts those that are through."""
        self.page.run(f"""(() => {{ const own = window.fetch; window.held = 0; window.fetch = async (address, options) => {{
            const answer = await own(address, options);
            if ({json.dumps(words)}.every((word) => address.includes(word))) {{
              await new Promise((done) => setTimeout(done, {milliseconds})); window.held += 1; }}
            return answer; }}; }})()""")

    def dropped(self, *files):
        """Drops files, by name and content, on the page."""
        items = [[name, list(content)] for name, content in files]
        self.page.run(f"""(() => {{ const data = new DataTransfer();
            for (const [name, content] of {json.dumps(items)}) data.items.add(new File([new Uint8Array(content)], name));
            for (const type of ['dragenter', 'dragover', 'drop'])
              window.dispatchEvent(new DragEvent(type, {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()""")

    def uploaded(self, name, content):
        """Gives the page a file; the address names it."""
        self.visit(SMALL)
        self.page.click("#open-data")
        self.page.upload("#file", self.saved(name, content))
        self.page.until(f"location.hash.includes('{name}')")
        self.settled()

    def shared(self, selector):
        """What the sheet to share says."""
        self.page.run("document.getElementById('share').close(); document.getElementById('open-share').click()")
        text = self.page.until(f"document.querySelector('{selector}')?.textContent")
        self.page.run("document.getElementById('share').close()")
        return text

    def line(self, command, *more):
        """What the program says to the command line that the page shows, and to more words."""
        words = shlex.split(self.shared(f"[data-line={command}]"))
        self.assertEqual(words[0], "ebbing")
        done = subprocess.run([OPTIONS.program, *words[1:], *more, "--json"], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def python(self, command, numbers):
        """What the Python lines that the page shows make of an expression of their `answer`; None without the package."""
        if not OPTIONS.python:
            return None
        lines = self.shared(f"[data-python={command}]")
        more = f"import json, numpy\nprint('NUMBERS ' + json.dumps({numbers}))"
        done = subprocess.run([OPTIONS.python, "-c", f"{lines}\n{more}"], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, f"{lines}\n{done.stderr}")
        return json.loads(done.stdout.split("NUMBERS ")[1])

    def unfold(self, question):
        """Opens the theory under a question."""
        self.page.run(f"document.querySelector('#q-{question} details').open = true")
        self.page.until(f"document.querySelector('#q-{question} .theory').children.length > 0")

    def table(self, name):
        script = f"""[...document.querySelectorAll('[data-table={name}] tbody tr')].map((row) =>
            [...row.querySelectorAll('td[data-value]')].map((cell) => Number(cell.dataset.value)))"""
        return self.page.run(script)

    def read(self, figure):
        """Everything that a figure says under the arrow keys."""
        return self.page.run(f"""(() => {{ const svg = () => document.querySelector('[data-figure={figure}] svg'); svg().focus();
            const tip = () => document.querySelector('[data-figure={figure}] .tip').textContent; const all = [];
            for (;;) {{ svg().dispatchEvent(new KeyboardEvent('keydown', {{ key: 'ArrowRight', bubbles: true, cancelable: true }}));
              if (all[0] === tip() || all.length > 500) return all; all.push(tip()); }} }})()""")

    def picture(self, name):
        if OPTIONS.pictures:
            self.page.picture(os.path.join(OPTIONS.pictures, f"{name}.png"))
