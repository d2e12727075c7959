//! Figure S6: the three regimes in trained networks, one and two hidden layers.

use super::drawn::{ByRatio, Drawn};
use super::loads::largest;
use super::minima::{
    Minima, against_load, at_every_kappa, critical_by_height, critical_by_plain_height, has_recovered, of_kappa,
    pair_cell, pairs, reached, seeds,
};
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::nets::Heads;
use ebbing::plan::{Cost, phase_cost};
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing_show::{Dash, Figure, Line, Map, Panel};
use ebbing_studies::{Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S6",
    panels: "a, b",
    shows: "Forgetting and generalization of trained networks against load and task similarity, L = 1 and 2",
    needs: Needs::Training,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(PhasesOfNets::at(scale, images)),
};

/// Ratios × loads × depths × seeds for two protocols, and the exact boundary of the theory.
struct PhasesOfNets {
    nets: Minima,
    scale: Scale,
    ratios: [Vec<f64>; 2],
    loads: Vec<f64>,
    /// Seeds at depth 1 and 2.
    seeds: [u64; 2],
}

impl PhasesOfNets {
    fn at(scale: Scale, images: Images) -> Self {
        let nets = Minima::at(scale, images);
        match scale {
            Scale::Quick => PhasesOfNets {
                nets,
                scale,
                ratios: [vec![0.05, 0.1, 0.15], vec![0.1, 0.175, 0.25]],
                loads: vec![0.6, 1.2, 1.6, 2.2, 3.2, 4.5, 6.5],
                seeds: if images.few() { [2, 1] } else { [3, 2] },
            },
            // 240 networks a seed, each at three κ: about an hour on two cores.
            Scale::Paper => PhasesOfNets {
                nets,
                scale,
                ratios: [vec![0.05, 0.1, 0.15, 0.2, 0.3], vec![0.1, 0.15, 0.2, 0.25, 0.35]],
                loads: vec![0.6, 0.9, 1.15, 1.4, 1.7, 2.1, 2.6, 3.2, 4.0, 5.0, 6.5, 8.0],
                seeds: [10, 10],
            },
        }
    }

    /// Exact α_c and γ_sim^-2 of a pair.
    fn theory(&self, frame: &Frame, protocol: ByRatio, ratio: f64) -> Result<[f64; 2]> {
        let row = frame.only("kind", "theory")?.only("protocol", protocol)?.only("ratio", ratio)?;
        Ok([row.mean("alpha_c")?.value, row.mean("alpha_c_gamma_sim")?.value])
    }

    fn runs(&self, frame: &Frame, protocol: ByRatio, depth: usize, kappa: f64) -> Result<Frame> {
        frame.only("kind", "nets")?.only("protocol", protocol)?.only("depth", depth)?.only("kappa", kappa)
    }
}

/// The exact critical load of two tasks, and γ_sim^−2.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CriticalLoads {
    pub tasks: Drawn,
    pub sigma2: f64,
}

impl Work for CriticalLoads {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let settings = MultiHeadSettings { sigma2: self.sigma2, ..MultiHeadSettings::default() };
        let found = self.tasks.two(sources, &settings, context)?.critical_load()?;
        Ok(vec![Row::new().with("alpha_c", found.alpha_c).with("alpha_c_gamma_sim", found.alpha_c_gamma_sim)])
    }

    fn cost(&self) -> Cost {
        phase_cost(&self.tasks.sizes(), 1)
    }
}

impl Reproduction for PhasesOfNets {
    fn limit_seeds(&mut self, most: usize) {
        self.seeds.iter_mut().for_each(|seeds| at_most(seeds, most));
    }

    fn limit_deep_seeds(&mut self, most: usize) -> bool {
        at_most(&mut self.seeds[1], most);
        true
    }

    fn study(&self) -> Result<Study> {
        let mut grid = self.nets.study("figure-S6", self.scale, serde_json::json!({}), &[]);
        for (kind, ratio) in pairs(&self.ratios) {
            let tasks = || self.nets.tasks(kind, ratio, 0);
            let exact = CriticalLoads { tasks: tasks(), sigma2: self.nets.sigma0.powi(2) };
            grid.push(pair_cell("theory", (kind, ratio), 0), exact);
            for (depth, &alpha) in [1, 2].into_iter().flat_map(|depth| self.loads.iter().map(move |a| (depth, a))) {
                for seed in seeds(self.seeds[depth - 1]) {
                    let cell = pair_cell("nets", (kind, ratio), seed).with("depth", depth).with("alpha", alpha);
                    grid.push(cell, self.nets.nets(tasks(), Heads::Multi, depth, alpha, seed));
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut figures = Vec::new();
        for (n, &kappa) in self.nets.kappas.iter().enumerate() {
            for k in 0..2 {
                figures.push((of_kappa(["figure-S6a", "figure-S6b"][k], n, kappa), self.figure(frame, k, kappa)?));
            }
        }
        Ok(figures)
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for k in 0..2 {
            let at = |&kappa: &f64| Ok((kappa, self.panel_claims(frame, k, kappa)?));
            claims.extend(at_every_kappa(self.nets.kappas.iter().map(at).collect::<Result<_>>()?));
            let runs = frame.only("kind", "nets")?.only("protocol", ByRatio::BOTH[k])?;
            claims.push(reached(["S6a", "S6b"][k], &runs)?);
        }
        Ok(claims)
    }
}

impl PhasesOfNets {
    fn figure(&self, frame: &Frame, k: usize, kappa: f64) -> Result<Figure> {
        let protocol = ByRatio::BOTH[k];
        let mut panels = Vec::new();
        let boundary: Vec<f64> =
            self.ratios[k].iter().map(|r| Ok(self.theory(frame, protocol, *r)?[0])).collect::<Result<_>>()?;
        for depth in [1, 2] {
            let runs = self.runs(frame, protocol, depth, kappa)?;
            for (column, name) in [("f21", "F_{21}"), ("g22", "G_{22}")] {
                panels.push(self.map(&runs, k, depth, column, name, &boundary)?);
            }
        }
        let (letter, what) = [("a", "permutation"), ("b", "split")][k];
        let caption = format!(
            "{letter}: F_{{21}} (left) and G_{{22}} (right) against {what} ratio and load for L = 1 (top) and 2 (bottom); \
             means over {} and {} seeds of the initial weights. Line: exact critical load of the theory for L = 1 (dashed \
             where L = 2). {}",
            self.seeds[0],
            self.seeds[1],
            self.nets.caption(kappa)
        );
        Ok(Figure::grid(panels, 2).caption(&caption))
    }

    fn map(&self, runs: &Frame, k: usize, depth: usize, column: &str, name: &str, boundary: &[f64]) -> Result<Panel> {
        let ratios = &self.ratios[k];
        let mut values = vec![vec![f64::NAN; ratios.len()]; self.loads.len()];
        for (j, &ratio) in ratios.iter().enumerate() {
            let (alphas, means, _) = against_load(&runs.only("ratio", ratio)?, column)?;
            for (alpha, mean) in alphas.iter().zip(means) {
                if let Some(i) = self.loads.iter().position(|a| a == alpha) {
                    values[i][j] = mean;
                }
            }
        }
        let map = Map::new(name, ratios, &self.loads, &values);
        let map = if column == "g22" { map.log() } else { map };
        let (dash, label) =
            if depth == 1 { (Dash::Solid, "exact α_{c}") } else { (Dash::Dashed, "exact α_{c} of L = 1") };
        let inside = |a: &f64| *a <= self.loads[self.loads.len() - 1];
        let (x, y): (Vec<f64>, Vec<f64>) = ratios.iter().zip(boundary).filter(|(_, a)| inside(a)).unzip();
        let what = ByRatio::BOTH[k].axis();
        // The paper's letter stands for all four maps.
        let letter = if depth == 1 && column == "f21" { ['a', 'b'][k] } else { ' ' };
        let panel =
            Panel::new().letter(letter).title(&format!("L = {depth}")).x(what).y("load α = P/N").log_y().map(map);
        Ok(if x.is_empty() { panel } else { panel.line(Line::new(label, &x, &y).dash(dash)) })
    }

    /// Each ratio at one depth and κ. Where no load lies beyond 1.25 α_c, what happens there stays unknown (NaN).
    fn transitions(&self, frame: &Frame, k: usize, depth: usize, kappa: f64) -> Result<Vec<Transition>> {
        let runs = self.runs(frame, ByRatio::BOTH[k], depth, kappa)?;
        let mut seen = Vec::new();
        for &ratio in &self.ratios[k] {
            let exact = self.theory(frame, ByRatio::BOTH[k], ratio)?[0];
            let here = runs.only("ratio", ratio)?;
            let (alphas, f21, _) = against_load(&here, "f21")?;
            let (_, g22, _) = against_load(&here, "g22")?;
            let part = |inside: &dyn Fn(f64) -> bool| {
                let pairs = alphas.iter().zip(&f21).filter(|(a, _)| inside(**a));
                pairs.map(|(_, f)| *f).collect::<Vec<f64>>()
            };
            let (above, reached) = (part(&|a| a > 1.25 * exact), alphas.last().is_some_and(|a| *a > 1.25 * exact));
            let least = if reached { -largest(above.iter().map(|f| -f)) } else { f64::NAN };
            let peak = (0..g22.len()).max_by(|&i, &j| g22[i].total_cmp(&g22[j])).map_or(f64::NAN, |i| alphas[i]);
            // What overfits up to the largest load has its critical load beyond it.
            let (last, recovered) = (alphas.last().copied().unwrap_or(f64::NAN), has_recovered(&here)?);
            seen.push(Transition {
                ratio,
                exact,
                below: largest(part(&|a| a < 0.8 * exact)),
                above: least,
                peak,
                found: if recovered { critical_by_height(&here)? } else { last },
                plain: critical_by_plain_height(&here)?,
                recovered,
                reached,
            });
        }
        Ok(seen)
    }

    fn panel_claims(&self, frame: &Frame, k: usize, kappa: f64) -> Result<Vec<Claim>> {
        let panel = ["S6a", "S6b"][k];
        let [one, two] = [1, 2].map(|depth| self.transitions(frame, k, depth, kappa));
        let (one, two) = (one?, two?);
        // Claims about loads beyond α_c speak of the ratios that have some.
        let beyond = |all: &[Transition]| all.iter().filter(|t| t.reached).copied().collect::<Vec<_>>();
        let (one_beyond, two_beyond) = (beyond(&one), beyond(&two));
        let beside = match one.iter().filter(|t| !t.reached).map(|t| t.ratio.to_string()).collect::<Vec<_>>() {
            none if none.is_empty() => String::new(),
            some => format!("; no load beyond 1.25 α_c at ratio {}", some.join(", ")),
        };
        let most = |all: &[Transition], of: &dyn Fn(&Transition) -> f64| largest(all.iter().map(of));
        let least = |all: &[Transition], of: &dyn Fn(&Transition) -> f64| -largest(all.iter().map(|t| -of(t)));
        let answer = |all: &[Transition], of: &dyn Fn(&Transition) -> String| {
            let each: Vec<String> = all.iter().map(|t| format!("{}: {}", t.ratio, of(t))).collect();
            each.join("; ")
        };
        let heights = |all: &[Transition]| {
            format!(
                "ratio: mid-height of ln G_22 (of G_22) / exact {}{beside}",
                answer(all, &|t| match t.recovered {
                    true => format!("{:.2} ({:.2}) / {:.2}", t.found, t.plain, t.exact),
                    false => format!("beyond {} / {:.2}", t.found, t.exact),
                })
            )
        };
        let sides = |all: &[Transition]| {
            format!(
                "ratio: largest below 0.8 α_c, least above 1.25 α_c: {}",
                answer(all, &|t| format!("{:.4}, {:.4}", t.below, t.above))
            )
        };
        // Two layers may overfit up to 1.5 times the exact α_c of one: that is the claim on their critical load.
        let peaks = |all: &[Transition], end: f64, what: &str| {
            let outside = all.iter().filter(|t| !(t.peak > 1.0 && t.peak <= end * t.exact)).count();
            let note = answer(all, &|t| format!("{}, {:.2}", t.peak, t.exact));
            let statement = format!("{what}: ratios whose G_22 is largest elsewhere than between 1 and {end} α_c");
            Claim::new(panel, &statement, outside as f64, "= 0", outside == 0)
                .note(format!("ratio: α of the largest G_22, exact α_c of L = 1: {note}"))
        };
        // How far a critical load lies off is known where G_22 has come back; that it lies beyond all loads is known of the others.
        let gap = most(&one_beyond, &|t| if t.recovered { (t.found / t.exact - 1.0).abs() } else { f64::NAN });
        let grown = |t: &Transition| t.found / t.exact - 1.0;
        let statement = "L = 1: largest F_21 below 0.8 of the exact α_c";
        let deep = "L = 2: largest F_21 below 0.8 of the exact α_c of L = 1";
        let smallest = least(&two_beyond, &grown);
        Ok(vec![
            Claim::below(panel, statement, most(&one, &|t| t.below), 0.02).note(sides(&one)),
            Claim::above(
                panel,
                "L = 1: least F_21 above 1.25 α_c over the largest below 0.8 α_c, least",
                least(&one_beyond, &|t| t.above / t.below),
                3.0,
            ),
            peaks(&one, 1.0, "L = 1"),
            Claim::below(panel, "L = 1: largest gap of mid-height α of ln G_22 to exact α_c", gap, 0.25)
                .note(heights(&one_beyond)),
            Claim::below(panel, deep, most(&two, &|t| t.below), 0.02).note(sides(&two)),
            Claim::above(
                panel,
                "L = 2: least F_21 above 1.25 α_c of L = 1 over the largest below 0.8 α_c, least",
                least(&two_beyond, &|t| t.above / t.below),
                3.0,
            ),
            peaks(&two, 1.5, "L = 2"),
            Claim::new(
                panel,
                "L = 2: least excess of mid-height α of ln G_22 over the exact α_c of L = 1",
                smallest,
                "≥ 0",
                smallest >= 0.0,
            )
            .note(heights(&two_beyond)),
            Claim::below(
                panel,
                "L = 2: largest excess of mid-height α of ln G_22 over the exact α_c of L = 1",
                most(&two_beyond, &grown),
                0.5,
            ),
        ])
    }
}

/// The transition of networks at one ratio.
#[derive(Clone, Copy)]
struct Transition {
    ratio: f64,
    /// α_c of the theory for L = 1.
    exact: f64,
    /// The largest F_21 below 0.8 α_c.
    below: f64,
    /// The least F_21 above 1.25 α_c.
    above: f64,
    /// The load with the largest G_22.
    peak: f64,
    /// The load where ln G_22 falls through the middle of its range; the largest load, where G_22 has not come back.
    found: f64,
    /// The same of G_22 itself.
    plain: f64,
    /// Whether G_22 has come back at the largest load.
    recovered: bool,
    /// Whether a load lies above 1.25 α_c.
    reached: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;
    use ebbing_studies::Value;

    #[test]
    fn paper_scale_is_the_papers() {
        let study = PhasesOfNets::at(Scale::Paper, Images::Paper);
        let cells = study.study().unwrap().cells;
        assert_eq!(study.nets.p, 600);
        assert_eq!(cells.len(), 2 * 5 * (1 + 2 * 12 * 10));
        assert_eq!(crate::figures::minima::width(600, 1.5), 400);
    }

    /// Curves of G_22 that come back, and some that go on overfitting up to the last load, with a dip on the way.
    #[test]
    fn what_overfits_to_the_end_has_its_critical_load_beyond() {
        let study = PhasesOfNets {
            ratios: [vec![0.1], vec![0.1]],
            loads: vec![0.9, 1.2, 2.0, 4.0, 8.0],
            ..PhasesOfNets::at(Scale::Quick, Images::Embedded)
        };
        let (back, overfits) = ([2.0, 20.0, 20.0, 1.5, 1.2], [2.0, 400.0, 12.0, 30.0, 20.0]);
        let claims = |one: [f64; 5], two: [f64; 5]| {
            let mut cells = Vec::new();
            for protocol in ByRatio::BOTH {
                let exact = vec![Row::new().with("alpha_c", 3.0).with("alpha_c_gamma_sim", 3.0)];
                cells.push((pair_cell("theory", (protocol, 0.1), 0), exact));
                for (depth, curve) in [(1usize, one), (2, two)] {
                    for (&alpha, g22) in study.loads.iter().zip(curve) {
                        let cell = pair_cell("nets", (protocol, 0.1), 1).with("depth", depth).with("alpha", alpha);
                        cells.push((cell, vec![Row::new().with("kappa", 0.1).with("f21", 0.001).with("g22", g22)]));
                    }
                }
            }
            let frame = Frame::collect(cells.iter().map(|(cell, rows)| (cell, rows.as_slice())));
            study.panel_claims(&frame, 0, 0.1).unwrap()
        };
        let of = |claims: &[Claim], what: &str| {
            let found = claims.iter().find(|c| c.statement.contains(what)).unwrap();
            (found.value, found.verdict)
        };
        let found = claims(back, overfits);
        assert_eq!(of(&found, "largest gap").1, Verdict::Pass);
        // The largest load over the exact critical one: a lower bound of both.
        assert_eq!(of(&found, "least excess"), (8.0 / 3.0 - 1.0, Verdict::Pass));
        assert_eq!(of(&found, "largest excess"), (8.0 / 3.0 - 1.0, Verdict::Fail));
        assert!(found.iter().any(|c| c.note.contains("beyond 8 / 3.00")));
        // A bound is no gap.
        let found = claims(overfits, back);
        assert!(of(&found, "largest gap").0.is_nan() && of(&found, "largest gap").1 == Verdict::Fail);
        assert!(of(&found, "least excess").0 < 0.0);
    }

    #[test]
    fn runs_through_and_claims_can_fail() {
        let mut study = PhasesOfNets {
            ratios: [vec![0.05, 0.1], vec![0.1, 0.2]],
            loads: vec![0.7, 1.3, 3.0, 4.0],
            ..PhasesOfNets::at(Scale::Quick, Images::Embedded)
        };
        (study.nets.p, study.nets.p_test) = (30, 20);
        study.nets.kappas.truncate(2);
        study.limit_seeds(1);
        let frame = testing::run(&study);
        // Two protocols at two κ, with one letter for four maps.
        assert_eq!((study.draw(&frame).unwrap().len(), testing::svg_panels(&study, &frame)), (4, 1));
        let claims = study.claims(&frame).unwrap();
        assert_eq!(claims.len(), 2 * (9 + 1));
        let shares = |claims: &[Claim]| -> Vec<f64> {
            claims.iter().filter(|c| c.statement.contains("ended at a minimum")).map(|c| c.value).collect()
        };
        // Half of these networks have eight or ten units a layer, and may be caught between kinks; the others are not.
        assert!(shares(&claims).len() == 2 && shares(&claims).iter().all(|share| *share >= 0.5), "{claims:?}");
        let none = frame.replaced("converged", vec![Value::Number(0.0); frame.len()]).unwrap();
        let spoilt = study.claims(&none).unwrap();
        assert_eq!(shares(&spoilt), [0.0, 0.0]);
        assert!(spoilt.iter().any(|c| c.value == 0.0 && c.verdict == Verdict::Fail));
    }
}
