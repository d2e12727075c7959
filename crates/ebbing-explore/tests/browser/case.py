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
        elsewhere = [url for url in self.page.requests if not url.startswith((self.program.base, f"blob:{self.program.base}", "about:", "data:"))]
        self.assertEqual(elsewhere, [])

    def visit(self, state, base=None):
        self.page.open(f"{base or self.program.base}#{state}")
        self.page.settled()
        self.assertEqual(self.said(), "")

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
        self.visit(SMALL + "&view=tasks")
        self.page.upload("#file", self.saved(name, content))
        self.page.until(f"location.hash.includes('{name}')")
        self.page.settled()

    def line(self, command, *more):
        """What the program says to the command line that the page shows, and to more words."""
        self.page.click("[data-view=take]")
        words = shlex.split(self.page.until(f"document.querySelector('[data-line={command}]')?.textContent"))
        self.assertEqual(words[0], "ebbing")
        done = subprocess.run([OPTIONS.program, *words[1:], *more, "--json"], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def python(self, command, numbers):
        """What the Python lines that the page shows make of an expression of their `answer`; None without the package."""
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
