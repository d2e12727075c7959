//! The claims of figure S7, panels b, c, e, f.

use super::super::common::{Trend, TrendClaim, exactly};
use super::super::loads::log_slope;
use super::{Averaged, Benchmark, LAMBDAS, limits};
use crate::claim::Claim;
use ebbing_studies::{Frame, Result};

pub(super) fn claims(benchmark: &Benchmark, frame: &Frame) -> Result<Vec<Claim>> {
    let [curves, boundary] = benchmark.letters.map(|letter| format!("S7{letter}"));
    let mut claims = example(benchmark, frame, &curves)?;
    claims.extend(shift(benchmark, frame, &boundary)?);
    Ok(claims)
}

/// Panels b and e: both regimes above load 1 with and without an intermediate dataset.
fn example(benchmark: &Benchmark, frame: &Frame, panel: &str) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    let mut critical = [f64::NAN; 2];
    for steps in 0..2 {
        let all = Averaged::new(frame, benchmark, benchmark.example, LAMBDAS[0], steps)?;
        critical[steps] = all.mid_height()?.unwrap_or(f64::NAN);
        // The larger λ has the first draw only.
        let first = frame.only("seed", 0usize)?;
        let at = |lambda: f64| Averaged::new(&first, benchmark, benchmark.example, lambda, steps);
        let (curve, further) = (at(LAMBDAS[0])?, at(LAMBDAS[1])?);
        let found = curve.mid_height()?.unwrap_or(f64::NAN);
        let power = |load: f64| log_slope(&LAMBDAS, &[curve.near(load).1, further.near(load).1]);
        let (inside, beyond) = (found.sqrt(), 2.0 * found);
        let name = format!("{}, S = {steps}", benchmark.protocol);
        claims.push(Claim::above(
            panel,
            &format!("{name}, overfitting (√α_c): power of λ in G_22, λ = 1e6, 1e7"),
            power(inside),
            0.4,
        ));
        claims.push(Claim::below(
            panel,
            &format!("{name}, generalization (2 α_c): power of λ in G_22, λ = 1e6, 1e7"),
            power(beyond),
            0.1,
        ));
        let (kept, lost) = (curve.near(inside).0, curve.near(beyond).0);
        let statement = format!("{name}: F_21 in generalization (2 α_c) over that in overfitting (√α_c)");
        claims.push(Claim::above(panel, &statement, lost / kept, 3.0).note(format!("{lost:.4} and {kept:.4}")));
        let moved = further.mid_height()?.map_or(f64::NAN, |a| (a / found - 1.0).abs());
        claims.push(Claim::below(
            panel,
            &format!("{name}: change of α_c (mid-height) at ten times λ, relative"),
            moved,
            0.05,
        ));
    }
    let (exact, law) = limits(frame, benchmark, benchmark.example)?;
    let statement = format!("{}: α_c(S=1)/α_c(S=0), both by mid-height", benchmark.protocol);
    let note = format!("{:.3} and {:.3}; exact at S = 0: {exact:.3}, γ_sim^−2: {law:.3}", critical[1], critical[0]);
    claims.push(Claim::below(panel, &statement, critical[1] / critical[0], 1.0).note(note));
    Ok(claims)
}

/// α_c at S = 0 and 1 by mid-height at every ratio where both curves show it.
pub(super) fn critical(benchmark: &Benchmark, frame: &Frame) -> Result<Vec<(f64, [f64; 2])>> {
    let mut all = Vec::new();
    for &ratio in benchmark.ratios {
        let at = |steps| Averaged::new(frame, benchmark, ratio, LAMBDAS[0], steps)?.mid_height();
        if let (Some(plain), Some(between)) = (at(0)?, at(1)?) {
            all.push((ratio, [plain, between]));
        }
    }
    Ok(all)
}

/// Panels c and f: how much an intermediate dataset lowers α_c.
fn shift(benchmark: &Benchmark, frame: &Frame, panel: &str) -> Result<Vec<Claim>> {
    let all = critical(benchmark, frame)?;
    let (ratios, gains): (Vec<f64>, Vec<f64>) =
        all.iter().map(|(ratio, [plain, between])| (*ratio, plain - between)).unzip();
    let smallest = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let missing = benchmark.ratios.len() - all.len();
    let note = gains.iter().zip(&ratios).map(|(g, r)| format!("{r}: {g:.2}")).collect::<Vec<_>>().join(", ");
    Ok(vec![
        Claim::new(
            panel,
            &format!("{}: smallest α_c(S=0) − α_c(S=1) over ratios, by mid-height", benchmark.protocol),
            smallest,
            "> 0",
            smallest > 0.0 && missing == 0,
        )
        .note(format!("{note}; {missing} ratios without a transition in range")),
        Trend::Rises.claim(
            panel,
            &format!("{}: it grows with the ratio: rank correlation", benchmark.protocol),
            &[("the difference".into(), exactly(&gains))],
        )?,
    ])
}
