//! `phase`: tasks with a readout each against the load P/N; as rows, one per penalty and load.

use super::phase_pairs::Representation;
use super::tasks::{ProtocolKind, TaskKeys};
use super::words::{ACTIVATIONS, Loads, checked_seeds, checked_sigma, choice, list, number, readout_sigma2};
use crate::cell::Row;
use crate::error::Result;
use clap::ValueEnum;
use ebbing::data::Sources;
use ebbing::kernels::Activation;
use ebbing::plan::{Cost, Sizes, phase_cost, sequence_cost};
use ebbing::stats::Estimate;
use ebbing::tasks::{Protocol, TaskOrigin, prepared_words};
use ebbing::theory::best_lambda::{BestLambda, best_lambda};
use ebbing::theory::multi_head::{CriticalLoad, MultiHeadSettings, Power, Regime, TwoTasks};
use ebbing::theory::phase::{
    Location, LossMaps, PhaseCurve, PhasePoint, SequenceCurve, SequencePoint, WidthPoint, normalised_labels,
    phase_curves, sequence_curve,
};
use ebbing::{Error, Recipe, Task};
use serde::{Deserialize, Serialize};

/// The range of λ in which the best one is searched.
const RANGE: (f64, f64) = (1e-2, 1e6);

/// What is swept across the phase diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseSweep {
    /// Permutation ratio
    #[default]
    Perm,
    /// Split ratio of a partial split
    Split,
    /// Target-distractor: share of targets that both tasks share
    Target,
    /// Target-distractor: share of images that both tasks share
    Shared,
    /// Target-distractor: chance that a shared label is flipped
    Flip,
}

/// The settings of a phase diagram.
#[derive(Debug, Clone, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseJob {
    /// Which tasks are learned.
    #[command(flatten)]
    #[serde(flatten)]
    pub tasks: TaskKeys,
    /// What is swept [default: perm, unless a protocol, a ratio or a width chooses two tasks]
    #[arg(long, value_enum, conflicts_with_all = ["tasks", "protocol", "width"])]
    pub sweep: Option<PhaseSweep>,
    /// Values of what is swept, comma-separated [default: depends on the sweep]
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub values: Vec<f64>,
    /// Values whose curves against the load are drawn [default: three of them]
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub curves: Vec<f64>,
    /// Loads P/N as from:to:count, evenly on a logarithmic scale, or a list
    #[arg(long, value_name = "GRID", default_value = "0.1:10:60")]
    pub alpha: Loads,
    /// Penalties of the curves, comma-separated, inf included
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',', default_value = "inf")]
    #[serde(deserialize_with = "list")]
    pub lambda: Vec<f64>,
    /// Prior standard deviation of a weight
    #[arg(long, value_parser = number, value_name = "SIGMA", default_value_t = 1.0)]
    pub sigma: f64,
    /// Prior standard deviation of readouts [default: that of all weights]
    #[arg(long, value_parser = number, value_name = "SIGMA")]
    pub sigma_readout: Option<f64>,
    /// Bound on the norm |a|^2/N of every readout: nothing diverges any more
    #[arg(long, value_parser = number, value_name = "C")]
    pub readout_norm: Option<f64>,
    /// Inverse temperature; inf interpolates the training data, anything else is told as curves alone
    #[arg(long, value_parser = number, value_name = "BETA", default_value_t = f64::INFINITY)]
    #[serde(with = "ebbing::serde_infinity")]
    pub beta: f64,
    /// Nonlinearity
    #[arg(long, value_parser = choice::<Activation>(ACTIVATIONS), default_value = "relu")]
    pub activation: Activation,
    /// Scale labels so that Y'K^-1 Y/P = 1, which the gamma_sim law assumes
    #[arg(long)]
    pub rescale_labels: bool,
    /// Number of seeds to average over
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub seeds: usize,
    /// Two of the tasks that are given, or that forecast would draw, by number, in the order learned
    #[arg(long, value_name = "I,J", value_delimiter = ',', conflicts_with = "sweep")]
    #[serde(deserialize_with = "list")]
    pub pair: Vec<usize>,
    /// Every pair of the tasks, in the order learned: similarity, critical load and, with --width, the regime
    #[arg(long, conflicts_with_all = ["pair", "sweep", "representation"])]
    pub pairs: bool,
    /// The width N to place in the diagram of two tasks, or of more
    #[arg(long, value_parser = number, value_name = "N")]
    pub width: Option<f64>,
    /// What two tasks do to the hidden layer at that width: the change of representations, and how the learned kernel lines up
    /// with the labels
    #[arg(long, requires = "width")]
    pub representation: bool,
}

/// One value of a sweep: its critical loads over seeds.
#[derive(Debug, Clone)]
pub struct SweptLoads {
    /// The value.
    pub value: f64,
    /// One per seed.
    pub loads: Vec<CriticalLoad>,
}

impl SweptLoads {
    /// Mean and standard error of a number over seeds; a number that is infinite for any seed is infinite.
    pub fn mean(&self, get: fn(&CriticalLoad) -> f64) -> Estimate {
        Estimate::over(&self.loads.iter().map(get).collect::<Vec<f64>>())
    }
}

/// The curves of one value of a sweep (first seed), one per λ.
#[derive(Debug, Clone)]
pub struct SweptCurves {
    /// The value; NaN where nothing is swept.
    pub value: f64,
    /// One per λ.
    pub curves: Vec<PhaseCurve>,
}

/// Two tasks in the diagram.
#[derive(Debug, Clone)]
pub struct PhasePlace {
    /// Everything that made the tasks.
    pub settings: serde_json::Value,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Examples of either task.
    pub sizes: Vec<usize>,
    /// The critical load.
    pub critical: CriticalLoad,
    /// Where the width lies.
    pub location: Option<Location>,
    /// The penalty that serves both tasks best at that width, where both have test sets.
    pub best: Option<BestLambda>,
    /// At λ → ∞ and where both have test sets: that width, and the best of all widths of the curves.
    pub widths: Option<[WidthPoint; 2]>,
    /// Whether both have test sets.
    pub tested: bool,
    /// Curves against the load.
    pub curves: SweptCurves,
    /// What they do to the hidden layer, where that was asked for.
    pub representation: Vec<Representation>,
}

impl PhasePlace {
    /// Two tasks in the diagram, from their decomposition at λ → ∞ and the maps of their losses; `with_own` makes the curve at
    /// λ → ∞ whose first point is the load given, and `curves` are those to be drawn. The best penalty is not searched, and the
    /// hidden layer not looked at.
    ///
    /// # Errors
    /// As for [`CriticalLoad::locate`] and [`TwoTasks::curve_from`].
    pub fn of(
        (two, maps): (&TwoTasks, &LossMaps),
        width: Option<f64>,
        with_own: impl FnOnce(f64) -> ebbing::Result<PhaseCurve>,
        curves: Vec<PhaseCurve>,
        (settings, tasks): (serde_json::Value, &[Task]),
    ) -> ebbing::Result<PhasePlace> {
        let sizes = two.sizes();
        let critical = maps.critical.clone().map_or_else(|| two.critical_load(), Ok)?;
        let location = width.map(|n| critical.locate(sizes[1], n)).transpose()?;
        let widths = match &location {
            Some(location) => {
                let curve = with_own(location.alpha)?;
                curve.widths().zip(curve.best_width()).map(|(all, best)| [all[0], best])
            }
            None => None,
        };
        let curves = SweptCurves { value: f64::NAN, curves };
        let (sizes, tested) = (sizes.to_vec(), maps.tested());
        let (prepared, representation) = (prepared_words(&settings, tasks, true), vec![]);
        let best = None;
        Ok(PhasePlace { settings, prepared, sizes, critical, location, best, widths, tested, curves, representation })
    }
}

impl PhaseSweep {
    /// The name on axes (markup).
    pub fn axis(self) -> &'static str {
        match self {
            PhaseSweep::Perm => "permutation ratio",
            PhaseSweep::Split => "split ratio",
            PhaseSweep::Target => "ρ_{target}",
            PhaseSweep::Shared => "ρ_{shared}",
            PhaseSweep::Flip => "ρ_{flip}",
        }
    }

    /// The values that are swept if none are given.
    fn values(self) -> Vec<f64> {
        let upto = |top: f64, n: usize| (0..=n).map(|k| top * k as f64 / n as f64).collect::<Vec<_>>();
        match self {
            PhaseSweep::Perm => vec![0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0],
            PhaseSweep::Split => vec![0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0],
            PhaseSweep::Target => upto(1.0, 8),
            PhaseSweep::Shared => vec![0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9],
            PhaseSweep::Flip => upto(0.5, 8),
        }
    }

    /// The curves that are drawn if none are chosen.
    fn curves(self) -> Vec<f64> {
        match self {
            PhaseSweep::Perm => vec![0.05, 0.15, 0.4],
            PhaseSweep::Split => vec![0.1, 0.25, 0.5],
            PhaseSweep::Target => vec![0.25, 0.75, 1.0],
            PhaseSweep::Shared => vec![0.2, 0.5, 0.8],
            PhaseSweep::Flip => vec![0.0, 0.125, 0.25],
        }
    }

    /// The protocol that has the swept setting.
    fn protocol(self) -> ProtocolKind {
        match self {
            PhaseSweep::Perm => ProtocolKind::Permuted,
            PhaseSweep::Split => ProtocolKind::PartialSplit,
            PhaseSweep::Target | PhaseSweep::Shared | PhaseSweep::Flip => ProtocolKind::TargetDistractor,
        }
    }

    /// The recipe with the swept setting at `value`.
    fn at(self, recipe: &Recipe, value: f64) -> Recipe {
        let mut recipe = recipe.clone();
        if let TaskOrigin::Drawn { protocol, .. } = &mut recipe.origin {
            match (protocol, self) {
                (Protocol::Permuted(p), _) => p.ratio = value,
                (Protocol::PartialSplit(p), _) => p.split = value,
                (Protocol::TargetDistractor(p), PhaseSweep::Target) => p.rho_target = value,
                (Protocol::TargetDistractor(p), PhaseSweep::Shared) => p.rho_shared = value,
                (Protocol::TargetDistractor(p), _) => p.rho_flip = value,
                (Protocol::Split(_), _) => {}
            }
        }
        recipe
    }
}

impl PhaseJob {
    /// The settings of the theory, at λ = ∞.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn theory(&self) -> ebbing::Result<MultiHeadSettings> {
        if let Some(bad) = self.lambda.iter().find(|l| l.is_nan() || **l < 0.0) {
            return Err(Error::setting("--lambda", bad, "every penalty must be at least 0 (inf is allowed)"));
        }
        if self.beta.is_nan() || self.beta <= 0.0 {
            return Err(Error::setting("--beta", self.beta, "must be positive (inf is allowed)"));
        }
        if let Some(bound) = self.readout_norm.filter(|c| !(*c > 0.0 && c.is_finite())) {
            return Err(Error::setting("--readout-norm", bound, "must be positive and finite"));
        }
        if let Some(bound) = self.readout_norm.filter(|_| self.beta.is_finite()) {
            return Err(Error::setting("--readout-norm", bound, "needs --beta inf; --sigma-readout works at any beta"));
        }
        Ok(MultiHeadSettings {
            sigma2: checked_sigma(self.sigma)?.powi(2),
            readout_sigma2: readout_sigma2(self.sigma_readout)?,
            readout_norm: self.readout_norm,
            beta: self.beta,
            activation: self.activation,
            ..MultiHeadSettings::default()
        })
    }

    pub(super) fn check(&self) -> ebbing::Result<()> {
        checked_seeds(self.seeds)?;
        self.theory()?;
        self.alpha.grid()?;
        if let Some(width) = self.width.filter(|n| !(n.is_finite() && *n >= 1.0)) {
            return Err(Error::setting("--width", width, "must be a number of units, at least 1"));
        }
        self.task_recipe().map(|_| ())
    }

    /// Refuses settings that tasks of these sizes do not allow.
    pub(super) fn check_sizes(&self, sizes: &Sizes) -> ebbing::Result<()> {
        let tasks = sizes.train.len();
        if tasks < 2 {
            return Err(Error::setting("--length", tasks, "must be at least 2 tasks"));
        }
        if self.pair.is_empty() { Ok(()) } else { check_pair(&self.pair, tasks) }
    }

    /// What is swept, where tasks are: neither are they given, nor does a setting choose two of them.
    pub fn sweep(&self) -> Option<PhaseSweep> {
        let keys = &self.tasks;
        let ratios = [keys.ratio, keys.rho_target, keys.rho_shared, keys.rho_flip];
        let chosen = keys.tasks.is_some() || keys.protocol.is_some() || self.width.is_some();
        let one_pair = chosen || self.pairs || !self.pair.is_empty();
        match self.sweep {
            None if one_pair || self.curves_alone() || ratios.iter().any(Option::is_some) => None,
            chosen => Some(chosen.unwrap_or_default()),
        }
    }

    /// What makes the tasks, at the sweep's first value where there is one.
    pub(super) fn task_recipe(&self) -> ebbing::Result<Recipe> {
        self.refuse_idle_flags()?;
        match self.sweep() {
            Some(sweep) => {
                let base = self.recipe(sweep.protocol())?;
                Ok(self.grid().0.first().map_or(base.clone(), |&value| sweep.at(&base, value)))
            }
            None => self.recipe(self.tasks.kind()),
        }
    }

    /// Refuses flags that what was asked for does not use.
    fn refuse_idle_flags(&self) -> ebbing::Result<()> {
        let keys = &self.tasks;
        if self.pairs {
            self.refuse_idle_with_pairs()?;
        }
        if self.representation && self.curves_alone() {
            let expected = "is derived for two tasks that are interpolated: leave out --beta and --intermediate, or choose a --pair";
            return Err(Error::setting("--representation", "given", expected));
        }
        let Some(sweep) = self.sweep() else {
            let one = "belongs to a sweep (--sweep), and these settings choose two tasks";
            let one = if self.curves_alone() { "belongs to a sweep of two tasks (--sweep)" } else { one };
            for (name, list) in [("--values", &self.values), ("--curves", &self.curves)] {
                if let Some(first) = list.first() {
                    return Err(Error::setting(name, first, one));
                }
            }
            return if self.seeds == 1 { Ok(()) } else { Err(Error::setting("--seeds", self.seeds, one)) };
        };
        if self.curves_alone() {
            let expected =
                "sweeps two tasks that are interpolated: leave it out with other lengths, --intermediate or --beta";
            return Err(Error::setting("--sweep", sweep.axis().replace(['{', '}'], ""), expected));
        }
        let swept = match sweep {
            PhaseSweep::Perm | PhaseSweep::Split => ("--ratio", keys.ratio),
            PhaseSweep::Target => ("--rho-target", keys.rho_target),
            PhaseSweep::Shared => ("--rho-shared", keys.rho_shared),
            PhaseSweep::Flip => ("--rho-flip", keys.rho_flip),
        };
        match swept {
            (name, Some(value)) => Err(Error::setting(name, value, "is what is swept: give the values by --values")),
            _ => Ok(()),
        }
    }

    /// Whether curves alone are asked for: the diagram is of two tasks that are interpolated.
    pub fn curves_alone(&self) -> bool {
        // A file that cannot be read is refused where it is needed.
        let own = self.pair.is_empty()
            && self.tasks.tasks.is_some()
            && self.tasks.sizes().is_ok_and(|sizes| sizes.train.len() > 2);
        let more = self.tasks.length.is_some_and(|t| t != 2) || self.tasks.intermediate.is_some_and(|s| s > 0);
        own || (more && self.pair.is_empty()) || self.beta.is_finite()
    }

    /// Two tasks are decomposed once for all loads; longer sequences are solved load by load.
    fn default_examples(&self) -> usize {
        if self.curves_alone() { 100 } else { 400 }
    }

    /// Tasks of a protocol, two of 400 examples each (more of 100) unless told; of permuted ones the first stays as it is, as in
    /// the paper. A pair is one of the tasks that a forecast draws.
    fn recipe(&self, protocol: ProtocolKind) -> ebbing::Result<Recipe> {
        if self.tasks.tasks.is_some() || !self.pair.is_empty() {
            return self.tasks.recipe();
        }
        let keys = TaskKeys { protocol: Some(protocol), ..self.tasks.clone() };
        let mut keys = keys.or_examples(self.default_examples());
        if protocol != ProtocolKind::PartialSplit {
            keys.length.get_or_insert(2);
        }
        keys.first_unpermuted |= protocol == ProtocolKind::Permuted;
        keys.recipe()
    }

    /// The first seed: a recipe's own, where none is given.
    ///
    /// # Errors
    /// As [`TaskKeys::recipe`].
    pub fn seed(&self) -> ebbing::Result<u64> {
        Ok(self.task_recipe()?.seed)
    }

    /// Labels as given, or scaled.
    fn labels(&self, tasks: Vec<Task>) -> ebbing::Result<Vec<Task>> {
        if self.rescale_labels { normalised_labels(&tasks, &self.theory()?) } else { Ok(tasks) }
    }

    /// The examples of each task of a sweep.
    pub fn examples(&self) -> usize {
        self.tasks.clone().or_examples(self.default_examples()).examples.unwrap_or_default()
    }

    /// The values of the sweep and those whose curves are drawn, ascending.
    pub fn grid(&self) -> (Vec<f64>, Vec<f64>) {
        let chosen = |given: &[f64], default: Vec<f64>| if given.is_empty() { default } else { sorted(given) };
        let sweep = self.sweep().unwrap_or_default();
        (chosen(&self.values, sweep.values()), chosen(&self.curves, sweep.curves()))
    }

    /// Sweeps: the critical loads of every value, curves of the chosen ones, and what made the first tasks.
    ///
    /// # Errors
    /// What the library says.
    pub fn swept(
        &self,
        sources: &Sources,
        hear: &mut dyn FnMut(),
    ) -> ebbing::Result<(serde_json::Value, Vec<SweptLoads>, Vec<SweptCurves>)> {
        let (theory, alphas, seeds) = (self.theory()?, self.alpha.grid()?, checked_seeds(self.seeds)?);
        self.check()?;
        let sweep = self.sweep().unwrap_or_default();
        let base = self.recipe(sweep.protocol())?;
        let (values, chosen) = self.grid();
        let mut settings = serde_json::Value::Null;
        let mut swept = Vec::new();
        for value in values {
            let mut loads = Vec::new();
            for k in 0..seeds as u64 {
                let sequence = sweep.at(&base, value).draw(sources, base.seed.wrapping_add(k))?;
                if settings.is_null() {
                    settings = sequence.settings.clone();
                }
                loads.push(TwoTasks::new(&self.labels(sequence.tasks)?, &theory)?.critical_load()?);
                hear();
            }
            swept.push(SweptLoads { value, loads });
        }
        let mut curves = Vec::new();
        for value in chosen {
            let tasks = self.labels(sweep.at(&base, value).draw(sources, base.seed)?.tasks)?;
            curves.push(SweptCurves { value, curves: phase_curves(&tasks, &theory, &self.lambda, &alphas)? });
            hear();
        }
        Ok((settings, swept, curves))
    }

    /// Places two tasks, given or drawn, in the diagram.
    ///
    /// # Errors
    /// What the library says; [`Error::Data`] for another number of tasks.
    pub fn place(&self, sources: &Sources) -> ebbing::Result<PhasePlace> {
        self.check()?;
        let (theory, alphas) = (self.theory()?, self.alpha.grid()?);
        let (settings, tasks) = self.two_tasks(sources)?;
        let two = TwoTasks::new(&tasks, &theory)?;
        let curves = phase_curves(&tasks, &theory, &self.lambda, &alphas)?;
        let maps = two.loss_maps()?;
        let with_own = |own: f64| {
            let loads: Vec<f64> = std::iter::once(own).chain(alphas.iter().copied()).collect();
            two.curve_from(&maps, &loads)
        };
        let mut place = PhasePlace::of((&two, &maps), self.width, with_own, curves, (settings, &tasks))?;
        if let (Some(location), Some(norm)) = (&mut place.location, self.readout_norm)
            && location.regime == Regime::Overfitting
        {
            let bounded = format!("; with readouts of |a|²/N ≤ {norm} it does not, and forgets some of task 1");
            location.advice += &bounded;
        }
        if let Some(width) = self.width.filter(|_| place.tested) {
            let settings = MultiHeadSettings { width: Some(width), ..theory.clone() };
            place.best = Some(best_lambda(&tasks, &settings, RANGE.0, RANGE.1)?);
        }
        if self.representation {
            place.representation = self.representations(&tasks, &theory)?;
        }
        Ok(place)
    }

    /// Curves of any number of tasks and any temperature, one per λ; with a width also at that width. `hear` is told how many
    /// of all loads are done.
    ///
    /// # Errors
    /// What the library says.
    pub fn sequence(&self, sources: &Sources, hear: &mut dyn FnMut(usize, usize)) -> ebbing::Result<PhaseSequence> {
        self.check()?;
        let (settings, tasks) = self.drawn_tasks(sources)?;
        let (theory, mut alphas) = (self.theory()?, self.alpha.grid()?);
        let size = tasks.last().map_or(0, |task| task.x.nrows());
        let at_width = self.width.map(|width| size as f64 / width);
        alphas.extend(at_width);
        alphas.sort_by(f64::total_cmp);
        alphas.dedup();
        let (mut curves, mut done) = (Vec::new(), 0);
        for &lambda in &self.lambda {
            let settings = MultiHeadSettings { lambda, ..theory.clone() };
            let mut curve = sequence_curve(&tasks, &settings, &[])?;
            for alpha in &alphas {
                curve.points.extend(sequence_curve(&tasks, &settings, std::slice::from_ref(alpha))?.points);
                done += 1;
                hear(done, self.lambda.len() * alphas.len());
            }
            curves.push(curve);
        }
        let sizes = tasks.iter().map(|t| t.x.nrows()).collect();
        let prepared = prepared_words(&settings, &tasks, true);
        Ok(PhaseSequence { settings, prepared, sizes, curves, at_width })
    }

    pub(super) fn drawn_tasks(&self, sources: &Sources) -> ebbing::Result<(serde_json::Value, Vec<Task>)> {
        let recipe = self.recipe(self.tasks.kind())?;
        let mut sequence = recipe.draw(sources, recipe.seed)?;
        if !self.pair.is_empty() {
            check_pair(&self.pair, sequence.tasks.len())?;
            sequence.tasks = self.pair.iter().map(|t| sequence.tasks[t - 1].clone()).collect();
        }
        if sequence.tasks.len() < 2 {
            let problem = format!("it holds {} task; at least two are needed", sequence.tasks.len());
            return Err(Error::data("the task sequence", problem));
        }
        Ok((sequence.settings, self.labels(sequence.tasks)?))
    }

    fn two_tasks(&self, sources: &Sources) -> ebbing::Result<(serde_json::Value, Vec<Task>)> {
        let (settings, tasks) = self.drawn_tasks(sources)?;
        match tasks.len() {
            2 => Ok((settings, tasks)),
            n => Err(Error::data("the task sequence", format!("it holds {n} tasks; the phase diagram is of two"))),
        }
    }

    pub(super) fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let (theory, (_, tasks)) = (self.theory()?, self.drawn_tasks(sources)?);
        if tasks.len() > 2 || self.beta.is_finite() {
            let curves = self.sequence(sources, &mut |_, _| ())?.curves;
            return Ok(curves.iter().flat_map(|c| c.points.iter().map(|p| sequence_row(c.lambda, p))).collect());
        }
        let curves = phase_curves(&tasks, &theory, &self.lambda, &self.alpha.grid()?)?;
        let critical = match curves.iter().find_map(|curve| curve.critical.clone()) {
            Some(critical) => critical,
            None => TwoTasks::new(&tasks, &theory)?.critical_load()?,
        };
        Ok(curves.iter().flat_map(|curve| curve.points.iter().map(|p| row(curve, p, &critical))).collect())
    }

    pub(super) fn sizes(&self) -> ebbing::Result<Sizes> {
        if self.tasks.tasks.is_some() { self.tasks.sizes() } else { self.task_recipe()?.sizes() }
    }

    pub(super) fn cost_of(&self, sizes: &Sizes) -> Cost {
        let (curves, loads) = (self.lambda.len().max(1), self.alpha.grid().map_or(0, |grid| grid.len()));
        match sizes.train.len() {
            0..=2 if self.beta.is_infinite() => phase_cost(sizes, loads).times(curves),
            _ => sequence_cost(sizes).times(curves * loads),
        }
    }
}

/// Refuses numbers that are not those of two of the tasks, from 1.
fn check_pair(numbers: &[usize], tasks: usize) -> ebbing::Result<()> {
    let known = 1..=tasks;
    match numbers {
        [i, j] if i != j && known.contains(i) && known.contains(j) => Ok(()),
        _ => {
            let given: Vec<String> = numbers.iter().map(usize::to_string).collect();
            let expected = format!("must be two different tasks from 1 to {tasks}, such as 1,2");
            Err(Error::setting("--pair", given.join(","), expected))
        }
    }
}

/// Curves of any number of tasks.
#[derive(Debug, Clone)]
pub struct PhaseSequence {
    /// Everything that made the tasks.
    pub settings: serde_json::Value,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Examples of each task.
    pub sizes: Vec<usize>,
    /// One per λ.
    pub curves: Vec<SequenceCurve>,
    /// The load of the width that was asked about.
    pub at_width: Option<f64>,
}

fn sequence_row(lambda: f64, point: &SequencePoint) -> Row {
    let row = Row::new().with("lambda", lambda).with("alpha", point.alpha);
    let row = point.regime.map_or(row.clone(), |regime| row.with("regime", regime.to_string()));
    let all = [("u_tt", Some(point.u_tt)), ("f_t1", Some(point.f_t1)), ("g_t1", point.g_t1), ("g_tt", point.g_tt)];
    all.into_iter().fold(row, |row, (name, power)| match power {
        Some(power) => row.with(name, power.coefficient).with(&format!("{name}_exponent"), power.exponent),
        None => row,
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("lambda", "penalty on the change of weights"),
    ("alpha", "load P/N"),
    ("regime", "regime at infinite lambda"),
    ("u11", "renormalisation factor u1(1,1)"),
    ("u12", "renormalisation factor u1(1,2)"),
    ("u22", "renormalisation factor u1(2,2), or the factor before lambda^u22_exponent"),
    ("u22_exponent", "exponent of lambda that u22 grows with"),
    ("d", "u1 - u0, or the factor before lambda^d_exponent"),
    ("d_exponent", "exponent of lambda that d grows with"),
    ("f21", "training loss of task 1 after task 2; inf where it diverges"),
    ("g21", "test loss of task 1 over that of learning it alone; inf where it diverges"),
    ("g22", "test loss of task 2 over that of learning it alone, or the factor before lambda^g22_exponent"),
    ("g22_exponent", "exponent of lambda that g22 grows with"),
    ("alpha_c", "exact critical load"),
    ("alpha_c_gamma_sim", "its estimate gamma_sim^-2"),
    ("alpha_c_u11", "its estimate for linear networks"),
    ("gamma_sim", "similarity of the two tasks"),
    ("gamma_feature", "overlap of all features"),
    ("u_tt", "renormalisation factor u1(T,T) of the last of T tasks, or the factor before lambda^u_tt_exponent"),
    ("f_t1", "training loss of task 1 after the last task, likewise"),
    ("g_t1", "test loss of task 1 after the last task over that of learning it alone, likewise"),
    ("g_tt", "test loss of the last task over that of learning it alone, likewise"),
];

fn row(curve: &PhaseCurve, point: &PhasePoint, critical: &CriticalLoad) -> Row {
    let factors = &point.factors;
    let power = |row: Row, name: &str, power: Power| {
        row.with(name, power.coefficient).with(&format!("{name}_exponent"), power.exponent)
    };
    let mut row = Row::new()
        .with("lambda", curve.lambda)
        .with("alpha", factors.alpha)
        .with("regime", critical.regime(factors.alpha).0.to_string())
        .with("u11", factors.u11)
        .with("u12", factors.u12)
        .with("f21", point.f21.limit());
    row = power(row, "u22", factors.u22);
    row = power(row, "d", factors.d);
    if let Some(g21) = point.g21 {
        row = row.with("g21", g21.limit());
    }
    if let Some(g22) = point.g22 {
        row = power(row, "g22", g22);
    }
    row.with("alpha_c", critical.alpha_c)
        .with("alpha_c_gamma_sim", critical.alpha_c_gamma_sim)
        .with("alpha_c_u11", critical.alpha_c_u11)
        .with("gamma_sim", critical.gamma_sim)
        .with("gamma_feature", critical.gamma_feature)
}
