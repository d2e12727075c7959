//! The claims of figure 3.

use super::super::common::{Trend, exactly};
use super::{Fitted, SMALL, binned, examples, slow};
use crate::claim::Claim;
use crate::error::Result;
use crate::figures::targets::Point;
use ebbing::{LinearFit, Mat, VarianceExplained, pearson};

pub(super) fn all(fitted: &[Fitted]) -> Result<Vec<Claim>> {
    let mut claims = short_term(fitted)?;
    claims.extend(two_examples(fitted));
    claims.extend(variance(fitted)?);
    claims.extend(times("3d", &slow(fitted, Point::f21), 5.0)?);
    claims.push(plateaus(fitted));
    Ok(claims)
}

/// a: F_21 on 2(γ_RF − γ_rule), and the inset.
fn short_term(fitted: &[Fitted]) -> Result<Vec<Claim>> {
    let x: Vec<f64> = fitted.iter().map(|f| 2.0 * f.point.conflict()).collect();
    let y: Vec<f64> = fitted.iter().map(|f| f.point.f21()).collect();
    let line = LinearFit::new(&x, &y)?;
    let residual = |(x, y): (&f64, &f64)| y - line.intercept.value - line.slope.value * x;
    let residuals: Vec<f64> = x.iter().zip(&y).map(residual).collect();
    let feature: Vec<f64> = fitted.iter().map(|f| f.point.feature).collect();
    let r = pearson(&residuals, &feature)?;
    let small: Vec<&Point> = fitted.iter().map(|f| &f.point).filter(|p| p.f21() < SMALL).collect();
    let (rf, effect): (Vec<f64>, Vec<f64>) = small.iter().map(|p| (p.rf, p.delta_f21.abs())).unzip();
    let count = format!("{} triples", fitted.len());
    Ok(vec![
        Claim::near("3a", "slope of F_21 on 2(γ_RF − γ_rule)", line.slope.value, 1.0, 0.02)
            .error(line.slope.standard_error)
            .note(&count)
            .if_failing(
                "F_21 equals twice the conflict on average over draws only: with few labelled images and seeds the norms of \
                 what two tasks predict for each other differ",
            ),
        Claim::above("3a", "R² of F_21 on 2(γ_RF − γ_rule)", line.r2.unwrap_or(f64::NAN), 0.99).note(&count),
        Claim::below("3a", "|correlation| of the residuals with γ_feature", r.abs(), 0.2)
            .if_failing("residuals are draws' scatter of a few seeds, alike for all ρ_flip of a pair (ρ_shared, ρ_target)"),
        Trend::Falls
            .scatter("3a inset", "|ΔF_21| falls with γ_RF where F_21 < 0.05", &rf, &effect)?
            .note(format!("{} triples", small.len())),
    ])
}

/// b: two sequences of like F_21.
fn two_examples(fitted: &[Fitted]) -> Vec<Claim> {
    let statement = "the sequence of lower γ_RF has the larger";
    let Some([low, high]) = examples(fitted) else {
        let claim = Claim::new("3b", &format!("{statement} τ_F"), f64::NAN, "> 1", false);
        return vec![claim.note("no two sequences have F_21 within 20 % of each other")];
    };
    let note = format!(
        "(ρ_target, ρ_shared, ρ_flip) = {} with F_21 = {:.3}, γ_RF = {:.3} and {} with {:.3}, {:.3}",
        low.point.name(),
        low.point.f21(),
        low.point.rf,
        high.point.name(),
        high.point.f21(),
        high.point.rf
    );
    let plateau = |f: &Fitted| f.optimum().map_or(f64::NAN, |o| o.0);
    let time = |f: &Fitted| f.tau().unwrap_or(f64::NAN);
    let r2 = |f: &Fitted| f.r2(&f.point.forgetting).unwrap_or(f64::NAN);
    vec![
        Claim::above("3b", &format!("{statement} τ_F: ratio"), time(low) / time(high), 1.0).note(&note),
        Claim::above("3b", &format!("{statement} F_max: ratio"), plateau(low) / plateau(high), 1.0),
        Claim::above("3b", "R² of the worse of the two fits", r2(low).min(r2(high)), 0.98),
    ]
}

/// Normalised shares of γ_feature, γ_RF and γ_rule in the variance of F_21, and of τ_F where enough curves determine it.
pub(super) fn shares(fitted: &[Fitted]) -> Result<(VarianceExplained, Option<VarianceExplained>)> {
    let of = |rows: &[(&Point, f64)]| {
        let x = Mat::from_fn(rows.len(), 3, |i, j| {
            let p = rows[i].0;
            [p.feature, p.rf, p.rule.value][j]
        });
        let y: Vec<f64> = rows.iter().map(|r| r.1).collect();
        VarianceExplained::new(x.as_ref(), &y)
    };
    let short: Vec<(&Point, f64)> = fitted.iter().map(|f| (&f.point, f.point.f21())).collect();
    let long: Vec<(&Point, f64)> = fitted.iter().filter_map(|f| Some((&f.point, f.tau()?))).collect();
    Ok((of(&short)?, of(&long).ok()))
}

/// c: the share of variance that each order parameter explains.
fn variance(fitted: &[Fitted]) -> Result<Vec<Claim>> {
    let (short, long) = shares(fitted)?;
    let known = fitted.iter().filter(|f| f.tau().is_some()).count();
    let others = short.share[1].min(short.share[2]);
    let (long, r2) = long.map_or((vec![f64::NAN; 3], f64::NAN), |long| (long.share, long.r2));
    let lead = long[1] - long[0].max(long[2]);
    let note = format!("shares of γ_feature, γ_RF, γ_rule {long:.3?}, R² = {r2:.3}");
    Ok(vec![
        Claim::below("3c", "share of γ_feature in the variance of F_21", short.share[0], 0.05),
        Claim::above("3c", "smaller share of γ_RF and γ_rule in the variance of F_21", others, 0.3),
        Claim::above("3c", "share of γ_RF in the variance of τ_F", long[1], 0.5).note(format!(
            "{note}; the fits of {} of {} curves have a finite τ_F > 0",
            known,
            fitted.len()
        )),
        Claim::above("3c", "lead of γ_RF over the others in the variance of τ_F", lead, 0.0),
    ])
}

/// d: τ_F against γ_RF where F_21 is small, from points (γ_RF, τ_F); its slope near 0 is `steeper` times that beyond.
pub(in crate::figures) fn times(panel: &str, points: &[(f64, f64)], steeper: f64) -> Result<Vec<Claim>> {
    let means: Vec<f64> = binned(points).iter().map(|b| b[1]).collect();
    let slope = |keep: &dyn Fn(f64) -> bool| {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().filter(|p| keep(p.0)).copied().unzip();
        LinearFit::new(&x, &y).map_or(f64::NAN, |line| line.slope.value)
    };
    let (near, beyond) = (slope(&|g| g < 0.05), slope(&|g| g >= 0.05));
    let ratio = near / beyond;
    let falls = match means.len() {
        0 | 1 => Claim::new(panel, "τ_F falls with γ_RF where F_21 < 0.05", f64::NAN, "rank correlation ≤ −0.9", false)
            .note("fewer than two bins hold a sequence"),
        n => Trend::Falls
            .claim(panel, "τ_F falls with γ_RF where F_21 < 0.05, in bins", &[("bins".into(), exactly(&means))])?
            .note(format!("{} triples in {n} bins", points.len())),
    };
    let statement = "slope of τ_F below γ_RF = 0.05 over that above";
    let holds = near < 0.0 && beyond < 0.0 && ratio > steeper;
    let inset = if panel == "3d" { "3d inset" } else { panel };
    let claim = Claim::new(inset, statement, ratio, &format!("> {steeper}, both negative"), holds);
    Ok(vec![falls, claim.note(format!("slopes {near:.3} and {beyond:.3}"))])
}

/// F_max foretold and fitted, of every curve that determines both.
pub(super) fn foretold(fitted: &[Fitted]) -> (Vec<f64>, Vec<f64>) {
    let both = |f: &Fitted| f.optimum().map(|(f_max, tau)| (-f.point.f21() / (-1.0 / tau).exp_m1(), f_max));
    fitted.iter().filter_map(both).unzip()
}

/// e: F_21/(1 − e^(−1/τ)) against the fitted F_max.
fn plateaus(fitted: &[Fitted]) -> Claim {
    let (x, y) = foretold(fitted);
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let error: f64 = x.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum();
    let spread: f64 = y.iter().map(|b| (b - mean).powi(2)).sum();
    let mut quality: Vec<f64> = fitted.iter().filter_map(|f| f.r2(&f.point.forgetting)).collect();
    quality.sort_by(f64::total_cmp);
    let note = match quality.len() {
        0 => "no fit has a finite τ_F > 0".to_string(),
        n => format!("R² of the {n} curves' own fits: median {:.4}, least {:.4}", quality[n / 2], quality[0]),
    };
    Claim::above("3e", "R² of F_21/(1 − e^(−1/τ_F)) as forecast of the fitted F_max", 1.0 - error / spread, 0.95)
        .note(note)
}
