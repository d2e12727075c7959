//! How a failed run ends: one sentence on standard error and an exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 1 | the machine or the internet failed: full disk, unreadable device, server that does not answer |
//! | 2 | bad input: flags, files, settings or data that cannot be used |

use crate::cli::Cli;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind as ErrorKindOfFlags};
use ebbing::request::Door;
use std::io::{ErrorKind, Write};

/// The machine or the internet failed.
const FAULT: u8 = 1;
/// The input cannot be used.
const BAD_INPUT: u8 = 2;

/// The message for `ebbing reproduce`, which is a program of its own now.
const MOVED: &str = "the figures of the paper have a program of their own, in the folder of the project: cargo run --release -p \
                     ebbing-paper -- figure 6 (its flags are those of ebbing reproduce; -- list stands for --list)";

/// Input that the program (not the library) refuses, in one sentence.
#[derive(Debug)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Why a run ended without a result.
pub enum Failure {
    /// Help or the version was requested: print it to standard output and succeed.
    Usage(clap::Error),
    /// A sentence for standard error and an exit code.
    Said(String, u8),
    /// The reader of standard output has gone: nothing is reported.
    ReaderGone,
}

impl Failure {
    /// Flags that clap refuses, in one sentence.
    pub fn from_clap(error: clap::Error) -> Self {
        let wanted = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
        if wanted.as_deref() == Some("reproduce") {
            Failure::Said(MOVED.into(), BAD_INPUT)
        } else if error.use_stderr() {
            let said = clap_sentence(&error.render().to_string());
            Failure::Said(one_line(&with_owners(said, &owners(&error))), BAD_INPUT)
        } else {
            Failure::Usage(error)
        }
    }

    /// Prints the sentence and returns the exit code.
    pub fn report(self) -> u8 {
        match self {
            Failure::Usage(text) => match text.print().and_then(|()| std::io::stdout().flush()) {
                Ok(()) => 0,
                Err(e) => Failure::from(anyhow::Error::new(e)).report(),
            },
            Failure::Said(sentence, code) => {
                // Standard error may be closed or full; nothing can be done about it.
                let _ = writeln!(std::io::stderr(), "{}: {sentence}", crate::cli::name());
                code
            }
            Failure::ReaderGone => 0,
        }
    }
}

impl From<ebbing::Error> for Failure {
    fn from(error: ebbing::Error) -> Self {
        anyhow::Error::new(error).into()
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        if io_kind(&error) == Some(ErrorKind::BrokenPipe) {
            return Failure::ReaderGone;
        }
        let code = exit_code(&error);
        Failure::Said(sentence(&error), code)
    }
}

/// The error and its causes on one line, without causes that the error before already includes.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(in_the_users_words) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    one_line(&said)
}

/// An error that names the flag as typed instead of the library's setting; in a recipe the library's names are used.
fn in_the_users_words(error: &(dyn std::error::Error + 'static)) -> String {
    let library = match (error.downcast_ref::<ebbing::Error>(), error.downcast_ref::<ebbing_studies::Error>()) {
        (Some(error), _) | (_, Some(ebbing_studies::Error::Library(error))) => Some(error),
        _ => None,
    };
    let recipe = || crate::cli::words().any(|word| word.to_string_lossy().ends_with(".toml"));
    match library {
        Some(ebbing::Error::Setting { name, value, expected }) if !recipe() => {
            Door::Program.say(ebbing::Error::setting(name, value, expected)).to_string()
        }
        Some(memory @ ebbing::Error::Memory { .. }) => {
            memory.to_string().replace("or force it", "or try it with --force")
        }
        _ => error.to_string(),
    }
}

/// Longer sentences are cut.
const LONGEST: usize = 1500;

/// Any text as one line without control characters.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars() {
        match c {
            '\n' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
        if line.len() > LONGEST {
            return line + " …";
        }
    }
    line
}

/// The code for an error: what the library refuses is bad input, and so is a path without a readable file.
fn exit_code(error: &anyhow::Error) -> u8 {
    use ErrorKind::{InvalidData, InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    match io_kind(error) {
        // Including data that is not text where text is needed.
        Some(NotFound | PermissionDenied | IsADirectory | NotADirectory | InvalidData | InvalidFilename) => BAD_INPUT,
        Some(_) => FAULT,
        None if error.is::<ebbing::Error>() || error.is::<ebbing_studies::Error>() || error.is::<Refused>() => {
            BAD_INPUT
        }
        None => FAULT,
    }
}

/// The operating system's kind of error, if it has one.
fn io_kind(error: &anyhow::Error) -> Option<ErrorKind> {
    error.chain().find_map(|cause| {
        let library = match (cause.downcast_ref::<ebbing::Error>(), cause.downcast_ref::<ebbing_studies::Error>()) {
            (Some(ebbing::Error::Io { source, .. }), _)
            | (_, Some(ebbing_studies::Error::Library(ebbing::Error::Io { source, .. }))) => Some(source.kind()),
            _ => None,
        };
        library.or_else(|| cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind))
    })
}

/// clap's message without usage and padding, on one line.
pub fn clap_sentence(rendered: &str) -> String {
    let mut command = crate::cli::name().to_string();
    let mut said = String::new();
    for line in rendered.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(usage) = line.strip_prefix("Usage: ") {
            let names = usage.split(' ').take_while(|w| w.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            command = names.take_while(|w| !w.starts_with('-')).collect::<Vec<_>>().join(" ");
            break;
        }
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if !line.starts_with("For more information") {
            let gap = if said.is_empty() {
                ""
            } else if line.starts_with("tip: ") {
                "; "
            } else {
                " "
            };
            said = said + gap + line.trim_start_matches("tip: ");
        }
    }
    format!("{said} (see {command} --help)")
}

/// The commands that do have a flag that this one does not know.
fn owners(error: &clap::Error) -> Vec<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return Vec::new() };
    let name = flag.trim_start_matches('-').split('=').next();
    let all = Cli::command();
    let has = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == name);
    let owners = all.get_subcommands().filter(has).map(|command| format!("ebbing {}", command.get_name()));
    if error.kind() == ErrorKindOfFlags::UnknownArgument { owners.collect() } else { Vec::new() }
}

/// The message for an unknown flag, with the commands that have it instead of a flag with a similar name.
fn with_owners(said: String, owners: &[String]) -> String {
    match (owners.split_last(), said.split_once(" found")) {
        (Some((last, others)), Some((before, rest))) => {
            let help = rest.rsplit_once(" (").map_or(String::new(), |(_, help)| format!(" ({help}"));
            let others = if others.is_empty() { String::new() } else { format!("{} and ", others.join(", ")) };
            format!("{before}; it belongs to {others}{last}{help}")
        }
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claps_message_becomes_one_line() {
        let text = "error: unexpected argument '--sed' found\n\n  tip: a similar argument exists: '--seed'\n\n\
                    Usage: ebbing data get --mirror <URL> <NAME>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            clap_sentence(text),
            "unexpected argument '--sed' found; a similar argument exists: '--seed' (see ebbing data get --help)"
        );
    }

    #[test]
    fn codes_distinguish_bad_input_from_faults() {
        let full = ebbing::Error::io("out.json", std::io::Error::from(ErrorKind::StorageFull));
        assert_eq!(exit_code(&anyhow::Error::new(full)), FAULT);
        let missing = ebbing::Error::io("tasks.npz", std::io::Error::from(ErrorKind::NotFound));
        assert_eq!(exit_code(&anyhow::Error::new(missing)), BAD_INPUT);
        let setting = ebbing::Error::setting("--depth", 0, "must be at least 1");
        assert_eq!(exit_code(&anyhow::Error::new(setting)), BAD_INPUT);
        let pipe = anyhow::Error::new(std::io::Error::from(ErrorKind::BrokenPipe));
        assert!(matches!(Failure::from(pipe), Failure::ReaderGone));
    }
}
