//! The folder against everything that happens to folders.

use super::*;
use crate::cell::{Cell, Row};
use crate::engine::{Event, Outcome, run_missing};
use crate::error::Error;
use crate::study::{Column, Study, Work};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::Cost;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A square; one may fail, one may panic.
#[derive(Debug)]
struct Square {
    seed: u64,
    factor: f64,
    failing: Option<u64>,
    panicking: Option<u64>,
    computed: Arc<AtomicUsize>,
}

impl Work for Square {
    fn rows(&self, _: &Sources, _: &Context) -> crate::Result<Vec<Row>> {
        self.computed.fetch_add(1, Ordering::Relaxed);
        assert_ne!(self.panicking, Some(self.seed), "an odd cell");
        if self.failing == Some(self.seed) {
            return Err(Error::data("a cell", "does not like it"));
        }
        let x = self.seed as f64 / 3.0;
        Ok(vec![Row::new().with("y", self.factor * x * x), Row::new().with("y", f64::INFINITY).with("z", "word")])
    }

    fn cost(&self) -> Cost {
        Cost { flops: 2.0, bytes: 8.0, ..Cost::default() }
    }
}

/// A study of squares, and how many were computed.
#[derive(Default)]
struct Squares {
    count: u64,
    factor: f64,
    failing: Option<u64>,
    panicking: Option<u64>,
    computed: Arc<AtomicUsize>,
}

impl Squares {
    fn study(&self) -> Study {
        let mut study = Study {
            name: "squares".into(),
            settings: serde_json::json!({ "factor": self.factor }),
            columns: vec![Column { name: "y", unit: "m", meaning: "a square" }],
            ..Study::default()
        };
        for seed in 0..self.count {
            let Squares { factor, failing, panicking, .. } = *self;
            let work = Square { seed, factor, failing, panicking, computed: self.computed.clone() };
            study.push(Cell::new(seed).with("x", seed as f64 / 3.0), work);
        }
        study
    }
}

fn squares(count: u64) -> Squares {
    Squares { count, factor: 1.0, ..Squares::default() }
}

fn run(study: &Squares, store: &Store, share: &Share, threads: usize) -> (Outcome, Vec<Event>) {
    let mut events = Vec::new();
    let _lock = store.lock(share).unwrap();
    let chosen = share.of(store.count()).unwrap();
    let outcome =
        run_missing(&study.study(), store, &chosen, &Sources::new(), threads, &Context::default(), &mut |event| {
            events.push(event)
        });
    (outcome.unwrap(), events)
}

fn collected(store: &Store) -> [Vec<u8>; 2] {
    store.collect(&store.frame(false).unwrap(), "result").unwrap().map(|path| fs::read(path).unwrap())
}

fn whole(study: &Squares, folder: &Path) -> [Vec<u8>; 2] {
    let store = Store::create(folder, &study.study()).unwrap();
    run(study, &store, &Share::All, 1);
    collected(&store)
}

#[test]
fn the_same_bytes_at_any_threads_shards_and_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let reference = whole(&squares(11), &folder.path().join("one"));
    let text = String::from_utf8(reference[0].clone()).unwrap();
    assert!(text.contains("# column y: m; a square") && text.contains("inf,word"), "{text}");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 1 + 22);

    let study = squares(11);
    let store = Store::create(&folder.path().join("two"), &study.study()).unwrap();
    assert_eq!(run(&study, &store, &Share::Shard(2, 3), 4).0.computed, 4);
    assert_eq!(run(&study, &store, &Share::Listed(vec![1, 2]), 1).0.computed, 1, "cell 2 is there already");
    // A new start does only what is missing.
    let store = Store::create(&folder.path().join("two"), &study.study()).unwrap();
    let (outcome, _) = run(&study, &store, &Share::All, 3);
    assert_eq!((outcome.found, outcome.computed, study.computed.load(Ordering::Relaxed)), (5, 6, 11));
    assert_eq!(collected(&store), reference);
}

#[test]
fn folders_of_other_settings_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let study = squares(3);
    let bytes = whole(&study, folder.path());
    let mut other = squares(3);
    other.factor = 2.0;
    let refused = |study: &Squares| Store::create(folder.path(), &study.study()).unwrap_err().to_string();
    let said = refused(&other);
    assert!(said.contains("settings.factor is 1.0; this study has 2.0"), "{said}");
    assert!(refused(&squares(2)).contains("cells is a list of 3; this study has a list of 2"));
    let path = folder.path().join("study.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut manifest = Manifest::of(&study.study()).unwrap();
    manifest.version = "0.0.9".into();
    let earlier = folder.path().join("earlier");
    Store::with_manifest(&earlier, manifest).unwrap();
    let said = Store::create(&earlier, &study.study()).unwrap_err().to_string();
    assert!(said.contains("version is 0.0.9; this study has"), "{said}");
    // A manifest that was tampered with does not count.
    fs::write(&path, text.replace("1.0", "2.0")).unwrap();
    assert!(refused(&other).contains("the checksum differs"));
    fs::write(&path, &text).unwrap();
    assert_eq!(whole(&study, folder.path()), bytes);
    assert!(Store::open(&folder.path().join("cells")).unwrap_err().to_string().contains("study.json is not there"));
}

#[test]
fn a_cell_of_other_data_under_the_same_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let study = squares(2);
    let stored = |name: &str, sha256: &str| {
        let mut manifest = Manifest::of(&study.study()).unwrap();
        manifest.data.insert("images".into(), sha256.into());
        Store::with_manifest(&folder.path().join(name), manifest).unwrap()
    };
    let (here, there) = (stored("here", "aaa"), stored("there", "bbb"));
    run(&study, &here, &Share::All, 1);
    run(&study, &there, &Share::All, 1);
    assert!(here.rows(0).is_ok());
    fs::copy(there.cell_path(0), here.cell_path(0)).unwrap();
    let said = here.rows(0).unwrap_err().to_string();
    assert!(said.contains("the checksum of data set images is bbb"), "{said}");
    assert!(here.rows(1).is_ok(), "others stay");
}

#[test]
fn damaged_cells_are_reported_and_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let study = squares(4);
    let bytes = whole(&study, folder.path());
    let store = Store::open(folder.path()).unwrap();
    let path = store.cell_path(2);
    let sound = fs::read(&path).unwrap();
    for cut in [0, 5, 40, sound.len() / 2, sound.len() - 1] {
        fs::write(&path, &sound[..cut]).unwrap();
        assert!(matches!(&store.status().unwrap().cells[2], CellState::Damaged(_)), "{cut} bytes");
        let said = store.frame(false).unwrap_err().to_string();
        assert!(said.contains("1 of 4 cells are not there (the first is cell 3)"), "{said}");
        assert_eq!(store.frame(true).unwrap().len(), 6);
        let (outcome, events) = run(&study, &store, &Share::All, 1);
        assert_eq!((outcome.found, outcome.computed), (3, 1));
        assert!(
            matches!(&events[0], Event::Damaged(3, problem) if problem.contains("checksum") || problem.contains("first line")),
            "{events:?}"
        );
        assert_eq!(collected(&store), bytes);
    }
    let mut changed = sound.clone();
    changed[100] ^= 1;
    fs::write(&path, changed).unwrap();
    assert_eq!(run(&study, &store, &Share::All, 1).0.computed, 1);
    // A sound file of another study is not ours to overwrite.
    let mut other = squares(4);
    other.factor = 3.0;
    whole(&other, &folder.path().join("other"));
    let foreign = Store::open(&folder.path().join("other")).unwrap().cell_path(2);
    assert_eq!(foreign.file_name(), path.file_name());
    fs::copy(foreign, &path).unwrap();
    assert!(store.status().unwrap_err().to_string().contains("belongs to another study"));
}

#[test]
fn a_cell_copied_over_another_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let study = squares(4);
    let bytes = whole(&study, folder.path());
    let store = Store::open(folder.path()).unwrap();
    fs::copy(store.cell_path(0), store.cell_path(3)).unwrap();
    let CellState::Damaged(why) = &store.status().unwrap().cells[3] else { panic!("taken for its neighbor") };
    assert!(why.contains("holds the rows of another cell (x = 0, seed 0)"), "{why}");
    assert!(store.rows(3).is_err() && store.frame(true).unwrap().len() == 6);
    assert_eq!(run(&study, &store, &Share::All, 1).0.computed, 1);
    assert_eq!(collected(&store), bytes);
}

#[test]
fn a_larger_grid_goes_on_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (small, mut large) = (squares(3), squares(7));
    whole(&small, folder.path());
    let reference = whole(&large, &folder.path().join("at once"));
    large.computed = Arc::default();
    let busy = Store::open(folder.path()).unwrap().lock(&Share::Shard(1, 2)).unwrap();
    let said = Store::create(folder.path(), &large.study()).unwrap_err().to_string();
    assert!(said.contains("in use by"), "{said}");
    drop(busy);
    assert_eq!(whole(&large, folder.path()), reference);
    assert_eq!(large.computed.load(Ordering::Relaxed), 4, "three were there");
    // The smaller one would lose cells that are there.
    assert!(Store::create(folder.path(), &small.study()).is_err());
    // More task files are taken too, another content of one that is there is not.
    let with = |files: serde_json::Value, n: u64| {
        let mut study = squares(n).study();
        study.settings = serde_json::json!({ "files": files });
        study
    };
    let own = folder.path().join("files");
    Store::create(&own, &with(serde_json::json!({ "a.npz": "1" }), 3)).unwrap();
    let said =
        Store::create(&own, &with(serde_json::json!({ "a.npz": "2", "b.npz": "1" }), 4)).unwrap_err().to_string();
    assert!(said.contains("settings.files.a.npz"), "{said}");
    Store::create(&own, &with(serde_json::json!({ "a.npz": "1", "b.npz": "1" }), 4)).unwrap();
}

#[test]
fn failures_are_kept_apart_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = squares(5);
    (study.failing, study.panicking) = (Some(1), Some(3));
    let store = Store::create(folder.path(), &study.study()).unwrap();
    let (outcome, _) = run(&study, &store, &Share::All, 2);
    assert_eq!((outcome.computed, outcome.failed.len()), (3, 2));
    assert_eq!(outcome.failed[0], (2, "a cell: does not like it".into()));
    assert!(outcome.failed[1].1.contains("an odd cell"));
    let status = store.status().unwrap();
    assert_eq!((status.done(), status.to_do()), (3, vec![1, 3]));
    assert!(matches!(&status.cells[1], CellState::Failed(why) if why.contains("does not like it")));
    (study.failing, study.panicking) = (None, None);
    assert_eq!(run(&study, &store, &Share::All, 1).0.computed, 2);
    assert_eq!(store.status().unwrap().done(), 5);
    // What a run left that was killed after its last cell goes where nothing is left to write.
    let hidden = ["cells", "failed"].map(|name| folder.path().join(name).join(".ebbing-writing"));
    hidden.iter().for_each(|hidden| std::fs::create_dir(hidden).unwrap());
    assert_eq!(collected(&store), whole(&squares(5), &folder.path().join("clean")));
    assert!(hidden.iter().all(|hidden| !hidden.exists()));
}

#[test]
fn locks_keep_runs_apart_and_claims_keep_cells_apart() {
    let folder = tempfile::tempdir().unwrap();
    let study = squares(4);
    let store = Store::create(folder.path(), &study.study()).unwrap();
    let whole = store.lock(&Share::All).unwrap();
    for share in [Share::All, Share::Shard(1, 2), Share::Listed(vec![1])] {
        let said = store.lock(&share).unwrap_err().to_string();
        assert!(said.contains(&format!("in use by process {}", std::process::id())), "{said}");
    }
    drop(whole);
    let first = store.lock(&Share::Shard(1, 2)).unwrap();
    let second = store.lock(&Share::Shard(2, 2)).unwrap();
    assert!(store.lock(&Share::Shard(1, 2)).is_err() && store.lock(&Share::All).is_err());
    let claimed = store.claim(1).unwrap().unwrap();
    assert_eq!(store.status().unwrap().cells[1], CellState::Running);
    let mut heard = Vec::new();
    let outcome = run_missing(&study.study(), &store, &[0, 1], &Sources::new(), 1, &Context::default(), &mut |event| {
        heard.push(event)
    })
    .unwrap();
    assert_eq!((outcome.computed, outcome.elsewhere), (1, 1));
    assert_eq!(heard, [Event::Done(1), Event::Elsewhere(2)]);
    drop((claimed, first, second));
    assert_eq!(store.status().unwrap().cells[1], CellState::Missing);
    // What a killed run leaves is swept away by the next whole one.
    let leftovers = ["running/some"];
    leftovers.iter().for_each(|name| fs::write(folder.path().join(name), "half").unwrap());
    run(&study, &store, &Share::All, 2);
    assert!(leftovers.iter().all(|name| !folder.path().join(name).exists()));
    assert_eq!(fs::read_dir(folder.path().join("running")).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_stops_the_run_and_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let study = squares(6);
    let store = Store::create(folder.path(), &study.study()).unwrap();
    // A folder in the way of the third cell: its rename fails, as on a full disk its write would.
    fs::create_dir_all(store.cell_path(2).join("in the way")).unwrap();
    let error = run_missing(&study.study(), &store, &[0, 1], &Sources::new(), 1, &Context::default(), &mut |_| ())
        .map(|o| o.computed);
    assert_eq!(error.unwrap(), 2);
    let error =
        run_missing(&study.study(), &store, &[2, 3, 4, 5], &Sources::new(), 1, &Context::default(), &mut |_| ())
            .unwrap_err()
            .to_string();
    let name = store.cell_path(2).file_name().unwrap().to_string_lossy().into_owned();
    assert!(error.contains(&name), "{error}");
    assert!(store.cell_path(1).is_file() && !store.cell_path(5).exists());
}

#[test]
fn shares_are_checked() {
    assert_eq!(Share::Shard(2, 3).of(7).unwrap(), [1, 4]);
    assert_eq!(Share::Shard(3, 3).of(2).unwrap(), Vec::<usize>::new());
    assert!(Share::Shard(0, 3).of(7).unwrap_err().to_string().contains("--shard is 0/3"));
    assert!(Share::Shard(4, 3).of(7).is_err());
    assert!(Share::Listed(vec![8]).of(7).unwrap_err().to_string().contains("1 to 7"));
}

#[test]
fn cells_of_a_study_that_differs_in_name_only_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let four = squares(4);
    let one = Store::create(&folder.path().join("one"), &four.study()).unwrap();
    let some = Share::Listed(vec![1, 3]);
    assert_eq!(run(&four, &one, &some, 1).0.computed, 2);
    let other = Study { name: "the same squares".into(), ..four.study() };
    let two = Store::create(&folder.path().join("two"), &other).unwrap();
    assert_eq!((two.take(&one).unwrap(), two.take(&one).unwrap()), (2, 0));
    assert_eq!(two.rows(2).unwrap(), one.rows(2).unwrap());
    // Nothing is computed twice, and nothing is taken from other settings.
    assert_eq!(run(&four, &two, &Share::All, 1).0, Outcome { found: 2, computed: 2, ..Outcome::default() });
    let threefold = Squares { factor: 3.0, ..squares(4) };
    let three = Store::create(&folder.path().join("three"), &threefold.study()).unwrap();
    assert_eq!(three.take(&two).unwrap(), 0);
}
