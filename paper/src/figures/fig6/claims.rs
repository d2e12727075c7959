//! The claims of figure 6.

use super::super::common::{Trend, TrendClaim};
use super::super::loads::{estimates_by, largest, mean, means_by};
use super::{Benchmark, Fig6, critical_rows, percent};
use crate::claim::Claim;
use crate::statistics::median;
use ebbing_studies::{Frame, Result};

pub(super) fn claims(study: &Fig6, benchmark: &Benchmark, frame: &Frame) -> Result<Vec<Claim>> {
    let rows = critical_rows(frame, benchmark, "given")?;
    let mut claims = similarity(study, benchmark, &rows)?;
    claims.extend(diagram(benchmark, &rows, &critical_rows(frame, benchmark, "scaled")?)?);
    claims.extend(transition(study, benchmark, frame, &rows)?);
    Ok(claims)
}

/// Panels a and d.
fn similarity(study: &Fig6, benchmark: &Benchmark, rows: &Frame) -> Result<Vec<Claim>> {
    let panel = panel(benchmark, 0);
    let what = benchmark.protocol.axis();
    let at = |ratio: f64| mean(&rows.only("ratio", ratio)?, "gamma_sim");
    let same = at(0.0)?;
    // Rounding through two kernels of condition numbers below 1e6.
    let mut claims = vec![Claim::near(&panel, &format!("γ_sim at {what} 0 %"), same.value, 1.0, 1e-6)];
    for ((ratio, printed, _), tolerance) in benchmark.examples.into_iter().zip(benchmark.tolerances) {
        let gamma = at(ratio)?;
        let statement = format!("γ_sim at {what} {}", percent(ratio));
        let claim = Claim::near(&panel, &statement, gamma.value, printed, tolerance);
        let claim = claim.error(gamma.standard_error).paper(printed);
        claims.push(if study.setup.is_paper() { claim } else { claim.open(study.setup.not_paper()) });
    }
    let series = ("γ_sim".into(), estimates_by(rows, "ratio", "gamma_sim")?.1);
    claims.push(Trend::Falls.claim(&panel, &format!("γ_sim falls with the {what}: rank correlation"), &[series])?);
    let last = at(1.0)?;
    let claim = Claim::below(&panel, &format!("γ_sim at {what} 100 %"), last.value, 0.1).error(last.standard_error);
    let spread = rows.only("ratio", 1.0)?.deviation("gamma_sim")?;
    let note = format!(
        "standard deviation over {} draws: {spread:.3}; kernels of unrelated tasks overlap by chance, the more so the larger P is",
        study.seeds
    );
    claims.push(claim.note(note));
    Ok(claims)
}

/// Panels b and e.
fn diagram(benchmark: &Benchmark, given: &Frame, scaled: &Frame) -> Result<Vec<Claim>> {
    let panel = panel(benchmark, 1);
    let regimes = |low: f64, high: f64| -> Result<(usize, usize)> {
        let loads = given.having("ratio", |r| r > low && r <= high)?.numbers("alpha_c")?;
        Ok((loads.iter().filter(|a| **a > 1.0 && a.is_finite()).count(), loads.len()))
    };
    let ((three, all), (rest, beyond)) = (regimes(0.0, 0.5)?, regimes(0.5, 1.0)?);
    let share = three as f64 / all as f64;
    let statement =
        format!("share of draws with three regimes, 1 < α_c < ∞, for {} up to 50 %", benchmark.protocol.axis());
    let note = format!("{rest} of {beyond} draws beyond 50 % have an α_c up to 1e6");
    let mut claims = vec![Claim::new(&panel, &statement, share, "= 1", share == 1.0).note(note)];
    for (rows, labels) in [(given, "labels as given"), (scaled, "labels with YᵀK⁻¹Y/P = 1")] {
        let gaps = gaps(&rows.having("ratio", |r| r > 0.0 && r <= 0.15)?)?;
        let statement = format!("median |γ_sim^−2/α_c − 1| for {} up to 15 %, {labels}", benchmark.protocol.axis());
        let all = gaps.iter().map(|(r, gap)| format!("{}: {:+.3}", percent(*r), gap)).collect::<Vec<_>>().join(", ");
        let sizes: Vec<f64> = gaps.iter().map(|(_, gap)| gap.abs()).collect();
        claims.push(Claim::below(&panel, &statement, median(&sizes), 0.1).note(all));
    }
    Ok(claims)
}

/// γ_sim^−2/α_c − 1 at every ratio, of means over draws.
pub(super) fn gaps(rows: &Frame) -> Result<Vec<(f64, f64)>> {
    let (ratios, gamma, _) = means_by(rows, "ratio", "gamma_sim")?;
    let (_, exact, _) = means_by(rows, "ratio", "alpha_c")?;
    let law = |g: f64| if g > 0.0 { g.powi(-2) } else { f64::INFINITY };
    Ok((0..ratios.len()).map(|k| (ratios[k], law(gamma[k]) / exact[k] - 1.0)).collect())
}

/// Panels c and f.
fn transition(study: &Fig6, benchmark: &Benchmark, frame: &Frame, rows: &Frame) -> Result<Vec<Claim>> {
    let panel = panel(benchmark, 2);
    let mut claims = Vec::new();
    for ((ratio, gamma, printed), tolerance) in benchmark.examples.into_iter().zip(benchmark.tolerances) {
        let name = format!("{} {}", benchmark.protocol.axis(), percent(ratio));
        let here = rows.only("ratio", ratio)?;
        let (exact, law) = (mean(&here, "alpha_c")?, mean(&here, "gamma_sim")?.value.powi(-2));
        // What the tolerance of γ_sim leaves to its power.
        let (low, high) = ((gamma + tolerance).powi(-2), (gamma - tolerance).powi(-2));
        let band = format!("{low:.2} … {high:.2}");
        let claim =
            Claim::new(&panel, &format!("{name}: γ_sim^−2"), law, &band, (low..=high).contains(&law)).paper(printed);
        let beside = format!("exact α_c = {:.3} ± {:.3}", exact.value, exact.standard_error.unwrap_or(f64::NAN));
        claims.push(if study.setup.is_paper() {
            claim.note(beside)
        } else {
            claim.open(format!("{beside}; {}", study.setup.not_paper()))
        });
        let curves = here.having("alpha_c_curve", |_| true)?;
        let pairs = curves.numbers("alpha_c_curve")?.into_iter().zip(curves.numbers("alpha_c")?);
        let gap = largest(pairs.map(|(curve, exact)| (curve / exact - 1.0).abs()));
        claims.push(Claim::below(
            &panel,
            &format!("{name}: α_c of the steepest F_21 against exact, relative"),
            gap,
            0.1,
        ));
        let points = frame.only("protocol", benchmark.protocol)?.only("ratio", ratio)?.only("part", "curve")?;
        for (column, quantity) in [("g22_exponent", "G_22"), ("u22_exponent", "u1(2,2)")] {
            let gap = first_finite(&points, &here, column)?;
            let statement = format!("{name}: load from which {quantity} is finite against exact α_c, relative");
            claims.push(Claim::below(&panel, &statement, gap, 0.1));
        }
    }
    Ok(claims)
}

/// The largest relative distance, over draws, from α_c of the first load above 1 at which a quantity does not diverge.
fn first_finite(points: &Frame, critical: &Frame, column: &str) -> Result<f64> {
    let mut gaps = Vec::new();
    for seed in points.levels("seed")? {
        let exact = mean(&critical.only("seed", seed)?, "alpha_c")?.value;
        let above = points.only("seed", seed)?.having("alpha", |a| a > 1.0)?.only(column, 0.0)?;
        let first = above.levels("alpha")?.first().copied().unwrap_or(f64::INFINITY);
        gaps.push((first / exact - 1.0).abs());
    }
    Ok(largest(gaps))
}

/// "6a".
fn panel(benchmark: &Benchmark, k: usize) -> String {
    format!("6{}", benchmark.letters[k])
}
