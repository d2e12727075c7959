//! Work that is asked to end does so, whatever it is at.

use ebbing::context::Stop;
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, matmul};
use ebbing::nets::{PosteriorSettings, TrainSettings};
use ebbing::tasks::Permuted;
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::theory::task_order::{OrderSearchSettings, best_order};
use ebbing::{
    Context, Dataset, Error, Forecast, Kernel, Result, SingleHead, Source, TaskSequence, Trainer, order_parameters,
    sample_posterior,
};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn tasks(count: usize, p: usize) -> TaskSequence {
    let source = Source::new(Dataset::sample().unwrap(), &Default::default()).unwrap();
    Permuted { tasks: count, p, p_test: 0, ..Permuted::default() }.generate(&source, 1).unwrap()
}

/// Each would take minutes at least; stopped after a moment they come back, and none takes a share of that worth mentioning.
#[test]
fn long_work_ends_where_it_is_asked_to() {
    let (four, nine) = (tasks(4, 100), tasks(9, 60));
    let gibbs = SingleHeadSettings { mode: Mode::Gibbs, lambda: 10.0, ..Default::default() };
    let erf = Architecture { activation: Activation::Erf, depth: 40 };
    let kernel = Kernel::new(KernelKind::KTilde, erf, WeightPrior::new(10.0, 1.0).unwrap(), 2, 2).unwrap();
    let wide = Mat::from_fn(6000, 6000, |i, j| ((i * 7 + j * 3) % 11) as f64);
    let works: Vec<(&str, Box<dyn Fn(&Context) -> Result<()> + Sync + Send>)> = vec![
        (
            "orders of gibbs",
            Box::new({
                let tasks = nine.clone();
                let search = OrderSearchSettings { theory: gibbs, ..Default::default() };
                move |context| best_order(&tasks, &search, context).map(drop)
            }),
        ),
        (
            "all orders",
            Box::new({
                let tasks = nine.clone();
                let search = OrderSearchSettings { exhaustive_up_to: 9, ..Default::default() };
                move |context| best_order(&tasks, &search, context).map(drop)
            }),
        ),
        (
            "depths",
            Box::new({
                let tasks = four.clone();
                let settings = ForecastSettings { depths: (1..100_000).collect(), ..Default::default() };
                move |context| Forecast::of(std::slice::from_ref(&tasks), &settings, context).map(drop)
            }),
        ),
        (
            "shuffles",
            Box::new({
                let tasks = four.clone();
                let settings = ebbing::theory::order_parameters::OrderParameterSettings {
                    shuffles: 50_000_000,
                    ..Default::default()
                };
                move |context| order_parameters(&tasks, &settings, context).map(drop)
            }),
        ),
        (
            "descent",
            Box::new({
                let tasks = four.tasks.clone();
                let settings = TrainSettings { threshold: 1e-30, max_steps: usize::MAX, ..Default::default() };
                move |context| Trainer::new(&tasks, &settings, context)?.learn_next(&mut |_| true)
            }),
        ),
        (
            "chains",
            Box::new({
                let tasks = four.tasks.clone();
                let settings = PosteriorSettings { warmup: 1_000_000, lambda: 10.0, ..Default::default() };
                move |context| sample_posterior(&tasks, &settings, context).map(drop)
            }),
        ),
        (
            "kernels",
            Box::new({
                let x = Mat::from_fn(8000, 20, |i, j| ((i * 13 + j * 29) % 101) as f64 - 49.5);
                move |_| kernel.gram_symmetric(x.as_ref()).map(drop)
            }),
        ),
        (
            "products and factors",
            Box::new(move |_| {
                for _ in 0..1000 {
                    let mut square = matmul(wide.as_ref(), wide.transpose());
                    (0..6000).for_each(|i| square[(i, i)] += 1e9);
                    let factor = Cholesky::factor(square.as_ref(), "a square")?;
                    drop(factor.solve(wide.as_ref()));
                }
                Ok(())
            }),
        ),
    ];
    for (name, work) in &works {
        let context = Context::new().threads(2);
        let stop = context.token();
        let (ended, after) = std::thread::scope(|scope| {
            let running = scope.spawn(|| (context.run(|| work(&context)), Instant::now()));
            std::thread::sleep(Duration::from_millis(700));
            let asked = Instant::now();
            stop.stop();
            let (ended, came_back) = running.join().unwrap();
            (ended, came_back.saturating_duration_since(asked))
        });
        assert!(matches!(ended, Err(Error::Stopped)), "{name}: {ended:?}");
        println!("{name}: {after:?}");
        // A second on a machine of its own; tests share theirs with others.
        assert!(after < Duration::from_secs(30), "{name} went on for {after:?}");
    }
}

/// A token is that of its own threads: others compute what they always do.
#[test]
fn other_threads_are_left_alone() {
    let tasks = tasks(3, 40);
    let forgetting = |context: &Context| {
        SingleHead::new(&tasks, &Default::default(), context)?.forecast().map(|answer| answer.forgetting)
    };
    let (stopped, free) = (Stop::default(), Context::new().threads(2));
    stopped.stop();
    let own = forgetting(&Context::default()).unwrap();
    assert!(matches!(forgetting(&Context::new().stop(stopped)), Err(Error::Stopped)));
    assert_eq!(free.run(|| forgetting(&free)).unwrap(), own);
    assert_eq!(forgetting(&Context::default()).unwrap(), own);
}

/// What an object keeps for later calls is never what an interrupted call left undone.
#[test]
fn what_is_kept_is_whole() {
    let tasks = tasks(3, 40);
    let theory = || SingleHead::new(&tasks, &Default::default(), &Context::default()).unwrap();
    let (network, fresh, x) = (theory(), theory(), tasks.tasks[0].x.clone());
    // The end is asked for while threads of their own are at work.
    let context = Context::new().threads(2);
    let ended = context.run(|| {
        context.token().stop();
        network.variance(x.as_ref(), 2)
    });
    assert!(matches!(ended, Err(Error::Stopped)));
    assert_eq!(network.variance(x.as_ref(), 2).unwrap(), fresh.variance(x.as_ref(), 2).unwrap());
}

/// The search says how many orders of how many were tried, and no share is ever less than the one before.
#[test]
fn the_search_says_how_far_it_is() {
    let tasks = tasks(5, 30);
    let heard: Arc<Mutex<Vec<(String, f64)>>> = Arc::default();
    let all = heard.clone();
    let context = Context::new().listen(move |progress| {
        all.lock().unwrap().push((progress.text.to_string(), progress.share));
        ControlFlow::Continue(())
    });
    let settings = ForecastSettings { order: true, ..ForecastSettings::default() };
    Forecast::of(std::slice::from_ref(&tasks), &settings, &context).unwrap();
    let heard = heard.lock().unwrap();
    assert!(heard.windows(2).all(|pair| pair[0].1 <= pair[1].1 && pair[1].1 <= 1.0), "{heard:?}");
    let parts = settings.parts(1, 5);
    let begins = |k: usize| heard.iter().any(|(_, share)| *share == k as f64 / parts as f64);
    assert!((0..parts).all(begins), "{heard:?}");
    assert!(heard.iter().any(|(text, _)| text == "order of tasks: 120 of 120 tried"), "{heard:?}");
}
