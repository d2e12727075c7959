"""Numbers on the page are those of the program, and of the Python lines that the page shows."""

from case import ROUNDING, SMALL, Case, npz


class Numbers(Case):
    def close_to(self, shown, known, what):
        self.assertTrue(abs(shown - known) <= ROUNDING * (1 + abs(known)), f"{what}: {shown} {known}")

    def triangle_close(self, shown, known, what):
        for t, row in enumerate(shown):
            self.assertEqual(len(row), t + 1, what)
            for s, value in enumerate(row):
                self.close_to(value, known[t][s], f"{what} {t} {s}")

    def test_the_lines_that_the_page_shows_compute_its_forecast(self):
        own = "tasks=lines.npz"
        self.uploaded("lines.npz", npz())
        recipe = b'data = "mnist-sample"\norder = [2, 1, 3]\n[protocol]\nkind = "permuted"\ntasks = 3\np = 40\np_test = 20\n'
        self.uploaded("lines.toml", recipe)
        for state in (
            SMALL + "&order=3,1,4,2&sigma=0.5&depths=2",
            "data=mnist-sample&protocol=split&length=3&examples=40&test-examples=20&one-hot=true&mode=ntk&seed=5",
            "data=mnist-sample&protocol=partial-split&examples=40&test-examples=20&ratio=0.3&activation=erf&beta=50",
            "data=mnist-sample&protocol=target-distractor&length=3&examples=40&rho-target=0.75&rho-flip=0.1&mode=lazy&depth=2",
            SMALL + "&context=16&no-whiten=true&center=pixel&replay=5&lambdas=1,inf",
            "data=mnist-sample&protocol=permuted&length=2&examples=40&test-examples=20&intermediate=1&mode=gibbs&lambda=3",
            own + "&order=2,3,1",
            own + "&center=pixel&norm=true&context=4",
            "tasks=lines.toml",
            "tasks=lines.toml&order=3,2,1",
        ):
            self.visit(state)
            shown = self.table("forgetting")
            self.triangle_close(shown, self.line("forecast")["forecast"]["forgetting"]["mean"], state)
            known = self.python("forecast", "answer.forgetting.tolist()")
            if known:
                self.triangle_close(shown, known, f"Python {state}")

    def test_the_lines_that_the_page_shows_compute_its_phase(self):
        value = lambda name: float(self.page.run(f"document.querySelector('[data-name=\"{name}\"]').dataset.value"))
        for state in ("phase.pair=3,1&phase.width=45", "phase.pair=1,2&phase.width=100&phase.lambda=10", "phase.width=90&activation=erf&sigma=1.5"):
            self.visit(f"{SMALL}&view=phase&{state}")
            f21, g21, g22 = value("F21"), value("G21"), value("G22")
            lambda_ = "inf" if "phase.lambda" not in state else "10"
            answer = self.line("phase")
            if lambda_ == "inf":
                self.close_to(g21, answer["widths"][0]["g21"], state)
            asked = "asked := answer.settings"
            two = "[tasks[t - 1] for t in asked['pair']], width=asked['width'], lam=float(numpy.ravel(asked['lam'])[0])"
            two = f"ebbing.MultiHead({two}, sigma=asked['sigma'], activation=asked['activation'])"
            numbers = f"[({asked}) and (two := {two}).forgetting()[1, 0], *two.generalization()[1].tolist()]"
            known = self.python("phase", numbers)
            for shown, right in zip((f21, g21, g22), known or ()):
                self.assertTrue(shown == right or abs(shown - right) <= 1e-7 * (1 + abs(right)), f"{state}: {shown} {right}")

    def test_the_hidden_layer_is_that_of_the_program(self):
        self.visit(SMALL + "&view=phase&phase.pair=1,2&phase.width=30")
        self.assertEqual(self.table("hidden"), [])
        self.page.choose("[data-key='phase.representation']", True)
        self.page.settled()
        shown = self.table("hidden")
        for row, known in zip(shown, self.line("phase")["representation"], strict=True):
            for value, name in zip(row, ("alignment", "change", "change_alignment")):
                self.close_to(value, known[name], name)

    def test_forecast_of_another_order_is_that_of_the_program(self):
        for more in ("", "&order=3,1,4,2", "&order=2,1,3,4&mode=ntk&depth=2", "&mode=gibbs&lambda=10&order=4,3,2,1"):
            self.visit(SMALL + more)
            shown, accuracy, pairs = self.table("forgetting"), self.table("accuracy"), self.table("pairs")
            answer = self.line("forecast")["forecast"]
            for t, row in enumerate(shown):
                self.assertEqual(len(row), t + 1)
                for s, value in enumerate(row):
                    self.close_to(value, answer["forgetting"]["mean"][t][s], f"F {t} {s} {more}")
            for row, known in zip(accuracy, answer["test"]["accuracy"]["mean"]):
                for value, right in zip(row, known):
                    self.close_to(value, right, "accuracy")
            for row, pair in zip(pairs, answer["pairs"]):
                self.close_to(row[0], pair["values"]["gamma_rf"], "gamma_rf")
                self.close_to(row[3], pair["values"]["f21"], "F pair")

    def test_phase_of_a_pair_is_that_of_the_program(self):
        self.visit(SMALL + "&view=phase&phase.pair=3,1&phase.width=45")
        shown = {name: self.page.run(f"document.querySelector('[data-name=\"{name}\"]').dataset.value") for name in ("F21", "G21", "regime")}
        answer = self.line("phase")
        self.assertEqual(shown["regime"], answer["location"]["regime"].replace("-", " "))
        self.close_to(float(shown["G21"]), answer["widths"][0]["g21"], "G21")
        self.assertAlmostEqual(answer["location"]["alpha"], 60 / 45, places=12)

    def test_phase_at_a_finite_penalty_is_that_of_the_program(self):
        for penalty, width in (("10", 40), ("1000", 120)):
            self.visit(f"{SMALL}&view=phase&phase.pair=3,1&phase.width={width}&phase.lambda={penalty}")
            shown = {name: float(self.page.run(f"document.querySelector('[data-name=\"{name}\"]').dataset.value")) for name in ("F21", "G21", "G22")}
            # The program prints its curves at the loads that it is given.
            (curve,) = self.line("phase", "--alpha", str(60 / width))["curves"]
            (point,) = curve["points"]
            for name, value in shown.items():
                known = point[name.lower()]
                self.close_to(value, known["coefficient"] * float(penalty) ** known["exponent"], f"{name} {penalty} {width}")

    def test_advice_is_that_of_the_program(self):
        self.visit("data=mnist-sample&protocol=permuted&length=3&examples=30&test-examples=20&view=advise")
        shown = self.table("remedies")
        answer = self.line("advise")["advice"]
        known = [r for r in answer["remedies"] if r["applies"]]
        self.assertEqual(len([row for row in shown if row]), len(known))
        for row, remedy in zip(shown, known):
            self.close_to(row[0], remedy["forgetting"], remedy["remedy"])
        for row, value in zip(shown, self.python("advise", "[r['forgetting'] for r in answer.remedies if r['applies']]") or ()):
            self.close_to(row[0], value, "Python")
