//! Figure S1: forgetting where all weights learn against forgetting of random features.

use super::common::{SAMPLE, Trend, TrendClaim, data_title};
use super::fig3::{self, Fitted, SMALL, Slow};
use super::targets::{Point, Targets};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use crate::statistics::LinearFit;
use ebbing_show::{Figure, Line, Panel, Rgb};
use ebbing_studies::{Frame, Result, Study};

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "S1",
    panels: "a-c",
    shows: "forgetting of the full theory against that of random features, in target-distractor sequences",
    needs: Needs::Theory,
    kin: Some("3"),
    bound: None,
    figure: |scale, images| Box::new(FigureS1 { targets: targets(scale, images) }),
};

/// Figure 3's grid; at quick scale a part of it.
fn targets(scale: Scale, images: Images) -> Targets {
    let targets = fig3::targets(scale, images);
    match scale {
        Scale::Paper => targets,
        Scale::Quick => {
            let (target, flip) =
                (vec![0.0, 0.05, 0.1, 0.2, 0.5, 1.0], vec![0.0, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.25]);
            let p = if targets.data == SAMPLE { 250 } else { 300 };
            Targets { full: true, p, seeds: 3, target, flip, ..targets }
        }
    }
}

pub(super) struct FigureS1 {
    targets: Targets,
}

/// F_21 of the full theory.
fn full_f21(point: &Point) -> f64 {
    point.full[1]
}

/// Points (γ_RF, τ) of the full theory where its F_21 is small.
fn slow(points: &[Point]) -> Result<Slow> {
    Ok(Slow::of(&Fitted::all(points.to_vec(), |p| &p.full)?, full_f21))
}

/// (F_rf, F_full) at all t ≥ 2 of all points.
fn both(points: &[Point]) -> (Vec<f64>, Vec<f64>) {
    points.iter().flat_map(|p| p.forgetting[1..].iter().copied().zip(p.full[1..].iter().copied())).unzip()
}

impl Reproduction for FigureS1 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.targets.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        Ok(self.targets.study(ENTRY.id))
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let points = self.targets.points(frame)?;
        let all: Vec<(&Point, f64, f64)> = points
            .iter()
            .flat_map(|p| p.forgetting[1..].iter().zip(&p.full[1..]).map(move |(rf, full)| (p, *rf, *full)))
            .collect();
        let diagonal = |panel: Panel, points: &[(&Point, f64, f64)]| {
            let end = points.iter().map(|p| p.1.max(p.2)).fold(0.0, f64::max);
            panel.aspect(0.8).line(Line::new("", &[0.0, end], &[0.0, end]).color(Rgb::BLACK))
        };
        let a = diagonal(Panel::new().x("F_{t1}, random features").y("F_{t1}, full theory"), &all);
        let short: Vec<(&Point, f64, f64)> = points.iter().map(|p| (p, 2.0 * p.conflict(), full_f21(p))).collect();
        let b = diagonal(Panel::new().x("2(γ_{RF} − γ_{rule})").y("F_{21}, full theory"), &short);
        let panels = vec![
            fig3::by_feature(a, &all),
            fig3::by_feature(b, &short),
            fig3::times(&slow(&points)?, "τ_{F}, full theory"),
        ];
        let caption = format!(
            "Random features against the full theory, in which all weights learn (λ → ∞). **a** Forgetting of task 1 after *t* = 2 to \
             {} tasks. **b** Forgetting after task 2 against twice the conflict. **c** Time τ_{{F}} where F_{{21}} < {SMALL}, in bins \
             of γ_{{RF}}, of all sequences and without those of ρ_{{flip}} = 0; bars: standard deviation in a bin; inset: sequences with γ_{{RF}} < 0.05, one by one. Target-distractor sequences drawn from {}; \
             *P* = {}, *L* = {}; {}.",
            self.targets.tasks,
            data_title(self.targets.data),
            self.targets.p,
            self.targets.depth,
            self.targets.averaged()
        );
        Ok(vec![("figure-S1".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let points = self.targets.points(frame)?;
        let (rf, full) = both(&points);
        let line = LinearFit::new(&rf, &full)?;
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|p| (2.0 * p.conflict(), full_f21(p))).unzip();
        let short = LinearFit::new(&x, &y)?;
        let with_slope = |line: &LinearFit| format!("slope {:.3}", line.slope.value);
        let mut claims = vec![
            Claim::above("S1a", "R² of F_full on F_rf, all t and triples", line.r2.unwrap_or(f64::NAN), 0.9)
                .note(with_slope(&line)),
            Claim::above("S1b", "R² of F_full after task 2 on 2(γ_RF − γ_rule)", short.r2.unwrap_or(f64::NAN), 0.9)
                .note(with_slope(&short)),
            Trend::Rises.scatter("S1b", "F_full after task 2 rises with the conflict", &x, &y)?,
        ];
        claims.extend(fig3::time_claims("S1c", &slow(&points)?, 1.0)?);
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
        assert_eq!((paper.p, paper.depth, paper.seeds, paper.full), (2000, 10, 40, true));
        assert_eq!(paper.triples(), fig3::targets(Scale::Paper, Images::Paper).triples());
        assert_eq!(
            (targets(Scale::Quick, Images::Paper).depth, targets(Scale::Quick, Images::Embedded).data),
            (10, SAMPLE)
        );
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let (shared, target) = (vec![0.1, 0.5], vec![0.0, 0.2, 1.0]);
        let tiny =
            Targets { p: 60, tasks: 5, depth: 2, seeds: 1, shared, target, ..targets(Scale::Quick, Images::Embedded) };
        let study = FigureS1 { targets: tiny };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 3);
        let r2 = |frame: &Frame| study.claims(frame).unwrap()[0].clone();
        assert_eq!(r2(&frame).verdict, Verdict::Pass);
        assert_eq!(r2(&testing::reversed(&frame, "f_full")).verdict, Verdict::Fail);
    }
}
