//! Which requests are answered, and what the answers forbid.
//!
//! A page from another site can make a browser send requests to this machine. It cannot change the `Host` that the browser sends,
//! nor omit or forge `Origin`: requests whose `Host` or `Origin` is not this server are refused, and answers forbid framing and
//! loading anything from elsewhere. Any site may link to the page: the link opens it, and the other site sees nothing of it.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
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

/// The header of every request that changes something: another site cannot send it without a preflight request, which is refused.
const MARK: &str = "x-ebbing";

/// Refuses requests that do not come from the server's own page, and adds the headers above to every answer.
pub async fn guard(State(port): State<u16>, request: Request, next: Next) -> Response {
    let mut response = match refusal(port, &request) {
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Why a request is refused.
fn refusal<B>(port: u16, request: &Request<B>) -> Option<String> {
    let (method, headers) = (request.method(), request.headers());
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
    let says = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let opened = *method == Method::GET
        && request.uri().path() == "/"
        && says("sec-fetch-mode") == Some("navigate")
        && says("sec-fetch-dest") == Some("document");
    if !opened && says("sec-fetch-site").is_some_and(|site| !["same-origin", "none"].contains(&site)) {
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

    fn refused_at(path: &str, method: Method, headers: &[(&str, &str)]) -> bool {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        refusal(8000, &request.body(()).unwrap()).is_some()
    }

    fn refused(method: Method, headers: &[(&str, &str)]) -> bool {
        refused_at("/", method, headers)
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

    #[test]
    fn a_link_on_another_site_opens_the_page_and_nothing_else() {
        for site in ["cross-site", "same-site"] {
            let asks = |mode, dest| {
                let sent = [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
                [&[("host", "127.0.0.1:8000")], &sent[..]].concat()
            };
            let link = asks("navigate", "document");
            assert!(!refused(Method::GET, &link));
            assert!(refused_at("/take/forecast/report.html", Method::GET, &link));
            assert!(refused(Method::POST, &link) && refused(Method::HEAD, &link));
            assert!(refused(Method::GET, &[&link[..], &[("origin", "http://evil.example")]].concat()));
            for (mode, dest) in
                [("navigate", "iframe"), ("no-cors", "script"), ("no-cors", "document"), ("cors", "empty")]
            {
                assert!(refused(Method::GET, &asks(mode, dest)), "{mode} {dest}");
            }
        }
    }
}
