//! Who may come in? Each request passes the checks of the door that it came through before any route sees it.
//!
//! ```text
//!   TCP    ─→ address: Host is ours, Origin is ours ─→ token: the owner's, in a header ─→ route
//!          └→ address ─→ health                       (no token)
//!          └→ address ─→ webhook                      (no token: the host checks the signature)
//!   socket ─→ owner ─→ route                          (the directory and the peer's uid are the check)
//! ```
//!
//! The checks of an address are against a web page that the owner happens to look at: it can send requests to this
//! machine, but it cannot choose their `Host` and `Origin`.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{AUTHORIZATION, HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL},
    },
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use crate::{
    Gateway,
    problem::Problem,
    refusal::{Refusal, request_line},
    token::{TokenDigest, TokenFile},
};

/// The door that a request came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The loopback address: any program of this machine, so a token is needed.
    Tcp,
    /// The Unix socket in the owner's own directory.
    Owner,
}

/// What a request that was let in carries; a route that finds none lets nobody in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) door: Door,
    token: Option<TokenDigest>,
}

/// Where a token may stand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ways {
    /// In `Authorization`.
    Header,
    /// There, or as a WebSocket subprotocol: a browser cannot set a header on a WebSocket.
    HeaderOrSubprotocol,
}

impl Pass {
    /// For whoever came through the Unix socket.
    pub(crate) fn owner() -> Self {
        Self { door: Door::Owner, token: None }
    }

    /// Returns when the token no longer counts; never for the owner's own door. Whatever goes on for longer than one
    /// answer runs beside this.
    pub(crate) async fn revoked(self, gateway: Arc<Gateway>) {
        let Some(digest) = self.token else { return std::future::pending().await };
        while gateway.parts.token.admits(&digest) {
            tokio::time::sleep(RECHECK_EVERY).await;
        }
    }
}

/// Lets in what is addressed to this gateway, from no other site.
pub(crate) async fn address(
    State((gateway, port)): State<(Arc<Gateway>, u16)>,
    request: Request,
    next: Next,
) -> Response {
    let checked = check_address(&request, port);
    match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => gateway.refusals.turn_away(&refusal, request_line(&request)).into_response(),
    }
}

/// Lets in who has the owner's token.
pub(crate) async fn token(
    State((gateway, ways)): State<(Arc<Gateway>, Ways)>,
    mut request: Request,
    next: Next,
) -> Response {
    let checked = check_token(&gateway, ways, &request);
    match checked {
        Ok(pass) => {
            request.extensions_mut().insert(pass);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Whether this request shows the owner's token where it need not.
pub(crate) fn shows_token(headers: &HeaderMap, file: &TokenFile) -> bool {
    presented(headers, Ways::Header).is_some_and(|token| file.admits(&TokenDigest::of(token)))
}

fn check_address(request: &Request, port: u16) -> Result<(), Refusal> {
    let host = only(request.headers(), &HOST).filter(|host| is_ours(host, port)).ok_or(FOREIGN_HOST)?;
    // A request line with an address of its own wins over the header for some readers; both must say the same.
    if request.uri().authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(host)) {
        return Err(FOREIGN_HOST);
    }
    let same_origin =
        |origin: &str| origin.strip_prefix("http://").is_some_and(|authority| authority.eq_ignore_ascii_case(host));
    if request.headers().contains_key(ORIGIN) && !only(request.headers(), &ORIGIN).is_some_and(same_origin) {
        return Err(FOREIGN_ORIGIN);
    }
    // What a browser says of a request that carries no `Origin`, such as an image of another site.
    let fetch_site = HeaderName::from_static("sec-fetch-site");
    let from_here = |site: &str| matches!(site, "same-origin" | "none");
    if request.headers().contains_key(&fetch_site) && !only(request.headers(), &fetch_site).is_some_and(from_here) {
        return Err(FOREIGN_ORIGIN);
    }
    Ok(())
}

/// A name that resolves anywhere else can be pointed at this machine by whoever owns it; these cannot.
fn is_ours(host: &str, port: u16) -> bool {
    let Some((name, digits)) = host.rsplit_once(':') else { return false };
    let name_is_ours = ["127.0.0.1", "localhost", "[::1]"].iter().any(|ours| name.eq_ignore_ascii_case(ours));
    name_is_ours && digits == port.to_string()
}

fn check_token(gateway: &Gateway, ways: Ways, request: &Request) -> Result<Pass, Problem> {
    // No route behind the token takes a query, and a token in one would stay in logs and histories. Refusing every
    // query needs no list of names under which a token could hide.
    if request.uri().query().is_some() {
        return Err(gateway.refusals.turn_away(&QUERY, request_line(request)));
    }
    match presented(request.headers(), ways).map(TokenDigest::of) {
        Some(digest) if gateway.parts.token.admits(&digest) => Ok(Pass { door: Door::Tcp, token: Some(digest) }),
        Some(_) | None => Err(gateway.refusals.bad_token(&BAD_TOKEN, request_line(request))),
    }
}

/// The one token of a request; nothing when there is none or more than one.
fn presented(headers: &HeaderMap, ways: Ways) -> Option<&str> {
    let by_subprotocol = match ways {
        Ways::Header => Vec::new(),
        Ways::HeaderOrSubprotocol => {
            let lists = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
            let names = lists.flat_map(|list| list.split(',')).map(str::trim);
            names.filter_map(|name| name.strip_prefix("bearer.")).collect()
        }
    };
    let token = match (headers.contains_key(AUTHORIZATION), by_subprotocol.as_slice()) {
        (true, []) => only(headers, &AUTHORIZATION).and_then(bearer)?,
        (false, [token]) => *token,
        (true | false, _) => return None,
    };
    let well_formed =
        !token.is_empty() && token.len() <= TOKEN_BYTES_MAX && token.bytes().all(|b| b.is_ascii_graphic());
    well_formed.then_some(token)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// The value of a header that is there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

const FOREIGN_HOST: Refusal = Refusal {
    rule: "gateway:host",
    status: StatusCode::FORBIDDEN,
    detail: "the Host header must be the loopback address of this gateway with its port",
};
const FOREIGN_ORIGIN: Refusal =
    Refusal { rule: "gateway:origin", status: StatusCode::FORBIDDEN, detail: "requests from other sites are refused" };
const QUERY: Refusal = Refusal {
    rule: "gateway:query",
    status: StatusCode::BAD_REQUEST,
    detail: "this route takes no query; a token belongs into the Authorization header",
};
const BAD_TOKEN: Refusal = Refusal {
    rule: "gateway:token",
    status: StatusCode::UNAUTHORIZED,
    detail: "the token is missing or wrong; send Authorization: Bearer <token>",
};
/// Between two looks at the token file while something goes on. A revoked token ends it within a second.
const RECHECK_EVERY: Duration = Duration::from_millis(250);
/// A token is hashed before it is compared; nobody makes us hash a whole head.
const TOKEN_BYTES_MAX: usize = 256;

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
