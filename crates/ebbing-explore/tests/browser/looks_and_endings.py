"""How the page looks and reads, and how the program ends."""

import json
import os
import stat
import subprocess
import tempfile
import time
import unittest
import urllib.request

from case import OPTIONS, SMALL, Case, npz
from devtools import Browser, Program


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
                    self.legible(name)
                    self.picture(name)

    def legible(self, view):
        """Text in figures is 7 pt and more at 86 mm, that is 9 px at 360 px; other text no smaller than 12 px."""
        small = self.page.run("""[...document.querySelectorAll('body *')].filter((e) => e.getClientRects().length
            && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => (e.closest('svg')
            // Indices are smaller than the text that they stand in.
            ? [e.closest('text').getBoundingClientRect().height, 8, e] : [parseFloat(getComputedStyle(e).fontSize), 12, e]))
            // What has no size is not there: its words stand elsewhere.
            .filter(([size, least]) => size > 0 && size < least).map(([size, , e]) => `${size} ${e.textContent}`)""")
        self.assertEqual(small, [], view)

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
            # Something heavy under way that somebody waits for.
            with urllib.request.urlopen(f"{program.base}api/view/forecast?examples=900&test-examples=500&page.number=1", timeout=30) as answer:
                self.assertIn("progress", answer.readline().decode())
                begin = time.time()
                program.process.send_signal(signal)
                self.assertEqual(program.process.wait(10), 0)
                self.assertLess(time.time() - begin, 2)
            program.close()

    def test_the_page_says_that_the_server_has_gone(self):
        gone = "The server does not answer: is ebbing explore still running?"
        browser = Browser()
        self.addCleanup(browser.close)
        for under_way in (False, True):
            program, page = Program(OPTIONS.program), browser.page()
            page.open(f"{program.base}#{SMALL}")
            page.settled()
            said = "document.getElementById('problem').textContent"
            if under_way:
                page.run("location.hash = 'data=mnist-sample&protocol=permuted&length=5&examples=900&test-examples=500'")
                page.until("Boolean(document.querySelector('#status progress'))")
            program.process.send_signal(2)
            program.process.wait(10)
            if not under_way:
                page.choose("[data-key=depth]", 2)
            self.assertEqual(page.until(said), gone)
            page.run("location.hash = 'depth=3'")
            self.assertEqual(page.until(said), gone)
            program.close()

    def test_a_port_in_use_is_reported(self):
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
            result = json.loads(answer.decode().strip().split("\n")[-1])
            self.assertEqual(len(result["result"]["forecast"]["tasks"]), 3)
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

    def goes_on_without_a_browser(self, environment):
        """The server answers, and says that no browser was opened."""
        pipe = subprocess.PIPE
        process = subprocess.Popen([OPTIONS.program, "explore", "--port", "0"], stdout=pipe, stderr=pipe, text=True, env=environment)
        address = process.stdout.readline().strip()
        self.assertIn("ebbing", urllib.request.urlopen(address, timeout=20).read().decode())
        process.terminate()
        self.assertEqual(process.wait(10), 0)
        with process.stdout, process.stderr:
            self.assertIn("No browser could be opened", process.stderr.read())

    def test_without_a_browser_the_server_goes_on(self):
        self.goes_on_without_a_browser({k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")})

    def test_an_opener_that_fails_opens_nothing(self):
        with tempfile.TemporaryDirectory() as empty:
            self.goes_on_without_a_browser({**os.environ, "BROWSER": "/bin/false", "PATH": empty})
