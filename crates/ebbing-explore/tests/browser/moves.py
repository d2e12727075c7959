"""Everything that can be moved: the order, what is tried, the target; undo and Back, the state before, two states side by side."""

import re
import time

from case import SMALL, Case, npz

RECIPE = b'data = "mnist-sample"\norder = [2, 1, 3]\n[protocol]\nkind = "permuted"\ntasks = 3\np = 40\np_test = 20\n'
ORDER = "[...document.querySelectorAll('#order [data-task]')].map((e) => e.dataset.task).join()"
FOCUS = "document.activeElement.dataset.focus"
GHOSTS = "document.querySelectorAll('[data-figure=tasks] .ghost').length"


class Moves(Case):
    def order(self):
        return self.page.run(ORDER)

    def test_tasks_are_dragged_and_the_answer_follows(self):
        self.visit(SMALL)
        before = self.read("tasks")
        start = self.page.place("[data-task='1']")
        end = self.page.run("(() => { const b = document.querySelector('[data-task=\"3\"]').getBoundingClientRect(); return [b.left + 9, b.bottom]; })()")
        self.page.drag(start[:2], end, 20)
        self.settled()
        self.assertEqual(self.order(), "2,3,1,4")
        self.assertIn("order=2,3,1,4", self.hash())
        self.assertNotEqual(self.read("tasks"), before)
        # A drag is one state, whatever orders it went through; the state before stays as a ghost.
        self.assertEqual(self.page.run("history.state.steps"), 1)
        self.assertGreater(self.page.run(GHOSTS), 2)
        self.page.click("#given")
        self.settled()
        self.assertEqual((self.order(), self.read("tasks")), ("1,2,3,4", before))

    def test_the_keyboard_moves_tasks_and_keeps_the_focus(self):
        self.visit(SMALL)
        self.page.run("document.querySelector(\"[data-task='2']\").focus()")
        self.page.key("ArrowUp")
        self.settled()
        self.assertEqual((self.order(), self.page.run(FOCUS)), ("2,1,3,4", "task 2"))
        for focus, then in (("Learn Task 3 earlier", "Learn Task 3 earlier"), ("Learn Task 3 earlier", "task 3"), ("given", "task 1")):
            self.page.run(f"document.querySelector('[data-focus=\"{focus}\"]').focus()")
            self.page.key("Enter")
            self.assertEqual(self.page.run(FOCUS), then)
            self.settled()
            self.assertEqual(self.page.run(FOCUS), then, "when the answer is there")

    def test_undo_and_back_and_forward(self):
        self.visit(SMALL)
        first = (self.headline(), self.read("tasks"))
        self.assertTrue(self.page.run("document.getElementById('undo').disabled"))
        for task in (4, 3):
            self.page.click(f"#order li:nth-child({task}) .move")
            self.settled()
        moved = (self.headline(), self.read("tasks"), self.order())
        self.page.click("#undo")
        self.page.until(f"{ORDER} === '1,2,4,3'")
        self.settled()
        self.page.key("z", control=True)
        self.page.until(f"{ORDER} === '1,2,3,4'")
        self.settled()
        self.assertEqual((self.headline(), self.read("tasks")), first)
        self.assertTrue(self.page.run("document.getElementById('undo').disabled"))
        for _ in range(2):
            self.page.run("history.forward()")
            time.sleep(0.2)
            self.settled()
        self.assertEqual((self.headline(), self.read("tasks"), self.order()), moved)
        # In a field the keys undo what was typed.
        self.page.run("document.getElementById('width').focus()")
        self.page.key("z", control=True)
        time.sleep(0.3)
        self.assertEqual(self.order(), moved[2])

    def test_two_states_side_by_side(self):
        self.visit(SMALL)
        self.page.click("#compare")
        self.page.until("document.querySelectorAll('#compared .one').length === 2")
        self.assertIn("the same", self.page.run("document.querySelector('#compared > .hint').textContent"))
        self.page.click("#order li:nth-child(2) .move")
        self.settled()
        self.page.until("document.querySelector('#compared > .hint').textContent.includes('order as usual → 2,1,3,4')")
        heads = self.page.run("[...document.querySelectorAll('#compared h2')].map((e) => e.textContent)")
        self.assertEqual(heads[1], self.headline())
        # It is part of the address: a reload shows the same two.
        self.page.call("Page.reload")
        time.sleep(0.3)
        self.settled()
        self.page.until("document.querySelectorAll('#compared .one').length === 2")
        self.assertEqual(self.page.run("[...document.querySelectorAll('#compared h2')].map((e) => e.textContent)"), heads)
        self.page.click("#compare")
        self.page.until("document.getElementById('compared').hidden")

    def test_reset_shows_the_demo(self):
        self.visit(SMALL + "&depth=2")
        self.page.click("#reset")
        self.settled()
        self.assertIn("protocol=class-incremental", self.hash())
        self.assertNotIn("depth", self.hash())
        self.page.click("#undo")
        self.page.until("location.hash.includes('depth=2')")
        self.settled()

    def test_the_target_is_dragged(self):
        self.visit("data=mnist-sample&protocol=class-incremental&length=3&examples=60&test-examples=40", refined=True)
        says = "document.querySelector('[data-figure=keep] svg').getAttribute('aria-label')"
        self.assertRegex(self.page.run(says), "^To end at 80 % or more")
        x, y, *_ = self.page.place("[data-figure=keep] .grip")
        self.page.drag((x, y), (x, y + 40), 5)
        said = self.page.until(f"!{says}.includes('80 %') && {says}")
        self.assertRegex(said, r"^To end at (5|6)\d % or more: \d+ of each class")
        self.settled()
        self.page.run("document.querySelector('[data-figure=keep] .grip').focus()")
        before = self.page.run("document.querySelector('[data-figure=keep] .grip').ariaValueNow")
        self.page.key("ArrowUp")
        self.assertEqual(int(self.page.run("document.activeElement.ariaValueNow")), int(before) + 1)
        self.settled(refined=True)
        self.assertEqual(self.page.run(FOCUS), "goal")

    def test_kept_examples_and_heads_change_the_answer_and_gray_what_they_leave_alone(self):
        self.visit("data=mnist-sample&protocol=class-incremental&length=3&examples=60&test-examples=40", refined=True)
        before = self.headline()
        self.page.choose("[data-key=replay]", 5)
        self.settled(refined=True)
        self.assertNotEqual(self.headline(), before)
        self.assertIn("replay-budget=per-class", self.hash())
        kept = re.search(r"(?:^|&)replay=(\d+)", self.hash())[1]
        self.assertIn(f"--replay {kept} --replay-budget per-class", self.shared("[data-line=forecast]"))
        self.page.choose("[data-key=replay]", 0)
        self.settled(refined=True)
        self.assertEqual(self.headline(), before)
        self.page.choose("#head", "nearest-mean")
        self.page.until("document.getElementById('headline').textContent.startsWith('Lose nothing')")
        self.page.until("document.querySelector('[data-key=replay]').disabled", 10)
        self.assertIn("does not depend on the order", self.page.run("document.querySelector('#order .hint').textContent"))
        self.page.choose("#head", "")
        self.page.until(f"document.getElementById('headline').textContent === {before!r}")

    def test_a_width_changes_its_question_alone(self):
        self.visit(SMALL, refined=True)
        self.page.choose("#width", 40)
        self.settled(refined=True)
        self.assertIn("Load 1.50", self.lead("width"))
        asked = [url for url in self.page.requests if "/api/answer/forecast" in url and "phase.width" in url]
        self.assertEqual(asked, [])
        self.page.choose("[data-key='phase.lambda']", 4)
        self.settled(refined=True)
        self.assertIn("λ = 100", self.page.run("document.querySelector('#q-width .cap').textContent"))

    def test_a_recipe_with_an_order_of_its_own(self):
        self.uploaded("ordered.toml", RECIPE)
        self.assertEqual(self.order(), "2,1,3")
        self.page.run("document.getElementById('data').close()")
        self.assertTrue(self.page.run("document.getElementById('given').disabled"))
        self.page.click("#order li:nth-child(2) .move")
        self.settled()
        self.assertEqual(self.order(), "1,2,3")
        self.assertIn("order=1,2,3", self.hash())

    def test_settings_of_the_theory_change_the_theory(self):
        self.visit(SMALL)
        self.page.run("document.querySelector('#more details').open = true")
        before = (self.headline(), self.theory("tasks"))
        for key, value in (("depth", 3), ("sigma", 0.5)):
            self.page.choose(f"[data-key={key}]", value)
            self.settled()
            self.assertIn(f"{key}={value}", self.hash())
        self.assertEqual(self.headline(), before[0], "by the theory that came closest to trained networks")
        self.assertNotEqual(self.theory("tasks"), before[1])
        self.assertTrue(self.page.run("document.querySelector('[data-key=lambda]').disabled"))

    def test_the_data_sheet_changes_the_tasks(self):
        self.visit(SMALL)
        self.page.click("#open-data")
        self.page.until("document.querySelectorAll('#held canvas').length === 32")
        self.page.click("[data-focus='protocol split']")
        self.settled()
        self.assertIn("protocol=split", self.hash())
        self.page.choose("[data-key=length]", 3)
        self.settled()
        self.page.until("document.querySelectorAll('#held .task').length === 3")
        self.assertEqual(self.said(), "")
        self.uploaded("own.npz", npz())
        self.page.until("document.querySelectorAll('#held .task').length === 3")
        self.assertIn("tasks=own.npz", self.hash())
