//! How does a secret enter a request, and stay out of its answer? A rule's injection goes in; a header that no guest has
//! seen goes out, and an answer without any spelling of it comes back.

use chitin_ports::Secrets;
use chitin_types::{Denial, Secret};
use reqwest::header::{ACCEPT_ENCODING, HeaderValue};

use crate::{EgressError, Response, permit::Injection, redact::Redactor};

/// A secret, ready for one request.
pub(crate) struct Injected {
    header: String,
    value: HeaderValue,
    redactor: Redactor,
}

impl Injected {
    /// Fetches the secret that the rule names.
    ///
    /// # Errors
    /// It is not set, the request has that header already, or the text cannot stand in a header.
    pub(crate) async fn reveal(
        secrets: Option<&dyn Secrets>,
        injection: &Injection,
        headers: &[(String, String)],
    ) -> Result<Self, EgressError> {
        let Injection { secret: name, header, format } = injection;
        if headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(header)) {
            let reason = format!("header {header} is set by the host from secret {name:?}, and the tool set it too");
            return Err(EgressError::denied("egress:secret-header", reason));
        }
        let secret = match secrets {
            Some(secrets) => {
                secrets.reveal(name).await.map_err(|error| EgressError::denied("egress:secret", error.to_string()))?
            }
            None => None,
        };
        let Some(secret) = secret else {
            return Err(EgressError::Denied(Denial {
                rule: "egress:secret".to_owned(),
                reason: format!("secret {name:?} is not set"),
                help: Some(format!("chitin secret set {name}")),
            }));
        };
        let text = Secret::new(format.replacen("{}", secret.expose(), 1));
        let mut value = HeaderValue::from_str(text.expose()).map_err(|_| {
            EgressError::denied("egress:secret", format!("secret {name:?} holds what no header can carry"))
        })?;
        // Keeps it out of every log of the libraries below.
        value.set_sensitive(true);
        Ok(Self { header: header.clone(), value, redactor: Redactor::new(&secret) })
    }

    /// The request with the secret. Compression is turned off: nothing could be found in it.
    pub(crate) fn put_into(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        let mut own = reqwest::header::HeaderMap::new();
        own.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        request.headers(own).header(self.header.as_str(), self.value.clone())
    }

    /// The answer without the secret.
    ///
    /// # Errors
    /// The server compressed its answer although it was asked not to.
    pub(crate) fn take_out_of(self, response: Response) -> Result<Response, EgressError> {
        let encoded = response.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-encoding") && !value.trim().eq_ignore_ascii_case("identity")
        });
        if encoded {
            let reason = "the answer is compressed, so a secret in it could not be found".to_owned();
            return Err(EgressError::denied("egress:encoded", reason));
        }
        let kept = response.headers.into_iter().filter(|(name, _)| name != "content-length");
        let headers = kept.map(|(name, value)| (name, self.redactor.text(&value))).collect();
        Ok(Response { status: response.status, headers, body: self.redactor.body(response.body) })
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
