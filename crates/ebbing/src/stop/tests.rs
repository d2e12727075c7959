//! Requests that are stopped at each of the moments at which they ask whether to go on.

use super::*;
use crate::context::Context;
use crate::linalg::Mat;
use crate::nets::{PosteriorSettings, Solver, TrainSettings, Trainer, sample_posterior};
use crate::rng::Stream;
use crate::tasks::{Task, TaskSequence, TestSet};
use crate::theory::advise::{Advice, AdviseSettings};
use crate::theory::forecast::{Forecast, ForecastSettings};
use crate::theory::multi_head::MultiHeadSettings;
use crate::theory::order_parameters::OrderParameterSettings;
use crate::theory::phase::sequence_curve;
use crate::theory::single_head::{Mode, SingleHeadSettings};
use crate::theory::whole;
use std::sync::atomic::AtomicUsize;

/// Asks for the end when it was looked at so many times.
#[derive(Debug, Clone, Default)]
pub(super) struct Looks(Option<(usize, Arc<AtomicUsize>)>);

impl Looks {
    pub(super) fn count(&self, stop: &AtomicBool) {
        if let Looks(Some((most, looks))) = self
            && looks.fetch_add(1, Ordering::Relaxed) >= *most
        {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

type Work<'a> = &'a (dyn Fn(&Context) -> Result<()> + Sync);

/// What a request gives that is stopped after this many looks, and how many there were.
fn stopped_after(most: usize, work: Work<'_>) -> (Result<()>, usize) {
    let looks = Arc::new(AtomicUsize::new(0));
    let stop = Stop(Arc::default(), Looks(Some((most, looks.clone()))));
    // On one thread: looks come in the same order every time.
    let context = Context::new().threads(1).stop(stop);
    let ended = context.run(|| work(&context));
    (ended, looks.load(Ordering::Relaxed))
}

fn tasks(count: usize, p: usize) -> TaskSequence {
    const DIM: usize = 9;
    let mut stream = Stream::new(11, "stopped work", p as u64);
    let mut set = |p: usize| {
        let x = Mat::from_fn(p, DIM, |_, _| stream.normal());
        let y = Mat::from_fn(p, 1, |i, _| if x[(i, 0)] + x[(i, 3)] > 0.0 { 1.0 } else { -1.0 });
        (x, y)
    };
    let task = |_| {
        let ((x, y), (test_x, test_y)) = (set(p), set(7));
        Task { test: Some(TestSet { x: test_x, y: test_y }), ..Task::new(x, y) }
    };
    TaskSequence { tasks: (0..count).map(task).collect(), settings: Default::default() }
}

/// Code that cannot fail leaves its work undone once the end is asked for; whatever follows must bear what it finds.
#[test]
fn work_may_be_stopped_at_any_moment() {
    let (two, three) = (tasks(2, 12), tasks(3, 14));
    let forecast = |tasks: &TaskSequence, settings: ForecastSettings, context: &Context| {
        Forecast::of(std::slice::from_ref(tasks), &settings, context).map(drop)
    };
    let in_mode = |mode: Mode, lambda: f64| SingleHeadSettings { mode, lambda, ..Default::default() };
    let lists = ForecastSettings {
        depths: vec![1, 2],
        lambdas: vec![3.0, f64::INFINITY],
        widths: vec![40.0],
        resamples: 20,
        shuffles: 20,
        ..Default::default()
    };
    let theory = SingleHeadSettings { variance: true, ..in_mode(Mode::Gibbs, 5.0) };
    let varied = ForecastSettings { theory, ..Default::default() };
    let features = ForecastSettings { features: true, ..Default::default() };
    let tiles = |context: &Context| {
        let folder = tempfile::tempdir().unwrap();
        let cut = whole::Cut { block: 5, room: 0.0, probes: 4, scratch: folder.path().to_path_buf() };
        whole::forecast(
            &three,
            &in_mode(Mode::Ntk, f64::INFINITY),
            &OrderParameterSettings::default(),
            Some(cut),
            context,
        )
        .map(drop)
    };
    let advice =
        |context: &Context| Advice::of(std::slice::from_ref(&three), &AdviseSettings::default(), context).map(drop);
    let curve = |lambda: f64, context: &Context| {
        let settings = MultiHeadSettings { lambda, ..Default::default() };
        sequence_curve(&three.tasks, &settings, &[0.5, 2.0], context).map(drop)
    };
    let descent = TrainSettings { max_steps: 40, width: 20, ..Default::default() };
    let minimum = TrainSettings { solver: Solver::Levenberg, max_steps: 4, ..descent.clone() };
    let train = |settings: &TrainSettings, context: &Context| {
        let mut trainer = Trainer::new(&two.tasks, settings, context)?;
        (0..2).try_for_each(|_| trainer.learn_next(&mut |_| true).map(drop))
    };
    let chains = PosteriorSettings { width: 20, chains: 2, warmup: 10, draws: 10, lambda: 3.0, ..Default::default() };
    let works: [(&str, Work<'_>); 10] = [
        ("lists", &|context| forecast(&two, lists.clone(), context)),
        ("variance", &|context| forecast(&three, varied.clone(), context)),
        ("features", &|context| forecast(&three, features.clone(), context)),
        ("tiles", &tiles),
        ("advice", &advice),
        ("a readout each", &|context| curve(3.0, context)),
        ("a readout each, λ = ∞", &|context| curve(f64::INFINITY, context)),
        ("descent", &|context| train(&descent, context)),
        ("levenberg", &|context| train(&minimum, context)),
        ("chains", &|context| sample_posterior(&two.tasks, &chains, context).map(drop)),
    ];
    for (name, work) in works {
        let (whole, all) = stopped_after(usize::MAX, work);
        whole.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(all > 10, "{name} asks {all} times");
        // Every moment of short work, sixty of long.
        for most in (0..all).step_by(all.div_ceil(60)) {
            let (ended, _) = stopped_after(most, work);
            assert!(matches!(ended, Err(Error::Stopped)), "{name}, after {most} of {all}: {ended:?}");
        }
    }
}
