//! The help of every command, word by word: a change of it is seen, and is on purpose.
//!
//! `EBBING_WRITE_HELP=1 cargo test -p ebbing-cli help` writes the files anew.

use crate::support::{done, run};
use std::path::Path;

#[test]
fn the_help_of_every_command_is_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help");
    for command in ["forecast", "advise", "phase", "train", "sample", "check"] {
        let (path, said) = (folder.join(format!("{command}.txt")), done(&run(&format!("{command} --help"))));
        if std::env::var_os("EBBING_WRITE_HELP").is_some() {
            std::fs::write(&path, &said).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(said == known, "the help of ebbing {command} is no longer {}:\n{said}", path.display());
    }
}
