//! A figure that the paper does not have: how the readout and the test loss of networks grow with λ, against the load.
//!
//! Without a pull of its own the norm of a new readout is all but undetermined where networks overfit. The theory's posterior has
//! one: beside `κ/2 |W − W_0|²` a `ρ/2 |a|²` with `λ = κ/(ρσ²)`. With it `|a_2|²/N` can be held against u1(2,2), and the regimes are
//! distinguished as in the theory: both it and G_22 grow as √λ where networks overfit, and not at all where they generalize.

use super::drawn::{ByRatio, Drawn};
use super::loads::{column, largest};
use super::minima::{Minima, against_load, pair_cell, pairs, reached, seeds};
use super::s6::CriticalLoads;
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use crate::statistics::median;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::nets::Heads;
use ebbing::plan::Cost;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::phase::PhasePoint;
use ebbing_show::{Dash, Figure, Legend, Line, Markers, Panel, Rgb};
use ebbing_studies::{Frame, Result, Row, Study, Work};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "exponents",
    panels: "a-d, not in the paper",
    shows: "How readouts and test loss of networks at their minimum grow with λ, beside the theory, L = 1 and 2",
    needs: Needs::Training,
    kin: None,
    bound: None,
    figure: |scale, images| Box::new(Exponents::at(scale, images)),
};

/// λ = κ/(ρσ²): exponents are taken between the last two.
const LAMBDAS: [f64; 3] = [1e3, 1e4, 1e5];
const DEPTHS: [usize; 2] = [1, 2];

/// Ratios × loads × depths × λ × seeds for two protocols.
struct Exponents {
    nets: Minima,
    scale: Scale,
    /// Of each protocol.
    ratios: [Vec<f64>; 2],
    loads: Vec<f64>,
    /// Seeds at depth 1 and 2.
    seeds: [u64; 2],
}

impl Exponents {
    fn at(scale: Scale, images: Images) -> Self {
        let (loads, seeds) = match scale {
            Scale::Quick => (vec![1.2, 1.6, 2.2, 3.2, 4.5, 6.5], 3),
            Scale::Paper => (vec![1.15, 1.4, 1.7, 2.1, 2.6, 3.2, 4.0, 5.0, 6.5, 8.0], 10),
        };
        let nets = Minima { kappas: vec![0.1], first: None, ..Minima::at(scale, images) };
        Exponents { nets, scale, ratios: [vec![0.15], vec![0.25]], loads, seeds: [seeds; 2] }
    }

    /// The rows of one protocol.
    fn of(&self, frame: &Frame, kind: &str, k: usize) -> Result<Frame> {
        frame.only("kind", kind)?.only("protocol", ByRatio::BOTH[k])
    }

    fn runs(&self, frame: &Frame, k: usize, depth: usize) -> Result<Frame> {
        self.of(frame, "nets", k)?.only("depth", depth)
    }

    fn exact(&self, frame: &Frame, k: usize) -> Result<f64> {
        Ok(self.of(frame, "boundary", k)?.mean("alpha_c")?.value)
    }
}

/// `d ln y/d ln λ` between the last two λ against the load: mean over seeds, each with itself.
fn exponents(frame: &Frame, of: &str) -> Result<Vec<(f64, Estimate)>> {
    let [_, low, high] = LAMBDAS;
    let mut found = Vec::new();
    for alpha in frame.levels("alpha")? {
        let at = frame.only("alpha", alpha)?;
        let (below, above) = (at.only("lambda", low)?.numbers(of)?, at.only("lambda", high)?.numbers(of)?);
        let growth: Vec<f64> = above.iter().zip(&below).map(|(y, x)| (y / x).ln() / (high / low).ln()).collect();
        found.push((alpha, mean_with_error(&growth)?));
    }
    Ok(found)
}

/// Where overfitting ends, by exponents of λ.
struct Middle {
    /// The mean exponent over loads between 1 and 0.8 α_c; NaN where there are none.
    exponent: f64,
    /// The load where the exponent last falls through half of that, linear in ln α; the largest load where it has not fallen there.
    load: f64,
    /// Whether it has fallen at the largest load.
    falls: bool,
}

impl Middle {
    fn of(curve: &[(f64, Estimate)], exact: f64) -> Middle {
        let inside: Vec<f64> =
            curve.iter().filter(|(a, _)| *a > 1.0 && *a < 0.8 * exact).map(|(_, e)| e.value).collect();
        let exponent = if inside.is_empty() { f64::NAN } else { inside.iter().sum::<f64>() / inside.len() as f64 };
        let half = 0.5 * exponent;
        let falls = curve.last().is_some_and(|(_, last)| last.value < half);
        let through = (1..curve.len()).rev().find(|&i| curve[i - 1].1.value >= half && curve[i].1.value < half);
        let load = match (falls, through, curve.last()) {
            (true, Some(i), _) => {
                let ((a, before), (b, after)) = (curve[i - 1], curve[i]);
                let share = (before.value - half) / (before.value - after.value);
                (a.ln() * (1.0 - share) + b.ln() * share).exp()
            }
            (false, _, Some((last, _))) if half.is_finite() => *last,
            _ => f64::NAN,
        };
        Middle { exponent, load, falls }
    }

    /// The gap of the load to the exact one, relative; NaN where it is only known to lie beyond all loads.
    fn gap(&self, exact: f64) -> f64 {
        if self.falls { (self.load / exact - 1.0).abs() } else { f64::NAN }
    }
}

/// u1(2,2) and G_22 of the theory at one λ.
#[derive(Debug, Serialize, Deserialize)]
struct AtLambda {
    tasks: Drawn,
    sigma2: f64,
    lambda: f64,
    loads: Vec<f64>,
}

impl Work for AtLambda {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let settings = MultiHeadSettings { lambda: self.lambda, sigma2: self.sigma2, ..MultiHeadSettings::default() };
        let points = self.tasks.two(sources, &settings, context)?.curve(&self.loads)?.points;
        let row = |point: &PhasePoint| {
            Row::new()
                .with("alpha", point.factors.alpha)
                .with("readout", point.factors.u22.coefficient)
                .with("g22", point.g22.map_or(f64::NAN, |g| g.coefficient))
        };
        Ok(points.iter().map(row).collect())
    }

    fn cost(&self) -> Cost {
        self.tasks.phase_cost(self.loads.len())
    }
}

impl Reproduction for Exponents {
    fn limit_seeds(&mut self, most: usize) {
        self.seeds.iter_mut().for_each(|seeds| at_most(seeds, most));
    }

    fn limit_deep_seeds(&mut self, most: usize) -> bool {
        at_most(&mut self.seeds[1], most);
        true
    }

    fn study(&self) -> Result<Study> {
        let own = [column("lambda", "λ = κ/(ρσ²), ρ the strength of the readout's own penalty")];
        let mut grid = self.nets.study("figure-exponents", self.scale, serde_json::json!({ "lambdas": LAMBDAS }), &own);
        let sigma2 = self.nets.sigma0.powi(2);
        for (kind, ratio) in pairs(&self.ratios) {
            let tasks = || self.nets.tasks(kind, ratio, 0);
            grid.push(pair_cell("boundary", (kind, ratio), 0), CriticalLoads { tasks: tasks(), sigma2 });
            for lambda in LAMBDAS {
                let theory = AtLambda { tasks: tasks(), sigma2, lambda, loads: self.loads.clone() };
                grid.push(pair_cell("theory", (kind, ratio), 0).with("lambda", lambda), theory);
                for (depth, &alpha) in DEPTHS.into_iter().flat_map(|d| self.loads.iter().map(move |a| (d, a))) {
                    for seed in seeds(self.seeds[depth - 1]) {
                        let cell = pair_cell("nets", (kind, ratio), seed).with("depth", depth).with("alpha", alpha);
                        let mut work = self.nets.nets(tasks(), Heads::Multi, depth, alpha, seed);
                        work.settings.readout_penalty = self.nets.kappas[0] / (lambda * sigma2);
                        grid.push(cell.with("lambda", lambda), work);
                    }
                }
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let names = ["figure-exponents", "figure-exponents-split"];
        (0..2).map(|k| Ok((names[k].to_string(), self.figure(frame, k)?))).collect()
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for (k, protocol) in ByRatio::BOTH.into_iter().enumerate() {
            claims.extend(self.panel_claims(frame, k, protocol)?);
        }
        claims.push(reached("a-d", &frame.only("kind", "nets")?)?);
        Ok(claims)
    }
}

impl Exponents {
    /// A column of networks of one depth at every λ, with the theory's for one hidden layer.
    fn panel(&self, frame: &Frame, k: usize, depth: usize, of: &str, y: &str) -> Result<Panel> {
        let mut panel = Panel::new().x("load α = P/N").y(y).log_x().log_y().legend(Legend::Below);
        let (runs, theory) = (self.runs(frame, k, depth)?, self.of(frame, "theory", k)?);
        for (n, lambda) in LAMBDAS.into_iter().enumerate() {
            let name = format!("λ = 10^{{{}}}", lambda.log10().round());
            let (x, y, e) = against_load(&runs.only("lambda", lambda)?, of)?;
            panel = panel.markers(Markers::new(&name, &x, &y).errors(&e).category(n));
            if depth == 1 {
                let (x, y, _) = against_load(&theory.only("lambda", lambda)?, of)?;
                panel = panel.line(Line::new("", &x, &y).category(n));
            }
        }
        Ok(panel)
    }

    fn figure(&self, frame: &Frame, k: usize) -> Result<Figure> {
        let mut growth = Panel::new().x("load α = P/N").y("exponent of λ in G_{22}").log_x().legend(Legend::Below);
        for (n, depth) in DEPTHS.into_iter().enumerate() {
            let curve = exponents(&self.runs(frame, k, depth)?, "g22")?;
            let (x, y): (Vec<f64>, Vec<f64>) = curve.iter().map(|(a, e)| (*a, e.value)).unzip();
            let errors: Vec<f64> = curve.iter().map(|(_, e)| e.standard_error.unwrap_or(0.0)).collect();
            growth = growth.markers(Markers::new(&format!("L = {depth}"), &x, &y).errors(&errors).category(n));
        }
        let (x, y): (Vec<f64>, Vec<f64>) =
            exponents(&self.of(frame, "theory", k)?, "g22")?.iter().map(|(a, e)| (*a, e.value)).unzip();
        let exact = self.exact(frame, k)?;
        growth = growth.line(Line::new("theory, L = 1", &x, &y).category(0));
        if exact <= self.loads[self.loads.len() - 1] {
            growth =
                growth.line(Line::new("exact α_{c}", &[exact; 2], &[0.0, 0.5]).color(Rgb::BLACK).dash(Dash::Dashed));
        }
        let panels = vec![
            self.panel(frame, k, 1, "readout", "|a_{2}|²/N, L = 1")?,
            self.panel(frame, k, 1, "g22", "G_{22}, L = 1")?,
            self.panel(frame, k, 2, "g22", "G_{22}, L = 2")?,
            growth,
        ];
        let caption = format!(
            "Networks with a readout per task whose new readout is pulled to 0 with a strength of κ/(λσ_0²), as in the theory's \
             posterior. **a** Norm of the second readout of one hidden layer at three λ; lines: u_1(2,2) of the theory. **b** G_{{22}}, \
             lines: theory. **c** G_{{22}} of two hidden layers. **d** How G_{{22}} grows with λ, d ln G_{{22}}/d ln λ between λ = 10^{{4}} and \
             10^{{5}}: ½ where the theory overfits, 0 where it generalizes. {} {}; means and standard errors over {} (L = 2: {}) \
             seeds of the initial weights. {}",
            ["Permutation ratio", "Split ratio"][k],
            self.ratios[k][0],
            self.seeds[0],
            self.seeds[1],
            self.nets.caption(self.nets.kappas[0])
        );
        Ok(Figure::grid(panels, 2).caption(&caption))
    }

    fn panel_claims(&self, frame: &Frame, k: usize, protocol: ByRatio) -> Result<Vec<Claim>> {
        let (exact, theory) = (self.exact(frame, k)?, self.of(frame, "theory", k)?);
        let of = |depth: usize, name: &str| exponents(&self.runs(frame, k, depth)?, name);
        let (norm, one, two) = (of(1, "readout")?, of(1, "g22")?, of(2, "g22")?);
        let answer = |curve: &[(f64, Estimate)]| {
            let each: Vec<String> = curve.iter().map(|(a, e)| format!("{a}: {:.2}", e.value)).collect();
            format!("exact α_c {exact:.2}; load: exponent {}", each.join(", "))
        };
        let at = |statement: &str| format!("{protocol} {}, {statement}", self.ratios[k][0]);
        let near_half = |name: &str, curve: &[(f64, Estimate)]| {
            let mean = Middle::of(curve, exact).exponent;
            let statement = at(&format!("L = 1: mean exponent of λ in {name} over loads between 1 and 0.8 α_c"));
            Claim::new("a, d", &statement, mean, "0.5 ± 0.1", (mean - 0.5).abs() <= 0.1).note(answer(curve))
        };
        let beyond = largest(norm.iter().chain(&one).filter(|(a, _)| *a > 1.25 * exact).map(|(_, e)| e.value.abs()));
        let mut gaps = Vec::new();
        let runs = self.runs(frame, k, 1)?;
        for lambda in LAMBDAS {
            let (_, nets, _) = against_load(&runs.only("lambda", lambda)?, "readout")?;
            let (_, u22, _) = against_load(&theory.only("lambda", lambda)?, "readout")?;
            gaps.extend(nets.iter().zip(&u22).map(|(a, u)| (a / u).ln().abs()));
        }
        let (found, deep) = (Middle::of(&one, exact), Middle::of(&two, exact));
        let statement = "L = 1: gap of the load where the exponent of G_22 has fallen to half of that to the exact α_c";
        let beside = "L = 2: load where the exponent of G_22 has fallen to half, over the exact α_c of L = 1";
        Ok(vec![
            near_half("|a_2|²/N", &norm),
            near_half("G_22", &one),
            Claim::below("a, d", &at("L = 1: largest exponent of either beyond 1.25 α_c"), beyond, 0.1),
            Claim::below("d", &at(statement), found.gap(exact), 0.25),
            Claim::below(
                "a",
                &at("L = 1: median over loads and λ of the factor between |a_2|²/N and u_1(2,2)"),
                median(&gaps).exp(),
                1.5,
            ),
            // A bound from below is enough here.
            Claim::above("d", &at(beside), deep.load / exact, 1.0).note(format!(
                "{}mean exponent between 1 and 0.8 α_c: {:.2}; {}",
                if deep.falls { "" } else { "not fallen at the largest load, beyond which it lies; " },
                deep.exponent,
                answer(&two)
            )),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn the_middle_of_a_fall_is_interpolated_in_the_logarithm() {
        let curve = |values: &[(f64, f64)]| -> Vec<(f64, Estimate)> {
            values.iter().map(|&(a, value)| (a, Estimate { value, standard_error: None })).collect()
        };
        let found = Middle::of(&curve(&[(0.5, 0.0), (1.5, 0.4), (2.0, 0.4), (8.0, 0.0)]), 3.0);
        assert!((found.exponent - 0.4).abs() < 1e-12 && (found.load - 4.0).abs() < 1e-12);
        assert!(found.falls && (found.gap(3.0) - 1.0 / 3.0).abs() < 1e-12);
        // A dip on the way is no end: the load lies beyond the last, and how far is not known.
        let found = Middle::of(&curve(&[(1.5, 0.4), (2.0, 0.1), (8.0, 0.3)]), 3.0);
        assert!(!found.falls && found.load == 8.0 && found.gap(3.0).is_nan());
        let found = Middle::of(&curve(&[(4.0, 0.4), (8.0, 0.0)]), 3.0);
        assert!(found.exponent.is_nan() && found.load.is_nan() && found.gap(3.0).is_nan());
    }

    /// Small networks, and yet: the readout grows with λ where they overfit, and the claims notice where it does not.
    #[test]
    fn runs_through_and_claims_can_fail() {
        let mut study = Exponents { loads: vec![1.5, 6.0], ..Exponents::at(Scale::Quick, Images::Embedded) };
        (study.nets.p, study.nets.p_test) = (60, 30);
        study.limit_seeds(1);
        let frame = testing::run(&study);
        assert_eq!((study.draw(&frame).unwrap().len(), testing::svg_panels(&study, &frame)), (2, 4));
        let claims = study.claims(&frame).unwrap();
        assert_eq!(claims.len(), 2 * 6 + 1);
        let growth = |claims: &[Claim]| claims[0].value;
        assert!(growth(&claims) > 0.1, "{claims:?}");
        let spoilt = study.claims(&testing::reversed(&frame, "readout")).unwrap();
        assert!(growth(&spoilt) < growth(&claims));
        assert_eq!(spoilt[0].verdict, Verdict::Fail);
    }
}
