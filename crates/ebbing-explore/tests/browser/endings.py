"""How the program ends, and what it says where it cannot begin."""

import json
import os
import stat
import subprocess
import tempfile
import time
import unittest
import urllib.request

from case import OPTIONS, SMALL, npz
from devtools import Browser, Program


class Endings(unittest.TestCase):
    """How the program itself ends."""

    def test_interrupts_end_it_at_once_and_well(self):
        for signal in (2, 15):
            program = Program(OPTIONS.program)
            # Something heavy under way that somebody waits for.
            with urllib.request.urlopen(f"{program.base}api/answer/forecast?examples=900&test-examples=500&page.number=1", timeout=30) as answer:
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
            page.until("document.body.dataset.settled === location.hash.slice(1)")
            said = "document.getElementById('problem').textContent"
            if under_way:
                page.run("location.hash = 'data=mnist-sample&protocol=permuted&length=5&examples=900&test-examples=500'")
                page.until("Boolean(document.querySelector('#status progress'))")
            program.process.send_signal(2)
            program.process.wait(10)
            if not under_way:
                page.run("document.querySelector('#more details').open = true")
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
            self.assertIn("#tasks=own.npz", address)
            for _ in range(100):
                if os.path.exists(opened) and os.path.getsize(opened):
                    break
                time.sleep(0.1)
            with open(opened, encoding="utf-8") as file:
                self.assertEqual(file.read(), address)
            base = address.split("#")[0]
            answer = urllib.request.urlopen(f"{base}api/answer/forecast?tasks=own.npz&page.number=1", timeout=60).read()
            result = json.loads(answer.decode().strip().split("\n")[-1])
            self.assertEqual(len(result["result"]["answer"]["forecast"]["tasks"]), 3)
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
