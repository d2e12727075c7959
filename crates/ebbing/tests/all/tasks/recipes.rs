//! Recipes: a data set, its preprocessing and a protocol in TOML.

use super::source;
use ebbing::data::Preprocess;
use ebbing::tasks::{
    Interpolated, PartialSplit, Permuted, Protocol, TargetDistractor, TaskOrigin, WithContext, check_tasks,
};
use ebbing::{Recipe, TaskSequence};
use std::path::PathBuf;
use tempfile::TempDir;

fn written(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("recipe.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn read(text: &str) -> Recipe {
    let folder = TempDir::new().unwrap();
    Recipe::read(written(&folder, text)).unwrap()
}

fn problems(text: &str) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let path = written(&folder, text);
    let found = check_tasks(&path);
    assert_eq!(found.kind, "recipe");
    let file = path.display().to_string();
    found.problems.iter().map(|problem| problem.replace(&file, "FILE")).collect()
}

#[test]
fn a_recipe_says_everything_or_leaves_defaults() {
    let short = read("[protocol]\nkind = \"permuted\"");
    let origin = TaskOrigin::Drawn { data: "mnist-sample".into(), protocol: Protocol::default() };
    assert_eq!((short.origin, short.seed, short.preprocess), (origin, 0, Some(Preprocess::default())));
    let long = read(
        "seed = 9\ndata = \"mnist\"\n[preprocess]\nwhiten = false\n[protocol]\nkind = \"target-distractor\"\ntasks = 2\n\
         rho_flip = 0\np_test = 5\n[interpolate]\nsteps = 3\n[context]\ndim = 7\nvariance = 2",
    );
    let protocol = TargetDistractor { tasks: 2, rho_flip: 0.0, p_test: Some(5), ..TargetDistractor::default() };
    let origin = TaskOrigin::Drawn { data: "mnist".into(), protocol: Protocol::TargetDistractor(protocol) };
    assert_eq!((long.origin, long.seed), (origin, 9));
    assert_eq!(long.preprocess, Some(Preprocess { whiten: None, ..Preprocess::default() }));
    assert_eq!(long.post.interpolate, Some(Interpolated { steps: 3 }));
    assert_eq!(long.post.context, Some(WithContext { dim: 7, variance: 2.0, renormalize: true }));
    let pairs = read("[protocol]\nkind = \"partial-split\"\npairs = [[0, 1], [2, 3]]\nsplit = 1");
    let protocol = PartialSplit { pairs: Some([[0, 1], [2, 3]]), split: 1.0, ..PartialSplit::default() };
    assert_eq!(
        pairs.origin,
        TaskOrigin::Drawn { data: "mnist-sample".into(), protocol: Protocol::PartialSplit(protocol) }
    );
    let split = read("[protocol]\nkind = \"split\"\nlabels = \"one-hot-all\"\nassignment = [[[0], [1]], [[2], [3]]]");
    assert!(matches!(split.origin, TaskOrigin::Drawn { protocol: Protocol::Split(_), .. }));
}

#[test]
fn a_recipe_makes_what_the_library_makes() {
    let folder = TempDir::new().unwrap();
    let text = "seed = 5\n[preprocess]\nwhiten = false\n[protocol]\nkind = \"permuted\"\ntasks = 2\np = 30\np_test = 10\n\
                ratio = 0.5\n[interpolate]\n[context]\ndim = 3";
    let path = written(&folder, text);
    let sequence = TaskSequence::load(&path).unwrap();
    let settings = Permuted { tasks: 2, p: 30, p_test: 10, ratio: 0.5, ..Permuted::default() };
    let two = settings.generate(source(), 5).unwrap();
    let three = Interpolated { steps: 1 }.apply(&two, 5).unwrap();
    let expected = WithContext { dim: 3, ..WithContext::default() }.apply(&three, 5).unwrap();
    assert_eq!(sequence, expected);
    let found = check_tasks(&path);
    assert!(found.usable() && found.tasks.len() == 3);
    assert_eq!(found.settings.unwrap().interpolate.unwrap().step.steps, 1);
}

#[test]
fn own_tasks_can_be_named_in_a_recipe() {
    let folder = TempDir::new().unwrap();
    let two = Permuted { tasks: 2, p: 12, p_test: 0, ..Permuted::default() }.generate(source(), 2).unwrap();
    two.save_npz(folder.path().join("own.npz")).unwrap();
    let sequence = TaskSequence::load(written(&folder, "tasks = \"own.npz\"\n[interpolate]\nsteps = 2")).unwrap();
    assert_eq!(sequence.tasks.len(), 4);
    assert_eq!(sequence.tasks[0].x, two.tasks[0].x, "own inputs stay as they are");
    let raw = "tasks = \"own.npz\"\n[preprocess]\ncenter = \"none\"\nwhiten = false\nnormalize = true";
    let prepared = TaskSequence::load(written(&folder, raw)).unwrap();
    assert_eq!(prepared.settings.preparation_words(), "inputs scaled to one norm");
    assert!(!Recipe::read(written(&folder, "tasks = \"own.npz\"")).unwrap().varies());
}

#[test]
fn a_data_set_can_be_given_by_its_path() {
    let folder = TempDir::new().unwrap();
    let text: String = (0..40).map(|i| format!("{},{},{},{}\n", i % 7 + 1, i % 3, i * i % 11, i % 2)).collect();
    std::fs::write(folder.path().join("own.csv"), text).unwrap();
    let recipe = "data = \"./own.csv\"\n[preprocess]\nwhiten = false\ncenter = \"none\"\n[protocol]\nkind = \"permuted\"\n\
                  tasks = 2\np = 10\np_test = 0";
    let sequence = TaskSequence::load(written(&folder, recipe)).unwrap();
    assert_eq!((sequence.dim(), sequence.tasks[0].x.nrows()), (3, 10));
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    let found = problems(
        "sed = 1\n[preprocess]\ncentre = \"image\"\n[preprocess.whiten]\nrige = 1\n[protocol]\nkind = \"permuted\"\n\
         ratoi = 0.1\n[interpolate]\nstep = 1\n[context]\ndims = 2",
    );
    let pairs = [
        ("a key is `sed`", "`seed`"),
        ("a key of [preprocess] is `centre`", "`center`"),
        ("a key of [preprocess.whiten] is `rige`", "`ridge`"),
        ("a key of [interpolate] is `step`", "`steps`"),
        ("a key of [context] is `dims`", "`dim`"),
        ("a key of [protocol] is `ratoi`", "`ratio`"),
    ];
    assert_eq!(found.len(), pairs.len());
    for (message, (bad, good)) in found.iter().zip(pairs) {
        let expected = format!("FILE: {bad}, which is unknown; the nearest known one is {good} (known are ");
        assert!(message.starts_with(&expected), "{message}");
    }
    let kind = &problems("[protocol]\nkind = \"permutted\"")[0];
    assert!(
        kind.contains("protocol.kind is `permutted`, which is unknown; the nearest known one is `permuted`"),
        "{kind}"
    );
    assert!(problems("[protocol]\np = 3")[0].contains("protocol.kind is missing; give one of permuted, split"));
}

#[test]
fn wrong_values_are_refused_with_their_place() {
    let permuted = |line: &str| problems(&format!("[protocol]\nkind = \"permuted\"\n{line}"));
    assert_eq!(permuted("ratio = 1.5"), ["FILE: ratio is 1.5; must lie in [0, 1]"]);
    assert!(permuted("ratio = \"much\"")[0].starts_with("FILE: line "), "{:?}", permuted("ratio = \"much\""));
    assert!(permuted("p = -3")[0].starts_with("FILE: line "));
    assert_eq!(permuted("p = 1e9").len(), 1);
    let broken = &problems("seed = 1\n[protocol\nkind = 1")[0];
    assert!(broken.starts_with("FILE: line 2 is `[protocol`; "), "{broken}");
    assert!(!broken.contains('\n'));
    assert!(problems("seed = 1")[0].contains("the recipe is incomplete; give a [protocol] table"));
    assert!(problems("tasks = \"a.npz\"\ndata = \"mnist\"")[0].contains("either `tasks` or `data`"));
    assert!(problems("tasks = \"a.toml\"")[0].contains("must name an .npz file"));
    assert!(problems("tasks = \"a.npz\"")[0].contains("a.npz: No such file"));
    assert!(problems("data = \"no-such-set\"\n[protocol]\nkind = \"split\"")[0].contains("data set is no-such-set"));
    let answer = |text: &str| problems(&format!("{text}\n[protocol]\nkind = \"split\""))[0].clone();
    assert_eq!(answer("preprocess = 3"), "FILE: preprocess is 3; must be a table: write [preprocess]");
    assert_eq!(answer("context = [3]"), "FILE: context is [3]; must be a table: write [context]");
    assert!(
        answer("preprocess = { whiten = [1] }").contains("whiten is a list of 1; it must be true, false or a table")
    );
}
