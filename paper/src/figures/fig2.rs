//! Figure 2e-g: how the three order parameters follow the settings of the target-distractor task.

use super::common::{CIFAR, Trend, TrendClaim, data_title, exactly, plain};
use super::targets::{Point, Targets};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing_show::{Figure, Line, Markers, Panel, Rgb};
use ebbing_studies::{Frame, Result, Study};

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "2",
    panels: "e-g",
    shows: "how the order parameters follow the shared images, shared targets and flipped labels of target-distractor tasks",
    needs: Needs::Theory,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(Figure2 { targets: targets(scale, images) }),
};

fn targets(scale: Scale, images: Images) -> Targets {
    let data = images.name(CIFAR);
    let p = match (scale, images.few()) {
        (Scale::Paper, false) => 2000,
        (Scale::Quick, false) => 500,
        (_, true) => 250,
    };
    let (seeds, labelings, shared) = match scale {
        Scale::Paper => (40, 1, vec![0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]),
        Scale::Quick => (6, 8, vec![0.0, 0.1, 0.5, 0.9, 1.0]),
    };
    let (target, flip) = (vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0], vec![0.0, 0.1, 0.2, 0.3, 0.4, 0.5]);
    Targets { data, p, tasks: 2, depth: 10, seeds, labelings, ends: false, full: false, shared, target, flip }
}

pub(super) struct Figure2 {
    targets: Targets,
}

/// Mean and standard error, over the points that `keep`, of what `of` says.
fn mean(points: &[Point], keep: impl Fn(&Point) -> bool, of: impl Fn(&Point) -> f64) -> Result<Estimate> {
    let values: Vec<f64> = points.iter().filter(|p| keep(p)).map(of).collect();
    Ok(mean_with_error(&values)?)
}

/// Largest and smallest.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

impl Figure2 {
    /// Mean γ_rule over ρ_shared for each ρ_flip, at one ρ_target. Points of one ρ_target differ in their draws only.
    fn rule(&self, points: &[Point], target: f64) -> Result<Vec<Estimate>> {
        let at = |&flip: &f64| {
            let of: Vec<&Point> = points.iter().filter(|p| p.target == target && p.flip == flip).collect();
            let n = of.len() as f64;
            let value = of.iter().map(|p| p.rule.value).sum::<f64>() / n;
            let squares = of.iter().map(|p| p.rule.standard_error.map(|e| e * e)).sum::<Option<f64>>();
            Estimate { value, standard_error: squares.map(|s| s.sqrt() / n) }
        };
        Ok(self.targets.flip.iter().map(at).collect())
    }

    fn feature_claims(&self, points: &[Point]) -> Result<Vec<Claim>> {
        let (low, high) = range(points.iter().map(|p| p.feature));
        let mut means = vec![];
        let mut worst: f64 = 0.0;
        for &shared in &self.targets.shared {
            means.push(mean(points, |p| p.shared == shared, |p| p.feature)?.value);
            let (a, b) = range(points.iter().filter(|p| p.shared == shared).map(|p| p.feature));
            worst = worst.max((b - a) / (high - low));
        }
        let rises = Trend::Rises.claim("2e", "γ_feature rises with ρ_shared", &[("".into(), exactly(&means))])?;
        let statement = "spread of γ_feature over (ρ_target, ρ_flip) at one ρ_shared, over its range";
        Ok(vec![rises, Claim::below("2e", statement, worst, 0.05)])
    }

    fn rf_claims(&self, points: &[Point]) -> Result<Vec<Claim>> {
        let all = mean(points, |_| true, |p| p.rf)?.value;
        let (mut means, mut between, mut total) = (vec![], 0.0, 0.0);
        for &target in &self.targets.target {
            let level = mean(points, |p| p.target == target, |p| p.rf)?.value;
            means.push(level);
            for p in points.iter().filter(|p| p.target == target) {
                between += (level - all).powi(2);
                total += (p.rf - all).powi(2);
            }
        }
        let rises = Trend::Rises.claim("2f", "γ_RF rises with ρ_target", &[("".into(), exactly(&means))])?;
        let statement = "share of the variance of γ_RF that ρ_target explains";
        Ok(vec![rises, Claim::above("2f", statement, between / total, 0.9)])
    }

    fn rule_claims(&self, points: &[Point]) -> Result<Vec<Claim>> {
        let positive: Vec<f64> = self.targets.target.iter().copied().filter(|&t| t > 0.0).collect();
        let series = positive.iter().map(|&t| Ok((format!("ρ_target = {t}"), self.rule(points, t)?)));
        let series = series.collect::<Result<Vec<_>>>()?;
        let last = self.targets.flip.len() - 1;
        let ends: Vec<Estimate> = series.iter().map(|(_, s)| s[last]).collect();
        let worst = ends.iter().copied().max_by(|a, b| a.value.abs().total_cmp(&b.value.abs()));
        let worst = worst.unwrap_or(Estimate { value: f64::NAN, standard_error: None });
        let errors = worst.value.abs() / worst.standard_error.unwrap_or(f64::NAN);
        let starts: Vec<Estimate> = series.iter().map(|(_, s)| s[0]).collect();
        let above = |(_, s): &(String, Vec<Estimate>)| range(s[1..].iter().map(|u| u.value)).1 - s[0].value;
        let excess = range(series.iter().map(above)).1;
        let largest = range(points.iter().map(|p| p.rule.value.abs() - p.rf)).1;
        let (feature, rf) = (range(points.iter().map(|p| p.feature)), range(points.iter().map(|p| p.rf)));
        let beyond = (-feature.0).max(feature.1 - 1.0).max(-rf.0);
        Ok(vec![
            Trend::Falls.claim("2g", "γ_rule falls with ρ_flip at each ρ_target > 0", &series)?,
            Claim::below("2g", "largest |γ_rule| at ρ_flip = 0.5, mean over ρ_shared", worst.value.abs(), 0.05)
                .error(worst.standard_error)
                .if_failing(&format!("{errors:.1} standard errors from 0, the largest of {}", ends.len())),
            Trend::Rises.claim("2g", "γ_rule at ρ_flip = 0 grows with ρ_target", &[("".into(), starts)])?,
            Claim::below("2g", "largest γ_rule at ρ_flip > 0 minus that at ρ_flip = 0", excess, 0.0),
            Claim::new("text", "γ_feature in [0, 1] and γ_RF ≥ 0: largest excess", beyond, "≤ 1e-12", beyond <= 1e-12),
            // Equality is reached where all targets are shared and none flipped: rounding.
            Claim::new(
                "text",
                "|γ_rule| ≤ γ_RF on average over seeds: largest excess",
                largest,
                "≤ 1e-9",
                largest <= 1e-9,
            ),
        ])
    }
}

impl Reproduction for Figure2 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.targets.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        Ok(self.targets.study(ENTRY.id))
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let points = self.targets.points(frame)?;
        let (shared, target, flip) = (&self.targets.shared, &self.targets.target, &self.targets.flip);
        let level = |key: fn(&Point) -> f64, at: &[f64], of: fn(&Point) -> f64| {
            at.iter().map(|&v| Ok(mean(&points, |p| key(p) == v, of)?.value)).collect::<Result<Vec<f64>>>()
        };
        let all = |of: fn(&Point) -> f64| points.iter().map(of).collect::<Vec<f64>>();
        let e = Panel::new()
            .x("ρ_{shared}")
            .y("γ_{feature}")
            .line(Line::new("mean", shared, &level(|p| p.shared, shared, |p| p.feature)?).color(Rgb::BLACK))
            .markers(Markers::new("each setting", &all(|p| p.shared), &all(|p| p.feature)));
        let f = Panel::new()
            .x("ρ_{target}")
            .y("γ_{RF}")
            .line(Line::new("mean", target, &level(|p| p.target, target, |p| p.rf)?).color(Rgb::BLACK))
            .markers(Markers::new("each setting", &all(|p| p.target), &all(|p| p.rf)));
        let mut g = Panel::new().x("ρ_{flip}").y("γ_{rule}");
        for (k, &t) in target.iter().filter(|&&t| t > 0.0).enumerate() {
            let rule = self.rule(&points, t)?;
            let errors: Vec<f64> = rule.iter().map(|u| u.standard_error.unwrap_or(0.0)).collect();
            let name = format!("ρ_{{target}} = {t}");
            g = g
                .line(Line::new(&name, flip, &plain(&rule)).category(k))
                .markers(Markers::new(&name, flip, &plain(&rule)).errors(&errors).category(k));
        }
        let caption = format!(
            "Order parameters of target-distractor tasks. **e** γ_{{feature}} against the fraction of shared images. **f** \
             γ_{{RF}} against the fraction of shared targets. **g** γ_{{rule}} against the probability of flipped labels. Drawn \
             from {}; *P* = {}, *L* = {}, {}; bars in g: standard error.",
            data_title(self.targets.data),
            self.targets.p,
            self.targets.depth,
            self.targets.averaged()
        );
        Ok(vec![(
            "figure-2".into(),
            Figure::grid(vec![e.letter('e'), f.letter('f'), g.letter('g')], 3).caption(&caption),
        )])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let points = self.targets.points(frame)?;
        let mut claims = self.feature_claims(&points)?;
        claims.extend(self.rf_claims(&points)?);
        claims.extend(self.rule_claims(&points)?);
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn sizes_are_the_paper_s() {
        let paper = targets(Scale::Paper, Images::Paper);
        assert_eq!((paper.p, paper.tasks, paper.depth, paper.seeds, paper.data), (2000, 2, 10, 40, "cifar100"));
        let quick = targets(Scale::Quick, Images::Paper);
        assert_eq!((quick.depth, &quick.flip), (10, &paper.flip));
        assert!(quick.p < paper.p && quick.seeds < paper.seeds && paper.labelings == 1);
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let targets =
            Targets { p: 60, seeds: 3, depth: 2, shared: vec![0.1, 0.9], ..targets(Scale::Quick, Images::Embedded) };
        let study = Figure2 { targets };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 3);
        let of = |claims: &[Claim], text: &str| claims.iter().find(|c| c.statement.contains(text)).unwrap().verdict;
        let claims = study.claims(&frame).unwrap();
        assert_eq!(of(&claims, "γ_RF rises"), Verdict::Pass);
        let shuffled = study.claims(&testing::reversed(&frame, "rho_target")).unwrap();
        assert_eq!(of(&shuffled, "γ_RF rises"), Verdict::Fail);
    }
}
