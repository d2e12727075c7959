"""Everything that can be moved, the address, files that come and go."""

import os
import time
import urllib.error
import urllib.request

from case import ROUNDING, SMALL, Case, npz

# A recipe that puts its tasks in an order of its own.
RECIPE = b'data = "mnist-sample"\norder = [2, 1, 3]\n[protocol]\nkind = "permuted"\ntasks = 3\np = 40\np_test = 20\n'
FOCUS = "document.activeElement.dataset.focus ?? document.activeElement.dataset.key"
# One field changed within a script, as by a user.
CHANGE = """const change = (selector, value) => { const e = document.querySelector(selector); e.value = value;
    e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })); };"""


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

    def test_the_focus_stays_where_the_keyboard_is(self):
        self.visit(SMALL)
        for focus, then in (
            ("Learn task 3 earlier", "Learn task 3 earlier"),
            # At its end a task goes no further: the focus goes to the task.
            ("Learn task 3 earlier", "task 3"),
            ("Learn task 3 later", "Learn task 3 later"),
            ("given", "task 1"),
            ("Learn task 1 later", "Learn task 1 later"),
        ):
            self.page.run(f"document.querySelector('[data-focus=\"{focus}\"]').focus()")
            self.page.key("Enter")
            self.assertEqual(self.page.run(FOCUS), then)
            self.page.settled()
            self.assertEqual(self.page.run(FOCUS), then, "when the answer is there")
        self.visit(SMALL + "&order=4,3,2,1")
        self.page.run("document.getElementById('best').focus()")
        self.page.key("Enter")
        self.page.settled()
        self.assertEqual(self.page.run(FOCUS), f"task {self.order()[0]}")
        self.uploaded("focus.npz", npz())
        self.page.run("document.getElementById('origin').focus()")
        self.page.choose("#origin", "data mnist-sample")
        self.page.settled()
        self.assertEqual(self.page.run(FOCUS), "origin")
        # What was unfolded stays so when its fields are made anew.
        self.page.click("summary")
        self.page.run("document.querySelector('[data-key=center]').focus()")
        self.page.choose("[data-key=center]", "pixel")
        self.page.settled()
        self.assertEqual((self.page.run(FOCUS), self.page.run("document.querySelector('details').open")), ("center", True))

    def test_a_recipe_with_an_order_of_its_own(self):
        self.uploaded("ordered.toml", RECIPE)
        self.visit("tasks=ordered.toml")
        came = self.table("forgetting")
        self.assertEqual(self.order(), "2,1,3")
        self.assertTrue(self.page.run("document.getElementById('given').disabled"))
        self.page.click("[aria-label='Learn task 1 earlier']")
        self.page.settled()
        self.assertEqual(self.order(), "1,2,3")
        self.assertIn("order=1,2,3", self.page.run("location.hash"))
        self.assertNotEqual(self.table("forgetting"), came)
        self.page.click("#given")
        self.page.settled()
        self.assertEqual((self.order(), self.table("forgetting")), ("2,1,3", came))
        self.assertNotIn("order=", self.page.run("location.hash"))

    def test_as_many_tasks_are_offered_as_there_are(self):
        self.uploaded("three.npz", npz())
        self.visit("tasks=three.npz&view=phase&phase.width=10")
        offered = "['first', 'second'].map((k) => document.querySelector(`[data-key=\"learned ${k}\"]`).options.length)"
        self.assertEqual(self.page.run(offered), [3, 3])
        self.page.choose("[data-key='learned first']", 2)
        self.page.settled()
        self.page.call("Page.reload")
        time.sleep(0.3)
        self.page.settled()
        self.assertEqual(self.page.run(offered), [3, 3])
        self.assertIn("phase.pair=2,1", self.page.run("location.hash"))
        # Without test sets the page has no best penalty to promise.
        self.assertNotIn("test sets", self.page.run("document.getElementById('result').textContent"))

    def test_the_best_order_beside_a_forecast_that_is_under_way(self):
        self.visit("data=mnist-sample&protocol=split&length=3&examples=30&test-examples=20&mode=gibbs&lambda=3")
        self.page.run(f"""(() => {{ {CHANGE} window.seen = [];
            document.body.addEventListener('drawn', () => window.seen.push(document.body.dataset.shown));
            change('[data-key=depth]', 2); document.getElementById('best').click(); }})()""")
        shown = self.page.until("window.seen[0]")
        self.assertIn("depth=2", shown)
        self.assertNotIn("order", shown)
        self.page.until("location.hash.includes('order=') || document.getElementById('status').textContent.includes('No better order')")

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
        answer = self.line("forecast")["forecast"]
        self.page.click("[data-view=forecast]")
        self.page.until("Boolean(document.querySelector('[data-table=widths]'))")
        for name, count in (("depths", 2), ("lambdas", 2), ("widths", 4)):
            shown = [row[0] for row in self.table(name)]
            self.assertEqual(len(shown), count, name)
            for value, row in zip(shown, answer[name], strict=True):
                self.assertAlmostEqual(value, row["final_forgetting"], delta=ROUNDING)

    def test_every_control_of_the_network(self):
        self.visit(SMALL)
        before = self.table("forgetting")[1][0]
        for key, value in (("depth", 3), ("mode", "lazy"), ("activation", "erf"), ("sigma", 0.5)):
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
        self.page.choose("[data-key=center]", "pixel")
        self.page.choose("[data-key=context]", 16)
        self.page.settled()
        self.assertEqual(self.page.run("document.querySelectorAll('.task').length"), 3)
        for protocol, key, value in (("split", "classes-per-group", 1), ("partial-split", "ratio", 0.2), ("target-distractor", "rho-target", 0.75)):
            self.page.choose("[data-key=protocol]", protocol)
            self.page.settled()
            self.page.choose(f"[data-key={key}]", value)
            self.page.settled()
            self.assertEqual(self.said(), "")
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
        self.assertIn(regime(), ("overfitting", "generalization"))
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

    def test_a_finger_that_scrolls_leaves_the_marker(self):
        self.visit(SMALL + "&view=phase&phase.width=120")
        self.page.place("[data-figure=phase] svg")
        self.assertEqual(self.page.run("document.querySelector('[data-figure=phase] svg .own-name').textContent"), "your width")
        widths = self.page.run("""(() => {
            const own = document.querySelector('[data-figure=phase] svg .own').getBoundingClientRect();
            const [x, y] = [own.left + own.width / 2, own.top + own.height / 2];
            const send = (type, dx, pointerId) => document.querySelector('[data-figure=phase] svg')
              .dispatchEvent(new PointerEvent(type, { clientX: x + dx, clientY: y, pointerId, bubbles: true, cancelable: true }));
            const width = () => new URLSearchParams(location.hash.slice(1)).get('phase.width');
            return [['pointerdown', 0, 7], ['pointermove', 60, 8], ['pointermove', 40, 7], ['pointercancel', 40, 8], ['pointermove', 50, 7],
              ['pointercancel', 50, 7], ['pointermove', 70, 7]].map(([type, dx, id]) => { send(type, dx, id); return Number(width()); }); })()""")
        down, other, moved, still, further, canceled, after = widths
        self.assertEqual((down, other), (120, 120), "a second finger moves nothing")
        self.assertLess(moved, 120)
        self.assertEqual(still, moved)
        self.assertLess(further, moved)
        self.assertEqual((canceled, after), (further, further))
        self.page.settled()

    def test_results_that_are_older_than_the_settings_are_marked(self):
        self.visit(SMALL)
        state = "(({ classList, ariaBusy }) => [ariaBusy === 'true', classList.contains('old')])(document.getElementById('result'))"
        self.assertEqual(self.page.run(state), [False, False])
        self.assertTrue(self.page.run(f"(() => {{ {CHANGE} change('[data-key=depth]', 2); return {state}[0]; }})()"))
        self.page.settled()
        self.assertEqual(self.page.run(state), [False, False])
        self.page.choose("[data-key=depths]", "zero")
        self.page.settled()
        self.assertIn("zero", self.said())
        self.assertEqual(self.page.run(state), [False, True])
        self.page.choose("[data-key=depths]", "")
        self.page.settled()
        self.assertEqual((self.page.run(state), self.said()), ([False, False], ""))
        # Work that takes longer is marked while it lasts.
        self.slowed(["api/view", "depth=3"], 1000)
        self.page.choose("[data-key=depth]", 3)
        self.page.until(f"{state}.every(Boolean)")
        self.page.settled()
        self.assertEqual(self.page.run(state), [False, False])

    def test_what_is_computed_ahead_goes_on_past_a_refusal(self):
        self.page.open(f"{self.program.base}#{SMALL}")
        self.page.run("""(() => { const own = window.fetch; window.fetch = (address, options) =>
            (/-ahead&/.test(address) && /phase.lambda=0.1&/.test(address) ? Promise.resolve(new Response('{"refused":"no"}\\n')) : own(address, options)); })()""")
        self.page.run(f"location.hash = '{SMALL}&view=phase&phase.width=45'")
        self.page.until("document.body.dataset.ahead?.includes('view=phase')")
        self.assertTrue([url for url in self.page.requests if "-ahead" in url and "phase.lambda=100000&" in url])
        self.assertEqual(self.said(), "")

    def test_each_kind_of_tasks_has_its_own_preparation(self):
        keys = "[...document.querySelectorAll('#controls [data-key]')].map((e) => e.dataset.key)"
        self.uploaded("kinds.toml", RECIPE)
        self.assertEqual(self.page.run(keys), ["seed"])
        self.page.choose("[data-key=seed]", 5)
        self.page.settled()
        self.assertEqual(self.said(), "")
        self.uploaded("kinds.npz", npz())
        self.assertEqual(self.page.run(keys), ["center", "whiten", "norm", "context", "intermediate", "seed"])
        plain = self.page.run("document.querySelector('.thumbs canvas').toDataURL()")
        for key, value in (("center", "pixel"), ("whiten", True), ("norm", True), ("seed", 3)):
            self.page.choose(f"[data-key={key}]", value)
            self.page.settled()
            self.assertEqual(self.said(), "", key)
        self.assertNotEqual(self.page.run("document.querySelector('.thumbs canvas').toDataURL()"), plain)
        # Other tasks leave nothing of how these were prepared.
        for origin in ("data mnist-sample", "file kinds.toml", "file kinds.npz", "data mnist-sample"):
            for key, value in (("center", "pixel"), ("no-whiten", True), ("no-norm", True), ("context", 8), ("intermediate", 1)):
                if self.page.run(f"Boolean(document.querySelector('[data-key={key}]'))"):
                    self.page.choose(f"[data-key={key}]", value)
            self.page.choose("#origin", origin)
            self.page.settled()
            self.assertEqual(self.said(), "", origin)
            self.assertNotRegex(self.page.run("location.hash"), "center|whiten|norm|context|intermediate|seed")

    def test_inputs_that_tasks_share_are_reported(self):
        self.visit("data=mnist-sample&protocol=target-distractor&length=3&examples=40&rho-shared=0.5&view=tasks")
        self.assertRegex(self.page.run("document.getElementById('common').textContent"), r"^\d+ different inputs among 120 examples: 3 pairs of tasks share some\.$")
        self.visit(SMALL + "&view=tasks")
        self.assertIsNone(self.page.run("document.getElementById('common')"))

    def test_replay_is_a_slider(self):
        self.visit("data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20&view=advise")
        answer = lambda: float(self.page.run("document.querySelector('#replayed [data-value]').dataset.value"))
        nothing = answer()
        last = self.page.run("Number(document.getElementById('replay-slider').max)")
        self.page.choose("#replay-slider", last)
        self.assertLess(answer(), 0.5 * nothing)
        kept = self.page.run("new URLSearchParams(location.hash.slice(1)).get('replay')")
        self.assertEqual(int(kept), 30)
        for key, value in (("advise.keep-forgetting-below", 0.2), ("advise.budget", 10), ("replay-budget", "in-all")):
            self.page.choose(f"[data-key='{key}']", value)
            self.page.settled()
        self.page.click("[data-view=forecast]")
        self.page.settled()
        self.assertIn("replay of 30", self.page.run("document.getElementById('heading').textContent"))

    def test_an_amount_of_replay_that_is_not_computed_is_not_shown_as_if_it_were(self):
        self.visit("data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20&view=advise&replay=29")
        answer = "document.getElementById('replayed').textContent"
        self.assertRegex(self.page.run(answer), r"^The address asks for 29 kept, which is not computed here; the nearest is 30 kept")
        self.page.choose("#replay-slider", 0)
        self.assertRegex(self.page.run(answer), r"^0 kept")

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
        self.uploaded("state.npz", npz())
        for state in (
            SMALL + "&order=2,1,3,4&depth=2&view=phase&phase.pair=2,3&phase.width=45&phase.lambda=100",
            SMALL + "&ratio=0.5&fresh-images=true&seed=4&context=9&no-whiten=true&view=tasks",
            "data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20&order=3,1,2&view=advise&advise.budget=10&replay-budget=in-all",
            SMALL + "&order=4,3,1,2&mode=ntk&sigma=0.5&phase.width=45&view=take",
            "tasks=state.npz&norm=true&center=pixel&view=tasks",
            "tasks=state.npz&norm=true&order=3,1,2&depth=3&view=forecast",
            "tasks=state.npz&view=phase&phase.pair=3,1&phase.width=10",
        ):
            self.visit(state)
            # What is read, what is drawn, and what stands in every field.
            text = """JSON.stringify([document.getElementById('heading').textContent, document.getElementById('result').innerHTML.length,
                document.getElementById('result').textContent, document.getElementById('controls').textContent,
                [...document.querySelectorAll('#controls input, #controls select')].map((e) => e.type === 'checkbox' ? e.checked : e.value)])"""
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
            self.assertEqual(other.complaints, [])

    def test_a_malformed_address_is_reported_and_the_first_state_shown(self):
        for state, words in (("depth=deep", "depth is deep"), ("wiew=1", "wiew"), ("data=/etc/passwd", "must be a data set"), ("%%%=%", "is"), ("tasks=gone.npz", "drop it on the page again"), ("order=" + "1," * 40000, "too long")):
            self.page.open(f"{self.program.base}#{state}")
            self.page.until("document.body.dataset.shown")
            said = self.page.until("document.getElementById('problem').textContent")
            self.assertIn(words, said)
            self.assertIn("initial state", said)
            self.assertIn("protocol=permuted", self.page.run("location.hash"))

    def test_another_fragment_is_another_state(self):
        self.visit(SMALL)
        self.page.run(f"location.hash = '{SMALL}&order=4,3,2,1'")
        self.page.until("document.body.dataset.shown?.includes('order=4,3,2,1')")
        self.assertEqual(self.page.run("document.querySelector('#order [data-task]').dataset.task"), "4")

    def test_a_link_on_another_site_opens_the_page(self):
        link = f"{self.program.base}#{SMALL}&depth=2".replace("&", "&amp;").replace("#", "%23")
        self.page.open(f"data:text/html,<a id=link href='{link}'>what I found</a>")
        self.page.click("#link")
        self.page.until("location.href.startsWith('http') && Boolean(document.body?.dataset.shown)")
        self.page.settled()
        self.assertIn("depth=2", self.page.run("location.hash"))

    def test_of_two_quick_addresses_the_second_counts(self):
        self.visit(SMALL)
        # The answer to the first, a refusal, comes after that to the second.
        self.slowed(["api/start", "depth=deep"], 600)
        self.page.run(f"location.hash = '{SMALL}&depth=deep'")
        time.sleep(0.1)
        self.page.run(f"location.hash = '{SMALL}&seed=2'")
        self.page.until("window.held")
        time.sleep(0.1)
        self.page.settled()
        self.assertEqual((self.page.run("location.hash"), self.said()), (f"#{SMALL}&seed=2", ""))

    def test_another_view_in_the_address_takes_the_old_result_away(self):
        self.visit(SMALL)
        left = self.page.run(f"""new Promise((done) => {{
            new MutationObserver(() => done(document.getElementById('result').children.length)).observe(document.getElementById('controls'), {{ childList: true }});
            location.hash = '{SMALL}&view=tasks'; }})""")
        self.assertEqual(left, 0)
        self.page.settled()


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
        # The browser reports answers that are refusals: they are meant.
        self.page.complaints = [c for c in self.page.complaints if "api/files" not in c]
        self.page.upload("#file", self.saved("recipe.toml", recipe))
        self.page.until("location.hash.includes('recipe.toml')")
        self.page.settled()
        self.assertEqual(self.page.run("document.querySelectorAll('.task').length"), 2)

    def test_a_refusal_outlasts_what_was_under_way(self):
        self.visit(SMALL)
        self.slowed(["api/view", "depth=3"], 1500)
        self.page.choose("[data-key=depth]", 3)
        self.dropped(("words.txt", b"hello"))
        self.page.until("document.getElementById('problem').textContent.includes('the page takes')")
        self.assertEqual(self.page.run("window.held"), 0)
        self.page.settled()
        self.assertIn("words.txt", self.said())
        self.page.complaints = [c for c in self.page.complaints if "api/files" not in c]
        self.page.choose("[data-key=depth]", 2)
        self.assertEqual(self.said(), "", "the next move clears it")
        self.page.settled()

    def test_of_several_files_the_first_is_taken(self):
        self.visit(SMALL)
        self.dropped(("one.npz", npz()), ("two.npz", npz()))
        self.page.until("location.hash.includes('one.npz')")
        self.page.settled()
        self.assertEqual(self.said(), "Only the first of 2 files was read: one.npz.")

    def test_a_file_dropped_on_the_page_is_taken(self):
        self.visit(SMALL)
        self.dropped(("dropped.npz", npz()))
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
        # Files of what has not been asked for are made when they are.
        self.visit(SMALL + "&view=take&phase.width=45&seed=17")
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
        self.assertIn('ebbing.tasks.draw(data="mnist-sample", protocol="permuted", length=4, examples=60, test_examples=40', python)

    def test_a_click_saves_a_file_or_says_why_not(self):
        self.page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=self.folder.name)
        self.visit(SMALL + "&view=take")
        self.page.click("a[download='forecast-forgetting.csv']")
        path = os.path.join(self.folder.name, "forecast-forgetting.csv")
        for _ in range(200):
            if os.path.exists(path):
                break
            time.sleep(0.05)
        with open(path, "rb") as file:
            self.assertTrue(file.read().startswith(b"# program: ebbing"))
        self.assertEqual(self.said(), "")
        self.visit(SMALL + "&view=take&phase.pair=1,9")
        self.page.click("a[download='phase-report.html']")
        self.assertIn("two different tasks from 1 to 4", self.page.until("document.getElementById('problem').textContent"))
        # The browser reports answers that are refusals: they are meant.
        self.page.run("1")
        self.page.complaints = [c for c in self.page.complaints if "/take/phase/" not in c]

    def test_lines_are_copied_or_selected(self):
        self.visit(SMALL + "&view=take")
        button = "document.querySelector('[data-line=forecast]').nextElementSibling"
        line = self.page.run("document.querySelector('[data-line=forecast]').textContent")
        status = "document.getElementById('status').textContent"
        for clipboard in ("undefined", "{ writeText: () => Promise.reject(new DOMException('no', 'NotAllowedError')) }"):
            self.page.run(f"Object.defineProperty(navigator, 'clipboard', {{ configurable: true, value: {clipboard} }})")
            self.page.run("getSelection().removeAllRanges()")
            self.page.run(f"{button}.click()")
            self.page.until(f"{status}.includes('does not allow copying')")
            self.assertEqual((self.page.run(f"{button}.textContent"), self.page.run("getSelection().toString()")), ("Copy", line))
            self.page.run("document.getElementById('status').textContent = ''")
        self.page.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })")
        self.page.click("[aria-label='Copy the command line of Forecast']")
        self.assertEqual(self.page.until("window.copied"), line)
        self.assertEqual(self.page.until(status), "Copied the command line of Forecast.")

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
