"""Numbers on the page are those of the program, and of the Python lines that the page shows."""

import urllib.request

from case import SMALL, Case


class Numbers(Case):
    def test_what_is_shown_is_what_was_answered(self):
        self.visit("data=mnist-sample&protocol=class-incremental&length=3&examples=60&test-examples=40", refined=True)
        forecast = self.line("forecast")["forecast"]
        percent = lambda share: str(int(100 * share + 0.5))
        after = forecast["trained"]["accuracy"]["mean"]
        known = [f"{forecast['tasks'][s]}: {percent(after[t][s])} % after task {t + 1}" for s in range(3) for t in range(s, 3)]
        self.assertEqual(self.read("tasks"), known)
        self.assertIn(f"lose {percent(forecast['trained']['lost'])} points", self.headline())
        kept = [say.split(" ")[0] for say in self.read("keep")]
        self.assertEqual(kept, [str(p["per_class"]) for p in forecast["keep"]["points"]])
        self.assertEqual(len(self.read("clash")), len(forecast["pairs"]))
        shown = self.theory("clash")
        for pair in forecast["pairs"]:
            self.assertIn(f"{pair['values']['gamma_feature']:#.3g}", shown)

    def test_every_file_can_be_saved(self):
        self.visit(SMALL + "&phase.width=45&seed=17", refined=True)
        self.page.click("#open-share")
        links = self.page.run("[...document.querySelectorAll('.files a')].map((a) => a.href)")
        endings = {"csv": b"# program: ebbing", "html": b"<!DOCTYPE html>"}
        seen = set()
        for link in links:
            command, ending = link.split("/take/")[1].split("/")[0], link.split("?")[0].rsplit(".", 1)[1]
            self.assertTrue(urllib.request.urlopen(link, timeout=60).read().startswith(endings[ending]), link)
            seen.add((command, ending))
        self.assertEqual(seen, {(command, ending) for command in ("forecast", "phase", "advise") for ending in endings})
        self.page.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })")
        self.page.click("[aria-label='Copy the link']")
        self.assertEqual(self.page.until("window.copied"), self.page.run("location.href"))
