//! Does a secret reach the server and nothing else? A server that echoes every header is the judge.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use chitin_policy::{Defaults, Grant, Grants, HttpGrant, Inject};
use chitin_ports::{PortError, Secrets};
use chitin_types::{Capabilities, Digest, HostPattern, HttpAsk, PathPattern, Scheme, Secret, ToolName};
use futures::StreamExt;
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

use crate::{Body, Egress, EgressError, Request};

const TEXT: &str = "canary-4711-secret";

struct One(Option<&'static str>);

#[async_trait]
impl Secrets for One {
    async fn reveal(&self, name: &str) -> Result<Option<Secret>, PortError> {
        Ok(self.0.filter(|_| name == "github").map(Secret::new))
    }
    async fn set(&self, _: &str, _: &Secret) -> Result<(), PortError> {
        Err(PortError("set a secret: read only".to_owned()))
    }
    async fn remove(&self, _: &str) -> Result<bool, PortError> {
        Ok(false)
    }
    async fn names(&self) -> Result<Vec<(String, u64)>, PortError> {
        Ok(vec![])
    }
}

/// Echoes `authorization` in a header and in the body, and remembers it. At `/gzip` it claims to compress.
async fn echo() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let remembered = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let remembered = Arc::clone(&remembered);
            let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let given = request.headers().get("authorization").cloned();
                let text = given.as_ref().and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
                remembered.lock().expect("the list").push(text.clone());
                let mut response = hyper::Response::new(Full::new(Bytes::from(format!("you sent {text}, thanks"))));
                if let Some(value) = given {
                    response.headers_mut().insert("x-echo", value);
                }
                if request.uri().path() == "/gzip" {
                    let gzip = hyper::header::HeaderValue::from_static("gzip");
                    response.headers_mut().insert("content-encoding", gzip);
                }
                async move { Ok::<_, std::convert::Infallible>(response) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
        }
    });
    (port, seen)
}

fn grants(host: &str, port: u16, secret: Option<&str>) -> Grants {
    let paths = vec![PathPattern::parse("/**").expect("a pattern")];
    let http = HttpAsk {
        host: HostPattern::Any,
        scheme: vec![Scheme::Http],
        ports: vec![],
        methods: vec!["GET".to_owned()],
        paths: paths.clone(),
        reason: None,
    };
    let any = Capabilities { http: vec![http], ..Capabilities::default() };
    let mut grant = Grant::nothing(ToolName::parse("acme/x").expect("a name"), Digest::of(b"x"));
    let inject = Inject { header: "authorization".to_owned(), format: "Bearer {}".to_owned() };
    grant.http.push(HttpGrant {
        id: "one".to_owned(),
        host: HostPattern::parse(host).expect("a host"),
        scheme: vec![Scheme::Http],
        ports: vec![port],
        methods: vec!["GET".to_owned()],
        paths,
        secret: secret.map(str::to_owned),
        inject: secret.map(|_| inject),
    });
    Grants::intersect(any.clone(), grant, any, &Defaults::default())
}

async fn fetch(egress: &Egress, grants: &Grants, url: &str, headers: &[(&str, &str)]) -> Result<String, EgressError> {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let request = Request { method: "GET".to_owned(), url: url.to_owned(), headers, body: Body::Empty };
    let permit = egress.authorize(grants, &request)?;
    let mut response = egress.send(permit, request).await?;
    let mut all = format!("{:?}", response.headers).into_bytes();
    while let Some(piece) = response.body.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}

fn rule(result: Result<String, EgressError>) -> String {
    match result {
        Err(EgressError::Denied(denial)) => denial.rule,
        other => panic!("not denied: {other:?}"),
    }
}

#[tokio::test]
async fn the_server_sees_the_secret_and_the_tool_does_not() {
    let (port, seen) = echo().await;
    let egress = Egress::with_secrets(Arc::new(One(Some(TEXT))));
    let url = format!("http://127.0.0.1:{port}/");
    let answer = fetch(&egress, &grants("127.0.0.1", port, Some("github")), &url, &[]).await.expect("an answer");
    assert_eq!(seen.lock().expect("the list").as_slice(), [format!("Bearer {TEXT}")]);
    assert!(!answer.contains(TEXT), "{answer}");
    assert!(answer.contains("you sent Bearer [redacted], thanks"), "{answer}");
    // The twin rule without a secret sends none.
    let answer = fetch(&egress, &grants("127.0.0.1", port, None), &url, &[]).await.expect("an answer");
    assert!(answer.contains("you sent , thanks"), "{answer}");
}

#[tokio::test]
async fn what_could_leak_or_replace_a_secret_is_refused_before_a_socket() {
    let (port, seen) = echo().await;
    let url = format!("http://127.0.0.1:{port}/");
    let with = grants("127.0.0.1", port, Some("github"));
    let egress = Egress::with_secrets(Arc::new(One(Some(TEXT))));
    let own = [("Authorization", "Bearer mine")];
    assert_eq!(rule(fetch(&egress, &with, &url, &own).await), "egress:secret-header");
    let unset = Egress::with_secrets(Arc::new(One(None)));
    assert_eq!(rule(fetch(&unset, &with, &url, &[]).await), "egress:secret");
    assert_eq!(rule(fetch(&Egress::default(), &with, &url, &[]).await), "egress:secret");
    let plain = grants("example.test", 80, Some("github"));
    assert_eq!(rule(fetch(&egress, &plain, "http://example.test/", &[]).await), "egress:plaintext");
    assert!(seen.lock().expect("the list").is_empty());
    // The twins: another header, and the secret set.
    assert!(fetch(&egress, &with, &url, &[("x-note", "hi")]).await.is_ok());
}

#[tokio::test]
async fn a_compressed_answer_to_a_secret_is_refused() {
    let (port, _) = echo().await;
    let egress = Egress::with_secrets(Arc::new(One(Some(TEXT))));
    let url = format!("http://127.0.0.1:{port}/gzip");
    assert_eq!(rule(fetch(&egress, &grants("127.0.0.1", port, Some("github")), &url, &[]).await), "egress:encoded");
    assert!(fetch(&egress, &grants("127.0.0.1", port, None), &url, &[]).await.is_ok());
}
