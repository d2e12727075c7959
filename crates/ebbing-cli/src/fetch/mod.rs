//! Downloading a file: mirrors in turn, bounded tries, resumption, a checksum, and a rename at the very end.

mod part;
mod transfer;

use crate::console::Console;
use anyhow::bail;
use part::PartialFile;
use std::path::Path;
use std::time::Duration;
use transfer::Trouble;

/// How patient a download is.
#[derive(Debug, Clone)]
pub struct Patience {
    /// How long to wait for a connection.
    pub connect: Duration,
    /// How long to wait for the next bytes.
    pub read: Duration,
    /// How often to try each mirror.
    pub tries: u32,
    /// The pause after the first failed try; it doubles with each further one, up to [`LONGEST_PAUSE`].
    pub pause: Duration,
}

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What is to be downloaded.
pub struct Request<'a> {
    /// Where it can be had, best first.
    pub urls: &'a [String],
    /// Where it goes.
    pub target: &'a Path,
    /// More bytes than this are not the file that is meant.
    pub most_bytes: u64,
    /// Says what is wrong with a complete file, or that it is as it should be.
    pub accept: &'a dyn Fn(&Path) -> ebbing::Result<()>,
}

/// Downloads one file. The target appears whole and accepted, or not at all; what was received
/// before an interruption stays beside it as `NAME.part`, and a later call goes on from there.
///
/// # Errors
/// If no mirror gives an acceptable file within the tries, or the disk refuses.
pub fn fetch(request: &Request, patience: &Patience, console: &Console) -> anyhow::Result<()> {
    let agent = transfer::agent(patience);
    let mut part = PartialFile::open(request.target)?;
    let mut failures = Vec::new();
    for url in request.urls {
        match fetch_from(&agent, url, request, &mut part, patience, console)? {
            Ok(()) => return Ok(part.place(request.target)?),
            Err(why) => failures.push(format!("{url}: {why}")),
        }
    }
    bail!("{}", failures.join("; then "))
}

/// One mirror. The outer error is a fault of this machine, the inner one of the mirror.
fn fetch_from(
    agent: &ureq::Agent,
    url: &str,
    request: &Request,
    part: &mut PartialFile,
    patience: &Patience,
    console: &Console,
) -> anyhow::Result<Result<(), String>> {
    let mut pause = patience.pause;
    let mut last = String::new();
    for attempt in 1..=patience.tries {
        if attempt > 1 {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let resumed = part.origin_at(url).is_some();
        let received = transfer::receive(agent, url, request, part, console);
        match received.and_then(|()| accepted(request, part, resumed)) {
            Ok(()) => return Ok(Ok(())),
            Err(Trouble::Here(error)) => return Err(error.into()),
            Err(Trouble::Final(why)) => return Ok(Err(why)),
            Err(Trouble::Passing(why)) => {
                if attempt < patience.tries {
                    console.remark(&format!("{url}: {why}; trying again"));
                }
                last = why;
            }
        }
    }
    let times = if patience.tries > 1 { format!(" (tried {} times)", patience.tries) } else { String::new() };
    Ok(Err(last + &times))
}

/// Whether the whole file is as it should be; what is not is thrown away.
fn accepted(request: &Request, part: &mut PartialFile, resumed: bool) -> Result<(), Trouble> {
    match (request.accept)(part.path()) {
        Ok(()) => Ok(()),
        Err(error @ ebbing::Error::Io { .. }) => Err(Trouble::Here(error)),
        Err(error) => {
            part.clear().map_err(Trouble::Here)?;
            let why = format!("{error}; what was received is thrown away");
            // Bytes of two downloads may not fit together; bytes of one are what the mirror holds.
            Err(if resumed { Trouble::Passing(why) } else { Trouble::Final(why) })
        }
    }
}
