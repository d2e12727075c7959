//! The claims of figure 7.

use super::super::common::{Trend, TrendClaim};
use super::super::loads::{largest, log_slope};
use super::Balance;
use crate::claim::Claim;
use ebbing::stats::Estimate;
use ebbing_studies::{Frame, Result};

pub(super) fn claims(frame: &Frame, protocol: &str, letters: [char; 3]) -> Result<Vec<Claim>> {
    let [losses, best, kernels] = letters.map(|letter| format!("7{letter}"));
    let balance = Balance::new(frame, protocol)?;
    let limit = frame.only("part", "limit")?.only("protocol", protocol)?;
    let critical = -largest(limit.numbers("alpha_c")?.iter().map(|a| -a));
    let mut claims = vec![Claim::above(
        &losses,
        &format!("{protocol}: smallest exact α_c over draws, above the load 3"),
        critical,
        3.0,
    )];
    claims.extend(against_lambda(&balance, protocol, &losses)?);
    claims.extend(optimum(&balance, protocol, &best)?);
    claims.extend(representations(&balance, &limit, protocol, &kernels)?);
    Ok(claims)
}

/// Panels a and d.
fn against_lambda(balance: &Balance, protocol: &str, panel: &str) -> Result<Vec<Claim>> {
    let (lambdas, f21, g22) = (&balance.lambdas, balance.means("f21")?, balance.means("g22")?);
    let estimates = |name: &str| balance.rows.iter().map(|rows| rows.mean(name)).collect::<Result<Vec<_>>>();
    let series = |name: &str, values: Vec<Estimate>| [(name.to_string(), values)];
    let past = lambdas.partition_point(|l| *l < balance.best_lambda);
    let beyond = estimates("g22")?.split_off(past);
    let last = f21.len() - 1;
    let end: Vec<usize> = (0..=last).filter(|&k| lambdas[k] >= 0.099 * lambdas[last]).collect();
    let pick = |v: &[f64]| end.iter().map(|&k| v[k]).collect::<Vec<f64>>();
    let dip = 1.0 - (-largest(g22.iter().map(|g| -g))) / g22[0];
    Ok(vec![
        Trend::Falls.claim(
            panel,
            &format!("{protocol}: F_21 falls with λ: rank correlation"),
            &series("F_21", estimates("f21")?),
        )?,
        Claim::below(panel, &format!("{protocol}: F_21 at λ = 1e6"), f21[last], 0.01),
        Trend::Rises.claim(
            panel,
            &format!("{protocol}: G_22 rises with λ beyond the optimum: rank correlation"),
            &series("G_22", beyond),
        )?,
        Claim::near(
            panel,
            &format!("{protocol}: power of λ in G_22 over the last decade"),
            log_slope(&pick(lambdas), &pick(&g22)),
            0.5,
            0.05,
        ),
        Claim::below(panel, &format!("{protocol}: dip of G_22 below its value at the smallest λ, relative"), dip, 0.05),
    ])
}

/// Panels b and e.
fn optimum(balance: &Balance, protocol: &str, panel: &str) -> Result<Vec<Claim>> {
    let best = &balance.best;
    let at_edge = best.numbers("at_edge")?.iter().filter(|edge| **edge != 0.0).count();
    let (worst, spread) = super::worst(best)?;
    let error = spread / (best.len() as f64).sqrt();
    let end = balance.worst[balance.worst.len() - 1].0;
    let (g21, g22) = (best.mean("g21")?.value, best.mean("g22")?.value);
    let lambdas = best.numbers("lambda")?;
    let (low, high) = (-largest(lambdas.iter().map(|l| -l)), largest(lambdas.iter().copied()));
    Ok(vec![
        Claim::new(
            panel,
            &format!("{protocol}: λ that minimizes max(G_21, G_22), mean over draws"),
            balance.best_lambda,
            "inside the range searched",
            at_edge == 0,
        )
        .note(format!("from {low:.3} to {high:.3}, searched from {} to {}", super::RANGE.0, super::RANGE.1)),
        Claim::below(panel, &format!("{protocol}: larger of G_21 and G_22 there"), worst, 1.5)
            .error((best.len() > 1).then_some(error))
            .note(format!("means G_21 = {g21:.3}, G_22 = {g22:.3}")),
        Claim::new(
            panel,
            &format!("{protocol}: the same over its value at λ = 1e6"),
            worst / end,
            "< 1/3",
            3.0 * worst < end,
        ),
    ])
}

/// Panels c and f.
fn representations(balance: &Balance, limit: &Frame, protocol: &str, panel: &str) -> Result<Vec<Claim>> {
    let best = &balance.best;
    let [first, second] = ["alignment_1", "alignment_2"]
        .map(|name| -> Result<(f64, f64)> { Ok((limit.mean(name)?.value, best.mean(name)?.value)) });
    let ((first, first_best), (second, second_best)) = (first?, second?);
    let note = format!("λ → ∞ {second:.3}, best λ {second_best:.3}");
    let most = |name: &str| -> Result<f64> { Ok(largest(limit.numbers(name)?)) };
    let change = -largest(limit.numbers("change")?.iter().map(|c| -c));
    let f21 = most("f21")?;
    Ok(vec![
        Claim::above(panel, &format!("{protocol}: alignment of K(X_1) with its labels, λ → ∞"), first, 0.5),
        Claim::above(panel, &format!("{protocol}: alignment of K(X_1) with its labels, best λ"), first_best, 0.5),
        Claim::below(
            panel,
            &format!("{protocol}: alignment of K(X_2) at λ → ∞ over that at the best λ"),
            second / second_best,
            0.25,
        )
        .note(note),
        Claim::below(
            panel,
            &format!("{protocol}: change of K(X_2) when Y_2 is shuffled, overfitting, relative"),
            most("shuffled_kernel")?,
            1e-8,
        ),
        Claim::below(
            panel,
            &format!("{protocol}: change of ΔΦ·ΔΦ when Y_2 is shuffled, overfitting, relative"),
            most("shuffled_change")?,
            1e-8,
        ),
        Claim::below(
            panel,
            &format!("{protocol}: |ΔΦ·ΔΦ| at α = 0.5 over that at α = 3"),
            most("change_fixed")?,
            1e-10,
        ),
        Claim::above(panel, &format!("{protocol}: mean |ΔΦ(x)|² in overfitting, smallest over draws"), change, 1e-6)
            .note(format!("there F_21 = {f21:.1e}")),
        Claim::below(panel, &format!("{protocol}: F_21 at λ → ∞, overfitting"), f21, 1e-8),
    ])
}
