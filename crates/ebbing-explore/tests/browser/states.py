"""What the page shows while it waits, where a file is missing, and what becomes of files that come."""

import os
import time
import urllib.error
import urllib.request

from case import SMALL, Case, features, npz

DEMO = "data=mnist-sample&protocol=class-incremental&length=5"
# Everything that moves while nobody touches the page.
SHIFTS = """window.shifts = 0; new PerformanceObserver((all) => { for (const one of all.getEntries()) if (!one.hadRecentInput) window.shifts += one.value; })
  .observe({ type: 'layout-shift', buffered: true });
  addEventListener('DOMContentLoaded', () => document.body.addEventListener('shown', () => requestAnimationFrame(() => { window.first ??= performance.now(); })));"""


class States(Case):
    def test_nothing_jumps_while_the_answer_comes(self):
        for width, height in ((1440, 900), (1024, 768), (390, 844)):
            page = self.browser.page()
            page.size(width, height)
            page.call("Page.addScriptToEvaluateOnNewDocument", source=SHIFTS)
            page.open(f"{self.program.base}#{DEMO}")
            page.until("document.body.dataset.refined === location.hash.slice(1)", 120)
            self.assertLess(page.run("window.shifts"), 0.02, width)
            # One second is promised of a machine that does nothing else (latency.py measures it); this one may be busy.
            self.assertLess(page.run("window.first"), 5000)
            self.assertEqual(page.complaints, [])

    def test_waiting_has_its_place_and_says_what_it_waits_for(self):
        self.visit(SMALL)
        self.slowed(["api/answer/forecast", "seed=3"], 1500)
        self.page.run(f"location.hash = '{SMALL}&seed=3'")
        self.page.until("document.body.classList.contains('old')")
        self.assertEqual(self.page.run("getComputedStyle(document.querySelector('[data-figure=tasks]')).opacity"), "0.55")
        self.settled()
        self.assertFalse(self.page.run("document.body.classList.contains('old')"))

    def test_before_the_first_answer_there_are_skeletons_in_place(self):
        self.page.call("Page.addScriptToEvaluateOnNewDocument", source="""const own = fetch; window.fetch = async (a, o) => {
            if (String(a).includes('/api/answer/')) await new Promise((done) => setTimeout(done, 1200)); return own(a, o); };""")
        self.page.open(f"{self.program.base}#{SMALL}")
        self.page.until("document.querySelectorAll('.skeleton').length > 5")
        self.assertEqual(self.page.run("document.querySelectorAll('.question').length"), 6)
        before = self.page.run("document.getElementById('q-keep').offsetTop")
        self.settled()
        self.assertLess(abs(self.page.run("document.getElementById('q-keep').offsetTop") - before), 40)

    def test_work_is_shown_with_its_time_and_can_be_canceled(self):
        self.visit(SMALL)
        heavy = "data=mnist-sample&protocol=permuted&length=5&examples=900&test-examples=500"
        self.page.run(f"location.hash = '{heavy}'")
        self.page.until("Boolean(document.querySelector('#status progress'))")
        self.assertTrue(self.page.run("document.querySelector('#status span').textContent"))
        self.page.click("#status button")
        self.page.until("!document.querySelector('#status progress')")
        self.settled()
        self.assertEqual(self.hash(), SMALL, "back to what is shown")

    def test_ten_quick_moves_ask_for_the_last(self):
        self.visit(SMALL)
        self.page.run("document.querySelector('#more details').open = true")
        for depth in range(2, 11):
            self.page.choose("[data-key=depth]", depth)
        self.settled()
        self.assertIn("depth=10", self.page.run("document.body.dataset.shown"))
        asked = [url for url in self.page.requests if "page.first" in url and "depth=" in url]
        self.assertLessEqual(len(asked), 5)

    def test_a_malformed_address_is_reported_and_the_first_state_shown(self):
        for state, words in (("depth=deep", "depth is deep"), ("wiew=1", "wiew"), ("data=/etc/passwd", "must be a data set"), ("order=" + "1," * 40000, "too long")):
            self.page.open(f"{self.program.base}#{state}")
            said = self.page.until("document.getElementById('problem').textContent")
            self.assertIn(words, said)
            self.assertIn("initial state", said)
            self.assertIn("class-incremental", self.hash())

    def test_a_link_without_its_file_asks_for_it_and_is_kept(self):
        link = "tasks=absent.npz&order=3,1,2&depth=2"
        self.page.open(f"{self.program.base}#{link}")
        self.assertIn("needs the file absent.npz", self.page.until("document.getElementById('problem').textContent"))
        self.assertEqual(self.hash(), link)
        self.dropped(("absent.npz", npz()))
        self.settled()
        self.assertEqual((self.hash(), self.said()), (link, ""))
        self.assertEqual(self.page.run("[...document.querySelectorAll('#order [data-task]')].map((e) => e.dataset.task).join()"), "3,1,2")

    def test_bad_files_end_in_a_sentence_and_the_page_goes_on(self):
        self.visit(SMALL)
        before = self.headline()
        for name, content, words in (
            ("bad.npz", npz(broken=True), "bad.npz"),
            ("cut.npz", npz()[:200], "cut.npz"),
            ("words.txt", b"hello", "the page takes"),
            ("path.toml", b'tasks = "/etc/passwd"', "opens no files"),
        ):
            self.page.run("document.getElementById('problem').textContent = ''")
            self.dropped((name, content))
            self.assertIn(words, self.page.until("document.getElementById('problem').textContent"))
            self.assertEqual(self.headline(), before)
        # The browser reports answers that are refusals: they are meant.
        self.page.run("1")
        self.page.complaints = [c for c in self.page.complaints if "api/files" not in c]
        self.dropped(("one.npz", npz()), ("two.npz", npz()))
        self.page.until("location.hash.includes('one.npz')")
        self.settled()
        self.assertEqual(self.said(), "Only the first of 2 files was read: one.npz.")

    def test_two_gigabytes_end_in_a_sentence(self):
        self.visit(SMALL)
        path = os.path.join(self.folder.name, "huge.npz")
        with open(path, "wb") as file:
            file.truncate(2 << 30)
        self.page.click("#open-data")
        self.page.upload("#file", path)
        self.assertIn("2048 MiB", self.page.until("document.getElementById('problem').textContent"))
        request = urllib.request.Request(f"{self.program.base}api/files?name=huge.npz", data=b"", method="POST",
                                         headers={"x-ebbing": "1", "Content-Length": str(2 << 30)})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        self.assertEqual(refused.exception.code, 413)
        refused.exception.close()

    def test_features_with_a_column_of_classes_become_tasks(self):
        self.visit(SMALL)
        self.dropped(("layer.npz", features()))
        self.page.until("location.hash.includes('layer.npz')")
        self.settled()
        self.assertEqual(set(self.hash().split("&")), {"features=layer.npz", "classes-per-task=1"})
        self.assertIn("Not calibrated", self.page.run("document.getElementById('lede').textContent"))
        self.assertEqual(self.page.run("document.querySelectorAll('#order [data-task]').length"), 4)
        self.assertTrue(self.page.run("document.getElementById('width').disabled"))
        self.settled(refined=True)
        self.assertIn("given as they are", self.lead("width"))

    def test_twenty_tasks_and_a_hundred_classes_are_usable(self):
        self.visit(SMALL)
        self.dropped(("many.npz", features(classes=100, each=6, dim=120, test=3)))
        self.page.until("location.hash.includes('classes-per-task=10')")
        self.settled()
        self.visit("data=mnist-sample&protocol=permuted&length=20&examples=40&test-examples=20", refined=True)
        self.assertEqual(self.page.run("document.querySelectorAll('#order [data-task]').length"), 20)
        self.assertLess(self.page.run("document.documentElement.scrollHeight"), 4500)
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 1200)
        self.visit("data=mnist-sample&protocol=permuted&length=30&examples=20&test-examples=10")
        self.assertIn("20 of 30 tasks", self.page.run("document.querySelector('#q-tasks .cap').textContent"))
