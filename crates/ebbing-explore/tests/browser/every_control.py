"""Every control of every view, whatever controls there are: those that a view has, and those that come with them, are found by
themselves and operated, and the page has nothing to complain of."""

from case import Case, npz

STATE = "data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20"
RECIPE = b'data = "mnist-sample"\n[protocol]\nkind = "permuted"\ntasks = 2\np = 30\np_test = 20\n'
# What is written into a field, where one more than it holds would be refused or be nothing else.
VALUES = {
    "length": "3",
    "classes-per-group": "1",
    "context": "16",
    "advise.keep-forgetting-below": "0.2",
    "advise.budget": "10",
    "depths": "2, 3",
    "beta": "100",
    "lambdas": "1,inf",
    "widths": "20,80",
}
# Tabs and the way past them have a test of their own.
ALL = "[...document.querySelectorAll(':is([data-key], button, select, input, summary, a):not([role=tab], #skip)')]"
FOUND = f"""{ALL}.map((e) => ({{
  name: e.dataset.key || e.dataset.focus || e.id || e.getAttribute('aria-label') || e.getAttribute('download') || e.textContent,
  kind: e.localName === 'input' ? e.type : e.dataset.task ? 'task' : e.localName,
  disabled: Boolean(e.disabled),
  // Every choice of a select is a control of its own.
  ways: e.localName === 'select' ? [...e.options].map((o) => o.value) : [''],
}}))"""
# Choices last, other tasks at the very end: what they bring along is operated before the next one takes it away.
RANK = {"select": 1, "file": 2}
LAST = "origin"


class EveryControl(Case):
    def operate_all(self, state):
        """Operates all that there is until nothing is left; the names of what was operated."""
        seen, done = set(), set()
        # What is disabled where the first round ends may not be where the second begins.
        for _ in range(2):
            self.visit(state)
            while True:
                found = self.page.run(FOUND)
                seen |= {(control["name"], way) for control in found for way in control["ways"]}
                left = [
                    (3 if control["name"] == LAST else RANK.get(control["kind"], 0), place, way, control)
                    for place, control in enumerate(found)
                    for way in control["ways"]
                    if (control["name"], way) not in done and not control["disabled"]
                ]
                if not left:
                    break
                _, place, way, control = min(left, key=lambda one: one[:2])
                self.operate(f"{ALL}[{place}]", control["name"], control["kind"], way)
                done.add((control["name"], way))
        self.assertEqual(seen - done, set(), "these were never operated")
        return {name for name, _ in done}

    def operate(self, element, name, kind, way):
        where = f"{name} {way}".strip()
        if kind == "range":
            up = self.page.run(f"Number({element}.value) < Number({element}.max)")
            for step in ("e.stepUp()", "e.stepDown()") if up else ("e.stepDown()", "e.stepUp()"):
                self.change(element, step, where)
        elif kind == "checkbox":
            self.change(element, "e.checked = !e.checked", where)
            self.change(element, "e.checked = !e.checked", where)
        elif kind in ("number", "text"):
            before = self.page.run(f"{element}.value")
            whole = before or self.page.run(f"{element}.placeholder")
            value = VALUES.get(name) or (str(int(whole) + 1) if whole.isdigit() else "1" if kind == "number" else None)
            self.assertIsNotNone(value, f"say what is to be written into {name}")
            self.change(element, f"e.value = '{value}'", where)
            self.change(element, f"e.value = '{before}'", where)
        elif kind == "select":
            if self.page.run(f"{element}.value") != way:
                self.change(element, f"e.value = '{way}'", where)
        elif kind == "file":
            self.page.upload(f"#{name}", self.saved("every.npz", npz()))
            self.page.until("location.hash.includes('every.npz')")
        elif kind == "task":
            self.page.run(f"{element}.focus()")
            last = self.page.run(f"{element}.closest('li') === {element}.closest('ol').lastElementChild")
            self.page.key("ArrowUp" if last else "ArrowDown")
        elif kind == "summary":
            was = self.page.run(f"{element}.parentElement.open")
            self.press(element)
            self.assertNotEqual(self.page.run(f"{element}.parentElement.open"), was, where)
        else:
            self.press(element)
            self.page.until("!document.querySelector('#status progress')")
        self.settled(where)

    def press(self, element):
        """The mouse on an element that is in view."""
        self.page.run(f"{element}.id ||= 'pressed'")
        self.page.click(f"#{self.page.run(f'{element}.id')}")
        self.page.run("document.getElementById('pressed')?.removeAttribute('id')")

    def change(self, element, how, where):
        """Changes a field with its events; the address follows."""
        before = self.page.run("location.hash")
        self.page.run(f"""(() => {{ const e = {element}; {how};
            e.dispatchEvent(new Event('input', {{ bubbles: true }})); e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()""")
        self.assertNotEqual(self.page.run("location.hash"), before, where)
        self.settled(where)

    def settled(self, where):
        # Not all that is moved asks the server.
        self.page.until("!document.getElementById('result').ariaBusy")
        self.assertEqual(self.said(), "", where)

    def test_of_the_tasks(self):
        self.uploaded("every.toml", RECIPE)
        # Datasets are put between two tasks.
        done = self.operate_all(STATE.replace("length=3", "length=2") + "&view=tasks")
        self.assertLessEqual({"origin", "file", "protocol", "one-hot", "rho-flip", "intermediate", "no-whiten", "whiten", "norm", "seed"}, done)

    def test_of_the_forecast(self):
        done = self.operate_all(f"{STATE}&order=3,1,2")
        arrows = {f"Learn task {task} {way}" for task in (1, 2, 3) for way in ("earlier", "later")}
        self.assertLessEqual(arrows | {"task 1", "best", "given", "lambda", "beside", "depths", "lambdas", "widths"}, done)

    def test_of_the_phase(self):
        done = self.operate_all(f"{STATE}&view=phase&phase.width=45")
        self.assertLessEqual({"learned first", "learned second", "phase.width", "width-exact", "phase.lambda"}, done)

    def test_of_the_advice(self):
        done = self.operate_all(f"{STATE}&view=advise")
        self.assertLessEqual({"replay", "replay-budget", "advise.budget"}, done)

    def test_of_what_is_taken_along(self):
        done = self.operate_all(f"{STATE}&view=take&phase.width=45")
        self.assertLessEqual({"Copy the command line of Forecast", "Copy the Python lines of What to do", "phase-report.html"}, done)

    def test_of_the_page(self):
        self.visit(STATE)
        for view in ("tasks", "phase", "advise", "take", "forecast"):
            self.page.click(f"[data-view={view}]")
            self.settled(view)
            self.assertEqual(self.page.run("document.querySelector('[aria-selected=true]').dataset.view"), view)
        self.page.run("document.getElementById('skip').focus()")
        self.page.key("Enter")
        self.assertEqual(self.page.run("document.activeElement.id"), "main")
