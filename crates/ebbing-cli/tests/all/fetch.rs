//! `ebbing data get` against a loopback server that truncates, corrupts, stalls, redirects and refuses.

use crate::server::{Act, Seen, Server};
use crate::support::{Home, done, done_json, refusal};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const FILES: [&str; 4] = [
    "/train-images-idx3-ubyte.gz",
    "/train-labels-idx1-ubyte.gz",
    "/t10k-images-idx3-ubyte.gz",
    "/t10k-labels-idx1-ubyte.gz",
];
const IMAGES: &str = FILES[0];

/// A server with files of MNIST's shape (not MNIST's pixels), and a home to fetch them to.
struct Scene {
    server: Server,
    home: Home,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { server: Server::start(), home: Home::new() };
        for (path, content) in FILES.iter().zip(mnist_like(1)) {
            scene.server.put(path, &content, "first");
        }
        scene
    }

    /// Runs `ebbing data get mnist` with one try.
    fn get(&self, more: &[&str]) -> Output {
        self.get_patiently("1", "60", more)
    }

    /// Runs `ebbing data get mnist` with this many tries and seconds between bytes.
    fn get_patiently(&self, tries: &str, seconds: &str, more: &[&str]) -> Output {
        let mut command = self.command();
        command.args(["--quiet", "--pause", "0.01", "--read-timeout", seconds, "--tries", tries]);
        command.args(more).output().unwrap()
    }

    /// `ebbing data get mnist` from the server.
    fn command(&self) -> Command {
        let mut command = self.home.ebbing();
        command.args(["data", "get", "mnist", "--mirror", &self.server.url("")]);
        command
    }

    fn folder(&self) -> PathBuf {
        self.home.join(".local/share/ebbing/mnist")
    }

    /// A run that fails with these words and places nothing; the sentence it ends with.
    #[track_caller]
    fn assert_fails(&self, words: &str) -> String {
        let error = refusal(&self.get(&["--repacked"]), 1);
        assert!(error.contains(words), "{error}");
        self.assert_nothing_placed();
        error
    }

    /// No file of the set is where it would be found.
    #[track_caller]
    fn assert_nothing_placed(&self) {
        assert!(!self.folder().exists());
        let listed = done_json(&self.home.run("data list --json"));
        let mnist = listed["sets"].as_array().unwrap().iter().find(|set| set["name"] == "mnist").unwrap();
        assert_eq!(mnist["available"], false);
    }

    /// A later run completes: the four files are in place, and nothing else is left.
    #[track_caller]
    fn assert_completes(&self) {
        let answer = done_json(&self.get(&["--repacked", "--json"]));
        assert_eq!((&answer["train"], &answer["test"]), (&60_000.into(), &10_000.into()));
        assert_eq!(answer["files"].as_array().unwrap().len(), 4);
        for file in answer["files"].as_array().unwrap() {
            assert!(PathBuf::from(file["path"].as_str().unwrap()).is_file());
        }
        let around: Vec<_> = std::fs::read_dir(self.folder().parent().unwrap()).unwrap().flatten().collect();
        assert_eq!(around.len(), 1, "left over: {around:?}");
        assert_eq!(std::fs::read_dir(self.folder()).unwrap().count(), 4);
    }

    /// The range of each request for the training images since the last look.
    fn ranges(&self) -> Vec<Option<String>> {
        let seen: Vec<Seen> = self.server.seen();
        seen.into_iter().filter(|s| s.path == IMAGES).map(|s| s.range).collect()
    }
}

/// Gzip'ed IDX files with MNIST's sizes, each image of one gray level.
fn mnist_like(gray: u8) -> [Vec<u8>; 4] {
    let images = |n: u32| {
        let mut bytes = vec![0, 0, 8, 3];
        [n, 28, 28].iter().for_each(|d| bytes.extend(d.to_be_bytes()));
        bytes.extend((0..n as usize * 784).map(|i| if i % 97 == 0 { gray } else { 3 }));
        gzip(&bytes)
    };
    let labels = |n: u32| {
        let mut bytes = vec![0, 0, 8, 1];
        bytes.extend(n.to_be_bytes());
        bytes.extend((0..n).map(|i| (i % 10) as u8));
        gzip(&bytes)
    };
    [images(60_000), labels(60_000), images(10_000), labels(10_000)]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_set_is_fetched_once() {
    let scene = Scene::new();
    scene.assert_completes();
    assert_eq!(scene.server.seen().len(), 4);
    assert!(done(&scene.get(&[])).starts_with("mnist (data directory): 60000 training and 10000 test examples\n"));
    assert_eq!(scene.server.seen(), []);
    // Anew on request, over the files that are there.
    done(&scene.get(&["--repacked", "--force"]));
    assert_eq!(scene.server.seen().len(), 4);
}

#[test]
fn truncation_is_reported_and_a_later_run_goes_on() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Truncate(5000)]);
    let error = scene.assert_fails("the connection broke off after 5000 of ");
    assert!(error.contains(&scene.server.url(IMAGES)), "{error}");
    scene.assert_completes();
    assert_eq!(scene.ranges(), [None, Some("bytes=5000-".into())]);
}

#[test]
fn one_run_tries_again_and_resumes() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Truncate(3000), Act::Status("503 Service Unavailable"), Act::Truncate(4000)]);
    done(&scene.get_patiently("4", "60", &["--repacked"]));
    let resumed = |n: usize| Some(format!("bytes={n}-"));
    assert_eq!(scene.ranges(), [None, resumed(3000), resumed(3000), resumed(7000)]);

    let other = Scene::new();
    other.server.plan(IMAGES, &[Act::Truncate(10), Act::Truncate(10), Act::Truncate(10)]);
    let error = refusal(&other.get_patiently("3", "60", &["--repacked"]), 1);
    assert!(error.contains("broke off after 30 of") && error.ends_with("(tried 3 times)"), "{error}");
    other.assert_completes();
}

#[test]
fn stalls_end_by_time_out() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Stall(2000), Act::Silence]);
    let error = refusal(&scene.get_patiently("1", "1.5", &["--repacked"]), 1);
    assert!(error.contains("no more bytes came in time after 2000 of "), "{error}");
    let error = refusal(&scene.get_patiently("1", "1.5", &["--repacked"]), 1);
    assert!(error.contains("no answer in time"), "{error}");
    scene.assert_nothing_placed();
    scene.assert_completes();
    assert_eq!(scene.ranges().last(), Some(&Some("bytes=2000-".into())));
}

#[test]
fn other_bytes_than_published_are_thrown_away() {
    let scene = Scene::new();
    // Of the published size, so that the checksum has to find it out.
    scene.server.put(IMAGES, &vec![7; 9_912_422], "first");
    let error = refusal(&scene.get(&[]), 1);
    assert!(error.contains("SHA-256") && error.contains("440fcabf73cc546fa21475e81ea3702656"), "{error}");
    assert!(error.contains("thrown away"), "{error}");
    scene.assert_nothing_placed();
    // Longer than published: refused before it is received.
    scene.server.put(IMAGES, &vec![7; 9_912_423], "first");
    let error = refusal(&scene.get(&[]), 1);
    assert!(error.contains("9912423 bytes long, more than the 9912422 expected"), "{error}");
    scene.assert_nothing_placed();
    scene.server.put(IMAGES, &mnist_like(2)[0], "first");
    scene.assert_completes();
}

#[test]
fn corruption_inside_repacked_files_is_found() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Corrupt]);
    let error = scene.assert_fails("thrown away");
    assert!(error.contains("train-images-idx3-ubyte.gz"), "{error}");
    scene.assert_completes();

    // Sound files of another set are not the official one either.
    let other = Scene::new();
    other.server.put(IMAGES, &mnist_like(1)[2], "first");
    other.server.put(FILES[1], &mnist_like(1)[3], "first");
    other.assert_fails("10000 training images where there are officially 60000");
}

#[test]
fn bytes_of_two_versions_are_never_joined() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Truncate(5000)]);
    scene.assert_fails("broke off");
    let newer = mnist_like(9);
    scene.server.put(IMAGES, &newer[0], "second");
    scene.assert_completes();
    let placed = std::fs::read(scene.folder().join(&IMAGES[1..])).unwrap();
    assert!(placed == newer[0], "not the newer version");

    // A server that knows no ranges and no tags sends everything again.
    let plain = Scene::new();
    plain.server.plan(IMAGES, &[Act::Truncate(5000), Act::ServeWhole]);
    plain.assert_fails("broke off");
    plain.assert_completes();
}

#[test]
fn redirects_are_followed_but_not_in_circles() {
    let scene = Scene::new();
    scene.server.put("/elsewhere.gz", &mnist_like(4)[0], "there");
    scene.server.plan(IMAGES, &[Act::Redirect("/elsewhere.gz")]);
    scene.assert_completes();

    let circle = Scene::new();
    circle.server.plan(IMAGES, &vec![Act::Redirect(IMAGES); 50]);
    circle.assert_fails("redirects in circles");
}

#[test]
fn refusals_are_final_for_the_mirror_and_faults_are_not() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Status("404 Not Found")]);
    let error = refusal(&scene.get_patiently("5", "60", &["--repacked"]), 1);
    assert!(
        error.starts_with("mnist: http://127.0.0.1:") && error.ends_with("the server answers 404 Not Found"),
        "{error}"
    );
    assert_eq!(scene.ranges().len(), 1, "a file that is not there was asked for again");
    scene.assert_nothing_placed();
    scene.server.plan(IMAGES, &[Act::Status("500 Internal Server Error"), Act::Status("429 Too Many Requests")]);
    done(&scene.get_patiently("3", "60", &["--repacked"]));
}

#[test]
fn a_body_without_end_is_cut() {
    let scene = Scene::new();
    scene.server.plan(FILES[1], &[Act::Endless]);
    scene.assert_fails("the server sends more than");
    scene.assert_completes();
}

#[test]
fn two_runs_do_not_write_the_same_file() {
    let scene = Scene::new();
    scene.server.plan(IMAGES, &[Act::Stall(2000)]);
    let mut first = scene.command().args(["--repacked", "--read-timeout", "60"]).stderr(Stdio::null()).spawn().unwrap();
    while scene.ranges().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let error = refusal(&scene.get(&["--repacked"]), 2);
    assert!(error.contains("another run is downloading it"), "{error}");
    first.kill().unwrap();
    first.wait().unwrap();
    scene.assert_nothing_placed();
    scene.assert_completes();
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let scene = Scene::new();
    let refused = |words: &str| refusal(&scene.home.run(&format!("data get {words}")), 2);
    let error = refused("imagenet");
    assert!(error.contains("imagenet") && error.contains("mnist, fashion-mnist, emnist, cifar10, cifar100"), "{error}");
    assert!(refused("mnist --mirror ftp://x/").contains("must begin with https://"));
    assert!(refused("mnist --read-timeout 0").starts_with("--read-timeout is 0;"));
    assert!(refused("mnist --read-timeout NaN").starts_with("--read-timeout is NaN;"));
    assert!(refused("mnist --tries 0").starts_with("--tries is 0;"));
    assert!(refused("mnist --repacked").contains("--mirror"));
    let homeless = scene.home.ebbing().env_remove("HOME").args(["data", "get", "mnist"]).output().unwrap();
    assert!(refusal(&homeless, 2).contains("HOME"));
    assert_eq!(std::fs::read_dir(scene.home.path()).unwrap().count(), 0, "something was written");

    // A port on which nobody listens any more.
    let gone = Server::start().url("");
    let error = refusal(&scene.home.run(&format!("-q data get mnist --mirror {gone} --tries 2 --pause 0.01")), 1);
    assert!(error.to_lowercase().contains("refused"), "{error}");
}
