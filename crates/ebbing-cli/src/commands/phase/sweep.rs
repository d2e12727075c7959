//! The phase diagram over a swept setting of a protocol.

use super::{Args, Sweep, figures};
use crate::console::Console;
use crate::sequence::Origin;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing::tasks::Protocol;
use ebbing::theory::multi_head::{CriticalLoad, TwoTasks};
use ebbing::theory::phase::{PhaseCurve, normalised_labels, phase_curves};
use ebbing::{Error, Task};
use ebbing_report::{Screen, Spread, Table, escape_markup, significant, write_table};
use serde_json::json;

/// One value of the sweep: its critical loads over seeds.
pub(in crate::commands) struct Swept {
    /// The value.
    pub value: f64,
    /// One per seed.
    pub loads: Vec<CriticalLoad>,
}

impl Swept {
    /// Mean and standard error of a number over seeds; a number that is infinite for any seed is infinite.
    pub fn mean(&self, get: fn(&CriticalLoad) -> f64) -> Estimate {
        let values: Vec<f64> = self.loads.iter().map(get).collect();
        mean_with_error(&values).unwrap_or(Estimate { value: f64::INFINITY, standard_error: None })
    }
}

/// The curves of one value of the sweep (first seed), one per λ.
pub(in crate::commands) struct Curves {
    /// The value.
    pub value: f64,
    /// One per λ.
    pub curves: Vec<PhaseCurve>,
}

impl Sweep {
    /// The name on axes (markup).
    pub fn axis(self) -> &'static str {
        match self {
            Sweep::Perm => "permutation ratio",
            Sweep::Split => "split ratio",
            Sweep::Target => "ρ_{target}",
            Sweep::Shared => "ρ_{shared}",
            Sweep::Flip => "ρ_{flip}",
        }
    }

    /// The values that are swept if none are given.
    fn values(self) -> Vec<f64> {
        let upto = |top: f64, n: usize| (0..=n).map(|k| top * k as f64 / n as f64).collect::<Vec<_>>();
        match self {
            Sweep::Perm => vec![0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0],
            Sweep::Split => vec![0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0],
            Sweep::Target => upto(1.0, 8),
            Sweep::Shared => vec![0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9],
            Sweep::Flip => upto(0.5, 8),
        }
    }

    /// The curves that are drawn if none are chosen.
    fn curves(self) -> Vec<f64> {
        match self {
            Sweep::Perm => vec![0.05, 0.15, 0.4],
            Sweep::Split => vec![0.1, 0.25, 0.5],
            Sweep::Target => vec![0.25, 0.75, 1.0],
            Sweep::Shared => vec![0.2, 0.5, 0.8],
            Sweep::Flip => vec![0.0, 0.125, 0.25],
        }
    }
}

impl Args {
    /// Sweeps, tells and draws.
    pub(super) fn swept(mut self, console: &Console, alphas: &[f64]) -> anyhow::Result<()> {
        let base = self.base()?;
        let values = if self.values.is_empty() { self.sweep.values() } else { sorted(&self.values) };
        let chosen = if self.curves.is_empty() { self.sweep.curves() } else { sorted(&self.curves) };
        let Origin::Drawn { source, .. } = self.sequence.origin()? else {
            return Err(Error::setting("--sweep", "given", "draws its own tasks; do not give --tasks with it").into());
        };
        let mut bar = console.steps("phase diagram", (values.len() * self.seeds + chosen.len()) as u64);
        let mut done = 0;
        let mut settings = serde_json::Value::Null;
        let mut swept = Vec::new();
        for &value in &values {
            let mut loads = Vec::new();
            for k in 0..self.seeds as u64 {
                let sequence = with_value(&base, self.sweep, value).generate(&source, self.sequence.seed + k)?;
                if settings.is_null() {
                    settings = sequence.settings.clone();
                }
                loads.push(TwoTasks::new(&self.labels(sequence.tasks)?, &self.theory())?.critical_load()?);
                done += 1;
                bar.set(done);
            }
            swept.push(Swept { value, loads });
        }
        let mut curves = Vec::new();
        for &value in &chosen {
            let sequence = with_value(&base, self.sweep, value).generate(&source, self.sequence.seed)?;
            let found = phase_curves(&self.labels(sequence.tasks)?, &self.theory(), &self.lambda, alphas)?;
            curves.push(Curves { value, curves: found });
            done += 1;
            bar.set(done);
        }
        drop(bar);
        self.tell_sweep(console, &settings, &swept, &curves, alphas)
    }

    /// The protocol that the sweep varies, with the flags that were given.
    fn base(&mut self) -> ebbing::Result<Protocol> {
        use crate::sequence::Kind;
        self.sequence.protocol = match self.sweep {
            Sweep::Perm => Kind::Permuted,
            Sweep::Split => Kind::PartialSplit,
            Sweep::Target | Sweep::Shared | Sweep::Flip => Kind::TargetDistractor,
        };
        if let Some(length) = self.sequence.length.filter(|&t| t != 2) {
            return Err(Error::setting("--length", length, "must be 2: the phase diagram is of two tasks"));
        }
        if self.sequence.protocol != Kind::PartialSplit {
            self.sequence.length = Some(2);
        }
        self.sequence.examples.get_or_insert(400);
        self.sequence.test_examples.get_or_insert(400);
        if self.sweep == Sweep::Perm {
            // The paper's two-task studies leave the first task as it is.
            self.sequence.first_unpermuted = true;
        }
        self.sequence.protocol()
    }

    pub(super) fn labels(&self, tasks: Vec<Task>) -> ebbing::Result<Vec<Task>> {
        if self.rescale_labels { normalised_labels(&tasks, &self.theory()) } else { Ok(tasks) }
    }

    fn tell_sweep(
        &self,
        console: &Console,
        tasks: &serde_json::Value,
        swept: &[Swept],
        curves: &[Curves],
        alphas: &[f64],
    ) -> anyhow::Result<()> {
        let metadata = self.output.metadata("phase", Some(self.sequence.seed), tasks, &self.theory())?;
        let result = json!({
            "metadata": metadata,
            "sweep": self.sweep.axis().replace(['{', '}'], ""),
            "label_scale": if self.rescale_labels { "YᵀK⁻¹Y/P = 1" } else { "as given" },
            "values": swept.iter().map(|s| json!({ "value": s.value, "critical_loads": s.loads })).collect::<Vec<_>>(),
            "curves": curves.iter().map(|c| json!({ "value": c.value, "curves": c.curves })).collect::<Vec<_>>(),
        });
        if let Some(folder) = &self.output.out {
            crate::files::make_folder(folder)?;
            let figure = figures::diagram(self.sweep.axis(), swept, curves, alphas, self.seeds);
            figure.metadata(&metadata).save(folder, "phase")?;
            self.output.write_json("phase.json", &result)?;
            write_table(folder, "phase-boundary", &boundary(self.sweep, swept, self.seeds), &metadata)?;
            write_table(folder, "phase-curves", &figures::curve_table(curves), &metadata)?;
        }
        if self.output.json {
            return console.print_json(&result);
        }
        let heading = format!(
            "Phase boundary of two tasks of {} examples ({}), σ = {}, {} seed(s)",
            self.sequence.examples.unwrap_or_default(),
            escape_markup(&self.sequence.data),
            self.sigma,
            self.seeds
        );
        let mut screen = Screen::new(&heading).table(&boundary(self.sweep, swept, self.seeds))?.paragraph(
            "Below load 1 representations stay fixed; between 1 and α_{c} the network overfits task 2 (F_{21} → 0, G_{22} grows \
             as λ^{1/2}); beyond α_{c} it generalises and forgets task 1.",
        );
        for note in notes(swept) {
            screen = screen.paragraph(&escape_markup(&note));
        }
        screen = match &self.output.out {
            Some(folder) => screen.next("figure", &folder.join("phase.svg").display().to_string()),
            None => screen.next("more", "ebbing phase --out DIR (figure and tables)"),
        };
        console.print(&screen.render_for_stdout())
    }
}

/// The protocol with the swept setting at `value`.
fn with_value(base: &Protocol, sweep: Sweep, value: f64) -> Protocol {
    let mut protocol = base.clone();
    match (&mut protocol, sweep) {
        (Protocol::Permuted(p), _) => p.ratio = value,
        (Protocol::PartialSplit(p), _) => p.split = value,
        (Protocol::TargetDistractor(p), Sweep::Target) => p.rho_target = value,
        (Protocol::TargetDistractor(p), Sweep::Shared) => p.rho_shared = value,
        (Protocol::TargetDistractor(p), _) => p.rho_flip = value,
        (Protocol::Split(_), _) => {}
    }
    protocol
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// What the library says beside the numbers, each sentence once, with the values it is about.
fn notes(swept: &[Swept]) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for s in swept {
        for note in &s.loads[0].notes {
            match all.iter_mut().find(|(n, _)| n == note) {
                Some((_, values)) => values.push(significant(s.value)),
                None => all.push((note.clone(), vec![significant(s.value)])),
            }
        }
    }
    all.into_iter().map(|(note, values)| format!("At {}: {note}.", values.join(", "))).collect()
}

/// The boundary, one row per value of the sweep.
fn boundary(sweep: Sweep, swept: &[Swept], seeds: usize) -> Table {
    let mut table = Table::new("").number(sweep.axis(), &swept.iter().map(|s| s.value).collect::<Vec<_>>());
    let all: [(&str, fn(&CriticalLoad) -> f64, &str); 4] = [
        ("γ_{sim}", |c| c.gamma_sim, "similarity of the tasks"),
        ("exact α_{c}", |c| c.exact, "critical load P/N"),
        ("γ_{sim}^{−2}", |c| c.from_gamma_sim, "its estimate for linear networks and scaled labels"),
        ("α_{c} with u_{11}", |c| c.from_u11, "its estimate for linear networks"),
    ];
    for (name, get, meaning) in all {
        let means: Vec<Estimate> = swept.iter().map(|s| s.mean(get)).collect();
        let values: Vec<f64> = means.iter().map(|m| m.value).collect();
        let errors: Vec<f64> = means.iter().map(|m| m.standard_error.unwrap_or(f64::NAN)).collect();
        table = if seeds > 1 {
            table.estimate(name, &values, Spread::StandardError, &errors)
        } else {
            table.number(name, &values)
        };
        table = table.meaning(meaning);
    }
    table
}
