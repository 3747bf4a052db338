//! Does a refused request stay on this side of the socket, and does its twin arrive? A real listener is the judge.

use std::sync::atomic::{AtomicUsize, Ordering};

use chitin_policy::{Defaults, Grant, Grants, HttpGrant};
use chitin_types::{Capabilities, Digest, HostPattern, HttpAsk, PathPattern, Scheme, ToolName};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

use super::*;

/// A server on loopback that counts what reaches it and answers `hello`, or a redirect to `/other` at `/redirect`.
async fn canary() -> (u16, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let hits = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&hits);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            seen.fetch_add(1, Ordering::SeqCst);
            let answer = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
                let mut response = hyper::Response::new(Full::new(Bytes::from_static(b"hello")));
                if request.uri().path() == "/redirect" {
                    *response.status_mut() = hyper::StatusCode::FOUND;
                    response.headers_mut().insert("location", hyper::header::HeaderValue::from_static("/other"));
                }
                Ok::<_, std::convert::Infallible>(response)
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
        }
    });
    (port, hits)
}

fn grants(host: &str, port: u16) -> Grants {
    let http = HttpAsk {
        host: HostPattern::Any,
        scheme: vec![Scheme::Http],
        ports: vec![],
        methods: vec!["GET".to_owned()],
        paths: vec![PathPattern::parse("/**").expect("a pattern")],
        reason: None,
    };
    let any = Capabilities { fs: vec![], http: vec![http], ..Capabilities::default() };
    let mut grant = Grant::nothing(ToolName::parse("acme/x").expect("a name"), Digest::of(b"x"));
    grant.http.push(HttpGrant {
        id: "one".to_owned(),
        host: HostPattern::parse(host).expect("a host"),
        scheme: vec![Scheme::Http],
        ports: vec![port],
        methods: vec!["GET".to_owned()],
        paths: vec![PathPattern::parse("/**").expect("a pattern")],
        secret: None,
        inject: None,
    });
    Grants::intersect(any.clone(), grant, any, &Defaults::default())
}

fn get(url: String) -> Request {
    Request { method: "GET".to_owned(), url, headers: vec![], body: Body::Empty }
}

async fn fetch(grants: &Grants, request: Request) -> Result<(u16, Vec<u8>), EgressError> {
    let egress = Egress::default();
    let permit = egress.authorize(grants, &request)?;
    let mut response = egress.send(permit, request).await?;
    let mut body = Vec::new();
    while let Some(piece) = response.body.next().await {
        body.extend_from_slice(&piece?);
    }
    Ok((response.status, body))
}

fn rule<T: std::fmt::Debug>(result: Result<T, EgressError>) -> String {
    match result {
        Err(EgressError::Denied(denial)) => denial.rule,
        other => panic!("not denied: {other:?}"),
    }
}

#[tokio::test]
async fn a_literal_grant_reaches_loopback_and_nothing_else_does() {
    let (port, hits) = canary().await;
    let granted = grants("127.0.0.1", port);
    assert_eq!(rule(fetch(&grants("127.0.0.2", port), get(format!("http://127.0.0.1:{port}/"))).await), "grant:http");
    assert_eq!(rule(fetch(&granted, get(format!("http://127.0.0.1:{}/", port ^ 1))).await), "grant:http");
    // The name is granted, but it resolves to a loopback address, which only a literal can open.
    assert_eq!(
        rule(fetch(&grants("localhost", port), get(format!("http://localhost:{port}/"))).await),
        "egress:address"
    );
    assert_eq!(hits.load(Ordering::SeqCst), 0, "a refused request reached the listener");
    let answer = fetch(&granted, get(format!("http://127.0.0.1:{port}/"))).await;
    assert_eq!(answer, Ok((200, b"hello".to_vec())));
    assert_eq!(hits.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_is_shown_and_not_followed() {
    let (port, hits) = canary().await;
    let (status, _) =
        fetch(&grants("127.0.0.1", port), get(format!("http://127.0.0.1:{port}/redirect"))).await.expect("an answer");
    assert_eq!((status, hits.load(Ordering::SeqCst)), (302, 1));
}

#[tokio::test]
async fn framing_headers_are_refused_and_plain_ones_pass() {
    let (port, _) = canary().await;
    let granted = grants("127.0.0.1", port);
    let with = |name: &str, value: &str| {
        let mut request = get(format!("http://127.0.0.1:{port}/"));
        request.headers.push((name.to_owned(), value.to_owned()));
        request
    };
    assert!(fetch(&granted, with("x-note", "hi")).await.is_ok());
    for (name, value) in [("Host", "evil.test"), ("transfer-encoding", "chunked"), ("x-a", "b\r\nc: d"), ("a b", "c")] {
        assert!(matches!(fetch(&granted, with(name, value)).await, Err(EgressError::BadUrl(_))), "{name}");
    }
}

#[tokio::test]
async fn a_configured_endpoint_opens_its_own_path_only() {
    let (port, hits) = canary().await;
    let egress = Egress::default();
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}/v1")).expect("a base URL");
    let at = |path: &str| egress.authorize_endpoint(&endpoint, &get(format!("http://127.0.0.1:{port}{path}")));
    assert_eq!(rule(at("/v2/chat")), "config:endpoint");
    assert_eq!(rule(at("/v1x")), "config:endpoint");
    assert_eq!(rule(egress.authorize_endpoint(&endpoint, &get("http://127.0.0.2:1/v1".to_owned()))), "config:endpoint");
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let permit = at("/v1/chat").expect("below the base");
    assert!(egress.send(permit, get(String::new())).await.is_ok());
}
