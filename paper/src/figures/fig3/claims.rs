//! The claims of figure 3.

use super::super::common::{Trend, TrendClaim};
use super::{Fitted, SMALL, Slow, binned, examples};
use crate::claim::Claim;
use crate::figures::targets::Point;
use crate::statistics::{LinearFit, median, pearson, spearman};
use ebbing::linalg::Mat;
use ebbing::stats::{Estimate, VarianceExplained};
use ebbing_studies::Result;

pub(super) fn all(fitted: &[Fitted]) -> Result<Vec<Claim>> {
    let mut claims = short_term(fitted)?;
    claims.extend(two_examples(fitted));
    claims.extend(variance(fitted));
    claims.extend(times("3d", &Slow::of(fitted, Point::f21), 5.0)?);
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
                "F_21 equals twice the conflict on average over draws only: with few labeled images and seeds the norms of \
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
    let plateau = |f: &Fitted| f.plateau().unwrap_or(f64::NAN);
    let time = |f: &Fitted| f.tau().unwrap_or(f64::NAN);
    let r2 = |f: &Fitted| f.fit.map_or(f64::NAN, |fit| fit.r2);
    vec![
        Claim::above("3b", &format!("{statement} τ_F: ratio"), time(low) / time(high), 1.0)
            .note(&note)
            .if_failing(JUMP),
        Claim::above("3b", &format!("{statement} F_max: ratio"), plateau(low) / plateau(high), 1.0).if_failing(JUMP),
        Claim::above("3b", "R² of the worse of the two fits", r2(low).min(r2(high)), 0.98).if_failing(JUMP),
    ]
}

/// Why τ_F may not follow γ_RF.
const CONSISTENT: &str = "without flips (ρ_flip = 0) task 1 is forgotten only through images that tasks do not share, slowly and \
                          at a rate set by ρ_shared, whatever γ_RF; the paper does not say whether its grid holds such sequences";

/// Why two curves may not be good exponentials.
const JUMP: &str = "flipped labels make a curve jump at the second task, and what tasks do not share makes it creep after that: the sum \
                   of both is no exponential";

/// Why τ_F of the other sequences may not.
const SHARED: &str =
    "where few targets are shared or few labels flipped, τ_F is set by ρ_shared, the share of images in all tasks";

/// Normalized shares of γ_feature, γ_RF and γ_rule in the variance of a quantity over the ranges of ρ_shared and ρ_target, where it
/// is known of enough points: each counts as much of them as it stands for.
pub(super) fn shares(values: &[(&Point, f64)]) -> Option<VarianceExplained> {
    counted(values, |point| point.span)
}

/// The same with other weights.
fn counted(values: &[(&Point, f64)], weight: impl Fn(&Point) -> f64) -> Option<VarianceExplained> {
    let x = Mat::from_fn(values.len(), 3, |i, j| {
        let p = values[i].0;
        [p.feature, p.rf, p.rule.value][j]
    });
    let y: Vec<f64> = values.iter().map(|v| v.1).collect();
    let weights: Vec<f64> = values.iter().map(|v| weight(v.0)).collect();
    VarianceExplained::weighted(x.as_ref(), &y, &weights).ok()
}

/// F_21 of every point.
pub(super) fn short(fitted: &[Fitted]) -> Vec<(&Point, f64)> {
    fitted.iter().map(|f| (&f.point, f.point.f21())).collect()
}

/// τ_F of every point.
pub(super) fn long(fitted: &[Fitted]) -> Vec<(&Point, f64)> {
    fitted.iter().filter_map(|f| Some((&f.point, f.tau()?))).collect()
}

/// c: the share of variance that each order parameter explains.
fn variance(fitted: &[Fitted]) -> Vec<Claim> {
    let share = |shares: &Option<VarianceExplained>| shares.as_ref().map_or(vec![f64::NAN; 3], |s| s.share.clone());
    let of_f21 = share(&shares(&short(fitted)));
    let mut claims = vec![
        Claim::below("3c", "share of γ_feature in the variance of F_21", of_f21[0], 0.05),
        Claim::above("3c", "smaller share of γ_RF and γ_rule in the variance of F_21", of_f21[1].min(of_f21[2]), 0.3),
    ];
    let all = long(fitted);
    let inconsistent: Vec<(&Point, f64)> = all.iter().filter(|p| p.0.inconsistent()).copied().collect();
    for (which, values, reason) in [("", &all, CONSISTENT), (", ρ_flip = 0 left out", &inconsistent, SHARED)] {
        let found = shares(values);
        let of_tau = share(&found);
        let r2 = found.map_or(f64::NAN, |s| s.r2);
        let logarithm: Vec<(&Point, f64)> = values.iter().map(|(point, tau)| (*point, tau.ln())).collect();
        let of_log = share(&shares(&logarithm));
        let by_point = share(&counted(values, |_| 1.0));
        let here: Vec<&Fitted> = fitted.iter().filter(|f| which.is_empty() || f.point.inconsistent()).collect();
        let note = format!(
            "shares of γ_feature, γ_RF, γ_rule {of_tau:.3?}, R² = {r2:.3}; in the variance of ln τ_F {of_log:.3?}; of τ_F with all points of \
             the mesh alike, which is closer near ρ_target = 0, {by_point:.3?}; {} of {} curves have their optimum at a finite τ_F, {} of \
             them tell it from 0 and ∞",
            values.len(),
            here.len(),
            here.iter().filter(|f| f.fit.is_some_and(|fit| fit.determined)).count()
        );
        let lead = of_tau[1] - of_tau[0].max(of_tau[2]);
        claims.push(
            Claim::above("3c", &format!("share of γ_RF in the variance of τ_F{which}"), of_tau[1], 0.5)
                .note(note)
                .if_failing(reason),
        );
        let statement = format!("lead of γ_RF over the others in the variance of τ_F{which}");
        claims.push(Claim::above("3c", &statement, lead, 0.0).if_failing(reason));
    }
    claims
}

/// d: τ_F against γ_RF where F_21 is small; its slope near 0 is `steeper` times that beyond.
pub(in crate::figures) fn times(panel: &str, points: &Slow, steeper: f64) -> Result<Vec<Claim>> {
    let mut claims = vec![];
    // Bins of small γ_RF hold sequences of one or two ρ_shared each: how τ_F falls at one of them is reported beside.
    let mut each = vec![];
    for (share, points) in &points.by_shared {
        let (rf, tau): (Vec<f64>, Vec<f64>) = binned(points).iter().map(|bin| (bin[0], bin[1])).unzip();
        if let (true, Ok(rank)) = (rf.len() > 2, spearman(&rf, &tau)) {
            each.push(format!("{share}: {rank:.2}"));
        }
    }
    let each = format!("rank correlation over bins at one ρ_shared: {}", each.join(", "));
    for (which, points, reason) in
        [("", &points.all, CONSISTENT), (", ρ_flip = 0 left out", &points.inconsistent, SHARED)]
    {
        let in_bin = |&[_, value, deviation, n]: &[f64; 4]| {
            // One sequence in a bin shows no scatter.
            Estimate { value, standard_error: (n > 1.0).then(|| deviation / n.sqrt()) }
        };
        let means: Vec<Estimate> = binned(points).iter().map(in_bin).collect();
        let statement = format!("τ_F falls with γ_RF where F_21 < 0.05, in bins{which}");
        let falls = match means.len() {
            0 | 1 => Claim::new(panel, &statement, f64::NAN, "rank correlation ≤ −0.9", false)
                .note("fewer than two bins hold a sequence"),
            n => Trend::Falls
                .claim(panel, &statement, &[("bins".into(), means)])?
                .note(format!("{} sequences in {n} bins; {each}", points.len())),
        };
        let slope = |keep: &dyn Fn(f64) -> bool| {
            let (x, y): (Vec<f64>, Vec<f64>) = points.iter().filter(|p| keep(p.0)).copied().unzip();
            LinearFit::new(&x, &y).map_or(f64::NAN, |line| line.slope.value)
        };
        let (near, beyond) = (slope(&|g| g < 0.05), slope(&|g| g >= 0.05));
        let holds = near < 0.0 && beyond < 0.0 && near / beyond > steeper;
        let statement = format!("slope of τ_F below γ_RF = 0.05 over that above{which}");
        let inset = if panel == "3d" { "3d inset" } else { panel };
        let claim = Claim::new(inset, &statement, near / beyond, &format!("> {steeper}, both negative"), holds);
        claims.push(falls.if_failing(reason));
        claims.push(claim.note(format!("slopes {near:.3} and {beyond:.3}")).if_failing(reason));
    }
    Ok(claims)
}

/// F_max predicted and fitted, of every curve.
pub(super) fn predicted(fitted: &[Fitted]) -> (Vec<f64>, Vec<f64>) {
    let both = |f: &Fitted| Some((-f.point.f21() / (-1.0 / f.tau()?).exp_m1(), f.plateau()?));
    fitted.iter().filter_map(both).unzip()
}

/// e: F_21/(1 − e^(−1/τ)) against the fitted F_max.
fn plateaus(fitted: &[Fitted]) -> Claim {
    let (x, y) = predicted(fitted);
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let error: f64 = x.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum();
    let spread: f64 = y.iter().map(|b| (b - mean).powi(2)).sum();
    let quality: Vec<f64> = fitted.iter().filter_map(|f| Some(f.fit?.r2)).collect();
    let note = match quality.len() {
        0 => "no curve has a finite τ_F".to_string(),
        n => {
            let least = quality.iter().copied().fold(f64::INFINITY, f64::min);
            format!("R² of the {n} curves' own fits: median {:.4}, least {least:.4}", median(&quality))
        }
    };
    Claim::above("3e", "R² of F_21/(1 − e^(−1/τ_F)) as forecast of the fitted F_max", 1.0 - error / spread, 0.95)
        .note(note)
}
