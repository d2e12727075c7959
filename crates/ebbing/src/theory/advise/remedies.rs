//! The search for the best setting of each remedy.

use super::bench::{Bench, no_network, with_depth};
use super::heads::at_width;
use super::{AdviseSettings, OrderRange, Remedy, RemedyKind, ReplayPoint};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::stats::number::chosen;
use crate::tasks::{TaskSequence, WithContext, in_order};
use crate::theory::Inputs;
use crate::theory::calibration::{self, Expected, Training};
use crate::theory::single_head::{Mode, Outcome, Replay, ReplayBudget, Selection, SingleHead, SingleHeadSettings};
use crate::theory::task_order::{OrderRank, OrderSearchSettings, TaskOrder, best_order_of};

/// Penalties that are tried, in units where the prior variance of a weight is 1.
pub(super) const LAMBDAS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// Depths that are tried.
const DEPTHS: [usize; 4] = [2, 3, 5, 8];
/// Shares of hidden units that a task's mask leaves active.
const SHARES: [f64; 3] = [0.5, 0.2, 0.1];
/// The least difference of forgetting that counts: below it two remedies are the same.
const SAME: f64 = 1e-12;

/// A setting of a remedy that was tried.
pub(super) struct Trial {
    pub name: String,
    pub needs: &'static str,
    pub cost: f64,
    pub outcomes: Vec<Outcome>,
}

/// Everything that has been tried so far.
pub(super) struct Search<'a> {
    draws: &'a [TaskSequence],
    settings: &'a AdviseSettings,
    context: &'a Context,
    /// How many of its parts have begun.
    begun: usize,
    theory: SingleHeadSettings,
    given: Vec<usize>,
    bases: Vec<Bench>,
    /// Whether only the order of tasks is searched.
    pub only_order: bool,
    pub remedies: Vec<(Remedy, Vec<Outcome>)>,
    pub nothing: Vec<Outcome>,
    pub points: Vec<ReplayPoint>,
    pub target: f64,
    pub needed: Option<usize>,
    pub most: usize,
    pub order: Option<Vec<usize>>,
    pub orders: Option<OrderRange>,
    /// How the tasks are unlike those whose networks were measured; none where nothing is said on trained networks.
    pub outside: Option<String>,
    /// The inverse temperature of trained heads, where it was taken because none was asked for.
    pub temperature: Option<f64>,
    /// The replay that is combined with other remedies.
    chosen: Replay,
    /// Benches of the remedies that replay may be combined with, with the remedy's name, kind, cost and theory.
    partners: Vec<(Trial, RemedyKind, SingleHeadSettings, Vec<Bench>)>,
}

fn mean(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().map(|o| o.forgetting).sum::<f64>() / outcomes.len() as f64
}

impl<'a> Search<'a> {
    pub fn new(draws: &'a [TaskSequence], settings: &'a AdviseSettings, context: &'a Context) -> Result<Self> {
        // At λ = β = ∞ mode gibbs is ntk.
        let mode = if settings.theory.mode == Mode::Gibbs { Mode::Ntk } else { settings.theory.mode };
        let theory = SingleHeadSettings { mode, variance: false, ..settings.theory };
        // Trained heads do not interpolate: near as many examples as features least squares blow up, and advice would be about that.
        let trained = settings.features && theory.beta.is_infinite() && draws[0].names_classes();
        let warm = calibration::theory_of_linear_head(Training::Plain, &draws[0]).filter(|_| trained);
        let theory = warm.map_or(theory, |warm| SingleHeadSettings { beta: warm.beta, ..theory });
        let base = |s: &TaskSequence| match settings.features {
            true => Ok(Bench::Features(Box::new(s.clone()))),
            false => Bench::network(s, &theory),
        };
        let bases = draws.iter().map(base).collect::<Result<Vec<_>>>()?;
        let given: Vec<usize> = (0..draws[0].tasks.len()).collect();
        let nothing = bases.iter().map(|b| b.outcome(theory, &given)).collect::<Result<Vec<_>>>()?;
        let accurate = nothing.iter().all(|o| o.accuracy.is_some() && o.backward_transfer.is_some());
        let tested = accurate && draws.iter().all(|s| s.tasks.iter().all(|task| task.test.is_some()));
        let outside = match settings.features {
            linear if tested && (linear || calibration::measured(&theory)) => calibration::outside(&draws[0], linear)?,
            _ => None,
        };
        let (most, of) = settings.replay.most(&bases[0].given(&given))?;
        if let Some(budget) = settings.budget.filter(|b| *b > most) {
            return Err(Error::setting("budget", budget, format!("must be at most {most}, the examples of {of}")));
        }
        Ok(Search {
            target: settings.keep_forgetting_below.unwrap_or(0.5 * mean(&nothing)),
            most: settings.budget.unwrap_or(most),
            draws,
            settings,
            context,
            begun: 0,
            theory,
            given,
            bases,
            only_order: false,
            remedies: vec![],
            nothing,
            points: vec![],
            needed: None,
            order: None,
            orders: None,
            outside,
            temperature: warm.map(|warm| warm.beta),
            chosen: Replay::default(),
            partners: vec![],
        })
    }

    pub fn run(&mut self) -> Result<()> {
        let mut nothing = Remedy::new(RemedyKind::Nothing, "nothing".into(), "", 1.0, &self.nothing);
        let trained = self.expect(Training::Plain, &self.bases, Replay::default());
        (nothing.expected, nothing.trained) = (self.calibrated(trained), trained.map(|t| [t.lost, t.accuracy]));
        self.remedies.push((nothing, self.nothing.clone()));
        if self.only_order {
            self.next("order")?;
            self.order();
            return Ok(());
        }
        self.next("replay")?;
        self.replay()?;
        self.next("gating")?;
        self.networks(RemedyKind::Gating, "gating", SHARES.to_vec(), |search, &g| {
            let theory = search.theory;
            let benches = search.each(|s| Bench::gated(s, &theory, g))?;
            search.trial((format!("gating, {} % of units", 100.0 * g), "the task at test time", 1.0), theory, benches)
        });
        self.next("depth")?;
        let depths: Vec<usize> = DEPTHS.iter().filter(|d| **d != self.theory.architecture.depth).copied().collect();
        let base_depth = self.theory.architecture.depth as f64;
        self.networks(RemedyKind::Depth, "another depth", depths, |search, &depth| {
            let theory = with_depth(&search.theory, depth);
            let benches = search.each(|s| Bench::network(s, &theory))?;
            let cost = (depth as f64 + 1.0) / (base_depth + 1.0);
            search.trial((format!("depth {depth}"), "a deeper network", cost), theory, benches)
        });
        self.next("order")?;
        if self.settings.order {
            self.order();
        }
        self.next("context")?;
        let dim = self.draws[0].dim();
        self.networks(RemedyKind::Context, "context vectors", vec![dim.div_ceil(4), dim], |search, &n| {
            let theory = search.theory;
            let context = WithContext { dim: n, ..WithContext::default() };
            let seed = search.settings.seed;
            let benches = search.each(|s| Bench::network(&context.apply(s, seed)?, &theory))?;
            let cost = 1.0 + n as f64 / dim as f64;
            search.trial((format!("context of {n} inputs"), "the task at test time", cost), theory, benches)
        });
        self.next("penalty")?;
        self.penalties();
        self.regimes();
        self.next("a readout per task")?;
        self.readouts();
        self.next("everything at once")?;
        self.joint();
        self.next("combinations")?;
        self.combinations();
        Ok(())
    }

    /// Begins the next part.
    fn next(&mut self, text: &str) -> Result<()> {
        self.begun += 1;
        self.part().say(text, 0.0)
    }

    /// The context of the part that is under way.
    fn part(&self) -> Context {
        self.context.part(self.begun.saturating_sub(1), 9)
    }

    /// A bench of every draw.
    fn each(&self, make: impl Fn(&TaskSequence) -> Result<Bench>) -> Result<Vec<Bench>> {
        self.draws.iter().map(make).collect()
    }

    /// What becomes of the tasks on benches of every draw.
    fn trial(
        &self,
        (name, needs, cost): (String, &'static str, f64),
        theory: SingleHeadSettings,
        benches: Vec<Bench>,
    ) -> Result<(Trial, SingleHeadSettings, Vec<Bench>)> {
        let outcomes = benches.iter().map(|b| b.outcome(theory, &self.given)).collect::<Result<Vec<_>>>()?;
        Ok((Trial { name, needs, cost, outcomes }, theory, benches))
    }

    /// The best of several settings of a remedy that changes the network, as a row; kept for combinations.
    fn networks<T>(
        &mut self,
        kind: RemedyKind,
        what: &str,
        settings: Vec<T>,
        tried: impl Fn(&Self, &T) -> Result<(Trial, SingleHeadSettings, Vec<Bench>)>,
    ) {
        let mut best: Result<(Trial, SingleHeadSettings, Vec<Bench>)> = Err(no_network());
        for setting in settings.iter().filter(|_| !self.settings.features) {
            match (tried(self, setting), &best) {
                (Ok(new), Ok(old)) if mean(&new.0.outcomes) >= mean(&old.0.outcomes) - SAME => {}
                (Ok(new), _) => best = Ok(new),
                (Err(error), Err(_)) => best = Err(error),
                (Err(_), Ok(_)) => {}
            }
        }
        match best {
            Ok((trial, theory, benches)) => {
                let gated = kind == RemedyKind::Gating && theory.same_kernels(&self.theory);
                let expected = if gated { self.expect(Training::Gating, &benches, Replay::default()) } else { None };
                self.push_expected(kind, &trial, expected);
                self.partners.push((trial, kind, theory, benches));
            }
            Err(error) => self.refuse(kind, what, &error),
        }
    }

    fn push(&mut self, kind: RemedyKind, trial: &Trial) {
        self.push_expected(kind, trial, None);
    }

    fn push_expected(&mut self, kind: RemedyKind, trial: &Trial, found: Option<Expected>) {
        let (expected, trained) = (self.calibrated(found), found.map(|f| [f.lost, f.accuracy]));
        let row = Remedy::new(kind, trial.name.clone(), trial.needs, trial.cost, &trial.outcomes);
        self.remedies.push((Remedy { expected, trained, ..row }, trial.outcomes.clone()));
    }

    /// What has a range: only what was found for tasks like those that were measured.
    fn calibrated(&self, found: Option<Expected>) -> Option<Expected> {
        found.filter(|_| self.outside.is_none())
    }

    /// What trained networks make of it, by the theory that came closest to them, from the kernels of `benches` where
    /// those are its own; none without test data.
    fn expect(&self, training: Training, benches: &[Bench], replay: Replay) -> Option<Expected> {
        let tested = self.draws.iter().all(|s| s.tasks.iter().all(|task| task.test.is_some()));
        let first = self.draws.first().filter(|_| tested && !self.settings.features)?;
        let closest = calibration::theory(training, first).filter(|_| calibration::measured(&self.theory))?;
        let theory = SingleHeadSettings { replay, ..closest };
        let outcome = |bench: &Bench| bench.outcome(theory, &self.given).ok();
        let outcomes: Option<Vec<Outcome>> = match (theory.same_kernels(&self.theory), training) {
            (true, _) => benches.iter().map(outcome).collect(),
            // Masks are part of the kernels that are there.
            (false, Training::Gating) => None,
            (false, _) => self.each(|s| Bench::network(s, &theory)).ok()?.iter().map(outcome).collect(),
        };
        let each: Option<Vec<(f64, f64)>> = outcomes?.iter().map(|o| o.backward_transfer.zip(o.accuracy)).collect();
        let each = each?;
        let mean = |get: fn(&(f64, f64)) -> f64| each.iter().map(get).sum::<f64>() / each.len() as f64;
        calibration::expected_of(training, calibration::Data::of(first, false), mean(|o| -o.0), mean(|o| o.1))
    }

    fn refuse(&mut self, kind: RemedyKind, what: &str, why: &Error) {
        self.remedies.push((Remedy::out(kind, what, why.to_string()), vec![]));
    }

    /// Work of training relative to doing nothing, from the examples learned.
    fn work(&self, outcomes: &[Outcome]) -> f64 {
        let learned = |all: &[Outcome]| all.iter().map(|o| o.learned as f64).sum::<f64>();
        learned(outcomes) / learned(&self.nothing)
    }

    fn replayed(
        &self,
        replay: Replay,
        theory: SingleHeadSettings,
        benches: &[Bench],
        order: &[usize],
    ) -> Result<Vec<Outcome>> {
        let theory = SingleHeadSettings { replay, ..theory };
        benches.iter().map(|b| b.outcome(theory, order)).collect()
    }

    /// The least number of examples that reaches the target, by bisection, and which selection is best at that number.
    fn replay(&mut self) -> Result<()> {
        let asked = self.settings.replay;
        let at = |search: &mut Self, examples: usize| -> Result<f64> {
            let replay = Replay { examples, ..asked };
            let outcomes = search.replayed(replay, search.theory, &search.bases, &search.given)?;
            let forgetting = mean(&outcomes);
            let accuracy: Option<Vec<f64>> = outcomes.iter().map(|o| o.accuracy).collect();
            let accuracy = accuracy.map(|all| all.iter().sum::<f64>() / all.len() as f64);
            search.points.push(ReplayPoint { examples, forgetting, accuracy, cost: search.work(&outcomes) });
            Ok(forgetting)
        };
        let most = self.most;
        let (mut short, mut enough) = (0, most);
        if at(self, most)? <= self.target {
            while enough - short > 1 {
                let middle = short + (enough - short) / 2;
                if at(self, middle)? <= self.target { enough = middle } else { short = middle }
            }
            self.needed = Some(enough);
        }
        for share in [20, 8, 3, 2] {
            let examples = (most / share).max(1);
            if self.points.iter().all(|p| p.examples != examples) {
                at(self, examples)?;
            }
        }
        self.points.sort_by_key(|p| p.examples);
        let kept = self.settings.budget.unwrap_or(enough);
        let mut best: Option<(Replay, Vec<Outcome>)> = None;
        let selections = [Selection::Random, Selection::ByClass, Selection::Greedy];
        for selection in selections {
            let replay = Replay { examples: kept, selection, ..asked };
            let outcomes = self.replayed(replay, self.theory, &self.bases, &self.given)?;
            if best.as_ref().is_none_or(|(_, least)| mean(&outcomes) < mean(least) - SAME) {
                best = Some((replay, outcomes));
            }
        }
        if let Some((replay, outcomes)) = best {
            self.chosen = replay;
            let cost = self.work(&outcomes);
            let expected = self.expect(Training::Replay, &self.bases, replay);
            let trial = Trial { name: replay.to_string(), needs: "kept examples", cost, outcomes };
            self.push_expected(RemedyKind::Replay, &trial, expected);
        }
        Ok(())
    }

    /// The orders with the least forgetting and with the highest test accuracy, each over all draws.
    fn order(&mut self) {
        let by_forgetting = match self.searched(OrderRank::Forgetting) {
            Ok(found) => found,
            Err(error) => return self.refuse(RemedyKind::Order, "another order", &error),
        };
        let tested = self.draws.iter().all(|s| s.tasks.iter().all(|task| task.test.is_some()));
        let by_accuracy = if tested { self.searched(OrderRank::Accuracy).ok() } else { None };
        self.orders = Some(OrderRange {
            tried: by_forgetting.tried,
            forgetting: [by_forgetting.forgetting, by_forgetting.worst],
            accuracy: by_accuracy.as_ref().and_then(|found| found.accuracy.map(|[best, _]| [best, found.worst])),
            within_noise: by_forgetting.within_noise,
        });
        let given = |found: &TaskOrder| found.order.iter().enumerate().all(|(place, t)| place + 1 == *t);
        let other = by_accuracy.filter(|found| found.order != by_forgetting.order && !given(found));
        for (found, why) in [(Some(by_forgetting), ""), (other, " (by accuracy)")] {
            let Some(found) = found else { continue };
            let order: Vec<usize> = found.order.iter().map(|t| t - 1).collect();
            let outcomes = self.bases.iter().map(|b| b.outcome(self.theory, &order)).collect::<Result<Vec<_>>>();
            if outcomes.is_ok() {
                self.order.get_or_insert(order);
            }
            let names: Vec<&str> = self.draws[0].tasks.iter().map(|task| task.name.as_str()).collect();
            let name = format!("order {}{why}", in_order(&found.order, &names));
            let trial = outcomes.map(|outcomes| Trial { name, needs: "all tasks known before", cost: 1.0, outcomes });
            self.push_or_refuse(RemedyKind::Order, "another order", trial);
        }
    }

    /// The best order of the mean over draws, from the kernels that are there.
    fn searched(&self, rank: OrderRank) -> Result<TaskOrder> {
        let search = OrderSearchSettings { theory: self.theory, rank, ..Default::default() };
        let inputs: Vec<Inputs<'_>> = self.bases.iter().map(Bench::inputs).collect();
        best_order_of(&inputs, &search, &self.part())
    }

    /// λ on all weights, and penalties that differ between layers as λ → ∞.
    fn penalties(&mut self) {
        let own = &self.settings.lambdas;
        let tried =
            if own.is_empty() { LAMBDAS.map(|lambda| lambda / self.theory.sigma2).to_vec() } else { own.clone() };
        let mut best: Result<Trial> = Err(no_network());
        for lambda in tried.into_iter().filter(|_| !self.settings.features) {
            let theory = SingleHeadSettings { mode: Mode::Gibbs, lambda, ..self.theory };
            let name = format!("penalty, λ = {} on all{}", chosen(lambda), self.temperature());
            let outcomes = self
                .draws
                .iter()
                .map(|s| SingleHead::new(s, &theory, self.context)?.outcome())
                .collect::<Result<Vec<_>>>();
            let trial = outcomes.map(|outcomes| Trial { name, needs: "a copy of the weights", cost: 1.0, outcomes });
            if !self.settings.lambdas.is_empty() {
                // Those that were asked for each have a row.
                let what = format!("penalty, λ = {}{}", chosen(lambda), self.temperature());
                self.push_or_refuse(RemedyKind::Penalty, &what, trial);
                continue;
            }
            let better = match (&trial, &best) {
                (Ok(new), Ok(old)) => mean(&new.outcomes) < mean(&old.outcomes) - SAME,
                (_, Err(_)) => true,
                _ => false,
            };
            if better {
                best = trial;
            }
        }
        if self.settings.lambdas.is_empty() || self.settings.features {
            self.push_or_refuse(RemedyKind::Penalty, "penalty", best);
        }
        let depth = self.theory.architecture.depth;
        let hidden = [(10.0, "penalty, hidden λ / 10"), (0.1, "penalty, hidden λ × 10")];
        let hidden = hidden.map(|(r, name)| (name.to_string(), r, 1.0));
        let frozen = [("penalty, readout held".to_string(), 1.0, 0.0)];
        let all: Vec<(String, f64, f64)> = hidden.into_iter().chain(frozen).collect();
        self.networks(RemedyKind::LayerPenalty, "penalty per layer", all, |search, (name, hidden, readout)| {
            let theory = SingleHeadSettings { mode: Mode::Ntk, ..search.theory };
            let mut mobility = vec![*hidden; depth];
            mobility.push(*readout);
            let benches = search.draws.iter().zip(&search.bases);
            let benches = benches.map(|(s, base)| base.per_layer(s, &theory, &mobility)).collect::<Result<Vec<_>>>()?;
            search.trial((name.clone(), "a copy of the weights", 1.0), theory, benches)
        });
    }

    /// The temperature that penalties are compared at, where there is one.
    fn temperature(&self) -> String {
        let beta = self.theory.beta;
        if beta.is_finite() { format!(", β = {}", chosen(beta)) } else { String::new() }
    }

    /// A row for a setting that was tried, or why there is none.
    fn push_or_refuse(&mut self, kind: RemedyKind, what: &str, tried: Result<Trial>) {
        match tried {
            Ok(trial) => self.push(kind, &trial),
            Err(error) => self.refuse(kind, what, &error),
        }
    }

    /// The other limits of learning.
    fn regimes(&mut self) {
        let held = self.theory.beta.is_finite();
        let all = [
            (Mode::Rf, "only the readout learns (rf)"),
            (Mode::Ntk, if held { "penalty, λ → ∞ at fixed β/λ (ntk)" } else { "penalty, λ → ∞ on all (ntk)" }),
            (Mode::Lazy, "plain descent (lazy)"),
        ];
        let own = self.theory.mode;
        for (mode, name) in all.into_iter().filter(|(mode, _)| *mode != own) {
            let needs = if mode == Mode::Ntk { "a copy of the weights" } else { "" };
            self.networks(RemedyKind::Regime, name, vec![mode], |search, &mode| {
                let theory = SingleHeadSettings { mode, ..search.theory };
                let benches = search.each(|s| Bench::network(s, &theory))?;
                search.trial((name.to_string(), needs, 1.0), theory, benches)
            });
            // Another way of learning is a row of its own, not something to combine.
            self.partners.retain(|(_, kind, ..)| *kind != RemedyKind::Regime);
        }
    }

    /// A readout per task: at the user's width where the multi-head theory applies; else in the wide limit, where what a task
    /// learned alone knows is never overwritten.
    fn readouts(&mut self) {
        let widths: Vec<f64> = self.settings.width.iter().chain(&self.settings.widths).copied().collect();
        let mut any = false;
        for width in widths {
            match at_width(self.draws, &self.theory, width, &self.settings.lambdas, self.context) {
                Ok(trials) => {
                    trials.iter().for_each(|trial| self.push(RemedyKind::Readouts, trial));
                    any = true;
                }
                Err(error) => self.refuse(RemedyKind::Readouts, &format!("readouts at N = {width}"), &error),
            }
        }
        if any {
            return;
        }
        let alone = |bench: &Bench| {
            let each =
                self.given.iter().map(|&t| bench.outcome(self.theory, &[t])).collect::<Result<Vec<Outcome>>>()?;
            let accuracy: Option<Vec<f64>> = each.iter().map(|o| o.accuracy).collect();
            let accuracy = accuracy.map(|all| all.iter().sum::<f64>() / all.len() as f64);
            let learned = each.iter().map(|o| o.learned).sum();
            Ok(Outcome { forgetting: 0.0, accuracy, backward_transfer: accuracy.map(|_| 0.0), learned })
        };
        let name = "a readout per task (wide)".to_string();
        let outcomes = self.bases.iter().map(alone).collect::<Result<Vec<_>>>();
        let trial = outcomes.map(|outcomes| Trial { name, needs: "the task at test time", cost: 1.0, outcomes });
        self.push_or_refuse(RemedyKind::Readouts, "a readout per task", trial);
    }

    /// Everything at once: everything stored, the kernel of every task being the same.
    fn joint(&mut self) {
        let everything = Replay { budget: ReplayBudget::InAll, ..Replay::default() };
        let mode = if self.theory.mode == Mode::Ntk { Mode::Lazy } else { self.theory.mode };
        let theory = SingleHeadSettings { mode, ..self.theory };
        let all = |b: &Bench| {
            let (examples, _) = everything.most(&b.given(&self.given))?;
            let replay = Replay { examples, ..everything };
            let outcome = b.outcome(SingleHeadSettings { replay, ..theory }, &self.given)?;
            // Nothing comes before anything: there is no transfer.
            Ok(Outcome { backward_transfer: None, ..outcome })
        };
        let what = "everything at once (bound)";
        let outcomes = self.bases.iter().map(all).collect::<Result<Vec<_>>>();
        let (name, needs) = (what.to_string(), "all data at one time");
        let trial = outcomes.map(|outcomes| Trial { name, needs, cost: 1.0, outcomes });
        self.push_or_refuse(RemedyKind::Joint, what, trial);
    }

    /// Replay with each of the others; the best two are reported.
    fn combinations(&mut self) {
        let mut tried: Vec<(Trial, RemedyKind)> = vec![];
        let kept = self.chosen;
        let ordered = self.order.iter().map(|order| self.replayed(kept, self.theory, &self.bases, order));
        for outcomes in ordered.filter_map(Result::ok) {
            let (name, cost) = (format!("{} + best order", short(&kept)), self.work(&outcomes));
            tried.push((Trial { name, needs: "kept examples", cost, outcomes }, RemedyKind::Order));
        }
        for (partner, kind, theory, benches) in &self.partners {
            if let Ok(outcomes) = self.replayed(kept, *theory, benches, &self.given) {
                let name = format!("{} + {}", short(&kept), partner.name);
                let cost = partner.cost * self.work(&outcomes);
                tried.push((Trial { name, needs: "kept examples", cost, outcomes }, *kind));
            }
        }
        tried.sort_by(|a, b| mean(&a.0.outcomes).total_cmp(&mean(&b.0.outcomes)));
        for (trial, beside) in tried.iter().take(2) {
            self.push(RemedyKind::Combination, trial);
            if let Some((row, _)) = self.remedies.last_mut() {
                row.beside = Some(*beside);
                row.task_known = matches!(beside, RemedyKind::Gating | RemedyKind::Context);
            }
        }
    }
}

fn short(replay: &Replay) -> String {
    format!("replay of {}", replay.examples)
}
