//! What may ask, and what the answers forbid.
//!
//! A page elsewhere can make a browser send requests to this machine. It cannot make it send another `Host` than the one it was
//! asked for, nor leave out or forge `Origin`: requests that name neither this server are refused, and nothing of an answer may be
//! framed or load anything from elsewhere.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 8] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
];

/// What the page sends with what changes anything: another site cannot without asking first, and is refused then.
const MARK: &str = "x-ebbing";

/// Refuses what does not come from the server's own page, and marks every answer.
pub async fn guard(State(port): State<u16>, request: Request, next: Next) -> Response {
    let mut response = match refusal(port, request.method(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Why a request is refused.
fn refusal(port: u16, method: &Method, headers: &HeaderMap) -> Option<String> {
    let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next().map(HeaderValue::to_str), hosts.next()) {
        (Some(Ok(host)), None) if own.iter().any(|own| own.eq_ignore_ascii_case(host)) => {}
        _ => return Some(format!("This server answers to {} only.", own[0])),
    }
    for origin in headers.get_all(header::ORIGIN) {
        let known = |origin: &str| own.iter().any(|own| origin.eq_ignore_ascii_case(&format!("http://{own}")));
        if !origin.to_str().is_ok_and(known) {
            return Some("This server answers its own page only.".into());
        }
    }
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site.is_some_and(|site| !["same-origin", "none"].contains(&site)) {
        return Some("This server answers its own page only.".into());
    }
    if ![Method::GET, Method::HEAD].contains(method) && !headers.contains_key(MARK) {
        return Some("This server takes files from its own page only.".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(method: Method, headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        refusal(8000, &method, &map).is_some()
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let host = ("host", "127.0.0.1:8000");
        assert!(!refused(Method::GET, &[host]));
        assert!(!refused(Method::GET, &[("host", "LocalHost:8000"), ("origin", "http://localhost:8000")]));
        assert!(!refused(Method::POST, &[host, ("origin", "http://127.0.0.1:8000"), ("x-ebbing", "1")]));
        for headers in [
            &[][..],
            &[("host", "evil.example:8000")],
            &[("host", "127.0.0.1:8001")],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:8000.evil.example")],
            &[host, ("host", "evil.example")],
            &[host, ("origin", "http://evil.example")],
            &[host, ("origin", "null")],
            &[host, ("origin", "https://127.0.0.1:8000")],
            &[host, ("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.example")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(refused(Method::GET, headers), "{headers:?}");
        }
        assert!(refused(Method::POST, &[host, ("origin", "http://127.0.0.1:8000")]), "a form cannot send the mark");
    }
}
