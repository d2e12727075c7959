//! One HTTP exchange: ask for the bytes that are missing, check that they belong to the same file, and append them.

use super::part::{Origin, PartialFile};
use super::{Patience, Request};
use crate::console::Console;
use std::io::Read;
use ureq::http::{HeaderMap, Response, StatusCode, header};

/// Why an exchange did not give the whole file.
pub enum Trouble {
    /// It may go better next time.
    Passing(String),
    /// This mirror will not give the file.
    Final(String),
    /// This machine is at fault.
    Here(ebbing::Error),
}

/// A client with the time-outs of `patience`. It follows redirects and never asks for compression: the files are
/// stored as they are sent, and lengths and ranges count the bytes of the file itself.
pub fn agent(patience: &Patience) -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_resolve(Some(patience.connect))
        .timeout_connect(Some(patience.connect))
        .timeout_recv_response(Some(patience.read))
        .timeout_per_read(Some(patience.read))
        .timeout_per_write(Some(patience.read))
        .http_status_as_error(false)
        .user_agent(concat!("ebbing/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .build()
        .into()
}

/// Receives what is missing of the file at `url` into `part`.
pub fn receive(
    agent: &ureq::Agent,
    url: &str,
    request: &Request,
    part: &mut PartialFile,
    console: &Console,
) -> Result<(), Trouble> {
    let mut ask = agent.get(url);
    if let Some(origin) = part.origin_at(url) {
        ask = ask.header(header::RANGE, format!("bytes={}-", part.len()));
        if let Some(validator) = origin.validator() {
            ask = ask.header(header::IF_RANGE, validator);
        }
    }
    let response = ask.call().map_err(|e| connection_trouble(&e))?;
    let Some(total) = begin_or_continue(url, &response, part)? else { return Ok(()) };
    let most = total.unwrap_or(request.most_bytes);
    if most > request.most_bytes {
        let why = format!("the file there is {most} bytes long, more than the {} expected at most", request.most_bytes);
        return Err(Trouble::Final(why));
    }
    let mut progress = console.bytes(url.rsplit('/').next().unwrap_or(url), most);
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = body.read(&mut buffer).map_err(|e| Trouble::Passing(interruption(&e, part.len(), total)))?;
        if n == 0 {
            break;
        }
        if part.len() + n as u64 > most {
            part.clear().map_err(Trouble::Here)?;
            return Err(Trouble::Final(format!("the server sends more than {most} bytes")));
        }
        part.append(&buffer[..n]).map_err(Trouble::Here)?;
        progress.set(part.len());
    }
    match total {
        Some(total) if part.len() < total => Err(Trouble::Passing(cut_off(part.len(), Some(total)))),
        _ => Ok(()),
    }
}

/// Decides from the head of the answer whether its body continues the part or replaces it. Returns the length of the
/// whole file where it is known, or nothing if the part is whole already.
fn begin_or_continue<B>(
    url: &str,
    response: &Response<B>,
    part: &mut PartialFile,
) -> Result<Option<Option<u64>>, Trouble> {
    let headers = response.headers();
    match response.status() {
        StatusCode::OK => {
            let total = text(headers, header::CONTENT_LENGTH).and_then(|n| n.parse().ok());
            part.begin(origin(url, headers, total)).map_err(Trouble::Here)?;
            Ok(Some(total))
        }
        StatusCode::PARTIAL_CONTENT => {
            let range = text(headers, header::CONTENT_RANGE).unwrap_or_default();
            let (start, total) = parse_content_range(&range);
            let known = part.origin_at(url).cloned().unwrap_or_default();
            let same_tag = known.etag.is_none() || known.etag == text(headers, header::ETAG);
            if start == Some(part.len()) && total.is_some() && total == known.total && same_tag {
                return Ok(Some(total));
            }
            part.clear().map_err(Trouble::Here)?;
            Err(Trouble::Passing("the file there has changed since the download began".into()))
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            let (_, total) = parse_content_range(&text(headers, header::CONTENT_RANGE).unwrap_or_default());
            if total == Some(part.len()) {
                return Ok(None);
            }
            part.clear().map_err(Trouble::Here)?;
            Err(Trouble::Passing("the server does not hold the rest of the file".into()))
        }
        status => {
            let why = format!("the server answers {status}");
            let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
            let passing = status.is_server_error() || busy;
            Err(if passing { Trouble::Passing(why) } else { Trouble::Final(why) })
        }
    }
}

fn origin(url: &str, headers: &HeaderMap, total: Option<u64>) -> Origin {
    Origin { url: url.into(), total, etag: text(headers, header::ETAG), modified: text(headers, header::LAST_MODIFIED) }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_string)
}

/// First byte and whole length in `bytes FIRST-LAST/TOTAL` or `bytes */TOTAL`.
fn parse_content_range(value: &str) -> (Option<u64>, Option<u64>) {
    let Some((range, total)) = value.trim_start_matches("bytes").trim().split_once('/') else { return (None, None) };
    (range.split('-').next().and_then(|n| n.parse().ok()), total.parse().ok())
}

/// A request that got no answer.
fn connection_trouble(error: &ureq::Error) -> Trouble {
    use ureq::Error::{BadUri, HostNotFound, Http, Timeout, TooManyRedirects};
    match error {
        Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => Trouble::Passing("no connection in time".into()),
        Timeout(_) => Trouble::Passing("no answer in time".into()),
        HostNotFound => Trouble::Final("there is no such host, or no network".into()),
        TooManyRedirects => Trouble::Final("the server redirects in circles".into()),
        BadUri(_) | Http(_) => Trouble::Final(format!("this is not a web address ({error})")),
        other => Trouble::Passing(other.to_string()),
    }
}

/// A body that broke off.
fn interruption(error: &std::io::Error, received: u64, total: Option<u64>) -> String {
    let source = error.get_ref().and_then(|e| e.downcast_ref::<ureq::Error>());
    if matches!(source, Some(ureq::Error::Timeout(_))) || error.kind() == std::io::ErrorKind::TimedOut {
        return format!("no more bytes came in time after {}", amount(received, total));
    }
    cut_off(received, total)
}

fn cut_off(received: u64, total: Option<u64>) -> String {
    format!("the connection broke off after {}", amount(received, total))
}

fn amount(received: u64, total: Option<u64>) -> String {
    format!("{received}{} bytes", total.map_or(String::new(), |total| format!(" of {total}")))
}

#[cfg(test)]
mod tests {
    use super::parse_content_range;

    #[test]
    fn content_ranges() {
        assert_eq!(parse_content_range("bytes 10-99/100"), (Some(10), Some(100)));
        assert_eq!(parse_content_range("bytes */100"), (None, Some(100)));
        assert_eq!(parse_content_range("bytes 10-99/*"), (Some(10), None));
        assert_eq!(parse_content_range("nonsense"), (None, None));
    }
}
