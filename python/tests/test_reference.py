"""Against reference numbers that were computed independently."""

import numpy as np
import pytest

import ebbing


def given(tasks):
    return [(task["x"], task["y"]) for task in tasks]


def test_kernels(reference):
    names = {"k1": "k1", "k0": "k0", "ktilde": "k_tilde", "delta": "delta_k"}
    for case in reference("kernels"):
        settings = {key: case[key] for key in ("depth", "t", "s", "activation")} | {"sigma": case["sigma2"] ** 0.5}
        for kind, name in names.items():
            got = ebbing.kernel([case["x"]], [case["xp"]], lam=case["lambda"], kind=kind, **settings)[0, 0]
            # Cosines from dot products cost half the digits of ΔK and K̃ near equal and opposite inputs; sizes are those of K¹.
            size = max(abs(case["k1"]), abs(case[name])) * (case["m1"] if kind == "ktilde" else 1)
            assert got == pytest.approx(case[name], abs=1e-9 * size), (kind, case)


def test_order_parameters(reference):
    for case in reference("order_parameters"):
        (X1, y1), (X2, y2) = given(case["tasks"])
        got = ebbing.order_parameters(X1, y1, X2, y2, depth=case["depth"])
        for name in ("gamma_feature", "gamma_rf", "gamma_rule", "gamma_sim", "cos", "proj"):
            # Rounding times the condition of the kernels of a few examples.
            assert getattr(got, name) == pytest.approx(case[name], rel=1e-8, abs=1e-8), name
        assert got.f21 == pytest.approx(case["f21_exact"], rel=1e-8, abs=1e-12)
        assert got.conflict == pytest.approx(got.gamma_rf - got.gamma_rule, abs=1e-12)


def test_single_head(reference):
    for case in reference("single_head"):
        for result in case["results"]:
            settings = {"depth": case["depth"], "mode": result["mode"], "sigma": result["sigma2"] ** 0.5}
            if result["lambda"] is not None:
                settings["lam"] = result["lambda"]
            network = ebbing.SingleHead(given(case["tasks"]), **settings)
            for t, want in enumerate(result["mean"]):
                # Rounding on both sides times the condition of the kernels.
                np.testing.assert_allclose(network.mean(case["query"], t + 1), want, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(network.forgetting(), result["forgetting"], rtol=1e-8, atol=1e-15)
            if "variance_after_last" in result:
                np.testing.assert_allclose(
                    network.variance(case["query"]), result["variance_after_last"], rtol=1e-8, atol=1e-10
                )


def test_multi_head(reference):
    for case in reference("multi_head"):
        beta = float("inf") if case["beta"] is None else case["beta"]
        settings = {"width": case["width"], "sigma": case["sigma2"] ** 0.5, "lam": case["lambda"], "beta": beta}
        network = ebbing.MultiHead(given(case["tasks"]), **settings)
        assert network.residual < 1e-10 and network.alpha == pytest.approx(case["alpha"], rel=1e-12)
        # The reference solves its equations to about 1e-10, which its factors follow to about 1e-8.
        np.testing.assert_allclose(network.u1, case["u1"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(network.u0, case["u0"], rtol=1e-6, atol=1e-9)
        forgetting = network.forgetting()
        for head in case["heads"]:
            h = head["head"]
            np.testing.assert_allclose(network.mean(case["query"], h), head["mean"], atol=1e-6)
            np.testing.assert_allclose(network.variance(case["query"], h), head["variance"], atol=1e-6)
            assert forgetting[-1, h - 1] == pytest.approx(head["forgetting"], rel=1e-6, abs=1e-9)
        # The same at that load as a point of a curve; α to rounding.
        del settings["width"]
        curve = ebbing.phase(given(case["tasks"]), alpha=case["alpha"], **settings).curves
        assert curve.u_tt == pytest.approx(case["u1"][-1][-1], rel=1e-6)
        assert curve.f_t1 == pytest.approx(case["heads"][0]["forgetting"], rel=1e-6, abs=1e-9)
        for task, want in zip(case["tasks"], case["hidden_kernel_learned"] or []):
            learned = network.hidden_kernel(task["x"], learned=True)
            np.testing.assert_allclose(learned, want, rtol=1e-6, atol=1e-7)
            fresh = ebbing.kernel(task["x"], t=2, s=2, lam=case["lambda"], sigma=case["sigma2"] ** 0.5, kind="k1")
            np.testing.assert_allclose(network.hidden_kernel(task["x"]), fresh + learned, rtol=1e-12)


REGIMES = {"FR": "fixed_representations", "OF": "overfitting", "G": "generalization"}


def test_two_task_limit(reference):
    for case in reference("two_task_limit"):
        (X1, y1), (X2, y2) = given(case["tasks"])
        limit = ebbing.two_task_limit(X1, y1, X2, y2, alpha=[point["alpha"] for point in case["points"]])
        for i, point in enumerate(case["points"]):
            assert limit.regime[i] == REGIMES[point["regime"]]
            # Root finding to rounding on both sides; the kernels' condition costs a few digits.
            for name in ("u11", "u12", "rho", "q"):
                assert getattr(limit, name)[i] == pytest.approx(point[name], rel=1e-8, abs=1e-10), name
            d = next(point[name] for name in ("d", "d_sqrtlam", "d_lam") if name in point)
            u0 = point["u220"] if "u220" in point else point["u220_over_sqrtlam"]
            assert limit.d[i] == pytest.approx(d, rel=1e-8)
            assert limit.u0[i] == pytest.approx(u0, rel=1e-8)
            assert limit.u0_exponent[i] == (0.5 if point["regime"] == "OF" else 0)
        curves = ebbing.phase([(X1, y1), (X2, y2)], lam=[np.inf], alpha=limit.alpha).curves
        for ours, theirs in (("regime", "regime"), ("u_tt", "u22"), ("u_tt_exponent", "u22_exponent"), ("f_t1", "f21")):
            assert getattr(curves, ours)[0].tolist() == getattr(limit, theirs).tolist()
        critical = ebbing.critical_load(X1, y1, X2, y2)
        assert critical.alpha_c == pytest.approx(case["alpha_c_exact"], rel=1e-9)
        assert critical.gamma_sim == pytest.approx(case["gamma_sim"], rel=1e-9)
        assert critical.alpha_c_gamma_sim == pytest.approx(case["alpha_c_gamma_sim"], rel=1e-9)
        assert curves.critical == critical
        assert [critical.regime(point["alpha"]) for point in case["points"]] == limit.regime.tolist()


def test_sampled_posteriors(reference):
    case = reference("posterior_1.5_5_40")
    pair = [(case[name]["x"], case[name]["y"]) for name in ("task1", "task2")]
    settings = {"lam": case["lambda"], "sigma": case["sigma2"] ** 0.5, "beta": case["beta"]}
    network = ebbing.MultiHead(pair, width=case["width"], **settings)
    # The same equations, solved there to about 1e-10.
    assert network.u1[0, 0] == pytest.approx(case["theory"]["u11"], rel=1e-6)
    assert network.u1[0, 1] == pytest.approx(case["theory"]["u12"], rel=1e-6)
