//! The claims of figure 4.

use super::Figure4;
use super::series::{Long, Series};
use crate::claim::Claim;
use crate::figures::common::{Trend, TrendClaim};
use crate::figures::loads;
use crate::statistics::LinearFit;
use ebbing::stats::Estimate;
use ebbing_studies::Result;

/// Why forgetting may not fall with depth.
const SHALLOW: &str = "at small P and few permuted pixels forgetting after task 2 hardly depends on L; at P = 2000 (one seed of each \
                       source) it falls at 15 %, and at 5 % it is least near L = 5 and 8 to 21 % larger at L = 9";

/// Why it may not rise with the ratio.
const DEEP: &str = "dissimilar tasks disturb each other the less the fewer examples they have and the deeper the network: MNIST, all \
                    pixels permuted, L = 9, one seed: F_21 = 0.04 at P = 350, 0.15 at P = 2000; 5 %: 0.03 at both";

type Named = Vec<(String, Vec<Estimate>)>;

fn named(series: &[&Series], of: impl Fn(&Series) -> Vec<Estimate>) -> Named {
    series.iter().map(|s| (s.name.clone(), of(s))).collect()
}

/// The same numbers by depth: along the permutation ratios.
fn by_depth(depths: &[usize], series: &[&Series], of: impl Fn(&Series) -> Vec<Estimate>) -> Named {
    let along = |k: usize| series.iter().map(|s| of(s)[k]).collect();
    depths.iter().enumerate().map(|(k, depth)| (format!("L = {depth}"), along(k))).collect()
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

pub(super) fn all(study: &Figure4, series: &[Series]) -> Result<Vec<Claim>> {
    let every: Vec<&Series> = series.iter().collect();
    let permuted: Vec<&Series> = series.iter().filter(|s| s.ratio.is_some()).collect();
    let split: Vec<&Series> = series.iter().filter(|s| s.ratio.is_none()).collect();
    let long: Vec<&Series> = series.iter().filter(|s| s.long.is_some()).collect();
    let followed: Vec<(&str, &Long)> =
        series.iter().filter_map(|s| Some((s.name.as_str(), s.long.as_ref()?))).collect();
    let mut claims = short_term(study, &every, &permuted, &split, &long)?;
    claims.extend(long_term(study, &followed)?);
    claims.extend(order_parameters(study, &every, &split, &long)?);
    claims.extend(conflict(study, &every, &permuted)?);
    claims.push(times(&followed)?);
    Ok(claims)
}

/// a.
fn short_term(
    study: &Figure4,
    every: &[&Series],
    permuted: &[&Series],
    split: &[&Series],
    long: &[&Series],
) -> Result<Vec<Claim>> {
    let gap = |k: usize| {
        let least = split.iter().map(|s| s.f21[k].value).fold(f64::INFINITY, f64::min);
        least - largest(long.iter().map(|s| s.f21[k].value))
    };
    let least = (0..study.depths.len()).map(gap).fold(f64::INFINITY, f64::min);
    Ok(vec![
        Trend::Falls
            .claim("4a", "F_21 falls with L in every sequence", &named(every, |s| s.f21.clone()))?
            .if_failing(SHALLOW),
        Trend::Rises
            .claim(
                "4a",
                "F_21 rises with the permutation ratio at every L",
                &by_depth(&study.depths, permuted, |s| s.f21.clone()),
            )?
            .if_failing(DEEP),
        Claim::above("4a", "F_21 of splits minus that of 5-15 % permutation, least over L", least, 0.0),
    ])
}

/// b and c.
fn long_term(study: &Figure4, long: &[(&str, &Long)]) -> Result<Vec<Claim>> {
    let unfit: Vec<String> = long.iter().flat_map(|(_, l)| l.unfit.clone()).collect();
    let missing = match unfit.len() {
        0 => "every fit has a finite τ_F > 0".to_string(),
        n => format!("{n} fits have no finite τ_F > 0: {}", unfit.join(", ")),
    };
    let known: Named = long
        .iter()
        .map(|(name, l)| (name.to_string(), l.tau.iter().flatten().copied().collect::<Vec<Estimate>>()))
        .filter(|(_, taus)| taus.len() > 1)
        .collect();
    let claim = Trend::Rises.claim("4b", "τ_F rises with L at each ratio", &known)?;
    let note = if claim.note.is_empty() { missing } else { format!("{}; {missing}", claim.note) };
    let range = |values: &[f64]| {
        let (low, high) = (values.iter().copied().fold(f64::INFINITY, f64::min), largest(values.iter().copied()));
        (high - low) / (values.iter().sum::<f64>() / values.len() as f64)
    };
    let mut minima = vec![];
    let mut worst = f64::NEG_INFINITY;
    for (name, l) in long {
        let known: Vec<(usize, f64)> =
            study.depths.iter().zip(&l.f_max).filter_map(|(depth, f)| Some((*depth, f.as_ref()?.value))).collect();
        let plateau: Vec<f64> = known.iter().map(|k| k.1).collect();
        let short: Vec<f64> = l.f21.iter().map(|f| f.value).collect();
        worst = worst.max(range(&plateau) / range(&short));
        if let Some((depth, value)) = known.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
            minima.push(format!("{name}: least F_max = {value:.3} at L = {depth}"));
        }
    }
    let statement = "relative range over L of F_max over that of F_21, largest over ratios";
    let size = "at small P forgetting after task 2 hardly depends on L at 5-15 %, so that the range of F_max is the larger one";
    Ok(vec![claim.note(note), Claim::below("4c", statement, worst, 1.0).note(minima.join("; ")).if_failing(size)])
}

/// d.
fn order_parameters(study: &Figure4, every: &[&Series], split: &[&Series], long: &[&Series]) -> Result<Vec<Claim>> {
    let depths = 0..study.depths.len();
    let share = |s: &Series, k: usize| s.rule[k].value / s.rf[k].value;
    // NaN where one draw leaves no error: then the claim cannot be judged.
    let errors = |s: &Series, k: usize| s.rule[k].value.abs() / s.rule[k].standard_error.unwrap_or(f64::NAN);
    let of_splits = loads::largest(split.iter().flat_map(|s| depths.clone().map(|k| errors(s, k))));
    let shares: Vec<String> = split
        .iter()
        .map(|s| format!("{}: {:.3}", s.name, largest(depths.clone().map(|k| share(s, k).abs()))))
        .collect();
    let of_long = -largest(long.iter().flat_map(|s| depths.clone().map(|k| -share(s, k))));
    let outside = |s: &Series, k: usize| (-s.rule[k].value).max(s.rule[k].value - s.rf[k].value);
    let beyond = largest(every.iter().flat_map(|s| depths.clone().map(|k| outside(s, k))));
    let both: Named = named(long, |s| s.rf.clone()).into_iter().chain(named(long, |s| s.rule.clone())).collect();
    Ok(vec![
        Claim::below("4d", "splits: largest distance of the mean γ_rule from 0, in standard errors", of_splits, 2.0)
            .note(format!("largest |γ_rule|/γ_RF: {}", shares.join(", "))),
        Trend::Falls.claim("4d", "γ_RF of the splits falls with L", &named(split, |s| s.rf.clone()))?,
        Claim::above("4d", "smallest γ_rule/γ_RF at 5-15 %", of_long, 0.8),
        Trend::Falls.claim("4d", "γ_RF and γ_rule at 5-15 % fall with L", &both)?,
        Claim::new("4d", "0 ≤ γ_rule ≤ γ_RF: largest excess", beyond, "≤ 0.02", beyond <= 0.02),
    ])
}

/// e.
fn conflict(study: &Figure4, every: &[&Series], permuted: &[&Series]) -> Result<Vec<Claim>> {
    let x: Vec<f64> = every.iter().flat_map(|s| s.twice_conflict()).collect();
    let y: Vec<f64> = every.iter().flat_map(|s| s.f21.iter().map(|f| f.value)).collect();
    let line = LinearFit::new(&x, &y)?;
    Ok(vec![
        Claim::near("4e", "slope of F_21 on 2(γ_RF − γ_rule)", line.slope.value, 1.0, 0.03)
            .error(line.slope.standard_error),
        Claim::above("4e", "R² of F_21 on 2(γ_RF − γ_rule)", line.r2.unwrap_or(f64::NAN), 0.98),
        Trend::Falls
            .claim("4e", "the conflict falls with L in every sequence", &named(every, Series::conflict))?
            .if_failing(SHALLOW),
        Trend::Rises
            .claim(
                "4e",
                "the conflict rises with the permutation ratio at every L",
                &by_depth(&study.depths, permuted, Series::conflict),
            )?
            .if_failing(DEEP),
    ])
}

/// Points (γ_RF, τ_F) of a ratio.
pub(super) fn points(long: &Long) -> (Vec<f64>, Vec<f64>) {
    long.rf.iter().zip(&long.tau).filter_map(|(rf, tau)| Some((rf.value, tau.as_ref()?.value))).unzip()
}

/// f.
fn times(long: &[(&str, &Long)]) -> Result<Claim> {
    let (x, y): (Vec<Vec<f64>>, Vec<Vec<f64>>) = long.iter().map(|(_, l)| points(l)).unzip();
    let statement = "τ_F falls with γ_RF over all ratios of 5-15 % and depths";
    Trend::Falls.scatter("4f", statement, &x.concat(), &y.concat())
}
