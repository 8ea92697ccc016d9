//! Protects the server against pages of other sites: decides which requests to answer, and adds headers to every
//! response.
//!
//! A page of any site can send requests to a server on the same machine. It cannot read the answers unless its own name
//! is made to resolve to this machine (DNS rebinding), in which case the header `Host` has that name. Requests that
//! change something must be JSON, which a page of another site may only send with a permission that is never given.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::layout;
use crate::problem::Problem;

/// What a page may load: files of this server only, no inline scripts or styles, no frames around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Decides which requests to answer.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Whether only this machine can reach the server. If so, only requests to its own names are answered.
    pub(crate) loopback: bool,
}

/// Lets good requests through and completes every response.
pub(crate) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let response = match guard.check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    complete(with_sentence(response, is_api))
}

impl Guard {
    fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let host = text(headers, header::HOST).unwrap_or_default();
        if self.loopback && !is_this_machine(host) {
            return Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                format!(
                    "this server answers requests to localhost, 127.0.0.1 and [::1] only, not to {host:?}; open it \
                     under one of these names"
                ),
            ));
        }
        if [Method::GET, Method::HEAD].contains(method) {
            return Ok(());
        }
        let from_here = text(headers, header::ORIGIN)
            .is_none_or(|origin| origin.split_once("://").is_some_and(|(_, authority)| authority == host));
        if !from_here || text(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "this request comes from a page of another site, which may not change anything here",
            ));
        }
        let kind = text(headers, header::CONTENT_TYPE).unwrap_or_default();
        match kind.split(';').next().map(str::trim) {
            Some("application/json") => Ok(()),
            _ => Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("expected a request with the content type application/json, found {kind:?}"),
            )),
        }
    }
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether a `Host` header names this machine; its port may be that of a tunnel.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Gives a failed response the sentence of its problem as the body, as JSON or as a page.
fn with_sentence(response: Response, is_api: bool) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let sentence = match response.extensions().get::<Problem>() {
        Some(problem) => problem.sentence.clone(),
        None => match status {
            StatusCode::NOT_FOUND => "there is nothing at this address".to_owned(),
            StatusCode::METHOD_NOT_ALLOWED => "this address does not take requests of this kind".to_owned(),
            StatusCode::PAYLOAD_TOO_LARGE => "the request is too large".to_owned(),
            other => format!("the request failed: {other}"),
        },
    };
    let (kind, body) = match is_api {
        true => ("application/json", serde_json::json!({ "error": sentence }).to_string()),
        false => (
            "text/html; charset=utf-8",
            layout::problem(status, &sentence).into_string(),
        ),
    };
    let mut headers = response.headers().clone();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let mut response = (status, Body::from(body)).into_response();
    *response.headers_mut() = headers;
    response
}

fn complete(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for good in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:4567",
            "127.8.0.1",
            "[::1]:4567",
            "[::1]",
        ] {
            assert!(is_this_machine(good), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "localhost.example.org",
            "10.0.0.1",
            "127.0.0.1.nip.io:80",
            "[::2]",
        ] {
            assert!(!is_this_machine(bad), "{bad}");
        }
    }

    #[test]
    fn other_sites_change_nothing() {
        let guard = Guard { loopback: true };
        let check = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("localhost:1"));
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            guard
                .check(&Method::POST, &headers)
                .map_err(|problem| problem.status.as_u16())
        };
        let json = ("content-type", "application/json");
        assert_eq!(check(&[json]), Ok(()));
        assert_eq!(check(&[json, ("origin", "http://localhost:1")]), Ok(()));
        assert_eq!(check(&[json, ("origin", "http://localhost:2")]), Err(403));
        assert_eq!(check(&[json, ("origin", "null")]), Err(403));
        assert_eq!(check(&[json, ("sec-fetch-site", "cross-site")]), Err(403));
        assert_eq!(check(&[("content-type", "text/plain")]), Err(415));
        assert_eq!(check(&[]), Err(415));
    }
}
