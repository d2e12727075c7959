"""How the page looks and reads: three sizes, both themes, paper."""

import base64
import re

from case import OPTIONS, SMALL, Case

STATE = SMALL + "&phase.width=45"
SIZES = ((1440, 900), (1024, 768), (390, 844))


class Looks(Case):
    def test_every_size_and_theme(self):
        for dark in (False, True):
            for width, height in SIZES:
                self.page.size(width, height, dark)
                self.visit(STATE, refined=True)
                self.page.run("document.querySelectorAll('#main details').forEach((e) => { e.open = true; })")
                name = f"sheet-{width}{'-dark' if dark else ''}"
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width, f"{name} scrolls sideways")
                self.looked_at(name)
                for sheet in ("data", "share"):
                    self.page.run(f"document.getElementById('open-{sheet}').click()")
                    self.page.until(f"document.getElementById('{sheet}').open && !document.querySelector('#held .skeleton')")
                    self.looked_at(f"{sheet}-{width}{'-dark' if dark else ''}")
                    self.page.run(f"document.getElementById('{sheet}').close()")

    def looked_at(self, name):
        self.contrast(name)
        self.names(name)
        self.legible(name)
        self.picture(name)

    def test_figures_follow_the_theme(self):
        color = "getComputedStyle(document.querySelector('[data-figure=tasks] svg text')).fill"
        self.visit(SMALL)
        light = self.page.run(color)
        self.page.size(1200, 900, dark=True)
        self.assertNotEqual(self.page.run(color), light)
        self.assertEqual(self.page.run("getComputedStyle(document.querySelector('.fig')).backgroundColor"), "rgba(0, 0, 0, 0)")

    def test_on_a_phone_the_answer_stays_in_sight_while_one_drags(self):
        self.page.size(390, 844)
        self.visit(SMALL)
        self.page.run("document.getElementById('q-clash').scrollIntoView()")
        self.page.until("document.body.classList.contains('scrolled')")
        seen = "(() => { const b = document.getElementById('headline').getBoundingClientRect(); return b.top >= 0 && b.bottom < 120 && b.height < 40; })()"
        self.page.until(seen)
        self.page.click("[data-part=order]")
        self.page.until("document.querySelector('#order [data-task]').getClientRects().length")
        rail = self.page.run("document.getElementById('try').getBoundingClientRect().top")
        self.assertGreater(rail, 300, "the figures stay in sight")
        start, end = (self.page.run(f"(() => {{ const b = document.querySelector('[data-task=\"{t}\"]').getBoundingClientRect(); return [b.left + 40, b.bottom - 4]; }})()") for t in (1, 3))
        self.page.drag(start, (end[0], end[1] + 2), 10)
        self.settled()
        self.assertIn("order=2,3,1,4", self.hash())
        self.assertTrue(self.page.run(seen))

    def test_paper_holds_the_answer_and_three_charts_on_one_page(self):
        self.visit(SMALL, refined=True)
        pdf = base64.b64decode(self.page.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
        self.assertEqual(len(re.findall(rb"/Type\s*/Page[^s]", pdf)), 1)
        self.page.call("Emulation.setEmulatedMedia", media="print")
        shown = self.page.run("[...document.querySelectorAll('.question')].filter((e) => e.getClientRects().length).map((e) => e.id)")
        self.assertEqual(shown, ["q-tasks", "q-keep", "q-help"])
        self.page.call("Emulation.setEmulatedMedia", media="")

    def test_pictures_say_their_finding(self):
        self.visit(SMALL)
        self.page.run("window.made = []; URL.createObjectURL = (blob) => { window.made.push(blob); return 'about:blank'; }; HTMLAnchorElement.prototype.click = () => {}")
        for kind in ("SVG", "PNG"):
            self.page.click(f"[aria-label='Save tasks as {kind}']")
        self.page.until("window.made.length === 2")
        svg = self.page.run("window.made[0].text()")
        finding = self.page.run("document.querySelector('[data-figure=tasks] svg').getAttribute('aria-label')")
        self.assertIn(f"<title>{finding}</title>", svg)
        self.assertNotIn("var(", svg)
        self.assertTrue(self.page.run("window.made[1].size") > 5000 and self.page.run("window.made[1].type") == "image/png")

    def test_figures_are_read_by_the_keyboard(self):
        self.visit(SMALL)
        read = self.read("tasks")
        self.assertEqual(len(read), 10)
        self.assertRegex(read[0], r"^Task 1: \d+ % after task 1$")
        self.assertEqual(len(self.read("clash")), 12)

    def legible(self, view):
        """No text is smaller than 13 px, but for indices."""
        small = self.page.run("""[...document.querySelectorAll('body *')].filter((e) => e.getClientRects().length && !e.closest('sub, sup')
            && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
            .map((e) => [parseFloat(getComputedStyle(e).fontSize), e]).filter(([size]) => size < 13).map(([size, e]) => `${size} ${e.textContent}`)""")
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
            if (!own || e.closest('svg, [hidden], button:disabled, noscript, .skeleton, .greyed, .hidden') || !(e.offsetParent || e.closest('dialog')) || e.disabled) continue;
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
            self.visit(STATE, refined=True)
            self.page.run(axe + "; 1")
            for sheet in (None, "data", "share"):
                if sheet:
                    self.page.run(f"document.getElementById('open-{sheet}').click()")
                    self.page.until("!document.querySelector('#held .skeleton')")
                found = self.page.run("axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')))")
                self.assertEqual(found, [], sheet)
                if sheet:
                    self.page.run(f"document.getElementById('{sheet}').close()")
