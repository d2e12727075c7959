//! Figure 3: the order parameters predict short-term and long-term forgetting of target-distractor sequences.

use super::common::{BestFit, CIFAR, data_title};
use super::targets::{Point, Targets};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing_show::Figure;
use ebbing_studies::{Frame, Result, Study};

mod claims;
mod panels;

pub(super) use claims::times as time_claims;
pub(super) use panels::{by_feature, times};

/// The line of the list of figures.
pub(super) const ENTRY: Entry = Entry {
    id: "3",
    panels: "a-e with insets",
    shows: "forgetting after two and after many target-distractor tasks, predicted by the order parameters",
    needs: Needs::Theory,
    kin: Some("S1"),
    bound: None,
    figure: |scale, images| Box::new(Figure3 { targets: targets(scale, images) }),
};

/// Sequences that forget less than this after the second task.
pub(super) const SMALL: f64 = 0.05;

/// The grid of figures 3 and S1. ρ_target is close-meshed near 0, where τ_F changes most.
pub(super) fn targets(scale: Scale, images: Images) -> Targets {
    let data = images.name(CIFAR);
    let (p, tasks) = match (scale, images.few()) {
        (Scale::Paper, false) => (2000, 25),
        (Scale::Quick, false) => (400, 10),
        (_, true) => (250, 10),
    };
    // Labelings share images, kernels and factors: they are averaged over for little.
    let (seeds, labelings, shared, target) = match scale {
        Scale::Paper => {
            (40, 32, vec![0.1, 0.3, 0.5, 0.7, 0.9], vec![0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0])
        }
        Scale::Quick => (4, 32, vec![0.1, 0.5, 0.9], vec![0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0]),
    };
    let flip = vec![0.0, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.12, 0.25, 0.5];
    // At the paper's sizes the full theory comes along, from the same products of inputs: figure S1 has the same cells.
    let full = scale == Scale::Paper;
    Targets { data, p, tasks, depth: 10, seeds, labelings, ends: true, full, shared, target, flip }
}

pub(super) struct Figure3 {
    targets: Targets,
}

/// A point with the fit of its forgetting curve.
pub(super) struct Fitted {
    pub point: Point,
    /// None where the optimum lies at τ = 0 or ∞.
    pub fit: Option<BestFit>,
}

impl Fitted {
    /// Every point of a study, each whole curve by its optimum.
    pub(super) fn all(points: Vec<Point>, curve: fn(&Point) -> &[f64]) -> Result<Vec<Fitted>> {
        points.into_iter().map(|point| Ok(Fitted { fit: BestFit::of(curve(&point), false)?, point })).collect()
    }

    /// The time τ_F.
    pub(super) fn tau(&self) -> Option<f64> {
        self.fit.map(|fit| fit.tau)
    }

    /// The plateau F_max.
    fn plateau(&self) -> Option<f64> {
        self.fit.map(|fit| fit.f_max)
    }
}

/// Bins of γ_RF, midway between the values of ρ_target, which it follows (0 and 0.02 in one: at ρ_target = 0 it is up to 0.04). Narrower ones
/// would hold one or two values of ρ_shared each, on which τ_F depends near 0.
const EDGES: [f64; 10] = [0.0, 0.035, 0.075, 0.15, 0.275, 0.425, 0.575, 0.725, 0.9, f64::INFINITY];

/// Mean γ_RF, mean τ and its standard deviation in each bin that is not empty, of points (γ_RF, τ).
pub(super) fn binned(points: &[(f64, f64)]) -> Vec<[f64; 4]> {
    let bin = |w: &[f64]| {
        let inside: Vec<&(f64, f64)> = points.iter().filter(|p| p.0 >= w[0] && p.0 < w[1]).collect();
        let n = inside.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| inside.iter().map(|p| of(p)).sum::<f64>() / n;
        let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
        let square = mean(&|p| (p.1 - y).powi(2));
        let deviation = if n > 1.0 { (square * n / (n - 1.0)).sqrt() } else { 0.0 };
        (n > 0.0).then_some([x, y, deviation, n])
    };
    EDGES.windows(2).filter_map(bin).collect()
}

impl Figure3 {
    fn fitted(&self, frame: &Frame) -> Result<Vec<Fitted>> {
        Fitted::all(self.targets.points(frame)?, |p| &p.forgetting)
    }
}

/// Points (γ_RF, τ_F) of sequences that forget little after the second task.
pub(super) struct Slow {
    /// All of them.
    pub all: Vec<(f64, f64)>,
    /// Without those whose shared labels are the same in all tasks (ρ_flip = 0).
    pub inconsistent: Vec<(f64, f64)>,
    /// The latter at each ρ_shared.
    pub by_shared: Vec<(f64, Vec<(f64, f64)>)>,
}

impl Slow {
    pub(super) fn of(fitted: &[Fitted], f21: fn(&Point) -> f64) -> Slow {
        let small = || fitted.iter().filter(|f| f21(&f.point) < SMALL);
        let point = |f: &Fitted| Some((f.point.rf, f.tau()?));
        let inconsistent = || small().filter(|f| f.point.inconsistent());
        let mut shares: Vec<f64> = inconsistent().map(|f| f.point.shared).collect();
        shares.sort_by(f64::total_cmp);
        shares.dedup();
        let of = |share: f64| inconsistent().filter(|f| f.point.shared == share).filter_map(point).collect();
        Slow {
            all: small().filter_map(point).collect(),
            inconsistent: inconsistent().filter_map(point).collect(),
            by_shared: shares.into_iter().map(|share| (share, of(share))).collect(),
        }
    }
}

/// Two sequences of like short-term forgetting (F_21 within 20 % of each other and between 0.01 and 0.05, curves that determine
/// τ_F: these two are drawn) whose γ_RF differ most, the lower first.
fn examples(fitted: &[Fitted]) -> Option<[&Fitted; 2]> {
    let usable: Vec<&Fitted> = fitted
        .iter()
        .filter(|f| (0.01..SMALL).contains(&f.point.f21()) && f.fit.is_some_and(|fit| fit.determined))
        .collect();
    let pairs = usable.iter().flat_map(|a| usable.iter().map(move |b| [*a, *b]));
    let alike = pairs.filter(|[a, b]| {
        let (x, y) = (a.point.f21(), b.point.f21());
        (x - y).abs() <= 0.2 * x.max(y)
    });
    let apart = |[a, b]: &[&Fitted; 2]| b.point.rf - a.point.rf;
    alike.max_by(|x, y| apart(x).total_cmp(&apart(y))).filter(|pair| apart(pair) > 0.0)
}

impl Reproduction for Figure3 {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.targets.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        Ok(self.targets.study(ENTRY.id))
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let fitted = self.fitted(frame)?;
        let panels = vec![
            panels::short_term(&fitted),
            panels::long_term(&fitted),
            panels::variance(&fitted),
            panels::times(&Slow::of(&fitted, Point::f21), "τ_{F}"),
            panels::plateaus(&fitted),
        ];
        let example = examples(&fitted).map_or(String::new(), |[a, b]| {
            format!(
                " The examples are (ρ_{{target}}, ρ_{{shared}}, ρ_{{flip}}) = {} and {}.",
                a.point.name(),
                b.point.name()
            )
        });
        let caption = format!(
            "Order parameters predict forgetting of target-distractor sequences. **a** Forgetting of task 1 after task 2 \
             against twice the conflict, colored by γ_{{feature}}; one point for each of {} (ρ_{{target}}, ρ_{{shared}}, ρ_{{flip}}). \
             Inset: what the penalty changes, F_{{21}} − F_{{21}}(λ = 0), where F_{{21}} < 0.05. **b** Forgetting of task 1 after \
             *t* tasks with the fit F_{{max}}(1 − e^{{−(*t*−1)/τ}}).{example} **c** Share of the variance explained by each order \
             parameter, over the ranges of ρ_{{shared}} and ρ_{{target}}. **d** Time τ_{{F}} where F_{{21}} < 0.05, in bins of γ_{{RF}}, of all sequences and without those of ρ_{{flip}} = 0; \
             bars: standard deviation in a bin. Inset: sequences with γ_{{RF}} < 0.05, one by one. **e** F_{{max}} predicted by F_{{21}} and τ_{{F}}. Drawn from {}; *P* = {}, *L* = {}, {} tasks, \
             random features, λ → ∞; {}.",
            self.targets.triples(),
            data_title(self.targets.data),
            self.targets.p,
            self.targets.depth,
            self.targets.tasks,
            self.targets.averaged()
        );
        Ok(vec![("figure-3".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        claims::all(&self.fitted(frame)?)
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
        assert_eq!((paper.p, paper.depth, paper.seeds, paper.labelings), (2000, 10, 40, 32));
        assert_eq!(paper.data, "cifar100");
        // Fifty thousand images are enough for 25 tasks of 2000.
        assert!(paper.triples() >= 100 && paper.tasks * paper.p <= 50_000);
        let quick = targets(Scale::Quick, Images::Paper);
        assert!(quick.triples() >= 60 && quick.depth == 10);
        assert_eq!(paper.study("").cells.len(), 40 * 5 * 10);
    }

    #[test]
    fn bins_hold_means_and_deviations() {
        let bins = binned(&[(0.001, 4.0), (0.003, 6.0), (0.9, 1.0)]);
        assert_eq!(bins, [[0.002, 5.0, 2f64.sqrt(), 2.0], [0.9, 1.0, 0.0, 1.0]]);
        // Every value of ρ_target has a bin of its own, but for the first two.
        let mesh = targets(Scale::Paper, Images::Paper).target;
        let held: Vec<usize> =
            EDGES.windows(2).map(|w| mesh.iter().filter(|t| **t >= w[0] && **t < w[1]).count()).collect();
        assert_eq!(held, [2, 1, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let (shared, target, flip) = (vec![0.1, 0.5], vec![0.0, 0.2, 0.5, 1.0], vec![0.0, 0.25, 0.5]);
        let tiny = Targets {
            p: 60,
            tasks: 6,
            depth: 3,
            seeds: 2,
            shared,
            target,
            flip,
            ..targets(Scale::Quick, Images::Embedded)
        };
        let study = Figure3 { targets: tiny };
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 5);
        let claims = study.claims(&frame).unwrap();
        assert!(claims.len() >= 12);
        let shuffled = study.claims(&testing::reversed(&frame, "f")).unwrap();
        let r2 = |claims: &[Claim]| claims.iter().find(|c| c.statement.starts_with("R² of F_21")).unwrap().clone();
        assert!(r2(&claims).value > r2(&shuffled).value);
        assert_eq!(r2(&shuffled).verdict, Verdict::Fail);
    }
}
